"""Tests the hunt for new failures: it merges runs by cause, continues its list, and survives a
subject that cannot be judged. Tests that the comparison of seeds and loads finds a difference."""

import io
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import types
import unittest.mock

from selftest import ROOT, TRAINER, check, main

JUDGE = os.path.join(ROOT, "conformance", "judge")
sys.path.insert(0, JUDGE)

import hunt  # noqa: E402
from steady import causes_of  # noqa: E402

ENTRY = {
    "subject": "a",
    "adapter": "x y",
    "clause": "RED-3",
    "kind": "missing",
    "needs": ["dp"],
    "text": "t",
    "recipe": "dp=2,M=1,optim=sgd,list=1@0.0",
    "chance": None,
    "symptom": ["ranks agree"],
    "count": 2,
    "seeds": [1],
}


def test_merge():
    causes = []
    larger = {**ENTRY, "needs": ["accumulation", "dp"], "seeds": [2]}
    larger["recipe"] = "dp=2,M=2,optim=sgd,list=1@0.0"
    hunt.merge(causes, [larger])
    hunt.merge(causes, [ENTRY, {**ENTRY, "subject": "b"}, {**ENTRY, "kind": "garbled"}])
    first = causes[0]
    check("a cause found again is merged, by subject, clause and kind", len(causes) == 3, causes)
    check(
        "the smallest case, the number of cases and the seeds stay",
        (first["needs"], first["recipe"], first["count"], first["seeds"])
        == (["dp"], ENTRY["recipe"], 4, [2, 1]),
        first,
    )
    other = {**ENTRY, "needs": ["pp"], "recipe": "pp=2,dp=1,M=1,list=1@0.0"}
    hunt.merge(causes, [other])
    check("another condition is another cause", len(causes) == 4, causes)
    text = hunt.markdown({"runs": [], "causes": causes, "problems": []})
    title = "a: RED-3 (mean of the contributions) missing"
    check("the list has the title of each clause", title in text, text)
    error = {**ENTRY, "clause": "RUN-1", "text": "Traceback\n" + "  File\n" * 200 + "KeyError: why"}
    text = hunt.markdown({"runs": [], "causes": [error], "problems": []})
    check("an error is listed by its last line", "\n- KeyError: why\n" in text, text)


def test_explained():
    """A cause that a list of known failures has by now leaves the list."""
    for name, entry, right in (
        ("its clause and conditions", {}, True),
        ("one of its symptoms", {"symptom": ["ranks agree + x", "ranks agree"]}, True),
        ("another symptom", {"symptom": ["ranks differ"]}, False),
        ("further conditions", {"needs": ["dp", "pp"]}, False),
        ("what its case must not have", {"lacks": ["dp"]}, False),
        ("another clause", {"clause": "RED-2"}, False),
        (
            "another clause, and this one in also",
            {"clause": "X-1", "also": ["RED-3 missing"]},
            True,
        ),
    ):
        listed = {"clause": "RED-3", "kind": "missing", "needs": ["dp"], **entry}
        check(f"an entry with {name}: {right}", hunt.explained(ENTRY, [listed]) == right)


def hunted(folder, *subjects, hours="1e-7"):
    done = subprocess.run(
        [sys.executable, "-B", f"{JUDGE}/hunt.py", "--hours", hours, "--out", folder]
        + ["--jobs", "2", "--seconds", "0"],
        input="".join(f"{name}\t{command}\n" for name, command in subjects),
        capture_output=True,
        text=True,
    )
    with open(os.path.join(folder, "list.json"), encoding="utf-8") as file:
        listed = json.load(file)
    with open(os.path.join(folder, "LIST.md"), encoding="utf-8") as file:
        return done, listed, file.read()


