"""Adapter for DeepSpeed's pipeline engine: ZeRO 0/1 × PP × DP × TP on CPU with gloo."""

import functools

import deepspeed_adapter as plain  # must come first: it sets up the accelerator
import torch
from deepspeed.pipe import LayerSpec, PipelineModule, TiedLayerSpec
from deepspeed.runtime.pipe.topology import PipeModelDataParallelTopology
from torch_adapter import (
    MEGATRON_ONLY,
    NO_BACKWARDS,
    Linear,
    hexes,
    optimizer_of,
    serve,
    set_rates,
    stage_loss,
    stage_message,
)

# partitioned: whether messages between stages are partitioned over tensor-parallel ranks.
# tied_modules: "alone": a tied module holds the tied weight; "more": also the stage's other weights
OPTIONS = {
    **{
        n: plain.OPTIONS[n]
        for n in (
            "reduce_scatter",
            "round_robin_gradients",
            "contiguous_gradients",
            "use_multi_rank_bucket_allreduce",
            "offload",
        )
    },
    "partitioned": [True, False],
    "tied_modules": ["alone", "more"],
}
ONE_PARTITIONED = (
    "if tuples are partitioned over tensor-parallel ranks, "
    "only their first tensor may need a gradient"
)
HELLO = {
    **plain.HELLO,
    "name": "DeepSpeed pipeline",
    "world": 6,
    "supports": {
        **{k: v for k, v in plain.HELLO["supports"].items() if k not in ("ep", "backwards")},
        "zero": [0, 1],
        "pp": [2, 3],
        "dp": [1, 2, 3],
        "tp": [1, 2],
        "micro_batches": [1, 2, 3, 4],
        "stages_groups": ["equal", "unequal", "replicas"],
        "tied": ["no", "stages", "keys"],
        "messages": ["tensor", "tuple", "varying", "dynamic"],
        "reload": ["no", "same", "dp"],
    },
    "options": OPTIONS,
    "lacks": {
        **MEGATRON_ONLY,
        "zero": {"2": "the pipeline engine asserts ZeRO 0 or 1"},
        "dp": "more than six ranks of PyTorch take too long where the suite runs",
        "pp": {"1": "deepspeed_adapter.py trains one stage"},
        "ep": "experts are judged by deepspeed_adapter.py",
        "stages_groups": {
            value: "torch.optim makes no optimizer without parameters, and DeepSpeed requires one"
            for value in ("idle", "frozen")
        },
        "tied": {"stage": "tied layers are tied between stages"},
        "backwards": NO_BACKWARDS,
        "reload": {"zero": "ZeRO 0 and ZeRO 1 save the optimizer in different files"},
        **{
            name: plain.HELLO["lacks"][name]
            for name in ("dtypes", "gradients", "replicas", "groups_vary")
        },
    },
    "without": [
        w
        for w in plain.HELLO["without"]
        if "ep" not in w
        and w.get("reload") != "zero"
        and all(k[len("option ") :] in OPTIONS for k in w if k.startswith("option "))
    ]
    + [
        {
            "tp": 1,
            "option partitioned": False,
            "why": "messages are partitioned over tensor-parallel ranks only",
        },
        {
            "tied": "no",
            "option tied_modules": "more",
            "why": "there is no tied module",
        },
        {
            "stages_groups": "replicas",
            "frozen": "tied",
            "why": "torch.optim makes no optimizer without parameters",
        },
    ],
    "unsupported": [plain.NO_MAXIMUM, ONE_PARTITIONED],
}


def refuses(case):
    """_exec_forward_pass refuses it: a tensor after a partitioned one has no gradient."""
    if (
        case["topology"]["tp"] > 1
        and case["options"]["partitioned"]
        and any(
            message[0]["dtype"] == "int32" for boundary in case["messages"] for message in boundary
        )
    ):
        return ONE_PARTITIONED
    return plain.refuses(case)


class Turn:
    """The current step and micro-batch, and the tied weights of this stage's layers."""

    def __init__(self):
        self.step = self.m = 0
        self.tied, self.more = {}, None


class Tied(torch.nn.Module):
    """Holds a tied weight, makes it available to the stage, and returns its input. more: makes
    further weights of the stage, which this module holds as well."""

    def __init__(self, turn, key, first, entry, more):
        super().__init__()
        self.turn, self.key = turn, key
        self.w = torch.nn.Parameter(first, requires_grad=not entry["frozen"])
        self.w.model_parallel = entry["sharded"]
        if more is not None:
            self.more = turn.more = more()

    def forward(self, x):
        self.turn.tied[self.key] = self.w
        return x


class Stage(torch.nn.Module):
    def __init__(self, position, turn, s):
        super().__init__()
        self.s, self.turn = s, turn
        mine = [j for j, e in enumerate(position.case["parameters"]) if e["stage"] == s]
        self.tied_entries = [j for j in mine if position.case["parameters"][j]["tied"] is not None]
        if turn.more is None:
            self.registered = own_weights(position, s)
        self.linear = (turn.more or self.registered,)  # a tuple does not register it
        self.position = position

    def forward(self, x):
        turn, position, case = self.turn, self.position, self.position.case
        g = position.batch(turn.m)
        used = self.linear[0].used(turn.step, turn.m)
        for j in self.tied_entries:
            row = position.row(turn.step, turn.m, j)
            if row is not None:
                used.append((j, turn.tied[case["parameters"][j]["tied"]], row))
        tensors = [] if self.s == 0 else list(x) if isinstance(x, tuple) else [x]
        loss = stage_loss(tensors, g, used)
        position.note(turn.m, loss)
        turn.m += 1
        if self.s == case["topology"]["pp"] - 1:
            return loss
        out = stage_message(case["messages"][self.s][g], g, loss)
        return out[0] if len(out) == 1 else tuple(out)


