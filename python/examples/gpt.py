"""A small GPT in plain PyTorch, trained by ZeRO-2: matrices in bf16, layer norms in fp32.

    torchrun --nproc-per-node 3 python/examples/gpt.py

It learns to continue sequences of digits of which each is the sum of the two before it, modulo 10.
Prints the loss of some steps, and a hash of all parameters: 1, 2, 3 and 6 ranks print the same."""

import hashlib

import torch
import torch.distributed as dist
import zeroproof.torch
from torch import nn
from torch.nn import functional

GLOBAL, SEQUENCES, STEPS = 6, 8, 100  # micro-batches of a step, sequences of one, steps
LENGTH, WIDTH, HEADS, LAYERS = 12, 32, 4, 2


class Norm(nn.LayerNorm):
    """In fp32, of bf16 values."""

    def forward(self, x):
        return super().forward(x.float()).to(x.dtype)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = Norm(WIDTH), Norm(WIDTH)
        self.qkv, self.merge = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        heads = self.qkv(self.norm1(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.merge(mixed.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(10, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = Norm(WIDTH), nn.Linear(WIDTH, 10)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                module.to(torch.bfloat16)

    def forward(self, tokens):
        x = self.token(tokens) + self.position.weight
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).float()


def digits(step, number):
    """Micro-batch `number` of a step, whatever the number of ranks."""
    generator = torch.Generator().manual_seed(step * GLOBAL + number)
    made = list(torch.randint(10, (2, SEQUENCES), generator=generator))
    while len(made) <= LENGTH:
        made.append((made[-1] + made[-2]) % 10)
    return torch.stack(made, dim=1)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)  # matrix products of several threads may add in another order
    torch.manual_seed(0)
    model = GPT()
    engine = zeroproof.torch.Engine(
        model, dict(lr=1e-2, weight_decay=0.1), stage=2, micro_batches=GLOBAL // world, clip=1.0
    )
    for step in range(STEPS):
        for number in range(rank, GLOBAL, world):
            tokens = digits(step, number)
            with engine.micro_batch():
                scores = model(tokens[:, :-1])
                engine.backward(
                    functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
                )
        state = engine.step()
        if rank == 0 and step % 20 == 19:
            print(f"step {state.steps:3} loss {state.loss:.4f} {state.loss.hex()}")
    bits = b"".join(p.detach().view(torch.uint8).numpy().tobytes() for p in model.parameters())
    if rank == 0:
        print("parameters", hashlib.sha256(bits).hexdigest()[:16])
    engine.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
