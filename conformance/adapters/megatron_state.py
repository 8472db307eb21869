"""What a rank of Megatron-Core holds: gradients, masters and moments of its optimizers."""

from megatron.core.optimizer import FP32Optimizer
from torch_adapter import MOMENTS, hexes


def named(linear):
    """name -> Parameter of the trained parameters. Uses of one tied key share a Parameter."""
    return {
        linear.position.case["parameters"][j]["name"]: linear.of(j)
        for j in linear.entries
        if linear.of(j).requires_grad
    }


def shards(part, w):
    """The run of w that this rank owns, or None. An optimizer without parameters is a stub."""
    if getattr(part, "is_stub_optimizer", False):
        return None
    if not hasattr(part, "_get_model_param_range_map"):
        return 0, w.numel()
    try:
        run = part._get_model_param_range_map(w)["param"]
    except KeyError:
        return None
    return run.start, run.end


def updated(part, linear):
    """name -> (Parameter, what the optimizer updates: its fp32 master or itself)."""
    pairs = {}
    for mine, theirs in (
        ("model_float16_groups", "shard_fp32_from_float16_groups"),
        ("model_fp32_groups", "shard_fp32_groups"),
        ("float16_groups", "fp32_from_float16_groups"),
        ("fp32_from_fp32_groups", "fp32_from_fp32_groups"),
    ):
        for group, held in zip(getattr(part, mine, []), getattr(part, theirs, []), strict=True):
            pairs.update({id(w): h for w, h in zip(group, held, strict=True)})
    if isinstance(part, FP32Optimizer):
        pairs = {id(w): w for w in part.get_parameters()}
    return {name: (w, pairs[id(w)]) for name, w in named(linear).items() if id(w) in pairs}


def masters(part, linear):
    return {
        name: [[shards(part, w)[0], hexes(held)]]
        for name, (w, held) in updated(part, linear).items()
    }


def moments(keys):
    """Reports the moment that the optimizer keeps under one of the keys."""

    def of(part, linear):
        found = {}
        for name, (w, held) in updated(part, linear).items():
            for x in (x for key, x in part.optimizer.state[held].items() if key in keys):
                found[name] = [[shards(part, w)[0], hexes(x)]]
        return found

    return of


def reduced(part, linear):
    found = {}
    for name, w in named(linear).items():
        own = shards(part, w)
        if own:
            found[name] = [[own[0], hexes(w.main_grad.flatten()[own[0] : own[1]])]]
    return found


def reported(of, optim, linears):
    parts = getattr(optim, "chained_optimizers", [optim])
    return {
        name: run for part in parts for linear in linears for name, run in of(part, linear).items()
    }


def gradients(optim, linears):
    return reported(reduced, optim, linears)


def state(case, optim, linears):
    """What the rank holds, except for the parameters."""
    held = {field: reported(moments(keys), optim, linears) for field, keys in MOMENTS.items()}
    held["scale"] = float(optim.get_loss_scale()).hex()
    if case["precision"] != "fp32" or case["zero"]:
        held["masters"] = reported(masters, optim, linears)
    return held
