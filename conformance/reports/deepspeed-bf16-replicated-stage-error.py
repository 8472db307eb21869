"""BF16_Optimizer: a pipeline stage whose weights are all tied to another stage raises an error.

Requirements: deepspeed==0.19.8 torch==2.13.0. It runs two stages and prints the second's error."""

import os
import signal
import tempfile

os.environ.update(DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", LOCAL_RANK="0")
os.environ.update(DEEPSPEED_TIMEOUT="1", GLOO_SOCKET_IFNAME="lo")  # 1 minute
import deepspeed
import torch
from deepspeed.pipe import PipelineModule, TiedLayerSpec

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled
store = tempfile.NamedTemporaryFile()
child = os.fork()
rank = int(child > 0)  # rank 0 is the child: it waits for rank 1
signal.alarm(100)  # ends the process after 100 s
url = f"file://{store.name}"
deepspeed.init_distributed("gloo", False, init_method=url, rank=rank, world_size=2)
config = {"train_micro_batch_size_per_gpu": 1, "zero_allow_untested_optimizer": True}
config.update(bf16={"enabled": True}, data_types={"grad_accum_dtype": "fp32"})
config["zero_optimization"] = {"stage": 1}
layers = [TiedLayerSpec("w", torch.nn.Linear, 1, 1, bias=False) for _ in range(2)]
model = PipelineModule(layers, 2, loss_fn=lambda out, _: out.sum(), partition_method="uniform")
sgd = torch.optim.SGD(model.parameters(), lr=0.25)
engine, *_ = deepspeed.initialize(model=model, optimizer=sgd, config=config)
try:
    engine.train_batch(iter([(torch.ones(1, 1, dtype=torch.bfloat16), None)]))
    got = "no error"
except RuntimeError as error:
    got = repr(error)
if rank == 0:
    os._exit(0)
os.kill(child, signal.SIGKILL)  # it may print later
expected = "no error"
verdict = "not reproduced:" if got == expected else "reproduced:"
print(verdict, f"got {got}, expected {expected}", flush=True)
os._exit(3 if got == expected else 0)
