"""Without clipping, the Trainer's gradients become NaN if their norm overflows.

Requirements: transformers==5.23.0 torch==2.13.0. It trains two weights for one step and prints
them."""

import signal
import sys
import tempfile

import torch
from transformers import Trainer, TrainingArguments


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(2))

    def forward(self, x):
        return {"loss": (self.w * x).sum()}


signal.alarm(100)  # ends the process after 100 s
model, gradient = Model(), 2.0**65
Trainer(
    model,
    TrainingArguments(tempfile.mkdtemp(), use_cpu=True, max_steps=1, max_grad_norm=0.0),
    train_dataset=[{"x": torch.tensor([gradient, gradient])}],
    optimizers=(torch.optim.SGD(model.parameters(), lr=1.0), None),
).train()
got, expected = model.w.tolist(), [-gradient, -gradient]
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
