"""One rank of a DDP training on gloo, recorded: torch_program.py [KILLED]. The rank KILLED ends
itself by SIGKILL in step 3. Prints the hash of the parameters on rank 0."""

import hashlib
import os
import signal
import sys

import torch
import torch.distributed as dist
import zeroproof_trace
from torch_program_sizes import STEPS, WIDTH


def main():
    """Trains."""
    torch.manual_seed(0)
    recorder = zeroproof_trace.record("/tmp/trace")
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(WIDTH, WIDTH))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        zeroproof_trace.step(step)
        x = torch.randn(4, WIDTH, generator=torch.Generator().manual_seed(10 * step + rank))
        loss = model(x).square().mean()
        if len(sys.argv) > 1 and rank == int(sys.argv[1]) and step == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(loss.detach())
    if rank == 0:
        bits = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
        print("parameters", hashlib.sha256(bits).hexdigest(), flush=True)
    recorder.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
