"""zeroproof: checks of ZeRO and pipeline-parallel training, and exact gradient norms.

zeroproof.torch       clip_grad_norm_ and grad_norm with equal bits under every layout
zeroproof.adapter     tests your ZeRO implementation: the decorator zeroproof.adapter.adapter
python -m zeroproof.trace train.py       records a training script for `zeroproof trace check`
zeroproof check, sim, trace, explain     the command line"""

from __future__ import annotations

import importlib
import json
from typing import Any

from . import _native

__version__ = "0.1.0"
__all__ = ["__version__", "provenance"]


def provenance() -> dict[str, str]:
    """What this installation was built from: {"version", "commit", "claims"}. commit: of the
    repository, with "-dirty" if files had changed. claims: SHA-256 of CLAIMS.md, which lists what
    is proven. In a checkout that was not installed, "unknown"."""
    found = {"version": __version__, "commit": "unknown", "claims": "unknown"}
    file = _native.INSTALLED / "provenance.json"
    if file.is_file():
        found.update(json.loads(file.read_text(encoding="utf-8")))
    return found


def __getattr__(name: str) -> Any:
    """zeroproof.torch without an import of its own; PyTorch is imported when it is needed."""
    if name in ("torch", "adapter", "trace"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
