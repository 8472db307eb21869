"""Megatron-FSDP on CPU with gloo: fully_shard_model with the strategies no_shard, optim and
optim_grads (ZeRO 0, 1 and 2), and fully_shard_optimizer. Replicas are HSDP, a mesh with the
dimension dp_outer.

It expects CUDA: see cuda_on_cpu.py. Without the option fully_shard_optimizer the adapter calls what
the wrapped step and zero_grad call.

Not covered: clipping, because it has none, and torch's clip_grad_norm_ enters collectives of
different sizes (a rank whose shard is empty has no gradient, param_and_grad_buffer.py:3393); fp16,
because it has no loss scale; unused parameters, because ranks that use different ones reduce in the
order in which their hooks run, and hang (megatron_fsdp.py:765); experts, and ZeRO 3."""

import torch
import torch._dynamo  # noqa: F401  (imported here, or every child would import it)
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from cuda_on_cpu import OnCpu, Weight
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch_adapter import (
    LOOP_SCALES,
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

torch.cuda.current_device = lambda: 0

from megatron_fsdp import (  # noqa: E402
    MixedPrecisionPolicy,
    fully_shard_model,
    fully_shard_optimizer,
)
from megatron_fsdp.package_info import __version__ as version  # noqa: E402

# An option that is wrong for itself is not combined with these.
WRONG = (
    {"precision": "bf16"},
    {"optimizer": ["momentum", "adamw"]},
    {"groups": [2, 3]},
    {"sizes": ["odd", "large", "empty"]},
    {"tied": "stage"},
)
ALONE = "the option fails by itself, which plain cases show: other faults would not be visible"
HELLO = {
    "protocol": 1,
    "name": "Megatron-FSDP",
    "version": version,
    "level": 2,
    "returns": [
        *("loss", "parameters", "gradients", "masters", "moments1", "moments2", "ledger"),
    ],
    "supports": {
        "zero": [0, 1, 2],
        "dp": [1, 2, 3, 4],
        "micro_batches": [1, 2, 3, 4],
        "steps": [1, 2, 3, 4],
        "precision": ["fp32", "bf16"],
        "dtypes": ["same", "mixed"],
        "accumulate": ["same", "fp32"],
        "communicate": ["same", "fp32"],
        "optimizer": ["sgd", "momentum", "adamw"],
        "groups": [1, 2, 3],
        "sizes": ["plain", "tiny", "odd", "large", "empty"],
        "frozen": ["no", "yes"],
        "tied": ["no", "stage"],
        "rates": ["constant", "changing"],
        "replicas": [1, 2],
        "groups_vary": ["no", "rank", "step"],
        "reload": ["no", "same", "zero", "dp"],
    },
    "world": 4,
    "lacks": {
        **MEGATRON_ONLY,
        **ONE_STAGE,
        **LOOP_SCALES,
        "dp": MORE_RANKS,
        "tp": "tensor-parallel modules are Megatron's",
        "ep": "experts are Megatron's",
        "precision": {"fp16": "it has no loss scale"},
        "clip": "it has no clipping of its own",
        "norm": "it has no norm of its own",
        "magnitude": "without norm and loss scale, its arithmetic is that of other cases",
        "bucket": "buckets are made of whole modules",
        "unused": "ranks that use different parameters hang (megatron_fsdp.py:765)",
        "frozen": {"tied": "a frozen tied parameter has no gradient, as any frozen one"},
        "backwards": "set_model_auto_sync marks whole micro-batches",
        "start": "each rank shards its own values: the caller makes them equal",
    },
    "without": [
        *(
            {"option average_in_collective": True, **more, "why": ALONE}
            for more in (
                {"zero": [0, 1]},
                *WRONG,
                {"option overlap_param_gather": False},
                {"option overlap_grad_reduce": False},
                {"option fully_shard_optimizer": True},
            )
        ),
        *(
            {"option overlap_grad_reduce": False, **more, "why": ALONE}
            for more in (*WRONG, {"option fully_shard_optimizer": True})
        ),
        {"option fully_shard_optimizer": True, "precision": "bf16", "why": ALONE},
        {"option fully_shard_optimizer": True, "tied": "stage", "why": ALONE},
        ONE_STATE,
        {
            "reload": ["same", "zero", "dp"],
            "optimizer": ["momentum", "adamw"],
            "why": "fully_shard_optimizer prepares moments for checkpoints, and fails by itself",
        },
        {
            "option overlap_grad_reduce": False,
            "zero": 0,
            "dp": 3,
            "why": "the mean is divided by 3 again, which rounds",
        },
        {
            "option overlap_grad_reduce": False,
            "zero": 2,
            "why": "Megatron-FSDP turns overlap_grad_reduce on",
        },
    ],
    "options": {
        "overlap_grad_reduce": [True, False],
        "overlap_param_gather": [True, False],
        "average_in_collective": [False, True],
        "fully_shard_optimizer": [False, True],
    },
}


class Model(torch.nn.Module):
    """Linear with a module for each weight."""

    def __init__(self, linear):
        super().__init__()
        self.linear = [linear]  # in a list, so that its parameters are not registered twice
        self.layers = torch.nn.ModuleDict({key: Weight(w) for key, w in linear.w.items()})

    def forward(self, step, m, term):
        linear, loss = self.linear[0], torch.zeros((), requires_grad=True) * 1.0
        # each layer runs, because the hooks of layers gather
        weights = {key: layer() for key, layer in self.layers.items()}
        for j, _, x in linear.used(step, m, term):
            loss = loss + (weights[linear.key(j)].float() * x).sum()
        linear.position.note(m, loss)
        return loss


def mesh_of(case):
    """The arguments for the mesh: (dp, tp), or (dp_outer, dp, tp) and the group of all ranks."""
    replicas, names = case["replicas"], ("dp_outer", "dp", "tp")
    if replicas == 1:
        return {
            "device_mesh": init_device_mesh("cpu", (case["world"], 1), mesh_dim_names=names[1:])
        }
    shape = (replicas, case["world"] // replicas, 1)
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
    group = mesh["dp_outer", "dp"]._flatten("hsdp").get_group()
    return {"device_mesh": mesh, "dp_outer_dim": "dp_outer", "hybrid_fsdp_group": group}


def wrap(case, model):
    fp32 = torch.float32
    options = {n: v for n, v in case["options"].items() if n != "fully_shard_optimizer"}
    ddp = fully_shard_model(
        model,
        **mesh_of(case),
        device=torch.device("cpu"),
        dp_shard_dim="dp",
        tp_dim="tp",
        zero_dp_strategy=case["zero"],
        fsdp_unit_modules=[Weight],
        mixed_precision_policy=MixedPrecisionPolicy(
            main_params_dtype=fp32,
            main_grads_dtype=fp32 if case["accumulate"] == "fp32" else None,
            grad_comm_dtype=fp32 if case["communicate"] == "fp32" else None,
        ),
        sync_model_each_microbatch=False,
        **options,
    )
    ddp.ddp_config.gradient_reduce_div_fusion = False  # it multiplies in NCCL
    return ddp


def masters_of(ddp):
    """name -> the parameters that the optimizer updates."""
    return dict(ddp.param_and_grad_buffer.optimizer_named_parameters)


def sharded(ddp, linear, groups):
    """Groups of Linear's parameters, with those that Megatron-FSDP puts in their place."""
    mine = masters_of(ddp)
    names = {id(w): f"layers.{key}.w" for key, w in linear.w.items()}
    return [{**g, "params": [mine[names[id(w)]] for w in g["params"]]} for g in groups]


def optimizer(me, ddp, linear):
    made = optimizer_of(me.case, sharded(ddp, linear, linear.groups()))
    return fully_shard_optimizer(made) if me.case["options"]["fully_shard_optimizer"] else made


def runs(me, ddp, linear, value):
    """The runs of this rank. Shards lie in the order of ranks, so a shard begins after the elements
    of the lower ranks of the same replica."""
    shards = {}
    for key in linear.w:
        found = value(masters_of(ddp)[f"layers.{key}.w"])
        if found is not None:
            shards[key] = found.to_local() if isinstance(found, DTensor) else found
    if not me.case["zero"]:
        offsets = dict.fromkeys(shards, 0)
    else:
        sizes = [None] * me.case["world"]
        with me.recorder.pause():
            dist.all_gather_object(sizes, {key: t.numel() for key, t in shards.items()})
        size = me.case["world"] // me.case["replicas"]
        lower = sizes[me.rank // size * size : me.rank]
        offsets = {key: sum(s.get(key, 0) for s in lower) for key in shards}
    return {
        entry["name"]: [[offsets[linear.key(j)], hexes(shards[linear.key(j)])]]
        for j, entry in enumerate(me.case["parameters"])
        if linear.key(j) in shards and not entry["frozen"]
    }


def one_step(me, ddp, optim, linear, step):
    case = me.case
    for m, term, last in backwards(case):
        ddp.set_model_auto_sync(last)
        (ddp(step, m, term) / case["micro_batches"]).backward()
    mine = {"gradients": runs(me, ddp, linear, lambda w: w.grad), "loss": me.position.noted()}
    set_rates(case, optim, step)
    optim.step()
    if not case["options"]["fully_shard_optimizer"]:  # with it, step and zero_grad do this
        ddp.install_optimized_model_weights()
        ddp.zero_grad_buffer()
    optim.zero_grad()
    me.steps.append({**mine, **state(me, ddp, optim, linear)})


def state(me, ddp, optim, linear):
    """What the rank holds; the parameters are gathered for the next forward."""
    found = {"masters": runs(me, ddp, linear, lambda w: w)}
    found.update(moments(optim, lambda value: runs(me, ddp, linear, value)))
    ddp.start_param_sync(force_sync=True)
    raw = {key: ddp.raw_param[f"layers.{key}.w"] for key in linear.w}
    found["parameters"] = {
        entry["name"]: hexes(raw[linear.key(j)]) for j, entry in enumerate(me.case["parameters"])
    }
    return found


def load(me, ddp, optim, linear):
    """As its documentation says: dcp.load fills the state, which model and optimizer take."""
    saved = {"model": ddp.state_dict(), "optimizer": optim.state_dict()}
    dcp.load(saved, checkpoint_id=me.load)
    ddp.load_state_dict(saved["model"], strict=False)
    optim.load_state_dict(saved["optimizer"])
    me.steps[-1] = state(me, ddp, optim, linear)


def main(me):
    case = me.case
    with me.recorder.pause():
        me.environment("zeroproof")
    linear = Linear(me.position).in_dtypes()
    with OnCpu():
        ddp = wrap(case, Model(linear))
        optim = optimizer(me, ddp, linear)
        if me.load:
            load(me, ddp, optim, linear)
        for step in me.todo():
            for group in sharded(ddp, linear, linear.groups_since([step] if step else [])):
                optim.add_param_group(group)
            me.begin(step)
            one_step(me, ddp, optim, linear, step)
        if me.save:
            saved = {"model": ddp.state_dict(), "optimizer": optim.state_dict()}
            dcp.save(saved, checkpoint_id=me.save)


if __name__ == "__main__":
    serve(HELLO, main)
