"""Writes the report of a run: a table for people; JSON, JUnit XML and TAP for machines."""

import json
import os
import shlex
import unicodedata
from xml.sax.saxutils import escape, quoteattr

import demands
import files
from demands import many
from outcomes import DEFECT, EXCUSED, FAILED, NOT_JUDGED, empty_row, strict

SCHEMA = "zeroproof/report/2"
FORMS = ("report.json", "junit.xml", "report.tap", "report.html")


def totals(cases):
    """The numbers of cases as text. Classes without a case are left out."""
    classes = "".join(f"{cases[name]} {name}, " for name in EXCUSED if cases[name])
    return (
        f"{many(cases['pass'], 'case')} passed, {cases['fail']} failed, {classes}"
        f"{cases['unsupported']} not supported"
    )


def status(cause):
    """What is known about a cause, in a few words."""
    if cause["known"]:
        return f"{class_of(cause)}: {name_of(cause)}"
    if cause["chance"]:
        return "new, by chance: {failed} of {replays} replays failed".format(**cause["chance"])
    return "new, in a fresh case" if cause["fresh"] else ""


def class_of(cause):
    return {DEFECT: "known defect"}.get(cause["known"]["class"], cause["known"]["class"])


def name_of(cause):
    """The name of a cause in all versions of its subject. An id always stands with its title."""
    known = cause["known"]
    return f"{known['cause']}: {known['title']}" if known else f"{cause['clause']} {cause['kind']}"


def table_lines(report):
    """The table of clauses, with their spec. A class has a column if a case is in it."""
    clauses = report["clauses"]
    places = {name: NOT_JUDGED + 1 + n for n, name in enumerate(EXCUSED)}
    places = {name: n for name, n in places.items() if any(row[n] for row in clauses.values())}
    yield f"  {'clause':<10}{'passed':>8}{'failed':>8}{'not judged':>12}" + "".join(
        f"{name:>14}" for name in places
    )
    for clause, row in clauses.items():
        good, bad, other = row[: NOT_JUDGED + 1]
        classes = "".join(f"{row[n]:>14}" for n in places.values())
        text = f"{'<--' if bad else '   '} {demands.title(clause)}"
        yield f"  {clause:<10}{good:>8}{bad:>8}{other:>12}{classes}  {text}".rstrip()
    why = report.get("not judged", {}).values()
    needs = [text for text in why if demands.NEEDED in text]
    if len(needs) < len(why):
        needs.append("Other cases are not judged because another clause failed")
    yield from (["", *(f"  {text}" for text in needs)] if needs else [])


def again(report, recipe):
    """The command that repeats a case."""
    return shlex.join(["zeroproof", "check", "--adapter", report["adapter"], "--only", recipe])


def excerpt(found, most):
    """The beginning of the text of a cause or finding; of an error the end, which says what it
    is."""
    text = found["text"].strip()
    return text[-most:] if found["clause"] == "RUN-1" else text[:most]


def terminal(report, brief=False):
    """The table for people. brief: leave out clauses and known failures."""
    lines = [
        f"{one_line(report['subject']['name'])} {one_line(report['subject']['version'])}: "
        f"{totals(report['cases'])}, in {report['seconds']:.0f} s "
        f"(level {report['level']}, seed {report['seed']})"
    ]
    if brief:
        known = {c["known"]["cause"] for c in report["causes"] if c["known"]}
        new = sum(not c["known"] for c in report["causes"])
        lines[0] += f"; {many(len(known), 'known cause')}, {many(new, 'new cause')}"
    else:
        lines += ["", *table_lines(report)]
    for number, cause in enumerate(report["causes"], 1):
        if brief and cause["known"]:
            continue
        how, demand = status(cause), demands.demand(cause["clause"])
        lines += [
            "",
            f"cause {number}: {cause['clause']} {cause['kind']}{f'  ({how})' if how else ''}",
            *([f"  {cause['clause']}: {demand}"] if demand else []),
            f"  {many(len(cause['cases']), 'case')}; all have: "
            f"{', '.join(cause['needs']) or 'no common feature'}",
            "  " + excerpt(cause, 600).replace("\n", "\n  "),
            f"  reproduce: {again(report, cause['recipe'])}",
        ]
        same = without_clipping(report["causes"], cause)
        if same:
            lines.append(f"  may be the same bug as cause {same}, with clipping")
        for row in cause["corpus"][:3]:
            lines.append(f"  similar bug: {row['id']}: {row['symptom']}")
    for word, texts in (("warning", report.get("warnings", [])), ("error", report["problems"])):
        for text in texts:
            lines += ["", f"{word}: " + text.replace("\n", "\n  ")]
    return printable("\n".join(lines))


def without_clipping(causes, cause):
    """The number of the cause that has the same conditions except clipping, or None."""
    for number, other in enumerate(causes, 1):
        if "clipping" not in other["needs"] and {*other["needs"], "clipping"} == {*cause["needs"]}:
            return number
    return None


