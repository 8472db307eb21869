"""Finds races in logs of stream events. STRM-1, STRM-2, STRM-3, STRM-4, STRM-6

    python3 conformance/judge/streams.py DIR        judges the files streams-N.jsonl of DIR

A log lists a rank's records in the order in which its host issued them (TRACE.md, "Stream events").
Every stream and every host thread has a vector clock. An operation happens after the earlier
operations of its stream, after everything its host thread had done or waited for when it queued the
operation, and after everything its stream waits for. Nothing else orders operations. Two accesses
to the same bytes, at least one of them a write, are a race if neither happens before the other, in
whichever order they ran when the log was made."""

import bisect
import itertools
import os
import re
import sys

import files
import limits
import protocol
from report import printable

FORMAT = "zeroproof/streams/1"
REPORTED_MAX = 50
NAME = re.compile(r"streams-([0-9]+)\.jsonl")
WORLD_MOST = 1 << 17  # ranks, as of recorded runs: a file name must not set the time and memory
EXCHANGES = {"send", "recv"}


class InvalidLog(Exception):
    """A record violates the format."""


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


class Shadow:
    """Bytes of one rank -> the earlier accesses with which later ones are compared. Cells are split
    where ranges begin and end."""

    def __init__(self):
        self.starts, self.cells = [], {}  # start -> [end, accesses]

    def cut(self, at):
        """Splits the cell that covers `at`."""
        i = bisect.bisect_right(self.starts, at) - 1
        if i < 0 or self.starts[i] == at:
            return
        start = self.starts[i]
        end, accesses = self.cells[start]
        if end <= at:
            return
        self.cells[start] = [at, accesses]
        self.cells[at] = [end, list(accesses)]
        self.starts.insert(i + 1, at)

    def cells_of(self, at, end):
        """All (start, cell) of [at, end). Creates cells for uncovered bytes."""
        self.cut(at)
        self.cut(end)
        found, gap = [], at
        i = bisect.bisect_left(self.starts, at)
        while i < len(self.starts) and self.starts[i] < end:
            start = self.starts[i]
            if start > gap:
                found.append(gap)
            found.append(start)
            gap = self.cells[start][0]
            i += 1
        if gap < end and (not found or found[-1] != gap):
            found.append(gap)
        for start, stop in itertools.pairwise([*found, end]):
            if start not in self.cells:
                self.cells[start] = [stop, []]
                bisect.insort(self.starts, start)
        return [(start, self.cells[start]) for start in found]

    def forget(self, at, end):
        self.cut(at)
        self.cut(end)
        i, k = bisect.bisect_left(self.starts, at), bisect.bisect_left(self.starts, end)
        for start in self.starts[i:k]:
            del self.cells[start]
        del self.starts[i:k]


class Rank:
    """The state of one rank's log."""

    def __init__(self, number, records):
        self.number, self.records, self.at = number, records, 0
        self.streams, self.events = {}, {}  # id -> (index into clocks, name, host?); event -> clock
        self.shadow, self.blocks = Shadow(), []  # blocks: sorted (at, bytes, name)
        # stream -> (bytes, accesses) of freed blocks that its next allocation may reuse
        self.pool = {}
        self.phase = self.step = None
        self.published = False  # the operation at `at` has published its "gives" keys
        self.ops = self.collectives = self.moving = 0
        self.ended = False

    def block(self, at):
        i = bisect.bisect_right(self.blocks, (at, float("inf"), "")) - 1
        if i >= 0 and self.blocks[i][0] <= at < self.blocks[i][0] + self.blocks[i][1]:
            start, size, name = self.blocks[i]
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
        self.ranks = [Rank(number, records) for number, records in enumerate(logs)]
        self.races_all = self.work = 0

    def spend(self, work):
        """Limits the time and memory that a log can take."""
        self.work += work
        if self.work > limits.WORK:
            raise InvalidLog(
                f"the stream logs of the case need more than {limits.WORK} comparisons"
            )

    def run(self):
        waiting = [r for r in self.ranks if r.records]
        while waiting:
            moved = False
            for rank in waiting:
                moved |= self.play(rank)
            waiting = [r for r in waiting if r.at < len(r.records)]
            if waiting and not moved:
                rank = waiting[0]
                keys = [k for k in rank.records[rank.at].get("takes", []) if k not in self.keys]
                raise InvalidLog(
                    f"rank {rank.number}, record {rank.at}: takes {keys[0]!r}, but no record gives "
                    "it"
                )
        self.races.sort(
            key=lambda race: race.second.op.issue
        )  # the earliest race is not a consequence of others
        return self

    def collectives(self, number):
        return self.ranks[number].collectives if number < len(self.ranks) else 0

    def moving(self, number):
        """Number of collectives that state the bytes they read or write."""
        return self.ranks[number].moving if number < len(self.ranks) else 0

    def play(self, rank):
        start = rank.at
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
            rank.published = False
        return rank.at > start

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
            rank.streams[record["stream"]] = (
                len(self.clocks),
                record.get("name", ""),
                bool(record.get("host")),
            )
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
        if "by" in record:
            return record["by"]
        return next((n for n, (_, _, host) in rank.streams.items() if host), None)

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
            rank.published = True
            rank.ops += 1
            if record.get("collective"):
                rank.collectives += 1
                rank.moving += any(
                    size > 0 for key in ("reads", "writes") for _, size in record.get(key, ())
                )
        for key in record.get("takes", ()):
            if key not in self.keys:
                return False
        for key in record.get("takes", ()):
            self.join(rank, number, self.keys[key])
        return True

    def allocate(self, rank, record):
        """A new block may reuse any block that was freed for this stream and is large enough.
        Accesses to the freed block that the stream has not waited for therefore conflict with
        accesses to the new one."""
        at, size = record["alloc"]
        rank.shadow.forget(at, at + size)
        bisect.insort(rank.blocks, (at, size, record.get("name", "")))
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
        i = bisect.bisect_left(rank.blocks, (at, size, ""))
        if i < len(rank.blocks) and rank.blocks[i][:2] == (at, size):
            del rank.blocks[i]

    # ---- Conflicts -------------------------------------------------------------------------------

    def access(self, rank, new, at, size, clock):
        races = {}
        for start, cell in rank.shadow.cells_of(at, at + size):
            self.spend(1 + len(cell[1]))
            kept = []
            for old in cell[1]:
                ordered = old.before(clock)
                if (old.write or new.write) and old.op is not new.op:
                    if old.by != new.by:
                        self.compared.add(clause_of(*in_order(old, new)))
                    if not ordered:
                        races.setdefault(old, []).append((start, cell[0]))
                # an access ordered before this one is dropped if this one represents it in all
                # later comparisons
                if not (ordered and (new.write or (not old.write and old.by == new.by))):
                    kept.append(old)
            kept.append(new)
            cell[1] = kept
        for old, cells in races.items():
            self.report(rank, old, new, cells)

    def report(self, rank, old, new, cells):
        if (old.op, new.op) in self.reported:
            return  # for an operation that reads and writes, the read is the clearer report
        self.reported.add((old.op, new.op))
        size = sum(end - start for start, end in cells)
        first, second = in_order(old, new)
        race = Race(first, second, cells[0][0], size, rank.block(cells[0][0]))
        self.races_all += 1
        key = race.key()
        if key not in self.seen:
            self.seen[key] = 0
            if len(self.races) < REPORTED_MAX:
                self.races.append(race)
        self.seen[key] += 1


