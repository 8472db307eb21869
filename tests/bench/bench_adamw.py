"""Compares the AdamW step on the host with torch's fused one and DeepSpeedCPUAdam, in one run.

    make bench-adamw [BENCH_ARGS="--sizes 25e6,250e6 --rounds 15 --json FILE"]

Each contender is a separate process with its own arrays, on all cores. A round runs each one once,
in random order, while the others sleep. Results are the median of each contender's times, and the
median of the ratios within a round, which a slow phase of the machine does not affect. All have the
same gradients and initial parameters, and must agree on the parameters after each step.

Two jobs. "plain": fp32 masters are stepped with an fp32 gradient. "whole": the gradient is first
multiplied by a factor (unscale, clip), and the parameters are rounded to bf16 at the end, as a
shard needs it; ours does so in the same pass. Torch has two ways: grad_scale, by which its fused
step divides, as with GradScaler, or a multiplication before the step; the faster one counts.
DeepSpeed multiplies before and copies after the step, as its ZeRO with offload does. Each job is
compared with the same job of the others.

With --divisor N our gradients are sums, N times those of the others, and our pass also divides by N
in both jobs, as the engine's step with offload does where NCCL adds or sums are ordered. Where N is
a power of two it multiplies instead, with the same bits.

"small pages" is ours without large pages, which it requests from the system for its own memory.
"bytes" is not a step but a pass over the same arrays that moves the same bytes with two
multiplications: the limit of the memory.

Processor times, of all cores, are printed besides wall-clock times: other work on the machine
affects them less. Threads that wait sleep (OMP_WAIT_POLICY), for all contenders, so that waiting
does not count.

DeepSpeed compiles its operator at the first use (torch.utils.cpp_extension: g++ -O3 -march=native
-fopenmp, with ninja, which its environment has). That may take minutes, and happens before
anything is measured.

Exit status 0 whether or not the target is met: the target is for a machine without other work.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time

TARGET = 1.1  # of the better of the two others, plain job
DEADLINE_S = 1800  # to start a contender, its compilation included
TOLERANCE = 1e-5  # between implementations: a step moves a parameter by about lr = 1e-3
SCALE = 16  # what gradients are divided by in the whole job: 2^3 and a clip factor of 1/2, exact
PEERS = {"torch": "torch-2.13.0", "deepspeed": "deepspeed-0.19.8"}


# ---- Code that runs in the others' environments --------------------------------------------------


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
    half = torch.zeros(n, dtype=torch.bfloat16)
    scale, finite = torch.tensor(float(SCALE)), torch.tensor(0.0)
    print("ready", flush=True)
    for line in sys.stdin:
        job = line.strip()
        in_step = name == "torch" and job == "whole, grad_scale"
        if in_step:
            optimizer.grad_scale, optimizer.found_inf = scale, finite
        begun, used = time.perf_counter(), time.process_time()
        if job != "plain" and not in_step:
            parameter.grad.mul_(1 / SCALE)
        optimizer.step()
        if job != "plain":
            half.copy_(parameter.data)
        took, used = time.perf_counter() - begun, time.process_time() - used
        if job != "plain":
            parameter.grad.mul_(SCALE)  # both have changed it: the next step's is the same again
        optimizer.grad_scale = optimizer.found_inf = None
        places = [parameter.data[(n - 1) // 4 * k].item() for k in range(5)]
        print(f"{took:.9f} {used:.9f}", *(f"{x:.9g}" for x in places), flush=True)


# ---- The run -------------------------------------------------------------------------------------


class Contender:
    def __init__(self, title, command, job="plain", environment=None):
        self.title, self.job, self.times, self.used = title, job, [], []
        if isinstance(command, Contender):  # another job of a process that is there
            self.process = command.process
            return
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def wait_until_ready(self):
        while True:
            line = self.process.stdout.readline()
            if line == "ready\n":
                return
            if not line:
                raise RuntimeError(f"{self.title} did not start:\n{self.process.stderr.read()}")

    def step(self, job=None):
        self.process.stdin.write((job or self.job) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 7:
            raise RuntimeError(f"{self.title} ended:\n{self.process.stderr.read()}")
        return float(answer[0]), float(answer[1]), [float(x) for x in answer[2:]]

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


def title_of(name):
    return PEERS[name] + (" AdamW" if name == "torch" else " CPUAdam")


def python_of(subject):
    script = os.path.join(os.path.dirname(__file__), "../../conformance/subject.sh")
    return subprocess.check_output(["sh", script, subject], text=True).strip()


def peer_process(name, n, threads):
    python = python_of(PEERS[name])
    environment = dict(
        os.environ,
        OMP_NUM_THREADS=str(threads),
        DS_ACCELERATOR="cpu",
        OMP_WAIT_POLICY="passive",
        PATH=os.path.dirname(python) + ":" + os.environ["PATH"],
    )
    command = [python, "-B", __file__, "--peer", name, str(n), str(threads)]
    return Contender(title_of(name), command, environment=environment)


def available_bytes():
    with open("/proc/meminfo") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def open_all(binary, n, threads, divisor):
    environment = dict(os.environ, OMP_WAIT_POLICY="passive")
    large = [binary, str(n), str(threads), "large", str(divisor)]
    ours = Contender("ours", large, environment=environment)
    contenders = [ours, Contender("ours", ours, "whole"), Contender("same bytes", ours, "bytes")]
    for name in PEERS:
        peer = peer_process(name, n, threads)
        contenders += [peer, Contender(peer.title, peer, "whole")]
        if name == "torch":
            contenders.append(Contender(peer.title, peer, "whole, grad_scale"))
    need = 18 * n * (2 + len(PEERS))
    if available_bytes() > need * 1.1:
        small = [binary, str(n), str(threads), "small", str(divisor)]
        contenders.append(Contender("ours, small pages", small, environment=environment))
    else:
        print(f"not run: ours, small pages, at {n}: too little memory is free")
    for c in contenders:
        if c.job == "plain":
            c.wait_until_ready()
    return contenders


def same_parameters(contenders):
    """Runs each job in every process, before anything is timed: all start with the same values."""
    for job in ("plain", "whole", "whole, grad_scale"):
        places = {c.title: c.step(job)[2] for c in contenders if c.job == "plain"}
        first = next(iter(places.values()))
        for title, there in places.items():
            for a, b in zip(first, there, strict=True):
                if not abs(a - b) <= TOLERANCE:
                    raise RuntimeError(f"{title}, {job}: another result: {there}, not {first}")


def measure(binary, n, threads, rounds, divisor):
    contenders = open_all(binary, n, threads, divisor)
    try:
        same_parameters(contenders)
        for c in contenders:
            c.step()  # the first ones touch memory, and start threads
        for r in range(rounds):
            # random order, as each contender leaves the caches in another state
            for c in random.Random(r).sample(contenders, len(contenders)):
                took, used, _ = c.step()
                c.times.append(took)
                c.used.append(used)
    finally:
        for c in contenders:
            if c.job == "plain":
                c.end()
    return contenders


def median(times):
    return 1e3 * statistics.median(times)


def judge(n, contenders):
    """The speed of each contender, relative to the best peer at the same job: by the medians of
    wall-clock and processor times, by the least times, and by the median of the rounds' ratios."""
    rows = []
    for c in contenders:
        kind = "whole" if c.job.startswith("whole") else "plain"
        titles = [title_of(name) for name in PEERS]
        peers = [p for p in contenders if p.title in titles and p.job.startswith(kind)]
        ratios = [min(p.times[r] for p in peers) / t for r, t in enumerate(c.times)]
        row = dict(
            n=n,
            who=c.title,
            job=c.job,
            median_ms=median(c.times),
            least_ms=1e3 * min(c.times),
            used_ms=median(c.used),
            gb_s=(30 if kind == "whole" else 28) * n / median(c.times) / 1e6,
            of_better_peer=min(median(p.times) for p in peers) / median(c.times),
            of_better_peer_used=min(median(p.used) for p in peers) / median(c.used),
            of_better_peer_least=min(min(p.times) for p in peers) / min(c.times),
            of_better_in_each_round=statistics.median(ratios),
            times_ms=[round(1e3 * t, 1) for t in c.times],
            all_used_ms=[round(1e3 * t, 1) for t in c.used],
        )
        rows.append(row)
    return rows


