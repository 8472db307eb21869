"""zeroproof.torch.Engine with engine="cuda" on simdev, a CUDA device simulated on the CPU: from
Python, one rank has the bits of the reference; and what Python calls on 1 to 4 ranks of the
reference is written to files, whose replay by C programs on as many ranks of simdev has the same
norms, losses and parameters.

    python device_test.py REPLAY [FAULT]      REPLAY: build/tests/drivers/cuda/api_replay
FAULT: what rank 0 writes wrongly: `gradient`, a sign; or `loss`. Then a check fails."""

import os
import subprocess
import sys
import tempfile

import engine_test
import torch
import torch._dynamo  # noqa: F401  (torch.optim imports it, or every child would)
import zeroproof.torch as zt
from engine_test import Net, check, on_ranks
from torch.nn import functional
from zeroproof._cuda_engine import simulated
from zeroproof._engine import DTYPES, KINDS, NUMBERS, REDUCE, Native, name_of

GLOBAL, STEPS = 12, 3


def batch_of(step, number, dtype):
    made = torch.Generator().manual_seed(1000 * step + number)
    return torch.randn(4, 8, generator=made).to(dtype), torch.randn(4, 3, generator=made)


def train(rank, world, engine, stage, reduce, dtype, scale):
    """Of the net with tied, frozen and unused parameters; the last step but one overflows."""
    torch.set_num_threads(1)
    model = Net(dtype)
    settings = {"lr": 0.02, "weight_decay": 0.1}
    made = zt.Engine(
        model,
        settings,
        stage=stage,
        micro_batches=GLOBAL // world,
        reduce=reduce,
        bucket=48,
        clip=0.5,
        scale=scale,
        engine=engine,
    )
    found = []
    for step in range(STEPS):
        made.optimizer.param_groups[0]["lr"] = 0.02 / (1 + step)
        for number in range(rank, GLOBAL, world):
            x, y = batch_of(step, number, dtype)
            with made.micro_batch():
                loss = functional.mse_loss(model(x, rare=number % 2 == 0).float(), y)
                huge = torch.tensor(float("inf")) if step == 1 and number == 1 else 1.0
                made.backward(loss * huge)
        state = made.step()
        found.append((state.norm.hex(), state.loss.hex(), state.scale, state.skipped))
    values = [p.detach().float().tolist() for p in model.parameters()]
    made.close()
    return found, values


# ---- What Python calls ---------------------------------------------------------------------------


def hexes(x):
    return x.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes().hex()


class Recorder:
    """Writes this rank's calls of Native to a file, as api_replay.c reads them."""

    def __init__(self, path, fault):
        self.file, self.fault = open(path, "w"), fault  # noqa: SIM115 (until the process ends)
        for name in ("__init__", "optimizer", "clip", "scale", "open", "ready", "unused", "loss"):
            self.wrap(name, getattr(self, name.strip("_")))
        self.wrap("step", lambda native: self.line("step"))
        get, leave = Native.get, Native.leave

        def getting(native):
            state = get(native)
            numbers = (state.steps, state.norm, state.clip, state.scale, state.loss, state.skipped)
            self.line("state", *(float(x).hex() for x in numbers))
            return state

        def leaving(native):
            for j in range(len(native.entries)):
                self.line("parameter", j, hexes(native.parameter(j)))
            self.file.close()
            leave(native)

        Native.get, Native.leave = getting, leaving

    def wrap(self, name, first):
        method = getattr(Native, name)

        def calling(native, *arguments, **named):
            first(native, *arguments, **named)
            return method(native, *arguments, **named)

        setattr(Native, name, calling)

    def line(self, *words):
        print(*words, file=self.file)

    def init(
        self, native, entries, *, rank, world, stage, reduce, precision, micro_batches, **more
    ):
        numbers = (rank, world, stage, REDUCE[reduce], DTYPES[precision], micro_batches)
        self.line("engine", *numbers, more["bucket"])
        for e in entries:
            flags = (e.first.numel(), e.group, int(e.frozen), int(e.fp32))
            self.line("param", name_of(e.name).decode(), *flags, hexes(e.first))

    def optimizer(self, native, group, kind, values):
        numbers = (float(values.get(name, 0.0)).hex() for name in NUMBERS)
        self.line("optimizer", group, KINDS[kind], *numbers)

    def clip(self, native, most, eps):
        self.line("clip", float(most).hex(), float(eps).hex())

    def scale(self, native, *, dynamic, first, least, most, window, hysteresis, consecutive):
        exponents = [torch.tensor(x).log2().int().item() for x in (first, least, most)]
        self.line("scale", int(dynamic), *exponents, window, hysteresis, int(consecutive))

    def open(self, native):
        self.line("open")

    def ready(self, native, j, mb, grad):
        wrong = self.fault == "gradient" and mb == 0 and j == 0
        self.line("ready", j, mb, DTYPES[grad.dtype], hexes(-grad if wrong else grad))

    def unused(self, native, j, mb):
        self.line("unused", j, mb)

    def loss(self, native, mb, value):
        wrong = 1.0 if self.fault == "loss" else 0.0
        self.line("loss", mb, hexes(torch.tensor([value + wrong], dtype=torch.float32)))


