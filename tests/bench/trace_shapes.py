"""Writes small folders of traces whose shape makes a judge slow that searches lists, and times
zeroproof trace check on them.

python3 tests/bench/trace_shapes.py [--records N] prints a table; `make trace-bench` runs it, too.
Exit codes: 0 if each verdict is the expected one; 1 if not. The rate does not change the exit code.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile

BUILD = os.environ.get("ZP_BUILD", "build")
COMMAND = os.environ.get("ZEROPROOF", os.path.join(BUILD, "zeroproof"))
ALL_REDUCE, SEND, RECV, FP32, SUM = 1, 10, 11, 8, 2
ASYNC, ANY = 1, 2
CALL, CALL_END, END = b"\x06", b"\x07", b"\x09"


def number(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


class Trace:
    """A trace of one rank; group 0 has all ranks."""

    def __init__(self, rank, world):
        header = number(rank) + number(world)
        self.bytes = bytearray(b"ZPTRACE\x01" + header)
        self.rank, self.world, self.groups = rank, world, 0
        self.group(b"world", range(world))

    def group(self, name, ranks):
        fields = [len(ranks), ranks.index(self.rank) + 1, 1, ranks[0], 2 * (ranks.step), len(ranks)]
        self.bytes += b"\x01" + number(self.groups) + number(len(name)) + name
        self.bytes += b"".join(map(number, fields))
        self.groups += 1
        return self.groups - 1

    def define(self, number_, op, group=0, peer=-1, flags=0):
        redop = SUM if op == ALL_REDUCE else 1
        fields = [2, number_, op, redop, FP32, 2, group, peer + 1, flags, 0]
        self.bytes += b"".join(map(number, fields))

    def ops(self, number_, n=1):
        self.bytes += number(16 + number_) * n

    def source(self, ago, place):
        self.bytes += b"\x0b" + number(ago) + number(place + 1)

    def write(self, folder):
        with open(os.path.join(folder, f"rank-{self.rank}.zpt"), "wb") as file:
            file.write(self.bytes + END)


def two():
    return Trace(0, 2), Trace(1, 2)


def sends(n, call=False):
    a, b = two()
    a.define(0, SEND, peer=1)
    if call:
        a.bytes += CALL
    a.ops(0, n)
    if call:
        a.bytes += CALL_END
    return a, b


def any_source(n, order, call=False):
    """n receives from any source, then their sources: in order, in reverse order, or never."""
    a, b = sends(n, call)
    b.define(0, RECV, flags=ANY | ASYNC)
    b.ops(0, n)
    if order == "in order":
        for _ in range(n):
            b.source(n - _, 0)
    elif order == "in reverse order":
        for k in range(n):
            b.source(k + 1, 0)
    return a, b


def any_source_ends(n):
    """One receive has no recorded source until the end, later ones are completed one by one."""
    a, b = sends(n)
    b.define(0, RECV, flags=ANY | ASYNC)
    b.ops(0)
    for _ in range(n - 1):
        b.ops(0)
        b.source(1, 0)
    b.source(n, 0)
    return a, b


def grouped(n, receiver_call):
    a, b = sends(n, call=True)
    b.define(0, RECV, peer=0)
    if receiver_call:
        b.bytes += CALL
    b.ops(0, n)
    if receiver_call:
        b.bytes += CALL_END
    return a, b


def two_groups(**more):
    """Two ranks that are in two groups; operation 0 is the first group's, 1 the second's."""
    a, b = two()
    for t in (a, b):
        t.group(b"second", range(2))
        t.define(0, ALL_REDUCE, group=0, **more)
        t.define(1, ALL_REDUCE, group=1, **more)
    return a, b


def open_call(n):
    """A grouped call of collectives of two groups in turn; the other rank enters them singly."""
    a, b = two_groups()
    a.bytes += CALL
    for t in (a, b):
        for _ in range(n // 2):
            t.ops(0)
            t.ops(1)
    a.bytes += CALL_END
    return a, b


def opposite(n):
    """Asynchronous operations of two groups, which the ranks enter in opposite order: cycles."""
    a, b = two_groups(flags=ASYNC)
    a.ops(0, n)
    a.ops(1, n)
    b.ops(1, n)
    b.ops(0, n)
    return a, b


def opposite_awaited(n):
    """The same, and each operation is awaited at the end."""
    a, b = opposite(n)
    for t in (a, b):
        for k in range(2 * n):
            t.bytes += b"\x05" + number(2 * n - k)
    return a, b


def bystanders(n, ranks):
    """The same as any_source without sources, beside ranks that wait for rank 1 all the time."""
    traces = [Trace(r, ranks + 2) for r in range(ranks + 2)]
    traces[0].define(0, SEND, peer=1)
    traces[0].ops(0, n)
    traces[1].define(0, RECV, flags=ANY)
    traces[1].ops(0, n)
    for t in traces:
        t.define(1, ALL_REDUCE)
        t.ops(1)
    return traces


SHAPES = [
    ("receives from any source, sources in order", 0, lambda n: any_source(n // 2, "in order")),
    ("the same, in reverse order", 0, lambda n: any_source(n // 2, "in reverse order")),
    ("the same, sends in one grouped call", 0, lambda n: any_source(n // 2, "in order", True)),
    ("the same, never recorded", 0, lambda n: any_source(n // 2, "never")),
    ("one open receive, later ones completed", 0, lambda n: any_source_ends(n // 2)),
    ("sends in one grouped call", 0, lambda n: grouped(n // 2, False)),
    ("sends and receives in one grouped call", 0, lambda n: grouped(n // 2, True)),
    ("an open call of collectives", 0, lambda n: open_call(n // 2)),
    ("asynchronous operations in opposite order", 0, lambda n: opposite(n // 4)),
    ("the same, awaited at the end", 0, lambda n: opposite_awaited(n // 4)),
    ("assumed sources beside 1,000 waiting ranks", 0, lambda n: bystanders(n // 2, 1000)),
]


def measure(traces, limit):
    with tempfile.TemporaryDirectory() as folder:
        for t in traces:
            t.write(folder)
        with tempfile.TemporaryFile("w+") as out:
            child = subprocess.Popen(
                [COMMAND, "trace", "check", folder],
                stdout=out,
                stderr=subprocess.STDOUT,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
            )
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            lines = out.read().splitlines() or [""]
    return child.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--records", type=int, default=1000000, help="of all ranks (1000000)")
    parser.add_argument("--limit", type=int, default=300, help="seconds of processor time (300)")
    options = parser.parse_args()
    failed = 0
    print("| shape | million records/s and core | MB at most | verdict |\n|---|---|---|---|")
    for name, code, make in SHAPES:
        got, seconds, memory, lines = measure(make(options.records), options.limit)
        failed += got != code
        rate = options.records / max(seconds, 1e-3) / 1e6
        print(
            f"| {name} | {rate:.2f} | {memory / 1e6:.0f} | {lines[0][:100]} |"
            + ("" if got == code else f" UNEXPECTED exit code {got}"),
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
