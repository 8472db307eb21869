"""Writes conformance/AXES.md: which subject supports which values of each axis, and why it lacks
the others.

usage: table.py OUT SUPPORT.json...

The lists are those of conformance/support, which repeat what each adapter's hello says. Exit codes:
0; 1 a value is missing without a reason, or has a reason although it is supported."""

import random
import sys

import axes
import files
import limits
import protocol
import schema
from tools import Refused

HEAD = """# Axes and subjects

Made by `make conformance-axes` from the lists in [support/](support/), which repeat what each
adapter's `hello` says. [ADAPTER.md](ADAPTER.md) explains the axes. "all": the subject supports
every value of the axis; −n: it lacks n values, for the reasons below.
"returns": the fields of a step that it returns. The columns are these subjects:

"""


class Subject:
    """One support list; versions of a subject with equal lists are one column."""

    def __init__(self, support):
        self.space, self.level = axes.Space(support), support["level"]
        self.names = [f"{support['name']} {support['version']}"]
        self.lacks, self.rules = support.get("lacks", {}), support["without"]
        self.fields = [f for f in protocol.FIELDS if f not in support["returns"]]
        self.key = (
            support["name"],
            repr([support[k] for k in ("level", "world", "supports", "without", "options")]),
            repr(self.lacks),
        )

    def supports(self, axis, value):
        """True if a case has the value."""
        default = axes.NAMED.get(axis, axes.FIRST[axis])
        if value not in self.space.axes.get(axis, [default]):
            return False
        fixed = {axis: value} if axis in self.space.axes else {}
        dice = random.Random(0)
        return (
            axes.plainest(self.space, dice, fixed) is not None
            or axes.random_row(self.space, dice, fixed) is not None
        )

    def reason(self, axis, value):
        """Why the value is missing, or None."""
        why = self.lacks.get(axis)
        if isinstance(why, dict):  # a field may have the name of an axis: scale
            why = next(iter(why.values())) if value is None else why.get(str(value))
        if why is None and axis == "streams" and self.level < 3:
            return "it writes no stream log (level 3)"
        return why or self.lacks.get("*")

    def missing(self):
        """axis -> values that no case has."""
        found = {a: [v for v in vs if not self.supports(a, v)] for a, vs in axes.AXES.items()}
        return {axis: values for axis, values in found.items() if values}

    def errors(self, missing):
        name = self.names[0]
        for axis, values in missing.items():
            for value in values:
                if self.reason(axis, value) is None:
                    yield f"{name} lacks {axis} {value} without a reason"
        for field in self.fields:
            if self.reason(field, None) is None:
                yield f"{name} lacks the field {field} without a reason"
        for axis, why in self.lacks.items():
            named = why if isinstance(why, dict) else {}
            stale = [v for v in named if v not in map(str, missing.get(axis, []))]
            if stale or axis not in (*missing, *self.fields, "*"):
                yield f"{name} has a reason to lack {axis} {', '.join(stale)}, which it supports"
        for rule in axes_of(self.rules):
            yield f"{name} leaves out {rule} without a reason"


def axes_of(rules):
    return [rule for rule in rules if "why" not in rule]


def columns(supports):
    found = {}
    for support in supports:
        subject = Subject(support)
        if subject.key in found:
            found[subject.key].names += subject.names
        else:
            found[subject.key] = subject
    return list(found.values())


def wrapped(text, width=128):
    """A bullet of the document, broken between words."""
    lines, line = [], "-"
    for word in text.split():
        if len(line) + 1 + len(word) > width:
            lines.append(line)
            line = " "
        line += f" {word}"
    return "\n".join([*lines, line]) + "\n"


def shown(values):
    return ", ".join(f"`{value}`" for value in (values if isinstance(values, list) else [values]))


def reasons(subject, missing):
    """The bullets of one subject."""
    for axis, values in missing.items():
        by_reason = {}
        for value in values:
            by_reason.setdefault(subject.reason(axis, value), []).append(value)
        for why, some in by_reason.items():
            yield wrapped(f"{axis} {shown(some)}: {why}")
    for field in subject.fields:
        yield wrapped(f"the field {field}: {subject.reason(field, None)}")
    by_reason = {}
    for rule in subject.rules:
        words = " with ".join(f"{a} {shown(v)}" for a, v in rule.items() if a != "why")
        by_reason.setdefault(rule.get("why"), []).append(words)
    for why, rules in by_reason.items():
        yield wrapped(f"combinations: {'; '.join(rules)}: {why}")


def document(subjects):
    yield HEAD
    for number, subject in enumerate(subjects, 1):
        yield f"{number}. {', '.join(subject.names)}\n"
    yield f"\n| axis | {' | '.join(str(n) for n in range(1, len(subjects) + 1))} |\n"
    yield f"|---|{'---|' * len(subjects)}\n"
    missing = [subject.missing() for subject in subjects]
    for axis in axes.AXES:
        cells = (f"−{len(m[axis])}" if axis in m else "all" for m in missing)
        yield f"| {axis} | {' | '.join(cells)} |\n"
    for field in protocol.FIELDS:
        cells = ("no" if field in subject.fields else "yes" for subject in subjects)
        yield f"| returns {field} | {' | '.join(cells)} |\n"
    for number, (subject, mine) in enumerate(zip(subjects, missing, strict=True), 1):
        yield f"\n## {number}. {', '.join(subject.names)}\n\n"
        yield from reasons(subject, mine) if mine or subject.rules else ["It lacks nothing.\n"]


def main(out, names):
    subjects = columns([schema.read(name, limits.LIST, "support", name) for name in names])
    errors = [text for subject in subjects for text in subject.errors(subject.missing())]
    for text in errors:
        print(f"table.py: {text}", file=sys.stderr)
    if not errors:
        files.write(out, document(subjects))
    return 1 if errors else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], sys.argv[2:]))
    except Refused as refusal:
        print(f"table.py: {refusal}", file=sys.stderr)
        sys.exit(2)
