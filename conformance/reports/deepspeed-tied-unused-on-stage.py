"""A tied weight that one of its stages does not use in a step hangs the other stage.

Requirements: deepspeed==0.19.8 torch==2.13.0. It runs two stages and counts their all-reduces."""

import os
import signal
import sys
import tempfile

os.environ.update(DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", LOCAL_RANK="0")
os.environ.update(DEEPSPEED_TIMEOUT="1", GLOO_SOCKET_IFNAME="lo")  # 1 minute
import deepspeed
import torch
from deepspeed.pipe import PipelineModule, TiedLayerSpec

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled
store = tempfile.NamedTemporaryFile()
rank = next((r for r in range(1, 2) if os.fork() == 0), 0)  # rank 1 is a fork of rank 0
signal.alarm(100)  # ends the process after 100 s
url = f"file://{store.name}"
deepspeed.init_distributed("gloo", False, init_method=url, rank=rank, world_size=2)
config = {"train_micro_batch_size_per_gpu": 1, "zero_allow_untested_optimizer": True}
tied = [TiedLayerSpec("key", torch.nn.Linear, 1, 1, forward_fn=lambda layer, x: layer(x))]
tied += [TiedLayerSpec("key", torch.nn.Linear, 1, 1, forward_fn=lambda layer, x: x)]  # not used
layers = [tied[0], torch.nn.Linear(1, 1), tied[1], torch.nn.Linear(1, 1)]
model = PipelineModule(layers, 2, loss_fn=lambda out, _: out.sum(), partition_method="uniform")
sgd = torch.optim.SGD(model.parameters(), lr=1.0)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
calls = []  # of all-reduces, which are counted instead of made: they would hang
deepspeed.comm.all_reduce = lambda *args, **options: calls.append(args)
engine.train_batch(iter([(torch.ones(1, 1), None)]))
got = [None] * 2
torch.distributed.all_gather_object(got, len(calls))
if rank:
    os._exit(0)
expected = [max(got)] * 2
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
