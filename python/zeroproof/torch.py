"""Exact gradient norms and clipping for PyTorch.

The norm is the square root of the exact sum of squares, rounded once (NORM-1, NORM-2 in
spec/numbers.md). An exact sum has no order: for the same gradient values the result has the same
bits under every data, tensor, pipeline, expert, context and hybrid-sharded layout, and every number
of ranks. Layouts whose backward rounds differently have other gradient values, hence may have
another norm."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from . import _native

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    raise ImportError(f"zeroproof.torch needs PyTorch: {_native.BRINGS_TORCH}") from error
from . import _cuda
from ._engine import EngineError as EngineError
from .engine import Engine as Engine

Tensor = torch.Tensor

KINDS = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16"}
# What is added over the ranks, in one all-reduce. 0 to 19: the limbs of the sum. COPIES: 0 if all
# ranks hold what they must. NAN, NONFINITE: numbers of elements. REFUSED: of ranks that cannot
# take part, REFUSING: which one, if it is one. cuda/norm/norm.h has the same layout.
WORDS = 31
REFUSING, COPIES, NAN, REFUSED, NONFINITE = 26, 27, 28, 29, 30
ON_DEVICE = 1 << 22  # elements summed at a time by PyTorch operations


class ReplicasDiffer(RuntimeError):
    """Copies of one gradient have different values."""


_OWN: Any = object()  # the default of Groups.replicas


@dataclasses.dataclass(frozen=True)
class Groups:
    """Which ranks hold what. Needed for plain tensors and for DTensors of a part of the world.

    union: the process group over which the norm is taken; None: all ranks. Every member must call.
    replicas: the process group whose members hold copies of a gradient; it is counted once, on the
        first of them that is in the union. If copies are not equal, that one counts
        (check_replicas=True compares them); if some ranks lack it, all raise ValueError (where
        the host does not wait, see grad_norm, the norm is NaN). Left out: every rank holds
        gradients of its own. If it depends on the parameter, a function from the parameter to its
        process group, or to None for gradients of its own. It does not apply to DTensors whose mesh
        is the world: their placements say all.

    DDP: Groups(replicas=torch.distributed.group.WORLD). ZeRO shards: Groups(). Pipeline stages,
    each replicated by DDP: Groups(replicas=data_parallel_group)."""

    union: dist.ProcessGroup | None = None
    replicas: dist.ProcessGroup | Callable[[Tensor], dist.ProcessGroup | None] = _OWN

    def __post_init__(self) -> None:
        if self.replicas is None:
            raise ValueError(
                "Groups: replicas is None, which torch.distributed.group.WORLD is before "
                "init_process_group; if every rank has gradients of its own, leave it out"
            )


@dataclasses.dataclass(frozen=True)
class Statistics:
    """norm: 0-dim tensor, fp32 or fp64, inf or NaN as torch gives them. nonfinite: 0-dim int64
    tensor, how many gradient elements are inf or NaN; of no meaning if the norm is NaN because a
    rank refused. Both are on the gradients' device. words: the sum over the ranks, (31) int64, on
    a device of the process group's backend."""

    norm: Tensor
    nonfinite: Tensor
    words: Tensor

    @property
    def limbs(self) -> tuple[int, ...]:
        """The 20 canonical limbs of the exact sum of the finite elements' squares, weights
        2^(32 i - 298) (SUM-3): equal limbs, equal sums. Waits for the device. Raises ValueError if
        a rank refused its gradients or lacks one."""
        _refuse_invalid(self.words.tolist())
        return tuple(_native.normalised(self.words[: _native.LIMBS].tolist()))


class _Part(NamedTuple):
    """One gradient on this rank. counted: false for a copy that another rank counts. copies: sets
    of ranks of the union with the same values, one for each reason; every combination of them holds
    a copy. mesh: the ranks of the union that must hold some part of it, if it is a DTensor. whole:
    its number of elements on all of them."""

    number: int
    local: Tensor
    counted: bool
    copies: tuple[tuple[int, ...], ...]
    mesh: tuple[int, ...]
    whole: int

    def completeness(self, rank: int) -> int:
        """A number whose sum over the ranks is 0 if all ranks that must hold this gradient do: the
        first of them outweighs all others."""
        copies = self.local.numel() * (math.prod(map(len, self.copies)) - 1 if self.counted else -1)
        first = self.mesh[:1] == (rank,)
        return copies + self.whole * (len(self.mesh) - 1 if first else -1 if self.mesh else 0)


