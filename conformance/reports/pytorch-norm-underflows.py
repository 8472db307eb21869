"""clip_grad_norm_ returns a norm of 0 for gradients below 1e-22.

Requirements: torch==2.13.0. It prints the norm of a gradient of two elements."""

import signal
import sys

import torch

signal.alarm(100)  # ends the process after 100 s
w = torch.nn.Parameter(torch.zeros(2))
w.grad = torch.tensor([3 * 2.0**-80, 4 * 2.0**-80])
got, expected = torch.nn.utils.clip_grad_norm_([w], 1.0).item(), 5 * 2.0**-80
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
