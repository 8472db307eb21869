"""Finds races in logs of stream events. STRM-1, STRM-2, STRM-3, STRM-4, STRM-6

    python3 conformance/judge/streams.py DIR        judges the files streams-N.jsonl of DIR

A log lists a rank's records in the order in which its host issued them (TRACE.md, "Stream events").
Every stream and every host thread has a vector clock. An operation happens after the earlier
operations of its stream, after everything its host thread had done or waited for when it queued the
operation, and after everything its stream waits for. Nothing else orders operations. Two accesses
to the same bytes, at least one of them a write, are a race if neither happens before the other, in
whichever order they ran when the log was made."""

import collections
import os
import re
import sys

import console
import limits
from console import show, show_error
from demands import many
from shadow import Shadow, Sorted
from streamlog import FORMAT, InvalidLog, read

REPORTED_MAX = 50
NAME = re.compile(r"streams-([0-9]+)\.jsonl")
WORLD_MOST = 1 << 17  # ranks, as of recorded runs: a file name must not set the time and memory
EXCHANGES = {"send", "recv"}


class Access:
    """An operation's access to a range of bytes, at tick `tick` of clock `by`. freed: the record
    that freed the memory, if the allocator may have reused it since."""

    __slots__ = ("op", "write", "by", "tick", "freed")

    def __init__(self, op, write, by, tick, freed=None):
        self.op, self.write, self.by, self.tick, self.freed = op, write, by, tick, freed

    def before(self, clock):
        return self.by < len(clock) and clock[self.by] >= self.tick


class Op:
    """An operation as races name it."""

    __slots__ = ("rank", "name", "stream", "number", "phase", "host", "site", "step", "issue")

    def __init__(self, rank, name, stream, number, host):
        self.rank, self.name, self.stream, self.number, self.host = rank, name, stream, number, host
        self.phase = self.site = self.step = None
        self.issue = number  # position in issue order; a log in execution order has it in "issue"

    def text(self):
        site = f" ({self.site})" if self.site else ""
        step = "" if self.step is None else f", step {self.step}"
        return f"{self.name}{site} on {self.stream} (rank {self.rank}, record {self.number}{step})"


class Race:
    """Two unordered accesses; `first` was issued first."""

    def __init__(self, first, second, at, size, block):
        self.first, self.second, self.at, self.size, self.block = first, second, at, size, block
        self.clause = clause_of(first, second)

    def kind(self):
        """A name that is the same in other cases, by which failures are grouped."""
        if self.first.freed is not None:
            return "race: memory is reused while in use"
        if self.first.write and not self.second.write:
            return "race: read while written"
        return f"race: overwritten while {'written' if self.first.write else 'read'}"

    def key(self):
        """Races with the same key are reported once."""
        return (
            self.clause,
            self.kind(),
            *((a.op.name, a.op.stream, a.op.site) for a in (self.first, self.second)),
        )

    def text(self):
        again = "" if self.first.freed is None else " (freed and reused memory)"
        return (
            f"unordered accesses to {self.size} bytes at {self.block}{again}:\n"
            f"  {'write' if self.first.write else 'read '} {self.first.op.text()}\n"
            f"  {'write' if self.second.write else 'read '} {self.second.op.text()}"
        )

    def where(self):
        """Symptom words: each operation with its line in the subject's source."""
        return [
            f"{which} {a.op.name}" + (f" ({a.op.site})" if a.op.site else "")
            for which, a in (("first", self.first), ("second", self.second))
        ]

    def json(self):
        return {
            "clause": self.clause,
            "kind": self.kind(),
            "at": self.at,
            "bytes": self.size,
            "block": self.block,
            "accesses": [
                {
                    "rank": a.op.rank,
                    "op": a.op.name,
                    "stream": a.op.stream,
                    "record": a.op.number,
                    "write": a.write,
                    "site": a.op.site,
                    "phase": a.op.phase,
                }
                for a in (self.first, self.second)
            ],
        }


def clause_of(first, second):
    """The clause of spec/streams.md that requires an order for such a pair. The host issued `first`
    first."""
    ops = (first.op, second.op)
    if first.freed is not None or any(op.host for op in ops):
        return "STRM-6"
    if any(op.phase == "exchange" or op.name in EXCHANGES for op in ops):
        return "STRM-3"
    if any(op.phase == "step" for op in ops):
        return "STRM-4"
    # the same operation twice: two streams accumulate into one sum
    return "STRM-2" if second.write or first.op.name == second.op.name else "STRM-1"


