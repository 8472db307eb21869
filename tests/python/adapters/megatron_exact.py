"""Megatron-Core as the suite's adapter trains with it, but clipped by zeroproof's norm."""

import os
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "conformance" / "adapters"))

import megatron_adapter
from megatron.core.optimizer import ChainedOptimizer, MegatronOptimizer
from zeroproof.torch import megatron_grad_norm


def norm(optimizer):
    """FAULT=part: the norm of this rank's optimizer alone, to see that a wrong norm is found."""
    if os.environ.get("FAULT") == "part":
        optimizer = Alone(optimizer)
    return float(megatron_grad_norm(optimizer))


class Alone:
    """An optimizer whose norm is taken over this rank."""

    def __init__(self, optimizer):
        self.chained_optimizers = [
            types.SimpleNamespace(
                get_grads_for_grad_norm=each.get_grads_for_grad_norm,
                get_grad_stats_parallel_group=lambda: None,
            )
            for each in getattr(optimizer, "chained_optimizers", [optimizer])
        ]


for kind in (MegatronOptimizer, ChainedOptimizer):
    kind.get_grad_norm = norm

if __name__ == "__main__":
    megatron_adapter.serve(megatron_adapter.HELLO, megatron_adapter.main)
