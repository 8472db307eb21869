"""Gradient accumulation, a cosine schedule by torch, shuffled data, and a checkpoint of each epoch.

    torchrun --nproc-per-node 3 python/examples/accumulate.py --epochs 2 --checkpoint run
    torchrun --nproc-per-node 2 python/examples/accumulate.py --checkpoint run

A network learns what another one with random weights computes. The second command continues the
run of the first on another number of ranks. Prints learning rate and loss at the end of each epoch,
and a hash of all parameters: 1, 2, 3, 4, 6 and 12 ranks print the same, interrupted or not."""

import argparse
import hashlib
import os

import torch
import torch.distributed as dist
import zeroproof.torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

GLOBAL, SAMPLES, EPOCHS = 12, 16, 5  # micro-batches of a step, samples of one, epochs of a run
STEPS = 8  # of an epoch


def teacher_data():
    torch.manual_seed(1)
    x = torch.randn(STEPS * GLOBAL * SAMPLES, 12)
    teacher = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    with torch.no_grad():
        return TensorDataset(x, teacher(x))


def batches_of(data, epoch, rank, world):
    """This rank's micro-batches of an epoch. The list of all of them depends on the epoch alone.
    DistributedSampler would fill them with other samples on another number of ranks."""
    order = RandomSampler(data, generator=torch.Generator().manual_seed(epoch))
    all_of_them = list(BatchSampler(order, SAMPLES, drop_last=True))
    return DataLoader(data, batch_sampler=all_of_them[rank::world])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="end after this one")
    parser.add_argument("--checkpoint", metavar="FOLDER")
    options = parser.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)  # matrix products of several threads may add in another order
    data = teacher_data()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.Tanh(), torch.nn.Linear(32, 3))
    accumulate = GLOBAL // world
    engine = zeroproof.torch.Engine(
        model, dict(kind="sgd", lr=0.2, momentum=0.9), stage=1, micro_batches=accumulate
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(engine.optimizer, STEPS * EPOCHS)
    first = 0
    folder = options.checkpoint
    if folder and os.path.isdir(folder):
        engine.load(folder)
        first = engine.last.steps // STEPS
        schedule.load_state_dict(torch.load(f"{folder}.step-{engine.last.steps}.pt"))
    for epoch in range(first, options.epochs):
        for number, (x, y) in enumerate(batches_of(data, epoch, rank, world)):
            with engine.micro_batch():
                engine.backward(torch.nn.functional.mse_loss(model(x), y))
            if (number + 1) % accumulate == 0:
                state = engine.step()
                schedule.step()
        if rank == 0:
            rate = schedule.get_last_lr()[0]
            print(f"epoch {epoch} rate {rate:.5f} loss {state.loss:.5f} {state.loss.hex()}")
        if folder:
            if rank == 0:  # first the schedule's file: a checkpoint never lacks it
                torch.save(schedule.state_dict(), f"{folder}.step-{state.steps}.pt")
            engine.save(folder)
    bits = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
    if rank == 0:
        print("parameters", hashlib.sha256(bits).hexdigest()[:16])
    engine.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