def grad_norm(
    parameters: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    *,
    groups: Groups | None = None,
    dtype: torch.dtype = torch.float32,
    check_replicas: bool = False,
) -> Tensor:
    """The 2-norm of all gradients together, exact but for one rounding.

    parameters: one tensor or several; those whose grad is None do not count. fp32, bf16 or fp16;
        plain or DTensor, of any shape.
    groups: which ranks hold other parameters, and which copies. With more than one rank it must be
        given for plain tensors, and for DTensors whose mesh is not the world. A DTensor's Shard
        counts as it is, Replicate once.
    dtype: of the result, torch.float32 or torch.float64, rounded from the exact sum directly.
    check_replicas: compare copies bit by bit, at the cost of hashing all gradients.
    Returns a plain 0-dim tensor on the gradients' device, of that dtype also if gradients are bf16
    or DTensors, for which torch returns others. It is inf or NaN only if an element is, or if it
    exceeds the dtype; torch's is also inf if a square overflows fp32.

    Every rank of the union must call it, also one without gradients: it runs one all-reduce of 31
    int64. Gradients on the CPU are summed by the library, on torch.get_num_threads() threads. On
    CUDA devices, libzeroproof_norm.so queues kernels on the current stream, and the host does not
    wait, if the union's backend is NCCL, and neither error_if_nonfinite nor check_replicas is set.
    Then neither a refusal on another rank nor a copy or shard that a rank lacks is an error here:
    the norm is NaN, and clipping makes the gradients NaN. Without that library (python/README.md),
    PyTorch's integer operations sum, and the host waits.
    Raises ValueError, on all ranks of the union, for what is not supported (Partial DTensors, fp64,
    sparse or complex gradients, another norm_type); RuntimeError if error_if_nonfinite is set and
    the norm is inf or NaN; ReplicasDiffer."""
    found = statistics(
        parameters, norm_type, groups=groups, dtype=dtype, check_replicas=check_replicas
    )
    if error_if_nonfinite:
        _refuse_nonfinite(found)
    return found.norm


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
    *,
    groups: Groups | None = None,
    dtype: torch.dtype = torch.float32,
    check_replicas: bool = False,
) -> Tensor:
    """Scales the gradients in place so that their norm is at most max_norm, as
    torch.nn.utils.clip_grad_norm_ does, and returns the norm before that.

    The factor is min(1, max_norm / (norm + 1e-6)), computed in the norm's dtype: torch's formula.
    On the CPU, PyTorch multiplies bf16 and fp16 gradients by it in fp32 and rounds the product.
    foreach is accepted for compatibility and has no effect. Otherwise as grad_norm."""
    del foreach
    found, parts = _measured(parameters, norm_type, groups, dtype, check_replicas)
    if error_if_nonfinite:
        _refuse_nonfinite(found)
    factor = torch.clamp(float(max_norm) / (found.norm + 1e-6), max=1.0)
    if factor.is_cpu and _cuda.library("cpu") is None and factor.item() == 1.0:
        return found.norm  # each product would be its first factor
    by_place: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
    for part in parts:
        by_place.setdefault((part.local.device, part.local.dtype), []).append(part.local)
    with torch.no_grad():
        for (device, _), locals_ in by_place.items():
            torch._foreach_mul_(locals_, factor.to(device))
    return found.norm


def statistics(
    parameters: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    *,
    groups: Groups | None = None,
    dtype: torch.dtype = torch.float32,
    check_replicas: bool = False,
) -> Statistics:
    """The norm, the number of non-finite elements, and the exact sum itself. Arguments and errors
    as for grad_norm."""
    return _measured(parameters, norm_type, groups, dtype, check_replicas)[0]


