"""Writes self-contained HTML: a page for one report, and one for all reports. Both have a verdict,
the clauses, each cause with its minimal cases, and what adapters leave out."""

import html
import json
import re

import ledger
import summary
from outcomes import EXCUSED, NOT_JUDGED
from report import printable, totals

STYLE = """
:root{color-scheme:light dark;--text:#1a1a1a;--dim:#5c5c5c;--back:#fff;--line:#ccc;--soft:#f4f4f4;
--bad:#fde8e4;--good:#edf7ed;--excused:#fdf3d7;--diff:#fbc9bd;--link:#0b57d0}
@media(prefers-color-scheme:dark){:root{--text:#ddd;--dim:#a6a6a6;--back:#181818;--line:#444;
--soft:#242424;--bad:#4a211b;--good:#1d3320;--excused:#463a16;--diff:#6d2c20;--link:#8ab4f8}}
body{font:15px/1.5 system-ui,sans-serif;margin:1.5em auto;padding:0 1em;color:var(--text);
background:var(--back);max-width:110em}
h1{font-size:1.5em;margin:0}h3{font-size:1.05em;margin:0}
h2{font-size:1.2em;margin-top:2em;border-top:1px solid var(--line);padding-top:.8em}
p,ul,section,details{max-width:60em}section{margin:1.2em 0}
section:target{outline:2px solid var(--link);outline-offset:.5em}
a{color:var(--link)}.bad{background:var(--bad)}.good{background:var(--good)}
.excused{background:var(--excused)}.diff{background:var(--diff)}.dim{color:var(--dim)}
.verdict{font-size:1.15em;font-weight:600;padding:.4em .7em;margin:.7em 0}
.tag{padding:0 .4em;border:1px solid var(--line);border-radius:.3em}
table{border-collapse:collapse;margin:.7em 0}
td,th{border:1px solid var(--line);padding:.15em .6em;text-align:left;vertical-align:top}
td.n,.matrix td{text-align:right;font-variant-numeric:tabular-nums}
.matrix{font-size:12px;line-height:1.3}.matrix td,.matrix th{padding:.2em .35em}
.matrix thead th{text-align:center;min-width:2.6em;max-width:8em;overflow-wrap:break-word}
.matrix .edge{border-left:2px solid var(--dim)}
.wide{overflow-x:auto}code,pre{font:13px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}
pre{background:var(--soft);padding:.7em;overflow:auto;max-height:30em;white-space:pre-wrap}
pre.again{margin:.3em 0}summary{cursor:pointer}
@media(max-width:900px){body{margin:.7em auto;padding:0 .7em}thead{display:none}
table,tbody,tr,td,th{display:block}tr{border:1px solid var(--line);margin:.5em 0;padding:.2em .4em}
td,th,td.n,.matrix td{border:0;text-align:left;padding:.1em .3em}td:empty{display:none}
td[data-of]::before{content:attr(data-of) ": ";color:var(--dim)}
.matrix{font-size:14px}.matrix td{display:inline-block;margin:.1em .2em .1em 0}
.matrix td.dim{display:none}
.matrix .edge{border-left:0}}
"""
MOST = {"case": 8000, "expected": 8000, "answer": 12000}  # characters shown
MUTANTS = ["historic bug", "mutant", "engine", "symptom: cause", "caught by", "case"]

# Addresses of links: of the web, or of a file beside the page. A browser would run others.
LINK = re.compile(r"https?://[!-~]+|[\w.-]+(/[\w.-]+)*", re.ASCII)


def e(text):
    return html.escape(printable(text))


def is_link(address):
    return LINK.fullmatch(address) is not None


def link(address, text):
    """A link, or the address as text if a browser could do anything but open it."""
    return f'<a href="{e(address)}">{e(text)}</a>' if is_link(address) else e(address)


def issue_name(address):
    """ "owner/name#123" of an issue or pull request; other addresses as they are."""
    match = re.fullmatch(r"https://[^/]+/([^/]+/[^/]+)/(?:issues|pull)/(\d+)", address)
    return f"{match[1]}#{match[2]}" if match else address


