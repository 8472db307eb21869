"""One model, batch and cosine schedule, by DDP, FSDP2 and Engine. Each number of ranks is a run:

    for n in 1 2 3; do torchrun --nproc-per-node $n python/examples/compare.py --out losses; done
    python python/examples/draw_losses.py losses losses.svg    # needs matplotlib

Prints the last loss of each. A loss is the mean over the global batch, added up by fsum: it depends
on the number of ranks only if the parameters do."""

import argparse
import json
import math
import pathlib

import torch
import torch.distributed as dist
import zeroproof.torch
from torch.distributed.fsdp import fully_shard
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

GLOBAL, SAMPLES, STEPS = 6, 16, 100  # micro-batches of a step, samples of one, steps of a run


def micro_batch(step, number):
    """Micro-batch `number` of a step, whatever the number of ranks."""
    x = torch.randn(SAMPLES, 16, generator=torch.Generator().manual_seed(step * GLOBAL + number))
    return x, torch.stack([x[:, 0] * x[:, 1], x.square().mean(dim=1)], dim=1)


def by_engine(model, times):
    engine = zeroproof.torch.Engine(model, dict(lr=1e-2), micro_batches=times, clip=1.0)
    return model, lambda _: engine.micro_batch(), engine.backward, engine.step, engine.optimizer


def by_torch(model, times, sync):  # sync(yes): whether the next backward reduces gradients
    adamw = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def begin(mb):
        sync(mb == times - 1)
        return torch.enable_grad()

    def step():
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adamw.step()
        adamw.zero_grad()

    return model, begin, lambda loss: (loss / times).backward(), step, adamw


def by_ddp(model, times):
    model = DistributedDataParallel(model)
    return by_torch(model, times, lambda yes: setattr(model, "require_backward_grad_sync", yes))


def by_fsdp2(model, times):
    return by_torch(fully_shard(model), times, model.set_requires_gradient_sync)


def train(how, steps, rank, world):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2))
    model, begin, backward, end, optimizer = how(model, GLOBAL // world)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    losses = []
    for step in range(steps):
        mine, all_of_them = [], [None] * world
        for mb in range(GLOBAL // world):
            x, y = micro_batch(step, mb * world + rank)
            with begin(mb):
                loss = functional.mse_loss(model(x), y)
                backward(loss)
            mine.append(loss.item())
        end()
        schedule.step()
        dist.all_gather_object(all_of_them, mine)
        losses.append(math.fsum(sum(all_of_them, [])) / GLOBAL)
    return losses


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=STEPS, help="end after this one")
    parser.add_argument("--out", metavar="FOLDER", required=True)
    options = parser.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)  # matrix products of several threads may add in another order
    methods = {"DDP": by_ddp, "FSDP2": by_fsdp2, "Engine": by_engine}
    losses = {name: train(how, options.steps, rank, world) for name, how in methods.items()}
    if rank == 0:
        folder = pathlib.Path(options.out)
        folder.mkdir(exist_ok=True)
        (folder / f"{world}.json").write_text(json.dumps(losses))
        print(*(f"{name:6} {found[-1].hex()}" for name, found in losses.items()), sep="\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
