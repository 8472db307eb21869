"""Time of a training step by zeroproof.torch.Engine beside other ways, in one run: a GPT, AdamW,
clipping. On the CPU: DDP with ZeroRedundancyOptimizer, FSDP2 and DeepSpeed ZeRO-2, in fp32. On a
GPU (--device cuda, one rank; ZEROPROOF_CUDA_ENGINE): FSDP2, and a model alone with PyTorch's fused
AdamW, under autocast to bf16. The peers' optimizer is PyTorch's fused AdamW.

    torchrun --nproc-per-node 2 tests/bench/bench_engine.py [--help]
    python tests/bench/bench_engine.py --device cuda --layers 12 --width 768 --vocabulary 50304 \
        --tokens 1024 --micro-batches 4 --trace step.json      # GPT-2 124M

Each round takes one step of each contender, in an order that rotates; between two steps all ranks
meet. Printed: the median seconds and processor seconds (of rank 0) of a step, and the median over
rounds of the ratio to the peer that has the smallest median."""

import argparse
import contextlib
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import zeroproof.torch
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

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
        self.embed = torch.nn.Embedding(options.vocabulary, width)
        self.blocks = torch.nn.Sequential(*(Block(width) for _ in range(layers)))
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.norm(self.blocks(self.embed(tokens)))
        logits = x[:, :-1] @ self.embed.weight.T
        return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def loss_of(model, tokens):
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=options.device == "cuda"):
        return model(tokens)


def engine(model, reduce, stage=2):
    made = zeroproof.torch.Engine(
        model,
        {"lr": RATE},
        stage=stage,
        reduce=reduce,
        clip=CLIP,
        micro_batches=options.micro_batches,
        bucket=options.bucket,
        engine="cuda" if options.device == "cuda" else "ref",
    )

    def step(batches):
        for tokens in batches:
            with made.micro_batch():
                made.backward(loss_of(model, tokens))
        made.step()

    return step


def accumulated(model, forward, optimizer, context):
    """A step by PyTorch's functions. context(last): of a micro-batch's forward and backward."""

    def step(batches):
        optimizer.zero_grad()
        for number, tokens in enumerate(batches):
            with context(number == len(batches) - 1):
                (loss_of(forward, tokens) / len(batches)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()

    return step


def fused(model):
    return torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01, fused=True)


def ddp(model):
    wrapped = DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), torch.optim.AdamW, lr=RATE, weight_decay=0.01, fused=True
    )

    def context(last):
        return contextlib.nullcontext() if last else wrapped.no_sync()

    return accumulated(model, wrapped, optimizer, context)


def fsdp(model):
    for block in model.blocks:
        fully_shard(block, reshard_after_forward=False)  # ZeRO-2
    fully_shard(model, reshard_after_forward=False)

    def context(last):
        model.set_requires_gradient_sync(last)
        return contextlib.nullcontext()

    return accumulated(model, model, fused(model), context)


def alone(model):
    return accumulated(model, model, fused(model), contextlib.nullcontext)


def deepspeed_zero2(model):
    import deepspeed

    settings = {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": options.micro_batches,
        "gradient_clipping": CLIP,
        "zero_optimization": {"stage": 2},
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
    }
    wrapped, *_ = deepspeed.initialize(model=model, optimizer=fused(model), config=settings)

    def step(batches):
        for tokens in batches:
            wrapped.backward(wrapped(tokens))
            wrapped.step()

    return step


PEERS = {"DDP + ZeroRedundancyOptimizer": ddp, "FSDP2": fsdp, "DeepSpeed ZeRO-2": deepspeed_zero2}
ON_GPU = {"PyTorch's fused AdamW": alone, "FSDP2": fsdp}
OURS = {
    "Engine, native": lambda model: engine(model, "native"),
    "Engine, exact": lambda model: engine(model, "exact"),
}


def join():
    torch.set_num_threads(1)
    if options.device == "cuda":
        torch.cuda.set_device(0)
    backend = "nccl" if options.device == "cuda" else "gloo"
    if "RANK" in os.environ:
        dist.init_process_group(backend)
    else:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)


def waited():
    """All ranks, and what their devices do."""
    if options.device == "cuda":
        torch.cuda.synchronize()
    dist.barrier()


def contenders_of(peers):
    found = {}
    for name, make in {**OURS, **peers}.items():
        try:
            found[name] = make(Gpt(options.layers, options.width).to(options.device))
        except ImportError as error:
            if dist.get_rank() == 0:
                print(f"{name}: not run: {error}")
    return found


def batches_of(number):
    made = torch.Generator().manual_seed(10 * number + dist.get_rank() + 10)
    shape = (options.micro_batches, 1, options.tokens)
    return torch.randint(options.vocabulary, shape, generator=made).to(options.device)


def measure(contenders):
    """Seconds and processor seconds of each step, by contender."""
    seconds, processor = {name: [] for name in contenders}, {name: [] for name in contenders}
    for number in range(-1, options.rounds):
        batches, names = batches_of(number), list(contenders)
        for at in range(len(names)):
            name = names[(at + number) % len(names)]
            waited()
            began, used = time.perf_counter(), time.process_time()
            contenders[name](batches)
            waited()
            if number >= 0:  # the first one warms up
                seconds[name].append(time.perf_counter() - began)
                processor[name].append(time.process_time() - used)
    return seconds, processor


def report(peers, seconds, processor):
    best = min((n for n in seconds if n in peers), key=lambda n: statistics.median(seconds[n]))
    size = sum(p.numel() for p in Gpt(options.layers, options.width).parameters())
    job = (
        f"{size / 1e6:.1f} M parameters, {dist.get_world_size()} ranks, {options.micro_batches} "
        f"micro-batches of {options.tokens} tokens, {options.device}, PyTorch {torch.__version__}"
    )
    if not options.json:
        print(job)
    for name, found in seconds.items():
        ratio = statistics.median(a / b for a, b in zip(found, seconds[best], strict=True))
        one, used = statistics.median(found), statistics.median(processor[name])
        if options.json:
            line = {"contender": name, "seconds": one, "processor": used, "ratio": ratio}
            print(json.dumps({**line, "to": best, "job": job}))
        else:
            print(f"{name:32} {one:7.3f} s  {ratio:5.2f} x {best}, processor {used:7.3f} s")


def main():
    join()
    peers = ON_GPU if options.device == "cuda" else PEERS
    contenders = contenders_of(peers)
    measured = measure(contenders)
    if dist.get_rank() == 0:
        report(peers, *measured)
    if options.trace:
        with torch.profiler.profile() as profile:
            contenders["Engine, native"](batches_of(0))
            waited()
        profile.export_chrome_trace(options.trace)
    sys.stdout.flush()
    dist.barrier()
    os._exit(0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=512, help="a multiple of 64")
    parser.add_argument("--vocabulary", type=int, default=8192)
    parser.add_argument("--tokens", type=int, default=128, help="of a micro-batch")
    parser.add_argument("--micro-batches", type=int, default=1, help="of a step and rank")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--bucket", type=int, default=1 << 24, help="elements of a bucket")
    parser.add_argument("--json", action="store_true", help="a JSON line a contender")
    parser.add_argument("--trace", metavar="FILE", help="a profiler's trace of one step of Engine")
    options = parser.parse_args()
    main()
