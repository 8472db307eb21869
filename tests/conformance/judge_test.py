"""The suite's own test: subjects that lie are seen through, and told why. Prints ok / not ok lines.

Each row: what the adapter does, how the run ends, and the verdict that must be among the causes."""
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "conformance", "judge"))

import adapter  # noqa: E402
import axes  # noqa: E402
import ledger  # noqa: E402
import report as reports  # noqa: E402
import shrink  # noqa: E402
from decode import multiplicities  # noqa: E402
from recipe import features, recipe_of  # noqa: E402
from run import judge, message_words  # noqa: E402
from tools import Tools  # noqa: E402

COMMAND = os.environ["ZEROPROOF"]
TRAINER = f"{sys.executable} {ROOT}/conformance/adapters/selftest/trainer.py"
failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print(f"{'ok' if good else 'not ok'} {name}{'' if good else ' # ' + str(why)[:600]}", flush=True)


def run(adapter, *more, deadline=20):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([COMMAND, "check", "--adapter", adapter, "--json", "--shrink", "1", "--out", folder,
                               "--deadline", str(deadline), "--jobs", "2", *more], capture_output=True, text=True,
                              timeout=300)
        try:
            report = json.loads(done.stdout)
        except ValueError:
            return done.returncode, None, done.stderr
        report["files"] = {n: open(os.path.join(folder, n), encoding="utf-8").read() for n in os.listdir(folder)}
        return done.returncode, report, done.stderr


# What it does -> (clause, start of the kind) that some cause must have; None: an error of the run.
LIARS = {
    "null": ("RUN-2", "malformed answer"), "echo": ("RED-3", "missing"), "garbage": ("RUN-2", "malformed answer"),
    "crash": ("RUN-1", "error: the adapter's process ended"),
    "no-ledger": ("LEDG-6", "empty ledger"), "silent": None, "empty": None, "refuses": None, "constant-ledger": None,
    "empty-ledger": ("LEDG-6", "empty ledger"), "small-ledger": ("LEDG-6", "too little"),
    "lonely-ledger": ("LEDG-6", "too little"), "uneven-ledger": ("LEDG-2", "ledgers differ"),
    "ungathered": ("LEDG-6", "ungathered"),
    "local": ("RED-3", "missing"), "last-only": ("RED-3", "missing"), "no-mean": ("RED-2", "ratio"),
    "next-scale": ("STEP-6", "unscaled by the next scale"), "unused-stale": ("STEP-4", "stale"),
    "unused-still": ("OPT-4", "update"),
    "norm-local": ("STAT-4", "norm"), "norm-replicas": ("STAT-4", "norm"), "shifted": ("PART-6", "moved"),
    "one-rate": ("OPT-4", "learning rate of another group"), "steps-anyway": ("STEP-6", "skip"),
    "backwards-last": ("RED-3", "missing"),
    "lazy-scale": ("SCALE-4", "scale"), "no-clip": ("OPT-2", "clip"), "frozen-moves": ("PART-1", "frozen"),
    "others-masters": ("RED-2", "garbled"), "skipped-masters": ("STEP-6", "changed by a skipped step"),
}
ALONE = {"others-masters", "skipped-masters"}  # whose parameters are right



RARE = {"unused-stale", "unused-still", "constant-ledger"}  # shown by few cases


def test_liars():
    for lie, verdict in LIARS.items():
        code, report, errors = run(f"{TRAINER} {lie}", "--cases", "400" if lie in RARE else "120")
        if report is None:
            check(f"{lie} is told", False, errors)
        elif verdict is None:
            check(f"{lie} is an error of the run", code == 1 and report["problems"], report["problems"])
        else:
            seen = [(c["clause"], c["kind"], c["findings"][0].get("detail", {}).get("symptom", [])) for c in report["causes"]]
            good = any(c == verdict[0] and k.startswith(verdict[1]) and
                       (lie not in ALONE or "masters alone" in words) for c, k, words in seen)
            check(f"{lie} is {verdict[0]} {verdict[1]}", code == 1 and good, seen)
        if lie == "empty":
            check("who returns nothing passes nothing", report["cases"]["pass"] == 0 and not any(
                n[0] for n in report["clauses"].values()), report["clauses"])
        if lie == "null":
            check("the null adapter passes nothing", report["cases"]["pass"] == 0, report["cases"])


