"""ZeRO-2 with overlap_comm refills a bucket while the reduction of its contents reads it.

Requirements: deepspeed==0.19.8 torch==2.13.0. It prints how often the refill waits."""

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
model = torch.nn.Sequential(*(torch.nn.Linear(1, 1, bias=False) for _ in range(7)))
sgd = torch.optim.SGD(model.parameters(), lr=1.0)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
streams = [Mock() for _ in model]  # that of each layer's gradient
for layer, stream in zip(model, streams, strict=True):
    layer.weight.register_hook(lambda _, stream=stream: setattr(now, "stream", stream))
torch.Tensor.record_stream = lambda tensor, stream: None
engine.backward(engine(torch.ones(1)))  # from layer 6 to layer 0, two in a bucket
# There are two buckets. Layers 2 and 1 refill that of 6 and 5; only the stream of 2 waits.
got, expected = len(streams[1].mock_calls), max(len(streams[1].mock_calls), 1)
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
