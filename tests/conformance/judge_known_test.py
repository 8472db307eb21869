"""Tests the lists that a run compares with: known failures and supported features."""

import json
import os
import subprocess
import sys
import tempfile

from selftest import COMMAND, ROOT, TRAINER, check, main, run, text_of

sys.path.insert(0, os.path.join(ROOT, "conformance", "judge"))

from known import check_refusals, lost_of  # noqa: E402
from outcomes import EXCUSED, Outcome, Outcomes  # noqa: E402
from recipe import recipe_of  # noqa: E402


def write_json(folder, name, value):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)
    return path


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


CAUSE = {"title": "listed", "class": "defect", "subject": "selftest", "note": "a note"}


def write_known(folder, name, *entries, cause=CAUSE):
    """A list of known failures, which have the same cause."""
    listed = {"causes": {"c": cause}, "failures": [{"cause": "c", **entry} for entry in entries]}
    return write_json(folder, name, listed)


def test_reproduce():
    _, report, _ = run(f"{TRAINER} next-scale")
    # with clipping, the wrong scale shows as a wrong clip factor
    causes = sorted(report["causes"], key=lambda c: c["clause"] != "STEP-6")
    recipe = causes[0]["recipe"]
    code, again, _ = run(f"{TRAINER} next-scale", "--only", recipe)
    check(
        "a minimal case fails again by its recipe",
        code == 1 and again["cases"]["pass"] == 0 and again["cases"]["fail"] == 1,
    )
    check(
        "a minimal case is small",
        len(recipe_of(recipe).entries) == 1 and recipe_of(recipe).number("dp") == 1,
        recipe,
    )
    needs = causes[0]["needs"]
    entry = {"clause": "STEP-6", "kind": "unscaled", "needs": needs}
    others = [{"clause": c["clause"], "kind": c["kind"], "needs": c["needs"]} for c in causes[1:]]
    with tempfile.TemporaryDirectory() as folder:
        listed = write_known(folder, "known.json", entry, *others)
        code, known, _ = run(f"{TRAINER} next-scale", "--known", listed)
        check(
            "known failures pass",
            code == 0,
            [(c["kind"], c["known"]) for c in known["causes"]] + known["problems"],
        )
        code, other, _ = run(f"{TRAINER} correct", "--known", listed)
        check(
            "a known failure that no longer occurs is an error",
            code == 1 and len(other["problems"]) == 1 + len(others),
            other["problems"],
        )
        code, other, _ = run(f"{TRAINER} correct", "--known", listed, "--only", "SCALE-3")
        check(
            "in a part of the cases, a known failure need not occur",
            code == 0 and not other["problems"],
            other["problems"],
        )


def test_support():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "support.json")
        run(f"{TRAINER} correct", "--support", path, "--accept-support", "--cases", "1")
        code, _, _ = run(f"{TRAINER} correct", "--support", path, "--cases", "1")
        before = read_json(path)
        before["supports"]["dp"].append(8)
        before["without"] = [{"dp": 1, "zero": 0, "why": "a reason"}]
        write_json(folder, "support.json", before)
        lost, report, _ = run(f"{TRAINER} correct", "--support", path, "--cases", "1")
        check(
            "a shrinking support list is an error",
            code == 0 and lost == 1 and "dp 8" in report["problems"][0],
        )
        for rules, text in (
            ([{"dp": 1, "zero": 0, "why": "other words"}], None),
            ([{"dp": 1, "zero": 0}], 'no "why" of'),
            ([{"dp": 1, "why": "a reason"}], "combinations: without {'dp': 1}"),
        ):
            now = {**before, "without": rules}
            lost = lost_of(before, now)
            check(
                f"support: rules {rules}: {text or 'nothing is lost'}",
                not lost if text is None else len(lost) == 1 and text in lost[0],
                lost,
            )


def test_refused():
    """Only reasons that hello declares may become reasons of the list without being seen."""
    with tempfile.TemporaryDirectory() as folder:
        for listed, code in (("correct", 1), ("refuses-declared", 0)):
            path = os.path.join(folder, f"{listed}.json")
            run(f"{TRAINER} {listed}", "--support", path, "--accept-support", "--cases", "1")
            got, report, errors = run(f"{TRAINER} refuses-dp", "--support", path, "--cases", "40")
            check(
                f"a reason that may not occur unless declared, list of {listed}: exit code {code}",
                got == code and any("does not list" in p for p in report["problems"]) == bool(code),
                report["problems"] if report else errors,
            )


