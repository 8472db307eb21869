"""clang-format, shellcheck and ruff, each in check mode."""

import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

from common import Cache, Finding, Unavailable, digest, run

CLANG_FORMAT = "14"
LOCKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../conformance/locks")


def batches(items, n):
    return [items[i::n] for i in range(n) if items[i::n]]


def changed(tree, name, paths, key):
    """The files that were not found clean before, and a function that records those that are."""
    cache = Cache(name)
    keys = {path: key(path) for path in paths}
    todo = [path for path in paths if not cache.clean(keys[path])]

    def clean(bad):
        for path in set(todo) - bad:
            cache.add(keys[path])
        cache.save()

    return todo, clean


# ---- clang-format --------------------------------------------------------------------------------


def clang_format():
    for command in ("clang-format-" + CLANG_FORMAT, "clang-format"):
        if shutil.which(command):
            version = run([command, "--version"]).stdout
            if f"version {CLANG_FORMAT}." in version:
                return command, version
    raise Unavailable(f"no clang-format {CLANG_FORMAT} (Debian 12: apt-get install clang-format)")


def clang_format_rule(tree):
    command, version = clang_format()
    style = tree.text(".clang-format")
    paths = [f for f in tree.ending(".c", ".h", ".inc", ".cu") if not f.startswith("tests/lint/")]
    todo, clean = changed(
        tree, "clang-format", paths, lambda f: digest(version, style, f, tree.text(f))
    )
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(
            lambda files: run([command, "--dry-run", "-Werror", *files], cwd=tree.root),
            batches(todo, 8),
        )
    first = {}
    for result in results:
        for match in re.finditer(r"^(\S+?):(\d+):\d+: error:", result.stderr, re.MULTILINE):
            first.setdefault(match[1], int(match[2]))
    clean(set(first))
    text = f"not formatted: run `{command} -i`"
    return [Finding("clang-format", f, n, text) for f, n in sorted(first.items())]


# ---- shellcheck ----------------------------------------------------------------------------------


def sourced(tree, path, seen):
    """A script and the scripts that it reads with '.'."""
    seen.add(path)
    for match in re.finditer(r"^\s*\. (\S+)", tree.text(path), re.MULTILINE):
        if match[1] in tree.files and match[1] not in seen:
            sourced(tree, match[1], seen)
    return seen


def shellcheck_rule(tree):
    """Warnings and errors; splitting of words (SC2046, SC2086) is how our scripts pass lists."""
    if not shutil.which("shellcheck"):
        raise Unavailable("no shellcheck (Debian: apt-get install shellcheck)")
    version = run(["shellcheck", "--version"]).stdout
    command = "shellcheck -s sh -x -P . -S warning -e SC2046 -f gcc".split()

    def key(path):
        texts = [tree.text(f) for f in sorted(sourced(tree, path, set()))]
        return digest(version, " ".join(command), path, *texts)

    todo, clean = changed(tree, "shellcheck", tree.ending(".sh"), key)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(
            pool.map(lambda files: run([*command, *files], cwd=tree.root), batches(todo, 8))
        )
    found = []
    for result in results:
        if result.returncode > 1:
            raise Unavailable(f"shellcheck failed: {result.stderr.strip()}")
        for line in result.stdout.split("\n"):
            match = re.match(r"(\S+?):(\d+):\d+: (.*) \[(SC\d+)\]$", line)
            if match:
                found.append(
                    Finding("shellcheck", match[1], int(match[2]), f"{match[3]} [{match[4]}]")
                )
    clean({f.path for f in found})
    return sorted(set(found))


# ---- ruff ----------------------------------------------------------------------------------------


def ruff():
    """ruff in an environment of its own, made when it is not there."""
    result = run(["sh", os.path.join(LOCKS, "venv.sh"), "ruff", "ruff"])
    if result.returncode:
        raise Unavailable(f"ruff cannot be installed: {result.stderr.strip()[-300:]}")
    return os.path.join(os.path.dirname(result.stdout.strip()), "ruff")


def ruff_rules(tree):
    """Findings of `ruff check` and of `ruff format --check`."""
    command = ruff()
    paths = tree.ending(".py")
    if not paths:
        return []
    # Absolute, as ruff would take the nearest pyproject.toml otherwise.
    options = ["--no-cache", "--config", tree.at("tests/lint/ruff.toml")]
    check = run([command, "check", *options, "--output-format=concise", *paths], cwd=tree.root)
    form = run([command, "format", *options, "--check", *paths], cwd=tree.root)
    if check.returncode > 1 or form.returncode > 1:
        raise Unavailable(f"ruff failed: {(check.stderr + form.stderr).strip()[-500:]}")
    found = []
    for match in re.finditer(r"^(\S+?):(\d+):\d+: (?:(\w+):? )?(.*)$", check.stdout, re.MULTILINE):
        found.append(
            Finding("ruff", match[1], int(match[2]), f"{match[4]} [{match[3] or 'syntax'}]")
        )
    for match in re.finditer(r"^(?:Would reformat:| +-->) (\S+?\.py)\b", form.stdout, re.MULTILINE):
        text = f"not formatted: run `{command} format --config tests/lint/ruff.toml`"
        found.append(Finding("ruff-format", match[1], 0, text))
    return found
