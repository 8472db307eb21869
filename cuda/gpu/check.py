"""Checks and measures the engine on a GPU, or those parts that simdev can run, in one command.

    make gpu-check [DEVICE=sim] [RESULTS=FOLDER] [BUDGET=530] [TRIALS=300,60]

Parts run one after the other, each with its own time limit; a part that fails or is stopped does
not stop the later ones. A part that cannot run here is "not run", with the reason. Writes
results.json, table.md and pictures, unless there is no measurement; those of a GPU to
cuda/results/DATE-GPU-COMMIT, those of simdev to build/gpu-check. Exit status: 0: no part failed.
"""

import argparse
import ctypes.util
import importlib.util
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

import machine_file
import nccl_ranks
import process
import report
from facts import NotRun, cublaslt_of, find_toolkit, folder_of, machine, toolkit_of
from process import lines_of, run

ROOT = process.ROOT
RANKS = {1: "one rank", 2: "two ranks"}
# The engine over NCCL, by number of ranks and in order of value: name; program and arguments
# (example: ref/example/train.c; engine_driver: tests/drivers/mpi/engine_driver.c, which compares
# itself with ref); operations that not every NCCL library has. `native` is the engine's default:
# NCCL adds fp32.
NATIVE = "engine_driver native=1 reduce=0 same=1 seed=12"
OFFLOAD = "engine_driver offload=1 precision=2 reduce=0 seed=5"
ENGINE = {
    1: [
        ("native", f"{NATIVE} mb=3", []),
        ("native, stage 1", f"{NATIVE} mb=3 stage=1 precision=0", []),
        ("callbacks", f"{NATIVE} mb=3 callbacks=1", []),
        ("exact", "example", []),
        ("offload", f"{OFFLOAD} mb=3", []),
        ("partial gathers", f"{NATIVE} mb=3 partial=1", []),
        ("fp32 gradients", f"{NATIVE} mb=3 fp32=1", []),
    ],
    2: [
        ("native", f"{NATIVE} dp=2 mb=3", []),
        ("native, stage 1", f"{NATIVE} dp=2 mb=3 stage=1", []),
        ("native, pipeline", f"{NATIVE} pp=2 mb=4 dynamic=1", []),
        ("tied stages", "engine_driver pp=2 tied=1 reduce=0 mb=4 same=1", []),
        ("exact", "example", []),
        ("exact, pipeline", "example pp", []),
        ("exact, bf16", "engine_driver dp=2 reduce=1 same=1", []),
        ("offload", f"{OFFLOAD} dp=2 same=1", []),
        ("partial gathers", f"{NATIVE} dp=2 mb=3 partial=1", []),
        ("fp32 gradients", f"{NATIVE} dp=2 mb=3 fp32=1", []),
        (
            "exact, stage 1",
            "engine_driver dp=2 reduce=1 stage=1",
            ["broadcast", "reduce-scatter of int64"],
        ),
    ],
}
# Arguments of large_check: 20 M elements, more than a grid of 2,048 blocks has tiles for; more than
# 2^31 elements and, of sums, more than 2^31 limbs.
LARGE = {
    "gpu": [
        ("20 M elements", "20000003 20000003 5000011 500009 0"),
        ("2^31 elements", "2148483651 240000001 5000011 500009 0"),
    ],
    "sim": [("large arrays", "100003 20003 9001 700 3")],
}
# Cases of step_bench, in order of value: MODEL,STAGE,M,BUCKET,OFFLOAD[,OPTION].
STEPS = {
    model: [
        *(f"{model},{s},{m},{b},0" for b in (40000000, 1000000) for m in (1, 8) for s in (2, 1)),
        *(f"{model},{s},1,40000000,1" for s in (2, 1) if model == "124m"),
        *(f"{model},2,1,40000000,0,{o}" for o in ("partial", "fp32") if model == "124m"),
    ]
    for model in ("124m", "1.5b")
}
# of bench_engine.py: GPT-2 124M
GPT2 = ["--layers", "12", "--width", "768", "--vocabulary", "50304", "--tokens", "1024"]
GPT2 += ["--micro-batches", "4"]
SIMDEV_STEPS = ["tiny,2,1,4000,0", "tiny,1,8,500,0", "tiny,2,8,500,1"]
SIMDEV_STEPS += ["tiny,2,1,4000,0,partial", "tiny,2,1,4000,0,fp32"]
# No case of steps begins in the last seconds of its part: they are more than the engine's deadline
# of 30 and a case. So slow cases are left out, and a part that reaches its limit hangs.
LAST_CASE = 45
SIZES = ["25e6", "250e6", "2.5e9"]
BEGINS = 25  # seconds until ranks have begun: loading torch, starting NCCL
TAIL = 2000  # characters of a part's output that are kept
ALL_QUEUES = {"CUDA_DEVICE_MAX_CONNECTIONS": "32"}  # hardware queues of the device
# Why compute-sanitizer itself did not run; this is not a finding.
NOT_HERE = (
    "Device not supported",
    "not supported on this",
    "Unable to find",
    "terminated before first instrumented API call",
    "No attachable process",
    "timed-out",
)
# The lines by which compute-sanitizer reports a finding.
FOUND = re.compile(r"^=========\s+(Invalid|Misaligned|Error: |Warning: |.*SUMMARY: [1-9])", re.M)


