"""Which folder may include which (layers.txt), no header of another folder's insides, and headers
that compile alone. A file .inc is a template: its text is included after macros are defined."""

import os
import re
from concurrent.futures import ThreadPoolExecutor

from common import Cache, Finding, Unavailable, data, digest, run

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
SOURCES = (".c", ".h", ".inc", ".cu")


def includes(tree, path):
    """(line number, path) of each file of the project that a file includes."""
    files = set(tree.files)
    for match in INCLUDE.finditer(tree.text(path)):
        for base in (os.path.dirname(path), ""):
            target = os.path.normpath(os.path.join(base, match[1]))
            if target in files:
                yield tree.text(path).count("\n", 0, match.start()) + 1, target
                break


def sources(tree):
    return [f for f in tree.ending(*SOURCES) if not f.startswith("tests/lint/")]


# ---- Layers --------------------------------------------------------------------------------------


def layers(tree):
    """{folder: (line number, [folders and headers that it may include])} of layers.txt."""
    table = {}
    for n, line in data(tree, "layers.txt"):
        folder, colon, allowed = line.partition(":")
        if not colon:
            raise SystemExit(f"tests/lint/layers.txt:{n}: expected 'FOLDER: FOLDER … HEADER …'")
        table[folder] = (n, allowed.split())
    return table


def nearest(table, path):
    """The longest folder of the table that a path lies in."""
    folder = os.path.dirname(path)
    while folder and folder not in table:
        folder = os.path.dirname(folder)
    return folder


def reach(table, folder):
    """All folders that a folder may include, and single headers."""
    folders, headers, left = {folder}, set(), [folder]
    while left:
        for allowed in table.get(left.pop(), (0, []))[1]:
            if allowed.endswith(SOURCES):
                # A single header lends nothing of what its own folder may include.
                headers.add(allowed)
            elif allowed not in folders:
                folders.add(allowed)
                left.append(allowed)
    return folders, headers


def layer_rule(tree):
    table = layers(tree)
    found = []
    for folder, (n, allowed) in table.items():
        wrong = [f for f in allowed if f not in table and f != "*" and not tree.text(f)]
        wrong += [] if os.path.isdir(tree.at(folder)) else [folder]
        for name in wrong:
            text = f"{name} does not exist: correct or remove it"
            found.append(Finding("layer", "tests/lint/layers.txt", n, text))
        for other in allowed:
            if other != folder and folder in reach(table, other)[0]:
                text = f"{folder} and {other} may include each other: one must be above the other"
                found.append(Finding("layer", "tests/lint/layers.txt", n, text))
    reached = {folder: reach(table, folder) for folder in table}
    for path in sources(tree):
        folder = nearest(table, path)
        if not folder:
            text = f"no line of tests/lint/layers.txt is for {os.path.dirname(path)}"
            found.append(Finding("layer", path, 0, text))
            continue
        folders, headers = reached[folder]
        for n, target in includes(tree, path):
            if "*" in folders or target in headers or nearest(table, target) in folders:
                continue
            text = f"{folder} may not include {target}: see tests/lint/layers.txt"
            found.append(Finding("layer", path, n, text))
    return found


# ---- Insides -------------------------------------------------------------------------------------


# What is proven of a folder is mostly about its insides: the lemmas that its functions use are
# stated in terms of its internal types and contracts.
PROOFS = ("proofs/lemmas/", "proofs/theorems/")


def internal_rule(tree):
    """A header *internal.h is for its folder, for folders inside that, and for proofs about it."""
    found = []
    for path in sources(tree):
        if path.startswith(PROOFS):
            continue
        for n, target in includes(tree, path):
            if not re.fullmatch(r"(.*_)?internal\.h", os.path.basename(target)):
                continue
            if not (os.path.dirname(path) + "/").startswith(os.path.dirname(target) + "/"):
                text = f"{target} is internal to {os.path.dirname(target)}: include a public header"
                found.append(Finding("internal", path, n, text))
    return found


# ---- Headers compile alone -----------------------------------------------------------------------


def closure(tree, path, known):
    """A file and all that it includes."""
    if path not in known:
        known[path] = {path}
        for _, target in includes(tree, path):
            known[path] = known[path] | closure(tree, target, known)
    return known[path]


def header_rule(tree, compiler, flags, notes):
    """flags: where libraries' headers are. Headers that only nvcc's files include are left out."""
    version = run([compiler, "--version"])
    if version.returncode:
        raise Unavailable(f"no C compiler '{compiler}'")
    known = {}
    of_c = set().union(*(closure(tree, f, known) for f in tree.ending(".c")), set())
    of_cu = set().union(*(closure(tree, f, known) for f in tree.ending(".cu")), set())
    cache = Cache("headers")
    found = []

    def compile_alone(path):
        texts = [f + tree.text(f) for f in sorted(closure(tree, path, known))]
        key = digest(version.stdout, " ".join(flags), path, *texts)
        if cache.clean(key):
            return None
        # Which extensions of the C library are on is for the .c files to say.
        base = [
            compiler,
            "-std=c11",
            "-D_GNU_SOURCE=",
            "-fsyntax-only",
            "-Wall",
            "-Wextra",
            "-Werror",
        ]
        command = [*base, "-I.", *flags, "-x", "c", "-include", path, "/dev/null"]
        result = run(command, cwd=tree.root)
        if result.returncode == 0:
            cache.add(key)
            return None
        return path, result.stderr

    headers = [f for f in tree.ending(".h") if not f.startswith("tests/lint/")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [f for f in pool.map(compile_alone, headers) if f]
    cache.save()
    for path, stderr in failures:
        if path in of_cu - of_c:
            notes.append(f"not checked: {path} is a header for nvcc alone")
            continue
        errors = [line for line in stderr.split("\n") if "error:" in line]
        text = (
            f"does not compile alone: {errors[0].split('error:')[1].strip() if errors else stderr}"
        )
        found.append(Finding("header", path, 0, text))
    return found
