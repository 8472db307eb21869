"""FSDP2: accumulation fails if only the last micro-batch uses a parameter.

Requirements: torch==2.13.0. It prints the error."""

import signal
import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

signal.alarm(100)  # ends the process after 100 s
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


class Model(torch.nn.ModuleList):
    def forward(self, used):
        return sum(self[i].weight.sum() for i in used)


model = Model(torch.nn.Linear(1, 1, bias=False) for _ in range(2))
mesh = dist.init_device_mesh("cpu", (1,))
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
fully_shard(model, mesh=mesh, mp_policy=policy)
try:
    model.set_requires_gradient_sync(False)
    model([0]).backward()
    model.set_requires_gradient_sync(True)
    model([0, 1]).backward()
    got = "no error"
except AssertionError as error:
    got = "AssertionError: " + str(error).partition(" but")[0]
expected = "no error"
print(f"torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
