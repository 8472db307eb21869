"""torch_values.py DIR CASE...: three ranks on gloo, whose values are recorded to DIR/CASE. In most
cases one rank deviates in a value, never in an operation or a shape."""

import collections
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import distribute_module
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "conformance", "recorder"))
from zeroproof_trace_values import OfKernel, OnDevice, Pieces  # noqa: E402

WORLD, STEPS = 3, 5


def deviate(values, name, count, before):
    """The next operation of that name on `count` elements transfers another value: its input
    changes after the fingerprint (before), or its result does when it is complete."""
    real = values.around

    def around(call, entered_name, arguments, entered):
        side = "input_tensor" if before else "output_tensor"
        tensors = arguments.get("tensors") or [arguments.get(side, arguments.get("input"))]
        if entered_name != name or tensors[0].numel() != count:
            return real(call, entered_name, arguments, entered)
        values.around = real

        def changed():
            if before:
                tensors[0].add_(0.5)
            result = call()
            if not before:
                dist.Work.unbox(result[-1]).wait()
                tensors[0].add_(0.5)
            return result

        return real(changed, entered_name, arguments, entered)

    values.around = around


def collectives(rank):
    """Each with a size of its own, also sizes that are no multiples of a word."""
    group = dist.new_group([0, 2])
    dist.all_reduce(torch.full((11,), rank + 0.5))
    dist.broadcast(torch.full((12,), float(rank)), 1)
    dist.all_gather_into_tensor(torch.empty(39), torch.full((13,), float(rank)))
    dist.all_gather([torch.empty(7, dtype=torch.int8) for _ in range(WORLD)],
                    torch.full((7,), rank, dtype=torch.int8))  # fmt: skip
    dist.all_gather_into_tensor(torch.empty(15, dtype=torch.bfloat16),
                                torch.ones(5, dtype=torch.bfloat16) * rank)  # fmt: skip
    dist.reduce(torch.ones(14) * rank, 2)
    dist.reduce_scatter_tensor(torch.empty(2), torch.ones(6) * rank)
    whole = [torch.empty(4) for _ in range(WORLD)]
    dist.gather(torch.ones(4) * rank, whole if rank == 1 else None, dst=1)
    dist.scatter(torch.empty(3), [torch.ones(3) * n for n in range(WORLD)] if rank == 0 else None)
    dist.all_to_all_single(torch.empty(3), torch.ones(3) * rank)
    dist.all_reduce(torch.ones(4, 6).t(), async_op=True).wait()
    with torch.inference_mode():
        dist.all_reduce(torch.ones(0))
    if rank != 1:
        dist.all_reduce(torch.ones(17) * rank, group=group)
    works = [dist.all_reduce(torch.ones(n) * rank, async_op=True) for n in (18, 19)]
    for work in works[::-1]:
        work.wait()
    exchange(rank)
    dist.barrier()


def exchange(rank):
    """Sends and receives, and parts of several sizes."""
    after, before = (rank + 1) % WORLD, (rank - 1) % WORLD
    for n in range(2):
        works = [dist.irecv(torch.empty(20), before), dist.isend(torch.ones(20) * rank + n, after)]
        for work in works:
            work.wait()
    parts = [dist.P2POp(dist.isend, torch.ones(21) * rank, after)]
    parts.append(dist.P2POp(dist.irecv, torch.empty(21), before))
    for work in dist.batch_isend_irecv(parts):
        work.wait()
    if rank == 0:  # the second one is received first
        works = [dist.isend(torch.ones(22) * tag, 1, tag=tag) for tag in (5, 0)]
    elif rank == 1:
        works = [dist.irecv(torch.empty(22), 0, tag=tag) for tag in (0, 5)]
    else:
        works = [dist.isend(torch.ones(23), 1), dist.isend(torch.ones(23) * 2, 1)]
    for work in works:
        work.wait()
    if rank == 1:
        dist.recv(torch.empty(23))
        dist.recv(torch.empty(23), 2)
    dist.all_to_all([torch.empty(2) for _ in range(WORLD)], [torch.ones(2) * n + 9 * rank
                                                            for n in range(WORLD)])  # fmt: skip
    sizes = [1, 2, 3]  # rank r sends r + 1 elements to each
    dist.all_to_all_single(torch.empty(6), torch.ones(3 * sizes[rank]) * rank,
                           sizes, [sizes[rank]] * WORLD)  # fmt: skip