def in_order(old, new):
    """The pair in issue order. An access to memory that was freed comes first."""
    return (old, new) if old.freed or old.op.issue <= new.op.issue else (new, old)


class Rank:
    """The state of one rank's log."""

    def __init__(self, number, records, spend):
        self.number, self.records, self.at = number, records, 0
        self.streams, self.events = {}, {}  # id -> (index into clocks, name, host?); event -> clock
        self.host = None  # its first host thread
        self.shadow = Shadow(spend)
        self.starts, self.blocks = Sorted(), {}  # blocks: at -> (bytes, name)
        # stream -> (bytes, accesses) of freed blocks that its next allocation may reuse
        self.pool = {}
        self.phase = self.step = None
        self.published = False  # the operation at `at` has published its "gives" keys
        self.taken = 0  # of its "takes" keys, those that have been given
        self.ops = self.collectives = self.moving = 0
        self.ended = False

    def declare(self, record, index):
        name, host = record.get("name", ""), bool(record.get("host"))
        self.streams[record["stream"]] = (index, name, host)
        self.host = next((n for n, (_, _, host) in self.streams.items() if host), None)

    def add_block(self, at, size, name):
        if at not in self.blocks:
            self.starts.add(at)
        self.blocks[at] = (size, name)

    def remove_block(self, at, size):
        if self.blocks.get(at, (None,))[0] == size:
            del self.blocks[at]
            self.starts.remove(at, at + 1)

    def block(self, at):
        start = self.starts.up_to(at)
        size, name = self.blocks.get(start, (0, ""))
        if start is not None and at < start + size:
            return f"+{at - start} of {name or 'a block'} of {size} bytes"
        return f"{at:#x}"


