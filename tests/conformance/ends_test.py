"""Everything that the judge starts ends when the judge ends, however it ends.

Each process writes its number to a FIFO and keeps it open. The judge is killed when all have
written; the end of the FIFO then shows that all have ended. So the test waits for events, and
MOST only limits how long a failing test takes."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

from selftest import COMMAND, ROOT, check, main

BAD = f"{sys.executable} -B {ROOT}/conformance/adapters/selftest/bad.py"
JUDGE = [sys.executable, "-B", f"{ROOT}/conformance/judge"]
MOST = 300  # seconds
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Fifo:
    """The processes that hold a FIFO open."""

    def __init__(self, folder):
        self.name, self.text = os.path.join(folder, "fifo"), b""
        os.mkfifo(self.name)
        self.fd = os.open(self.name, os.O_RDONLY | os.O_NONBLOCK)

    def more(self):
        """False at the end, or if nothing came for MOST seconds."""
        if not select.select([self.fd], [], [], MOST)[0]:
            return False
        got = os.read(self.fd, 4096)
        self.text += got
        return bool(got)

    def wait_for(self, number):
        while self.text.count(b"\n") < number and self.more():
            pass
        return self.text.count(b"\n") == number

    def ended(self):
        while self.more():
            pass
        try:
            return os.read(self.fd, 1) == b""
        except BlockingIOError:  # a process that is alive holds it open
            for pid in map(int, self.text.split()):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            return False


def default_signals():
    """A shell ignores SIGINT in what it starts in the background, which children inherit."""
    for number in SIGNALS[1:]:
        signal.signal(number, signal.SIG_DFL)


def judged(argv, **environment):
    return subprocess.Popen(
        argv,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=default_signals,
        env={**os.environ, **environment},
    )


def ends_by(number, argv, processes, what, **environment):
    with tempfile.TemporaryDirectory() as folder:
        fifo = Fifo(folder)
        suite = judged(
            [word.replace("FIFO", fifo.name) for word in argv],
            **{name: value.replace("FIFO", fifo.name) for name, value in environment.items()},
            TMPDIR=folder,
        )
        began = fifo.wait_for(processes)
        suite.send_signal(number)
        errors = suite.communicate(timeout=MOST)[1]
        gone = fifo.ended()
        end = time.monotonic() + MOST
        while (left := os.listdir(folder)) != [os.path.basename(fifo.name)]:
            if time.monotonic() > end:
                break
            time.sleep(0.01)  # supervisors remove folders after all has ended
    code = -number if number == signal.SIGKILL else 3
    check(
        f"{what} end when the judge gets {number.name}",
        began and gone and suite.returncode == code,
        (began, gone, suite.returncode, fifo.text, errors),
    )
    check(f"{number.name} leaves no folder of {what}", left == [os.path.basename(fifo.name)], left)
    if number != signal.SIGKILL:
        check(f"{number.name} is named", number.name in errors, errors)


def adapter_command(kind, *more):
    words = " ".join([BAD, kind, "FIFO", *more])
    limits = ["--jobs", "1", "--deadline", str(MOST), "--cases", "1", "--shrink", "0"]
    return [COMMAND, "check", "--adapter", words, *limits]


def test_adapters():
    for number in SIGNALS:
        ends_by(number, adapter_command("escapes"), 5, "an adapter and all that it started")


def test_tools():
    """Programs of the suite: here two that neither read nor answer."""
    with tempfile.TemporaryDirectory() as folder:
        deaf = os.path.join(folder, "zeroproof")
        with open(deaf, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec {BAD} hello-stays $FIFO\n")
        os.chmod(deaf, 0o700)
        for number in SIGNALS:
            ends_by(
                number,
                [*JUDGE, "--adapter", f"{BAD} file", "--cases", "1"],
                2,
                "the suite's own programs",
                ZEROPROOF=deaf,
                FIFO="FIFO",
            )


def all_ended(what, suite, fifo, began):
    gone, errors = fifo.ended(), suite.communicate(timeout=MOST)[1]
    good = began and gone and suite.returncode == 1
    check(what, good, (began, gone, suite.returncode, errors))


def test_adapter_first():
    """What an adapter started ends with the adapter, and an adapter with its supervisor."""
    with tempfile.TemporaryDirectory() as folder:
        fifo, gate = Fifo(folder), os.path.join(folder, "gate")
        os.mkfifo(gate)
        argv = adapter_command("escapes-and-exits", gate)
        suite = judged([word.replace("FIFO", fifo.name) for word in argv])
        with open(gate, "wb"):
            began = fifo.wait_for(4)
        all_ended("all that an adapter started ends with it", suite, fifo, began)
    with tempfile.TemporaryDirectory() as folder:
        fifo = Fifo(folder)
        suite = judged(
            [word.replace("FIFO", fifo.name) for word in adapter_command("unsupervised")]
        )
        began = fifo.wait_for(1)
        all_ended("an adapter ends if its supervisor is killed", suite, fifo, began)


sys.exit(main(test_adapters, test_tools, test_adapter_first))
