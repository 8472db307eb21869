"""Which attempt of a run this is. The first writes its traces to DIR, attempt N to DIR/attempt-N.

No trace is overwritten, and all ranks of an attempt must write to the same folder, although they
start independently and maybe on several hosts. So they agree by the store of torch.distributed:
the number of the rank that asks first holds for all. The number is that of the restart, if the
launcher says it, or the next one that is free in DIR."""

import os
import sys
import time

EXACT = "ZEROPROOF_TRACE_ATTEMPT"
RESTARTS = ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT")
MOST = 999999
SLACK = 60  # seconds: clocks differ, and ranks of one attempt start one after the other


def variable(*names):
    """The first of these variables with a number, or None."""
    for name in names:
        words = os.environ.get(name, "")
        if words.isdecimal() and int(words) <= MOST:
            return int(words)
        if words:
            print(f"zeroproof: {name}={words}: not a number from 0 to {MOST}", file=sys.stderr)
    return None


def folder_of(folder, attempt):
    return os.path.join(folder, f"attempt-{attempt}") if attempt > 0 else folder


def next_free(folder):
    """One more than the last attempt in a folder; 0 if it has none."""
    last = -1
    try:
        names = os.listdir(folder)
    except OSError:
        return 0
    for name in names:
        number = name.removeprefix("attempt-")
        if number != name and number.isdecimal():
            last = max(last, int(number))
        elif name.startswith("rank-") and name.endswith(".zpt"):
            last = max(last, 0)
    return last + 1


def own_next(folder, rank, first):
    """The first attempt from `first` on in which the rank has no trace."""
    while os.path.lexists(os.path.join(folder_of(folder, first), f"rank-{rank}.zpt")):
        first += 1
    return first


def started():
    """When this process started, in the time of files; 0 if that is not known."""
    try:
        with open("/proc/self/stat") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        with open("/proc/uptime") as file:
            uptime = float(file.read().split()[0])
        return time.time() - (uptime - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return 0


def is_earlier(folder, since):
    """Whether a folder has traces that were written long before this process started, as those of
    an earlier attempt."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    for name in names:
        if name.startswith("rank-") and name.endswith(".zpt"):
            try:
                if os.stat(os.path.join(folder, name)).st_mtime < since:
                    return True
            except OSError:
                continue
    return False


def agreed(store, key, folder, rank, mine):
    """The number that the first rank has proposed for a key, or None without a usable store. A
    store may outlive an attempt: a number that belongs to an earlier one is replaced."""
    since = started() - SLACK
    try:
        number = int(store.compare_set(key, "", str(mine)))
        while number < MOST:
            at = folder_of(folder, number)
            exists = os.path.lexists(os.path.join(at, f"rank-{rank}.zpt"))
            if not exists and not is_earlier(at, since):
                break
            later = max(number + 1, next_free(folder))
            number = int(store.compare_set(key, str(number), str(later)))
        return number
    except Exception as error:  # a store of any kind: the program must continue
        if store is not None:
            print(f"zeroproof: no agreement on an attempt: {error}", file=sys.stderr)
        return None


def choose(folder, rank, store, recording):
    """The folder for the traces of this attempt. recording: how many the process has made."""
    exact = variable(EXACT)
    if exact is not None:
        return folder_of(folder, exact)
    first = variable(*RESTARTS) or 0
    key = f"zeroproof/attempt/{first}/{recording}"
    attempt = agreed(store, key, folder, rank, max(first, next_free(folder)))
    if attempt is None:
        attempt = own_next(folder, rank, first)
    return folder_of(folder, attempt)
