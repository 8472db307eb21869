"""The recording process group: a rank that skips a collective, changes its op or its count is seen, whether
Python issues it, a functional collective does, or DDP's reducer in C++; and a program without fault is not."""
import json
import os
import signal
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "conformance", d) for d in ("recorder", "judge")]
os.environ.update(OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")

import ledger  # noqa: E402
import torch  # noqa: E402
import torch._dynamo  # noqa: E402,F401
import torch.distributed as dist  # noqa: E402
import torch.distributed._functional_collectives as functional  # noqa: E402
import zeroproof_group  # noqa: E402

WORLD = 2


def python(fault, me):
    """Rank 1 is the one at fault."""
    bad = me == 1
    if not (fault == "skip" and bad):
        dist.all_reduce(torch.ones(3 if fault == "count" and bad else 4),
                        op=dist.ReduceOp.MAX if fault == "op" and bad else dist.ReduceOp.SUM)
    if fault == "none":
        whole = torch.zeros(8)
        dist.all_gather_into_tensor(whole, torch.full((4,), float(me)))
        assert whole.tolist() == [0.0] * 4 + [1.0] * 4
        dist.recv(torch.zeros(2), 0) if bad else dist.send(torch.ones(2), 1)


def by_functional(fault, me):
    bad = me == 1
    if not (fault == "skip" and bad):
        tensor = torch.ones(3 if fault == "count" and bad else 4)
        functional.all_reduce(tensor, "max" if fault == "op" and bad else "sum", dist.group.WORLD) + 0


def by_reducer(fault, me):
    """DDP: C++ issues it. Its op cannot be changed from outside."""
    bad = me == 1
    model = torch.nn.Linear(4, 1, bias=fault == "count" and bad)
    ddp = torch.nn.parallel.DistributedDataParallel(model, init_sync=False)
    if fault == "skip" and bad:
        with ddp.no_sync():
            ddp(torch.ones(1, 4)).sum().backward()
    else:
        ddp(torch.ones(1, 4)).sum().backward()


def child(program, fault, me, folder):
    with open(f"{folder}/rank-{me}.jsonl", "w", buffering=1, encoding="utf-8") as file:
        log = zeroproof_group.register(lambda record: file.write(json.dumps(record) + "\n"))
        store = dist.FileStore(f"{folder}/store", WORLD)
        dist.init_process_group("zeroproof", store=store, rank=me, world_size=WORLD)
        program(fault, me)
        file.write('{"end": true}\n')
        with log.pause():  # a rank that is through stays, as in a real run, until the others are seen to hang
            time.sleep(20 if fault == "skip" else 0)


def ledgers_of(program, fault, folder):
    """Runs it until all ranks have ended, or for a second after the last record."""
    children = []
    for me in range(WORLD):
        pid = os.fork()
        if pid == 0:
            try:
                child(program, fault, me, folder)
            finally:
                os._exit(0)
        children.append(pid)
    start, size, since = time.monotonic(), None, time.monotonic()
    left = list(children)
    while left and time.monotonic() - start < 30:
        left = [p for p in left if os.waitpid(p, os.WNOHANG)[0] == 0]
        files = [f"{folder}/rank-{me}.jsonl" for me in range(WORLD)]
        now = [os.path.getsize(f) if os.path.exists(f) else 0 for f in files]
        if now != size:
            size, since = now, time.monotonic()
        if any(now) and time.monotonic() - since > 2:
            break
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    found = []
    for me in range(WORLD):
        with open(f"{folder}/rank-{me}.jsonl", encoding="utf-8") as file:
            found.append([json.loads(line) for line in file])
    return found


def seen(fault, ledgers):
    """What the judge says of the ledgers, or why that is not the fault that was planted."""
    bad = ledger.mismatches(ledgers)
    if fault == "none":
        issued = [r["op"] for r in ledger.ops(ledgers[0])]
        return None if issued and not bad else f"{issued}, {bad}"
    if not bad:
        return f"not seen: {ledgers}"
    a, b = bad[0]["records"]
    if fault == "skip":
        return None if a and b is None else f"{a}, {b}"
    key = {"op": "redop", "count": "count"}[fault]
    return None if a and b and a.get(key) != b.get(key) else f"{a}, {b}"


def main():
    failed = 0
    for program, faults in ((python, ("none", "skip", "op", "count")), (by_functional, ("none", "skip", "op", "count")),
                            (by_reducer, ("none", "skip", "count"))):
        for fault in faults:
            with tempfile.TemporaryDirectory() as folder:
                why = seen(fault, ledgers_of(program, fault, folder))
            failed += why is not None
            print(f"not ok recorder {program.__name__} {fault}: {why}" if why else
                  f"ok recorder {program.__name__} {fault}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
