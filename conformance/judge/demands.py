"""The clauses that SPEC.md lists: their titles, what they demand, and where they are defined."""

import functools
import os
import re

CONFORMANCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPEC = {  # files of spec/ by the prefixes of their clauses
    **dict.fromkeys(("PART", "TIE"), "partition"),
    **dict.fromkeys(("RED", "STAT"), "reduce"),
    **dict.fromkeys(("STEP", "SCALE", "OPT"), "step"),
    **{"TOPO": "topology", "PIPE": "pipeline", "LEDG": "ledger", "STRM": "streams"},
}
NOT_JUDGED = (
    "not judged: the case failed another clause, or its answer lacks the evidence for this one"
)


@functools.cache
def listed():
    """Clause -> (title, demand): the table of SPEC.md, "Clauses"; empty without that file."""
    name = os.path.join(CONFORMANCE, "SPEC.md")
    if not os.path.exists(name):
        return {}
    with open(name, encoding="utf-8") as file:
        text = file.read().partition("\n## Clauses\n")[2].partition("\n## ")[0]
    found = {}
    for row in re.findall(r"^\| ([A-Z]+-\d[^|]*) \| ([^|]*) \| ([^|]*) \|", text, re.MULTILINE):
        names, titles, demands = (part.split("; ") for part in row)
        if len(demands) != len(names):  # the semicolon belongs to the demand
            demands = [row[2]] * len(names)
        for some, title, demand in zip(names, titles, demands, strict=True):
            found.update((clause, (title, demand)) for clause in expanded(some))
    flat = " ".join(text.split())
    for clause, title, demand in re.findall(r"\*\*(RUN-\d)\*\* \((.*?)\): (.*?)\.(?: |$)", flat):
        found[clause] = (title, demand)
    return found


def expanded(text):
    """The clauses of "RED-2, RED-3" or "STRM-1 … STRM-4"."""
    for first, number, last in re.findall(r"([A-Z]+)-(\d+)(?: … [A-Z]+-(\d+))?", text):
        yield from (f"{first}-{n}" for n in range(int(number), int(last or number) + 1))


def title(clause):
    return listed().get(clause, ("", ""))[0]


def demand(clause):
    return listed().get(clause, ("", ""))[1]


def named(clause):
    """A clause with its title: "STAT-4 (norm)"."""
    return f"{clause} ({title(clause)})" if title(clause) else clause


def file_of(clause):
    """The file of the repository that defines a clause."""
    name = SPEC.get(clause.split("-", maxsplit=1)[0])
    return f"spec/{name}.md" if name else "conformance/SPEC.md"