def show(rows):
    print(
        f"{'elements':>10}  {'who':27} {'job':17} {'median':>9} {'least':>9} {'used':>9} "
        f"{'GB/s':>6}   speed of the better peer's: medians, used, least, each round's"
    )
    for r in rows:
        print(
            f"{r['n']:>10}  {r['who']:27} {r['job']:17} {r['median_ms']:6.1f} ms "
            f"{r['least_ms']:6.1f} ms {r['used_ms']:6.1f} ms {r['gb_s']:6.1f}   "
            f"{r['of_better_peer']:5.2f} {r['of_better_peer_used']:5.2f} "
            f"{r['of_better_peer_least']:5.2f} {r['of_better_in_each_round']:5.2f}"
        )


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("binary", help="build/tests/bench/bench_adamw")
    p.add_argument("--sizes", default="25e6,250e6")
    p.add_argument("--rounds", type=int, default=11)
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--divisor", type=int, default=0, help="of our gradients, at most 131072")
    p.add_argument("--json", metavar="FILE")
    a = p.parse_args()
    if a.rounds < 1 or a.threads < 1:
        p.error("--rounds and --threads are at least 1")
    if not 0 <= a.divisor <= 1 << 17:  # so that the sums are exact in fp32
        p.error("--divisor is at most 131072")
    rows, load = [], os.getloadavg()[0]
    print(
        f"{a.threads} threads, {a.rounds} rounds, divisor {a.divisor}, "
        f"load average {load:.1f} before"
    )
    for size in a.sizes.split(","):
        n = int(float(size))
        contenders = measure(a.binary, n, a.threads, a.rounds, a.divisor)
        rows += judge(n, contenders)
        show([r for r in rows if r["n"] == n])
        for ours in rows[-len(contenders) :][:2]:
            print(
                f"  target {TARGET} x the better of the two, {ours['job']} job: "
                f"{'met' if ours['of_better_peer'] >= TARGET else 'missed'} "
                f"({ours['of_better_peer']:.2f})",
                flush=True,
            )
    if a.json:
        with open(a.json, "w") as f:
            whole = dict(
                threads=a.threads,
                rounds=a.rounds,
                divisor=a.divisor,
                load_average=load,
                rows=rows,
            )
            json.dump(whole, f, indent=1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
