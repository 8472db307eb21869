"""Accelerate: load_state under another number of accumulation steps shortens the first window.

Requirements: accelerate==1.15.0. It prints after which micro-batches the optimizer steps."""

import signal
import sys
import tempfile

import accelerate
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState

signal.alarm(100)  # ends the process after 100 s


def trained(steps, batches, load=None, save=None):
    AcceleratorState._reset_state(True)
    GradientState._reset_state()
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=steps)
    model, updates = torch.nn.Linear(1, 1), []
    model, optim = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=1.0))
    accelerator.load_state(load) if load else None
    for batch in range(1, batches + 1):
        with accelerator.accumulate(model):
            accelerator.backward(model(torch.ones(1, 1)).sum())
            updates += [batch] if accelerator.sync_gradients else []
            optim.step()
            optim.zero_grad()
    accelerator.save_state(save) if save else None
    return updates


with tempfile.TemporaryDirectory() as folder:
    trained(1, 1, save=folder)  # three ranks, say: one micro-batch each
    got = trained(3, 6, load=folder)  # one rank that accumulates three
expected = [3, 6]
print(f"accelerate {accelerate.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
