"""Links whose text names something: [`put_gather`](…#L60), [`put_gather/op`](…#L53),
[STEP-8](…#L54). `make claims` writes their targets, so that they lead to the right line.

The text is a clause; a definition of the logic; a lemma; a function, which leads to its code; or
FUNCTION/NAME, which leads to that line of its contract and must be proven."""

import os
import re

import project as pj

FILES = ("proofs/README.md",)
LINK = re.compile(r"\[(`?)([A-Za-z_][\w/-]*)\1\]\([^)#\s]*#L\d*\)")


class Names:
    """c: claims.Claims; definitions: {name: (file, line)}."""

    def __init__(self, c, definitions):
        self.c = c
        self.v = c.v
        self.definitions = definitions
        self.known = {}

    def find(self, name):
        """(file, line) or None"""
        if name in self.c.clauses:
            return self.c.clauses[name]
        if name in self.definitions:
            return self.definitions[name]
        for unit, lemmas in self.v.plan.lemmas.items():
            if name in lemmas:
                return self.c.lemma_location(unit, name)
        function, _, label = name.partition("/")
        for (path, f), unit in self.v.prover_of.items():
            if f != function:
                continue
            if not label:
                table = next(u for u in self.v.plan.units if u.name == unit)
                return path, self.v.plan.defined(table.file)[(path, f)]
            found = self.c.goals_of({"id": f"of {name}"}, unit, name)
            return found and found.location
        return None


def linked(names, file, text):
    """The text with the right targets; an unknown name is a problem."""

    def target(m):
        found = names.find(m[2])
        if not found:
            names.c.wrong({"id": f"links of {file}"}, f"nothing proven has the name {m[2]}")
            return m[0]
        path = os.path.relpath(found[0], os.path.dirname(file))
        return f"[{m[1]}{m[2]}{m[1]}]({path}#L{found[1]})"

    return LINK.sub(target, text)


def pages(c, definitions):
    """{file: its text} of the files with such links."""
    names = Names(c, definitions)
    found = {}
    for file in FILES:
        if os.path.exists(c.project.path(file)):
            found[file] = linked(names, file, pj.read(c.project.path(file)))
    return found
