"""Hugging Face Accelerate on CPU with gloo: Accelerator.prepare, accumulate, backward and
clip_grad_norm_. ZeRO 0 is its DDP, ZeRO 1 and 2 its FSDP2, which reduces once per step, or with
sync_each_batch after each micro-batch. Replicas are dp_replicate_size of its ParallelismConfig.

Accelerate uses DDP on a CPU even if it gets an fsdp_plugin: state.py:986 reads the plugin only for
the types of accelerators, without an error. So for FSDP2 the type of the process's PartialState is
set to MULTI_GPU; its device stays the CPU. Nothing else is replaced.

Not covered: fp16, which Accelerate ignores on a CPU (accelerator.py:564); DDP in bf16, because
autocast keeps fp32 parameters, and such a loss has no autocast operation; several backward calls
per micro-batch, because accumulate() marks whole micro-batches; unused parameters, with which DDP
and FSDP2 fail by themselves (subjects torch-zero and torch-fsdp)."""

import os

import accelerate
import torch
import torch._dynamo  # noqa: F401  (else DDP imports it in every child)
from accelerate import (
    Accelerator,
    DistributedDataParallelKwargs,
    FullyShardedDataParallelPlugin,
    ParallelismConfig,
)
from accelerate.state import DistributedType, PartialState
from accelerate.utils import GradientAccumulationPlugin
from ddp_adapter import gradients, whole
from fsdp_adapter import runs
from torch.distributed.tensor import DTensor
from torch_adapter import (
    DTYPES,
    MORE_RANKS,
    NO_PARALLELISM,
    ONE_STAGE,
    ONE_STATE,
    Linear,
    moments,
    optimizer_of,
    serve,
    set_rates,
)

HELLO = {
    "protocol": 1,
    "name": "Accelerate",
    "version": accelerate.__version__,
    "level": 2,
    "returns": [
        *("norm", "loss", "parameters", "gradients", "masters", "moments1", "moments2", "ledger"),
    ],
    "supports": {
        "zero": [0, 1, 2],
        "dp": [1, 2, 3, 4],
        "micro_batches": [1, 2, 3, 4],
        "steps": [1, 2, 3, 4],
        "precision": ["fp32", "bf16"],
        "optimizer": ["sgd", "momentum", "adamw"],
        "clip": ["off", "loose", "binding"],
        "groups": [1, 2, 3],
        "sizes": ["plain", "tiny", "odd", "large", "empty"],
        "bucket": ["large", "small"],
        "frozen": ["no", "yes"],
        "tied": ["no", "stage"],
        "rates": ["constant", "changing"],
        "magnitude": ["plain", "huge", "minute"],
        "replicas": [1, 2],
        "groups_vary": ["no", "rank", "step"],
        "reload": ["no", "same", "zero", "dp"],
    },
    "world": 4,
    "lacks": {
        **ONE_STAGE,
        **NO_PARALLELISM,
        "dp": MORE_RANKS,
        "precision": {"fp16": "Accelerate ignores fp16 on a CPU"},
        "accumulate": "gradients are accumulated in the parameters' precision",
        "communicate": "gradients are reduced in the parameters' precision",
        "dtypes": "its plugin has one mixed_precision_policy for all modules (fsdp_utils.py:779)",
        **{axis: "GradScaler is for fp16" for axis in ("scale", "overflow", "skipped")},
        "unused": "DDP and FSDP2 fail by themselves (torch-zero, torch-fsdp)",
        "frozen": {"tied": "torch-zero and torch-fsdp judge tied parameters that are frozen"},
        "backwards": "accumulate() marks whole micro-batches",
        "start": "DDP broadcasts, FSDP2 does not: torch-zero and torch-fsdp judge it",
    },
    "without": [
        {
            "zero": 0,
            "precision": "bf16",
            "why": "in DDP autocast keeps fp32 parameters; this loss has no operation of it",
        },
        {
            "zero": [1, 2],
            "sizes": "empty",
            "why": "FSDP2 raises an error by itself (pytorch-fsdp-empty-parameter)",
        },
        {"zero": [1, 2], "bucket": "small", "why": "FSDP2 has no buckets"},
        ONE_STATE,
        {"replicas": 2, "dp": 2, "why": "Accelerate shards over at least two ranks"},
        {"zero": 0, "option reshard_after_forward": True, "why": "an option of FSDP2"},
        {"zero": 0, "option cpu_ram_efficient_loading": True, "why": "an option of FSDP2"},
        {
            "zero": [1, 2],
            "option sync_each_batch": True,
            "why": "in FSDP2, the axis zero decides it: ZeRO-2 reduces after each micro-batch",
        },
        {
            "zero": 0,
            "reload": "zero",
            "why": "load_state reads DDP's and FSDP2's files each from a run of the same kind",
        },
        {
            "dp": 3,
            "option sync_each_batch": True,
            "why": "DDP divides the mean of the earlier micro-batches by 3 again, which rounds",
        },
    ],
    "options": {
        "reshard_after_forward": [False, True],
        "cpu_ram_efficient_loading": [False, True],
        "sync_each_batch": [False, True],
    },
}