def test_refused_at_random():
    """How many random cases a run has depends on the machine's speed, so none may fail it."""
    for origin in ("covering", "selected", "random", "fresh"):
        outcomes = Outcomes()
        out = Outcome({"id": "none", "clauses": []}, recipe_of("dp=2,list=1@0.0"))
        out.origin, out.status = origin, "unsupported"
        out.answer = {"status": "unsupported", "message": "a new reason"}
        outcomes.add(out, str)
        texts = check_refusals(outcomes, [])
        check(
            f"a new reason in a {origin} case",
            bool(texts) == (origin in ("covering", "selected")),
            texts,
        )


def test_started():
    """--accept-known starts a list, with which the next run passes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mine.json")
        code, report, errors = run(f"{TRAINER} lazy-scale", "--known", path, "--accept-known")
        check("--accept-known: the verdict stays", code == 1 and report["causes"], (code, errors))
        listed = read_json(path) if os.path.exists(path) else {"causes": {}, "failures": []}
        names = [entry["cause"] for entry in listed["failures"]]
        check(
            "a list is started, with a cause for each entry",
            names[:1] == ["scale-4-scale"] and sorted(names) == sorted(listed["causes"]),
            listed,
        )
        code, report, errors = run(f"{TRAINER} lazy-scale", "--known", path)
        check("the next run passes with it", code == 0 and all_known(report), (code, errors))
        text = text_of(f"{ROOT}/conformance", "ADAPTER.md")
        example = text.partition("A list with one cause and one entry:\n")[2].partition("\n[")[0]
        path = write_json(folder, "example.json", json.loads(example))
        case = json.loads(example)["failures"][0]["recipe"]
        code, report, errors = run(f"{TRAINER} norm-replicas", "--known", path, "--only", case)
        check("the example of ADAPTER.md holds", code == 0 and all_known(report), (code, errors))


def test_known():
    """Every run repeats the minimal cases of known failures, however few other cases it has."""
    _, report, _ = run(f"{TRAINER} lazy-scale")
    entry = {
        "clause": "SCALE-4",
        "kind": "scale",
        "needs": report["causes"][0]["needs"],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = write_known(folder, "known.json", entry)
        code, report, _ = run(f"{TRAINER} lazy-scale", "--known", path, "--accept-known")
        accepted = read_json(path)["failures"][0]
        check(
            "--accept-known writes the minimal case of a known failure",
            code == 0 and accepted.get("recipe"),
            accepted,
        )
        confirmed(path)
        with_class(folder, accepted)
        with_chance(folder, accepted)
        other_forms(folder, accepted)
        other = write_known(
            folder, "other.json", {**entry, "needs": ["tp"], "recipe": accepted["recipe"]}
        )
        code, report, _ = run(f"{TRAINER} lazy-scale", "--known", other, "--cases", "400")
        check(
            "a failure that does not meet the known failure's conditions is new",
            code == 1 and any(not c["known"] for c in report["causes"]),
            [(c["needs"], c["known"]) for c in report["causes"]],
        )


def confirmed(path):
    """The known failure lazy-scale is confirmed by its own case, and only by the same failure."""
    code, report, _ = run(f"{TRAINER} lazy-scale", "--known", path, "--cases", "1")
    cause = report["causes"][0]
    check(
        "a known failure is confirmed by its own case",
        code == 0 and cause["known"] and not cause["cases"],
        cause,
    )
    check(
        "JUnit and TAP do not count a known failure as failed",
        ' failures="0" skipped="1"' in report["files"]["junit.xml"]
        and "# TODO known defect: c: listed" in report["files"]["report.tap"],
        report["files"]["report.tap"],
    )
    check(
        "the page does not call a run with known defects good",
        '<p class="verdict excused">No new failure. 1 known defect.</p>'
        in report["files"]["report.html"],
    )
    code, report, _ = run(f"{TRAINER} lazy-scale", "--known", path, "--cases", "1", "--strict")
    check("--strict: a known defect fails the run", code == 1 and not report["problems"], code)
    code, report, _ = run(f"{TRAINER} correct", "--known", path, "--cases", "1")
    check(
        "a known failure that is fixed must be removed from the list",
        code == 1 and "passes; if the bug is fixed" in report["problems"][0],
        report["problems"],
    )
    code, report, _ = run(f"{TRAINER} next-scale", "--known", path, "--cases", "1")
    check(
        "a case that fails differently does not confirm the known failure",
        code == 1 and "fails as STEP-6" in report["problems"][0],
        report["problems"],
    )


def with_class(folder, accepted):
    """A case that fails as an entry of another class than defect is counted apart."""
    for name in EXCUSED[:2]:
        cause = {**CAUSE, "class": name, "documented": "file.py:1"}
        path = write_known(folder, "class.json", accepted, cause=cause)
        code, report, _ = run(f"{TRAINER} lazy-scale", "--known", path, "--strict")
        rows = [r["status"] for r in report["results"] if r["known"]]
        failed = report["clauses"]["SCALE-4"]
        check(
            f"{name}: all such cases are counted apart, also with --strict",
            code == 0
            and report["cases"]["fail"] == failed[1] == 0
            and report["cases"][name] == failed[3 + EXCUSED.index(name)] == len(rows) > 1
            and set(rows) == {name},
            (code, report["cases"], failed, rows),
        )
        code, lower, _ = run(f"{TRAINER} lazy-scale", "--known", path, "--level", "1")
        check(
            f"{name}: also at a lower level, where the list is not confirmed",
            code == 0 and lower["cases"][name] > 1 and not lower["cases"]["fail"],
            (code, lower["cases"]),
        )
        files = report["files"]
        shown = {text_name: files[text_name] for text_name in ("junit.xml", "report.tap")}
        check(
            f"{name}: JUnit and TAP skip such a case, with the reason",
            f' failures="0" skipped="{len(rows)}"' in files["junit.xml"]
            and f'<skipped message="{name}: c: listed: ' in files["junit.xml"]
            and "not ok" not in files["report.tap"]
            and f" # SKIP {name}: c: listed" in files["report.tap"],
            shown,
        )
        text = printed(f"{TRAINER} lazy-scale", "--known", path)
        check(
            f"{name}: the terminal does not call it failed",
            f" 0 failed, {len(rows)} {name}, 0 not" in text
            and f"({name}: c: listed)" in text
            and "<--" not in text,
            text,
        )
    accepting(folder, accepted)


def accepting(folder, accepted):
    """--accept-known leaves the causes of a list as they are."""
    bare = {key: value for key, value in accepted.items() if key != "recipe"}
    path = write_known(folder, "bare.json", bare)
    before = read_json(path)
    run(f"{TRAINER} lazy-scale", "--known", path, "--accept-known")
    after = read_json(path)
    check(
        "--accept-known keeps a list's causes",
        after["causes"] == before["causes"]
        and after["failures"][0].pop("recipe")
        and after == before,
        after,
    )


NORM = {"clause": "STAT-4", "kind": "norm", "needs": []}


def test_hidden():
    """An entry of another class than defect hides no other failure of its case. A defect's entry
    explains what follows from it. The same holds for a part of the cases."""
    _, report, _ = run(f"{TRAINER} norm-local", "--cases", "60", "--shrink", "0")
    rows = report["results"]
    short = min((r["recipe"] for r in rows if len(r["findings"]) == 1), key=len)
    both = next(r["recipe"] for r in rows if kinds(r) == {"STAT-4 norm", "OPT-2 clip"})
    apart = {**CAUSE, "class": "by design", "documented": "file.py:1"}
    clip = {"clause": "OPT-2", "kind": "clip", "needs": []}
    with tempfile.TemporaryDirectory() as folder:
        for name, cause, entries, right in (
            ("by design", apart, [NORM], "fail"),
            ("by design, with the other in also", apart, [{**NORM, "also": ["OPT-2 clip"]}], None),
            ("by design, with the other as an entry", apart, [NORM, clip], None),
            ("by design, with another in also", apart, [{**NORM, "also": ["OPT-2 x"]}], "fail"),
            ("a defect", CAUSE, [NORM], "defect"),
        ):
            first = {**entries[0], "recipe": short}
            path = write_known(folder, "hidden.json", first, *entries[1:], cause=cause)
            ways = ["--cases", "60", "--shrink", "4"], ["--only", both, "--only", short]
            for more in ways[len(entries) - 1 :]:  # the second entry never occurs by itself
                code, report, _ = run(f"{TRAINER} norm-local", "--known", path, *more)
                found = {r["recipe"]: r for r in report["results"]}
                hidden, new = found[both], {c["clause"] for c in report["causes"] if not c["known"]}
                check(
                    f"a case with a failure {name}, and another ({more[0]}): {right or 'excused'}",
                    code == (right == "fail")
                    and hidden["status"] == ("fail" if right else "by design")
                    and bool(hidden["known"]) == (right != "fail")
                    and new == ({"OPT-2"} if right == "fail" else set())
                    and found[short]["status"] == ("fail" if right == "defect" else "by design"),
                    (code, hidden, new, report["problems"]),
                )


def shows(row, word):
    first = row["findings"][0] if row["findings"] else {}
    return word in first.get("detail", {}).get("symptom", [])


def kinds(row):
    return {f"{f['clause']} {f['kind']}" for f in row["findings"]}


def test_broad():
    """What would excuse more than a list names is refused."""
    apart = {**CAUSE, "class": "by design", "documented": "file.py:1"}
    with tempfile.TemporaryDirectory() as folder:
        for change, why in (
            ({"also": [""]}, "also[0]: expected text that matches"),
            ({"also": ["STAT-4"]}, "also[0]: expected text that matches"),
            ({"kind": ""}, "'by design' would excuse every STAT-4"),
        ):
            path = write_known(folder, "broad.json", {**NORM, **change}, cause=apart)
            code, _, errors = run(f"{TRAINER} correct", "--known", path, "--cases", "1")
            check(f"an entry with {change} is refused", code == 2 and why in errors, errors)


def test_accept():
    """--accept-known does not mix up entries that differ in symptoms alone. Of two entries that
    explain a failure, a defect's takes precedence."""
    words = ("too large", "too small")
    _, report, _ = run(f"{TRAINER} two-norms", "--cases", "60", "--shrink", "0")
    found = {word: [r for r in report["results"] if shows(r, word)] for word in words}
    recipes = {word: min((r["recipe"] for r in rows), key=len) for word, rows in found.items()}
    entries = [{**NORM, "symptom": [word], "recipe": recipes[word]} for word in words]
    with tempfile.TemporaryDirectory() as folder:
        path = write_known(folder, "two.json", *entries)
        code, _, errors = run(
            f"{TRAINER} two-norms", "--known", path, "--cases", "1", "--accept-known"
        )
        after = [e["recipe"] for e in read_json(path)["failures"]]
        check(
            "--accept-known keeps the minimal case of each entry",
            code == 0 and after == list(recipes.values()) and after[0] != after[1],
            (code, after, errors),
        )
        path = write_known(folder, "small.json", entries[1])
        large = max(
            (r["recipe"] for r in found["too large"] if "dp=1," not in r["recipe"]), key=len
        )
        _, report, _ = run(f"{TRAINER} two-norms", "--known", path, "--only", large)
        check(
            "with --only, a new failure is not shrunk into a listed one",
            [(bool(c["known"]), "tp=2" in c["recipe"]) for c in report["causes"]]
            == [(False, True)],
            [(c["known"], c["recipe"]) for c in report["causes"]],
        )
        listed = {
            "causes": {
                "d": {**CAUSE, "class": "by design", "documented": "file.py:1"},
                "c": CAUSE,
            },
            "failures": [{**NORM, "cause": name} for name in ("d", "c")],
        }
        path = write_json(folder, "both.json", listed)
        for more in (["--cases", "20", "--shrink", "2"], ["--only", after[0]]):
            _, report, _ = run(f"{TRAINER} two-norms", "--known", path, *more)
            names = {r["known"]["cause"] for r in report["results"] if r["known"]}
            check(f"a defect takes precedence ({more[0]})", names == {"c"}, names)


