"""The interleaved schedule hangs with variable_seq_lengths if p2p is not overlapped.

Requirements: megatron-core==0.19.2 torch==2.13.0. It runs 3 ranks and prints how rank 0 ends."""

import os
import signal
import sys
import tempfile

import megatron.core as core
import torch

torch.zeros = lambda *size, device, zeros=torch.zeros, **more: zeros(*size, **more)  # on the CPU
torch.cuda.current_device, torch.cuda.synchronize = lambda: "cpu", lambda: None
store = tempfile.NamedTemporaryFile()
rank = next((r for r in range(1, 3) if os.fork() == 0), 0)  # ranks 1 and 2 are forks of rank 0
signal.alarm(100)  # ends the process after 100 s
torch.distributed.init_process_group("gloo", f"file://{store.name}", rank=rank, world_size=3)
core.parallel_state.initialize_model_parallel(1, 3, 2, distributed_timeout_minutes=0.3)
args = {"pipeline_model_parallel_size": 3, "virtual_pipeline_model_parallel_size": 2}
args |= {"num_layers": 6, "hidden_size": 1, "num_attention_heads": 1, "variable_seq_lengths": True}
args |= {"moe_token_dispatcher_type": "alltoall", "microbatch_group_size_per_vp_stage": 4}
config = core.transformer.TransformerConfig(pipeline_dtype=torch.float32, **args)
chunks, first = [torch.nn.Linear(1, 1) for _ in range(2)], torch.ones(2, 1, 1)
for chunk in chunks:
    chunk.config, chunk.model_type = config, None
    chunk.set_input_tensor = lambda g, c=chunk: setattr(c, "x", first if g[0] is None else g[0])
call = {"model": chunks, "data_iterator": [None] * 2, "num_microbatches": 4, "seq_length": 2}
call["forward_step_func"] = lambda _, chunk: (chunk(chunk.x), lambda out: (out.sum(), {}))
got = expected = "no hang"
try:
    core.pipeline_parallel.get_forward_backward_func()(micro_batch_size=1, **call)
except RuntimeError as error:  # a time-out of a rank
    got = "hang" if "gloo" in str(error) else str(error)
if rank:
    os._exit(0)
print(f"megatron-core {core.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
