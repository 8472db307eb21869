"""RESULTS.md and index.html from the reports of several subjects: what `make conformance` ends with.

A matrix clause × subject, each failure with its minimal case, its explanation and, where there is one, the
public issue; what changed from one version of a subject to the next; which clause caught which mutant."""
import argparse
import datetime
import json
import os
import re
import sys

import page
from report import printable


def title(report):
    """As it is: to be escaped by line(), or by HTML's rules."""
    return f"{report['subject']['name']} {report['subject']['version'].split('+')[0]}"


def order(report):
    version = re.findall(r"\d+", report["subject"]["version"].split("+")[0])
    return report["subject"]["name"].lower(), [int(x) for x in version]


def line(text, most=400):
    """One line that Markdown leaves alone."""
    flat = re.sub(r"(?<![\w/])/(?:[\w.+-]+/)+", "…/", " ".join(str(text).split()))  # paths differ from machine to machine
    flat = printable(flat if len(flat) <= most else flat[:most - 1] + "…")
    return re.sub(r"([|*_`\\]|(?<=\])\()", r"\\\1", flat.replace("&", "&amp;").replace("<", "&lt;"))


def code(text):
    """A recipe: its options are the subject's words. A backquote would end the span, a bar a table's cell."""
    return f"`{printable(text).replace('`', '′').replace('|', '¦')}`"


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|",
            *("| " + " | ".join(map(str, row)) + " |" for row in rows)]


def clauses_of(reports):
    return sorted({c for r in reports for c in r["clauses"]})


def cell(report, clause):
    """What a report says of a clause: (text, bad)."""
    good, bad, other = report["clauses"].get(clause, (0, 0, 0))
    if bad:
        return f"{bad} of {good + bad} failed", True
    return (str(good) if good else "not judged" if other else "–"), False


def matrix(reports):
    def one(report, clause):
        text, bad = cell(report, clause)
        return f"**{text}**" if bad else text

    return table(["clause", *(line(title(r)) for r in reports)],
                 [[clause, *(one(r, clause) for r in reports)] for clause in clauses_of(reports)])


def subjects(reports):
    rows = []
    for r in reports:
        known = sum(1 for c in r["causes"] if c["known"])
        rows.append([line(title(r)), r["level"], r["cases"]["pass"], r["cases"]["fail"], r["cases"]["unsupported"],
                     len(r["causes"]), len(r["causes"]) - known, "whole" if r["whole"] else "in part", r["seed"],
                     f"{r['seconds']:.0f} s"])
    return table(["subject", "level", "cases passed", "failed", "not supported", "causes", "not in known/",
                  "covering array", "seed", "took"], rows)


def explanation(cause):
    known = cause["known"] or {}
    text = line(known["note"].rstrip("."), 2000) if known.get("note") else "not explained yet"
    name = f"**{known['id']}**: " if known.get("id") else ""
    return name + text + (f" ([public issue]({known['issue']}))" if known.get("issue") else "")


def last_words(cause):
    """What came; of an error's trace the last line."""
    words = cause["text"].strip().splitlines() or [""]
    return words[-1] if cause["clause"] == "RUN-1" else cause["text"]


def grouped(report):
    """The causes by what explains them: [(explanation, causes)]; one defect has several symptoms."""
    found = {}
    for number, cause in enumerate(report["causes"], 1):
        known = cause["known"] or {}
        found.setdefault((known.get("id"), known["note"]) if known.get("note") else number, []).append((number, cause))
    return list(found.values())


def symptom(cause):
    how = f"{len(cause['cases'])} case{'s' if len(cause['cases']) != 1 else ''} of this run" \
        if cause["cases"] else "its minimal case alone in this run"
    return [f"   - **{cause['clause']}**, {line(cause['kind'])}: {how}; each has: "
            f"{line(', '.join(cause['needs'])) or 'nothing special'}.",
            f"     {line(last_words(cause))}",
            f"     Minimal case: {code(cause['recipe'])}"]


def failures(report):
    lines = []
    for place, causes in enumerate(grouped(report), 1):
        lines.append(f"{place}. {explanation(causes[0][1])}.")
        for _, cause in causes:
            lines += symptom(cause)
    return lines + [f"- **Error:** {line(text)}" for text in report["problems"]] or ["None."]


def name_of(cause):
    """What tells causes apart across versions: the known list's word for it, or clause and kind."""
    known = cause["known"] or {}
    if not known.get("note"):
        return f"{cause['clause']}: {cause['kind']}"
    first = re.split(r"(?<=[a-z)])(?:: |; |\. )", known["note"], maxsplit=1)[0].rstrip(".")
    return f"{known['id']}: {first}" if known.get("id") else first


