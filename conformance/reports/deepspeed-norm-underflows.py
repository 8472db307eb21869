"""The global norm of a small gradient is 0, because its square underflows fp32.

Requirements: deepspeed==0.19.8 torch==2.13.0. It prints the norm."""

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
config["zero_optimization"] = {"stage": 1}
model = torch.nn.Linear(1, 1, bias=False)
sgd = torch.optim.SGD(model.parameters(), lr=1.0)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
engine.backward(engine(torch.full((1,), 2.0**-80)))  # the gradient is 2^-80, about 8e-25
engine.step()
got, expected = float(engine.get_global_grad_norm()), 2.0**-80
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
