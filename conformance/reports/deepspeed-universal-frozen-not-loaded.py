"""A universal checkpoint does not restore frozen parameters.

Requirements: deepspeed==0.19.8 torch==2.13.0. It saves a frozen weight of 2, converts the
checkpoint, loads it into a new model, and prints the weight there."""

import os
import signal
import subprocess
import sys
import tempfile

os.environ.update(DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", LOCAL_RANK="0")
import deepspeed
import torch

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled
signal.alarm(100)  # ends the process after 100 s
folder = tempfile.mkdtemp()
url = f"file://{folder}/store"
deepspeed.init_distributed("gloo", False, init_method=url, rank=0, world_size=1)
config = {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}}
config |= {"zero_force_ds_cpu_optimizer": False, "checkpoint": {"load_universal": True}}
tool = "-m deepspeed.checkpoint.ds_to_universal --inject_missing_state"
paths = f"--input_folder {folder}/one --output_folder {folder}/one_universal"
expected = 2.0
for frozen in (expected, 0.0):
    model = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1, bias=False))
    model[1].weight.requires_grad_(False).fill_(frozen)
    adam = torch.optim.AdamW(model[0].parameters())
    engine, *_ = deepspeed.initialize(model=model, optimizer=adam, config=config)
    if frozen == expected:
        engine.backward(engine(torch.ones(1, 1)).sum())
        engine.step()
        engine.save_checkpoint(folder, "one")
        subprocess.run([sys.executable, *tool.split(), *paths.split()], check=True)
engine.load_checkpoint(folder)
got = model[1].weight.item()
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
