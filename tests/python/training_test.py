"""The two scripts of python/TRAINING.md run: the one with the engine writes the same weights, bit
by bit, on 1, 2 and 3 ranks, which are near those of AdamW in one process.

    python training_test.py python/TRAINING.md"""

import contextlib
import re
import sys
import tempfile

import engine_test
import torch
import torch._dynamo  # noqa: F401  (torch.optim imports it, or every child would)
import torch.distributed as dist
import zeroproof.torch  # noqa: F401  (the scripts use it)
from engine_test import check, on_ranks
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    TensorDataset,
    default_collate,
)


class Model(torch.nn.Sequential):
    def __init__(self):
        torch.manual_seed(0)
        super().__init__(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))


def scripts(path):
    """The pages' code blocks, by the name in their first line."""
    with open(path) as page:
        blocks = re.findall(r"```python\n(# (\w+\.py)\n.*?)```", page.read(), re.DOTALL)
    return {name: text for text, name in blocks}


def names_of(world):
    """What the scripts leave out."""
    made = torch.Generator().manual_seed(5)
    return {
        "dist": dist,
        "contextlib": contextlib,
        "torch": torch,
        "zeroproof": zeroproof,
        "DistributedDataParallel": DistributedDataParallel,
        "BatchSampler": BatchSampler,
        "DataLoader": DataLoader,
        "DistributedSampler": DistributedSampler,
        "RandomSampler": RandomSampler,
        "Model": Model,
        "M": 6 // world,
        "data": TensorDataset(
            torch.randn(400, 8, generator=made), torch.randn(400, 3, generator=made)
        ),
        "loss_of": torch.nn.functional.mse_loss,
    }


def run(rank, world, script, folder):
    names = names_of(world)
    if world == 1:  # on_ranks() has, of several
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    dist.init_process_group = lambda backend: None
    dist.destroy_process_group = dist.barrier
    script = script.replace('"model.pt"', f'"{folder}/model.pt"')
    exec(compile(script, "TRAINING.md", "exec"), names)
    found = torch.load(f"{folder}/model.pt")
    return {name: x.tolist() for name, x in found.items()}


def alone():
    """The same batches by torch.optim.AdamW, in one process."""
    names = names_of(1)
    torch.set_num_threads(1)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
    sampler = RandomSampler(names["data"], generator=torch.Generator().manual_seed(0))
    batches = list(BatchSampler(sampler, 8, drop_last=True))
    for first in range(0, len(batches) // 6 * 6, 6):
        optimizer.zero_grad()
        for batch in batches[first : first + 6]:
            x, y = default_collate([names["data"][i] for i in batch])
            (torch.nn.functional.mse_loss(model(x), y) / 6).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return {name: x.clone() for name, x in model.state_dict().items()}


if __name__ == "__main__":
    found = scripts(sys.argv[1])
    check("the page has two scripts", set(found) == {"ddp.py", "engine.py"}, list(found))
    weights = {}
    for name, script in found.items():
        for world in (2, 3, 1) if name == "engine.py" else (2, 3):
            with tempfile.TemporaryDirectory() as folder:
                wrote = on_ranks(world, run, script, folder)
                check(f"{name} on {world} ranks", wrote == [wrote[0]] * world, wrote)
                weights[name, world] = wrote[0]
    one, two, three = (weights["engine.py", world] for world in (1, 2, 3))
    check("the engine's weights have the same bits", isinstance(two, dict) and one == two == three)
    first = {name: x.tolist() for name, x in Model().state_dict().items()}
    check("they were trained", two != first)
    adamw = alone()
    apart = max(float((adamw[name] - torch.tensor(x)).abs().max()) for name, x in two.items())
    moved = max(float((adamw[name] - torch.tensor(x)).abs().max()) for name, x in first.items())
    check("they are those of AdamW on these batches", apart < 1e-6 and moved > 1e-3, (apart, moved))
    sys.exit(engine_test.failed > 0)
