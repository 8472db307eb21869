"""RESULTS.md from the reports of several subjects: python3 conformance/judge/results.py REPORT.json…

A matrix clause × subject, each failure with its minimal case and, where known, its public issue; then
what changed from one version of a subject to the next."""
import json
import sys


def title(report):
    return f"{report['subject']['name']} {report['subject']['version']}"


def cell(report, clause):
    good, bad, other = report["clauses"].get(clause, (0, 0, 0))
    if bad:
        return f"**{bad} failed**, {good}"
    return str(good) if good else "–" if not other else "not judged"


def matrix(reports):
    clauses = sorted({c for r in reports for c in r["clauses"]})
    lines = ["| clause | " + " | ".join(title(r) for r in reports) + " |", "|---|" + "---|" * len(reports)]
    lines += [f"| {c} | " + " | ".join(cell(r, c) for r in reports) + " |" for c in clauses]
    totals = [f"{r['cases']['pass']} / {r['cases']['fail']} / {r['cases']['unsupported']}" for r in reports]
    return lines + ["| cases passed / failed / not supported | " + " | ".join(totals) + " |"]


def failures(report):
    lines = []
    for number, cause in enumerate(report["causes"], 1):
        known = cause["known"] or {}
        lines += [f"{number}. **{cause['clause']}**, {cause['kind']}"
                  + (f": {known['note']}" if known.get("note") else "")
                  + (f" ([public issue]({known['issue']}))" if known.get("issue") else "") + ".",
                  f"   Every such case has: {', '.join(cause['needs']) or 'nothing special'}.",
                  "   " + " ".join(cause["text"].split())[:400] + "",
                  f"   Minimal case: `{cause['recipe']}`"]
    return lines or ["None."]


def name_of(cause):
    """What tells causes apart across versions: clause, kind, and the note of the known list."""
    return f"{cause['clause']}, {cause['kind']}" + (f": {cause['known']['note']}" if cause["known"] else "")


def changes(reports):
    lines, last = [], {}
    for report in reports:
        name = report["subject"]["name"]
        if name in last:
            before, after = ({name_of(c) for c in r["causes"]} for r in (last[name], report))
            lines += [f"| {title(last[name])} → {report['subject']['version']} | "
                      f"{'; '.join(sorted(before - after)) or '–'} | {'; '.join(sorted(after - before)) or '–'} | "
                      f"{'; '.join(sorted(before & after)) or '–'} |"]
        last[name] = report
    return ["| | gone | new | still there |", "|---|---|---|---|"] + lines if lines else []


def main():
    reports = []
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            reports.append(json.load(file))
    reports.sort(key=lambda r: (r["subject"]["name"], [int(x) if x.isdigit() else 0 for x in
                                                        r["subject"]["version"].split("+")[0].split(".")]))
    lines = ["# Conformance: results", "", "Made by `conformance/judge/results.py` from the reports of `make conformance`. "
             "A number is how many cases passed a clause.", "", *matrix(reports)]
    for report in reports:
        lines += ["", f"## {title(report)}", "", *failures(report)]
    changed = changes(reports)
    if changed:
        lines += ["", "## From version to version", "", *changed]
    print("\n".join(lines))


main()
