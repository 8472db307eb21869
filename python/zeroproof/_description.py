"""What Engine is given, checked, and equal on all ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist

from ._cuda_engine import CudaNative, is_simulated, library
from ._engine import DTYPES, KINDS, REDUCE, Entry, Native

BUCKET = 1 << 24  # elements
GROUPS = 8  # ZP_HYPER_GROUPS
ADAMW = {"lr": 1e-3, "weight_decay": 0.01, "eps": 1e-8, "beta1": 0.9, "beta2": 0.999}
SGD = {"lr": 1e-3, "weight_decay": 0.0, "momentum": 0.0}
# A dynamic loss scale is halved by `hysteresis` overflows, doubled by `window` steps without one.
SCALE = {"first": 2.0**16, "window": 2000, "hysteresis": 1, "consecutive": False, "least": 1.0}
SCALE |= {"most": 2.0**24}
OWNED = "_zeroproof_engine"  # attribute of a parameter that an engine owns


def names_of(named: Mapping[str, Any]) -> dict[str, Any]:
    """Names as the model has them without torch.compile."""
    return {str(name).replace("_orig_mod.", ""): x for name, x in named.items()}


def numbers_of(kind: str, given: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of an optimizer group, with torch's names. Raises ValueError for others."""
    values = dict(ADAMW if kind == "adamw" else SGD)
    for name, value in given.items():
        if name == "betas" and kind == "adamw":
            values["beta1"], values["beta2"] = (float(b) for b in value)
        elif name in values and not name.startswith("beta"):
            values[name] = float(value)
        elif name not in ("kind", "params", "initial_lr", "param_names"):
            known = ", ".join([*(n for n in values if not n.startswith("beta")), "kind", "params"])
            raise ValueError(
                f"Engine: an optimizer of kind '{kind}' has no '{name}'; it has {known}"
                + (", betas" if kind == "adamw" else "")
            )
    return values


def engine_of(engine: str) -> tuple[type[Native], str]:
    """The engine's class, and where its tensors are. Raises ValueError."""
    if engine == "ref":
        return Native, "cpu"
    if engine != "cuda":
        raise ValueError(f"Engine: engine is {engine!r}; it must be 'ref' or 'cuda'")
    return CudaNative, "cpu" if is_simulated(library()) else "cuda"


