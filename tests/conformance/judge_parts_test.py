"""Tests parts of the judge by themselves: cases, axes, ledgers, related bugs and reports."""

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest.mock
from fractions import Fraction

from selftest import COMMAND, ROOT, check, main, run, text_of

sys.path.insert(0, os.path.join(ROOT, "conformance", "judge"))

import adapter  # noqa: E402
import amount  # noqa: E402
import axes  # noqa: E402
import draw  # noqa: E402
import ledger  # noqa: E402
import page  # noqa: E402
import report as reports  # noqa: E402
import results  # noqa: E402
import summary  # noqa: E402
from decode import multiplicities  # noqa: E402
from recipe import features, recipe_of  # noqa: E402
from run import judge, message_words  # noqa: E402
from tools import Tools  # noqa: E402
from values import Finding  # noqa: E402


def test_cases():
    tools = Tools()
    case, why = tools.case(
        "precision=bf16,dp=3,M=2,steps=2,optim=momentum,list=5@0.0+3@0.1t0+3@0.1t0,unused=100"
    )
    check("a recipe makes a case", case is not None, why)
    check("a case round-trips through its recipe", tools.case(case["recipe"])[0] == case)
    none, why = tools.case(
        "wide=16,comm=fp32,precision=bf16,dp=5,M=3,unit=-20,optim=adamw,list=60@0.0"
    )
    check("a case whose sums are not exact is refused", none is None and "sum" in why, why)
    none, why = tools.case("dp=2,unit=-60,optim=sgd,list=50@0.0")
    check("a case whose update rounds is refused", none is None and "update" in why, why)
    for bad in (
        "dp=0,list=1@0.0",
        "nonsense",
        "mode=wild,list=1@0.0",
        "wide=99,list=1@0.0",
        "steps=0,list=1@0.0",
    ):
        check(f"'{bad}' is refused", tools.case(bad)[0] is None)
    parts = [(Fraction(4**i), i) for i in range(4)]
    check(
        "contributions are decoded from their sum",
        list(multiplicities(parts, Fraction(1 + 2 * 16 + 64)).values()) == [1, 0, 2, 1],
    )
    found = features(recipe_of("precision=bf16,pp=2,dp=2,M=1,list=5@0.0+5@0.1+4@1.0 overlap=true"))
    check(
        "features of a recipe are found",
        {"dp", "pp", "unequal K", "bf16", "overlap=True"} <= found,
        found,
    )
    for entries, tp, alone in (
        ("4@0.0s+4@1.0", 2, True),
        ("4@0.0s+4@1.0s", 2, False),
        ("4@0.0s+4@1.0", 1, False),
        ("4@0.0s+4@0.0t0+4@1.0st0", 2, True),
        ("4@0.0s+4@1.0f", 2, False),
    ):
        found = features(recipe_of(f"pp=2,tp={tp},M=1,list={entries}"))
        check(
            f"a stage without sharded entries is found: {entries} tp {tp}",
            ("stage without sharded" in found) == alone,
            found,
        )
    test_schemas(case, tools.expected(case))
    tools.close()


def test_schemas(case, expected):
    try:
        import jsonschema
    except ImportError:
        print("not run: schemas (no python3-jsonschema)")
        return
    folder = os.path.join(ROOT, "conformance/schema")
    schema = {n.removesuffix(".json"): json.loads(text_of(folder, n)) for n in os.listdir(folder)}
    code, report, _ = run(f"{COMMAND} adapter", "--cases", "3")
    for name, value in (
        ("case", case),
        ("expected", expected),
        ("report", {k: v for k, v in report.items() if k != "files"}),
    ):
        errors = [
            e.message for e in jsonschema.Draft202012Validator(schema[name]).iter_errors(value)
        ]
        check(f"a {name} conforms to its schema", code == 0 and not errors, errors)