def _measured(
    parameters: Tensor | Iterable[Tensor],
    norm_type: float,
    groups: Groups | None,
    dtype: torch.dtype,
    check_replicas: bool,
) -> tuple[Statistics, list[_Part]]:
    union = _union(groups)
    parts: list[_Part] = []

    def found() -> Tensor:
        if float(norm_type) != 2.0:
            raise ValueError(
                f"norm_type={norm_type}: only the 2-norm has an exact sum; for others use torch's"
            )
        if dtype not in (torch.float32, torch.float64):
            raise ValueError(f"dtype={dtype}: expected torch.float32 or torch.float64")
        parts.extend(_parts(_tensors(parameters), groups, union))
        words = _words([part.local for part in parts if part.counted], _device(parts))
        words[COPIES] = sum(part.completeness(_rank_and_world()[0]) for part in parts)
        return words

    words = _reduced(found, union)
    device = _device(parts) if parts else words.device
    kernels = _cuda.library(words.device.type)
    if check_replicas or kernels is None:
        _refuse_invalid(words.tolist())
    if check_replicas and union is not None:
        _compare(parts, union)
    norm = _norm(words, dtype) if kernels is None else kernels.norm(words, dtype)
    return Statistics(norm.to(device), words[NONFINITE].to(device), words), parts


def megatron_grad_norm(optimizer: Any, *, dtype: torch.dtype = torch.float32) -> Tensor:
    """The norm of a Megatron-Core optimizer, over the gradients and the ranks that its own norm is
    taken over: get_grads_for_grad_norm (get_main_grads_for_grad_norm before Megatron-Core 0.19),
    which leaves out shared parameters and the copies of tensor-parallel ranks and has this rank's
    range of the distributed optimizer, and get_grad_stats_parallel_group. To clip, pass the result
    to megatron.core's clip_grad_by_total_norm_fp32(optimizer.get_parameters(), max_norm, norm). A
    ChainedOptimizer's sums are added before the root. The host waits for the device, as it does for
    Megatron's own norm. Returns a 0-dim tensor on the CPU."""
    total = torch.zeros(WORDS, dtype=torch.int64, device="cpu")
    errors: list[Exception] = []
    for each in getattr(optimizer, "chained_optimizers", [optimizer]):

        def found(each: Any = each) -> Tensor:
            if errors:  # this rank still takes part in the other groups' sums
                raise errors[0]
            its = getattr(each, "get_grads_for_grad_norm", None)
            gradients = list(its() if its else each.get_main_grads_for_grad_norm())
            for number, gradient in enumerate(gradients):
                _supported(number, gradient)
            device = gradients[0].device if gradients else torch.device("cpu")
            return _words(gradients, device)

        try:
            words = _reduced(found, each.get_grad_stats_parallel_group()).cpu()
            _refuse_invalid(words.tolist())
            total += words
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return _norm(total, dtype)


