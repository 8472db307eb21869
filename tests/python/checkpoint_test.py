"""The state of zeroproof.torch.Engine as a dict, in torch.distributed.checkpoint and safetensors:
training goes on with the same bits on another number of ranks and stage, values of DDP and FSDP2
come in and go out unchanged, and files that do not fit are refused by name on all ranks."""

import sys
import tempfile

import engine_test
import safetensors.torch
import torch
import torch._dynamo  # noqa: F401  (torch.optim imports it, or every child would)
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import zeroproof.torch as zt
from engine_test import check, on_ranks
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard
from torch.nn import functional

GLOBAL = 6  # micro-batches of a step, of all ranks


class Net(torch.nn.Module):
    """bf16 beside fp32, a tied and a frozen weight, and a buffer."""

    def __init__(self, dtype=torch.bfloat16):
        super().__init__()
        torch.manual_seed(3)
        self.embed = torch.nn.Linear(8, 8, bias=False).to(dtype)
        self.again = self.embed  # tied
        self.frozen = torch.nn.Linear(8, 8).requires_grad_(False)
        self.out = torch.nn.Linear(8, 3)
        self.register_buffer("offset", torch.ones(8))

    def forward(self, x):
        dtype = self.embed.weight.dtype
        x = self.again(torch.tanh(self.embed(x.to(dtype)))).float()
        return self.out(self.frozen(x) + self.offset)


def loss_of(model, step, number):
    made = torch.Generator().manual_seed(1000 * step + number)
    x, y = torch.randn(4, 8, generator=made), torch.randn(4, 3, generator=made)
    return functional.mse_loss(model(x), y)


def train(engine, rank, world, steps):
    for step in steps:
        for number in range(rank, GLOBAL, world):
            with engine.micro_batch():
                engine.backward(loss_of(engine.model, step, number))
        engine.step()
    parameters = [p.detach().float().flatten().tolist() for p in engine.model.parameters()]
    return engine.last.norm.hex(), engine.last.loss, parameters


def engine_of(model, world, **settings):
    torch.set_num_threads(1)
    return zt.Engine(
        model,
        settings.pop("optimizer", {"lr": 0.02}),
        micro_batches=GLOBAL // world,
        **{"clip": 0.5, "timeout_s": 30.0, **settings},
    )


WAYS = ("state_dict", "dcp", "safetensors")
OPTIMIZERS = {"adamw": {"lr": 0.02}, "sgd": {"kind": "sgd", "lr": 0.02, "momentum": 0.9}}


def write(rank, world, folder, kind, stage):
    """Two steps, all three ways, and two more steps."""
    scale = {"first": 2.0**10, "window": 3}
    model = Net()
    engine = engine_of(model, world, optimizer=OPTIMIZERS[kind], stage=stage, scale=scale)
    train(engine, rank, world, range(2))
    state = engine.state_dict()
    if rank == 0:
        torch.save(state, f"{folder}/state_dict")
    engine.save_dcp(f"{folder}/dcp")
    engine.save_safetensors(f"{folder}/safetensors")
    return train(engine, rank, world, range(2, 4)), engine.last.scale


def read(rank, world, folder, kind, stage, way):
    model = Net()
    with torch.no_grad():
        for x in [*model.parameters(), *model.buffers()]:
            x.fill_(9.0)
    optimizer = {**OPTIMIZERS[kind], "lr": 5.0}  # the file's replaces it
    scale = {"first": 2.0**10, "window": 3}
    with engine_of(model, world, optimizer=optimizer, stage=stage, scale=scale) as engine:
        if way == "state_dict":
            engine.load_state_dict(torch.load(f"{folder}/state_dict"))
        else:
            getattr(engine, f"load_{way}")(f"{folder}/{way}")
        assert engine.last.steps == 2, engine.last
        return train(engine, rank, world, range(2, 4)), engine.last.scale


# optimizer, ranks and stage that save, ranks and stage that go on
RUNS = (("adamw", 3, 2, 2, 1), ("adamw", 1, 1, 3, 2), ("sgd", 2, 0, 1, 2), ("sgd", 2, 2, 3, 0))


def continues(runs):
    for kind, written, stage, world, other in runs:
        with tempfile.TemporaryDirectory() as folder:
            wanted = on_ranks(written, write, folder, kind, stage)[0]
            for way in WAYS:
                found = on_ranks(world, read, folder, kind, other, way)
                name = f"{way} of {kind}: stage {stage} on {written}, stage {other} on {world}"
                check(name, isinstance(wanted, tuple) and found == [wanted] * world, found)


# ---- DDP and FSDP2 -------------------------------------------------------------------------------


def torch_train(model, optimizer, rank, world, step):
    optimizer.zero_grad()
    for number in range(rank, GLOBAL, world):
        (loss_of(model, step, number) * world / GLOBAL).backward()
    optimizer.step()


def whole(x):
    return x.full_tensor() if hasattr(x, "full_tensor") else x


