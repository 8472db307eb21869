"""Writes RESULTS.md, index.html and results.json from the reports of several subjects.

The first two have a matrix of clauses and subjects, each cause with its explanation, public issue
and minimal cases, its history over versions, what adapters leave out, and the clause that caught
each mutant. results.json has the numbers of each subject; subjects.py reads it."""

import datetime
import json
import os
import re
import shlex
import sys
import urllib.parse

import console
import demands
import files
import limits
import page
import schema
import summary
from outcomes import EXCUSED
from report import printable, sentence
from tools import Refused


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


def cell(report, clause):
    good, bad, other, classes = summary.counts(report, clause)
    words = [f"**{bad} of {good + bad} failed**"] if bad else [str(good)] if good else []
    words += [f"{n} {name}" for name, n in classes.items()]
    if words and other > good + bad:
        words.append(f"{other} not judged")
    return "; ".join(words) or ("not judged" if other else "–")


def clause_link(clause):
    """The clause, with its demand as a tooltip."""
    demand = line(demands.demand(clause)).replace('"', "'")
    return f"[{line(clause)}](../{demands.file_of(clause)}" + (f' "{demand}")' if demand else ")")


def matrix(reports):
    return table(
        ["clause", *(line(summary.title(r)) for r in reports)],
        [
            [
                f"{clause_link(clause)} {line(demands.title(clause))}".rstrip(),
                *(cell(r, clause) for r in reports),
            ]
            for clause in summary.clauses_of(reports)
        ],
    )


def has_random(report):
    """True if random cases could follow the whole covering array."""
    limit = {"--seconds", "--cases"}
    words = {word.partition("=")[0] for word in report["command"].split()}
    return report["whole"] and bool(limit & words)


def numbers(reports, about):
    """results.json."""
    return {
        "schema": "zeroproof/results/1",
        **about,
        "subjects": [
            {
                "subject": summary.title(r),
                "level": r["level"],
                "cases": r["cases"],
                "causes": len(r["causes"]),
                "new": sum(not c["known"] for c in r["causes"]),
                "whole": r["whole"],
                "seed": r["seed"],
                "random": has_random(r),
                "seconds": round(r["seconds"]),
            }
            for r in reports
        ],
    }


def subjects(reports):
    rows = []
    for r in numbers(reports, {})["subjects"]:
        rows.append(
            [
                line(r["subject"]),
                r["level"],
                r["cases"]["pass"],
                *summary.status_counts(r),
                r["cases"]["unsupported"],
                r["causes"],
                r["new"],
                "whole" if r["whole"] else "in part",
                r["seed"],
                f"{r['seconds']} s{', with random cases' if r['random'] else ''}",
            ]
        )
    head = ["subject", "level", "cases passed", "failed", *EXCUSED, "not supported", "causes"]
    return table([*head, "not in known/", "covering array", "seed", "took"], rows)


def link(address, text):
    """A Markdown link, or the address as text if a browser could do anything but open it."""
    if not page.is_link(address):
        return line(address)
    return f"[{line(text)}]({urllib.parse.quote(address, safe='/:?#&=%+,;@!$*~')})"


def last_line(cause):
    """The finding's text; for an error, the last line of its traceback."""
    lines = cause["text"].strip().splitlines() or [""]
    return lines[-1] if cause["clause"] == "RUN-1" else cause["text"]


def explanation(shown):
    """Lines about a cause."""
    known = shown.known
    facts = [shown.kind, shown.effect, line(shown.where)]
    if known["issue"]:
        state = f", {line(known['upstream'])}" if known["upstream"] else ""
        facts.append(link(known["issue"], page.issue_name(known["issue"])) + state)
    if known["documented"]:
        facts.append(f"documented: {line(known['documented'])}")
    if known["alias"]:
        facts.append(f"formerly {line(known['alias'])}")
    name = "" if shown.new else f"{code(known['cause'])}: "
    return [
        f"### {line(shown.title)}",
        "",
        f"{name}{'; '.join(facts)}.",
        "",
        line(sentence(known["note"] or "no explanation yet"), 2000),
        "",
    ]


def minimal_case(report, cause):
    return [
        f"- {line(summary.title(report))}: **{line(demands.named(cause['clause']))}**, "
        f"{line(cause['kind'])}: "
        f"{page.cases_of(cause)}; conditions: {line(', '.join(cause['needs'])) or 'none'}.",
        f"  {line(last_line(cause))}",
        f"  {code(summary.again(report, cause['recipe']))}",
    ]


