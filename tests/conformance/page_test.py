"""Texts of reports are texts on the pages, whatever they contain. The page of all subjects in
headless Chromium: the subjects of the suite, 22 or more, are shown at 1440 pixels without being
cut, and are readable at 400, in light and in dark colours."""

import functools
import html
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from selftest import ROOT, TRAINER, check, main, run, text_of, write

sys.path.insert(0, os.path.join(ROOT, "conformance", "judge"))

import page  # noqa: E402
import results  # noqa: E402
import summary  # noqa: E402
from known import load_known  # noqa: E402

CONFORMANCE = os.path.join(ROOT, "conformance")
SUPPORT = os.path.join(CONFORMANCE, "support")
HOSTILE = "\x1b[2J\u202e&amp;\"'><i onclick=x>{{ 7 }}{% raw %}</script></style></pre>`|"
# Reports what the page in the frame shows. Chromium evaluates it and prints the page that results.
PROBE = """<body style="margin:0"><iframe id="f" src="index.html" width="WIDTH" height="900"
 style="border:0"></iframe><pre id="out"></pre><script>
document.getElementById("f").onload = event => {
  const page = event.target.contentDocument, view = event.target.contentWindow
  const seen = what => [...page.querySelectorAll(what)].filter(x => x.offsetParent !== null)
  const style = x => view.getComputedStyle(x), matrix = page.querySelector(".matrix")
  const letters = seen("td, th, p, a, code, summary").map(x => parseFloat(style(x).fontSize))
  const small = Math.min(...letters)
  const cut = seen(".wide").filter(x => x.scrollWidth > x.clientWidth)
  document.getElementById("out").textContent = JSON.stringify({
    wide: page.documentElement.scrollWidth, small, cut: cut.map(x => x.innerText.slice(0, 40)),
    columns: seen(".matrix thead tr:last-child th").length,
    groups: seen(".matrix thead tr:first-child th").length - 1,
    labels: [...new Set(seen(".matrix td").map(x => x.dataset.of))].length,
    label: view.getComputedStyle(seen(".matrix td")[0], "::before").content,
    back: style(page.body).backgroundColor, text: style(page.body).color,
    bad: style(matrix.querySelector("td.bad")).backgroundColor,
  })
}
</script>"""


def rendered(folder, width, dark):
    """What the page shows at this width."""
    write(os.path.join(folder, "probe.html"), PROBE.replace("WIDTH", str(width)))
    scheme = "0" if dark else "1"
    argv = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    argv += ["--allow-file-access-from-files", f"--blink-settings=preferredColorScheme={scheme}"]
    argv += [f"--user-data-dir={folder}/profile", "--virtual-time-budget=5000"]
    argv += [f"--window-size={max(width, 500)},900", f"file://{folder}/probe.html"]
    done = subprocess.run(argv, capture_output=True, text=True)
    found = re.search(r'<pre id="out">(\{.*?\})</pre>', done.stdout, re.DOTALL)
    if not found:
        check(f"chromium renders the page at {width} pixels", False, done.stderr[-500:])
        return {}
    return json.loads(found[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))


def subjects():
    """[{"name", "version"}] of the suite's subjects."""
    found = []
    for name in sorted(os.listdir(SUPPORT)):
        listed = json.loads(text_of(SUPPORT, name))
        found.append({key: listed[key] for key in ("name", "version")})
    return found


def as_large(report, n):
    """A report with as many digits and classes as real ones have."""
    rows = {
        clause: [row[0] * 97, row[1] * 9, row[2], 2 * (n % 3 == 0), 0, 11 * (n % 4 == 0)]
        for clause, row in report["clauses"].items()
    }
    return {**report, "clauses": rows}


def light(colour):
    """The brightness of "rgb(r, g, b)", from 0 to 255."""
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


@functools.cache
def reports_of_faults():
    return [run(f"{TRAINER} {fault}")[1] for fault in ("next-scale", "no-mean")]


class Elements(html.parser.HTMLParser):
    """The elements of a page, with the names of their attributes; its links, and its text."""

    def __init__(self, text):
        super().__init__()
        self.found, self.links, self.text = set(), set(), ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.add((tag, *(name for name, _ in attrs)))
        self.links.update(value for name, value in attrs if name == "href")

    def handle_data(self, data):
        self.text += data


def hostile(value):
    """The value with HTML, quotes and control characters in each text."""
    if isinstance(value, str):
        return value + HOSTILE
    if isinstance(value, list):
        return [hostile(one) for one in value]
    if isinstance(value, dict):
        return {name: one if name == "class" else hostile(one) for name, one in value.items()}
    return value


def pages(report, mutants, change):
    """Both pages, with all that a report can have."""
    known = {"cause": "c", "title": "t", "class": "defect", "note": "`n`", "upstream": "u"}
    known |= {"alias": "L1", "issue": "https://a/b/c/issues/1", "documented": "https://a/b"}
    first = {**report["causes"][0], "known": known, "cases": ["a case"]}
    new = {**first, "known": None, "text": "text"}
    whole = {**report, "problems": ["problem"], "warnings": ["warning"], "causes": [first, new]}
    whole |= {"lacks": {"dp": "reason"}, "without": [{"dp": [2], "why": "reason"}], "results": []}
    whole = change(whole)
    whole["clauses"][change("RED-2")] = [1, 20, 30, 1, 0, 0]
    other = {**whole, "subject": {**whole["subject"], "version": change("2")}, "causes": []}
    about = change({"command": "command", "date": "date", "commit": "commit", "cores": 2})
    return page.page(whole), page.whole([whole, other], about, change(mutants))


