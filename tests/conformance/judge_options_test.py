"""Tests the judge's options, selections of cases, and the pages of results."""

import html
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from selftest import COMMAND, ROOT, TRAINER, check, judged, main, run, text_of


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def test_quick():
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "quick.json")
        run(f"{TRAINER} correct", "--quick", name, "--accept-quick")
        chosen = json.loads(text_of(folder, "quick.json"))["cases"]
        _, whole, _ = run(f"{TRAINER} correct")
        code, report, errors = run(f"{TRAINER} correct", "--quick", name)
        check(
            "a selection is small",
            len(chosen) < len(whole["results"]) / 2,
            (len(chosen), len(whole["results"])),
        )
        check(
            "a selection has every clause of the covering array",
            code == 0 and set(report["clauses"]) == set(whole["clauses"]),
            errors or report["clauses"],
        )
        check(
            "--quick runs the whole selection",
            [r["origin"] for r in report["results"]] == ["selected"] * len(chosen),
        )
        write_text(name, '{"cases": ["dp=2,optim=sgd,list=3@0.0"]}')
        code, report, _ = run(f"{TRAINER} next-scale", "--quick", name, "--fresh", "150")
        check(
            "a failure that only a fresh case shows is reported but does not fail the run",
            code == 0 and report["causes"] and all(c["fresh"] for c in report["causes"]),
            report["causes"],
        )
        check(
            "JUnit and TAP do not count it as failed",
            ' failures="0"' in report["files"]["junit.xml"]
            and "# TODO new, in a fresh case" in report["files"]["report.tap"],
            report["files"]["report.tap"],
        )
        code, report, _ = run(f"{TRAINER} no-mean", "--quick", name, "--fresh", "5")
        check(
            "a failure in a case of the selection fails the run",
            code == 1 and any(not c["fresh"] for c in report["causes"]),
            [(c["kind"], c["cases"]) for c in report["causes"]],
        )
        write_text(name, '{"cases": ["nonsense=1"]}')
        code, report, errors = run(f"{TRAINER} correct", "--quick", name)
        check(
            "a selection with an invalid recipe is refused",
            code == 2 and "nonsense" in errors,
            errors,
        )
        write_text(name, "no JSON")
        code, report, errors = run(f"{TRAINER} correct", "--quick", name)
        check(
            "a selection that is not JSON is refused", code == 2 and "cannot read" in errors, errors
        )


def listed(*more):
    done = subprocess.run(
        [COMMAND, "check", "--adapter", f"{TRAINER} correct", "--list", *more],
        capture_output=True,
        text=True,
    )
    return done.returncode, [line.split(None, 2) for line in done.stdout.splitlines()]


def test_quick_without_refused():
    """--accept-quick leaves out what the report in --out has as refused."""
    with tempfile.TemporaryDirectory() as folder:
        name, report = os.path.join(folder, "quick.json"), os.path.join(folder, "report.json")
        more = ("--out", folder, "--quick", name, "--accept-quick")
        run(f"{TRAINER} refuses-dp", *more)
        chosen = json.loads(text_of(folder, "quick.json"))["cases"]
        run(f"{TRAINER} refuses-dp", "--out", folder)
        run(f"{TRAINER} refuses-dp", *more)
        left = json.loads(text_of(folder, "quick.json"))["cases"]
        check(
            "a selection has no case that a run refused",
            any("dp=3," in c for c in chosen) and left and not any("dp=3," in c for c in left),
            left,
        )
        found = json.loads(text_of(folder, "report.json"))
        found["subject"]["version"] = "0.0"
        write_text(report, json.dumps(found))
        code, _, errors = run(f"{TRAINER} refuses-dp", *more)
        check("a report of another version is refused", code == 2 and "is of" in errors, errors)


