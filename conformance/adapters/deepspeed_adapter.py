"""Adapter for DeepSpeed: ZeRO 0/1/2 on CPU with gloo, without its C++ operators.

DeepSpeed's reduction, norm, scale and step are unchanged. Two declarations are: fp16 on CPU counts
as supported (the CPU accelerator refuses it), and the shared-memory operator, which would have to
be compiled, as absent. Functions of torch.distributed are wrapped to record the call before they
make it."""

import argparse
import contextlib
import os

# first: it sets variables that torch reads when it is loaded
from torch_adapter import (
    MEGATRON_ONLY,
    MOMENTS,
    MORE_RANKS,
    ONE_STAGE,
    Linear,
    backwards,
    hexes,
    optimizer_of,
    serve,
    set_rates,
    torch,
)

os.environ.update(DS_ACCELERATOR="cpu", DS_BUILD_OPS="0")

import deepspeed  # noqa: E402

# otherwise every child would import the next two during a step
import deepspeed.runtime.zero.muon.muon_optimizer  # noqa: E402,F401
import torch._dynamo  # noqa: E402,F401
from deepspeed.accelerator import get_accelerator  # noqa: E402
from deepspeed.checkpoint import ds_to_universal  # noqa: E402
from deepspeed.moe.layer import MoE  # noqa: E402

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
get_accelerator().__class__.is_fp16_supported = lambda self: True

OPTIONS = {
    "overlap_comm": [False, True],
    "reduce_scatter": [True, False],
    "round_robin_gradients": [False, True],
    "use_multi_rank_bucket_allreduce": [True, False],
    "contiguous_gradients": [True, False],
    "offload": [False, True],
    "predivide": [1, 2],
}
PREDIVISION = {
    "option reduce_scatter": True,
    "option predivide": 2,
    "why": "DeepSpeed asserts gradient_predivide_factor 1 with reduce_scatter",
}
NO_MAXIMUM = "DeepSpeed's dynamic loss scale has no maximum"
HELLO = {
    "protocol": 1,
    "name": "DeepSpeed",
    "version": deepspeed.__version__,
    "level": 2,
    "returns": [
        *("norm", "scale", "skipped", "loss", "parameters", "masters", "moments1", "moments2"),
        "ledger",
    ],
    "supports": {
        "zero": [0, 1, 2],
        "dp": [1, 2, 3, 4],
        "ep": [1, 2],
        "micro_batches": [1, 2, 3, 4],
        "steps": [1, 2, 3, 4],
        "precision": ["fp32", "bf16", "fp16"],
        "accumulate": ["same", "fp32"],
        "communicate": ["same", "fp32"],
        "optimizer": ["sgd", "momentum", "adamw"],
        "scale": ["one", "unit", "static", "dynamic"],
        "overflow": ["no", "yes", "sum"],
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
        "reload": ["no", "same", "zero", "dp"],
    },
    "world": 4,
    "lacks": {
        **MEGATRON_ONLY,
        **ONE_STAGE,
        "dp": MORE_RANKS,
        "dtypes": "it casts every parameter to the precision (_cast_module_mixed_precision)",
        "tp": "deepspeed_pipe_adapter.py has tensor parallelism",
        "gradients": "the masters show them, and safe_get_full_grad gathers",
        "replicas": "only ZeRO 3 shards within groups (hpZ; MiCS before 0.19.7)",
        "groups_vary": "its optimizer flattens the groups once, and all ranks need the same",
    },
    "without": [
        {"zero": 0, "accumulate": "fp32", "why": "DeepSpeed refuses it"},
        {
            "precision": ["fp32", "bf16"],
            "scale": ["unit", "static", "dynamic"],
            "why": "only fp16 has a loss scale",
        },
        {"precision": "fp16", "scale": "one", "why": "fp16 always has a loss scale"},
        {
            "precision": "fp32",
            "overflow": ["yes", "sum"],
            "why": "DeepSpeed examines 16-bit gradients only",
        },
        *(
            {"zero": 0, f"option {name}": value, "why": "it is an option of ZeRO"}
            for name, value in (
                ("offload", True),
                ("round_robin_gradients", True),
                ("reduce_scatter", False),
                ("overlap_comm", True),
                ("use_multi_rank_bucket_allreduce", False),
                ("predivide", 2),
                ("contiguous_gradients", False),
            )
        ),
        {
            "option offload": True,
            "option contiguous_gradients": False,
            "why": "DeepSpeed enables contiguous_gradients for offload",
        },
        {
            "ep": 2,
            "zero": 2,
            "option contiguous_gradients": False,
            "why": "DeepSpeed asserts contiguous_gradients for experts",
        },
        {
            "ep": 2,
            "zero": [1, 2],
            "option reduce_scatter": False,
            "why": "DeepSpeed asserts reduce_scatter for experts",
        },
        PREDIVISION,
        {
            "ep": 2,
            "reload": ["same", "zero", "dp"],
            "why": "DeepSpeed saves the experts of its own layer, which the adapter replaces",
        },
        {
            "zero": 0,
            "reload": "zero",
            "why": "ZeRO 0 reads the optimizer from the model's file, where ZeRO saves none",
        },
        {
            "zero": [1, 2],
            "reload": "dp",
            "optimizer": ["sgd", "momentum"],
            "why": "the conversion reads exp_avg of each group (checkpoint/ds_to_universal.py:151)",
        },
    ],
    "options": OPTIONS,
    "unsupported": [NO_MAXIMUM],
}


