"""A bf16 pipeline without ZeRO cannot load the checkpoint that it has saved.

Requirements: deepspeed==0.19.8 torch==2.13.0. It saves, loads, and prints the error."""

import os
import signal
import sys
import tempfile

os.environ.update(DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", LOCAL_RANK="0")
import deepspeed
import torch
from deepspeed.pipe import LayerSpec, PipelineModule

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled
signal.alarm(100)  # ends the process after 100 s
store = tempfile.NamedTemporaryFile()
url = f"file://{store.name}"
deepspeed.init_distributed("gloo", False, init_method=url, rank=0, world_size=1)
config = {"train_micro_batch_size_per_gpu": 1, "zero_allow_untested_optimizer": True}
config["bf16"] = {"enabled": True}
model = PipelineModule([LayerSpec(torch.nn.Linear, 1, 1)], 1, loss_fn=lambda out, _: out.sum())
sgd = torch.optim.SGD(model.parameters(), lr=0.25)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
engine.train_batch(iter([(torch.ones(1, 1, dtype=torch.bfloat16), None)]))
try:
    with tempfile.TemporaryDirectory() as folder:
        engine.save_checkpoint(folder)
        engine.load_checkpoint(folder)
    got = "no error"
except KeyError as error:
    got = repr(error)
expected = "no error"
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
