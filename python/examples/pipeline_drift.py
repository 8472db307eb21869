"""A pipeline whose loss differs from the unsplit run's by the norm's order of summation alone.

    python python/examples/pipeline_drift.py [--steps 400] [--json]

Trains one small transformer-like network twice with each norm: unsplit in one process, and in two
pipeline stages in two processes (gloo). Stages run the same operations on the same values, so the
gradients of step 0 are equal bit for bit, and both runs clip by the norm of all gradients. torch's
norm of the pipeline is the usual one: each stage's norm, squared, summed over the stages. Prints
the first step whose norm differs, and the losses at the end."""

import argparse
import json
import os
import tempfile

import torch
import torch._dynamo  # optimizers import it in their first step, else in every child
import torch.distributed as dist
import zeroproof.torch as zt

WIDTH, LAYERS, BATCH, LIMIT = 48, 4, 16, 0.2


def layers():
    torch.manual_seed(1)
    return [
        torch.nn.Sequential(
            torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU()
        )
        for _ in range(LAYERS)
    ]


def batches(steps):
    generator = torch.Generator().manual_seed(2)
    target = torch.randn(WIDTH, WIDTH, generator=generator)
    for _ in range(steps):
        x = torch.randn(BATCH, WIDTH, generator=generator)
        yield x, torch.tanh(x @ target / 7)


def torchs(parameters, stages):
    """torch's norm; over stages, as PyTorch's and torchtitan's pipelines take it."""
    norm = torch.nn.utils.get_total_norm([p.grad for p in parameters])
    if stages > 1:
        norm = norm**2
        dist.all_reduce(norm)
        norm = norm**0.5
    torch.nn.utils.clip_grads_with_norm_(parameters, LIMIT, norm)
    return norm


def exact(parameters, stages):
    return zt.clip_grad_norm_(parameters, LIMIT, groups=zt.Groups() if stages > 1 else None)


def train(stage, stages, clip, steps):
    """[(norm, loss)] of each step; of a pipeline, on its last stage."""
    mine = layers()[stage * LAYERS // stages : (stage + 1) * LAYERS // stages]
    model = torch.nn.Sequential(*mine)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    found = []
    for x, y in batches(steps):
        optimizer.zero_grad()
        last, loss = stage == stages - 1, None
        if stage > 0:
            x = torch.empty(BATCH, WIDTH)
            dist.recv(x, stage - 1)
            x.requires_grad_()
        out = model(x)
        if last:
            loss = torch.nn.functional.mse_loss(out, y)
            loss.backward()
        else:
            dist.send(out.detach(), stage + 1)
            gradient = torch.empty_like(out)
            dist.recv(gradient, stage + 1)
            out.backward(gradient)
        if stage > 0:
            dist.send(x.grad, stage - 1)
        norm = clip(list(model.parameters()), stages)
        optimizer.step()
        found.append((norm.item().hex(), loss.item().hex() if last else None))
    return found


def pipeline(clip, steps, stages=2):
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for stage in range(stages):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    store = dist.FileStore(os.path.join(folder, "store"), stages)
                    dist.init_process_group("gloo", store=store, rank=stage, world_size=stages)
                    found = train(stage, stages, clip, steps)
                    with open(os.path.join(folder, f"{stage}.json"), "w", encoding="utf-8") as file:
                        json.dump(found, file)
                    dist.barrier()
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
        for child in children:
            if os.waitpid(child, 0)[1]:
                raise RuntimeError("a stage failed; its error is above")
        with open(os.path.join(folder, f"{stages - 1}.json"), encoding="utf-8") as file:
            return [tuple(row) for row in json.load(file)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=400, help="of training (400)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    result = {}
    for name, clip in (("torch", torchs), ("zeroproof", exact)):
        split, whole = pipeline(clip, options.steps), train(0, 1, clip, options.steps)
        pairs = list(zip(whole, split, strict=True))
        result[name] = {
            "norms differ first in step": next(
                (i for i, (a, b) in enumerate(pairs) if a[0] != b[0]), None
            ),
            "losses differ first in step": next(
                (i for i, (a, b) in enumerate(pairs) if a[1] != b[1]), None
            ),
            "steps with equal losses": sum(a[1] == b[1] for a, b in pairs),
            "steps": options.steps,
            "last loss, unsplit": float.fromhex(whole[-1][1]),
            "last loss, two stages": float.fromhex(split[-1][1]),
        }
    if options.json:
        print(json.dumps(result, indent=1))
        return
    print(f"{'':28} {'torch':>22} {'zeroproof':>22}")
    for row in result["torch"]:
        print(f"{row:28} {result['torch'][row]!s:>22} {result['zeroproof'][row]!s:>22}")


if __name__ == "__main__":
    main()
