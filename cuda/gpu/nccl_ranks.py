"""Real NCCL, its ranks separate processes on one GPU: the operations of the engine, or the engine.

    nccl_ranks.py --ranks N --limit SECONDS [--library PATH] [--program PATH [ARGUMENT...]]

Without PROGRAM, the ranks are processes of this script. PROGRAM without arguments is
ref/example/train.c for the CUDA engine, which must print the results of the reference; with
arguments it judges itself. Prints one JSON object last. One rank runs with any NCCL; several need
2.30 or later, which has NCCL_MULTI_RANK_GPU_ENABLE: an NCCL in gpu-libs/ has precedence over
torch's. A deadlock is reported but is not a failure.
"""

import argparse
import ctypes
import hashlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEVERAL = 23000  # 2.30.0
INT64, FLOAT32, SUM = 4, 7, 0
N = 1 << 16
# The lines of ref/example/train.c, sorted, of any number of ranks: tests/cuda/engine/test_api.sh
EXAMPLE = "61f1623b51c2798c00a7487b9ddad933cb2cf095b2654e8a4adc3f96c354b874"


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


def packed():
    """The NCCL library that was packed with the sources, unpacked."""
    import lzma

    for path in sorted((ROOT / "gpu-libs").glob("libnccl*.so.xz")):
        to = pathlib.Path(tempfile.gettempdir()) / f"{path.stem}-{os.getuid()}"
        to.write_bytes(lzma.decompress(path.read_bytes()))
        return str(to)
    return None


def torchs():
    """The library of the torch package, or the system's, without importing torch."""
    torch = importlib.util.find_spec("torch")
    base = pathlib.Path(torch.origin).parents[1] / "nvidia" if torch else pathlib.Path("/nowhere")
    system = pathlib.Path("/usr/lib").glob("*/libnccl.so.2")
    return next((str(p) for p in [*sorted(base.glob("**/libnccl.so.2")), *system]), None)


def load(path):
    """Loads NCCL so that its internal calls do not reach torch's NCCL, which may be global."""
    return ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_DEEPBIND)


def version_of(path):
    v = ctypes.c_int()
    load(path).ncclGetVersion(ctypes.byref(v))
    return v.value


def check(lib, status, what):
    if status != 0:
        lib.ncclGetLastError.restype = ctypes.c_char_p
        raise RuntimeError(f"{what}: NCCL error {status}: {lib.ncclGetLastError(None).decode()}")


def rank_main(args):
    import torch

    torch.cuda.set_device(0)
    lib = load(args.library)
    lib.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int]
    unique, file = UniqueId(), pathlib.Path(args.id)
    if args.rank == 0:
        check(lib, lib.ncclGetUniqueId(ctypes.byref(unique)), "ncclGetUniqueId")
        part = file.with_suffix(".part")
        part.write_bytes(ctypes.string_at(ctypes.byref(unique), 128))
        part.rename(file)
    while not file.exists():
        time.sleep(0.01)
    ctypes.memmove(ctypes.byref(unique), file.read_bytes(), 128)
    comm = ctypes.c_void_p()
    check(lib, lib.ncclCommInitRank(ctypes.byref(comm), args.ranks, unique, args.rank), "init")
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    collectives(args, lib, comm, stream)
    lib.ncclCommDestroy(comm)


