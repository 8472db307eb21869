"""Compares the judge of ledgers with random small programs that are run step by step. Prints ok /
not ok lines.

The programs are run by this file: a rank proceeds once all members have entered its operation. The
judge sees only the ledgers, complete or at any moment of the run."""

import collections
import itertools
import os
import random
import sys
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "conformance", "judge"))

import ledger  # noqa: E402

FIELDS = ("op", "redop", "dtype", "count", "counts", "root")
OTHER = {"op": "reduce", "redop": "max", "dtype": "fp64", "count": 7, "counts": [7], "root": 7}
END = {"end": True}
KEYS = (*FIELDS, "group", "peer", "name", "batch", "async", "wait", "step", "end", "phase")
failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print(f"{'ok' if good else 'not ok'} {name}{'' if good else ' # ' + str(why)[:600]}")


# ---- Random programs -----------------------------------------------------------------------------


def collective(dice, world):
    """One operation of a random group: [(rank, record)]"""
    group = dice.sample(range(world), dice.randint(1, world))
    record = {"op": dice.choice(("all_reduce", "broadcast")), "dtype": "fp32", "group": group}
    record["counts" if dice.random() < 0.2 else "count"] = 1
    if "counts" in record:
        record["counts"] = [dice.randint(1, 2) for _ in group]
    record |= {"root": dice.choice(group)} if record["op"] == "broadcast" else {"redop": "sum"}
    if dice.random() < 0.3:
        record["name"] = dice.choice("ab")
    return [(q, dict(record)) for q in group]


def messages(dice, world, number):
    """A message, or two ranks (perhaps one) that send to each other in one grouped call."""
    a, b = dice.randrange(world), dice.randrange(world)
    what = {"dtype": dice.choice(("fp32", "bf16")), "count": dice.randint(1, 2)}
    found = [(a, {"op": "send", "peer": b, **what}), (b, {"op": "recv", "peer": a, **what})]
    if a != b and dice.random() < 0.5:
        return found
    found += [(b, {"op": "send", "peer": a, **what}), (a, {"op": "recv", "peer": b, **what})]
    return [(q, {**record, "batch": number}) for q, record in found]


def program(dice):
    """Ledgers of a program without a deadlock: all ranks enter the same operations in one order."""
    world = dice.randint(2, 3)
    ranks = [[] for _ in range(world)]
    for number in range(dice.randint(1, 6)):
        entered = collective(dice, world) if dice.random() < 0.6 else messages(dice, world, number)
        for rank, record in entered:
            if "batch" not in record and dice.random() < 0.2:
                record["async"] = True
            ranks[rank].append(record)
    for rank in ranks:
        for at in reversed(range(len(rank) + 1)):
            later = [n for n, record in enumerate(rank[:at]) if record.get("async")]
            if later and dice.random() < 0.2 and not split(rank, at):
                rank.insert(at, {"wait": dice.choice(later)})
    return [[*rank, END] for rank in ranks]


def split(rank, at):
    """True if a record at this index would divide a grouped call."""
    return at < len(rank) and 0 < at and "batch" in rank[at] and "batch" in rank[at - 1]


def damaged(dice, ledgers):
    """The same program with one operation dropped, repeated, altered or moved on one rank."""
    ledgers = [list(records) for records in ledgers]
    rank = dice.choice(ledgers)
    at = [n for n, record in enumerate(rank) if "op" in record]
    if at and not any("wait" in record for record in rank):
        n, how = dice.choice(at), dice.randrange(4)
        if how == 0:
            del rank[n]
        elif how == 1:
            rank.insert(n, rank[n])
        elif how == 2:
            fields = ("dtype", "count") if "peer" in rank[n] else FIELDS
            field = dice.choice([field for field in fields if field in rank[n]])
            rank[n] = {**rank[n], field: OTHER[field]}
        else:
            rank.insert(dice.choice(at), rank.pop(n))
    return ledgers


# ---- What happens in them ------------------------------------------------------------------------


def in_batch(record, other):
    return record.get("batch") == other["batch"]


