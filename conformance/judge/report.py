"""Writes the report of a run: a table for people; JSON, JUnit XML and TAP for machines."""

import json
import os
import unicodedata
from xml.sax.saxutils import escape, quoteattr

import files
from outcomes import strict

SCHEMA = "zeroproof/report/1"
FORMS = ("report.json", "junit.xml", "report.tap", "report.html")
# Families whose historic bugs resemble failures of a clause that no row of the corpus cites.
FAMILIES = {"LEDG-6": ["CM"], "OPT-4": ["WIN"], "PIPE-2": ["PS"], "TOPO-3": ["MAP"]}


def terminal(report, brief=False):
    """The table for people. brief: leave out clauses and known failures."""
    lines = [
        f"{one_line(report['subject']['name'])} {one_line(report['subject']['version'])}: "
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
            "  " + cause["text"][:600].replace("\n", "\n  "),
            f"  reproduce: zeroproof check --adapter … --only '{cause['recipe']}'",
        ]
        for row in cause["corpus"][:3]:
            lines.append(f"  similar bug: {row['id']}: {row['symptom']}")
    for problem in report["problems"]:
        lines += ["", "error: " + problem.replace("\n", "\n  ")]
    return printable("\n".join(lines))


def as_json(subject, options, outcomes, causes, problems, seconds, corpus, extra):
    """The report. "results", which is last, reads its rows from a file."""
    known = {o.number for c in causes if c.known for o in [c.smallest, *c.outcomes]}
    fresh = {o.number for c in causes if c.fresh() and not c.known for o in c.outcomes}
    table = {clause: list(row) for clause, row in outcomes.table.items()}
    for finding in extra:
        table.setdefault(finding.clause, [0, 0, 0])[1] += 1
    return {
        **strict(
            {
                "schema": SCHEMA,
                "subject": subject,
                "level": options["level"],
                "seed": options["seed"],
                "seconds": round(seconds, 3),
                "whole": options["whole"],
                "cases": outcomes.counts,
                "clauses": dict(sorted(table.items())),
                "problems": problems,
                "causes": [cause_json(c, corpus) for c in causes],
            }
        ),
        "results": outcomes.rows(known, fresh),
    }


def as_text(report, indent=None):
    """The report as JSON, in parts."""
    whole = json.dumps({**report, "results": []}, indent=indent, allow_nan=False)
    before, _, after = whole.rpartition("[]")
    yield before + "["
    for number, row in enumerate(report["results"]):
        yield (",\n " if number else "") + json.dumps(row, allow_nan=False)
    yield "]" + after


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
    """Lines of JUnit XML."""
    known = sum(excuse(r) is not None for r in report["results"])
    bad = report["cases"]["fail"] - known + len(report["problems"])
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield (
        f"<testsuite name={attribute('zeroproof ' + report['subject']['name'])} "
        f'tests="{len(report["results"]) + len(report["problems"])}" failures="{bad}" '
        f'skipped="{report["cases"]["unsupported"] + known}" time="{report["seconds"]}">\n'
    )
    for r in report["results"]:
        yield (
            f"  <testcase classname={attribute(report['subject']['name'])} "
            f'name={attribute(r["id"] + " " + r["recipe"])} time="{r["seconds"]}">\n'
        )
        if r["status"] == "unsupported":
            yield f"    <skipped message={attribute(r['message'])}/>\n"
        if excuse(r):  # JUnit has no status for an expected failure
            why = f"{excuse(r)}: " + r["findings"][0]["text"][:500]
            yield f"    <skipped message={attribute(why)}/>\n"
        for f in r["findings"] if not excuse(r) else []:
            yield (
                f"    <failure type={attribute(f['clause'] + ' ' + f['kind'])} "
                f"message={attribute(f['text'][:500])}>{escape(printable(f['text']))}</failure>\n"
            )
        yield "  </testcase>\n"
    for text in report["problems"]:
        yield (
            f'  <testcase classname="suite" name={attribute(text[:80])}>'
            f"<failure message={attribute(text)}/></testcase>\n"
        )
    yield "</testsuite>\n"


def attribute(text):
    return quoteattr(printable(text))


def is_safe(c):
    """False for characters that a terminal or a page interprets instead of showing: controls,
    formats such as U+202E, which reverses text, separators of lines, halves of surrogate pairs;
    and for those that XML forbids."""
    return c in "\t\n" or not (
        unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") or c in "\ufffe\uffff"
    )


def printable(text):
    """Text for a terminal or a page: other characters as \\x1b, \\u202e."""
    text = str(text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c
        if is_safe(c)
        else c.encode("ascii", "backslashreplace").decode()
        if c > "\x7f"
        else f"\\x{ord(c):02x}"
        for c in str(text)
    )


def one_line(text):
    """Text for one line of TAP, where a line is a verdict and '#' starts a directive."""
    return " ".join(printable(text).split()).replace("#", "\\#")


def tap(report):
    """Lines of TAP."""
    yield f"TAP version 13\n1..{len(report['results']) + len(report['problems'])}\n"
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
        yield f"{good} {number} - {r['id']} {one_line(r['recipe'])}{skip}\n"
        for f in r["findings"]:
            first = f["text"].splitlines() or [""]
            yield f"# {f['clause']} {one_line(f['kind'])}: {one_line(first[0])[:300]}\n"
    for text in report["problems"]:
        number += 1
        yield f"not ok {number} - {one_line(text)}\n"


def write(folder, report, page):
    os.makedirs(folder, exist_ok=True)
    texts = (as_text(report, indent=1), junit(report), tap(report), [page(report)])
    names = (os.path.join(folder, name) for name in FORMS)
    files.write_all(list(zip(names, texts, strict=True)))
