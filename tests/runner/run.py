#!/usr/bin/env python3
"""Runs the tests: tests/runner/run.py [--all] [--again NAME] [WORD...]

--all: the items of `make test`; else those of `make quick`. WORD: only items whose names have one
of the words. --again NAME: this item alone, without a stored verdict (ZP_VERDICTS=compare: compared
with it). The environment: ZP_BUILD (build), CC, SAN, JOBS, FUZZ_SECONDS, REPEAT_SECONDS (60), and
the variables that store.py reads. `make` builds everything first.

A verdict that is stored under the hash of its inputs is reused (store.py, inputs.py). A test that
declares inputs runs in a copy of the tree that holds only these (sandbox.py). An item is a script
that prints "ok NAME" for each check that passes, a Criterion program, or a command that ends with
0. The last line is the count: "N passed, N failed", and ", N not run" if there are any.
"""

import argparse
import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import items
import sandbox
from guard import Guard, kill
from inputs import ROOT
from store import Store

SHOWN = re.compile(r"^not ok|\[FAIL\]|\[CRASH\]|Assertion|AddressSanitizer|runtime error")
SYNTHESIS = re.compile(
    r"Synthesis: Tested: (\d+) \| Passing: (\d+) \| Failing: (\d+) \| Crashing: (\d+)"
)
RANDOM = re.compile(  # a temporary folder, also with other characters between its parts
    rf"^ok .*(?:{re.escape(tempfile.gettempdir())}/\S|[\W_]tmp[\W_]+tmp[\W_]?\w{{8}})", re.M
)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Outcome:
    """What one computation of an item came to."""

    def __init__(self, passed, failed, checks=(), not_run=()):
        self.passed, self.failed = passed, failed
        self.checks, self.not_run = sorted(checks), list(not_run)
        self.wall = self.cpu = 0.0
        self.log = ""
        self.reused = None

    def result(self):
        """The part that each computation of the same inputs must give again."""
        return {"passed": self.passed, "checks": self.checks, "not_run": self.not_run}


def read(item, text, code):
    """The outcome that an item's output and exit code say."""
    if item.kind == "program":
        plain = COLOURS.sub("", text)
        found = SYNTHESIS.findall(plain)
        _tested, passed, failing, crashing = map(int, found[-1]) if found else (0, 0, 0, 0)
        failed = failing + crashing
        if not failed and (code != 0 or not found):
            failed = 1
        return Outcome(passed, failed, re.findall(r"\[PASS\] (\S+):", plain))
    if item.kind == "script":
        checks = re.findall(r"^ok (.*)$", text, re.M)
        failed = len(re.findall(r"^not ok ", text, re.M))
        not_run = re.findall(r"^not run: (.*)$", text, re.M)
        return Outcome(len(checks), failed or int(code != 0), checks, not_run)
    return Outcome(int(code == 0), int(code != 0))  # of a command


def reported(item, build):
    """What a report of the conformance suite says of each case."""
    path = item.report and os.path.join(build, item.report)
    if not path or not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return sorted(f"{case['id']} {case['status']}" for case in json.load(file)["results"])


