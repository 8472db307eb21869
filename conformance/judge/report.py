"""What a run found: a table for people, JSON, JUnit XML and TAP for machines."""
import json
import os
from xml.sax.saxutils import escape, quoteattr

SCHEMA = "zeroproof/report/1"
FORMS = ("report.json", "junit.xml", "report.tap", "report.html")
# Bugs of these families look like failures of a clause that no row of the corpus cites.
FAMILIES = {"LEDG-6": ["CM"], "OPT-4": ["WIN"], "PIPE-2": ["PS"], "TOPO-3": ["MAP"]}


def clause_table(outcomes, extra=()):
    """clause -> [passed, failed, not judged] cases."""
    table = {}
    for out in outcomes:
        if out.status == "unsupported":
            continue
        failed = {f.clause for f in out.findings}
        # that it ended with an answer, and with one that could be read, every case says
        judged = out.judged | {"RUN-1", "RUN-2"}
        for clause in set(out.case["clauses"]) | failed | {"RUN-1", "RUN-2"}:
            row = table.setdefault(clause, [0, 0, 0])
            if clause in failed:
                row[1] += 1
            elif out.status == "pass" and clause in judged:
                row[0] += 1
            else:
                row[2] += 1
    for finding in extra:
        table.setdefault(finding.clause, [0, 0, 0])[1] += 1
    return dict(sorted(table.items()))


def counts(outcomes):
    return {s: sum(o.status == s for o in outcomes) for s in ("pass", "fail", "unsupported")}


def terminal(report, brief=False):
    """For people; brief: without what passed or is known."""
    lines = [f"{report['subject']['name']} {report['subject']['version']}: "
             f"{report['cases']['pass']} cases passed, {report['cases']['fail']} failed, "
             f"{report['cases']['unsupported']} not supported, in {report['seconds']:.0f} s "
             f"(level {report['level']}, seed {report['seed']})"]
    if brief:
        known = sum(1 for c in report["causes"] if c["known"])
        lines[0] += f"; {known} known failures seen, {len(report['causes']) - known} others"
    else:
        lines += ["", f"  {'clause':<10}{'passed':>8}{'failed':>8}{'not judged':>12}"]
    for clause, (good, bad, other) in report["clauses"].items() if not brief else ():
        mark = "  <--" if bad else ""
        lines.append(f"  {clause:<10}{good:>8}{bad:>8}{other:>12}{mark}")
    for number, cause in enumerate(report["causes"], 1):
        if brief and cause["known"]:
            continue
        lines += ["", f"cause {number}: {cause['clause']} {cause['kind']}" +
                  ("  (known)" if cause["known"] else "  (new, in a fresh case)" if cause["fresh"] else ""),
                  f"  {len(cause['cases'])} case(s); every one has: {', '.join(cause['needs']) or 'nothing special'}",
                  f"  {cause['text'][:600]}", f"  again: zeroproof check --adapter … --only '{cause['recipe']}'"]
        for row in cause["corpus"][:3]:
            lines.append(f"  compare: {row['id']}: {row['symptom']}")
    for problem in report["problems"]:
        lines += ["", f"error: {problem}"]
    return printable("\n".join(lines))


def as_json(subject, options, outcomes, causes, problems, seconds, corpus, extra):
    known = {id(o) for c in causes if c.known for o in [c.smallest, *c.outcomes]}
    fresh = {id(o) for c in causes if c.fresh() and not c.known for o in c.outcomes}
    return {
        "schema": SCHEMA, "subject": subject, "level": options["level"], "seed": options["seed"],
        "seconds": round(seconds, 3), "whole": options["whole"], "cases": counts(outcomes),
        "clauses": clause_table(outcomes, extra), "problems": problems,
        "causes": [cause_json(c, corpus) for c in causes],
        "results": [{"id": o.case["id"], "recipe": o.recipe.full(), "status": o.status,
                     "seconds": round(o.seconds, 3), "clauses": o.case["clauses"],
                     "origin": o.origin, "known": id(o) in known, "fresh": id(o) in fresh, "findings": [f.json() for f in o.findings],
                     "message": o.answer.get("message", "") if o.status == "unsupported" else ""}
                    for o in outcomes]}