def recorded(rank, world, folder, fault, *arguments):
    Recorder(f"{folder}/{rank}", fault if rank == 0 else "")
    return train(rank, world, "ref", *arguments)


CASES = [
    (0, "exact", torch.float32, None),
    (1, "exact", torch.bfloat16, None),
    (2, "exact", torch.float32, None),
    (2, "ordered", torch.bfloat16, None),
    (1, "ordered", torch.float32, {"first": 2.0**8, "window": 1}),
    (2, "exact", torch.float16, {"first": 2.0**8, "window": 1}),
]


def replayed(replay, fault, worlds, cases):
    for world in worlds:
        for case in cases:
            name = f"stage {case[0]}, {case[1]}, {case[2]}, {world} ranks"
            with tempfile.TemporaryDirectory() as folder:
                wrote = on_ranks(world, recorded, folder, fault, *case)
                for seed in (1, 2):
                    ended = subprocess.run(
                        [replay, str(world), str(seed), folder],
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    good = isinstance(wrote[0], tuple) and ended.returncode == 0
                    check(f"replay: {name}, order {seed}", good, (ended.stderr[-300:], wrote))


def from_python():
    for case in CASES:
        name = f"stage {case[0]}, {case[1]}, {case[2]}"
        wanted = train(0, 1, "ref", *case)
        for seed in (1, 2):
            found = simulated(lambda case=case: train(0, 1, "cuda", *case), seed=seed)
            check(f"from Python: {name}, order {seed}", found == wanted, (found, wanted))


def saved_in_background():
    """load() publishes the save of the step before; the same step then has the same bits."""

    def step_of(engine):
        with engine.micro_batch():
            x, y = batch_of(engine.last.steps if engine.last else 0, 0, torch.float32)
            engine.backward(functional.mse_loss(engine.model(x, rare=True), y))
        return engine.step()

    def program():
        with zt.Engine(Net(), {"lr": 0.02}, engine="cuda") as engine:
            step_of(engine)
            engine.save(folder, background=True)
            first = step_of(engine)
            engine.load(folder)
            return first, engine.last.steps, step_of(engine)

    with tempfile.TemporaryDirectory() as folder:
        first, steps, again = simulated(program)
    good = steps == 1 and first[:6] == again[:6]
    check("from Python: a save in the background is loaded", good, (first, steps, again))


def refused():
    library = os.environ["ZEROPROOF_CUDA_ENGINE"]
    for name, run, text in (
        ("no library", lambda: train(0, 1, "cuda", *CASES[0]), "needs ZEROPROOF_CUDA_ENGINE"),
        ("another engine", lambda: train(0, 1, "gpu", *CASES[0]), "it must be 'ref' or 'cuda'"),
    ):
        os.environ["ZEROPROOF_CUDA_ENGINE"] = "" if name == "no library" else library
        try:
            run()
            said = "no error"
        except ValueError as error:
            said = str(error)
        check(f"refused: {name}", text in said, said)
    os.environ["ZEROPROOF_CUDA_ENGINE"] = library
    try:
        train(0, 1, "cuda", *CASES[0])
        said = "no error"
    except zt.EngineError as error:
        said = str(error)
    check("refused: outside a simulation", "no simulation runs" in said, said)

    def states():
        engine = zt.Engine(Net(), {"lr": 0.02}, engine="cuda")
        try:
            engine.state_dict()
            return "no error"
        except zt.EngineError as error:
            return str(error)
        finally:
            engine.close()

    check("refused: state_dict", "use save() and load()" in simulated(states))


if __name__ == "__main__":
    program, planted = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    if planted:
        replayed(program, planted, (2,), CASES[2:3])
    else:
        refused()
        from_python()
        saved_in_background()
        replayed(program, "", (1, 2, 3, 4), CASES)
    sys.exit(engine_test.failed > 0)
