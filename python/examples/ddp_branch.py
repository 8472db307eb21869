"""Broken on purpose: one rank leaves a batch out, the others wait in DDP's backward."""

import datetime

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
rank = dist.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for number in range(6):
    x = torch.randn(8, 16)
    if rank == 2 and number == 3:
        x[0, 0] = float("inf")  # a damaged sample
    loss = model(x).square().mean()
    mean = loss.detach().clone()
    dist.all_reduce(mean)  # to be logged
    if not torch.isfinite(loss):
        continue  # the bug: "skip the bad batch" on this rank only
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

dist.destroy_process_group()
