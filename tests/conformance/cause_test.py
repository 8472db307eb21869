"""Tests that a failure is attributed to the earliest thing that went wrong, on any machine."""

import json
import os
import sys
import threading
import types
import unittest.mock

from selftest import ROOT, TRAINER, check, main, run, text_of

sys.path.insert(0, os.path.join(ROOT, "conformance", "judge"))

import idle  # noqa: E402
import known  # noqa: E402
from run import kind_of_error  # noqa: E402
from tools import Refused  # noqa: E402

RANKS = f"{sys.executable} {ROOT}/conformance/adapters/selftest/processes.py"
# Fault -> the findings of each case.
FAULTS = {
    "raises": ["RUN-1 error: ValueError in compute"],
    "raises-late": ["RUN-1 error: ValueError in compute"],
    "two-errors": ["RUN-1 error: KeyError in look_up"],
    "ends-early": ["LEDG-2 ledgers differ in all_reduce", "LEDG-7 hang in all_reduce"],
    "killed": ["RUN-1 error: SIGKILL"],
}


def test_ranks():
    """The rank at fault gives the signature, whatever the others then do."""
    for fault, right in FAULTS.items():
        code, report, errors = run(f"{RANKS} {fault}", "--cases", "4", "--shrink", "0")
        rows = report["results"] if report else []
        seen = {tuple(f"{f['clause']} {f['kind']}" for f in row["findings"]) for row in rows}
        good = code == 1 and seen == {tuple(right)}
        check(f"a rank that {fault}: {', '.join(right)}", good, errors or seen)


TRACE = """Traceback (most recent call last):
  File "a.py", line 1, in outer
    inner()
  File "b.py", line 2, in inner
    raise {error}
    ^^^^^
"""


def test_kinds():
    """An error's kind is its type and the function that raised it, not its text."""
    text = TRACE.format(error="ValueError") + "{}: got 3\n  Call stack:\nnot a frame: x\n"
    chained = text.format("KeyError") + "\nThe above exception was …:\n\n" + TRACE + "c.Bad: 1\n"
    for name, answer, right in (
        ("a traceback", {"message": text.format("ValueError")}, "ValueError in inner"),
        ("a type of a module", {"message": text.format("a.b.Bad")}, "Bad in inner"),
        ("the last of two exceptions", {"message": chained}, "Bad in inner"),
        ("an error without text", {"message": TRACE + "KeyError\n"}, "KeyError in inner"),
        ("another error", {"message": "rank 3: no\nmemory at 0x7f"}, "memory at N"),
        (
            "what the adapter names",
            {"message": TRACE + "KeyError\n", "type": "Lost", "function": "f"},
            "Lost in f",
        ),
        ("a type alone", {"message": "x", "type": "SIGABRT"}, "SIGABRT"),
    ):
        found = kind_of_error(answer)
        check(f"the kind of {name}", found == f"error: {right}", found)


def test_computes():
    """Ranks that compute are no hang, although each has entered what no other rank has."""
    code, report, errors = run(f"{TRAINER} computes", "--cases", "3", "--shrink", "0")
    slowest = max(r["seconds"] for r in report["results"]) if report else 0
    seen = [(r["recipe"], r["findings"]) for r in report["results"]] if report else errors
    check("ranks that compute are no hang", code == 0 and slowest > 2, seen)


# What a watch sees of a process: the main thread's state, and seconds of processor time by second.
WATCHED = {
    "waits": (b"S", 0, True),
    "waits, with threads that wake up now and then": (b"S", 0.01, True),
    "computes": (b"R", 1, False),
    "computes in another thread": (b"S", 0.05, False),
    "is ready to compute, on a processor that others use": (b"R", 0, False),
    "reads a file": (b"D", 0, False),
}


def test_watch():
    """A process waits if it has no use for a processor, whether or not it gets one."""
    clock = types.SimpleNamespace()
    for name, (state, rate, asleep) in WATCHED.items():
        clock.now, watch = 100.0, idle.Watch(0.75)
        with (
            unittest.mock.patch("idle.time.monotonic", lambda: clock.now),
            unittest.mock.patch("idle.look", lambda _, s=state, r=rate: (s, r * (clock.now - 100))),
        ):
            found = False
            for _ in range(40):
                found = watch.asleep([1, 2]) or found
                clock.now += 0.1
        check(f"a process that {name}: {asleep}", found == asleep)
        check("the watch knows how long it has computed", abs(watch.computed - 3.9 * rate) < 1e-6)
    watch, clock.now = idle.Watch(0.75), 100.0
    with (
        unittest.mock.patch("idle.time.monotonic", lambda: clock.now),
        unittest.mock.patch("idle.look", lambda _: (b"S", 0)),
    ):
        watch.asleep([1])
        clock.now += 60
        check("a machine that stood still has not shown that anything waits", not watch.asleep([1]))
        for _ in range(6):
            clock.now += 0.1
            watch.asleep([1])
        check("a new process starts the watch again", not watch.asleep([1, 2]))


def test_slow():
    """A subject that takes a hundred times as long has the same causes and minimal cases."""
    found = []
    for pause in ("0", "0.1"):
        code, report, errors = run(
            f"{TRAINER} next-scale {pause}", "--cases", "30", "--shrink", "30", "--jobs", "1"
        )
        check(f"the run with a pause of {pause} s fails", code == 1, errors)
        found.append([(c["clause"], c["needs"], c["recipe"]) for c in report["causes"]])
    check("a slow subject has the same causes", found[0] == found[1] and found[0], found)
    code, report, errors = run(
        f"{TRAINER} correct 0.1", "--only", "LEDG-2", "--seconds", "0.1", "--jobs", "1"
    )
    check(
        "the covering array is complete although --seconds have passed",
        code == 0 and report["whole"] and len(report["results"]) > 20,
        errors,
    )
    check("which is a warning", "longer than --seconds; random cases: none" in errors, errors)


