"""Standard error that cannot be written: the verdict and the exit code are those with one that
can."""

import os
import subprocess
import sys

from selftest import COMMAND, ROOT, TRAINER, check, main

QUICK = ["--cases", "2", "--jobs", "1", "--shrink", "0", "--level", "1"]
# The judge, with a line of progress after each case
PROGRESS = """
import importlib.util, sys
sys.path.insert(0, sys.argv[1])
found = importlib.util.spec_from_file_location("judge", sys.argv.pop(1) + "/__main__.py")
judge = importlib.util.module_from_spec(found)
found.loader.exec_module(judge)
judge.Progress.EVERY = 0
sys.exit(judge.console.guarded("zeroproof check", judge.main))
"""
JUDGE = [sys.executable, "-B", "-c", PROGRESS, f"{ROOT}/conformance/judge"]
# what standard error is -> how a shell makes it
FULL = {"full": "2>/dev/full", "closed": "2>&-", "a pipe without a reader": "2>&0"}


def run(argv, redirected):
    """The finished process of a command. `redirected`: its standard input is a pipe without a
    reader."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            ["sh", "-c", f'exec "$@" {redirected} </dev/null', "sh", *argv],
            stdin=writer,
            capture_output=True,
            text=True,
        )
    finally:
        os.close(writer)


def test_verdicts():
    for fault, code, words in (("correct", 0, "2 cases passed"), ("local", 1, "failed")):
        argv = ["--adapter", f"{TRAINER} {fault}", *QUICK]
        done = run([*JUDGE, *argv], "")
        check(
            f"{fault}: a line of progress after each case",
            done.returncode == code and done.stderr.count(" 0 not supported\n") == 2,
            (done.returncode, done.stderr),
        )
        for what, redirected in FULL.items():
            done = run([*JUDGE, *argv], redirected)
            check(
                f"{fault}: the verdict if standard error is {what}",
                done.returncode == code and words in done.stdout,
                (done.returncode, done.stdout, done.stderr),
            )


def test_refusals():
    for argv, code in (
        (["--bogus"], 2),
        (["--adapter", "false"], 2),
        (["--adapter", "./none"], 2),
        (["--adapter", f"{TRAINER} correct", "--level", "9"], 2),
        (["--adapter", f"{TRAINER} correct", *QUICK, "--out", "/dev/null/out"], 3),
        (["--adapter", f"{TRAINER} correct", *QUICK, "--log", "/dev/full"], 0),
    ):
        for what, redirected in FULL.items():
            done = run([COMMAND, "check", *argv], redirected)
            check(
                f"{' '.join(argv[-2:])}: exit code {code} if standard error is {what}",
                done.returncode == code,
                (done.returncode, done.stdout, done.stderr),
            )
    done = run([COMMAND, "check", "--adapter", "false"], "2>&0 >&0")
    check("exit code 2 if both are a pipe without a reader", done.returncode == 2, done)
    argv = [COMMAND, "check", "--adapter", f"{TRAINER} correct", *QUICK]
    for what, redirected in FULL.items():
        done = run(argv, f"{redirected} >/dev/full")
        check(f"exit code 3 if the output is full and errors are {what}", done.returncode == 3)


def test_environment():
    """Neither the encoding of the output nor the number of files that may be open changes what the
    exit code means."""
    argv = [COMMAND, "check", "--adapter", f"{TRAINER} correct", *QUICK]
    for encoding in ("ascii", "latin-1"):
        done = run(["env", f"PYTHONIOENCODING={encoding}", *argv, "--brief"], "")
        good = done.returncode == 0 and "2 cases passed" in done.stdout
        check(f"the verdict in {encoding}", good, (done.returncode, done.stdout, done.stderr))
    done = run(["sh", "-c", 'ulimit -n 16; exec "$@"', "sh", *argv], "")
    good = done.returncode == 3 and "Too many open files" in done.stderr
    check("too many open files are no refusal", good, (done.returncode, done.stderr))


sys.exit(main(test_verdicts, test_refusals, test_environment))
