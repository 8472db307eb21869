"""Writes small folders of traces whose shape makes a judge slow that searches lists, or that
searches everything whenever no rank can proceed, and times zeroproof trace check on them.

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
MOST = 131072  # ranks of a run
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

    def group(self, name, ranks, listed=True):
        fields = [len(ranks), ranks.index(self.rank) + 1]
        fields += [1, ranks[0], 2 * ranks.step, len(ranks)] if listed else [0]
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

    def call(self, number_, n):
        """n operations in a grouped call."""
        self.bytes += CALL
        self.ops(number_, n)
        self.bytes += CALL_END

    def inline(self, op, group, peer=-1, flags=0):
        """An operation without a definition."""
        fields = [10, op, 1, FP32, 2, group, peer + 1, flags, 0]
        self.bytes += b"".join(map(number, fields))

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


def opposite_calls(n):
    """The same as opposite, but each rank has half of its operations in one grouped call."""
    a, b = two_groups(flags=ASYNC)
    a.call(0, n)
    a.ops(1, n)
    b.call(1, n)
    b.ops(0, n)
    return a, b


def cycles(n, ranks):
    """Traces of some ranks, of which the first two have n cycles of asynchronous operations."""
    traces = [Trace(r, ranks) for r in range(ranks)]
    for t in traces[:2]:
        t.group(b"first", range(2))
        t.group(b"second", range(2))
        t.define(0, ALL_REDUCE, group=1, flags=ASYNC)
        t.define(1, ALL_REDUCE, group=2, flags=ASYNC)
    traces[0].ops(0, n)
    traces[0].ops(1, n)
    traces[1].ops(1, n)
    traces[1].ops(0, n)
    return traces


def cycles_beside_sends(n):
    """n cycles, while a third rank has n sends open in one grouped call."""
    traces = cycles(n, 3)
    traces[2].define(2, SEND, peer=1)
    traces[2].call(2, n)
    traces[1].define(2, RECV, peer=2)
    traces[1].ops(2, n)
    return traces


def cycles_beside_ranks(n, ranks):
    """n cycles, while other ranks wait for both."""
    traces = cycles(n, ranks + 2)
    for t in traces:
        t.define(2, ALL_REDUCE)
        t.ops(2)
    return traces


def ended_beside_cycles(n):
    """Two ranks end with n operations of a group that they no longer wait for, since each was part
    of a cycle; then each operation of the group stalls beside another cycle."""
    first, second, third, fourth, fifth = traces = [Trace(r, 5) for r in range(5)]
    for t in traces[:4]:
        t.group(b"shared", range(4))
        t.define(0, ALL_REDUCE, group=1, flags=ASYNC if t in (third, fourth) else 0)
    for op, other, ranks in ((1, third, range(0, 3, 2)), (2, fourth, range(0, 4, 3))):
        for t in (first, other):
            t.define(op, ALL_REDUCE, group=t.group(b"pair%d" % op, ranks), flags=ASYNC)
    for op in (3, 4):
        for t in (first, fifth):
            t.define(op, ALL_REDUCE, group=t.group(b"ends%d" % op, range(0, 5, 4)), flags=ASYNC)
    for op, other, more in ((1, third, 1), (2, fourth, 0)):
        other.ops(0, n + more)
        other.ops(op, n + more)
        first.ops(op, n + more)
    for _ in range(n):
        first.ops(3)
        first.ops(4)
        first.ops(0)
        fifth.ops(4)
        fifth.ops(3)
    second.ops(0, n)
    return traces


def pairs_beside_assumed(n):
    """n pairs of rank 2 wait for their receives, while rank 1 receives n times from any source."""
    traces = [Trace(r, 3) for r in range(3)]
    for t in traces[1:]:
        for k in range(n):
            t.group(b"pair %d" % k, range(1, 3))
    traces[2].bytes += CALL
    for k in range(n):
        traces[2].inline(SEND, k + 1, 0)
    traces[2].bytes += CALL_END
    for t in traces[:2]:
        last = t.group(b"last", range(2))
        t.define(0, ALL_REDUCE, group=last)
        if t.rank == 0:
            t.define(1, SEND, group=last, peer=1)
        else:
            t.define(1, RECV, group=last, flags=ANY | ASYNC)
        for _ in range(n):
            t.ops(1)
            t.ops(0)
    for k in range(n):
        traces[1].inline(RECV, k + 1, 1)
    return traces


def queues(n):
    """Receives from any source in n groups, then n in one, with sources; 8 others stay open."""
    a, b = two()
    for t in (a, b):
        for k in range(n):
            t.group(b"group %d" % k, range(2))
    a.define(0, SEND, peer=1, flags=ASYNC)
    b.define(0, RECV, flags=ANY | ASYNC)
    b.ops(0, 8)
    for k in range(n):
        a.inline(SEND, 1 + k, 1, ASYNC)
        b.inline(RECV, 1 + k, -1, ANY | ASYNC)
        b.source(1, 0)
    a.ops(0, n + 8)
    for _ in range(n):
        b.ops(0)
        b.source(1, 0)
    for k in range(8):
        b.source(2 * n + 8 - k, 0)
    return a, b


def sparse(n, call=False):
    """n operations of two ranks in a group of all ranks, most of which have no trace."""
    traces = [Trace(r, MOST) for r in range(2)]
    for t in traces:
        t.define(0, ALL_REDUCE)
        if call:
            t.call(0, n)
        else:
            t.ops(0, n)
    return traces


def sparse_cycles(n):
    """n cycles of two ranks, while most ranks have no trace."""
    return cycles(n, MOST)[:2]


def sends_to_all(n):
    """Sends to ranks without a trace, each a pair of its own."""
    t, u = Trace(0, MOST), Trace(1, MOST)
    t.bytes += CALL
    group = 0
    for k in range(n):
        if k % (MOST - 1) == MOST - 2:
            group = t.group(b"group %d" % k, range(MOST))
        t.inline(SEND, group, 1 + k % (MOST - 1))
    t.bytes += CALL_END
    return t, u


def never_joined(n):
    """n groups with a member that never joins, while another rank waits in an open call."""
    a, b = two()
    a.define(0, SEND, peer=1)
    a.call(0, n)
    for k in range(n):
        group = b.group(b"group %d" % k, range(1, -1, -1), listed=False)
        b.inline(ALL_REDUCE, group)
    b.define(0, RECV, peer=0)
    b.ops(0, n)
    return a, b


def end_one_by_one(n, ranks):
    """Ranks that end one after another, while rank 1 waits for all of them in an open call."""
    traces = [Trace(r, ranks) for r in range(ranks)]
    for t in traces:
        t.define(0, ALL_REDUCE)
    traces[1].call(0, n)
    for t in traces[2:]:
        link = t.group(b"link %d" % t.rank, range(t.rank, t.rank + 2)) if t.rank + 1 < ranks else 0
        t.define(1, SEND, group=link, peer=1)
        if t.rank > 2:
            back = t.group(b"link %d" % (t.rank - 1), range(t.rank - 1, t.rank + 1))
            t.define(2, RECV, group=back, peer=0)
            t.ops(2)
        if link:
            t.ops(1)
    traces[0].ops(0, n)
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
    ("opposite order, half of each rank in one grouped call", 0, lambda n: opposite_calls(n // 4)),
    ("cycles beside sends in one grouped call", 0, lambda n: cycles_beside_sends(n // 6)),
    ("cycles beside 1,000 waiting ranks", 0, lambda n: cycles_beside_ranks(n // 4, 1000)),
    ("cycles in a run of 131,072 ranks, 2 of them traced", 1, lambda n: sparse_cycles(n // 4)),
    ("ranks that ended, beside cycles", 1, lambda n: ended_beside_cycles(n // 12)),
    ("pairs that wait beside assumed sources", 0, lambda n: pairs_beside_assumed(n // 6)),
    ("receives from any source in many groups", 0, lambda n: queues(n // 4)),
    ("2 of 131,072 ranks in a group of all", 1, lambda n: sparse(n // 2)),
    ("the same, in grouped calls", 1, lambda n: sparse(n // 2, True)),
    ("sends to 131,071 ranks without a trace", 1, sends_to_all),
    ("members that never join, beside an open call", 1, lambda n: never_joined(n // 3)),
    ("1,000 ranks end, awaited in one open call", 1, lambda n: end_one_by_one(n // 2, 1000)),
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
            lines = [s for s in out.read().splitlines() if " records of " in s] or [""]
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
