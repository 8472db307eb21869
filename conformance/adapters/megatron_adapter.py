"""Megatron-Core's DistributedDataParallel (ZeRO 0) and DistributedOptimizer (ZeRO 1) on CPU with gloo.

It expects CUDA. What stands in, none of it in reduction, norm or step: the current device is the CPU;
device="cuda" and Tensor.cuda() mean it; Tensor.type() answers with the torch.cuda names that it compares.
Not reached: several instances of the distributed optimizer with overlap, nccl_ub, CUDA graphs. Its dynamic
loss scale grows by a rule of its own; its optimizers take one group here; the distributed one is Adam."""
import contextlib

import torch
import torch._dynamo  # noqa: F401  (else imported in every child)
from torch.overrides import TorchFunctionMode
from torch_adapter import DTYPES, Linear, hexes, serve

torch.cuda.current_device = lambda: "cpu"

from megatron.core import parallel_state  # noqa: E402
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig  # noqa: E402
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer  # noqa: E402
from megatron.core.package_info import __version__ as version  # noqa: E402
from megatron.core.transformer import TransformerConfig  # noqa: E402

HELLO = {
    "protocol": 1, "name": "Megatron-Core", "version": version, "level": 2,
    "returns": ["norm", "skipped", "scale", "parameters", "gradients", "masters", "ledger"],
    "supports": {
        "zero": [0, 1], "dp": [1, 2, 3, 4], "micro_batches": [1, 2, 3, 4], "steps": [1, 2, 3, 4],
        "precision": ["fp32", "bf16", "fp16"], "accumulate": ["same", "fp32"], "communicate": ["same", "fp32"],
        "optimizer": ["sgd", "momentum", "adamw"], "scale": ["one", "static"], "overflow": ["no", "yes"],
        "clip": ["off", "loose", "binding"], "sizes": ["plain", "tiny", "odd", "large"], "bucket": ["large", "small"],
        "unused": ["no", "some", "often"], "frozen": ["no", "yes"], "tied": ["no", "stage"]},
    "world": 4,
    "without": [{"zero": 1, "optimizer": ["sgd", "momentum"]},  # it asserts Adam
                {"precision": ["fp32", "bf16"], "scale": "static"}, {"precision": "fp16", "scale": "one"},
                {"accumulate": "fp32", "communicate": "same"},  # grad_reduce_in_fp32 is both
                # it says so itself: a bucket waits for all of its gradients
                {"unused": ["some", "often"], "option overlap_grad_reduce": True},
                {"zero": 0, "option overlap_param_gather": True},
                {"option overlap_grad_reduce": False, "option overlap_param_gather": True}],
    "options": {"overlap_grad_reduce": [False, True], "overlap_param_gather": [False, True],
                "average_in_collective": [False, True]},
}
TYPES = {torch.float32: "torch.cuda.FloatTensor", torch.float16: "torch.cuda.HalfTensor",
         torch.bfloat16: "torch.cuda.BFloat16Tensor"}


class OnCpu(TorchFunctionMode):
    """The CPU in the place of the device."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "cpu"
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.Tensor.type and len(args) == 1 and not kwargs:
            return TYPES.get(args[0].dtype, func(*args))
        return func(*args, **kwargs)


def optimizer_config(case):
    group, scale, clip = case["groups"][0], case["scale"], case["clip"]
    more = {"adam_beta1": group["betas"][0], "adam_beta2": group["betas"][1], "adam_eps": group["eps"]} \
        if "betas" in group else {"sgd_momentum": group.get("momentum", 0.0)}
    return OptimizerConfig(
        optimizer="adam" if "betas" in group else "sgd", lr=group["lr"], min_lr=group["lr"],
        weight_decay=group["weight_decay"],
        bf16=case["precision"] == "bf16", fp16=case["precision"] == "fp16", params_dtype=DTYPES[case["precision"]],
        loss_scale=scale["first"] if case["precision"] == "fp16" else None,
        clip_grad=clip["max_norm"] if clip else 0.0, use_distributed_optimizer=case["zero"] == 1,
        overlap_param_gather=case["options"]["overlap_param_gather"], **more)


def wrap(case, model):
    config = TransformerConfig(num_layers=1, hidden_size=4, num_attention_heads=1)
    return DistributedDataParallel(config, DistributedDataParallelConfig(
        grad_reduce_in_fp32=case["accumulate"] == "fp32" or case["communicate"] == "fp32",
        use_distributed_optimizer=case["zero"] == 1, bucket_size=case["bucket"],
        **{n: case["options"][n] for n in HELLO["options"]}), model)


def named(model):
    """name -> Parameter of what is trained; uses of one tied key are one."""
    return {model.place.case["parameters"][j]["name"]: model.w[model.key(j)]
            for j in model.entries if model.w[model.key(j)].requires_grad}


def shards(part, w):
    """The run of w that this rank owns, or None."""
    if not hasattr(part, "_get_model_param_range_map"):
        return 0, w.numel()
    try:
        place = part._get_model_param_range_map(w)["param"]
    except KeyError:
        return None
    return place.start, place.end


def masters(part, model):
    """What the optimizer holds in fp32 for the parameters, or None if it holds none."""
    pairs = {}
    for mine, theirs in (("model_float16_groups", "shard_fp32_from_float16_groups"),
                         ("model_fp32_groups", "shard_fp32_groups"), ("float16_groups", "fp32_from_float16_groups")):
        for group, held in zip(getattr(part, mine, []), getattr(part, theirs, [])):
            pairs.update({id(w): h for w, h in zip(group, held)})
    if not pairs:
        return None
    return {name: [[shards(part, w)[0], hexes(pairs[id(w)])]] for name, w in named(model).items() if id(w) in pairs}


def gradients(part, model):
    found = {}
    for name, w in named(model).items():
        own = shards(part, w)
        if own:
            found[name] = [[own[0], hexes(w.main_grad.flatten()[own[0]:own[1]])]]
    return found


def one_step(me, model, ddp, optim, step):
    case, times = me.case, me.case["micro_batches"]
    part = getattr(optim, "chained_optimizers", [optim])[0]
    ddp.zero_grad_buffer()
    optim.zero_grad()
    for m in range(times):
        with ddp.no_sync() if m < times - 1 else contextlib.nullcontext():
            optim.scale_loss(ddp(step, m) / times).backward()
    ddp.finish_grad_sync()
    mine = {}
    if case["precision"] != "fp16":  # there, what it hands out is scaled
        mine["gradients"] = gradients(part, model)
    good, norm, _ = optim.step()
    if case["options"]["overlap_param_gather"]:
        ddp.start_param_sync(force_sync=True)  # else the next forward would do it
    mine.update(skipped=not good, norm=float(norm).hex() if norm is not None and case["clip"] else None,
                scale=float(optim.get_loss_scale()).hex(), parameters=model.parameters_by_name())
    held = masters(part, model)
    if held is not None:
        mine["masters"] = held
    me.steps.append(mine)


def main(me):
    case = me.case
    me.environment("zeroproof")
    parallel_state.initialize_model_parallel(1, 1, create_gloo_process_groups=False)
    with OnCpu():
        model = Linear(me.place).to(DTYPES[case["precision"]])
        ddp = wrap(case, model)
        optim = get_megatron_optimizer(optimizer_config(case), [ddp], use_gloo_process_groups=False)
        for step in range(case["steps"]):
            me.begin(step)
            one_step(me, model, ddp, optim, step)


if __name__ == "__main__":
    serve(HELLO, main)
