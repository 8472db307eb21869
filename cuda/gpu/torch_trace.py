"""Traces one step of the engine on a GPU with torch's profiler, which sees all work that its
process queues there, also that of a library.

    torch_trace.py LIBRARY CASE FILE

LIBRARY: step_bench as a shared library; CASE: one of its cases. Writes kernels, copies and memsets
of one step to FILE, in the format of chrome://tracing: from a decision to the next one, of steps in
a row. Prints one JSON object last.
"""

import ctypes
import json
import pathlib
import sys
import tempfile

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
ALONE = 5  # steps at the end of step_bench before which the device is idle


def one_step(events):
    """The device's work between two decisions, times from the first one; empty without them."""
    work = sorted((e for e in events if e.get("cat") in WORK), key=lambda e: e["ts"])
    decisions = [e["ts"] for e in work if "zp_decide" in e["name"]]
    if len(decisions) < ALONE + 3:
        return []
    begin, end = decisions[-ALONE - 3 : -ALONE - 1]
    return [
        {
            "name": e["name"],
            "cat": e["cat"],
            "ph": "X",
            "ts": round(e["ts"] - begin, 3),
            "dur": e["dur"],
            "pid": 0,
            "tid": e.get("args", {}).get("stream", 0),
        }
        for e in work
        if begin <= e["ts"] < end
    ]


def main():
    import torch

    library, case, file = sys.argv[1:]
    lib = ctypes.CDLL(library)  # after torch: both use the NCCL that torch has loaded
    words = (ctypes.c_char_p * 3)(b"step_bench", case.encode(), None)
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        torch.cuda.init()
        activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        status = lib.main(2, words)
    if status != 0:
        sys.exit(f"step_bench: exit status {status}")
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder, "trace.json")
        profile.export_chrome_trace(str(whole))
        events = one_step(json.loads(whole.read_text())["traceEvents"])
    if torch.cuda.is_available() and not events:
        sys.exit("the profiler reported no step")
    pathlib.Path(file).write_text(json.dumps({"traceEvents": events}, indent=0) + "\n")
    print(json.dumps({"trace": case, "items": len(events)}))


if __name__ == "__main__":
    main()
