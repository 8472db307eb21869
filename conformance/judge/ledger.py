"""Compares the ledgers of all ranks. LEDG-2, LEDG-7, PIPE-3, PIPE-6

A ledger is the list of communications that a rank entered, in order (ADAPTER.md, "Ledgers"). All
members of a group must enter the same sequence of collectives, and the sends from a to b must match
the receives of b from a, in order. A group is identified by its members and, if two communicators
have the same members, by "name".

`zeroproof trace check` (ref/trace) judges recorded runs by a stricter rule: it replays all ranks,
and an operation returns only when all members have entered it. So it also reports a run that
completed because a buffer was large enough. Here, an operation before the last one has returned,
because the rank entered another: subjects may rely on the buffers of their library."""

import bisect
import math

import limits
from demands import many

REDUCING = {"all_reduce", "reduce", "reduce_scatter"}
P2P = {"send", "recv"}
PARTS = {"reduce_scatter", "all_gather", "gather", "scatter"}  # parts may be uneven: "counts"
COLLECTIVES = REDUCING | PARTS | {"broadcast", "all_to_all", "barrier"}
KINDS = {
    "redop": (str, type(None)),
    "dtype": str,
    "name": str,
    "phase": (str, type(None)),
    "batch": int,
    "async": bool,
}


MARKS = ("observe", "end", "failed")

FIELDS = (
    *("step", "op", "count", "counts", "group", "root", "peer", "wait", "freed", *MARKS),
    *KINDS,
)


class InvalidLedger(Exception):
    """A ledger record violates ADAPTER.md."""


def known_fields(record):
    """A checked record without the fields that have no meaning here."""
    found = {name: record[name] for name in FIELDS if name in record and is_plain(record[name])}
    return {**found, **{name: True for name in MARKS if found.get(name)}}


def is_plain(value):
    return not isinstance(value, (dict, list)) or (
        isinstance(value, list) and all(map(is_count, value))
    )


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def check_record(record, rank, world, entered):
    """Checks one record by hand against schema/ledger.json (protocol.py says why); `entered`
    operations precede it."""
    for name in ("wait", "freed"):
        if name in record and not (is_count(record[name]) and record[name] < entered):
            raise InvalidLedger(
                f'rank {rank}: "{name}": got {record[name]!r:.40}, expected the number of one of '
                f"the {many(entered, 'operation')} entered so far"
            )
    op = record.get("op")
    if "op" not in record:
        if "step" in record and not is_count(record["step"]):
            raise InvalidLedger(
                f'rank {rank}: "step": got {record["step"]!r:.40}, expected a number'
            )
        if not {"wait", "step", "freed", *MARKS} & set(record):
            raise InvalidLedger(
                f"rank {rank}: a record needs one of op, step, wait, freed, "
                f"{', '.join(MARKS)}, got {record!r:.80}"
            )
        return
    if not isinstance(op, str) or op not in COLLECTIVES | P2P:
        raise InvalidLedger(
            f'rank {rank}: "op": got {op!r:.40}, expected one of '
            f"{', '.join(sorted(COLLECTIVES | P2P))}"
        )
    for name, kinds in KINDS.items():
        if name in record and not isinstance(record[name], kinds):
            raise InvalidLedger(
                f'rank {rank}: {op}: "{name}" has the wrong type: {record[name]!r:.40}'
            )
        if isinstance(record.get(name), str) and len(record[name]) > limits.LABEL:
            raise InvalidLedger(
                f'rank {rank}: {op}: "{name}" has {len(record[name])} characters, expected at '
                f"most {limits.LABEL}"
            )
    check_counts(record, op, rank)
    if op in P2P:
        if not is_count(record.get("peer")) or record["peer"] >= world:
            raise InvalidLedger(
                f'rank {rank}: {op}: "peer": got {record.get("peer")!r:.40}, expected a rank in '
                f"0..{world - 1}"
            )
        if "group" not in record:
            return
    group = record.get("group")
    if not isinstance(group, list) or not all(is_count(q) and q < world for q in group):
        raise InvalidLedger(
            f'rank {rank}: {op}: "group": got {group!r:.40}, expected a list of ranks in '
            f"0..{world - 1}"
        )
    if len(set(group)) != len(group):
        raise InvalidLedger(f'rank {rank}: {op}: "group" has a rank twice: {group!r:.80}')
    if rank not in group:
        raise InvalidLedger(f'rank {rank}: {op}: "group" {group} does not contain this rank')
    if record.get("root", -1) != -1 and record["root"] not in group:
        raise InvalidLedger(
            f'rank {rank}: {op}: "root": got {record["root"]!r:.40}, expected a member of group '
            f"{group}"
        )


