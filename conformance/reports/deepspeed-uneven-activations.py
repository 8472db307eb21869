"""Activations partitioned over tensor-parallel ranks fail if their size is odd.

Requirements: deepspeed==0.19.8 torch==2.13.0. It runs two ranks and prints what is received."""

import os
import signal
import sys
import tempfile

os.environ.update(DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", LOCAL_RANK="0")
os.environ.update(DEEPSPEED_TIMEOUT="1", GLOO_SOCKET_IFNAME="lo")  # 1 minute
import deepspeed
import torch
from deepspeed.runtime.utils import PartitionedTensor

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled
store = tempfile.NamedTemporaryFile()
rank = next((r for r in range(1, 2) if os.fork() == 0), 0)  # rank 1 is a fork of rank 0
signal.alarm(100)  # ends the process after 100 s
url = f"file://{store.name}"
deepspeed.init_distributed("gloo", False, init_method=url, rank=rank, world_size=2)
group = deepspeed.comm.new_group([0, 1])
sent = PartitionedTensor(torch.tensor([1.0, 2.0, 3.0]), group)  # as pipe/engine.py does
received = PartitionedTensor.from_meta(sent.to_meta(), sent.data(), group)
try:
    got = received.full().tolist()
except RuntimeError:
    got = "RuntimeError"  # with another backend than gloo, the tensor is garbled
if rank:
    os._exit(0)
expected = [1.0, 2.0, 3.0]
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
