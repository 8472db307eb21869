"""Runs a subject's adapter: a process that exchanges one JSON object per line (ADAPTER.md)."""

import json
import os
import select
import shlex
import signal
import stat
import subprocess
import tempfile
import threading
import time

import checkpoint
import environments
import files
import hello
import idle
import ledger
import limits
import protocol
import streams
import supervise
from protocol import PROTOCOL, Malformed

QUIET = 0.75  # seconds without a new record after which the ledgers are checked for a hang
# Seconds without a new record after which two further states count as a hang: ranks entered
# different operations, or may wait inside a library for operations that others have not entered.
STUCK = 5.0
# Either is a hang only when no process of the adapter has computed for QUIET seconds: a rank that
# computes may enter something yet, however slow the machine is. Libraries may compute while they
# wait, so it is a hang in any case when a process has computed for SPIN seconds.
SPIN = 30.0
STDERR_MAX = 4096  # bytes of standard error that are kept for messages
CLOSED_WAIT = 10  # seconds for a process to end after it closed its standard output


class AdapterError(Exception):
    """The adapter cannot be started or violates the protocol."""


class Late(Exception):
    """The deadline has passed."""


class Ledgers:
    """Reads the ranks' ledgers while they grow. bad: the first error, where reading stops. earlier:
    those of the steps before the checkpoint, or None."""

    def __init__(self, folder, world, earlier=None):
        self.folder, self.world, self.earlier = folder, world, earlier
        self.records = [[] for _ in range(world)]
        self.entered = [0] * world
        self.read = [0] * world
        self.rest = [b""] * world
        self.last = time.monotonic()
        self.bad = None

    def growing(self):
        """The ledgers of the steps that run now."""
        return self if self.earlier is None or any(self.records) else self.earlier

    def look(self):
        """Reads new records; returns True if there are any."""
        news = False
        for q in range(self.world):
            try:
                if self.bad is None:
                    news = self.look_at(q) or news
            except (Malformed, ledger.InvalidLedger) as error:
                self.bad = str(error)
        if news:
            self.last = time.monotonic()
        return news

    def look_at(self, q):
        name = os.path.join(self.folder, f"rank-{q}.jsonl")
        try:
            size = os.path.getsize(name)
        except OSError:
            return False
        if size <= self.read[q]:
            return False
        check_size(f"rank {q}: the ledger", size, limits.FILE, "file")
        total = size + sum(self.read) - self.read[q]
        check_size(f"rank {q}: the case's ledgers", total, limits.LEDGERS, "case")
        try:
            with files.opened(name) as file:  # read up to `size`: the file grows meanwhile
                file.seek(self.read[q])
                text = self.rest[q] + file.read(size - self.read[q])
        except OSError as error:
            raise Malformed(f"rank {q}: cannot read the ledger: {error.strerror}") from None
        self.read[q] = size
        *lines, self.rest[q] = text.split(b"\n")
        for line in filter(bytes.strip, lines):
            try:
                record = protocol.parse(line)
            except Malformed as error:
                raise Malformed(f"rank {q}: {error}") from None
            ledger.check_record(record, q, self.world, self.entered[q])
            self.records[q].append(ledger.known_fields(record))
            self.entered[q] += "op" in record
        if sum(map(len, self.records)) > limits.RECORDS:
            raise Malformed(f"rank {q}: the case's ledgers have more than {limits.RECORDS} records")
        return any(map(bytes.strip, lines))


def ledgers_of(case, folder):
    if "reload" not in case:
        return Ledgers(folder, case["world"])
    world = checkpoint.before(case)["world"]
    return Ledgers(folder, case["world"], Ledgers(os.path.join(folder, "before"), world))


def check_size(what, size, most, of):
    if size > most:
        raise Malformed(f"{what}: got {size} bytes, expected at most {most} (limit of one {of})")


