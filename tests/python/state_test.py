"""State of zeroproof.torch.Engine: masters and moments, as the runs of each rank's shards, and the
numbers of a dynamic loss scale."""

import math
import sys

import engine_test as common
import torch
import zeroproof.torch as zt
from torch.nn import functional
from zeroproof._engine import STATES

ENTRIES = len(list(common.Net().parameters()))


def trained(stage):
    model = common.Net(torch.bfloat16)
    return zt.Engine(model, {"lr": 0.01}, stage=stage, bucket=48, micro_batches=2)


def one_step(engine, rank, world):
    for mb in range(2):
        with engine.micro_batch():
            x, y = common.batch(0, mb * world + rank)
            engine.backward(functional.mse_loss(engine.model(x, rare=True), y))
    engine.step()


def held(rank, world, stage):
    """What this rank holds after a step: its runs, {state: entries' runs}, and the parameters."""
    engine = trained(stage)
    one_step(engine, rank, world)
    native = engine._native
    runs = [native.held(j) for j in range(ENTRIES)]
    found = {
        state: [[(at, x.tolist()) for at, x in native.read_state(j, state)] for j in range(ENTRIES)]
        for state in STATES
    }
    parameters = [p.detach().flatten().float().tolist() for p in engine.model.parameters()]
    engine.close()
    return runs, found, parameters


def whole(ranks, state, j, numel):
    """Entry j of all ranks' runs, and how often each element is held."""
    values, times = [None] * numel, [0] * numel
    for _, found, _ in ranks:
        for at, x in found[state][j]:
            values[at : at + len(x)] = x
            times[at : at + len(x)] = [n + 1 for n in times[at : at + len(x)]]
    return values, set(times)


def states():
    [alone] = common.on_ranks(1, held, 0)
    frozen = [not p.requires_grad for p in common.Net().parameters()]
    for stage in (0, 1, 2):
        ranks = common.on_ranks(3, held, stage)
        numels = [len(x) for x in alone[2]]
        gathered = {
            state: [whole(ranks, state, j, numels[j]) for j in range(ENTRIES)] for state in STATES
        }
        owners = [
            times == ({0} if frozen[j] else {1 if stage else 3})
            for all_of in gathered.values()
            for j, (_, times) in enumerate(all_of)
        ]
        common.check(f"stage {stage}: each trained element has its owners", all(owners), owners)
        lengths = [
            [(at, len(x)) for at, x in found["master"][j]] == runs[j]
            for runs, found, _ in ranks
            for j in range(ENTRIES)
        ]
        common.check(f"stage {stage}: held() has the runs of read_state()", all(lengths), lengths)
        dtypes = [p.dtype for p in common.Net(torch.bfloat16).parameters()]
        rounded = [
            frozen[j] or torch.tensor(values).to(dtypes[j]).float().tolist() == ranks[0][2][j]
            for j, (values, _) in enumerate(gathered["master"])
        ]
        common.check(f"stage {stage}: parameters are rounded masters", all(rounded), rounded)
    ranks = common.on_ranks(3, held, 2)
    again = common.on_ranks(3, held, 0)
    for state in STATES:
        mine = [whole(ranks, state, j, numels[j])[0] for j in range(ENTRIES)]
        other = [whole(again, state, j, numels[j])[0] for j in range(ENTRIES)]
        common.check(f"{state}: the same values at stages 0 and 2", mine == other)
        some = any(x not in (None, 0.0) for values in mine for x in values)
        common.check(f"{state}: some are not zero", some)


def written(rank, world):
    """One rank's master is replaced; the next step moves the parameter there."""
    engine = trained(2)
    native, j = engine._native, ENTRIES - 1
    for at, count in native.held(j):
        native.write_state(j, "master", at, torch.full((count,), 7.0))
        native.write_state(j, "moment2", at, torch.full((count,), 2.0**40))  # hardly a step
    read = [x.unique().tolist() for _, x in native.read_state(j, "master")]
    one_step(engine, rank, world)
    value = engine.model.out.bias.tolist()
    with engine.micro_batch():
        engine.backward(engine.model(common.batch(0, 0)[0], rare=True).sum())
    try:
        native.read_state(0, "master")
        said = "no error" if native.held(0) else "holds nothing"
    except zt.EngineError as error:
        said = str(error)
    engine._leave_group(clean=False)
    return read, value, said


def writes():
    found = common.on_ranks(2, written)
    good = all(all(x == [7.0] for x in read) for read, _, _ in found)
    common.check("what is written is read", good and any(read for read, _, _ in found), found)
    begins = all(value == [7.0] * 3 for _, value, _ in found)
    common.check("the next step begins from a written master", begins, found)
    said = [text for _, _, text in found]
    common.check(
        "state is refused within a step",
        any("between two steps" in text for text in said) and "no error" not in said,
        said,
    )


def scales(overflow, **numbers):
    """The loss scale after each of five steps; of which those in `overflow` are skipped."""
    engine, found = zt.Engine(common.Net(), {"lr": 0.01}, scale=numbers), []
    for step in range(5):
        with engine.micro_batch():
            for factor in (math.inf, -math.inf) if step in overflow else (1.0,):
                loss = engine.model(common.batch(step, 0)[0], rare=True).square().sum()
                engine.backward(loss * factor)
        state = engine.step()
        found.append((state.scale, state.skipped))
    engine.close()
    return [scale for scale, _ in found], [skipped for _, skipped in found]


def dynamic_scales():
    for name, overflow, numbers, want in (
        (
            "doubled by each 2 steps, up to most",
            (),
            {"window": 2, "most": 16.0},
            [8, 8, 16, 16, 16],
        ),
        ("halved by an overflow, down to least", (0, 1, 2), {"least": 2.0}, [4, 2, 2, 2, 2]),
        ("halved by the second overflow", (1, 3), {"hysteresis": 2}, [8, 8, 8, 4, 4]),
        (
            "not halved unless they are in a row",
            (1, 3),
            {"hysteresis": 2, "consecutive": True},
            [8, 8, 8, 8, 8],
        ),
    ):
        found, skipped = scales(overflow, first=8.0, **numbers)
        good = found == want and skipped == [step in overflow for step in range(5)]
        common.check(f"a dynamic scale is {name}", good, (found, skipped))
    for text, numbers in (
        ("scale has no 'growth'; it has first, window", {"growth": 2}),
        ("scale is 3; it must be a power of two", {"most": 3}),
        ("scale's window is 0.5; it must be an int", {"window": 0.5}),
        ("the first must be between the others", {"first": 2.0**30}),
        ("window and hysteresis at least 1", {"window": 0}),
    ):
        common.refused(text, text, lambda numbers=numbers: zt.Engine(common.Net(), scale=numbers))


def main():
    torch.set_num_threads(1)
    states()
    writes()
    dynamic_scales()
    return 1 if common.failed else 0


if __name__ == "__main__":
    sys.exit(main())
