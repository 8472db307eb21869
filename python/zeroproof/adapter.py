"""Puts a ZeRO implementation through the suite: an adapter that is one Python function.

    import zeroproof.adapter as za

    @za.adapter(name="my ZeRO", version="1.0", supports={"zero": [1], "dp": [1, 2, 3]})
    def train(me):
        me.environment()                        # starts torch.distributed with gloo
        model = za.Linear(me.position)          # the loss of a micro-batch, from the case
        optimizer = MyZero(model.parameters(), ...)
        for step in me.todo():
            me.begin(step)
            for m in range(me.case["micro_batches"]):
                model(step, m).backward()
            norm = optimizer.step()
            me.steps.append({"norm": float(norm).hex(), "parameters": model.parameters_by_name()})

Then `pytest --zeroproof=my_adapter.py`, or

    zeroproof check --adapter "python -m zeroproof.adapter my_adapter.py"

The function runs once for each case and rank, each rank in a process of its own. The names are
those of conformance/adapters/torch_adapter.py: Place (this rank's indices, values and data),
Linear, optimizer_of, hexes, moments, run, serve. What a step reports: conformance/ADAPTER.md."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import pathlib
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _native


@dataclasses.dataclass(frozen=True)
class Adapter:
    """What @adapter makes: the subject's hello (ADAPTER.md) and its function. Calling it calls the
    function."""

    train: Callable[[Any], None]
    hello: Mapping[str, Any]
    refuses: Callable[[Mapping[str, Any]], str | None]

    def __call__(self, me: Any) -> None:
        self.train(me)

    def serve(self) -> None:
        """Answers the suite's requests on standard input until it says bye."""

        def recorded(me: Any) -> None:
            me.recorder.install()  # torch.distributed's functions write the ledger
            self.train(me)

        _suite("torch_adapter").serve(dict(self.hello), recorded, self.refuses)


def _supports_all(case: Mapping[str, Any]) -> None:
    return None


def adapter(
    *,
    name: str,
    version: str,
    supports: Mapping[str, Sequence[Any]],
    returns: Sequence[str] = ("norm", "parameters", "ledger"),
    level: int = 2,
    lacks: Mapping[str, Any] | str = "it was not said why",
    options: Mapping[str, Sequence[Any]] | None = None,
    refuses: Callable[[Mapping[str, Any]], str | None] = _supports_all,
) -> Callable[[Callable[[Any], None]], Adapter]:
    """Makes a function train(me) the adapter of its file.

    name, version: of the subject, as reports show them. supports: axis -> values (AXES.md lists
    them); an axis that is left out has its default. returns: the fields of a step that train
    reports. level: 1 judges values, 2 also the ledgers of collectives, which torch.distributed's
    calls fill by themselves. lacks: why the other values are not supported, one text or axis ->
    text. options: the subject's own switches. refuses(case): why a case is not supported, or None.
    Source: conformance/ADAPTER.md, protocol 1."""
    hello = {
        "protocol": 1,
        "name": name,
        "version": version,
        "level": level,
        "returns": list(returns),
        "supports": {axis: list(values) for axis, values in supports.items()},
        "lacks": {"*": lacks} if isinstance(lacks, str) else dict(lacks),
        "options": {key: list(values) for key, values in (options or {}).items()},
    }
    return lambda train: Adapter(train, hello, refuses)


class _Decorator(types.ModuleType):
    """This module, as the decorator that it has: @zeroproof.adapter(...) is short for
    @zeroproof.adapter.adapter(...), which type checkers know."""

    def __call__(self, **arguments: Any) -> Callable[[Callable[[Any], None]], Adapter]:
        return adapter(**arguments)


sys.modules[__name__].__class__ = _Decorator


def suite_folder() -> pathlib.Path:
    """The folder of the conformance suite: judge, adapters, recorder. Raises OSError without it."""
    root = _native.checkout()
    installed = _native.INSTALLED / "share" / "zeroproof" / "conformance"
    for folder in [installed] + ([root / "conformance"] if root else []):
        if (folder / "judge").is_dir():
            return folder
    raise OSError(f"zeroproof: the conformance suite is not at {installed}")


def _suite(module: str) -> Any:
    """A module of the suite's adapters."""
    folder = str(suite_folder() / "adapters")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if (error.name or "").split(".")[0] != "torch":
            raise
        raise ImportError(f"adapters need PyTorch: {_native.BRINGS_TORCH}") from error


NAMES = {"Place": "Position"}  # the name here -> in torch_adapter.py

if TYPE_CHECKING:
    Place: Any
    Linear: Any
    optimizer_of: Any
    hexes: Any
    moments: Any
    run: Any
    serve: Any
    set_rates: Any


def __getattr__(name: str) -> Any:
    """The helpers of torch_adapter.py; PyTorch is imported when the first is used."""
    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(_suite("torch_adapter"), NAMES.get(name, name))


def load(file: str) -> Adapter:
    """The adapter of a file: FILE.py, or FILE.py:NAME if it has several. Raises ValueError if it
    has no adapter, OSError if the file cannot be read."""
    path, _, wanted = file.partition(":")
    if not pathlib.Path(path).is_file():
        raise OSError(f"{path}: there is no such file")
    spec = importlib.util.spec_from_file_location("zeroproof_adapter_under_test", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path}: expected a Python file, NAME.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(pathlib.Path(path).resolve().parent))
    spec.loader.exec_module(module)
    found = {k: v for k, v in vars(module).items() if isinstance(v, Adapter)}
    if wanted:
        if wanted not in found:
            raise ValueError(f"{path}: '{wanted}' is no function with @zeroproof.adapter.adapter")
        return found[wanted]
    if len(found) != 1:
        names = ", ".join(f"{path}:{k}" for k in sorted(found)) or "none"
        raise ValueError(f"{path}: expected one function with @adapter, found {names}")
    [only] = found.values()
    return only


def main() -> int:
    """python -m zeroproof.adapter FILE.py[:NAME]. Exit codes: 0; 2 no such adapter."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print("usage: python -m zeroproof.adapter FILE.py[:NAME]", file=sys.stderr)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    try:
        found = load(sys.argv.pop())
    except (OSError, ValueError) as error:
        print(f"zeroproof.adapter: {error}", file=sys.stderr)
        return 2
    found.serve()
    return 0


if __name__ == "__main__":
    # the decorator in the user's file belongs to the imported module, not to __main__
    from zeroproof.adapter import main as imported_main

    sys.exit(imported_main())
