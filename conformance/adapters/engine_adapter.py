"""zeroproof.torch.Engine, the reference engine under PyTorch (ZeRO 0 to 2), on CPU with gloo.

The package is that of this source tree, with the library that `make lib` builds. Its process group
records. The ledger has the engine's own list of communications, each written before the rank
enters it: the transport moves bytes, and at ZeRO 0 it gathers what all ranks send and adds it up
(comm_calls.c). The calls of gloo that carry them are in it as barriers, so that a hang in one
shows. The masters and moments are those of Native.read_state.

An engine skips a step whose loss is not finite, also if all gradients are finite (STAT-3). So where
products of parameters and data overflow fp32 (magnitude "huge"), the loss that the engine gets has
the value 0, and the same gradients.

The option `scheduler` sets rates and steps through engine.optimizer and torch's LambdaLR, otherwise
set_rates and step of the engine do."""

import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "python"))

import torch  # noqa: E402
import torch._dynamo  # noqa: E402,F401  (else an optimizer imports it in every child)
import torch.distributed as dist  # noqa: E402
import zeroproof  # noqa: E402
from torch_adapter import (  # noqa: E402
    MORE_RANKS,
    NO_PARALLELISM,
    ONE_STAGE,
    Linear,
    checkpoint,
    hexes,
    number_of,
    serve,
)
from zeroproof._engine import Native  # noqa: E402
from zeroproof.torch import Engine  # noqa: E402

STATES = {"masters": "master", "moments1": "moment1", "moments2": "moment2"}
HELLO = {
    "protocol": 1,
    "name": "zeroproof torch",
    "version": zeroproof.__version__,
    "level": 2,
    "returns": [
        *("norm", "skipped", "scale", "loss", "parameters", "masters", "moments1", "moments2"),
        "ledger",
    ],
    "supports": {
        "zero": [0, 1, 2],
        "dp": [1, 2, 3, 4],
        "micro_batches": [1, 2, 3, 4],
        "steps": [1, 2, 3, 4],
        "precision": ["fp32", "bf16", "fp16"],
        "dtypes": ["same", "mixed"],
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
        **NO_PARALLELISM,
        **ONE_STAGE,
        "dp": MORE_RANKS,
        "gradients": "the engine keeps the reduced gradients to itself",
        "replicas": "it shards over all ranks of its process group",
        "groups_vary": "a plan is made once, of all groups",
    },
    "options": {"reduce": ["exact", "ordered"], "scheduler": [False, True]},
}


class Finite(torch.autograd.Function):
    """0, with the gradient of the loss."""

    @staticmethod
    def forward(ctx, loss):
        return torch.zeros_like(loss)

    @staticmethod
    def backward(ctx, grad):
        return grad


def record(me):
    """Writes each communication of the engine, and each call of gloo, before it is entered."""
    import zeroproof_group

    group, make = list(range(me.case["world"])), dist.new_group

    def gloo(call):
        bytes_ = f"{call['op']} of {call.get('count', 0)} bytes"
        me.write({"op": "barrier", "group": call["group"], "name": call["name"], "phase": bytes_})

    def engine(entered):
        found = {**entered._asdict(), "group": group, "name": "engine"}
        found["phase"], found["count"] = found.pop("what"), found.pop("numel")
        found["redop"] = entered.redop or None
        me.write(found)

    zeroproof_group.register(gloo)
    dist.new_group = lambda *ranks, **settings: make(*ranks, **{**settings, "backend": "zeroproof"})
    Native.watch = staticmethod(engine)


def engine_of(case, model):
    kind = "adamw" if case["groups"][0]["optimizer"] == "adamw" else "sgd"
    scale = {**case["scale"]}
    dynamic, _ = scale.pop("dynamic"), scale.pop("explicit")
    return Engine(
        model,
        [{**group, "kind": kind} for group in model.groups()] or {"kind": kind},
        stage=case["zero"],
        micro_batches=case["micro_batches"],
        reduce=case["options"]["reduce"],
        bucket=case["bucket"],
        clip=case["clip"] and case["clip"]["max_norm"],
        scale=scale if dynamic else scale["first"],
    )


class Rates:
    """Takes the engine's steps with the case's learning rates."""

    def __init__(self, case, engine, first):
        """first: the optimizer groups' rates, which the case's multiply."""
        self.case, self.engine, self.first = case, engine, first
        self.schedule = None
        if case["options"]["scheduler"]:
            for group, lr in zip(engine.optimizer.param_groups, first, strict=True):
                group["initial_lr"] = group["lr"] = lr
            begins = checkpoint.begins(case)
            self.schedule = torch.optim.lr_scheduler.LambdaLR(
                engine.optimizer, self.factor, last_epoch=begins - 1
            )

    def factor(self, step):
        rates = self.case.get("rates", [])
        return rates[step] if step < len(rates) else 1.0

    def step(self, step):
        if self.schedule:
            self.engine.optimizer.step()
            self.engine.optimizer.zero_grad()
            self.schedule.step()
        else:
            self.engine.set_rates([lr * self.factor(step) for lr in self.first])
            self.engine.step()
        return self.engine.last


def one_step(me, model, engine, rates, step):
    huge = me.case["log2_first"] >= 32
    for m in range(me.case["micro_batches"]):
        with engine.micro_batch():
            for term in range(me.case.get("backwards", 1)):
                loss = model(step, m, term)
                engine.backward(Finite.apply(loss) if huge else loss)
    result = rates.step(step)
    mine = {"norm": number_of(result.norm), "skipped": result.skipped, "loss": me.position.noted()}
    me.steps.append({**mine, **state(model, engine)})


def state(model, engine):
    """What the rank holds, in the words of the protocol."""
    found = {"scale": number_of(engine.last.scale), "parameters": model.parameters_by_name()}
    numbers = {id(w): number for number, w in enumerate(model.parameters())}
    for field, name in STATES.items():
        found[field] = {}
        for j in model.entries:
            held = engine._native.read_state(numbers[id(model.of(j))], name)
            if held:
                runs = [[offset, hexes(values)] for offset, values in held]
                found[field][model.position.case["parameters"][j]["name"]] = runs
    return found


def refuses(case):
    if case["clip"] and case["clip"]["eps"] != 1e-6:
        return "the engine adds 1e-6 to the norm that it clips by"
    return None


def main(me):
    me.environment()
    record(me)
    model = Linear(me.position).in_dtypes()
    engine = engine_of(me.case, model)
    first = [group["lr"] for group in engine.optimizer.param_groups]
    if me.load:
        engine.load(me.load)
        me.steps[-1] = state(model, engine)
    rates = Rates(me.case, engine, first)
    for step in me.todo():
        me.begin(step)
        one_step(me, model, engine, rates, step)
    if me.save:
        engine.save(me.save)
    engine.close()


if __name__ == "__main__":
    serve(HELLO, main, refuses)
