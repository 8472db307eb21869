"""Times zeroproof.torch.clip_grad_norm_ against torch.nn.utils.clip_grad_norm_(foreach=True).

    python tests/bench/bench_clip.py [--elements N] [--pairs N] [--threads N ...] [--cpu-time]

Prints a Markdown table. Each row is the median of `pairs` ratios, each of two calls that follow
each other, and the upper 95 % bound of that median (an order statistic: the binomial distribution
bounds how many ratios may lie above the median). The last column compares the norm alone with a
plain read, torch.sum of the same bytes as int64: what the sum could reach.

--cpu-time measures the process's CPU time, for one thread on a machine with other work, whose
turns on the CPU would otherwise count. AVX2 alone: ATEN_CPU_CAPABILITY=avx2 for PyTorch, and
ZEROPROOF_LIBRARY naming a library that was built with CFLAGS=-DZP_SIMD_MAX=1."""

import argparse
import math
import platform
import statistics
import time

import torch
import zeroproof.torch as zt


def upper(values):
    """The upper 95 % bound of the median."""
    n, below = len(values), 0.0
    for k in range(n):
        below += math.comb(n, k) / 2**n
        if below >= 0.95:
            return sorted(values)[min(k + 1, n - 1)]
    return max(values)


def seconds(call, clock=time.perf_counter):
    start = clock()
    call()
    return clock() - start


def gradients(elements, tensors, dtype, kind):
    """Parameters with gradients. kind: normal; outliers (1 % are 2^20 times as large); all
    exponents."""
    generator = torch.Generator().manual_seed(1)
    found = []
    for _ in range(tensors):
        g = torch.randn(elements // tensors, generator=generator)
        if kind == "outliers":
            g = torch.where(torch.rand(g.numel(), generator=generator) < 0.01, g * 2**20, g)
        elif kind == "all exponents":
            g *= torch.exp2(torch.randint(-100, 50, (g.numel(),), generator=generator).float())
        p = torch.nn.Parameter(torch.empty(0, dtype=dtype))
        p.data = torch.empty_like(g, dtype=dtype)
        p.grad = g.to(dtype)
        found.append(p)
    return found


def row(options, dtype, tensors, binding, kind):
    parameters = gradients(options.elements, tensors, dtype, kind)
    norm = zt.grad_norm(parameters).item()
    # a factor close to 1: the values hardly change over the calls
    limit = norm * (0.999999 if binding else 2.0)
    theirs = torch.nn.utils.clip_grad_norm_
    zt.clip_grad_norm_(parameters, limit)
    theirs(parameters, limit, foreach=True)
    clock = time.process_time if options.cpu_time else time.perf_counter
    ratios, reads = [], []
    words = [p.grad.view(torch.int64) for p in parameters if p.grad.numel() % 4 == 0]
    for pair in range(options.pairs):
        calls = [
            lambda: zt.clip_grad_norm_(parameters, limit),
            lambda: theirs(parameters, limit, foreach=True),
        ]
        order = (0, 1) if pair % 2 else (1, 0)
        took = {which: seconds(calls[which], clock) for which in order}
        ratios.append(took[0] / took[1])
        read = seconds(lambda: [w.sum() for w in words], clock)
        reads.append(read / seconds(lambda: zt.grad_norm(parameters), clock))
    name = str(dtype).removeprefix("torch.")
    print(
        f"| {name} | {kind} | {tensors:,} | {'yes' if binding else 'no'} | "
        f"{torch.get_num_threads()} | {statistics.median(ratios):.2f} | {upper(ratios):.2f} | "
        f"{statistics.median(reads):.2f} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--elements", type=int, default=100_000_000, help="in all (1e8)")
    parser.add_argument("--pairs", type=int, default=30, help="of calls in each row (30)")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2], help="of both (1 2)")
    parser.add_argument("--cpu-time", action="store_true", help="CPU time instead of elapsed")
    options = parser.parse_args()
    print(f"PyTorch {torch.__version__}, {platform.machine()}, {options.elements:,} elements\n")
    print("| dtype | values | tensors | clips | threads | ratio | upper 95 % | of a plain read |")
    print("|---|---|---|---|---|---|---|---|")
    for threads in options.threads:
        torch.set_num_threads(threads)
        for dtype in (torch.float32, torch.bfloat16):
            for tensors in (1, 1000):
                for binding in (False, True):
                    row(options, dtype, tensors, binding, "normal")
            for kind in ("outliers", "all exponents"):
                row(options, dtype, 1, True, kind)


main()
