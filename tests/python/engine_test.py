"""zeroproof.torch.Engine on 1 to 3 gloo ranks: the same bits for every number of ranks, ZeRO stage
and bucket size; torch.optim.AdamW's values within a bound; mistakes end in errors that name
them."""

import contextlib
import os
import pickle
import sys
import tempfile
import traceback

import torch
import torch.distributed as dist
import zeroproof.torch as zt
from torch.nn import functional

GLOBAL, STEPS = 6, 3  # micro-batches of a step, of all ranks
failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print(f"{'ok' if good else 'not ok'} {name}{'' if good else f' # {why}'}", flush=True)


def on_ranks(world, run, *arguments):
    """run(rank, world, *arguments) in a process for each rank; their results, or errors' texts."""
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for rank in range(world):
            child = os.fork()
            if child == 0:
                one_rank(folder, rank, world, run, arguments)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        found = []
        for rank in range(world):
            with open(os.path.join(folder, str(rank)), "rb") as file:
                found.append(pickle.load(file))
        return found


def one_rank(folder, rank, world, run, arguments):
    code = 0
    try:
        if world > 1:
            store = dist.FileStore(os.path.join(folder, "store"), world)
            dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
        result = run(rank, world, *arguments)
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
        if not isinstance(error, (zt.EngineError, ValueError)):
            result += traceback.format_exc()
    with open(os.path.join(folder, str(rank)), "wb") as file:
        pickle.dump(result, file)
    sys.stdout.flush()
    os._exit(code)


class Net(torch.nn.Module):
    """With a shared weight, a frozen one, one that only some micro-batches use, and a norm."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        torch.manual_seed(3)
        self.embed = torch.nn.Linear(8, 8, bias=False)
        self.again = self.embed  # tied
        self.frozen = torch.nn.Linear(8, 8)
        self.frozen.requires_grad_(False)
        self.norm = torch.nn.LayerNorm(8)
        self.rare = torch.nn.Linear(8, 8)
        self.out = torch.nn.Linear(8, 3)
        for module in (self.embed, self.frozen, self.rare, self.out):
            module.to(dtype)

    def forward(self, x, rare):
        dtype = self.out.weight.dtype
        x = self.again(torch.tanh(self.frozen(self.embed(x.to(dtype)))))
        x = self.norm(x.float()).to(dtype)
        if rare:
            x = x + self.rare(x)
        return self.out(x).float()


def batch(step, g):
    made = torch.Generator().manual_seed(100 * step + g)
    return torch.randn(4, 8, generator=made), torch.randn(4, 3, generator=made)


def bits(model):
    return [p.detach().contiguous().view(torch.uint8).tolist() for p in model.parameters()]


def train(
    rank,
    world,
    *,
    stage=2,
    bucket=64,
    dtype="float32",
    steps=STEPS,
    save=None,
    load=None,
    fault=0.0,
    **more,
):
    model = Net(getattr(torch, dtype))
    if rank:  # the first rank's values count
        for p in model.parameters():
            p.data.add_(1)
    times = GLOBAL // world
    settings = {"lr": 0.01, "weight_decay": 0.1, **more.pop("optimizer", {})}
    engine = zt.Engine(
        model, settings, stage=stage, micro_batches=times, bucket=bucket, clip=0.5, **more
    )
    if load:
        engine.load(load)
    said = []
    for step in range(engine.last.steps if engine.last else 0, steps):
        engine.set_rates([0.01 / (1 + step)])
        for mb in range(times):
            g = mb * world + rank
            x, y = batch(step, g)
            with engine.micro_batch():
                loss = functional.mse_loss(model(x, rare=g % 3 == 0), y)
                wrong = fault if (step, g) == (1, 1) else 0.0
                engine.backward(loss * (0.25 + wrong))  # two losses of one micro-batch
                engine.backward(functional.mse_loss(model(x, rare=False), y) * 0.5)
        said.append(tuple(engine.step()[:6]))
    if save:
        engine.save(save)
    engine.close()
    return said, bits(model)


def run_train(rank, world, options):
    return train(rank, world, **options)


def laws():
    for dtype in ("float32", "bfloat16", "float16"):
        [(said, values)] = on_ranks(1, run_train, {"stage": 0, "bucket": 1 << 20, "dtype": dtype})
        check(f"{dtype}: one rank trains", len(said) == STEPS and said[-1][1] > 0, said)
        for world in (2, 3):
            for stage in (0, 1, 2):
                options = {"stage": stage, "bucket": 16 + 48 * stage, "dtype": dtype}
                found = on_ranks(world, run_train, options)
                check(
                    f"{dtype}: {world} ranks, stage {stage}: the bits of one rank",
                    all(one == (said, values) for one in found),
                    [one if isinstance(one, str) else one[0] for one in found],
                )
    [(said, values)] = on_ranks(1, run_train, {})
    [other] = on_ranks(1, run_train, {"optimizer": {"weight_decay": 0.2}})
    check("another weight decay gives other bits", other[1] != values, other)
    found = on_ranks(2, run_train, {"fault": 2.0**-20})
    check("one gradient that is 2^-20 larger gives other bits", found[0] != (said, values), found)
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "saved")
        on_ranks(3, run_train, {"steps": 2, "save": place})
        found = on_ranks(2, run_train, {"stage": 1, "load": place})
    check(
        "saved on 3 ranks, continued on 2: the bits of an uninterrupted run",
        all(one == (said[2:], values) for one in found),
        found,
    )


def against_torch():
    """One step from the same values with the same gradients. Each of the two rounds at most 12
    times on the way to its step, of about lr, and 3 times where it decays and changes w (OPT-4):
    together they differ by at most 2^-24 (2 * 12 lr + 2 * 3 (|w| + lr)), with a fourth to spare."""
    model, other, lr = Net(), Net(), 0.01
    trained = [p for p in other.parameters() if p.requires_grad]
    adamw = torch.optim.AdamW(trained, lr=lr, weight_decay=0.1)
    engine = zt.Engine(model, {"lr": lr, "weight_decay": 0.1})
    x, y = batch(0, 0)
    with engine.micro_batch():
        engine.backward(functional.mse_loss(model(x, rare=True), y))
    functional.mse_loss(other(x, rare=True), y).backward()
    engine.step()
    adamw.step()
    worst, moved = 0.0, 0.0
    for p, q, w in zip(model.parameters(), other.parameters(), Net().parameters(), strict=True):
        bound = 2.0**-24 * (40 * lr + 8 * w.abs())
        worst = max(worst, float(((p - q).abs() / bound).max()))
        moved = max(moved, float((q - w).abs().max()))
    check("a step of AdamW is that of torch.optim.AdamW", worst <= 1 and moved > 0.009, worst)
    check("gradients are gone", all(p.grad is None for p in model.parameters()))
    engine.close()


def overflow(rank, world):
    """In the second step, one rank's gradient is infinite: all skip it, and halve the scale."""
    model, said = Net(torch.bfloat16), []
    engine = zt.Engine(model, {"lr": 0.01}, stage=2, scale="dynamic")
    for step in range(3):
        before = bits(model)
        with engine.micro_batch():
            factor = 1e38 if (step, rank) == (1, 1) else 1.0
            engine.backward(
                functional.mse_loss(model(batch(step, rank)[0], True), batch(0, 0)[1]) * factor
            )
        state = engine.step()
        said.append((state.skipped, state.scale, bits(model) == before))
    engine.close()
    return said


