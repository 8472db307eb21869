"""The AdamW step on the host beside torch's fused one and DeepSpeedCPUAdam, all in one run.

    make bench-adamw [BENCH_ARGS="--sizes 25e6,250e6 --rounds 15 --json FILE"]

Each contender is a process of its own with arrays of its own, on all cores. A round runs each once,
in an order that rotates; the others are asleep meanwhile. What is compared is the median of each
one's times, and the median of the ratios within a round, which a slow phase of the machine does
not touch. All have the same gradients and first parameters, and must agree on the parameters after
each step.

The same job: torch and DeepSpeed step fp32 masters with an fp32 gradient. Ours does that ("plain"),
and also the whole job of a shard: unscale, clip, AdamW, and the parameters rounded to bf16, in the
same pass. "small pages" is ours without what it asks of the system for its own memory: large pages.

DeepSpeed compiles its operator when it is used for the first time (torch.utils.cpp_extension: g++
-O3 -march=native -fopenmp, with ninja, which its environment has); that may take minutes, and is
done before anything is measured.

Exit status 0 whether or not the target is met: that is for a machine without other work.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

TARGET = 1.1  # of the better of the two others, plain job
DEADLINE_S = 1800  # to start a contender, its compilation included
TOLERANCE = 1e-5  # between implementations: a step moves a parameter by about lr = 1e-3
PEERS = {"torch": "torch-2.13.0", "deepspeed": "deepspeed-0.19.8"}


# ---- What runs in the others' environments -------------------------------------------------------


def peer_optimizer(name, parameter):
    import torch

    options = dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
    if name == "torch":
        return torch.optim.AdamW([parameter], fused=True, **options)
    from deepspeed.ops.adam import DeepSpeedCPUAdam

    return DeepSpeedCPUAdam([parameter], adamw_mode=True, **options)


def peer(name, n, threads):
    """A contender: the same values and the same answers as bench_adamw.c."""
    import torch

    torch.set_num_threads(threads)
    index = torch.arange(n, dtype=torch.int32)
    parameter = torch.nn.Parameter((index % 509 - 254).float() / 256)
    parameter.grad = (index % 251 - 125).float() / 4096
    del index
    optimizer = peer_optimizer(name, parameter)
    print("ready", flush=True)
    for _ in sys.stdin:
        begun = time.perf_counter()
        optimizer.step()
        took = time.perf_counter() - begun
        places = [parameter.data[(n - 1) // 4 * k].item() for k in range(5)]
        print(f"{took:.9f}", *(f"{x:.9g}" for x in places), flush=True)


# ---- The run -------------------------------------------------------------------------------------


class Contender:
    def __init__(self, title, command, job="plain", environment=None):
        self.title, self.job, self.times = title, job, []
        if isinstance(command, Contender):  # another job of a process that is there
            self.process, self.steps = command.process, command.steps
            return
        self.steps = [0]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=environment)

    def wait_until_ready(self):
        while True:
            line = self.process.stdout.readline()
            if line == "ready\n":
                return
            if not line:
                raise RuntimeError(f"{self.title} did not start:\n{self.process.stderr.read()}")

    def step(self):
        self.process.stdin.write(self.job + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 6:
            raise RuntimeError(f"{self.title} ended:\n{self.process.stderr.read()}")
        self.steps[0] += 1
        return float(answer[0]), [float(x) for x in answer[1:]]

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


def python_of(subject):
    script = os.path.join(os.path.dirname(__file__), "../../conformance/subject.sh")
    return subprocess.run(["sh", script, subject], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def peer_process(name, n, threads):
    python = python_of(PEERS[name])
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), DS_ACCELERATOR="cpu",
                       PATH=os.path.dirname(python) + ":" + os.environ["PATH"])
    return Contender(PEERS[name] + (" AdamW(fused)" if name == "torch" else " DeepSpeedCPUAdam"),
                     [python, "-B", __file__, "--peer", name, str(n), str(threads)],
                     environment=environment)


def available_bytes():
    with open("/proc/meminfo") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def open_all(binary, n, threads):
    ours = Contender("ours, plain fp32", [binary, str(n), str(threads), "large"])
    contenders = [ours, Contender("ours, whole job (bf16)", ours, "whole")]
    contenders += [peer_process(name, n, threads) for name in PEERS]
    need = 18 * n * 2 + 16 * n * len(PEERS)
    if available_bytes() > need * 1.1:
        contenders.append(Contender("ours, plain fp32, small pages",
                                    [binary, str(n), str(threads), "small"]))
    else:
        print(f"not run: ours, small pages, at {n}: too little memory is free")
    for c in contenders:
        if c.job == "plain":
            c.wait_until_ready()
    return contenders


def same_parameters(contenders):
    """All plain jobs from the same values, before anything is timed."""
    places = {c.title: c.step()[1] for c in contenders if c.job == "plain"}
    first = places[contenders[0].title]
    for title, there in places.items():
        for a, b in zip(first, there):
            if not abs(a - b) <= TOLERANCE:
                raise RuntimeError(f"{title} has another result: {there}, ours is {first}")


def measure(binary, n, threads, rounds):
    contenders = open_all(binary, n, threads)
    try:
        same_parameters(contenders)
        for c in contenders:
            c.step()  # the first ones touch memory, and start threads
        for r in range(rounds):
            for k in range(len(contenders)):
                c = contenders[(r + k) % len(contenders)]
                c.times.append(c.step()[0])
    finally:
        for c in contenders:
            if c.job == "plain":
                c.end()
    return contenders


def ratio(others, ours):
    """How much faster ours is than the best of the others: median over rounds."""
    return statistics.median(
        min(o.times[r] for o in others) / ours.times[r] for r in range(len(ours.times)))


def judge(n, contenders):
    peers = [c for c in contenders if "ours" not in c.title]
    rows = []
    best = min(peers, key=lambda c: statistics.median(c.times))
    for c in contenders:
        middle = statistics.median(c.times)
        rows.append(dict(n=n, who=c.title, median_ms=1e3 * middle, least_ms=1e3 * min(c.times),
                         gb_s=(30 if c.job == "whole" else 28) * n / middle / 1e9,
                         of_better_peer=statistics.median(best.times) / middle,
                         of_better_peer_least=min(min(p.times) for p in peers) / min(c.times),
                         of_better_in_each_round=ratio(peers, c)))
    return rows


def show(rows):
    print(f"{'elements':>10}  {'who':36} {'median':>9} {'least':>9} {'GB/s':>6}   "
          f"speed of the better peer's: medians, least times, each round's")
    for r in rows:
        print(f"{r['n']:>10}  {r['who']:36} {r['median_ms']:6.1f} ms {r['least_ms']:6.1f} ms "
              f"{r['gb_s']:6.1f}   {r['of_better_peer']:5.2f} {r['of_better_peer_least']:5.2f} "
              f"{r['of_better_in_each_round']:5.2f}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("binary", help="build/tests/cuda/bench_adamw")
    p.add_argument("--sizes", default="25e6,250e6")
    p.add_argument("--rounds", type=int, default=11)
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--json", metavar="FILE")
    a = p.parse_args()
    if a.rounds < 1 or a.threads < 1:
        p.error("--rounds and --threads are at least 1")
    rows, load = [], os.getloadavg()[0]
    print(f"{a.threads} threads, {a.rounds} rounds, load average {load:.1f} before")
    for size in a.sizes.split(","):
        n = int(float(size))
        contenders = measure(a.binary, n, a.threads, a.rounds)
        rows += judge(n, contenders)
        show([r for r in rows if r["n"] == n])
        ours = rows[-len(contenders)]
        print(f"  target {TARGET} x the better of the two, plain job: "
              f"{'met' if ours['of_better_peer'] >= TARGET else 'missed'} "
              f"({ours['of_better_peer']:.2f})", flush=True)
    if a.json:
        with open(a.json, "w") as f:
            json.dump(dict(threads=a.threads, rounds=a.rounds, load_average=load, rows=rows), f,
                      indent=1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
