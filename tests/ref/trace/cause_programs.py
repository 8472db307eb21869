"""Random SPMD programs with overlapping groups, run by a simulator that writes traces as the
recorder does (conformance/TRACE.md). One rank may deviate once.

A program is a list of events for each rank: ("op", group, sig, async, unit), ("wait", unit),
("call",), ("call_end",), ("step", n). A sig is (op, redop, dtype, count, root or peer, both group
ranks). The simulator enters each operation before it blocks; a rank that never returns leaves a
trace without an end mark.
"""

import os
import random
import sys

ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, REDUCE, BROADCAST, BARRIER = 1, 2, 3, 4, 5, 9
SEND, RECV = 10, 11
NONE, SUM, MAX = 1, 2, 5
FP32, BF16, I64 = 8, 10, 5
KINDS = ["skip", "order", "count", "dtype", "op", "root", "extra", "exit", "hang"]


class Program:
    def __init__(self, world):
        self.world = world
        self.groups = []  # lists of ranks
        self.events = [[] for _ in range(world)]
        self.ends = ["end"] * world  # "end", "exit", "hang"
        self.deviation = None  # (kind, rank)
        self.stuck = self.eager = False
        self.marks = True
        self.lines = {}  # unit: the call site of its operations, or {rank: site}

    def group(self, ranks):
        ranks = sorted(ranks)
        if ranks not in self.groups:
            self.groups.append(ranks)
        return self.groups.index(ranks)

    def site(self, rank, event):
        """The call site of an operation, or None."""
        site = self.lines.get(event[4])
        return site.get(rank) if isinstance(site, dict) else site


# ---- Programs ------------------------------------------------------------------------------------


