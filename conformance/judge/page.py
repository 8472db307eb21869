"""Writes self-contained HTML: a page for one report, and one for all reports. Both have a verdict,
the clauses, each cause with its minimal cases, and what adapters leave out."""

import html
import json
import re

import demands
import ledger
import summary
from outcomes import EXCUSED
from report import printable, sentence, totals

STYLE = """
:root{color-scheme:light dark;--text:#1a1a1a;--dim:#5c5c5c;--back:#fff;--line:#ccc;--soft:#f4f4f4;
--bad:#fde8e4;--good:#edf7ed;--excused:#fdf3d7;--diff:#fbc9bd;--link:#0b57d0}
@media(prefers-color-scheme:dark){:root{--text:#ddd;--dim:#a6a6a6;--back:#181818;--line:#444;
--soft:#242424;--bad:#4a211b;--good:#1d3320;--excused:#463a16;--diff:#6d2c20;--link:#8ab4f8}}
body{font:15px/1.5 system-ui,sans-serif;margin:1.5em auto;padding:0 1em;color:var(--text);
background:var(--back);max-width:110em;overflow-wrap:break-word}
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
.matrix{font-size:12px;line-height:1.3}.matrix td,.matrix th{padding:.2em .25em}
.matrix thead th{text-align:center;font-weight:400}
.matrix tbody th{white-space:nowrap}.matrix tbody th span{display:none}
.matrix .edge{border-left:2px solid var(--dim)}
.wide{overflow-x:auto}code,pre{font:13px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}
pre{background:var(--soft);padding:.7em;overflow:auto;max-height:30em;white-space:pre-wrap}
pre.again{margin:.3em 0}summary{cursor:pointer}
@media(max-width:NARROW){body{margin:.7em auto;padding:0 .7em}thead{display:none}
table,tbody,tr,td,th{display:block}tr{border:1px solid var(--line);margin:.5em 0;padding:.2em .4em}
td,th,td.n,.matrix td{border:0;text-align:left;padding:.1em .3em}td:empty{display:none}
td[data-of]::before{content:attr(data-of) ": ";color:var(--dim)}
.matrix{font-size:14px}.matrix tbody th{white-space:normal}.matrix tbody th span{display:inline}
.matrix td{display:inline-block;margin:.1em .2em .1em 0}
.matrix td.dim{display:none}
.matrix .edge{border-left:0}}
"""
MOST = {"case": 8000, "expected": 8000, "answer": 12000}  # characters shown
NARROW = 900  # pixels; below them, the rows of tables are blocks
COLUMN = 60  # pixels that a subject needs in the matrix
ABOUT = (
    "Each subject, an implementation of distributed training, has run small training cases. What "
    "it computed is compared with serial training, clause by clause."
)
LINKS = "<nav></nav>"  # the place of the links to the sections
TRACKERS = {  # of the programs that had the historic bugs
    "ColossalAI": "hpcaitech/ColossalAI",
    "DeepSpeed": "deepspeedai/DeepSpeed",
    "Fast-LLM": "ServiceNow/Fast-LLM",
    "Megatron-Bridge": "NVIDIA-NeMo/Megatron-Bridge",
    "Megatron-LM": "NVIDIA/Megatron-LM",
    "Paddle": "PaddlePaddle/Paddle",
    "PyTorch": "pytorch/pytorch",
    "fairscale": "facebookresearch/fairscale",
    "open-instruct": "allenai/open-instruct",
    "torchtitan": "pytorch/torchtitan",
}
MUTANTS = ["historic bug", "mutant", "engine", "symptom: cause", "caught by", "case"]

# Addresses of links: of the web, or of a file beside the page. A browser would run others.
LINK = re.compile(r"https?://[!-~]+|[\w.-]+(/[\w.-]+)*", re.ASCII)


def e(text):
    return html.escape(printable(text))


