"""Replaces logic functions and predicates that read memory by their definitions.

E-ACSL 25 does not translate them if they have labels, but does translate their definitions. The
input is the output of `frama-c -print -no-unicode`. Recursive definitions are not replaced. Neither
are definitions with two labels and calls with a label other than Here, because their arguments and
their memory belong to different times."""

import re
from dataclasses import dataclass

import printed

NAME = re.compile(r"(?<![\w.>\\])([A-Za-z_]\w*)")
BOUND = re.compile(r"\\(?:forall|exists)\b([^;]*);|\\let (\w+)")


@dataclass
class Definition:
    params: list
    body: str


def definitions(logics):
    """name -> Definition of all that have one label and a body."""
    found = {}
    for x in logics:
        m = re.search(rf"\b{x.name}\s*\{{ *(\w+) *\}}\s*(?:\((.*)\))?\s*$", x.head())
        if x.kind not in ("logic", "predicate") or not m or not x.body():
            continue
        body = x.body().replace(f"{{{m[1]}}}", "")
        if not re.search(rf"\b{m[1]}\b", body):
            params = [printed.WORD.findall(p)[-1] for p in printed.split_top(m[2] or "", ",") if p]
            found[x.name] = Definition(params, body)
    calls = {n: set(printed.WORD.findall(d.body)) & set(found) for n, d in found.items()}

    def reached(name, seen):
        for other in calls[name] - seen:
            seen.add(other)
            reached(other, seen)
        return seen

    return {n: d for n, d in found.items() if n not in reached(n, set())}


def closing(text, start):
    """Where the bracket that opens at start closes."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i
    return -1


class Inliner:
    def __init__(self, logics):
        self.known = definitions(logics)
        self.used = 0

    def value(self, name, args):
        """The definition's body for these arguments, bound variables renamed."""
        d = self.known[name]
        self.used += 1
        new = {p: f"({a})" for p, a in zip(d.params, args, strict=True)}
        for m in BOUND.finditer(d.body):
            for b in [m[2]] if m[2] else [printed.WORD.findall(v)[-1] for v in m[1].split(",")]:
                new[b] = f"{b}_{self.used}"
        return f"({self.expand(NAME.sub(lambda m: new.get(m[1], m[1]), d.body))})"

    def expand(self, text):
        out, end = [], 0
        for m in NAME.finditer(text):
            d = self.known.get(m[1])
            if m.start() < end or not d:
                continue
            i, args = m.end(), []
            if text.startswith("{Here}", i):
                i += len("{Here}")
            if d.params:
                if text[i : i + 1] != "(":
                    continue
                stop = closing(text, i)
                args = [self.expand(a.strip()) for a in printed.split_top(text[i + 1 : stop], ",")]
                i = stop + 1
            elif text[i : i + 1] == "{":
                continue
            out += [text[end : m.start()], self.value(m[1], args)]
            end = i
        return "".join(out) + text[end:]


def inline(text):
    """The program with the definitions put into its contracts and annotations."""
    inliner = Inliner(printed.parse(text).logics)

    def one(m):
        return m[0] if printed.is_global(m[1]) else f"/*@{inliner.expand(m[1])}*/"

    return re.sub(r"/\*@((?:.|\n)*?)\*/", one, text)