def test_cheats():
    """Of what is not handed over nothing is passed; who declares nothing, or hides a level's evidence, is refused."""
    for lie, says in (("nothing", 'must name "zero"'), ("unrecorded", '"returns" must name "ledger"')):
        code, report, errors = run(f"{TRAINER} {lie}", "--cases", "5")
        check(f"{lie} is refused", code == 2 and report is None and says in errors, errors)
    for more, lie in ((("--level", "1"), "honest"), ((), "no-ledger"), ((), "lonely-ledger")):
        _, report, errors = run(f"{TRAINER} {lie}", "--cases", "30", *more)
        passed = {clause for clause, (good, _, _) in report["clauses"].items() if good}
        check(f"without ledgers no LEDG is passed ({lie})", "RED-2" in passed and not passed & {"LEDG-2", "LEDG-3", "LEDG-6", "LEDG-7"},
              errors or report["clauses"])


def test_honest():
    code, report, errors = run(f"{TRAINER} honest", "--cases", "60")
    # it computes with fractions, by its own code: so the oracle is right, too
    check("an honest trainer in exact arithmetic passes", code == 0 and report["cases"]["pass"] == 60, errors or report["causes"])
    good, _, other = report["clauses"]["PART-6"]
    check("masters that are whole on every rank say nothing of who owns what", good == 0 and other > 0, report["clauses"])
    code, report, errors = run(f"{TRAINER} backwards", "--cases", "60")
    several = sum("backwards=2" in r["recipe"] for r in report["results"]) if report else 0
    check("an honest one passes with several backwards", code == 0 and report["cases"]["pass"] == 60 and several > 10,
          (errors, several))
    code, report, errors = run(f"{TRAINER} tacit", "--cases", "60")
    judged = {clause for clause, (good, _, _) in report["clauses"].items() if good}
    tacit = {"STAT-2", "STAT-3", "STAT-4", "STEP-6", "SCALE-3", "SCALE-4"}
    check("what is null is not judged, the rest is", code == 0 and not judged & tacit and {"RED-2", "OPT-4"} <= judged
          and tacit <= set(report["clauses"]) | {"SCALE-3"}, errors or report["clauses"])


def test_hang():
    code, report, _ = run(f"{TRAINER} hang", "--cases", "2", "--only", "LEDG-2", deadline=60)
    cause = report["causes"][0] if report["causes"] else {}
    check("a hang is LEDG-7", code == 1 and cause.get("clause") == "LEDG-7" and "rank 0 waits" in cause["text"], cause)
    slowest = max(r["seconds"] for r in report["results"] if r["status"] == "fail")
    check("a hang is recognised from the ledgers, long before the deadline", slowest < 10, slowest)
    quiet = min(c["answer"]["quiet"] for c in report["causes"])
    check("a hang is recognised within a second after progress stops", quiet < 1, quiet)
    code, report, _ = run(f"{TRAINER} stuck", "--cases", "1", "--only", "LEDG-2", deadline=60)
    kinds = {f["kind"] for r in report["results"] for f in r["findings"]}
    check("ranks that disagree inside asynchronous calls are not waited for", code == 1 and any(
        k.startswith("ledgers differ") for k in kinds)
          and report["results"][0]["seconds"] < 20, (kinds, report["results"][0]["seconds"]))
    code, report, _ = run(f"{TRAINER} sleep", "--cases", "1", "--only", "LEDG-2", deadline=2)
    check("silence meets the deadline", code == 1 and report["causes"][0]["kind"].startswith("timeout"), report["causes"])


def test_ref():
    code, report, errors = run(f"{COMMAND} adapter", "--cases", "300", "--seed", str(random.randrange(1 << 30)))
    check("ref passes", code == 0 and report["cases"]["fail"] == 0, errors or report["causes"])
    needed = {"RED-2", "RED-3", "RED-6", "STEP-4", "STEP-6", "STEP-7", "STEP-8", "STAT-2", "STAT-3", "SCALE-3", "SCALE-4",
              "OPT-2", "LEDG-2", "LEDG-6", "LEDG-7", "PIPE-3", "PIPE-6", "TIE-1", "TIE-2", "TOPO-3", "PART-1", "PART-6"}
    check("each clause of the suite is judged", needed <= {c for c, n in report["clauses"].items() if n[0]},
          needed - set(report["clauses"]))
    files = report["files"]
    check("reports are written", {"report.json", "junit.xml", "report.tap", "report.html"} == set(files), list(files))
    import xml.dom.minidom
    check("JUnit is XML", xml.dom.minidom.parseString(files["junit.xml"]).documentElement.tagName == "testsuite")
    check("TAP counts", files["report.tap"].count("\nok ") == 300)
    check("the page is self-contained", "src=" not in files["report.html"] and "<link" not in files["report.html"])


