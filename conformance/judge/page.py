"""Writes self-contained HTML: a page for one report, and one for all reports (a matrix and a part
per failure)."""

import html
import json
import re

import ledger
from outcomes import EXCUSED, FAILED, PASSED
from report import name_of, printable, totals

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;color:#1a1a1a}
h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2.5em;border-top:1px solid #bbb;padding-top:1em}
table{border-collapse:collapse;margin:.7em 0}
td,th{border:1px solid #ccc;padding:.15em .6em;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}tr.bad td,td.bad{background:#fde8e4}
tr.good td,td.good{background:#edf7ed}
code,pre{font:13px/1.4 ui-monospace,monospace}
pre{background:#f5f5f5;padding:.7em;overflow:auto;max-height:30em}
code{overflow-wrap:anywhere}.wide{overflow:auto}td.diff{background:#fbc9bd}
summary{cursor:pointer}.dim{color:#666}
.failure{display:none}.failure:target,#all:target~.failure{display:block}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}
pre{background:#242424}a{color:#8ab4f8}
td,th{border-color:#444}tr.bad td,td.bad{background:#4a211b}tr.good td,td.good{background:#1d3320}
td.diff{background:#6d2c20}}
"""
MOST = {"case": 8000, "expected": 8000, "answer": 12000}  # characters shown


# Addresses of links: of the web, or of a file beside the page. A browser would run others.
LINK = re.compile(r"https?://[!-~]+|[\w.-]+(/[\w.-]+)*", re.ASCII)


def e(text):
    return html.escape(printable(text))


def is_link(address):
    return LINK.fullmatch(address) is not None


def link(address, text):
    """A link, or the address as text if a browser could do anything but open it."""
    return f'<a href="{e(address)}">{e(text)}</a>' if is_link(address) else e(address)


def rows(cells, header=None):
    out = '<div class="wide"><table>'
    if header:
        out += "<tr>" + "".join(f"<th>{e(h)}</th>" for h in header) + "</tr>"
    for kind, row in cells:
        out += (
            f'<tr class="{kind}">'
            + "".join(
                f'<td class="n">{e(c)}</td>' if isinstance(c, (int, float)) else f"<td>{c}</td>"
                for c in row
            )
            + "</tr>"
        )
    return out + "</table></div>"


def matrix(report):
    cells = []
    for clause, numbers in report["clauses"].items():
        kind = "bad" if numbers[FAILED] else "good" if numbers[PASSED] else ""
        cells.append((kind, [f"<code>{e(clause)}</code>", *numbers, links(report, clause, "")]))
    return rows(cells, ["clause", "passed", "failed", "not judged", *EXCUSED, "causes"])


def links(report, clause, prefix):
    """Links to the causes in which a clause fails."""
    return " ".join(
        f'<a href="#{prefix}cause{n}">{n}</a>'
        for n, c in enumerate(report["causes"], 1)
        if any(f["clause"] == clause for f in c["findings"])
    )


def real(text):
    """A hexadecimal float in decimal, or as it stands."""
    try:
        return f"{float.fromhex(text):.9g}"
    except (OverflowError, ValueError):
        return e(text)


def described(record):
    try:
        return ledger.describe(record)
    except KeyError:  # a report that the suite did not write
        return json.dumps(record)


def values_table(finding):
    values = finding.get("detail", {}).get("values", [])
    cells = [
        (
            "",
            [
                v["rank"],
                e(v["what"]),
                f"<code>{e(v['parameter'])}[{v['element']}]</code>",
                real(v["want"]),
                real(v["got"]),
            ],
        )
        for v in values
    ]
    return rows(cells, ["rank", "", "element", "expected", "got"]) if cells else ""


def ledgers_table(ledgers):
    lists = [[r for r in records if "op" in r or "step" in r] for records in ledgers]
    most = max((len(x) for x in lists), default=0)
    if not most:
        return "<p class=dim>The ranks published no ledger.</p>"
    out = (
        '<div class="wide"><table><tr><th></th>'
        + "".join(f"<th>rank {q}</th>" for q in range(len(lists)))
        + "</tr>"
    )
    for i in range(min(most, 200)):
        texts = []
        for records in lists:
            record = records[i] if i < len(records) else None
            if record is not None and "op" not in record:
                texts.append(f"— step {record['step']}")
            else:
                texts.append(described(record) if record else "")
        plain = {t.split(" in [")[0] for t in texts}
        mark = ' class="diff"' if len(plain) > 1 else ""
        out += (
            f"<tr><td class=n>{i}</td>" + "".join(f"<td{mark}>{e(t)}</td>" for t in texts) + "</tr>"
        )
    return out + "</table></div>"


def known_part(cause):
    known = cause["known"]
    if not known:
        return "<p>Not listed in known/.</p>"
    issue = f" {link(known['issue'], known['issue'])}" if known.get("issue") else ""
    name = f"<b>{e(name_of(cause))}</b>. "
    return f"<p>Known ({e(known['class'])}). {name}{e(known.get('note') or '')}{issue}</p>"


def raw(cause):
    """Case, expected values and answer as JSON, truncated if long."""
    out = "<details><summary>Case, expected values, answer (JSON)</summary>"
    for what, most in MOST.items():
        text = json.dumps(cause[what])
        cut = f" (the first {most} of {len(text)} characters)" if len(text) > most else ""
        out += f"<p>{what}{cut}</p><pre>{e(text[:most])}</pre>"
    return out + "</details>"


def cause_part(number, cause, prefix="", of=""):
    first = cause["findings"][0]
    decoded = first.get("detail", {}).get("decoded", [])
    out = (
        f'<h2 id="{prefix}cause{number}">{of}{number}. <code>{e(cause["clause"])}</code> '
        f"{e(cause['kind'])}</h2>"
    )
    out += known_part(cause)
    conditions = e(", ".join(cause["needs"]) or "none")
    out += f"<p>{e(cause['text'])}</p>"
    out += f"<p>{len(cause['cases'])} case(s); conditions: {conditions}.</p>"
    out += f"<p>Minimal case: <code>{e(cause['recipe'])}</code></p>"
    if decoded:
        out += (
            "<p>Decoded contributions:</p><ul>"
            + "".join(f"<li>{e(d)}</li>" for d in decoded[:20])
            + "</ul>"
        )
    out += values_table(first)
    if len(cause["findings"]) > 1:
        out += (
            "<details><summary>All findings of the minimal case</summary><ul>"
            + "".join(
                f"<li><code>{e(f['clause'])}</code> {e(f['text'])}</li>" for f in cause["findings"]
            )
            + "</ul></details>"
        )
    out += (
        "<details open><summary>The ranks' ledgers</summary>"
        + ledgers_table(cause["ledgers"])
        + "</details>"
    )
    if cause["corpus"]:
        out += (
            "<p>Related historic bugs:</p><ul>"
            + "".join(
                f"<li>{e(r['id'])}: {e(r['symptom'])} — {e(r['cause'])}</li>"
                for r in cause["corpus"]
            )
            + "</ul>"
        )
    return out + raw(cause)


def head(text):
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{e(text)}</title><style>{STYLE}</style><h1>{e(text)}</h1>"
    )


def page(report):
    """The page of one subject."""
    s, c = report["subject"], report["cases"]
    out = head(f"{s['name']} {s['version']}: zeroproof conformance")
    out += f"<p>{totals(c)}; level {report['level']}, seed {report['seed']}.</p>"
    for problem in report["problems"]:
        out += f"<p><strong>Error:</strong> {e(problem)}</p>"
    out += matrix(report)
    for number, cause in enumerate(report["causes"], 1):
        out += cause_part(number, cause)
    return out + "</html>\n"


# ---- All subjects --------------------------------------------------------------------------------


def big_matrix(reports, results):
    out = (
        '<div class="wide"><table><tr><th>clause</th>'
        + "".join(f"<th>{e(results.title(r))}</th>" for r in reports)
        + "</tr>"
    )
    for clause in results.clauses_of(reports):
        out += f"<tr><td><code>{e(clause)}</code></td>"
        for k, report in enumerate(reports):
            text, mark = results.cell(report, clause)
            where = links(report, clause, f"s{k}")
            out += f'<td class="{mark}">{e(text)}{": " + where if where else ""}</td>'
        out += "</tr>"
    return out + "</table></div>"


def failure_list(k, report, results):
    out = f"<h2>{e(results.title(report))}: failures</h2>"
    out += "".join(f"<p><strong>Error:</strong> {e(problem)}</p>" for problem in report["problems"])
    if not report["causes"]:
        return out + "<p>None.</p>"
    for causes in results.grouped(report):
        known = causes[0][1]["known"] or {}
        issue = f" {link(known['issue'], 'Public issue.')}" if known.get("issue") else ""
        name = f"<b>{e(name_of(causes[0][1]))}</b>: " if known else ""
        cells = [
            (
                "",
                [
                    f'<a href="#s{k}cause{n}">{n}</a>',
                    f"<code>{e(cause['clause'])}</code>",
                    e(cause["kind"]),
                    len(cause["cases"]),
                    f"<code>{e(cause['recipe'])}</code>",
                ],
            )
            for n, cause in causes
        ]
        out += (
            f"<p>{name}{e((known.get('note') or 'No explanation yet').rstrip('.'))}.{issue}</p>"
            + rows(cells, ["", "clause", "kind", "cases", "minimal case"])
        )
    return out


def mutants_part(found, results):
    out = f"<h2>Mutants: engines with a historic bug</h2><p>{e(results.mutants_summary(found))}</p>"
    out += rows(
        [
            (
                "good" if caught else "bad",
                [
                    e(name),
                    e(mutant),
                    e(engine),
                    e(what),
                    e(", ".join(caught) or "nothing"),
                    f"<code>{e(case or '')}</code>",
                ],
            )
            for name, mutant, engine, what, caught, case in found["rows"]
        ],
        results.MUTANTS,
    )
    if found["unplanted"]:
        out += "<p>Historic bugs without a mutant:</p>" + rows(
            [("", [e(name), e(why)]) for name, why in found["unplanted"]],
            ["historic bug", "reason"],
        )
    return out


def whole(reports, about, mutant_table, results):
    """The page of all subjects: the matrix, lists of failures, and a part per failure that its link
    shows."""
    out = head("zeroproof conformance")
    out += (
        f"<p>Made by <code>{e(about['command'])}</code> on {e(about['date'])}, commit "
        f"{e(about['commit'])}, "
        f"{about['cores']} cores. A number is the number of cases that passed a clause; numbers "
        "after a colon link to the "
        'failures. <a href="#all">Show all failures.</a></p>'
    )
    out += big_matrix(reports, results)
    for k, report in enumerate(reports):
        out += failure_list(k, report, results)
    changed = results.changes(reports)
    if changed:
        out += "<h2>Changes between versions</h2>" + rows(
            [
                ("", [e(f"{a} → {b}"), *("<br>".join(map(e, names)) or "–" for names in rest)])
                for a, b, *rest in changed
            ],
            ["", "no longer occurs", "new", "still occurs"],
        )
    if mutant_table:
        out += mutants_part(mutant_table, results)
    out += '<div id="all"></div>'
    for k, report in enumerate(reports):
        for n, cause in enumerate(report["causes"], 1):
            out += (
                f'<section class="failure" id="s{k}cause{n}">'
                f"{cause_part(n, cause, f'part-s{k}', e(results.title(report)) + ', ')}</section>"
            )
    return out + "</html>\n"
