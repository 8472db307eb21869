"""An engine's state as a dict of whole tensors, in the layout of get_state_dict of
torch.distributed.checkpoint.state_dict, and as files of it: torch.distributed.checkpoint (DCP) and
safetensors."""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ._alarm import text_of
from ._description import names_of, numbers_of, torch_numbers
from ._engine import EngineError

if TYPE_CHECKING:
    from .engine import Engine

# Names of moments, as torch's optimizers have them.
MOMENTS = {
    "adamw": {"moment1": "exp_avg", "moment2": "exp_avg_sq"},
    "sgd": {"moment1": "momentum_buffer"},
}
TORCH: Mapping[str, Any] = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
MASTER = "master"  # beside the moments, of parameters that are not fp32


def why_not(engine: Engine, saved: Mapping[str, Any], other_batch: bool) -> str:
    """Why a checkpoint that says this of its run (Native.peek) does not fit the engine, or ""."""
    try:
        kinds = [str(one["kind"]) for one in saved["hyper"]["optim"]]
    except (KeyError, TypeError):
        return ""  # of an earlier version, or damaged, which load() reports
    if kinds and kinds != engine._kinds:
        return (
            f"the checkpoint has optimizers of kind {', '.join(kinds)}, and the engine has "
            f"{', '.join(engine._kinds)}: make the engine with those of the checkpoint"
        )
    batch, was = engine.world * engine.micro_batches, saved.get("global_batch")
    if was is not None and was != batch and not other_batch:
        return (
            f"the checkpoint's steps had {was} micro-batches, and this engine's have "
            f"{engine.world} ranks x {engine.micro_batches} = {batch}: change micro_batches, or "
            "pass other_batch=True to load()"
        )
    return ""


# ---- From the engine -----------------------------------------------------------------------------


def _whole(engine: Engine, j: int, state: str) -> torch.Tensor:
    """All elements of a state of entry j, in fp32: collective."""
    native = engine._open()
    full = torch.zeros(native.entries[j].first.numel())
    held = 0
    for at, values in native.read_state(j, state):
        full[at : at + values.numel()] = values
        held += values.numel()
    if engine.stage > 0 and native.transport is not None:  # each element is held by one rank
        native.transport.sum(full.view(torch.int32))  # its bits: -0.0 + 0.0 were 0.0
    return full.view(native.entries[j].first.shape)


def state_dict(engine: Engine) -> dict[str, Any]:
    native = engine._open()
    whole, powers = native.progress()
    states = dict[str, dict[str, Any]]()
    groups: list[dict[str, Any]] = [
        {
            **(TORCH[kind]([torch.zeros(1)]).param_groups[0]),  # so that torch's optimizer takes it
            **torch_numbers(kind, native.numbers(number)),
            "kind": kind,
            "params": list[str](),
        }
        for number, kind in enumerate(engine._kinds)
    ]
    for j, name in enumerate(engine._named):
        entry = native.entries[j]
        if entry.frozen:
            continue
        groups[entry.group]["params"].append(name)
        state: dict[str, Any] = {"step": torch.tensor(float(whole[5 + entry.group]))}
        for moment, known in MOMENTS[engine._kinds[entry.group]].items():
            state[known] = _whole(engine, j, moment)
        if entry.first.dtype != torch.float32:
            state[MASTER] = _whole(engine, j, "master")
        states[name] = state
    model = {name: x.detach().clone() for name, x in _tensors(engine).items()}
    progress = {"steps": whole[0], "scale": whole[1:5], "updates": whole[5:], "powers": powers}
    return {
        "model": model,
        "optim": {"state": states, "param_groups": groups},
        "engine": progress,
    }


# ---- To the engine -------------------------------------------------------------------------------


