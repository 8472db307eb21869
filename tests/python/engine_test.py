"""zeroproof.torch.Engine on 1 to 4 gloo ranks: the same bits for every number of ranks, ZeRO stage
and bucket size; mistakes end in errors that name them."""

import contextlib
import os
import pickle
import sys
import tempfile
import traceback
import unittest.mock

import torch
import torch._dynamo  # noqa: F401  (torch.optim imports it, or every child would)
import torch.distributed as dist
import zeroproof.torch as zt
from torch.nn import functional

GLOBAL, STEPS = 12, 3  # micro-batches of a step, of all ranks
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
    except BaseException as error:
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
        for world in (2, 3, 4):
            for stage in (0, 1, 2):
                options = {"stage": stage, "bucket": 16 + 48 * stage, "dtype": dtype}
                found = on_ranks(world, run_train, options)
                check(
                    f"{dtype}: {world} ranks, stage {stage}: the bits of one rank",
                    all(one == (said, values) for one in found),
                    [one if isinstance(one, str) else one[0] for one in found],
                )
    [(said, values)] = on_ranks(1, run_train, {"stage": 0, "bucket": 1 << 20})
    for stage, bucket in ((1, 64), (2, 16), (2, 64), (2, 1 << 20)):
        found = on_ranks(1, run_train, {"stage": stage, "bucket": bucket})
        check(f"1 rank, stage {stage}, bucket {bucket}: the bits", found == [(said, values)], found)
    for stage, bucket in ((0, 16), (0, 112), (1, 1 << 20), (2, 16), (2, 1 << 20)):
        found = on_ranks(3, run_train, {"stage": stage, "bucket": bucket})
        name = f"3 ranks, stage {stage}, bucket {bucket}: the bits"
        check(name, found == [(said, values)] * 3, found)
    [other] = on_ranks(1, run_train, {"optimizer": {"weight_decay": 0.2}})
    check("another weight decay gives other bits", other[1] != values, other)
    found = on_ranks(2, run_train, {"fault": 2.0**-20})
    check("one gradient that is 2^-20 larger gives other bits", found[0] != (said, values), found)
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "saved")
        on_ranks(4, run_train, {"steps": 2, "save": place})
        found = on_ranks(3, run_train, {"stage": 1, "load": place})
    check(
        "saved on 4 ranks, continued on 3: the bits of an uninterrupted run",
        all(one == (said[2:], values) for one in found),
        found,
    )


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
    except (zt.EngineError, ValueError, RuntimeError) as error:
        said = str(error)
    check(f"refused: {name}", text in said, said)


def new(**more):
    return zt.Engine(Net(), {"lr": 0.01}, **more)


def one_backward(engine):
    engine.backward(engine.model(batch(0, 0)[0], rare=True).sum())


def one_step(engine):
    with engine.micro_batch():
        one_backward(engine)
    engine.step()
    return engine


def wrong_calls():
    def no_micro_batch():
        one_backward(new())

    def own_backward(engine):
        engine.model(batch(0, 0)[0], rare=True).sum().backward()

    def own_backward_within():
        engine = new()
        with engine.micro_batch():
            own_backward(engine)

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

    def nested():
        engine = new()
        with engine.micro_batch(), engine.micro_batch():
            pass

    def no_backward():
        engine = new()
        with engine.micro_batch():
            pass

    def old_graph():
        engine = new()
        loss = engine.model(batch(0, 0)[0], rare=True).square().sum()
        one_step(engine)
        with engine.micro_batch():
            engine.backward(loss)

    def half_loss():
        engine = new()
        with engine.micro_batch():
            engine.backward(engine.model(batch(0, 0)[0], rare=True).sum().half())

    def within_a_step(run):
        engine = new(micro_batches=2)
        with engine.micro_batch():
            one_backward(engine)
        run(engine)

    refused("backward without micro_batch", "backward() outside", no_micro_batch)
    refused("loss.backward", "did not come from engine.backward(loss)", lambda: own_backward(new()))
    refused("loss.backward within", "did not come from engine.backward", own_backward_within)
    refused("too many micro-batches", "all 1 micro-batches are done: step() comes first", too_many)
    refused("too few micro-batches", "step() after 1 of 2 micro-batches", too_few)
    refused("nested", "micro_batch() within micro_batch()", nested)
    refused("no backward", "micro-batch 0 has no engine.backward(loss)", no_backward)
    refused("a graph from before the step", "modified by an inplace operation", old_graph)
    refused("a loss in fp16", "the loss is fp16", half_loss)
    refused(
        "save within a step", "save() within a step", lambda: within_a_step(lambda e: e.save("/x"))
    )
    refused(
        "load within a step", "load() within a step", lambda: within_a_step(lambda e: e.load("/x"))
    )
    refused("no folder", "there is no folder /none", lambda: new().load("/none"))


