"""The clauses that SPEC.md lists: their titles, what they demand, what an answer needs so that they
are judged, and where they are defined."""

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

# A clause counts as judged if one of these was compared: names in Judge.compared, "ledger", or a
# clause for which stream events had two conflicting accesses. Clauses that are not listed need
# GRADIENTS.
GRADIENTS = {"gradients", "update"}
EVIDENCE = {
    "STAT-1": {"ledger"},
    "STAT-2": {"norm"},
    "STAT-3": {"overflow"},
    "STAT-4": {"norm"},
    "STEP-6": {"skipped"},
    "STEP-7": {"parameters"},
    "STEP-8": {"parameters", "loss"},
    "SCALE-3": {"scale after an overflow"},
    "SCALE-4": {"scale after an update"},
    "OPT-2": {"update"},
    "OPT-4": {"update"},
    "PART-1": {"frozen"},
    "PART-6": {"shares"},
    "CKPT-5": {"continued"},
    **{f"LEDG-{n}": {"ledger"} for n in (2, 3, 6, 7)},
    **{f"STRM-{n}": {f"STRM-{n}"} for n in (1, 2, 3, 4, 6)},
}
# What an answer must have so that one of these is compared: text, and the fields of hello's
# "returns" of which one is needed.
NEEDS = {
    "ledger": ("a communication of several ranks in `ledger` (level 2)", {"ledger"}),
    "norm": ("the `norm` of a step that is not skipped", {"norm"}),
    "overflow": ("`skipped` of a step that must be skipped", {"skipped"}),
    "skipped": ("`skipped`", {"skipped"}),
    "parameters": ("`parameters`", {"parameters"}),
    "loss": ("`loss`", {"loss"}),
    "scale after an overflow": ("the `scale` after a skipped step", {"scale"}),
    "scale after an update": ("the `scale` after a step that is not skipped", {"scale"}),
    "update": ("`parameters` or `masters` after an update", {"parameters", "masters"}),
    "gradients": ("`gradients`", {"gradients"}),
    "frozen": ("a frozen parameter in `parameters`", {"parameters"}),
    "shares": ("`masters` or `gradients` that no rank has whole", {"masters", "gradients"}),
    "continued": ("a field of a step after the checkpoint", {"parameters", "masters", "loss"}),
}
NEEDED = "needs "
RACES = ("conflicting accesses of two streams in `streams` (level 3)", {"streams"})


def evidence(clause):
    return EVIDENCE.get(clause, GRADIENTS)


def needs(clause):
    """(text, fields): what an answer needs so that the clause is judged, and the fields of which it
    must have one."""
    texts, fields = zip(*(NEEDS.get(one, RACES) for one in sorted(evidence(clause))), strict=True)
    return ", or ".join(texts), set().union(*fields)


def unjudged(clause, cases, lacking):
    """Why a clause is not judged in some cases. lacking: those that did not fail."""
    need = f"{NEEDED}{needs(clause)[0]}"
    if lacking == cases:
        why = need
    elif not lacking:
        why = "another clause failed"
    else:
        why = f"in {cases - lacking}, another clause failed; the others: {need}"
    return f"{clause}: not judged in {many(cases, 'case')}: {why}"


def many(number, word):
    return f"{number} {word}{'' if number == 1 else 's'}"


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
