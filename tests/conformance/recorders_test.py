"""Tests the adapters' recorders: a rank that skips a collective, or changes its operation or count,
is detected, and so is memory that is freed during a transfer. A correct program is accepted.

The recording process group (PyTorch, Megatron-Core) is tested with collectives issued by Python, by
functional collectives and by DDP's reducer in C++; the wrapped functions (DeepSpeed) with
torch.distributed and, with the argument "deepspeed", with deepspeed.comm; the example adapter with
DDP's own reducer, without a hook."""

import contextlib
import json
import os
import signal
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "conformance", d) for d in ("recorder", "judge", "adapters")]
os.environ.update(OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")

import idle  # noqa: E402
import ledger  # noqa: E402
import torch  # noqa: E402
import torch._dynamo  # noqa: E402,F401
import torch.distributed as dist  # noqa: E402
import torch.distributed._functional_collectives as functional  # noqa: E402
import zeroproof_group  # noqa: E402

WORLD = 2


def two_dtypes(_fault, me):
    """Gathers tensors of two dtypes in one call, which gloo itself gathers as if of one."""
    mine = [torch.full((3,), 1.5 + me, dtype=t) for t in (torch.bfloat16, torch.float32)]
    whole = [torch.zeros(6, dtype=t.dtype) for t in mine]
    with dist.distributed_c10d._coalescing_manager():
        for out, own in zip(whole, mine, strict=True):
            dist.all_gather_into_tensor(out, own)
    assert all(out.tolist() == [1.5] * 3 + [2.5] * 3 for out in whole), whole


def python(fault, me):
    """Collectives issued by Python. Rank 1 has the fault."""
    bad = me == 1
    if not (fault == "skip" and bad):
        dist.all_reduce(
            torch.ones(3 if fault == "count" and bad else 4),
            op=dist.ReduceOp.MAX if fault == "op" and bad else dist.ReduceOp.SUM,
        )
    if fault == "none":
        whole = torch.zeros(8)
        dist.all_gather_into_tensor(whole, torch.full((4,), float(me)))
        assert whole.tolist() == [0.0] * 4 + [1.0] * 4
        dist.recv(torch.zeros(2), 0) if bad else dist.send(torch.ones(2), 1)


def transfers(fault, me):
    """A send whose memory rank 0 frees after the wait, before it, or without one."""
    if me == 1:
        dist.recv(torch.zeros(4), 0)
    else:
        tensor = torch.ones(4)
        work = dist.isend(tensor, 1)
        if fault == "none":
            work.wait()
        tensor.data = torch.empty(1)
        if fault == "freed":
            work.wait()
    dist.all_reduce(torch.ones(4))


def by_functional(fault, me):
    bad = me == 1
    if not (fault == "skip" and bad):
        tensor = torch.ones(3 if fault == "count" and bad else 4)
        (
            functional.all_reduce(
                tensor, "max" if fault == "op" and bad else "sum", dist.group.WORLD
            )
            + 0
        )


def by_reducer(fault, me):
    """Collectives issued by DDP's reducer in C++, whose operation cannot be changed."""
    bad = me == 1
    model = torch.nn.Linear(4, 1, bias=fault == "count" and bad)
    ddp = torch.nn.parallel.DistributedDataParallel(model, init_sync=False)
    if fault == "skip" and bad:
        with ddp.no_sync():
            ddp(torch.ones(1, 4)).sum().backward()
    else:
        ddp(torch.ones(1, 4)).sum().backward()


def wrapped(fault, me):
    """Wrapped functions of torch.distributed, as DeepSpeed's adapters record."""
    python(fault, me)
    if fault == "none":
        batch = [
            dist.P2POp(dist.isend, torch.ones(2), 1 - me),
            dist.P2POp(dist.irecv, torch.zeros(2), 1 - me),
        ]
        for work in dist.batch_isend_irecv(batch):
            work.wait()


def by_deepspeed(fault, me):
    """Collectives issued through DeepSpeed's own module."""
    import deepspeed

    bad, comm = me == 1, deepspeed.comm
    comm.all_gather_into_tensor(torch.zeros(8), torch.full((4,), float(me)))
    if not (fault == "skip" and bad):
        comm.all_reduce(
            torch.ones(3 if fault == "count" and bad else 4),
            op=comm.ReduceOp.MAX if fault == "op" and bad else comm.ReduceOp.SUM,
        )


def example_case(numel, steps):
    entry = {
        "name": "p0",
        "numel": numel,
        "group": 0,
        "tied": None,
        "frozen": False,
        "first": [[1] * numel],
    }
    return {
        "world": WORLD,
        "micro_batches": 1,
        "steps": steps,
        "parameters": [entry],
        "bucket": 1024,
        "log2_first": 0,
        "log2_unit": 0,
        "groups": [{"lr": 0.5}],
        "clip": None,
        "data": [[[[[1] * numel]]] * WORLD] * steps,
    }


class Ddp(torch.nn.parallel.DistributedDataParallel):
    """DDP that accepts different models on different ranks. hook: replaces the reduction, which
    only a fault may do."""

    hook = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, init_sync=False, **kwargs)
        if Ddp.hook:
            super().register_comm_hook(None, Ddp.hook)

    def register_comm_hook(self, *_):
        raise AssertionError("the example must not replace DDP's reduction by a hook")


def greatest(_, bucket):
    return (
        dist.all_reduce(bucket.buffer(), dist.ReduceOp.MAX, async_op=True)
        .get_future()
        .then(lambda f: f.value()[0])
    )


