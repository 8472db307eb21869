"""A checkpoint of 16-bit training does not have the fp32 masters.

Requirements: colossalai==0.5.0 torch==2.13.0. It saves and loads as LowLevelZeroPlugin does, and
prints the master weight."""

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
signal.alarm(100)  # ends the process after 100 s
torch.distributed.init_process_group("gloo", f"file://{store.name}", rank=0, world_size=1)
models = [torch.nn.Linear(1, 1, bias=False, dtype=torch.bfloat16) for _ in range(2)]
models[0].weight.data.fill_(1)
sgds = [torch.optim.SGD(model.parameters(), lr=1 / 1024) for model in models]
trained, loaded = map(colossalai.zero.LowLevelZeroOptimizer, sgds)
trained.backward(models[0].weight.sum())  # the gradient is 1
trained.step()
models[1].load_state_dict(models[0].state_dict())
loaded.update_master_params(models[1])
loaded.load_state_dict(trained.state_dict())
got, expected = (one.optim.param_groups[0]["params"][0].item() for one in (loaded, trained))
print("not reproduced:" if got == expected else "reproduced:", f"got {got}, expected {expected}")
sys.exit(3 if got == expected else 0)
