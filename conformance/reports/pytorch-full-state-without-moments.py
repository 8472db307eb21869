"""PyTorch: set_optimizer_state_dict(full_state_dict) fails for an optimizer that has no moments.

Requirements: torch==2.13.0. It loads the state that get_optimizer_state_dict returned, of SGD with
and without momentum, and prints the errors."""

import signal
import sys

import torch
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)

signal.alarm(100)  # ends the process after 100 s


def loaded(momentum):
    """The error, or None."""
    model = torch.nn.Linear(1, 1)
    optim = torch.optim.SGD(model.parameters(), lr=1.0, momentum=momentum)
    options = StateDictOptions(full_state_dict=True)
    saved = get_optimizer_state_dict(model, optim, options=options)
    try:
        set_optimizer_state_dict(model, optim, saved, options=options)
    except AssertionError as error:
        return repr(error)


got, expected = loaded(0.0) or "no error", "no error"
print(f"with momentum: {loaded(0.5)}; torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
