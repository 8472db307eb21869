"""All ranks of an attempt choose one folder, in which no trace of an earlier one is overwritten.
attempt_test.py DIR"""

import contextlib
import io
import os
import sys
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "conformance", "recorder"))

import zeroproof_trace_attempt  # noqa: E402

RANKS = 4
bad = 0


class Store:
    """A store as torch.distributed has them."""

    def __init__(self):
        self.values = {}

    def compare_set(self, key, expected, desired):
        if self.values.get(key, "") == expected:
            self.values[key] = desired
        return self.values[key].encode()


class Broken:
    def compare_set(self, *_):
        raise RuntimeError("the store is gone")


def verdict(good, name, why=""):
    global bad
    print(f"ok {name}" if good else f"not ok {name}: {why}")
    bad |= not good


def attempt(folder, stores, ranks=range(RANKS), age=0, **environment):
    """The ranks begin one after the other, and each writes a trace. Returns their numbers."""
    found, written = [], []
    with unittest.mock.patch.dict(os.environ, environment):
        for rank in ranks:
            at = zeroproof_trace_attempt.choose(folder, rank, stores, 1)
            os.makedirs(at, exist_ok=True)
            name = os.path.join(at, f"rank-{rank}.zpt")
            with open(name, "x", encoding="utf-8"):  # fails if it exists
                pass
            written.append(name)
            found.append(int(at.rpartition("attempt-")[2]) if "attempt-" in at else 0)
    for name in written:
        then = os.stat(name).st_mtime - age
        os.utime(name, (then, then))
    return found


def main():
    for name in (zeroproof_trace_attempt.EXACT, *zeroproof_trace_attempt.RESTARTS):
        os.environ.pop(name, None)
    folder = os.path.join(sys.argv[1], "run")
    found = attempt(folder, Store(), ranks=(0, 1, 3))
    verdict(found == [0] * 3, "the_first_attempt_is_in_the_folder_itself", found)
    found = attempt(folder, Store(), ranks=(2, 0, 3, 1))
    verdict(found == [1] * 4, "a_rank_without_a_trace_does_not_join_an_earlier_attempt", found)
    found = attempt(folder, Store(), TORCHELASTIC_RESTART_COUNT="4")
    verdict(found == [4] * 4, "the_number_is_that_of_the_restart", found)
    found = attempt(folder, Store(), TORCHELASTIC_RESTART_COUNT="3", ranks=(3, 2, 1, 0))
    verdict(found == [5] * 4, "unless_it_is_not_free", found)
    store = Store()
    found = attempt(folder, store, ranks=(0, 1), age=3600)
    verdict(found == [6] * 2, "another_attempt_takes_the_next_number", found)
    found = attempt(folder, store, ranks=(3, 2, 1, 0))
    verdict(found == [7] * 4, "a_number_of_an_earlier_attempt_in_the_store_is_replaced", found)
    found = attempt(folder, Store(), ZEROPROOF_TRACE_ATTEMPT="20", SLURM_RESTART_COUNT="3")
    verdict(found == [20] * 4, "the_user_can_set_the_number", found)
    found = attempt(folder, None, SLURM_RESTART_COUNT="20", ranks=(0,))
    verdict(found == [21], "without_a_store_a_rank_overwrites_nothing", found)
    with contextlib.redirect_stderr(io.StringIO()) as said:
        found = attempt(folder, Broken(), ranks=(1,), TORCHELASTIC_RESTART_COUNT="x")
    text = said.getvalue()
    good = found == [2] and "the store is gone" in text
    verdict(good, "a_store_that_fails_is_reported", (found, text))
    good = "TORCHELASTIC_RESTART_COUNT=x: not a number" in text
    verdict(good, "an_invalid_number_is_reported", text)
    return bad


if __name__ == "__main__":
    sys.exit(main())
