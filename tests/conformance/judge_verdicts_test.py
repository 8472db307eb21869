"""Tests the judge's verdicts on correct adapters, on missing evidence, and on ranks that hang."""

import html
import sys
import xml.dom.minidom

from selftest import COMMAND, TRAINER, check, judged, main, run


def test_evidence():
    """A clause without evidence is not passed. A hello that names no axis, or hides a level's
    evidence, is refused."""
    for fault, words in (
        ("nothing", 'supports: "zero" is missing'),
        ("unrecorded", 'returns: expected a list with "ledger"'),
    ):
        code, report, errors = run(f"{TRAINER} {fault}", "--cases", "5")
        check(f"{fault} is refused", code == 2 and report is None and words in errors, errors)
    for more, fault in ((("--level", "1"), "correct"), ((), "no-ledger"), ((), "lonely-ledger")):
        _, report, errors = run(f"{TRAINER} {fault}", "--cases", "30", *more)
        passed = {clause for clause, (good, *_) in report["clauses"].items() if good}
        check(
            f"no LEDG clause passes without ledgers ({fault})",
            "RED-2" in passed and not passed & {"LEDG-2", "LEDG-3", "LEDG-6", "LEDG-7"},
            errors or report["clauses"],
        )


def test_ref():
    code, report, errors = run(f"{COMMAND} adapter", "--cases", "300", "--seed", "7")
    check("ref passes", code == 0 and report["cases"]["fail"] == 0, errors or report["causes"])
    needed = set(
        "RED-2 RED-3 RED-6 STEP-4 STEP-6 STEP-7 STEP-8 STAT-2 STAT-3 SCALE-3 SCALE-4 OPT-2 LEDG-2 "
        "LEDG-6 LEDG-7 PIPE-3 PIPE-6 TIE-1 TIE-2 TOPO-3 PART-1 PART-6".split()
    )
    check(
        "every clause of the suite is judged",
        needed <= {c for c, n in report["clauses"].items() if n[0]},
        needed - set(report["clauses"]),
    )
    files = report["files"]
    check(
        "reports are written",
        {"report.json", "junit.xml", "report.tap", "report.html"} == set(files),
        list(files),
    )
    check(
        "JUnit is XML",
        xml.dom.minidom.parseString(files["junit.xml"]).documentElement.tagName == "testsuite",
    )
    check("TAP has one ok line per case", files["report.tap"].count("\nok ") == 300)
    check(
        "the page is self-contained",
        "src=" not in files["report.html"] and "<link" not in files["report.html"],
    )


def test_correct():
    code, report, errors = run(f"{TRAINER} correct", "--cases", "60")
    # the trainer uses fractions and code of its own, so this checks the oracle as well
    check(
        "a correct trainer in exact arithmetic passes",
        code == 0 and report["cases"]["pass"] == 60,
        errors or report["causes"],
    )
    good, _, other, *_ = report["clauses"]["PART-6"]
    check(
        "masters that are whole on every rank do not judge ownership",
        good == 0 and other > 0,
        report["clauses"],
    )
    for axis, words in (
        ("backwards", ["backwards=2"]),
        ("replicas", ["replicas=2"]),
        ("groups", ["groups_vary=rank", "late=1"]),
    ):
        code, report, errors = run(f"{TRAINER} {axis}", "--cases", "60")
        recipes = [r["recipe"] for r in report["results"]] if report else []
        several = min(sum(word in recipe for recipe in recipes) for word in words)
        check(
            f"a correct trainer passes with several {axis}",
            code == 0 and report["cases"]["pass"] == 60 and several > 5,
            (errors, several, report and report["causes"]),
        )
    code, report, errors = run(f"{TRAINER} tacit", "--cases", "60")
    judged = {clause for clause, (good, *_) in report["clauses"].items() if good}
    tacit = {"STAT-2", "STAT-3", "STAT-4", "STEP-6", "SCALE-3", "SCALE-4"}
    check(
        "fields that are null are not judged, the others are",
        code == 0
        and not judged & tacit
        and {"RED-2", "OPT-4"} <= judged
        and tacit <= set(report["clauses"]) | {"SCALE-3"},
        errors or report["clauses"],
    )


