"""Measures what the recorder for PyTorch adds to an operation: recorder_bench.py [FOLDER].

Run it with the Python of a PyTorch environment. FOLDER has the module zeroproof_trace (another
commit's, to compare). It prints microseconds of the thread's processor time, medians of 15 rounds
of 1000 and the fastest round: of an operation on one rank of gloo without and with the recorder, of
one record alone, of one record below four frames of PyTorch, as an operation has them (each of
these frames takes time, as Python makes an object of it), and of the same within a hook of
autograd."""

import os
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "..", "conformance", "recorder")
sys.path.insert(0, sys.argv[1] if len(sys.argv) > 1 else FOLDER)
os.environ.update(OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import zeroproof_trace  # noqa: E402

ROUNDS, TURNS = 15, 1000


def seconds(call):
    begin = time.thread_time()
    for _ in range(TURNS):
        call()
    return (time.thread_time() - begin) / TURNS * 1e6


def recorded_calls(recorder, operations):
    """The arguments of the recorder's publish() for each operation."""
    real, found = recorder.publish, []

    def publish(*args):
        found.append(args)
        real(*args)

    recorder.publish = publish
    for operation in operations.values():
        operation()
    recorder.publish = real
    return dict(zip(operations, found, strict=True))


def frames_of_torch():
    """A function that calls another one below four frames, whose code is in PyTorch's folder."""
    code = "def call0(f, *x): f(*x)\n"
    code += "".join(f"def call{n}(f, *x): call{n - 1}(f, *x)\n" for n in (1, 2, 3))
    found = {}
    exec(compile(code, os.path.join(os.path.dirname(dist.__file__), "none.py"), "exec"), found)
    return found["call3"]


def in_backward(call):
    """What call() returns while autograd is running."""
    found, x = [], torch.ones(1, requires_grad=True)
    x.register_hook(lambda _: found.append(call()))
    x.sum().backward()
    return found[0]


def main():
    below = frames_of_torch()
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    tensor = torch.ones(4)
    operations = {
        "all_reduce": lambda: dist.all_reduce(tensor),
        "broadcast": lambda: dist.broadcast(tensor, 0),
        "all_gather_into_tensor": lambda: dist.all_gather_into_tensor(tensor, tensor),
    }
    bare = {name: [] for name in operations}
    for _ in range(ROUNDS):
        for name, operation in operations.items():
            bare[name].append(seconds(operation))
    with tempfile.TemporaryDirectory() as folder:
        recorder = zeroproof_trace.record(folder)
        arguments = recorded_calls(recorder, operations)
        whole = {name: [] for name in operations}
        alone = {name: [] for name in operations}
        deep = {name: [] for name in operations}
        backward = {name: [] for name in operations}
        for _ in range(ROUNDS):
            for name, operation in operations.items():
                whole[name].append(seconds(operation))
                publish, given = recorder.publish, arguments[name]
                alone[name].append(seconds(lambda f=publish, x=given: f(*x)))

                def entered(f=publish, x=given):
                    return seconds(lambda: below(f, *x)) - seconds(lambda: below(len, x))

                deep[name].append(entered())
                backward[name].append(in_backward(entered))
        recorder.close()
    print("| operation | without | with the recorder | record alone | below frames | in backward |")
    print("|---|--:|--:|--:|--:|--:|")
    for name in operations:
        rounds = [times[name] for times in (bare, whole, alone, deep, backward)]
        cells = [f"{statistics.median(times):.1f} ({min(times):.1f})" for times in rounds]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
