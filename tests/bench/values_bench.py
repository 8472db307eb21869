"""Measures fingerprints of values: values_bench.py [PARAMETERS [TOKENS [STEPS]]].

Run it with the Python of a PyTorch environment. It prints two tables. The first one compares a
fingerprint with a read (torch.sum) of the same bytes, in GB/s of the thread's processor time. The
second one compares training steps of a model of PARAMETERS (100 million) parameters on TOKENS
(2048) tokens, on one rank of gloo with DistributedDataParallel, without and with the recorder,
which samples tensors every tenth step. Steps of both kinds alternate, so that a busy machine
slows both."""

import os
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "conformance", "recorder"))
os.environ.update(OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import zeroproof_trace  # noqa: E402
from zeroproof_trace_values import Pieces  # noqa: E402

EVERY = 10


def seconds(call, clock=time.thread_time):
    begin = clock()
    call()
    return clock() - begin


def compare_with_read(values):
    print("| MB | read, GB/s | fingerprint, GB/s | ratio of times |\n|--:|--:|--:|--:|")
    for megabytes in (1, 16, 256):
        tensor = torch.ones(megabytes << 18)
        rounds = max(7, 1024 // megabytes)
        reads, prints = [], []
        for _ in range(rounds):
            reads.append(seconds(tensor.sum))
            prints.append(seconds(lambda of=tensor: values.of([Pieces([of])])))
        read, fingerprint = statistics.median(reads), statistics.median(prints)
        print(
            f"| {megabytes} | {(megabytes << 20) / read / 1e9:.1f} | "
            f"{(megabytes << 20) / fingerprint / 1e9:.1f} | {fingerprint / read:.2f} |",
            flush=True,
        )


def model_of(parameters):
    """Layers of 1024 features each, with a ReLU between them."""
    layers = max(1, parameters // (1024 * 1025))
    parts = []
    for _ in range(layers):
        parts += [torch.nn.Linear(1024, 1024), torch.nn.ReLU()]
    return torch.nn.Sequential(*parts)


class Training:
    def __init__(self, parameters, tokens):
        torch.manual_seed(1)
        self.model = torch.nn.parallel.DistributedDataParallel(model_of(parameters))
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.data = torch.randn(tokens, 1024)

    def step(self):
        self.optimizer.zero_grad()
        self.model(self.data).square().mean().backward()
        self.optimizer.step()


def compare_steps(recorder, parameters, tokens, steps):
    training = Training(parameters, tokens)
    count = sum(p.numel() for p in training.model.parameters())
    values, plain, sampled, between = recorder.values, [], [], []
    training.step()  # allocates
    values.taken.clear()
    for step in range(steps):
        recorder.closed = True  # as without a recorder: the hooks do nothing
        recorder.values = None
        plain.append(seconds(training.step, time.process_time))
        recorder.closed = False
        recorder.values = values
        (between if step % EVERY else sampled).append(seconds(training.step, time.process_time))
        print(f"step {step}: {plain[-1]:.2f} s without", file=sys.stderr, flush=True)
    without, with_values = statistics.median(plain), statistics.median(between or sampled)
    most = statistics.median(sampled)
    mean = (most + (EVERY - 1) * with_values) / EVERY
    print(f"\n{count / 1e6:.0f} million parameters, {tokens} tokens, {len(plain)} pairs of steps\n")
    print("| step | seconds | more |\n|---|--:|--:|")
    for name, found in (
        ("not recorded, median", without),
        ("recorded, without samples, median", with_values),
        ("recorded, with samples, median", most),
        (f"recorded, every {EVERY}th with samples, mean", mean),
        ("worst one with samples", max(sampled)),
        ("worst one not recorded", max(plain)),
    ):
        print(f"| {name} | {found:.2f} | {100 * (found / without - 1):+.1f} % |")


def main():
    sizes = [int(word) for word in sys.argv[1:]]
    parameters, tokens, steps = sizes + [100_000_000, 2048, 11][len(sizes) :]
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        recorder = zeroproof_trace.record(folder, values=EVERY)
        compare_with_read(recorder.values)
        compare_steps(recorder, parameters, tokens, steps)
        recorder.close()


if __name__ == "__main__":
    main()