class Log:
    """The file of --log, to which the standard error of all adapters is appended."""

    def __init__(self, name):
        self.name, self.left, self.error, self.lock = name, limits.LOG, None, threading.Lock()
        try:  # without blocking on a FIFO that nothing reads
            self.fd = os.open(
                name,
                os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC,
                0o666,
            )
        except OSError as error:
            raise OSError(0, f"--log {name}: cannot write: {error.strerror}") from None

    def write(self, raw):
        with self.lock:
            if self.left <= 0 or self.error:
                return
            self.left -= len(raw)
            if self.left <= 0:
                raw = raw[: self.left] if self.left else raw
                raw += (
                    f"\nzeroproof check: the rest is left out after {limits.LOG} bytes\n".encode()
                )
            try:
                while raw:
                    raw = raw[os.write(self.fd, raw) :]
            except OSError as error:
                self.error = error

    def check(self):
        """Raises OSError if something could not be written."""
        with self.lock:
            if self.error is None:
                try:
                    if stat.S_ISREG(os.fstat(self.fd).st_mode):
                        os.fsync(self.fd)
                except OSError as error:
                    self.error = error
            if self.error:
                raise OSError(0, f"--log {self.name}: cannot write: {self.error.strerror}")


class StderrTail:
    """Reads a process's standard error, appends it to the log, and keeps its end."""

    def __init__(self, pipe, log):
        self.pipe, self.log, self.end = pipe, log, b""
        self.thread = threading.Thread(target=self.drain, daemon=True)
        self.thread.start()

    def drain(self):
        with self.pipe:
            while more := self.pipe.read1(1 << 16):
                self.end = (self.end + more)[-STDERR_MAX:]
                if self.log:
                    self.log.write(more)

    def join(self):
        """Waits for the end, after the process has ended."""
        self.thread.join(CLOSED_WAIT)

    def lines(self, most=8):
        """The last lines."""
        found = self.end.decode("utf-8", errors="replace").splitlines()
        return [line.rstrip() for line in found if line.strip()][-most:]


def is_stray(line):
    """True for a line that is no answer, such as the output of a rank: an answer is an object."""
    return not line.lstrip().startswith(b"{")


def stray_text(line):
    text = protocol.shown(line.strip().decode(errors="replace"))
    return (
        f"standard output has a line that is no answer: {text}. Does a rank print? Other output "
        "belongs on standard error"
    )


def waits_in(records, stuck):
    """What the ranks wait for if their ledgers show a hang, otherwise None. stuck: they have been
    silent for so long that waits without a record count."""
    hung, waits = ledger.is_hung(records)
    if not hung:
        hung, waits = ledger.is_hung(records, silent=True)
        never = all(ledger.ended(records, missing) for _, missing in waits.values())
        hung = hung and never or stuck and (hung or ledger.disagree(records))
    return waits if hung else None


