"""DDP: a rank that uses no parameter does not enter the reduction, so the others hang.

Requirements: torch==2.13.0. It runs two ranks and prints how rank 0 ends its backward."""

import os
import signal
import sys
import tempfile
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

store = tempfile.NamedTemporaryFile()
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
torch.set_num_threads(1)
rank = next((r for r in range(1, 2) if os.fork() == 0), 0)  # rank 1 is a fork of rank 0
signal.alarm(100)  # ends the process after 100 s
dist.init_process_group("gloo", f"file://{store.name}", timedelta(seconds=60), 2, rank)


class Model(torch.nn.Linear):
    def forward(self, used):
        return self.weight.sum() if used else torch.zeros((), requires_grad=True) * 1.0


ddp = DistributedDataParallel(Model(1, 1, bias=False), find_unused_parameters=True)
try:
    ddp(rank == 0).backward()  # rank 1 uses no parameter
    got = "no error"
except RuntimeError:
    got = "RuntimeError"  # rank 1 has returned from backward and ended
if rank:
    os._exit(0)
expected = "no error"
print(f"torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
