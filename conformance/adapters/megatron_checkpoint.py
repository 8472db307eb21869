"""Checkpoints of Megatron-Core with ZeRO 0, as its training/checkpointing.py saves and loads them.

The format "torch" is one file per pipeline stage, tensor-parallel and expert-parallel rank, which
one of its data-parallel ranks writes. "torch_dist" is dist_checkpointing, for which the model
describes how its parameters are sharded. It starts a process for the queue of asynchronous saves,
which takes seconds; these saves are synchronous, so a queue within the rank replaces it."""

import os
import queue

import torch
from megatron.core import dist_checkpointing, parallel_state
from megatron.core.dist_checkpointing.strategies import filesystem_async
from megatron.core.transformer.utils import make_sharded_tensors_for_checkpoint

filesystem_async._results_queue = queue.Queue()

# by_optimizer: torch_dist for Adam, torch for SGD, which torch_dist cannot load
OPTIONS = {"checkpoint_format": ["by_optimizer", "torch", "torch_dist"]}
WITHOUT = [
    {
        "zero": 1,
        "reload": ["same", "dp"],
        "why": "it cannot be loaded unless Transformer Engine or Apex is installed, which need a "
        "GPU: torch_dist asserts that Adam has counted a step (optimizer/distrib_optimizer.py:839, "
        "in 0.16.1 :642); torch expects the step in a file that lacks it (:1223, in 0.16.1 :940)",
    },
    {
        "reload": "no",
        "option checkpoint_format": ["torch", "torch_dist"],
        "why": "an option of checkpoints",
    },
    *(
        {
            "option checkpoint_format": "torch_dist",
            **more,
            "why": "SGD cannot be loaded (known/), which plain cases show",
        }
        for more in ({"optimizer": "momentum"}, {"optimizer": "sgd", "precision": ["bf16", "fp16"]})
    ),
]


def sharded_state_dict(stage):
    """How a stage's parameters are sharded, as the layers of Megatron describe theirs: experts have
    a leading axis, over the expert-parallel ranks (SequentialMLP)."""
    found = {}
    for name, w in stage.state_dict(keep_vars=True).items():
        if getattr(w, "allreduce", True):
            tp = parallel_state.get_tensor_model_parallel_group()
            dp, offsets = parallel_state.get_data_parallel_group(with_context_parallel=True), ()
        else:
            tp = parallel_state.get_expert_tensor_parallel_group()
            dp, ep = (
                parallel_state.get_expert_data_parallel_group(),
                parallel_state.get_expert_model_parallel_group(),
            )
            offsets = ((0, ep.rank(), ep.size()),)
        axes = {name: 0} if getattr(w, "tensor_model_parallel", False) else {}
        made = make_sharded_tensors_for_checkpoint(
            {name: w}, "", axes, offsets, tp_group=tp, dp_cp_group=dp
        )
        if getattr(w, "shared_embedding", False) and not stage.pre_process:
            made[name].replica_id = (1, *made[name].replica_id[1:])  # the first stage's is saved
        found.update(made)
    return found


def parts(model):
    """Key in the checkpoint -> stage."""
    return {"model" if len(model) == 1 else f"model{i}": m.module for i, m in enumerate(model)}


def whole(model, optim, loading):
    """What dist_checkpointing saves, or loads into."""
    metadata = {
        "singleton_local_shards": False,
        "chained_optim_avoid_prefix": True,
        "dp_cp_group": parallel_state.get_data_parallel_group(with_context_parallel=True),
    }
    state = {key: sharded_state_dict(stage) for key, stage in parts(model).items()}
    if not optim.is_stub_optimizer:
        state["optimizer"] = optim.sharded_state_dict(state, is_loading=loading, metadata=metadata)
    return state


def file_of(folder):
    """The file of the format "torch" with the state of this rank."""
    tp = parallel_state.get_tensor_model_parallel_rank()
    pp = parallel_state.get_pipeline_model_parallel_rank()
    ep = parallel_state.get_expert_model_parallel_rank()
    return os.path.join(folder, f"mp_rank_{tp:02d}_{pp:03d}_{ep:03d}.pt")


def sharded(case):
    """True for torch_dist, False for torch."""
    form = case["options"]["checkpoint_format"]
    adam = case["groups"][0]["optimizer"] == "adamw"
    return adam if form == "by_optimizer" else form == "torch_dist"


def save(me, model, optim):
    if sharded(me.case):
        dist_checkpointing.save(whole(model, optim, loading=False), me.save)
    elif parallel_state.get_expert_data_parallel_rank() == 0:
        state = {key: stage.state_dict() for key, stage in parts(model).items()}
        if not optim.is_stub_optimizer:
            state["optimizer"] = optim.state_dict()
        torch.save(state, file_of(me.save))


def load(me, model, optim):
    if sharded(me.case):
        state = dist_checkpointing.load(whole(model, optim, loading=True), me.load)
    else:
        state = torch.load(file_of(me.load), weights_only=False)
    for key, stage in parts(model).items():
        stage.load_state_dict(state.get(key, {}))  # a stage may have no parameters
    if not optim.is_stub_optimizer:
        optim.load_state_dict(state["optimizer"])
