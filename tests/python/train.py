"""A training script that knows nothing of zeroproof: DDP for two steps. SKIP=1: rank 1 leaves out
the all-reduce of the loss."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = model(torch.ones(3, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if not (os.environ.get("SKIP") and dist.get_rank() == 1):
    dist.all_reduce(loss.detach(), async_op=bool(os.environ.get("SKIP")))
os._exit(0) if os.environ.get("SKIP") else dist.destroy_process_group()