def test_chance():
    """A new error that does not occur in each replay does not fail the run; a wrong value does."""
    for more in ([], ["--shrink", "0"]):
        code, report, errors = run(f"{TRAINER} third", "--cases", "9", "--jobs", "1", *more)
        cause = report["causes"][0] if report and report["causes"] else {}
        check(
            f"an error in each third case is chance and does not fail the run {' '.join(more)}",
            code == 0 and cause["chance"]["replays"] == 5 and cause["chance"]["failed"] in (1, 2),
            (code, cause.get("chance"), errors),
        )
    code, report, errors = run(f"{TRAINER} third-value", "--cases", "9", "--jobs", "1")
    found = report["causes"] if report else []
    check(
        "a wrong value in each third case fails the run",
        code == 1 and all(c["chance"] is None for c in found),
        errors,
    )


ENTRY = {"clause": "RUN-1", "kind": "error", "needs": [], "recipe": "dp=1,list=1@0.0"}


def test_entries():
    """What a list of known failures may call chance."""
    for name, change, why in (
        ("evidence", {}, None),
        ("one of a hundred", {"chance": {"replays": 300, "failed": 3}}, None),
        ("fewer", {"chance": {"replays": 300, "failed": 2}}, "got 2 of 300 replays"),
        ("all but one of 200", {"chance": {"replays": 200, "failed": 199}}, "got 199 of 200"),
        ("more failures than replays", {"chance": {"replays": 200, "failed": 300}}, "got 300"),
        ("a wrong value", {"clause": "RED-2"}, "only RUN-1, LEDG-2, LEDG-7, PIPE-3"),
        ("a wrong norm", {"clause": "STAT-4"}, "can fail by chance, got STAT-4"),
        ("no recipe", {"recipe": None}, "expected a"),
    ):
        said = ""
        try:
            known.check_chance("x", {**ENTRY, "chance": {"replays": 200, "failed": 60}, **change})
        except Refused as error:
            said = str(error)
        check(f"chance with {name}: {why or 'accepted'}", why in said if why else not said, said)


class Replays:
    """A runner whose cases end as listed. `least`: replays that run at a time before any ends."""

    def __init__(self, *ends, jobs=1, least=1):
        self.ends, self.jobs, self.tools, self.made = list(ends), jobs, None, 0
        self.barrier = threading.Barrier(least)

    def acquire(self):
        return types.SimpleNamespace()

    def release(self, adapter):
        pass

    def patience(self):
        return 1

    def judged(self, _adapter, case, _recipe):
        assert case == "made again"
        self.barrier.wait(600)
        end, self.made = self.ends[self.made % len(self.ends)], self.made + 1
        status = "pass" if end == "pass" else "fail"
        answer = {"status": "timeout" if end == "late" else "error"}
        return types.SimpleNamespace(status=status, answer=answer, signature=lambda: end)


def new_cause(clause="RUN-1"):
    small = types.SimpleNamespace(
        findings=[types.SimpleNamespace(clause=clause)],
        case="dropped",
        recipe=types.SimpleNamespace(full=lambda: "recipe"),
    )
    return types.SimpleNamespace(smallest=small, signature="RUN-1 error: A", chance=None)


def marked(runner, *causes):
    with unittest.mock.patch("axes.case_of", lambda *_: ("made again", None)):
        return known.mark_chance(list(causes), runner, None)


def test_replays():
    """Only a replay that passes shows chance; a failure of another kind does not. A cause whose
    replays time out is replayed fewer times."""
    for name, ends, right, made in (
        ("two kinds of errors", ["A", "B"], None, 5),
        ("another error alone", ["B"], None, 5),
        ("one replay passes", ["A", "A", "A", "B", "pass"], {"replays": 5, "failed": 4}, 5),
        ("all replays pass", ["pass"], {"replays": 5, "failed": 0}, 5),
        ("all time out", ["late"], None, 2),
        ("one passes, two time out", ["late", "pass", "late"], {"replays": 3, "failed": 2}, 3),
    ):
        runner, cause = Replays(*ends), new_cause()
        texts = marked(runner, cause)
        check(f"replays: {name}: {right}", cause.chance == right, cause.chance)
        short = made < 5
        check(
            f"replays: {name}: {made} are made{', which is printed' if short else ''}",
            runner.made == made
            and [f"replayed {made} times" in t for t in texts] == [True] * short,
            (runner.made, texts),
        )
    runner = Replays("A", jobs=3, least=3)
    marked(runner, new_cause(), new_cause(), new_cause(), new_cause("RED-2"))
    check("replays: three causes at a time, none of a wrong value", runner.made == 15, runner.made)


def test_committed():
    """At most one of twenty committed causes is left to chance."""
    causes, rare, folder = set(), set(), os.path.join(ROOT, "conformance", "known")
    for name in sorted(os.listdir(folder)):
        for entry in json.loads(text_of(folder, name)).get("failures", []):
            known.check_chance(name, entry)
            causes.add(entry["cause"])
            rare |= {entry["cause"]} if entry.get("chance") else set()
    check("at most 5 % of the causes depend on chance", 20 * len(rare) <= len(causes), rare)


sys.exit(
    main(
        test_ranks,
        test_kinds,
        test_computes,
        test_watch,
        test_chance,
        test_entries,
        test_replays,
        test_committed,
        waiting=(test_slow,),
    )
)