def changes(reports):
    """[(from, to, gone, new, still there)] for each pair of successive versions."""
    found, last = [], {}
    for report in reports:
        name = report["subject"]["name"]
        if name in last:
            before, after = ({name_of(c) for c in r["causes"]} for r in (last[name], report))
            found.append((title(last[name]), title(report), sorted(before - after), sorted(after - before),
                          sorted(before & after)))
        last[name] = report
    return found


def mutants(made):
    """What mutants.py wrote, with the corpus' words: {"seed", "caught", "by_itself", "rows", "unplanted"}; rows of
    (id, mutant, where, what, clauses, case). by_itself: of how many only the subject's own error told."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus.json"), encoding="utf-8") as file:
        corpus = json.load(file)["rows"]
    by_row = {r["row"]: r for r in corpus if "row" in r}
    rows = []
    for m in made["mutants"]:
        row = by_row.get(m.get("row"), {"id": "beside the corpus", "symptom": "", "cause": ""})
        caught = [m["clause"], *m.get("also", [])] if m["clause"] else []
        caught += ["told by the subject itself"] if m["by"] == "subject" else []
        rows.append((row["id"], m["mutant"], m["engine"], ": ".join(x for x in (row["symptom"], row["cause"]) if x),
                     caught, m.get("recipe")))
    return {"seed": made["seed"], "caught": sum(1 for r in rows if r[4]), "rows": rows,
            "by_itself": sum(m["by"] == "subject" for m in made["mutants"]),
            "unplanted": [(r["id"], r["unplanted"]) for r in corpus if "unplanted" in r]}


MUTANTS = ["row of the corpus", "mutant", "planted in", "what it does", "caught by", "case"]


def mutants_summary(planted):
    return f"{planted['caught']} of {len(planted['rows'])} mutants were caught by general cases of seed {planted['seed']}; " \
           f"{planted['by_itself']} of them raised an error in each case that showed them, so that the subject itself told."


def mutants_text(planted):
    lines = [f"{mutants_summary(planted)} (`make conformance-mutants`)", "",
             *table(MUTANTS, [[line(name), mutant, where, line(what, 200), ", ".join(caught) or "**nothing**",
                               code(case) if case else ""] for name, mutant, where, what, caught, case in planted["rows"]])]
    if planted["unplanted"]:
        lines += ["", "Not planted:", "", *table(["row of the corpus", "why"],
                                                 [[line(name), line(why, 1000)] for name, why in planted["unplanted"]])]
    return lines


def markdown(reports, about, planted):
    lines = ["# Conformance: results", "",
             f"Made by `{about['command']}` on {about['date']}, commit {about['commit']}, {about['cores']} cores; do not "
             "edit. A number in the matrix is how many cases passed a clause; a failure that is listed in known/ is one, too. "
             "A case again: `zeroproof check --adapter … --only 'CASE'`. What is judged: [SPEC.md](SPEC.md).",
             "", "## Subjects", "", *subjects(reports), "", "## Clause by subject", "", *matrix(reports)]
    for report in reports:
        lines += ["", f"## {line(title(report))}: failures", "", *failures(report)]
    changed = changes(reports)
    if changed:
        lines += ["", "## From version to version", "", *table(
            ["", "gone", "new", "still there"],
            [[line(f"{a} → {b}"), *("<br>".join(line(n) for n in names) or "–" for names in rest)] for a, b, *rest in changed])]
    if planted:
        lines += ["", "## Mutants: the bug corpus, planted", "", *mutants_text(planted)]
    return "\n".join([*lines, ""])


def load(name):
    with open(name, encoding="utf-8") as file:
        return json.load(file)


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description="RESULTS.md and index.html from the reports of several subjects.")
    parser.add_argument("reports", nargs="+", help="report.json of a subject")
    parser.add_argument("--out", default=".", help="the folder for both")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--command", default="make conformance")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--mutants", help="which clause caught which mutant; left out when there is no such file")
    options = parser.parse_args()
    reports = sorted(map(load, options.reports), key=order)
    planted = mutants(load(options.mutants)) if options.mutants and os.path.exists(options.mutants) else None
    about = {"commit": options.commit, "command": options.command, "date": options.date, "cores": os.cpu_count()}
    os.makedirs(options.out, exist_ok=True)
    write(options.out, "RESULTS.md", markdown(reports, about, planted))
    write(options.out, "index.html", page.whole(reports, about, planted, sys.modules[__name__]))


if __name__ == "__main__":
    main()
