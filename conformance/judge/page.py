"""One self-contained HTML page: the matrix, and a part per cause."""
import html
import json

import ledger

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;color:#1a1a1a}
h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2.5em;border-top:1px solid #bbb;padding-top:1em}
table{border-collapse:collapse;margin:.7em 0}td,th{border:1px solid #ccc;padding:.15em .6em;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}tr.bad td{background:#fde8e4}tr.good td{background:#edf7ed}
code,pre{font:13px/1.4 ui-monospace,monospace}pre{background:#f5f5f5;padding:.7em;overflow:auto;max-height:30em}
.wide{overflow:auto}td.diff{background:#fbc9bd}summary{cursor:pointer}.dim{color:#666}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}pre{background:#242424}
td,th{border-color:#444}tr.bad td{background:#4a211b}tr.good td{background:#1d3320}td.diff{background:#6d2c20}}
"""


def e(text):
    return html.escape(str(text))


def rows(cells, header=None):
    out = "<table>"
    if header:
        out += "<tr>" + "".join(f"<th>{e(h)}</th>" for h in header) + "</tr>"
    for kind, row in cells:
        out += f'<tr class="{kind}">' + "".join(
            f'<td class="n">{e(c)}</td>' if isinstance(c, (int, float)) else f"<td>{c}</td>" for c in row) + "</tr>"
    return out + "</table>"


def matrix(report):
    cells = []
    for clause, (good, bad, other) in report["clauses"].items():
        links = " ".join(f'<a href="#cause{n}">{n}</a>' for n, c in enumerate(report["causes"], 1)
                         if any(f["clause"] == clause for f in c["findings"]))
        cells.append(("bad" if bad else "good" if good else "", [f"<code>{clause}</code>", good, bad, other, links]))
    return rows(cells, ["clause", "passed", "failed", "not judged", "causes"])


def values_table(finding):
    values = finding.get("detail", {}).get("values", [])
    cells = [("", [v["rank"], e(v["what"]), f"<code>{e(v['parameter'])}[{v['element']}]</code>",
                   f"{float.fromhex(v['want']):.9g}", f"{float.fromhex(v['got']):.9g}"]) for v in values]
    return rows(cells, ["rank", "", "element", "expected", "came"]) if cells else ""


def ledgers_table(ledgers):
    lists = [[r for r in records if "op" in r or "step" in r] for records in ledgers]
    most = max((len(x) for x in lists), default=0)
    if not most:
        return "<p class=dim>No ledger was published.</p>"
    out = '<div class="wide"><table><tr><th></th>' + "".join(f"<th>rank {q}</th>" for q in range(len(lists))) + "</tr>"
    for i in range(min(most, 200)):
        texts = []
        for records in lists:
            record = records[i] if i < len(records) else None
            if record is not None and "op" not in record:
                texts.append(f"— step {record['step']}")
            else:
                texts.append(ledger.describe(record) if record else "")
        plain = {t.split(" in [")[0] for t in texts}
        mark = ' class="diff"' if len(plain) > 1 else ""
        out += f"<tr><td class=n>{i}</td>" + "".join(f"<td{mark}>{e(t)}</td>" for t in texts) + "</tr>"
    return out + "</table></div>"


def cause_part(number, cause):
    first = cause["findings"][0]
    decoded = first.get("detail", {}).get("decoded", [])
    out = f'<h2 id="cause{number}">{number}. <code>{e(cause["clause"])}</code> {e(cause["kind"])}</h2>'
    if cause["known"]:
        out += f"<p>Known: {e(cause['known'].get('note', ''))} " + (
            f'<a href="{e(cause["known"]["issue"])}">{e(cause["known"]["issue"])}</a>' if cause["known"].get("issue") else "") + "</p>"
    out += f"<p>{e(cause['text'])}</p><p>{len(cause['cases'])} case(s) fail so; each has: {e(', '.join(cause['needs']))}.</p>"
    out += f"<p>Minimal case: <code>{e(cause['recipe'])}</code></p>"
    if decoded:
        out += "<p>Decoded contributions:</p><ul>" + "".join(f"<li>{e(d)}</li>" for d in decoded[:20]) + "</ul>"
    out += values_table(first)
    if len(cause["findings"]) > 1:
        out += "<details><summary>Everything found in it</summary><ul>" + "".join(
            f"<li><code>{e(f['clause'])}</code> {e(f['text'])}</li>" for f in cause["findings"]) + "</ul></details>"
    out += "<details open><summary>The ranks' ledgers</summary>" + ledgers_table(cause["ledgers"]) + "</details>"
    if cause["corpus"]:
        out += "<p>Related historic bugs:</p><ul>" + "".join(
            f"<li>{e(r['id'])}: {e(r['symptom'])} — {e(r['cause'])}</li>" for r in cause["corpus"]) + "</ul>"
    out += "<details><summary>The case, what was expected, what came</summary><pre>" + e(
        json.dumps(cause["case"])) + "</pre><pre>" + e(json.dumps(cause["expected"])) + "</pre><pre>" + e(
        json.dumps(cause["answer"])[:20000]) + "</pre></details>"
    return out


def page(report):
    s, c = report["subject"], report["cases"]
    out = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{e(s["name"])} {e(s["version"])}: zeroproof conformance</title><style>{STYLE}</style>'
    out += f"<h1>{e(s['name'])} {e(s['version'])}</h1><p>{c['pass']} cases passed, {c['fail']} failed, {c['unsupported']} not supported; level {report['level']}, seed {report['seed']}.</p>"
    for problem in report["problems"]:
        out += f"<p><strong>Error:</strong> {e(problem)}</p>"
    out += matrix(report)
    for number, cause in enumerate(report["causes"], 1):
        out += cause_part(number, cause)
    return out + "</html>\n"
