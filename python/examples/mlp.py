"""A multilayer perceptron that separates two spirals, trained by ZeRO-2 in fp32.

    torchrun --nproc-per-node 3 python/examples/mlp.py

Prints the loss of some steps, and a hash of all parameters: 1, 2, 3 and 6 ranks print the same."""

import hashlib
import math

import torch
import torch.distributed as dist
import zeroproof.torch
from torch.nn import functional

GLOBAL, SAMPLES, STEPS = 6, 32, 100  # micro-batches of a step, samples of one, steps


def spirals(samples, generator):
    """Points on two spirals, and the number of each point's spiral."""
    label = torch.randint(2, (samples,), generator=generator)
    turn = torch.rand(samples, generator=generator) * 2 * math.pi
    angle = turn + math.pi * label
    points = torch.stack([angle.cos(), angle.sin()], dim=1) * (0.5 + turn).unsqueeze(1) / 3
    return points + 0.05 * torch.randn(samples, 2, generator=generator), label


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)  # matrix products of several threads may add in another order
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 64),
        torch.nn.GELU(),
        torch.nn.Linear(64, 64),
        torch.nn.GELU(),
        torch.nn.Linear(64, 2),
    )
    engine = zeroproof.torch.Engine(
        model, dict(lr=5e-3, weight_decay=0.01), stage=2, micro_batches=GLOBAL // world, clip=1.0
    )
    for step in range(STEPS):
        # Micro-batch mb of rank r is number mb * world + r of the global batch. Its data depend on
        # its number alone, not on the number of ranks.
        for number in range(rank, GLOBAL, world):
            generator = torch.Generator().manual_seed(step * GLOBAL + number)
            points, label = spirals(SAMPLES, generator)
            with engine.micro_batch():
                engine.backward(functional.cross_entropy(model(points), label))
        state = engine.step()
        if rank == 0 and step % 20 == 19:
            print(f"step {state.steps:3} loss {state.loss:.4f} {state.loss.hex()}")
    bits = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
    if rank == 0:
        print("parameters", hashlib.sha256(bits).hexdigest()[:16])
    engine.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