def test_hunt():
    with tempfile.TemporaryDirectory() as folder:
        done, first, _ = hunted(folder, ("bad", f"{TRAINER} norm-local"))
        found = first["causes"]
        check("a hunt ends with what it found", done.returncode == 0 and found, done.stderr)
        done, second, text = hunted(folder, ("bad", f"{TRAINER} norm-local"))
        counts = [sum(e["count"] for e in one["causes"]) for one in (first, second)]
        check(
            "a further hunt continues the list with another seed",
            len(second["runs"]) == 2
            and len({r["seed"] for r in second["runs"]}) == 2
            and counts[1] > counts[0],
            second["runs"],
        )
        small = second["causes"][0]
        check(
            "the list has the command that repeats each cause",
            all(f"--only {e['recipe'].split(' ')[0]}" in text.replace("'", "") for e in [small]),
            text,
        )
        done, third, text = hunted(folder, ("none", "false"))
        check(
            "a subject that cannot be judged is listed, and the list stays",
            done.returncode == 0
            and third["causes"] == second["causes"]
            and third["problems"]
            and "exit code 2" in text,
            (done.stderr, third["problems"]),
        )


def test_hopeless():
    """A subject of which every run fails as a whole in the same way takes no further turns."""

    def row(status, *findings):
        return {"status": status, "findings": [{"clause": c, "kind": "x"} for c in findings]}

    for name, rows, right in (
        (
            "no case passes, all alike",
            [row("fail", "RUN-1"), row("fail", "RUN-1", "A-1")],
            "RUN-1 x",
        ),
        ("one passes", [row("fail", "RUN-1"), row("pass")], None),
        ("two errors", [row("fail", "RUN-1"), row("fail", "RUN-2")], None),
        ("all pass", [row("pass")], None),
        ("nothing is supported", [row("unsupported")] * 2, "unsupported"),
    ):
        report = {"results": rows, "cases": {"pass": sum(r["status"] == "pass" for r in rows)}}
        found = hunt.hopeless(1, report, "")
        check(f"a run in which {name}: {right or 'stays'}", found == right, found)
    found = {hunt.hopeless(2, None, f"x\nexit {n} of '/tmp/{n}'") for n in range(2)}
    check("numbers and paths of an error do not count", len(found) == 1, found)
    subjects = (("broken", "false"), ("wrong", f"{TRAINER} empty"))
    with tempfile.TemporaryDirectory() as folder:
        done, listed, text = hunted(folder, *subjects, hours="1")
        runs = [r["subject"] for r in listed["runs"]]
        out = [p for p in listed["problems"] if p["text"].startswith("left out after 3 runs")]
        check(
            "a hunt without subjects that can be judged ends after three runs of each, with exit 3",
            done.returncode == 3
            and sorted(runs) == ["broken"] * 3 + ["wrong"] * 3
            and sorted(p["subject"] for p in out) == ["broken", "wrong"]
            and "exit code 2" in text
            and done.stderr.count("left out") == 2,
            (done.returncode, done.stderr, runs, out),
        )
    test_turns()
    with tempfile.TemporaryDirectory() as folder:
        for content in ("{", "[]", '{"runs": []}'):
            with open(os.path.join(folder, "list.json"), "w", encoding="utf-8") as file:
                file.write(content)
            done, errors = refused(folder)
            check(f"a list {content} is refused", done == 2 and "list.json" in errors, errors)


def test_turns():
    """Only the subject whose runs fail alike is left out; the others stay."""
    passed = {"results": [], "cases": {"pass": 1}, "causes": [], "problems": []}
    passed["subject"] = {"name": "none", "version": "0"}
    number = itertools.count()

    def checked(command, *_, **_more):
        if command == "good":
            return 0, passed, ""
        return 2, None, "a" if command == "same" else "abc"[next(number) % 3]

    subjects = {name: name for name in ("same", "changing", "good")}
    options = types.SimpleNamespace(hours=90 / 3600, seconds=0, jobs=1)
    with (
        tempfile.TemporaryDirectory() as folder,
        unittest.mock.patch("hunt.checked", checked),
        unittest.mock.patch("time.monotonic", itertools.count().__next__),
        unittest.mock.patch("sys.stdout", io.StringIO()),
        unittest.mock.patch("sys.stderr", io.StringIO()),
    ):
        one = hunt.Hunt(folder)
        hunt.take_turns(one, subjects, options)
    runs = [row["subject"] for row in one.list["runs"]]
    check(
        "only the subject whose runs fail alike is left out",
        runs.count("same") == 3 and runs.count("changing") > 5 and runs.count("good") > 5,
        runs,
    )