def rows(cells, header, kind=""):
    """A table. On a narrow screen each row is a block, and each cell shows the name of its
    column."""
    out = f'<div class="wide"><table class="{kind}"><thead><tr>'
    out += "".join(f"<th>{e(h)}</th>" for h in header) + "</tr></thead><tbody>"
    for mark, row in cells:
        out += f'<tr class="{mark}">'
        for name, cell in zip(header, row, strict=True):
            of = f' data-of="{e(name)}"' if name else ""
            out += (
                f'<td class="n"{of}>{cell}</td>'
                if isinstance(cell, (int, float))
                else f"<td{of}>{cell}</td>"
            )
        out += "</tr>"
    return out + "</tbody></table></div>"


# ---- Clauses -------------------------------------------------------------------------------------


def clause_link(clause):
    demand = e(summary.demands().get(clause, ""))
    return f'<a href="#clause-{e(summary.slug(clause))}" title="{demand}">{e(clause)}</a>'


def clause_cell(report, clause, shown):
    """What a report says of a clause: failed/judged, or the number of passes, and other classes.
    It links to the first of its causes."""
    good, bad, other, classes = summary.counts(report, clause)
    words = [f"{bad}/{good + bad}"] if bad else [str(good)] if good else []
    words += [f"{n}&nbsp;{name.replace(' ', '&nbsp;')}" for name, n in classes.items()]
    text = "<br>".join(words) or ("<span title='not judged'>·</span>" if other else "")
    mine = [
        s
        for s in shown
        if any(
            r is report and any(f["clause"] == clause for f in c["findings"]) for r, c in s.minimal
        )
    ]
    if not mine or not words:
        return text
    names = "; ".join(s.title() for s in mine)
    return f'<a href="#{e(mine[0].key)}" title="{e(names)}">{text}</a>'


def matrix(reports, shown):
    """Clauses by subjects. The versions of one subject are side by side."""
    groups = {}
    for report in reports:
        groups.setdefault(report["subject"]["name"], []).append(report)
    out = '<div class="wide"><table class="matrix"><thead><tr><th rowspan="2">clause</th>'
    for name, mine in groups.items():
        out += f'<th class="edge" colspan="{len(mine)}">{e(name)}</th>'
    out += "</tr><tr>"
    for mine in groups.values():
        for n, report in enumerate(mine):
            out += f"<th{'' if n else EDGE}>{e(summary.version_of(report))}</th>"
    out += "</tr></thead><tbody>"
    for clause in summary.clauses_of(reports):
        out += f"<tr><th>{clause_link(clause)}</th>"
        for mine in groups.values():
            for n, report in enumerate(mine):
                kind = summary.kind_of(report, clause) + ("" if n else " edge")
                of = e(summary.title(report))
                out += (
                    f'<td class="{kind}" data-of="{of}">{clause_cell(report, clause, shown)}</td>'
                )
        out += "</tr>"
    return (
        out + "</tbody></table></div><p class=dim>A number is the number of cases that passed. "
        "28/119: 28 of 119 cases failed; the link leads to the cause. ·: not judged. Empty: no "
        "case has the clause.</p>"
    )


EDGE = ' class="edge"'


def clause_table(report, shown):
    """The clauses of one report."""
    cells = []
    for clause, numbers in report["clauses"].items():
        mine = " ".join(
            f'<a href="#{e(s.key)}">{e(s.title())}</a>'
            for s in shown
            if any(f["clause"] == clause for _, c in s.minimal for f in c["findings"])
        )
        row = [clause_link(clause), *numbers[: NOT_JUDGED + 1], *numbers[NOT_JUDGED + 1 :], mine]
        cells.append((summary.kind_of(report, clause), row))
    return rows(cells, ["clause", "passed", "failed", "not judged", *EXCUSED, "causes"])


def clause_list(reports):
    """What the clauses demand."""
    cells = [
        (
            "",
            [
                f'<span id="clause-{e(summary.slug(clause))}">{e(clause)}</span>',
                e(summary.demands().get(clause, "")),
                f"<code>{e(summary.spec_file(clause))}</code>",
            ],
        )
        for clause in summary.clauses_of(reports)
    ]
    return "<h2>Clauses</h2>" + rows(cells, ["clause", "demand", "defined in"])


# ---- Causes --------------------------------------------------------------------------------------


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


