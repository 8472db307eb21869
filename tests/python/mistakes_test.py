"""Mistakes of a user of zeroproof.torch.Engine: each ends in an error that names it and the
rank. mistakes_test.py [PART...]"""

import ctypes
import os
import sys
import tempfile

import engine_test
import torch
import zeroproof.torch as zt
from engine_test import check, on_ranks
from zeroproof._engine import Transport


def model_of():
    torch.manual_seed(2)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))


def loss_of(engine):
    return engine.model(torch.ones(2, 4)).pow(2).sum()


def one_step(engine):
    for _ in range(engine.micro_batches):
        with engine.micro_batch():
            engine.backward(loss_of(engine))
    engine.step()


def said_by(run):
    try:
        run()
    except (zt.EngineError, ValueError) as error:
        return str(error)
    return "no error"


# ---- Of one rank: the others do not hear of them, and it can go on -------------------------------


def twice(engine):
    with engine.micro_batch():
        loss = loss_of(engine)
        engine.backward(loss)
        engine.backward(loss)


def rebound(engine):
    weight = engine.model[0].weight
    kept, weight.data = weight.data, torch.zeros(8, 4)
    try:
        with engine.micro_batch():
            engine.backward(loss_of(engine))
    finally:
        weight.data = kept


def own_optimizer(engine):
    torch.optim.AdamW(engine.model.parameters()).step()


def backward_of(loss):
    def run(engine):
        with engine.micro_batch():
            engine.backward(loss(engine))

    return run


def other_gradient(engine):
    engine.model[0].weight.requires_grad_(False)
    try:
        one_step(engine)
    finally:
        engine.model[0].weight.requires_grad_(True)


def other_dtype(engine):
    kept = [p.data for p in engine.model.parameters()]
    engine.model.to(torch.bfloat16)
    try:
        one_step(engine)
    finally:
        for p, data in zip(engine.model.parameters(), kept, strict=True):
            p.data = data


def empty(engine):
    with engine.micro_batch():
        pass


def added_group(engine):
    engine.optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(1))]})
    try:
        one_step(engine)
    finally:
        del engine.optimizer.param_groups[-1]


MISTAKES = (
    ("a gradient twice", twice, "backward() of a loss whose gradients have been added"),
    ("data that was rebound", rebound, "0.weight.data is no longer the engine's memory"),
    ("an optimizer of one's own", own_optimizer, "AdamW.step() would update 0.weight"),
    (
        "loss.backward()",
        lambda engine: loss_of(engine).backward(),
        "did not come from engine.backward(loss)",
    ),
    (
        "no micro_batch",
        lambda engine: engine.backward(loss_of(engine)),
        "backward() outside `with engine.micro_batch():`",
    ),
    ("a number as a loss", backward_of(lambda _: 1.5), "the loss is a float; it must be a tensor"),
    (
        "a loss of no parameter",
        backward_of(lambda _: torch.ones(())),
        "the loss needs no gradient",
    ),
    (
        "a loss of several numbers",
        backward_of(lambda engine: engine.model(torch.ones(2, 4))),
        "the loss has shape [2, 2]",
    ),
    ("a step before its micro-batches", lambda engine: engine.step(), "step() after 0 of 1"),
    ("a micro-batch without a backward", empty, "micro-batch 0 has no engine.backward(loss)"),
    ("requires_grad that changed", other_gradient, "0.weight.requires_grad was changed"),
    ("a model of another dtype", other_dtype, "0.weight.data is no longer the engine's memory"),
    ("a group that was added", added_group, "a parameter group was added after Engine()"),
)


def local(rank, world):
    """What each mistake says, then a step: none has ended the engine."""
    engine = zt.Engine(model_of(), {"lr": 0.1})
    one_step(engine)
    found = [said_by(lambda run=run: run(engine)) for _, run, _ in MISTAKES]
    said = said_by(lambda: one_step(engine))  # the last mistake was in step() itself
    engine.step()
    found += [said, engine.last.steps]
    engine.close()
    found += [said_by(lambda run=run: run(engine)) for run in (one_step, lambda e: e.save("x"))]
    return found


# ---- Of what is loaded ---------------------------------------------------------------------------