class _Loaded:
    """A state dict, checked against an engine's model. Raises ValueError."""

    def __init__(self, engine: Engine, state: Mapping[str, Any]) -> None:
        native = engine._open()
        model = names_of(_member(state, "model"))
        for name, tied in _tied(engine).items():  # a file may have one name of several
            if name not in model and tied in model:
                model[name] = model[tied]
        optim = state.get("optim", {})
        states: Mapping[str, Any] = names_of(optim.get("state", {}))
        for name in states:
            if name not in engine._named and name not in model:
                raise ValueError(
                    f"load_state_dict: the optimizer's state has '{name}', which is no parameter "
                    "of the model: use get_state_dict of torch.distributed.checkpoint.state_dict, "
                    "whose keys are parameters' names"
                )
        ours = _tensors(engine)
        for name in ours:
            if name not in model and name not in engine._named:
                raise ValueError(f"load_state_dict: the model's {name} is missing")
        for name in model:
            if name not in ours:
                raise ValueError(f"load_state_dict: the model has no {name}")
        self.buffers = {
            name: _tensor(model[name], x.shape, f"model's {name}")
            for name, x in ours.items()
            if name not in engine._named
        }
        # masters, and of trained ones the moments
        self.values = list[tuple[torch.Tensor, dict[str, torch.Tensor]]]()
        steps = [list[int]() for _ in engine._kinds]
        for j, name in enumerate(engine._named):
            shape, group = native.entries[j].first.shape, native.entries[j].group
            mine = states.get(name, {})
            source = mine if MASTER in mine and not native.entries[j].frozen else model
            key = MASTER if source is mine else name
            if key not in source:
                raise ValueError(f"load_state_dict: the model's {name} is missing")
            master = _tensor(source[key], shape, f"{name}")
            moments = dict[str, torch.Tensor]()
            if not native.entries[j].frozen:
                steps[group].append(int(mine.get("step", 0)))
                for moment, known in MOMENTS[engine._kinds[group]].items():
                    found = mine.get(known)
                    if found is None and mine and known != "momentum_buffer":
                        raise ValueError(f"load_state_dict: {name} has no {known}")
                    moments[moment] = (
                        torch.zeros(shape)
                        if found is None
                        else _tensor(found, shape, f"{known} of {name}")
                    )
            self.values.append((master, moments))
        self.numbers = _numbers(engine, optim.get("param_groups", []))
        self.progress = _progress(engine, state.get("engine"), steps, self.numbers)

    def digest(self) -> str:
        found = hashlib.sha256(repr((self.numbers, self.progress)).encode())
        for master, moments in self.values:
            for x in (master, *moments.values()):
                found.update(x.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        return found.hexdigest()


def _tensors(engine: Engine) -> dict[str, torch.Tensor]:
    """The model's parameters and buffers, without what get_extra_state() adds."""
    every = names_of(engine.model.state_dict())
    return {name: x for name, x in every.items() if isinstance(x, torch.Tensor)}


def _tied(engine: Engine) -> dict[str, str]:
    """By the name of a parameter that the model uses in several places, another name of it."""
    first = {id(p): name for name, p in engine._named.items()}
    every = names_of(dict(engine.model.named_parameters(remove_duplicate=False)))
    return {first[id(p)]: name for name, p in every.items() if name != first[id(p)]}


def _member(state: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    if not isinstance(state, Mapping) or not isinstance(state.get(name), Mapping):
        raise ValueError(
            f"load_state_dict: there is no '{name}'; it takes what state_dict() returns, or a dict "
            "of 'model' and 'optim' as get_state_dict of torch.distributed.checkpoint.state_dict "
            "gives them"
        )
    found: Mapping[str, Any] = state[name]
    return found


def _tensor(x: Any, shape: torch.Size, what: str) -> torch.Tensor:
    """In fp32 if it is floating, dense, on the CPU."""
    if hasattr(x, "full_tensor"):  # a DTensor
        x = x.full_tensor()
    if not isinstance(x, torch.Tensor) or x.shape != shape:
        got = list(x.shape) if isinstance(x, torch.Tensor) else type(x).__name__
        raise ValueError(f"load_state_dict: {what} is {got}, not a tensor of shape {list(shape)}")
    found: torch.Tensor = x.detach().cpu()
    return (found.float() if found.is_floating_point() else found).contiguous()


def _numbers(engine: Engine, given: Sequence[Any]) -> list[dict[str, float]] | None:
    """The optimizer groups' numbers, or None if the file has no groups."""
    if not given:
        return None
    if len(given) != len(engine._kinds):
        raise ValueError(
            f"load_state_dict: there are {len(given)} param_groups, and the engine has "
            f"{len(engine._kinds)}"
        )
    found = list[dict[str, float]]()
    for kind, number, group in zip(engine._kinds, itertools.count(), given, strict=False):
        native = engine._open()
        known = torch_numbers(kind, native.numbers(number))
        if group.get("kind", kind) != kind:
            raise ValueError(
                f"load_state_dict: param_groups {number} is of kind '{group['kind']}', and the "
                f"engine's of '{kind}'"
            )
        found.append(numbers_of(kind, {**known, **{n: group[n] for n in known if n in group}}))
    return found


def _progress(
    engine: Engine,
    given: Mapping[str, Any] | None,
    steps: Sequence[Sequence[int]],
    numbers: Sequence[Mapping[str, float]] | None,
) -> tuple[list[int], list[float]]:
    """Steps, loss scale and updates. Without an engine's own: from the parameters' `step`."""
    native = engine._open()
    whole, powers = native.progress()
    if given is not None:
        scale = list(given["scale"]) if engine._dynamic else whole[1:5]
        return [given["steps"], *scale, *given["updates"]], list(given["powers"])
    for number, ours in enumerate(steps):
        if len(set(ours)) > 1:
            raise ValueError(
                f"load_state_dict: the parameters of param_groups {number} have had {min(ours)} to "
                f"{max(ours)} updates; the engine counts them by group"
            )
        updates = ours[0] if ours else 0
        of = numbers[number] if numbers else native.numbers(number)
        power = [1.0, 1.0]
        for _ in range(updates):  # as the engine multiplies
            power = [power[0] * of.get("beta1", 1.0), power[1] * of.get("beta2", 1.0)]
        whole[5 + number], powers[2 * number : 2 * number + 2] = updates, power
    whole[0] = max(whole[5 : 5 + len(steps)])
    return whole, powers


def load_state_dict(engine: Engine, make: Callable[[], Mapping[str, Any]]) -> None:
    """make: gives the state dict."""
    native = engine._open()
    found: _Loaded | None = None
    error = ""
    try:
        found = _Loaded(engine, make())
    except Exception as refused:
        error = (
            str(refused)
            if isinstance(refused, (ValueError, OSError, ImportError))
            else (f"load_state_dict: {text_of(refused)}")
        )
    said = engine._everyone((error, found.digest() if found else ""))
    for r, (text, _) in enumerate(said):
        if text:
            raise ValueError(f"rank {r}: {text}")
    for r, (_, digest) in enumerate(said):
        if digest != said[0][1]:
            raise ValueError(f"load_state_dict: rank {r} has other values than rank 0")
    assert found is not None
    before = [native.numbers(number) for number in range(len(engine._kinds))]
    try:  # what may be refused, on all ranks
        for number, numbers in enumerate(found.numbers or []):
            native.optimizer(number, engine._kinds[number], dict(numbers))
        native.resume(*found.progress)
    except (EngineError, ValueError) as refused:
        for number, numbers in enumerate(before):
            native.optimizer(number, engine._kinds[number], numbers)
        raise ValueError(f"load_state_dict: {refused}") from None
    with torch.no_grad():
        for j, (master, moments) in enumerate(found.values):
            for state, full in {"master": master, **moments}.items():
                for at, count in native.held(j):
                    native.write_state(j, state, at, full.view(-1)[at : at + count])
            engine._parameters[j].data.copy_(master)  # to nearest, as the engine rounds
        buffers = _tensors(engine)
        for name, x in found.buffers.items():
            buffers[name].copy_(x)


# ---- Files ---------------------------------------------------------------------------------------


def flat_of(state: Any, prefix: str = "") -> dict[str, Any]:
    """As torch.distributed.checkpoint names the leaves: joined by dots."""
    if isinstance(state, Mapping):
        pairs: Any = state.items()
    elif isinstance(state, list) and any(isinstance(x, Mapping) for x in state):
        pairs = enumerate(state)
    else:
        return {prefix: state}
    found = dict[str, Any]()
    for name, x in pairs:
        found |= flat_of(x, f"{prefix}.{name}" if prefix else str(name))
    return found


def nested_of(flat: Mapping[str, Any], model: str, optim: str) -> dict[str, Any]:
    """What flat_of() had, with the names under which the model and the optimizer were saved."""
    found: dict[str, Any] = {"model": {}, "optim": {"state": {}}}
    groups = dict[int, dict[str, Any]]()
    group = re.compile(re.escape(optim) + r"\.param_groups\.(\d+)\.(\w+)")
    for key, x in flat.items():
        if matched := group.fullmatch(key):
            groups.setdefault(int(matched[1]), {})[matched[2]] = x
        elif key.startswith(f"{optim}.state."):
            name, _, part = key.removeprefix(f"{optim}.state.").rpartition(".")
            found["optim"]["state"].setdefault(name, {})[part] = x
        elif key.startswith(f"{model}."):
            found["model"][key.removeprefix(f"{model}.")] = x
        elif key.startswith("engine."):
            found.setdefault("engine", {})[key.removeprefix("engine.")] = x
    found["optim"]["param_groups"] = [groups[number] for number in sorted(groups)]
    return found


def save_dcp(engine: Engine, folder: str) -> None:
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.state_dict_saver import save

    alone = engine._own is None
    if any(engine._everyone(os.path.exists(os.path.join(folder, ".metadata")))):
        raise engine._error(f"save_dcp: {folder} has a checkpoint already")
    try:
        state = state_dict(engine)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            save(state, checkpoint_id=folder, process_group=engine._own, no_dist=alone)
    except EngineError:
        raise
    except (Exception, CheckpointException) as error:  # on all ranks
        raise engine._error(f"save_dcp: {folder}: {text_of(error)}") from error


def read_dcp(engine: Engine, folder: str, model: str, optim: str | None) -> dict[str, Any]:
    """Each rank reads all."""
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.filesystem import FileSystemReader
    from torch.distributed.checkpoint.metadata import TensorStorageMetadata
    from torch.distributed.checkpoint.state_dict_loader import load

    if not os.path.isdir(folder):
        raise ValueError(f"load_dcp: there is no folder {folder}")
    try:
        stored = FileSystemReader(folder).read_metadata().state_dict_metadata
    except Exception as error:
        raise ValueError(
            f"load_dcp: {folder} is not of torch.distributed.checkpoint: {error}"
        ) from None
    wanted = (f"{model}.", f"{optim}.", "engine.") if optim is not None else (f"{model}.",)
    flat: dict[str, Any] = {
        key: torch.empty(x.size, dtype=x.properties.dtype)
        if isinstance(x, TensorStorageMetadata)
        else None
        for key, x in stored.items()
        if key.startswith(wanted)
    }
    if not any(key.startswith(wanted[0]) for key in flat):
        some = ", ".join(sorted({key.partition(".")[0] for key in stored})[:8])
        raise ValueError(f"load_dcp: {folder} has no '{model}'; it has {some}")
    others = sorted({key.partition(".")[0] for key in stored} - {model, "engine"})
    if optim is not None and others and not any(key.startswith(f"{optim}.") for key in flat):
        raise ValueError(
            f"load_dcp: {folder} has no '{optim}', but {', '.join(others[:8])}: pass optim= the "
            "name of what get_state_dict gave for the optimizer, or optim=None for weights alone"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            load(flat, checkpoint_id=folder, no_dist=True)
        except (Exception, CheckpointException) as error:
            raise ValueError(f"load_dcp: {folder}: {text_of(error)}") from None
    return nested_of(flat, model, optim or "")


def save_safetensors(engine: Engine, path: str) -> None:
    flat = flat_of(state_dict(engine))

    def write() -> None:
        tensors = {key: x for key, x in flat.items() if isinstance(x, torch.Tensor)}
        others = {key: x for key, x in flat.items() if key not in tensors}
        part = f"{path}.part"
        metadata = {"format": "pt", "zeroproof": json.dumps(others)}
        _safetensors("save_file")(tensors, part, metadata=metadata)
        os.replace(part, path)

    error = engine._after_first(write)
    if error:
        raise engine._error(f"save_safetensors: {path}: {error}")


def read_safetensors(path: str) -> dict[str, Any]:
    """A file of save_safetensors, or of a model's weights alone."""
    safe_open = _safetensors("safe_open")
    try:
        with safe_open(path, framework="pt") as file:
            others = (file.metadata() or {}).get("zeroproof")
            flat = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (no Mapping)
    except Exception as error:
        raise ValueError(f"load_safetensors: {path}: {error}") from None
    if others is None:
        return {"model": flat}
    return nested_of({**flat, **json.loads(others)}, "model", "optim")


def _safetensors(name: str) -> Any:
    module = "safetensors.torch" if name == "save_file" else "safetensors"
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError:
        raise ImportError(
            "zeroproof: this needs safetensors: it comes with the extra zeroproof[safetensors]"
        ) from None
