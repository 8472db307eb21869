"""Broken on purpose: the first stage cuts a short batch into fewer micro-batches than others."""

import datetime

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

SIZE, CHUNKS = 4, 4  # samples of a micro-batch, micro-batches of a batch
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
stage = PipelineStage(torch.nn.Linear(8, 8), rank, world, torch.device("cpu"))
optimizer = torch.optim.SGD(stage.submod.parameters(), lr=0.1)


def train(chunks, **data):
    optimizer.zero_grad()
    last = {"target": torch.zeros(chunks * SIZE, 8)} if rank == world - 1 else {}
    ScheduleGPipe(stage, chunks, loss_fn=torch.nn.functional.mse_loss).step(*data.values(), **last)
    optimizer.step()


for samples in (16, 16, 12):  # the last batch is short
    if rank == 0:
        x = torch.randn(samples, 8)
        train(len(x) // SIZE, x=x)
    else:
        train(CHUNKS)  # the bug: only the first stage sees how long the batch is

dist.destroy_process_group()