def code_spans(text):
    """Escaped text whose names in backquotes are code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", e(text))


def is_link(address):
    return LINK.fullmatch(address) is not None


def link(address, text):
    """A link, or the address as text if a browser could do anything but open it."""
    return f'<a href="{e(address)}">{e(text)}</a>' if is_link(address) else e(address)


def issue_name(address):
    """ "owner/name#123" of an issue or pull request; other addresses as they are."""
    match = re.fullmatch(r"https://[^/]+/([^/]+/[^/]+)/(?:issues|pull)/(\d+)", address)
    return f"{match[1]}#{match[2]}" if match else address


def bug_name(text):
    """The name of a historic bug. Its issue numbers are links."""
    out, tracker = "", None
    for part in re.split(r"((?:[\w-]+ )?#\d+)", text):
        match = re.fullmatch(r"(?:([\w-]+) )?#(\d+)", part)
        tracker = TRACKERS.get(match[1]) if match and match[1] else tracker
        address = f"https://github.com/{tracker}/issues/{match[2]}" if match and tracker else ""
        out += link(address, part) if address else e(part)
    return out


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


def section(text):
    """The head of a section."""
    return f'<h2 id="{e(summary.slug(text))}">{e(text)}</h2>'


def finished(out):
    """The page with links to its sections."""
    heads = re.findall(r'<h2 id="([^"]*)">(.*?)</h2>', out)
    links = " · ".join(f'<a href="#{key}">{text}</a>' for key, text in heads)
    return out.replace(LINKS, f"<p>{links}</p>", 1) + "</html>\n"


# ---- Clauses -------------------------------------------------------------------------------------


def clause_link(clause):
    demand = e(demands.demand(clause).replace("`", ""))  # a tooltip has no code
    return f'<a href="#clause-{e(summary.slug(clause))}" title="{demand}">{e(clause)}</a>'


def clause_cell(report, clause, mine):
    """What a report says of a clause: failed/judged, or the number of passes; + other classes.
    A large fraction may be broken after its stroke. It links to the first of its causes, mine."""
    good, bad, other, classes = summary.counts(report, clause)
    words = [f"{bad}/<wbr>{good + bad}"] if bad else [str(good)] if good else []
    if words and other > good + bad:
        words.append(f'<span class="dim" title="{other} not judged">·{other}</span>')
    if classes:
        names = ", ".join(f"{n} {name}" for name, n in classes.items())
        words.append(f'<span title="{names}">+{sum(classes.values())}</span>')
    text = " ".join(words) or (f'<span title="{e(demands.NOT_JUDGED)}">·</span>' if other else "")
    if not mine or not words:
        return text
    names = "; ".join(s.title() for s in mine)
    return f'<a href="#{e(mine[0].key)}" title="{e(names)}">{text}</a>'


def breakable(name):
    """A name that may be broken between the words of MixedCase."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "<wbr>", e(name))


def matrix(reports, shown):
    """Clauses by subjects. The versions of one subject are side by side."""
    groups = {}
    for report in reports:
        groups.setdefault(report["subject"]["name"], []).append(report)
    out = '<div class="wide"><table class="matrix"><thead><tr><th rowspan="2">clause</th>'
    for name, mine in groups.items():
        out += f'<th class="edge" colspan="{len(mine)}">{breakable(name)}</th>'
    out += "</tr><tr>"
    for mine in groups.values():
        for n, report in enumerate(mine):
            out += f"<th{'' if n else EDGE}>{e(summary.version_of(report))}</th>"
    out += "</tr></thead><tbody>"
    causes = {id(report): summary.by_clause(report, shown) for report in reports}
    for clause in summary.clauses_of(reports):
        out += f"<tr><th>{clause_link(clause)} <span>{e(demands.title(clause))}</span></th>"
        for mine in groups.values():
            for n, report in enumerate(mine):
                kind = summary.kind_of(report, clause) + ("" if n else " edge")
                of = e(summary.title(report))
                cell = clause_cell(report, clause, causes[id(report)].get(clause, []))
                out += f'<td class="{kind}" data-of="{of}">{cell}</td>'
        out += "</tr>"
    return (
        out + "</tbody></table></div><p class=dim>A number is the number of cases that passed. "
        "28/119: 28 of 119 cases failed; the link leads to the cause. +2: two further "
        "cases differ by design, or are of another class that is no defect. "
        "2 ·18: 2 cases passed, and most, 18, were not judged. "
        f"·: {e(demands.NOT_JUDGED)}. Empty: no case has the clause.</p>"
    )


EDGE = ' class="edge"'


def clause_table(report, shown):
    """The clauses of one report."""
    cells, causes = [], summary.by_clause(report, shown)
    for clause, numbers in report["clauses"].items():
        mine = "<br>".join(
            f'<a href="#{e(s.key)}">{e(s.title())}</a>' for s in causes.get(clause, [])
        )
        row = [clause_link(clause), e(demands.title(clause)), *numbers, mine]
        cells.append((summary.kind_of(report, clause), row))
    names = ["clause", "title", "passed", "failed", "not judged", *EXCUSED, "causes"]
    why = [code_spans(text) for text in report.get("not judged", {}).values()]
    return rows(cells, names) + (items(why) if why else "")