def example(fault, me, folder):
    """The example adapter without its loop."""
    bad = me == 1
    name = os.path.join(ROOT, "conformance", "adapters", "ddp_example.py")
    with open(name, encoding="utf-8") as file:
        code = file.read().partition("\nfor line in sys.stdin")[0]
    names = {"__name__": "example", "__file__": name}
    torch.nn.parallel.DistributedDataParallel, Ddp.hook = (
        Ddp,
        greatest if fault == "op" and bad else None,
    )
    exec(compile(code, name, "exec"), names)
    rank = names["ranks"].Rank(me, folder)
    names["rank_main"](
        example_case(3 if fault == "count" and bad else 4, 0 if fault == "skip" and bad else 1),
        rank,
    )
    rank.write({"end": True})


@contextlib.contextmanager
def recorded(program, me, folder):
    """Starts torch.distributed under the recorder that the program tests."""
    store = dist.FileStore(f"{folder}/store", WORLD)
    with open(f"{folder}/rank-{me}.jsonl", "w", buffering=1, encoding="utf-8") as file:

        def write(record):
            file.write(json.dumps(record) + "\n")

        if program in (wrapped, by_deepspeed):
            import zeroproof_record

            log = zeroproof_record.Recorder(write).install()
            with log.pause():
                dist.init_process_group("gloo", store=store, rank=me, world_size=WORLD)
                if program is by_deepspeed:
                    import deepspeed

                    deepspeed.init_distributed("gloo")
        else:
            log = zeroproof_group.register(write)
            dist.init_process_group("zeroproof", store=store, rank=me, world_size=WORLD)
        yield
        write({"end": True})
        log.quiet += 1  # the program does not issue the collectives that end the process group


def child(program, fault, me, folder):
    if program is example:
        example(fault, me, folder)
    else:
        with recorded(program, me, folder):
            program(fault, me)
    # keep a finished rank alive, as in a real run, until the others are known to hang
    if fault == "skip":
        signal.alarm(600)
        signal.pause()


def ledgers_of(program, fault, folder):
    """Runs the program until all ranks have ended, or until none computes or records any more."""
    children = []
    for me in range(WORLD):
        pid = os.fork()
        if pid == 0:
            try:
                child(program, fault, me, folder)
            except (
                Exception
            ):  # a consequence of the other rank's fault; the ledgers are judged below
                if fault == "none":
                    traceback.print_exc()
            finally:
                os._exit(0)
        children.append(pid)
    left, sizes, watch = list(children), None, idle.Watch(2)
    while left and not watch.asleep(left):
        left = [p for p in left if os.waitpid(p, os.WNOHANG)[0] == 0]
        files = [f"{folder}/rank-{me}.jsonl" for me in range(WORLD)]
        now = [os.path.getsize(f) if os.path.exists(f) else 0 for f in files]
        if now != sizes:
            sizes = now
            watch.begin()
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    found = []
    for me in range(WORLD):
        with open(f"{folder}/rank-{me}.jsonl", encoding="utf-8") as file:
            found.append([json.loads(line) for line in file])
    return found


def error_of(fault, ledgers):
    """None if the judge finds exactly the injected fault, else the difference."""
    bad = ledger.mismatches(ledgers)
    early = ledger.freed(ledgers)
    if fault in ("freed", "dropped"):
        right = not bad and early and (early[0], early[2]["op"]) == (0, "send")
        return None if right else f"{early}, {ledgers}"
    if early:
        return f"freed during a transfer: {early}"
    if fault == "none":
        if any("end" not in records[-1] for records in ledgers):
            return "a rank failed"
        issued = [r["op"] for r in ledger.ops(ledgers[0])]
        batch = [n for n, r in enumerate(ledger.ops(ledgers[0])) if "batch" in r]
        waits = [r["wait"] for r in ledgers[0] if "wait" in r]
        if not set(batch) <= set(waits) or not all(
            ledger.ops(ledgers[0])[n].get("async") for n in batch
        ):
            return f"a batch must be asynchronous and waited for: {ledgers[0]}"
        return None if issued and not bad else f"{issued}, {bad}"
    if not bad:
        return f"not detected: {ledgers}"
    a, b = bad[0]["records"]
    if fault == "skip":
        return None if a and b is None else f"{a}, {b}"
    key = {"op": "redop", "count": "count"}[fault]
    differ = a and b and a.get(key) != b.get(key) and "unknown" not in (a.get(key), b.get(key))
    return None if differ else f"{a}, {b}"


def main():
    failed = 0
    all_faults = ("none", "skip", "op", "count")
    programs = [
        (python, all_faults),
        (by_functional, all_faults),
        (by_reducer, ("none", "skip", "count")),
        (transfers, ("none", "freed", "dropped")),
        (two_dtypes, ("none",)),
        (wrapped, all_faults),
        (example, all_faults),
    ]
    if sys.argv[1:] == ["deepspeed"]:
        # sets DeepSpeed up once, before the ranks are forked
        import deepspeed_adapter  # noqa: F401

        programs = [(by_deepspeed, all_faults)]
    for program, faults in programs:
        for fault in faults:
            with tempfile.TemporaryDirectory() as folder:
                ledgers = ledgers_of(program, fault, folder)
                why = error_of(fault, ledgers)
                if (program, fault) == (wrapped, "none") and not any(
                    "batch" in r for r in ledgers[0]
                ):
                    why = f"the batch was not recorded: {ledgers[0]}"
            failed += why is not None
            print(
                f"not ok recorder {program.__name__} {fault}: {why}"
                if why
                else f"ok recorder {program.__name__} {fault}",
                flush=True,
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