class Checker:
    """Replays the logs of all ranks and collects `races`."""

    def __init__(self, logs):
        """logs: a list of records for each rank."""
        self.clocks, self.keys, self.races, self.seen, self.reported = [], {}, [], {}, set()
        self.compared = (
            set()
        )  # clauses for which two streams made conflicting accesses, ordered or not
        self.ranks = [Rank(number, records, self.spend) for number, records in enumerate(logs)]
        self.races_all = self.work = 0
        self.ready = collections.deque(self.ranks)  # ranks that may be able to go on
        self.blocked = {}  # key -> ranks that take it before it was given

    def spend(self, work):
        """Limits the time and memory that a log can take."""
        self.work += work
        if self.work > limits.WORK:
            raise InvalidLog(
                f"the stream logs of the case need more than {limits.WORK} comparisons"
            )

    def run(self):
        while self.ready:
            self.play(self.ready.popleft())
        if self.blocked:
            key, rank = min(
                ((key, rank) for key, ranks in self.blocked.items() for rank in ranks),
                key=lambda one: one[1].number,
            )
            raise InvalidLog(
                f"rank {rank.number}, record {rank.at}: takes {key!r}, but no record gives it"
            )
        # the earliest race is not a consequence of others
        self.races.sort(key=lambda race: race.second.op.issue)
        return self

    def collectives(self, number):
        return self.ranks[number].collectives if number < len(self.ranks) else 0

    def moving(self, number):
        """Number of collectives that state the bytes they read or write."""
        return self.ranks[number].moving if number < len(self.ranks) else 0

    def play(self, rank):
        """Processes records until one takes a key that was not given yet."""
        while rank.at < len(rank.records):
            record = rank.records[rank.at]
            try:
                if not self.process(rank, record):
                    break
            except (KeyError, TypeError, ValueError) as error:
                raise InvalidLog(
                    f"rank {rank.number}, record {rank.at}: {record!r:.120}: "
                    f"{type(error).__name__} {error}"
                ) from None
            rank.at += 1
            rank.published, rank.taken = False, 0

    # ---- Records ---------------------------------------------------------------------------------

    def process(self, rank, record):
        """Returns False if the rank must wait for a record of another rank."""
        if "op" in record:
            return self.operation(rank, record)
        if "record" in record:
            rank.events[record["record"]] = self.copy(self.reach(rank, record["on"], record))
        elif "wait" in record:
            if record["wait"] in rank.events:  # never recorded: no wait
                self.join(rank, record["on"], rank.events[record["wait"]])
        elif "wait_stream" in record:
            self.join(rank, record["on"], self.reach(rank, record["wait_stream"], record))
        elif "synchronize" in record:
            for stream in list(rank.streams):
                self.join(rank, record["on"], self.clock(rank, stream))
        elif "stream" in record:
            rank.declare(record, len(self.clocks))
            self.clocks.append([])
            if len(self.clocks) > limits.CLOCKS:
                raise InvalidLog(
                    f"rank {rank.number}, record {rank.at}: the case's stream logs declare more "
                    f"than {limits.CLOCKS} streams"
                )
        elif "alloc" in record:
            self.allocate(rank, record)
        elif "free" in record:
            self.free(rank, record)
        elif "step" in record:
            rank.step = record["step"]
        elif "phase" in record:
            rank.phase = record["phase"]
        elif "end" in record:
            rank.ended = True
        elif "format" not in record:
            raise InvalidLog(
                f"rank {rank.number}, record {rank.at}: unknown record {record!r:.120}"
            )
        elif record["format"] != FORMAT:
            raise InvalidLog(
                f'rank {rank.number}: "format": got {record["format"]!r:.40}, expected {FORMAT}'
            )
        return True

    def stream(self, rank, number):
        if number not in rank.streams:
            raise InvalidLog(
                f"rank {rank.number}, record {rank.at}: stream {number} is not declared by an "
                "earlier record"
            )
        return rank.streams[number]

    def clock(self, rank, number):
        return self.clocks[self.stream(rank, number)[0]]

    def host(self, rank, record):
        """The host thread that issued a record: its "by", else the rank's first host thread, else
        None."""
        return record["by"] if "by" in record else rank.host

    def join(self, rank, number, other):
        mine = self.clock(rank, number)
        self.spend(1 + len(other))
        if len(mine) < len(other):
            mine.extend([0] * (len(other) - len(mine)))
        for i, value in enumerate(other):
            if value > mine[i]:
                mine[i] = value

    def copy(self, clock):
        self.spend(1 + len(clock))
        return list(clock)

    def reach(self, rank, number, record):
        """The stream's clock, joined with the clock of the host thread that queues the record."""
        by = self.host(rank, record)
        if by is not None and by != number:
            self.join(rank, number, self.clock(rank, by))
        return self.clock(rank, number)

    def tick(self, rank, number):
        index, clock = self.stream(rank, number)[0], self.clock(rank, number)
        if len(clock) <= index:
            clock.extend([0] * (index + 1 - len(clock)))
        clock[index] += 1
        return index, clock[index]

    def operation(self, rank, record):
        number = record["on"]
        _, name, host = self.stream(rank, number)
        if not rank.published:
            self.reach(rank, number, record)
            index, tick = self.tick(rank, number)
            op = Op(rank.number, record["op"], name or f"stream {number}", rank.at, host)
            op.phase, op.site, op.step = (
                record.get("phase", rank.phase),
                record.get("site"),
                rank.step,
            )
            op.issue = record.get("issue", rank.at)
            for write, ranges in (
                (False, record.get("reads", ())),
                (True, record.get("writes", ())),
            ):
                for at, size in ranges:
                    if size > 0:
                        self.access(
                            rank, Access(op, write, index, tick), at, size, self.clock(rank, number)
                        )
            for key in record.get("gives", ()):
                self.keys[key] = self.copy(self.clock(rank, number))
                self.ready.extend(self.blocked.pop(key, ()))
            rank.published = True
            rank.ops += 1
            if record.get("collective"):
                rank.collectives += 1
                rank.moving += any(
                    size > 0 for key in ("reads", "writes") for _, size in record.get(key, ())
                )
        takes = record.get("takes", ())
        while rank.taken < len(takes):
            key = takes[rank.taken]
            if key not in self.keys:
                self.blocked.setdefault(key, []).append(rank)
                return False
            rank.taken += 1
        for key in takes:
            self.join(rank, number, self.keys[key])
        return True

    def allocate(self, rank, record):
        """A new block may reuse any block that was freed for this stream and is large enough.
        Accesses to the freed block that the stream has not waited for therefore conflict with
        accesses to the new one."""
        at, size = record["alloc"]
        rank.shadow.forget(at, at + size)
        rank.add_block(at, size, record.get("name", ""))
        pool = rank.pool.get(record.get("on"))
        if not pool:
            return
        clock = self.reach(rank, record["on"], record)
        self.spend(sum(1 + len(accesses) for _, accesses in pool))
        pool[:] = [
            (n, left)
            for n, left in ((n, [a for a in used if not a.before(clock)]) for n, used in pool)
            if left
        ]
        used = [a for n, left in pool if n >= size for a in left]
        if used and size:
            for _, cell in rank.shadow.cells_of(at, at + size):
                cell[1] = self.copy(used)

    def free(self, rank, record):
        """Memory of a stream can be reused by the stream's next operations; the allocator waits for
        the streams in "after" (record_stream). Memory freed on a host's stream is unmapped: every
        access must have ended."""
        at, size = record["free"]
        number = record["on"]
        _, name, host = self.stream(rank, number)
        clock = self.copy(self.reach(rank, number, record))
        if host:
            index, tick = self.tick(rank, number)
            op = Op(rank.number, record.get("name", "free"), name, rank.at, host)
            op.phase, op.step = rank.phase, rank.step
            self.access(rank, Access(op, True, index, tick), at, size, clock)
        else:
            waited = {self.stream(rank, n)[0] for n in record.get("after", ())}
            accesses = (
                [a for _, cell in rank.shadow.cells_of(at, at + size) for a in self.copy(cell[1])]
                if size
                else []
            )
            if any(a.by != self.stream(rank, number)[0] for a in accesses):
                self.compared.add("STRM-6")
            used = {id(a): a for a in accesses if a.by not in waited and not a.before(clock)}
            again = [Access(a.op, a.write, a.by, a.tick, rank.at) for a in used.values()]
            if again:
                rank.pool.setdefault(number, []).append((size, again))
        rank.shadow.forget(at, at + size)
        rank.remove_block(at, size)

    # ---- Conflicts -------------------------------------------------------------------------------

    def access(self, rank, new, at, size, clock):
        races = {}  # earlier access -> the first byte that both access, the number of these bytes
        for start, cell in rank.shadow.cells_of(at, at + size):
            self.spend(1 + len(cell[1]))
            kept = []
            for old in cell[1]:
                ordered = old.before(clock)
                if (old.write or new.write) and old.op is not new.op:
                    if old.by != new.by:
                        self.compared.add(clause_of(*in_order(old, new)))
                    if not ordered:
                        race = races.setdefault(old, [start, 0])
                        race[1] += cell[0] - start
                # an access ordered before this one is dropped if this one represents it in all
                # later comparisons
                if not (ordered and (new.write or (not old.write and old.by == new.by))):
                    kept.append(old)
            kept.append(new)
            cell[1] = kept
        for old, (first, common) in races.items():
            self.report(rank, old, new, first, common)

    def report(self, rank, old, new, at, size):
        if (old.op, new.op) in self.reported or len(self.reported) >= limits.RACES:
            return  # for an operation that reads and writes, the read is the clearer report
        self.reported.add((old.op, new.op))
        first, second = in_order(old, new)
        race = Race(first, second, at, size, rank.block(at))
        self.races_all += 1
        key = race.key()
        if key not in self.seen:
            self.seen[key] = 0
            if len(self.races) < REPORTED_MAX:
                self.races.append(race)
        self.seen[key] += 1