def test_interrupt():
    """Ctrl-C ends a hunt with the list of its complete runs."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-B", f"{JUDGE}/hunt.py", "--hours", "1", "--out", folder]
            + ["--jobs", "1", "--seconds", "0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # a shell starts background jobs with SIGINT ignored
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        process.stdin.write(f"one\tfalse\ntwo\t{TRAINER} sleep\n")
        process.stdin.close()
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, errors = process.stdout.read(), process.stderr.read()
        with open(os.path.join(folder, "list.json"), encoding="utf-8") as file:
            runs = [row["subject"] for row in json.load(file)["runs"]]
        check(
            "an interrupted hunt keeps its complete runs",
            process.wait() == 0
            and first.startswith("one,")
            and "LIST.md" in rest
            and runs[0] == "one",
            (process.returncode, first, rest, errors, runs),
        )


def refused(folder):
    done = subprocess.run(
        [sys.executable, "-B", f"{JUDGE}/hunt.py", "--hours", "1", "--out", folder],
        input="a\tfalse\n",
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stderr


def test_longest():
    """A run that does not end is ended."""
    code, report, errors = hunt.checked(f"{TRAINER} sleep", "--cases", "1", longest=0.5)
    check(
        "a run that does not end is ended",
        (code, report) == (3, None) and "did not end within" in errors,
        errors,
    )


def cause(name, chance=None, known=None):
    known = known and {"cause": known, "chance": chance}
    own = {"clause": "RUN-1", "kind": name, "needs": [], "known": known}
    return {**own, "chance": None if known else chance}


def test_steady_causes():
    """Causes that only chance shows are not compared, known or not."""
    rare = {"replays": 200, "failed": 60}
    found, left = causes_of(
        {
            "causes": [
                cause("a"),
                cause("b", rare),
                cause("c", None, "known-always"),
                cause("d", rare, "known-rare"),
                cause("e", rare, "known-always"),
            ]
        }
    )
    check(
        "steady: what only chance shows is left out",
        (found, left) == ({"new: RUN-1 a ()", "known-always"}, {"new: RUN-1 b ()", "known-rare"}),
        (found, left),
    )


def steady(fault):
    return subprocess.run(
        [sys.executable, "-B", f"{JUDGE}/steady.py", "--seeds", "1,2", "--busy", "1"],
        input=f"subject\t{TRAINER} {fault}\n",
        capture_output=True,
        text=True,
    )


def test_steady():
    done = steady("correct")
    check("a correct subject is the same in all runs", done.returncode == 0, done.stdout)
    check("each run is reported", done.stderr.count("exit code 0 after") == 4, done.stderr)
    check("each run completes the covering array", done.stdout.count("| whole |") == 4, done.stdout)
    done = steady("third")
    check(
        "what only chance shows does not count, and is printed",
        done.returncode == 0 and "busy, not compared, by chance: new: RUN-1" in done.stdout,
        done.stdout,
    )
    done = steady("no-clip")
    check(
        "a subject with new causes is not",
        done.returncode == 1 and "0 of 1 subjects" in done.stdout,
        done.stdout,
    )


sys.exit(
    main(
        test_merge,
        test_explained,
        test_hunt,
        test_hopeless,
        test_longest,
        test_interrupt,
        test_steady_causes,
        test_steady,
    )
)
