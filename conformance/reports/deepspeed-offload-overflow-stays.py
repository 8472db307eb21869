"""After one overflow, ZeRO with offload, fp16 and fp32 accumulation skips every later step.

Requirements: deepspeed==0.19.8 torch==2.13.0. It prints the outcome of each step."""

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
config["zero_force_ds_cpu_optimizer"] = False
config["fp16"] = {"enabled": True, "loss_scale": 8}
config["data_types"] = {"grad_accum_dtype": "fp32"}
config["zero_optimization"] = {"stage": 1, "offload_optimizer": {"device": "cpu"}}
model = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.ones_(model.weight)
sgd = torch.optim.SGD(model.parameters(), lr=0.25)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
got = []
for x in [1.0, float("inf"), 1.0, 1.0]:  # the gradients of four steps
    before = engine.skipped_steps
    engine.backward(engine(torch.tensor([x], dtype=torch.float16)))
    engine.step()
    got.append("skipped" if engine.skipped_steps > before else "updated")
expected = ["updated", "skipped", "updated", "updated"]
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
