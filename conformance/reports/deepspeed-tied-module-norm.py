"""The norm of a pipeline omits the weights beside the tied one in a tied module.

Requirements: deepspeed==0.19.8 torch==2.13.0. It runs two stages and prints their squared norm."""

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
config["zero_optimization"] = {"stage": 1}
layers = [TiedLayerSpec("w", torch.nn.Linear, 1, 1) for _ in range(2)]  # tied: the weight alone
model = PipelineModule(layers, 2, loss_fn=lambda out, _: out.sum(), partition_method="uniform")
for parameter in model.parameters():
    torch.nn.init.ones_(parameter)
sgd = torch.optim.SGD(model.parameters(), lr=1.0)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
engine.train_batch(iter([(torch.ones(1, 1), None)]))  # out = w (w x + b0) + b1
norm = float(engine.get_global_grad_norm())
torch.distributed.barrier()
if rank:
    os._exit(0)
got, expected = round(norm**2, 3), 11.0  # of w: 2 + 1 = 3, of b0: 1, of b1: 1
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