def grid(dice, world):
    """Rows and columns, or None."""
    shapes = [(a, world // a) for a in range(2, world) if world % a == 0]
    if not shapes:
        return None
    rows, columns = dice.choice(shapes)
    return (
        [[r * columns + c for c in range(columns)] for r in range(rows)],
        [[r * columns + c for r in range(rows)] for c in range(columns)],
    )


def families(dice, world):
    """Sets of disjoint groups that take part in one call: (weight, groups)."""
    found = [(10, [list(range(world))])]
    shape = grid(dice, world)
    if shape is not None:
        for side in shape:
            found.append((4 if len(side[0]) > 2 else 1, side))
    for _ in range(dice.choice([1, 2])):
        if world > 3:
            size = dice.randint(3, world - 1)
            found.append((4, [sorted(dice.sample(range(world), size))]))
    if world > 2 and dice.random() < 0.3:
        found.append((1, [sorted(dice.sample(range(world), 2))]))
    return found


def signature(dice, size):
    op = dice.choice([ALL_REDUCE] * 4 + [REDUCE_SCATTER, ALL_GATHER, REDUCE, BROADCAST, BARRIER])
    if op == BARRIER:
        return (op, NONE, 0, -1, -1)
    reduces = op in (ALL_REDUCE, REDUCE_SCATTER, REDUCE)
    return (
        op,
        dice.choice([SUM, SUM, MAX]) if reduces else NONE,
        dice.choice([FP32, FP32, BF16]),
        dice.choice([1, 4, 16, 96, 1024]),
        dice.randrange(size) if op in (REDUCE, BROADCAST) else -1,
    )


def pattern(dice, world, calls):
    """The calls of a step: each a function from a rank to (opening events, later events)."""
    choices = families(dice, world)
    found = []
    for _ in range(calls):
        kind = dice.random()
        if kind < 0.06 and world > 2:
            found.append(("ring", dice.choice([4, 64]), dice.choice(["call", "async"])))
        elif kind < 0.09:
            found.append(("pair", dice.sample(range(world), 2), dice.choice([4, 64])))
        else:
            groups = dice.choices([g for _, g in choices], [w for w, _ in choices])[0]
            sig = signature(dice, len(groups[0]))
            found.append(("all", groups, sig, dice.random() < 0.2))
    return found


def p2p(op, peer, count):
    return (op, NONE, FP32, count, peer)


def add_call(program, call, unit):
    world = program.group(range(program.world))
    if call[0] == "all":
        _, groups, sig, is_async = call
        for ranks in groups:
            for rank in ranks:
                program.events[rank].append(("op", program.group(ranks), sig, is_async, unit))
        return is_async
    if call[0] == "pair":
        (a, b), count = call[1], call[2]
        program.events[a].append(("op", world, p2p(SEND, b, count), False, unit))
        program.events[b].append(("op", world, p2p(RECV, a, count), False, unit))
        return False
    for rank in range(program.world):
        right, left = (rank + 1) % program.world, (rank - 1) % program.world
        grouped = call[2] == "call"
        events = [
            ("op", world, p2p(SEND, right, call[1]), not grouped, unit),
            ("op", world, p2p(RECV, left, call[1]), not grouped, unit + 0.5),
        ]
        if grouped:
            events = [("call",), *events, ("call_end",)]
        else:
            events += [("wait", unit), ("wait", unit + 0.5)]
        program.events[rank] += events
    return False


def build(dice, world):
    """A correct program."""
    program = Program(world)
    program.marks = dice.random() < 0.8
    steps = dice.choice([2, 3, 3, 4])
    calls = pattern(dice, world, dice.randint(3, 6))
    final = pattern(dice, world, 1) if dice.random() < 0.3 else []
    unit = 0
    for step in range(steps):
        waits = []
        if program.marks:
            for events in program.events:
                events.append(("step", step))
        for call in calls + (final if step == steps - 1 else []):
            unit += 1
            if add_call(program, call, unit):
                waits.append(unit)
            if waits and dice.random() < 0.4:
                wait_for(program, waits)
        wait_for(program, waits)
    return program


def wait_for(program, waits):
    for events in program.events:
        open_units = {e[4] for e in events if e[0] == "op"}
        events += [("wait", u) for u in waits if u in open_units]
    waits.clear()


# ---- Deviations ----------------------------------------------------------------------------------


def other_signature(dice, kind, sig, size):
    op, redop, dtype, count, root = sig
    if kind == "count" and count > 0:
        return (op, redop, dtype, dice.choice([c for c in (2, 8, 32, 512) if c != count]), root)
    if op >= SEND:
        return None
    if kind == "dtype" and dtype:
        return (op, redop, dice.choice([d for d in (FP32, BF16, I64) if d != dtype]), count, root)
    if kind == "root" and root >= 0 and size > 1:
        return (op, redop, dtype, count, dice.choice([r for r in range(size) if r != root]))
    if kind == "op" and op != BARRIER:
        new = dice.choice([o for o in (ALL_REDUCE, ALL_GATHER, BROADCAST, REDUCE) if o != op])
        root = dice.randrange(size) if new in (BROADCAST, REDUCE) else -1
        return (new, SUM if new in (ALL_REDUCE, REDUCE) else NONE, dtype, count, root)
    return None


def deviate(dice, program, kind):
    """Changes one rank. Returns 1 if the program permits such a deviation."""
    rank = dice.randrange(program.world)
    events = program.events[rank]
    ops = [i for i, e in enumerate(events) if e[0] == "op" and len(program.groups[e[1]]) > 1]
    if len(ops) < 4:
        return 0
    program.deviation = (kind, rank)
    program.stuck, program.eager = dice.random() < 0.4, dice.random() < 0.3
    at = dice.choice(ops[len(ops) // 4 :])
    event = events[at]
    if kind == "skip":
        unit = event[4]
        program.events[rank] = [e for i, e in enumerate(events) if i != at and e != ("wait", unit)]
    elif kind == "order":
        later = [i for i in ops if i > at]
        if not later or events[later[0]][1:3] == event[1:3]:
            return 0
        other = events[later[0]]
        between = events[at + 1 : later[0]]
        if any(e[0] in ("call", "call_end") or e == ("wait", event[4]) for e in between):
            return 0
        events[at], events[later[0]] = other, event
    elif kind == "extra":
        model = events[dice.choice(ops)]
        if model[2][0] >= SEND and dice.random() < 0.7:
            return 0
        events.insert(at, ("op", model[1], model[2], False, -1))
    elif kind in ("exit", "hang"):
        program.events[rank] = events[:at]
        program.ends[rank] = kind
    else:
        sig = other_signature(dice, kind, event[2], len(program.groups[event[1]]))
        if sig is None:
            return 0
        events[at] = (*event[:2], sig, *event[3:])
    return 1


def make(seed, least, most):
    """The program of a seed: every fourth one is correct."""
    for attempt in range(1000):
        dice = random.Random(f"{seed} {attempt}")
        world = dice.randint(least, most)
        if world == 2 and dice.random() < 0.7:
            world = min(most, 6)
        program = build(dice, world)
        kind = KINDS[seed // 4 % len(KINDS)] if seed % 4 == 1 else dice.choice(KINDS)
        if seed % 4 == 0 or deviate(dice, program, kind):
            return program
    raise AssertionError(seed)


def example(steps, world=4):
    """All ranks, then ranks 2 and 3; in the last step rank 2 skips the operation of all."""
    program = Program(world)
    every, pair = program.group(range(world)), program.group([2, 3])
    for step in range(steps):
        for rank, events in enumerate(program.events):
            events.append(("step", step))
            if rank != 2 or step < steps - 1:
                events.append(("op", every, (ALL_REDUCE, SUM, FP32, 4, -1), False, 2 * step))
            if rank in (2, 3):
                events.append(("op", pair, (ALL_GATHER, NONE, FP32, 8, -1), False, 2 * step + 1))
    return program


# ---- The simulator -------------------------------------------------------------------------------


def meeting_of(program, rank, event):
    """The key of the sequence of operations that an event belongs to, and its members."""
    group, sig = event[1], event[2]
    ranks = program.groups[group]
    if sig[0] < SEND:
        return (group,), ranks
    me = ranks.index(rank)
    ends = (me, sig[4]) if sig[0] == SEND else (sig[4], me)
    return (group, *ends), [ranks[ends[0]], ranks[ends[1]]]


def agree(a, b):
    if a[0] >= SEND:
        return a[2:4] == b[2:4]
    return a == b


class Run:
    """What each rank entered: the events of its trace, and how the trace ends."""

    def __init__(self, program):
        self.program = program
        self.at = [0] * program.world
        self.open = [{} for _ in range(program.world)]  # unit: meeting
        self.calls = [None] * program.world
        self.counts = {}
        self.meetings = {}  # (key, k): {rank: sig}
        self.first = {}  # its first rank and event
        self.entered = [False] * program.world
        moved = True
        while moved:
            moved = False
            for rank in range(program.world):
                while self.advance(rank):
                    moved = True
        self.traces = []
        self.ends = []
        for rank in range(program.world):
            events = program.events[rank]
            stopped = self.at[rank] < len(events)
            self.traces.append(events[: self.at[rank] + (stopped and self.entered[rank])])
            self.ends.append("cut" if stopped or program.ends[rank] == "hang" else "end")

    def is_complete(self, meeting):
        entered = self.meetings[meeting]
        members = meeting_of(self.program, *self.first[meeting])[1]
        if len(entered) < len(members):
            sends = all(sig[0] == SEND for sig in entered.values())
            return self.program.eager and sends and len(meeting[0]) > 1
        sigs = list(entered.values())
        return not self.program.stuck or all(agree(sigs[0], s) for s in sigs)

    def enter(self, rank, event):
        key, members = meeting_of(self.program, rank, event)
        k = self.counts.get((key, rank), 0)
        self.counts[(key, rank)] = k + 1
        meeting = (key, k)
        if meeting not in self.meetings:
            self.meetings[meeting] = {}
            self.first[meeting] = (rank, event)
        self.meetings[meeting][rank] = event[2]
        return meeting

    def advance(self, rank):
        """Performs a rank's next event. Returns whether it could."""
        events = self.program.events[rank]
        if self.at[rank] == len(events):
            return False
        event = events[self.at[rank]]
        done = True
        if event[0] == "op":
            if not self.entered[rank]:
                self.entered[rank] = True
                self.open[rank][event[4]] = self.enter(rank, event)
                if self.calls[rank] is not None and not event[3]:
                    self.calls[rank].append(event[4])
            in_call = self.calls[rank] is not None
            done = event[3] or in_call or self.is_complete(self.open[rank][event[4]])
        elif event[0] == "wait":
            self.entered[rank] = True
            meeting = self.open[rank].get(event[1])
            done = meeting is None or self.is_complete(meeting)
        elif event[0] == "call":
            self.calls[rank] = []
        elif event[0] == "call_end":
            self.entered[rank] = True
            done = all(self.is_complete(self.open[rank][u]) for u in self.calls[rank])
            if done:
                self.calls[rank] = None
        if done:
            self.at[rank] += 1
            self.entered[rank] = False
        return done


# ---- Traces --------------------------------------------------------------------------------------


def number(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def numbers(*values):
    return b"".join(map(number, values))


def extension(kind, body):
    return numbers(12, kind, len(body)) + body


def encode(program, rank, events, end, definitions):
    out = bytearray(b"ZPTRACE\1" + numbers(rank, program.world))
    for i, ranks in enumerate(program.groups):
        if rank in ranks:
            name = (f"group {i}" if i else "world").encode()
            out += numbers(1, i + 1, len(name)) + name
            out += numbers(len(ranks), ranks.index(rank) + 1, len(ranks))
            for member in ranks:
                out += numbers(member, 0, 1)
    ids, sites, record, records, at = {}, {None: 0}, {}, 0, None
    for event in events:
        if event[0] == "op":
            op, redop, dtype, count, root = event[2]
            fields = (op, redop, dtype, count + 1, event[1] + 1, root + 1, int(event[3]), 0)
            site = program.site(rank, event)
            if site not in sites:
                sites[site] = len(sites)
                out += extension(1, number(sites[site]) + site.encode())
            if (fields, site) not in ids:
                if site != at:
                    out += extension(2, number(sites[site]))
                    at = site
                if len(ids) < definitions:
                    ids[fields, site] = len(ids)
                    out += numbers(2, ids[fields, site], *fields)
            if (fields, site) in ids:
                out += number(16 + ids[fields, site])
            else:
                out += numbers(10, *fields)
            record[event[4]] = records
            records += 1
        elif event[0] == "wait":
            out += numbers(5, records - record[event[1]])
        elif event[0] == "step":
            out += numbers(4, event[1])
        else:
            out += number(6 if event[0] == "call" else 7)
    return bytes(out) + (b"\x09" if end == "end" else b"")


def write(program, run, folder, definitions=1024):
    """definitions: how many a trace has; the operations that are left have none."""
    for rank in range(program.world):
        with open(os.path.join(folder, f"rank-{rank}.zpt"), "wb") as file:
            file.write(encode(program, rank, run.traces[rank], run.ends[rank], definitions))


def main(folder, steps):
    program = example(int(steps))
    write(program, Run(program), folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
