"""The optimizer of zeroproof.torch.Engine: torch.optim.AdamW's values within a derived bound,
frozen and tied parameters, rates of torch's schedulers, and what training loops call."""

import copy
import os
import sys
import tempfile
import warnings

import engine_test
import torch
import torch._dynamo  # noqa: F401  (torch.optim imports it, or every child would)
import zeroproof.torch as zt
from engine_test import Net, batch, bits, check, new, on_ranks, one_backward, one_step, refused
from torch.nn import functional

UPDATES = 6
NUMBERS = {"lr": 0.01, "betas": (0.9, 0.999), "eps": 1e-3, "weight_decay": 0.1}


def gradients():
    """By update and parameter: magnitudes of 1e-6 to 100, beside eps and far from it, other signs
    in each update, some elements without any gradient; none of `rare` in every second update."""
    made, found = torch.Generator().manual_seed(11), []
    for update in range(UPDATES):
        found.append({})
        for name, p in Net().named_parameters():
            size = 10.0 ** (torch.arange(p.numel()) % 9 - 6).view(p.shape)
            g = size * torch.randn(p.shape, generator=made)
            g[torch.arange(p.numel()).view(p.shape) % 11 == 10] = 0.0
            found[-1][name] = g * 0 if "rare" in name and update % 2 else g
    return found


def by_engine(given, factor=1.0, **changed):
    model, numbers = Net(), {**NUMBERS, **changed}
    engine = zt.Engine(model, numbers)
    for of in given:
        with engine.micro_batch():
            loss = 0.0
            for name, p in model.named_parameters(remove_duplicate=False):
                g = of[name.replace("again", "embed")] * factor
                if p.requires_grad and g.any():
                    # each of the two uses of the tied weight has an exact half
                    loss += (p * (g / 2 if p is model.embed.weight else g)).sum()
            engine.backward(loss)
        engine.step()
    left = [name for name, p in model.named_parameters() if p.grad is not None]
    engine.close()
    return dict(model.named_parameters()), left


def by_torch(given):
    model = Net()
    adamw = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], **NUMBERS)
    for of in given:
        for name, p in model.named_parameters():
            p.grad = of[name].clone() if p.requires_grad else None
        adamw.step()
    return dict(model.named_parameters())


def bound_of(w, steps):
    """How far two AdamWs in fp32 can be apart, by element, after the gradients `steps`.

    Notation: u = 2^-24; t: number of the update; b1, b2: betas; every operation in fp32 has a
    relative error of at most u, as has each scalar that is rounded to fp32. Errors are those of
    first order, against AdamW in real numbers, which this function computes in fp64; what fp64 and
    u^2 add (less than 1e-4 of it) is in the factor of 1.01 at the end.

    M, of m = b1 m + (1 - b1) g, has |m| and |g| in the place of m and g.
      engine: b1 and 1 - b1 are rounded, then multiplied, then added: 3u of each term. torch adds
      (1 - b1)(g - m) to m: 3u of (1 - b1)(|g| + |m|), and u of the sum; as (1 - b1) M <= b1 M:
      4u M. Earlier errors shrink with b1 as M does: after t updates m is wrong by at most 4 t u M.
    v = b2 v + (1 - b2) g^2 has positive terms. b2 is rounded and multiplied, 1 - b2 is rounded, g^2
      has two products, and the sum is one more: 4u in each update, so v is wrong by 4 t u v.
    d = sqrt(v) / root + eps: half of v's, and sqrt, root, the quotient, eps or the sum: (2t + 4) u.
    q = lr / (1 - b1^t) m / d: with Q, which has M for m, at most
      (4t + 2t + 4 + 3) u Q: the rate's rounding, a quotient, a product.
    w = w (1 - lr wd) - q: the decay's rounding and product, 2u |w|; the difference, u (|w| + Q).
      An earlier error of w shrinks.
    So update t adds u (3 |w| + (6t + 8) Q) for each of the two."""
    (b1, b2), lr, eps = NUMBERS["betas"], NUMBERS["lr"], NUMBERS["eps"]
    w = w.double()
    m, most, v, bound = (torch.zeros_like(w) for _ in range(4))
    for t, step in enumerate(steps, 1):
        g = step.double()
        m, most, v = (
            b1 * m + (1 - b1) * g,
            b1 * most + (1 - b1) * g.abs(),
            b2 * v + (1 - b2) * g * g,
        )
        rate = lr / (1 - b1**t) / ((v / (1 - b2**t)).sqrt() + eps)
        bound += 2.0**-24 * (3 * w.abs() + (6 * t + 8) * rate * most)
        w = w * (1 - lr * NUMBERS["weight_decay"]) - rate * m
    return 2 * 1.01 * bound