def clause_list(reports, table=None):
    """What the clauses demand, also those that the table of mutants names."""
    caught = {name for row in (table or {"rows": []})["rows"] for name in row[4]}
    cells = [
        (
            "",
            [
                f'<span id="clause-{e(summary.slug(clause))}">{e(clause)}</span>',
                e(demands.title(clause)),
                code_spans(demands.demand(clause)),
                f"<code>{e(demands.file_of(clause))}</code>",
            ],
        )
        for clause in sorted({*summary.clauses_of(reports), *filter(demands.title, caught)})
    ]
    return section("Clauses") + rows(cells, ["clause", "title", "demand", "defined in"])


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
    return rows(cells, ["rank", "value", "element", "expected", "got"]) if cells else ""


def unmatched(texts):
    """The places (rank, number) of collectives that another member of the group lacks: the nth of a
    group must be the same on all its members. texts: what each rank's ledger says, in order."""
    groups, found = {}, set()
    for rank, mine in enumerate(texts):
        for number, text in enumerate(mine):
            what, _, members = text.partition(" in [")
            if members:
                groups.setdefault(members, {}).setdefault(str(rank), []).append((number, what))
    for members, by_rank in groups.items():
        others = [by_rank.get(q, []) for q in re.findall(r"\d+", members)]
        for rank, mine in by_rank.items():
            for n, (number, what) in enumerate(mine):
                if any(n >= len(other) or other[n][1] != what for other in others):
                    found.add((int(rank), number))
    return found


def ledgers_table(ledgers):
    texts = [
        [
            described(record) if "op" in record else f"— step {record['step']}"
            for record in records
            if "op" in record or "step" in record
        ]
        for records in ledgers
    ]
    most = max(map(len, texts), default=0)
    if not most:
        return "<p class=dim>The ranks published no ledger.</p>"
    marked = unmatched(texts)

    def cell(rank, i):
        text = e(texts[rank][i]) if i < len(texts[rank]) else ""
        return f'<span class="diff">{text}</span>' if (rank, i) in marked else text

    cells = [("", [i, *(cell(q, i) for q in range(len(texts)))]) for i in range(min(most, 200))]
    names = ["", *(f"rank {q}" for q in range(len(texts)))]
    legend = "<p class=dim>Coloured: a collective that another member of its group lacks.</p>"
    return rows(cells, names) + (legend if marked else "")


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
    out += f"<p>{facts(shown)}</p><p>{code_spans(sentence(note))}</p>"
    if shown.kind == summary.DEFECT and summary.has_report(shown.key):
        out += f"<p>Report for its maintainer: <code>zeroproof report {key}</code></p>"
    cases = (case_part(report, cause, shown.known is None) for report, cause in shown.minimal)
    return out + "".join(cases) + "</section>"


def cases_of(cause):
    return demands.many(len(cause["cases"]), "case") if cause["cases"] else "the minimal case only"


