"""Adapter for Megatron-Core on CPU with gloo: DistributedDataParallel (ZeRO 0),
DistributedOptimizer (ZeRO 1) and its schedules (1F1B, interleaved, none on one stage), with
tensor-parallel and expert-parallel parameters.

Megatron expects CUDA: see cuda_on_cpu.py. Its own fallbacks for the kernels of Transformer Engine
and apex compute norm and scale.

Replicas are several instances of the distributed optimizer. Checkpoints: megatron_checkpoint.py.

Not covered because they need CUDA: nccl_ub, CUDA graphs, ring exchange. Not covered because
Megatron lacks them: ZeRO 2 (its FSDP is a separate program), tuples between stages, a second tied
key (position embeddings are reduced on one stage only), several SGD momenta. Its dynamic loss scale
grows by a different rule. Scaled gradients are available only multiplied by the scale, so they are
not returned."""

import torch
import torch._dynamo  # noqa: F401  (imported here, or every child would import it)
from cuda_on_cpu import OnCpu, Weight
from torch_adapter import (
    DTYPES,
    NO_BACKWARDS,
    Linear,
    serve,
    set_rates,
    stage_loss,
    stage_message,
)

torch.cuda.current_device = lambda: "cpu"

import megatron_checkpoint  # noqa: E402
import megatron_state  # noqa: E402
from megatron.core import parallel_state  # noqa: E402
from megatron.core.distributed import (  # noqa: E402
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.enums import ModelType  # noqa: E402
from megatron.core.optimizer import (  # noqa: E402
    OptimizerConfig,
    ParamKey,
    get_megatron_optimizer,
)
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler  # noqa: E402
from megatron.core.package_info import __version__ as version  # noqa: E402
from megatron.core.pipeline_parallel import get_forward_backward_func  # noqa: E402
from megatron.core.transformer import TransformerConfig  # noqa: E402

# options of DistributedDataParallelConfig and of the schedules
REDUCTION = {
    "overlap_grad_reduce": [False, True],
    "overlap_param_gather": [False, True],
    "average_in_collective": [False, True],
    "align_param_gather": [False, True],
}
SCHEDULE = {
    "virtual_stages": [1, 2],
    "align_grad_reduce": [False, True],
    "batch_p2p_comm": [True, False],
    "overlap_p2p_comm": [False, True],
    "deallocate_pipeline_outputs": [False, True],
}
HELLO = {
    "protocol": 1,
    "name": "Megatron-Core",
    "version": version,
    "level": 2,
    "returns": [
        *("norm", "skipped", "scale", "loss", "parameters", "gradients", "masters", "ledger"),
        *("moments1", "moments2"),
    ],
    "supports": {
        "zero": [0, 1],
        "dp": [1, 2, 3, 4],
        "pp": [1, 2, 3],
        "tp": [1, 2],
        "sequence": ["no", "yes"],
        "ep": [1, 2],
        "cp": [1, 2],
        "etp": ["tp", "one"],
        "micro_batches": [1, 2, 3, 4],
        "steps": [1, 2, 3, 4],
        "precision": ["fp32", "bf16", "fp16"],
        "dtypes": ["same", "mixed"],
        "accumulate": ["same", "fp32"],
        "communicate": ["same", "fp32"],
        "optimizer": ["sgd", "momentum", "adamw"],
        "scale": ["one", "unit", "static"],
        "overflow": ["no", "yes", "sum"],
        "clip": ["off", "loose", "binding"],
        "magnitude": ["plain", "huge", "minute"],
        "groups": [1, 2, 3],
        "stages_groups": ["equal", "unequal", "idle", "frozen", "replicas"],
        "sizes": ["plain", "tiny", "odd", "large", "empty"],
        "bucket": ["large", "small"],
        "unused": ["no", "some", "often", "onesided"],
        "frozen": ["no", "yes", "tied"],
        "tied": ["no", "stage", "stages"],
        "messages": ["tensor", "varying"],
        "rates": ["constant", "changing"],
        "start": ["same", "differ"],
        "replicas": [1, 2],
        "reload": ["no", "same", "dp"],
    },
    "world": 6,
    "lacks": {
        "reload": {"zero": "without the distributed optimizer, it cannot load what that saved"},
        "zero": {"2": "Megatron's FSDP is a separate program"},
        "dp": "more than six ranks of PyTorch take too long where the suite runs",
        "scale": {"dynamic": "DynamicGradScaler grows its scale by another rule than the case"},
        "tied": {"keys": "position embeddings are reduced on one stage only"},
        "messages": {
            "tuple": "its schedules send one tensor between stages",
            "dynamic": "its schedules send one tensor between stages",
        },
        "backwards": NO_BACKWARDS,
        "groups_vary": "get_megatron_optimizer makes the groups of the model's parameters, once",
    },
    "without": [
        *megatron_checkpoint.WITHOUT,
        {"zero": 1, "optimizer": ["sgd", "momentum"], "why": "Megatron asserts Adam"},
        {
            "precision": "fp32",
            "scale": ["unit", "static"],
            "why": "only an optimizer of 16-bit parameters has a loss scale",
        },
        {"precision": "fp16", "scale": "one", "why": "fp16 always has a loss scale"},
        {
            "overflow": ["yes", "sum"],
            "scale": "one",
            "why": "an optimizer without grad_scaler examines nothing",
        },
        {
            "accumulate": "fp32",
            "communicate": "same",
            "why": "grad_reduce_in_fp32 sets both",
        },
        {
            "unused": ["some", "often", "onesided"],
            "option overlap_grad_reduce": True,
            "why": "Megatron refuses it: a bucket waits for all of its gradients",
        },
        {
            "zero": 0,
            "option overlap_param_gather": True,
            "why": "it is an option of the distributed optimizer",
        },
        *(
            {f"option {needs}": value, f"option {name}": True, "why": why}
            for needs, value, name, why in (
                (
                    *("overlap_grad_reduce", False, "overlap_param_gather"),
                    "Megatron asserts overlap_grad_reduce for overlap_param_gather",
                ),
                (
                    *("overlap_grad_reduce", False, "align_grad_reduce"),
                    "only overlapped reductions are aligned",
                ),
                (
                    *("overlap_param_gather", False, "align_param_gather"),
                    "only overlapped gathers are aligned",
                ),
                (
                    *("batch_p2p_comm", True, "overlap_p2p_comm"),
                    "Megatron asserts that batched messages are not overlapped",
                ),
                (
                    *("virtual_stages", 1, "overlap_p2p_comm"),
                    "only the interleaved schedule overlaps messages",
                ),
            )
        ),
        *(
            {
                "pp": 2,
                "option virtual_stages": 2,
                "option overlap_p2p_comm": False,
                **more,
                "why": "interleaved over two stages, gradients are wrong (known/), which plain "
                "cases show; here every value would be wrong",
            }
            for more in (
                {"precision": ["bf16", "fp16"]},
                {"clip": ["loose", "binding"]},
                {"overflow": ["yes", "sum"]},
                {"magnitude": ["huge", "minute"]},
                {"unused": ["some", "often", "onesided"]},
                {"messages": "varying"},
                {"stages_groups": ["frozen", "replicas"]},
                {"rates": "changing"},
                {"start": "differ"},
            )
        ),
        *(
            {
                "option virtual_stages": 2,
                "pp": pp,
                "micro_batches": few,
                "why": "the interleaved schedule needs at least as many micro-batches as stages",
            }
            for pp, few in ((2, 1), (3, [1, 2]))
        ),
        *(
            {
                "pp": 1,
                f"option {name}": values[1],
                "why": "it is an option of pipeline schedules",
            }
            for name, values in SCHEDULE.items()
        ),
    ],
    "options": {**REDUCTION, **SCHEDULE, **megatron_checkpoint.OPTIONS},
}


# ---- The model -----------------------------------------------------------------------------------


class Stage(torch.nn.Module):
    """Pipeline stage v of n with the attributes that Megatron expects of a model, as in its
    GPTModel."""

    model_type = ModelType.encoder_or_decoder

    def __init__(self, position, linear, v, n):
        super().__init__()
        self.position, self.v, self.arrived = position, v, []
        self.linear = [linear]  # in a list, so that its parameters are not registered twice
        self.layers = torch.nn.ModuleDict({key: Weight(w) for key, w in linear.w.items()})
        self.pre_process, self.post_process = v == 0, v == n - 1
        entries = position.case["parameters"]
        self.share_embeddings_and_output_weights = any(
            e["tied"] is not None and e["stage"] for e in entries
        )
        for j in linear.entries:
            self.mark(linear.of(j), entries[j])

    def mark(self, w, entry):
        """Sets the attributes by which Megatron classifies parameters."""
        if entry["sharded"]:
            w.tensor_model_parallel, w.partition_dim, w.partition_stride = True, 0, 1
        elif self.position.case.get("sequence", False):
            w.sequence_parallel = True  # as the layers of Megatron mark it
        if entry["expert"] or (entry["sharded"] and self.position.case.get("etp") == "one"):
            w.allreduce = False
        if entry["tied"] is not None and self.share_embeddings_and_output_weights:
            w.shared_embedding, w.shared = True, self.post_process
        if not hasattr(w, "of_group"):  # a tied parameter belongs to the group of its first use
            w.of_group = True
            setattr(w, f"group{entry['group']}", True)

    def shared_embedding_or_output_weight(self):
        return self.layers["t0"].w if "t0" in self.layers else None

    def set_input_tensor(self, tensors):
        self.arrived = [t for t in tensors if t is not None]

    def forward(self, step, m):
        linear, g = self.linear[0], self.position.batch(m)
        used = [(j, self.layers[linear.key(j)](), x) for j, _, x in linear.used(step, m)]
        loss = stage_loss(self.arrived, g, used)
        self.position.note(m, loss)
        if self.post_process:
            return loss
        return stage_message(
            [{**t, "shape": shape(t)} for t in boundary(self.position.case, self.v)[g]], g, loss
        )[0]


def boundary(case, v):
    """The messages after stage v. With virtual stages all have one shape."""
    return case["messages"][0 if case["options"]["virtual_stages"] > 1 else v]


def shape(t):
    """The shape as Megatron exchanges it: (sequence, batch, hidden = 1)."""
    return t["shape"] + [1] * (3 - len(t["shape"]))


def shapes(position):
    """The schedule's arguments for the shapes that this stage receives and sends. The first and
    last stage repeat a neighbouring shape that is not used. The interleaved schedule supports one
    shape only."""
    of = [[shape(messages[0][0])] for messages in position.case["messages"]]
    one = {"seq_length": 1, "micro_batch_size": 1}
    if not of:
        return one
    if position.case["options"]["virtual_stages"] > 1:
        case = position.case  # the schedule divides the length among cp, and tp, ranks
        parts = case.get("cp", 1) * (case["topology"]["tp"] if case.get("sequence", False) else 1)
        return {"seq_length": of[0][0][0] * parts, "micro_batch_size": of[0][0][1]}
    return {
        **one,
        "adjust_tensor_shapes_fn": lambda *_: (
            of[max(position.pp - 1, 0)],
            of[min(position.pp, len(of) - 1)],
        ),
    }


def chunks(position):
    """This rank's stages. Entries are assigned in turn, except that entries tied over stages go to
    the first and the last stage."""
    case, each = position.case, position.case["options"]["virtual_stages"]
    mine = [j for j, e in enumerate(case["parameters"]) if e["stage"] == position.pp]
    dealt = [set() for _ in range(each)]
    for turn, j in enumerate(mine):
        tied = case["parameters"][j]["tied"] is not None
        dealt[(0 if position.pp == 0 else each - 1) if tied else turn % each].add(j)
    pp = case["topology"]["pp"]
    return [
        Stage(
            position,
            Linear(position, entries).in_dtypes(),
            i * pp + position.pp,
            each * pp,
        )
        for i, entries in enumerate(dealt)
    ]


# ---- Megatron's parts ----------------------------------------------------------------------------


def optimizer_config(case):
    group, scale, clip = case["groups"][0], case["scale"], case["clip"]
    more = (
        {"adam_beta1": group["betas"][0], "adam_beta2": group["betas"][1], "adam_eps": group["eps"]}
        if "betas" in group
        else {"sgd_momentum": group.get("momentum", 0.0)}
    )
    return OptimizerConfig(
        optimizer="adam" if "betas" in group else "sgd",
        lr=group["lr"],
        min_lr=0.0,
        weight_decay=group["weight_decay"],
        bf16=case["precision"] == "bf16",
        fp16=case["precision"] == "fp16",
        params_dtype=DTYPES[case["precision"]],
        loss_scale=scale["first"] if scale["explicit"] else None,
        clip_grad=clip["max_norm"] if clip else 0.0,
        use_distributed_optimizer=case["zero"] == 1,
        overlap_param_gather=case["options"]["overlap_param_gather"],
        **more,
    )


def optimizer(case, model):
    """The optimizer. Megatron's scheduler sets the learning rate and decay of each group."""
    overrides = {
        ParamKey(attr=f"group{n}"): {"max_lr": group["lr"], "wd_mult": group["weight_decay"]}
        for n, group in enumerate(case["groups"])
    }
    optim = get_megatron_optimizer(
        optimizer_config(case), model, overrides, use_gloo_process_groups=False
    )
    OptimizerParamScheduler(
        optim,
        init_lr=0.0,
        max_lr=max(group["lr"] for group in case["groups"]),
        min_lr=0.0,
        lr_warmup_steps=0,
        lr_decay_steps=1,
        lr_decay_style="constant",
        start_wd=1.0,
        end_wd=1.0,
        wd_incr_steps=0,
        wd_incr_style="constant",
    )
    return optim


def transformer_config(case):
    """The configuration of the schedule and of DistributedDataParallel; there is no transformer."""
    pp, micro_batches = case["topology"]["pp"], case["micro_batches"]
    virtual = (
        {
            "virtual_pipeline_model_parallel_size": case["options"]["virtual_stages"],
            "microbatch_group_size_per_vp_stage": micro_batches if micro_batches % pp else pp,
        }
        if case["options"]["virtual_stages"] > 1
        else {}
    )
    return TransformerConfig(
        num_layers=pp * case["options"]["virtual_stages"],
        hidden_size=1,
        num_attention_heads=case["topology"]["tp"],
        kv_channels=1,
        pipeline_model_parallel_size=pp,
        pipeline_dtype=DTYPES[case["precision"]],
        tensor_model_parallel_size=case["topology"]["tp"],
        sequence_parallel=case.get("sequence", False),
        context_parallel_size=case.get("cp", 1),
        variable_seq_lengths=case["dynamic_shapes"],
        moe_token_dispatcher_type="alltoall",  # the only one that allows varying shapes
        batch_p2p_sync=False,
        finalize_model_grads_func=finalize_model_grads,
        **virtual,
        **{
            n: case["options"][n]
            for n in ("batch_p2p_comm", "overlap_p2p_comm", "deallocate_pipeline_outputs")
        },
    )


def wrap(case, stages):
    """Wraps the stages in DistributedDataParallel and sets the schedule's hooks, as in Megatron's
    training.py."""
    config = transformer_config(case)
    model = [
        DistributedDataParallel(
            config,
            DistributedDataParallelConfig(
                grad_reduce_in_fp32=case["accumulate"] == "fp32" or case["communicate"] == "fp32",
                use_distributed_optimizer=case["zero"] == 1,
                num_distributed_optimizer_instances=case["replicas"],
                bucket_size=case["bucket"],
                **{n: case["options"][n] for n in REDUCTION},
            ),
            stage,
            disable_bucketing=i > 0,
        )
        for i, stage in enumerate(stages)
    ]
    for m in model:
        m.broadcast_params()  # as with data_parallel_random_init
    hooks = (
        {"no_sync_func": [m.no_sync for m in model]}
        if case["options"]["overlap_grad_reduce"]
        else {}
    )
    if case["options"]["align_grad_reduce"]:
        hooks["grad_sync_func"] = [m.start_grad_sync for m in model]
    if case["options"]["align_param_gather"]:
        hooks["param_sync_func"] = [m.start_param_sync for m in model]
    for name, functions in hooks.items():
        setattr(config, name, functions if len(model) > 1 else functions[0])
    return model


# ---- Steps ---------------------------------------------------------------------------------------


def one_step(me, model, optim, step, report_parameters):
    """report_parameters(linear): reports the parameters of the previous step, once they are
    gathered."""
    case, linears = me.case, [m.module.linear[0] for m in model]
    for m in model:
        m.zero_grad_buffer()
    optim.zero_grad()

    def forward(batches, ddp):
        m = next(batches)
        out = ddp(step, m)
        if m == 0:
            report_parameters(ddp.module.linear[0])
        # the schedule multiplies the loss of two values by cp: it expects the sample's mean
        return out, lambda loss: (loss / case.get("cp", 1), {})

    get_forward_backward_func()(
        forward_step_func=forward,
        data_iterator=[iter(range(case["micro_batches"])) for _ in model],
        model=model,
        num_microbatches=case["micro_batches"],
        **shapes(me.position),
    )
    mine = {}
    if not case["scale"]["explicit"]:
        mine["gradients"] = megatron_state.gradients(optim, linears)
    set_rates(case, optim, step)
    good, norm, _ = optim.step()
    mine.update(
        loss=me.position.noted(),
        skipped=not good,
        norm=float(norm).hex() if norm is not None and case["clip"] else None,
    )
    me.steps.append({**mine, **megatron_state.state(case, optim, linears)})
    if not case["options"]["overlap_param_gather"]:
        for linear in linears:
            report_parameters(linear)


def main(me):
    case, t = me.case, me.case["topology"]
    me.environment("zeroproof")
    whole = case.get("etp") == "one"  # each tp rank has an expert of its own
    parallel_state.initialize_model_parallel(
        t["tp"],
        t["pp"],
        case["options"]["virtual_stages"] if case["options"]["virtual_stages"] > 1 else None,
        expert_model_parallel_size=t["tp"] if whole else t["ep"],
        expert_tensor_parallel_size=1 if whole else t["tp"],
        context_parallel_size=case.get("cp", 1),
        num_distributed_optimizer_instances=case["replicas"],
        create_gloo_process_groups=False,
    )

    def report_parameters(linear):
        if me.steps:
            me.steps[-1].setdefault("parameters", {}).update(linear.parameters_by_name())

    with OnCpu():
        model = wrap(case, chunks(me.position))
        optim = optimizer(case, model)
        model[0].config.grad_scale_func = optim.scale_loss
        linears = [m.module.linear[0] for m in model]
        if me.load:
            megatron_checkpoint.load(me, model, optim)
            me.steps[-1] = megatron_state.state(case, optim, linears)
            for linear in linears:
                report_parameters(linear)
        for step in me.todo():
            me.begin(step)
            one_step(me, model, optim, step, report_parameters)
        if case["options"]["overlap_param_gather"]:
            for m in model:
                m.start_param_sync(force_sync=True)  # no later forward gathers them
                report_parameters(m.module.linear[0])
        if me.save:
            megatron_checkpoint.save(me, model, optim)


if __name__ == "__main__":
    serve(HELLO, main)