def test_refusals():
    """Recipes that have no case, or one that is too large, and input that is not a case."""
    for recipe in ("BAD", "list=", "dp=8,M=4,steps=4,list=1000000@0.0", "M=1000000,list=1@0.0"):
        done = subprocess.run([COMMAND, "cases", recipe], capture_output=True, text=True)
        check(
            f"zeroproof cases '{recipe}' is refused",
            done.returncode == 2 and recipe in done.stderr,
            done,
        )
    done = subprocess.run([COMMAND, "oracle"], input="no JSON\n", capture_output=True, text=True)
    check(
        "zeroproof oracle refuses input that is not a case",
        done.returncode == 2 and "refused" in done.stdout,
        done,
    )


def test_axes():
    space = axes.Space(
        {
            "supports": axes.AXES,
            "without": [{"zero": 2, "pp": [2, 3]}],
            "options": {"overlap": [False, True]},
        }
    )
    rows = axes.covering(space, random.Random(3))
    seen = set().union(*(axes.pairs_of(row) for row in rows))
    lacking = [
        ((a, x), (b, y))
        for (a, xs), (b, ys) in itertools.combinations(sorted(space.all.items()), 2)
        for x in xs
        for y in ys
        if ((a, x), (b, y)) not in seen
        and axes.random_row(space, random.Random(1), {a: x, b: y}) is not None
    ]
    check("every pair of values that can occur occurs", not lacking, lacking)
    check(
        "unsupported combinations do not occur",
        not any(r["zero"] == 2 and r["pp"] > 1 for r in rows),
    )
    check("the array is small", len(rows) < 240, len(rows))
    plain = {name: axes.BASE.get(name, values[0]) for name, values in space.all.items()}
    alone = {
        (n, v)
        for n, values in space.all.items()
        if n not in (*axes.CORE, "pp")
        for v in values
        if any(
            r[n] == v and all(r[m] == p for m, p in plain.items() if m not in (n, *axes.CORE, "pp"))
            for r in rows
        )
    }
    lacking = [
        f"{n}={v}"
        for n in (
            "micro_batches",
            "optimizer",
            "clip",
            "sizes",
            "bucket",
            "unused",
            "frozen",
            "option overlap",
        )
        for v in space.all[n]
        if (n, v) not in alone and v != plain[n] and space.allows({n: v, "tied": "no"})
    ]
    check("every value occurs in a row that is otherwise plain", not lacking, lacking)
    tools, clauses, families = Tools(), set(), set()
    for number, (row, _) in enumerate(
        itertools.islice(axes.rows(axes.Space({"supports": axes.AXES}), 1), 200)
    ):
        case, _ = draw.case_of_row(
            tools, axes.Space({"supports": axes.AXES}), row, random.Random(number)
        )
        clauses |= set(case["clauses"] if case else [])
        families |= set(case["hunts"] if case else [])
    tools.close()
    check(
        "--only knows every clause and family of cases, and no other",
        (clauses, families) == (set(axes.CLAUSES), set(axes.FAMILIES)),
        (clauses ^ set(axes.CLAUSES), families ^ set(axes.FAMILIES)),
    )


