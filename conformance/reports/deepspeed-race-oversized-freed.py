"""ZeRO-2 with overlap_comm frees a gradient larger than a bucket while it is reduced.

Requirements: deepspeed==0.19.8 torch==2.13.0. It prints the calls of record_stream."""

import os
import signal
import sys
from contextlib import nullcontext
from unittest.mock import Mock

os.environ.update(DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", LOCAL_RANK="0")
import deepspeed
import torch

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled
signal.alarm(100)  # ends the process after 100 s
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
device = type(deepspeed.get_accelerator())  # a CPU; its streams only note what they wait for
device.Stream, device.stream, now = Mock, lambda self, stream: nullcontext(), Mock()
device.is_synchronized_device = device.resolves_data_dependency = lambda self: False
device.current_stream = lambda self: now.stream
config = {"train_micro_batch_size_per_gpu": 1, "zero_allow_untested_optimizer": True}
config["zero_optimization"] = {"stage": 2, "overlap_comm": True, "reduce_bucket_size": 2}
config["zero_optimization"]["reduce_scatter"] = False
model = torch.nn.Linear(4, 1, bias=False)
sgd = torch.optim.SGD(model.parameters(), lr=1.0)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
torch.Tensor.record_stream = lambda tensor, stream: None
calls = []  # each would keep memory alive until its stream no longer uses it
torch.Tensor.record_stream = lambda tensor, _: calls.append(tensor.numel())
engine.backward(engine(torch.ones(4)))
got, expected = calls, calls or [4]
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
