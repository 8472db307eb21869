"""A universal checkpoint fails on a rank that owns no element of an optimizer group.

Requirements: deepspeed==0.19.8 torch==2.13.0. Two ranks train one weight; rank 1 owns padding."""

import os
import signal
import subprocess
import sys
import tempfile

os.environ.update(DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", LOCAL_RANK="0")
import deepspeed
import torch

at, child = tempfile.mkdtemp(), os.fork()  # the child is rank 0, the parent rank 1
signal.alarm(100)  # ends the process after 100 s
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled
store, rank = f"file://{at}/store", int(child > 0)
deepspeed.init_distributed("gloo", False, init_method=store, rank=rank, world_size=2)
config = {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}}
config |= {"zero_force_ds_cpu_optimizer": False, "checkpoint": {"load_universal": True}}
model = torch.nn.Linear(1, 1, bias=False)
adam = torch.optim.AdamW(model.parameters())
engine, *_ = deepspeed.initialize(model=model, optimizer=adam, config=config)
engine.backward(engine(torch.ones(1, 1)).sum())
engine.step()
engine.save_checkpoint(at, "one")
got, tool = None, "-m deepspeed.checkpoint.ds_to_universal --inject_missing_state"
paths = f"--input_folder {at}/one --output_folder {at}/one_universal"
if rank == 0:
    subprocess.run([sys.executable, *tool.split(), *paths.split()], check=True)
deepspeed.comm.barrier()
try:
    engine.load_checkpoint(at)
except IndexError as error:
    got = repr(error)
if child:
    os.kill(child, signal.SIGKILL)  # it may wait for this rank, and print an error
    print("not reproduced:" if got is None else "reproduced:", f"got {got}, expected no error")
    sys.exit(3 if got is None else 0)