def printed(adapter, *more):
    argv = [COMMAND, "check", "--adapter", adapter, "--shrink", "1", "--jobs", "2", *more]
    return subprocess.run(argv, capture_output=True, text=True).stdout


def with_chance(folder, accepted):
    """Entries that say "chance" need not be confirmed."""
    rare = {**accepted, "clause": "RUN-1", "kind": "error", "symptom": None}
    rare["chance"] = {"replays": 200, "failed": 60}
    path = write_known(folder, "rare.json", rare)
    code, report, _ = run(f"{TRAINER} correct", "--known", path, "--cases", "1")
    check(
        "a known failure with chance need not occur",
        code == 0 and not report["problems"],
        report["problems"],
    )
    code, report, _ = run(f"{TRAINER} next-scale", "--known", path, "--cases", "1")
    check(
        "a known failure with chance does not excuse another failure of its case",
        code == 1 and "fails as STEP-6" in report["problems"][0],
        report["problems"],
    )


def other_forms(folder, accepted):
    elsewhere = {**accepted, "clause": "RED-2", "kind": "ratio", "needs": []}
    verdicts = []
    for also in ([], ["SCALE-4 scale"], ["SCALE-3 scale"]):
        path = write_known(folder, "also.json", {**elsewhere, "also": also})
        _, report, _ = run(f"{TRAINER} lazy-scale", "--known", path, "--cases", "1")
        verdicts.append(all_known(report) and not report["problems"])
    check(
        '"also" lists further forms of a known failure', verdicts == [False, True, False], verdicts
    )


