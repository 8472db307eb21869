"""libzeroproof_norm.so: exact sums of squares of tensors on a GPU (cuda/norm/norm.h).

It is in no wheel. `make cuda-norm` builds it in a checkout; ZEROPROOF_CUDA_LIBRARY names it, or
libzeroproof_norm_simdev.so, which does the same with tensors on the CPU, slowly, to test it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence

import torch

from . import _native

DTYPES = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2}  # ZP_F32, ZP_BF16, ZP_F16
RUN = 5  # words of a zp_memory_run: in, out, at, count, first_tile


class Library:
    """The library's functions for tensors. device_type: of the tensors that it takes."""

    def __init__(self, path: str) -> None:
        found = ctypes.CDLL(path)
        pointer, number = ctypes.c_void_p, ctypes.c_int32
        if not hasattr(found, "zp_norm_squares"):
            raise OSError(f"{path}: is not of this version of zeroproof: run make cuda-norm")
        found.zp_runs_lay.argtypes = [pointer, number]
        found.zp_runs_lay.restype = ctypes.c_int64
        found.zp_norm_squares.argtypes = [pointer, number, pointer, pointer, number, pointer]
        found.zp_norm_root.argtypes = [pointer, pointer, pointer, number]
        found.zp_norm_error.argtypes = [number]
        found.zp_norm_error.restype = ctypes.c_char_p
        self._library = found
        self.device_type = "cpu" if "simdev" in os.path.basename(path) else "cuda"

    def add_squares(self, tensors: Sequence[torch.Tensor], words: torch.Tensor) -> None:
        """Queues the addition of the exact sum of squares of tensors to words, and of the numbers
        of their non-finite elements. Does not wait for the device.

        tensors: dense, fp32, bf16 or fp16, on the device of words. words: (31) int64."""
        for dtype, code in DTYPES.items():
            dense = [t.detach().contiguous() for t in tensors if t.dtype == dtype]
            rows = [[t.data_ptr(), 0, 0, t.numel(), 0] for t in dense]
            if not rows:
                continue
            runs = torch.tensor(rows, dtype=torch.int64, device="cpu")
            if words.is_cuda:
                runs = runs.pin_memory()
            self._library.zp_runs_lay(runs.data_ptr(), len(rows))
            table = runs.to(words.device, non_blocking=True)
            self._call(
                "zp_norm_squares",
                words.device,
                code,
                runs.data_ptr(),
                table.data_ptr(),
                len(rows),
                words.data_ptr(),
            )

    def carry(self, words: torch.Tensor) -> None:
        """Queues the carrying of the limbs, after which words of 2^20 ranks can be added."""
        self._call("zp_norm_root", words.device, words.data_ptr(), None, 0)

    def norm(self, words: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """The norm, 0-dim of dtype on the device of words, without waiting for it. inf if an
        element is inf, NaN if one is NaN or if a rank refused its gradients."""
        result = torch.empty((), dtype=dtype, device=words.device)
        size = result.element_size()
        self._call("zp_norm_root", words.device, words.data_ptr(), result.data_ptr(), size)
        return result

    def _call(self, name: str, device: torch.device, *arguments: int | None) -> None:
        if device.type == "cuda":
            with torch.cuda.device(device):
                stream = torch.cuda.current_stream(device).cuda_stream
                error = getattr(self._library, name)(stream, *arguments)
        else:
            error = getattr(self._library, name)(None, *arguments)
        if error:
            text = self._library.zp_norm_error(error).decode()
            raise RuntimeError(f"zeroproof: {name} on {device}: {text}")


_library: Library | None = None
_missing = False


def library(device_type: str) -> Library | None:
    """The library for tensors on devices of a type, or None if it is missing. Raises OSError if
    ZEROPROOF_CUDA_LIBRARY, or the checkout's build, has a file that cannot be loaded."""
    global _library, _missing
    if not (_library or _missing):
        path = os.environ.get("ZEROPROOF_CUDA_LIBRARY")
        root = _native.checkout()
        built = root / "build" / "libzeroproof_norm.so" if root is not None else None
        if path:
            _library = Library(path)
        elif device_type == "cuda" and built is not None and built.is_file():
            _library = Library(str(built))
        else:
            _missing = device_type == "cuda"
    return _library if _library is not None and _library.device_type == device_type else None
