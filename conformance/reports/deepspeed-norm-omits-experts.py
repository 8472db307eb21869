"""bf16 or fp16 without ZeRO: the gradient norm omits the experts.

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
moe = deepspeed.moe.layer.MoE(1, torch.nn.Linear(1, 1, bias=False), 2, ep_size=2)
[expert] = moe.deepspeed_moe.experts.parameters()  # one expert on each rank; the gate is not used
moe.dense = torch.nn.Parameter(torch.ones(1))
group = {"params": [expert], "name": "ep_size_2", "moe": True}
sgd = torch.optim.SGD([{"params": [moe.dense]}, group], lr=1.0)
engine, *_ = deepspeed.initialize(model=moe, optimizer=sgd, config=config)
# gradients: dense 3, experts 4 and 0 (averaged over two ranks), so the norm is 5
engine.backward(3 * moe.dense.sum() + expert.sum() * (8.0 if rank == 0 else 0.0))
engine.step()
got = [None] * 2
torch.distributed.all_gather_object(got, float(engine.get_global_grad_norm()))
if rank:
    os._exit(0)
expected = [5.0] * 2
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