def changed_models():
    def with_engine(change):
        engine = one_step(new())
        change(engine.model)
        with engine.micro_batch():
            one_backward(engine)

    def rebind(model):
        model.out.weight.data = torch.zeros(3, 8)

    def replace(model):
        model.out.weight = torch.nn.Parameter(torch.zeros(3, 8))

    def transpose(model):
        model.rare.weight.data = model.rare.weight.data.t()

    refused(
        "rebound data",
        "out.weight.data is no longer the engine's memory",
        lambda: with_engine(rebind),
    )
    refused("transposed data", "rare.weight.data is no longer", lambda: with_engine(transpose))
    refused(
        "a new parameter", "out.weight was added, removed or replaced", lambda: with_engine(replace)
    )
    refused(
        "load_state_dict afterwards",
        "was changed after Engine()",
        lambda: with_engine(lambda model: model.load_state_dict(Net().state_dict())),
    )


def wrong_arguments():
    def left_out():
        model = Net()
        zt.Engine(model, [{"params": model.out.parameters(), "lr": 0.1}])

    def twice():
        model = Net()
        zt.Engine(model, [{"params": model.parameters()}, {"params": model.out.parameters()}])

    def another():
        zt.Engine(Net(), [{"params": Net().parameters()}])

    def owned():
        model = Net()
        engine = zt.Engine(model)
        zt.Engine(model)
        del engine

    def unjoined():
        with unittest.mock.patch.dict(os.environ, {"WORLD_SIZE": "2"}):
            new()

    adamw = torch.optim.AdamW(Net().parameters())
    refused("no group", "is trained and in no optimizer group", left_out)
    refused("two groups", "is in optimizer groups 0, 1", twice)
    refused("another model", "group 0 has a parameter of another model", another)
    refused("an owned model", "belongs to another engine", owned)
    refused("torchrun alone", "init_process_group", unjoined)
    refused(
        "an optimizer", "optimizer is AdamW; it must be a dict", lambda: zt.Engine(Net(), adamw)
    )
    refused(
        "9 groups", "9 optimizer groups; there can be 1 to 8", lambda: zt.Engine(Net(), [{}] * 9)
    )
    refused("kind", "'lamb'; it must be adamw or sgd", lambda: zt.Engine(Net(), {"kind": "lamb"}))
    refused("number", "has no 'rho'", lambda: zt.Engine(Net(), {"rho": 1}))
    refused("reduce", "must be one of ordered, exact", lambda: new(reduce="sum"))
    refused("stage", "stage: 3 is out of range", lambda: new(stage=3))
    refused(
        "half a micro-batch",
        "micro_batches is 0.5; it must be an int",
        lambda: new(micro_batches=0.5),
    )
    refused("scale", "scale is 3; it must be a power of two", lambda: new(scale=3))
    refused("scale's word", "it must be a number or 'dynamic'", lambda: new(scale="auto"))
    refused("rate", "lr is -1", lambda: zt.Engine(Net(), {"lr": -1}))
    refused(
        "dtype", "parameters are fp32, and of bf16 or fp16", lambda: zt.Engine(Net(torch.float64))
    )
    refused("no parameters", "has no parameters", lambda: zt.Engine(torch.nn.Identity()))
    refused("device", "it must be dense, on the CPU", lambda: zt.Engine(Net().to("meta")))