# ---- Files ---------------------------------------------------------------------------------------


def file_of(folder, rank):
    return os.path.join(folder, f"streams-{rank}.jsonl")


def read(folder, world):
    """The logs of all ranks, or None if no rank has one."""
    logs, left, records = [], limits.STREAMS, limits.RECORDS
    for rank in range(world):
        logs.append([])
        try:
            raw = files.read_whole(file_of(folder, rank), left)
            left -= len(raw)
            records -= raw.count(b"\n")
            if records < 0:
                raise protocol.Malformed(
                    f"the stream logs of the case have more than {limits.RECORDS} records"
                )
            for line in raw.splitlines():
                logs[-1].append(protocol.parse(line))
        except FileNotFoundError:
            pass
        except OSError as error:
            limit = f" (limit of all stream logs of a case: {limits.STREAMS} bytes)"
            raise InvalidLog(
                f"rank {rank}: cannot read {file_of(folder, rank)}: {error.strerror}"
                f"{limit if 'expected at most' in error.strerror else ''}"
            ) from None
        except protocol.Malformed as error:
            raise InvalidLog(f"rank {rank}, line {len(logs[-1]) + 1}: {error}") from None
    return logs if any(logs) else None


def check(logs):
    return Checker(logs).run()


def show(text, file=None):
    """Prints a text that may have names of the logs."""
    print(printable(text), file=file)


def main():
    if len(sys.argv) != 2:
        show("usage: streams.py DIR", sys.stderr)
        return 2
    try:
        world = 1 + max(
            (int(found[1]) for found in map(NAME.fullmatch, os.listdir(sys.argv[1])) if found),
            default=-1,
        )
        if world > WORLD_MOST:
            raise InvalidLog(
                f"{sys.argv[1]}: a file name has a rank above {WORLD_MOST - 1}; remove the file"
            )
        logs = read(sys.argv[1], world)
        if logs is None:
            show(f"streams.py: no stream logs (streams-N.jsonl) in {sys.argv[1]}", sys.stderr)
            return 2
        done = check(logs)
        if not any(rank.ops for rank in done.ranks):
            show(
                f"streams.py: nothing was judged: the logs in {sys.argv[1]} have no operations",
                sys.stderr,
            )
            return 1
    except (OSError, InvalidLog) as error:
        show(f"streams.py: {error}", sys.stderr)
        return 2
    for race in done.races:
        times = done.seen[race.key()]
        show(f"{race.clause}: {race.text()}" + (f"\n  ({times} such pairs)" if times > 1 else ""))
    show(
        f"{sum(r.ops for r in done.ranks)} operations on {sum(len(r.streams) for r in done.ranks)} "
        "streams of "
        f"{len(done.ranks)} ranks: {done.races_all} unordered pairs of accesses"
    )
    return 1 if done.races_all else 0


if __name__ == "__main__":
    sys.exit(main())
