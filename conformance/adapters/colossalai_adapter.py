"""ColossalAI's LowLevelZeroOptimizer (ZeRO 1 and 2) on CPU with gloo.

It insists on CUDA: the accelerator is the one for CPUs under the name "cuda", whose streams are
always synchronized. Packages that only its other parts use are empty modules (ABSENT). Reduction,
norm, scale and step are its own.

Not covered: overlap_communication, which needs streams (low_level_optim.py:345, record_stream); its
dynamic loss scale, which grows by a different rule; fp8."""

import contextlib
import importlib.abc
import importlib.machinery
import sys
import types

ABSENT = {"peft", "transformers", "galore_torch", "bitsandbytes"}


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the packages of ABSENT as modules in which every name is an empty class."""

    class Module(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (), {})

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return self.Module(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.append(Absent())

import torch  # noqa: E402
import torch._dynamo  # noqa: E402, F401  (imported here, or every child would import it)
from colossalai import __version__ as version  # noqa: E402
from colossalai.accelerator import set_accelerator  # noqa: E402
from colossalai.accelerator.cpu_accelerator import CpuAccelerator  # noqa: E402
from colossalai.zero import LowLevelZeroOptimizer  # noqa: E402
from torch_adapter import (  # noqa: E402
    DTYPES,
    MORE_RANKS,
    NO_PARALLELISM,
    ONE_STAGE,
    Linear,
    backwards,
    hexes,
    load_whole,
    moments,
    optimizer_of,
    save_whole,
    serve,
    set_rates,
)

HELLO = {
    "protocol": 1,
    "name": "ColossalAI LowLevelZero",
    "version": version,
    "level": 2,
    "returns": [
        *("norm", "skipped", "scale", "loss", "parameters", "masters", "moments1", "moments2"),
        "ledger",
    ],
    "supports": {
        "zero": [1, 2],
        "dp": [1, 2, 3, 4],
        "micro_batches": [1, 2, 3, 4],
        "steps": [1, 2, 3, 4],
        "precision": ["fp32", "bf16", "fp16"],
        "optimizer": ["sgd", "momentum", "adamw"],
        "scale": ["one", "unit", "static"],
        "overflow": ["no", "yes", "sum"],
        "clip": ["off", "loose", "binding"],
        "groups": [1, 2, 3],
        "sizes": ["plain", "tiny", "odd", "large", "empty"],
        "bucket": ["large", "small"],
        "frozen": ["no", "yes"],
        "tied": ["no", "stage"],
        "rates": ["constant", "changing"],
        "magnitude": ["plain", "huge", "minute"],
        "unused": ["no", "some", "often"],
        "reload": ["no", "same", "zero", "dp"],
    },
    "world": 4,
    "lacks": {
        **ONE_STAGE,
        **NO_PARALLELISM,
        "zero": "LowLevelZeroOptimizer always shards the optimizer state",
        "dp": MORE_RANKS,
        "gradients": "step() reduces, clips and updates in one call",
        "accumulate": "micro-batches are added in the parameters' precision",
        "communicate": "the suite needs fp32 sums over ranks only with those over micro-batches",
        "dtypes": "it asserts one dtype for all parameters (low_level_optim.py:259)",
        "scale": {"dynamic": "it grows by another rule than the case"},
        "unused": {"onesided": "it has no pipeline stages"},
        "frozen": {"tied": "a frozen tied parameter has no gradient, as any frozen one"},
        "backwards": "no_sync() marks whole micro-batches",
        "start": "it shards each rank's own values: the caller makes them equal",
        "replicas": "it shards over extra_dp_group as well (base_store.py:12)",
        "groups_vary": "its optimizer flattens the groups once, and all ranks need the same",
    },
    "without": [
        {
            "precision": ["fp32", "bf16"],
            "scale": ["unit", "static"],
            "why": "only fp16 has a loss scale",
        },
        {"precision": "fp16", "scale": "one", "why": "fp16 always has a loss scale"},
        {
            "precision": ["fp32", "bf16"],
            "overflow": ["yes", "sum"],
            "why": "only the loss scale of fp16 detects overflow",
        },
    ],
}


class Cpu(CpuAccelerator):
    """The CPU under the name that LowLevelZeroOptimizer accepts."""

    def __init__(self):
        super().__init__()
        self._name = "cuda"

    def device_count(self):
        return 1

    def Stream(self, *_, **__):
        return None

    def stream(self, _):
        return contextlib.nullcontext()

    def current_stream(self, _=None):
        return None

    def synchronize(self, _=None):
        pass


def owned(me, linear, optim, value):
    """value(master) of this rank's part of each parameter that has one, without the padding of the
    last part."""
    found = {}
    for j in linear.entries:
        w = linear.of(j)
        part = value(optim.working_to_master_param[id(w)]) if w.requires_grad else None
        if part is not None:
            start = part.numel() * me.rank
            own = part.flatten()[: max(0, w.numel() - start)]
            found[me.case["parameters"][j]["name"]] = [[min(start, w.numel()), hexes(own)]]
    return found


def one_step(me, linear, optim, step):
    case = me.case
    for m, term, last in backwards(case):
        quiet = not last and case["zero"] == 1  # ZeRO 2 reduces each micro-batch
        with optim.no_sync() if quiet else contextlib.nullcontext():
            optim.backward(linear(step, m, term) / case["micro_batches"])
    set_rates(case, optim.optim, step)
    stepped = []
    seen = optim.optim.register_step_post_hook(lambda *_: stepped.append(True))
    optim.step()
    seen.remove()
    optim.zero_grad()
    mine = {"skipped": not stepped, "norm": None, "scale": None, "loss": me.position.noted()}
    scale = 1.0
    if case["precision"] == "fp16":
        scale = float(optim.mixed_precision_mixin.grad_scaler.scale)
        mine["scale"] = scale.hex()
    if case["clip"] and stepped:  # ColossalAI divides it by the scale where it clips
        mine["norm"] = (float(optim._current_grad_norm) / scale).hex()
    me.steps.append({**mine, **state(me, linear, optim)})


def state(me, linear, optim):
    """What the rank holds."""
    return {
        "masters": owned(me, linear, optim, lambda w: w),
        "parameters": linear.parameters_by_name(),
        **moments(optim.optim, lambda value: owned(me, linear, optim, value)),
    }


def load(me, linear, optim):
    """As LowLevelZeroPlugin does: the masters are made of the loaded model."""
    saved = load_whole(me, linear)
    optim.update_master_params(linear)
    optim.load_state_dict(saved)
    me.steps[-1] = state(me, linear, optim)


def main(me):
    case = me.case
    with me.recorder.pause():
        me.environment("zeroproof")
    set_accelerator(Cpu())
    linear = Linear(me.position).to(DTYPES[case["precision"]])
    scale = case["scale"]["first"]
    optim = LowLevelZeroOptimizer(
        optimizer_of(case, linear.groups()),
        initial_scale=scale,
        min_scale=scale,
        max_scale=scale,
        clip_grad_norm=case["clip"]["max_norm"] if case["clip"] else 0.0,
        reduce_bucket_size=case["bucket"],
        communication_dtype=torch.float32 if case["communicate"] == "fp32" else None,
        partition_grad=case["zero"] == 2,
    )
    if me.load:
        load(me, linear, optim)
    for step in me.todo():
        me.begin(step)
        one_step(me, linear, optim, step)
    if me.save:  # as LowLevelZeroPlugin does: all ranks gather the optimizer's state
        save_whole(me, linear, optim.state_dict(only_on_master=True))


if __name__ == "__main__":
    serve(HELLO, main)
