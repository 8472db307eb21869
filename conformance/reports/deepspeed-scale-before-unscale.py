"""In a step after which the loss scale grows, ZeRO divides gradients by the new scale.

Requirements: deepspeed==0.19.8 torch==2.13.0. It prints the weight after each step."""

import os
import signal
import sys

os.environ.update(DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", LOCAL_RANK="0")
import deepspeed
import torch

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled
type(deepspeed.get_accelerator()).is_fp16_supported = lambda self: True  # refused on a CPU
signal.alarm(100)  # ends the process after 100 s
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
config = {"train_micro_batch_size_per_gpu": 1, "zero_allow_untested_optimizer": True}
config["fp16"] = {"enabled": True, "initial_scale_power": 3, "loss_scale_window": 1}
config["zero_optimization"] = {"stage": 1}
model = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.ones_(model.weight)
sgd = torch.optim.SGD(model.parameters(), lr=0.25)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
got = []
for _ in range(2):  # the gradient is 1, so each step subtracts lr = 0.25
    engine.backward(engine(torch.ones(1, dtype=torch.float16)))
    engine.step()
    got.append(model.weight.item())
expected = [0.75, 0.5]
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
