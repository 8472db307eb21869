"""The CUDA engine, called through ctypes: libzeroproof_engine_simdev.so (cuda/binding), one rank on
simdev, a CUDA device that is simulated on the CPU, for tests of what Python does; and
libzeroproof_engine_cuda.so, over NCCL, which has not run yet: no machine with a GPU was at hand.

ZEROPROOF_CUDA_ENGINE names the library. `make` builds the first one, `make cuda-lib` the other."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from ._engine import DTYPES, EXCHANGE, SIGNATURES, EngineError, Native, Owner, declared, tensor_at

MISSING = ("zp_binding_watch", "zp_binding_progress", "zp_binding_resume", "zp_binding_leave")
PROGRAM = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_pointer, _size = ctypes.c_void_p, ctypes.c_size_t
SIMULATED: dict[str, tuple[Any, list[Any]]] = {
    "zp_simulated_run": (
        *(ctypes.c_char_p, [PROGRAM, _pointer, ctypes.c_uint64, ctypes.c_int64, ctypes.c_uint32]),
    ),
    "zp_simulated_alloc": (_pointer, [_size]),
    "zp_simulated_free": (ctypes.c_int, [_pointer]),
    "zp_simulated_copy": (ctypes.c_int, [_pointer, _pointer, _size, ctypes.c_int]),
    "zp_simulated_wait": (ctypes.c_int, []),
}
_loaded: dict[str, ctypes.CDLL] = {}


def library() -> ctypes.CDLL:
    """The library that ZEROPROOF_CUDA_ENGINE names. Raises ValueError without it."""
    path = os.environ.get("ZEROPROOF_CUDA_ENGINE", "")
    if not os.path.isfile(path):
        raise ValueError(
            "Engine: engine='cuda' needs ZEROPROOF_CUDA_ENGINE, the path of "
            "libzeroproof_engine_cuda.so (make cuda-lib) or, to try it without a GPU, of "
            f"libzeroproof_engine_simdev.so (make); it is {path!r}"
        )
    if path not in _loaded:
        known = {name: of for name, of in SIGNATURES.items() if name not in MISSING}
        found = declared(ctypes.CDLL(path), known)
        _loaded[path] = declared(found, SIMULATED) if is_simulated(found) else found
    return _loaded[path]


def is_simulated(lib: ctypes.CDLL) -> bool:
    return hasattr(lib, "zp_simulated_run")


def simulated(
    program: Callable[[], Any], *, seed: int = 1, device_bytes: int = 1 << 28, stack: int = 1 << 26
) -> Any:
    """Runs program(), which may make one Engine(engine="cuda"), as the host of a simulated device,
    and returns what it returned. seed: of the order in which the device runs what is queued. Raises
    the program's exception, or EngineError for what simdev finds, such as a race."""
    result: list[Any] = []

    def run(_: object) -> int:
        try:
            result.append((program(), None))
        except BaseException as error:  # no exception may leave a callback of C
            result.append((None, error))
        return 0

    found = library().zp_simulated_run(PROGRAM(run), None, seed, device_bytes, stack)
    if result and result[0][1] is not None:
        raise result[0][1]
    if found:
        raise EngineError(found.decode("utf-8", "replace"))
    return result[0][0]


class _Pointer:
    """Memory of a device as torch.as_tensor takes it."""

    def __init__(self, address: int, nbytes: int, owner: object) -> None:
        self.owner = owner
        self.__cuda_array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


class _DeviceOwner(Owner):
    """Ends with the engine: a device that is gone must not be called."""

    def __del__(self) -> None:
        pass


class CudaNative(Native):
    """One rank's engine on a device. On simdev, where tensors are on the CPU, gradients are copied
    to the device; on a GPU they are there."""

    _owner = _DeviceOwner

    def _library(self) -> ctypes.CDLL:
        return library()

    def open(self) -> None:
        lib = self.lib
        self.simulated = is_simulated(lib)
        self._staged = dict[int, int]()  # by entry, -1: of the loss
        device = 0 if self.simulated else torch.cuda.current_device()
        self._exchange = EXCHANGE(_exchange(self.world, self.number))
        if not self.simulated:
            torch.cuda.current_stream().synchronize()  # first values are read from another stream
        lib.zp_binding_device(self._binding, device, self._exchange, None)
        super().open()

    def _stream(self) -> int | None:
        return None if self.simulated else torch.cuda.current_stream().cuda_stream

    def _at(self, address: int, j: int) -> torch.Tensor:
        first = self.entries[j].first
        if self.simulated or first.numel() == 0:
            return tensor_at(address, first.numel(), first.dtype, self.owner).view(first.shape)
        at = _Pointer(address, first.numel() * first.dtype.itemsize, self.owner)
        return torch.as_tensor(at, device="cuda").view(first.dtype).view(first.shape)

    def lent(self, j: int, mb: int) -> torch.Tensor | None:
        if self.simulated or self.entries[j].first.numel() == 0:
            return None  # the host must not write what queued work may read
        address = self.lib.zp_engine_grad_buffer(self.engine, j, mb, self._stream())
        return self._at(address, j) if address else None

    def _device(self, key: int, x: torch.Tensor) -> int | None:
        """Where x is on the device."""
        if not self.simulated:
            return x.data_ptr() or None
        nbytes = x.numel() * x.dtype.itemsize
        if key not in self._staged:
            self._staged[key] = self.lib.zp_simulated_alloc(nbytes) or 0
        at = self._staged[key]
        if not at or self.lib.zp_simulated_copy(at, x.data_ptr(), nbytes, 0):
            raise EngineError(f"Engine: no device memory for a copy of {nbytes} bytes")
        return at if nbytes else None

    def ready(self, j: int, mb: int, grad: torch.Tensor) -> None:
        at, n, code = self._device(j, grad), grad.numel(), DTYPES[grad.dtype]
        self.check(self.lib.zp_engine_grad_ready(self.engine, j, mb, at, n, code, self._stream()))

    def loss(self, mb: int, value: float) -> None:
        device = "cpu" if self.simulated else "cuda"
        self._loss = torch.tensor([value], dtype=torch.float32, device=device)
        at = self._device(-1, self._loss)
        self.check(self.lib.zp_engine_loss(self.engine, mb, at, self._stream()))

    def step(self) -> None:
        self.check(self.lib.zp_engine_step(self.engine, self._stream()))
        self._wait()

    def load(self, folder: str) -> None:
        super().load(folder)
        self._wait()

    def _wait(self) -> None:
        if self.simulated and self.lib.zp_simulated_wait():
            raise EngineError("Engine: the simulated device has failed")

    def progress(self) -> tuple[list[int], list[float]]:
        raise EngineError("Engine: engine='cuda' has no state_dict: use save() and load()")

    def leave(self) -> None:
        """Ends the engine; the parameters' memory with it."""
        for at in self._staged.values():
            self.lib.zp_simulated_free(at)
        self.owner.close()


def _exchange(world: int, number: int) -> Callable[[object, int, int, int], int]:
    """Gives all ranks the bytes of rank 0, by torch's store."""
    count = 0

    def exchange(_: object, rank: int, at: int, nbytes: int) -> int:
        nonlocal count
        if world == 1:
            return 0
        key = f"zeroproof engine {number}/exchange {count}"
        count += 1
        try:
            store = dist.distributed_c10d._get_default_store()
            if rank == 0:
                store.set(key, ctypes.string_at(at, nbytes).hex())
            else:
                ctypes.memmove(at, bytes.fromhex(store.get(key).decode()), nbytes)
        except Exception:  # no exception may leave a callback of C
            return 1
        return 0

    return exchange
