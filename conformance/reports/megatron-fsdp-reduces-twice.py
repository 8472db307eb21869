"""Without overlap_grad_reduce, the gradients of ZeRO-1 ("optim") are reduced twice.

Requirements: megatron-fsdp==0.6.1 torch==2.13.0. It runs two ranks and prints their weights."""

import os
import signal
import sys
import tempfile
from unittest.mock import MagicMock

import torch
from torch.distributed import init_device_mesh

for name in ("Stream", "Event", "stream", "current_stream", "synchronize"):  # of a CPU
    setattr(torch.cuda, name, MagicMock())
torch.cuda.current_device, torch.Tensor.cuda = lambda: 0, lambda tensor: tensor
import megatron_fsdp

store = tempfile.NamedTemporaryFile()
rank = next((r for r in range(1, 2) if os.fork() == 0), 0)  # rank 1 is a fork of rank 0
signal.alarm(100)  # ends the process after 100 s
torch.distributed.init_process_group("gloo", f"file://{store.name}", rank=rank, world_size=2)
options = {"device_mesh": init_device_mesh("cpu", (2, 1), mesh_dim_names=("dp", "tp"))}
options |= {"dp_shard_dim": "dp", "tp_dim": "tp", "fsdp_unit_modules": [torch.nn.Linear]}
options |= {"zero_dp_strategy": 1, "device": torch.device("cpu")}
model = torch.nn.Sequential(torch.nn.Linear(1, 2, bias=False))
torch.nn.init.zeros_(model[0].weight)
model = megatron_fsdp.fully_shard_model(model, overlap_grad_reduce=False, **options)
model.ddp_config.gradient_reduce_div_fusion = False  # gloo cannot multiply
sgd = megatron_fsdp.fully_shard_optimizer(torch.optim.SGD(model.parameters(), lr=1.0))
model(torch.ones(1, 1)).sum().backward()
sgd.step()
got, [(_, w)] = [None] * 2, model.param_and_grad_buffer.optimizer_named_parameters
torch.distributed.all_gather_object(got, w.to_local().item())
if rank:
    os._exit(0)
expected = [-1.0] * 2  # the mean gradient is 1
print(f"megatron-fsdp {megatron_fsdp.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
