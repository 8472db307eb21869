"""Stream events: are any two accesses that conflict ordered? STRM-1, STRM-2, STRM-3, STRM-4, STRM-6

A log is a rank's list of records in the order in which its host issued them (TRACE.md, "Stream
events"). Every stream and every host thread has a vector clock. An operation is ordered behind what
its stream did, behind what the host that queued it had done or seen, and behind what its stream was
made to wait for: nothing else. Two accesses to the same bytes, one of them a write, neither ordered
before the other, are a race, whatever the order was in which they happened to run here.

    python3 conformance/judge/streams.py DIR        judges the files streams-N.jsonl of DIR"""
import bisect
import os
import sys

import protocol

FORMAT = "zeroproof/streams/1"
TOLD_MAX = 50
EXCHANGES = {"send", "recv"}


class Bad(Exception):
    """A record that the format does not allow."""


class Access:
    """One operation's access to a run of bytes, at tick `tick` of its stream. freed: where the memory
    was given back, when the access was to what the allocator may since have handed out again."""

    __slots__ = ("op", "write", "by", "tick", "freed")

    def __init__(self, op, write, by, tick, freed=None):
        self.op, self.write, self.by, self.tick, self.freed = op, write, by, tick, freed

    def before(self, clock):
        return self.by < len(clock) and clock[self.by] >= self.tick


class Op:
    """What a race names."""

    __slots__ = ("rank", "name", "stream", "number", "phase", "host", "site", "step", "issue")

    def __init__(self, rank, name, stream, number, host):
        self.rank, self.name, self.stream, self.number, self.host = rank, name, stream, number, host
        self.phase = self.site = self.step = None
        self.issue = number  # when its host asked for it; a log in the order of execution says so itself

    def text(self):
        site = f" ({self.site})" if self.site else ""
        step = "" if self.step is None else f", step {self.step}"
        return f"{self.name}{site} on {self.stream} (rank {self.rank}, record {self.number}{step})"


class Race:
    """Two accesses that nothing orders; `first` was issued first."""

    def __init__(self, first, second, at, size, block):
        self.first, self.second, self.at, self.size, self.block = first, second, at, size, block
        self.clause = clause_of(first, second)

    def kind(self):
        """What is the same in other cases: how failures are grouped."""
        if self.first.freed is not None:
            return "race: memory is reused while in use"
        if self.first.write and not self.second.write:
            return "race: read while written"
        return f"race: overwritten while {'written' if self.first.write else 'read'}"

    def key(self):
        """What is told once."""
        return (self.clause, self.kind(), *((a.op.name, a.op.stream, a.op.site) for a in (self.first, self.second)))

    def text(self):
        again = "" if self.first.freed is None else " (memory freed before, and handed out again)"
        return (f"nothing orders these two, which share {self.size} bytes at {self.block}{again}:\n"
                f"  {'write' if self.first.write else 'read '} {self.first.op.text()}\n"
                f"  {'write' if self.second.write else 'read '} {self.second.op.text()}")

    def where(self):
        """What the first and the second is, and where in the subject's source: which race of a kind this is."""
        return [f"{which} {a.op.name}" + (f" ({a.op.site})" if a.op.site else "")
                for which, a in (("first", self.first), ("second", self.second))]

    def json(self):
        return {"clause": self.clause, "kind": self.kind(), "at": self.at, "bytes": self.size,
                "block": self.block, "accesses": [
                    {"rank": a.op.rank, "op": a.op.name, "stream": a.op.stream, "record": a.op.number,
                     "write": a.write, "site": a.op.site, "phase": a.op.phase} for a in (self.first, self.second)]}


def clause_of(first, second):
    """Which clause of spec/streams.md orders such a pair. The host issued `first` first."""
    ops = (first.op, second.op)
    if first.freed is not None or any(op.host for op in ops):
        return "STRM-6"
    if any(op.phase == "exchange" or op.name in EXCHANGES for op in ops):
        return "STRM-3"
    if any(op.phase == "step" for op in ops):
        return "STRM-4"
    # one operation twice: a sum that is added to from two streams
    return "STRM-2" if second.write or first.op.name == second.op.name else "STRM-1"


def in_order(old, new):
    """As their host issued them; what was freed comes first, wherever the log has it."""
    return (old, new) if old.freed or old.op.issue <= new.op.issue else (new, old)


class Shadow:
    """Bytes of one rank -> the accesses that a later one must still be compared with. Cells are cut
    where ranges begin and end."""

    def __init__(self):
        self.starts, self.cells = [], {}  # start -> [end, accesses]

    def cut(self, at):
        """Makes a cell begin at `at`, where one covers it."""
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
        """[start, cell] of all of [at, end), made where there are none."""
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
        ends = found[1:] + [end]
        if gap < end and (not found or found[-1] != gap):
            found.append(gap)
            ends = found[1:] + [end]
        for start, stop in zip(found, ends):
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
        self.pool = {}  # stream -> (bytes, accesses) of freed blocks that it may be handed out again
        self.phase = self.step = None
        self.given = False  # the op at `at` has published what it gives
        self.ops = self.collectives = self.moving = 0
        self.ended = False

    def block(self, at):
        i = bisect.bisect_right(self.blocks, (at, float("inf"), "")) - 1
        if i >= 0 and self.blocks[i][0] <= at < self.blocks[i][0] + self.blocks[i][1]:
            start, size, name = self.blocks[i]
            return f"+{at - start} of {name or 'a block'} of {size} bytes"
        return f"{at:#x}"