def train(rank, case, trace):
    """Data parallel training. Without DistributedDataParallel in the case "declared"."""
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
    if case == "redacted":
        layers = (("secret_first", model[0]), ("secret_last", model[1]))
        model = torch.nn.Sequential(collections.OrderedDict(layers))
    whole = model
    if case == "declared":
        trace.watch(model, dist.group.WORLD)
    elif case != "unnamed":
        whole = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(STEPS):
        if case == "numbered":
            trace.step(100 + step)
        deviates = step == 3 and rank == 2
        if deviates and case in ("weight", "declared", "every", "numbered", "redacted"):
            with torch.no_grad():
                model[0].weight[1, 1] += 0.01
        optimizer.zero_grad()
        whole(torch.ones(1, 4) * (rank + 1)).sum().backward()
        if whole is model:
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
        if deviates and case == "gradient":
            model[1].bias.grad[0] += 1e-7
        if deviates and case == "state":
            optimizer.state[model[1].bias]["exp_avg"][1] += 1
        if step == 1 and case == "redacted":
            optimizer.state[model[1].bias]["secret_state"] = torch.ones(2)
        optimizer.step()


def of_mesh(rank, case):
    """Parameters that are DTensors: replicas ("mesh"), and shards of FSDP2 ("sharded")."""
    mesh = dist.device_mesh.init_device_mesh("cpu", (WORLD,))
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Linear(6, 2))
    if case == "sharded":
        fully_shard(model, mesh=mesh)
    else:
        parallelize_module(model, mesh, {"0": ColwiseParallel()})
        distribute_module(model[1], mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        if case == "mesh" and step == 3 and rank == 2:
            with torch.no_grad():
                model[1].bias.to_local()[1] += 0.01
        optimizer.step()
    dist.barrier()


def on_a_device_as_by_the_library(values):
    """Tensor operations and the kernel compute the same fingerprint, here on the CPU."""
    tensors, kernel = (
        OnDevice(torch, torch.device("cpu")),
        OfKernel.found(torch, torch.device("cpu")),
    )
    assert kernel is not None, "the kernel's library for simdev was not found"
    tensors.CHUNK = 2
    for size in (1, 3, 4, 2047, 2048, 2049, 20000):
        flat = torch.arange(size).mul(2654435761).div(97, rounding_mode="floor").to(torch.uint8)
        for at in (0, 1, 4, 2047, 2048, 1 << 40):
            for device in (tensors, kernel) if at < 2048 else (tensors,):
                total = torch.zeros(2, dtype=torch.int64)
                device.add(flat, at, total)
                got = (size, tuple(x & (1 << 64) - 1 for x in total.tolist()))
                assert got == values.of([Pieces([flat], at)]), (device, size, at)


CHANGES = {  # case -> rank, operator, elements of its tensor, before the transfer
    "result": (1, "allreduce_", 11, False),
    "broadcast": (0, "broadcast_", 12, False),
    "gather": (2, "_allgather_base_", 39, False),
    "input": (1, "_allgather_base_", 13, True),
    "sent": (0, "send", 20, True),
    "dealt": (2, "alltoall_base_", 3, True),
}


def run(rank, folder, cases, rendezvous):
    import zeroproof_trace

    recorder = zeroproof_trace.record(os.path.join(folder, "first"), values=1)
    dist.init_process_group("gloo", init_method="file://" + rendezvous, rank=rank, world_size=WORLD)
    init = torch.nn.parallel.DistributedDataParallel.__init__
    if rank == 0:
        on_a_device_as_by_the_library(recorder.values)
    recorder.close()
    assert init is not torch.nn.parallel.DistributedDataParallel.__init__, "close() left its hook"
    for case in cases:
        every = {"every": 2, "none": None, "collectives": 0}.get(case, 1)
        recorder = zeroproof_trace.record(
            os.path.join(folder, case), values=every, redact=case == "redacted"
        )
        deviator, *change = CHANGES.get(case, (None,))
        if rank == deviator:
            deviate(recorder.values, *change)
        if case in ("mesh", "sharded"):
            of_mesh(rank, case)
        else:
            collectives(rank)
            train(rank, case, zeroproof_trace)
        recorder.close()
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        mp.spawn(
            run, args=(sys.argv[1], sys.argv[2:], os.path.join(scratch, "rendezvous")), nprocs=WORLD
        )
