"""The reference engine, called through ctypes: libzeroproof_engine.so (ref/binding/binding.h), and
a transport for it over a process group of torch.distributed."""

from __future__ import annotations

import ctypes
import hashlib
import json
import math
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from . import _native
from ._alarm import WAITS, Alarms, text_of

DTYPES = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2}  # ZP_F32, ZP_BF16, ZP_F16
NAME = 47  # bytes of an entry's name
REDUCE = {"ordered": 0, "exact": 1, "native": 2}  # of zp_binding_new
NUMBERS = ("lr", "weight_decay", "beta1", "beta2", "eps", "momentum")  # of an optimizer group
KINDS = {"sgd": 0, "adamw": 1}  # ZP_OPTIM_SGD, ZP_OPTIM_ADAMW
STATES = {"master": 6, "moment1": 7, "moment2": 8}  # ZP_WHAT_MASTER, _MOMENT1, _MOMENT2

_pointer, _int, _long, _double = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_double
_text = ctypes.c_char_p
MOVE = ctypes.CFUNCTYPE(ctypes.c_int, _pointer, _pointer, _pointer, _long)
BROADCAST = ctypes.CFUNCTYPE(ctypes.c_int, _pointer, _pointer, _long, _int)
EXCHANGE = ctypes.CFUNCTYPE(ctypes.c_int, _pointer, _int, _pointer, ctypes.c_size_t)
WHY = ctypes.CFUNCTYPE(_pointer, _pointer)
ALARM = ctypes.CFUNCTYPE(None, _pointer, _int, _text)
ENTERING = ctypes.CFUNCTYPE(None, _text, _text, _text, _long, _int, _text)

SIGNATURES: dict[str, tuple[Any, Sequence[Any]]] = {
    "zp_binding_new": (_pointer, [_int, _int, _int, _int, _int, _long, _long]),
    "zp_binding_param": (_int, [_pointer, _text, _long, _int, _int, _int, _pointer]),
    "zp_binding_optimizer": (_int, [_pointer, _int, _int, *[_double] * 6]),
    "zp_binding_numbers": (None, [_pointer, _int, ctypes.POINTER(_double)]),
    "zp_binding_rates": (_int, [_pointer, _int, ctypes.POINTER(_double)]),
    "zp_binding_clip": (_int, [_pointer, _double, _double]),
    "zp_binding_scale": (_int, [_pointer, _int, _int, _int, _int, _long, _int, _int]),
    "zp_binding_device": (None, [_pointer, _int, EXCHANGE, _pointer]),
    "zp_binding_open": (_int, [_pointer, MOVE, MOVE, BROADCAST, WHY, ALARM, _pointer]),
    "zp_binding_watch": (None, [_pointer, ENTERING]),
    "zp_binding_engine": (_pointer, [_pointer]),
    "zp_binding_load": (_int, [_pointer, _text]),
    "zp_binding_peek": (_int, [_text, _text, _long]),
    "zp_binding_why": (_int, [_pointer, ctypes.POINTER(_text)]),
    "zp_binding_get": (_int, [_pointer, ctypes.POINTER(_double), ctypes.POINTER(_long)]),
    "zp_binding_progress": (None, [_pointer, ctypes.POINTER(_long), ctypes.POINTER(_double)]),
    "zp_binding_resume": (_int, [_pointer, ctypes.POINTER(_long), ctypes.POINTER(_double)]),
    "zp_binding_leave": (_int, [_pointer]),
    "zp_binding_close": (_int, [_pointer]),
    "zp_engine_param": (_pointer, [_pointer, _int]),
    "zp_engine_grad_ready": (_int, [_pointer, _int, _long, _pointer, _long, _int, _pointer]),
    "zp_engine_grad_buffer": (_pointer, [_pointer, _int, _long, _pointer]),
    "zp_engine_grad_unused": (_int, [_pointer, _int, _long]),
    "zp_engine_loss": (_int, [_pointer, _long, _pointer, _pointer]),
    "zp_engine_step": (_int, [_pointer, _pointer]),
    "zp_engine_save": (_int, [_pointer, _text]),
    "zp_engine_save_begin": (_int, [_pointer, _text]),
    "zp_engine_save_end": (_int, [_pointer]),
    "zp_engine_save_written": (_int, [_pointer]),
    "zp_engine_held": (_int, [_pointer, _int, _long, *[ctypes.POINTER(_long)] * 2]),
    "zp_engine_read_state": (_int, [_pointer, _int, _int, _long, _long, _pointer]),
    "zp_engine_write_state": (_int, [_pointer, _int, _int, _long, _long, _pointer]),
}
_library: ctypes.CDLL | None = None
# its newer name, which not all versions have
gather: Any = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


