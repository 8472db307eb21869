"""torch_models.py DIR CASE...: two ranks on gloo that train models of several kinds, with values
recorded to DIR/CASE. In the cases DEVIATE, rank 1 changes one element in step 3."""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.tensor import distribute_module

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "conformance", "recorder"))

WORLD, STEPS, DEVIATE = (
    2,
    5,
    (
        "sparse",
        "second_tower",
        "watched_twice",
        "second_mesh_optimizer",
        "second_optimizer",
        "alternating",
    ),
)
Parallel = torch.nn.parallel.DistributedDataParallel


def layers(seed=7):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))


class Sparse(torch.nn.Module):
    """The gradient of the embedding has no bytes in order."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.embedding = torch.nn.Embedding(10, 4, sparse=True)
        self.linear = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.linear(self.embedding(x))


def steps(rank, case, parameter):
    """The numbers of the steps. In step 3, rank 1 has another value of the parameter."""
    for n in range(STEPS):
        if n == 3 and rank == 1 and case in DEVIATE:
            with torch.no_grad():
                parameter.view(-1)[1] += 0.01
        yield n


def sparse(rank, trace, recorder):
    model = Parallel(Sparse())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in steps(rank, "sparse", model.module.linear.weight):
        optimizer.zero_grad()
        model(torch.tensor([rank, 2])).sum().backward()
        optimizer.step()


def scattered(rank, trace, recorder):
    """Values that no other rank has."""
    dist.reduce_scatter_tensor(torch.empty(3), torch.ones(6) * rank)


def unable(rank, trace, recorder):
    """The fingerprint of one input of rank 1 fails."""
    real = recorder.values.of

    def of(pieces):
        if rank == 1 and pieces[0].tensors[0].numel() == 5:
            raise RuntimeError("planned")
        return real(pieces)

    recorder.values.of = of
    for n in (4, 5, 5, 6):
        dist.all_gather_into_tensor(torch.empty(2 * n), torch.ones(n) * rank)


def stopped(rank, trace, recorder):
    """From step 2 on, rank 1 cannot write its values."""
    real = recorder.values.put

    def put(head, value):
        if rank == 1 and recorder.steps == 2:
            raise RuntimeError("planned")
        real(head, value)

    recorder.values.put = put
    model = Parallel(layers())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in steps(rank, "stopped", None):
        optimizer.zero_grad()
        model(torch.ones(1, 4) * rank).sum().backward()
        optimizer.step()


def towers(rank, trace, recorder, case="towers"):
    """Two models with the same names of parameters, in one optimizer."""
    a, b = Parallel(layers()), Parallel(layers(8))
    trace.watch(a)
    optimizer = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
    for _ in steps(rank, case, b.module[0].bias):
        optimizer.zero_grad()
        x = torch.ones(1, 4) * (rank + 1)
        (a(x) + b(x)).sum().backward()
        optimizer.step()


def second_tower(rank, trace, recorder):
    towers(rank, trace, recorder, "second_tower")


def watched_twice(rank, trace, recorder):
    model = Parallel(layers())
    trace.watch(model.module, model.process_group)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in steps(rank, "watched_twice", model.module[1].weight):
        optimizer.zero_grad()
        model(torch.ones(1, 4)).sum().backward()
        optimizer.step()


def twice(rank, trace, recorder):
    """Several values of a tensor in one step: two steps of an optimizer, and another optimizer of
    the same parameters."""
    model = Parallel(layers())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    decay = torch.optim.SGD(model.parameters(), lr=0.01)
    for n in range(STEPS):
        trace.step(n)
        optimizer.zero_grad()
        model(torch.ones(1, 4) * (rank + 1)).sum().backward()
        optimizer.step()
        optimizer.step()
        decay.step()


def mesh_optimizers(rank, trace, recorder, case="mesh_optimizers"):
    """Replicas on a mesh, without names, in two optimizers."""
    mesh = dist.device_mesh.init_device_mesh("cpu", (WORLD,))
    model = distribute_module(layers(), mesh)
    weights, biases = zip(*[(layer.weight, layer.bias) for layer in model], strict=True)
    optimizers = [torch.optim.SGD(weights, lr=0.1), torch.optim.SGD(biases, lr=0.1)]
    for _ in steps(rank, case, model[0].bias.to_local()):
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter) * parameter.ndim
        for optimizer in optimizers:
            optimizer.step()
    dist.barrier()


def second_mesh_optimizer(rank, trace, recorder):
    mesh_optimizers(rank, trace, recorder, "second_mesh_optimizer")


def second_optimizer(rank, trace, recorder):
    """Two optimizers of one model, the second one with a collective of its own."""
    model = Parallel(layers())
    parameters = list(model.parameters())
    optimizers = [torch.optim.SGD(parameters[:2], lr=0.1) for _ in range(2)]
    optimizers.append(torch.optim.Adam(parameters[2:]))
    optimizers[1].register_step_pre_hook(lambda *_: dist.barrier())
    for _ in steps(rank, "second_optimizer", model.module[1].weight):
        model.zero_grad()
        model(torch.ones(1, 4) * (rank + 1)).sum().backward()
        for optimizer in optimizers:
            optimizer.step()


def alternating(rank, trace, recorder):
    """Two models in turn. What the second one does follows the end of a step."""
    models = [Parallel(layers()), Parallel(layers())]
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
    for _ in steps(rank, "alternating", models[1].module[0].bias):
        for model, optimizer in zip(models, optimizers, strict=True):
            optimizer.zero_grad()
            model(torch.ones(1, 4) * (rank + 1)).sum().backward()
            optimizer.step()


def one_rank_between(rank, trace, recorder):
    """Two models in one step; a rank enters a collective of its own between their optimizers."""
    models = [Parallel(layers()), Parallel(layers())]
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
    own = dist.new_group([0])
    for _ in range(4):
        for model in models:
            model.zero_grad()
            model(torch.ones(1, 4) * (rank + 1)).sum().backward()
        optimizers[0].step()
        if rank == 0:
            dist.all_reduce(torch.ones(1), group=own)
        optimizers[1].step()


def run(rank, folder, cases, rendezvous):
    import zeroproof_trace

    dist.init_process_group("gloo", init_method="file://" + rendezvous, rank=rank, world_size=WORLD)
    for case in cases:
        recorder = zeroproof_trace.record(os.path.join(folder, case), values=1)
        globals()[case](rank, zeroproof_trace, recorder)
        recorder.close()
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        mp.spawn(
            run, args=(sys.argv[1], sys.argv[2:], os.path.join(scratch, "rendezvous")), nprocs=WORLD
        )
