"""get_optimizer_state_dict of an optimizer without state advances AdamW's step count.

Requirements: torch==2.13.0. It prints the parameter after the first step of AdamW, once with and
once without a call of get_optimizer_state_dict before this step."""

import signal
import sys

import torch
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict

signal.alarm(100)  # ends the process after 100 s


def trained(read_state):
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    optim = torch.optim.AdamW(model.parameters(), lr=0.5, weight_decay=0.0)
    if read_state:
        state = get_optimizer_state_dict(model, optim)["state"]
        print(f"step of the state: {state['weight']['step'].item()}")
    model.weight.grad = torch.ones(1, 1)
    optim.step()
    return round(model.weight.item(), 4)


got, expected = trained(True), trained(False)
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