def apart(found, wanted, given):
    """The largest distance of two models' trained elements, in bounds."""
    worst = 0.0
    for name, p in Net().named_parameters():
        if p.requires_grad:
            bound = bound_of(p.detach(), [of[name] for of in given])
            distance = (found[name].detach().double() - wanted[name].detach().double()).abs()
            ratio = torch.where(distance == 0, 0.0, distance / bound)  # 0 / 0 is no distance
            assert not ratio.isnan().any()
            worst = max(worst, float(ratio.max()))
    return worst


def against_torch():
    given = gradients()
    wanted, first = by_torch(given), dict(Net().named_parameters())
    (found, left), trained = by_engine(given), [n for n, p in first.items() if p.requires_grad]
    worst = apart(found, wanted, given)
    check(f"{UPDATES} updates of AdamW are those of torch.optim.AdamW", worst <= 1, worst)
    moved = [float((found[name] - first[name]).abs().max()) for name in trained]
    print(f"  {worst:.2f} of the bound")
    check("they have changed each trained parameter", min(moved) > 0.001, moved)
    check("gradients are gone", not left, left)
    same = [torch.equal(found[n], p) for n, p in first.items() if n not in trained]
    check("a frozen parameter keeps its bits", same == [True, True], same)
    for name, changed in (
        ("betas (0.9, 0.99)", {"betas": (0.9, 0.99)}),
        ("betas (0.899, 0.999)", {"betas": (0.899, 0.999)}),
        ("the gradient x 1.01", {"factor": 1.01}),
        ("lr x 1.001", {"lr": 0.01001}),
        ("eps x 1.01", {"eps": 1.01e-3}),
        ("weight decay 0.101", {"weight_decay": 0.101}),
    ):
        other = apart(by_engine(given, **changed)[0], wanted, given)
        check(f"the bound is exceeded by {name}", other > 1, other)
        print(f"  by a factor of {other:.0f}")
    late = given[:-1] + [{name: g * 1.01 for name, g in given[-1].items()}]
    other = apart(by_engine(late)[0], wanted, given)
    check("the bound is exceeded by the last gradient x 1.01", other > 1, other)


def entries(rank, world):
    """What the engine has for each parameter: its name, and whether it is frozen."""
    with zt.Engine(Net(), NUMBERS) as engine:
        return [(one.name, one.frozen) for one in engine._native.entries]


def tied_and_frozen():
    first = Net()
    assert first.again is first.embed
    wanted = [(name, not p.requires_grad) for name, p in first.named_parameters()]
    [found] = on_ranks(1, entries)
    check("a tied weight is one entry, and frozen ones are frozen", found == wanted, found)


def scheduled(rank, world, by_torch):
    """A cosine schedule by torch's scheduler, or by the rates that it gives."""
    model = Net()
    engine = zt.Engine(model, {"lr": 0.01}, stage=1)
    plain = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.01)
    optimizer = engine.optimizer if by_torch else plain
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
    for step in range(3):
        with engine.micro_batch():
            x, y = batch(step, rank)
            engine.backward(functional.mse_loss(model(x, rare=True), y))
        if not by_torch:
            engine.set_rates([plain.param_groups[0]["lr"]])
            engine.step()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    rate = engine.optimizer.param_groups[0]["lr"]
    engine.close()
    return rate, bits(model)