def test_selecting():
    code, cases = listed("--cases", "7")
    check(
        "--list prints id, families, recipe",
        code == 0 and len(cases) == 7 and all("list=" in c[2] for c in cases),
        cases,
    )
    check(
        "--seed selects other cases",
        listed("--cases", "7", "--seed", "2")[1] != cases and listed("--cases", "7")[1] == cases,
    )
    code, report, _ = run(f"{TRAINER} correct", "--only", "SCALE-4", "--cases", "5")
    check(
        "--only takes a clause",
        code == 0
        and len(report["results"]) == 5
        and all("SCALE-4" in r["clauses"] for r in report["results"]),
        report["results"],
    )
    check(
        "--only takes a family",
        all("OV" in c[1].split(",") for c in listed("--only", "OV", "--cases", "3")[1]),
    )
    code, report, _ = run(f"{TRAINER} empty-ledger", "--level", "1", "--cases", "9")
    check(
        "--level 1 does not judge ledgers",
        code == 0 and report["clauses"]["LEDG-2"][0] == 0,
        report["clauses"],
    )
    for seconds in (8, 64, 512):  # a busy machine may need longer for the covering array
        code, report, _ = run(f"{TRAINER} correct", "--seconds", str(seconds))
        if report["results"][-1]["origin"] == "random":
            break
    check(
        "--seconds runs random cases until the time has passed",
        code == 0
        and report["seconds"] > seconds - 1
        and report["whole"]
        and report["results"][-1]["origin"] == "random",
        report["seconds"],
    )


