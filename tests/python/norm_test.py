"""zeroproof.torch: exact norms. One gradient set under many layouts, on 1 to 8 gloo ranks, gives
one bit pattern, which is MPFR's.

Each thing that is made wrong on purpose must make a check fail:
  replicas   copies count as often as there are ranks
  order      the norm is a sum of fp32 squares in the ranks' order, as a plain all-reduce makes it
  partial    Partial placements count like shards
  shards     shards that a rank lacks are ignored

With ZEROPROOF_CUDA_LIBRARY, a refusal on another rank makes the norm NaN, and the host reads no
value. --one-process [DEVICE]: only what needs no second rank; with tensors on a device.
--libraries FILE...: the same with each of these libraries, in a child of this process, as PyTorch's
import takes longer. Prints "FILE: lawful" or "FILE: a check fails"; FILE.out has the checks."""

import contextlib
import ctypes
import functools
import io
import json
import math
import os
import random
import struct
import sys
import tempfile
import traceback

import torch
import torch.distributed as dist
import zeroproof.torch as zt
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

LAYOUTS = [
    # (name, mesh, placements); a world for each product of the mesh
    ("alone", (1,), [Shard(0)]),
    ("fully sharded", (2,), [Shard(0)]),
    ("fully sharded", (3,), [Shard(0)]),
    ("fully sharded", (8,), [Shard(0)]),
    ("replicated", (4,), [Replicate()]),
    ("hybrid sharded", (2, 2), [Replicate(), Shard(0)]),
    ("hybrid sharded", (2, 4), [Replicate(), Shard(0)]),
    ("tensor parallel", (4,), [Shard(1)]),
    ("tensor parallel beside sharding", (2, 3), [Shard(0), Shard(1)]),
    ("sharded, replicated inside", (3, 2), [Shard(0), Replicate()]),
]
CUDA = "ZEROPROOF_CUDA_LIBRARY" in os.environ
SHAPES = [(7, 5), (1, 3), (64, 2), (2, 9), (5, 1)]


def gradients(seed, dtype=torch.float32):
    """Fixed values of all magnitudes; their sum of squares is not a float."""
    rng = random.Random(seed)
    found = []
    for shape in SHAPES:
        values = [rng.uniform(-1, 1) * 2.0 ** rng.randint(-60, 60) for _ in range(math.prod(shape))]
        found.append(torch.tensor(values, dtype=torch.float64).to(dtype).reshape(shape))
    return found


class Mpfr(ctypes.Structure):
    """A number of GNU MPFR, which C compilers bring."""

    _fields_ = (
        ("precision", ctypes.c_long),
        ("sign", ctypes.c_int),
        ("exponent", ctypes.c_long),
        ("limbs", ctypes.c_void_p),
    )

    def __init__(self, precision):
        super().__init__()
        call("init2", self, precision)

    def __del__(self):
        call("clear", self)


def call(name, *arguments):
    """An MPFR function that rounds to nearest even, mode 0; 0: its result is exact."""
    function = getattr(MPFR, f"mpfr_{name}")
    return function(*[ctypes.byref(a) if isinstance(a, Mpfr) else a for a in arguments])


MPFR = ctypes.CDLL("libmpfr.so.6")
MPFR.mpfr_get_d.restype = ctypes.c_double


def exact_bits(tensors, double):
    """The bits of the norm, rounded once by MPFR."""
    total, square, root = Mpfr(5000), Mpfr(60), Mpfr(53 if double else 24)
    call("set_ui", total, 0, 0)
    for x in (x for t in tensors for x in t.double().flatten().tolist()):
        assert call("set_d", square, ctypes.c_double(x), 0) == 0
        assert call("sqr", square, square, 0) == 0
        assert call("add", total, total, square, 0) == 0
    call("sqrt", root, total, 0)
    value = call("get_d", root, 0)
    assert value == 0 or 2.0**-126 <= value < 2.0**128, "neither subnormal nor infinite"
    return int.from_bytes(struct.pack("<d" if double else "<f", value), "little")


def bits(norm):
    double = norm.dtype == torch.float64
    return int.from_bytes(struct.pack("<d" if double else "<f", norm.item()), "little")


# ---- What each rank runs -------------------------------------------------------------------------


