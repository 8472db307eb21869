"""Time of a training step by zeroproof.torch.Engine beside DDP with ZeroRedundancyOptimizer, FSDP2
and DeepSpeed ZeRO-2, on the CPU, in one run: a GPT in fp32, AdamW, clipping. The peers' optimizer
is PyTorch's fused AdamW.

    torchrun --nproc-per-node 2 tests/bench/bench_engine.py [--help]

Each round takes one step of each contender, in an order that rotates; between two steps all ranks
meet. Printed: the median seconds and processor seconds (of rank 0) of a step, and the median over
rounds of the ratio to the peer that has the smallest median."""

import argparse
import contextlib
import os
import statistics
import time

import torch
import torch.distributed as dist
import zeroproof.torch
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

VOCABULARY = 8192
RATE, CLIP = 1e-3, 1.0


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.heads = width // 64
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            y.view(b, t, self.heads, c // self.heads).transpose(1, 2)
            for y in self.qkv(self.norms[0](x)).chunk(3, -1)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(functional.gelu(self.up(self.norms[1](x))))


class Gpt(torch.nn.Module):
    def __init__(self, layers, width):
        super().__init__()
        torch.manual_seed(0)
        self.embed = torch.nn.Embedding(VOCABULARY, width)
        self.blocks = torch.nn.Sequential(*(Block(width) for _ in range(layers)))
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.norm(self.blocks(self.embed(tokens)))
        logits = x[:, :-1] @ self.embed.weight.T
        return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def engine(model, reduce, stage=2):
    made = zeroproof.torch.Engine(
        model,
        {"lr": RATE},
        stage=stage,
        reduce=reduce,
        clip=CLIP,
        micro_batches=options.micro_batches,
        bucket=options.bucket,
    )

    def step(batches):
        for tokens in batches:
            with made.micro_batch():
                made.backward(model(tokens))
        made.step()

    return step


def ddp(model):
    wrapped = DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), torch.optim.AdamW, lr=RATE, weight_decay=0.01, fused=True
    )

    def step(batches):
        optimizer.zero_grad()
        for number, tokens in enumerate(batches):
            last = number == len(batches) - 1
            with contextlib.nullcontext() if last else wrapped.no_sync():
                (wrapped(tokens) / len(batches)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()

    return step


def fsdp(model):
    for block in model.blocks:
        fully_shard(block, reshard_after_forward=False)  # ZeRO-2
    fully_shard(model, reshard_after_forward=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01, fused=True)

    def step(batches):
        optimizer.zero_grad()
        for number, tokens in enumerate(batches):
            model.set_requires_gradient_sync(number == len(batches) - 1)
            (model(tokens) / len(batches)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()

    return step


def deepspeed_zero2(model):
    import deepspeed

    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01, fused=True)
    settings = {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": options.micro_batches,
        "gradient_clipping": CLIP,
        "zero_optimization": {"stage": 2},
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
    }
    wrapped, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=settings)

    def step(batches):
        for tokens in batches:
            wrapped.backward(wrapped(tokens))
            wrapped.step()

    return step


PEERS = {"DDP + ZeroRedundancyOptimizer": ddp, "FSDP2": fsdp, "DeepSpeed ZeRO-2": deepspeed_zero2}
OURS = {
    "Engine, ordered": lambda model: engine(model, "ordered"),
    "Engine, exact": lambda model: engine(model, "exact"),
}


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    contenders = {}
    for name, make in {**OURS, **PEERS}.items():
        try:
            contenders[name] = make(Gpt(options.layers, options.width))
        except ImportError as error:
            if rank == 0:
                print(f"{name}: not run: {error}")
    size = sum(p.numel() for p in Gpt(options.layers, options.width).parameters())
    seconds = {name: [] for name in contenders}
    processor = {name: [] for name in contenders}
    for number in range(-1, options.rounds):
        made = torch.Generator().manual_seed(10 * number + rank + 10)
        batches = torch.randint(
            VOCABULARY, (options.micro_batches, 1, options.tokens), generator=made
        )
        names = list(contenders)
        for at in range(len(names)):
            name = names[(at + number) % len(names)]
            dist.barrier()
            began, used = time.perf_counter(), time.process_time()
            contenders[name](batches)
            dist.barrier()
            if number >= 0:  # the first one warms up
                seconds[name].append(time.perf_counter() - began)
                processor[name].append(time.process_time() - used)
    if rank == 0:
        best = min((n for n in seconds if n in PEERS), key=lambda n: statistics.median(seconds[n]))
        print(
            f"{size / 1e6:.1f} M parameters, {dist.get_world_size()} ranks, "
            f"{options.micro_batches} micro-batches of {options.tokens} tokens, "
            f"PyTorch {torch.__version__}"
        )
        for name, found in seconds.items():
            ratio = statistics.median(a / b for a, b in zip(found, seconds[best], strict=True))
            print(
                f"{name:32} {statistics.median(found):7.3f} s  {ratio:5.2f} x {best}, "
                f"processor {statistics.median(processor[name]):7.3f} s"
            )
    dist.barrier()
    os._exit(0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--micro-batches", type=int, default=1)
    parser.add_argument("--bucket", type=int, default=1 << 24)
    options = parser.parse_args()
    main()
