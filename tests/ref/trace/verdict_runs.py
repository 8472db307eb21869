"""Runs for test_trace_verdict.sh: verdict_runs.py FOLDER NAME ARG... writes their traces."""

import sys

from cause_programs import (
    ALL_REDUCE,
    BARRIER,
    BROADCAST,
    FP32,
    I64,
    NONE,
    RECV,
    SEND,
    SUM,
    Program,
    Run,
    write,
)


def argument(value):
    return -1 if value == "?" else int(value)


def values(*each):
    """Each rank enters a broadcast with a root, count or type of its own: "root:0" … "count:4" …
    "dtype:fp32"; "count:?" is unknown. The operation before it and after it is the same on all."""
    program = Program(len(each))
    group = program.group(range(len(each)))
    program.lines = {0: "ex.py:10", 1: "ex.py:16;main.py:3", 2: "ex.py:20"}
    for rank, (name, value) in enumerate(e.split(":") for e in each):
        count = argument(value) if name == "count" else 4
        root = argument(value) if name == "root" else 0
        dtype = {"i64": I64, "?": 0}.get(value, FP32) if name == "dtype" else FP32
        for unit in range(3):
            sig = (BROADCAST, NONE, dtype, count, root) if unit == 1 else PLAIN
            program.events[rank] += [("step", unit), ("op", group, sig, False, unit)]
    return program


def barriers():
    """Rank 1 skips the second of three barriers, and enters an operation instead."""
    program = Program(2)
    group = program.group(range(2))
    for rank, events in enumerate(program.events):
        for unit in range(3):
            sig = PLAIN if rank == unit == 1 else (BARRIER, NONE, 0, 0, -1)
            events += [("step", unit), ("op", group, sig, False, unit)]
    return program


def circle():
    """Two ranks that enter the operations of two groups in another order, in step 7."""
    program = Program(3)
    groups = program.group([0, 1, 2]), program.group([0, 1])
    for rank, events in enumerate(program.events):
        events.append(("step", 7))
        for unit in (1, 0) if rank == 1 else (0, 1):
            if rank in program.groups[groups[unit]]:
                events.append(("op", groups[unit], PLAIN, False, unit))
    return program


def alternating(rank_that_skips):
    """Data parallel training on two ranks, with a barrier in every second step. In the last step
    one rank skips the all_reduce of the loss."""
    program = Program(2)
    group = program.group(range(2))
    program.stuck = True  # operations that differ block their members
    for rank, events in enumerate(program.events):
        for step in range(5):
            unit = 3 * step
            if step == 1:  # as DistributedDataParallel does, which rearranges its buckets
                buckets = [(BROADCAST, NONE, 4, count, 0) for count in (5, 1)]
                events += [("op", group, sig, True, 100 + sig[3]) for sig in buckets]
            events += [("op", group, GRADIENTS, True, unit), ("step", step)]
            if step < 4 or rank != int(rank_that_skips):
                events.append(("op", group, LOSS, False, unit + 1))
            if step % 2 == 0:
                events.append(("op", group, (BARRIER, NONE, 0, 0, -1), False, unit + 2))
    return program


def asynchronous():
    """Rank 1 stops before an asynchronous operation, and rank 0 waits in a later one."""
    program = Program(2)
    group = program.group(range(2))
    for rank, events in enumerate(program.events):
        for step in range(3):
            if step == 2 and rank == 1:
                break
            unit = 2 * step
            events += [("op", group, GRADIENTS, True, unit), ("op", group, LOSS, False, unit + 1)]
    program.ends[1] = "hang"
    return program


def two_operations():
    """Rank 1 sends 4 elements to rank 0, which receives 8: the send is read first."""
    program = Program(2)
    group = program.group(range(2))
    program.events[0].append(("op", group, (RECV, NONE, FP32, 8, 1), False, 0))
    program.events[1].append(("op", group, (SEND, NONE, FP32, 4, 0), False, 0))
    return program


def two_deviations():
    """Two pairs of ranks. In each one, the counts differ."""
    program = Program(4)
    for rank, events in enumerate(program.events):
        pair = program.group([rank // 2 * 2, rank // 2 * 2 + 1])
        events.append(("op", pair, (BROADCAST, NONE, FP32, 4 + rank % 2, 0), False, 0))
    return program


def shifted():
    """Rank 1 skips the operation of step 2, and enters one more at the end."""
    program = Program(3)
    group = program.group(range(3))
    for rank, events in enumerate(program.events):
        for step in range(6):
            program.lines[step] = "ex.py:10"
            events.append(("step", step))
            if (rank, step) != (1, 2):
                events.append(("op", group, PLAIN, False, step))
    program.lines[6] = "ex.py:10"
    program.events[1].append(("op", group, PLAIN, False, 6))
    return program


GRADIENTS = (ALL_REDUCE, SUM, FP32, 676, -1)
LOSS = (ALL_REDUCE, SUM, FP32, 1, -1)
PLAIN = (BROADCAST, NONE, FP32, 9, 0)
RUNS = {
    "values": values,
    "barriers": barriers,
    "circle": circle,
    "alternating": alternating,
    "asynchronous": asynchronous,
    "two_operations": two_operations,
    "two_deviations": two_deviations,
    "shifted": shifted,
}

if __name__ == "__main__":
    made = RUNS[sys.argv[2]](*sys.argv[3:])
    write(made, Run(made), sys.argv[1])