def laws_of(text):
    """The result of a program that prints "ok NAME" and "not ok NAME: WHY"."""
    lines = text.splitlines()
    good, bad = ([x for x in lines if x.startswith(w)] for w in ("ok ", "not ok "))
    comments = [x for x in lines if x.startswith("# ")]
    products = [x.split(": ", 1)[1] for x in comments if ", " in x and " order" in x]
    if not good and not bad:
        return []
    result = {"ok": len(good), "not ok": len(bad), "products": "".join(products[-1:])}  # the last
    losses = [x.split(": ", 1)[1] for x in comments if x.startswith("# bf16 operands: ")]
    result |= {"bf16 operands": losses[-1]} if losses else {}
    return [{**result, "first": bad[:3]} if bad else result]


def trained_of(text):
    """The result of `train`; empty unless it printed that all bits are ref's."""
    lines = text.splitlines()
    if not any("equal to ref bit for bit" in x for x in lines):
        return []
    result = {"equal": True}
    for x in lines:
        if x.startswith("products: "):
            result["products"] = x.split(": ", 1)[1]  # the last one has the results
        if x.startswith("from ref's own products"):
            result["apart"] = x.split(": ", 1)[1]
        if x.startswith("hash of the run"):
            result["bits"] = x.rsplit(" ", 1)[1]
    return [result] if "bits" in result else []


