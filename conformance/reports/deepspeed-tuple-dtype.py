"""A pipeline receives gradients as integers if tuples start with an integer tensor.

Requirements: deepspeed==0.19.8 torch==2.13.0. It runs 3 stages and prints their gradients."""

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
rank = next((r for r in range(1, 3) if os.fork() == 0), 0)  # ranks 1 to 2 are forks of rank 0
signal.alarm(100)  # ends the process after 100 s
url = f"file://{store.name}"
deepspeed.init_distributed("gloo", False, init_method=url, rank=rank, world_size=3)
config = {"train_micro_batch_size_per_gpu": 1, "gradient_clipping": 0.0}
layers = [
    TiedLayerSpec("0", torch.nn.Linear, 1, 1, False, forward_fn=lambda f, x: (x.int(), f(x))),
    TiedLayerSpec("1", torch.nn.Linear, 1, 1, False, forward_fn=lambda f, x: (x[0], f(x[1]))),
    TiedLayerSpec("2", torch.nn.Linear, 1, 1, False, forward_fn=lambda f, x: f(x[1])),
]
model = PipelineModule(layers, 3, loss_fn=lambda out, _: out.sum(), partition_method="uniform")
w = torch.nn.init.constant_(next(model.parameters()), 1.0)
sgd = torch.optim.SGD(model.parameters(), lr=1.0)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
engine.train_batch(iter([(torch.ones(1, 1), None)]))
got = [None] * 3
torch.distributed.all_gather_object(got, 1 - w.item())
if rank:
    os._exit(0)
expected = [1.0] * 3
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
