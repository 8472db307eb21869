"""The sources of each unit, and the functions and lemmas that it proves."""

import concurrent.futures
import json
import os

import csource
import project as pj
import trees
import verdicts

# The files of this folder that a unit's run depends on.
DRIVER = ("project.py", "csource.py", "printed.py", "trees.py", "sentinel.py", "planning.py")
DRIVER += ("prove.py", "why3.conf.in", "cvc5.drv")


class Plan:
    """All inputs of a unit's run. Units with equal stamps have equal runs.

    stored: whether syntax trees that another source tree printed may be used."""

    def __init__(self, project, units, versions, stored=True):
        self.project = project
        self.versions = versions
        self.trees, self.functions, self.sources, self.files = {}, {}, {}, {}
        self.broken = {}  # unit -> why it cannot be planned
        driver = pj.digest(*[pj.file_digest(os.path.join(pj.HERE, n)) for n in DRIVER])
        self._print(units, stored)
        for u in units:
            try:
                self._look(u)
            except pj.Problem as e:
                self.broken[u.name] = str(e)
        units = [u for u in units if u.name not in self.broken]
        self.units = units
        self.lemmas = self._share_lemmas(units)
        self.stamps = {}
        for u in units:
            table = {k: v for k, v in u.table.items() if k != "shows"}
            self.stamps[u.name] = pj.digest(
                self.sources[u.name][1],
                json.dumps(table, sort_keys=True),
                json.dumps(self.functions[u.name]),
                json.dumps(self.lemmas[u.name]),
                json.dumps(versions, sort_keys=True),
                json.dumps(project.limits, sort_keys=True),
                driver,
            )

    def _print(self, units, stored):
        """Reads the syntax tree of each file; runs Frama-C for those that no store has."""
        os.makedirs(self.project.build, exist_ok=True)
        store = trees.Trees(
            self.project,
            self.versions.get("frama-c", ""),
            pj.environment(self.project),
            verdicts.shared_trees() if stored else None,
        )
        found = csource.included(self.project.root, sorted({u.file for u in units}))

        def one(file):
            if isinstance(found[file], pj.Problem):
                return found[file]
            try:
                read = store.sources(file, found[file])
                store.load(read)
                return read
            except pj.Problem as e:
                return e

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            self.files = dict(zip(found, pool.map(one, found), strict=True))

    def _look(self, u):
        file = self.files[u.file]
        if isinstance(file, pj.Problem):
            raise pj.Problem(f"unit {u.name}: {file}")
        self.sources[u.name] = (file.sources, file.content)
        self.trees[u.name] = file.tree
        if u.given_functions is not None:
            self.functions[u.name] = list(u.given_functions)
        else:
            self.functions[u.name] = [n for (p, n) in file.defined if p == u.file]
        for f in self.functions[u.name]:
            fun = file.tree.functions.get(f)
            if fun is None or fun.body is None:
                raise pj.Problem(f"unit {u.name}: {u.file} does not define the function {f}")

    def defined(self, path):
        """{(path, function): line} of every function that the file or its includes define."""
        file = self.files.get(path)
        return file.defined if file else csource.functions(self.project.root, path)

    def _share_lemmas(self, units):
        """One unit proves each lemma: the unit that lists it, else the first that contains it, kind
        lemmas before theorems before code."""
        owner = {}
        for u in units:
            there = {x.name for x in self.trees[u.name].lemmas() if x.kind == "lemma"}
            for name in u.given_lemmas:
                if name not in there:
                    raise pj.Problem(f"unit {u.name}: {u.file} has no lemma {name}")
                if name in owner:
                    raise pj.Problem(f"units {owner[name]} and {u.name} both list lemma {name}")
                owner[name] = u.name
        for kind in pj.KINDS:
            for u in units:
                if u.kind != kind:
                    continue
                for lemma in self.trees[u.name].lemmas():
                    if lemma.kind == "lemma":
                        owner.setdefault(lemma.name, u.name)
        return {
            u.name: [
                x.name
                for x in self.trees[u.name].lemmas()
                if x.kind == "lemma" and owner[x.name] == u.name
            ]
            for u in units
        }