def fsdp_writes(rank, world, folder):
    model = fully_shard(Net(torch.float32))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.02)
    for step in range(3):
        torch_train(model, optimizer, rank, world, step)
    mine, optim = get_state_dict(model, optimizer)
    dcp.save({"weights": mine, "adam": optim}, checkpoint_id=folder)
    return {name: whole(x).tolist() for name, x in mine.items()}, {
        name: {part: whole(x).tolist() for part, x in state.items()}
        for name, state in optim["state"].items()
    }


def engine_reads(rank, world, folder):
    """Returns what fsdp_writes returns."""
    engine = engine_of(Net(torch.float32), world, optimizer={"lr": 5.0})
    engine.load_dcp(folder, model="weights", optim="adam")
    assert engine.optimizer.param_groups[0]["lr"] == 0.02
    state = engine.state_dict()
    train(engine, rank, world, range(3, 4))
    return {name: x.tolist() for name, x in state["model"].items()}, {
        name: {part: x.tolist() for part, x in state.items()}
        for name, state in state["optim"]["state"].items()
    }


def engine_writes(rank, world, folder):
    engine = engine_of(Net(torch.float32), world)
    train(engine, rank, world, range(3))
    engine.save_dcp(folder)
    state = engine.state_dict()
    return {name: x.tolist() for name, x in state["model"].items()}, {
        name: {part: x.tolist() for part, x in state.items()}
        for name, state in state["optim"]["state"].items()
    }


def other_names(rank, world, folder):
    """The optimizer is saved as `optimizer`: it is not left out in silence."""
    model = Net(torch.float32)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.02)
    torch_train(model, optimizer, rank, world, 0)
    mine, optim = get_state_dict(model, optimizer)
    dcp.save({"model": mine, "optimizer": optim}, checkpoint_id=folder)
    with engine_of(Net(torch.float32), world) as engine:
        try:
            engine.load_dcp(folder)
            said = "no error"
        except ValueError as error:
            said = str(error)
        steps = []
        for name in (None, "optimizer"):
            engine.load_dcp(folder, optim=name)
            steps.append(engine.last.steps)
    return said, steps


def ddp_reads(rank, world, folder):
    model = torch.nn.parallel.DistributedDataParallel(Net(torch.float32))
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=0.02)
    # set_state_dict of 2.13 does not find a tied parameter's second name within DDP
    mine, optim = get_state_dict(model.module, optimizer)
    state = {"model": mine, "optim": optim}
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(
        model.module, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"]
    )
    mine, optim = get_state_dict(model.module, optimizer)
    return {name: x.tolist() for name, x in mine.items()}, {
        name: {part: x.tolist() for part, x in state.items()}
        for name, state in optim["state"].items()
    }


def others():
    with tempfile.TemporaryDirectory() as folder:
        wanted = on_ranks(2, fsdp_writes, folder)
        for world in (1, 3):
            found = on_ranks(world, engine_reads, folder)
            check(f"FSDP2's values on {world}", found == [wanted[0]] * world, found)
    with tempfile.TemporaryDirectory() as folder:
        wanted = on_ranks(3, engine_writes, folder)
        found = on_ranks(2, ddp_reads, folder)
        check("DDP has the engine's values", found == [wanted[0]] * 2, found)

    with tempfile.TemporaryDirectory() as folder:
        for said, steps in on_ranks(2, other_names, folder):
            good = "has no 'optim', but optimizer: pass optim=" in said and steps == [0, 1]
            check("an optimizer by another name", good, (said, steps))


def weights(rank, world, folder):
    """Weights alone: steps and moments begin anew, as if the model had had them from the start."""
    model = Net()
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(1.5)
    safetensors.torch.save_model(model, f"{folder}/weights{rank}")
    results = []
    for loads in (False, True):
        engine = engine_of(Net() if loads else model, world)
        if loads:
            train(engine, rank, world, range(2))
            engine.load_safetensors(f"{folder}/weights{rank}")
            assert engine.last.steps == 0
        results.append(train(engine, rank, world, range(2)))
        engine.close()
    return results[0] == results[1]


def negative_zeros(rank, world):
    """Whole tensors have the bits of the parts: -0.0 among them."""
    with engine_of(Net(), world) as engine:
        native = engine._native
        for at, count in native.held(0):
            native.write_state(0, "moment1", at, torch.full((count,), -0.0))
        found = engine.state_dict()["optim"]["state"]["embed.weight"]["exp_avg"]
        return bool(torch.signbit(found).all())


# ---- Refused -------------------------------------------------------------------------------------


