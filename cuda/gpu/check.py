"""Checks and measures the engine on a GPU, or what of that can be done on simdev, in one command.

    make gpu-check [DEVICE=sim] [RESULTS=FOLDER] [BUDGET=530] [TRIALS=300,60]

Parts run one after the other, each with a time limit of its own; what fails, or is stopped at its
limit, does not stop the later ones. What cannot be run here is "not run", with the reason. Writes
results.json, table.md and pictures; a table or picture without a measurement is not written. Of a
GPU they go to cuda/results/DATE-GPU-COMMIT, of simdev to build/gpu-check. Exit status: 0 when
nothing failed.
"""

import argparse
import contextlib
import datetime
import glob
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANKS = {1: "one rank", 2: "two ranks"}
# tests/mpi/engine_driver.c: fp16, ZeRO-2, states in pinned memory, beside ref
OFFLOAD = ["engine_driver", "offload=1", "precision=2", "reduce=0", "seed=5"]
SIZES = ["25e6", "250e6", "2.5e9"]
RESERVED = 170  # seconds of the budget that are the measurements' on a GPU
BEGINS = 25  # seconds in which ranks have begun: torch is read, NCCL looks around
TAIL = 2000  # characters of a part's output that are kept
# Why compute-sanitizer itself does not run: no finding of its.
NOT_HERE = ("Device not supported", "not supported on this", "Unable to find",
            "terminated before first instrumented API call", "No attachable process", "timed-out")
# What compute-sanitizer says of a finding.
FOUND = re.compile(r"^=========\s+(Invalid|Misaligned|Error: |Warning: |.*SUMMARY: [1-9])", re.M)


class NotRun(Exception):
    """Why a part cannot be run here."""


def run(argv, limit, env=None):
    """(exit status or None when it was stopped, stdout, stderr); its children end with it."""
    process = subprocess.Popen(argv, cwd=ROOT, env={**os.environ, **(env or {})}, text=True,
                               errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=limit)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:  # it may say where it is, and take back what is half made
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(2)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        out, err = process.communicate(timeout=5)
        return None, out, err
    except subprocess.TimeoutExpired:  # in the driver, or its pipe is held by who has left the group
        return None, "", "it did not end when it was killed"


def lines_of(text):
    """The JSON objects that a program printed, one a line; a last line cut short is left out."""
    found = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            pass
    return [x for x in found if isinstance(x, dict)]


def find_toolkit():
    """nvcc and compute-sanitizer are not on the path of every shell that has them."""
    homes = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    homes += sorted(glob.glob("/usr/local/cuda-13*"), reverse=True)
    folders = [f"{home}/bin" for home in homes if home and os.path.isdir(f"{home}/bin")]
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath)] + folders)


def toolkit_of(nvcc):
    """The folder of CUDA's headers and libraries: nvcc on the path may be a script elsewhere."""
    for path in (os.environ.get("CUDA_HOME", ""), pathlib.Path(nvcc).resolve().parents[1],
                 "/usr/local/cuda"):
        if path and (pathlib.Path(path) / "include" / "cuda_runtime_api.h").exists():
            return path
    raise NotRun(f"no headers of CUDA are found for {nvcc}: set CUDA_HOME")


def cublaslt_of(toolkit, wheels=None):
    """The folders of cuBLASLt's header and library: the toolkit's, else those of torch's wheels."""
    if wheels is None:
        nvidia = importlib.util.find_spec("nvidia")
        wheels = list(nvidia.submodule_search_locations or []) if nvidia else []
    places = [pathlib.Path(toolkit)] + [pathlib.Path(w) / p for w in wheels
                                        for p in ("cu13", "cublas")]
    missing = []
    for place in places:
        header = (place / "include" / "cublasLt.h").exists()
        for libs in (place / "lib64", place / "lib"):
            if header and any(libs.glob("libcublasLt.so*")):
                return place / "include", libs
        if header:
            missing.append(f"{place} has cublasLt.h and no libcublasLt.so")
    raise NotRun("; ".join(missing) or "no cublasLt.h in " + ", ".join(map(str, places)))


def laws_of(text):
    """What a program that prints "ok NAME" and "not ok NAME: WHY" came to."""
    lines = text.splitlines()
    good, bad = ([x for x in lines if x.startswith(w)] for w in ("ok ", "not ok "))
    products = [x.split(": ", 1)[1] for x in lines if x.startswith("# ") and ", " in x
                and " order" in x]
    if not good and not bad:
        return []
    told = {"ok": len(good), "not ok": len(bad), "products": "".join(products[-1:])}  # the last
    return [{**told, "first": bad[:3]} if bad else told]