def _tensors(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    found = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    for number, p in enumerate(found):
        if not isinstance(p, Tensor):
            raise TypeError(f"parameters: expected tensors, number {number} is {type(p).__name__}")
    return found


def _gradients(tensors: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
    """(parameter, gradient) of those that have one."""
    if any(getattr(p, "main_grad", None) is not None for p in tensors):
        raise ValueError(
            "Megatron-Core keeps gradients in main_grad, and .grad is not what its optimizer "
            "applies: use zeroproof.torch.megatron_grad_norm(optimizer)"
        )
    return [(p, p.grad) for p in tensors if p.grad is not None]


def _device(parts: Sequence[_Part]) -> torch.device:
    return parts[0].local.device if parts else torch.device("cpu")


def _reduced(words: Callable[[], Tensor], group: dist.ProcessGroup | None) -> Tensor:
    """The words of all ranks, added. A rank that cannot make its words raises, and no rank waits
    for it: REFUSED is set on the others."""
    several = group is not None and dist.get_world_size(group) > 1
    device = _backend_device(group) if several else None
    error: Exception | None = None
    try:
        mine = words()
        mine = mine if device is None else mine.to(device)
        _cuda.library(mine.device.type)  # loaded here: if that fails, all ranks learn of it
    except Exception as refusal:
        error = refusal
        mine = torch.zeros(WORDS, dtype=torch.int64, device=device or "cpu")
        mine[REFUSED], mine[REFUSING] = 1, _rank_and_world()[0]
    if several:
        dist.all_reduce(mine, group=group)
    if error is not None:
        raise error
    return mine


def _refuse_invalid(words: Sequence[int]) -> None:
    """Raises ValueError if words of all ranks have no valid sum."""
    if words[REFUSED] == 1:
        raise ValueError(f"rank {words[REFUSING]} refused its gradients: its own error says why")
    if words[REFUSED]:
        raise ValueError(f"{words[REFUSED]} ranks refused their gradients: their errors say why")
    if words[COPIES]:
        raise ValueError(
            "some ranks lack a gradient that groups= or a mesh says they hold: there it is None, "
            "not in the list, or of another size"
        )


def _is_dtensor(tensor: Tensor) -> bool:
    return (
        type(tensor) is not Tensor
        and hasattr(tensor, "device_mesh")
        and hasattr(tensor, "placements")
    )


def _local(tensor: Tensor) -> Tensor:
    """This rank's shard or copy, a view of the tensor."""
    if not _is_dtensor(tensor):
        return tensor
    local: Tensor = tensor._local_tensor  # type: ignore[attr-defined]
    if hasattr(local, "trigger_wait"):  # of a redistribution that still runs
        local = local.trigger_wait()
    return local


def _rank_and_world() -> tuple[int, int]:
    """This rank, and the number of ranks."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def _union(groups: Groups | None) -> Any:
    """The group of the all-reduce, or None if this rank is alone. Depends on what all ranks pass
    alike, never on a rank's own list."""
    if groups is not None and not isinstance(groups, Groups):
        raise TypeError(
            f"groups: expected a zeroproof.torch.Groups, got {type(groups).__name__}; for copies "
            "on all ranks of a process group: Groups(replicas=that_group)"
        )
    if _rank_and_world()[1] == 1:
        return None
    union = groups.union if groups is not None and groups.union is not None else dist.group.WORLD
    if dist.get_rank(union) < 0:
        raise ValueError(f"groups.union does not contain this rank, {dist.get_rank()}")
    return union if dist.get_world_size(union) > 1 else None


def _parts(tensors: Sequence[Tensor], groups: Groups | None, union: Any) -> list[_Part]:
    """The gradients on this rank. Raises ValueError for one that is not supported."""
    rank, world = _rank_and_world()
    members = {rank} if union is None else set(dist.get_process_group_ranks(union))
    replicas: Any = groups.replicas if groups is not None and world > 1 else _OWN
    found, same = [], () if callable(replicas) else _ranks_of(replicas)
    gradient: Any
    for number, (parameter, gradient) in enumerate(_gradients(tensors)):
        if callable(replicas):
            same = _ranks_of(replicas(parameter))
        local, mesh = gradient, set[int]()
        sets: tuple[tuple[int, ...], ...] = (same,)
        if _is_dtensor(gradient):
            local = _local(gradient)
            sets = _of_dtensor(number, gradient, groups, same)
            mesh = members.intersection(gradient.device_mesh.mesh.reshape(-1).tolist())
        elif world > 1 and groups is None:
            raise ValueError(
                f"gradient {number} is a plain tensor, and there are {world} ranks: say with "
                "groups= whether they hold copies of it or other gradients. DDP: groups="
                "zeroproof.torch.Groups(replicas=torch.distributed.group.WORLD); every rank its "
                "own: groups=Groups()"
            )
        _supported(number, local)
        copies = tuple(tuple(q for q in ranks if q in members) for ranks in sets if ranks)
        counted = all(rank == ranks[0] for ranks in copies)
        holders = tuple(sorted(mesh)) if rank in mesh else ()
        found.append(_Part(number, local, counted, copies, holders, gradient.numel()))
    return found


def _ranks_of(group: Any) -> tuple[int, ...]:
    """The members of a group of replicas in order; empty without one."""
    if group is None or group is _OWN:
        return ()
    ranks = tuple(sorted(dist.get_process_group_ranks(group)))
    if dist.get_rank(group) < 0:
        raise ValueError(
            f"groups.replicas does not contain this rank, {dist.get_rank()}: give each rank the "
            "group that it is in"
        )
    return ranks


def _supported(number: int, gradient: Tensor) -> None:
    """Raises ValueError for a gradient whose elements cannot be read as they are."""
    shape, why = tuple(gradient.shape), None
    if gradient.layout is not torch.strided or gradient.dtype not in KINDS:
        why = f"{gradient.dtype}, {gradient.layout}"
    elif gradient.is_meta or _is_dtensor(gradient):
        why = f"a {type(gradient).__name__} on {gradient.device}"
    elif gradient.numel() and not gradient.data_ptr():
        why = f"a {type(gradient).__name__} without storage of its own"
    if why is not None:
        raise ValueError(
            f"gradient {number}, of shape {shape}, is {why}: expected a dense tensor of float32, "
            "bfloat16 or float16"
        )


def _of_dtensor(
    number: int, gradient: Any, groups: Groups | None, replicas: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    """The sets of ranks that hold this rank's local tensor: by the placements, and by groups=."""
    mesh, ranks = gradient.device_mesh, gradient.device_mesh.mesh
    rank, world = _rank_and_world()
    if groups is None and ranks.numel() != world:
        raise ValueError(
            f"gradient {number} is a DTensor on a mesh of {ranks.numel()} of {world} ranks: say "
            "with groups= whether the other ranks hold copies of it (Groups(replicas=...)) or "
            "other gradients (Groups())"
        )
    here = mesh.get_coordinate()
    if here is None:  # a rank outside of the mesh holds nothing
        return ()
    same = list(here)
    for dim, placement in enumerate(gradient.placements):
        if placement.is_partial():
            raise ValueError(
                f"gradient {number} has the placement {placement} in mesh dimension {dim}: its "
                "values are not summed yet; redistribute it to Shard or Replicate first "
                "(gradient.redistribute(placements=...))"
            )
        if placement.is_replicate():
            same[dim] = slice(None)
        elif "Shard" not in type(placement).__name__:
            raise ValueError(f"gradient {number} has the unknown placement {placement}")
    in_mesh = set(ranks.reshape(-1).tolist())
    if len(in_mesh) == world:
        replicas = ()
    elif len(in_mesh.intersection(replicas)) > 1:
        raise ValueError(
            f"gradient {number} is a DTensor on the ranks {sorted(in_mesh)}, and groups.replicas "
            f"{list(replicas)} has several of them: its placements already say who of them holds "
            "copies"
        )
    return tuple(sorted(ranks[tuple(same)].reshape(-1).tolist())), replicas


def _words(tensors: Sequence[Tensor], device: torch.device) -> Tensor:
    """The 31 words of tensors on this rank, on a device."""
    words = torch.zeros(WORDS, dtype=torch.int64, device=device)
    by_device: dict[torch.device, list[Tensor]] = {}
    for tensor in tensors:
        by_device.setdefault(tensor.device, []).append(tensor)
    for where, mine in by_device.items():
        kernels = _cuda.library(where.type)
        here = words if where == device else torch.zeros_like(words, device=where)
        if kernels is not None:
            kernels.add_squares(mine, here)
            kernels.carry(here)
        elif where.type == "cpu":
            limbs, bad = _on_host(mine)
            here[: _native.LIMBS] += torch.tensor(limbs, dtype=torch.int64, device=where)
            here[NONFINITE] += bad
            here[NAN] += sum(int(t.isnan().sum()) for t in mine) if bad else 0
        else:
            for tensor in mine:
                here += on_device(tensor)
        if here is not words:
            words += here.to(device)
    return words


def _on_host(tensors: Sequence[Tensor]) -> tuple[list[int], int]:
    arrays: dict[str, tuple[list[int], list[int]]] = {}
    alive = []  # copies that make them contiguous
    for tensor in tensors:
        dense = tensor if tensor.is_contiguous() else tensor.detach().contiguous()
        alive.append(dense)
        addresses, counts = arrays.setdefault(KINDS[dense.dtype], ([], []))
        addresses.append(dense.data_ptr())
        counts.append(dense.numel())
    return _native.sum_of_squares(dict(arrays), torch.get_num_threads())


def on_device(tensor: Tensor) -> Tensor:
    """The 31 words of one tensor, by integer operations of PyTorch on its own device, without a
    host synchronization. tensor: fp32, bf16 or fp16, dense. The limbs are not carried: each is the
    sum of at most 96 parts below 2^32 (16 exponents, 2 halves, 3 pieces). So the words of
    2^24 tensors, of all ranks together, stay below 2^63."""
    bins = torch.zeros(2, 254, dtype=torch.int64, device=tensor.device)
    words = torch.zeros(WORDS, dtype=torch.int64, device=tensor.device)
    flat = tensor.detach().reshape(-1)
    for start in range(0, flat.numel(), ON_DEVICE):
        bits = flat[start : start + ON_DEVICE].float().view(torch.int32).to(torch.int64)
        exponent = (bits >> 23) & 255
        finite = exponent < 255
        mantissa = (bits & 0x7FFFFF) | ((exponent > 0).to(torch.int64) << 23)
        square = torch.where(finite, mantissa * mantissa, 0)
        place = (exponent.clamp(1, 254) - 1).contiguous()  # x = mantissa * 2^(place - 149)
        bins[0].index_add_(0, place, square & 0xFFFFFF)
        bins[1].index_add_(0, place, square >> 24)
        words[NONFINITE] += (~finite).sum()
        words[NAN] += (~finite & ((bits & 0x7FFFFF) != 0)).sum()
    # bins[h][e] has weight 2^(2 e + 24 h - 298)
    halves = torch.arange(2, device=tensor.device).reshape(2, 1)
    at = 2 * torch.arange(254, device=tensor.device) + 24 * halves
    limb, shift = at // 32, at % 32
    low = (bins & ((1 << (32 - shift)) - 1)) << shift
    rest = bins >> (32 - shift)
    for k, piece in enumerate((low, rest & 0xFFFFFFFF, rest >> 32)):
        words.index_add_(0, (limb + k).reshape(-1), piece.reshape(-1))
    return words


def _backend_device(group: Any) -> torch.device:
    """A device whose tensors the group can reduce, the same kind on all its ranks."""
    kinds = {device.type for device in group._device_types}
    if "cpu" in kinds:
        return torch.device("cpu")
    kind = min(kinds)
    return torch.device(kind, getattr(torch, kind).current_device())


def _norm(words: Tensor, dtype: torch.dtype) -> Tensor:
    """The norm of the sum over the ranks, on the CPU."""
    values: list[int] = words.tolist()
    double = dtype == torch.float64
    if values[NAN] or values[NONFINITE]:
        value = math.nan if values[NAN] else math.inf
    else:
        bits = _native.norm_bits(_native.normalised(values[: _native.LIMBS]), double)
        form, size = ("<d", 8) if double else ("<f", 4)
        [value] = struct.unpack(form, bits.to_bytes(size, "little"))
    return torch.tensor(value, dtype=dtype, device="cpu")


def _refuse_nonfinite(found: Statistics) -> None:
    _refuse_invalid(found.words.tolist())
    if not torch.isfinite(found.norm):
        raise RuntimeError(
            f"The total norm of order 2.0 for gradients is {found.norm.item()}: "
            f"{found.nonfinite.item()} elements are inf or NaN. To clip anyway, set "
            "error_if_nonfinite=False"
        )


def _digest(tensor: Tensor) -> str:
    data = tensor.detach().contiguous().reshape(-1).view(torch.uint8).cpu().numpy()
    return hashlib.blake2b(data.data, digest_size=16).hexdigest()


def _compare(parts: Sequence[_Part], union: Any) -> None:
    """Raises ReplicasDiffer on all ranks if copies differ. Copies are compared in each set of ranks
    that holds them, in the order in which these ranks list them."""
    mine: dict[tuple[int, ...], list[tuple[int, str]]] = {}
    error: Exception | None = None
    try:
        for part in parts:
            for ranks in part.copies:
                if len(ranks) > 1:
                    mine.setdefault(ranks, []).append((part.number, _digest(part.local)))
    except Exception as refusal:
        error = refusal
    members = dist.get_process_group_ranks(union)
    found: list[Any] = [None] * len(members)
    dist.all_gather_object(found, None if error else mine, group=union)
    if error is not None:
        raise error
    if None in found:
        raise ValueError(f"rank {members[found.index(None)]} could not hash its gradients")
    by_rank = dict(zip(members, found, strict=True))
    for ranks in sorted({key for one in found for key in one}):
        first = by_rank[ranks[0]].get(ranks, [])
        for rank in ranks[1:]:
            other = by_rank[rank].get(ranks, [])
            wrong = [a for a, b in zip(first, other, strict=False) if a[1] != b[1]]
            if wrong or len(first) != len(other):
                which = f"gradient {wrong[0][0]}" if wrong else "the number of gradients"
                raise ReplicasDiffer(
                    f"{which} should be equal on the ranks {list(ranks)}: rank {rank} has other "
                    f"values than rank {ranks[0]}"
                )
