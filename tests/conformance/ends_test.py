"""Everything that the judge starts ends when the judge ends, however it ends.

Each process writes its number to a FIFO and keeps it open. The judge is killed when all have
written; the end of the FIFO then shows that all have ended. So the test waits for events, and
MOST only limits how long a failing test takes."""

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest.mock

from selftest import COMMAND, ROOT, check, main

sys.path.insert(0, os.path.join(ROOT, "conformance", "judge"))

import adapter  # noqa: E402
import supervise  # noqa: E402

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
            os.unlink(gate)  # so that no replay of the case waits at it
            began = fifo.wait_for(4)
        all_ended("all that an adapter started ends with it", suite, fifo, began)
    with tempfile.TemporaryDirectory() as folder:
        fifo = Fifo(folder)
        suite = judged(
            [word.replace("FIFO", fifo.name) for word in adapter_command("unsupervised")]
        )
        began = fifo.wait_for(1)
        all_ended("an adapter ends if its supervisor is killed", suite, fifo, began)


# A judge: python -c HOLDER JUDGE WHAT FOLDER PROGRAM [ARGUMENT…] starts the program, prints its
# exit code and whether the folder exists, and reads its standard input.
HOLDER = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import supervise
what, folder = sys.argv[2:4]
if what == "end at once":  # before it reads that the program was started
    supervise.socket.socket.recv = lambda *_: os.kill(os.getpid(), 9)
try:
    process = supervise.Process(sys.argv[4:], folder)
    open(folder + "/started", "w").close()
    if what == "wait":
        said = process.wait()
    while what == "wait for a file" and not os.path.exists(said := folder + "/made"):
        time.sleep(0.01)
except OSError as error:
    said = f"{type(error).__name__}: {error.strerror}"
