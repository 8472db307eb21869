"""Random kills in one training under `zeroproof elastic`: SIGKILL for a rank or for mpirun, while
the job starts or after some steps. The training must end in the digest of a run without faults.

elastic_kills.py ZEROPROOF KILLS SEED [TABLE.md]. The kills are those of the seed; at which
instruction they find a process differs from run to run, and the result may not.
spec: CKPT-2, CKPT-5, CKPT-11
"""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from itertools import pairwise
from pathlib import Path

SLOTS = 6
MODEL = "--layers 2 --d-model 24 --heads 2 --context 32 --batch 2 --sample 0".split()
DIGEST = re.compile(r"hash of the final state .*: ([0-9a-f]{16})")
STEP = re.compile(r"^ *(\d+) +\d.*e[+-]\d")
ATTEMPT = re.compile(r"attempt (\d+): (\d+) ranks? .*from step (\d+)")
TITLE = """| killed | while it started | after 1 step | 2 | 3 | 4 | 5 |
|---|---|---|---|---|---|---|
"""
# A busy machine is not a lost rank.
PATIENT = "--deadline 600 --stall 3000"
PATIENCE = 600  # seconds without what is waited for: only a run that hangs takes so long


class Run:
    """The supervisor, and what it and its jobs have printed."""

    def __init__(self, command):
        self.word = str(uuid.uuid4())
        self.changed = threading.Condition()
        self.steps, self.attempts, self.out, self.err = [], [], [], []
        self.ended = 0
        self.process = subprocess.Popen(
            command,
            env={**os.environ, "ZP_ELASTIC_TEST": self.word},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for stream, take in (
            (self.process.stdout, self.take_out),
            (self.process.stderr, self.take_err),
        ):
            threading.Thread(target=self.read, args=(stream, take), daemon=True).start()

    def read(self, stream, take):
        for line in stream:
            with self.changed:
                take(line)
                self.changed.notify_all()
        with self.changed:
            self.ended += 1
            self.changed.notify_all()

    def take_out(self, line):
        self.out.append(line)
        found = STEP.match(line)
        if found:
            self.steps.append(int(found[1]))

    def take_err(self, line):
        self.err.append(line)
        found = ATTEMPT.search(line)
        if found:
            self.attempts.append([int(found[i]) for i in (1, 2, 3)] + [len(self.steps)])

    def wait(self, condition):
        """Waits until the condition holds; False if the run has ended before."""
        with self.changed:
            if not self.changed.wait_for(lambda: condition() or self.ended == 2, PATIENCE):
                raise TimeoutError("".join(self.err[-5:]))
            return condition()

    def processes(self):
        """(pid, rank or None) of each process of the jobs that has begun its program."""
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == self.process.pid:
                continue
            try:
                words = (folder / "environ").read_bytes().split(b"\0")
                name = (folder / "comm").read_text().strip()
            except OSError:
                continue
            if f"ZP_ELASTIC_TEST={self.word}".encode() not in words:
                continue
            rank = [int(w.split(b"=")[1]) for w in words if w.startswith(b"OMPI_COMM_WORLD_RANK=")]
            if rank or name in ("mpirun", "orterun"):
                found.append((int(folder.name), rank[0] if rank else None))
        return found


def victim_of(run, rng, kind):
    """A process of that kind, or None."""
    there = sorted(run.processes(), key=lambda p: (p[1] is None, p[1]))
    fitting = [pid for pid, rank in there if (rank is None) == (kind == "mpirun")]
    return rng.choice(fitting) if fitting else None


def kill_one(run, rng, number):
    """Kill `number` of the seed, in the attempt of that number. What was killed, and when."""
    kind = "mpirun" if rng.random() < 0.2 else "rank"
    after = 0 if rng.random() < 0.2 else rng.randrange(1, 6)
    delay = rng.random() * 0.03
    if not run.wait(lambda: len(run.attempts) >= number):
        return None
    base = run.attempts[number - 1][3]
    if not run.wait(lambda: len(run.steps) - base >= after):
        return None
    time.sleep(delay)  # not to wait for something: a moment within a step
    begun = time.monotonic()
    while time.monotonic() < begun + PATIENCE and run.ended < 2:
        pid = victim_of(run, rng, kind)
        try:
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
                return kind, after
        except ProcessLookupError:
            pass
        run.process.poll()
    return None


def digest_of(text):
    found = DIGEST.search(text)
    return found[1] if found else None


def write_table(path, kills, run, seconds, seed):
    """The numbers of the run as Markdown."""
    count = Counter(kills)
    names = sorted({kind for kind, _ in kills}, reverse=True)
    starts = [a[2] for a in run.attempts]
    done = sum(1 for _ in run.steps)
    with open(path, "w", encoding="utf-8") as f:
        f.write(TITLE)
        for kind in names:
            f.write(f"| {kind} | " + " | ".join(str(count[kind, k]) for k in range(6)) + " |\n")
        f.write(
            f"\n| kills (seed {seed}) | attempts | steps of the run | steps trained | "
            "attempts without progress | seconds |\n|---|---|---|---|---|---|\n"
            f"| {len(kills)} | {len(starts)} | {run.steps[-1] + 1} | {done} | "
            f"{sum(x == y for x, y in pairwise(starts))} | {seconds:.0f} |\n"
        )


def main():
    zp, n, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    steps = 8 * n + 20  # no attempt trains so many before its kill that the run could end early
    with tempfile.TemporaryDirectory() as tmp:
        text = Path(tmp, "text")
        text.write_bytes(random.Random(7).randbytes(3000))
        train = ["train", "--data", str(text), *MODEL, "--steps", str(steps)]
        plain = subprocess.run([zp, *train], capture_output=True, text=True, check=True)
        begun = time.monotonic()
        supervisor = (
            f"elastic --slots {SLOTS} {PATIENT} --slots-return --restarts 100000 --futile 100000"
        )
        run = Run([zp, *supervisor.split(), *train, "--save", f"{tmp}/ck", "--save-every", "2"])
        kills = []
        while len(kills) < n:
            killed = kill_one(run, rng, len(kills) + 1)
            if killed is None:
                break
            kills.append(killed)
        code = run.process.wait()
        run.wait(lambda: False)
        left = run.processes()
    want, got = digest_of(plain.stdout), digest_of("".join(run.out))
    last = run.err[-1] if run.err else ""
    print(f"{len(kills)} kills, {len(run.attempts)} attempts, exit code {code}: {last.strip()}")
    laws = {
        "all_kills_have_hit_a_process": len(kills) == n,
        "each_kill_is_one_more_attempt": len(run.attempts) == n + 1,
        "the_job_ends_with_0": code == 0 and f"finished after {n + 1} attempts" in last,
        "the_digest_is_that_of_a_run_without_faults": want is not None and want == got,
        "no_process_is_left": not left,
    }
    for law, holds in laws.items():
        why = f"digests {want}, {got}; {''.join(run.err[-6:])!r}"
        print(f"ok {law}" if holds else f"not ok {law}: {why}")
    if len(sys.argv) > 4 and all(laws.values()):
        write_table(sys.argv[4], kills, run, time.monotonic() - begun, seed)
    return 0 if all(laws.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
