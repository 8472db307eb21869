"""BF16_Optimizer: the gradient norm omits parameters that the rank does not use itself.

Requirements: deepspeed==0.19.8 torch==2.13.0. It runs two ranks and prints their norms."""

import os
import signal
import sys
import tempfile

os.environ.update(DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", LOCAL_RANK="0")
os.environ.update(DEEPSPEED_TIMEOUT="1", GLOO_SOCKET_IFNAME="lo")  # 1 minute
import deepspeed
import torch

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled
store = tempfile.NamedTemporaryFile()
rank = next((r for r in range(1, 2) if os.fork() == 0), 0)  # rank 1 is a fork of rank 0
signal.alarm(100)  # ends the process after 100 s
url = f"file://{store.name}"
deepspeed.init_distributed("gloo", False, init_method=url, rank=rank, world_size=2)
config = {"train_micro_batch_size_per_gpu": 1, "zero_allow_untested_optimizer": True}
config["bf16"] = {"enabled": True}
config["data_types"] = {"grad_accum_dtype": "fp32"}  # with ZeRO-1: BF16_Optimizer
config["zero_optimization"] = {"stage": 1}
model = torch.nn.ModuleList(torch.nn.Linear(1, 1, bias=False) for _ in range(2))
sgd = torch.optim.SGD(model.parameters(), lr=1.0)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
# rank r uses weight r; the mean gradients are 3 and 4 on both ranks, so the norm is 5
engine.backward(model[rank].weight.sum() * (6.0 if rank == 0 else 8.0))
engine.step()
got = [None] * 2
torch.distributed.all_gather_object(got, float(engine.get_global_grad_norm()))
if rank:
    os._exit(0)
expected = [5.0] * 2
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
