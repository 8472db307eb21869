"""Finds out whether processes wait: by the processor time that they use, not by the clock, so that
a loaded machine gives the same answer as an idle one."""

import os
import time

TICK = 1 / os.sysconf("SC_CLK_TCK")  # resolution of /proc/PID/stat
# A process that uses less than this part of one processor waits. The threads of gloo wake up a
# hundred times a second, for about 1 % together; a process that computes beside 60 others still
# gets more than 3 % of two processors.
IDLE = 0.02


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


def used(pid):
    """Seconds of processor time of a process and its threads; 0 if it has ended."""
    found = fields(pid)
    return (int(found[11]) + int(found[12])) * TICK if found else 0


class Watch:
    """Notices when none of some processes has computed for `seconds`."""

    def __init__(self, seconds):
        self.seconds, self.since, self.before = seconds, 0, None

    def asleep(self, pids):
        """Call it repeatedly. It starts again whenever a process starts, ends or computes."""
        now, state = time.monotonic(), {pid: used(pid) for pid in pids}
        most = IDLE * (now - self.since) + 1.5 * TICK
        if self.before is None or any(
            pid not in self.before or spent - self.before[pid] > most
            for pid, spent in state.items()
        ):
            self.since, self.before = now, state
        return now - self.since >= self.seconds
