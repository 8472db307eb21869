"""Saves of zeroproof.torch.Engine in the background: what is published, when, and which errors
reach Python. background_test.py [PART...], with tests/drivers/cli/held_disk.c preloaded for the
part "says"."""

import contextlib
import ctypes
import os
import re
import resource
import sys
import tempfile
import time

import engine_test
import torch
import zeroproof.torch as zt
from engine_test import check, on_ranks
from torch.nn import functional

GLOBAL = 6  # micro-batches of a step, of all ranks
WIDE = 2000  # features of the inner layer
PATIENCE = 300  # seconds for the thread to write


def engine_of(world, width=16, bucket=32):
    torch.set_num_threads(1)
    torch.manual_seed(5)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, width), torch.nn.GELU(), torch.nn.Linear(width, 3)
    )
    return zt.Engine(model, {"lr": 0.02}, micro_batches=GLOBAL // world, bucket=bucket)


def wide_engine(world):
    """With a state of 288 kB, in few buckets: each of them is a collective."""
    return engine_of(world, WIDE, 4096)


def begin_step(engine, rank, world, step):
    for number in range(rank, GLOBAL, world):
        made = torch.Generator().manual_seed(1000 * step + number)
        x, y = torch.randn(4, 8, generator=made), torch.randn(4, 3, generator=made)
        with engine.micro_batch():
            engine.backward(functional.mse_loss(engine.model(x), y))


def train(engine, rank, world, steps):
    """The norm of each step."""
    found = []
    for step in steps:
        begin_step(engine, rank, world, step)
        found.append(engine.step().norm.hex())
    return found


def published(folder):
    """The step of the last checkpoint in a folder, or None."""
    with contextlib.suppress(OSError), open(os.path.join(folder, "LATEST"), encoding="utf-8") as at:
        return int(re.search(r"^current step-(\d+)", at.read(), re.M)[1])


def loaded(world, folder):
    """The steps of the checkpoint that an engine loads."""
    with wide_engine(world) as engine:
        engine.load(folder)
        return engine.last.steps


def error_of(run):
    try:
        run()
        return "no error"
    except zt.EngineError as error:
        return str(error)


@contextlib.contextmanager
def full_disk(here):
    """No file of this process may have more than 64 KiB, as the state of wide_engine() has."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    if here:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


# ---- What is published ---------------------------------------------------------------------------


def saving(rank, world, folder):
    """Two saves in the background while the training continues, and one as usual."""
    engine, found = engine_of(world), {}
    nothing = engine.saved
    engine.save_end()
    norms = train(engine, rank, world, range(2))
    engine.save(f"{folder}/a", background=True)
    norms += train(engine, rank, world, range(2, 3))
    found["before save_end()"] = published(f"{folder}/a")
    engine.save_end()
    found["after save_end()"] = published(f"{folder}/a"), nothing, engine.saved
    engine.save(f"{folder}/a", background=True)
    engine.save(f"{folder}/usual")
    found["after the next save()"] = published(f"{folder}/a")
    norms += train(engine, rank, world, range(3, 4))
    engine.save(f"{folder}/b", background=True)
    engine.close()
    found["after close()"] = published(f"{folder}/b")
    return norms, found


def going_on(rank, world, folder):
    with engine_of(world) as engine:
        engine.load(f"{folder}/a")
        engine.save(f"{folder}/c", background=True)
        norms = train(engine, rank, world, range(3, 4))
        engine.load(f"{folder}/c")  # publishes it first
        return norms, engine.last.steps, train(engine, rank, world, range(3, 4))


def data_of(folder):
    """Of a checkpoint of step 3, which rank 0 writes."""
    with open(os.path.join(folder, "step-3", "rank-0.bin"), "rb") as file:
        return file.read()


def publishes():
    wanted = on_ranks(3, lambda rank, world: train(engine_of(world), rank, world, range(4)))[0]
    with tempfile.TemporaryDirectory() as folder:
        for norms, found in on_ranks(3, saving, folder):
            check("saves in the background do not change the training", norms == wanted, norms)
            good = found.get("before save_end()", 0) is None
            check("nothing is published before save_end()", good, found)
            good = found["after save_end()"] == (2, True, True)
            check("save_end() publishes the step of save()", good, found)
            good = found["after the next save()"] == 3
            check("the next save() publishes it", good, found)
            check("close() publishes it", found["after close()"] == 4, found)
        same = data_of(f"{folder}/a") == data_of(f"{folder}/usual")
        check("the file is that of a save that waits", same)
        for found in on_ranks(2, going_on, folder):
            good = found == (wanted[3:], 3, wanted[3:])
            check("another number of ranks continues it, and load() publishes", good, found)


def polled(rank, world, folder):
    """`saved` while the thread cannot write, and whether it becomes True before save_end()."""
    engine, disk = engine_of(world), ctypes.CDLL(None)
    disk.hold_saves()
    engine.save(folder, background=True)
    while_held = engine.saved
    disk.release_saves()
    until = time.monotonic() + PATIENCE
    while not engine.saved and time.monotonic() < until:
        os.sched_yield()
    then = engine.saved
    engine.save_end()
    return while_held, then, engine.saved


# ---- Errors --------------------------------------------------------------------------------------


def failing(rank, world, folder):
    """The thread of rank 0, which writes the data, cannot."""
    engine, found = wide_engine(world), {}
    norms = train(engine, rank, world, range(1))
    engine.save(folder)
    norms += train(engine, rank, world, range(1, 2))
    with full_disk(rank == 0):
        engine.save(folder, background=True)
        found["save_end()"] = error_of(engine.save_end)
        engine.save(folder, background=True)
        found["save()"] = error_of(lambda: engine.save(folder))
        found["afterwards"] = error_of(engine.save_end)
        engine.save(folder, background=True)
        found["load()"] = error_of(lambda: engine.load(folder))
    found["kept"] = published(folder), engine.last.steps
    norms += train(engine, rank, world, range(2, 3))
    engine.save(folder, background=True)
    found["refused rates"] = error_of(lambda: engine.set_rates([-1.0]))
    engine.save_end()
    found["again"] = published(folder)
    with full_disk(rank == 0):
        engine.save(folder, background=True)
        error_of(lambda: engine.set_rates([-1.0]))  # another error, which does not end the engine
        found["close()"] = error_of(engine.close)
    found["loads"] = loaded(world, folder)
    return norms, found


def misplaced(rank, world, folder):
    engine = engine_of(world)
    engine.save(folder, background=True)
    begin_step(engine, rank, world, 0)
    found = [error_of(run) for run in (engine.save_end, lambda: engine.save("x", background=True))]
    engine.close()
    found += [error_of(run) for run in (engine.save_end, lambda: engine.saved)]
    return found, published(folder)


def fails():
    wide = on_ranks(2, lambda rank, world: train(wide_engine(world), rank, world, range(3)))
    texts = ("rank-0.bin: File too large", "failed on 1 other rank")
    with tempfile.TemporaryDirectory() as folder:
        for rank, (norms, found) in enumerate(on_ranks(2, failing, folder)):
            check("failed saves do not change the training", norms == wide[0], (norms, found))
            for name in ("save_end()", "save()", "load()", "close()"):
                good = texts[rank] in found[name] and f"rank {rank}" in found[name]
                check(f"{name} raises the thread's error on rank {rank}", good, found[name])
            check("afterwards no save is under way", found["afterwards"] == "no error", found)
            check("the checkpoint and the training are as before", found["kept"] == (1, 2), found)
            good = "lr" in found["refused rates"] and found["again"] == 3 and found["loads"] == 3
            check("the next save succeeds", good, found)
    with tempfile.TemporaryDirectory() as folder:
        for found, after in on_ranks(2, misplaced, folder):
            texts = ["save_end() within a step", "save() within a step", *["is closed"] * 2]
            good = all(text in said for text, said in zip(texts, found, strict=True))
            check("within a step and after close() it is refused", good, found)
            check("close() within a step gives it up", after is None, after)


def says():
    with tempfile.TemporaryDirectory() as folder:
        found = on_ranks(1, polled, folder)
        good = found == [(False, True, True)]
        check("saved says whether the thread has written", good, found)


PARTS = {"publishes": publishes, "fails": fails, "says": says}


def main(names):
    for name in names or PARTS:
        PARTS[name]()
    return engine_test.failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