def own_weights(position, s):
    """The weights of stage s that are not tied."""
    entries = position.case["parameters"]
    linear = Linear(
        position, {j for j, e in enumerate(entries) if e["stage"] == s and e["tied"] is None}
    )
    for j in linear.entries:
        if entries[j]["sharded"]:
            linear.of(j).model_parallel = True
    return linear


class Same(torch.nn.Module):
    """A filler layer: stages of equal length make the uniform partition that of the case."""

    def forward(self, x):
        return x


def layers_of(position, turn):
    """The layers of each stage: fillers, tied weights, the stage itself."""
    case, stages = position.case, []
    for s in range(case["topology"]["pp"]):
        keys = {
            e["tied"]: e for e in case["parameters"] if e["stage"] == s and e["tied"] is not None
        }
        more = case["options"]["tied_modules"] == "more"
        tied = []
        for k, e in sorted(keys.items()):
            make = functools.partial(own_weights, position, s) if more and not tied else None
            tied.append(
                TiedLayerSpec(
                    *(f"key{k}", Tied, turn, k, position.first(e), e, make),
                    tied_weight_attr="w",
                )
            )
        stages.append([*tied, LayerSpec(Stage, position, turn, s)])
    longest = max(map(len, stages))
    return [layer for s in stages for layer in [LayerSpec(Same)] * (longest - len(s)) + s]


def weights(case, module, position):
    """Entry -> Parameter, for the entries of this rank's stage."""
    found = {}
    stage = next(m for m in module.modules() if isinstance(m, Stage))
    linear = stage.linear[0]
    for j in linear.entries:
        found[j] = linear.of(j)
    tied = {m.key: m.w for m in module.modules() if isinstance(m, Tied)}
    for j in stage.tied_entries:
        found[j] = tied[case["parameters"][j]["tied"]]
    return found


def groups_of(case, mine):
    groups = []
    for number, group in enumerate(case["groups"]):
        w = {
            id(p): p
            for j, p in mine.items()
            if case["parameters"][j]["group"] == number and p.requires_grad
        }
        if w:
            groups.append(
                {"params": list(w.values()), **{k: v for k, v in group.items() if k != "optimizer"}}
            )
    return groups


def main(me):
    case, t = me.case, me.case["topology"]
    me.recorder.install()
    with me.recorder.pause():
        me.environment()
        plain.deepspeed.init_distributed("gloo")
    turn = Turn()
    torch.manual_seed(0)
    module = PipelineModule(
        layers=layers_of(me.position, turn),
        topology=PipeModelDataParallelTopology(t["pp"], t["tp"], t["dp"]),
        loss_fn=lambda out, _: out,
        partition_method="uniform",
        activation_checkpoint_interval=0,
        **({"dynamic_shape": True} if case["dynamic_shapes"] else {}),
    )
    mine = weights(case, module, me.position)
    engine, *_ = plain.deepspeed.initialize(
        model=module,
        optimizer=optimizer_of(case, groups_of(case, mine)),
        config={
            **plain.config_of(case),
            "pipeline": {
                "pipe_partitioned": case["options"]["partitioned"],
                "grad_partitioned": case["options"]["partitioned"],
            },
        },
    )
    batches = iter(lambda: (torch.zeros(1), torch.zeros(1)), None)
    if me.load:
        plain.load(me, engine)
        with me.recorder.pause():
            me.steps[-1] = state(me, engine, mine)
    for step in me.todo():
        me.begin(step)
        turn.step, turn.m, skipped = step, 0, engine.skipped_steps
        set_rates(case, engine.optimizer, step)
        engine.train_batch(batches)
        norm = engine.get_global_grad_norm()
        with me.recorder.pause():
            me.steps.append(
                {
                    "skipped": engine.skipped_steps > skipped,
                    "norm": None if norm is None else float(norm).hex(),
                    "loss": me.position.noted(),
                    **state(me, engine, mine),
                }
            )
    if me.save:
        engine.save_checkpoint(me.save)


def state(me, engine, mine):
    """What the rank holds."""
    names = {j: me.case["parameters"][j]["name"] for j in mine}
    found = {
        "scale": plain.loss_scale(engine),
        "parameters": {names[j]: hexes(w) for j, w in mine.items()},
        **plain.moments(me, mine, engine.optimizer),
    }
    if me.case["zero"]:
        me.write({"observe": True})
        found["masters"] = {}
        for j, w in mine.items():
            full = (
                None
                if not w.requires_grad or not w.numel()
                else plain.deepspeed.utils.safe_get_full_fp32_param(w)
            )
            if full is not None:
                found["masters"][names[j]] = [[0, hexes(full)]]
    return found


if __name__ == "__main__":
    serve(HELLO, main, refuses)
