"""fairscale's OSS on CPU with gloo: under PyTorch's DDP (ZeRO 1), and under fairscale's
ShardedDataParallel, which reduces each gradient to its owner (ZeRO 2). Masters and reduced
gradients are those of the parameters that OSS gives to the rank; OSS computes the norm.

Not covered: bf16 and fp16, because OSS shards torch.optim, which has no fp32 masters; unused
parameters, because ShardedDataParallel reduces in the hooks of used ones, which do not run on other
ranks."""

import contextlib

import fairscale
import torch
import torch._dynamo  # noqa: F401  (else DDP imports it in every child)
from ddp_adapter import shard_group
from fairscale.nn.data_parallel import ShardedDataParallel
from fairscale.optim.oss import OSS
from torch_adapter import (
    LOOP_SCALES,
    MORE_RANKS,
    NO_PARALLELISM,
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
    "name": "fairscale OSS",
    "version": fairscale.__version__,
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
        "zero": [1, 2],
        "dp": [1, 2, 3, 4],
        "micro_batches": [1, 2, 3, 4],
        "steps": [1, 2, 3, 4],
        "optimizer": ["sgd", "momentum", "adamw"],
        "clip": ["off", "loose", "binding"],
        "magnitude": ["plain", "huge", "minute"],
        "groups": [1, 2, 3],
        "sizes": ["plain", "tiny", "odd", "large", "empty"],
        "bucket": ["large", "small"],
        "frozen": ["no", "yes"],
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
        **ONE_STAGE,
        **NO_PARALLELISM,
        **LOOP_SCALES,
        "zero": "OSS always shards the optimizer state",
        "dp": MORE_RANKS,
        "precision": "OSS shards torch.optim, which has no fp32 masters",
        "accumulate": "16-bit parameters are not supported",
        "communicate": "16-bit parameters are not supported",
        "dtypes": "16-bit parameters are not supported",
        "unused": "other ranks reduce in the hooks of parameters that they use",
        "frozen": {"tied": "a frozen tied parameter has no gradient, as any frozen one"},
    },
    "without": [
        ONE_STATE,
        {
            "clip": ["loose", "binding"],
            "groups_vary": "step",
            "why": "OSS computes the norm of the parameters in its groups",
        },
        {
            "zero": 2,
            "groups_vary": "step",
            "why": "ShardedDataParallel reduces to the owners that OSS has when it is made",
        },
        {"zero": 1, "option buckets": False, "why": "an option of ShardedDataParallel"},
        {"zero": 2, "replicas": 2, "why": "ShardedDataParallel reduces to the owner in one group"},
    ],
    "options": {"buckets": [True, False]},
}


def owned(me, linear, optim, value):
    """The whole parameters of this rank."""
    found = {}
    for j in linear.entries:
        w = linear.of(j)
        mine = w.requires_grad and optim._param_to_rank.get(w) == optim.rank
        if mine and value(w) is not None:
            found[me.case["parameters"][j]["name"]] = [[0, hexes(value(w))]]
    return found


def build(me, linear):
    case, groups = me.case, linear.groups()
    kind = type(optimizer_of(case, groups))
    optim = OSS(groups, optim=kind, lr=1.0, group=shard_group(case))
    if case["zero"] == 2:
        size = case["bucket"] if case["options"]["buckets"] else 0
        return optim, ShardedDataParallel(linear, optim, reduce_buffer_size=size)
    return optim, torch.nn.parallel.DistributedDataParallel(
        linear, bucket_cap_mb=case["bucket"] * 4 / 2**20
    )


def one_step(me, linear, ddp, optim, step):
    case = me.case
    for m, term, last in backwards(case):
        with contextlib.nullcontext() if last else ddp.no_sync():
            (ddp(step, m, term) / case["micro_batches"]).backward()
    mine = {"gradients": owned(me, linear, optim, lambda w: w.grad), "norm": None}
    mine["loss"] = me.position.noted()
    set_rates(me.case, optim, step)
    if case["clip"]:
        mine["norm"] = float(optim.clip_grad_norm(case["clip"]["max_norm"])).hex()
    optim.step()
    ddp.zero_grad()
    me.steps.append({**mine, **state(me, linear, optim)})


def state(me, linear, optim):
    """What the rank holds."""
    return {
        "masters": owned(me, linear, optim, lambda w: w),
        "parameters": linear.parameters_by_name(),
        **moments(optim.optim, lambda value: owned(me, linear, optim, value)),
    }


def main(me):
    with me.recorder.pause():
        me.environment("zeroproof")
    linear = Linear(me.position)
    optim, ddp = build(me, linear)
    if me.load:
        optim.load_state_dict(load_whole(me, linear))
        me.steps[-1] = state(me, linear, optim)
    for step in me.todo():
        linear.add_groups(optim, step)
        me.begin(step)
        one_step(me, linear, ddp, optim, step)
    if me.save:
        optim.consolidate_state_dict(recipient_rank=0)
        save_whole(me, linear, None if me.rank else optim.state_dict())


if __name__ == "__main__":
    serve(HELLO, main)
