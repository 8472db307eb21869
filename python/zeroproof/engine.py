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
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.optim.optimizer import register_optimizer_step_pre_hook

from . import _state
from ._alarm import Alarms, text_of
from ._description import (
    BUCKET,
    OWNED,
    Description,
    described,
    names_of,
    numbers_of,
    store_of_job,
    torch_numbers,
)
from ._engine import NUMBERS, EngineError, Native, State, Transport
from ._groups import acquire, release
from ._optimizer import EngineOptimizer


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
    stage: 0, 1 or 2. micro_batches: of each rank in a step. reduce: "exact"; "ordered" (fp32 sums
        in a fixed order, which depend on the number of ranks); or "native" (in the order of the
        communication library; here the same as ordered). bucket: elements of a bucket. clip:
        the largest global norm, or None. scale: the loss scale, a power of two, or "dynamic" (from
        2^16), which models with parameters in fp16 have by default; others have 1. A dict changes
        numbers of "dynamic": first (2^16), least (1), most (2^24), hysteresis (1: overflows that
        halve it; consecutive=True: in a row), window (2,000: steps without one that double it).
        group: the process group of all ranks that train; None: all ranks, or this process alone if
        it was not started by torchrun. timeout_s: how long a rank waits for another one. engine:
        "ref", on the CPU; or "cuda", which has only run on a simulated device (_cuda_engine.py).

    optimizer (attribute): a torch Optimizer, for torch.optim.lr_scheduler. last: what the last step
    returned, or None.

    The arguments are the same on all ranks. Engine(), step(), save(), save_end(), load() and
    close() are called by all ranks. Raises ValueError for arguments that are refused, and
    EngineError otherwise. After an error of the engine itself every call raises it again: close()
    the engine, make another one and load a checkpoint."""

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
        engine: str = "ref",
    ) -> None:
        together = dist.is_available() and dist.is_initialized()
        if not together and int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise ValueError("Engine: call torch.distributed.init_process_group('gloo') before")
        self.rank = dist.get_rank(group) if together else 0
        self.world = world = dist.get_world_size(group) if together else 1
        self._own: dist.ProcessGroup | None = None
        self._alarms: Alarms | None = None
        if world > 1:
            self._own = acquire(group, timeout_s)
        self._transport: Transport | None = None
        self._native: Native | None = None
        self._hooks: list[Any] = []
        self._parameters: list[Any] = []
        self.model, self.stage, self.micro_batches = model, stage, micro_batches
        self.last: State | None = None
        settings = dict(stage=stage, micro_batches=micro_batches, reduce=reduce, bucket=bucket)
        settings |= dict(clip=clip, scale=scale, engine=engine)
        try:
            made, of_job = described(
                self._own, lambda: Description(model, optimizer, **settings), self.rank, world
            )
            if self._own is not None:
                prefix = f"zeroproof engine {of_job}"
                self._alarms = Alarms(store_of_job(), prefix, self.rank, world)
                if engine == "ref":
                    self._transport = Transport(self._own, self._alarms, 1.5 * timeout_s + 5)
            native = made.native(
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
            native.number = of_job
            native.clip(clip or 0.0, 1e-6)
            native.scale(**made.scale)
            native.open()
        except BaseException as error:
            self._leave_group(isinstance(error, ValueError))  # which all ranks raise
            raise
        self._named, self._first_scale = made.named, made.scale["first"]
        self._dynamic = made.scale["dynamic"]
        self._take_over(native)
        self._make_optimizer(made)
        self._begin()
        self._doing("had opened its engine")

    def _take_over(self, native: Native) -> None:
        """Parameters become views of the engine's memory."""
        self._native, self._parameters = native, list(self._named.values())
        self._trained = [p.requires_grad for p in self._parameters]
        self._views = [native.parameter(j) for j in range(len(self._parameters))]
        for j, (p, view) in enumerate(zip(self._parameters, self._views, strict=True)):
            p.data, p.grad = view, None
            setattr(p, OWNED, True)
            if p.requires_grad:
                self._hooks.append(p.register_post_accumulate_grad_hook(self._hook(j)))
        self._versions = [p._version for p in self._parameters]
        steps = weakref.WeakMethod(self._other_steps)  # torch keeps the hook until close()
        self._hooks.append(
            register_optimizer_step_pre_hook(lambda *of: (run := steps()) and run(*of))
        )

    def _make_optimizer(self, made: Description) -> None:
        self._kinds = [kind for kind, _ in made.groups]
        self.optimizer = EngineOptimizer(
            self,
            [
                {
                    "params": [p for p in self._parameters if made.group_of.get(id(p)) == number],
                    "kind": kind,
                    **torch_numbers(kind, numbers),
                }
                for number, (kind, numbers) in enumerate(made.groups)
            ],
        )

    def _begin(self) -> None:
        """Of a step."""
        self._mb, self._inside, self._running, self._losses = 0, False, False, list[float]()
        self._reported: float | None = None
        self._held: dict[int, torch.Tensor] = {}
        self._lent: dict[int, torch.Tensor] = {}  # of this micro-batch, also of a failed attempt

    def _leave_group(self, clean: bool) -> None:
        """clean: all ranks have ended what they began in it."""
        if self._alarms is not None:
            self._alarms.close()
            self._alarms = None
        if self._own is not None and clean:
            release(self._own)
        self._own = None

    # ---- Checks ----------------------------------------------------------------------------------

    def _error(self, text: str) -> EngineError:
        if self._alarms is not None and not self._alarms.verdict:
            self._alarms.note(text)  # for the others, if the caller catches it and ends
        return EngineError(f"rank {self.rank}: {text}")

    def _other_steps(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """An optimizer of the caller's own is about to step."""
        if isinstance(optimizer, EngineOptimizer):
            return
        names = {id(p): name for name, p in self._named.items()}
        for p in (p for group in optimizer.param_groups for p in group["params"]):
            if id(p) in names:
                raise self._error(
                    f"{type(optimizer).__name__}.step() would update {names[id(p)]}, which Engine "
                    "updates: call engine.step(), and give schedulers engine.optimizer"
                )

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
        now = names_of(dict(self.model.named_parameters()))
        for name in [*self._named, *now]:
            if self._named.get(name) is not now.get(name):
                raise self._error(
                    f"{name} was added, removed or replaced after Engine(): make another engine"
                )
        for j, (p, trained) in enumerate(zip(self._parameters, self._trained, strict=True)):
            if p.requires_grad != trained:
                raise self._error(
                    f"{self._name(j)}.requires_grad was changed after Engine(): close() the "
                    "engine, and make another one"
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
        Parameters without a gradient at its end count as unused. At its end, but for the step's
        last one, the ranks reduce its gradients. After an exception within it the same micro-batch
        can be tried again."""
        native = self._open()
        if self._inside:
            raise self._error("micro_batch() within micro_batch(): end the first one before")
        if self._mb == self.micro_batches:
            raise self._error(
                f"all {self.micro_batches} micro-batches are done: step() comes first"
            )
        self._check_model()
        self._inside, self._losses, self._reported, self._held = True, [], None, {}
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
        native.loss(self._mb, sum(self._losses) if self._reported is None else self._reported)
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
        if not isinstance(loss, torch.Tensor):
            raise self._error(f"the loss is a {type(loss).__name__}; it must be a tensor")
        if not loss.requires_grad:
            raise self._error("the loss needs no gradient: no trained parameter is used in it")
        if loss.numel() != 1:
            raise self._error(f"the loss has shape {list(loss.shape)}: it must be one number")
        if loss.dtype == torch.float16:
            raise self._error("the loss is fp16, which a loss scale overflows: make it fp32")
        scale = self.last.scale if self.last else self._first_scale
        scaled: Any = loss * scale if scale != 1.0 else loss
        self._running = True
        try:
            scaled.backward()
        except RuntimeError as error:
            if "a second time" not in str(error):
                raise
            raise self._error("backward() of a loss whose gradients have been added") from error
        finally:
            self._running = False
        self._losses.append(float(loss.detach()))

    def loss(self, value: torch.Tensor | float) -> None:
        """The micro-batch's loss in `last`, if it is not the sum of the losses of backward(): one
        without a regularizer, say. A step with a loss that is not finite is skipped."""
        if not self._inside:
            raise self._error("loss() outside `with engine.micro_batch():`")
        self._reported = float(value.detach() if isinstance(value, torch.Tensor) else value)

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
            known = torch_numbers(kind, native.numbers(number))  # schedulers add keys of their own
            numbers = {
                **dict.fromkeys(NUMBERS, 0.0),
                **numbers_of(kind, {n: group[n] for n in known}),
            }
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
        self._check_model()
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
        if self._lent:
            raise self._error(
                f"{what}() after an exception in micro_batch(), which has begun the step: end the "
                "micro-batch and the step before, or close() the engine"
            )
        if not what.startswith("load"):
            self._check_model()
        self._doing(f"was in {what}()")
        return native

    def save(self, folder: str | os.PathLike[str], *, background: bool = False) -> None:
        """Writes a checkpoint, which any number of ranks, stage and bucket size can load. A save
        that fails does not end the engine.

        background: returns as soon as the state is copied, 12 bytes a parameter over all ranks.
        A thread writes the copy while steps follow. The checkpoint, of the step of this call, is
        complete when it is published: by save_end(), or by the next save(), load() or close(),
        which wait for the thread. They raise its error; then this save has left no checkpoint, and
        the save() or load() that raised has done nothing else."""
        native = self._between("save")
        self._take_numbers(native)  # those of the next step, which load() gives back
        native.save(os.fspath(folder), background)

    def save_end(self) -> None:
        """Waits for a save in the background and publishes it. By all ranks, between steps. Does
        nothing if none is under way."""
        self._between("save_end").save_end()

    @property
    def saved(self) -> bool:
        """Whether save_end() would not wait for this rank's thread. Ranks may differ."""
        return self._open().written()

    def load(self, folder: str | os.PathLike[str], *, other_batch: bool = False) -> None:
        """Loads a checkpoint: parameters, optimizer state, loss scale, and the optimizers' numbers
        and clip, which replace those of Engine(). It must have the same kinds of optimizers and,
        unless other_batch, micro-batches of a step on all ranks."""
        native = self._between("load")
        native.save_end()
        error = "" if os.path.isdir(folder) else f"there is no folder {folder}"
        if os.path.isfile(folder):
            error = f"{folder} is a file; load() takes a folder of save()"
        elif not error and self.rank == 0:
            error = _state.why_not(self, native.peek(os.fspath(folder)), other_batch)
        for r, text in enumerate(self._everyone(error)):
            if text:
                raise EngineError(f"rank {r}: {text}")
        native.load(os.fspath(folder))
        self._loaded(native)

    def _after_first(self, run: Callable[[], None]) -> str:
        """What is wrong with run(), which rank 0 calls, "" if nothing. The others wait for it
        without a limit, as it may take long, unless a rank ends."""
        error = ""
        if self.rank == 0:
            try:
                run()
            except Exception as failed:
                error = text_of(failed)
        if self._alarms is not None:
            try:
                self._alarms.turn(self.rank == 0)
            except ConnectionAbortedError as ended:
                raise self._error(str(ended)) from None
        first: str = self._everyone(error)[0]
        return first

    def _everyone(self, thing: Any) -> list[Any]:
        """What each rank gave, by rank."""
        return self._transport.everyone(thing) if self._transport else [thing]

    def state_dict(self) -> dict[str, Any]:
        """All state, whole on every rank: `model` (parameters and buffers), `optim` (`state` by
        parameter's name: step, exp_avg and exp_avg_sq, or momentum_buffer, and the fp32 `master` of
        a 16-bit parameter; `param_groups`) and `engine` (steps and loss scale). `model` and `optim`
        are as get_state_dict of torch.distributed.checkpoint.state_dict gives them. By all ranks,
        between steps. It takes 12 to 14 bytes a parameter on each rank; save() does not."""
        native = self._between("state_dict")
        self._take_numbers(native)
        return _state.state_dict(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes what state_dict() returned, on any number of ranks and stage, or `model` and
        `optim` of DDP or FSDP2 by get_state_dict, or `model` alone: then moments and steps begin
        anew. By all ranks, with the same values. Raises ValueError, and changes nothing, if a
        parameter is missing or has another shape."""
        self._take(lambda: state)

    def save_dcp(self, folder: str | os.PathLike[str]) -> None:
        """Writes state_dict() by torch.distributed.checkpoint, for programs that read it: save() is
        smaller, and its checkpoints are whole or absent. By all ranks."""
        self._between("save_dcp")
        _state.save_dcp(self, os.fspath(folder))

    def load_dcp(
        self, folder: str | os.PathLike[str], *, model: str = "model", optim: str | None = "optim"
    ) -> None:
        """Reads a folder of save_dcp(), or of dcp.save() by a run with DDP or FSDP2: of
        {model: …, optim: …}, what get_state_dict gave, under the names `model` and `optim`. optim
        None: the weights alone. Such files contain pickles: read your own only. By all ranks; as
        load_state_dict()."""
        self._take(lambda: _state.read_dcp(self, os.fspath(folder), model, optim))

    def save_safetensors(self, file: str | os.PathLike[str]) -> None:
        """Writes state_dict() as one safetensors file (`model.NAME`, `optim.state.NAME.exp_avg`,
        …), by rank 0. By all ranks. For the weights alone: safetensors.torch.save_model."""
        self._between("save_safetensors")
        _state.save_safetensors(self, os.fspath(file))

    def load_safetensors(self, file: str | os.PathLike[str]) -> None:
        """Reads a file of save_safetensors(), or one of a model's weights alone. By all ranks; as
        load_state_dict()."""
        self._take(lambda: _state.read_safetensors(os.fspath(file)))

    def _take(self, make: Callable[[], Mapping[str, Any]]) -> None:
        native = self._between("load_state_dict")
        _state.load_state_dict(self, make)
        self._loaded(native)

    def _loaded(self, native: Native) -> None:
        for number, group in enumerate(self.optimizer.param_groups):
            group.update(torch_numbers(self._kinds[number], native.numbers(number)))
        self._changed()
        self.last = native.get()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """close(); after an error without waiting for the other ranks, which end with it."""
        if error is None:
            self.close()
        elif self._alarms is not None:
            self._alarms.raised(error)

    def close(self) -> None:
        """Ends the engine, when all ranks have come; after an error without them. The model keeps
        its values, in memory of its own. With engine="cuda" other views of parameters, such as
        p.detach(), become invalid. A save in the background is published; after an error of the
        engine, or within a step, it is given up."""
        native, self._native = self._native, None
        if native is None:
            return
        failed, between = native.failed(), not (self._inside or self._mb or self._lent)
        for handle in self._hooks:
            handle.remove()
        for p in self._parameters:
            p.data = p.data.clone()
            delattr(p, OWNED)
        self._hooks, self._views = [], []
        clean = False
        try:
            try:
                if between:
                    native.save_end()
            finally:
                native.leave()
                clean = True
        except EngineError:
            if not failed:  # else it has been raised before
                raise
        finally:
            self._leave_group(clean)