def test_ledgers():
    def op(kind, **more):
        return {"op": kind, "dtype": "fp32", "count": 4, **more}

    both = op("all_reduce", redop="sum", group=[0, 1])
    check("equal ledgers match", ledger.mismatches([[both], [both]]) == [])
    check(
        "a skipped collective is found", ledger.mismatches([[both, both], [both]])[0]["index"] == 1
    )
    check(
        "another count is found",
        ledger.mismatches([[both], [{**both, "count": 5}]])[0]["index"] == 0,
    )
    check(
        "another op is found",
        ledger.mismatches([[both], [{**both, "op": "reduce"}]])[0]["index"] == 0,
    )
    send, recv = op("send", peer=1), op("recv", peer=0)
    check("sends match receives", ledger.mismatches([[send], [recv]]) == [])
    check(
        "a message of another dtype is found",
        ledger.mismatches([[send], [{**recv, "dtype": "bf16"}]]) != [],
    )
    check("a rank that has not arrived yet is not a hang", not ledger.is_hung([[both], []])[0])
    check("crossed collectives are a hang", ledger.is_hung([[both], [op("recv", peer=0)]])[0])
    later = {**both, "async": True}
    check(
        "an asynchronous call is not a hang", not ledger.is_hung([[later], [op("recv", peer=0)]])[0]
    )
    check(
        "waiting for an asynchronous call is a hang",
        ledger.is_hung([[later, {"wait": 0}], [op("recv", peer=0)]])[0],
    )
    check(
        "a wait inside a library is a hang once no rank makes progress",
        ledger.is_hung([[later], [op("recv", peer=0)]], silent=True)[0],
    )
    check(
        "an asynchronous send does not wait for its receiver",
        not ledger.is_hung([[{**send, "async": True}], [both]], silent=True)[0],
    )
    group = [op("send", peer=1, batch=1), op("recv", peer=1, batch=1)]
    other = [op("send", peer=0, batch=1), op("recv", peer=0, batch=1)]
    check(
        "members that enter different operations disagree",
        ledger.disagree([[later], [{**later, "count": 5}]]),
    )
    check(
        "a member that has entered fewer operations does not disagree",
        not ledger.disagree([[later, later], [later]]),
    )
    check("a grouped exchange is not a hang", not ledger.is_hung([group, other])[0])
    check("a ledger that grows while it is read is read once", growing())
    test_observe(both)
    test_words(both, send)
    ledgers = [[both, send, {"freed": 1}, {"freed": 0}], [both, recv, {"step": 1}, {"freed": 1}]]
    found = ledger.freed(ledgers)
    check("the first memory that was freed early is found", found == (0, 1, send), found)
    test_freed(both, send, recv)
    check("a rank that failed is no hang", not ledger.is_hung([[both], [{"failed": True}]])[0])
    late, early = {**both, "name": "a"}, {**both, "name": "b"}
    ledgers = [[early, late], [{**early, "count": 5}, {**late, "count": 6}]]
    found = ledger.mismatches(ledgers)[0]["records"][0]
    check("the first of two mismatches is reported", found == early, found)
    check(
        "ranks that ended do not hang",
        not ledger.is_hung([[both, {"end": True}], [both, {"end": True}]])[0],
    )


def test_observe(both):
    """A rank that gathers its state waits for all ranks that have not begun to."""
    gather = {"observe": True}
    hung, waits = ledger.is_hung([[both, both], [both, gather]])
    check("a gather of the state beside a collective is a hang", hung, waits)
    text = ledger.describe_hang(waits)
    check("the message says so", "rank 1 waits in the gather of its state for rank 0" in text, text)
    check(
        "ranks that all gather are no hang",
        not ledger.is_hung([[both, gather], [both, gather]])[0],
    )
    ahead = [[both, gather, {"step": 1}], [both, gather]]
    check("nor is a gather that another has left", not ledger.is_hung(ahead)[0])


def test_freed(both, send, recv):
    """Memory that is freed when the rank has learned that its send has been received."""
    out, back = {**send, "async": True}, {"op": "recv", "peer": 1, "dtype": "fp32", "count": 1}
    reply = {**back, "op": "send", "peer": 0}
    own, other = ({**both, "op": "broadcast", "root": root} for root in (0, 1))
    here, there = ({**both, "op": "reduce", "root": root} for root in (0, 1))
    into = {**recv, "async": True}
    for name, mine, theirs, early in (
        ("nothing came back", [out], [recv], True),
        ("an answer came back", [out, back], [recv, reply], False),
        ("the answer was sent before", [out, back], [reply, recv], True),
        ("before the wait", [out, back], [into, reply, {"wait": 0}], True),
        ("behind the wait", [out, back], [into, {"wait": 0}, reply], False),
        ("an answer not waited for", [out, {**back, "async": True}], [recv, reply], True),
        ("a reduction", [out, both], [recv, both], False),
        ("a reduction that is not complete", [out, {**both, "async": True}], [recv, both], True),
        ("a broadcast of the receiver", [out, other], [recv, other], False),
        ("a broadcast of the sender", [out, own], [recv, own], True),
        ("a reduction to the sender", [out, here], [recv, here], False),
        ("a reduction to the receiver", [out, there], [recv, there], True),
        ("a receiver that lacks it", [out, back], [reply], True),
    ):
        found = ledger.freed([[*mine, {"freed": 0}], theirs])
        check(f"freed: {name}", (found is not None) == early, found)
    found = ledger.freed([[{**back, "async": True}, both, {"freed": 0}], [reply, both]])
    check("freed: a receive", found is not None, found)
    own = {**out, "peer": 0}
    found = ledger.freed([[own, {"freed": 0}], []])
    check("freed: a send to the rank itself", found == (0, 0, own), found)
    # many of each: looking at all pairs would take hours
    many = 20000
    mine = [out, back] * many + [{"freed": 2 * k} for k in range(many)]
    found = ledger.freed([mine, [recv, reply] * many])
    check("freed: 20,000 sends that were received", found is None, found)


