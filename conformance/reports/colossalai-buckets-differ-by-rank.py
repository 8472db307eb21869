"""LowLevelZero adds gradients of different parameters if the ranks use different parameters.

Requirements: colossalai==0.5.0 torch==2.13.0. It runs two ranks and prints their two weights."""

import os
import signal
import sys
import tempfile
from unittest.mock import MagicMock

import torch

absent = "bitsandbytes bitsandbytes.optim bitsandbytes.optim.optimizer galore_torch"
absent += " peft peft.utils peft.utils.other peft.utils.save_and_load"  # other parts use these
for name in absent.split():
    sys.modules[name] = MagicMock(Optimizer2State=object)
import colossalai.zero
from colossalai.accelerator import cpu_accelerator, set_accelerator

cpu = cpu_accelerator.CpuAccelerator()
cpu._name = "cuda"  # LowLevelZero expects it
cpu.Stream = cpu.stream = cpu.current_stream = cpu.synchronize = MagicMock()
set_accelerator(cpu)
store = tempfile.NamedTemporaryFile()
rank = next((r for r in range(1, 2) if os.fork() == 0), 0)  # rank 1 is a fork of rank 0
signal.alarm(100)  # ends the process after 100 s
torch.distributed.init_process_group("gloo", f"file://{store.name}", rank=rank, world_size=2)
model = torch.nn.ModuleList(torch.nn.Linear(1, 1, bias=False) for _ in range(2))
for w in model.parameters():
    torch.nn.init.ones_(w)
sgd = torch.optim.SGD(model.parameters(), lr=1.0)
optimizer = colossalai.zero.LowLevelZeroOptimizer(sgd)
optimizer.backward(model[rank].weight.sum() * (2.0 if rank == 0 else 6.0))  # rank r uses weight r
optimizer.step()
got, expected = [w.item() for w in model.parameters()], [1 - 2.0 / 2, 1 - 6.0 / 2]  # the mean
if rank:
    os._exit(0)
print(f"colossalai {colossalai.__version__}, torch {torch.__version__}")
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