class Checker:
    """Plays the logs of all ranks; `races` are found on the way."""

    def __init__(self, logs):
        """logs: a list of records for each rank."""
        self.clocks, self.keys, self.races, self.seen, self.told = [], {}, [], {}, set()
        self.met = set()  # clauses of which two accesses of two streams to the same bytes met, ordered or not
        self.ranks = [Rank(number, records) for number, records in enumerate(logs)]
        self.races_all = 0

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
                raise Bad(f"rank {rank.number}, record {rank.at}: takes {keys[0]!r}, which nobody gives")
        self.races.sort(key=lambda race: race.second.op.issue)  # the first is no consequence of others
        return self

    def collectives(self, number):
        return self.ranks[number].collectives if number < len(self.ranks) else 0

    def moving(self, number):
        """Of its collectives those that tell what they read or write."""
        return self.ranks[number].moving if number < len(self.ranks) else 0

    def play(self, rank):
        start = rank.at
        while rank.at < len(rank.records):
            record = rank.records[rank.at]
            try:
                if not self.take(rank, record):
                    break
            except (KeyError, TypeError, ValueError) as error:
                raise Bad(f"rank {rank.number}, record {rank.at}: {record!r:.120}: "
                          f"{type(error).__name__} {error}") from None
            rank.at += 1
            rank.given = False
        return rank.at > start

    # ---- Records ---------------------------------------------------------------------------------

    def take(self, rank, record):
        """False: the rank must wait for another's log."""
        if "op" in record:
            return self.operation(rank, record)
        if "record" in record:
            rank.events[record["record"]] = list(self.reach(rank, record["on"], record))
        elif "wait" in record:
            if record["wait"] in rank.events:  # never recorded: no wait
                self.join(rank, record["on"], rank.events[record["wait"]])
        elif "wait_stream" in record:
            self.join(rank, record["on"], self.reach(rank, record["wait_stream"], record))
        elif "synchronize" in record:
            for stream in list(rank.streams):
                self.join(rank, record["on"], self.clock(rank, stream))
        elif "stream" in record:
            rank.streams[record["stream"]] = (len(self.clocks), record.get("name", ""), bool(record.get("host")))
            self.clocks.append([])
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
            raise Bad(f"rank {rank.number}, record {rank.at}: {record!r:.120} is no record of a stream log")
        elif record["format"] != FORMAT:
            raise Bad(f"rank {rank.number}: the log is {record['format']!r:.40}, not {FORMAT}")
        return True

    def stream(self, rank, number):
        if number not in rank.streams:
            raise Bad(f"rank {rank.number}, record {rank.at}: stream {number} was not introduced")
        return rank.streams[number]

    def clock(self, rank, number):
        return self.clocks[self.stream(rank, number)[0]]

    def host(self, rank, record):
        """Who issued a record: its "by", else the rank's first host; None when there is none."""
        if "by" in record:
            return record["by"]
        return next((n for n, (_, _, host) in rank.streams.items() if host), None)

    def join(self, rank, number, other):
        mine = self.clock(rank, number)
        if len(mine) < len(other):
            mine.extend([0] * (len(other) - len(mine)))
        for i, value in enumerate(other):
            if value > mine[i]:
                mine[i] = value

    def reach(self, rank, number, record):
        """The stream's clock, with what the host that queues something there has seen."""
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
        if not rank.given:
            self.reach(rank, number, record)
            index, tick = self.tick(rank, number)
            op = Op(rank.number, record["op"], name or f"stream {number}", rank.at, host)
            op.phase, op.site, op.step = record.get("phase", rank.phase), record.get("site"), rank.step
            op.issue = record.get("issue", rank.at)
            for write, ranges in ((False, record.get("reads", ())), (True, record.get("writes", ()))):
                for at, size in ranges:
                    if size > 0:
                        self.access(rank, Access(op, write, index, tick), at, size, self.clock(rank, number))
            for key in record.get("gives", ()):
                self.keys[key] = list(self.clock(rank, number))
            rank.given = True
            rank.ops += 1
            if record.get("collective"):
                rank.collectives += 1
                rank.moving += any(size > 0 for key in ("reads", "writes") for _, size in record.get(key, ()))
        for key in record.get("takes", ()):
            if key not in self.keys:
                return False
        for key in record.get("takes", ()):
            self.join(rank, number, self.keys[key])
        return True

    def allocate(self, rank, record):
        """May be any block that was freed for this stream and is large enough: who still used that one,
        unless the stream has waited for it, is in the way of who uses this one."""
        at, size = record["alloc"]
        rank.shadow.forget(at, at + size)
        bisect.insort(rank.blocks, (at, size, record.get("name", "")))
        pool = rank.pool.get(record.get("on"))
        if not pool:
            return
        clock = self.reach(rank, record["on"], record)
        pool[:] = [(n, left) for n, left in ((n, [a for a in used if not a.before(clock)]) for n, used in pool) if left]
        used = [a for n, left in pool if n >= size for a in left]
        if used and size:
            for _, cell in rank.shadow.cells_of(at, at + size):
                cell[1] = list(used)

    def free(self, rank, record):
        """Memory of a stream: free for what the stream is given next. Streams of "after" (record_stream)
        are waited for by the allocator. Memory of a host's is gone: all must have ended."""
        at, size = record["free"]
        number = record["on"]
        _, name, host = self.stream(rank, number)
        clock = list(self.reach(rank, number, record))
        if host:
            index, tick = self.tick(rank, number)
            op = Op(rank.number, record.get("name", "free"), name, rank.at, host)
            op.phase, op.step = rank.phase, rank.step
            self.access(rank, Access(op, True, index, tick), at, size, clock)
        else:
            waited = {self.stream(rank, n)[0] for n in record.get("after", ())}
            there = [a for _, cell in rank.shadow.cells_of(at, at + size) for a in cell[1]] if size else []
            if any(a.by != self.stream(rank, number)[0] for a in there):
                self.met.add("STRM-6")
            used = {id(a): a for a in there if a.by not in waited and not a.before(clock)}
            again = [Access(a.op, a.write, a.by, a.tick, rank.at) for a in used.values()]
            if again:
                rank.pool.setdefault(number, []).append((size, again))
        rank.shadow.forget(at, at + size)
        i = bisect.bisect_left(rank.blocks, (at, size, ""))
        if i < len(rank.blocks) and rank.blocks[i][:2] == (at, size):
            del rank.blocks[i]

    # ---- Conflicts -------------------------------------------------------------------------------

    def access(self, rank, new, at, size, clock):
        told = {}
        for start, cell in rank.shadow.cells_of(at, at + size):
            kept = []
            for old in cell[1]:
                ordered = old.before(clock)
                if (old.write or new.write) and old.op is not new.op:
                    if old.by != new.by:
                        self.met.add(clause_of(*in_order(old, new)))
                    if not ordered:
                        told.setdefault(old, []).append((start, cell[0]))
                # what is ordered before a write that all later ones are compared with needs not stay
                if not (ordered and (new.write or (not old.write and old.by == new.by))):
                    kept.append(old)
            kept.append(new)
            cell[1] = kept
        for old, cells in told.items():
            self.tell(rank, old, new, cells)

    def tell(self, rank, old, new, cells):
        if (old.op, new.op) in self.told:
            return  # one that reads and writes: what it reads says more
        self.told.add((old.op, new.op))
        size = sum(end - start for start, end in cells)
        first, second = in_order(old, new)
        race = Race(first, second, cells[0][0], size, rank.block(cells[0][0]))
        self.races_all += 1
        key = race.key()
        if key not in self.seen:
            self.seen[key] = 0
            if len(self.races) < TOLD_MAX:
                self.races.append(race)
        self.seen[key] += 1


