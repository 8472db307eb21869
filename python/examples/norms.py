"""The norm of one gradient set on 1 to 8 ranks, by PyTorch, DeepSpeed, Megatron-Core, zeroproof.

    python python/examples/norms.py torch|deepspeed|megatron|zeroproof ...

Each needs its package. The gradients are 10,007 normal numbers, in 6 tensors; R ranks hold R parts
of each tensor, as ZeRO and FSDP shard them. Prints, for each, the bits of the fp32 norm on each
number of ranks; a correctly rounded norm has one value."""

import json
import os
import struct
import sys
import tempfile
import traceback

import torch
import torch.distributed as dist

SIZES = (4001, 3000, 2003, 900, 100, 3)
WORLDS = (1, 2, 3, 4, 5, 6, 7, 8)


def gradients():
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(n, generator=generator) for n in SIZES]


def by_torch(parts):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    shards = [
        DTensor.from_local(
            part, mesh, [Shard(0)], run_check=False, shape=torch.Size([size]), stride=(1,)
        )
        for part, size in zip(parts, SIZES, strict=True)
    ]
    return torch.nn.utils.get_total_norm(shards).full_tensor()


def by_deepspeed(parts):
    from deepspeed import comm
    from deepspeed.runtime.utils import get_global_norm_of_tensors

    comm.init_distributed("gloo", verbose=False)
    return get_global_norm_of_tensors(parts, moe_ep_group=dist.group.WORLD)


def by_megatron(parts):
    # Megatron expects a GPU: the suite's adapters replace "cuda" by the CPU, and nothing else
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.path.join(here, "..", "..", "conformance", "adapters"))
    from cuda_on_cpu import OnCpu
    from megatron.core.optimizer.clip_grads import get_grad_norm_fp32

    with OnCpu():
        return get_grad_norm_fp32(parts, grad_stats_parallel_group=dist.group.WORLD)


def by_zeroproof(parts):
    import zeroproof.torch as zt

    parameters = [torch.nn.Parameter(torch.zeros_like(part)) for part in parts]
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.grad = part
    return zt.grad_norm(parameters, groups=zt.Groups())


HOW = {
    "torch": by_torch,
    "deepspeed": by_deepspeed,
    "megatron": by_megatron,
    "zeroproof": by_zeroproof,
}


def on(world, how):
    """The norm's bits on each of `world` ranks."""
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for rank in range(world):
            child = os.fork()
            if child == 0:
                try:
                    os.dup2(2, 1)  # what libraries print
                    store = dist.FileStore(os.path.join(folder, "store"), world)
                    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
                    parts = [
                        (list(torch.chunk(g, world)) + [g[:0]] * world)[rank].clone()
                        for g in gradients()
                    ]
                    norm = struct.pack(">f", float(HOW[how](parts))).hex()
                    with open(os.path.join(folder, str(rank)), "w", encoding="utf-8") as file:
                        file.write(norm)
                    dist.barrier()
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        found = []
        for rank in range(world):
            name = os.path.join(folder, str(rank))
            found.append(open(name, encoding="utf-8").read() if os.path.exists(name) else "failed")
        return found


def main():
    if not sys.argv[1:] or set(sys.argv[1:]) - set(HOW):
        sys.exit(f"usage: norms.py {'|'.join(HOW)} ...")
    os.environ.update(GLOO_SOCKET_IFNAME="lo", DS_ACCELERATOR="cpu")
    torch.set_num_threads(1)
    for how in sys.argv[1:]:
        bits = {world: sorted(set(on(world, how))) for world in WORLDS}
        print(json.dumps({how: {str(world): " ".join(found) for world, found in bits.items()}}))


main()
