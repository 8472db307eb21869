"""An fp32 pipeline without ZeRO is clipped by a norm that omits the later stages.

Requirements: deepspeed==0.19.8 torch==2.13.0. It runs two stages and prints their updates."""

import os
import signal
import sys
import tempfile

os.environ.update(DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", LOCAL_RANK="0")
os.environ.update(DEEPSPEED_TIMEOUT="1", GLOO_SOCKET_IFNAME="lo")  # 1 minute
import deepspeed
import torch
from deepspeed.pipe import PipelineModule

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled
store = tempfile.NamedTemporaryFile()
rank = next((r for r in range(1, 2) if os.fork() == 0), 0)  # rank 1 is a fork of rank 0
signal.alarm(100)  # ends the process after 100 s
url = f"file://{store.name}"
deepspeed.init_distributed("gloo", False, init_method=url, rank=rank, world_size=2)
config = {"train_micro_batch_size_per_gpu": 1, "zero_allow_untested_optimizer": True}
config["gradient_clipping"] = 1.0
layers = [torch.nn.Linear(1, 1, bias=False) for _ in range(2)]
torch.nn.init.constant_(layers[0].weight, 3.0)
torch.nn.init.constant_(layers[1].weight, 4.0)
model = PipelineModule(layers, 2, loss_fn=lambda out, _: out.sum(), partition_method="uniform")
sgd = torch.optim.SGD(model.parameters(), lr=1.0)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
engine.train_batch(iter([(torch.ones(1, 1), None)]))  # gradients 4 and 3, so the norm is 5
got = [None] * 2
torch.distributed.all_gather_object(got, round(3 + rank - next(model.parameters()).item(), 3))
if rank:
    os._exit(0)
expected = [4 / 5, 3 / 5]
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
