"""Runs the programs of gpu-check."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(1, str(ROOT / "tests" / "runner"))
from guard import Guard  # noqa: E402

GUARD = Guard()


def run(argv, limit, env=None):
    """(exit status, or None if it was stopped; stdout; stderr); its children end with it, and all
    of them with this process, however that ends."""
    process = GUARD.start(
        argv,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        out, err = process.communicate(timeout=limit)
        GUARD.ended(process)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:  # it may print its position, and remove incomplete files
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(2)
    GUARD.ended(process)
    try:
        out, err = process.communicate(timeout=5)
        return None, out, err
    except subprocess.TimeoutExpired:  # hangs in the driver, or another process has its pipe
        return None, "", "it did not end when it was killed"


def lines_of(text):
    """The JSON objects that a program printed, one a line; an incomplete last line is ignored."""
    found = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            pass
    return [x for x in found if isinstance(x, dict)]
