"""Trains under torchrun, saves each step and loads what was saved, as after a restart by torchrun's
elastic agent: restart_rank.py FOLDER [DIES]. In its first life the last rank dies in step DIES."""

import hashlib
import os
import signal
import sys

import torch
import torch.distributed as dist
import zeroproof.torch as zt

folder, dies = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else -1
life = os.environ["TORCHELASTIC_RESTART_COUNT"]
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
# PyTorch 2.13's init_process_group("gloo") may find the addresses of the life before in this store
store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
dist.init_process_group(
    "gloo", store=dist.PrefixStore(f"life {life}", store), rank=rank, world_size=world
)
torch.set_num_threads(1)
torch.manual_seed(0)
engine = zt.Engine(torch.nn.Linear(4, 4), dict(lr=0.1), timeout_s=1000.0)
checkpoint = os.path.join(folder, "checkpoint")
if os.path.isdir(checkpoint):
    engine.load(checkpoint)
first = engine.last.steps if engine.last else 0
for step in range(first, 5):
    data = torch.randn(world, 8, 4, generator=torch.Generator().manual_seed(step))
    with engine.micro_batch():
        engine.backward(engine.model(data[rank]).square().mean())
        if step == dies and rank == world - 1 and life == "0":
            os.kill(os.getpid(), signal.SIGKILL)
    engine.step()
    engine.save(checkpoint)
if rank == 0:
    values = b"".join(p.detach().numpy().tobytes() for p in engine.model.parameters())
    print(f"from step {first}: {hashlib.sha256(values).hexdigest()}")
engine.close()
dist.destroy_process_group()
