"""The interleaved schedule with overlapped p2p frees activations that are still being sent.

Requirements: megatron-core==0.16.1 torch==2.13.0. It prints sizes of sent tensors at wait()."""

import os
import signal
import sys
import tempfile
from types import SimpleNamespace

import megatron.core as core
import torch

torch.zeros = lambda *size, device, zeros=torch.zeros, **more: zeros(*size, **more)  # on the CPU
torch.cuda.current_device, sizes, isend = lambda: "cpu", [], torch.distributed.isend
torch.distributed.isend = lambda tensor, **to: (
    lambda work: SimpleNamespace(wait=lambda: (sizes.append(tensor.numel()), work.wait()))
)(isend(tensor, **to))
store = tempfile.NamedTemporaryFile()
rank = next((r for r in range(1, 2) if os.fork() == 0), 0)  # rank 1 is a fork of rank 0
signal.alarm(100)  # ends the process after 100 s
torch.distributed.init_process_group("gloo", f"file://{store.name}", rank=rank, world_size=2)
core.parallel_state.initialize_model_parallel(1, 2, 2, distributed_timeout_minutes=1)
args = {"pipeline_model_parallel_size": 2, "virtual_pipeline_model_parallel_size": 2}
args |= {"num_layers": 4, "hidden_size": 1, "num_attention_heads": 1, "overlap_p2p_comm": True}
args |= {"batch_p2p_comm": False, "deallocate_pipeline_outputs": True}
config = core.transformer.TransformerConfig(pipeline_dtype=torch.float32, **args)
chunks, first = [torch.nn.Linear(1, 1) for _ in range(2)], torch.ones(2, 1, 1)
for chunk in chunks:
    chunk.config, chunk.model_type = config, None
    chunk.set_input_tensor = lambda g, c=chunk: setattr(c, "x", first if g[0] is None else g[0])
call = {"model": chunks, "data_iterator": [None] * 2, "num_microbatches": 4, "seq_length": 2}
call["forward_step_func"] = lambda _, chunk: (chunk(chunk.x) * 1, lambda out: (out.sum(), {}))
core.pipeline_parallel.get_forward_backward_func()(micro_batch_size=1, **call)
if rank:
    os._exit(0)
got, expected = sizes, [2] * len(sizes)
print(f"megatron-core {core.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