def facts(shown):
    """The line under a cause's title: class, consequence, subjects, issue."""
    known = shown.known or {}
    where = "; ".join(f"{name} {', '.join(v)}" for name, v in shown.subjects().items())
    mark = "bad" if shown.kind in (summary.NEW, summary.DEFECT) else "excused"
    out = [f'<span class="tag {mark}">{e(shown.kind)}</span>', e(shown.effect()), e(where)]
    if known.get("issue"):
        state = f" ({e(known['upstream'])})" if known.get("upstream") else ""
        out.append(link(known["issue"], issue_name(known["issue"])) + state)
    elif known:
        out.append("no public issue")
    if known.get("documented"):
        where = known["documented"]
        address = is_link(where) and where.startswith("http")
        out.append(f"documented: {link(where, where) if address else e(where)}")
    if known.get("alias"):
        out.append(f"formerly {e(known['alias'])}")
    return " · ".join(out)


def cause_part(shown):
    """A cause with its permalink, and its minimal cases."""
    name = f" <code>{e(shown.known['cause'])}</code>" if shown.known else ""
    key = e(shown.key)
    out = (
        f'<section class="cause" id="{key}"><h3><a href="#{key}">{e(shown.title())}</a>{name}</h3>'
    )
    note = (shown.known or {}).get("note") or "No explanation yet"
    out += f"<p>{facts(shown)}</p><p>{e(note.rstrip('.'))}.</p>"
    return out + "".join(case_part(report, cause) for report, cause in shown.minimal) + "</section>"


def cases_of(cause):
    return summary.many(len(cause["cases"]), "case") if cause["cases"] else "the minimal case only"


def case_part(report, cause):
    """A minimal case."""
    first = cause["findings"][0]
    decoded = first.get("detail", {}).get("decoded", [])
    conditions = e(", ".join(cause["needs"]) or "none")
    name = f"{e(summary.title(report))}: {clause_link(cause['clause'])} {e(cause['kind'])}"
    out = (
        f'<details class="case"><summary>{name}, {cases_of(cause)}'
        f'</summary><pre class="again">{e(summary.again(report, cause["recipe"]))}</pre>'
        f"<p>{e(cause['text'])}</p><p>Conditions: {conditions}.</p>"
    )
    if decoded:
        out += "<p>Decoded contributions:</p>" + items(map(e, decoded[:20]))
    out += values_table(first)
    if len(cause["findings"]) > 1:
        out += (
            "<details><summary>All findings of the minimal case</summary>"
            + items(f"{clause_link(f['clause'])} {e(f['text'])}" for f in cause["findings"])
            + "</details>"
        )
    out += "<p>The ranks' ledgers:</p>" + ledgers_table(cause["ledgers"])
    if cause["corpus"]:
        out += "<p>Similar historic bugs, the most similar first:</p>" + items(
            f"{e(r['id'])}: {e(r['symptom'])} — {e(r['cause'])}" for r in cause["corpus"]
        )
    return out + raw(cause) + "</details>"


def items(texts):
    return "<ul>" + "".join(f"<li>{text}</li>" for text in texts) + "</ul>"


def raw(cause):
    """Case, expected values and answer as JSON, truncated if long."""
    out = "<details><summary>Case, expected values, answer (JSON)</summary>"
    for what, most in MOST.items():
        text = json.dumps(cause[what])
        cut = f" (the first {most} of {len(text)} characters)" if len(text) > most else ""
        out += f"<p>{what}{cut}</p><pre>{e(text[:most])}</pre>"
    return out + "</details>"


# ---- Pages ---------------------------------------------------------------------------------------


def causes_list(shown):
    """All causes in a table, which links to their parts."""
    cells = [
        (
            "bad" if s.kind in (summary.NEW, summary.DEFECT) else "excused",
            [
                f'<a href="#{e(s.key)}">{e(s.title())}</a>',
                e(s.kind),
                e(s.effect()),
                e("; ".join(f"{name} {', '.join(v)}" for name, v in s.subjects().items())),
                s.cases(),
                link(s.known["issue"], issue_name(s.known["issue"]))
                if s.known and s.known.get("issue")
                else "",
                e((s.known or {}).get("upstream") or ""),
            ],
        )
        for s in shown
    ]
    names = ["cause", "class", "consequence", "subjects", "cases", "issue", "upstream"]
    return rows(cells, names) if cells else "<p>None.</p>"