def case_part(report, cause, is_open):
    """A minimal case. It is open if nothing else explains the cause."""
    first = cause["findings"][0]
    decoded = first.get("detail", {}).get("decoded", [])
    conditions = e(", ".join(cause["needs"]) or "none")
    name = f"{e(summary.title(report))}: {clause_link(cause['clause'])} {e(cause['kind'])}"
    out = (
        f'<details class="case"{" open" * is_open}><summary>{name}, {cases_of(cause)}'
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
        out += "<p>Similar historic bugs (clause, kind and symptoms of their mutants):</p>" + items(
            f"{bug_name(r['id'])}: {e(r['symptom'])} — {e(r['cause'])}" for r in cause["corpus"]
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


def issue_cell(known):
    return link(known["issue"], issue_name(known["issue"])) if known.get("issue") else ""


def causes_list(shown):
    """All causes in a table, which links to their parts."""
    public = any((s.known or {}).get("issue") for s in shown)
    cells = [
        (
            "bad" if s.kind in (summary.NEW, summary.DEFECT) else "excused",
            [
                f'<a href="#{e(s.key)}">{e(s.title())}</a>',
                e(s.kind),
                e(s.effect()),
                e("; ".join(f"{name} {', '.join(v)}" for name, v in s.subjects().items())),
                s.cases() or "the minimal case",
                *([issue_cell(s.known or {}), e((s.known or {}).get("upstream") or "")] * public),
            ],
        )
        for s in shown
    ]
    names = ["cause", "class", "consequence", "subjects", "cases", *["issue", "upstream"] * public]
    order = (
        "<p class=dim>By class, then by consequence (a silent wrong number first), then by the "
        "number of cases."
        + " Issue: the public report of the cause; upstream: the state of that report." * public
        + "</p>"
    )
    return order + rows(cells, names) if cells else "<p>None.</p>"


def causes_part(shown):
    return section("Causes of failures") + causes_list(shown) + "".join(map(cause_part, shown))


def history_part(reports, shown):
    out, keys = "", summary.named(shown)
    for subject, versions, found in summary.history(reports):
        cells = [
            (
                "good" if fixed else "",
                [
                    f'<a href="#{e(keys[name])}">{e(name)}</a>',
                    *("×" if one else "–" for one in seen),
                    e(first),
                    e(fixed or "–"),
                ],
            )
            for name, seen, first, fixed in found
        ]
        out += f"<h3>{e(subject)}</h3>" + rows(
            cells, ["cause", *versions, "first seen", "fixed by"]
        )
    legend = (
        "<p class=dim>×: the cause occurred in this version; –: it did not. Fixed by: the first of "
        "these versions that no longer has it.</p>"
    )
    return section("Causes by version") + legend + out if out else ""


def left_out_part(reports):
    found = {}
    for subject, *row in summary.left_out(reports):
        found.setdefault(subject, []).append(("", list(map(e, row))))
    if not found:
        return ""
    return section("Values and combinations that adapters leave out") + "".join(
        f"<details><summary>{e(subject)}: {len(cells)}</summary>"
        + rows(cells, ["combination", "reason"])
        + "</details>"
        for subject, cells in found.items()
    )


def mutants_summary(table):
    return (
        f"{table['caught']} of {len(table['rows'])} mutants were caught by general cases of seed "
        f"{table['seed']}; "
        f"{table['own_error']} of them only by the subject's own error (RUN-1), not by a check of "
        "the suite."
    )


def caught_by(name):
    return clause_link(name) if demands.title(name) else e(name)


def mutants_part(found):
    out = section("Mutants: engines with a historic bug") + f"<p>{e(mutants_summary(found))}</p>"
    out += rows(
        [
            (
                "good" if caught else "bad",
                [
                    bug_name(name),
                    e(mutant),
                    e(engine),
                    e(what),
                    ", ".join(map(caught_by, caught)) or "nothing",
                    f"<code>{e(case or '')}</code>",
                ],
            )
            for name, mutant, engine, what, caught, case in found["rows"]
        ],
        MUTANTS,
    )
    if found["unplanted"]:
        out += "<p>Historic bugs without a mutant:</p>" + rows(
            [("", [bug_name(name), e(why)]) for name, why in found["unplanted"]],
            ["historic bug", "reason"],
        )
    return out


def head(text, reports):
    """The beginning of a page: title, verdict, errors."""
    verdict, mark = summary.verdict(reports)
    narrow = max(NARROW, COLUMN * (len(reports) + 1))
    style = STYLE.replace("NARROW", f"{narrow}px")
    out = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{e(text)}</title><style>{style}</style><h1>{e(text)}</h1>"
        f'<p class="verdict {mark}">{e(verdict)}</p><p>{ABOUT}</p>{LINKS}'
    )
    for report in reports:
        for word, texts in (("Error", report["problems"]), ("Warning", report.get("warnings", []))):
            for text in texts:
                out += f"<p><strong>{word}</strong> ({e(summary.title(report))}): {e(text)}</p>"
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
    out += causes_part(shown) + section("Cases by clause") + clause_table(report, shown)
    return finished(out + left_out_part(reports) + clause_list(reports))


def whole(reports, about, mutant_table):
    """The page of all subjects."""
    shown = summary.causes_of(reports)
    out = head("zeroproof conformance", reports)
    out += (
        f"<p>Made by <code>{e(about['command'])}</code> on {e(about['date'])}, commit "
        f"{e(about['commit'])}, {about['cores']} cores. Commands run in the root of the "
        "repository.</p>"
    )
    machines = list(dict.fromkeys(environment(r) for r in reports))
    out += f"<p class=dim>Reports made on: {' — '.join(machines)}</p>"
    out += section("Clause by subject") + matrix(reports, shown)
    out += section("Subjects") + subjects(reports)
    out += causes_part(shown) + history_part(reports, shown) + left_out_part(reports)
    if mutant_table:
        out += mutants_part(mutant_table)
    return finished(out + clause_list(reports, mutant_table))


def subjects(reports):
    cells = [
        (
            summary.mark_of(r),
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
    return (
        rows(cells, [*names, "covering array", "date", "took"])
        + "<p class=dim>Level 1: values are judged; 2: also collectives; 3: also streams. Covering "
        "array: the cases in which all pairs of settings occur; in part: the run was limited to "
        "some of them.</p>"
    )