def causes(reports):
    lines = []
    for shown in summary.causes_of(reports):
        lines += explanation(shown)
        for report, cause in shown.minimal:
            lines += minimal_case(report, cause)
        lines.append("")
    return lines[:-1] or ["None."]


VERSIONS = (
    "x: the cause occurred in this version; –: it did not. Fixed by: the first of these versions "
    "that no longer has it. A version that is marked as from known/ was not judged here: its "
    "causes are those of its committed list."
)


def history(reports):
    lines = []
    for subject, versions, rows in summary.history(reports):
        lines += [
            "",
            *table(
                [line(subject), *map(line, versions), "first seen", "fixed by"],
                [
                    [line(name), *("x" if one else "–" for one in seen), line(first)]
                    + [line(fixed or "–")]
                    for name, seen, first, fixed in rows
                ],
            ),
        ]
    return lines


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


def mutants_text(found):
    lines = [
        f"{page.mutants_summary(found)} (`make conformance-mutants`)",
        "",
        *table(
            page.MUTANTS,
            [
                [
                    line(name),
                    line(mutant),
                    line(engine),
                    line(what, 200),
                    line(", ".join(map(demands.named, caught))) or "**nothing**",
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
    errors = [
        f"- **Error** ({line(summary.title(r))}): {line(text)}"
        for r in reports
        for text in r["problems"]
    ]
    found, out = history(reports), summary.left_out(reports)
    missing = summary.without_result(reports)
    lines = [
        "# Conformance: results",
        "",
        f"**{line(summary.verdict(reports)[0])}**",
        "",
        f"Made by {code(about['command'])} on {line(about['date'])}, "
        f"commit {line(about['commit'])}, {about['cores']} cores; do not "
        "edit. A number in the matrix is the number of cases that passed a clause. Known defects "
        'count as failures; failures of other classes ([SPEC.md](SPEC.md), "Classes") are counted '
        f"apart. {demands.NOT_JUDGED.capitalize()}. –: no case has the clause. "
        "Numbers of a run with `--seconds` include random cases, which follow the covering array. "
        "Commands run in the root of the repository.",
        *(["", *errors] if errors else []),
        *(["", f"Without a result here: {line(', '.join(missing), 4000)}."] if missing else []),
        "",
        "## Subjects",
        "",
        *subjects(reports),
        "",
        "## Clause by subject",
        "",
        *matrix(reports),
        "",
        "## Causes of failures",
        "",
        "By class, then by consequence: a silent wrong number first.",
        "",
        *causes(reports),
    ]
    if found:
        lines += ["", "## Causes by version", "", VERSIONS, *found]
    if out:
        lines += [
            "",
            "## Values and combinations that adapters leave out",
            "",
            *table(["subject", "combination", "reason"], [list(map(line, row)) for row in out]),
        ]
    if mutant_table:
        lines += ["", "## Mutants: engines with a historic bug", "", *mutants_text(mutant_table)]
    return "\n".join([*lines, ""])


def load(name):
    """A report of `zeroproof check`. It may come from anyone."""
    return schema.read(name, limits.REPORT, "report")


def make():
    parser = console.Parser(
        description="Writes RESULTS.md, index.html and results.json from the reports of several "
        "subjects."
    )
    parser.add_argument("reports", nargs="+", help="report.json of a subject")
    parser.add_argument("--out", default=".", help="output folder (the current one)")
    parser.add_argument("--commit", default="unknown", help="commit to name in the header")
    parser.add_argument(
        "--command",
        default=shlex.join(["python3", *sys.argv]),
        help="command to name in the header (this one)",
    )
    parser.add_argument(
        "--date",
        default=datetime.date.today().isoformat(),
        help="date to name in the header (today)",
    )
    parser.add_argument("--mutants", help="table of mutants; ignored if the file does not exist")
    options = parser.parse_args()
    page.templates()  # refuses without Jinja2
    reports = sorted(map(load, options.reports), key=summary.order)
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
        "index.html": page.whole(reports, about, mutant_table),
        "results.json": json.dumps(numbers(reports, about), ensure_ascii=False, indent=1) + "\n",
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