class Run:
    """Runs a program. ledgers: what the ranks have published so far."""

    def __init__(self, program):
        self.program, self.ledgers = program, [[] for _ in program]
        self.entered = collections.defaultdict(dict)  # (channel, number) -> rank -> fields
        self.instances = [[] for _ in program]  # per rank: (key, members, fields) per operation
        self.numbers = collections.Counter()

    def enter(self, rank, record):
        self.ledgers[rank].append(record)
        if "op" not in record:
            return
        if "peer" in record:
            sends = record["op"] == "send"
            channel = (rank, record["peer"]) if sends else (record["peer"], rank)
            members, fields = {record["peer"]}, [record[k] for k in ("dtype", "count")]
        else:
            channel = (*record["group"], record.get("name"))
            members, fields = set(record["group"]), [record.get(k) for k in FIELDS]
        key = ("peer" in record, channel, self.numbers[rank, "peer" in record, channel])
        if "peer" not in record or record["peer"] != rank:
            self.numbers[rank, "peer" in record, channel] += 1
            self.entered[key][rank] = fields
        self.instances[rank].append((key, members - {rank}, fields))

    def lacks(self, rank, number):
        """The members that have not entered an operation of a rank."""
        key, members, fields = self.instances[rank][number]
        return {q for q in members if self.entered[key].get(q) != fields}

    def waits(self, rank, silent=False):
        """The members for which a rank waits now. silent: also within a library, for asynchronous
        operations that are no sends."""
        last = (self.ledgers[rank] or [END])[-1]
        operations = [record for record in self.ledgers[rank] if "op" in record]
        numbers = range(len(operations))
        if "wait" in last:
            numbers = [last["wait"]]
        elif "op" not in last or (last.get("async") and not silent):
            numbers = []
        elif last.get("async"):
            numbers = [n for n, r in enumerate(operations) if r.get("async") and r["op"] != "send"]
        elif "batch" in last:
            numbers = [n for n in numbers if all(in_batch(r, last) for r in operations[n:])]
        else:
            numbers = numbers[-1:]
        return set().union(*(self.lacks(rank, n) for n in numbers))

    def ready(self):
        return [
            q
            for q, records in enumerate(self.program)
            if len(self.ledgers[q]) < len(records) and not self.waits(q)
        ]

    def step(self, rank):
        """Enters the rank's next operation, or all of a grouped call."""
        left = self.program[rank][len(self.ledgers[rank]) :]
        self.enter(rank, left[0])
        for record in left[1:]:
            if "batch" not in record or record["batch"] != left[0].get("batch"):
                break
            self.enter(rank, record)


def hang_bad(run, silent):
    """How the judge differs from the run at this moment, or None."""
    hung, waits = ledger.is_hung(run.ledgers, silent)
    right = {q: run.waits(q, silent) for q in range(len(run.program)) if run.waits(q, silent)}
    alive = [q for q, records in enumerate(run.ledgers) if END not in records]
    if set(waits) != set(right) or not all(set(waits[q][1]) <= right[q] for q in right):
        return waits, right
    return None if hung == (bool(alive) and set(alive) <= set(right)) else (hung, right)


