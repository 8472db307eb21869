"""Megatron: the optimizer of a rank that trains experts alone steps, but has no state dict.

Requirements: megatron-core==0.19.2 torch==2.13.0. It freezes the dense weights of a model, trains
its experts, and prints the error of saving the optimizer."""

import signal
import sys

import megatron.core as core
import torch
from megatron.core import optimizer as optimizers
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig

signal.alarm(100)  # ends the process after 100 s
torch.tensor = lambda *x, device=None, f=torch.tensor, **more: f(*x, **more)  # on the CPU
torch.zeros = lambda *x, device=None, f=torch.zeros, **more: f(*x, **more)
torch.cuda.current_device = lambda: "cpu"
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
core.parallel_state.initialize_model_parallel(create_gloo_process_groups=False)
config = core.transformer.TransformerConfig(num_layers=1, hidden_size=1, num_attention_heads=1)
layers = torch.nn.ModuleDict({"dense": torch.nn.Linear(1, 1), "expert": torch.nn.Linear(1, 1)})
layers["dense"].requires_grad_(False)
for w in layers["expert"].parameters():
    w.allreduce = False  # as Megatron marks experts
model = DistributedDataParallel(config, DistributedDataParallelConfig(), layers)
settings = optimizers.OptimizerConfig(optimizer="adam", lr=1.0, clip_grad=0.0)
optim = optimizers.get_megatron_optimizer(settings, [model], use_gloo_process_groups=False)
stepped = optim.step()[0]
got, expected = "no error", "no error"
try:
    optim.state_dict()
except AttributeError as error:
    got = repr(error)
print(f"stepped {stepped}, megatron-core {core.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