def ptr(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def collectives(args, lib, comm, stream):
    """The engine's operations: int64 sums, fp32 reduce-scatter, all-gather, messages to all."""
    import torch

    size, count = ctypes.c_size_t, args.ranks
    mine = torch.arange(N, device="cuda", dtype=torch.int64) * (args.rank + 1)
    total = torch.empty_like(mine)
    check(lib, lib.ncclAllReduce(ptr(mine), ptr(total), size(N), INT64, SUM, comm, stream), "sum")
    parts = torch.full((N * count,), float(args.rank + 1), device="cuda")
    part = torch.empty(N, device="cuda")
    status = lib.ncclReduceScatter(ptr(parts), ptr(part), size(N), FLOAT32, SUM, comm, stream)
    check(lib, status, "reduce-scatter")
    whole = torch.empty(N * count, device="cuda")
    check(lib, lib.ncclAllGather(ptr(part), ptr(whole), size(N), FLOAT32, comm, stream), "gather")
    got = torch.zeros(N * count, device="cuda")
    lib.ncclGroupStart()
    for peer in range(count):
        if peer == args.rank:
            continue
        lib.ncclSend(ptr(parts), size(N), FLOAT32, peer, comm, stream)
        lib.ncclRecv(ptr(got[N * peer :]), size(N), FLOAT32, peer, comm, stream)
    check(lib, lib.ncclGroupEnd(), "send and receive")
    torch.cuda.synchronize()
    ranks = count * (count + 1) // 2
    assert torch.equal(total, torch.arange(N, device="cuda") * ranks), "wrong sum"
    assert torch.equal(whole, torch.full_like(whole, float(ranks))), "wrong gather"
    for peer in range(count):
        want = 0.0 if peer == args.rank else peer + 1.0
        assert (got[N * peer : N * (peer + 1)] == want).all(), "wrong message"


def start(args, path, folder):
    """Starts the ranks' processes, with output to files."""
    env = {"NCCL_DEBUG": "WARN", **os.environ, "NCCL_MULTI_RANK_GPU_ENABLE": "1"}
    if args.program:
        os.symlink(path, f"{folder}/libnccl.so.2")
        env["LD_LIBRARY_PATH"] = f"{folder}:{env.get('LD_LIBRARY_PATH', '')}".rstrip(":")
        env.update(
            WORLD_SIZE=str(args.ranks),
            LOCAL_WORLD_SIZE=str(args.ranks),
            LOCAL_RANK="0",
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=str(20000 + os.getpid() % 20000),
        )
    processes = []
    for r in range(args.ranks):
        if args.program:
            env["RANK"] = str(r)
            argv = [os.path.abspath(args.program), *args.arguments]
        else:
            argv = [sys.executable, __file__, "--ranks", str(args.ranks), "--rank", str(r)]
            argv += ["--library", path, "--id", f"{folder}/id"]
        with open(f"{folder}/out{r}", "w") as out, open(f"{folder}/err{r}", "w") as err:
            processes.append(subprocess.Popen(argv, env=env, stdout=out, stderr=err))
    return processes


def as_the_reference(args, folder):
    """True if the example printed its results; NCCL prints its version among them."""
    text = "".join(
        pathlib.Path(f"{folder}/out{r}").read_text(errors="replace") for r in range(args.ranks)
    )
    lines = sorted(x for x in text.splitlines() if x.startswith(("step ", "layer ")))
    return hashlib.sha256("".join(x + "\n" for x in lines).encode()).hexdigest() == EXAMPLE


def end(processes):
    for p in processes:
        if p.poll() is None:
            p.kill()
    return [p.wait() for p in processes]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--limit", type=float, default=55)
    parser.add_argument("--library", default="")
    parser.add_argument("--program", default="")
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--rank", type=int, default=-1)
    parser.add_argument("--id", default="")
    args = parser.parse_args()
    if args.rank >= 0:
        return rank_main(args)
    begin = time.monotonic()
    path = args.library or (packed() or torchs() if args.ranks > 1 else torchs() or packed())
    if not path:
        print(json.dumps({"not_run": "no NCCL is found"}))
        return 0
    try:
        version = version_of(path)
    except OSError as why:
        print(json.dumps({"not_run": f"{path} cannot be loaded: {why}"}))
        return 0
    result = {"ranks": args.ranks, "nccl": version}
    if args.ranks > 1 and version < SEVERAL:
        print(json.dumps({"not_run": f"NCCL {version} has no several ranks on one GPU: 2.30 has"}))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        each = start(args, path, folder)
        while time.monotonic() - begin < args.limit and any(p.poll() is None for p in each):
            if any(p.poll() not in (None, 0) for p in each):
                break
            time.sleep(0.1)
        locked = all(p.poll() in (None, 0) for p in each) and any(p.poll() is None for p in each)
        codes = end(each)
        said = [
            pathlib.Path(f"{folder}/{of}{r}").read_text(errors="replace")[-500:]
            for r in range(args.ranks)
            for of in ("out", "err")  # NCCL warns on both
        ]
        judges = args.arguments or not args.program
        equal = not any(codes) and bool(judges or as_the_reference(args, folder))
    if locked:
        result["locked_up"] = f"no end within {args.limit:.0f} s"
    result.update(seconds=round(time.monotonic() - begin, 1), equal=equal)
    if not equal:
        result["said"] = said
    print(json.dumps(result))
    if not equal and not locked:
        why = "\n".join(said) if any(codes) else "its numbers are not the reference's"
        print(why, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
