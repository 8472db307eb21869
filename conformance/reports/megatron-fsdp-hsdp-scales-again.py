"""HSDP with one rank in each shard group divides the first micro-batch by the ranks twice.

Requirements: megatron-fsdp==0.6.1 torch==2.13.0. Two ranks. It prints the reduced gradient."""

import os
import signal
import sys
import tempfile
from unittest.mock import MagicMock

import torch
import torch.distributed as dist

for name in ("Stream", "Event", "stream", "current_stream", "synchronize"):  # of a CPU
    setattr(torch.cuda, name, MagicMock())
torch.cuda.current_device, torch.Tensor.cuda = lambda: 0, lambda tensor: tensor
import megatron_fsdp

store = tempfile.NamedTemporaryFile()
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
rank = next((r for r in range(1, 2) if os.fork() == 0), 0)  # rank 1 is a fork of rank 0
signal.alarm(100)  # ends the process after 100 s
dist.init_process_group("gloo", f"file://{store.name}", rank=rank, world_size=2)
mesh = dist.init_device_mesh("cpu", (2, 1, 1), mesh_dim_names=("dp_outer", "dp", "tp"))
options = {"dp_shard_dim": "dp", "dp_outer_dim": "dp_outer", "tp_dim": "tp", "device_mesh": mesh}
options |= {"hybrid_fsdp_group": mesh["dp_outer", "dp"]._flatten("hsdp").get_group()}
options |= {"fsdp_unit_modules": [torch.nn.Linear], "device": torch.device("cpu")}
model = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False))
options |= {"zero_dp_strategy": 2, "sync_model_each_microbatch": False}
model = megatron_fsdp.fully_shard_model(model, **options)
model.ddp_config.gradient_reduce_div_fusion = False  # it needs NCCL
for last, x in ((False, 8.0), (True, 2.0)):  # the gradients of the two micro-batches
    model.set_model_auto_sync(last)
    model(torch.full((1, 1), x)).sum().backward()
[(_, w)] = model.param_and_grad_buffer.optimizer_named_parameters
got, expected = w.grad.to_local().item(), 8.0 + 2.0
os._exit(0) if rank else None
print(f"megatron-fsdp {megatron_fsdp.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