def test_words(both, send):
    """Symptom words for ledgers, by which known failures are recognized."""
    entry = {"stage": 0, "expert": False, "tied": None, "numel": 3}
    case = {
        "world": 2,
        "topology": {"dp": 2, "pp": 1, "tp": 1},
        "replicas": 1,
        "parameters": [entry, entry],
        "steps": 1,
        "data": [[[[1], [1]]]],
    }
    one = {**both, "count": 1}
    for name, ledgers, words, scalars in (
        ("all", [[both, both]] * 2, None, False),
        ("one of two", [[both]] * 2, ["ranks agree"], False),
        ("a rank two, a rank one", [[both, both], [both]], ["ranks differ"], False),
        ("its statistics", [[one, one]] * 2, ["ranks agree"], True),
        ("nothing", [[]] * 2, ["never"], True),
    ):
        little = amount.too_little(case, ledgers)
        check(
            f"reduces of two buckets {name}: {words or 'enough'}, statistics alone: {scalars}",
            (little[1] if little else None, amount.reduces_only_scalars(case, ledgers))
            == (words, scalars),
            little,
        )
    pipe = {"world": 2, "topology": {"dp": 1, "pp": 2, "tp": 1}}
    for members, other, words in (
        ((0, 1), {"dtype": "bf16"}, ["activation", "dtype"]),
        ((1, 0), {"count": 5}, ["gradient", "count"]),
        ((0, 1), {"dtype": "bf16", "count": 5}, ["activation", "dtype", "count"]),
    ):
        found = message_words(pipe, {"members": members}, [send, {**send, **other}])
        check(f"a message that differs: {', '.join(words)}", found == words, found)


def growing():
    """A record appended between the query of the size and the read is read once."""
    with tempfile.TemporaryDirectory() as folder:
        name, line = os.path.join(folder, "rank-0.jsonl"), '{"step": 0}\n'
        ledgers = adapter.Ledgers(folder, 1)
        with open(name, "w", encoding="utf-8") as file:
            file.write(2 * line)
        with unittest.mock.patch("os.path.getsize", return_value=len(line)):
            ledgers.look()
        ledgers.look()
        return len(ledgers.records[0]) == 2