def trained_of(text):
    """What `train` came to; nothing where it did not say that all bits are ref's."""
    lines = text.splitlines()
    if not any("equal to ref bit for bit" in x for x in lines):
        return []
    told = {"equal": True}
    for x in lines:
        if x.startswith("products: "):
            told["products"] = x.split(": ", 1)[1]  # the last: what they came to
        if x.startswith("from ref's own products"):
            told["apart"] = x.split(": ", 1)[1]
        if x.startswith("bits of the end"):
            told["bits"] = x.rsplit(" ", 1)[1]
    return [told] if "bits" in told else []


class Check:
    """All parts of one run: names, limits in seconds, functions of the limit."""

    def __init__(self, device, build, budget, trials=(300, 60), begun=None):
        self.device, self.build, self.trials = device, build, trials
        self.end = (time.monotonic() if begun is None else begun) + budget
        self.parts, self.measured, self.torch, self.reserved = [], [], [], 0

    def program(self, name):
        return str(self.build / "gpu" / name if self.device == "gpu" else self.build / name)

    def part(self, name, limit, fn):
        begin = time.monotonic()
        left = self.end - self.reserved - begin
        limit = min(limit, left)
        entry = {"part": name, "limit_s": round(max(limit, 0), 1)}
        try:
            if limit < 2:
                raise NotRun("no time is left")
            entry.update(fn(limit))
        except NotRun as why:
            entry.update(result="not run", why=str(why))
        except Exception as error:  # of ours, too: the others' results are to be written
            entry.update(result="failed", why=f"{type(error).__name__}: {error}")
        entry["seconds"] = round(time.monotonic() - begin, 1)
        self.parts.append(entry)
        print(f"{name:24s} {entry['result']:8s} {entry['seconds']:6.1f} s  {entry.get('why', '')}",
              flush=True)
        return entry["result"] == "passed"

    def command(self, argv, limit, env=None, wants_json=True, read=lines_of):
        """A part that is one program; read: what is kept of what it printed."""
        status, out, err = run(argv, limit, env)
        found = read(out)
        entry = {"command": " ".join(argv).replace(f"{ROOT}/", ""), "result": "passed", "output": found}
        if status is None:
            entry.update(result="failed", why=f"stopped at its limit of {limit:.0f} s")
        elif status != 0:
            entry.update(result="failed", why=f"exit status {status}")
        elif wants_json and not found:
            entry.update(result="failed", why="it printed no result")
        if entry["result"] == "failed":
            entry["tail"] = (out + err)[-TAIL:]
        return entry

    # ---- Parts -----------------------------------------------------------------------------------

    def made(self, targets, limit):
        """Built, as far as it goes: a program that cannot be stops no other."""
        make = ["make", "-k", f"-j{os.cpu_count()}", f"BUILD={os.path.relpath(self.build, ROOT)}"]
        env = {}
        if self.device == "gpu":
            # a compiler that is newer than ours has warnings of its own
            make += ["ARCHS=90", "MPI_CFLAGS=", "MPI_LIBS=", "CFLAGS=-Wno-error",
                     f"CUDA_HOME={self.toolkit()}"]
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
        """What make is told of cuBLASLt; nothing where there is none."""
        try:
            header, library = cublaslt_of(self.toolkit())
        except NotRun:
            return []
        return [f"CUBLAS_INC={header}", f"CUBLAS_LIB={library}"]

    def build_all(self, limit):
        library = self.library() if self.device == "gpu" else []
        return self.made([*library, f"gpu-programs-{self.device}"], limit)

    def bounds(self, limit):
        """gpt with the products of the machine's cuBLASLt, within ERR's ranges; on simdev with
        ref's own and in four other orders."""
        argv = [str(self.build / "tests/cuda/gpt_bounds"), "orders"]
        if self.device == "gpu":
            begin = time.monotonic()
            header, library = cublaslt_of(self.toolkit())
            entry = self.made([f"CUBLAS_INC={header}", f"CUBLAS_LIB={library}",
                               "gpt-bounds-device"], limit)
            if entry["result"] != "passed":
                return entry
            argv = [str(self.build / "tests/cuda/gpt_bounds_device_lt")]
            limit -= time.monotonic() - begin
        return self.command(argv, limit, read=laws_of)

    def trained(self, products, *options):
        """`train --engine cuda`: with products in ref's order all bits are ref's; with cuBLASLt's
        each is judged, and all bits are ref's that are made of gradients."""
        def part(limit):
            program = self.build / ("zeroproof-cuda" if self.device == "gpu"
                                    else "tests/cuda/zeroproof_threads_lt")
            if self.device == "gpu" and products == "cublaslt":
                cublaslt_of(self.toolkit())
            stand_in = {} if self.device == "gpu" else {"FAKE_CUBLAS": "pairwise"}
            return self.command(
                [str(program), "train", "--engine", "cuda", "--data", str(ROOT / "STYLE.md"),
                 "--layers", "2", "--d-model", "32", "--heads", "2", "--context", "32", "--batch",
                 "2", "--sample", "0", "--steps", "5", "--products", products, *options], limit,
                stand_in, read=trained_of)
        return part

    def kernels(self, limit):
        return self.command([self.program("kernel_check"), "40", "1"], limit)

    def loopback(self, limit):
        cases, seconds = self.trials
        most = max(limit - 5, 1)
        seed = str(int(time.time()))
        return self.command([self.program("loopback_trials"), str(cases), str(seconds), str(most),
                             seed], limit, {"CUDA_DEVICE_MAX_CONNECTIONS": "32"})  # queues: all

    def races(self, limit):
        if self.device == "gpu":
            raise NotRun("ThreadSanitizer sees simdev's streams; on a GPU racecheck looks")
        seconds = max(1, int(min(20, limit - 10, self.trials[1])))
        entry = self.command([str(self.build / "zeroproof-loopback-tsan"), "fuzz", "--engine",
                              "cuda", "--seconds", str(seconds), "--jobs", "1"], limit,
                             wants_json=False)
        return entry

    def sanitizer(self, tool, of):
        """of: the program and its arguments, of the limit. What a program gets from CUDA it looks at
        itself; CUDA's libraries ask for what a driver may not have, which is no finding."""
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
            entry = self.command(argv + [program, *arguments], limit,
                                 {"CUDA_DEVICE_MAX_CONNECTIONS": "32"}, read=read)
            if entry["result"] == "passed":
                return entry
            text = whole[0] + entry["tail"]
            refused = next((x for x in NOT_HERE if x in text), None)
            if refused:
                raise NotRun(f"compute-sanitizer refuses this device: {refused}")
            found = FOUND.search(text)
            if found:
                entry["found"] = text[found.start():][:TAIL]
            elif entry["why"].startswith("stopped"):  # how much slower a program is nobody knows
                raise NotRun(f"no end in {limit:.0f} s under compute-sanitizer, and nothing found")
            return entry
        return part

    def kernels_checked(self, _):
        return [self.program("kernel_check"), "4", "3"]

    def bounds_checked(self, _):
        return [str(self.build / "tests/cuda/gpt_bounds_device_lt"), "small"]

    def trials_checked(self, limit):
        """One topology or more, for what of the time is left when a last one takes as long."""
        return [self.program("loopback_trials"), "1", str(limit / 4), str(limit / 2), "1"]

    def nccl(self, ranks, p2p, engine=None):
        """Real NCCL; several ranks on one GPU may lock up, which is told and no failure. engine: the
        program over it, and its arguments."""
        def part(limit):
            if self.device != "gpu":
                raise NotRun("NCCL is for devices")
            if engine and not any(p["result"] == "passed" for p in self.parts
                                  if p["part"].startswith(f"NCCL, {RANKS[ranks]}")):
                raise NotRun("NCCL alone did not get through")
            argv = [sys.executable, "cuda/gpu/nccl_ranks.py", "--ranks", str(ranks),
                    "--limit", str(int(limit - 3))]
            if engine:
                argv += ["--program", self.program(engine[0]), *engine[1:]]
            env = {"NCCL_MAX_CTAS": "2"}
            if not p2p:
                env["NCCL_P2P_DISABLE"] = "1"
            entry = self.command(argv, limit, env)
            last = entry["output"][-1] if entry["output"] else {}
            if last.get("not_run"):
                raise NotRun(last["not_run"])
            if last.get("locked_up") and limit < BEGINS:
                raise NotRun(f"no end in {limit:.0f} s, which were all that was left")
            if last.get("locked_up"):  # one rank waits for nobody
                entry.update(result="locked up" if ranks > 1 else "failed", why=last["locked_up"])
            return entry
        return part

    def bench(self, size, repetitions):
        def part(limit):
            n, times = (size, repetitions) if self.device == "gpu" else ("20000", 3)
            entry = self.command([self.program("kernel_bench"), str(int(float(n))), str(times)],
                                 limit)
            # what was measured before it was stopped stays
            self.measured += [x for x in entry.pop("output") if x.get("clock") == "events"]
            return entry
        return part

    def torch_job(self, size, repetitions):
        def part(limit):
            if self.device != "gpu":
                raise NotRun("there is no GPU")
            entry = self.command([sys.executable, "cuda/gpu/torch_job.py", size,
                                  str(repetitions)], limit)
            self.torch += [x for x in entry.pop("output") if "torch" in x]
            return entry
        return part

    # ---- All -------------------------------------------------------------------------------------

    def all(self):
        left = self.end - time.monotonic()
        self.reserved = min(RESERVED, left / 3) if self.device == "gpu" else 0
        self.part("build", 150, self.build_all)
        self.part("kernels", 40, self.kernels)
        self.part("trials on the loopback", self.trials[1] + 90, self.loopback)
        self.part("races of the loopback", 60, self.races)
        self.part("gpt's bounds", 60, self.bounds)
        self.part("gpt trained, bf16", 30, self.trained("ref", "--dp", "2"))
        self.part("gpt trained, cuBLASLt", 30, self.trained("cublaslt", "--dp", "2"))
        self.part("gpt trained, offload", 30, self.trained(
            "ref", "--dp", "3", "--pp", "1", "--precision", "fp16", "--offload"))
        self.part("memcheck", 30, self.sanitizer("memcheck", self.kernels_checked))
        self.part("racecheck", 30, self.sanitizer("racecheck", self.kernels_checked))
        self.part("NCCL, one rank", 60, self.nccl(1, True))  # torch is read for the first time
        self.part("engine over NCCL, one rank", 30, self.nccl(1, True, ["example"]))
        self.part("offload over NCCL, one rank", 30, self.nccl(1, True, [*OFFLOAD, "mb=3"]))
        p2p = self.part("NCCL, two ranks", 60, self.nccl(2, True))
        self.part("NCCL, two ranks, no P2P", 60, self.nccl(2, False))
        self.part("engine over NCCL, two ranks", 60, self.nccl(2, p2p, ["example"]))
        self.part("offload over NCCL, two ranks", 60, self.nccl(2, p2p, [*OFFLOAD, "dp=2"]))
        self.part("memcheck, gpt", 40, self.sanitizer("memcheck", self.bounds_checked))
        self.part("memcheck, loopback", 40, self.sanitizer("memcheck", self.trials_checked))
        self.reserved = 0
        for size in SIZES if self.device == "gpu" else SIZES[:1]:
            self.part(f"bandwidth, {size}", 40, self.bench(size, 15 if size != SIZES[-1] else 9))
            self.part(f"torch, {size}", 40, self.torch_job(size, 9))
        return all(p["result"] != "failed" for p in self.parts)


