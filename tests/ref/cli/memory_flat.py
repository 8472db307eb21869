"""Peak memory of every command that repeats work, after N and after 10 N repetitions.

python3 tests/ref/cli/memory_flat.py [--figures] [WORD …] prints one line per case: "ok NAME" if the
growth is at most what the command keeps by design (KEPT bytes a repetition) plus SLACK, otherwise
"not ok". With --figures it uses 1,000 and 10,000 repetitions of each case and prints a table in
Markdown; `make memory-bench` runs it. WORDs select cases whose names contain one. ZP_BUILD names
the build. Exit codes: 0 flat, 1 not, 3 a command could not be run.

A leak of 1 KiB a repetition adds 9 N KiB. N is such that this exceeds SLACK (plus the case's own
`extra`) by 400 KiB or more, which a growth below 0 may hide; the smallest seen was -320 KiB. Only
figures of memory enter the verdict, which does not depend on time or load.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("ZP_BUILD", "build"))
ZP = os.environ.get("ZEROPROOF", os.path.join(BUILD, "zeroproof"))
DRIVERS = os.path.join(BUILD, "tests", "drivers")
PEAK = os.path.join(DRIVERS, "cli", "peak_driver")
SLACK = 1 << 20  # bytes; pages of libraries and of glibc's heap differ by some 100 KiB
N = 160  # 9 N KiB = 1 MiB + 416 KiB
TIMED = 64  # bytes of a zp_timed_op and a zp_member
STEP = 56  # bytes of a zp_step_result, kept for the report at the end
RECIPE = "dp=2,list=5@0.0+7@0.1"
TRAIN = (
    "train --pp 1 --dp 2 --layers 1 --d-model 8 --heads 1 --context 8 --batch 1 "
    "--micro-batches 1 --sample 0 --data LICENSE --steps"
).split()
# What Open MPI needs as root, with more ranks than cores, in containers, and without ssh.
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_plm": "isolated",
}


class Case:
    """One command. argv(n, folder): the command line of n repetitions; n: of the test's smaller
    run; kept: bytes that each repetition adds by design; extra: bytes by which the largest
    repetition of the longer run exceeds that of the shorter one, where they differ; per: a figure's
    repetitions for each of 1,000; codes: exit codes of a good run."""

    def __init__(self, name, n, argv, **more):
        self.name, self.n, self.argv = name, n, argv
        self.kept = more.get("kept", 0)
        self.extra = more.get("extra", 0)
        self.per = more.get("per", 1)
        self.codes = more.get("codes", (0,))
        self.input = more.get("input", lambda n, folder: "")
        self.prepare = more.get("prepare", lambda n, folder: None)
        self.environment = more.get("environment", lambda folder: {})
        self.ranks = more.get("ranks", False)  # argv starts peak_driver itself, on each rank

    def peak(self, n):
        """Bytes of the largest process; None after a message when the run was not good."""
        with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
            result, text = os.path.join(folder, "peak"), os.path.join(folder, "input")
            self.prepare(n, folder)
            with open(text, "w", encoding="ascii") as file:
                file.write(self.input(n, folder))
            argv = self.argv(n, folder)
            with open(text, encoding="ascii") as file:
                done = subprocess.run(
                    argv if self.ranks else [PEAK, result, *argv],
                    stdin=file,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    env={**os.environ, **self.environment(folder)},
                    check=False,
                )
            if done.returncode not in self.codes:
                print(f"not ok {self.name}: exit code {done.returncode}: {done.stderr[-300:]!r}")
                return None
            with open(result, encoding="ascii") as file:
                return 1024 * max(map(int, file))


def memory_folder():
    """A folder in memory, where there is one: a save waits for the disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def requests(n, folder):
    """What a judge sends to an adapter: the same case n times."""
    done = subprocess.run([ZP, "cases", RECIPE], capture_output=True, text=True, check=True)
    run = {"do": "run", "case": json.loads(done.stdout), "ledgers": folder}
    return (json.dumps(run) + "\n") * n


def documents(n, folder):
    del folder
    done = subprocess.run([ZP, "cases", RECIPE], capture_output=True, text=True, check=True)
    return done.stdout * n


