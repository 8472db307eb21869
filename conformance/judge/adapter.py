"""A subject's adapter: one process, one JSON object a line each way (ADAPTER.md)."""
import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

import ledger
import streams

PROTOCOL = 1
STUCK = 5.0  # the same, after which ranks that have entered different things are not waited for any longer
QUIET = 0.75  # seconds without a new record, after which ledgers are asked whether anyone can go on


class AdapterError(Exception):
    """The adapter does not speak the protocol."""


class Ledgers:
    """The files that ranks append to before they enter anything: read as they grow."""

    def __init__(self, folder, world):
        self.folder, self.world = folder, world
        self.records = [[] for _ in range(world)]
        self.read = [0] * world
        self.rest = [""] * world
        self.last = time.monotonic()

    def look(self):
        """Reads what is new; true when there is something."""
        news = False
        for q in range(self.world):
            name = os.path.join(self.folder, f"rank-{q}.jsonl")
            try:
                size = os.path.getsize(name)
            except OSError:
                continue
            if size <= self.read[q]:
                continue
            with open(name, "rb") as file:  # no further than size: it grows while it is read
                file.seek(self.read[q])
                text = self.rest[q] + file.read(size - self.read[q]).decode("utf-8", errors="replace")
            self.read[q] = size
            *lines, self.rest[q] = text.split("\n")
            for line in lines:
                if line.strip():
                    record = json.loads(line)
                    if not isinstance(record, dict):
                        raise ledger.Bad(f"rank {q}: a ledger line that is no object")
                    ledger.check_record(record, q, self.world)
                    self.records[q].append(record)
                    news = True
        if news:
            self.last = time.monotonic()
        return news


class Adapter:
    def __init__(self, command, deadline=120, log=None):
        self.command, self.deadline, self.log = command, deadline, log
        self.process, self.buffer = None, b""
        self.restarts = 0

    def start(self):
        try:
            self.process = subprocess.Popen(
                shlex.split(self.command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self.log or subprocess.DEVNULL, start_new_session=True)
        except OSError as error:
            raise AdapterError(f"'{self.command}' cannot be started: {error.strerror}") from error
        self.buffer = b""

    def stop(self, kindly=False):
        if self.process is None:
            return
        if kindly and self.process.poll() is None:
            try:
                self.process.stdin.write(b'{"do":"bye"}\n')
                self.process.stdin.close()
                self.process.wait(timeout=5)
            except (OSError, subprocess.TimeoutExpired):
                pass
        try:  # its ranks too
            os.killpg(self.process.pid, signal.SIGKILL)
        except OSError:
            pass
        self.process.wait()
        self.process.stdout.close()
        self.process = None

    def send(self, request):
        if self.process is None:
            self.start()
            self.restarts += 1
        try:
            self.process.stdin.write(json.dumps(request, separators=(",", ":")).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            pass  # its end is seen when it is read

    def line(self, seconds):
        """The next line, or None when there is none yet; b"" at the end."""
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], seconds)
            if not ready:
                return None
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            if not more:
                return b""
            self.buffer += more
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def hello(self):
        self.send({"do": "hello", "protocol": PROTOCOL})
        end = time.monotonic() + self.deadline
        while time.monotonic() < end:
            line = self.line(1)
            if line is None:
                continue
            try:
                answer = json.loads(line)
                name, version = answer["name"], answer["version"]
            except (ValueError, KeyError, TypeError):
                raise AdapterError(f"'{self.command}' answers hello with {line[:200]!r}") from None
            if answer.get("protocol") != PROTOCOL or not isinstance(name, str) or not isinstance(version, str):
                raise AdapterError(f"'{self.command}' does not speak protocol {PROTOCOL}")
            return answer
        raise AdapterError(f"'{self.command}' does not answer hello within {self.deadline} s")

    def run(self, case):
        """(answer, ledgers): the answer's status is ok, error, unsupported, hang or timeout."""
        folder = tempfile.mkdtemp(prefix="zeroproof-")
        ledgers = Ledgers(folder, case["world"])
        try:
            self.send({"do": "run", "case": case, "ledgers": folder})
            answer = self.wait(ledgers)
            try:
                ledgers.look()
            except (ValueError, ledger.Bad) as error:
                answer = {"status": "error", "message": f"ledger: {error}"}
            try:
                answer["streams"] = streams.read(folder, case["world"])
            except streams.Bad as error:
                answer = {"status": "error", "message": f"stream events: {error}"}
            if answer["status"] in ("hang", "timeout", "died"):
                self.stop()
            return answer, ledgers.records
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def wait(self, ledgers):
        end = time.monotonic() + self.deadline
        while time.monotonic() < end:
            line = self.line(0.1)
            if line == b"":
                return {"status": "died", "message": "the adapter's process ended"}
            if line is not None:
                return self.parse(line)
            try:
                ledgers.look()
            except (ValueError, ledger.Bad):
                continue  # told when the case has ended
            quiet = time.monotonic() - ledgers.last
            if quiet > QUIET:
                hung, waits = ledger.is_hung(ledgers.records)
                if hung or (quiet > STUCK and ledger.disagree(ledgers.records)):
                    return {"status": "hang", "message": ledger.describe_hang(waits) or
                            f"ranks have entered different collectives, and for {STUCK:g} s nothing moves",
                            "waits": waits, "quiet": round(quiet, 3)}
        hung, waits = ledger.is_hung(ledgers.records)
        return {"status": "timeout", "message": f"no answer within {self.deadline} s; " +
                ledger.describe_hang(waits), "waits": waits}

    @staticmethod
    def parse(line):
        try:
            answer = json.loads(line)
        except ValueError:
            return {"status": "error", "message": f"no JSON: {line[:200]!r}"}
        if not isinstance(answer, dict) or answer.get("status") not in ("ok", "error", "unsupported"):
            return {"status": "error", "message": f"an answer without a status: {line[:200]!r}"}
        return answer
