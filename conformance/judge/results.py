"""Writes RESULTS.md and index.html from the reports of several subjects.

Both have a matrix of clauses and subjects, each failure with its minimal case, explanation and
public issue, the changes between versions of a subject, and the clause that caught each mutant."""

import datetime
import json
import os
import re
import sys
import urllib.parse

import console
import files
import limits
import page
import schema
from outcomes import DEFECT, EXCUSED, empty_row
from report import name_of, printable
from tools import Refused


def title(report):
    """Not escaped: callers use line(), or HTML's rules."""
    return f"{report['subject']['name']} {report['subject']['version'].split('+')[0]}"


def order(report):
    version = re.findall(r"\d+", report["subject"]["version"].split("+")[0])
    return report["subject"]["name"].lower(), [int(x) for x in version]


def line(text, most=400):
    """One line of text, escaped for Markdown."""
    flat = re.sub(
        r"(?<![\w/])/(?:[\w.+-]+/)+", "…/", " ".join(str(text).split())
    )  # paths differ between machines
    flat = printable(flat if len(flat) <= most else flat[: most - 1] + "…")
    return re.sub(r"([|*_`\\]|(?<=\])\()", r"\\\1", flat.replace("&", "&amp;").replace("<", "&lt;"))


def code(text):
    """A recipe as code. Its options come from the subject: a backquote would end the span, a bar
    the table cell."""
    flat = " ".join(printable(text).split())
    return f"`{flat.replace('`', '′').replace('|', '¦')}`"


def table(head, rows):
    return [
        "| " + " | ".join(head) + " |",
        "|---" * len(head) + "|",
        *("| " + " | ".join(map(str, row)) + " |" for row in rows),
    ]


def clauses_of(reports):
    return sorted({c for r in reports for c in r["clauses"]})


def cell(report, clause):
    """(text, "bad", "good" or "dim") of a clause in a report."""
    good, bad, other, *classes = report["clauses"].get(clause, empty_row())
    more = [f"{n} {name}" for name, n in zip(EXCUSED, classes, strict=True) if n]
    first = f"{bad} of {good + bad} failed" if bad else str(good) if good else ""
    words = "; ".join([first, *more] if first else more)
    words = words or ("not judged" if other else "–")
    return words, "bad" if bad else "good" if good else "dim"


def matrix(reports):
    def one(report, clause):
        text, kind = cell(report, clause)
        return f"**{text}**" if kind == "bad" else text

    return table(
        ["clause", *(line(title(r)) for r in reports)],
        [[line(clause), *(one(r, clause) for r in reports)] for clause in clauses_of(reports)],
    )


def subjects(reports):
    rows = []
    for r in reports:
        known = sum(1 for c in r["causes"] if c["known"])
        rows.append(
            [
                line(title(r)),
                r["level"],
                r["cases"]["pass"],
                r["cases"]["fail"],
                *(r["cases"][name] for name in EXCUSED),
                r["cases"]["unsupported"],
                len(r["causes"]),
                len(r["causes"]) - known,
                "whole" if r["whole"] else "in part",
                r["seed"],
                f"{r['seconds']:.0f} s",
            ]
        )
    return table(
        [
            "subject",
            "level",
            "cases passed",
            "failed",
            *EXCUSED,
            "not supported",
            "causes",
            "not in known/",
            "covering array",
            "seed",
            "took",
        ],
        rows,
    )


def explanation(cause):
    known = cause["known"]
    if not known:
        return "**New**: no explanation yet"
    issue = f" ({link(known['issue'])})" if known.get("issue") else ""
    kind = "" if known["class"] == DEFECT else f", {line(known['class'])}"
    name = f"**{line(known['cause'])}** ({line(known['title'])}{kind}): "
    return name + line((known.get("note") or "").rstrip("."), 2000) + issue


def link(address):
    """A Markdown link to a public issue."""
    if not page.is_link(address):
        return f"public issue: {line(address)}"
    return f"[public issue]({urllib.parse.quote(address, safe='/:?#&=%+,;@!$*~')})"


def summary(cause):
    """The finding's text; for an error, the last line of its traceback."""
    lines = cause["text"].strip().splitlines() or [""]
    return lines[-1] if cause["clause"] == "RUN-1" else cause["text"]


def grouped(report):
    """Lists of (number, cause) with the same explanation: one defect may have several symptoms."""
    found = {}
    for number, cause in enumerate(report["causes"], 1):
        key = cause["known"]["cause"] if cause["known"] else number
        found.setdefault(key, []).append((number, cause))
    return list(found.values())


def symptom(cause):
    how = (
        f"{len(cause['cases'])} case{'s' if len(cause['cases']) != 1 else ''} of this run"
        if cause["cases"]
        else "only the minimal case in this run"
    )
    return [
        f"   - **{line(cause['clause'])}**, {line(cause['kind'])}: {how}; conditions: "
        f"{line(', '.join(cause['needs'])) or 'none'}.",
        f"     {line(summary(cause))}",
        f"     Minimal case: {code(cause['recipe'])}",
    ]


def failures(report):
    lines = []
    for number, causes in enumerate(grouped(report), 1):
        lines.append(f"{number}. {explanation(causes[0][1])}.")
        for _, cause in causes:
            lines += symptom(cause)
    return lines + [f"- **Error:** {line(text)}" for text in report["problems"]] or ["None."]


def changes(reports):
    """[(from, to, fixed, new, unchanged)] for each pair of successive versions."""
    found, last = [], {}
    for report in reports:
        name = report["subject"]["name"]
        if name in last:
            before, after = ({name_of(c) for c in r["causes"]} for r in (last[name], report))
            found.append(
                (
                    title(last[name]),
                    title(report),
                    sorted(before - after),
                    sorted(after - before),
                    sorted(before & after),
                )
            )
        last[name] = report
    return found


