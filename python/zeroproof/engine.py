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
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist

from ._alarm import Alarms, text_of
from ._engine import DTYPES, KINDS, NUMBERS, REDUCE, EngineError, Entry, Native, State, Transport

BUCKET = 1 << 24  # elements
GROUPS = 8  # ZP_HYPER_GROUPS
ADAMW = {"lr": 1e-3, "weight_decay": 0.01, "eps": 1e-8, "beta1": 0.9, "beta2": 0.999}
SGD = {"lr": 1e-3, "weight_decay": 0.0, "momentum": 0.0}
# A dynamic loss scale is halved by `hysteresis` overflows, doubled by `window` steps without one.
SCALE = {"first": 2.0**16, "window": 2000, "hysteresis": 1, "consecutive": False, "least": 1.0}
SCALE |= {"most": 2.0**24}
OWNED = "_zeroproof_engine"  # attribute of a parameter that an engine owns


def _numbers(kind: str, given: Mapping[str, Any]) -> dict[str, float]:
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


class _Description:
    """What Engine is given, checked. Raises ValueError."""

    def __init__(self, model: torch.nn.Module, optimizer: Any, **settings: Any) -> None:
        self.settings = settings
        self.named = dict(model.named_parameters())  # each shared Parameter once
        if not self.named:
            raise ValueError("Engine: the model has no parameters")
        for name, p in self.named.items():
            if p.device.type != "cpu" or p.layout != torch.strided:
                raise ValueError(f"Engine: {name} is on {p.device}; it must be dense, on the CPU")
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
            found.append((kind, _numbers(kind, one)))
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
        facts = {**self.settings, "scale": self.scale}
        for number, (kind, numbers) in enumerate(self.groups):
            facts[f"kind of optimizer group {number}"] = kind
            facts.update({f"{n} of optimizer group {number}": x for n, x in numbers.items()})
        for name, p in self.named.items():
            facts[f"parameter {name}"] = (
                *(tuple(p.shape), str(p.dtype), p.requires_grad, self.group_of.get(id(p), 0)),
            )
        return facts


def _store() -> Any:
    """The store that init_process_group has made, or was given."""
    return dist.distributed_c10d._get_default_store()


def _described(
    group: dist.ProcessGroup | None, make: Callable[[], _Description], rank: int, world: int
) -> tuple[_Description, int]:
    """make(), if it succeeds on all ranks with the same facts, and the engine's number, which is
    new and the same on all ranks. All ranks raise the same error."""
    number = _store().add("zeroproof engines", 1) if group is not None and rank == 0 else 0
    found: _Description | None = None
    error = ""
    try:
        found = make()
    except ValueError as refused:
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


class EngineOptimizer(torch.optim.Optimizer):
    """The engine as a torch Optimizer, for learning rate schedulers and training loops: step() is
    the engine's, zero_grad() has nothing to do, and the numbers in param_groups are those of the
    next step. Its state_dict has them alone: Engine.save() has the state."""

    _opt_called = False  # read by torch's schedulers: a step came first

    def __init__(self, engine: Engine, groups: list[dict[str, Any]]) -> None:
        self._engine = weakref.ref(engine)
        super().__init__(groups, {})

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Engine.step(). closure: None."""
        engine = self._engine()
        if closure is not None or engine is None:
            raise ValueError("EngineOptimizer: step() takes no closure, and needs its engine")
        engine.step()

    def zero_grad(self, set_to_none: bool = True) -> None:
        pass


def _torch_numbers(kind: str, numbers: Mapping[str, float]) -> dict[str, Any]:
    """Numbers of an optimizer group as torch's param_groups have them."""
    if kind == "sgd":
        return {name: numbers[name] for name in SGD}
    betas = (numbers["beta1"], numbers["beta2"])
    return {**{name: numbers[name] for name in ("lr", "weight_decay", "eps")}, "betas": betas}


