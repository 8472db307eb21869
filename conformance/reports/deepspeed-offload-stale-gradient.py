"""With offload, a weight that a step does not use gets the gradient of an earlier step.

Requirements: deepspeed==0.19.8 torch==2.13.0. It prints both weights after the steps."""

import os
import signal
import sys

os.environ.update(DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", LOCAL_RANK="0")
import deepspeed
import torch

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled
signal.alarm(100)  # ends the process after 100 s
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
config = {"train_micro_batch_size_per_gpu": 1, "zero_allow_untested_optimizer": True}
config["gradient_clipping"] = 0.0
config["zero_force_ds_cpu_optimizer"] = False
config["zero_optimization"] = {"stage": 1, "offload_optimizer": {"device": "cpu"}}


class Model(torch.nn.ModuleList):
    def forward(self, used):  # the gradient of each used parameter is 1
        return sum(self[i].weight.sum() for i in used)


model = Model(torch.nn.Linear(1, 1, bias=False) for _ in range(2))
for w in model.parameters():
    torch.nn.init.ones_(w)
sgd = torch.optim.SGD(model.parameters(), lr=0.25)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
for used in [(0, 1), (0,), (0,)]:  # three steps; only the first uses parameter 1
    engine.backward(engine(used))
    engine.step()
got, expected = [w.item() for w in model.parameters()], [1 - 3 * 0.25, 1 - 0.25]
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