def as_json(subject, options, outcomes, causes, problems, seconds, corpus, extra, known):
    """The report. "results", which is last, reads its rows from a file. known: the entries of known
    failures by the numbers of their cases."""
    fresh = {o.number for c in causes if c.excused() and not c.known for o in c.outcomes}
    table = {clause: list(row) for clause, row in outcomes.table.items()}
    for finding in extra:
        table.setdefault(finding.clause, empty_row())[FAILED] += 1
    names = ("cause", "title", "class")
    known = {number: {name: entry[name] for name in names} for number, entry in known.items()}
    return {
        **strict(
            {
                "schema": SCHEMA,
                "subject": subject,
                **options,
                "seconds": round(seconds, 3),
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


def read_corpus(root):
    """The historic bugs, each with what its mutant shows (mutants.json, if it is there)."""
    with open(os.path.join(root, "judge", "corpus.json"), encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    name, shown = os.path.join(root, "mutants.json"), {}
    if os.path.exists(name):
        with open(name, encoding="utf-8") as file:
            shown = {m["mutant"]: m.get("shows", []) for m in json.load(file)["mutants"]}
    return [{**row, "shows": shown.get(row.get("mutant"), [])} for row in rows]


def related(rows, finding):
    """The historic bugs whose mutant showed the finding's clause and kind, and of whose symptoms at
    least half are the finding's; the most similar first. The others depend on the case, such as a
    ratio. RUN-1 has none: bugs that end in an error need not have anything in common."""
    words = set(finding.detail.get("symptom", []))

    def likeness(one):
        theirs = set(one["symptom"])
        if (one["clause"], one["kind"]) != (finding.clause, finding.kind):
            return None
        if 2 * len(words & theirs) < len(theirs) or bool(words) != bool(theirs):
            return None
        return len(words & theirs) / len(words | theirs) if words else 1.0

    if finding.clause == "RUN-1":
        return []
    scores = [[s for s in map(likeness, row["shows"]) if s is not None] for row in rows]
    found = [(max(mine), row) for mine, row in zip(scores, rows, strict=True) if mine]
    return [row for _, row in sorted(found, key=lambda pair: -pair[0])]


def cause_json(cause, corpus):
    small = cause.smallest
    finding = small.findings[0]
    return {
        "clause": finding.clause,
        "kind": finding.kind,
        "needs": cause.needs,
        "known": cause.known,
        "fresh": cause.fresh(),
        "chance": cause.chance,
        "text": finding.text,
        "recipe": small.recipe.full(),
        "shrunk_in": getattr(small, "shrunk_in", 0),
        "cases": [o.case["id"] for o in cause.outcomes],
        "findings": [f.json() for f in small.findings[:20]],
        "case": small.case,
        "expected": small.expected,
        "answer": small.answer,
        "ledgers": [records[:400] for records in small.ledgers],
        "corpus": [
            {name: row[name] for name in ("id", "symptom", "cause")}
            for row in related(corpus, finding)[:8]
        ],
    }


def excuse(result):
    """The reason why a failing case does not fail the run, or None."""
    if result["known"]:
        return status(result)
    return "new, in a fresh case or by chance" if result["fresh"] else None


def junit(report):
    """Lines of JUnit XML. A case has at most one failure: the first finding, with all in its
    text."""
    excused = sum(excuse(r) is not None for r in report["results"])
    skipped = report["cases"]["unsupported"] + excused
    total = len(report["results"]) + len(report["problems"])
    failed = total - report["cases"]["pass"] - skipped
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield (
        f"<testsuite name={attribute('zeroproof ' + report['subject']['name'])} "
        f'tests="{total}" failures="{failed}" skipped="{skipped}" time="{report["seconds"]}">\n'
    )
    for r in report["results"]:
        yield (
            f"  <testcase classname={attribute(report['subject']['name'])} "
            f'name={attribute(r["id"] + " " + r["recipe"])} time="{r["seconds"]}">\n'
        )
        first = r["findings"][0] if r["findings"] else None
        if r["status"] == "unsupported":
            yield f"    <skipped message={attribute(r['message'])}/>\n"
        elif excuse(r):  # JUnit has no status for an expected failure
            why = f"{excuse(r)}: {excerpt(first, 500)}"
            yield f"    <skipped message={attribute(why)}/>\n"
        elif first:
            text = "\n".join(f"{f['clause']} {f['kind']}: {f['text']}" for f in r["findings"])
            yield (
                f"    <failure type={attribute(first['clause'] + ' ' + first['kind'])} "
                f"message={attribute(excerpt(first, 500))}>{escape(printable(text))}</failure>\n"
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
    codes = {
        ord(c): f"\\x{ord(c):02x}"
        if c.isascii()
        else c.encode("ascii", "backslashreplace").decode()
        for c in {*text}
        if not is_safe(c)
    }
    return text.translate(codes)


def sentence(text):
    """A sentence from a note. Names such as overlap_comm keep their case."""
    first = text.partition(" ")[0]
    return (text[:1].upper() if first.isalpha() else text[:1]) + text[1:].rstrip(".") + "."


def one_line(text):
    """Text for one line of TAP, where a line is a verdict and '#' starts a directive."""
    return " ".join(printable(text).split()).replace("#", "\\#")


def tap(report):
    """Lines of TAP."""
    yield f"TAP version 13\n1..{len(report['results']) + len(report['problems'])}\n"
    number = 0
    for number, r in enumerate(report["results"], 1):
        good = "not ok" if r["status"] == "fail" else "ok"
        skip = ""
        if r["status"] == "unsupported":
            skip = " # SKIP not supported"
        elif excuse(r):
            skip = f" # {'TODO' if good == 'not ok' else 'SKIP'} {one_line(excuse(r))}"
        yield f"{good} {number} - {r['id']} {one_line(r['recipe'])}{skip}\n"
        for f in r["findings"]:
            lines = f["text"].strip().splitlines() or [""]
            said = lines[-1 if f["clause"] == "RUN-1" else 0]
            yield f"# {f['clause']} {one_line(f['kind'])}: {one_line(said)[:300]}\n"
    for text in report["problems"]:
        number += 1
        yield f"not ok {number} - {one_line(text)}\n"


def write(folder, report, page):
    os.makedirs(folder, exist_ok=True)
    texts = (as_text(report, indent=1), junit(report), tap(report), [page(report)])
    names = (os.path.join(folder, name) for name in FORMS)
    files.write_all(list(zip(names, texts, strict=True)))
