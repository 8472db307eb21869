"""Megatron: loading a torch_dist checkpoint mixes up masters if a stage lacks an optimizer group.

Requirements: megatron-core==0.19.2 torch==2.13.0. Of groups a, b, c, stage 1 lacks a."""

import os
import queue
import signal
import sys
import tempfile

import megatron.core as core
import torch
from megatron.core import dist_checkpointing, optimizer
from megatron.core.dist_checkpointing.strategies import filesystem_async as writers
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
from megatron.core.transformer.utils import make_sharded_tensors_for_checkpoint as sharded

torch.cuda.current_device, torch.cuda.synchronize = lambda: "cpu", lambda: None  # no GPU
torch.tensor = lambda *x, device=None, f=torch.tensor, **more: f(*x, **more)
torch.Tensor.type = lambda x, *to: x.to(*to) if to else "torch.cuda.BFloat16Tensor"
writers._results_queue = queue.Queue()  # instead of a process that imports this script
folder, rank = tempfile.mkdtemp(), int(os.fork() > 0)  # stage 1 prints the master of b
signal.alarm(100)  # ends the process after 100 s
torch.distributed.init_process_group(init_method=f"file://{folder}-0", rank=rank, world_size=2)
core.parallel_state.initialize_model_parallel(1, 2)
layer = torch.nn.ParameterDict({n: torch.full([2], 1.0 * ord(n)) for n in "abc"[rank:]}).bfloat16()
groups = {optimizer.ParamKey(name=f"*{n}"): {"max_lr": ord(n)} for n in "abc"}
config = core.transformer.TransformerConfig(num_layers=1, hidden_size=1, num_attention_heads=1)
model = DistributedDataParallel(config, DistributedDataParallelConfig(), layer)
settings = optimizer.OptimizerConfig(lr=1.0, bf16=True, weight_decay=0.0)
optim = optimizer.get_megatron_optimizer(settings, [model], groups)
assert not optim.prepare_grads() and optim.step_with_ready_grads()  # all gradients are 0
weights = sharded(layer.state_dict(keep_vars=True), f"{rank}.")
dist_checkpointing.save(optim.sharded_state_dict(weights, True), folder)
optim.load_state_dict(dist_checkpointing.load(optim.sharded_state_dict(weights, True), folder))
got, expected = layer["b"].main_param.tolist(), layer["b"].tolist()
os._exit(0) if rank == 0 else None
print(f"megatron-core {core.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