def lives():
    """Closing, and what remains; a micro-batch that is tried again; rates."""
    engine = one_step(new())
    model, state = engine.model, engine.model.state_dict()
    want = bits(model)
    engine.close()
    check("values of a closed engine's model", bits(model) == want)
    del engine
    state["out.weight"].sum()  # memory of the engine, which this view keeps
    check("a state_dict of before", state["out.weight"].tolist() == model.out.weight.tolist())
    loss = functional.mse_loss(model(batch(0, 0)[0], True), batch(0, 0)[1])
    loss.backward()
    check("the model trains without the engine", model.out.weight.grad is not None)
    again = zt.Engine(model, {"lr": 0.01})
    one_step(again)
    again.close()
    again.close()
    for name, call in (("step", again.step), ("set_rates", lambda: again.set_rates([1.0]))):
        refused(f"{name} after close", "the engine is closed", call)
    refused("micro_batch after close", "the engine is closed", lambda: one_step(again))

    def only(fails):
        """A micro-batch without `rare`, at best at the second try."""
        engine = new(reduce="ordered")
        with contextlib.suppress(KeyError), engine.micro_batch():
            if not fails:
                engine.backward(engine.model(batch(1, 0)[0], rare=False).sum())
            else:
                one_backward(engine)
                raise KeyError("of its own")
        if fails:
            with engine.micro_batch():
                engine.backward(engine.model(batch(1, 0)[0], rare=False).sum())
        engine.step()
        return bits(engine.model)

    check(
        "a micro-batch can be tried again, without what the first try used",
        only(True) == only(False),
    )
    model = Net()
    groups = [{"params": model.out.parameters(), "lr": 0.0}]
    groups.append({"params": [p for n, p in model.named_parameters() if "out" not in n], "lr": 0.0})
    engine, before = zt.Engine(model, groups), bits(model)
    refused("rates of which one is wrong", "lr is -1", lambda: engine.set_rates([1.0, -1.0]))
    one_step(engine)
    check("then none changes", bits(model) == before)
    model = torch.nn.Linear(3, 2)
    model.none = torch.nn.Parameter(torch.zeros(0))
    engine = zt.Engine(model, {"lr": 0.1})
    with engine.micro_batch():
        engine.backward(model(torch.ones(1, 3)).sum() + model.none.sum())
    check("a parameter without elements", engine.step().norm > 0)


# ---- Of one rank ---------------------------------------------------------------------------------


def settings_of(rank, world, others):
    zt.Engine(Net(), {"lr": 0.01, **others.get("optimizer", {})}) if rank == 0 else zt.Engine(
        Net(torch.float64 if others.get("dtype") else torch.float32).requires_grad_(
            not others.get("frozen")
        ),
        {"lr": 0.01, **others.get("numbers", {})},
        **others.get("more", {}),
    )


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


def closes(rank, world):
    engine = one_step(new(timeout_s=20.0))
    if rank == 0:
        one_step(engine)
    engine.close()


def groups_apart(rank, world):
    """Ranks 0 and 1, 1 and 2 are groups; each of the ends makes an engine, rank 1 none."""
    groups = [dist.new_group([0, 1]), dist.new_group([1, 2])]
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:  # lives until both have ended: they still connect their groups to it
        store.wait(["end0", "end2"])
        return "none"
    try:
        zt.Engine(Net(), group=groups[rank // 2], timeout_s=3.0)
    finally:
        store.set(f"end{rank}", "")


def of_one_rank():
    for name, others, text in (
        ("bucket", {"more": {"bucket": 65}}, "bucket is 16777216 on rank 0 and 65 on rank 1"),
        ("stage", {"more": {"stage": 1}}, "stage is 2 on rank 0 and 1 on rank 1"),
        ("rate", {"numbers": {"lr": 0.02}}, "lr of optimizer group 0 is 0.01 on rank 0 and 0.02"),
        ("scale", {"more": {"scale": 8.0}}, "first of scale is 1.0 on rank 0 and 8.0 on rank 1"),
        (
            "frozen",
            {"frozen": True},
            "requires_grad of parameter embed.weight is True on rank 0 and",
        ),
        ("refused dtype", {"dtype": "float64"}, "rank 1: Engine: embed.weight is torch.float64"),
        ("refused number", {"numbers": {"rho": 1}}, "rank 1: Engine: an optimizer of kind"),
    ):
        found = on_ranks(2, settings_of, others)
        check(
            f"another {name} is named on both ranks", all(text in str(one) for one in found), found
        )
    found = on_ranks(2, leaves)
    check("a rank that has left ends the other one", "rank 1 has ended" in str(found[0]), found)
    found = on_ranks(2, closes)
    check(
        "a rank that closes early is named", "rank 1 has ended its engine" in str(found[0]), found
    )
    check("and knows who is not done", "rank 0 is in step 1" in str(found[1]), found)
    found = on_ranks(3, groups_apart)
    good = found[1] == "none" and "rank 0: not all of ranks [0, 1] have called" in found[0]
    good = good and "rank 1: not all of ranks [1, 2] have called Engine() within 3 s" in found[2]
    check("engines of different groups do not meet", good, found)


def main():
    torch.set_num_threads(1)
    laws()
    overflows()
    wrong_calls()
    changed_models()
    wrong_arguments()
    lives()
    of_one_rank()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