def test_hostile():
    mutants = results.mutants(json.loads(text_of(f"{ROOT}/conformance", "mutants.json")))
    plain = pages(reports_of_faults()[1], mutants, lambda value: value)
    bad = pages(reports_of_faults()[1], mutants, hostile)
    for what, mine, others in zip(("a report", "all subjects"), bad, plain, strict=True):
        mine, others = Elements(mine), Elements(others)
        more = mine.found - others.found
        check(f"page of {what}: a text of a report adds no element or attribute", not more, more)
        strange = {x for x in mine.links if not re.match("#|https://[!-~]+$", x)}
        check(f"page of {what}: links lead within it or to the web", not strange, strange)
        check(
            f"page of {what}: HTML is shown as text, control characters as escapes",
            mine.text.count("\\x1b[2J\\u202e" + HOSTILE[5:-1]) > 40
            and not {"\x1b", "\u202e"} & set(bad[0] + bad[1]),
            mine.text,
        )


def listed(name, subject):
    """A report of a subject that has the causes of a list in known/, as if each had occurred."""
    entries = load_known(os.path.join(CONFORMANCE, "known", f"{name}.json"), CONFORMANCE)
    causes = {e["cause"]: {**reports_of_faults()[1]["causes"][0], "known": e} for e in entries}
    return {**reports_of_faults()[1], "subject": subject, "causes": list(causes.values())}


def test_history():
    """Versions that the run does not judge have the causes of their lists in known/."""
    old, new = (
        listed(f"deepspeed-{v}", {"name": "DeepSpeed", "version": v}) for v in ("0.19.7", "0.19.8")
    )
    ((subject, columns, rows),) = summary.history([new])
    check(
        "a version that is not judged is a column, marked as from known/",
        (subject, columns) == ("DeepSpeed", ["0.19.7 (from known/)", "0.19.8"]),
        (subject, columns),
    )
    both = summary.history([old, new])
    check("its causes are those of a report", both[0][2] == rows, (rows, both))
    check("the columns of judged versions have no mark", both[0][1] == ["0.19.7", "0.19.8"])
    ends = {(tuple(seen), first, fixed) for _, seen, first, fixed in rows}
    check(
        "causes are first seen in either version, and the newer one mends some",
        {((True, False), "0.19.7", "0.19.8"), ((False, True), "0.19.8", None)} <= ends,
        ends,
    )
    mended = next(name for name, _, _, fixed in rows if fixed)
    whole = page.whole([new], {"command": "c", "date": "d", "commit": "e", "cores": 2}, None)
    dead = set(re.findall(r'href="#([^"]+)"', whole)) - set(re.findall(r' id="([^"]+)"', whole))
    check(
        "the page lists a cause that only an older version has, without a dead link",
        mended in html.unescape(whole) and not dead,
        (mended, dead),
    )
    text = "\n".join(results.history([new]))
    check(
        "so does RESULTS.md", results.line(mended) in text and "0.19.7 (from known/)" in text, text
    )
    other = {**new, "subject": {"name": "DeepSpeed", "version": "0.20.0+x"}}
    check(
        "a version that no list has stands after those of the lists",
        summary.history([other])[0][1]
        == ["0.19.7 (from known/)", "0.19.8 (from known/)", "0.20.0"],
        summary.history([other]),
    )
    alone = {**new, "subject": {"name": "other", "version": "1"}}
    check("a subject without lists has no history", summary.history([alone]) == [])


def test_page():
    if not shutil.which("chromium"):
        print("not run: the page in a browser (needs chromium)")
        return
    reports = reports_of_faults()
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for n, subject in enumerate(subjects()):
            names.append(os.path.join(folder, f"{n}.json"))
            write(names[-1], json.dumps({**as_large(reports[n % 2], n), "subject": subject}))
        argv = [sys.executable, "-B", f"{ROOT}/conformance/judge/results.py", "--out", folder]
        argv += ["--mutants", f"{ROOT}/conformance/mutants.json", *names]
        done = subprocess.run(argv, capture_output=True, text=True)
        text = text_of(folder, "index.html")
        check("the page is made", "matrix" in text, done.stderr)
        dead = set(re.findall(r'href="#([^"]+)"', text)) - set(re.findall(r'id="([^"]+)"', text))
        check("all links within the page lead somewhere", not dead, dead)
        for dark in (False, True):
            shown(folder, dark)


def shown(folder, dark):
    kind, all_names = "dark" if dark else "light", [s["name"] for s in subjects()]
    large, narrow = (rendered(folder, width, dark) for width in (1440, 400))
    if not large or not narrow:
        return
    check(
        f"{kind}, 1440 pixels: the matrix has all {len(all_names)} subjects, and no table is cut",
        large["columns"] == len(all_names) >= 16 and not large["cut"] and large["wide"] <= 1440,
        large,
    )
    check(
        f"{kind}, 1440 pixels: versions of one subject have one head",
        large["groups"] == len(set(all_names)),
        large,
    )
    check(
        f"{kind}, 400 pixels: nothing is cut, and each cell names its subject",
        narrow["wide"] <= 400
        and not narrow["cut"]
        and narrow["labels"] == len(all_names)
        and "attr" not in narrow["label"]
        and ": " in narrow["label"],
        narrow,
    )
    for width, found in ((1440, large), (400, narrow)):
        back, text, bad = (light(found[name]) for name in ("back", "text", "bad"))
        check(
            f"{kind}, {width} pixels: letters have at least 12 pixels and a clear contrast",
            found["small"] >= 12
            and (back < 60) == dark
            and abs(text - back) > 120
            and abs(text - bad) > 100,
            found,
        )


sys.exit(main(test_hostile, test_history, test_page))