def saved_rate(rank, world):
    """The rate of the next step, of an engine that loads a checkpoint which another one saved."""
    first = new()
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(first.optimizer, 4)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        one_step(first)  # not by first.optimizer
        schedule.step()
    second = new()
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "saved")
        first.save(place)
        second.load(place)
    rates = [e.optimizer.param_groups[0]["lr"] for e in (first, second)]
    return *rates, [str(one.message) for one in warned]


def schedules():
    torch_s, own = on_ranks(2, scheduled, True), on_ranks(2, scheduled, False)
    check("a scheduler of torch sets the rates", torch_s[0][1] == own[0][1] == own[1][1], own[0][0])
    check("which changed", torch_s[0][0] < 0.005, torch_s[0][0])
    [(first, second, warned)] = on_ranks(1, saved_rate)
    check("a checkpoint has the rate of the next step", first == second < 0.01, (first, second))
    check("engine.step() is the optimizer's for a scheduler", warned == [], warned)


def loaded(rank, world, by_state):
    """A step whose numbers came from another engine's optimizer.state_dict(), or from Engine()."""
    changed = {"lr": 0.02, "betas": (0.8, 0.99), "eps": 1e-4, "weight_decay": 0.2}
    engine = zt.Engine(Net(), NUMBERS if by_state else changed, stage=1)
    if by_state:
        other = zt.Engine(Net(), changed)
        state = other.optimizer.state_dict()
        other.close()
        assert state["state"] == {}  # it has the numbers alone
        engine.optimizer.load_state_dict(copy.deepcopy(state))
    found = []
    for step in range(2):
        with engine.micro_batch():
            x, y = batch(step, rank)
            engine.backward(functional.mse_loss(engine.model(x, rare=True), y))
        engine.optimizer.step()
        group = engine.optimizer.state_dict()["param_groups"][0]  # as a logger reads it
        found.append({name: group[name] for name in (*changed, "kind")})
    assert found == [{**changed, "kind": "adamw"}] * 2, found
    engine.close()
    return bits(engine.model)


def calls_of_loops():
    """What training loops and loggers call of an optimizer."""
    wanted, found = on_ranks(2, loaded, False), on_ranks(2, loaded, True)
    good = isinstance(wanted[0], list) and found == wanted == wanted[:1] * 2
    check("optimizer.load_state_dict sets the numbers of the next step", good, found)

    def begun():
        engine = new()
        with engine.micro_batch():
            one_backward(engine)
        return engine

    engine = begun()
    before = bits(engine.model)
    refused("step(closure)", "step() takes no closure", lambda: engine.optimizer.step(lambda: 0.0))
    check("and nothing was done", engine.last is None and bits(engine.model) == before)
    engine.optimizer.step()
    check("step() is the engine's", engine.last.steps == 1 and bits(engine.model) != before)
    engine.close()
    refused("optimizer.step() after close", "the engine is closed", engine.optimizer.step)

    engine = begun()
    own = {"params": [torch.nn.Parameter(torch.zeros(2))]}
    engine.optimizer.add_param_group(own)
    refused("add_param_group", "a parameter group was added after Engine()", engine.step)
    engine = begun()
    again = {"params": list(engine.model.out.parameters())}
    text = "some parameters appear in more than one parameter group"  # torch's own
    refused("a parameter of two groups", text, lambda: engine.optimizer.add_param_group(again))
    engine.optimizer.param_groups[0]["lr"] = -1.0
    refused("a rate of -1 in param_groups", "lr is -1", engine.step)


PARTS = (tied_and_frozen, against_torch, schedules, calls_of_loops)

if __name__ == "__main__":
    torch.set_num_threads(1)
    for part in PARTS:
        if part.__name__ in sys.argv[1:] or not sys.argv[1:]:
            part()
    sys.exit(engine_test.failed > 0)
