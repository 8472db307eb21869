"""DDP with static_graph=True: a first backward under no_sync() raises RuntimeError.

Requirements: torch==2.13.0. It prints the error."""

import signal
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

signal.alarm(100)  # ends the process after 100 s
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
ddp = DistributedDataParallel(torch.nn.Linear(1, 1), static_graph=True)
try:
    with ddp.no_sync():
        ddp(torch.ones(1, 1)).sum().backward()
    ddp(torch.ones(1, 1)).sum().backward()
    got = "no error"
except RuntimeError as error:
    got = "RuntimeError: " + str(error).partition(" at ")[0]
expected = "no error"
print(f"torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