def library() -> ctypes.CDLL:
    """libzeroproof_engine.so, beside libzeroproof.so. Raises OSError if it cannot be loaded."""
    global _library
    if _library is None:
        path = pathlib.Path(_native.library_path()).with_name("libzeroproof_engine.so")
        if not path.is_file():
            raise OSError(f"zeroproof: {path} is missing: run make lib")
        _library = declared(ctypes.CDLL(str(path)), SIGNATURES)
    return _library


def declared(
    found: ctypes.CDLL, signatures: Mapping[str, tuple[Any, Sequence[Any]]]
) -> ctypes.CDLL:
    """The library, with the types of its functions."""
    for name, (result, arguments) in signatures.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found


def name_of(name: str) -> bytes:
    """A parameter's name in checkpoints and errors, which has at most 47 bytes: of a longer one the
    end, behind a part of its hash."""
    whole = name.encode()
    if len(whole) <= NAME:
        return whole
    return hashlib.sha256(whole).hexdigest()[:8].encode() + b"~" + whole[9 - NAME :]


def tensor_at(address: int, numel: int, dtype: torch.dtype, owner: object = None) -> torch.Tensor:
    """The memory of a flat tensor. owner: kept alive as long as the tensor or a view of it."""
    if numel == 0:
        return torch.empty(0, dtype=dtype)
    memory = (ctypes.c_char * (numel * dtype.itemsize)).from_address(address)
    memory.owner = owner  # type: ignore[attr-defined]
    return torch.frombuffer(memory, dtype=dtype)


class Transport:
    """zp_transport over a process group. The engine calls it from the thread that calls the engine.
    An exception becomes the transport's error, and is kept. most_s: of one call. left: all ranks
    have ended their engines, and this one's memory alone remains. ended: no collective that was
    given up goes on; otherwise the group must not be destroyed."""

    def __init__(self, group: dist.ProcessGroup, alarms: Alarms, most_s: float) -> None:
        self.group, self.world = group, dist.get_world_size(group)
        self.alarms, self.most_s = alarms, most_s
        self.error: BaseException | None = None
        self.left, self.ended = False, True
        self._why = ctypes.create_string_buffer(b"", 512)
        self.functions = (
            MOVE(self._all_gather),
            MOVE(self._all_to_all),
            BROADCAST(self._broadcast),
            WHY(lambda _: ctypes.addressof(self._why)),
            ALARM(lambda *_: None),
        )

    def _guarded(self, run: Callable[[], Any]) -> int:
        """run: starts a collective."""
        doing, self.alarms.doing = self.alarms.doing, WAITS
        work: Any = None
        try:
            work = run()
            if work is not None:
                self.alarms.wait(work, self.most_s)
        except BaseException as error:  # no exception may leave a callback of C
            self.error = error
            self.ended = work is None or work.is_completed()
            if not self.ended:  # gloo's threads use them until the process ends
                for used in (work, self.group):
                    ctypes.pythonapi.Py_IncRef(ctypes.py_object(used))
            try:
                why = self.alarms.explain(error)
            except BaseException as again:  # a second Ctrl-C while the other ranks are asked
                why = text_of(again)
            self._why.value = why.encode("utf-8", "replace")[:500]
            return 1
        finally:
            self.alarms.doing = doing
        return 0

    def _all_gather(self, _: object, send: int, recv: int, size: int) -> int:
        def run() -> Any:
            mine = tensor_at(send, size, torch.uint8)
            all_of = tensor_at(recv, self.world * size, torch.uint8)
            if self.left:
                all_of.view(self.world, size).copy_(mine)
                return None
            return gather(all_of, mine, group=self.group, async_op=True)

        return self._guarded(run)

    def _all_to_all(self, _: object, send: int, recv: int, size: int) -> int:
        def run() -> Any:
            mine = tensor_at(send, self.world * size, torch.uint8)
            parts = tensor_at(recv, self.world * size, torch.uint8)
            return dist.all_to_all_single(parts, mine, group=self.group, async_op=True)

        return self._guarded(run)

    def sum(self, x: torch.Tensor) -> None:
        """Adds up x over the ranks. Raises EngineError."""
        self.call(lambda: dist.all_reduce(x, group=self.group, async_op=True))

    def everyone(self, thing: Any) -> list[Any]:
        """What each rank gave, by rank."""
        said: list[Any] = [None] * self.world
        self.call(lambda: dist.all_gather_object(said, thing, group=self.group))
        return said

    def call(self, run: Callable[[], Any]) -> None:
        """run: starts a collective of Python's own, or is one. Raises EngineError."""
        if self._guarded(run):
            if self.error is not None and not isinstance(self.error, Exception):
                raise self.error  # such as KeyboardInterrupt
            raise EngineError(
                f"rank {dist.get_rank(self.group)}: {self._why.value.decode()}"
            ) from self.error

    def _broadcast(self, _: object, data: int, size: int, root: int) -> int:
        def run() -> Any:
            held = tensor_at(data, size, torch.uint8)
            return dist.broadcast(held, group=self.group, group_src=root, async_op=True)

        return self._guarded(run)