class Engine:
    """A model whose parameters, gradients and optimizer state the engine owns.

    model: its parameters become views of the engine's memory, and get the first rank's values.
        Frozen ones (requires_grad=False) and those in fp32 beside others in bf16 or fp16 are kept
        so; one that is used in several places is one entry. Load a state_dict before this call.
        Buffers, such as BatchNorm's statistics, stay each rank's own.
    optimizer: a dict of lr, weight_decay, betas, eps (kind="adamw", the default) or lr,
        weight_decay, momentum (kind="sgd"; weight decay is decoupled, unlike torch.optim.SGD's);
        or a list of up to 8 such dicts, each with its `params`. A parameter that a step does not
        use has a gradient of zero: it is decayed, and moved by its momentum.
    stage: 0, 1 or 2. micro_batches: of each rank in a step. reduce: "exact" or "ordered" (fp32 sums
        in a fixed order, which depend on the number of ranks). bucket: elements of a bucket. clip:
        the largest global norm, or None. scale: the loss scale, a power of two, or "dynamic" (from
        2^16), which models with parameters in fp16 have by default; others have 1. A dict changes
        numbers of "dynamic": first (2^16), least (1), most (2^24), hysteresis (1: overflows that
        halve it; consecutive=True: in a row), window (2,000: steps without one that double it).
        group: the process group of all ranks that train; None: all ranks, or this process alone if
        it was not started by torchrun. timeout_s: how long a rank waits for another one.

    optimizer (attribute): a torch Optimizer, for torch.optim.lr_scheduler. last: what the last step
    returned, or None.

    The arguments are the same on all ranks. Engine(), step(), save(), load() and close() are called
    by all ranks. Raises ValueError for arguments that are refused, and EngineError otherwise. After
    an error of the engine itself every call raises it again: close() the engine, make another one
    and load a checkpoint."""

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        stage: int = 2,
        micro_batches: int = 1,
        reduce: str = "exact",
        bucket: int = BUCKET,
        clip: float | None = None,
        scale: float | str | Mapping[str, Any] | None = None,
        group: dist.ProcessGroup | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        together = dist.is_available() and dist.is_initialized()
        if not together and int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise ValueError("Engine: call torch.distributed.init_process_group('gloo') before")
        self.rank = dist.get_rank(group) if together else 0
        world = dist.get_world_size(group) if together else 1
        self._own: dist.ProcessGroup | None = None
        if world > 1:
            self._own = dist.new_group(
                dist.get_process_group_ranks(group or dist.group.WORLD),
                backend="gloo",
                timeout=datetime.timedelta(seconds=timeout_s),
                use_local_synchronization=True,  # groups of others do not count
            )
        self._alarms: Alarms | None = None
        self._transport: Transport | None = None
        self._native: Native | None = None
        self._hooks: list[Any] = []
        self._parameters: list[Any] = []
        self.model, self.micro_batches = model, micro_batches
        self.last: State | None = None
        settings = dict(stage=stage, micro_batches=micro_batches, reduce=reduce, bucket=bucket)
        settings |= dict(clip=clip, scale=scale)
        try:
            made, number = _described(
                self._own, lambda: _Description(model, optimizer, **settings), self.rank, world
            )
            if self._own is not None:
                prefix = f"zeroproof engine {number}"
                self._alarms = Alarms(_store(), prefix, self.rank, world)
                self._transport = Transport(self._own, self._alarms, 1.5 * timeout_s + 5)
            native = Native(
                made.entries(),
                rank=self.rank,
                world=world,
                stage=stage,
                reduce=reduce,
                precision=made.precision,
                micro_batches=micro_batches,
                bucket=bucket,
                transport=self._transport,
            )
            for number, (kind, numbers) in enumerate(made.groups):
                native.optimizer(number, kind, numbers)
            native.clip(clip or 0.0, 1e-6)
            native.scale(**made.scale)
            native.open()
        except BaseException:
            self._leave_group()
            raise
        self._named, self._first_scale = made.named, made.scale["first"]
        self._take_over(native)
        self._make_optimizer(made)
        self._begin()

    def _take_over(self, native: Native) -> None:
        """Parameters become views of the engine's memory."""
        self._native, self._parameters = native, list(self._named.values())
        self._views = [native.parameter(j) for j in range(len(self._parameters))]
        for j, (p, view) in enumerate(zip(self._parameters, self._views, strict=True)):
            p.data, p.grad = view, None
            setattr(p, OWNED, True)
            if p.requires_grad:
                self._hooks.append(p.register_post_accumulate_grad_hook(self._hook(j)))
        self._versions = [p._version for p in self._parameters]

    def _make_optimizer(self, made: _Description) -> None:
        self._kinds = [kind for kind, _ in made.groups]
        self.optimizer = EngineOptimizer(
            self,
            [
                {
                    "params": [p for p in self._parameters if made.group_of.get(id(p)) == number],
                    "kind": kind,
                    **_torch_numbers(kind, numbers),
                }
                for number, (kind, numbers) in enumerate(made.groups)
            ],
        )

    def _begin(self) -> None:
        """Of a step."""
        self._mb, self._inside, self._running, self._losses = 0, False, False, list[float]()
        self._held: dict[int, torch.Tensor] = {}
        self._lent: dict[int, torch.Tensor] = {}  # of this micro-batch, also of a failed attempt

    def _leave_group(self) -> None:
        if self._alarms is not None:
            self._alarms.close()
            self._alarms = None
        if self._own is not None and (self._transport is None or self._transport.ended):
            dist.destroy_process_group(self._own)
        self._own = None

    # ---- Checks ----------------------------------------------------------------------------------

    def _error(self, text: str) -> EngineError:
        return EngineError(f"rank {self.rank}: {text}")

    def _name(self, j: int) -> str:
        return list(self._named)[j]

    def _steps(self) -> int:
        return self.last.steps if self.last else 0

    def _open(self) -> Native:
        if self._native is None:
            raise self._error("the engine is closed")
        if self._alarms is not None and self._alarms.verdict:
            raise self._error(self._alarms.verdict)
        return self._native

    def _check_model(self) -> None:
        """The parameters are those that the engine was given, with the values that it gave them."""
        now = dict(self.model.named_parameters())
        for name in [*self._named, *now]:
            if self._named.get(name) is not now.get(name):
                raise self._error(
                    f"{name} was added, removed or replaced after Engine(): make another engine"
                )
        for j, (p, view) in enumerate(zip(self._parameters, self._views, strict=True)):
            if (p.data_ptr(), p.dtype, p.shape, p.stride()) != (
                *(view.data_ptr(), view.dtype, view.shape, view.stride()),
            ):
                raise self._error(f"{self._name(j)}.data is no longer the engine's memory")
            if p._version != self._versions[j]:
                raise self._error(
                    f"{self._name(j)} was changed after Engine(), whose fp32 masters have the old "
                    "values: load a state_dict before Engine(), or a checkpoint by load()"
                )

    # ---- Gradients -------------------------------------------------------------------------------

    def _hook(self, j: int) -> Any:
        """A parameter's gradient has been added up in one backward: it moves to the engine's
        memory, or to a tensor of its own until the micro-batch ends."""

        def arrived(p: torch.Tensor) -> None:
            grad, p.grad = p.grad, None
            if not self._inside or not self._running:
                raise self._error(
                    f"a gradient of {self._name(j)} did not come from engine.backward(loss) within "
                    "`with engine.micro_batch():`"
                )
            if grad is None:
                return
            if grad.layout != torch.strided:
                raise self._error(f"the gradient of {self._name(j)} is sparse; it must be dense")
            if j in self._held:
                self._held[j].add_(grad)
                return
            lent = self._lent.get(j)
            if lent is None:
                lent = self._open().lent(j, self._mb)
            if lent is None:
                self._held[j] = grad.contiguous()
            else:
                self._lent[j] = lent
                self._held[j] = lent.copy_(grad)

        return arrived

    def _doing(self, what: str, note: str = "") -> None:
        """For the other ranks, if they wait for this one in vain."""
        if self._alarms is not None:
            self._alarms.doing = what
            self._alarms.note(note)

    @contextlib.contextmanager
    def micro_batch(self) -> Iterator[int]:
        """Forward and any number of backwards of the next micro-batch, whose number it gives.
        Parameters without a gradient at its end count as unused. After an exception the same
        micro-batch can be tried again."""
        native = self._open()
        if self._inside:
            raise self._error("micro_batch() within micro_batch(): end the first one before")
        if self._mb == self.micro_batches:
            raise self._error(
                f"all {self.micro_batches} micro-batches are done: step() comes first"
            )
        self._check_model()
        self._inside, self._losses, self._held = True, [], {}
        where = f"micro-batch {self._mb} of step {self._steps()}"
        self._doing(f"was in {where}")
        try:
            yield self._mb
        except BaseException as error:
            self._doing(f"had left {where}", f"an exception in {where}: {text_of(error)}")
            raise
        finally:
            self._inside = False
        if not self._losses:
            raise self._error(f"micro-batch {self._mb} has no engine.backward(loss)")
        native.loss(self._mb, sum(self._losses))
        for j in reversed(range(len(self._parameters))):
            if not self._parameters[j].requires_grad:
                continue
            if j in self._held:
                native.ready(j, self._mb, self._held[j])
            elif j in self._lent:  # by an attempt that failed
                native.ready(j, self._mb, self._lent[j].zero_())
            else:
                native.unused(j, self._mb)
        self._held, self._lent = {}, {}
        self._mb += 1
        self._doing(f"had ended {where}")

    def backward(self, loss: torch.Tensor) -> None:
        """Gradients of a loss: the mean over the micro-batch, which is not divided by the number of
        micro-batches or ranks. Several losses of a micro-batch are added up."""
        self._open()
        if not self._inside:
            raise self._error("backward() outside `with engine.micro_batch():`")
        if loss.dtype == torch.float16:
            raise self._error("the loss is fp16, which a loss scale overflows: make it fp32")
        scale = self.last.scale if self.last else self._first_scale
        scaled: Any = loss * scale if scale != 1.0 else loss
        self._running = True
        try:
            scaled.backward()
        finally:
            self._running = False
        self._losses.append(float(loss.detach()))

    # ---- Steps -----------------------------------------------------------------------------------

    def set_rates(self, rates: Sequence[float]) -> None:
        """The learning rates of the next steps, one for each optimizer group. Call it before
        step(). If one is refused, none changes."""
        self._open().rates([float(lr) for lr in rates])
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = float(lr)

    def _take_numbers(self, native: Native) -> None:
        """What a scheduler has written into param_groups."""
        if len(self.optimizer.param_groups) != len(self._kinds):
            raise self._error("a parameter group was added after Engine()")
        for number, (kind, group) in enumerate(
            zip(self._kinds, self.optimizer.param_groups, strict=True)
        ):
            numbers = {**dict.fromkeys(NUMBERS, 0.0), **_numbers(kind, group)}
            if numbers != native.numbers(number):
                native.optimizer(number, kind, numbers)

    def _changed(self) -> None:
        """The engine has written the parameters: a backward of an older forward is an error."""
        torch.autograd.graph.increment_version(self._parameters)
        self._versions = [p._version for p in self._parameters]

    def step(self) -> State:
        """Reduces, clips and updates; the parameters have their new values afterwards. Returns what
        is in `last`, too: the loss is the mean over all ranks and micro-batches."""
        native = self._open()
        if self._inside:
            raise self._error("step() within micro_batch()")
        if self._mb != self.micro_batches:
            raise self._error(f"step() after {self._mb} of {self.micro_batches} micro-batches")
        self._take_numbers(native)
        self._doing(f"was in step {self._steps()}")
        native.step()
        self.optimizer._opt_called = True
        self._begin()
        self._changed()
        self.last = native.get()
        self._doing(f"had ended step {self._steps() - 1}")
        return self.last

    # ---- Checkpoints -----------------------------------------------------------------------------

    def _between(self, what: str) -> Native:
        native = self._open()
        if self._inside or self._mb:
            raise self._error(f"{what}() within a step: call it before the first micro_batch()")
        return native

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes a checkpoint, which any number of ranks, stage and bucket size can load. A save
        that fails does not end the engine."""
        native = self._between("save")
        self._take_numbers(native)  # those of the next step, which load() gives back
        native.save(os.fspath(folder))

    def load(self, folder: str | os.PathLike[str]) -> None:
        """Loads a checkpoint: parameters, optimizer state, loss scale, and the optimizers' numbers
        and clip, which replace those of Engine()."""
        native = self._between("load")
        if not os.path.isdir(folder):
            raise self._error(f"there is no folder {os.fspath(folder)}")
        native.load(os.fspath(folder))
        for number, group in enumerate(self.optimizer.param_groups):
            group.update(_torch_numbers(self._kinds[number], native.numbers(number)))
        self._changed()
        self.last = native.get()

    def close(self) -> None:
        """Ends the engine, when all ranks have come. The model keeps its values, in memory of its
        own."""
        native, self._native = self._native, None
        if native is None:
            return
        for handle in self._hooks:
            handle.remove()
        for p in self._parameters:
            p.data = p.data.clone()
            delattr(p, OWNED)
        self._hooks, self._views = [], []
        try:
            native.leave()
        finally:
            self._leave_group()