class Description:
    """What Engine is given, checked. Raises ValueError."""

    def __init__(self, model: torch.nn.Module, optimizer: Any, **settings: Any) -> None:
        self.settings = settings
        self.native, device = engine_of(settings["engine"])
        for name, part in model.named_modules():
            if hasattr(part, "no_sync") or hasattr(part, "set_requires_gradient_sync"):
                raise ValueError(
                    f"Engine: {name or 'the model'} is a {type(part).__name__}: pass the model "
                    "within it, as the engine reduces gradients itself"
                )
        self.named = names_of(dict(model.named_parameters()))  # each shared Parameter once
        if not self.named:
            raise ValueError("Engine: the model has no parameters")
        for name, p in self.named.items():
            if hasattr(p, "device_mesh"):
                raise ValueError(
                    f"Engine: {name} is a DTensor on {p.device_mesh}: the engine shards over "
                    "data-parallel ranks itself, and has no tensor, pipeline or expert parallelism"
                )
            where = "the CPU" if device == "cpu" else "a CUDA device"
            if p.device.type != device or p.layout != torch.strided:
                raise ValueError(f"Engine: {name} is on {p.device}; it must be dense, on {where}")
            if getattr(p, OWNED, False):
                raise ValueError(
                    f"Engine: {name} belongs to another engine; close() that one first"
                )
        if settings["reduce"] not in REDUCE:
            known = ", ".join(REDUCE)
            raise ValueError(f"Engine: reduce is {settings['reduce']!r}; it must be one of {known}")
        for name in ("stage", "micro_batches", "bucket"):
            if not isinstance(settings[name], int):
                raise ValueError(f"Engine: {name} is {settings[name]!r}; it must be an int")
        self.precision = self._precision()
        self.groups = self._groups(optimizer)
        self.scale = self._scale(settings["scale"])

    def _groups(self, optimizer: Any) -> list[tuple[str, dict[str, float]]]:
        """kind and numbers of each optimizer group."""
        given = (
            [optimizer or {}] if optimizer is None or isinstance(optimizer, Mapping) else optimizer
        )
        if not isinstance(given, Sequence) or not all(isinstance(one, Mapping) for one in given):
            raise ValueError(
                f"Engine: optimizer is {type(optimizer).__name__}; it must be a dict such as "
                "dict(lr=1e-3), or a list of dicts with params, as torch.optim takes them"
            )
        if not 1 <= len(given) <= GROUPS:
            raise ValueError(f"Engine: {len(given)} optimizer groups; there can be 1 to {GROUPS}")
        names = {id(p): name for name, p in self.named.items()}
        found, self.group_of = [], dict[int, int]()
        for number, one in enumerate(given):
            kind = one.get("kind", "adamw")
            if kind not in KINDS:
                raise ValueError(f"Engine: optimizer kind is {kind!r}; it must be adamw or sgd")
            params = list(one["params"]) if "params" in one else list(self.named.values())
            for p in params:
                if id(p) not in names:
                    raise ValueError(f"Engine: group {number} has a parameter of another model")
                first = self.group_of.setdefault(id(p), number)
                if first != number:
                    raise ValueError(
                        f"Engine: {names[id(p)]} is in optimizer groups {first}, {number}"
                    )
            found.append((kind, numbers_of(kind, one)))
        for name, p in self.named.items():
            if p.requires_grad and id(p) not in self.group_of:
                raise ValueError(f"Engine: {name} is trained and in no optimizer group")
        return found

    def _scale(self, scale: float | str | Mapping[str, Any] | None) -> dict[str, Any]:
        """The numbers of SCALE, and whether it is dynamic."""
        if scale is None:
            scale = "dynamic" if self.precision == torch.float16 else 1.0
        if isinstance(scale, str) and scale == "dynamic":
            scale = {}
        if isinstance(scale, Mapping):
            for name in scale:
                if name not in SCALE:
                    raise ValueError(f"Engine: scale has no '{name}'; it has {', '.join(SCALE)}")
            found = {"dynamic": True, **SCALE, **scale}
        elif isinstance(scale, str):
            raise ValueError(
                f"Engine: scale is {scale!r}; it must be a number or 'dynamic', or a dict"
            )
        else:
            found = {"dynamic": False, **SCALE, "first": scale, "least": scale, "most": scale}
        for name in ("window", "hysteresis"):
            if not isinstance(found[name], int):
                raise ValueError(f"Engine: scale's {name} is {found[name]!r}; it must be an int")
        for name in ("first", "least", "most"):
            if math.frexp(found[name])[0] != 0.5:
                raise ValueError(f"Engine: scale is {found[name]}; it must be a power of two")
        return found

    def _precision(self) -> torch.dtype:
        """The dtype of the parameters that are not fp32, or fp32."""
        others = {p.dtype for p in self.named.values()} - {torch.float32}
        for name, p in self.named.items():
            if p.dtype not in DTYPES or (len(others) > 1 and p.dtype in others):
                raise ValueError(
                    f"Engine: {name} is {p.dtype}; parameters are fp32, and of bf16 or fp16 one"
                )
        return others.pop() if others else torch.float32

    def entries(self) -> list[Entry]:
        return [
            Entry(
                name,
                p.detach().contiguous(),
                self.group_of.get(id(p), 0),
                not p.requires_grad,
                p.dtype == torch.float32 and self.precision != torch.float32,
            )
            for name, p in self.named.items()
        ]

    def facts(self) -> dict[str, Any]:
        """What must be equal on all ranks."""
        facts = {name: x for name, x in self.settings.items() if name != "scale"}
        facts.update({f"{word} of scale": x for word, x in self.scale.items()})
        for number, (kind, numbers) in enumerate(self.groups):
            facts[f"kind of optimizer group {number}"] = kind
            facts.update({f"{n} of optimizer group {number}": x for n, x in numbers.items()})
        for name, p in self.named.items():
            facts[f"shape of parameter {name}"] = tuple(p.shape)
            facts[f"dtype of parameter {name}"] = str(p.dtype)
            facts[f"requires_grad of parameter {name}"] = p.requires_grad
            facts[f"optimizer group of parameter {name}"] = self.group_of.get(id(p), 0)
        return facts


def store_of_job() -> Any:
    """The store that init_process_group has made, or was given."""
    return dist.distributed_c10d._get_default_store()


def described(
    group: dist.ProcessGroup | None, make: Callable[[], Description], rank: int, world: int
) -> tuple[Description, int]:
    """make(), if it succeeds on all ranks with the same facts, and the engine's number, which is
    new and the same on all ranks. All ranks raise the same error."""
    number = store_of_job().add("zeroproof engines", 1) if group is not None and rank == 0 else 0
    found: Description | None = None
    error = ""
    try:
        found = make()
    except (ValueError, TypeError) as refused:
        error = str(refused)
    if group is not None:
        said: list[Any] = [None] * world
        dist.all_gather_object(said, (error, found.facts() if found else {}, number), group=group)
        failed = [(r, text) for r, (text, _, _) in enumerate(said) if text]
        if failed:
            raise ValueError(f"rank {failed[0][0]}: {failed[0][1]}")
        _, first, number = said[0]
        for r, (_, facts, _) in enumerate(said):
            for name in [*first, *facts]:
                here, there = first.get(name, "missing"), facts.get(name, "missing")
                if here != there:
                    raise ValueError(f"Engine: {name} is {here} on rank 0 and {there} on rank {r}")
    if found is None:
        raise ValueError(error)
    return found, number


def torch_numbers(kind: str, numbers: Mapping[str, float]) -> dict[str, Any]:
    """Numbers of an optimizer group as torch's param_groups have them."""
    if kind == "sgd":
        return {name: numbers[name] for name in SGD}
    betas = (numbers["beta1"], numbers["beta2"])
    return {**{name: numbers[name] for name in ("lr", "weight_decay", "eps")}, "betas": betas}
