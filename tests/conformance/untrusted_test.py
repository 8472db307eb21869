"""Files that others may have written: stream logs, lists of --known, --support and --quick, and
reports. What is wrong with one is reported with its name (exit code 2), in bounded time and memory;
and what is in one reaches a terminal or a page as text alone."""

import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile

from selftest import COMMAND, ROOT, check, main

JUDGE = os.path.join(ROOT, "conformance", "judge")
sys.path.insert(0, JUDGE)

import limits  # noqa: E402
import page  # noqa: E402
import shadow  # noqa: E402
import streamlog  # noqa: E402
from outcomes import EXCUSED  # noqa: E402

RECIPE = "precision=fp32,reduce=exact,M=1,bucket=4,dp=1,steps=1,list=3@0.0"
CONTROLS = "\x1b\u202e"
BAD = "\x1b[2J\u202e"
HEAD = [{"format": streamlog.FORMAT}, {"stream": 0, "name": "a"}, {"stream": 1, "name": "b"}]


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def program(name, *argv, memory=None, seconds=40, **pipes):
    """Runs one of the judge's programs."""

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    return subprocess.run(
        [sys.executable, "-B", os.path.join(JUDGE, name), *argv],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **pipes},
        text=True,
        preexec_fn=limit,
    )


def is_clean(done):
    """True if no text of a file reached the terminal as it is and Python reported no error."""
    text = done.stdout + done.stderr
    return (
        "Traceback (" not in text and "internal error" not in text and not set(CONTROLS) & set(text)
    )


# ---- Stream logs ---------------------------------------------------------------------------------


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def of_stream(number, **more):
    return {"op": "x", "on": number, **more}


def judged(*logs, **more):
    """streams.py on the logs of the ranks."""
    with tempfile.TemporaryDirectory() as folder:
        for rank, text in enumerate(logs):
            write(folder, f"streams-{rank}.jsonl", text)
        return program("streams.py", folder, **more)


