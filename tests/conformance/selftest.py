"""Shared by the tests of the judge, judge_*_test.py: runs `zeroproof check` on an adapter, and
prints ok / not ok lines."""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
COMMAND = os.environ["ZEROPROOF"]
TRAINER = f"{sys.executable} {ROOT}/conformance/adapters/selftest/trainer.py"
failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print(
        f"{'ok' if good else 'not ok'} {name}{'' if good else ' # ' + str(why)[:600]}", flush=True
    )


def run(adapter, *more, deadline=20):
    """(exit code, report with the files of --out, or None without a report, standard error)."""
    argv = [COMMAND, "check", "--adapter", adapter, "--json", "--shrink", "1", "--jobs", "2"]
    with tempfile.TemporaryDirectory() as folder:
        argv += ["--out", folder, "--deadline", str(deadline), *more]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
        try:
            report = json.loads(done.stdout)
        except ValueError:
            return done.returncode, None, done.stderr
        report["files"] = {name: text_of(folder, name) for name in os.listdir(folder)}
        return done.returncode, report, done.stderr


def text_of(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def main(*tests):
    """Runs the tests, or those that the command line names. Returns the exit code."""
    by_name = {test.__name__.removeprefix("test_"): test for test in tests}
    for name in sys.argv[1:] or by_name:
        by_name[name]()
    return 1 if failed else 0