def refuses(case):
    scale = case["scale"]
    if scale["dynamic"] and scale["first"] * 2 ** (case["steps"] - 1) > scale["most"]:
        return NO_MAXIMUM
    return None


def config_of(case):
    options = case["options"]
    zero = {
        "stage": case["zero"],
        "reduce_bucket_size": case["bucket"],
        "allgather_bucket_size": case["bucket"],
        **{
            n: options[n]
            for n in (
                "overlap_comm",
                "reduce_scatter",
                "round_robin_gradients",
                "contiguous_gradients",
                "use_multi_rank_bucket_allreduce",
            )
            if n in options
        },
    }
    if options.get("offload"):
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": False}
    config = {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": case["micro_batches"],
        "gradient_clipping": case["clip"]["max_norm"] if case["clip"] else 0.0,
        "zero_optimization": zero,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "steps_per_print": 10**9,
        "gradient_predivide_factor": float(options.get("predivide", 1)),
    }
    if case["precision"] == "bf16":
        config["bf16"] = {"enabled": True}
    if case["precision"] == "fp16":
        config["fp16"] = scale_of(case["scale"])
    if case["accumulate"] != case["precision"]:
        config["data_types"] = {"grad_accum_dtype": case["accumulate"]}
    if case["communicate"] != case["precision"]:
        config["communication_data_type"] = case["communicate"]
    if universal(case):
        config["checkpoint"] = {"load_universal": True}
    return config


def universal(case):
    """True if the ranks load a universal checkpoint: ZeRO refuses one of other ranks."""
    return case["zero"] > 0 and case.get("reload", {}).get("kind") == "dp"


def load(me, engine):
    if universal(me.case):
        if me.rank == 0:
            convert(me.load)
        with me.recorder.pause():
            deepspeed.comm.barrier()
    engine.load_checkpoint(me.load)


def convert(folder):
    """Makes a universal checkpoint of the last one, as the command ds_to_universal.py does. Only
    Megatron-DeepSpeed writes the information that inject_missing_state adds."""
    with open(os.path.join(folder, "latest"), encoding="utf-8") as file:
        last = os.path.join(folder, file.read())
    ds_to_universal.main(
        argparse.Namespace(
            input_folder=last,
            output_folder=f"{last}_universal",
            num_extract_workers=1,
            num_merge_workers=1,
            keep_temp_folder=False,
            strict=True,
            inject_missing_state=True,
        )
    )


def scale_of(scale):
    if not scale["dynamic"]:
        return {"enabled": True, "loss_scale": scale["first"]}
    return {
        "enabled": True,
        "loss_scale": 0,
        "initial_scale_power": int(scale["first"]).bit_length() - 1,
        "loss_scale_window": scale["window"],
        "hysteresis": scale["hysteresis"],
        "consecutive_hysteresis": scale["consecutive"],
        "min_loss_scale": scale["least"],
    }


class Experts(MoE):
    """A layer of experts without gate and dispatch, which the case's loss does not need. DeepSpeed
    detects experts by this type and takes the groups from it."""

    def __init__(self, ep):
        torch.nn.Module.__init__(self)
        self.ep_size = self.num_experts = ep
        self.expert_group_name = f"ep_size_{ep}"
        self.enable_expert_tensor_parallelism = False

    def set_deepspeed_parallelism(self, use_data_before_expert_parallel_=False):
        deepspeed.utils.groups._create_expert_and_data_parallel(self.ep_size)