def test_again():
    _, report, _ = run(f"{TRAINER} next-scale")
    recipe = report["causes"][0]["recipe"]
    code, again, _ = run(f"{TRAINER} next-scale", "--only", recipe)
    check("a minimal case fails again by its recipe", code == 1 and again["cases"] == {"pass": 0, "fail": 1, "unsupported": 0})
    check("a minimal case is small", len(recipe_of(recipe).entries) == 1 and recipe_of(recipe).number("dp") == 1, recipe)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        needs = report["causes"][0]["needs"]
        entry = {"clause": "STEP-6", "kind": "unscaled", "needs": needs, "note": "planted"}
        others = [{"clause": c["clause"], "kind": c["kind"], "needs": c["needs"], "note": "clipped"} for c in report["causes"][1:]]
        json.dump({"failures": [entry, *others]}, file)
        file.flush()
        code, known, _ = run(f"{TRAINER} next-scale", "--known", file.name)
        check("known failures pass", code == 0, [(c["kind"], c["known"]) for c in known["causes"]] + known["problems"])
        code, other, _ = run(f"{TRAINER} honest", "--known", file.name)
        check("a known failure that is gone is an error", code == 1 and len(other["problems"]) == 1 + len(others), other["problems"])
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        run(f"{TRAINER} honest", "--support", file.name, "--accept-support", "--cases", "1")
        code, _, _ = run(f"{TRAINER} honest", "--support", file.name, "--cases", "1")
        before = json.load(open(file.name, encoding="utf-8"))
        before["supports"]["dp"].append(8)
        with open(file.name, "w", encoding="utf-8") as out:
            json.dump(before, out)
        lost, report, _ = run(f"{TRAINER} honest", "--support", file.name, "--cases", "1")
        check("a shrinking support list is an error", code == 0 and lost == 1 and "dp 8" in report["problems"][0])


