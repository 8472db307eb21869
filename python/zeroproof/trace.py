"""Records the collectives of a training script without an edit of it.

    torchrun --nproc-per-node 2 -m zeroproof.trace --out run train.py --epochs 1
    zeroproof trace check run

The recorder hooks into PyTorch's dispatcher, which every collective passes, whether Python or C++
(DDP's reducer) issues it. Each rank writes run/rank-N.zpt, each record before its operation is
entered: the record of a program that hangs shows where (conformance/TRACE.md)."""

from __future__ import annotations

import argparse
import glob
import importlib
import os
import runpy
import sys
from typing import Any

from ._native import BRINGS_TORCH
from .adapter import suite_folder


def recorder() -> Any:
    """The module zeroproof_trace: record(folder, depth, redact, values), phase(words),
    step(number), ended(error). Raises ImportError without PyTorch, OSError if the installation
    lacks it."""
    folder = str(suite_folder() / "recorder")
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise ImportError(f"recording needs PyTorch: {BRINGS_TORCH}") from error
    return importlib.import_module("zeroproof_trace")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m zeroproof.trace",
        usage="%(prog)s [OPTION ...] [-m] SCRIPT [ARGUMENT ...]",
        description="Runs a training script and records its collectives; start it with torchrun.",
        epilog="Then: zeroproof trace check DIR",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        default="zeroproof-run",
        help="folder for rank-N.zpt (zeroproof-run); restarts and later runs write attempt-K in it",
    )
    parser.add_argument(
        "--depth",
        metavar="N",
        type=int,
        help="lines of the script's stack in each record, 0 to 32 (ZEROPROOF_TRACE_DEPTH, or 3)",
    )
    parser.add_argument(
        "--redact",
        action="store_true",
        default=None,
        help="write hashes of file names, group labels and names of tensors (or "
        "ZEROPROOF_TRACE_REDACT=1)",
    )
    parser.add_argument(
        "--values",
        metavar="N",
        type=int,
        help="record fingerprints of the values of collectives, and every N steps of parameters, "
        "gradients and optimizer state; 0: of collectives only (ZEROPROOF_TRACE_VALUES, or none)",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module's name")
    # all that follows the script is its own, with or without --, which torchrun removes
    parser.add_argument(
        "words", metavar="SCRIPT", nargs=argparse.REMAINDER, help="and its arguments"
    )
    options = parser.parse_args()
    if options.words[:1] == ["--"]:
        del options.words[0]
    if not options.words:
        parser.error("expected a script: python -m zeroproof.trace --out DIR train.py ...")
    if options.depth is not None and not 0 <= options.depth <= 32:
        parser.error(f"--depth {options.depth}: expected 0 to 32")
    if options.values is not None and options.values < 0:
        parser.error(f"--values {options.values}: expected 0 or more")
    if not options.module:
        try:
            open(options.words[0], encoding="utf-8").close()
        except OSError as error:
            parser.error(f"{options.words[0]}: {error.strerror}")
    return options


def run(options: argparse.Namespace) -> None:
    sys.argv = options.words
    if options.module:
        runpy.run_module(options.words[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(options.words[0])))
        runpy.run_path(options.words[0], run_name="__main__")


def traces(folder: str) -> set[str]:
    inside = glob.escape(folder)
    return {*glob.glob(f"{inside}/rank-*.zpt"), *glob.glob(f"{inside}/attempt-*/rank-*.zpt")}


def check_recorded(folder: str, before: set[str]) -> None:
    """A script that starts its ranks itself leaves no trace, unless it forks them."""
    if traces(folder) <= before:
        print(
            f"zeroproof.trace: nothing was recorded in {folder}: this process entered no "
            "collective. If the script starts its ranks itself (torch.multiprocessing.spawn), "
            f"call zeroproof.trace.recorder().record({folder!r}) first in the function of each "
            "rank, or start the ranks with torchrun.",
            file=sys.stderr,
            flush=True,
        )


def main() -> int:
    """python -m zeroproof.trace [--out DIR] [--depth N] [--redact] [--values N] SCRIPT.py
    ARGUMENTS... Runs the script as __main__; its exit code is the script's. Others: 2 invalid
    input; 3 the recorder is missing."""
    options = arguments()
    folder = os.path.abspath(options.out)  # the script may change the current folder
    before, process = traces(folder), os.getpid()
    try:
        module = recorder()
        recording = module.record(folder, options.depth, options.redact, options.values)
    except (ImportError, OSError) as error:
        print(f"zeroproof.trace: {error}", file=sys.stderr)
        return 3
    try:
        run(options)
    except BaseException as error:  # SystemExit too: the trace has the script's exit status
        module.ended(error)
        raise
    else:
        module.ended(None)
    finally:
        if os.getpid() == process and recording.file is None:
            check_recorded(folder, before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
