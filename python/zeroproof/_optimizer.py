"""The torch Optimizer that an engine shows to schedulers and training loops."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from .engine import Engine


class EngineOptimizer(torch.optim.Optimizer):
    """The engine as a torch Optimizer, for learning rate schedulers and training loops: step() is
    the engine's, zero_grad() has nothing to do, and the numbers in param_groups are those of the
    next step. Its state_dict has them alone: Engine.state_dict() and save() have the state."""

    _opt_called = False  # read by torch's schedulers: a step came first

    def __init__(self, engine: Engine, groups: list[dict[str, Any]]) -> None:
        self._engine = weakref.ref(engine)
        # OneCycleLR looks for betas or momentum there
        super().__init__(
            groups, {k: x for k, x in groups[0].items() if k not in ("params", "kind")}
        )

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Engine.step(). closure: None."""
        engine = self._engine()
        if closure is not None or engine is None:
            raise ValueError("EngineOptimizer: step() takes no closure, and needs its engine")
        engine.step()

    def zero_grad(self, set_to_none: bool = True) -> None:
        pass