def distributed(tensor, mesh, placements):
    """A DTensor whose global value is `tensor`, which every rank has."""
    local = tensor
    here = mesh.get_coordinate()
    for dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            parts = list(torch.chunk(local, mesh.size(dim), dim=placement.dim))
            empty = local.narrow(placement.dim, 0, 0)
            local = parts[here[dim]] if here[dim] < len(parts) else empty
    stride = torch.empty(tensor.shape).stride()
    return DTensor.from_local(
        local.contiguous(), mesh, placements, run_check=False, shape=tensor.shape, stride=stride
    )


def with_gradient(gradient):
    parameter = torch.nn.Parameter(torch.zeros_like(gradient))
    parameter.grad = gradient
    return parameter


def parameters_of(layout, seed):
    _, shape, placements = layout
    mesh = init_device_mesh("cpu", shape)
    return [with_gradient(distributed(g, mesh, placements)) for g in gradients(seed)]


def refused(kind, call):
    try:
        result = call()
    except kind as error:
        return str(error)
    return "rank 0 refused: NaN" if CUDA and torch.is_tensor(result) and result.isnan() else None


def rank_layouts(rank, world):
    """Every layout of this world: its norms, and its clipped gradients."""
    found = {}
    for layout in LAYOUTS:
        if math.prod(layout[1]) != world:
            continue
        name = f"{layout[0]} {layout[1]}"
        parameters = parameters_of(layout, 1)
        found[name] = [
            bits(zt.grad_norm(parameters, dtype=d)) for d in (torch.float32, torch.float64)
        ]
        norm = zt.clip_grad_norm_(parameters, 3.0)
        clipped = [p.grad.full_tensor().flatten().tolist() for p in parameters]
        found[f"{name}, clipped"] = [bits(norm), [[x.hex() for x in t] for t in clipped]]
    return found


class LikeMegatron:
    """The two functions of a Megatron-Core optimizer that its norm is taken over."""

    def __init__(self, gradients, group):
        self.get_main_grads_for_grad_norm = lambda: gradients
        self.get_grad_stats_parallel_group = lambda: group