# ---- Files ---------------------------------------------------------------------------------------


def check(logs):
    return Checker(logs).run()


def world_of(folder):
    """The number of ranks, by the names of the files."""
    numbers = (int(found[1]) for found in map(NAME.fullmatch, os.listdir(folder)) if found)
    world = 1 + max(numbers, default=-1)
    if world > WORLD_MOST:
        raise InvalidLog(
            f"{folder}: a file name has a rank above {WORLD_MOST - 1}; remove the file"
        )
    return world


def main():
    if len(sys.argv) != 2:
        show_error("usage: streams.py DIR")
        return 2
    folder = sys.argv[1]
    try:
        logs = read(folder, world_of(folder))
        if logs is None:
            show_error(f"streams.py: no stream logs (streams-N.jsonl) in {folder}")
            return 2
        done = check(logs)
    except (OSError, InvalidLog) as error:
        show_error(f"streams.py: {error}")
        return 2
    if not any(rank.ops for rank in done.ranks):
        show_error(f"streams.py: nothing was judged: the logs in {folder} have no operations")
        return 1
    for race in done.races:
        times = done.seen[race.key()]
        show(f"{race.clause}: {race.text()}" + (f"\n  ({times} such pairs)" if times > 1 else ""))
    races = (
        f"{done.races_all} or more unordered pairs"
        if done.races_all >= limits.RACES
        else many(done.races_all, "unordered pair")
    )
    show(
        f"{many(sum(r.ops for r in done.ranks), 'operation')} on "
        f"{many(sum(len(r.streams) for r in done.ranks), 'stream')} of "
        f"{many(len(done.ranks), 'rank')}: {races} of accesses"
    )
    return 1 if done.races_all else 0


if __name__ == "__main__":
    sys.exit(console.guarded("streams.py", main))