class Runner:
    def __init__(self, build, jobs):
        self.build = build
        self.logs = os.path.join(build, "test-logs")
        self.jobs = jobs
        self.store = Store()
        self.lock = threading.Lock()
        self.guard = Guard()
        self.running = set()
        self.stopped = False
        os.makedirs(self.logs, exist_ok=True)

    def execute(self, item, folder, build, log):
        """Runs the command of an item; (exit code, seconds, seconds of CPU)."""
        argv = [re.sub("^build(?=/|$)", build, word) for word in item.argv]
        begun = time.monotonic()
        with open(log, "w", encoding="utf-8") as file:
            if not os.access(os.path.join(folder, argv[0]), os.X_OK) and "/" in argv[0]:
                file.write(f"{argv[0]} was not built\n")
                return 127, 0.0, 0.0
            process = self.start(
                argv,
                cwd=folder,
                env=items.environment(item, build),
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        timer = threading.Timer(item.limit, kill, [process.pid])
        timer.start()
        _pid, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        self.ended(process)
        return process.returncode, time.monotonic() - begun, usage.ru_utime + usage.ru_stime

    def start(self, argv, **more):
        """A program that ends when the runner is stopped or ends."""
        process = self.guard.start(argv, stdin=subprocess.DEVNULL, **more)
        self.running.add(process.pid)
        if self.stopped:  # meanwhile
            kill(process.pid)
        return process

    def ended(self, process):
        self.running.discard(process.pid)
        self.guard.ended(process)

    def compute(self, item):
        log = self.log(item)
        if item.declared is None:
            code, wall, cpu = self.execute(item, ROOT, self.build, log)
            more = reported(item, self.build)
        else:
            words = item.declared + ([item.source] if item.source else [])
            with sandbox.Copy(words, item.build or self.build) as folder:
                code, wall, cpu = self.execute(item, folder, "build", log)
                more = reported(item, os.path.join(folder, "build"))
        with open(log, "a+", encoding="utf-8", errors="replace") as file:
            file.seek(0)
            text = file.read()
            for line in RANDOM.findall(text):  # no other run would give this verdict again
                wrong = f"\nnot ok a check is named after a temporary folder: {line}\n"
                text += wrong  # on a line of its own, however the output ended
                file.write(wrong)
            outcome = read(item, text, code)
        outcome.checks += more
        outcome.wall, outcome.cpu, outcome.log = wall, cpu, log
        return outcome

    def one(self, item):
        """The outcome of an item, stored or computed."""
        try:
            inputs = item.inputs(item.build or self.build)
        except sandbox.Undeclared as e:
            return self.refused(item, str(e))
        verdict = self.store.get(inputs) if inputs else None
        if verdict:
            result = verdict["result"]
            outcome = Outcome(result["passed"], 0, result["checks"], result["not_run"])
            outcome.reused = verdict["commit"]
            return outcome
        outcome = self.compute(item)
        if inputs and outcome.failed:
            self.store.failed(inputs, f"{outcome.failed} failed")
        elif inputs:
            self.store.put(inputs, outcome.result(), outcome.wall, outcome.cpu, again(item))
        return outcome

    def refused(self, item, why):
        outcome = Outcome(0, 1)
        outcome.log = self.log(item)
        with open(outcome.log, "w", encoding="utf-8") as file:
            file.write(f"not ok {item.name} {why}\n")
        return outcome

    def log(self, item):
        return os.path.join(self.logs, item.name.replace("/", "_") + ".log")

    def all(self, todo, each):
        """Runs items, `jobs` at a time, the longest first; then one by one those that run alone."""
        together = [i for i in todo if not i.alone]
        free = threading.Semaphore(self.jobs)
        threads = []

        def work(item, slots):
            try:
                if not self.stopped:
                    each(item, self.one(item))
            finally:
                for _ in range(slots):
                    free.release()

        for item in together:
            slots = min(item.slots, self.jobs)
            for _ in range(slots):
                free.acquire()
            if self.stopped:
                break
            threads.append(threading.Thread(target=work, args=(item, slots)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        for item in todo:
            if item.alone and not self.stopped:
                each(item, self.one(item))

    def stop_on_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # of nohup
                signal.signal(number, self.stop)

    def stop(self, *_):
        self.stopped = True
        for group in list(self.running):
            kill(group)


def again(item):
    return ["python3", "-B", "tests/runner/run.py", "--again", item.name]


def show(item, outcome):
    text = shown(item, outcome)
    print(text, flush=True)
    return text


def shown(item, outcome):
    seconds = f"of {outcome.reused}" if outcome.reused else f"{outcome.wall:.1f} s"
    text = f"  {item.name:<38} {outcome.passed:>5} passed  {seconds:>12}"
    if outcome.failed:
        text += f", {outcome.failed} FAILED (see {outcome.log})"
        with open(outcome.log, encoding="utf-8", errors="replace") as file:
            said = [line.rstrip() for line in file]
        bad = [line for line in said if SHOWN.search(COLOURS.sub("", line))]
        text += "".join(f"\n      {line[:300]}" for line in bad[:10] or said[-10:])
    return text + "".join(f"\n      not run: {why}" for why in outcome.not_run)


def lines(path):
    """The records of a file with a JSON object a line."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def times(name):
    """Seconds by item, as the runs before measured them; the committed table where none did."""
    found = {}
    for path in (os.path.join(ROOT, "tests", "TIMES.md"), name):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
                    seconds = [cell for cell in cells[1:] if re.fullmatch(r"[0-9.]+", cell)]
                    if line.startswith("| ") and seconds:
                        found[cells[0]] = float(seconds[-1])
    return found


def keep_times(path, measured):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        for name, seconds in sorted(measured.items()):
            file.write(f"| {name} | | {seconds:.1f} |\n")
    os.replace(path + ".new", path)


def repeat(runner, reused, seconds):
    """Computes reused verdicts again, drawn at random. Returns their names, and the failed ones."""
    end = time.monotonic() + seconds
    lock = threading.Lock()
    left = random.sample(reused, len(reused))
    done, bad = [], []

    def work():
        while True:
            with lock:
                fits = [v for v in left if v["wall"] <= end - time.monotonic()]
                if not fits or runner.stopped:
                    return
                verdict = fits[0]
                left.remove(verdict)
                done.append(verdict["name"])
            run = runner.start(
                verdict["again"],
                cwd=ROOT,
                env={**os.environ, "ZP_VERDICTS": "compare"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            run.wait()
            runner.ended(run)
            if run.returncode:
                bad.append(verdict["name"])

    threads = [threading.Thread(target=work) for _ in range(runner.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done, bad


def arguments():
    parser = argparse.ArgumentParser(description="Runs the tests.")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--again", metavar="NAME")
    parser.add_argument("words", nargs="*", metavar="WORD")
    return parser.parse_args()


def differences(found):
    """Prints stored verdicts that a computation contradicts."""
    for d in found:
        print(
            f"  the stored verdict of {d['kind']} {d['name']} (commit {d['commit']}) differs:\n"
            f"      stored:   {json.dumps(d['stored'])[:400]}\n"
            f"      computed: {json.dumps(d['computed'])[:400]}"
        )


def named(todo, words):
    """The items whose names have one of the words; all without a word."""
    return [i for i in todo if not words or any(w in f"{i.source or ''} {i.name}" for w in words)]


def main():
    args = arguments()
    build = os.environ.get("ZP_BUILD") or "build"
    os.chdir(ROOT)
    if not os.access(os.path.join(build, "zeroproof"), os.X_OK):
        print(f"run.py: there is no '{build}/zeroproof': make builds it", file=sys.stderr)
        return 2
    todo = items.everything(build) if args.all or args.again else items.quick(build)
    if args.again:
        todo = [i for i in todo if i.name == args.again]
        outcomes = [Runner(build, 1).one(i) for i in todo]
        return 0 if len(outcomes) == 1 and not outcomes[0].failed else 1
    todo = named(todo, args.words)
    if not todo:
        print(f"run.py: no test has a name with any of: {' '.join(args.words)}", file=sys.stderr)
        return 2
    jobs = max(1, int(os.environ.get("JOBS") or os.cpu_count() or 1))
    session = os.path.join(build, "verdicts")
    os.makedirs(session, exist_ok=True)
    for variable, name in (("ZP_REUSED", "reused.jsonl"), ("ZP_DIFFERENCES", "differences.jsonl")):
        os.environ.setdefault(variable, os.path.abspath(os.path.join(session, name)))
        open(os.environ[variable], "w", encoding="utf-8").close()

    runner = Runner(build, jobs)
    runner.stop_on_signals()
    measured = times(os.path.join(runner.store.folder, "times"))
    todo.sort(key=lambda i: -measured.get(i.name, 1.0))
    total, again = Outcome(0, 0), []

    def each(item, outcome):
        with runner.lock:
            if runner.stopped:
                return
            text = show(item, outcome)
            again.extend([text] if outcome.failed or outcome.not_run else [])
            total.passed += outcome.passed
            total.failed += outcome.failed
            total.not_run += outcome.not_run
            if not outcome.reused:
                measured[item.name] = outcome.wall

    runner.all(todo, each)
    if runner.stopped:
        print("run.py: stopped", file=sys.stderr)
        return 130
    keep_times(os.path.join(runner.store.folder, "times"), measured)
    reused = lines(os.environ["ZP_REUSED"])
    if reused:
        commits = collections.Counter(verdict["commit"] for verdict in reused).most_common()
        counts = ", ".join(f"{n} of {commit}" for commit, n in commits)
        print(f"{len(reused)} verdicts were reused: {counts}", flush=True)
        begun = time.monotonic()
        done, bad = repeat(runner, reused, float(os.environ.get("REPEAT_SECONDS") or 60))
        if runner.stopped:
            print("run.py: stopped", file=sys.stderr)
            return 130
        print(
            f"{len(done)} of them were computed again in {time.monotonic() - begun:.0f} s: "
            + (f"these failed: {' '.join(bad)}" if bad else "all passed"),
            flush=True,
        )
        total.failed += len(bad)
    found = lines(os.environ["ZP_DIFFERENCES"])
    differences(found)
    total.failed += len(found)
    if again:  # a log that keeps only its end
        print("Failed or not run:", *again, sep="\n")
    not_run = f", {len(total.not_run)} not run" if total.not_run else ""
    print(f"{total.passed} passed, {total.failed} failed{not_run}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
