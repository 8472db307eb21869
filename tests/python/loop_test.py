"""Loops around zeroproof.torch.Engine: torch.compile, several engines in one process, `with`,
losses of the caller's own, the ledger, memory, activation checkpointing.

    python loop_test.py [memory]    # that alone, of one rank"""

import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

import engine_test
import torch
import torch._dynamo  # (torch.optim imports it, or every child would)
import torch.distributed as dist
import zeroproof.torch as zt
from engine_test import check, on_ranks
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

GLOBAL, STEPS = 6, 3  # micro-batches of a step, of all ranks


def model_of(seed=5):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3)
    )


def batch_of(step, number):
    made = torch.Generator().manual_seed(1000 * step + number)
    return torch.randn(4, 8, generator=made), torch.randn(4, 3, generator=made)


def train(engine, forward, rank, world, steps=STEPS):
    found = []
    for step in range(steps):
        for number in range(rank, GLOBAL, world):
            x, y = batch_of(step, number)
            with engine.micro_batch():
                engine.backward(functional.mse_loss(forward(x), y))
        state = engine.step()
        found.append((state.norm.hex(), state.loss.hex()))
    return found


def compiled(rank, world, given, folder):
    """given: the engine gets the compiled model; otherwise the model that is compiled later. A
    recompilation after the first step is an error."""
    torch.set_num_threads(1)
    model = model_of()
    wrapped = torch.compile(model, dynamic=False)
    engine = zt.Engine(wrapped if given else model, {"lr": 0.02}, micro_batches=GLOBAL // world)
    found = train(engine, wrapped, rank, world, 1)
    torch._dynamo.config.error_on_recompile = True
    found += train(engine, wrapped, rank, world)
    frames = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    engine.save(f"{folder}/{given}")
    engine.close()
    plain = model_of()
    with zt.Engine(plain, {"lr": 0.02}, micro_batches=GLOBAL // world) as again:
        again.load(f"{folder}/{given}")  # names are the model's
        same = all(
            torch.equal(p, q) for p, q in zip(model.parameters(), plain.parameters(), strict=True)
        )
    return found, frames, same


def eager(rank, world):
    torch.set_num_threads(1)
    engine = zt.Engine(model_of(), {"lr": 0.02}, micro_batches=GLOBAL // world)
    return train(engine, engine.model, rank, world, 1) + train(engine, engine.model, rank, world)


def compiling():
    wanted = on_ranks(1, eager)[0]
    cache = tempfile.TemporaryDirectory()
    for given in (False, True):
        results = {}
        for world in (1, 2):
            with tempfile.TemporaryDirectory() as folder:
                os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", f"{cache.name}/inductor")
                found = on_ranks(world, compiled, given, folder)
            name = f"torch.compile, engine of the {'compiled ' * given}model, {world} ranks"
            good = all(isinstance(one, tuple) for one in found)
            check(name, good and found == found[:1] * world, found)
            if good:
                check(f"{name}: one graph", found[0][1] == 1, found[0][1])
                check(f"{name}: a checkpoint without it", found[0][2], found)
                results[world] = found[0][0]
        check(f"{name}: the bits of 1", len(results) == 2 and results[1] == results[2], results)
        near = [
            abs(float.fromhex(a) - float.fromhex(b)) < 1e-4  # kernels that round otherwise
            for one, two in zip(results.get(1, []), wanted, strict=False)
            for a, b in zip(one, two, strict=True)
        ]
        check(f"{name}: near eager", len(near) == 2 * (STEPS + 1) and all(near), (results, wanted))


def several(rank, world):
    """Engines one after the other in a process group, and two at a time."""
    torch.set_num_threads(1)
    found = []
    for stage in (0, 1, 2):
        micro = GLOBAL // world
        with zt.Engine(
            model_of(), {"lr": 0.02}, stage=stage, micro_batches=micro, timeout_s=20 + stage
        ) as engine:
            found.append(train(engine, engine.model, rank, world))
            issued = [(one.ops, one.hash) for one in engine.last.ledger.values()]
            sent = engine.last.ledger["data_parallel"].bytes
    if world > 1:
        said = [None] * world
        dist.all_gather_object(said, issued)
        assert said == [issued] * world, said  # ranks issue the same
        assert issued[1][0] > 0 and sent > 0, (issued, sent)
    first, second = model_of(), model_of(7)
    one = zt.Engine(first, {"lr": 0.02}, micro_batches=GLOBAL // world)
    two = zt.Engine(second, {"lr": 0.02}, micro_batches=GLOBAL // world)
    train(two, second, rank, world)
    found.append(train(one, first, rank, world))
    one.close()
    two.close()
    return found == found[:1] * 4


def mixed(rank, world, dtype):
    """fp32 parameters under autocast; fp16 with a dynamic scale, whose first one overflows."""
    torch.set_num_threads(1)
    scale = {"first": 2.0**19} if dtype == torch.float16 else None
    engine = zt.Engine(model_of(), {"lr": 0.02}, micro_batches=GLOBAL // world, scale=scale)
    found = []
    for step in range(8):
        for number in range(rank, GLOBAL, world):
            x, y = batch_of(step, number)
            with engine.micro_batch():
                with torch.autocast("cpu", dtype=dtype):
                    loss = functional.mse_loss(engine.model(100 * x), y)
                engine.backward(loss.float())
        state = engine.step()
        found.append((state.norm.hex(), state.loss.hex(), state.scale, state.skipped))
    return found


LAYERS, WIDTH, BUCKET = 16, 512, 1 << 18  # of memory()'s model: 16 buckets


def planned(world, micro_batches, reduce):
    """Bytes of one rank's engine, by `zeroproof plan`, without its program."""
    params = [{"name": f"{i}.weight", "numel": WIDTH * WIDTH} for i in range(LAYERS)]
    # "native" is "ordered" on the CPU; entries start at 128 bytes by default, as Engine's do
    settings = {"params": params, "pp": 1, "dp": world, "stage": 2, "precision": "fp32"}
    settings |= {"micro_batches": micro_batches, "bucket": BUCKET}
    settings |= {"reduce": "exact" if reduce == "exact" else "ordered"}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(settings, file)
        file.flush()
        command = [os.environ.get("ZEROPROOF", "build/zeroproof"), "plan", "--json", "--config"]
        said = subprocess.run([*command, file.name], capture_output=True, check=True).stdout
    memory = json.loads(said)["first_rank_of_each_stage"][0]["memory"]
    return memory["total"] - memory["program"]


def memory(rank, world, micro_batches, reduce):
    """The peak of the process's memory, beyond that before there is a model."""
    torch.set_num_threads(1)
    # Blocks of 64 KiB or more return to the system when they are freed: M_MMAP_THRESHOLD
    assert ctypes.CDLL(None).mallopt(-3, 1 << 16) == 1
    x = torch.randn(8, WIDTH)  # what PyTorch allocates once, before the measurement
    torch.nn.Linear(WIDTH, WIDTH, bias=False)(x).square().mean().backward()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak begins anew
    with open("/proc/self/status") as file:
        before = int(re.search(r"VmRSS:\s*(\d+)", file.read())[1])
    model = torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)))
    settings = {"reduce": reduce, "micro_batches": micro_batches, "bucket": BUCKET}
    engine = zt.Engine(model, {"lr": 0.02}, **settings)
    for _ in range(micro_batches):
        with engine.micro_batch():
            engine.backward(model(x).square().mean())
    engine.step()
    with open("/proc/self/status") as file:
        return (int(re.search(r"VmHWM:\s*(\d+)", file.read())[1]) - before) * 1024


def memories(worlds):
    """What `zeroproof plan` says, and the gradients of one micro-batch, which the engine keeps, too
    (options.gradual); with a slack. On one rank that is 12 MiB for pages of libraries and PyTorch's
    small blocks (measured: 3.4), on two 24 MiB with gloo's and two buckets, which the transport
    sends and receives (measured: 9.7 in all). A copy of parameters or gradients is 16 MiB more,
    which one rank shows."""
    numel, mib = LAYERS * WIDTH * WIDTH, 1 << 20
    for world in worlds:
        slack = 12 * mib if world == 1 else 24 * mib + 2 * 4 * BUCKET
        for reduce in ("native", "exact"):
            for micro_batches in (1, 4):
                least = planned(world, micro_batches, reduce) + 4 * numel
                found = on_ranks(world, memory, micro_batches, reduce)
                good = all(least <= one <= least + slack for one in found)
                name = f"memory, {reduce}, {micro_batches} micro-batches on {world}"
                check(name, good, (least, least + slack, found))
                over = [f"{(one - least) / mib:.1f}" for one in found if good]
                print(f"  {least / numel:.2f} bytes a parameter, and {', '.join(over)} MiB")


def wrapped(rank, world):
    """Models that other libraries shard are refused by name."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Shard, distribute_tensor
    from torch.nn.parallel import DistributedDataParallel

    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("tp",))
    parallel = model_of()
    parallel[0].weight = torch.nn.Parameter(distribute_tensor(parallel[0].weight, mesh, [Shard(0)]))
    found = []
    for model in (DistributedDataParallel(model_of()), fully_shard(model_of()), parallel):
        try:
            zt.Engine(model, {"lr": 0.02})
            found.append("no error")
        except ValueError as error:
            found.append(str(error))
    return found


def losses(rank, world):
    """loss() replaces what backward() noted, and its not being finite skips the step."""
    engine = zt.Engine(model_of(), {"lr": 0.02}, micro_batches=2)
    said = []
    for wrong in (False, True):
        for number in range(2):
            x, y = batch_of(0, number)
            with engine.micro_batch():
                engine.backward(functional.mse_loss(engine.model(x), y))
                engine.loss(torch.tensor(float("inf") if wrong else 3.0 + number))
        said.append((engine.step().loss, engine.last.skipped))
    try:
        engine.loss(1.0)
        said.append("no error")
    except zt.EngineError as error:
        said.append(str(error))
    return said


def newcomers(rank, world):
    """What people have tried: their errors, and OneCycleLR, which works."""
    engine = zt.Engine(model_of(), {"lr": 0.02}, micro_batches=1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(engine.optimizer, max_lr=0.1, total_steps=10)
    with engine.micro_batch():
        engine.backward(engine.model(batch_of(0, rank)[0]).sum())
    engine.step()
    schedule.step()
    said = [str(engine.optimizer.param_groups[0]["lr"] < 0.1)]
    weight = next(engine.model.parameters())

    def attempt(run):
        try:
            run()
            said.append("no error")
        except zt.EngineError as error:
            said.append(str(error))

    def vector():
        with engine.micro_batch():
            engine.backward(engine.model(batch_of(0, rank)[0])[0])

    attempt(vector)
    weight.requires_grad_(False)
    attempt(vector)
    weight.requires_grad_(True)
    attempt(lambda: engine.load(__file__))
    with torch.no_grad():
        weight.fill_(7.0)  # masters have the old value: it is not saved in silence
    attempt(lambda: engine.save("never"))
    engine.close()
    return said


def raising(rank, world):
    """An error leaves `with` as it is, at once, though the other rank does not come."""
    if rank == 0:
        engine = zt.Engine(model_of(), {"lr": 0.02}, timeout_s=20)
        with engine.micro_batch():
            engine.backward(engine.model(batch_of(0, 0)[0]).sum())
        engine.step()
        return "through"
    with zt.Engine(model_of(), {"lr": 0.02}, timeout_s=20):
        raise ValueError("a bad batch")


class Recomputed(torch.nn.Module):
    """how: None, or use_reentrant of torch.utils.checkpoint. Its last block shares a weight with
    the first layer, which is outside of it."""

    def __init__(self, how):
        super().__init__()
        torch.manual_seed(9)
        self.first, self.out, self.how = torch.nn.Linear(8, 8), torch.nn.Linear(8, 3), how
        self.blocks = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Dropout(0.3))
            for _ in range(3)
        )
        self.blocks[2][0].weight = self.first.weight
        self.runs = 0

    def run(self, block, x):
        self.runs += 1
        return block(x)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            if self.how is None:
                x = self.run(block, x)
            else:
                x = checkpoint(self.run, block, x, use_reentrant=self.how)
        return self.out(x)


def recomputed(rank, world, how):
    torch.set_num_threads(1)
    torch.manual_seed(13 + rank)  # of Dropout: the recomputation drops the same
    model = Recomputed(how)
    torch.manual_seed(13 + rank)
    with zt.Engine(model, {"lr": 0.02}, micro_batches=GLOBAL // world) as engine:
        found = train(engine, model, rank, world)
    return found, engine_test.bits(model), model.runs


def recomputing():
    """Activation checkpointing changes no bit."""
    wanted = on_ranks(2, recomputed, None)
    runs = 3 * STEPS * GLOBAL // 2
    good = all(isinstance(one, tuple) and one[2] == runs for one in wanted)
    check("without activation checkpointing", good, wanted)
    for how in (True, False):
        found = on_ranks(2, recomputed, how)
        good = good and found == [(*one[:2], 2 * runs) for one in wanted]
        check(f"activation checkpointing, use_reentrant={how}: the same bits", good, found)


if __name__ == "__main__":
    if sys.argv[1:] == ["memory"]:
        memories([1])
        sys.exit(engine_test.failed > 0)
    for world in (1, 2, 3):
        found = on_ranks(world, several)
        check(f"several engines on {world}", found == [True] * world, found)
        found = on_ranks(world, losses)
        wanted = [(3.5, False), True, f"rank {world - 1}: loss() outside"]
        last = found[-1] if isinstance(found[-1], list) else [found[-1]] * 3
        good = last[0] == wanted[0] and last[1][1] is True and last[2].startswith(wanted[2])
        check(f"losses on {world}", good, found)
    for dtype in (torch.bfloat16, torch.float16):
        one = on_ranks(1, mixed, dtype)[0]
        skips = [skipped for *_, skipped in one] if isinstance(one, list) else []
        good = len(skips) == 8 and any(skips) == (dtype == torch.float16) and not skips[-1]
        check(f"autocast to {dtype}", good, one)
        found = on_ranks(2, mixed, dtype)
        check(f"autocast to {dtype}: the bits of 1", found == [one] * 2, (one, found))
    memories([1, 2])
    recomputing()
    for text in on_ranks(2, wrapped):
        good = isinstance(text, list) and "is a DistributedDataParallel: pass the model" in text[0]
        good = good and "pass the model within it" in text[1] and "0.weight is a DTensor" in text[2]
        check("sharded models are refused", good, text)
    wanted = ("True", "has shape [3]", "0.weight.requires_grad was changed", "is a file; load()")
    wanted += ("0.weight was changed after Engine()",)
    for said in on_ranks(2, newcomers):
        good = isinstance(said, list) and all(a in b for a, b in zip(wanted, said, strict=True))
        check("what newcomers tried", good, said)
    for r, text in enumerate(on_ranks(2, raising)):
        said = "ValueError: a bad batch"
        check(
            f"an error within `with`, rank {r}",
            text.endswith(said) and (r or "rank 1" in text),
            text,
        )
    compiling()
    sys.exit(engine_test.failed > 0)
