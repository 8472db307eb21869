"""DDP: if a window's last micro-batch uses no parameter, the next step raises RuntimeError.

Requirements: torch==2.13.0. It prints the error."""

import signal
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

signal.alarm(100)  # ends the process after 100 s
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


class Model(torch.nn.Linear):
    def forward(self, used):
        return self.weight.sum() if used else torch.zeros((), requires_grad=True) * 1.0


ddp = DistributedDataParallel(Model(1, 1, bias=False), find_unused_parameters=True)
try:
    for _ in range(2):  # two steps of two micro-batches
        with ddp.no_sync():
            ddp(True).backward()
        ddp(False).backward()
    got = "no error"
except RuntimeError as error:
    got = "RuntimeError: " + str(error).partition(".")[0]
expected = "no error"
print(f"torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