class Issued(NamedTuple):
    """This rank's communications in a group since the engine began: how many, the bytes that the
    rank sent, and a hash of their list, which is equal on ranks that have issued the same ones in
    the same order (LEDG-1)."""

    ops: int
    bytes: int
    hash: int


class State(NamedTuple):
    """What zp_engine_get says."""

    steps: int
    norm: float
    clip: float
    scale: float
    loss: float
    skipped: bool
    ledger: Mapping[str, Issued]


class EngineError(RuntimeError):
    """The engine refused something, or ended: the message names the rank and what to do."""


class Entry(NamedTuple):
    """One parameter. first: its values, contiguous."""

    name: str
    first: torch.Tensor
    group: int
    frozen: bool
    fp32: bool


class Owner:
    """The memory of one rank's engine, freed when nothing refers to it."""

    def __init__(self, lib: ctypes.CDLL, binding: int, transport: Transport | None) -> None:
        self.lib, self.transport = lib, transport
        self.binding: int | None = binding
        self.entering: Any = None

    def close(self) -> None:
        binding, self.binding = self.binding, None
        if self.transport:
            self.transport.left = True
        if binding:
            self.lib.zp_binding_close(binding)

    def __del__(self) -> None:
        self.close()


class Entered(NamedTuple):
    """A communication of this rank with all others. redop: "" without a reduction; numel: of one
    part of a reduce_scatter, all_gather or gather; root: a rank, or -1."""

    op: str
    redop: str
    dtype: str
    numel: int
    root: int
    what: str