def planted(folder, name, *entries):
    """A list of known failures."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"failures": entries}, file)
    return path


def test_known():
    """What is known is looked for by its own case, however few others there are."""
    _, report, _ = run(f"{TRAINER} lazy-scale")
    cause = report["causes"][0]
    entry = {"clause": "SCALE-4", "kind": "scale", "needs": cause["needs"], "note": "planted", "issue": None}
    with tempfile.TemporaryDirectory() as folder:
        bare = planted(folder, "bare.json", entry)
        code, report, _ = run(f"{TRAINER} lazy-scale", "--known", bare, "--accept-known")
        with open(bare, encoding="utf-8") as file:
            accepted = json.load(file)["failures"][0]
        check("the minimal case of what is known is written down", code == 0 and accepted.get("recipe"), accepted)
        code, report, _ = run(f"{TRAINER} lazy-scale", "--known", bare, "--cases", "1")
        cause = report["causes"][0]
        check("what is known is seen without a case of the run", code == 0 and cause["known"] and not cause["cases"], cause)
        check("a known failure is no failure to JUnit and TAP", ' failures="0" skipped="1"' in report["files"]["junit.xml"]
              and "# TODO known" in report["files"]["report.tap"], report["files"]["report.tap"])
        code, report, _ = run(f"{TRAINER} honest", "--known", bare, "--cases", "1")
        check("what is mended must leave the list", code == 1 and "passes; if it is mended" in report["problems"][0], report["problems"])
        rare = planted(folder, "rare.json", {**accepted, "chance": True})
        code, report, _ = run(f"{TRAINER} honest", "--known", rare, "--cases", "1")
        check("what shows by chance need not show", code == 0 and not report["problems"], report["problems"])
        other = {**accepted, "clause": "STEP-6", "kind": "", "symptom": None}
        code, report, _ = run(f"{TRAINER} next-scale", "--known", rare, "--cases", "1")
        check("nor may something else be it", code == 1 and "fails as STEP-6" in report["problems"][0], report["problems"])
        both = planted(folder, "both.json", {**accepted, "chance": True}, {**other, "chance": True})
        code, report, _ = run(f"{TRAINER} next-scale", "--known", both, "--cases", "1")
        check("but another of its kinds", report["causes"] and all(c["known"] for c in report["causes"]) and
              not report["problems"], report["problems"])
        code, report, _ = run(f"{TRAINER} next-scale", "--known", bare, "--cases", "1")
        check("what fails otherwise is not what is known", code == 1 and "fails as STEP-6" in report["problems"][0], report["problems"])
        _, report, _ = run(f"{TRAINER} no-mean", "--cases", "40")
        ratio = next(c for c in report["causes"] if c["kind"] == "ratio")
        entry_of = {"clause": "RED-2", "kind": "ratio", "needs": [], "note": "planted", "recipe": ratio["recipe"]}
        says = ratio["findings"][0]["detail"]["symptom"]
        verdicts = []
        for symptom in (says, ["1/ep"]):
            name = planted(folder, "ratio.json", {**entry_of, "symptom": symptom})
            _, report, _ = run(f"{TRAINER} no-mean", "--known", name, "--cases", "1")
            verdicts.append(not any("planted" in p for p in report["problems"]))
        check("what is known is known by its symptom, too", verdicts == [True, False], (says, verdicts, report["problems"]))
        test_alike(folder)
        elsewhere = {**accepted, "clause": "RED-2", "kind": "ratio", "needs": []}
        verdicts = []
        for also in ([], ["SCALE-4 scale"], ["SCALE-3 scale"]):
            name = planted(folder, "also.json", {**elsewhere, "also": also})
            _, report, _ = run(f"{TRAINER} lazy-scale", "--known", name, "--cases", "1")
            verdicts.append(bool(report["causes"]) and all(c["known"] for c in report["causes"]) and not report["problems"])
        check("what is known may also show otherwise, as its list says", verdicts == [False, True, False], verdicts)
        other = planted(folder, "other.json", {**entry, "needs": ["tp"], "recipe": accepted["recipe"]})
        code, report, _ = run(f"{TRAINER} lazy-scale", "--known", other, "--cases", "400")
        check("what does not need what is known is new", code == 1 and any(not c["known"] for c in report["causes"]),
              [(c["needs"], c["known"]) for c in report["causes"]])


def test_alike(folder):
    """A new bug is not taken for a known one that has its clause and kind, and needs no more of a case: it is told
    by its symptom. Nor is it when it was made smaller."""
    rows = {"two-misses": ("RED-3", "missing", "M=2,dp=1,optim=sgd,list=2@0.0", "earlier micro-batches", "local"),
            "two-norms": ("STAT-4", "norm", "dp=1,tp=2,M=1,optim=sgd,list=3@0.0+2@0.0", "too large", "norm-local")}
    for lie, (clause, kind, recipe, word, other) in rows.items():
        verdicts = []
        for symptom in ([word], [word + " + another word", word], None, [word + " + another word"]):
            entry = {"clause": clause, "kind": kind, "needs": [], "note": "planted", "recipe": recipe}
            name = planted(folder, "alike.json", {**entry, **({"symptom": symptom} if symptom else {})})
            _, report, errors = run(f"{TRAINER} {lie}", "--known", name, "--cases", "60")
            mine = [c for c in (report or {"causes": []})["causes"] if (c["clause"], c["kind"]) == (clause, kind)]
            verdicts.append((any(c["known"] for c in mine), any(not c["known"] for c in mine)))
        check(f"{other} is not taken for what is known of {lie}, but where its list says no symptom",
              verdicts == [(True, True), (True, True), (True, False), (False, True)], errors or verdicts)


def test_quick():
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "quick.json")
        run(f"{TRAINER} honest", "--quick", name, "--accept-quick")
        with open(name, encoding="utf-8") as file:
            chosen = json.load(file)["cases"]
        _, whole, _ = run(f"{TRAINER} honest")
        code, report, errors = run(f"{TRAINER} honest", "--quick", name)
        check("a selection is small", len(chosen) < len(whole["results"]) / 2, (len(chosen), len(whole["results"])))
        check("a selection has every clause of the covering array",
              code == 0 and set(report["clauses"]) == set(whole["clauses"]), errors or report["clauses"])
        check("all of the selection is run", [r["origin"] for r in report["results"]] == ["selected"] * len(chosen))
        with open(name, "w", encoding="utf-8") as file:
            json.dump({"cases": ["dp=2,optim=sgd,list=3@0.0"]}, file)
        code, report, _ = run(f"{TRAINER} next-scale", "--quick", name, "--fresh", "150")
        check("what only a fresh case finds is told, and no error", code == 0 and report["causes"]
              and all(c["fresh"] for c in report["causes"]), report["causes"])
        check("nor is it one to JUnit and TAP", ' failures="0"' in report["files"]["junit.xml"] and
              "# TODO new, in a fresh case" in report["files"]["report.tap"], report["files"]["report.tap"])
        code, report, _ = run(f"{TRAINER} no-mean", "--quick", name, "--fresh", "5")
        check("what a case of the selection finds is an error", code == 1 and
              any(not c["fresh"] for c in report["causes"]), [(c["kind"], c["cases"]) for c in report["causes"]])
        with open(name, "w", encoding="utf-8") as file:
            json.dump({"cases": ["nonsense=1"]}, file)
        code, report, errors = run(f"{TRAINER} honest", "--quick", name)
        check("a selection that makes no case is refused", code == 2 and "nonsense" in errors, errors)
        with open(name, "w", encoding="utf-8") as file:
            file.write("no JSON")
        code, report, errors = run(f"{TRAINER} honest", "--quick", name)
        check("a selection that is no JSON is refused", code == 2 and "cannot be read" in errors, errors)


def listed(*more):
    done = subprocess.run([COMMAND, "check", "--adapter", f"{TRAINER} honest", "--list", *more], capture_output=True,
                          text=True, timeout=60)
    return done.returncode, [line.split(None, 2) for line in done.stdout.splitlines()]


def test_options():
    code, cases = listed("--cases", "7")
    check("--list prints id, families, recipe", code == 0 and len(cases) == 7 and all("list=" in c[2] for c in cases), cases)
    check("--seed chooses other cases", listed("--cases", "7", "--seed", "2")[1] != cases and
          listed("--cases", "7")[1] == cases)
    code, report, _ = run(f"{TRAINER} honest", "--only", "SCALE-4", "--cases", "5")
    check("--only takes a clause", code == 0 and len(report["results"]) == 5 and
          all("SCALE-4" in r["clauses"] for r in report["results"]), report["results"])
    check("--only takes a family", all("OV" in c[1].split(",") for c in listed("--only", "OV", "--cases", "3")[1]))
    code, report, _ = run(f"{TRAINER} empty-ledger", "--level", "1", "--cases", "9")
    check("--level 1 looks at no ledger", code == 0 and report["clauses"]["LEDG-2"][0] == 0, report["clauses"])
    code, _, errors = run(f"{TRAINER} honest", "--level", "3")
    check("a level that the subject does not have is refused", code == 2 and "of level 2, not 3" in errors, errors)
    with tempfile.TemporaryDirectory() as folder:
        lists = {"no-json": "{", "no-object": "[]", "no-entry": '{"failures": [1]}', "deep": "[" * 100000}
        for name, text in lists.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        for name in [*lists, "not-there"]:
            for option in ("--known", "--support"):
                code, _, errors = run(f"{TRAINER} honest", option, os.path.join(folder, name), "--cases", "3")
                check(f"{option} {name} is refused, and named", code == 2 and option in errors and name in errors, errors)
    for more, says in ((("--cases", "0"), "--cases"), (("--log", "/dev/null/l"), "--log /dev/null/l cannot be written")):
        code, _, errors = run(f"{TRAINER} honest", *more)
        check(f"{' '.join(more)} is told", code in (2, 3) and says in errors, errors)
    code, _, errors = run("")
    check("an empty command is refused", code == 2 and "no command" in errors, errors)
    code, report, _ = run(f"{TRAINER} honest", "--seconds", "8")
    check("--seconds goes on with random cases, and ends", code == 0 and 7 < report["seconds"] < 20 and report["whole"]
          and report["results"][-1]["origin"] == "random", report["seconds"])
    main, theirs = os.openpty()
    done = subprocess.run([COMMAND, "check", "--adapter", f"{TRAINER} one-rate", "--cases", "40", "--shrink", "1"],
                          stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=60)
    os.close(theirs)
    shown = os.read(main, 1 << 20).decode()
    os.close(main)
    check("a person sees a bar", "[#" in shown and "passed" in shown, shown)
    check("a person sees a table of clauses, and causes", "clause      passed  failed" in done.stdout and "<--" in done.stdout
          and "again: zeroproof check --adapter … --only '" in done.stdout, done.stdout)


def named(report, version, folder):
    """A report under another version."""
    path = os.path.join(folder, f"{version}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**report, "subject": {"name": "selftest", "version": version}}, file)
    return path


def test_results():
    old, new = (run(f"{TRAINER} {lie}")[1] for lie in ("next-scale", "no-mean"))
    mutants = {"seed": 5, "mutants": [
        {"mutant": "forgets", "engine": "ref", "clause": "RED-3", "by": "suite", "also": ["STEP-7"], "recipe": "dp=2,list=1@0.0",
         "row": None},
        {"mutant": "dies", "engine": "ref", "clause": "RUN-1", "by": "subject", "recipe": "dp=2,list=2@0.0", "row": None},
        {"mutant": "hides", "engine": "cuda", "clause": None, "by": None, "row": None}]}
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "mutants.json"), "w", encoding="utf-8") as file:
            json.dump(mutants, file)
        done = subprocess.run(
            [sys.executable, "-B", f"{ROOT}/conformance/judge/results.py", "--out", folder, "--commit", "abc", "--mutants",
             f"{folder}/mutants.json", named(new, "1.10", folder), named(old, "1.9", folder)], capture_output=True, text=True)
        check("results are made", done.returncode == 0, done.stderr)
        text, page = (open(os.path.join(folder, n), encoding="utf-8").read() for n in ("RESULTS.md", "index.html"))
    check("versions are in order", "| clause | selftest 1.9 | selftest 1.10 |" in text, text)
    row = next((r for r in text.splitlines() if r.startswith("| selftest 1.9 → selftest 1.10")), "").split(" | ")
    check("what is gone and what is new", len(row) == 4 and "unscaled" in row[1] and "ratio" in row[2] and row[3] == "– |", row)
    minimal = [c["recipe"] for c in old["causes"] + new["causes"]]
    check("each failure has its minimal case", all(f"`{r}`" in text for r in minimal) and all(r in page for r in minimal))
    check("the page has a part per failure", page.count('<section class="failure"') == len(minimal))
    check("each part has decoded contributions and ledgers", "Decoded contributions" in page and "ledgers" in page and
          "Related historic bugs" in page and "what was expected, what came" in page)
    check("the page needs nothing else", not any(w in page for w in ("src=", "<link", "<script", "@import", "url(")))
    check("mutants are told", "2 of 3 mutants were caught" in text and "RED-3, STEP-7" in text and "**nothing**" in text and
          "hides" in page)
    check("who told is told", "1 of them raised an error" in text and "| RUN-1, told by the subject itself |" in text and
          "RUN-1, told by the subject itself" in page)


def test_ledgers():
    def op(kind, **more):
        return {"op": kind, "dtype": "fp32", "count": 4, **more}

    both = op("all_reduce", redop="sum", group=[0, 1])
    check("equal ledgers match", ledger.mismatches([[both], [both]]) == [])
    check("a skipped collective is found", ledger.mismatches([[both, both], [both]])[0]["index"] == 1)
    check("another count is found", ledger.mismatches([[both], [{**both, "count": 5}]])[0]["index"] == 0)
    check("another op is found", ledger.mismatches([[both], [{**both, "op": "reduce"}]])[0]["index"] == 0)
    send, recv = op("send", peer=1), op("recv", peer=0)
    check("sends match receives", ledger.mismatches([[send], [recv]]) == [])
    check("a message of another dtype is found", ledger.mismatches([[send], [{**recv, "dtype": "bf16"}]]) != [])
    check("a rank on its way is no hang", not ledger.is_hung([[both], []])[0])
    check("crossed collectives are a hang", ledger.is_hung([[both], [op("recv", peer=0)]])[0])
    later = {**both, "async": True}
    check("an asynchronous call is no hang", not ledger.is_hung([[later], [op("recv", peer=0)]])[0])
    check("waiting for it is", ledger.is_hung([[later, {"wait": 0}], [op("recv", peer=0)]])[0])
    check("a silent wait is one, once nothing moves", ledger.is_hung([[later], [op("recv", peer=0)]], silent=True)[0])
    check("a message that is sent waits for nobody", not ledger.is_hung([[{**send, "async": True}], [both]], silent=True)[0])
    group = [op("send", peer=1, batch=1), op("recv", peer=1, batch=1)]
    other = [op("send", peer=0, batch=1), op("recv", peer=0, batch=1)]
    check("members that enter different things disagree", ledger.disagree([[later], [{**later, "count": 5}]]))
    check("a member that is behind does not", not ledger.disagree([[later, later], [later]]))
    check("a grouped exchange is no hang", not ledger.is_hung([group, other])[0])
    check("a ledger that grows while it is read is read once", growing())
    test_words(both, send)
    check("ranks that ended do not hang", not ledger.is_hung([[both, {"end": True}], [both, {"end": True}]])[0])


def test_words(both, send):
    """What is wrong with a ledger, in words by which known failures are told."""
    entry = {"stage": 0, "expert": False, "tied": None, "numel": 3}
    case = {"world": 2, "topology": {"dp": 2, "pp": 1, "tp": 1}, "parameters": [entry, entry], "steps": 1, "data": [[[[1], [1]]]]}
    one = {**both, "count": 1}
    for name, ledgers, words, lone in (("all", [[both, both]] * 2, None, False),
                                       ("one of two", [[both]] * 2, ["ranks agree"], False),
                                       ("a rank two, a rank one", [[both, both], [both]], ["ranks differ"], False),
                                       ("its statistics", [[one, one]] * 2, ["ranks agree"], True),
                                       ("nothing", [[]] * 2, ["never"], True)):
        lacks = ledger.too_little(case, ledgers)
        check(f"of two buckets {name}: {words or 'enough'}, statistics alone: {lone}",
              (lacks[1] if lacks else None, ledger.lone(case, ledgers)) == (words, lone), lacks)
    pipe = {"world": 2, "topology": {"dp": 1, "pp": 2, "tp": 1}}
    for members, other, words in (((0, 1), {"dtype": "bf16"}, ["activation", "dtype"]),
                                  ((1, 0), {"count": 5}, ["gradient", "count"]),
                                  ((0, 1), {"dtype": "bf16", "count": 5}, ["activation", "dtype", "count"])):
        found = message_words(pipe, {"members": members}, [send, {**send, **other}])
        check(f"a message that differs: {', '.join(words)}", found == words, found)


def test_besides():
    """Of a case that died: what a rank has entered that another, which is through, never will."""
    one = {"op": "all_reduce", "redop": "sum", "dtype": "fp32", "count": 4, "group": [0, 1, 2]}
    end, case = {"end": True}, {"world": 3, "clauses": ["LEDG-2"], "parameters": [], "data": []}
    for name, ledgers, right in (
            ("others ended", [[one, end], [one, one], [one, end]], ["RUN-1", "LEDG-2"]),
            ("one ended, one is on its way", [[one], [one, one], [one, end]], ["RUN-1", "LEDG-2"]),
            ("others were stopped", [[one], [one, one], [one]], ["RUN-1"]),
            ("all ended alike", [[one, end]] * 3, ["RUN-1"]),
            ("records differ", [[one, end], [{**one, "count": 5}, end], [one, end]], ["LEDG-2", "RUN-1"])):
        for status, mine in (("error", right), ("died", right), ("hang", [c.replace("RUN-1", "LEDG-7") for c in right])):
            found, judged = judge(case, None, {"status": status, "message": "x"}, ledgers, {"ledger"}, 2)
            check(f"a case ends as {status}, {name}: {', '.join(mine)}", [f.clause for f in found] == mine and judged == {"LEDG-2"}, found)


def test_related():
    with open(os.path.join(ROOT, "conformance/judge/corpus.json"), encoding="utf-8") as file:
        corpus = json.load(file)
    for clause in axes.CLAUSES + ["RUN-1", "RUN-2"]:
        rows, families = reports.related(corpus, clause), set(reports.FAMILIES.get(clause, []))
        mine = [clause in r["clauses"] or bool(families & set(r["families"])) for r in rows]
        check(f"bugs that are related to {clause} are of it, or of its families", all(mine) and (rows or not families), rows)
        check(f"{clause}: its families are asked where no row is of it", not families or not any(clause in r["clauses"] for r in rows))
    for clause in ("RUN-1", "RUN-2"):
        check(f"what says no more than {clause} is like no bug", reports.related(corpus, clause) == [])
    made = {"results": [{"status": "pass", "id": "c1", "recipe": "dp=2 x=a\nnot ok 9 #SKIP", "known": False, "fresh": False,
                         "findings": []}], "problems": ["one\nok 3 - two # TODO no"]}
    check("TAP has a line per case", reports.tap(made).splitlines()[2:] == [
        "ok 1 - c1 dp=2 x=a not ok 9 \\#SKIP", "not ok 2 - one ok 3 - two \\# TODO no"], reports.tap(made))


def test_worlds():
    """What is shrunk stays within the subject's world, other forms of it, too."""
    space = axes.Space({"supports": axes.AXES, "world": 4})
    shrinker = shrink.Shrinker(unittest.mock.Mock(), space, 1)
    asked = [c for c in shrink.others(recipe_of("pp=2,dp=2,M=1,optim=sgd,list=3@0.0+2@1.0")) if shrinker.supported(c)]
    sizes = {c.number("dp") * c.number("pp") * c.number("tp") for c in asked}
    check("other forms of a case are within the world", asked and max(sizes) <= 4, sizes)