def parallelism(case):
    """HSDP; without replicas, Accelerate decides by itself."""
    replicas = case["replicas"]
    if replicas == 1:
        return None
    return ParallelismConfig(dp_replicate_size=replicas, dp_shard_size=case["world"] // replicas)


def accelerator_of(me):
    case, sharded = me.case, me.case["zero"] > 0
    PartialState(cpu=True)
    if sharded:
        PartialState._shared_state["distributed_type"] = DistributedType.MULTI_GPU
    return Accelerator(
        cpu=True,
        parallelism_config=parallelism(case),
        mixed_precision="bf16" if case["precision"] == "bf16" else "no",
        gradient_accumulation_plugin=GradientAccumulationPlugin(
            num_steps=case["micro_batches"],
            sync_with_dataloader=False,
            sync_each_batch=case["zero"] == 2 or case["options"]["sync_each_batch"],
        ),
        fsdp_plugin=FullyShardedDataParallelPlugin(
            fsdp_version=2,
            reshard_after_forward=case["options"]["reshard_after_forward"],
            cpu_ram_efficient_loading=case["options"]["cpu_ram_efficient_loading"],
        )
        if sharded
        else None,
        kwargs_handlers=[
            DistributedDataParallelKwargs(
                bucket_cap_mb=case["bucket"] * DTYPES[case["precision"]].itemsize / 2**20,
                find_unused_parameters=True,
            )
        ],
    )


def one_step(me, linear, accelerator, model, optim, step):
    case, mine = me.case, {"norm": None}
    set_rates(case, optim, step)
    for m in range(case["micro_batches"]):
        with accelerator.accumulate(model):
            accelerator.backward(model(step, m))
            if accelerator.sync_gradients:
                mine["gradients"] = (
                    runs(linear, lambda w: w.grad) if case["zero"] else gradients(linear)
                )
                if case["clip"]:
                    norm = accelerator.clip_grad_norm_(model.parameters(), case["clip"]["max_norm"])
                    norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
                    mine["norm"] = float(norm).hex()
            optim.step()
            optim.zero_grad()
            if accelerator.sync_gradients:
                linear.zero_grad()  # an optimizer clears the gradients of its own groups alone
    mine["loss"] = me.position.noted()
    me.steps.append({**mine, **state(me, linear, linear, optim)})


def state(me, linear, root, optim):
    """What the rank holds; root: the module that FSDP2 shards."""
    if not me.case["zero"]:
        held = moments(optim, lambda value: whole(linear, value))
        return {**held, "parameters": linear.parameters_by_name()}
    held = moments(optim, lambda value: runs(linear, value))
    held["masters"] = runs(linear, lambda w: w)
    with me.recorder.pause():
        root.unshard()
        held["parameters"] = linear.parameters_by_name()
        root.reshard()
    return held


def main(me):
    case = me.case
    with me.recorder.pause():
        me.environment("zeroproof")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "1")  # the process group exists
    accelerator = accelerator_of(me)
    linear = Linear(me.position)
    model, optim = accelerator.prepare(linear, optimizer_of(case, linear.groups()))
    if me.load:
        accelerator.load_state(me.load)
        me.steps[-1] = state(me, linear, linear, optim)
    for step in me.todo():
        linear.add_groups(optim, step)
        me.begin(step)
        one_step(me, linear, accelerator, model, optim, step)
    if me.save:
        accelerator.save_state(me.save)


if __name__ == "__main__":
    serve(HELLO, main)
