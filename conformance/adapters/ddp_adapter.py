"""PyTorch's DistributedDataParallel (ZeRO 0) and, with ZeroRedundancyOptimizer, ZeRO 1, on CPU with
gloo.

DDP's reducer in C++ is unchanged; the process group records. ZeroRedundancyOptimizer shards whole
parameters: a rank's masters are the parameters of its local optimizer. Replicas shard them over
groups of some ranks each (process_group), while DDP reduces over all. The norm is the result of
clip_grad_norm_."""

import contextlib

import torch
import torch._dynamo  # noqa: F401  (else DDP imports it in every child)
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch_adapter import (
    DTYPES,
    MEGATRON_ONLY,
    MORE_RANKS,
    ONE_STAGE,
    ONE_STATE,
    Linear,
    backwards,
    hexes,
    load_whole,
    moments,
    optimizer_of,
    save_whole,
    serve,
    set_rates,
)

HELLO = {
    "protocol": 1,
    "name": "PyTorch DDP",
    "version": torch.__version__.split("+", maxsplit=1)[0],
    "level": 2,
    "returns": [
        "norm",
        "loss",
        "parameters",
        "gradients",
        "masters",
        "moments1",
        "moments2",
        "ledger",
    ],
    "supports": {
        "zero": [0, 1],
        "dp": [1, 2, 3, 4],
        "micro_batches": [1, 2, 3, 4],
        "steps": [1, 2, 3, 4],
        "optimizer": ["sgd", "momentum", "adamw"],
        "clip": ["off", "loose", "binding"],
        "magnitude": ["plain", "huge", "minute"],
        "groups": [1, 2, 3],
        "sizes": ["plain", "tiny", "odd", "large", "empty"],
        "bucket": ["large", "small"],
        "unused": ["no", "some", "often", "onesided"],
        "frozen": ["no", "yes", "tied"],
        "tied": ["no", "stage"],
        "backwards": [1, 2],
        "rates": ["constant", "changing"],
        "start": ["same", "differ"],
        "replicas": [1, 2],
        "groups_vary": ["no", "rank", "step"],
        "reload": ["no", "same", "zero", "dp"],
    },
    "world": 4,
    "lacks": {
        **MEGATRON_ONLY,
        **ONE_STAGE,
        "zero": "DistributedDataParallel keeps whole gradients",
        "dp": MORE_RANKS,
        "tp": "DistributedDataParallel has no tensor parallelism",
        "ep": "DistributedDataParallel has no expert parallelism",
        "precision": "torch.optim has no fp32 masters for 16-bit parameters",
        "accumulate": "16-bit parameters are not supported",
        "communicate": "16-bit parameters are not supported",
        "dtypes": "16-bit parameters are not supported",
        "overflow": "nothing skips a step: the training loop decides",
        "skipped": "nothing skips a step: the training loop decides",
        "scale": "the training loop scales the loss, not DistributedDataParallel",
    },
    "without": [
        {
            "zero": 0,
            "option bucket_view": True,
            "why": "it is an option of ZeroRedundancyOptimizer",
        },
        ONE_STATE,
        {
            "zero": 1,
            "groups_vary": "rank",
            "why": "each rank partitions its own list: all need the same (add_param_group says so)",
        },
        {
            "unused": ["some", "often", "onesided"],
            "option static_graph": True,
            "why": "static_graph requires that all steps use the same parameters",
        },
    ],
    "options": {
        "gradient_view": [False, True],
        "bucket_view": [False, True],
        "static_graph": [False, True],
    },
}


def shard_group(case):
    """The ranks of this rank's replica; None stands for all."""
    if case["replicas"] == 1:
        return None
    size = case["world"] // case["replicas"]
    return dist.new_subgroups(size)[0]


def optimizer(me, model):
    case, groups = me.case, model.groups()
    if not case["zero"]:
        return optimizer_of(case, groups)
    kind = torch.optim.AdamW if case["groups"][0]["optimizer"] == "adamw" else torch.optim.SGD
    for g in groups:
        if "betas" in g:
            g["betas"] = tuple(g["betas"])
    return ZeroRedundancyOptimizer(
        groups,
        optimizer_class=kind,
        process_group=shard_group(case),
        lr=1.0,
        parameters_as_bucket_view=case["options"]["bucket_view"],
    )


def owned(model, optim):
    """Whole parameters that this rank's local optimizer updates."""
    local = {id(p) for g in optim.optim.param_groups for p in g["params"]}
    return {
        model.position.case["parameters"][j]["name"]: [[0, hexes(model.of(j))]]
        for j in model.entries
        if id(model.of(j)) in local
    }


def whole(model, value):
    """value(parameter), whole, of each parameter that has one."""
    found = {}
    for j in model.entries:
        x = value(model.of(j))
        if x is not None:
            found[model.position.case["parameters"][j]["name"]] = [[0, hexes(x)]]
    return found


def gradients(model):
    return whole(model, lambda w: w.grad)


def state(case, model, optim):
    """What the rank holds, in the words of the protocol."""
    local = optim.optim if case["zero"] else optim
    found = {"parameters": model.parameters_by_name()}
    if case["zero"]:
        found["masters"] = owned(model, optim)
    return {**found, **moments(local, lambda value: whole(model, value))}


def one_step(me, model, ddp, optim, step):
    case, times = me.case, me.case["micro_batches"]
    for m, term, last in backwards(case):  # no_sync must contain the forward as well
        with contextlib.nullcontext() if last else ddp.no_sync():
            (ddp(step, m, term) / times).backward()
    mine = {"gradients": gradients(model), "norm": None, "loss": me.position.noted()}
    if case["clip"]:
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), case["clip"]["max_norm"])
        mine["norm"] = float(norm).hex()
    set_rates(case, optim, step)
    optim.step()
    model.zero_grad()  # an optimizer clears the gradients of its own groups alone
    me.steps.append({**mine, **state(case, model, optim)})


def save(me, model, optim):
    """As the documentation of ZeroRedundancyOptimizer says: one rank saves the whole state."""
    if me.case["zero"]:
        optim.consolidate_state_dict(to=0)
    save_whole(me, model, None if me.rank else optim.state_dict())


def main(me):
    case = me.case
    with me.recorder.pause():
        me.environment("zeroproof")
    model = Linear(me.position)
    ddp = torch.nn.parallel.DistributedDataParallel(
        model,
        bucket_cap_mb=case["bucket"] * DTYPES[case["precision"]].itemsize / 2**20,
        find_unused_parameters=not case["options"]["static_graph"],
        gradient_as_bucket_view=case["options"]["gradient_view"],
        static_graph=case["options"]["static_graph"],
    )
    optim = optimizer(me, model)
    if me.load:
        optim.load_state_dict(load_whole(me, model))
        me.steps[-1] = state(case, model, optim)
    for step in me.todo():
        model.add_groups(optim, step)
        me.begin(step)
        one_step(me, model, ddp, optim, step)
    if me.save:
        save(me, model, optim)


if __name__ == "__main__":
    serve(HELLO, main)