def check_counts(record, op, rank):
    if "counts" in record:
        counts = record["counts"]
        if not isinstance(counts, list) or not all(map(is_count, counts)):
            raise InvalidLedger(
                f'rank {rank}: {op}: "counts": got {counts!r:.40}, expected a list of element '
                "counts"
            )
    elif op != "barrier" and not is_count(record.get("count")):
        raise InvalidLedger(
            f'rank {rank}: {op}: "count": got {record.get("count")!r:.40}, expected a number of '
            "elements"
        )


def ops(records):
    return [r for r in records if "op" in r]


def communications(records):
    """The operations that involve another rank."""
    return [r for r in ops(records) if len(r.get("group", (0, 1))) > 1]


def has_ended(records):
    return bool(records) and bool(records[-1].get("end"))


def ended(ledgers, ranks):
    """True if one of these ranks has ended: what it has not entered it never will."""
    return any(has_ended(ledgers[q]) for q in ranks)


def has_failed(records):
    """True if the rank raised an error by itself: it enters nothing more, and the adapter answers
    once the other ranks have ended or wait."""
    return bool(records) and bool(records[-1].get("failed"))


def observed(records):
    """How often the rank has gathered its state, in collectives that are not recorded."""
    return sum(bool(record.get("observe")) for record in records)


def freed(ledgers):
    """(rank, number, its record) of the first send or receive whose memory was freed before the
    rank waited for it, or None. A send may also be known to have ended: the other rank waited for
    it, and then sent something that this rank has received."""
    found = [
        (at, rank, record["freed"])
        for rank, records in enumerate(ledgers)
        for at, record in enumerate(records)
        if "freed" in record
    ]
    order = Order(ledgers) if found else None
    for at, rank, number in sorted(found):
        if not order.is_received(rank, number, at):
            return rank, number, order.ops[rank][number]
    return None


class Order:
    """The order that completed communications impose on the records of all ranks."""

    def __init__(self, ledgers):
        self.ops, self.entered = [ops(records) for records in ledgers], channels(ledgers)
        self.ended = [ends(records) for records in ledgers]
        self.completions = [sorted((end, k) for k, (end, _) in enumerate(e)) for e in self.ended]
        self.reached = {}  # rank -> of each rank the last position that precedes the rank's

    def is_received(self, rank, number, at):
        """True if the receiver of a rank's send had it before position `at` of the rank's ledger.
        Positions of one rank must not decrease from call to call."""
        record = self.ops[rank][number]
        if record["op"] != "send" or record["peer"] == rank:
            return False
        channel, there = channel_of(rank, record), record["peer"]
        index = self.index(channel, rank, number)
        theirs = self.entered[channel].get(there, [])[index : index + 1]
        reached = self.reached.setdefault(rank, [-1] * len(self.ops))
        ahead = [(rank, at)]
        while ahead:
            q, upto = ahead.pop()
            first = bisect.bisect_right(self.completions[q], (reached[q], math.inf))
            last = bisect.bisect_right(self.completions[q], (upto, math.inf))
            for _, k in self.completions[q][first:last]:
                ahead += self.sources(q, k)
            reached[q] = max(reached[q], upto)
        return bool(theirs) and self.ended[there][theirs[0][0]][0] <= reached[there]

    def index(self, channel, rank, number):
        return bisect.bisect_left(self.entered[channel][rank], (number,))

    def sources(self, rank, number):
        """(rank, position) of what must have been entered before a communication completes: the
        send of a receive; in a collective, what the members entered from whom this rank
        receives."""
        record = self.ops[rank][number]
        root = record.get("root", -1)
        if (
            record["op"] == "send"
            or record.get("peer") == rank
            or (record["op"] in ("reduce", "gather") and root != rank)
        ):
            return []
        channel = channel_of(rank, record)
        index = self.index(channel, rank, number)
        return [
            (q, self.ended[q][them[index][0]][1])
            for q, them in self.entered[channel].items()
            if q != rank
            and index < len(them)
            and (record["op"] not in ("broadcast", "scatter") or q == root)
        ]