def overflows():
    want = [(False, 2.0**16, False), (True, 2.0**15, True), (False, 2.0**15, False)]
    found = on_ranks(2, overflow)
    check(
        "an overflow on one rank skips the step on all, and halves the scale",
        found == [want] * 2,
        found,
    )


# ---- Mistakes ------------------------------------------------------------------------------------


def refused(name, text, run):
    """run raises an error of which the message has the text."""
    said = "no error"
    try:
        run()
    except (zt.EngineError, ValueError) as error:
        said = str(error)
    check(f"refused: {name}", text in said, said)


def new(**more):
    return zt.Engine(Net(), {"lr": 0.01}, **more)


def one_backward(engine, x=None):
    x = batch(0, 0)[0] if x is None else x
    engine.backward(engine.model(x, rare=True).sum())


def mistakes():
    def no_micro_batch():
        one_backward(new())

    def own_backward():
        new().model(batch(0, 0)[0], rare=True).sum().backward()

    def too_many():
        engine = new()
        for _ in range(2):
            with engine.micro_batch():
                one_backward(engine)

    def too_few():
        engine = new(micro_batches=2)
        with engine.micro_batch():
            one_backward(engine)
        engine.step()

    def rebound():
        engine = new()
        engine.model.out.weight.data = torch.zeros(3, 8)
        with engine.micro_batch():
            pass

    def nested():
        engine = new()
        with engine.micro_batch(), engine.micro_batch():
            pass

    def left_out():
        model = Net()
        zt.Engine(model, [{"params": model.out.parameters(), "lr": 0.1}])

    def twice():
        model = Net()
        zt.Engine(model, [{"params": model.parameters()}, {"params": model.out.parameters()}])

    refused("backward outside", "backward() outside micro_batch()", no_micro_batch)
    refused("loss.backward outside", "outside micro_batch(): write", own_backward)
    refused("too many micro-batches", "micro-batch 1 of 1: step() comes first", too_many)
    refused("too few micro-batches", "step() after 1 of 2 micro-batches", too_few)
    refused("rebound data", "out.weight.data is no longer the engine's memory", rebound)
    refused("nested", "micro_batch() within micro_batch()", nested)
    refused("no group", "is trained and in no optimizer group", left_out)
    refused("two groups", "is in optimizer groups 0, 1", twice)
    refused("kind", "'lamb'; it must be adamw or sgd", lambda: zt.Engine(Net(), {"kind": "lamb"}))
    refused("number", "has no 'rho'", lambda: zt.Engine(Net(), {"rho": 1}))
    refused("reduce", "must be one of ordered, exact", lambda: new(reduce="sum"))
    refused("stage", "stage: 3 is out of range", lambda: new(stage=3))
    refused("scale", "scale is 3; it must be a power of two", lambda: new(scale=3))
    refused("scale's word", "it must be a number or 'dynamic'", lambda: new(scale="auto"))
    refused("rate", "lr is -1", lambda: zt.Engine(Net(), {"lr": -1}))
    refused(
        "dtype",
        "parameters are fp32, and of bf16 or fp16 one",
        lambda: zt.Engine(Net(torch.float64)),
    )
    refused("no parameters", "has no parameters", lambda: zt.Engine(torch.nn.Identity()))


def other_bucket(rank, world):
    zt.Engine(Net(), bucket=64 + rank)


def leaves(rank, world):
    """The second rank raises an exception in its forward."""
    engine = new(timeout_s=20.0)
    with contextlib.suppress(KeyError), engine.micro_batch():
        one_backward(engine)
        if rank:
            raise KeyError("of its own")
    if rank:
        return "left"
    engine.step()


def mistakes_of_one_rank():
    found = on_ranks(2, other_bucket)
    check("another bucket on one rank is named", any("bucket" in one for one in found), found)
    found = on_ranks(2, leaves)
    check("a rank that has left ends the other one", "rank 0" in found[0], found)


def main():
    torch.set_num_threads(1)
    laws()
    against_torch()
    overflows()
    mistakes()
    mistakes_of_one_rank()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