class Model(Linear):
    """Marks the experts' weights like DeepSpeed's own layer and puts them in separate groups."""

    def __init__(self, position):
        super().__init__(position)
        entries = position.case["parameters"]
        self.expert = [self.of(j) for j in self.entries if entries[j]["expert"]]
        if self.expert:
            self.experts = Experts(position.case["topology"]["ep"])
        for w in self.expert:
            w.allreduce, w.group_name = False, self.experts.expert_group_name

    def groups(self):
        mine, found = {id(w) for w in self.expert}, []
        for number, group in enumerate(super().groups()):
            dense = [w for w in group["params"] if id(w) not in mine]
            expert = [w for w in group["params"] if id(w) in mine]
            if dense:
                found.append({**group, "params": dense, "name": f"dense {number}"})
            if expert:
                found.append(
                    {**group, "params": expert, "name": self.experts.expert_group_name, "moe": True}
                )
        return found


def loss_scale(engine):
    """The loss scale, or None if the optimizer has none."""
    for name in ("cur_scale", "loss_scale"):
        if hasattr(engine.optimizer, name):
            return float(getattr(engine.optimizer, name)).hex()
    return None


def masters(me, model):
    """Full fp32 masters, which DeepSpeed gathers on every rank. They show the update but not its
    owner, so PART-6 is not judged. The gather runs collectives that do not belong to the step, so
    recording is paused."""
    me.write({"observe": True})
    with me.recorder.pause():
        found = {}
        for j in model.entries:
            entry, w = me.case["parameters"][j], model.of(j)
            if entry["frozen"] or entry["numel"] == 0:
                continue
            full = deepspeed.utils.safe_get_full_fp32_param(w)
            if full is not None:
                found[entry["name"]] = [[0, hexes(full)]]
        return found


def moments(me, weights, optimizer):
    """This rank's parts of the moments; weights: entry -> Parameter. ZeRO and BF16_Optimizer link
    each parameter to its parts; FP16_UnfusedOptimizer has whole masters, in the groups of the
    parameters."""
    masters = {
        id(low): high
        for lows, highs in zip(
            getattr(optimizer, "fp16_groups", ()),
            getattr(optimizer, "fp32_groups", ()),
            strict=False,  # others than FP16_UnfusedOptimizer lack one of them
        )
        for low, high in zip(lows, highs, strict=True)
    }
    state = getattr(optimizer, "optimizer", optimizer).state

    def held(w):
        """The first element of this rank's part, and its moments."""
        if not hasattr(w, "_hp_mapping"):
            return 0, state.get(masters.get(id(w), w), {})
        part = w._hp_mapping
        if part is None or part.optim_fragment is None:  # not its owner, or before its first update
            return 0, {}
        return part.lp_fragment_address.start, part.optim_fragment

    found = {field: {} for field in MOMENTS}
    for j, w in weights.items():
        start, values = held(w)
        for field, names in MOMENTS.items():
            for name in names:
                if values.get(name) is not None:
                    run = [start, hexes(values[name])]
                    found[field][me.case["parameters"][j]["name"]] = [run]
    return found


def state(me, model, engine):
    """What the rank holds."""
    held = {"scale": loss_scale(engine), "parameters": model.parameters_by_name()}
    weights = {j: model.of(j) for j in model.entries}
    held.update(moments(me, weights, engine.optimizer))
    if me.case["zero"]:
        held["masters"] = masters(me, model)
    return held


def main(me, linear=Model, stepping=contextlib.nullcontext):
    """stepping: a context manager around every call of engine.step()."""
    me.recorder.install()
    with me.recorder.pause():
        me.environment()
        deepspeed.init_distributed("gloo")
    model = linear(me.position)
    engine, *_ = deepspeed.initialize(
        model=model, optimizer=optimizer_of(me.case, model.groups()), config=config_of(me.case)
    )
    terms = me.case.get("backwards", 1)
    if me.load:
        load(me, engine)
        me.steps[-1] = state(me, model, engine)
    for step in me.todo():
        me.begin(step)
        set_rates(me.case, engine.optimizer, step)
        skipped = engine.skipped_steps
        for m, term, last in backwards(me.case):
            if (
                terms > 1
            ):  # otherwise every backward of the last micro-batch counts as the last of the step
                engine.set_gradient_accumulation_boundary(last)
            engine.backward(engine(step, m, term))
            if term == terms - 1:
                with stepping():
                    engine.step()
        norm = engine.get_global_grad_norm()
        mine = {
            "skipped": engine.skipped_steps > skipped,
            "norm": None if norm is None else float(norm).hex(),
            "loss": me.position.noted(),
        }
        me.steps.append({**mine, **state(me, model, engine)})
    if me.save:
        engine.save_checkpoint(me.save)


if __name__ == "__main__":
    serve(HELLO, main, refuses)
