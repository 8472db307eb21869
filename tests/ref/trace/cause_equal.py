"""Random programs with runs of equal operations at call sites and in steps of their own, in which
one rank may skip one of a run, or enter one more. The arguments of the operations do not show which
one it was; the sites and steps do. Used by cause_score.py; the simulator is in cause_programs.py.
"""

import random
import sys

from cause_programs import (
    ALL_REDUCE,
    FP32,
    RECV,
    SEND,
    SUM,
    Program,
    Run,
    families,
    p2p,
    signature,
    wait_for,
    write,
)

KINDS = ["skip", "extra", "shift"]
# So many operations, besides the first, must be in the step of the next one, or only at its site.
EVIDENCE = {True: 2, False: 6}
RUN_OUT = "train.py:900"  # the site of an operation that only makes up for a skipped one


def runs(dice, world):
    """The runs of a step: (groups, sig, asynchronous, sites of its operations)."""
    choices = families(dice, world)[: dice.choice([1, 1, 1, 2])]
    found, line = [], 10
    for _ in range(dice.randint(1, 3)):
        groups = dice.choice(choices)[1]
        sig = signature(dice, len(groups[0]))
        count = dice.choice([1, 1, 2, 3, 4])
        loop = dice.random() < 0.4
        sites = []
        for _ in range(count):
            line += 0 if loop and sites else 5
            sites.append(f"train.py:{line};main.py:7")
        found.append((groups, sig, dice.random() < 0.3, sites))
    return found


def branches(dice, sites, world):
    """Another line on one rank, as in `if rank == 0:` with the same operation in both branches."""
    rank = dice.randrange(world)
    return {r: sites if r != rank else sites + ";rare.py:1" for r in range(world)}


def build(dice, world, branch):
    program = Program(world)
    program.marks = dice.random() < 0.85
    lined = not program.marks or dice.random() < 0.85
    steps = runs(dice, world)
    unit = 0
    for step in range(dice.randint(3, 6)):
        waits = []
        if program.marks:
            for events in program.events:
                events.append(("step", step))
        for groups, sig, later, sites in steps:
            for site in sites:
                unit += 1
                if lined:
                    program.lines[unit] = branches(dice, site, world) if branch else site
                for ranks in groups:
                    for rank in ranks:
                        event = ("op", program.group(ranks), sig, later, unit)
                        program.events[rank].append(event)
                if later:
                    waits.append(unit)
        wait_for(program, waits)
    return program


def moments(program, rank):
    """(event, step, site) of the rank's operations, in order."""
    step, found = -1, []
    for i, e in enumerate(program.events[rank]):
        if e[0] == "step":
            step = e[1]
        elif e[0] == "op":
            found.append((i, step, program.site(rank, e)))
    return found


def deviate(dice, program, kind):
    """Changes one rank. Returns 1 if the program permits such a deviation."""
    rank = dice.randrange(program.world)
    events = program.events[rank]
    by_group = {}
    for i, step, site in moments(program, rank):
        if len(program.groups[events[i][1]]) > 1:
            by_group.setdefault(events[i][1], []).append((i, step, site))
    if not by_group:
        return 0
    mine = dice.choice(sorted(by_group.items()))[1]
    sigs = [events[i][2] for i, _, _ in mine]
    equal = [k for k in range(1, len(mine) - 1) if sigs[k] in (sigs[k - 1], sigs[k + 1])]
    if not equal:
        return 0
    k = dice.choice(equal)
    at, step, site = mine[k]
    event = events[at]
    program.deviation, program.moment = (kind, rank), (step, site)
    program.group_of_deviation = event[1]
    program.stuck = dice.random() < 0.4
    if kind == "extra":
        if program.lines and dice.random() < 0.5:
            program.moment = (step, "train.py:99")
        program.lines[-1] = program.moment[1]
        events.insert(at, ("op", *event[1:3], False, -1))
        return 1
    if kind == "shift":  # up to the end all are equal, and the rank makes up for it after the last
        if len(set(sigs[k:])) > 1:
            return 0
        last = mine[-1][0]
        program.lines[-1] = RUN_OUT if program.lines else None
        events.insert(last + 1, ("op", *event[1:3], False, -1))
    unit = event[4]
    program.events[rank] = [e for i, e in enumerate(events) if i != at and e != ("wait", unit)]
    return 1


def make(seed, least, most):
    """The program of a seed: every fourth one is correct."""
    for attempt in range(1000):
        dice = random.Random(f"equal {seed} {attempt}")
        world = dice.randint(least, most)
        correct = seed % 4 == 0
        program = build(dice, world, correct and seed % 8 == 0)
        if correct or deviate(dice, program, dice.choice(KINDS)):
            return program
    raise AssertionError(seed)


def first_shifted(program, run):
    """Of a program whose rank skipped one and made up for it: the rank's record, and the step and
    the site that another member had, where they first differ, or None if not more than EVIDENCE
    do."""
    rank = program.deviation[1]
    ranks = program.groups[program.group_of_deviation]
    other = next(r for r in ranks if r != rank)
    lists = []
    for r in (rank, other):
        step, record, found = -1, 0, []
        for e in run.traces[r]:
            if e[0] == "step":
                step = e[1]
            elif e[0] == "op":
                if e[1] == program.group_of_deviation:
                    found.append((record, step, program.site(r, e)))
                record += 1
        lists.append(found)
    pairs = zip(*lists, strict=False)
    differ = [(mine[0], *theirs[1:]) for mine, theirs in pairs if mine[1:] != theirs[1:]]
    return differ[0] if len(differ) > EVIDENCE[program.marks] else None


def loop(folder, world, steps, *options):
    """A loop with one all_reduce a step. Options: "bare": neither steps nor sites;
    "skip:RANK:STEP", "extra:RANK:STEP", and "last:RANK": one more after the last step.
    "rotated:RANK": three a step, at lines of their own, which are rotated on one rank.
    "pair": rank 0 sends to rank 1 instead, each at a line of its own.
    "shapes:N": before, N operations with other counts, which take N definitions."""
    program = Program(int(world))
    group = program.group(range(program.world))
    program.marks = "bare" not in options
    rotated = [int(o.split(":")[1]) for o in options if o.startswith("rotated:")]
    each = 3 if rotated else 1
    for unit in range(int(steps) * each if rotated else 0):
        sites = [f"train.py:{15 + (unit + shift) % each}" for shift in range(2)]
        program.lines[unit] = {r: sites[r in rotated] for r in range(program.world)}
    shapes = next((int(o.split(":")[1]) for o in options if o.startswith("shapes:")), 0)
    for events in program.events:
        for n in range(shapes):
            events.append(("op", group, (ALL_REDUCE, SUM, FP32, 5 + n, -1), False, -1 - n))
    for step in range(int(steps)):
        if program.marks and not rotated:
            program.lines[step] = "train.py:15"
        if "pair" in options:
            program.lines[step] = {0: "train.py:10", 1: "train.py:11"}
        for rank, events in enumerate(program.events):
            if program.marks:
                events.append(("step", step))
            times = 1 - (f"skip:{rank}:{step}" in options) + (f"extra:{rank}:{step}" in options)
            times += f"last:{rank}" in options and step == int(steps) - 1
            units = [step * each + i for i in range(each - 1)] + [step * each + each - 1] * times
            sig = (ALL_REDUCE, SUM, FP32, 4, -1)
            if "pair" in options:
                sig = p2p(RECV if rank == 1 else SEND, 1 - rank, 4)
            events += [("op", group, sig, False, u) for u in units]
    write(program, Run(program), folder)


if __name__ == "__main__":
    loop(*sys.argv[1:])
