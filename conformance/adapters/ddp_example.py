"""An adapter for plain PyTorch DDP on CPU with gloo, written from ADAPTER.md alone. DDP is
unchanged: its reducer runs in C++, and the recording process group writes down the collectives that
it issues. ranks.py forks the ranks and finds the one that failed first."""

import json
import os
import sys

import ranks

os.environ.update(OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
sys.path.append(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "../recorder")
)  # or pip install it
# _dynamo: otherwise DDP imports it in every child
import torch  # noqa: E402
import torch._dynamo  # noqa: E402
import torch.distributed as dist  # noqa: E402
import zeroproof_group  # noqa: E402

HELLO = {
    "protocol": 1,
    "name": "PyTorch DDP example",
    "version": torch.__version__,
    "level": 2,
    "returns": ["norm", "parameters", "ledger"],
    "supports": {
        "zero": [0],
        "dp": [1, 2, 3, 4],
        "micro_batches": [1, 2, 3],
        "steps": [1, 2, 3],
        "optimizer": ["sgd", "momentum"],
        "groups": [1, 2, 3],
        "bucket": ["large", "small"],
        "sizes": ["plain", "tiny", "odd", "large"],
        "clip": ["off", "loose", "binding"],
        "frozen": ["no", "yes"],
        "tied": ["no", "stage"],
    },
    "lacks": {"*": "a short example; ddp_adapter.py has more"},
}


class Model(torch.nn.Module):
    def __init__(self, case):
        super().__init__()
        self.keys = [
            e["name"] if e["tied"] is None else f"t{e['tied']}" for e in case["parameters"]
        ]
        self.w = torch.nn.ParameterDict(
            {
                key: torch.nn.Parameter(
                    torch.tensor(e["first"][0]) * 2.0 ** case["log2_first"],
                    requires_grad=not e["frozen"],
                )
                for key, e in zip(self.keys, case["parameters"], strict=True)
            }
        )

    def forward(self, rows, unit):
        return sum(
            (self.w[k] * torch.tensor(r[0]).mul(unit)).sum()
            for k, r in zip(self.keys, rows, strict=True)
            if r
        )


def rank_main(case, me):
    world, M = case["world"], case["micro_batches"]
    zeroproof_group.register(me.write)  # the backend "zeroproof": gloo, recorded
    dist.init_process_group(
        "zeroproof", init_method=f"file://{me.folder}/store", rank=me.rank, world_size=world
    )
    ddp = torch.nn.parallel.DistributedDataParallel(
        model := Model(case), bucket_cap_mb=case["bucket"] * 4 / 2**20
    )
    groups = [
        {
            **g,
            "params": list(
                {
                    k: model.w[k]
                    for k, e in zip(model.keys, case["parameters"], strict=True)
                    if e["group"] == i and not e["frozen"]
                }.values()
            ),
        }
        for i, g in enumerate(case["groups"])
    ]
    optimizer = torch.optim.SGD([g for g in groups if g["params"]])
    for s in range(case["steps"]):
        me.begin(s)
        for m in range(M):
            ddp.require_backward_grad_sync = m == M - 1
            (ddp(case["data"][s][m * world + me.rank], 2.0 ** case["log2_unit"]) / M).backward()
        norm = torch.nn.utils.clip_grad_norm_(
            model.parameters(), case["clip"]["max_norm"] if case["clip"] else 1e30
        )
        optimizer.step(), optimizer.zero_grad()
        me.steps.append(
            {
                "norm": norm.item().hex(),
                "parameters": {
                    e["name"]: [x.hex() for x in model.w[k].tolist()]
                    for k, e in zip(model.keys, case["parameters"], strict=True)
                },
            }
        )


def run(case, folder):
    return ranks.run(
        lambda rank: ranks.Rank(rank, folder),
        lambda me: rank_main(case, me),
        case["world"],
        folder,
        ranks.lost_by_gloo,
    )


if sys.argv[1:]:
    sys.exit(f"unknown argument {sys.argv[1]}")
for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "bye":
        break
    print(
        json.dumps(HELLO if request["do"] == "hello" else run(request["case"], request["ledgers"])),
        flush=True,
    )