def all_known(report):
    return bool(report["causes"]) and all(c["known"] for c in report["causes"])


def test_symptom():
    _, report, _ = run(f"{TRAINER} no-mean", "--cases", "40")
    ratio = next(c for c in report["causes"] if c["kind"] == "ratio")
    words = ratio["findings"][0]["detail"]["symptom"]
    entry = {"clause": "RED-2", "kind": "ratio", "needs": []}
    entry["recipe"] = ratio["recipe"]
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        for symptom in (words, ["1/ep"]):
            path = write_known(folder, "ratio.json", {**entry, "symptom": symptom})
            _, report, _ = run(f"{TRAINER} no-mean", "--known", path, "--cases", "1")
            verdicts.append(not any("listed" in p for p in report["problems"]))
    check(
        "a known failure must have the listed symptom",
        verdicts == [True, False],
        (words, verdicts, report["problems"]),
    )


# A fault that fails in two ways: clause, kind and recipe of its known failure, its symptom, and the
# fault that it also has.
TWO_WAYS = {
    "two-misses": (
        "RED-3",
        "missing",
        "M=2,dp=1,optim=sgd,list=2@0.0",
        "earlier micro-batches",
        "local",
    ),
    "two-norms": (
        "STAT-4",
        "norm",
        "dp=1,tp=2,M=1,optim=sgd,list=3@0.0+2@0.0",
        "too large",
        "norm-local",
    ),
}