def test_ended():
    """A case without an answer reports operations that one rank entered and another, which has
    ended, never will."""
    one = {"op": "all_reduce", "redop": "sum", "dtype": "fp32", "count": 4, "group": [0, 1, 2]}
    end, case = {"end": True}, {"world": 3, "clauses": ["LEDG-2"], "parameters": [], "data": []}
    for name, ledgers, right in (
        ("others ended", [[one, end], [one, one], [one, end]], ["LEDG-2", "RUN-1"]),
        ("one ended, one still runs", [[one], [one, one], [one, end]], ["LEDG-2", "RUN-1"]),
        ("others were killed", [[one], [one, one], [one]], ["RUN-1"]),
        ("all ended alike", [[one, end]] * 3, ["RUN-1"]),
        (
            "memory was freed early",
            [[{**one, "count": 5}, {"freed": 0}], [one], [one]],
            ["PIPE-6", "LEDG-2", "RUN-1"],
        ),
        (
            "memory was freed later",
            [[{**one, "count": 5}, one, {"freed": 1}], [one], [one]],
            ["LEDG-2", "PIPE-6", "RUN-1"],
        ),
        (
            "records differ",
            [[one, end], [{**one, "count": 5}, end], [one, end]],
            ["LEDG-2", "RUN-1"],
        ),
    ):
        for status, mine in (
            ("error", right),
            ("died", right),
            ("hang", [c.replace("RUN-1", "LEDG-7") for c in right]),
        ):
            found, judged = judge(
                case, None, {"status": status, "message": "x"}, ledgers, {"ledger"}, 2
            )
            check(
                f"a case ends as {status}, {name}: {', '.join(mine)}",
                [f.clause for f in found] == mine and judged == {"LEDG-2"},
                found,
            )


def test_excerpts():
    """What a report says of an error is its end: the beginning is a traceback."""
    text = "Traceback\n" + "  File\n" * 200 + "KeyError: why\n"
    found = [{"clause": c, "kind": "k", "text": text} for c in ("RUN-1", "RED-2")]
    ends = [reports.excerpt(f, 600) for f in found]
    check("an error's excerpt is its end", ends[0].endswith("KeyError: why"), ends[0])
    check("another finding's is its beginning", ends[1].startswith("Traceback"), ends[1])
    result = {"id": "c1", "recipe": "r", "status": "fail", "known": None, "fresh": False}
    result |= {"seconds": 1, "message": "", "findings": found[:1]}
    report = {"subject": {"name": "s"}, "seconds": 1, "results": [result], "problems": []}
    report["cases"] = {"pass": 0, "unsupported": 0}
    for name, lines in (("JUnit", reports.junit(report)), ("TAP", reports.tap(report))):
        [line] = [one for one in lines if "k: " in one or "<failure" in one]
        check(f"{name} has the error's last line", "KeyError: why" in line.split(">")[0], line)


def finding_of(one):
    return Finding(one["clause"], one["kind"], "", detail={"symptom": one["symptom"]})


def test_related():
    corpus = reports.read_corpus(os.path.join(ROOT, "conformance"))
    shown = [(row["id"], one) for row in corpus for one in row["shows"] if one["clause"] != "RUN-1"]
    lacking = [
        (name, one)
        for name, one in shown
        if name not in [row["id"] for row in reports.related(corpus, finding_of(one))]
    ]
    check("a failure of a mutant resembles its historic bug", shown and not lacking, lacking[:3])
    check("RUN-1 has no related bugs", not reports.related(corpus, Finding("RUN-1", "", "")))
    ranked = [
        {"id": name, "clauses": clauses, "families": [], "shows": shows}
        for name, clauses, shows in (
            ("cites", ["STAT-4"], []),
            ("other kind", [], [{"clause": "STAT-4", "kind": "x", "symptom": ["a", "b"]}]),
            ("other symptom", [], [{"clause": "STAT-4", "kind": "norm", "symptom": ["c"]}]),
            ("half", [], [{"clause": "STAT-4", "kind": "norm", "symptom": ["a"]}]),
            ("same", [], [{"clause": "STAT-4", "kind": "norm", "symptom": ["b", "a"]}]),
        )
    ]
    failure = Finding("STAT-4", "norm", "", detail={"symptom": ["a", "b"]})
    found = [row["id"] for row in reports.related(ranked, failure)]
    check("a similar bug has the same clause, kind and symptoms", found == ["same", "half"], found)
    made = {
        "results": [
            {
                "status": "pass",
                "id": "c1",
                "recipe": "dp=2 x=a\nnot ok 9 #SKIP",
                "known": False,
                "fresh": False,
                "findings": [],
            }
        ],
        "problems": ["one\nok 3 - two # TODO no"],
    }
    check(
        "TAP has a line per case",
        "".join(reports.tap(made)).splitlines()[2:]
        == ["ok 1 - c1 dp=2 x=a not ok 9 \\#SKIP", "not ok 2 - one ok 3 - two \\# TODO no"],
        "".join(reports.tap(made)),
    )


