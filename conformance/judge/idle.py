"""Finds out whether processes wait: by the processor time that they use, not by the clock, so that
a loaded machine gives the same answer as an idle one."""

import os
import time

TICK = 1 / os.sysconf("SC_CLK_TCK")  # resolution of /proc/PID/stat
# A process that uses less than this part of one processor waits. The threads of gloo wake up a
# hundred times a second, for about 1 % together; a process that computes beside 60 others still
# gets more than 3 % of two processors.
IDLE = 0.02
# A main thread that runs, is ready to run, or reads a file does not wait, although others may keep
# it from a processor for seconds.
AWAKE = (b"R", b"D")
# The most seconds that one look counts for: who looks may have been stopped together with those
# that it looks at.
LOOK = 0.2


def fields(pid):
    """Of /proc/PID/stat, from STATE on; None if the process has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # PID (NAME) STATE PARENT …, where NAME may contain anything
            return file.read().rpartition(b")")[2].split() or None
    except OSError:
        return None


def below(pid):
    """All processes that descend from this one."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        if found := fields(name):
            children.setdefault(int(found[1]), []).append(int(name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found[1:]


def look(pid):
    """The state of a process's main thread (as in /proc/PID/stat), and the seconds of processor
    time of all its threads. One that has ended sleeps."""
    found = fields(pid)
    return (found[0], (int(found[11]) + int(found[12])) * TICK) if found else (b"S", 0)


class Watch:
    """Notices when none of some processes has computed for `seconds`. computed: the most seconds of
    processor time that one of them has used since the beginning."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.begin()

    def begin(self):
        self.computed, self.slept, self.since, self.last = 0, 0, 0, 0
        self.first, self.before = {}, None

    def asleep(self, pids):
        """Call it repeatedly. It starts again whenever a process starts or computes."""
        now, seen = time.monotonic(), {pid: look(pid) for pid in pids}
        used = {pid: spent for pid, (_, spent) in seen.items()}
        self.first = {**used, **self.first}
        self.computed = max([self.computed, *(used[pid] - self.first[pid] for pid in used)])
        most = IDLE * (now - self.since) + 1.5 * TICK
        if self.before is None or any(
            pid not in self.before or spent - self.before[pid] > most for pid, spent in used.items()
        ):
            self.since, self.before, self.slept = now, used, 0
        elif not any(state in AWAKE for state, _ in seen.values()):
            self.slept += min(now - self.last, LOOK)
        self.last = now
        return self.slept >= self.seconds
