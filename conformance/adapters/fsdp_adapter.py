"""PyTorch's FSDP2 (fully_shard) in the modes that correspond to ZeRO 1 and 2, on CPU with gloo.

Parameters stay unsharded from the end of a step (unshard) to the last backward. ZeRO 1 accumulates
whole gradients and reduces once (set_requires_gradient_sync); ZeRO 2 reduces each micro-batch.
Replicas are HSDP, a mesh (replicate, shard); with the option all_reduce_last, only the last
micro-batch is reduced over the replicas (set_requires_all_reduce). The
sharded fp32 parameters are the masters, and the parameters gathered by unshard() are the
parameters. fp16 uses torch.amp's GradScaler, whose scale the adapter sets in each step, because its
growth rule differs from the case's; so the scale is not reported."""

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
from torch_adapter import (
    DTYPES,
    MEGATRON_ONLY,
    MORE_RANKS,
    ONE_STAGE,
    ONE_STATE,
    Linear,
    backwards,
    hexes,
    moments,
    optimizer_of,
    serve,
    set_rates,
)

HELLO = {
    "protocol": 1,
    "name": "PyTorch FSDP2",
    "version": torch.__version__.split("+", maxsplit=1)[0],
    "level": 2,
    "returns": [
        *("norm", "skipped", "loss", "parameters", "gradients", "masters", "moments1", "moments2"),
        "ledger",
    ],
    "supports": {
        "zero": [1, 2],
        "dp": [1, 2, 3, 4],
        "micro_batches": [1, 2, 3, 4],
        "steps": [1, 2, 3, 4],
        "precision": ["fp32", "bf16", "fp16"],
        "dtypes": ["same", "mixed"],
        "accumulate": ["same", "fp32"],
        "communicate": ["same", "fp32"],
        "scale": ["one", "unit", "static"],
        "overflow": ["no", "yes", "sum"],
        "optimizer": ["sgd", "momentum", "adamw"],
        "clip": ["off", "loose", "binding"],
        "magnitude": ["plain", "huge", "minute"],
        "groups": [1, 2, 3],
        "sizes": ["plain", "tiny", "odd", "large", "empty"],
        "unused": ["no", "some", "often", "onesided"],
        "frozen": ["no", "yes", "tied"],
        "tied": ["no", "stage"],
        "backwards": [1, 2],
        "rates": ["constant", "changing"],
        "replicas": [1, 2],
        "groups_vary": ["no", "rank", "step"],
        "reload": ["no", "same", "zero", "dp"],
    },
    "world": 4,
    "lacks": {
        **MEGATRON_ONLY,
        **ONE_STAGE,
        "zero": "fully_shard always shards the optimizer state",
        "dp": MORE_RANKS,
        "tp": "the adapter has no tensor-parallel modules",
        "ep": "fully_shard has no experts",
        "scale": {"dynamic": "the adapter keeps GradScaler's scale fixed: its rule is another"},
        "bucket": "it has no buckets: a module is reduced at once",
        "start": "fully_shard shards each rank's own values: the caller makes them equal",
    },
    "without": [
        {
            "precision": ["fp32", "bf16"],
            "scale": ["unit", "static"],
            "why": "GradScaler is for fp16",
        },
        {"precision": "fp16", "scale": "one", "why": "fp16 is trained with GradScaler"},
        {
            "overflow": ["yes", "sum"],
            "scale": "one",
            "why": "only GradScaler skips steps",
        },
        {
            "unused": ["some", "often", "onesided"],
            "option reduce_scatter_unused": False,
            "why": "FSDP2 refuses parameters that are unused on some ranks without this option",
        },
        {
            "replicas": 1,
            "option all_reduce_last": True,
            "why": "only HSDP reduces over replicas",
        },
        {
            "precision": "fp16",
            "groups_vary": "step",
            "why": "GradScaler unscales the gradients of the optimizer's groups alone",
        },
        ONE_STATE,
        {
            "zero": 1,
            "option all_reduce_last": True,
            "why": "it reduces the last micro-batch only, over all ranks",
        },
    ],
    "options": {
        "reshard_after_forward": [False, True],
        "reduce_scatter_unused": [True, False],
        "all_reduce_last": [False, True],
    },
}


class WithNorms(Linear):
    """Its fp32 parameters are in a module of their own, as those of a model's norms are."""

    def __init__(self, position):
        entries = range(len(position.case["parameters"]))
        self.fp32 = {j for j in entries if position.case["parameters"][j].get("fp32")}
        super().__init__(position, set(entries) - self.fp32)
        self.norms, self.entries = Linear(position, self.fp32), list(entries)

    def of(self, j):
        return self.norms.of(j) if j in self.fp32 else super().of(j)

    def used(self, step, m, term=0):
        return [one for one in super().used(step, m, term) if one[0] not in self.fp32]

    def forward(self, step, m, term=0):
        return super().forward(step, m, term) + self.norms(step, m, term)