# ---- What it was run on --------------------------------------------------------------------------


def said(argv, limit=20):
    try:
        status, out, _ = run(argv, limit)
    except OSError:
        return ""
    return out.strip() if status == 0 else ""


TORCH_SAYS = """import torch
p = torch.cuda.get_device_properties(0)
print(f"{p.name}, , {p.total_memory >> 20} MiB")"""


def gpu_of():
    """Name, driver, memory: of nvidia-smi or, where a container lacks it, of torch."""
    told = said(["nvidia-smi", "--query-gpu=name,driver_version,memory.total",
                 "--format=csv,noheader"]) or said([sys.executable, "-c", TORCH_SAYS], 60)
    name, driver, memory = ((told.splitlines() or [""])[0].split(", ") + [""] * 3)[:3]
    try:
        version = pathlib.Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        version = ""
    found = re.search(r"Module .*?(\d+\.\d+[.\d]*)", version)
    return {"gpu": name, "driver": driver or (found.group(1) if found else ""), "memory": memory}


def machine(device):
    """The commit is given where there is no git: by ZP_COMMIT."""
    commit = said(["git", "rev-parse", "--short=12", "HEAD"]) or os.environ.get("ZP_COMMIT", "")
    changed = bool(said(["git", "status", "--porcelain", "-uno"]))
    facts = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
             "device": device, "commit": (commit or "unknown") + ("+changes" if changed else "")}
    nvcc = re.search(r"release ([\d.]+)", said(["nvcc", "--version"]))
    facts["nvcc"] = nvcc.group(1) if nvcc else ""
    if device == "gpu":
        facts.update(gpu_of())
    return facts


def folder_of(facts, given):
    if given:
        return pathlib.Path(given)
    if facts["device"] != "gpu":
        return ROOT / "build" / "gpu-check"
    gpu = re.sub(r"[^A-Za-z0-9]+", "-", facts["gpu"]).strip("-").lower() or "gpu"
    return ROOT / "cuda" / "results" / f"{facts['date'][:10]}-{gpu}-{facts['commit'][:12]}"


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
        sys.exit("gpu-check: neither nvidia-smi nor torch names a GPU; make gpu-check DEVICE=sim "
                 "runs on simdev")
    cases, seconds = (int(x) for x in args.trials.split(","))
    check = Check(args.device, ROOT / args.build, args.budget, (cases, seconds), begun)
    good = check.all()
    folder = folder_of(facts, args.results)
    written = report.write(folder, facts, check.parts, check.measured, check.torch)
    print("written: " + ", ".join(str(p) for p in written))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
