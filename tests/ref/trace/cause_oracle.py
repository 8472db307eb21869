"""A brute-force oracle for the causes of inconsistent runs: it tries every single edit of every
rank at every position, and lists those after which the traces have no contradiction. It shares no
code with zeroproof trace check.

A contradiction is: members of a group enter different operations; ranks wait for each other in a
circle; a rank waits for one that has ended, or that stopped outside of an operation; a rank has
completed without an operation that another member entered. A trace that was cut while its rank
waited says nothing about what would follow.
"""

from cause_programs import RECV, SEND, agree, meeting_of

OP, WAIT, CALL, CALL_END = range(4)


class Track:
    """Events of a rank: (OP, key, sig, async, unit, group), (WAIT, unit), (CALL,), (CALL_END,)."""

    def __init__(self, events, end):
        self.events, self.end = events, end


class Oracle:
    """moments: steps and call sites count as arguments on which the members must agree."""

    def __init__(self, program, run, moments=False):
        self.program, self.moments = program, moments
        self.members = {}
        self.tracks = [self.track(rank, run) for rank in range(program.world)]
        self.signatures = {}  # (key): sigs that members enter
        for track in self.tracks:
            for e in track.events:
                if e[0] == OP:
                    found = self.signatures.setdefault(e[1], [])
                    if e[2] not in found:
                        found.append(e[2])
        self.settle()

    def track(self, rank, run):
        events, step = [], -1
        for e in run.traces[rank]:
            if e[0] == "op":
                key, members = meeting_of(self.program, rank, e)
                self.members[key] = members
                sig = e[2]
                if self.moments:
                    sig = (*sig, step, self.program.site(rank, e))
                events.append((OP, key, sig, e[3], e[4]))
            elif e[0] == "step":
                step = e[1]
            elif e[0] == "wait":
                events.append((WAIT, e[1]))
            else:
                events.append((CALL,) if e[0] == "call" else (CALL_END,))
        return Track(events, "normal" if run.ends[rank] == "end" else "stopped")

    def settle(self):
        """A rank whose trace was cut within an operation: nothing is known about its rest."""
        replay = Replay(self, self.tracks, stop_at_mismatch=False, length=5)
        for rank, track in enumerate(self.tracks):
            if not track.events:
                continue
            last = track.events[-1]
            waits = replay.at[rank] == len(track.events) - 1
            behind = replay.at[rank] < len(track.events) - 1
            if track.end == "stopped" and behind:
                waits = last[0] in (WAIT, CALL_END) or (last[0] == OP and not last[3])
            if track.end == "stopped":  # operations that differ may block all members
                meetings = [replay.units[rank].get(u) for u in last_units(track.events)]
                waits = waits or any(m in replay.differ for m in meetings)
            if waits:
                track.end = "unknown"
        self.good = not replay.differ and not replay.contradicts()
        self.good = self.good and self.is_good(0, self.tracks[0])

    def is_good(self, rank, track):
        tracks = list(self.tracks)
        tracks[rank] = track
        replay = Replay(self, tracks)
        return not replay.differ and not replay.contradicts()

    # ---- Edits -----------------------------------------------------------------------------------

    def explanations(self):
        """{rank: kinds} of all single edits that leave no contradiction. With moments: kinds with
        step and site of the operation."""
        found = {}
        for rank in range(self.program.world):
            kinds = set()
            for kind, track, sig in self.edits(rank):
                kind = (kind, *sig[5:]) if self.moments else kind
                if kind not in kinds and self.is_good(rank, track):
                    kinds.add(kind)
            if kinds:
                found[rank] = kinds
        return found

    def edits(self, rank):
        track = self.tracks[rank]
        events, end = track.events, track.end
        if end in ("normal", "stopped"):
            yield "exit" if end == "normal" else "hang", Track(events, "unknown"), ()
        for i, e in enumerate(events):
            if e[0] != OP:
                continue
            yield "extra", Track(without(events, i), end), e[2]
            for sig in self.signatures[e[1]]:
                sig = (*self.mine(e[1], sig, rank)[:5], *e[2][5:])
                if not agree(sig, e[2]):
                    new = (*e[:2], sig, *e[3:])
                    yield field(e[2], sig), Track([*events[:i], new, *events[i + 1 :]], end), sig
            later = [k for k in range(i + 1, len(events)) if events[k][0] == OP][:1]
            for k in later:
                yield "order", Track(exchanged(events, i, k), end), e[2]
        for key, members in self.members.items():
            if rank not in members:
                continue
            for sig in self.signatures[key]:
                new = (OP, key, self.mine(key, sig, rank), False, -2)
                for i in range(len(events) + 1):
                    yield "skip", Track([*events[:i], new, *events[i:]], end), new[2]

    def mine(self, key, sig, rank):
        """A member's signature as another member has it: the ends of a pair differ."""
        if sig[0] < SEND:
            return sig
        members = self.members[key]
        sends = members[0] == rank
        return (SEND if sends else RECV, *sig[1:4], key[2] if sends else key[1], *sig[5:])