def traces(n, folder):
    """Records of two ranks, which are equal, n in all."""
    run = os.path.join(folder, "run")
    os.mkdir(run)
    generator = os.path.join(DRIVERS, "trace", "trace_gen_driver")
    subprocess.run([generator, run, "2", "2", str(n // 2)], check=True)


def trainer(fault):
    return f"{sys.executable} -B conformance/adapters/selftest/trainer.py {fault}"


def engine(*more):
    return lambda n, folder: [os.path.join(DRIVERS, "mpi", "engine_driver"), f"steps={n}", *more]


def recorder(folder):
    return {
        "ZEROPROOF_TRACE": folder,
        "LD_PRELOAD": os.path.join(BUILD, "libzptrace_nccl.so"),
    }


def mpi_ranks(n, folder):
    return (
        f"mpirun --quiet --oversubscribe --bind-to none -n 2 {PEAK} {folder}/peak {ZP}".split()
        + [*TRAIN, str(n)]
    )


CASES = [
    Case("train", N, lambda n, folder: [ZP, *TRAIN, str(n)], kept=STEP + 16),
    # the report: one JSON object a step
    Case("train_json", N, lambda n, folder: [ZP, *TRAIN, str(n), "--json"], kept=1200),
    # nine runs beside this one, each with its results
    Case("train_verify", N, lambda n, folder: [ZP, *TRAIN, str(n), "--verify"], kept=10 * STEP),
    Case(
        "train_save",
        N,
        lambda n, folder: [ZP, *TRAIN, str(n), "--save", f"{folder}/s", "--save-every", "1"],
        kept=STEP + 16,
    ),
    Case("train_mpi", N, mpi_ranks, kept=STEP + 16, ranks=True, environment=lambda folder: MPI),
    Case(
        "launch",
        N,
        lambda n, folder: [ZP, "launch", "-n", "2", *TRAIN, str(n)],
        kept=STEP + 16,
    ),
    # For the comparison: results and hashes of the parameters, of both engines and each rank.
    Case(
        "train_cuda",
        N,
        lambda n, folder: (
            [ZP, *TRAIN, str(n), "--engine", "cuda"] + "--pp 2 --layers 2 --micro-batches 2".split()
        ),
        kept=8 * STEP,
    ),
    # the same on a device that executes each call at once
    Case(
        "train_cuda_threads",
        N,
        lambda n, folder: [os.path.join(DRIVERS, "cuda", "zeroproof_threads"), *TRAIN, str(n)],
        kept=5 * STEP,
    ),
    # random cases of different sizes, the same in each run
    Case(
        "fuzz",
        800,  # 9 · 800 KiB = 7 MiB + 32 KiB; the largest cases are among the first 800
        lambda n, folder: f"{ZP} fuzz --jobs 1 --seconds 100000 --cases {n}".split(),
        extra=2 << 20,
    ),
    Case(
        "sim_cuda",
        N,
        lambda n, folder: f"{ZP} sim --engine cuda --schedules {n}".split(),
    ),
    Case("plan_check", N, lambda n, folder: f"{ZP} plan --check --dp {n}".split()),
    Case(
        "trace_check",
        100000,
        lambda n, folder: [ZP, "trace", "check", f"{folder}/run"],
        prepare=traces,
        per=1000,
    ),
    # a timed operation and a member of a set for each record
    Case(
        "trace_view",
        3000,
        lambda n, folder: [ZP, "trace", "view", f"{folder}/run", "--out", f"{folder}/run.json"],
        prepare=traces,
        kept=TIMED,
        per=100,
    ),
    Case("cases", N, lambda n, folder: [ZP, "cases"], input=lambda n, f: f"{RECIPE}\n" * n),
    Case("oracle", N, lambda n, folder: [ZP, "oracle"], input=documents),
    Case("adapter", N, lambda n, folder: [ZP, "adapter"], input=requests),
    Case(
        "adapter_cuda",
        N,
        lambda n, folder: [ZP, "adapter", "--engine", "cuda"],
        input=requests,
    ),
    # The judge, and an adapter that answers "unsupported" to all cases but the first.
    Case(
        "check",
        500,  # 9 · 500 KiB = 4 MiB + 404 KiB
        lambda n, folder: (
            [ZP, "check", "--jobs", "1", "--adapter", trainer("refuses")]
            + ["--cases", str(n), "--out", f"{folder}/out"]
        ),
        codes=(0, 1),
        extra=3 << 20,  # the largest cases, reached by 5,000; 24,000 take no more
    ),
    Case(
        "recorder_nccl",
        N,
        lambda n, folder: [os.path.join(DRIVERS, "trace", "nccl_calls"), "none", str(n)],
        environment=recorder,
    ),
    Case("engine", N, engine()),
    Case("engine_stage_1_ordered", N, engine("mb=3", "stage=1", "reduce=0")),
    Case("engine_stage_0_callbacks", N, engine("callbacks=1", "stage=0", "threads=1")),
    # on a device that executes each call at once
    Case(
        "engine_cuda",
        N,
        lambda n, folder: [os.path.join(DRIVERS, "cuda", "api_threads"), "none", "0", "9", str(n)],
    ),
]


def verdict(case):
    """True when 10 n repetitions take what n take, and what is kept by design."""
    few, many = case.peak(case.n), case.peak(10 * case.n)
    if few is None or many is None:
        return False
    bound = SLACK + case.extra + 9 * case.n * case.kept
    good = many - few <= bound
    print(
        f"{'ok' if good else 'not ok'} memory_is_flat_{case.name}"
        + ("" if good else f": {case.n} times: {few} bytes; {10 * case.n} times: {many} bytes, ")
        + ("" if good else f"{many - few - bound} more than the bound"),
        flush=True,
    )
    return good


def row(case):
    """A row of the table; True when both runs were good."""
    times = [int(1000 * case.per), int(10000 * case.per)]
    peaks = [case.peak(n) for n in times]
    if None in peaks:
        return False
    cells = [f"{n:,}: {peak / 1e6:.1f}" for n, peak in zip(times, peaks, strict=True)]
    print(f"| {case.name} | {' | '.join(cells)} | {case.kept} |", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--figures", action="store_true", help="print the table")
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    cases = [c for c in CASES if not args.words or any(w in c.name for w in args.words)]
    if args.figures:
        print(
            f"Peak memory in MB, {time.strftime('%Y-%m-%d')}:\n\n"
            "| command | repetitions: MB | repetitions: MB | bytes kept a repetition |\n"
            "|---|---|---|---|",
            flush=True,
        )
    results = [(row if args.figures else verdict)(c) for c in cases]
    return 0 if all(results) else 1


sys.exit(main())
