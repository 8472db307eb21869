"""Reads proofs/units.toml, locates files, and checks the versions of the tools."""

import glob
import hashlib
import os
import subprocess
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ("lemmas", "theorems", "code")
# Options of frama-c that a unit may ask for; anything else could change what a proof means.
OPTIONS_ANY = ("-wp-split", "-wp-unfold-assigns", "-wp-steps")
OPTIONS_MODEL = ("-wp-model",)  # kind lemmas and theorems only, and only Typed+real
UNIT_KEYS = {
    "name",
    "file",
    "kind",
    "provers",
    "functions",
    "lemmas",
    "options",
    "expect_unproved",
    "shows",
    "expect_dead",
}
PROVERS = ("z3", "cvc4", "cvc4-ind", "cvc5", "cvc5-ind", "cvc5-indc")

VERSION_COMMANDS = {
    "frama-c": ["frama-c", "-version"],
    "why3": ["why3", "--version"],
    "z3": ["z3", "--version"],
    "cvc4": ["cvc4", "--version"],
    "cvc5": ["cvc5", "--version"],
    "coq": ["coqc", "--version"],
    "spin": ["spin", "-V"],
}


class Problem(Exception):
    """An error that a person must repair before the proofs can be run or judged."""


def die(text):
    print(f"error: {text}", file=sys.stderr)
    sys.exit(2)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def digest(*parts):
    """One SHA-256 over strings, each with its length, so that no two lists give the same bytes."""
    h = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode()
        h.update(f"{len(data)}:".encode() + data)
    return h.hexdigest()


def file_digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class Unit:
    """One [[unit]] of units.toml."""

    def __init__(self, table, project):
        unknown = set(table) - UNIT_KEYS
        name = table.get("name", "?")
        if unknown:
            raise Problem(f"unit {name}: unknown key {', '.join(sorted(unknown))}")
        for key in ("name", "file", "kind", "provers"):
            if key not in table:
                raise Problem(f"unit {name}: the key {key} is missing")
        self.project = project
        self.name = name
        self.file = table["file"]
        self.kind = table["kind"]
        self.provers = table["provers"]
        self.given_functions = table.get("functions")
        self.given_lemmas = table.get("lemmas", [])
        self.options = table.get("options", [])
        self.expect_unproved = table.get("expect_unproved", [])
        self.expect_dead = table.get("expect_dead", {})
        self.shows = table.get("shows", "")
        self.table = table
        if self.kind not in KINDS:
            raise Problem(f"unit {name}: kind must be one of {', '.join(KINDS)}")
        if not os.path.exists(project.path(self.file)):
            raise Problem(f"unit {name}: {self.file} does not exist")
        for p in self.provers:
            if p not in PROVERS:
                raise Problem(f"unit {name}: unknown prover {p} (known: {', '.join(PROVERS)})")
        self._check_options()

    def _check_options(self):
        words = [w for o in self.options for w in o.split()]
        i = 0
        while i < len(words):
            allowed = OPTIONS_ANY + (() if self.kind == "code" else OPTIONS_MODEL)
            name, _, value = words[i].partition("=")
            if name not in allowed:
                raise Problem(
                    f"unit {self.name}: option {name} is not allowed for kind "
                    f"{self.kind} (allowed: {', '.join(allowed)})"
                )
            if name != "-wp-split" and not value:
                i += 1
                value = words[i] if i < len(words) else ""
            if name == "-wp-model" and value != "Typed+real":
                raise Problem(f"unit {self.name}: memory model {value} is not allowed")
            i += 1
        self.words = words

    @property
    def dir(self):
        return os.path.join(self.project.build, self.name)

    def out(self, name):
        return os.path.join(self.dir, name)


class Project:
    """A source tree with proofs/units.toml, and build/proofs beneath it."""

    def __init__(self, root=None):
        self.root = os.path.abspath(root or os.path.dirname(HERE))
        self.build = os.path.join(self.root, "build", "proofs")
        units = self.path("proofs/units.toml")
        if not os.path.exists(units):
            raise Problem(f"{units} does not exist: it lists the units to prove")
        try:
            with open(units, "rb") as f:
                self.table = tomllib.load(f)
        except tomllib.TOMLDecodeError as e:
            raise Problem(f"{units}: {e}") from e
        self.tools = self.table.get("tools", {})
        self.limits = {"goal": 10, "sentinel": 2, "smoke": 1} | self.table.get("limits", {})
        self.assumptions = self.table.get("assumption", [])
        self.units = [Unit(t, self) for t in self.table.get("unit", [])]
        names = [u.name for u in self.units]
        for n in names:
            if names.count(n) > 1:
                raise Problem(f"two units have the name {n}")

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def pick(self, names):
        """The units of these names (all units if the list is empty)."""
        known = {u.name: u for u in self.units}
        for n in names:
            if n not in known:
                raise Problem(f"no unit has the name {n}; units: {', '.join(known)}")
        return [known[n] for n in names] if names else list(self.units)

    def scope_files(self):
        """The .c files whose every function must be proven."""
        found = []
        for pattern in self.table.get("scope", {}).get("files", []):
            found += sorted(glob.glob(pattern, root_dir=self.root))
        return found

    def assumed_functions(self):
        """Function -> id of the assumption that is its contract."""
        return {f: a["id"] for a in self.assumptions for f in a.get("functions", [])}

    def check_tools(self, only=None):
        """Compares the tools' versions with units.toml. Returns name -> version found."""
        found, wrong = {}, []
        for name, wanted in self.tools.items():
            if name not in VERSION_COMMANDS:
                raise Problem(
                    f"units.toml pins {name}, but project.py has no command for its version"
                )
            if only and name not in only:
                continue
            found[name] = version_of(name)
            if wanted not in found[name]:
                wrong.append(f"{name}: {wanted} is pinned, found {found[name] or 'none'}")
        if wrong:
            raise Problem("wrong tool version: " + "; ".join(wrong))
        return found


def version_of(name):
    try:
        run = subprocess.run(VERSION_COMMANDS[name], capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        return ""
    return (run.stdout + run.stderr).strip().split("\n")[0].strip()


def load(root):
    try:
        return Project(root)
    except Problem as e:
        die(str(e))


def environment(project):
    """PWD: Frama-C looks for files in $PWD instead of its current folder. OCAMLRUNPARAM: the
    garbage collector runs less often, so a unit takes a fifth less time, and 370 MB, not 210 MB."""
    env = dict(
        os.environ,
        WHY3CONFIG=os.path.join(project.build, "why3.conf"),
        LC_ALL="C.UTF-8",
        PWD=project.root,
        OCAMLRUNPARAM="o=1000",
    )
    for name in ("FRAMAC_WP_CACHE", "FRAMAC_WP_CACHEDIR", "FRAMAC_SHARE", "CPP"):
        env.pop(name, None)
    return env


def write_why3_conf(project):
    os.makedirs(project.build, exist_ok=True)
    text = read(os.path.join(HERE, "why3.conf.in"))
    path = os.path.join(project.build, "why3.conf")
    with open(path, "w") as f:
        f.write(text.replace("@PROOFS@", HERE))