def ends(records):
    """(position at which it has completed for the rank, position at which it was entered) of each
    communication: a wait, or the call itself if it is not asynchronous."""
    found = []
    for at, record in enumerate(records):
        if "op" in record:
            found.append((math.inf if record.get("async") else at, at))
        elif "wait" in record:
            end, start = found[record["wait"]]
            found[record["wait"]] = (min(end, at), start)
    return found


def channel_of(rank, record):
    if record["op"] not in P2P:
        return ("group", group_key(record))
    return ("p2p", (rank, record["peer"]) if record["op"] == "send" else (record["peer"], rank))


def group_key(record):
    return (tuple(record["group"]), record.get("name"))


def signature(record):
    """The fields on which all members must agree."""
    return tuple(
        (k, repr(record.get(k))) for k in ("op", "redop", "dtype", "count", "counts", "root")
    )


def describe(record):
    if record is None:
        return "nothing more"
    if "op" not in record:
        return "the gather of its state"
    if record["op"] in P2P:
        return (
            f"{record['op']} {'to' if record['op'] == 'send' else 'from'} {record['peer']}: "
            f"{record.get('count')} {record.get('dtype')}"
        )
    redop = f" {record['redop']}" if record.get("redop") else ""
    root = f" root {record['root']}" if record.get("root") not in (None, -1) else ""
    return (
        f"{record['op']}{redop} {record.get('count', record.get('counts'))} {record.get('dtype')}"
        f"{root} in {record['group']}"
    )


def channels(ledgers):
    """(kind, key) -> {member: [(index in its ledger, record)]}. The members of a channel must
    agree."""
    found = {}
    for rank, records in enumerate(ledgers):
        for index, record in enumerate(ops(records)):
            if record["op"] == "send" and rank == record["peer"]:
                continue
            members = found.setdefault(channel_of(rank, record), {})
            members.setdefault(rank, []).append((index, record))
    return found


def same(kind, a, b):
    if kind == "p2p":
        return (a.get("dtype"), a.get("count")) == (b.get("dtype"), b.get("count"))
    return signature(a) == signature(b)


def difference(kind, members, by_rank, first, other):
    """The first operation in which two members of a channel differ, or None."""
    a, b = by_rank.get(first, []), by_rank.get(other, [])
    i = 0
    while i < len(a) and i < len(b) and same(kind, a[i][1], b[i][1]):
        i += 1
    if i == len(a) == len(b):
        return None
    at = [x[i] if i < len(x) else (None, None) for x in (a, b)]
    return {
        "kind": kind,
        "members": list(members),
        "index": i,
        "ranks": (first, other),
        "records": (at[0][1], at[1][1]),
        "places": (at[0][0], at[1][0]),
    }