def growing():
    """A record that is appended between asking for the size and reading comes once."""
    with tempfile.TemporaryDirectory() as folder:
        name, line = os.path.join(folder, "rank-0.jsonl"), '{"step": 0}\n'
        ledgers = adapter.Ledgers(folder, 1)
        with open(name, "w", encoding="utf-8") as file:
            file.write(2 * line)
        with unittest.mock.patch("os.path.getsize", return_value=len(line)):
            ledgers.look()
        ledgers.look()
        return len(ledgers.records[0]) == 2


def test_axes():
    space = axes.Space({"supports": axes.AXES, "without": [{"zero": 2, "pp": [2, 3]}], "options": {"overlap": [False, True]}})
    rows = axes.covering(space, random.Random(3))
    seen = set().union(*(axes.pairs_of(row) for row in rows))
    lacking = [((a, x), (b, y)) for (a, xs), (b, ys) in itertools.combinations(sorted(space.all.items()), 2)
               for x in xs for y in ys if ((a, x), (b, y)) not in seen and axes.random_row(
                   space, random.Random(1), {a: x, b: y}) is not None]
    check("every pair of values that can occur occurs", not lacking, lacking)
    check("combinations without support do not", not any(r["zero"] == 2 and r["pp"] > 1 for r in rows))
    check("the array is small", len(rows) < 130, len(rows))
    plain = {name: axes.BASE.get(name, values[0]) for name, values in space.all.items()}
    alone = {(n, v) for n, values in space.all.items() if n not in (*axes.CORE, "pp") for v in values
             if any(r[n] == v and all(r[m] == p for m, p in plain.items() if m not in (n, *axes.CORE, "pp")) for r in rows)}
    lacking = [f"{n}={v}" for n in ("micro_batches", "optimizer", "clip", "sizes", "bucket", "unused", "frozen", "option overlap")
               for v in space.all[n] if (n, v) not in alone and v != plain[n]]
    check("what breaks one value is seen where all else is plain", not lacking, lacking)
    tools, clauses, families = Tools(), set(), set()
    for number, (row, _) in enumerate(itertools.islice(axes.rows(axes.Space({"supports": axes.AXES}), 1), 200)):
        case, _ = axes.case_of_row(tools, axes.Space({"supports": axes.AXES}), row, random.Random(number))
        clauses |= set(case["clauses"] if case else [])
        families |= set(case["hunts"] if case else [])
    tools.close()
    check("--only knows every clause and family of cases, and no other", (clauses, families) == (
        set(axes.CLAUSES), set(axes.FAMILIES)), (clauses ^ set(axes.CLAUSES), families ^ set(axes.FAMILIES)))


