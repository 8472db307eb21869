"""The trace of one rank, as a file. The format: conformance/TRACE.md."""

import contextlib
import os
import sys
import threading
import time

from zeroproof_trace_exit import BYTE, UNKNOWN, c_library, stream_of, write_status_at_exit

GROUP, DEF, PHASE, STEP, WAIT, CALL, CALL_END, TIME, END, OP, SOURCE, EXTENSION = range(1, 13)
FIRST_DEF, DEFS = 16, 1024
SITE, AT_SITE, EXIT, LABEL = range(1, 5)  # kinds of extensions
LOCKED = 8
RETURN = 16  # also a kind of extensions
SITES = 1 << 16  # readers show the texts of this many call sites
OPS = (
    "",
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "reduce",
    "broadcast",
    "gather",
    "scatter",
    "all_to_all",
    "barrier",
    "send",
    "recv",
)
REDOPS = (
    "unknown",
    "none",
    "sum",
    "prod",
    "min",
    "max",
    "avg",
    "premul_sum",
    "band",
    "bor",
    "bxor",
)
DTYPES = (
    "unknown",
    "int8",
    "uint8",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "bool",
    "int16",
    "uint16",
    "complex64",
    "complex128",
)


def number(value):
    """A number in LEB128."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def numbers(*values):
    return b"".join(map(number, values))


def text(words):
    raw = words.encode("ascii", "replace")[:255]
    return number(len(raw)) + raw


def extension(kind, *values, words=""):
    body = numbers(*values) + words.encode("ascii", "replace")[:255]
    return numbers(EXTENSION, kind, len(body)) + body


def runs(members):
    """The members as arithmetic sequences: [(first, stride, length)]."""
    found, i = [], 0
    while i < len(members):
        j, stride = i + 1, 0
        if j < len(members):
            stride = members[j] - members[i]
            while j < len(members) and members[j] - members[j - 1] == stride:
                j += 1
        found.append((members[i], stride, j - i))
        i = j
    return found


def discard(fd):
    """Lets the descriptor write to /dev/null. It is not closed: another file would get its number,
    and the status of this process."""
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, fd, inheritable=False)
        os.close(null)


class TraceFile:
    """The trace of one rank. Each record is written to the file at once."""

    def __init__(self, folder, rank, world):
        self.rank, self.groups, self.phases, self.sites = rank, {}, {"": 0}, {"": 0}
        self.defs = {}  # the arguments of operation() -> the bytes of the record
        self.count, self.last, self.now_in, self.at = 0, 0, 0, 0
        self.pending = b""  # is written with the next item
        self.lock, self.fd = threading.RLock(), None
        try:
            os.makedirs(folder, exist_ok=True)
            name = os.path.join(folder, f"rank-{rank}.zpt")
            # what exists is kept
            self.fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except OSError as error:
            self.stop(error)
        self.put(b"ZPTRACE\1" + numbers(rank, world) + self.locked())

    def locked(self):
        """Locks the file as long as this process lives, so that `trace watch` sees on this host
        whether it does. Returns an extension with the host."""
        with contextlib.suppress(ImportError, OSError, TypeError):
            import fcntl

            with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
                host = file.read().strip()
            fcntl.lockf(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return extension(LOCKED, words=host)
        return b""

    def put(self, raw):
        if self.pending:
            raw, self.pending = self.pending + raw, b""
        try:
            while self.fd is not None:
                n = os.write(self.fd, raw)
                if n == len(raw):
                    return
                raw = raw[n:]
        except OSError as error:
            self.stop(error)

    def stop(self, error):
        """Ends the trace after a failed write, without an end mark, and lets the program continue.
        Records after a torn or missing one would be misread. The descriptor is not closed: it may
        belong to another file by now."""
        self.fd = None
        with contextlib.suppress(OSError, ValueError):
            print(
                f"zeroproof: cannot write the trace of rank {self.rank}: {error}. The trace ends "
                "here, as if the rank "
                "had stopped; the program continues.",
                file=sys.stderr,
                flush=True,
            )

    def group(self, key, members, size=None, label=""):
        """The number of a group in this file. members None: unknown, so its operations are not
        judged. label: what people call it."""
        with self.lock:
            if key not in self.groups:
                self.groups[key] = len(self.groups) + 1
                self.put(extension(LABEL, self.groups[key], words=label))
                found = runs(members or [])
                zigzag = [
                    (first, 2 * stride if stride >= 0 else -2 * stride - 1, n)
                    for first, stride, n in found
                ]
                self.put(
                    numbers(GROUP, self.groups[key])
                    + text(key)
                    + numbers(
                        len(members) if members else size or 0,
                        0,
                        len(found),
                        *(v for run in zigzag for v in run),
                    )
                )
            return self.groups[key]

    def phase(self, words):
        """Sets the phase of the operations that name none."""
        self.now_in = self.number_of_phase(words)

    def number_of_phase(self, words):
        known = self.phases.get(words)
        if known is not None:
            return known
        with self.lock:
            if words not in self.phases:
                self.phases[words] = len(self.phases)
                self.put(numbers(PHASE, self.phases[words]) + text(words))
            return self.phases[words]

    def number_of_site(self, words):
        """words: "train.py:15;loop.py:88", the innermost call first."""
        with self.lock:
            if words not in self.sites:
                if len(self.sites) >= SITES:
                    return 0
                self.sites[words] = len(self.sites)
                self.put(extension(SITE, self.sites[words], words=words))
            return self.sites[words]

    def operation(
        self,
        op,
        group,
        redop="unknown",
        dtype="unknown",
        count=-1,
        root=-1,
        later=False,
        any_source=False,
        site=0,
        phase=None,
    ):
        """Records an operation and returns its number. group: from group(). count, root: -1 if
        unknown or none. site, phase: from number_of_site(), number_of_phase()."""
        if phase is None:
            phase = self.now_in
        return self.enter((op, redop, dtype, count, group, root, later, any_source, site, phase))

    def enter(self, what, raw=None):
        """operation() with its arguments as a tuple, in the same order. raw: what defs has for
        it."""
        with self.lock:
            if raw is None:
                raw = self.defs.get(what) or self.define(what)
            self.put(self.now() + raw)
            number = self.count
            self.count = number + 1
            return number

    def now(self):
        """A time item, unless the last one is less than a microsecond old."""
        now = time.monotonic_ns()
        ns = now - self.last
        if ns <= 1000:
            return b""
        self.last = now
        if ns < 1 << 21:  # a short one; leading zeros of a number are allowed
            return bytes((TIME, ns & 127 | 128, ns >> 7 & 127 | 128, ns >> 14))
        return numbers(TIME, ns)

    def define(self, what):
        """The bytes of an operation that has no definition yet, and its definition, if there is
        room for one."""
        op, redop, dtype, count, group, root, later, any_source, site, phase = what
        fields = (
            OPS.index(op),
            REDOPS.index(redop),
            DTYPES.index(dtype) if dtype in DTYPES else 0,
            count + 1,
            group,
            root + 1,
            int(later) | 2 * int(any_source),
            phase,
        )
        raw = b""
        if site != self.at:
            raw, self.at = extension(AT_SITE, site), site
        if len(self.defs) >= DEFS:
            return raw + numbers(OP, *fields)
        number_of_def = len(self.defs)
        self.defs[what] = number(FIRST_DEF + number_of_def)
        return raw + numbers(DEF, number_of_def, *fields) + self.defs[what]

    def source(self, number_of_operation, group_rank):
        """Records the source of a receive from any source."""
        with self.lock:
            self.put(numbers(SOURCE, self.count - number_of_operation, group_rank + 1))

    def wait(self, number_of_operation):
        """Records that the rank begins to wait for an asynchronous operation."""
        with self.lock:
            self.put(self.now() + numbers(WAIT, self.count - number_of_operation))

    def returned(self, number_of_operation):
        """Records that an operation, or the wait for it, has returned. This is written together
        with the next item, which saves a call."""
        with self.lock:
            self.pending += self.now() + extension(RETURN, self.count - number_of_operation)

    def mark(self, *values):
        with self.lock:
            self.put(numbers(*values))

    def close_at_exit(self):
        """Ends the trace but for the exit status, which the C library writes when the process ends.
        If something kills the process before, the trace has no end."""
        library = c_library()
        stream = library and self.fd is not None and stream_of(library, self.fd)
        if not stream:
            self.close(ended=(UNKNOWN, 0, ""))
            return
        with self.lock:
            # the second byte of the body is missing
            self.put(self.now() + numbers(EXTENSION, EXIT, 2, BYTE))
        if self.fd is not None:
            fd, self.fd = self.fd, None
            try:
                os.fsync(fd)
            except OSError as error:
                self.stop(error)
            os.register_at_fork(after_in_child=lambda: discard(fd))
            write_status_at_exit(library, stream)

    def close(self, completed=True, ended=None):
        """Ends the trace with a mark that the rank completed, unless it did not. ended: how,
        status and reason of a process that ended early, or whose status is not known yet."""
        if ended is not None and ended[0] == BYTE:
            self.close_at_exit()
        elif ended is not None:
            how, status, reason = ended
            with self.lock:
                self.put(self.now() + extension(EXIT, how, status, words=reason))
        elif completed:
            with self.lock:
                self.put(self.now() + numbers(END))
        if self.fd is not None:
            fd, self.fd = self.fd, None
            try:  # some file systems report a full disk only here
                os.fsync(fd)
                os.close(fd)
            except OSError as error:
                self.stop(error)
