"""Megatron: a torch_dist checkpoint of SGD cannot be loaded.

Requirements: megatron-core==0.19.2 torch==2.13.0. It makes the sharded state dict of an optimizer
for saving and for loading, of Adam and of SGD, and prints the errors."""

import signal
import sys

import megatron.core as core
import torch
from megatron.core import optimizer as optimizers
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
from megatron.core.transformer.utils import make_sharded_tensors_for_checkpoint

signal.alarm(100)  # ends the process after 100 s
torch.tensor = lambda *x, device=None, f=torch.tensor, **more: f(*x, **more)  # on the CPU
torch.cuda.current_device = lambda: "cpu"
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
core.parallel_state.initialize_model_parallel(create_gloo_process_groups=False)
config = core.transformer.TransformerConfig(num_layers=1, hidden_size=1, num_attention_heads=1)


def error_of(kind, loading):
    linear = torch.nn.Linear(1, 1)
    model = DistributedDataParallel(config, DistributedDataParallelConfig(), linear)
    settings = optimizers.OptimizerConfig(optimizer=kind, lr=1.0)
    optim = optimizers.get_megatron_optimizer(settings, [model], use_gloo_process_groups=False)
    state = make_sharded_tensors_for_checkpoint(linear.state_dict(keep_vars=True), "")
    try:
        optim.sharded_state_dict(state, is_loading=loading)
    except TypeError as error:
        return repr(error)


errors = [error_of(kind, loading) for kind in ("adam", "sgd") for loading in (False, True)]
got, expected = errors.pop() or "no error", "no error"
print(f"others: {errors}; megatron-core {core.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
