"""ZeRO-2 reduces a gradient larger than a bucket while another stream computes it.

Requirements: deepspeed==0.19.8 torch==2.13.0. It prints the layers for which it waits."""

import os
import signal
import sys
from contextlib import nullcontext
from unittest.mock import Mock, call

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
config["zero_optimization"] = {"stage": 2, "overlap_comm": True, "reduce_bucket_size": 3}
model = torch.nn.Sequential(*(torch.nn.Linear(*n, bias=False) for n in [(1, 2), (2, 2), (2, 1)]))
sgd = torch.optim.SGD(model.parameters(), lr=1.0)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
streams = [Mock() for _ in model]  # that of each layer's gradient
for layer, stream in zip(model, streams, strict=True):
    layer.weight.register_hook(lambda _, stream=stream: setattr(now, "stream", stream))
torch.Tensor.record_stream = lambda tensor, stream: None
reduction, waits = engine.optimizer.reduction_stream.mock_calls, []
deepspeed.comm.all_reduce = lambda *_, **options: waits.append(
    [number for number, s in enumerate(streams) if call.wait_stream(s) in reduction]
)
engine.backward(engine(torch.ones(1)).sum())  # layer 0 flushes the large layer 1
got, expected = waits[1], sorted({1, *waits[1]})
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