# ---- Files ----------------------------------------------------------------------------------------


def file_of(folder, rank):
    return os.path.join(folder, f"streams-{rank}.jsonl")


def read(folder, world):
    """The ranks' logs; None when there is no file at all."""
    logs = []
    for rank in range(world):
        logs.append([])
        try:
            with protocol.opened(file_of(folder, rank)) as file:
                for number, line in enumerate(file):
                    logs[-1].append(protocol.parse(line))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise Bad(f"rank {rank}: its stream log cannot be read: {error.strerror}") from None
        except protocol.Malformed as error:
            raise Bad(f"rank {rank}, line {number + 1}: {error}") from None
    return logs if any(logs) else None


def check(logs):
    return Checker(logs).run()


def main():
    if len(sys.argv) != 2:
        print("usage: streams.py DIR", file=sys.stderr)
        return 2
    try:
        world = 1 + max((int(name[8:-6]) for name in os.listdir(sys.argv[1])
                         if name.startswith("streams-") and name.endswith(".jsonl") and name[8:-6].isdigit()),
                        default=-1)
        logs = read(sys.argv[1], world)
        if logs is None:
            print(f"streams.py: {sys.argv[1]} has no stream logs (streams-N.jsonl)", file=sys.stderr)
            return 2
        done = check(logs)
        if not any(rank.ops for rank in done.ranks):
            print(f"streams.py: the logs of {sys.argv[1]} have no operation: nothing was judged", file=sys.stderr)
            return 1
    except (OSError, Bad) as error:
        print(f"streams.py: {error}", file=sys.stderr)
        return 2
    for race in done.races:
        times = done.seen[race.key()]
        print(f"{race.clause}: {race.text()}" + (f"\n  ({times} such pairs)" if times > 1 else ""))
    print(f"{sum(r.ops for r in done.ranks)} operations on {sum(len(r.streams) for r in done.ranks)} streams of "
          f"{len(done.ranks)} ranks: {done.races_all} pairs of accesses that nothing orders")
    return 1 if done.races_all else 0


if __name__ == "__main__":
    sys.exit(main())
