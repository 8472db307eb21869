"""The C code of zeroproof, called through ctypes.

The wheel carries the library beside this file. In a checkout, `make` builds it, and
ZEROPROOF_LIBRARY may name another one."""

from __future__ import annotations

import ctypes
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

PACKAGE = pathlib.Path(__file__).resolve().parent
INSTALLED = PACKAGE / "_install"  # what `make install` puts under PREFIX
LIMBS = 20  # ZP_SQ_LIMBS: of 32 bits each, in an int64
THREADS_MAX = 64
BRINGS_TORCH = "it comes with the extra zeroproof[torch], or with: pip install torch"

Limbs = ctypes.c_int64 * LIMBS


class Sum(ctypes.Structure):
    """zp_sumsq (ref/num/exact.h): a running sum of squares, exact."""

    _fields_ = (
        ("lo", ctypes.c_int64 * 32),
        ("hi", ctypes.c_int64 * 32),
        ("pending", ctypes.c_int64),
        ("limb", Limbs),
    )


def checkout() -> pathlib.Path | None:
    """The root of the source tree that holds this file, or None if it is installed."""
    root = PACKAGE.parent.parent
    return root if (root / "ref" / "num" / "exact.h").is_file() else None


def library_path() -> pathlib.Path:
    """The file of libzeroproof.so. Raises OSError if it is missing."""
    named = os.environ.get("ZEROPROOF_LIBRARY")
    if named:
        return pathlib.Path(named)
    files = [INSTALLED / "lib" / "libzeroproof.so"]
    searched = [f"ZEROPROOF_LIBRARY is not set, and there is no {files[0]}"]
    root = checkout()
    if root is not None:
        files += sorted((root / "build").glob("libzeroproof.so.*"))
        searched.append(f"no {root / 'build'}/libzeroproof.so.*: run `make lib`")
    else:
        searched.append("the installation is incomplete")
    for file in files:
        if file.is_file():
            return file
    raise OSError(f"zeroproof: libzeroproof.so was not found: {', and '.join(searched)}")


_library: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """libzeroproof.so with its functions declared. Raises OSError if it cannot be loaded."""
    global _library
    if _library is None:
        found = ctypes.CDLL(str(library_path()))
        sums, limbs = ctypes.POINTER(Sum), ctypes.POINTER(ctypes.c_int64)
        # The root: ref/num/norm.h, proven (NORM-1, NORM-2). The sums: ref/num/simd/fast.h, tested
        # against ref/num/exact.h, which is proven (SUM-1 to SUM-4).
        signatures: dict[str, tuple[Any, Sequence[Any]]] = {
            "zp_sumsq_clear": (None, [sums]),
            "zp_sumsq_limbs": (None, [sums, limbs]),
            "zp_limbs_normalise": (None, [limbs, ctypes.c_int32]),
            "zp_norm_f64": (ctypes.c_uint64, [limbs]),
            "zp_norm_f32": (ctypes.c_uint32, [limbs]),
        }
        for kind in ("f32", "bf16", "f16"):
            signatures[f"zp_sumsq_add_{kind}_list"] = (
                ctypes.c_int64,
                [sums, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int],
            )
        for name, (result, arguments) in signatures.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, arguments
        _library = found
    return _library


def sum_of_squares(
    arrays: dict[str, tuple[Sequence[int], Sequence[int]]], threads: int
) -> tuple[list[int], int]:
    """The exact sum of squares of arrays in memory, and how many elements are not finite.

    arrays: kind ("f32", "bf16", "f16") -> (addresses, numbers of elements). They are read without
    a check: each must be aligned, contiguous and alive.
    threads: up to so many share the work (1 to 64; other values are clamped).
    Returns (limbs, count): 20 limbs, the value is the sum over i of limb[i] * 2^(32 i - 298);
    elements that are not finite are not in it. SUM-1 to SUM-3 (spec/numbers.md)."""
    lib, total, bad = library(), Sum(), 0
    lib.zp_sumsq_clear(ctypes.byref(total))
    for kind, (addresses, counts) in arrays.items():
        n = len(counts)
        add: Callable[..., int] = getattr(lib, f"zp_sumsq_add_{kind}_list")
        bad += add(
            ctypes.byref(total),
            (ctypes.c_void_p * n)(*addresses),
            (ctypes.c_int64 * n)(*counts),
            n,
            max(1, min(threads, THREADS_MAX)),
        )
    limbs = Limbs()
    lib.zp_sumsq_limbs(ctypes.byref(total), limbs)
    return list(limbs), bad


def normalised(limbs: Sequence[int]) -> list[int]:
    """The canonical limbs of a sum of canonical limb vectors (SUM-3). limbs: 20 of int64, the sums
    of at most 2^20 such vectors."""
    words = Limbs(*limbs)
    library().zp_limbs_normalise(words, LIMBS)
    return list(words)


def norm_bits(limbs: Sequence[int], double: bool = False) -> int:
    """The bits of the square root of an exact sum, rounded once to fp32 or fp64 (NORM-1, NORM-2).
    limbs: 20, canonical."""
    words = Limbs(*limbs)
    lib = library()
    bits: int = lib.zp_norm_f64(words) if double else lib.zp_norm_f32(words)
    return bits
