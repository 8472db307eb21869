"""Shared by the tests of the judge: runs `zeroproof check` on an adapter, and prints ok / not ok
lines."""

import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
COMMAND = os.environ["ZEROPROOF"]
TRAINER = f"{sys.executable} {ROOT}/conformance/adapters/selftest/trainer.py"
QUICK = ["--cases", "1", "--jobs", "1", "--shrink", "0", "--level", "1"]
failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print(
        f"{'ok' if good else 'not ok'} {name}{'' if good else ' # ' + str(why)[:600]}", flush=True
    )


def run(adapter, *more, deadline=None):
    """(exit code, report with the files of --out, or None without a report, standard error).
    deadline: only for an adapter that never answers. Without one, the time of a case is limited by
    that of the cases before, and the test runner limits that of a test, so no verdict depends on
    the load."""
    import preloaded  # of the tests that run the judge in this way

    words = ["--adapter", adapter, "--json", "--shrink", "100", "--jobs", "2"]
    with tempfile.TemporaryDirectory() as folder:
        words += ["--out", folder, *(["--deadline", str(deadline)] if deadline else []), *more]
        done = preloaded.check(*words)
        try:
            report = json.loads(done.stdout)
        except ValueError:
            return done.returncode, None, done.stderr
        report["files"] = {name: text_of(folder, name) for name in os.listdir(folder)}
        return done.returncode, report, done.stderr


def text_of(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def judged(*more, adapter=f"{TRAINER} correct", most=None, memory=None, **pipes):
    """Runs `check`. most: the largest size of a file that it may write, as on a full disk.
    memory: bytes of its address space, except under sanitizers, which reserve terabytes of it."""

    def limit():
        if most:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        if memory and os.environ.get("SAN") != "1":
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    return subprocess.run(
        [COMMAND, "check", "--adapter", adapter, *QUICK, *more],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **pipes},
        text=True,
        preexec_fn=limit,
    )


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def content(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


def apart(tests, file):
    os.dup2(file.fileno(), 1)
    for test in tests:
        test()
    sys.exit(1 if failed else 0)


def main(*tests, waiting=()):
    """Runs the tests, or those that the command line names. Returns the exit code. waiting: tests
    that mostly wait. They run in one further process, and print when the others have ended."""
    by_name = {test.__name__.removeprefix("test_"): test for test in (*tests, *waiting)}
    chosen = [by_name[name] for name in sys.argv[1:] or by_name]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        words = ([test for test in chosen if test in waiting], file)
        other = multiprocessing.get_context("fork").Process(target=apart, args=words)
        other.start()
        for test in chosen:
            if test not in waiting:
                test()
        other.join()
        file.seek(0)
        sys.stdout.write(file.read())
    return 1 if failed or other.exitcode else 0
