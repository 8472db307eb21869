"""Writes the report of a run: a table for people; JSON, JUnit XML and TAP for machines."""

import json
import os
from xml.sax.saxutils import escape, quoteattr

SCHEMA = "zeroproof/report/1"
FORMS = ("report.json", "junit.xml", "report.tap", "report.html")
# Families whose historic bugs resemble failures of a clause that no row of the corpus cites.
FAMILIES = {"LEDG-6": ["CM"], "OPT-4": ["WIN"], "PIPE-2": ["PS"], "TOPO-3": ["MAP"]}


def clause_table(outcomes, extra=()):
    """clause -> [passed, failed, not judged] cases."""
    table = {}
    for out in outcomes:
        if out.status == "unsupported":
            continue
        failed = {f.clause for f in out.findings}
        # every case judges that it ended with an answer (RUN-1) and that the answer was valid
        # (RUN-2)
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
    """The table for people. brief: leave out clauses and known failures."""
    lines = [
        f"{report['subject']['name']} {report['subject']['version']}: "
        f"{report['cases']['pass']} cases passed, {report['cases']['fail']} failed, "
        f"{report['cases']['unsupported']} not supported, in {report['seconds']:.0f} s "
        f"(level {report['level']}, seed {report['seed']})"
    ]
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
        lines += [
            "",
            f"cause {number}: {cause['clause']} {cause['kind']}"
            + (
                "  (known)"
                if cause["known"]
                else "  (new, in a fresh case)"
                if cause["fresh"]
                else ""
            ),
            f"  {len(cause['cases'])} case(s); all have: "
            f"{', '.join(cause['needs']) or 'no common feature'}",
            f"  {cause['text'][:600]}",
            f"  reproduce: zeroproof check --adapter … --only '{cause['recipe']}'",
        ]
        for row in cause["corpus"][:3]:
            lines.append(f"  similar bug: {row['id']}: {row['symptom']}")
    for problem in report["problems"]:
        lines += ["", f"error: {problem}"]
    return printable("\n".join(lines))


def as_json(subject, options, outcomes, causes, problems, seconds, corpus, extra):
    known = {id(o) for c in causes if c.known for o in [c.smallest, *c.outcomes]}
    fresh = {id(o) for c in causes if c.fresh() and not c.known for o in c.outcomes}
    return {
        "schema": SCHEMA,
        "subject": subject,
        "level": options["level"],
        "seed": options["seed"],
        "seconds": round(seconds, 3),
        "whole": options["whole"],
        "cases": counts(outcomes),
        "clauses": clause_table(outcomes, extra),
        "problems": problems,
        "causes": [cause_json(c, corpus) for c in causes],
        "results": [
            {
                "id": o.case["id"],
                "recipe": o.recipe.full(),
                "status": o.status,
                "seconds": round(o.seconds, 3),
                "clauses": o.case["clauses"],
                "origin": o.origin,
                "known": id(o) in known,
                "fresh": id(o) in fresh,
                "findings": [f.json() for f in o.findings],
                "message": o.answer.get("message", "") if o.status == "unsupported" else "",
            }
            for o in outcomes
        ],
    }


def related(corpus, clause):
    """The corpus rows that cite this clause, else the rows of its families. RUN-1 has none: bugs
    that end in an error need not have anything in common."""
    if clause == "RUN-1":
        return []
    rows = [r for r in corpus["rows"] if clause in r.get("clauses", [])]
    return rows or [r for r in corpus["rows"] if set(r["families"]) & set(FAMILIES.get(clause, []))]


def cause_json(cause, corpus):
    small = cause.smallest
    finding = small.findings[0]
    return {
        "clause": finding.clause,
        "kind": finding.kind,
        "needs": cause.needs,
        "known": cause.known,
        "fresh": cause.fresh(),
        "text": finding.text,
        "recipe": small.recipe.full(),
        "shrunk_in": getattr(small, "shrunk_in", 0),
        "cases": [o.case["id"] for o in cause.outcomes],
        "findings": [f.json() for f in small.findings[:20]],
        "case": small.case,
        "expected": small.expected,
        "answer": clipped_answer(small.answer),
        "ledgers": [records[:400] for records in small.ledgers],
        "corpus": related(corpus, finding.clause)[:8],
    }


def clipped_answer(answer):
    return {k: v for k, v in answer.items() if k not in ("waits",)}


def excuse(result):
    """The reason why a failing case does not fail the run, or None."""
    return "known" if result["known"] else "new, in a fresh case" if result["fresh"] else None


def junit(report):
    known = sum(excuse(r) is not None for r in report["results"])
    bad = report["cases"]["fail"] - known + len(report["problems"])
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuite name={quoteattr('zeroproof ' + report['subject']['name'])} "
        f'tests="{len(report["results"]) + len(report["problems"])}" failures="{bad}" '
        f'skipped="{report["cases"]["unsupported"] + known}" time="{report["seconds"]}">',
    ]
    for r in report["results"]:
        lines.append(
            f"  <testcase classname={quoteattr(report['subject']['name'])} "
            f'name={quoteattr(r["id"] + " " + r["recipe"])} time="{r["seconds"]}">'
        )
        if r["status"] == "unsupported":
            lines.append(f"    <skipped message={quoteattr(r['message'])}/>")
        if excuse(r):  # JUnit has no status for an expected failure
            lines.append(
                f"    <skipped "
                f"message={quoteattr(f'{excuse(r)}: ' + r['findings'][0]['text'][:500])}/>"
            )
        for f in r["findings"] if not excuse(r) else []:
            lines.append(
                f"    <failure type={quoteattr(f['clause'] + ' ' + f['kind'])} "
                f"message={quoteattr(f['text'][:500])}>{escape(f['text'])}</failure>"
            )
        lines.append("  </testcase>")
    for text in report["problems"]:
        lines.append(
            f'  <testcase classname="suite" name={quoteattr(text[:80])}>'
            f"<failure message={quoteattr(text)}/></testcase>"
        )
    return printable("\n".join(lines + ["</testsuite>", ""]))


def printable(text):
    """Removes control characters and surrogates: XML forbids them, and a terminal would interpret
    some."""
    return "".join(
        c
        for c in text
        if c in "\t\n\r"
        or (
            ord(c) >= 32
            and not 0x7F <= ord(c) < 0xA0
            and not 0xD800 <= ord(c) < 0xE000
            and ord(c) not in (0xFFFE, 0xFFFF)
        )
    )


def one_line(text):
    """Text for one line of TAP, where a line is a verdict and '#' starts a directive."""
    return " ".join(printable(text).split()).replace("#", "\\#")


def tap(report):
    lines = ["TAP version 13", f"1..{len(report['results']) + len(report['problems'])}"]
    number = 0
    for number, r in enumerate(report["results"], 1):
        good = "not ok" if r["status"] == "fail" else "ok"
        skip = (
            " # SKIP not supported"
            if r["status"] == "unsupported"
            else f" # TODO {excuse(r)}"
            if excuse(r)
            else ""
        )
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
    texts = (json.dumps(report, indent=1), junit(report), tap(report), page(report))
    for name, text in zip(FORMS, texts, strict=True):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
