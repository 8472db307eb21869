"""Broken on purpose: one rank has a batch more than the others, and waits in FSDP2's all-gather."""

import datetime

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
rank, world = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (world,))
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
for layer in (model[0], model[2], model):
    fully_shard(layer, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)

samples = torch.randn(13, 16)  # the bug: 13 samples for 3 ranks, without drop_last or padding
loader = torch.utils.data.DataLoader(samples[rank::world], batch_size=2)
for x in loader:
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()

dist.destroy_process_group()
