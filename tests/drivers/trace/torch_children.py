"""torch_children.py DIR: ranks that multiprocessing starts and that end in different ways, and
whether their traces say how. Prints a line for each."""

import multiprocessing.util
import os
import sys
import threading

import torch
import torch.distributed as dist
from trace_items import Trace

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "conformance", "recorder"))
import zeroproof_trace  # noqa: E402

# name: (how, status, reason) of the trace, or "ended" or "stopped"; exit status of the process
ENDS = {
    "returns": ("ended", 0),
    "exits_with_0": ("ended", 0),
    "exits_with_3": ((1, 3, ""), 3),
    "exits_with_259": ((1, 3, ""), 3),
    "exits_with_words": ((1, 1, ""), 1),
    "raises": ((2, 1, "ValueError"), 1),
    "is_interrupted": ((2, 1, "KeyboardInterrupt"), 1),
    "closes_and_exits": ("ended", 3),
    "leaves_by_os_exit": ("stopped", 6),
    "has_a_child": ((1, 3, ""), 3),
    "goes_on_in_a_thread": ("ended", 0),
}
OTHERS = (
    "returns",
    "exits_with_3",
    "raises",
    "goes_on_in_a_thread",
)  # with other start methods, which take seconds


def child():
    """Is no rank: it writes nothing to the trace of its parent."""
    zeroproof_trace.step(7)


def late(returned):
    """Enters an operation when the function of the process has returned."""
    returned.wait()
    dist.all_reduce(torch.ones(3))


def rank(folder, case):
    sys.stderr = open(os.devnull, "w", encoding="utf-8")
    recorder = zeroproof_trace.record(folder)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    dist.all_reduce(torch.ones(2))
    if case == "raises":
        raise ValueError("expected")
    if case == "is_interrupted":
        raise KeyboardInterrupt
    if case == "leaves_by_os_exit":
        os._exit(6)
    if case == "closes_and_exits":
        recorder.close()
    if case == "has_a_child":
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join()
    if case == "goes_on_in_a_thread":
        returned = threading.Event()
        multiprocessing.util.Finalize(None, returned.set, exitpriority=0)
        threading.Thread(target=late, args=(returned,)).start()
    elif case != "returns":
        word = case.rpartition("_")[2]
        sys.exit(int(word) if word.isdecimal() else word if word == "words" else 3)


def judge(folder, method, case):
    folder = os.path.join(folder, f"{method}_{case}")
    process = multiprocessing.get_context(method).Process(target=rank, args=(folder, case))
    process.start()
    process.join()
    trace = Trace(os.path.join(folder, "rank-0.zpt"))
    got = trace.exit or ("ended" if trace.ended else "stopped")
    good = (got, process.exitcode) == ENDS[case] and not (trace.exit and trace.ended)
    good = good and len(trace.ops) == 1 + case.endswith("_thread") and trace.step is None
    print(f"ok {method}_{case}" if good else f"not ok {method}_{case}: {got}, {process.exitcode}")
    return good


def main():
    methods = {"fork": ENDS, "spawn": OTHERS, "forkserver": OTHERS}
    good = [judge(sys.argv[1], method, case) for method, cases in methods.items() for case in cases]
    return not all(good)


if __name__ == "__main__":
    sys.exit(main())