def test_refused():
    code, _, errors = run(f"{TRAINER} correct", "--level", "3")
    check(
        "a level that the subject does not have is refused",
        code == 2 and "got 3, but selftest correct has level 2" in errors,
        errors,
    )
    lists = {
        "no-json": "{",
        "no-object": "[]",
        "no-entry": '{"failures": [1]}',
        "deep": "[" * 100000,
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in lists.items():
            write_text(os.path.join(folder, name), text)
        for name in [*lists, "not-there"]:
            for option in ("--known", "--support"):
                path = os.path.join(folder, name)
                code, _, errors = run(f"{TRAINER} correct", option, path, "--cases", "3")
                check(
                    f"{option} {name} is refused, and named",
                    code == 2 and option in errors and name in errors,
                    errors,
                )
    for more, words in (
        (("--cases", "0"), "--cases"),
        (("--log", "/dev/null/l"), "--log /dev/null/l: cannot write"),
    ):
        code, _, errors = run(f"{TRAINER} correct", *more)
        check(f"{' '.join(more)} is refused", code in (2, 3) and words in errors, errors)
    code, _, errors = run("")
    check("an empty command is refused", code == 2 and "command is empty" in errors, errors)


def test_terminal():
    main_end, end = os.openpty()
    done = subprocess.run(
        [COMMAND, "check", "--adapter", f"{TRAINER} one-rate", "--cases", "40", "--shrink", "1"],
        stdout=subprocess.PIPE,
        stderr=end,
        text=True,
    )
    os.close(end)
    shown = os.read(main_end, 1 << 20).decode()
    os.close(main_end)
    check("a terminal shows a progress bar", "[#" in shown and "passed" in shown, shown)
    check(
        "standard output has a table of clauses and the causes",
        "clause      passed  failed" in done.stdout
        and "<--" in done.stdout
        and f"reproduce: zeroproof check --adapter '{TRAINER} one-rate' --only " in done.stdout,
        done.stdout,
    )
    check(
        "a wrong learning rate is no wrong gradient, and resembles no bug of the norm",
        re.search(r"every wrong update is [^\n]*\n  reproduce: [^\n]*\n\n", done.stdout),
        done.stdout,
    )
    check(
        "standard output has the title of each clause, and the demand of a cause's",
        re.search(r"^  OPT-4 .*  <-- update$", done.stdout, re.M)
        and re.search(r"^  LEDG-7 .*[0-9] {6}no hang$", done.stdout, re.M)
        and re.search(
            r"^cause \d+: OPT-4 .*\n  OPT-4: the update of fp32 masters, .*$", done.stdout, re.M
        ),
        done.stdout,
    )
    check(
        "standard output explains 'not judged'",
        re.search(r"^  STAT-4: not judged in \d+ cases?: .*needs the `norm` of", done.stdout, re.M)
        and "\n  Other cases are not judged because another clause failed\n" in done.stdout,
        done.stdout,
    )
    one = ["--only", done.stdout.partition(" --only ")[2].split("\n")[0].strip("'"), "--brief"]
    done = judged(*one, adapter=f"{TRAINER} one-rate")
    check(
        "numbers have singular and plural",
        re.search(r": 0 cases passed, 1 failed.*; 0 known causes, 1 new cause\n", done.stdout)
        and "  1 case; all have: " in done.stdout,
        done.stdout,
    )


MUTANTS = {
    "schema": "zeroproof/mutants/2",
    "seed": 5,
    "mutants": [
        {
            "mutant": "forgets",
            "cases": 3,
            "engine": "ref",
            "clause": "RED-3",
            "by": "suite",
            "also": ["STEP-7"],
            "recipe": "dp=2,list=1@0.0",
            "row": None,
        },
        {
            "mutant": "dies",
            "cases": 3,
            "engine": "ref",
            "clause": "RUN-1",
            "by": "subject",
            "recipe": "dp=2,list=2@0.0",
            "row": None,
        },
        {
            "mutant": "hides",
            "cases": 9,
            "engine": "cuda",
            "clause": None,
            "by": None,
            "row": None,
        },
    ],
}


def test_similar():
    """The historic bug with the same symptom is first."""
    for fault, bug in (
        ("pt170862", "PyTorch #170862"),  # the norm of the local shard alone
        ("ml7452", "Megatron-LM #7452"),
        ("ds2686", "DeepSpeed #2686"),
    ):
        _, report, _ = run(f"{COMMAND} adapter --fault {fault}", "--cases", "60")
        first = [c["corpus"][0]["id"] for c in report["causes"] if c["corpus"]]
        check(f"{fault}: the most similar historic bug is {bug}", bug in str(first[:1]), first)


def test_ranks_that_disagree():
    """A norm that differs between ranks is explained as such."""
    for case, end in (
        ("dp=3,pp=1,stage=2", "): each equals its own shard's norm"),
        ("dp=2,pp=2,stage=1", "): each equals its own shard's norm"),
    ):
        recipe = f"precision=fp32,M=2,bucket=64,tp=1,ep=1,steps=1,{case},list=9@0.0+4@0.0"
        recipe += "+7@1.0" if "pp=2" in case else ""
        _, report, _ = run(f"{COMMAND} adapter --fault pt170862", "--only", recipe)
        text = str(report["causes"])
        check(f"{case}: the ranks disagree", "; the ranks disagree (" in text and end in text, text)


def write_report(folder, version, report):
    """A report of another version."""
    path = os.path.join(folder, f"{version}.json")
    more = {"subject": {"name": "selftest", "version": version}, "adapter": "a b"}
    more["without"] = [{"zero": 0, "dp": [2, 3], "why": "a reason"}]
    write_text(path, json.dumps({**report, **more}))
    return path


def test_results():
    old, new = (run(f"{TRAINER} {fault}")[1] for fault in ("next-scale", "no-mean"))
    with tempfile.TemporaryDirectory() as folder:
        mutants = os.path.join(folder, "mutants.json")
        write_text(mutants, json.dumps(MUTANTS))
        argv = [sys.executable, "-B", f"{ROOT}/conformance/judge/results.py", "--out", folder]
        argv += ["--commit", "abc", "--command", "make it", "--mutants", mutants]
        random = {"whole": True, "command": "zeroproof check --seconds 9"}
        array = {"whole": True, "command": "zeroproof check"}
        argv += [write_report(folder, "1.10", {**new, **random})]
        argv += [write_report(folder, "1.9", {**old, **array})]
        done = subprocess.run(argv, capture_output=True, text=True)
        check("results are made", done.returncode == 0, done.stderr)
        text, page = text_of(folder, "RESULTS.md"), text_of(folder, "index.html")
    failures_shown(text, page, old, new)
    said = [row for row in text.splitlines() if row.endswith(" s, with random cases |")]
    check(
        "RESULTS.md says which numbers include random cases",
        len(said) == 1 and said[0].startswith("| selftest 1.10 |"),
        said,
    )
    check("a result of other subjects misses none of subjects.txt", "Without a" not in text)
    clauses_shown(text, page, new)
    mutants_shown(text, page)


def failures_shown(text, page, old, new):
    check(
        "versions are sorted by number", "| clause | selftest 1.9 | selftest 1.10 |" in text, text
    )
    rows = [row.strip("| ").split(" | ") for row in text.splitlines()]
    found = {row[0].split(" ", 1)[-1]: row[1:] for row in rows if len(row) == 5}
    check(
        "a table shows in which version a cause occurred first, and by which it was fixed",
        found.get("1.9") is None
        and found.get("unscaled by the next scale") == ["x", "–", "1.9", "1.10"]
        and found.get("ratio") == ["–", "x", "1.10", "–"],
        found,
    )
    causes = old["causes"] + new["causes"]
    commands = [f"zeroproof check --adapter 'a b' --only {c['recipe']}" for c in causes]
    check(
        "each minimal case has a command that can be pasted",
        all(f"`{c}`" in text for c in commands)
        and all(f'<pre class="again">{c}</pre>' in html.unescape(page) for c in commands),
        commands,
    )
    check(
        "the page has a part per cause, and in it one per minimal case",
        page.count('<section class="cause"') == page.count('<details class="case"') == len(causes),
    )
    check(
        "the finding of a new cause is visible, and columns that are empty are left out",
        page.count('<details class="case" open>') == len(causes) and ">issue</th>" not in page,
    )
    check(
        "names in the demands of clauses are code",
        "in each replica (axis <code>replicas</code>)" in page and "(axis `" not in page,
    )
    wrong = [i for i in re.findall(r'href="#([^"]*)"', page) if f' id="{i}"' not in page]
    check("each link within the page has its target", not wrong, wrong)
    check(
        "the page begins with the verdict, date, command and environment",
        'class="verdict bad">' in page
        and "new causes of failures" in page
        and f"Made by <code>make it</code> on {time.strftime('%Y-')}" in page
        and "Reports made on: system " in page,
    )
    check(
        "combinations that adapters leave out have their reasons",
        "| selftest 1.9, 1.10 | zero 0, dp 2 or 3 | a reason |" in text
        and '<td data-of="reason">a reason</td>' in page,
    )
    check(
        "each part has decoded contributions and ledgers",
        "Decoded contributions" in page
        and "ledgers" in page
        and "Similar historic bugs" in page
        and "Case, expected values, answer" in page,
    )
    check(
        "historic bugs lead to their issues",
        '<a href="https://github.com/deepspeedai/DeepSpeed/issues/' in page,
    )
    check(
        "the page loads no other file",
        not any(w in page for w in ("src=", "<link", "<script", "@import", "url(")),
    )


def clauses_shown(text, page, new):
    check(
        "clauses link to their demands, with a tooltip",
        'href="#clause-RED-2" title="the reduced gradient is the sum' in page
        and '[RED-2](../spec/reduce.md "the reduced gradient is the sum' in text,
    )
    check(
        "clauses have their titles",
        re.search(r"^\| \[RED-2\][^|]* mean of the contributions \|", text, re.M)
        and "**RED-2 (mean of the contributions)**" in text
        and ">RED-2</a> <span>mean of the contributions</span>" in page,
    )
    check(
        "'not judged' is explained",
        "Not judged: the case failed another clause" in text
        and "·: not judged: the case failed another clause" in page
        and "not judged in" in new["files"]["report.html"],
    )
    matrix = page.partition('<table class="matrix">')[2].partition("</table>")[0]
    bad = re.findall(r'<td class="bad[^"]*"[^>]*>(.*?)</td>', matrix)
    check(
        "each failing cell of the matrix leads to a cause",
        bad and all(cell.startswith('<a href="#') for cell in bad),
        bad,
    )
    heads = re.findall(r'<h2 id="([^"]*)">', page)
    check(
        "the page begins with links to its sections",
        len(heads) >= 6 and all(f'<a href="#{key}">' in page for key in heads),
        heads,
    )


def mutants_shown(text, page):
    check(
        "mutants are listed",
        "2 of 3 mutants were caught" in text
        and "RED-3 (mean of the contributions), STEP-7 (parameters after the update)" in text
        and '<a href="#clause-RED-3" title="' in page
        and "**nothing**" in text
        and "hides" in page,
    )
    check(
        "mutants caught by the subject's own error are marked",
        "1 of them only by the subject's own error" in text
        and "| RUN-1 (no error), the subject's own error |" in text
        and "RUN-1</a>, the subject's own error" in html.unescape(page),
    )


sys.exit(
    main(
        test_quick,
        test_quick_without_refused,
        test_selecting,
        test_refused,
        test_terminal,
        test_similar,
        test_ranks_that_disagree,
        test_results,
    )
)