def last_units(events):
    """The units of the operations that the last event may wait for."""
    last = events[-1]
    if last[0] != CALL_END:
        return [last[4]] if last[0] == OP else [last[1]] if last[0] == WAIT else []
    start = max(i for i, e in enumerate(events) if e[0] == CALL)
    return [e[4] for e in events[start:] if e[0] == OP]


def without(events, i):
    unit = events[i][4]
    return [e for k, e in enumerate(events) if k != i and e != (WAIT, unit)]


def exchanged(events, i, k):
    """Events i and k in the other order; waits for event i that come before it are dropped."""
    new = list(events)
    new[i], new[k] = events[k], events[i]
    early = (WAIT, events[i][4])
    moved = early in new[i + 1 : k]
    new = [e for j, e in enumerate(new) if not (i < j < k and e == early)]
    if moved:
        at = new.index(events[i])
        new[at] = (*new[at][:3], False, new[at][4])
    return new


def field(was, sig):
    for name, i in (("op", 0), ("count", 3), ("dtype", 2), ("root", 4)):
        if was[i] != sig[i] and not (was[0] >= SEND and i in (0, 4)):
            return name
    return "reduction"


class Replay:
    """length: how much of a signature the members must agree on."""

    def __init__(self, oracle, tracks, stop_at_mismatch=True, length=7):
        self.tracks, self.members, self.length = tracks, oracle.members, length
        world = len(tracks)
        self.at = [0] * world
        self.units = [{} for _ in range(world)]
        self.calls = [None] * world
        self.count = {}
        self.entered = {}  # meeting: [(rank, sig)]
        self.differ = set()
        ready = list(range(world))
        self.waiting = {}  # meeting: ranks
        self.on = [None] * world
        while ready and not (stop_at_mismatch and self.differ):
            self.run(ready.pop(), ready)

    def complete(self, meeting):
        return len(self.entered[meeting]) == len(self.members[meeting[0]])

    def enter(self, rank, e, ready):
        key = e[1]
        k = self.count.get((key, rank), 0)
        self.count[(key, rank)] = k + 1
        meeting = (key, k)
        entered = self.entered.setdefault(meeting, [])
        if entered and not agree(entered[0][1][: self.length], e[2][: self.length]):
            self.differ.add(meeting)
        entered.append((rank, e[2]))
        self.units[rank][e[4]] = meeting
        if self.complete(meeting):
            ready += self.waiting.pop(meeting, [])
        return meeting

    def blocks(self, rank, e, ready):
        """The meetings for which the rank must wait at its next event."""
        wanted = []
        if e[0] == OP:
            if self.on[rank] is None:
                self.enter(rank, e, ready)
                if self.calls[rank] is not None and not e[3]:
                    self.calls[rank].append(e[4])
            if not e[3] and self.calls[rank] is None:
                wanted = [e[4]]
        elif e[0] == WAIT:
            wanted = [e[1]] if e[1] in self.units[rank] else []
        elif e[0] == CALL:
            self.calls[rank] = []
        else:
            wanted = self.calls[rank] or []
        units = self.units[rank]
        return [units[u] for u in wanted if not self.complete(units[u])]

    def run(self, rank, ready):
        events = self.tracks[rank].events
        while self.at[rank] < len(events):
            e = events[self.at[rank]]
            open_meetings = self.blocks(rank, e, ready)
            if open_meetings:
                self.on[rank] = open_meetings
                self.waiting.setdefault(open_meetings[0], []).append(rank)
                return
            self.on[rank] = None
            if e[0] == CALL_END:
                self.calls[rank] = None
            self.at[rank] += 1

    def missing(self, meeting):
        entered = {rank for rank, _ in self.entered[meeting]}
        return [r for r in self.members[meeting[0]] if r not in entered]

    def contradicts(self):
        """Whether ranks wait in a circle, or for a rank that has ended."""
        edges = {}
        for rank, track in enumerate(self.tracks):
            meetings = self.on[rank] or []
            if self.at[rank] == len(track.events):
                meetings = []
                if track.end == "normal":
                    units = self.units[rank].values()
                    meetings = [m for m in units if not self.complete(m)]
            awaited = {r for m in meetings for r in self.missing(m)}
            for r in awaited:
                done = self.at[r] == len(self.tracks[r].events)
                if done and self.tracks[r].end != "unknown":
                    return True
            left_open = [m for m in self.units[rank].values() if not self.complete(m)]
            for r in {r for m in left_open for r in self.missing(m)}:
                done = self.at[r] == len(self.tracks[r].events)
                if done and self.tracks[r].end == "normal":  # it completed without the operation
                    return True
            if self.on[rank]:
                edges[rank] = awaited
        left = dict(edges)
        while True:  # a rank that waits only for ranks that do not wait is on no circle
            free = [r for r, to in left.items() if not any(t in left for t in to)]
            if not free:
                return bool(left)
            for r in free:
                del left[r]