def causes_part(shown):
    return "<h2>Causes of failures</h2>" + causes_list(shown) + "".join(map(cause_part, shown))


def history_part(reports):
    out = ""
    for subject, versions, found in summary.history(reports):
        cells = [
            (
                "good" if mended else "",
                [e(name), *("×" if one else "–" for one in seen), e(first), e(mended or "–")],
            )
            for name, seen, first, mended in found
        ]
        out += f"<h3>{e(subject)}</h3>" + rows(
            cells, ["cause", *versions, "first seen", "mended in"]
        )
    return f"<h2>Causes by version</h2>{out}" if out else ""


def left_out_part(reports):
    found = [("", list(map(e, row))) for row in summary.left_out(reports)]
    if not found:
        return ""
    return "<h2>Values and combinations that adapters leave out</h2>" + rows(
        found, ["subject", "combination", "reason"]
    )


def mutants_summary(table):
    return (
        f"{table['caught']} of {len(table['rows'])} mutants were caught by general cases of seed "
        f"{table['seed']}; "
        f"{table['own_error']} of them only by the subject's own error (RUN-1), not by a check of "
        "the suite."
    )


def mutants_part(found):
    out = f"<h2>Mutants: engines with a historic bug</h2><p>{e(mutants_summary(found))}</p>"
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
        MUTANTS,
    )
    if found["unplanted"]:
        out += "<p>Historic bugs without a mutant:</p>" + rows(
            [("", [e(name), e(why)]) for name, why in found["unplanted"]],
            ["historic bug", "reason"],
        )
    return out


def head(text, reports):
    """The beginning of a page: title, verdict, errors."""
    verdict, good = summary.verdict(reports)
    out = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{e(text)}</title><style>{STYLE}</style><h1>{e(text)}</h1>"
        f'<p class="verdict {"good" if good else "bad"}">{e(verdict)}</p>'
    )
    for report in reports:
        for problem in report["problems"]:
            out += f"<p><strong>Error</strong> ({e(summary.title(report))}): {e(problem)}</p>"
    return out


def environment(report):
    return e("; ".join(f"{name} {value}" for name, value in report["environment"].items()))


def page(report):
    """The page of one subject."""
    shown, reports = summary.causes_of([report]), [report]
    out = head(f"{summary.title(report)}: zeroproof conformance", reports)
    out += (
        f"<p>{e(totals(report['cases']))}; level {report['level']}, seed {report['seed']}; "
        f"{e(report['date'])}, {report['seconds']:.0f} s.</p>"
        f'<pre class="again">{e(report["command"])}</pre><p class=dim>{environment(report)}</p>'
    )
    out += causes_part(shown) + "<h2>Cases by clause</h2>" + clause_table(report, shown)
    return out + left_out_part(reports) + clause_list(reports) + "</html>\n"


def whole(reports, about, mutant_table):
    """The page of all subjects."""
    shown = summary.causes_of(reports)
    out = head("zeroproof conformance", reports)
    out += (
        f"<p>Made by <code>{e(about['command'])}</code> on {e(about['date'])}, commit "
        f"{e(about['commit'])}, {about['cores']} cores.</p>"
    )
    machines = list(dict.fromkeys(environment(r) for r in reports))
    out += f"<p class=dim>Reports made on: {' — '.join(machines)}</p>"
    out += "<h2>Clause by subject</h2>" + matrix(reports, shown)
    out += "<h2>Subjects</h2>" + subjects(reports)
    out += causes_part(shown) + history_part(reports) + left_out_part(reports)
    if mutant_table:
        out += mutants_part(mutant_table)
    return out + clause_list(reports) + "</html>\n"


def subjects(reports):
    cells = [
        (
            "bad" if r["cases"]["fail"] else "good",
            [
                e(summary.title(r)),
                r["level"],
                r["cases"]["pass"],
                *summary.status_counts(r),
                r["cases"]["unsupported"],
                len(r["causes"]),
                "whole" if r["whole"] else "in part",
                e(r["date"]),
                f"{r['seconds']:.0f} s",
            ],
        )
        for r in reports
    ]
    names = ["subject", "level", "passed", "failed", *EXCUSED, "not supported", "causes"]
    return rows(cells, [*names, "covering array", "date", "took"])