def loading(rank, world, folder):
    def tried(**given):
        model = given.pop("model", None) or model_of()
        engine = zt.Engine(model, given.pop("optimizer", {"lr": 0.1}), **given)
        said = said_by(lambda: engine.load(folder))
        engine.close()
        return said

    engine = zt.Engine(model_of(), {"lr": 0.1}, micro_batches=2)
    one_step(engine)
    engine.save(folder)
    engine.close()
    wider = torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.Linear(9, 2))
    found = [
        tried(micro_batches=3),
        tried(micro_batches=2, optimizer={"lr": 0.1, "kind": "sgd"}),
        tried(micro_batches=2, model=wider),
        tried(micro_batches=2),
    ]
    other = zt.Engine(model_of(), {"lr": 0.1}, micro_batches=1)
    other.load(folder, other_batch=True)
    return [*found, str(other.last.steps)]


# ---- Of one rank, for which the others wait ------------------------------------------------------


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        return x.clone()

    @staticmethod
    def backward(_, grad):
        raise ValueError("in backward")


def in_backward(engine):
    with engine.micro_batch():
        engine.backward(Fails.apply(loss_of(engine)))


def fewer(engine):
    """This rank's data ends one micro-batch early."""
    engine.step()


def caught(engine):
    """The error is caught, and the program goes on without the step."""
    said_by(lambda: engine.step())


def of_rank_1(rank, world, mistake):
    engine = zt.Engine(model_of(), {"lr": 0.1})
    one_step(engine)
    if rank == 1:
        globals()[mistake](engine)
        return "went on"
    one_step(engine)
    return "no error"


def other_model(rank, world):
    model = torch.nn.Sequential(torch.nn.Linear(4, 8 + rank), torch.nn.Linear(8 + rank, 2))
    zt.Engine(model, {"lr": 0.1})


class Interrupted:
    """Alarms of a rank whose user presses Ctrl-C again while the other ranks are asked."""

    doing = ""

    def explain(self, _):
        raise KeyboardInterrupt


def interrupted():
    """What a callback of C returns then, and says."""
    transport = Transport.__new__(Transport)
    transport.alarms, transport.group = Interrupted(), None
    transport._why = ctypes.create_string_buffer(b"", 512)
    return transport._guarded(lambda: 1 // 0), transport._why.value


def locals_named():
    """Mistakes of one rank or of all of them."""
    for world in (1, 2):
        wanted = [*(text for *_, text in MISTAKES), "all 1 micro-batches are done: step()"]
        for rank, found in enumerate(on_ranks(world, local)):
            for at, text in enumerate(wanted):
                name = MISTAKES[at][0] if at < len(MISTAKES) else "too many micro-batches"
                said = found[at] if isinstance(found, list) else found
                good = said.startswith(f"rank {rank}: ") and text in said
                check(f"{name}, rank {rank} of {world}", good, said)
            closed = f"rank {rank}: the engine is closed"
            good = isinstance(found, list) and found[len(wanted) :] == [2, closed, closed]
            check(f"the engine goes on, rank {rank} of {world}", good, found)


def loads_refused():
    with tempfile.TemporaryDirectory() as folder:
        wanted = (
            "rank 0: the checkpoint's steps had 4 micro-batches, and this engine's have 2 ranks x",
            "rank 0: the checkpoint has optimizers of kind adamw, and the engine has sgd",
            "0.weight",
        )
        for rank, found in enumerate(on_ranks(2, loading, os.path.join(folder, "c"))):
            good = isinstance(found, list) and found[3:] == ["no error", "1"]
            good = good and all(a in b for a, b in zip(wanted, found, strict=False))
            check(f"checkpoints that do not fit, rank {rank}", good, found)


def reported(mistake, text):
    found = on_ranks(2, of_rank_1, mistake)
    good = "rank 1" in found[0] and text in found[0]
    check(f"the others hear of {mistake}", good, found)


def interruption():
    found = interrupted()
    good = found == (1, b"KeyboardInterrupt:")
    check("an exception within a callback's own is caught", good, found)


def another_model():
    for rank, said in enumerate(on_ranks(2, other_model)):
        good = "0.weight" in said and "rank 0" in said and "rank 1" in said
        check(f"another model, rank {rank}", good, said)


BACKWARD = "an exception in micro-batch 0 of step 1: ValueError: in backward"
PARTS = {
    "interrupted": interruption,
    "local": locals_named,
    "loading": loads_refused,
    "in_backward": lambda: reported("in_backward", BACKWARD),
    "fewer": lambda: reported("fewer", "step() after 0 of 1 micro-batches"),
    "caught": lambda: reported("caught", "step() after 0 of 1 micro-batches"),
    "other_model": another_model,
}


def main(names):
    torch.set_num_threads(1)
    for name in names or PARTS:
        PARTS[name]()
    sys.exit(engine_test.failed > 0)


if __name__ == "__main__":
    main(sys.argv[1:])