def mutants(made):
    """The table of mutants.py with the corpus' descriptions: {"seed", "caught", "own_error",
    "rows", "unplanted"}. Rows are (id, mutant, engine, effect, clauses, case). own_error: mutants
    revealed by their own error only."""
    with open(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus.json"), encoding="utf-8"
    ) as file:
        corpus = json.load(file)["rows"]
    by_row = {r["row"]: r for r in corpus if "row" in r}
    rows = []
    for m in made["mutants"]:
        row = by_row.get(m.get("row"), {"id": "not in the corpus", "symptom": "", "cause": ""})
        caught = [m["clause"], *m.get("also", [])] if m["clause"] else []
        caught += ["the subject's own error"] if m["by"] == "subject" else []
        rows.append(
            (
                row["id"],
                m["mutant"],
                m["engine"],
                ": ".join(x for x in (row["symptom"], row["cause"]) if x),
                caught,
                m.get("recipe"),
            )
        )
    return {
        "seed": made["seed"],
        "caught": sum(1 for r in rows if r[4]),
        "rows": rows,
        "own_error": sum(m["by"] == "subject" for m in made["mutants"]),
        "unplanted": [(r["id"], r["unplanted"]) for r in corpus if "unplanted" in r],
    }


MUTANTS = ["historic bug", "mutant", "engine", "symptom: cause", "caught by", "case"]


def mutants_summary(table):
    return (
        f"{table['caught']} of {len(table['rows'])} mutants were caught by general cases of seed "
        f"{table['seed']}; "
        f"{table['own_error']} of them only by the subject's own error (RUN-1), not by a check of "
        "the suite."
    )


def mutants_text(found):
    lines = [
        f"{mutants_summary(found)} (`make conformance-mutants`)",
        "",
        *table(
            MUTANTS,
            [
                [
                    line(name),
                    line(mutant),
                    line(engine),
                    line(what, 200),
                    line(", ".join(caught)) or "**nothing**",
                    code(case) if case else "",
                ]
                for name, mutant, engine, what, caught, case in found["rows"]
            ],
        ),
    ]
    if found["unplanted"]:
        lines += [
            "",
            "Historic bugs without a mutant:",
            "",
            *table(
                ["historic bug", "reason"],
                [[line(name), line(why, 1000)] for name, why in found["unplanted"]],
            ),
        ]
    return lines


def markdown(reports, about, mutant_table):
    lines = [
        "# Conformance: results",
        "",
        f"Made by {code(about['command'])} on {line(about['date'])}, "
        f"commit {line(about['commit'])}, {about['cores']} cores; do not "
        "edit. A number in the matrix is the number of cases that passed a clause. Known defects "
        'count as failures; failures of other classes (SPEC.md, "Classes") are counted apart. '
        "To reproduce a case: `zeroproof check "
        "--adapter … --only 'CASE'`. What is judged: [SPEC.md](SPEC.md).",
        "",
        "## Subjects",
        "",
        *subjects(reports),
        "",
        "## Clause by subject",
        "",
        *matrix(reports),
    ]
    for report in reports:
        lines += ["", f"## {line(title(report))}: failures", "", *failures(report)]
    changed = changes(reports)
    if changed:
        lines += [
            "",
            "## Changes between versions",
            "",
            *table(
                ["", "no longer occurs", "new", "still occurs"],
                [
                    [
                        line(f"{a} → {b}"),
                        *("<br>".join(line(n) for n in names) or "–" for names in rest),
                    ]
                    for a, b, *rest in changed
                ],
            ),
        ]
    if mutant_table:
        lines += ["", "## Mutants: engines with a historic bug", "", *mutants_text(mutant_table)]
    return "\n".join([*lines, ""])


def load(name):
    """A report of `zeroproof check`. It may come from anyone."""
    return schema.read(name, limits.REPORT, "report")


def make():
    parser = console.Parser(
        description="Writes RESULTS.md and index.html from the reports of several subjects."
    )
    parser.add_argument("reports", nargs="+", help="report.json of a subject")
    parser.add_argument("--out", default=".", help="output folder (the current one)")
    parser.add_argument("--commit", default="unknown", help="commit to name in the header")
    parser.add_argument(
        "--command", default="make conformance", help="command to name in the header"
    )
    parser.add_argument(
        "--date",
        default=datetime.date.today().isoformat(),
        help="date to name in the header (today)",
    )
    parser.add_argument("--mutants", help="table of mutants; ignored if the file does not exist")
    options = parser.parse_args()
    reports = sorted(map(load, options.reports), key=order)
    mutant_table = (
        mutants(schema.read(options.mutants, limits.REPORT, "mutants", "--mutants"))
        if options.mutants and os.path.exists(options.mutants)
        else None
    )
    about = {
        "commit": options.commit,
        "command": options.command,
        "date": options.date,
        "cores": os.cpu_count(),
    }
    texts = {
        "RESULTS.md": markdown(reports, about, mutant_table),
        "index.html": page.whole(reports, about, mutant_table, sys.modules[__name__]),
    }
    for name in texts:
        for read in filter(None, (*options.reports, options.mutants)):
            if files.same(os.path.join(options.out, name), read):
                raise Refused(f"--out {options.out} would overwrite {read}")
    os.makedirs(options.out, exist_ok=True)
    files.write_all([(os.path.join(options.out, name), [text]) for name, text in texts.items()])


def main():
    try:
        make()
    except Refused as error:
        console.show_error(f"results.py: {error}")
        return 2
    except OSError as error:
        console.show_error(f"results.py: {error}")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(console.guarded("results.py", main))