def test_fields():
    """No field of an answer is ignored silently, and a field that hello names and no answer has is
    reported."""
    _, report, _ = run(f"{TRAINER} unannounced", *ONCE)
    text = report["causes"][0]["text"]
    check("a field that hello does not name is named", 'the field "gradients", which' in text, text)
    code, report, errors = run(f"{TRAINER} unwritten", "--cases", "20")
    text = "returns names 'masters', but no answer has it"
    check(
        "a field that no answer has gives a warning",
        code == 0 and report["warnings"] == [text] and text in html.unescape(page_of(report)),
        errors or report["warnings"],
    )
    done = judged("--cases", "2", adapter=f"{TRAINER} unwritten")
    check("the terminal shows it", f"\nwarning: {text}" in done.stdout, done.stdout)
    _, report, _ = run(f"{TRAINER} correct", "--cases", "2")
    check("a correct adapter gets none", report["warnings"] == [], report["warnings"])


def test_steps():
    """Demands on a single step need the records at which steps begin."""
    for fault, text in (
        ("stepless", 'rank 0\'s ledger has no {"step": 1} record'),
        ("twice", '"step" records of rank 0\'s ledger: got 0, 0, 1, expected 0, 1'),
    ):
        code, report, errors = run(f"{TRAINER} {fault}-ledger", *STEPS)
        seen = [(c["clause"], c["kind"], c["text"]) for c in report["causes"]] if report else errors
        check(
            f"{fault}: wrong step records fail",
            code == 1 and seen == [("RUN-2", "malformed ledger", text)],
            seen,
        )


def test_unjudged():
    """Each clause that is not judged says what it needs. --only fails if its clause is not judged
    in any case."""
    T = f"{TRAINER} unskipped"
    code, report, errors = run(T, "--cases", "20")
    text = "STEP-6: not judged in 20 cases: needs `skipped`"
    page = page_of(report).replace("<code>", "`").replace("</code>", "`")
    why = report["not judged"]
    check("JSON and page say what it needs", why["STEP-6"] == text and text in page, why)
    done = judged("--cases", "20", adapter=T)
    check("so does the terminal", f"\n  {text}\n" in done.stdout, done.stdout)
    done = judged("--only", "STEP-6", adapter=T)
    text = "STEP-6 was not judged in any case: it needs `skipped`, which returns does not name"
    check("--only fails", done.returncode == 1 and f"error: {text}" in done.stdout, done.stdout)
    done = judged("--only", "STEP-7", adapter=T)
    check("--only passes with the evidence", done.returncode == 0, done.stdout)
    _, report, _ = run(f"{TRAINER} no-mean", "--cases", "20", "--shrink", "0")
    text = report["not judged"]["STEP-7"]
    check("another clause failed", text.endswith(" cases: another clause failed"), text)


STEPS = ("--only", "dp=2,steps=2,optim=sgd,list=4@0.0", "--shrink", "0")


def page_of(report):
    return report["files"]["report.html"]


ONCE = ("--cases", "1", "--only", "LEDG-2", "--shrink", "0")  # each try takes seconds


def test_hang():
    code, report, _ = run(f"{TRAINER} hang", "--cases", "2", "--only", "LEDG-2")
    cause = report["causes"][0] if report["causes"] else {}
    check(
        "a hang is reported as LEDG-7",
        code == 1 and cause.get("clause") == "LEDG-7" and "rank 0 waits" in cause["text"],
        cause,
    )
    messages = {c["answer"]["message"] for c in report["causes"]}
    check(
        "a hang is detected from the ledgers, not by the deadline",
        not any("no answer within" in m for m in messages),
        messages,
    )
    code, report, _ = run(f"{TRAINER} stuck", *ONCE)
    kinds = {f["kind"] for r in report["results"] for f in r["findings"]}
    check(
        "ranks that entered different asynchronous operations end the case before the deadline",
        code == 1
        and any(k.startswith("ledgers differ") for k in kinds)
        and not any(k.startswith("timeout") for k in kinds),
        kinds,
    )
    for deadline in (5, 50, 500):  # which holds for hello as well
        code, report, errors = run(f"{TRAINER} sleep", *ONCE, deadline=deadline)
        if report or "no answer to hello" not in errors:
            break
    check(
        "an adapter that never answers times out",
        code == 1 and report["causes"][0]["kind"].startswith("timeout"),
        report["causes"] if report else errors,
    )


sys.exit(
    main(
        *(test_evidence, test_ref, test_correct, test_fields, test_steps, test_unjudged),
        waiting=(test_hang,),
    )
)