def rank_plain(rank, world):
    """Plain tensors: DDP's copies, ZeRO's shards, pipeline stages, experts; and what is refused."""
    values, found = gradients(1), {}
    parameters = [with_gradient(g.clone()) for g in values]
    found["error"] = refused(ValueError, lambda: zt.grad_norm(parameters))
    every = dist.group.WORLD
    found["ddp"] = bits(zt.grad_norm(parameters, groups=zt.Groups(replicas=every)))
    flat = torch.cat([g.flatten() for g in values])
    mine = with_gradient(torch.chunk(flat, world)[rank].clone())
    found["zero"] = bits(zt.grad_norm([mine], groups=zt.Groups()))
    found["megatron"] = bits(zt.megatron_grad_norm(LikeMegatron([mine.grad], every)))
    chained = LikeMegatron([], None)
    halves = [LikeMegatron([g], every) for g in (mine.grad[:3], mine.grad[3:])]
    chained.chained_optimizers = halves
    found["megatron, chained"] = bits(zt.megatron_grad_norm(chained))
    pairs = [dist.new_group([q, q + 1]) for q in range(0, world, 2)]
    stage = [with_gradient(g.clone()) for i, g in enumerate(values) if i % len(pairs) == rank // 2]
    found["stages"] = bits(zt.grad_norm(stage, groups=zt.Groups(replicas=pairs[rank // 2])))
    experts = {id(p) for i, p in enumerate(parameters) if i % 2}
    split = [p for i, p in enumerate(parameters) if id(p) not in experts or i % 4 // 2 == rank % 2]
    odd = [dist.new_group([q for q in range(world) if q % 2 == r]) for r in range(2)]
    groups = zt.Groups(replicas=lambda p: odd[rank % 2] if id(p) in experts else every)
    found["experts"] = bits(zt.grad_norm(split, groups=groups))
    found["refused alike"] = refused_on_one_rank(rank, parameters, values)
    found["mixed"], found["tied"] = mixed(rank, world, values), tied(rank, values)
    half = dist.new_group(range(world // 2))
    other = dist.new_group(range(world // 2, world))
    union = half if rank < world // 2 else other
    found["copies beyond the union"] = bits(
        zt.grad_norm(parameters, groups=zt.Groups(union=union, replicas=every))
    )
    found["not a member"] = refused(
        ValueError, lambda: zt.grad_norm(parameters, groups=zt.Groups(replicas=half))
    )
    found["union"] = bits(zt.grad_norm(parameters, groups=zt.Groups(union=union, replicas=union)))
    wrong = parameters if rank else [with_gradient(torch.ones(2, dtype=torch.float64))]
    found["one rank refuses"] = refused(
        ValueError, lambda: zt.grad_norm(wrong, groups=zt.Groups(replicas=every))
    )
    if rank == world - 1:
        parameters[3].grad[0, 0] = 12345
    found["replicas differ"] = refused(
        zt.ReplicasDiffer,
        lambda: zt.grad_norm(parameters, groups=zt.Groups(replicas=every), check_replicas=True),
    )
    if rank == 1:
        parameters[0].grad[0, 0] = math.inf
        parameters[0].grad[0, 1] = math.nan
    shards = zt.statistics(parameters, groups=zt.Groups())
    found["non-finite"] = [str(shards.norm.item()), shards.nonfinite.item()]
    mesh = init_device_mesh("cpu", (world,))
    partial = with_gradient(DTensor.from_local(torch.ones(2), mesh, [Partial()], run_check=False))
    found["partial"] = refused(ValueError, lambda: zt.grad_norm([partial]))
    small = init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("dp", "tp"))["tp"]
    part = with_gradient(distributed(values[2], small, [Shard(0)]))
    found["submesh"] = refused(ValueError, lambda: zt.grad_norm([part]))
    found["submesh with groups"] = bits(
        zt.grad_norm([part], groups=zt.Groups(replicas=across(rank, world)))
    )
    return found


def refused_on_one_rank(rank, parameters, values):
    """What the ranks say if rank 1 alone passes something wrong; no rank may wait."""
    copies = zt.Groups(replicas=dist.group.WORLD)
    lacking = [with_gradient(g) for g in values]
    lacking[2].grad = None
    meta = with_gradient(torch.ones(2, device="meta"))
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    shards = [with_gradient(distributed(g, mesh, [Shard(0)])) for g in values]
    if rank == 1:
        shards[2].grad = None  # all ranks have equal numbers of its elements
    wrongs = {
        "a shard is None": lambda: zt.grad_norm(shards),
        "norm_type": lambda: zt.grad_norm(parameters, 1.0, groups=copies),
        "no tensor": lambda: zt.grad_norm([*parameters, "x"], groups=copies),
        "meta": lambda: zt.grad_norm([*parameters, meta], groups=copies),
        "a gradient is None": lambda: zt.grad_norm(lacking, groups=copies),
        "hash": lambda: zt.grad_norm(lacking, groups=copies, check_replicas=True),
        "megatron": lambda: zt.megatron_grad_norm(LikeMegatron([meta.grad], dist.group.WORLD)),
    }
    right = {name: lambda: zt.grad_norm(parameters, groups=copies) for name in wrongs}
    right["megatron"] = lambda: zt.megatron_grad_norm(
        LikeMegatron([p.grad for p in parameters], dist.group.WORLD)
    )
    right["a shard is None"] = wrongs["a shard is None"]
    right["hash"] = lambda: zt.grad_norm(parameters, groups=copies, check_replicas=True)
    return {
        name: refused((ValueError, TypeError), wrongs[name] if rank == 1 else right[name])
        for name in wrongs
    }


def mixed(rank, world, values):
    """Shards of a world mesh beside plain copies, compared, too."""
    mesh = init_device_mesh("cpu", (world,))
    parameters = [
        with_gradient(g.clone() if i % 2 else distributed(g, mesh, [Shard(0)]))
        for i, g in enumerate(values)
    ]
    copies = zt.Groups(replicas=dist.group.WORLD)
    return bits(zt.grad_norm(parameters, groups=copies, check_replicas=True))


def tied(rank, values):
    """Two stages of two ranks; the last gradient is tied between ranks of the stages, at other
    positions of their lists."""
    stages = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    mine = [with_gradient(g.clone()) for i, g in enumerate(values[:4]) if i // 3 == rank // 2]
    tie = with_gradient(values[4].clone())
    mine.insert(0 if rank < 2 else 1, tie)
    groups = zt.Groups(replicas=lambda p: dist.group.WORLD if p is tie else stages[rank // 2])
    return bits(zt.grad_norm(mine, groups=groups, check_replicas=True))


def across(rank, world):
    """The ranks with the same index in the halves of the world."""
    groups = [dist.new_group([q, q + world // 2]) for q in range(world // 2)]
    return groups[rank % (world // 2)]


RUNS = {"layouts": rank_layouts, "plain": rank_plain}


def broken(how):
    if how == "replicas":
        zt._of_dtensor = lambda *rest: ((dist.get_rank(),),)
    elif how == "order":
        zt._norm = lambda limbs, *rest: float32_norm(limbs)
        zt._words = float32_words
    elif how == "shards":
        zt._Part.completeness = lambda part, rank: 0
    elif how == "partial":
        Partial.is_partial = lambda self, *rest: False
        Partial.is_replicate = lambda self: True


def float32_words(tensors, device):
    words = torch.zeros(zt.WORDS, dtype=torch.float32)
    words[0] = sum((t.float().square().sum() for t in tensors), torch.zeros(()))
    return words


def float32_norm(limbs):
    return torch.tensor(float(limbs[0])).sqrt()


def start(run, world, how=""):
    """The results of all ranks."""
    import torch._dynamo  # noqa: F401  (else meshes import it in every child)

    with tempfile.TemporaryDirectory() as folder:
        children = []
        for rank in range(world):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    broken(how)
                    store = dist.FileStore(os.path.join(folder, "store"), world)
                    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
                    with open(os.path.join(folder, f"{rank}.json"), "w", encoding="utf-8") as file:
                        json.dump(RUNS[run](rank, world), file)
                    dist.barrier()
                    code = 0
                except BaseException:
                    if not how:
                        traceback.print_exc()
                finally:
                    os._exit(code)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        if any(codes):
            return None
        results = []
        for rank in range(world):
            with open(os.path.join(folder, f"{rank}.json"), encoding="utf-8") as file:
                results.append(json.load(file))
        return results


# ---- Checks --------------------------------------------------------------------------------------

failed = 0


def check(name, holds, *why):
    global failed
    failed += not holds
    print(f"{'ok' if holds else 'not ok'} {name}" + ("" if holds else f": {why}"))


def check_layouts(how):
    right = [exact_bits(gradients(1), double) for double in (False, True)]
    clipped = set()
    for world in sorted({math.prod(shape) for _, shape, _ in LAYOUTS}) if not how else (2, 4):
        results = start("layouts", world, how)
        check(f"{world} ranks end", results is not None)
        for name in results[0] if results else ():
            values = [r[name] for r in results]
            check(f"{name}: equal on all ranks", all(v == values[0] for v in values), values)
            if "clipped" in name:
                clipped.add(json.dumps(values[0]))
            else:
                check(f"{name}: the exact norm", values[0] == right, values[0], right)
    check("all layouts clip to the same gradients", len(clipped) == 1, len(clipped))


EXACT = ("ddp", "zero", "stages", "experts", "union", "megatron", "megatron, chained")
EXACT += ("mixed", "tied", "copies beyond the union")


def check_plain(how):
    right = exact_bits(gradients(1), False)
    results = start("plain", 4, how)
    check("4 ranks with plain tensors end", results is not None)
    for rank, found in enumerate(results or ()):
        for name in EXACT:
            check(f"rank {rank}, {name}: the exact norm", found[name] == right, found[name], right)
        for name, text in found["refused alike"].items():
            check(f"rank {rank}: {name} on rank 1 is refused by all", text, text)
        text = found["not a member"] or ""
        check("a group without this rank is refused", "not contain" in text or rank < 2, text)
        check("plain tensors need groups=", "groups=" in (found["error"] or ""), found["error"])
        text = found["one rank refuses"] or ""
        check(
            "a refusal ends all ranks", ("float64" if rank == 0 else "rank 0 refused") in text, text
        )
        text = found["replicas differ"] or ""
        check("copies that differ are named", "gradient 3" in text and "rank 3" in text, text)
        check("inf and NaN", found["non-finite"] == ["nan", 2], found["non-finite"])
        check("Partial is refused", "redistribute" in (found["partial"] or ""), found["partial"])
        check("a submesh needs groups=", "mesh of 2 of 4" in (found["submesh"] or ""))
        part = exact_bits(gradients(1)[2:3], False)
        check("a submesh with groups", found["submesh with groups"] == part)


def check_broken(how):
    """The ranks are broken; this process is not."""
    global failed
    before, text = failed, io.StringIO()
    with contextlib.redirect_stdout(text):
        check_layouts(how)
        check_plain(how)
    seen, failed = failed > before, before
    check(f"broken on purpose: {how} is seen", seen, text.getvalue()[-400:])


def check_one_process():
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        values = [g.clamp(-60000, 60000).to(dtype) for g in gradients(2)]
        parameters = [with_gradient(g) for g in values]
        for double in (False, True):
            norm = zt.grad_norm(parameters, dtype=torch.float64 if double else torch.float32)
            check(f"{dtype}: the exact norm", bits(norm) == exact_bits(values, double))
        found = zt.statistics(parameters)
        words = sum(zt.on_device(g) for g in values)
        limbs = zt._native.normalised(words[:20].tolist())
        check(f"{dtype}: PyTorch's operations give the same limbs", limbs == list(found.limbs))
    carries = torch.full((30000,), 19.0)  # the highest limbs of the blocks exceed 2^32 together
    norm = zt.grad_norm(with_gradient(carries))
    check("limbs are carried", bits(norm) == exact_bits([carries], False), norm)
    check("no gradients", zt.grad_norm([torch.nn.Parameter(torch.ones(2))]).item() == 0)
    column = with_gradient(torch.arange(12.0).reshape(3, 4).t())
    check("a transposed gradient", bits(zt.grad_norm(column)) == exact_bits([column.grad], False))
    for name, value in (("norm_type", 1.0), ("norm_type", math.inf), ("dtype", torch.float16)):
        text = refused(ValueError, functools.partial(zt.grad_norm, column, **{name: value}))
        check(f"{name}={value} is refused", text and name in text, text)
    text = refused(ValueError, lambda: zt.Groups(replicas=None))
    check("replicas=None is refused", "init_process_group" in (text or ""), text)
    text = refused(TypeError, lambda: zt.grad_norm(column, groups="x"))
    check("groups= of another type is refused", "zeroproof.torch.Groups" in (text or ""), text)
    column.grad[0, 0] = math.nan
    text = refused(RuntimeError, lambda: zt.grad_norm(column, error_if_nonfinite=True))
    check("error_if_nonfinite", text and "1 elements" in text, text)
    check_nonfinite()
    check_default_device(column)
    column.main_grad = column.grad
    text = refused(ValueError, lambda: zt.grad_norm(column))
    check("Megatron's .grad is refused", text and "megatron_grad_norm" in text, text)
    check_like_torch()
    if torch.get_default_device().type == "cpu":  # what the CPU does is documented
        check_half_products()


def check_half_products():
    """Every bf16 and fp16 pattern, NaN and infinities included, times factors: one rounding of the
    product with the fp32 factor, which itself is not rounded to bf16 or fp16."""
    random.seed(4)
    factors = [random.random() * 2.0 ** random.choice((0, -1, -20, -130)) for _ in range(100)]
    for dtype in (torch.bfloat16, torch.float16):
        patterns = torch.arange(65536).to(torch.uint16).view(dtype)
        small = patterns[patterns.float().abs() < 2.0**50]
        equal, equal_clipped = True, True
        for factor in [0.0, 1e-45, 0.999999, math.nan, math.inf, *factors]:
            word, product = torch.tensor(factor), patterns.clone()
            torch._foreach_mul_([product], word)
            expected = (patterns.float() * word).to(dtype)
            equal &= torch.equal(product.view(torch.int16), expected.view(torch.int16))
        for factor in factors[:20]:
            parameter = with_gradient(small.clone())
            limit = factor * zt.grad_norm(parameter).item()
            word = limit / (zt.clip_grad_norm_(parameter, limit) + 1e-6)
            expected = (small.float() * word).to(dtype)
            equal_clipped &= torch.equal(
                parameter.grad.view(torch.int16), expected.view(torch.int16)
            )
        check(f"{dtype}: PyTorch rounds each product once", equal)
        check(f"{dtype}: clipped gradients are those products", equal_clipped)


def check_nonfinite():
    """torch's results for inf and NaN, and their number."""
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for bad in ([math.inf], [-math.inf, math.inf], [math.nan], [math.inf, math.nan, -math.inf]):
            parameters = [with_gradient(torch.ones(40, dtype=dtype)) for _ in range(2)]
            parameters[1].grad[3 : 3 + len(bad)] = torch.tensor(bad, dtype=dtype)
            found = zt.statistics(parameters)
            theirs = torch.nn.utils.get_total_norm([p.grad for p in parameters])
            check(f"{dtype}, {bad}: torch's norm", str(found.norm.item()) == str(theirs.item()))
            check(f"{dtype}, {bad}: their number", found.nonfinite.item() == len(bad))
            finite = [(80 - len(bad)) << 10 if i == 9 else 0 for i in range(20)]
            check(f"{dtype}, {bad}: the finite sum", list(found.limbs) == finite, found.limbs)


def check_default_device(parameter):
    """Tensors without a device of their own, which models are made with, are no gradients."""
    parameter.grad = parameter.grad.nan_to_num(nan=3.0)
    right = exact_bits([parameter.grad], False)
    with torch.device("meta"):
        norm = zt.clip_grad_norm_(parameter, 1e30)
    check("the default device is another one", bits(norm) == right, norm)


def check_queued():
    """With the CUDA library, neither the norm nor clipping reads a value on the host. More tensors
    than fit into a launch's parameters, of all formats, one empty."""
    dtypes = (torch.float32, torch.bfloat16, torch.float16)
    values = [torch.ones(1, dtype=d) for d in dtypes]
    values += [g.clamp(-60000, 60000).to(d) for d in dtypes for i in range(7) for g in gradients(i)]
    values += [torch.empty(0), torch.full((9000,), 2.0**-149), torch.full((8191,), 2.0**-126)]
    right = exact_bits(values, False)
    parameters = [with_gradient(g.clone()) for g in values]
    kept = {}
    if values[0].is_cuda:
        torch.cuda.set_sync_debug_mode("error")
    for name in ("item", "tolist", "numpy", "__bool__", "__float__", "__int__"):
        kept[name] = getattr(torch.Tensor, name)
        setattr(torch.Tensor, name, lambda *rest, name=name: sys.exit(f"the host calls {name}"))
    try:
        norm = zt.clip_grad_norm_(parameters, 1e30)
        same = zt.clip_grad_norm_(parameters, 2.0)
    finally:
        for name, function in kept.items():
            setattr(torch.Tensor, name, function)
        if values[0].is_cuda:
            torch.cuda.set_sync_debug_mode("default")
    check("the norm of many tensors is exact", bits(norm) == bits(same) == right, norm)
    factor = torch.clamp(2.0 / (norm + 1e-6), max=1.0)
    equal = all(torch.equal(p.grad, g * factor) for p, g in zip(parameters, values, strict=True))
    check("gradients are clipped", equal)


def check_like_torch():
    """torch's factor and its result; where torch's norm is exact, all bits are equal."""
    for limit in (1.0, 100.0):
        ours = [with_gradient(torch.tensor([3.0, 4.0])), with_gradient(torch.tensor([12.0]))]
        theirs = [with_gradient(p.grad.clone()) for p in ours]
        norms = zt.clip_grad_norm_(ours, limit), torch.nn.utils.clip_grad_norm_(theirs, limit)
        check(
            f"max_norm={limit}: torch's norm",
            bits(norms[0]) == bits(norms[1]) == bits(torch.tensor(13.0)),
        )
        equal = all(torch.equal(a.grad, b.grad) for a, b in zip(ours, theirs, strict=True))
        check(f"max_norm={limit}: torch's gradients", equal)


def check_alone():
    check_one_process()
    if CUDA:
        check_queued()
    return 1 if failed else 0


def check_library(path):
    """In a child: True if all checks pass with this library."""
    child = os.fork()
    if child == 0:
        os.environ["ZEROPROOF_CUDA_LIBRARY"] = path
        with open(f"{path}.out", "w", encoding="utf-8") as out, contextlib.redirect_stdout(out):
            try:
                code = check_alone()
            except BaseException:
                traceback.print_exc(file=out)
                code = 1
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def main():
    if sys.argv[1:2] == ["--libraries"]:
        for path in sys.argv[2:]:
            print(f"{path}: {'lawful' if check_library(path) else 'a check fails'}", flush=True)
        return 0
    if sys.argv[1:2] == ["--one-process"] and len(sys.argv) > 2:
        torch.set_default_device(sys.argv[2])
    code = check_alone()
    if "--one-process" in sys.argv:
        return code
    check_layouts("")
    check_plain("")
    for how in () if CUDA else ("replicas", "order", "partial", "shards"):
        check_broken(how)
    return 1 if failed else 0


if __name__ == "__main__":
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    sys.exit(main())