def test_sizes():
    """A log beyond a limit is refused before it takes memory: 256 MiB are enough to read it."""
    many = [[0, 1]] * (limits.ENTRIES // 20 + 1)
    for what, text, words in (
        (
            "records that a carriage return separates",
            '{"end":true}\r' * 1200000,
            f"expected at most {limits.RECORD}",
        ),
        (
            "short records that other separators end",
            ('{"end":true}' + "\x0b\x0c\x1c\x1d\x1e" * 20 + "\n") * 20,
            "line 1: not valid JSON",
        ),
        (
            "a record without a line feed after the last record",
            '{"end":true}\n' * limits.RECORDS + '{"end":true}',
            f"more than {limits.RECORDS} records",
        ),
        (
            "a long record",
            '{"op":"x","on":0,"reads":[' + "[]," * 5000000 + "[]]}\n",
            f"expected at most {limits.RECORD}",
        ),
        (
            "many ranges",
            lines([*HEAD, *[of_stream(0, reads=many)] * 20]),
            f"more than {limits.ENTRIES} entries",
        ),
    ):
        done = judged(text, memory=256 << 20)
        check(
            f"{what}: refused",
            done.returncode == 2 and words in done.stderr and is_clean(done),
            (done.returncode, done.stderr),
        )


def test_times():
    """Ranges take the same time in each order: with one list that is kept sorted, 399,000 of them
    in falling order took 18 s."""
    falling = [[10 * i, 4] for i in range(limits.ENTRIES - 1000, 0, -1)]
    logs = [of_stream(0, writes=falling[i : i + 1000]) for i in range(0, len(falling), 1000)]
    done = judged(lines(HEAD + logs), seconds=10)
    check("ranges in falling order take linear time", done.returncode == 0, done)
    dice, numbers, right, most = random.Random(1), shadow.Sorted(), set(), 0
    for _ in range(6000):
        at, end = sorted((dice.randrange(20000), dice.randrange(20000)))
        if dice.random() < 0.02:
            numbers.remove(at, end)
            right -= set(range(at, end))
        elif at not in right:
            numbers.add(at)
            right.add(at)
        most = max([most, *map(len, numbers.parts)])
    wanted = sorted(right)
    check(
        "a sorted list in parts is sorted, and its parts are short",
        numbers.between(0, 20000) == wanted
        and numbers.between(999, 7001) == [n for n in wanted if 999 <= n < 7001]
        and all(
            numbers.up_to(at) == max((n for n in wanted if n <= at), default=None)
            for at in range(0, 20000, 37)
        )
        and numbers.firsts == [part[0] for part in numbers.parts]
        and most <= 2 * shadow.PART,
        most,
    )
    streams = [{"stream": i} for i in range(100)]
    racing = [of_stream(i % 100, writes=[[0, 1]]) for i in range(2000)]
    done = judged(lines(HEAD[:1] + streams + racing))
    check(
        "the pairs that are kept are limited",
        done.returncode == 1 and f"{limits.RACES} or more unordered pairs" in done.stdout,
        done.stdout[-200:] + done.stderr,
    )


FITS = [("after", [-1, 1])]  # a value that the field may have


def test_types():
    """Each field of each record, with a value of another type."""
    whole = [
        {"format": streamlog.FORMAT, "rank": 0, "world": 1},
        {"stream": 0, "name": "host", "host": True},
        {"stream": 1, "name": "s"},
        {"step": 0, "by": 0},
        {"phase": "step"},
        {"alloc": [0, 8], "on": 1, "name": "block"},
        of_stream(1, writes=[[0, 8]], site="a.py:1", collective=True, gives=["k"], issue=0),
        {"record": 1, "on": 1},
        {"wait": 1, "on": 0},
        of_stream(0, reads=[[0, 8]], phase="x", takes=["k"], by=0, issue=1),
        {"wait_stream": 1, "on": 0},
        {"synchronize": True, "on": 0},
        {"free": [0, 8], "on": 1, "after": [0]},
        {"end": True},
    ]
    done = judged(lines(whole))
    check("a log with every field is accepted", done.returncode == 0, done.stdout + done.stderr)
    bad = []
    others = ["p", 1, 1.5, None, [[0]], [["a", 1]], {"a": []}, "x" * 2000, 1 << 70, [-1, 1]]
    for number, record in enumerate(whole):
        for field, value in record.items():
            for other in others:
                if (type(other) is type(value) and other in ("p", 1)) or (field, other) in FITS:
                    continue
                changed = [*whole[:number], {**record, field: other}, *whole[number + 1 :]]
                with tempfile.TemporaryDirectory() as folder:
                    write(folder, "streams-0.jsonl", lines(changed))
                    try:
                        streamlog.read(folder, 1)
                        bad.append((field, other))
                    except streamlog.InvalidLog as error:
                        if f"rank 0, line {number + 1}: " not in str(error):
                            bad.append((field, other, str(error)))
    check("fields of another type are refused, with their line", not bad, bad[:5])
    race = [of_stream(i % 2, writes=[[64 * (i // 2), 1]]) for i in range(4)]
    race[1]["issue"], race[3]["issue"] = "p", 1
    done = judged(lines([*HEAD, *race]))
    check(
        'two races, one with a word as "issue", are refused',
        done.returncode == 2 and "line 5" in done.stderr and is_clean(done),
        (done.returncode, done.stderr),
    )


def test_verdict():
    """A verdict of streams.py that cannot be printed is an error."""
    races = lines([*HEAD, of_stream(0, writes=[[0, 1]]), of_stream(1, writes=[[0, 1]])])
    with open("/dev/full", "w", encoding="utf-8") as full:
        for what, log in (("no race", lines([*HEAD, of_stream(0)])), ("a race", races)):
            done = judged(log, stdout=full)
            check(
                f"streams.py on a full disk: {what}",
                done.returncode == 3
                and done.stderr
                == "streams.py: cannot write standard output: No space left on device\n",
                (done.returncode, done.stderr),
            )
    with tempfile.TemporaryDirectory() as folder:
        write(folder, "streams-0.jsonl", races)
        for closed, code in (("0<&-", 1), ("2>&-", 1), (">&-", 3), ("0<&- >&-", 3)):
            words = [sys.executable, "-B", os.path.join(JUDGE, "streams.py"), folder]
            done = subprocess.run(
                ["sh", "-c", f'exec "$@" {closed}', "sh", *words], capture_output=True, text=True
            )
            check(
                f"streams.py {closed}: exit code {code}",
                done.returncode == code
                and ("1 unordered" in done.stdout) == (code == 1)
                and ("standard output is closed" in done.stderr) == (code == 3),
                (done.returncode, done.stdout, done.stderr),
            )


# ---- Lists ---------------------------------------------------------------------------------------

KNOWN = {"cause": "c", "clause": "RED-2", "kind": "ratio", "needs": []}
CAUSE = {"title": "sums", "class": "defect", "subject": "subject", "note": "a note"}
SUPPORT = {
    "level": 1,
    "world": 8,
    "returns": ["norm"],
    "supports": {"zero": [0]},
    "options": {"sums": ["exact"]},
    "without": [],
    "unsupported": [],
}
# (field, values that are refused, part of the message)
KNOWN_BAD = [
    ("recipe", [5, [], {}], "failures[1].recipe: expected a string or null"),
    ("recipe", ["", " ", "x=y", "M=99999999999,list=3@0.0"], "is not a field with a value"),
    ("recipe", [BAD], "\\x1b[2J"),
    ("recipe", ["list=1", "list="], "expected a parameter NUMEL@STAGE.GROUP"),
    ("recipe", [f"{RECIPE} backwards=x", f"{RECIPE} backwards=7"], "'backwards' must be one of"),
    ("recipe", [f"{RECIPE} streams=true"], "'streams' must be one of"),
    ("needs", [5, None, "dp"], "failures[1].needs: expected a list"),
    ("needs", [[5], [[1]], [None]], "failures[1].needs[0]: expected a string"),
    ("lacks", [5, "dp"], "failures[1].lacks: expected a list"),
    ("lacks", [[{}]], "failures[1].lacks[0]: expected a string"),
    ("also", [5], "failures[1].also: expected a list"),
    ("also", [[5]], "failures[1].also[0]: expected a string"),
    ("symptom", [5, "word"], "failures[1].symptom: expected a list"),
    ("symptom", [[5]], "failures[1].symptom[0]: expected a string"),
    ("chance", ["no", 1, True], "failures[1].chance: expected an object or null"),
    ("chance", [{}, {"replays": 200}], "is missing"),
    ("chance", [{"replays": 199, "failed": 60}], "replays: expected at least 200"),
    ("cause", [5, None], "failures[1].cause: expected a string"),
    ("cause", ["other"], "failures[1].cause: no cause has the id 'other'"),
    ("clause", [5, None], "failures[1].clause: expected a string"),
    ("clause", ["RED-2\n", "<b>"], "failures[1].clause: expected text that matches"),
    ("kind", [5], "failures[1].kind: expected a string"),
    ("worth", [1, BAD], "failures[1].worth: unknown field"),
    ("worth", [float("nan"), float("inf")], "cannot read"),
]
CAUSE_BAD = [
    ("title", [5, None], "causes.c.title: expected a string"),
    ("title", ["", "x" * 81], "causes.c.title: expected at"),
    ("class", [5, "Defect", None], 'causes.c.class: expected "defect" or "by design"'),
    ("class", ["by design", "not promised"], 'needs "documented"'),
    ("class", ["limitation"], "failures[0].clause: a limitation must end with an error (RUN-1)"),
    ("note", [5], "causes.c.note: expected a string"),
    ("note", ["\ud800"], "half of a surrogate pair"),
    ("issue", [5], "causes.c.issue: expected a string"),
    ("issue", ["javascript:alert(1)", "https://a b"], "causes.c.issue: expected text that"),
    ("upstream", [5], "causes.c.upstream: expected a string"),
    ("documented", [5], "causes.c.documented: expected a string"),
    ("alias", [[1]], "causes.c.alias: expected a string"),
    ("worth", [1, BAD], "causes.c.worth: unknown field"),
]
SUPPORT_BAD = [
    ("level", [10**30, True, 1.5, "1"], "level: expected"),
    ("world", [-5, None], "world: expected"),
    ("returns", [5, [5], [[1]]], "returns"),
    ("supports", [5, {"zero": 5}], "expected a"),
    ("supports", [{"zero": [[1]]}], "supports.zero[0]: expected"),
    ("options", [{"a": 5}], "options.a: expected a list"),
    ("options", [{"a": [None]}, {"a": [1.5]}], "options.a[0]: expected"),
    ("without", [{}, [5], ["x"], [{"zero": {}}], [{"zero": [[]]}]], "without"),
    ("unsupported", [5, None, [5]], "unsupported"),
    ("level", [float("inf")], "cannot read"),
    ("name", [5], "name: expected a string"),
    ("x", [5], "x: unknown field"),
]
QUICK_BAD = [
    ("cases", [5, None, "x", {"a": 1}], "cases: expected a list"),
    ("cases", [[5], [[]], [None], [{}]], "cases[0]: expected a string"),
    ("cases", [["x=y"], [""]], "is not a field with a value"),
    ("cases", [[BAD]], "\\x1b[2J"),
    ("x", [1], "x: unknown field"),
]


def with_list(option, value, *more):
    """(`check` with a list that is this value, the file's name)"""
    with tempfile.TemporaryDirectory() as folder:
        name = write(folder, "list.json", json.dumps(value))
        argv = [COMMAND, "check", "--adapter", f"{COMMAND} adapter", "--jobs", "1", "--brief"]
        argv += ["--shrink", "0", option, name, *more]
        done = subprocess.run(argv, capture_output=True, text=True)
        return done, name


def test_lists():
    """Each field of each list."""
    one = ["--cases", "1"]
    causes = {"causes": {"c": CAUSE}}
    for option, table, whole, more in (
        ("--known", KNOWN_BAD, lambda x: {**causes, "failures": [KNOWN, {**KNOWN, **x}]}, one),
        (
            "--known",
            CAUSE_BAD,
            lambda x: {"causes": {"c": {**CAUSE, **x}}, "failures": [KNOWN]},
            one,
        ),
        ("--support", SUPPORT_BAD, lambda x: {**SUPPORT, **x}, one),
        ("--quick", QUICK_BAD, lambda x: {"cases": [], **x}, []),
    ):
        wrong = []
        for field, values, words in table:
            for value in values:
                done, name = with_list(option, whole({field: value}), *more)
                good = done.returncode == 2 and f"{option}: " in done.stderr and name in done.stderr
                if not good or words not in done.stderr or not is_clean(done):
                    wrong.append((field, value, done.returncode, done.stderr[-300:]))
        check(f"{option}: values of other types are refused, with their place", not wrong, wrong)
        for value in ([], 5, None, {}):
            done, name = with_list(option, value, *more)
            check(
                f"{option} {value} is refused",
                done.returncode == 2 and f"{option}: {name}: " in done.stderr and is_clean(done),
                (done.returncode, done.stderr),
            )
    done, _ = with_list("--support", SUPPORT, *one)
    check("a right list of support is accepted", done.returncode == 0, done.stderr)
    done, _ = with_list("--quick", {"cases": [RECIPE]})
    check("a right selection is accepted", done.returncode == 0, done.stderr)
    entry = {**KNOWN, "recipe": RECIPE, "lacks": [BAD], "also": None, "symptom": []}
    cause = {**CAUSE, "title": BAD}
    done, _ = with_list("--known", {"causes": {"c": cause}, "failures": [entry]}, *one)
    check(
        "a failure that does not occur is reported, and its title is escaped",
        done.returncode == 1 and "\\x1b[2J\\u202e" in done.stdout and is_clean(done),
        (done.returncode, done.stdout, done.stderr),
    )


# ---- Reports -------------------------------------------------------------------------------------


def report():
    """A report with one failure."""
    cause = {
        "clause": "RED-2",
        "kind": "ratio",
        "needs": ["dp"],
        "known": {**CAUSE, **KNOWN, "issue": "https://example.org/1?a=(b)"},
        "fresh": False,
        "chance": None,
        "text": "text",
        "recipe": RECIPE,
        "cases": ["c1"],
        "findings": [
            {
                "clause": "RED-2",
                "kind": "ratio",
                "text": "text",
                "detail": {
                    "decoded": ["twice"],
                    "values": [
                        {"rank": 0, "what": "gradient", "parameter": "p0", "element": 1}
                        | {"want": "0x1p+0", "got": "nan"}
                    ],
                },
            }
        ],
        "case": {},
        "expected": {},
        "answer": {"status": "ok"},
        "ledgers": [[{"step": 0}, {"op": "all_reduce", "group": [0, 1], "count": 3}]],
        "corpus": [{"id": "R1", "symptom": "sums", "cause": "twice"}],
    }
    return {
        "schema": "zeroproof/report/2",
        "subject": {"name": "subject", "version": "1.0+x"},
        "date": "2026-01-31",
        "command": "zeroproof check --adapter 'python3 a.py'",
        "adapter": "python3 a.py",
        "environment": {"system": "Linux"},
        "level": 2,
        "seed": 1,
        "seconds": 1.5,
        "whole": True,
        "cases": {"pass": 1, "fail": 1, **dict.fromkeys(EXCUSED, 0), "unsupported": 0},
        "clauses": {"RED-2": [1, 1, 0, 0, 0, 0]},
        "problems": ["a problem"],
        "causes": [cause],
        "results": [],
    }


def results(value, *more):
    """(results.py on a report that is this value, RESULTS.md, index.html)"""
    with tempfile.TemporaryDirectory() as folder:
        name = write(folder, "report.json", json.dumps(value))
        done = program("results.py", "--out", os.path.join(folder, "out"), *more, name)
        made = []
        for file in ("RESULTS.md", "index.html"):
            path = os.path.join(folder, "out", file)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as opened:
                    made.append(opened.read())
        return done, made


def test_reports():
    done, made = results(report())
    check(
        "a right report is accepted",
        done.returncode == 0
        and "](https://example.org/1?a=%28b%29)" in made[0]
        and '<a href="https://example.org/1?a=(b)">' in made[1],
        (done.stderr, made),
    )
    two = {**report(), "clauses": {"<img src=x onerror=alert(1)>": [1, 0, 0, 0, 0, 0]}}
    for what, value in (
        ("{}", {}),
        ("[1, 2]", [1, 2]),
        ("5", 5),
        ("null", None),
        ("a clause that is HTML", two),
        ("a cause that is a number", {**report(), "causes": [5]}),
        ("counts that are words", {**report(), "clauses": {"RED-2": ["a", "b", "c"]}}),
        ("NaN", {**report(), "seconds": float("nan")}),
        ("infinite seconds", {**report(), "seconds": 10**400}),
        ("a version that is no text", {**report(), "subject": {"name": "a", "version": 5}}),
    ):
        done, made = results(value)
        check(
            f"results.py refuses {what}",
            done.returncode == 2 and "report.json: " in done.stderr and not made and is_clean(done),
            (done.returncode, done.stderr),
        )


def test_pages():
    """Texts of a report are escaped in both files; an address is a link if it is of the web."""
    bad = report()
    cause = bad["causes"][0]
    for key in ("clause", "kind", "text", "recipe"):
        cause[key] = BAD + "<i>`|"
    cause["known"].update(cause=BAD + "<i>", title=BAD + "<i>", note=BAD + "<i>")
    cause["known"].update(issue="javascript:alert(1)" + BAD, documented="javascript:x" + BAD)
    cause["findings"][0]["detail"]["values"][0].update(want=BAD, got="0x1p+99999")
    cause["ledgers"] = [[{"op": BAD}, {"op": "send"}]]
    bad["subject"]["name"] = bad["problems"][0] = BAD + "<i>"
    mutant = {"row": None, "mutant": BAD, "engine": "ref", "clause": BAD, "by": "suite", "cases": 1}
    with tempfile.TemporaryDirectory() as folder:
        table = {"schema": "zeroproof/mutants/2", "seed": 1, "mutants": [mutant]}
        name = write(folder, "mutants.json", json.dumps(table))
        done, made = results(bad, "--mutants", name, "--commit", BAD, "--date", BAD)
        wrong = [text for text in made if set(CONTROLS) & set(text)]
        wrong += [text for text in made if "](javascript" in text or 'href="javascript' in text]
        # in Markdown, a recipe is code: HTML in it is text
        plain = [re.sub("`[^`]*`", "", text.replace("\\`", "")) for text in made]
        wrong += [text for text in plain if "<i>" in text]
        check(
            "texts of a report are escaped in RESULTS.md and index.html",
            done.returncode == 0 and len(made) == 2 and not wrong,
            (done.stderr, wrong or made),
        )
        write(folder, "mutants.json", '{"mutants": [5]}')
        done, _ = results(report(), "--mutants", name)
        check(
            "a table of mutants that is not valid is refused",
            done.returncode == 2 and f"--mutants: {name}: " in done.stderr and is_clean(done),
            (done.returncode, done.stderr),
        )
    links = ("https://a/b", "http://a", "docs/a.html", "a", "../a")
    others = (
        "javascript:x",
        "//a",
        "data:x",
        "JAVASCRIPT:x",
        "https:a",
        "/etc",
        "a b",
        "\njs:",
        "",
    )
    check(
        "a link leads to the web or to a file beside the page",
        all(map(page.is_link, links)) and not any(map(page.is_link, others)),
    )
    for tool in ("results.py", "mutants.py"):
        for words in (["--" + BAD, "x"], [BAD]):
            done = program(tool, *words)
            check(
                f"{tool} {words!a}: the message is escaped",
                done.returncode == 2 and "\\x1b[2J" in done.stderr and is_clean(done),
                (done.returncode, done.stderr),
            )


sys.exit(
    main(
        test_sizes,
        test_times,
        test_types,
        test_verdict,
        test_lists,
        test_reports,
        test_pages,
    )
)
