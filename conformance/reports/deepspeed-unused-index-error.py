"""ZeRO-2: a backward that reaches no trainable parameter raises IndexError.

Requirements: deepspeed==0.19.8 torch==2.13.0. It prints the error."""

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
config["zero_optimization"] = {"stage": 2}
model = torch.nn.Linear(1, 1, bias=False)
sgd = torch.optim.SGD(model.parameters(), lr=0.25)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
try:
    engine.backward(torch.zeros((), requires_grad=True) * 1.0)  # it uses no parameter
    engine.step()
    got = "no error"
except IndexError as error:
    got = f"IndexError: {error}"
expected = "no error"
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