class Check:
    """All parts of one run: names, limits in seconds, functions of the limit."""

    def __init__(self, device, build, budget, trials=(300, 60), begun=None):
        self.device, self.build, self.trials = device, build, trials
        self.end = (time.monotonic() if begun is None else begun) + budget
        self.parts, self.measured, self.torch, self.steps = [], [], [], []
        self.facts, self.machine = {}, None
        self.trace, self.trace_pytorch = None, None

    def program(self, name):
        return str(self.build / "gpu" / name if self.device == "gpu" else self.build / name)

    def part(self, name, limit, fn):
        begin = time.monotonic()
        limit = min(limit, self.end - begin)
        entry = {"part": name, "limit_s": round(max(limit, 0), 1)}
        try:
            if limit < 2:
                raise NotRun("no time is left")
            entry.update(fn(limit))
        except NotRun as why:
            entry.update(result="not run", why=str(why))
        except Exception as error:  # an error of this script must not lose the results
            entry.update(result="failed", why=f"{type(error).__name__}: {error}")
        entry["seconds"] = round(time.monotonic() - begin, 1)
        self.parts.append(entry)
        line = f"{name:24s} {entry['result']:8s} {entry['seconds']:6.1f} s  {entry.get('why', '')}"
        print(line, flush=True)
        return entry["result"] == "passed"

    def command(self, argv, limit, env=None, wants_json=True, read=lines_of):
        """A part that is one program; read: takes the results from its output."""
        status, out, err = run(argv, limit, env)
        found = read(out)
        words = " ".join(argv).replace(f"{ROOT}/", "").replace(sys.executable, "python3")
        entry = {"command": words, "result": "passed", "output": found}
        if status is None:
            entry.update(result="failed", why=f"stopped at its limit of {limit:.0f} s")
        elif status != 0:
            entry.update(result="failed", why=f"exit status {status}")
        elif wants_json and not found:
            entry.update(result="failed", why="it printed no result")
        if entry["result"] == "failed":
            entry["tail"] = (out + err).replace(str(ROOT), ".")[-TAIL:]
        return entry

    # ---- Parts -----------------------------------------------------------------------------------

    def made(self, targets, limit):
        """Builds all programs; one that cannot be built does not stop the others."""
        make = ["make", "-k", f"-j{os.cpu_count()}", f"BUILD={os.path.relpath(self.build, ROOT)}"]
        env = {}
        if self.device == "gpu":
            # a newer compiler may have more warnings
            make += ["ARCHS=90", "MPI_CFLAGS=", "MPI_LIBS=", "CFLAGS=-Wno-error"]
            make += [f"CUDA_HOME={self.toolkit()}"]
            env.update(ZP_WERROR="0", ZP_FETCH="0")
            libs = ROOT / "gpu-libs"
            if libs.is_dir():
                env["CPPFLAGS"] = f"-I{libs}/include"
                make += [f"NCCL_INC={libs}/include"]
        return self.command(make + targets, limit, env, wants_json=False)

    def toolkit(self):
        nvcc = shutil.which("nvcc")
        if not nvcc:
            raise NotRun("there is no nvcc on the path")
        return toolkit_of(nvcc)

    def library(self):
        """The arguments of make for cuBLASLt; empty if it is not installed."""
        try:
            header, library = cublaslt_of(self.toolkit())
        except NotRun:
            return []
        return [f"CUBLAS_INC={header}", f"CUBLAS_LIB={library}"]

    def build_all(self, limit):
        library = self.library() if self.device == "gpu" else []
        return self.made([*library, f"gpu-programs-{self.device}"], limit)

    def bounds(self, limit):
        """gpt with the machine's cuBLASLt, within the bounds of ERR; on simdev with ref's products
        and with four other orders of addition."""
        argv = [str(self.build / "tests/drivers/cuda/gpt_bounds"), "orders"]
        if self.device == "gpu":
            begin = time.monotonic()
            header, library = cublaslt_of(self.toolkit())
            words = [f"CUBLAS_INC={header}", f"CUBLAS_LIB={library}", "gpt-bounds-device"]
            entry = self.made(words, limit)
            if entry["result"] != "passed":
                return entry
            argv = [str(self.build / "tests/drivers/cuda/gpt_bounds_device_lt")]
            limit -= time.monotonic() - begin
        return self.command(argv, limit, read=laws_of)

    def trained(self, products, *options):
        """`train --engine cuda`: with products in ref's order all bits are ref's; with cuBLASLt's
        or with bf16 operands each product is judged, and all bits that derive from gradients are
        ref's."""

        def part(limit):
            if self.device == "gpu" and products != "ref":
                cublaslt_of(self.toolkit())
            on_gpu, on_simdev = "zeroproof-cuda", "tests/drivers/cuda/zeroproof_threads_lt"
            program = self.build / (on_gpu if self.device == "gpu" else on_simdev)
            stand_in = {} if self.device == "gpu" else {"FAKE_CUBLAS": "pairwise"}
            argv = [str(program), "train", "--engine", "cuda", "--data", str(ROOT / "LICENSE")]
            argv += "--layers 2 --d-model 32 --heads 2 --context 32 --batch 2".split()
            argv += ["--sample", "0", "--steps", "5", "--products", products, *options]
            return self.command(argv, limit, stand_in, read=trained_of)

        return part

    def kernels(self, limit):
        return self.command([self.program("kernel_check"), "40", "1"], limit)

    def large_kernels(self, sizes):
        """sizes: elements, elements with sums in limbs, of a launch in pieces, the same with limbs,
        blocks of a grid (0: as many as in a step)."""

        def part(limit):
            return self.command([self.program("large_check"), *sizes.split()], limit)

        return part

    def random_topologies(self, limit):
        cases, seconds = self.trials
        most = max(limit - 5, 1)
        seed = str(int(time.time()))
        argv = [self.program("random_topologies"), str(cases), str(seconds), str(most), seed]
        return self.command(argv, limit, ALL_QUEUES)

    def races(self, limit):
        if self.device == "gpu":
            raise NotRun("ThreadSanitizer sees simdev's streams; on a GPU racecheck looks")
        seconds = max(1, int(min(20, limit - 10, self.trials[1])))
        argv = [str(self.build / "zeroproof-nccl-threads-tsan"), "fuzz", "--engine", "cuda"]
        argv += ["--seconds", str(seconds), "--jobs", "1"]
        return self.command(argv, limit, wants_json=False)

    def sanitizer(self, tool, of):
        """of: returns the program and its arguments for a limit. Errors that CUDA returns are the
        program's to check; its libraries query features that a driver may lack: not a finding."""

        def part(limit):
            if self.device != "gpu":
                raise NotRun("compute-sanitizer is for devices")
            if not shutil.which("compute-sanitizer"):
                raise NotRun("there is no compute-sanitizer")
            program, *arguments = of(limit)
            if not os.path.exists(program):
                raise NotRun(f"{os.path.relpath(program, ROOT)} was not built")
            argv = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9"]
            argv += ["--report-api-errors", "no"] if tool == "memcheck" else []
            whole = []

            def read(text):
                whole.append(text)
                return lines_of(text) or laws_of(text)

            entry = self.command(argv + [program, *arguments], limit, ALL_QUEUES, read=read)
            if entry["result"] == "passed":
                return entry
            text = whole[0] + entry["tail"]
            refused = next((x for x in NOT_HERE if x in text), None)
            if refused:
                raise NotRun(f"compute-sanitizer refuses this device: {refused}")
            found = FOUND.search(text)
            if found:
                entry["found"] = text[found.start() :][:TAIL]
            elif entry["why"].startswith("stopped"):  # the slowdown of a program is not known
                raise NotRun(f"no end in {limit:.0f} s under compute-sanitizer, and nothing found")
            return entry

        return part

    def kernels_checked(self, _):
        return [self.program("kernel_check"), "4", "3"]

    def bounds_checked(self, _):
        return [str(self.build / "tests/drivers/cuda/gpt_bounds_device_lt"), "small"]

    def topologies_checked(self, limit):
        """One topology or more, until a quarter of the limit has passed."""
        return [self.program("random_topologies"), "1", str(limit / 4), str(limit / 2), "1"]

    def nccl(self, ranks, p2p):
        """Real NCCL without the engine."""

        def part(limit):
            if self.device != "gpu":
                raise NotRun("NCCL is for devices")
            return self.nccl_ranks(ranks, p2p, [], limit)

        return part

    def nccl_ranks(self, ranks, p2p, program, limit):
        """Several ranks on one GPU may deadlock, which is reported but not a failure."""
        argv = [sys.executable, "cuda/gpu/nccl_ranks.py", "--ranks", str(ranks)]
        argv += ["--limit", str(int(limit - 3)), *program]
        env = {"NCCL_MAX_CTAS": "2"} if ranks > 1 else {}
        if not p2p:
            env["NCCL_P2P_DISABLE"] = "1"
        entry = self.command(argv, limit, env)
        last = entry["output"][-1] if entry["output"] else {}
        if last.get("not_run"):
            raise NotRun(last["not_run"])
        if last.get("locked_up") and limit < BEGINS and len(entry["output"]) == 1:
            raise NotRun(f"no end in {limit:.0f} s, which were all that was left")
        if last.get("locked_up"):  # a single rank cannot deadlock
            entry.update(result="locked up" if ranks > 1 else "failed", why=last["locked_up"])
        return entry

    def engine(self, ranks, p2p, words, needs=()):
        """The engine over NCCL, or over simdev's. words: a program and its arguments. needs:
        operations that a library built for few operations may lack."""
        name, *arguments = words.split()

        def part(limit):
            if self.device != "gpu":
                return self.engine_on_simdev(ranks, name, arguments, limit)
            alone = [p for p in self.parts if p["part"].startswith(f"NCCL, {RANKS[ranks]}")]
            if not any(p["result"] == "passed" for p in alone):
                raise NotRun("NCCL alone did not get through")
            lacks = {x for p in alone for out in p.get("output", []) for x in out.get("lacks", [])}
            if lacks & set(needs):
                raise NotRun("this NCCL was built without " + ", ".join(sorted(lacks & set(needs))))
            program = ["--program", self.program(name), *arguments]
            return self.nccl_ranks(ranks, p2p, program, limit)

        return part

    def engine_on_simdev(self, ranks, name, arguments, limit):
        """The same source, all ranks in one process; the example's output is compared here."""
        if name == "step_bench" and ranks > 1:
            raise NotRun("on simdev it has one rank")
        if name == "step_bench":
            return self.command([self.program(name), *arguments], limit)
        program = {"example": "api_example", "engine_driver": "api_driver"}[name]
        argv = [str(self.build / "tests/drivers/cuda" / program), str(ranks), "1", *arguments]
        if name != "example":
            return self.command(argv, limit, wants_json=False)

        def read(text):
            return [{"ranks": ranks, "equal": True}] if nccl_ranks.is_reference(text) else []

        return self.command(argv, limit, read=read)

    def measured_steps(self, cases):
        """Cases for which the time is too short are left out."""

        def part(limit):
            within = limit - LAST_CASE
            if within < 1:
                raise NotRun(f"less than {LAST_CASE} s are left")
            words = " ".join(["step_bench", f"within={within:.0f}", *cases])
            entry = self.engine(1, True, words)(limit)
            steps = [x for x in entry["output"] if "step" in x]
            left_out = sum(x.get("left_out", 0) for x in entry["output"])
            entry["output"] = [x for x in entry["output"] if "step" not in x]
            self.steps += [x for x in steps if x["clock"] == "host"]
            if entry["result"] == "passed" and left_out:
                why = f"{len(steps)} of {len(cases)} cases; the others did not fit into the time"
                entry["why"] = why
            return entry

        return part

    def trace_step(self, limit):
        """A profiler's trace of one step."""
        if importlib.util.find_spec("torch") is None:
            raise NotRun("there is no PyTorch")
        begin = time.monotonic()
        entry = self.made([f"step-bench-library-{self.device}"], limit)
        if entry["result"] != "passed":
            return entry
        case = STEPS["124m"][0] if self.device == "gpu" else SIMDEV_STEPS[0]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "trace.json")
            argv = [sys.executable, "cuda/gpu/torch_trace.py", self.program("step_bench.so")]
            limit -= time.monotonic() - begin
            entry = self.command([*argv, case, str(file)], limit)
            if entry["result"] == "passed" and self.device == "gpu":
                self.trace = file.read_text()
        return entry

    def write_machine(self, _):
        """The file for `plan --time --machine`."""
        self.machine = machine_file.of(self.facts, self.measured)
        return {"result": "passed", "output": [{"name": self.machine["name"]}]}

    def bench(self, size, repetitions):
        def part(limit):
            n, times = (size, repetitions) if self.device == "gpu" else ("20000", 3)
            argv = [self.program("kernel_bench"), str(int(float(n))), str(times)]
            entry = self.command(argv, limit)
            # keeps measurements made before it was stopped
            self.measured += [x for x in entry.pop("output") if x.get("clock") == "events"]
            return entry

        return part

    def torch_job(self, size, repetitions):
        def part(limit):
            if self.device != "gpu":
                raise NotRun("there is no GPU")
            argv = [sys.executable, "cuda/gpu/torch_job.py", size, str(repetitions)]
            entry = self.command(argv, limit)
            output = entry.pop("output")
            self.torch += [x for x in output if "torch" in x]
            for x in output:
                if "not_run" in x and entry["result"] == "passed":
                    entry["why"] = x["not_run"]
            return entry

        return part

    def norm(self, limit):
        """zeroproof.torch with libzeroproof_norm.so: exact, and the host does not wait."""
        if importlib.util.find_spec("torch") is None:
            raise NotRun("there is no PyTorch")
        if ctypes.util.find_library("mpfr") is None:
            raise NotRun("there is no libmpfr")
        name = {"gpu": "libzeroproof_norm.so", "sim": "libzeroproof_norm_simdev.so"}[self.device]
        argv = [sys.executable, "tests/python/norm_test.py", "--one-process"]
        env = {
            "ZEROPROOF_CUDA_LIBRARY": str(self.build / name),
            "ZEROPROOF_LIBRARY": str(next(self.build.glob("libzeroproof.so.*"))),
            "PYTHONPATH": str(ROOT / "python"),
        }
        argv += ["cuda"] if self.device == "gpu" else []
        return self.command(argv, limit, env, wants_json=False)

    def pytorch(self, limit):
        """GPT-2 124M in PyTorch, by the engine, fused AdamW and FSDP2; and a profiler's trace. On
        simdev: a small model on the CPU."""
        if importlib.util.find_spec("torch") is None:
            raise NotRun("there is no PyTorch")
        begin = time.monotonic()
        argv = [sys.executable, "-W", "ignore", "tests/bench/bench_engine.py", "--json"]
        env = {
            "ZEROPROOF_LIBRARY": str(next(self.build.glob("libzeroproof.so.*"))),
            "PYTHONPATH": str(ROOT / "python"),
        }
        if self.device == "gpu":
            library = self.build / "libzeroproof_engine_cuda.so"
            entry = self.made([str(library.relative_to(ROOT))], limit)
            if entry["result"] != "passed":
                return entry
            env["ZEROPROOF_CUDA_ENGINE"] = str(library)
            argv += ["--device", "cuda", *GPT2]
        else:
            argv += ["--layers", "1", "--width", "64", "--tokens", "16", "--vocabulary", "64"]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "trace.json")
            limit -= time.monotonic() - begin
            entry = self.command([*argv, "--rounds", "3", "--trace", str(file)], limit, env)
            if file.is_file():
                self.trace_pytorch = file.read_text()
            elif entry["result"] == "passed":
                entry.update(result="failed", why="it wrote no trace")
        return entry

    # ---- All -------------------------------------------------------------------------------------

    def measurements(self):
        if self.device == "gpu":
            for model, cases in STEPS.items():
                self.part(f"steps of GPT-2 {model}", 90, self.measured_steps(cases))
        else:
            self.part("steps", 90, self.measured_steps(SIMDEV_STEPS))
        for size in SIZES if self.device == "gpu" else SIZES[:1]:
            self.part(f"bandwidth, {size}", 40, self.bench(size, 15 if size != SIZES[-1] else 9))
            self.part(f"torch, {size}", 60, self.torch_job(size, 9))
        self.part("machine file", 5, self.write_machine)

    def gpt(self):
        self.part("gpt's bounds", 60, self.bounds)
        self.part("gpt trained, bf16", 30, self.trained("ref", "--dp", "2"))
        self.part("gpt trained, cuBLASLt", 30, self.trained("cublaslt", "--dp", "2"))
        self.part("gpt trained, bf16 operands", 30, self.trained("bf16", "--dp", "2"))
        offload = self.trained("ref", "--dp", "3", "--pp", "1", "--precision", "fp16", "--offload")
        self.part("gpt trained, offload", 30, offload)

    def over_nccl(self, ranks):
        count = RANKS[ranks]
        p2p = self.part(f"NCCL, {count}", 60, self.nccl(ranks, True))  # the first loads torch
        if ranks > 1:
            self.part(f"NCCL, {count}, no P2P", 60, self.nccl(ranks, False))
        for name, words, needs in ENGINE[ranks]:
            part = self.engine(ranks, p2p or ranks == 1, words, needs)
            self.part(f"{name} over NCCL, {count}", 30 if ranks == 1 else 60, part)
        part = self.engine(ranks, p2p or ranks == 1, "step_bench launch")
        self.part(f"launches, {count}", 30, part)

    def all(self):
        """In order of value: what does not fit into the budget is not run."""
        self.part("build", 150, self.build_all)
        self.part("kernels", 40, self.kernels)
        for name, sizes in LARGE[self.device]:
            self.part(f"kernels, {name}", 40, self.large_kernels(sizes))
        self.over_nccl(1)
        self.measurements()
        self.over_nccl(2)
        self.part("trace of a step", 60, self.trace_step)
        self.part("zeroproof.torch", 60, self.norm)
        self.part("GPT-2 in PyTorch", 90, self.pytorch)
        self.part("random topologies", self.trials[1] + 90, self.random_topologies)
        self.part("races of nccl_threads", 120, self.races)
        self.gpt()
        self.part("memcheck", 30, self.sanitizer("memcheck", self.kernels_checked))
        self.part("racecheck", 30, self.sanitizer("racecheck", self.kernels_checked))
        self.part("memcheck, gpt", 40, self.sanitizer("memcheck", self.bounds_checked))
        self.part("memcheck, nccl_threads", 40, self.sanitizer("memcheck", self.topologies_checked))
        return all(p["result"] != "failed" for p in self.parts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("gpu", "sim"), default="gpu")
    parser.add_argument("--build", default="build")
    parser.add_argument("--results", default="")
    parser.add_argument("--budget", type=float, default=530, help="seconds, all parts together")
    parser.add_argument("--trials", default="300,60", help="topologies and seconds, at least")
    args = parser.parse_args()
    begun = time.monotonic()
    find_toolkit()
    facts = machine(args.device)
    if args.device == "gpu" and not facts["gpu"]:
        sys.exit(
            "gpu-check: neither nvidia-smi nor torch names a GPU; make gpu-check DEVICE=sim "
            "runs on simdev"
        )
    cases, seconds = (int(x) for x in args.trials.split(","))
    check = Check(args.device, ROOT / args.build, args.budget, (cases, seconds), begun)
    check.facts = facts
    good = check.all()
    written = report.write(folder_of(facts, args.results), check)
    print("written: " + ", ".join(str(p) for p in written))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
