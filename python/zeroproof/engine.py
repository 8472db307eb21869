"""The verified engine under PyTorch: ZeRO stages 0, 1 and 2 for any nn.Module, on the CPU.

    engine = zeroproof.torch.Engine(model, dict(lr=1e-3), stage=2, micro_batches=4)
    for batches in data:                    # 4 micro-batches of this rank
        for x, y in batches:
            with engine.micro_batch():
                engine.backward(loss_of(model(x), y))
        engine.step()

With reduce="exact", losses, norms and parameters have the same bits for every number of ranks,
stage and bucket size, as long as the micro-batches are the same: micro-batch mb of rank r is number
mb · world + r of the global batch (STEP-1)."""

from __future__ import annotations

import contextlib
import datetime
import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist

from ._engine import DTYPES, KINDS, REDUCE, EngineError, Entry, Native, State, Transport

BUCKET = 1 << 24  # elements
ADAMW = {"lr": 1e-3, "weight_decay": 0.01, "eps": 1e-8, "beta1": 0.9, "beta2": 0.999}
SGD = {"lr": 1e-3, "weight_decay": 0.0, "momentum": 0.0}


def _numbers(kind: str, given: dict[str, Any]) -> dict[str, float]:
    """The numbers of an optimizer group, with torch's names. Raises ValueError for others."""
    values = dict(ADAMW if kind == "adamw" else SGD)
    for name, value in given.items():
        if name == "betas" and kind == "adamw":
            values["beta1"], values["beta2"] = (float(b) for b in value)
        elif name in values and not name.startswith("beta"):
            values[name] = float(value)
        elif name not in ("kind", "params", "initial_lr"):
            known = ", ".join([*(n for n in values if not n.startswith("beta")), "kind", "params"])
            raise ValueError(
                f"Engine: an optimizer of kind '{kind}' has no '{name}'; it has {known}"
                + (", betas" if kind == "adamw" else "")
            )
    return values