def by_channel(ledgers):
    """(members, name) or sender and receiver -> rank -> its operations there."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for rank, records in enumerate(ledgers):
        for record in records:
            if "peer" in record and record["peer"] != rank:
                ends = (rank, record["peer"])[:: 1 if record["op"] == "send" else -1]
                found["p2p", ends][rank].append([record[k] for k in ("dtype", "count")])
            elif "group" in record:
                key = ("group", (*record["group"], record.get("name")))
                found[key][rank].append([record.get(k) for k in FIELDS])
    return found


def mismatches_bad(ledgers):
    """How the reported differences differ from all differences, or None."""
    channels, seen = by_channel(ledgers), set()
    for bad in ledger.mismatches(ledgers):
        (a, b), n, records = bad["ranks"], bad["index"], bad["records"]
        name = next(r for r in records if r is not None).get("name")
        ends = tuple(bad["members"]) + ((name,) if bad["kind"] == "group" else ())
        one, other = channels[bad["kind"], ends][a], channels[bad["kind"], ends][b]
        seen.add((bad["kind"], ends))
        if one[:n] != other[:n] or one[n : n + 1] == other[n : n + 1]:
            return bad
        for rank, at, record in zip((a, b), bad["places"], records, strict=True):
            entered = [r for r in ledgers[rank] if "op" in r]
            if record is not (None if at is None else entered[at]):
                return bad
    right, crossed = set(), False
    for (kind, ends), ranks in channels.items():
        lists = [ranks[q] for q in (ends if kind == "p2p" else ends[:-1])]
        if any(entered != lists[0] for entered in lists):
            right.add((kind, ends))
        numbers = itertools.zip_longest(*lists)
        crossed |= any(len({str(f) for f in fields if f is not None}) > 1 for fields in numbers)
    if ledger.disagree(ledgers) != crossed:
        return "disagree", crossed
    return None if seen == right else (seen, right)


def first_wrong(count, damage, seed=1):
    """Runs random programs. Returns the first on which the judge errs, or None. A program without
    damage must end without a difference, and is never hung on the way."""
    dice = random.Random(seed)
    for _ in range(count):
        ledgers = program(dice)
        run = Run(damaged(dice, ledgers) if damage else ledgers)
        while run.ready():
            run.step(dice.choice(run.ready()))
            wrong = hang_bad(run, False) or hang_bad(run, True) or mismatches_bad(run.ledgers)
            if not damage and run.ready() and ledger.is_hung(run.ledgers)[0]:
                wrong = "hung"
            if wrong:
                return run.program, wrong
        if not damage and (run.ledgers != ledgers or ledger.mismatches(ledgers)):
            return run.program, "ended early, or with a difference"
    return None


def test_random():
    bad = first_wrong(500, damage=False)
    check("a run without a deadlock is never hung and ends without a difference", not bad, bad)
    bad = first_wrong(2000, damage=True)
    check("in damaged runs, all ranks that wait and all differences are found", not bad, bad)


# ---- Records that adapters may write -------------------------------------------------------------


def junk(dice, rank, entered):
    """A record of any keys that check_record accepts."""
    values = [None, True, 0, 1, 2, -1, 1.5, "x", "sum", [], [0], [0, 1], [1, 0, 1], {}, [[1]]]
    while True:
        record = {k: dice.choice(values) for k in dice.sample(KEYS, dice.randint(1, 6))}
        if dice.random() < 0.9:
            record["op"] = dice.choice(["send", "recv", "all_reduce", "barrier", None])
            record.setdefault("group", [0, 1])
            record.setdefault("peer", dice.randrange(2))
            record.setdefault("count", 1)
        try:
            ledger.check_record(record, rank, 2, entered)
            return record
        except ledger.InvalidLedger:
            continue


def raises(ledgers):
    try:
        for silent in (False, True):
            ledger.describe_hang(ledger.is_hung(ledgers, silent)[1])
        ledger.disagree(ledgers)
        for records in ledgers:
            ledger.communications(records)
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error} in {ledgers}"


def test_junk():
    """An exception in the check for a hang would end the suite instead of the case."""
    dice, why = random.Random(1), None
    for _ in range(3000):
        ledgers = [[], []]
        for _ in range(dice.randint(1, 5)):
            rank = dice.randrange(2)
            entered = sum("op" in record for record in ledgers[rank])
            ledgers[rank].append(junk(dice, rank, entered))
        why = why or raises(ledgers)
    check("no function of the judge fails on valid records", not why, why)


# ---- Broken judges must fail these tests ---------------------------------------------------------


def broken(name, attribute, new):
    with unittest.mock.patch.object(ledger, attribute, new):
        try:
            missed = not (first_wrong(100, damage=False) or first_wrong(600, damage=True))
        except (KeyError, StopIteration, TypeError):
            missed = False  # an exception fails the tests as well
    check(f"a judge {name} fails the tests", not missed)


def without(real, *keys):
    """A function of ledgers that ignores some keys of all records."""

    def call(ledgers, *more):
        kept = [[{k: r[k] for k in r if k not in keys} for r in records] for records in ledgers]
        return real(kept, *more)

    return call


def without_field(real, field):
    return lambda record: tuple(pair for pair in real(record) if pair[0] != field)


def test_broken():
    signature, difference, mismatches = ledger.signature, ledger.difference, ledger.mismatches
    for field in ("redop", "dtype", "count", "counts", "root", "op"):
        fewer = without_field(signature, field)
        broken(f'that ignores "{field}"', "signature", fewer)
    broken("that compares nothing", "same", lambda kind, a, b: True)
    broken("that ignores names", "group_key", lambda record: (tuple(record["group"]), None))
    for key in ("batch", "wait", "async"):
        broken(f'that ignores "{key}" of a hang', "blocked", without(ledger.blocked, key))
    broken("that never reports an end", "has_ended", lambda records: False)
    broken("that forgets a difference", "mismatches", lambda ledgers: mismatches(ledgers)[1:])
    broken(
        "that compares one member only",
        "difference",
        lambda kind, members, by_rank, first, other: (
            difference(kind, members, by_rank, first, other) if other == members[-1] else None
        ),
    )


if __name__ == "__main__":
    test_random()
    test_junk()
    test_broken()
    sys.exit(1 if failed else 0)