class Native:
    """One rank's engine."""

    _owner = Owner
    number = 0  # of the engine, in its job
    watch: Callable[[Entered], None] | None = None  # called before each communication, from open()

    def __init__(
        self,
        entries: Sequence[Entry],
        *,
        rank: int,
        world: int,
        stage: int,
        reduce: str,
        precision: torch.dtype,
        micro_batches: int,
        bucket: int,
        transport: Transport | None,
    ) -> None:
        self.lib, self.entries, self.transport = self._library(), list(entries), transport
        self.world = world
        self._binding = self.lib.zp_binding_new(
            *(rank, world, stage, REDUCE[reduce], DTYPES[precision], micro_batches, bucket)
        )
        if not self._binding:
            raise MemoryError("zeroproof: no memory for an engine")
        self.owner = self._owner(self.lib, self._binding, transport)
        for e in self.entries:
            if self.lib.zp_binding_param(
                self._binding,
                name_of(e.name),
                e.first.numel(),
                e.group,
                e.frozen,
                e.fp32,
                e.first.data_ptr(),
            ):
                raise MemoryError("zeroproof: no memory for the parameters' description")
        self.engine: int | None = None

    def _library(self) -> ctypes.CDLL:
        return library()

    def failed(self) -> bool:
        """Has the engine ended with an error? One of a save that failed is not meant."""
        numbers, sums = (_double * 6)(), (_long * 6)()
        return bool(self.lib.zp_binding_get(self._binding, numbers, sums))

    def check(self, status: int) -> None:
        """Raises EngineError unless status is 0."""
        if status == 0:
            return
        text = _text()
        self.lib.zp_binding_why(self._binding, ctypes.byref(text))
        message = (text.value or b"the engine refused it").decode("utf-8", "replace")
        cause = self.transport.error if self.transport else None
        if cause is not None and not isinstance(cause, Exception):
            raise cause  # such as KeyboardInterrupt
        raise EngineError(message) from cause

    def optimizer(self, group: int, kind: str, values: dict[str, float]) -> None:
        numbers = [float(values.get(name, 0.0)) for name in NUMBERS]
        self.check(self.lib.zp_binding_optimizer(self._binding, group, KINDS[kind], *numbers))

    def numbers(self, group: int) -> dict[str, float]:
        """What optimizer() has set, or load() has read."""
        found = (_double * len(NUMBERS))()
        self.lib.zp_binding_numbers(self._binding, group, found)
        return dict(zip(NUMBERS, found, strict=True))

    def rates(self, rates: Sequence[float]) -> None:
        n = len(rates)
        self.check(self.lib.zp_binding_rates(self._binding, n, (_double * n)(*rates)))

    def clip(self, most: float, eps: float) -> None:
        self.check(self.lib.zp_binding_clip(self._binding, most, eps))

    def scale(self, *, dynamic: bool, first: float, least: float, most: float, **more: int) -> None:
        """The loss scale, of powers of two. more: window, hysteresis and consecutive: after
        `hysteresis` overflows (consecutive: in a row) the scale is halved; after `window` steps
        without one it is doubled."""
        exponents = [int(math.log2(x)) for x in (first, least, most)]
        rest = [more["window"], more["hysteresis"], more["consecutive"]]
        if self.lib.zp_binding_scale(self._binding, dynamic, *exponents, *rest):
            raise ValueError(
                f"Engine: a loss scale of {first}, {least} to {most}, window {rest[0]}, hysteresis "
                f"{rest[1]}: the first must be between the others, all from 2^-126 to 2^126, and "
                "window and hysteresis at least 1"
            )

    def open(self) -> None:
        """Collective."""
        if self.transport:
            functions = self.transport.functions
        else:
            functions = (MOVE(), MOVE(), BROADCAST(), WHY(), ALARM())
        self.check(self.lib.zp_binding_open(self._binding, *functions, None))
        self.engine = self.lib.zp_binding_engine(self._binding)
        self.entries = [e._replace(first=e.first.to("meta")) for e in self.entries]  # frees them
        watch = self.watch
        if watch is not None:

            def entering(
                op: bytes, redop: bytes, dtype: bytes, numel: int, root: int, what: bytes
            ) -> None:
                texts = op.decode(), redop.decode(), dtype.decode()
                watch(Entered(*texts, numel, root, what.decode()))

            self.owner.entering = ENTERING(entering)
            self.lib.zp_binding_watch(self._binding, self.owner.entering)

    def _at(self, address: int, j: int) -> torch.Tensor:
        first = self.entries[j].first
        return tensor_at(address, first.numel(), first.dtype, self.owner).view(first.shape)

    def parameter(self, j: int) -> torch.Tensor:
        """The engine's memory of entry j, in the shape of its first values."""
        return self._at(self.lib.zp_engine_param(self.engine, j), j)

    def lent(self, j: int, mb: int) -> torch.Tensor | None:
        """Where entry j's gradient may be written, or None."""
        if self.entries[j].first.numel() == 0:
            return None
        address = self.lib.zp_engine_grad_buffer(self.engine, j, mb, None)
        return self._at(address, j) if address else None

    def ready(self, j: int, mb: int, grad: torch.Tensor) -> None:
        """grad: contiguous, in the entry's dtype."""
        at, n, code = grad.data_ptr() or None, grad.numel(), DTYPES[grad.dtype]
        self.check(self.lib.zp_engine_grad_ready(self.engine, j, mb, at, n, code, None))

    def unused(self, j: int, mb: int) -> None:
        self.check(self.lib.zp_engine_grad_unused(self.engine, j, mb))

    def loss(self, mb: int, value: float) -> None:
        number = ctypes.c_float(value)
        self.check(self.lib.zp_engine_loss(self.engine, mb, ctypes.byref(number), None))

    def step(self) -> None:
        self.check(self.lib.zp_engine_step(self.engine, None))

    def get(self) -> State:
        numbers, sums = (_double * 6)(), (_long * 6)()
        self.check(self.lib.zp_binding_get(self._binding, numbers, sums))
        steps, norm, clip, scale, loss, skipped = numbers
        ledger = {
            name: Issued(sums[at], sums[at + 1], sums[at + 2] % 2**64)
            for name, at in (("world", 0), ("data_parallel", 3))
        }
        return State(int(steps), norm, clip, scale, loss, bool(skipped), ledger)

    def progress(self) -> tuple[list[int], list[float]]:
        """What steps change beside masters and moments: zp_binding_progress."""
        whole, powers = (_long * 13)(), (_double * 16)()
        self.lib.zp_binding_progress(self._binding, whole, powers)
        return list(whole), list(powers)

    def resume(self, whole: Sequence[int], powers: Sequence[float]) -> None:
        """Sets what progress() reads. Raises ValueError."""
        if self.lib.zp_binding_resume(self._binding, (_long * 13)(*whole), (_double * 16)(*powers)):
            raise ValueError(
                f"Engine: steps, loss scale (log2, hysteresis left, iteration, last overflow) and "
                f"updates {list(whole)}, products of betas {list(powers)}: no training with this "
                "engine's scale leaves them"
            )

    def held(self, j: int) -> list[tuple[int, int]]:
        """(first element, elements) of each run of entry j whose master and moments this rank
        holds: all of it at stage 0, none of a frozen one. The same from open() to the end."""
        found, at = list[tuple[int, int]](), 0
        offset, count = _long(), _long()
        while True:
            self.lib.zp_engine_held(self.engine, j, at, ctypes.byref(offset), ctypes.byref(count))
            if count.value == 0:
                return found
            found.append((offset.value, count.value))
            at = offset.value + count.value

    def read_state(self, j: int, state: str) -> list[tuple[int, torch.Tensor]]:
        """(first element, fp32 values) of each run of held(j). state: "master", "moment1" (AdamW's
        exp_avg, SGD's momentum buffer) or "moment2" (AdamW's exp_avg_sq). Not collective; between
        steps: before the first lent(), ready(), unused() or loss() of the next one."""
        runs = [(offset, torch.empty(count)) for offset, count in self.held(j)]
        for offset, values in runs:
            self.check(
                self.lib.zp_engine_read_state(
                    self.engine, j, STATES[state], offset, values.numel(), values.data_ptr()
                )
            )
        return runs

    def write_state(self, j: int, state: str, offset: int, values: torch.Tensor) -> None:
        """Replaces elements from `offset` on, all held by this rank; as read_state(). At stage 0
        all ranks write the same. values: fp32, contiguous. A parameter has its new master's value
        after the next step that is not skipped."""
        self.check(
            self.lib.zp_engine_write_state(
                self.engine, j, STATES[state], offset, values.numel(), values.data_ptr()
            )
        )

    def save(self, folder: str, background: bool) -> None:
        begin = self.lib.zp_engine_save_begin if background else self.lib.zp_engine_save
        self.check(begin(self.engine, folder.encode()))

    def save_end(self) -> None:
        self.check(self.lib.zp_engine_save_end(self.engine))

    def written(self) -> bool:
        """Has this rank's thread written the save in the background?"""
        return bool(self.lib.zp_engine_save_written(self.engine))

    def leave(self) -> None:
        """Collective: ends communication. The memory remains as long as tensors refer to it."""
        self.check(self.lib.zp_binding_leave(self._binding))

    def peek(self, folder: str) -> dict[str, Any]:
        """What a checkpoint says of the run that saved it; {} if it cannot be read, of which load()
        then says why."""
        text = ctypes.create_string_buffer(1 << 14)
        if self.lib.zp_binding_peek(folder.encode(), text, len(text)):
            return {}
        try:
            found = json.loads(text.value)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def load(self, folder: str) -> None:
        self.check(self.lib.zp_binding_load(self._binding, folder.encode()))