def wrong_dicts(engine, refused, state, rank, world):
    model, optim = state["model"], state["optim"]

    def load(**changed):
        return lambda: engine.load_state_dict({**state, **changed})

    def without(thing, name):
        return {key: x for key, x in thing.items() if key != name}

    moments = optim["state"]["out.bias"]
    refused("a missing parameter", load(model=without(model, "out.bias")))
    refused("a wrong shape", load(model={**model, "out.bias": torch.zeros(4)}))
    refused("no model", lambda: engine.load_state_dict({"optim": optim}))
    refused("no dict", lambda: engine.load_state_dict([1]))
    refused(
        "numbers as names",
        load(optim={**optim, "state": dict(enumerate(optim["state"].values()))}),
    )
    refused(
        "a moment is missing",
        load(
            optim={
                **optim,
                "state": {**optim["state"], "out.bias": without(moments, "exp_avg_sq")},
            }
        ),
    )
    refused("other groups", load(optim={**optim, "param_groups": optim["param_groups"] * 2}))
    refused(
        "another kind",
        load(optim={**optim, "param_groups": [{**optim["param_groups"][0], "kind": "sgd"}]}),
    )
    refused("steps below 0", load(engine={**state["engine"], "steps": -1}))
    if world > 1:
        other = {**model, "out.bias": model["out.bias"] + rank}
        refused("other values on a rank", load(model=other))
        refused("a rank cannot", load(model=without(model, "out.bias" if rank else "none")))


def mistakes(rank, world, folder):
    """Each mistake's error; afterwards training has the bits of a run without them."""
    engine = engine_of(Net(), world)
    state = engine.state_dict()
    found = {}

    def refused(name, run):
        try:
            run()
            found[name] = "no error"
        except (ValueError, zt.EngineError) as error:
            found[name] = str(error)

    wrong_dicts(engine, refused, state, rank, world)
    refused("no folder", lambda: engine.load_dcp(f"{folder}/none"))
    refused("an empty folder", lambda: engine.load_dcp(folder))
    engine.save_dcp(f"{folder}/dcp")
    refused("a folder that exists", lambda: engine.save_dcp(f"{folder}/dcp"))
    refused("another name", lambda: engine.load_dcp(f"{folder}/dcp", model="weights"))
    refused("no file", lambda: engine.load_safetensors(f"{folder}/none"))
    engine.save_safetensors(f"{folder}/whole")
    if rank == 0:
        with open(f"{folder}/whole", "rb") as file, open(f"{folder}/half", "wb") as half:
            half.write(file.read()[:700])
    if world > 1:
        dist.barrier()
    refused("half a file", lambda: engine.load_safetensors(f"{folder}/half"))
    refused("no place", lambda: engine.save_safetensors(f"{folder}/none/whole"))
    after = train(engine, rank, world, range(2))
    with engine.micro_batch():
        engine.backward(loss_of(engine.model, 2, rank))
    refused("within a step", engine.state_dict)
    refused("a file within a step", lambda: engine.save_dcp(f"{folder}/again"))
    engine.close()
    refused("closed", engine.state_dict)
    undisturbed = train(engine_of(Net(), world), rank, world, range(2))
    found["afterwards"] = str(after == undisturbed)
    return found


EXPECTED = {
    "a missing parameter": "rank 0: load_state_dict: the model's out.bias is missing",
    "a wrong shape": "out.bias is [4], not a tensor of shape [3]",
    "no model": "there is no 'model'; it takes what state_dict() returns",
    "no dict": "there is no 'model'",
    "numbers as names": "the optimizer's state has '0', which is no parameter of the model",
    "a moment is missing": "out.bias has no exp_avg_sq",
    "other groups": "there are 2 param_groups, and the engine has 1",
    "another kind": "param_groups 0 is of kind 'sgd', and the engine's of 'adamw'",
    "steps below 0": "no training with this engine's scale leaves them",
    "other values on a rank": "rank 1 has other values than rank 0",
    "a rank cannot": "rank 1: load_state_dict: the model's out.bias is missing",
    "no folder": "load_dcp: there is no folder",
    "an empty folder": "is not of torch.distributed.checkpoint",
    "a folder that exists": "has a checkpoint already",
    "another name": "has no 'weights'; it has engine, model, optim",
    "no file": "load_safetensors: ",
    "half a file": "load_safetensors: ",
    "no place": "save_safetensors: ",
    "within a step": "state_dict() within a step",
    "a file within a step": "save_dcp() within a step",
    "closed": "the engine is closed",
    "afterwards": "True",
}


def refusals(worlds):
    for world in worlds:
        with tempfile.TemporaryDirectory() as folder:
            for rank, found in enumerate(on_ranks(world, mistakes, folder)):
                expected = dict(EXPECTED)
                if world == 1:
                    del expected["other values on a rank"], expected["a rank cannot"]
                if not isinstance(found, dict):
                    check(f"refused on {world}, rank {rank}", False, found)
                    continue
                check(f"all tried on {world}, rank {rank}", set(found) == set(expected), found)
                for name, text in expected.items():
                    said = found.get(name, "")
                    check(f"{name} on {world}, rank {rank}", text in said, said)


def main(quick):
    """quick: what finds the faults of test_checkpoint.sh."""
    continues(RUNS[:1] if quick else RUNS)
    if not quick:
        others()
    for world in (2,) if quick else (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            found = on_ranks(world, weights, folder)
            check(f"weights alone on {world}", found == [True] * world, found)
        found = on_ranks(world, negative_zeros)
        check(f"negative zeros on {world}", found == [True] * world, found)
    refusals((2,) if quick else (1, 2))
    return engine_test.failed > 0


if __name__ == "__main__":
    sys.exit(main("--quick" in sys.argv))