def test_junit():
    """A case with several findings is one failure, with all of them in its text."""
    found = [{"clause": c, "kind": "k", "text": f"text of {c}"} for c in ("RED-2", "OPT-4")]
    row = {"id": "c1", "recipe": "dp=2", "seconds": 0, "status": "fail", "known": None}
    made = {
        "subject": {"name": "s"},
        "cases": {"pass": 0, "unsupported": 0},
        "seconds": 1,
        "problems": [],
        "results": [{**row, "fresh": False, "findings": found}],
    }
    text = "".join(reports.junit(made))
    good = text.count("<failure") == 1 and 'tests="1" failures="1"' in text
    check("JUnit has one failure per case", good and "OPT-4 k: text of OPT-4" in text, text)


def test_page():
    ledgers = (
        [
            "broadcast 1 root 0 in [0]",
            "send to 1: 1",
            "all_reduce 43 in [0, 1]",
            "gather in [0, 1]",
        ],
        ["broadcast 1 root 1 in [1]", "recv from 0: 1", "all_reduce 17 in [0, 1]"],
    )
    marked = page.unmatched(ledgers)
    check(
        "collectives that another member of the group lacks are coloured, and no others",
        marked == {(0, 2), (1, 2), (0, 3)},
        marked,
    )
    macros = page.templates().globals
    names = macros["bug"]("DeepSpeed #12, #34, Unheard #56 <b>")
    links = [f"https://github.com/deepspeedai/DeepSpeed/issues/{n}" for n in (12, 34)]
    check(
        "the issues of historic bugs are links, if the program is known",
        all(f'<a href="{link}">' in names for link in links)
        and names.count("<a ") == 2
        and "<b>" not in names,
        names,
    )
    cause = {"clause": "RED-2", "kind": "k", "known": None, "cases": ["c1"]}
    cause["findings"] = [{"clause": "RED-2"}]
    made = {"subject": {"name": "s", "version": "1"}, "causes": [cause]}
    made["results"] = [{"id": "c1", "findings": [{"clause": "RED-2"}, {"clause": "STAT-4"}]}]
    shown = summary.causes_of([made])
    check(
        "a clause that only a larger case of a cause failed leads to the cause",
        summary.by_clause(made, shown) == {"RED-2": shown, "STAT-4": shown},
        summary.by_clause(made, shown),
    )
    mostly = {"clauses": {"STEP-6": [2, 0, 18, 0, 0, 0], "STEP-7": [18, 0, 2, 0, 0, 0]}}
    cells = [
        (
            summary.kind_of(mostly, name),
            macros["result"](mostly, name, []).strip(),
            results.cell(mostly, name),
        )
        for name in mostly["clauses"]
    ]
    check(
        "a clause that few cases judge shows both numbers, and is not green",
        cells[0][0] == "part"
        and "18 not judged" in cells[0][1]
        and cells[0][2] == "2; 18 not judged"
        and cells[1] == ("good", "18", "18"),
        cells,
    )
    needs = (["dp"], ["clipping", "dp"], ["clipping", "dp", "tp"], ["clipping"])
    causes = [{"needs": one} for one in needs]
    check(
        "a cause that differs from another in clipping alone may be the same bug",
        [reports.without_clipping(causes, c) for c in causes] == [None, 1, None, None],
    )
    check(
        "a sentence keeps the case of names",
        [reports.sentence(x) for x in ("a b.", "fp32 is", "grad_a is")]
        == ["A b.", "fp32 is.", "grad_a is."],
    )


sys.exit(
    main(
        test_cases,
        test_refusals,
        test_axes,
        test_ledgers,
        test_ended,
        test_excerpts,
        test_related,
        test_junit,
        test_page,
    )
)
