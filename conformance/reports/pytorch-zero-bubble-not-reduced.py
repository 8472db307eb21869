"""Zero-bubble schedules do not average all gradients over data-parallel ranks.

Requirements: torch==2.13.0. It runs two ranks with both stages and prints their gradients."""

import os
import signal
import sys
import tempfile
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed import pipelining
from torch.nn.parallel import DistributedDataParallel

store = tempfile.NamedTemporaryFile()
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
torch.set_num_threads(1)
rank = next((r for r in range(1, 2) if os.fork() == 0), 0)  # rank 1 is a fork of rank 0
signal.alarm(100)  # ends the process after 100 s
dist.init_process_group("gloo", f"file://{store.name}", timedelta(seconds=60), 2, rank)
own = [dist.new_group([r]) for r in range(2)][rank]  # each pipeline has one rank
stages = []
for i in range(2):
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(layer.weight)
    layer, cpu = DistributedDataParallel(layer), torch.device("cpu")
    stages.append(pipelining.PipelineStage(layer, i, 2, cpu, group=own))
kind = pipelining.ScheduleInterleavedZeroBubble
schedule = kind(stages, 2, loss_fn=lambda out, target: out.sum())
x = torch.full((2, 1), 1.0 if rank == 0 else 3.0)  # the gradients of a rank without averaging
schedule.step(x, target=torch.zeros(2, 1))
got = [None] * 2
dist.all_gather_object(got, [stage.submod.module.weight.grad.item() for stage in stages])
if rank:
    os._exit(0)
expected = [[2.0, 2.0]] * 2
print(f"torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
