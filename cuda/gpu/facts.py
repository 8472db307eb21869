"""The machine of gpu-check: its toolkit, its GPU, the commit, and where results are written."""

import glob
import importlib.util
import os
import pathlib
import re
import sys
import time

from process import ROOT, run


class NotRun(Exception):
    """The reason why a part cannot run here."""


def find_toolkit():
    """Adds the folders of nvcc and compute-sanitizer, which are not on every PATH."""
    homes = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    homes += sorted(glob.glob("/usr/local/cuda-13*"), reverse=True)
    folders = [f"{home}/bin" for home in homes if home and os.path.isdir(f"{home}/bin")]
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath)] + folders)


def toolkit_of(nvcc):
    """The folder of CUDA's headers and libraries: nvcc on the PATH may be a script."""
    beside_nvcc = pathlib.Path(nvcc).resolve().parents[1]
    for path in (os.environ.get("CUDA_HOME", ""), beside_nvcc, "/usr/local/cuda"):
        if path and (pathlib.Path(path) / "include" / "cuda_runtime_api.h").exists():
            return path
    raise NotRun(f"no headers of CUDA are found for {nvcc}: set CUDA_HOME")


def cublaslt_of(toolkit, wheels=None):
    """The folders of cuBLASLt's header and library: the toolkit's, else those of torch's wheels."""
    if wheels is None:
        nvidia = importlib.util.find_spec("nvidia")
        wheels = list(nvidia.submodule_search_locations or []) if nvidia else []
    places = [pathlib.Path(toolkit)]
    places += [pathlib.Path(w) / p for w in wheels for p in ("cu13", "cublas")]
    missing = []
    for place in places:
        header = (place / "include" / "cublasLt.h").exists()
        for libs in (place / "lib64", place / "lib"):
            if header and any(libs.glob("libcublasLt.so*")):
                return place / "include", libs
        if header:
            missing.append(f"{place} has cublasLt.h and no libcublasLt.so")
    raise NotRun("; ".join(missing) or "no cublasLt.h in " + ", ".join(map(str, places)))


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
    """Name, driver, memory: from nvidia-smi or, if it is not installed, from torch."""
    query = "--query-gpu=name,driver_version,memory.total"
    output = said(["nvidia-smi", query, "--format=csv,noheader"])
    output = output or said([sys.executable, "-c", TORCH_SAYS], 60)
    name, driver, memory = ((output.splitlines() or [""])[0].split(", ") + [""] * 3)[:3]
    try:
        version = pathlib.Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        version = ""
    found = re.search(r"Module .*?(\d+\.\d+[.\d]*)", version)
    return {"gpu": name, "driver": driver or (found.group(1) if found else ""), "memory": memory}


def machine(device):
    """The commit that ZP_COMMIT names, which a copy of the sources needs, else that of git."""
    commit = os.environ.get("ZP_COMMIT", "")
    changed = False
    if not commit:
        commit = said(["git", "rev-parse", "--short=12", "HEAD"])
        changed = bool(said(["git", "status", "--porcelain", "-uno"]))
    facts = {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "device": device,
        "commit": (commit or "unknown") + ("+changes" if changed else ""),
    }
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
