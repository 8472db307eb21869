"""The adapter of zeroproof.torch.Engine with one fault: engine_mutant.py FAULT, or none."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "conformance", "adapters"))

import engine_adapter as subject  # noqa: E402
from zeroproof._engine import Native  # noqa: E402
from zeroproof.torch import Engine  # noqa: E402


def twice():
    """A gradient that a second backward adds to counts twice."""
    hook = Engine._hook

    def faulty(self, j):
        real = hook(self, j)

        def arrived(p):
            if j in self._held and p.grad is not None:
                self._held[j].add_(p.grad)
            real(p)

        return arrived

    Engine._hook = faulty


def unused():
    """A parameter that a micro-batch leaves out has a gradient of ones there."""
    import torch

    def faulty(self, j, mb):
        self.ready(
            j, mb, torch.ones(self.entries[j].first.shape, dtype=self.entries[j].first.dtype)
        )

    Native.unused = faulty


def scale():
    """Losses are multiplied by the first loss scale, whatever it is now."""
    backward = Engine.backward

    def faulty(self, loss):
        last, self.last = self.last, None
        try:
            backward(self, loss)
        finally:
            self.last = last

    Engine.backward = faulty


def moment():
    """Loading a checkpoint leaves the first moment of the first entry at zero."""
    load = Native.load

    def faulty(self, folder):
        load(self, folder)
        for offset, values in self.read_state(0, "moment1"):
            self.write_state(0, "moment1", offset, values.zero_())

    Native.load = faulty


def ranks():
    """Rank 1 leaves out the gradient of the last parameter of its first micro-batch."""
    ready = Native.ready

    def faulty(self, j, mb, grad):
        leave = (mb, j) == (0, len(self.entries) - 1) and subject.dist.get_rank() == 1
        ready(self, j, mb, grad.zero_() if leave else grad)

    Native.ready = faulty


FAULTS = {f.__name__: f for f in (twice, unused, scale, moment, ranks)}

if __name__ == "__main__":
    name = sys.argv.pop()
    if name != "none":
        FAULTS[name]()
        subject.HELLO["name"] += f" with {name}"
    subject.serve(subject.HELLO, subject.main, subject.refuses)
