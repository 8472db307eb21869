"""Parts that the rules share: the tree and its files, C functions, findings, and the cache."""

import hashlib
import json
import os
import re
import subprocess
from collections import namedtuple

# One violation; `line` is 0 where no line can be named.
Finding = namedtuple("Finding", "rule path line message")


class Unavailable(Exception):
    """A tool that a rule needs is missing: the rule was not checked."""


class Tree:
    """The files of one checkout: those of git, or all but build folders where there is no git."""

    def __init__(self, root):
        self.root = os.path.abspath(root)
        self.texts = {}
        self.files = sorted(self._list())

    def _list(self):
        command = ["git", "-C", self.root, "ls-files", "-z", "-co", "--exclude-standard"]
        if os.path.exists(os.path.join(self.root, ".git")):
            listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            return [f for f in set(listed.split("\0")) if f and os.path.isfile(self.at(f))]
        found = []
        for folder, folders, files in os.walk(self.root):
            folders[:] = [d for d in folders if not re.match(r"build(-|$)|__pycache__$|\.git$", d)]
            found += [os.path.relpath(os.path.join(folder, f), self.root) for f in files]
        return found

    def at(self, path):
        return os.path.join(self.root, path)

    def text(self, path):
        """The text of a file; "" for one that is not UTF-8."""
        if path not in self.texts:
            try:
                with open(self.at(path), encoding="utf-8") as f:
                    self.texts[path] = f.read()
            except (UnicodeDecodeError, FileNotFoundError):
                self.texts[path] = ""
        return self.texts[path]

    def lines(self, path):
        return self.text(path).split("\n")

    def ending(self, *endings):
        return [f for f in self.files if f.endswith(endings)]

    def below(self, *folders):
        return [f for f in self.files if f.startswith(tuple(d + "/" for d in folders))]


def data(tree, name):
    """The entries of a data file of the linter: (line number, text without comment)."""
    path = "tests/lint/" + name
    if not os.path.exists(tree.at(path)):
        return []
    numbered = enumerate(tree.lines(path), 1)
    return [(n, line.strip()) for n, line in numbered if line.strip() and line[0] != "#"]


Function = namedtuple("Function", "name first last")


def c_functions(text):
    """The functions of a C file, found by clang-format's layout: braces in column 0."""
    lines = text.split("\n")
    found = []
    opened = None
    for i, line in enumerate(lines):
        if opened is None and line.startswith("{"):
            opened = i
        elif opened is not None and line.startswith("}"):
            first = _signature(lines, opened)
            name = _function_name("\n".join(lines[first:opened]))
            if name and not line.startswith("};"):
                found.append(Function(name, first + 1, i + 1))
            opened = None
    return found


def _signature(lines, opened):
    """The first line of the declaration that the brace in line `opened` belongs to."""
    first = opened
    while first > 0:
        before = lines[first - 1].rstrip()
        if (
            not before
            or before[-1] in ";}"
            or before.endswith("*/")
            or before.startswith(("#", "//"))
        ):
            break
        first -= 1
    return first


def _function_name(signature):
    test = re.search(r"\b(?:Test|ParameterizedTest)\(([^)]*?)(\w+)\s*(?:,\s*\.[^)]*)?\)", signature)
    if test:
        names = re.findall(r"\w+", signature.split("(", 1)[1])
        return names[1] if len(names) > 1 else None
    call = re.search(r"(\w+)\s*\(", re.sub(r"__attribute__\s*\(\(.*?\)\)", "", signature))
    return call[1] if call else None


class Cache:
    """Which inputs were found clean before: keys are hashes of everything a verdict depends on."""

    def __init__(self, name):
        base = os.environ.get("ZP_CACHE") or os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "zeroproof"
        )
        self.path = os.path.join(base, "lint", name + ".json")
        self.used = set()
        try:
            with open(self.path, encoding="utf-8") as f:
                self.known = set(json.load(f))
        except (OSError, ValueError):
            self.known = set()

    def clean(self, key):
        if key in self.known:
            self.used.add(key)
        return key in self.known

    def add(self, key):
        self.used.add(key)

    def save(self):
        """Keeps what this run used, and of the rest as much again: other branches use it."""
        kept = sorted(self.used) + sorted(self.known - self.used)[: 2000 + len(self.used)]
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        temporary = f"{self.path}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8") as f:
            json.dump(kept, f)
        os.replace(temporary, self.path)


def digest(*parts):
    h = hashlib.sha256()
    for part in parts:
        h.update(part.encode() + b"\0")
    return h.hexdigest()


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)