class Engine:
    """A model whose parameters, gradients and optimizer state the engine owns.

    model: its parameters become views of the engine's memory, and get the first rank's values.
        Frozen ones (requires_grad=False) and those in fp32 beside others in bf16 or fp16 are kept
        so; one that is used in several places is one entry.
    optimizer: a dict of lr, weight_decay, betas, eps (kind="adamw", the default) or lr,
        weight_decay, momentum (kind="sgd"; weight decay is decoupled, unlike torch.optim.SGD's);
        or a list of such dicts, each with its `params`.
    stage: 0, 1 or 2. micro_batches: of each rank in a step. reduce: "exact" or "ordered" (fp32 sums
        in a fixed order, which depend on the number of ranks). bucket: elements of a bucket. clip:
        the largest global norm, or None. scale: the loss scale, a power of two, or "dynamic" (from
        2^16), which models with parameters in fp16 have by default; others have 1. group: the
        process group of all ranks that train; None: all ranks, or this process alone where
        torch.distributed is not initialized. timeout_s: how long a rank waits for another one.

    Raises ValueError for what is refused, EngineError for errors of the engine; after an
    EngineError the engine has ended, except as its message says."""

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: dict[str, Any] | Sequence[dict[str, Any]] | None = None,
        *,
        stage: int = 2,
        micro_batches: int = 1,
        reduce: str = "exact",
        bucket: int = BUCKET,
        clip: float | None = None,
        scale: float | str | None = None,
        group: dist.ProcessGroup | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        if reduce not in REDUCE:
            raise ValueError(f"Engine: reduce is {reduce!r}; it must be one of {', '.join(REDUCE)}")
        self.model, self.micro_batches = model, micro_batches
        self.last: State | None = None
        self._named = dict(model.named_parameters())  # each shared Parameter once
        if not self._named:
            raise ValueError("Engine: the model has no parameters")
        self._groups = self._take_groups(optimizer)
        self._mb, self._inside, self._losses = 0, False, 0.0
        self._held: dict[int, torch.Tensor] = {}
        together = dist.is_available() and dist.is_initialized()
        rank = dist.get_rank(group) if together else 0
        world = dist.get_world_size(group) if together else 1
        transport = None
        if world > 1:
            ranks = dist.get_process_group_ranks(group or dist.group.WORLD)
            limit = datetime.timedelta(seconds=timeout_s)
            own = dist.new_group(ranks, backend="gloo", timeout=limit)
            transport = Transport(own, lambda text: None)
        self.native = Native(
            self._entries(),
            rank=rank,
            world=world,
            stage=stage,
            reduce=reduce,
            precision=self._precision(),
            micro_batches=micro_batches,
            bucket=bucket,
            transport=transport,
        )
        for number, settings in enumerate(self._groups):
            self.native.optimizer(number, settings["kind"], settings["numbers"])
        self.native.clip(clip or 0.0, 1e-6)
        self._take_scale(scale)
        self.native.open()
        self._parameters = list(self._named.values())
        self._views = []
        for j, p in enumerate(self._parameters):
            view = self.native.parameter(j)
            p.data = view
            p.grad = None
            self._views.append(view)
            if p.requires_grad:
                hooked: Any = p
                hooked.register_post_accumulate_grad_hook(self._hook(j))

    # ---- What the engine is given ----------------------------------------------------------------

    def _take_groups(self, optimizer: Any) -> list[dict[str, Any]]:
        """kind, numbers and the ids of the parameters of each optimizer group."""
        given = [optimizer or {}] if optimizer is None or isinstance(optimizer, dict) else optimizer
        trained = {id(p): name for name, p in self._named.items() if p.requires_grad}
        found, seen = [], dict[int, int]()
        for number, one in enumerate(given):
            kind = one.get("kind", "adamw")
            if kind not in KINDS:
                raise ValueError(f"Engine: optimizer kind is {kind!r}; it must be adamw or sgd")
            params = list(one["params"]) if "params" in one else list(self._named.values())
            for p in params:
                if seen.setdefault(id(p), number) != number:
                    name = trained.get(id(p), "a parameter")
                    raise ValueError(
                        f"Engine: {name} is in optimizer groups {seen[id(p)]}, {number}"
                    )
            found.append({"kind": kind, "numbers": _numbers(kind, one)})
        missing = [name for key, name in trained.items() if key not in seen]
        if missing:
            raise ValueError(f"Engine: {missing[0]} is trained and in no optimizer group")
        self._group_of = seen
        return found

    def _take_scale(self, scale: float | str | None) -> None:
        """Sets the engine's loss scale, and remembers the first one."""
        if scale is None:
            scale = "dynamic" if self._precision() == torch.float16 else 1.0
        if isinstance(scale, str) and scale != "dynamic":
            raise ValueError(f"Engine: scale is {scale!r}; it must be a number or 'dynamic'")
        self._first_scale = 2.0**16 if isinstance(scale, str) else float(scale)
        significand, exponent = math.frexp(self._first_scale)
        if significand != 0.5:
            raise ValueError(f"Engine: scale is {scale}; it must be a power of two")
        self.native.scale(isinstance(scale, str), exponent - 1)

    def _precision(self) -> torch.dtype:
        """The dtype of the parameters that are not fp32, or fp32."""
        others = {p.dtype for p in self._named.values()} - {torch.float32}
        for name, p in self._named.items():
            if p.dtype not in DTYPES or (len(others) > 1 and p.dtype in others):
                raise ValueError(
                    f"Engine: {name} is {p.dtype}; parameters are fp32, and of bf16 or fp16 one"
                )
        return others.pop() if others else torch.float32

    def _entries(self) -> list[Entry]:
        precision = self._precision()
        return [
            Entry(
                name,
                p.detach().contiguous(),
                self._group_of.get(id(p), 0),
                not p.requires_grad,
                p.dtype == torch.float32 and precision != torch.float32,
            )
            for name, p in self._named.items()
        ]

    # ---- Gradients -------------------------------------------------------------------------------

    def _name(self, j: int) -> str:
        return list(self._named)[j]

    def _hook(self, j: int) -> Any:
        """A parameter's gradient has been added up in one backward: it moves to the engine's
        memory, or to a tensor of its own until the micro-batch ends."""

        def arrived(p: torch.Tensor) -> None:
            grad, p.grad = p.grad, None
            if not self._inside:
                raise EngineError(
                    f"Engine: backward of {self._name(j)} outside micro_batch(): write "
                    "`with engine.micro_batch():` around forward and backward"
                )
            if grad is None:
                return
            if j in self._held:
                self._held[j].add_(grad)
                return
            lent = self.native.lent(j, self._mb)
            self._held[j] = grad.contiguous() if lent is None else lent.copy_(grad)

        return arrived

    def _check_views(self) -> None:
        for j, (p, view) in enumerate(zip(self._parameters, self._views, strict=True)):
            if p.data_ptr() != view.data_ptr() or p.shape != view.shape:
                raise EngineError(
                    f"Engine: {self._name(j)}.data is no longer the engine's memory; change its "
                    "values in place (p.data.copy_)"
                )

    @contextlib.contextmanager
    def micro_batch(self) -> Iterator[int]:
        """Forward and any number of backwards of the next micro-batch, whose number it gives.
        Parameters without a gradient at its end count as unused."""
        if self._inside:
            raise EngineError(
                "Engine: micro_batch() within micro_batch(): end the first one before"
            )
        if self._mb == self.micro_batches:
            raise EngineError(
                f"Engine: micro-batch {self._mb} of {self.micro_batches}: step() comes first"
            )
        self._check_views()
        self._inside, self._losses, self._held = True, 0.0, {}
        try:
            yield self._mb
        finally:
            self._inside = False
        self.native.loss(self._mb, self._losses)
        for j in reversed(range(len(self._parameters))):
            if not self._parameters[j].requires_grad:
                continue
            if j in self._held:
                self.native.ready(j, self._mb, self._held[j])
            else:
                self.native.unused(j, self._mb)
        self._held = {}
        self._mb += 1

    def backward(self, loss: torch.Tensor) -> None:
        """Gradients of a loss: the mean over the micro-batch, which is not divided by the number of
        micro-batches or ranks. Several losses of a micro-batch are added up."""
        if not self._inside:
            raise EngineError("Engine: backward() outside micro_batch()")
        scale = self.last.scale if self.last else self._first_scale
        self._losses += float(loss.detach())
        (loss * scale if scale != 1.0 else loss).backward()  # type: ignore[no-untyped-call]

    # ---- Steps -----------------------------------------------------------------------------------

    def set_rates(self, rates: Sequence[float]) -> None:
        """The learning rates of the next steps, one for each optimizer group."""
        for number, (settings, lr) in enumerate(zip(self._groups, rates, strict=True)):
            settings["numbers"]["lr"] = float(lr)
            self.native.optimizer(number, settings["kind"], settings["numbers"])

    def step(self) -> State:
        """Reduces, clips and updates; the parameters have their new values afterwards."""
        if self._inside:
            raise EngineError("Engine: step() within micro_batch()")
        if self._mb != self.micro_batches:
            raise EngineError(
                f"Engine: step() after {self._mb} of {self.micro_batches} micro-batches"
            )
        self.native.step()
        self._mb = 0
        self.last = self.native.get()
        return self.last

    def save(self, folder: str) -> None:
        """Writes a checkpoint, which any number of ranks, stage and bucket size can load."""
        self.native.save(folder)

    def load(self, folder: str) -> None:
        self.native.load(folder)
        self.last = self.native.get()

    def close(self) -> None:
        """Ends the engine, when all ranks have come. The parameters keep their values."""
        for p in self._parameters:
            p.data = p.data.clone()
        self._views = []
        self.native.close()
