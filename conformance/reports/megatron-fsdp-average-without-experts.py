"""average_in_collective raises AttributeError in a model without experts.

Requirements: megatron-fsdp==0.6.1 torch==2.13.0. It prints the error."""

import signal
import sys
from unittest.mock import MagicMock

import torch
import torch.distributed as dist

for name in ("Stream", "Event", "stream", "current_stream", "synchronize"):  # of a CPU
    setattr(torch.cuda, name, MagicMock())
torch.cuda.current_device, torch.Tensor.cuda = lambda: 0, lambda tensor: tensor
import megatron_fsdp

signal.alarm(100)  # ends the process after 100 s
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
options = {"device_mesh": dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))}
options |= {"dp_shard_dim": "dp", "tp_dim": "tp", "fsdp_unit_modules": [torch.nn.Linear]}
options |= {"zero_dp_strategy": 2, "device": torch.device("cpu")}
model = torch.nn.Sequential(torch.nn.Linear(1, 1))
try:
    megatron_fsdp.fully_shard_model(model, average_in_collective=True, **options)
    got = "no error"
except AttributeError as error:
    got = f"AttributeError: {error}"
expected = "no error"
print(f"megatron-fsdp {megatron_fsdp.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
