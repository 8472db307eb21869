"""ZeRO-1 with fp32 accumulation: a tied weight's gradients are not summed over stages.

Requirements: deepspeed==0.19.8 torch==2.13.0. It runs two stages and prints both copies."""

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
type(deepspeed.get_accelerator()).is_fp16_supported = lambda self: True  # refused on a CPU
store = tempfile.NamedTemporaryFile()
rank = next((r for r in range(1, 2) if os.fork() == 0), 0)  # rank 1 is a fork of rank 0
signal.alarm(100)  # ends the process after 100 s
url = f"file://{store.name}"
deepspeed.init_distributed("gloo", False, init_method=url, rank=rank, world_size=2)
config = {"train_micro_batch_size_per_gpu": 1, "zero_allow_untested_optimizer": True}
config.update(fp16={"enabled": True, "loss_scale": 1}, data_types={"grad_accum_dtype": "fp32"})
config["zero_optimization"] = {"stage": 1}
layers = [TiedLayerSpec("key", torch.nn.Linear, 1, 1, bias=False) for _ in range(2)]
model = PipelineModule(layers, 2, loss_fn=lambda out, _: out.sum(), partition_method="uniform")
w = torch.nn.init.constant_(next(model.parameters()), 0.25)
sgd = torch.optim.SGD(model.parameters(), lr=1.0)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
# out = w * (w * x) with x = 1: gradient 1/4 on each stage, 1/2 in total
engine.train_batch(iter([(torch.ones(1, 1, dtype=torch.float16), None)]))
got = [None] * 2
torch.distributed.all_gather_object(got, w.item())
if rank:
    os._exit(0)
expected = [0.25 - 0.5] * 2
print(f"deepspeed {deepspeed.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
