"""A copy of the tree that holds only what a test declares.

A test names its inputs in the comment at its head, in one or more lines:

    # inputs: build/zeroproof tests/fixtures/lib.sh spec/*.md cuda/kernels

A word is a file, a folder with all that is in it, or a pattern; build/ is the folder of the build,
whatever its name is. "# inputs: none" declares that the test reads only itself. Two words stand for
more:

    @make       all that `make` reads: the sources. The copy has the build's objects, too, so that
                little is compiled again (they are not an input: the sources are)
    @venv:NAME  a virtual environment of the conformance suite's subjects, which stays in its place:
                its packages and versions are the input

"# alone: WHY" says that a test may not run beside others.
"""

import fnmatch
import glob
import os
import re
import shutil
import tempfile

from inputs import ROOT

DECLARED = re.compile(r"^[ #*/]*inputs: (.*?)(?: \*/)?$", re.M)
ALONE = re.compile(r"^[ #*/]*alone: (.*?)(?: \*/)?$", re.M)
HEAD = 4000  # how far into a file the comment at its head may reach
MAKE = "Makefile CLAIMS.md LICENSE README.md ref cuda conformance spec proofs/pack.sh tests".split()
SKIPPED = ("__pycache__", "*.pyc", "*.egg-info", ".git")


def head(source):
    """(declared words or None, why it runs alone or None) of a test's source file."""
    with open(os.path.join(ROOT, source), encoding="utf-8") as file:
        text = file.read(HEAD)
    words = " ".join(DECLARED.findall(text)).split()
    alone = ALONE.search(text)
    return (words or None), (alone.group(1) if alone else None)


def virtual_environment(name):
    """The packages of a subject's environment with their versions; "absent" without one."""
    venvs = os.environ.get("ZP_VENVS") or os.path.expanduser("~/.cache/zeroproof/venv")
    folder = os.path.join(venvs, name)
    if not os.path.exists(os.path.join(folder, "complete")):
        return "absent"
    found = glob.glob(os.path.join(folder, "lib/python*/site-packages/*.dist-info"))
    return " ".join(sorted(os.path.basename(path).removesuffix(".dist-info") for path in found))


def _skipped(name):
    return any(fnmatch.fnmatch(name, pattern) for pattern in SKIPPED)


def _walk(folder):
    for at, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if not _skipped(f)]
        yield from (os.path.join(at, n) for n in names if not _skipped(n))


def files(words, build):
    """{path in the copy: path of the original} of declared words; a missing file has None."""
    found = {}
    for word in [one for w in words for one in (MAKE if w == "@make" else [w])]:
        if word == "none" or word.startswith("@"):
            continue
        inside = word == "build" or word.startswith("build/")
        base = os.path.abspath(build) if inside else ROOT
        pattern = os.path.join(base, word[len("build") :].lstrip("/") if inside else word)
        paths = sorted(glob.glob(pattern))
        if not paths and not inside:
            raise Undeclared(f"declares {word}, which is not there")
        for path in paths or [pattern]:
            for one in _walk(path) if os.path.isdir(path) else [path]:
                name = os.path.relpath(one, base)
                name = os.path.join("build", name) if inside else name
                if os.path.isfile(one):
                    found[name] = one
                elif not glob.has_magic(word):
                    found[name] = None
    return found


def add_inputs(inputs, words, build):
    """Adds the declared words to the inputs of a verdict."""
    for name, path in files(words, build).items():
        inputs.file(path or name, label=name)
    for word in words:
        if word.startswith("@venv:"):
            inputs.add(word, virtual_environment(word.removeprefix("@venv:")))
        elif word.startswith("@") and word != "@make":
            raise Undeclared(f"declares {word}, which is not a set of inputs")
    return inputs


class Undeclared(Exception):
    """A test's declaration that cannot be right."""


class Copy:
    """The tree's copy: `with Copy(words, build) as folder`."""

    def __init__(self, words, build):
        self.words, self.build, self.folder = words, build, None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="zeroproof-test-")
        if "@make" in self.words:
            self.copy_build()
        for name, path in files(self.words, self.build).items():
            if path:
                to = os.path.join(self.folder, name)
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copy2(path, to)
        return self.folder

    def copy_build(self):
        """The build, and the commit that it was made of: make finds all of it up to date."""
        to = os.path.join(self.folder, "build")
        left = shutil.ignore_patterns("test-logs", "verdicts", "conformance*", "proofs", "*.log")
        shutil.copytree(self.build, to, symlinks=True, ignore=left)
        with open(os.path.join(self.build, "identity"), encoding="utf-8") as file:
            commit = re.search(r'ZP_COMMIT="(.*?)"', file.read()).group(1)
        with open(os.path.join(self.folder, "COMMIT"), "w", encoding="utf-8") as file:
            file.write(f"{commit}\n0\n")

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)