def test_cases():
    tools = Tools()
    case, why = tools.case("precision=bf16,dp=3,M=2,steps=2,optim=momentum,list=5@0.0+3@0.1t0+3@0.1t0,unused=100")
    check("a recipe makes a case", case is not None, why)
    check("a case round-trips through its recipe", tools.case(case["recipe"])[0] == case)
    none, why = tools.case("wide=16,comm=fp32,precision=bf16,dp=5,M=3,unit=-20,optim=adamw,list=60@0.0")
    check("a case whose sums are not exact is refused", none is None and "sum" in why, why)
    none, why = tools.case("dp=2,unit=-60,optim=sgd,list=50@0.0")
    check("a case whose update rounds is refused", none is None and "update" in why, why)
    for bad in ("dp=0,list=1@0.0", "nonsense", "mode=wild,list=1@0.0", "wide=99,list=1@0.0", "steps=0,list=1@0.0"):
        check(f"'{bad}' is refused", tools.case(bad)[0] is None)
    parts = [(axes_fraction(4 ** i), i) for i in range(4)]
    check("contributions are told by their sum", list(multiplicities(parts, axes_fraction(1 + 2 * 16 + 64)).values()) == [1, 0, 2, 1])
    found = features(recipe_of("precision=bf16,pp=2,dp=2,M=1,list=5@0.0+5@0.1+4@1.0 overlap=true"))
    check("features of a case", {"dp", "pp", "unequal K", "bf16", "overlap=True"} <= found, found)
    test_schemas(case, tools.expected(case))
    tools.close()


