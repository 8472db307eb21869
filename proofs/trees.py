"""Syntax trees of the proven files, as Frama-C prints them.

A tree is stored under the hash of its inputs: the contents of the file and of its includes,
Frama-C's version and the scripts that print and read it. build/proofs/trees has the trees that were
printed in this source tree; $ZP_CACHE/trees has those of all source trees and is read only if the
caller permits stored results."""

import dataclasses
import json
import os
import subprocess
import tempfile

import csource
import printed
import project as pj

SCRIPTS = ("trees.py", "printed.py", "csource.py")
# Plug-ins take most of Frama-C's start; none of them is needed to print.
PRINT = ["frama-c", "-no-autoload-plugins", "-no-unicode", "-cpp-extra-args=-I."]


class File:
    """One proven file."""

    def __init__(self, path, sources, content):
        self.path = path
        self.sources = sources  # the file and its includes in the project
        self.content = content  # hash of their names and contents
        self.tree = None  # printed.Tree
        self.defined = {}  # (path, function) -> line, also those of the includes
        self.hash = ""  # hash of the tree


class Trees:
    def __init__(self, project, version, environment, shared=None):
        """shared: the folder of all source trees' syntax trees; None: print what this one lacks."""
        self.project, self.version, self.environment = project, version, environment
        self.own = os.path.join(project.build, "trees")
        self.shared = shared
        self.scripts = pj.digest(*[pj.file_digest(os.path.join(pj.HERE, n)) for n in SCRIPTS])
        self.hashes = {}  # source -> hash

    def sources(self, path, names):
        for n in names:
            if n not in self.hashes:
                self.hashes[n] = pj.file_digest(self.project.path(n))
        return File(path, names, pj.digest(*[n + "=" + self.hashes[n] for n in names]))

    def load(self, file):
        """Sets the file's tree, printing it if no store has it."""
        key = pj.digest(file.content, self.version, file.path, self.scripts)
        name = os.path.join(key[:2], key + ".json")
        for folder in (self.own, self.shared):
            if folder and self._read(file, os.path.join(folder, name)):
                return
        record = self._print(file)
        for folder in (self.own, self.shared):
            if folder:
                write(os.path.join(folder, name), record)
        if not self._read(file, os.path.join(self.own, name)):
            raise pj.Problem(f"{os.path.join(self.own, name)} cannot be read back")

    @staticmethod
    def _read(file, path):
        try:
            text = pj.read(path)
            record = json.loads(text)
            file.tree = decode(record["tree"])
            file.defined = {(p, n): line for p, n, line in record["defined"]}
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return False
        file.hash = pj.digest(text)
        return True

    def _print(self, file):
        handle, out = tempfile.mkstemp(suffix=".txt", dir=self.project.build)
        os.close(handle)
        try:
            run = subprocess.run(
                [*PRINT, file.path, "-print", "-ocode", out],
                cwd=self.project.root,
                env=self.environment,
                capture_output=True,
                text=True,
            )
            if run.returncode:
                errors = [line for line in run.stdout.split("\n") if "Parsing" not in line]
                raise pj.Problem(f"Frama-C rejects {file.path}:\n" + "\n".join(errors))
            tree = printed.parse(pj.read(out))
        finally:
            os.remove(out)
        defined = csource.functions(self.project.root, file.path)
        return json.dumps(
            {
                "tree": dataclasses.asdict(tree),
                "defined": [[p, n, line] for (p, n), line in defined.items()],
            }
        )


def write(path, text):
    """Writes a file in one step: other processes may read it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=os.path.dirname(path))
    with os.fdopen(handle, "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(beside, path)


def decode(record):
    functions = {}
    for name, f in record["functions"].items():
        contract = [printed.Clause(**c) for c in f.pop("contract")]
        functions[name] = printed.Function(contract=contract, **f)
    logics = [printed.Logic(**x) for x in record["logics"]]
    return printed.Tree(functions, logics, record["annotations"])
