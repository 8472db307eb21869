"""Megatron: a later model chunk with bf16 and fp32 gradients raises an error when it reduces them.

Requirements: megatron-core==0.19.2 torch==2.13.0. It wraps a bf16 layer and an fp32 norm in
DistributedDataParallel as the first and as a later chunk of the interleaved schedule, and reduces
their gradients, on the CPU with gloo."""

import signal
import sys
from unittest import mock

import megatron.core as core
import torch
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig

signal.alarm(100)  # ends the process after 100 s
torch.cuda.current_device, torch.cuda.current_stream = lambda: "cpu", mock.Mock  # no GPU
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
core.parallel_state.initialize_model_parallel(create_gloo_process_groups=False)
config = core.transformer.TransformerConfig(num_layers=1, hidden_size=1, num_attention_heads=1)


def error_of(later, *layers, **options):
    settings = DistributedDataParallelConfig(**options)
    # training.py: bucketing is disabled for all chunks after the first
    model = DistributedDataParallel(config, settings, torch.nn.Sequential(*layers), later)
    try:
        model.finish_grad_sync()
    except RuntimeError as error:
        return repr(error)
    return "no error"


mixed, fp32 = [torch.nn.Linear(2, 1).bfloat16(), torch.nn.RMSNorm(3)], {"grad_reduce_in_fp32": True}
others = [error_of(False, *mixed), error_of(True, mixed[0]), error_of(True, *mixed, **fp32)]
got, expected = error_of(True, *mixed), "no error"
print(f"others: {others}; megatron-core {core.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