def wrapped(model):
    """The modules that fully_shard has wrapped."""
    return [m for m in model.modules() if isinstance(m, FSDPModule)]


def reshard(model):
    for m in wrapped(model):
        m.reshard()


def runs(model, value):
    """The runs of each parameter in this rank's shards; value: parameter -> DTensor or None."""
    found = {}
    for j in model.entries:
        w = model.of(j)
        shard = value(w) if w.requires_grad else None
        if isinstance(shard, DTensor):
            _, offset = compute_local_shape_and_global_offset(
                shard.shape, shard.device_mesh, shard.placements
            )
            found[model.position.case["parameters"][j]["name"]] = [
                [offset[0], hexes(shard.to_local())]
            ]
    return found


def one_step(me, model, optim, scaler, step):
    case, times = me.case, me.case["micro_batches"]
    for m, term, last in backwards(case):
        model.set_is_last_backward(last)
        model.set_reshard_after_backward(last)
        model.set_requires_gradient_sync(last or case["zero"] == 2)
        model.set_requires_all_reduce(last or not case["options"]["all_reduce_last"])
        scaler.scale(model(step, m, term) / times).backward()
    reshard(model)
    if scaler.is_enabled():
        scaler.unscale_(optim)
    mine = {"gradients": runs(model, lambda w: w.grad), "norm": None}
    mine["loss"] = me.position.noted()
    if case["clip"]:
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), case["clip"]["max_norm"])
        mine["norm"] = float(norm.full_tensor() if isinstance(norm, DTensor) else norm).hex()
    stepped = []
    set_rates(case, optim, step)
    seen = optim.register_step_post_hook(lambda *_: stepped.append(True))
    scaler.step(optim)
    seen.remove()
    scaler.update(case["scale"]["first"])  # keeps the scale fixed
    model.zero_grad()  # an optimizer clears the gradients of its own groups alone
    mine["skipped"] = not stepped
    me.steps.append({**mine, **state(model, optim)})


def state(model, optim):
    """What the rank holds; the parameters are gathered for the next forward."""
    found = {"masters": runs(model, lambda w: w)}
    found.update(moments(optim, lambda value: runs(model, value)))
    for m in wrapped(model):
        m.unshard()
    return {**found, "parameters": model.parameters_by_name()}


def save(me, model, optim):
    reshard(model)
    mine, others = get_state_dict(model, optim)
    dcp.save({"model": mine, "optimizer": others}, checkpoint_id=me.save)


def load(me, model, optim):
    mine, others = get_state_dict(model, optim)
    dcp.load({"model": mine, "optimizer": others}, checkpoint_id=me.load)
    set_state_dict(model, optim, model_state_dict=mine, optim_state_dict=others)
    me.steps[-1] = state(model, optim)


def mesh_of(case):
    """One dimension, or (replicate, shard)."""
    dp, replicas = case["topology"]["dp"], case["replicas"]
    if replicas == 1:
        return init_device_mesh("cpu", (dp,))
    shape = (replicas, dp // replicas)
    return init_device_mesh("cpu", shape, mesh_dim_names=("replicate", "shard"))


def mixed(case):
    return any(entry.get("fp32") for entry in case["parameters"])


def shard(case, module, mesh, precision, reduce):
    policy = MixedPrecisionPolicy(
        param_dtype=DTYPES[precision], reduce_dtype=DTYPES[reduce], cast_forward_inputs=False
    )
    fully_shard(
        module,
        mesh=mesh,
        mp_policy=policy,
        reshard_after_forward=case["options"]["reshard_after_forward"],
    )


def main(me):
    case = me.case
    me.environment("zeroproof")
    model = WithNorms(me.position) if mixed(case) else Linear(me.position)
    mesh = mesh_of(case)
    if mixed(case):
        shard(case, model.norms, mesh, "fp32", "fp32")
    reduce = case["communicate"] if case["precision"] != "fp32" else "fp32"
    shard(case, model, mesh, case["precision"], reduce)
    model.set_reduce_scatter_unused_params(case["options"]["reduce_scatter_unused"])
    optim = optimizer_of(case, model.groups())
    scaler = torch.amp.GradScaler(
        "cpu", init_scale=case["scale"]["first"], enabled=case["precision"] == "fp16"
    )
    if me.load:
        load(me, model, optim)
    for step in me.todo():
        model.add_groups(optim, step, lambda: reshard(model))  # sharded parameters
        me.begin(step)
        one_step(me, model, optim, scaler, step)
    if me.save:
        save(me, model, optim)


if __name__ == "__main__":
    serve(HELLO, main)