def test_refusals():
    """What the command line asks for and makes no case, is too much, or is no case at all."""
    for recipe in ("BAD", "list=", "dp=8,M=4,steps=4,list=1000000@0.0", "M=1000000,list=1@0.0"):
        done = subprocess.run([COMMAND, "cases", recipe], capture_output=True, text=True, timeout=20)
        check(f"zeroproof cases '{recipe}' is refused", done.returncode == 2 and recipe in done.stderr, done)
    done = subprocess.run([COMMAND, "oracle"], input="no JSON\n", capture_output=True, text=True, timeout=20)
    check("zeroproof oracle refuses what is no case", done.returncode == 2 and "refused" in done.stdout, done)


def axes_fraction(n):
    from fractions import Fraction
    return Fraction(n)


def test_schemas(case, expected):
    try:
        import jsonschema
    except ImportError:
        print("not run: schemas (no python3-jsonschema)")
        return
    schema = {n[:-5]: json.load(open(os.path.join(ROOT, "conformance/schema", n), encoding="utf-8"))
              for n in os.listdir(os.path.join(ROOT, "conformance/schema"))}
    code, report, _ = run(f"{COMMAND} adapter", "--cases", "3")
    for name, value in (("case", case), ("expected", expected), ("report", {k: v for k, v in report.items() if k != "files"})):
        errors = [e.message for e in jsonschema.Draft202012Validator(schema[name]).iter_errors(value)]
        check(f"a {name} is what its schema says", code == 0 and not errors, errors)


def main():
    for name in sys.argv[1:] or ["cases", "refusals", "axes", "ledgers", "besides", "related", "worlds", "cheats", "ref", "honest",
                                 "again", "known", "quick", "options", "results", "hang", "liars"]:
        globals()[f"test_{name}"]()
    return 1 if failed else 0


sys.exit(main())
