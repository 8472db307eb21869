"""Writes subjects.md: all subjects, what each supports, its version, and its last result.

It reads subjects.txt, the accepted lists in support/ (what `hello` announced), results.json (the
numbers of RESULTS.md), and unreachable.txt. --check: exit code 1 if the file is not current."""

import argparse
import json
import os
import sys

import summary
from report import totals
from results import table

CONFORMANCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIZES = ("dp", "pp", "tp", "ep")


def read(*path):
    with open(os.path.join(CONFORMANCE, *path), encoding="utf-8") as file:
        return file.read()


def lines(name):
    return [text for text in read(name).splitlines() if text and not text.startswith("#")]


def reach(support):
    """The stages of ZeRO, largest sizes and precisions of a support list."""
    axes = support["supports"]
    parts = ["ZeRO " + ", ".join(map(str, axes["zero"]))]
    parts += [f"{name} ≤ {max(axes[name])}" for name in SIZES if max(axes.get(name, [1])) > 1]
    parts.append(", ".join(axes.get("precision", ["fp32"])))
    count = len(support["options"])
    return "; ".join(parts + ([f"{count} option{'s' if count > 1 else ''}"] if count else []))


def last(title, found):
    row = found.get(title)
    if row is None:
        return "no result yet"
    numbers = f"{totals(row['cases'])}, {summary.many(row['causes'], 'cause')}"
    return numbers + (f"; with random cases (for {row['seconds']} s)" if row.get("whole") else "")


def markdown():
    results = json.loads(read("results.json"))
    found = {row["subject"]: row for row in results["subjects"]}
    rows = []
    for name, environment, adapter, lists, which in (
        line.split() for line in lines("subjects.txt")
    ):
        support = json.loads(read("support", f"{lists}.json"))
        title = f"{support['name']} {support['version'].split('+')[0]}"  # without the build tag
        rows.append(
            [
                name,
                title,
                f"[{adapter}](adapters/{adapter})"
                if adapter.endswith(".py")
                else "zeroproof adapter",
                environment if environment != "-" else "–",
                str(support["level"]),
                reach(support),
                "conformance" if which == "usual" else "conformance-all",
                last(title, found),
            ]
        )
    return "\n".join(
        [
            "# Subjects",
            "",
            "Made by `python3 conformance/judge/subjects.py` from [subjects.txt](subjects.txt),",
            f"the lists in [support](support), and [RESULTS.md](RESULTS.md) of {results['date']};",
            "do not edit. `make conformance` runs random cases after the covering array; `check`",
            "without `--seconds` or `--cases` runs the array only.",
            "",
            *table(
                ["subject", "version", "adapter", "environment", "level", "reach", "run by make …"]
                + ["last result"],
                rows,
            ),
            "",
            "`sh conformance/subject.sh ENVIRONMENT` makes an environment; [locks](locks) has its",
            "versions and hashes. [AXES.md](AXES.md) has what each adapter leaves out,",
            "with the reasons.",
            "",
            "## What does not run on a CPU",
            "",
            *table(
                ["program", "not judged", "where"],
                [[cell.strip() for cell in line.split("|")] for line in lines("unreachable.txt")],
            ),
            "",
        ]
    )


def main():
    parser = argparse.ArgumentParser(description="Writes conformance/subjects.md.")
    parser.add_argument("--check", action="store_true", help="only check that it is current")
    options = parser.parse_args()
    text = markdown()
    if options.check:
        current = read("subjects.md") == text
        print("subjects.md is current" if current else "subjects.md differs: run subjects.py")
        return 0 if current else 1
    with open(os.path.join(CONFORMANCE, "subjects.md"), "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