print(said, os.path.isdir(folder), flush=True)
sys.stdin.read()
"""


def reaper(on):
    """Orphans below this process become its children, so that it can wait for them."""
    if ctypes.CDLL(None).prctl(supervise.PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0):
        raise OSError("prctl")


def orphans_end():
    """Waits for all children. False after MOST seconds."""

    def late(*_):
        raise TimeoutError

    former = signal.signal(signal.SIGALRM, late)
    signal.alarm(MOST)
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return True
    except TimeoutError:
        for pid in supervise.children():
            os.kill(pid, signal.SIGKILL)
        return False
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)


def test_folder():
    """The folder of a program exists exactly as long as the judge uses it."""
    reaper(True)
    stops = 'kill -STOP $PPID; : >"$0/made"; exec sleep 10000'
    later = 'until [ -e "$0/started" ]; do sleep 0.01; done; ' + stops
    for what, wait, command, expected in (
        ("a program that ended first", "wait", 'test -d "$0" && exit 3', "3 True"),
        ("a program that a signal ended", "wait", "kill -SEGV $$", "-11 True"),
        ("a program that ends its supervisor", "wait", "kill $PPID; sleep 10000", "-15 True"),
        ("one that interrupts its supervisor", "wait", "kill -INT $PPID; sleep 10000", "-2 True"),
        ("one that stops its supervisor", "wait for a file", later, "FOLDER/made True"),
        ("one that stops it at once", "wait for a file", stops, "FOLDER/made True"),
        ("one that cannot be started", "wait", "", "NoProgram: No such file or directory False"),
        ("a judge that ends at once", "end at once", "sleep 10000", ""),
    ):
        with tempfile.TemporaryDirectory() as parent:
            folder = os.path.join(parent, "folder")
            program = ["sh", "-c", command, folder] if command else ["./none"]
            judge = [os.path.dirname(supervise.__file__), wait, folder]
            holder = subprocess.Popen(
                [sys.executable, "-B", "-c", HOLDER, *judge, *program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            came = select.select([holder.stdout], [], [], MOST)[0]
            said = holder.stdout.readline().strip() if came else "nothing"
            holder.kill()
            for pipe in (holder.stdin, holder.stdout):
                pipe.close()
            holder.wait()
            gone, left = orphans_end(), os.listdir(parent)
        said = said.replace(parent + "/folder", "FOLDER")
        check(f"{what}: the folder stays until the judge ends", said == expected, said)
        check(f"{what}: nothing is left of it", gone and left == [], (gone, left))
    reaper(False)


def test_folder_exists():
    """A folder that exists is not used, and not removed."""
    with tempfile.TemporaryDirectory() as parent:
        for name, words in (("", "File exists"), ("none/folder", "No such file or directory")):
            try:
                supervise.Process(["true"], os.path.join(parent, name)).close()
                why = "started"
            except OSError as error:
                why = error.strerror
            check(f"a folder that cannot be created: {words}", why.endswith(words), why)
        check("a folder of others stays", os.path.isdir(parent))


def test_folder_contents():
    """Read-only folders in it, and a link in its place, are removed."""
    with tempfile.TemporaryDirectory() as parent:
        folder, other = os.path.join(parent, "folder"), os.path.join(parent, "other")
        os.mkdir(other)
        os.makedirs(os.path.join(folder, "cache", "inner"))
        os.symlink(other, os.path.join(folder, "cache", "link"))
        os.chmod(other, 0o500)
        os.chmod(os.path.join(folder, "cache"), 0o500)
        remover = os.fork()
        if remover == 0:
            if os.geteuid() == 0:  # root may remove everything
                for path in (folder, os.path.join(folder, "cache"), parent):
                    os.chown(path, 65534, 65534)
                os.setegid(65534)
                os.seteuid(65534)
            supervise.remove(folder)
            os._exit(0)
        os.waitpid(remover, 0)
        left, mode = os.path.exists(folder), os.stat(other).st_mode & 0o777
        good = not left and mode == 0o500
        check("read-only folders are removed, links in them not followed", good, (left, mode))
        os.symlink(other, folder)
        supervise.remove(folder)
        check("a link in its place is removed", sorted(os.listdir(parent)) == ["other"])


def test_folder_removed():
    """An adapter that removes its folder faster than the judge uses it fails the case."""
    made = adapter.Adapter(f"{BAD} file")
    made.hello()
    with unittest.mock.patch("tempfile.mkdtemp", side_effect=FileNotFoundError(2, "No such file")):
        answer, ledgers = made.run({"world": 2})
    made.stop()
    check(
        "a removed folder fails the case",
        answer["status"] == "malformed"
        and answer["message"].endswith("the folder above ledgers: No such file")
        and ledgers == [[], []],
        answer,
    )


class Stuck:
    """A program that does not end, as one that waits for a device. Its clock advances when the
    judge waits."""

    now = 0

    def __init__(self):
        self.life, self.folder, self.popen = open(os.devnull, "rb"), "", self
        supervise.RUNNING.add(self)

    def send_signal(self, _number):
        pass

    def wait(self, timeout):
        Stuck.now += timeout
        raise subprocess.TimeoutExpired("stuck", timeout)

    def end(self, *until):
        supervise.Process.end(self, *until)


def test_stuck():
    made, clock = [Stuck() for _ in range(5)], time.monotonic
    time.monotonic = lambda: Stuck.now
    try:
        supervise.end_all()
    finally:
        time.monotonic = clock
    check(
        "one limit holds for all programs that do not end",
        Stuck.now == supervise.KILLED_WAIT and all(one.life.closed for one in made),
        Stuck.now,
    )
    check("they are waited for once", not supervise.RUNNING)


def test_hangup():
    """A terminal that hangs up: standard error fails too."""
    with tempfile.TemporaryDirectory() as folder:
        fifo = Fifo(folder)
        ours, theirs = os.openpty()

        def in_terminal():
            default_signals()
            os.setsid()
            fcntl.ioctl(2, termios.TIOCSCTTY, 0)

        suite = subprocess.Popen(
            [word.replace("FIFO", fifo.name) for word in adapter_command("escapes")],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            preexec_fn=in_terminal,
            env={**os.environ, "TMPDIR": folder},
        )
        os.close(theirs)
        began = fifo.wait_for(5)
        os.close(ours)
        code, gone = suite.wait(MOST), fifo.ended()
        left = os.listdir(folder)
    check("a hangup of the terminal ends the judge", began and code == 3, (began, code))
    check("a hangup leaves nothing", gone and left == ["fifo"], (gone, left))


def test_shrinking():
    """A signal that ends the search for causes leaves a report of all failures."""
    trainer = f"{sys.executable} -B {ROOT}/conformance/adapters/selftest/trainer.py"
    for number in (signal.SIGTERM, signal.SIGINT):
        with tempfile.TemporaryDirectory() as folder:
            argv = [*JUDGE, "--adapter", f"{trainer} hang", "--cases", "6", "--jobs", "2"]
            argv += ["--only", "LEDG-2", "--out", folder, "--shrink", "100000"]
            process = judged(argv, ZEROPROOF=COMMAND)
            lines = [process.stderr.readline()]
            while lines[-1] and not lines[-1].startswith("shrinking "):
                lines.append(process.stderr.readline())
            process.send_signal(number)
            errors = process.communicate(timeout=MOST)[1]
            name = os.path.join(folder, "report.json")
            made = json.load(open(name, encoding="utf-8")) if os.path.exists(name) else {}
        end = f"{number.name} ended the search for causes; not shrunk: "
        check(
            f"{number.name} while causes are searched leaves a report, and fails the run",
            process.returncode == 1
            and made["cases"]["fail"] > 0
            and sum(len(c["cases"]) for c in made["causes"]) == made["cases"]["fail"]
            and made["problems"][0].startswith(end),
            (process.returncode, lines[-1], errors, made.get("problems")),
        )
        check(
            "progress names the cause that is shrunk",
            lines[-1].startswith("shrinking LEDG-7 hang in "),
            lines,
        )


def test_full_pipe():
    """Standard error may be a pipe that nothing reads."""
    with tempfile.TemporaryDirectory() as folder:
        fifo = Fifo(folder)
        ours, theirs = os.pipe()
        suite = subprocess.Popen(
            [word.replace("FIFO", fifo.name) for word in adapter_command("escapes")],
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            preexec_fn=default_signals,
        )
        began = fifo.wait_for(5)
        os.set_blocking(theirs, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(theirs, b"x" * 512)
        os.set_blocking(theirs, True)
        suite.terminate()
        code, gone = suite.wait(MOST), fifo.ended()
        os.close(ours)
        os.close(theirs)
    check("SIGTERM ends a judge whose standard error is full", began and code == 3, (began, code))
    check("it leaves no process", gone)


sys.exit(
    main(
        test_adapters,
        test_tools,
        test_adapter_first,
        test_folder,
        test_folder_exists,
        test_folder_contents,
        test_folder_removed,
        test_stuck,
        test_hangup,
        test_shrinking,
        test_full_pipe,
    )
)