def test_alike():
    """A new bug with the clause, kind and conditions of a known one is separated by its symptom,
    also after it was shrunk."""
    for fault, (clause, kind, recipe, word, other) in TWO_WAYS.items():
        entry = {"clause": clause, "kind": kind, "needs": [], "recipe": recipe}
        verdicts = []
        for symptom in ([word], [word + " + another word", word], None, [word + " + another word"]):
            found, errors = known_and_new(
                fault, {**entry, "symptom": symptom} if symptom else entry
            )
            verdicts.append(found)
        check(
            f"the known failure {fault} does not cover {other}, unless its entry has no symptom",
            verdicts == [(True, True), (True, True), (True, False), (False, True)],
            errors or verdicts,
        )


def known_and_new(fault, entry):
    """((a known failure, a new one) of the entry's clause and kind is reported, standard error)."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_known(folder, "alike.json", entry)
        _, report, errors = run(f"{TRAINER} {fault}", "--known", path, "--cases", "60")
    kind = entry["clause"], entry["kind"]
    causes = report["causes"] if report else []
    known = [c["known"] for c in causes if (c["clause"], c["kind"]) == kind]
    return (any(known), not all(known)), errors


sys.exit(
    main(
        test_reproduce,
        test_support,
        test_refused,
        test_refused_at_random,
        test_started,
        test_known,
        test_hidden,
        test_broad,
        test_accept,
        test_symptom,
        test_alike,
    )
)
