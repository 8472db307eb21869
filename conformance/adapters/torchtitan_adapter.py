"""torchtitan's clip_grad_norm_ over pipeline stages, on CPU with gloo.

The stages run under PyTorch's schedules. As in torchtitan, each is sharded by FSDP2 if dp > 1
(ZeRO 1: gradients are reduced once per step), and the norm is summed over the mesh of the stages.
torchtitan's models, its trainer and experts (ep_enabled) are not used: they need CUDA or data sets.
torchtitan has no loss scale; its precisions are FSDP2's own (subject torch-fsdp)."""

from importlib.metadata import version

import torch
import torch._dynamo  # noqa: F401  (else DDP imports it in every child)
from fsdp_adapter import runs
from pipelining_adapter import HELLO as PIPELINING
from pipelining_adapter import build, groups_of, run_schedule, shown
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch_adapter import (
    LOOP_SCALES,
    MEGATRON_ONLY,
    NO_BACKWARDS,
    moments,
    optimizer_of,
    serve,
    set_rates,
)
from torchtitan.distributed.utils import clip_grad_norm_

HELLO = {
    "protocol": 1,
    "name": "torchtitan clip",
    "version": version("torchtitan"),
    "level": 2,
    "returns": [
        *("norm", "loss", "parameters", "gradients", "masters", "moments1", "moments2", "ledger"),
    ],
    "supports": {
        "zero": [0, 1],
        "pp": [2, 3],
        "dp": [1, 2],
        "micro_batches": [2, 3, 4],
        "steps": [1, 2, 3],
        "optimizer": ["sgd", "momentum", "adamw"],
        "clip": ["binding", "loose", "off"],
        "magnitude": ["plain", "huge", "minute"],
        "groups": [1, 2, 3],
        "stages_groups": ["equal", "unequal"],
        "sizes": ["plain", "tiny", "odd", "large"],
        "messages": ["tensor", "tuple"],
        "rates": ["constant", "changing"],
    },
    "world": 6,
    "lacks": {
        **MEGATRON_ONLY,
        "reload": "it saves by torch.distributed.checkpoint, which torch-fsdp judges",
        **{
            axis: PIPELINING["lacks"][axis]
            for axis in (
                *("dp", "pp", "tp", "ep", "micro_batches", "steps", "sizes", "bucket", "unused"),
                *("frozen", "tied", "messages"),
            )
        },
        **LOOP_SCALES,
        "zero": {"2": "its trainer reduces gradients once a step"},
        "stages_groups": "FSDP2 refuses a stage without trained parameters",
        "precision": "torch-fsdp judges FSDP2's precisions",
        "accumulate": "torch-fsdp judges FSDP2's precisions",
        "communicate": "torch-fsdp judges FSDP2's precisions",
        "dtypes": "torch-fsdp judges FSDP2's precisions",
        "backwards": NO_BACKWARDS,
        "start": "fully_shard shards each rank's own values: the caller makes them equal",
        "replicas": "torch-fsdp judges FSDP2's mesh (replicate, shard)",
        "groups_vary": "torch-zero and torch-fsdp judge the optimizers",
    },
    "without": [
        {
            "pp": 3,
            "micro_batches": 2,
            "why": "1F1B needs at least as many micro-batches as stages",
        },
        {"zero": 1, "dp": 1, "why": "torchtitan shards a stage only over several ranks"},
        {"zero": 0, "dp": 2, "why": "over several ranks, torchtitan shards each stage by FSDP2"},
    ],
    "options": {"schedule": ["1F1B", "Interleaved1F1B"]},
}


def results(case, modules, mine):
    """Adds parameters, which the sharded modules gather."""
    for module in modules:
        linear = module.linear
        if case["zero"]:
            module.unshard()
        mine["parameters"].update(linear.parameters_by_name())
        if case["zero"]:
            module.reshard()


def owned(me, modules, value):
    """value(parameter) of each parameter that has one: this rank's part."""
    if not me.case["zero"]:
        return shown(me, modules, value)
    found = {}
    for module in modules:
        found.update(runs(module.linear, value))
    return found


def main(me):
    case, t = me.case, me.case["topology"]
    me.environment("zeroproof")
    mesh = init_device_mesh("cpu", (t["pp"], t["dp"]), mesh_dim_names=("pp", "dp"))
    turn = {"step": 0}
    schedule, modules = build(
        me,
        turn,
        mesh["pp"].get_group(),
        lambda module: fully_shard(module, mesh=mesh["dp"]) if case["zero"] else module,
    )
    optim = optimizer_of(case, groups_of(modules))
    for step in range(case["steps"]):
        me.begin(step)
        run_schedule(me, turn, schedule, modules, step)
        mine = {"gradients": owned(me, modules, lambda w: w.grad), "norm": None, "parameters": {}}
        mine["loss"] = me.position.noted()
        if case["clip"]:
            norm = clip_grad_norm_(
                [w for module in modules for w in module.parameters()],
                case["clip"]["max_norm"],
                foreach=True,
                pp_mesh=mesh["pp"],
            )
            mine["norm"] = float(norm).hex()
        set_rates(case, optim, step)
        optim.step()
        optim.zero_grad()
        if case["zero"]:
            mine["masters"] = owned(me, modules, lambda w: w)
        mine.update(moments(optim, lambda value: owned(me, modules, value)))
        with me.recorder.pause():
            results(case, modules, mine)
        me.steps.append(mine)


if __name__ == "__main__":
    serve(HELLO, main)
