"""Real NCCL, its ranks separate processes on one GPU: the operations of the engine, or the engine.

    nccl_ranks.py --ranks N --limit SECONDS [--library PATH] [--program PATH [ARGUMENT...]]

Without PROGRAM, the ranks are processes of this script. A PROGRAM named "example" is
ref/example/train.c for the CUDA engine, which must print the results of the reference; another
judges itself, and measurements that its rank 0 prints are printed. Prints one JSON object last.
One rank runs with any NCCL; several need
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
MEASURED = ('{"step"', '{"launch"', '{"left_out"')  # lines of step_bench
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


FILL = -7  # what a destination holds before an operation


def results(args, lib, comm, stream):
    """Yields (operation, NCCL's status, the destination, what it must hold) for each operation of
    the engine at stages 1 and 2. Where NCCL does nothing, the destination holds FILL."""
    import torch

    size, count, rank = ctypes.c_size_t(N), args.ranks, args.rank
    after = (comm, stream)
    line = torch.arange(N * count, device="cuda", dtype=torch.int64)
    total = count * (count + 1) // 2
    for name, code, dtype in (("int64", INT64, torch.int64), ("fp32", FLOAT32, torch.float32)):
        mine, whole = (line * (rank + 1)).to(dtype), (line * total).to(dtype)
        part = torch.full((N,), FILL, device="cuda", dtype=dtype)
        if name == "int64":
            status = lib.ncclAllReduce(ptr(mine), ptr(part), size, code, SUM, *after)
            yield "all-reduce of int64", status, part, whole[:N]
            part = torch.full_like(part, FILL)
        status = lib.ncclReduceScatter(ptr(mine), ptr(part), size, code, SUM, *after)
        yield f"reduce-scatter of {name}", status, part, whole[N * rank : N * (rank + 1)]
    own = line[:N] + N * rank
    got = torch.full_like(line, FILL)
    yield "all-gather", lib.ncclAllGather(ptr(own), ptr(got), size, INT64, *after), got, line
    first = line[:N] if rank == 0 else torch.full_like(own, FILL)
    yield (
        "broadcast",
        lib.ncclBroadcast(ptr(first), ptr(first), size, INT64, 0, *after),
        first,
        line[:N],
    )
    yield messages(args, lib, after, own, torch.full_like(line, FILL), line)


def messages(args, lib, after, own, got, line):
    """To and from every other rank, in one group."""
    want = line.clone()
    want[N * args.rank : N * (args.rank + 1)] = FILL
    lib.ncclGroupStart()
    for peer in range(args.ranks):
        if peer == args.rank:
            continue
        lib.ncclSend(ptr(own), ctypes.c_size_t(N), INT64, peer, *after)
        lib.ncclRecv(ptr(got[N * peer :]), ctypes.c_size_t(N), INT64, peer, *after)
    return "send and receive", lib.ncclGroupEnd(), got, want


def collectives(args, lib, comm, stream):
    """Judges each operation. A library that was built with some operations only returns success for
    the others and does nothing: prints those as {"lacks": […]}."""
    import torch

    lacks = []
    for name, status, got, want in results(args, lib, comm, stream):
        check(lib, status, name)
        torch.cuda.synchronize()
        if torch.equal(got, want):
            continue
        if not (got == FILL).all():
            raise RuntimeError(f"rank {args.rank}: wrong result of the {name}")
        lacks.append(name)
    print(json.dumps({"lacks": lacks}), flush=True)


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


def is_reference(text):
    """True if the example printed its results; NCCL prints its version among them."""
    lines = sorted(x for x in text.splitlines() if x.startswith(("step ", "layer ")))
    return hashlib.sha256("".join(x + "\n" for x in lines).encode()).hexdigest() == EXAMPLE


def output_of(ranks, folder):
    return "".join(
        pathlib.Path(f"{folder}/out{r}").read_text(errors="replace") for r in range(ranks)
    )


def judges_itself(args):
    return not args.program or pathlib.Path(args.program).name != "example"


def lacking(args, folder):
    """The operations that the library lacks, as its ranks printed them."""
    found = set()
    for line in output_of(args.ranks, folder).splitlines():
        if line.startswith('{"lacks"'):
            found.update(json.loads(line)["lacks"])
    return sorted(found)


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
        lacks = lacking(args, folder) if not args.program else []
        measured = [line for line in output_of(1, folder).splitlines() if line.startswith(MEASURED)]
        equal = not any(codes) and (
            judges_itself(args) or is_reference(output_of(args.ranks, folder))
        )
    for line in measured:
        print(line)
    if lacks:
        result["lacks"] = lacks
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
