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
from fairscale.nn.data_parallel import ShardedDataParallel
from fairscale.optim.oss import OSS
from torch_adapter import Linear, backwards, hexes, optimizer_of, serve

HELLO = {
    "protocol": 1,
    "name": "fairscale OSS",
    "version": fairscale.__version__,
    "level": 2,
    "returns": ["norm", "parameters", "gradients", "masters", "ledger"],
    "supports": {
        "zero": [1, 2],
        "dp": [1, 2, 3, 4],
        "micro_batches": [1, 2, 3, 4],
        "steps": [1, 2, 3, 4],
        "optimizer": ["sgd", "momentum", "adamw"],
        "clip": ["off", "loose", "binding"],
        "groups": [1, 2, 3],
        "sizes": ["plain", "tiny", "odd", "large", "empty"],
        "bucket": ["large", "small"],
        "frozen": ["no", "yes"],
        "tied": ["no", "stage"],
        "backwards": [1, 2],
    },
    "world": 4,
    "lacks": {
        "*": "a best-effort subject of 'make conformance-a"
        "ll'; its adapter has the axes of its first version",
    },
    "without": [
        {"zero": 1, "option buckets": False, "why": "an option of ShardedDataParallel"},
    ],
    "options": {"buckets": [True, False]},
}


def owned(me, linear, optim, value):
    """The whole parameters of this rank."""
    found = {}
    for j in linear.entries:
        w = linear.w[linear.key(j)]
        if w.requires_grad and optim._param_to_rank[w] == me.rank and value(w) is not None:
            found[me.case["parameters"][j]["name"]] = [[0, hexes(value(w))]]
    return found


def build(me, linear):
    case, groups = me.case, linear.groups()
    kind = type(optimizer_of(case, groups))
    optim = OSS(groups, optim=kind, lr=1.0)
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
    if case["clip"]:
        mine["norm"] = float(optim.clip_grad_norm(case["clip"]["max_norm"])).hex()
    optim.step()
    ddp.zero_grad()
    mine["masters"] = owned(me, linear, optim, lambda w: w)
    mine["parameters"] = linear.parameters_by_name()
    me.steps.append(mine)


def main(me):
    with me.recorder.pause():
        me.environment("zeroproof")
    linear = Linear(me.position)
    optim, ddp = build(me, linear)
    for step in range(me.case["steps"]):
        me.begin(step)
        one_step(me, linear, ddp, optim, step)


if __name__ == "__main__":
    serve(HELLO, main)
