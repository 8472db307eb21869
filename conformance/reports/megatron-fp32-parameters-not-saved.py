"""Megatron: an optimizer of bf16 and fp32 parameters has no torch_dist checkpoint.

Requirements: megatron-core==0.19.2 torch==2.13.0. It saves a bf16 layer, alone and with a norm."""

import signal
import sys

import megatron.core as core
import torch
from megatron.core import optimizer as optimizers
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
from megatron.core.transformer.utils import make_sharded_tensors_for_checkpoint as sharded

signal.alarm(100)  # ends the process after 100 s
torch.tensor = lambda *x, device=None, f=torch.tensor, **more: f(*x, **more)  # on the CPU
torch.cuda.current_device = lambda: "cpu"
names = {torch.bfloat16: "torch.cuda.BFloat16Tensor", torch.float32: "torch.cuda.FloatTensor"}
torch.Tensor.type = lambda x, *to: x.to(*to) if to else names[x.dtype]
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
core.parallel_state.initialize_model_parallel(create_gloo_process_groups=False)
config = core.transformer.TransformerConfig(num_layers=1, hidden_size=1, num_attention_heads=1)


def error_of(*layers):
    module = torch.nn.Sequential(torch.nn.Linear(2, 1, bias=False).bfloat16(), *layers)
    model = DistributedDataParallel(config, DistributedDataParallelConfig(), module)
    settings = optimizers.OptimizerConfig(lr=1.0, bf16=True)
    optim = optimizers.get_megatron_optimizer(settings, [model], use_gloo_process_groups=False)
    try:
        optim.sharded_state_dict(sharded(module.state_dict(keep_vars=True), ""), is_loading=True)
    except ValueError as error:
        return repr(error)
    return "no error"


got, expected = error_of(torch.nn.RMSNorm(3)), "no error"
print(f"alone: {error_of()}; megatron-core {core.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