def mismatches(ledgers):
    """The first difference in every channel: {channel, ranks, index in the channel, records}. The
    one that the two ranks reach after the fewest operations is first."""
    bad = []
    for (kind, key), by_rank in sorted(channels(ledgers).items(), key=lambda item: repr(item[0])):
        members = key if kind == "p2p" else key[0]
        first = max(
            members, key=lambda q: len(by_rank.get(q, []))
        )  # a rank that was killed may have entered less
        differ = [
            d
            for d in (difference(kind, members, by_rank, first, q) for q in members if q != first)
            if d
        ]
        # prefer ranks that entered something else, then ranks that ended without entering it
        bad += sorted(
            differ, key=lambda d: (None in d["records"], not has_ended(ledgers[d["ranks"][1]]))
        )[:1]
    return sorted(bad, key=lambda b: max(at for at in b["places"] if at is not None))


def disagree(ledgers):
    """True if members of a group entered different operations, which no later record can repair.

    A rank that waits for an asynchronous operation inside a library writes no record, so a hang of
    such ranks is visible only this way."""
    return not any(map(has_failed, ledgers)) and any(
        None not in bad["records"] for bad in mismatches(ledgers)
    )


def unmatched(entered, rank, mine):
    """(first asynchronous operation that others have not entered, those ranks). Sends are left out:
    a buffered send completes without its receiver."""
    for index, record in enumerate(mine):
        missing = (
            waits_for(entered, rank, index, record)
            if record.get("async") and record["op"] != "send"
            else None
        )
        if missing:
            return record, missing
    return None


def blocked(ledgers, silent=False):
    """rank -> (record, missing ranks) for every rank that waits in an operation which others have
    not entered. silent: treat a rank whose last record is asynchronous as waiting for it inside a
    library."""
    entered = channels(ledgers)
    waits = {}
    for rank, records in enumerate(ledgers):
        if has_ended(records) or has_failed(records):
            continue
        if records and records[-1].get("observe"):
            behind = [q for q, other in enumerate(ledgers) if observed(other) < observed(records)]
            waits.update({rank: (records[-1], behind)} if behind else {})
            continue
        mine = ops(records)
        pending = records[-1].get("wait") if records else None
        if pending is None and (not records or "op" not in records[-1] or records[-1].get("async")):
            found = (
                unmatched(entered, rank, mine)
                if silent and records and records[-1].get("async")
                else None
            )
            if found:
                waits[rank] = found
            continue
        last = len(mine) - 1 if pending is None else pending
        if not 0 <= last < len(mine):
            continue
        # the operations of one grouped call are entered together
        batch = mine[last].get("batch")
        start = last
        while batch is not None and start > 0 and mine[start - 1].get("batch") == batch:
            start -= 1
        for i in range(start, last + 1):
            missing = waits_for(entered, rank, i, mine[i])
            if missing:
                waits[rank] = (mine[i], missing)
                break
    return waits


def waits_for(entered, rank, position, record):
    """The ranks that have not entered the rank's operation at a position of its ledger."""
    if record["op"] in P2P and record["peer"] == rank:
        return []
    channel = channel_of(rank, record)
    members = [record["peer"]] if record["op"] in P2P else [q for q in record["group"] if q != rank]
    by_rank = entered[channel]
    index = bisect.bisect_left(by_rank[rank], (position,))
    missing = []
    for q in members:
        theirs = by_rank.get(q, [])
        if index >= len(theirs) or not same(channel[0], record, theirs[index][1]):
            missing.append(q)
    return missing


def is_hung(ledgers, silent=False):
    """True if every rank that has not ended waits in an operation which another has not entered."""
    waits = blocked(ledgers, silent)
    alive = [r for r, records in enumerate(ledgers) if not has_ended(records)]
    return bool(alive) and all(r in waits for r in alive), waits


def describe_hang(waits):
    return "; ".join(
        f"rank {r} waits in {describe(record)} for rank{'s' if len(m) > 1 else ''} "
        f"{', '.join(map(str, m))}"
        for r, (record, m) in sorted(waits.items())
    )