class Adapter:
    def __init__(self, command, deadline=120, log=None):
        self.command, self.deadline, self.log = command, deadline, log
        self.process, self.stderr, self.folder = None, None, None
        self.buffer, self.searched = bytearray(), 0
        self.restarts, self.fresh = 0, False  # fresh: nothing has been sent to the process
        self.asked = self.size = 0  # bytes of the last request, and of the answer with its files
        self.stray = None  # the first line since the last answer that is no answer

    def start(self):
        if not self.command.strip():
            raise AdapterError("--adapter: the command is empty")
        # the supervisor creates it, unless something has this name
        self.folder = os.path.join(tempfile.gettempdir(), f"zeroproof-{os.urandom(8).hex()}")
        try:
            self.process = supervise.Process(
                shlex.split(self.command),
                self.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                stderr=subprocess.PIPE,
            )
        except (supervise.NoProgram, ValueError, IndexError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise AdapterError(f"cannot start '{self.command}': {why}") from error
        self.stderr = StderrTail(os.fdopen(os.dup(self.process.stderr.fileno()), "rb"), self.log)
        self.process.stderr.close()
        os.set_blocking(self.process.stdin.fileno(), False)
        self.buffer, self.searched = bytearray(), 0

    def stop(self, gracefully=False):
        if self.process is None:
            return
        if gracefully and self.process.poll() is None:
            try:
                self.write(b'{"do":"bye"}\n', time.monotonic() + 1)
                self.process.stdin.close()
                self.process.wait(timeout=5)
            except (OSError, Late, subprocess.TimeoutExpired):
                pass
        self.process.close()
        self.stderr.join()
        self.process = None

    def begin(self):
        if self.process is None:
            self.start()
            self.restarts += 1
            self.fresh = True

    def send(self, request, end):
        """Raises Late if the process has not read the request before `end`."""
        raw = json.dumps(request, separators=(",", ":")).encode() + b"\n"
        self.asked, self.fresh = len(raw), False
        try:
            self.write(raw, end)
        except OSError:
            pass  # the process has exited, which the next read reports

    def write(self, raw, end):
        left = memoryview(raw)
        while left:
            if not select.select([], [self.process.stdin], [], max(0, end - time.monotonic()))[1]:
                raise Late
            left = left[os.write(self.process.stdin.fileno(), left[: 1 << 16]) or 0 :]

    def line(self, end):
        """The next line that is not empty, None if none has arrived by `end`, or b"" at end of
        file. Reads what has arrived at least once."""
        while True:
            line = self.line_read()
            if line:
                return line
            left = end - time.monotonic()
            if not select.select([self.process.stdout], [], [], max(0, left))[0]:
                return None
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            if not more:
                return b""
            self.buffer += more
            if left <= 0:  # however much there is to read
                return self.line_read()

    def line_read(self):
        """The first line in the buffer that is not empty, or None. Removes it."""
        if not self.searched:
            del self.buffer[: len(self.buffer) - len(self.buffer.lstrip())]
        at = self.buffer.find(b"\n", self.searched)
        if max(at, len(self.buffer) if at < 0 else 0) > limits.ANSWER:
            raise Malformed(f"a line is longer than {limits.ANSWER} bytes (limit of one answer)")
        if at < 0:
            self.searched = len(self.buffer)
            return None
        line = bytes(self.buffer[:at])
        del self.buffer[: at + 1]
        self.searched = 0
        return line

    def ending(self):
        """How the process ended after it closed its standard output."""
        try:
            code = self.process.wait(timeout=CLOSED_WAIT)
        except subprocess.TimeoutExpired:
            return "ended its standard output, and still runs"
        if code >= 0:
            return f"ended with exit code {code}"
        names = {s.value: s.name for s in signal.Signals}
        return f"ended by {names.get(-code, f'signal {-code}')}"

    def stderr_tail(self):
        """The end of a stopped process's standard error."""
        return "".join(f"\n  {line}" for line in self.stderr.lines())

    def hello(self):
        self.begin()
        end = time.monotonic() + self.deadline
        try:
            self.send({"do": "hello", "protocol": PROTOCOL}, end)
            line = self.line(end)
            if line is None:
                raise Late
            if line == b"":
                why = f"it {self.ending()} before it answered hello"
            else:
                try:
                    answer = protocol.parse(line)
                except Malformed as error:
                    hint = f"; {stray_text(line)}" if is_stray(line) else ""
                    raise Malformed(f"{error}{hint}") from None
                hello.check(answer)
                return answer
        except Malformed as error:
            why = f"the answer to hello violates ADAPTER.md: {error}"
        except Late:
            why = f"no answer to hello within {self.deadline:g} s"
        self.stop()
        errors = self.stderr_tail()
        hint = environments.hint(self.command, errors)
        raise AdapterError(f"'{self.command}': {why}{errors}{hint}")

    def run(self, case):
        """(answer, ledgers). The answer's status is ok, error, unsupported, hang, timeout, died or
        malformed."""
        self.asked = self.size = 0
        try:
            folder = self.new_folder()
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            what = f"the adapter removed or locked the folder above ledgers: {error.strerror}"
            return {"status": "malformed", "message": what}, [[] for _ in range(case["world"])]
        ledgers = ledgers_of(case, folder)
        try:
            answer = self.answer(case, folder, ledgers)
            if answer["status"] in ("hang", "timeout", "died", "lost"):
                self.stop()
            if answer["status"] == "died":
                answer["said"] = self.stderr_tail()
            elif answer["status"] == "lost":
                answer["status"] = "malformed"
            self.size += sum(ledgers.read)
            shown = ledgers if answer["status"] == "ok" else ledgers.growing()
            return answer, shown.records
        finally:
            supervise.remove(folder)

    def new_folder(self):
        """A folder for the ledgers of a case. Restarts an adapter that removed the one above it."""
        self.begin()
        try:
            return tempfile.mkdtemp(dir=self.folder)
        except OSError:
            self.stop()
            self.begin()
            return tempfile.mkdtemp(dir=self.folder)

    def answer(self, case, folder, ledgers):
        """The answer, with everything that the folder holds. Status lost: malformed, and the
        process must be restarted."""
        end = time.monotonic() + self.deadline
        try:
            self.stray = None
            while not self.fresh and (line := self.line(time.monotonic())):
                if not is_stray(line):
                    return {
                        "status": "lost",
                        "message": "the adapter sent more than one answer for one request",
                    }
                self.stray = self.stray or line
            self.send({"do": "run", "case": case, "ledgers": folder}, end)
            answer = self.wait(ledgers, end)
            if self.stray:  # also if the case then ended in another way
                again = answer["status"] in ("hang", "timeout", "died", "lost")
                return {
                    "status": "lost" if again else "malformed",
                    "kind": "line that is no answer",
                    "message": stray_text(self.stray),
                }
        except Malformed as error:
            return {"status": "lost", "message": str(error)}
        except Late:
            return {
                "status": "timeout",
                "message": f"the adapter did not read its standard input for {self.deadline:g} s",
            }
        ledgers.look()
        if ledgers.bad is not None and answer["status"] != "lost":
            return {
                "status": "malformed",
                "kind": "malformed ledger",
                "message": f"ledger: {ledgers.bad}",
            }
        try:
            if answer["status"] == "ok":
                budget = protocol.Budget(self.size)
                protocol.load(answer, case, budget)
                self.size = limits.ANSWER - budget.left
                answer["streams"] = streams.read(folder, case["world"])
        except Malformed as error:
            return {"status": "malformed", "message": str(error)}
        except streams.InvalidLog as error:
            return {"status": "malformed", "kind": "malformed stream log", "message": str(error)}
        return answer

    def wait(self, ledgers, end):
        watch = idle.Watch(QUIET)
        while time.monotonic() < end:
            line = self.line(min(end, time.monotonic() + 0.1))
            if line == b"":
                return {"status": "died", "message": f"the adapter's process {self.ending()}"}
            if line is not None:
                if not is_stray(line):
                    self.size = len(line)
                    return self.parse(line)
                if self.stray is None:
                    self.stray = line
                    watch.begin()
            elif self.stray and watch.asleep(idle.below(self.process.popen.pid)):
                return {"status": "lost"}  # no answer follows
            news = ledgers.look()
            now = ledgers.growing()
            if now.look() or news:
                watch.begin()
            quiet = time.monotonic() - now.last
            if now.bad is not None:
                if quiet > STUCK:
                    return {
                        "status": "lost",
                        "message": f"ledger: {now.bad}",
                        "kind": "malformed ledger",
                    }
                continue  # reported when the case has ended
            if quiet > QUIET:
                waits = waits_in(now.records, quiet > STUCK)
                if waits is None:
                    continue
                if watch.asleep(idle.below(self.process.popen.pid)) or watch.computed > SPIN:
                    return {
                        "status": "hang",
                        "message": ledger.describe_hang(waits)
                        or "ranks entered different collectives, and no rank made progress "
                        f"for {STUCK:g} s",
                        "quiet": round(quiet, 3),
                    }
        _, waits = ledger.is_hung(ledgers.growing().records, silent=True)
        message = "; ".join(
            filter(None, (f"no answer within {self.deadline:g} s", ledger.describe_hang(waits)))
        )
        return {"status": "timeout", "message": message}

    @staticmethod
    def parse(line):
        try:
            return protocol.answer_of(line)
        except Malformed as error:
            return {"status": "malformed", "message": str(error)}
