"""What a verdict depends on: named parts, each with a hash, and the key that they make.

    inputs = Inputs("proof", "num_exact").file("ref/num/exact.c").text("command", " ".join(argv))
    inputs.packages("frama-c-base", "z3").cpu()
    inputs.key()

A path is relative to the repository's root, so that two clones have equal keys.
"""

import functools
import hashlib
import json
import os
import re
import subprocess

from elf import without_identity

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FORMAT = 1  # raised when stored verdicts of before mean something else


def digest(data):
    return hashlib.sha256(data).hexdigest()


@functools.cache
def _file(path, _size, _changed):
    with open(path, "rb") as file:
        data = file.read()
    return digest(without_identity(data))


def file_hash(path):
    """The hash of a file's content; that of ELF files and archives without commit and build-id."""
    stat = os.stat(path)
    return _file(path, stat.st_size, stat.st_mtime_ns)


class Inputs:
    """The inputs of one verdict. The same kind, name and parts make the same key."""

    def __init__(self, kind, name):
        self.kind = kind
        self.name = name
        self.parts = {}

    def add(self, label, value):
        """A part with a hash (or a short value) of the caller's own."""
        assert self.parts.get(label, value) == value, f"two values of {label}"
        self.parts[label] = value
        return self

    def text(self, label, text):
        return self.add(label, digest(text.encode()))

    def file(self, path, label=None):
        """A file; a path that is not there is an input, too: its hash is "absent"."""
        full = os.path.join(ROOT, path)
        value = file_hash(full) if os.path.isfile(full) else "absent"
        mode = "+x" if value != "absent" and os.access(full, os.X_OK) else ""
        return self.add("file " + (label or path), value + mode)

    def files(self, paths):
        for path in sorted(set(paths)):
            self.file(path)
        return self

    def packages(self, *names):
        """Packages with everything that they depend on, at the versions that are installed."""
        return self.text("packages " + " ".join(sorted(names)), json.dumps(installed(names)))

    def cpu(self):
        return self.add("cpu", cpu_flags())

    def environment(self, names):
        """Variables that the computation reads."""
        for name in names:
            self.add("environment " + name, os.environ.get(name, "unset"))
        return self

    def key(self):
        whole = [FORMAT, self.kind, self.name, self.parts]
        return digest(json.dumps(whole, sort_keys=True).encode())


@functools.cache
def cpu_flags():
    """The CPU's flags: which instructions a program may choose."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", file.read(), re.M)
    return digest(" ".join(sorted(found.group(1).split())).encode()) if found else "unknown"


@functools.cache
def _status():
    """Debian's packages: name to (version, dependencies, essential), and name to providers."""
    packages, provided = {}, {}
    fields = "db:Status-Status Package Version Pre-Depends Depends Provides Essential".split()
    form = "\t".join(f"${{{field}}}" for field in fields) + "\n"
    command = ["dpkg-query", "-W", "-f=" + form]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        status, name, version, before, needs, provides, essential = line.split("\t")
        if status != "installed":
            continue
        names = re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)", f"{before}, {needs}")
        packages[name] = (version, names, essential == "yes")
        for other in re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9+.-]*)", provides):
            provided.setdefault(other, []).append(name)
    return packages, provided


@functools.cache
def installed(names):
    """(name, version) of these packages, of all essential ones, and of all that they depend on.

    Where there is no dpkg, what each command says of its version.
    """
    try:
        packages, provided = _status()
    except (FileNotFoundError, subprocess.CalledProcessError):
        return tuple((name, _version(name)) for name in names)
    todo = list(names) + [n for n, (_v, _needs, essential) in packages.items() if essential]
    seen = {}
    while todo:
        name = todo.pop()
        for one in [name] if name in packages else provided.get(name, []):
            if one not in seen:
                seen[one] = packages[one][0]
                todo += packages[one][1]
    missing = {name: "absent" for name in names if name not in seen and name not in provided}
    return tuple(sorted({**seen, **missing}.items()))


def _version(command):
    try:
        run = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return "absent"
    return digest((run.stdout + run.stderr).encode())
