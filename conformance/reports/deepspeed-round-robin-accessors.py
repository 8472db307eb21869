"""round_robin_gradients: safe_get_full_fp32_param returns another parameter's master.

Requirements: deepspeed==0.19.8 torch==2.13.0. It runs two ranks and prints the masters."""

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
config["zero_optimization"] = {"stage": 1, "round_robin_gradients": True}
model = torch.nn.Sequential(*(torch.nn.Linear(1, 1, bias=False) for _ in range(4)))
for value, w in enumerate(model.parameters()):
    torch.nn.init.constant_(w, value)
sgd = torch.optim.SGD(model.parameters(), lr=1.0)
deepspeed.initialize(model=model, optimizer=sgd, config=config)
mine = [deepspeed.utils.safe_get_full_fp32_param(w).item() for w in model.parameters()]
got = [None] * 2
torch.distributed.all_gather_object(got, mine)
if rank:
    os._exit(0)
expected = [[0.0, 1.0, 2.0, 3.0]] * 2
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