def related(corpus, clause):
    """The rows of this clause, else those of its families; none is better than any. None of RUN-1: bugs that end in
    an error have no more in common than that."""
    if clause == "RUN-1":
        return []
    rows = [r for r in corpus["rows"] if clause in r.get("clauses", [])]
    return rows or [r for r in corpus["rows"] if set(r["families"]) & set(FAMILIES.get(clause, []))]


def cause_json(cause, corpus):
    small = cause.smallest
    finding = small.findings[0]
    return {"clause": finding.clause, "kind": finding.kind, "needs": cause.needs, "known": cause.known,
            "fresh": cause.fresh(),
            "text": finding.text, "recipe": small.recipe.full(), "shrunk_in": getattr(small, "shrunk_in", 0),
            "cases": [o.case["id"] for o in cause.outcomes],
            "findings": [f.json() for f in small.findings[:20]], "case": small.case,
            "expected": small.expected, "answer": clipped_answer(small.answer),
            "ledgers": [records[:400] for records in small.ledgers],
            "corpus": related(corpus, finding.clause)[:8]}


def clipped_answer(answer):
    return {k: v for k, v in answer.items() if k not in ("waits",)}


def excuse(result):
    """Why a failing case is no failure of the run, or None."""
    return "known" if result["known"] else "new, in a fresh case" if result["fresh"] else None


def junit(report):
    known = sum(excuse(r) is not None for r in report["results"])
    bad = report["cases"]["fail"] - known + len(report["problems"])
    lines = ['<?xml version="1.0" encoding="UTF-8"?>',
             f'<testsuite name={quoteattr("zeroproof " + report["subject"]["name"])} '
             f'tests="{len(report["results"]) + len(report["problems"])}" failures="{bad}" '
             f'skipped="{report["cases"]["unsupported"] + known}" time="{report["seconds"]}">']
    for r in report["results"]:
        lines.append(f'  <testcase classname={quoteattr(report["subject"]["name"])} '
                     f'name={quoteattr(r["id"] + " " + r["recipe"])} time="{r["seconds"]}">')
        if r["status"] == "unsupported":
            lines.append(f'    <skipped message={quoteattr(r["message"])}/>')
        if excuse(r):  # what is expected, or only told, is no failure of the run: JUnit has no better word
            lines.append(f'    <skipped message={quoteattr(f"{excuse(r)}: " + r["findings"][0]["text"][:500])}/>')
        for f in r["findings"] if not excuse(r) else []:
            lines.append(f'    <failure type={quoteattr(f["clause"] + " " + f["kind"])} '
                         f'message={quoteattr(f["text"][:500])}>{escape(f["text"])}</failure>')
        lines.append("  </testcase>")
    for text in report["problems"]:
        lines.append(f'  <testcase classname="suite" name={quoteattr(text[:80])}>'
                     f'<failure message={quoteattr(text)}/></testcase>')
    return printable("\n".join(lines + ["</testsuite>", ""]))


def printable(text):
    """XML allows no control characters but these, and no half characters; a terminal would obey some."""
    return "".join(c for c in text if c in "\t\n\r" or (ord(c) >= 32 and not 0x7f <= ord(c) < 0xa0 and
                                                         not 0xd800 <= ord(c) < 0xe000 and ord(c) not in (0xfffe, 0xffff)))


def one_line(text):
    """Of TAP, where a line is a verdict, and what follows # may excuse it."""
    return " ".join(printable(text).split()).replace("#", "\\#")


def tap(report):
    lines = ["TAP version 13", f"1..{len(report['results']) + len(report['problems'])}"]
    number = 0
    for number, r in enumerate(report["results"], 1):
        good = "not ok" if r["status"] == "fail" else "ok"
        skip = " # SKIP not supported" if r["status"] == "unsupported" else f" # TODO {excuse(r)}" if excuse(r) else ""
        lines.append(f"{good} {number} - {r['id']} {one_line(r['recipe'])}{skip}")
        for f in r["findings"]:
            first = f["text"].splitlines() or [""]
            lines.append(f"# {f['clause']} {one_line(f['kind'])}: {one_line(first[0])[:300]}")
    for text in report["problems"]:
        number += 1
        lines.append(f"not ok {number} - {one_line(text)}")
    return "\n".join(lines + [""])


def write(folder, report, page):
    os.makedirs(folder, exist_ok=True)
    for name, text in zip(FORMS, (json.dumps(report, indent=1), junit(report), tap(report), page(report))):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
