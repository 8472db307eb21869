"""An adapter for the tests: data parallelism by hand. FAULT in the environment breaks it."""

import os

import torch
import torch.distributed as dist
import zeroproof
from zeroproof.adapter import Linear, optimizer_of

FAULT = os.environ.get("FAULT", "")


@zeroproof.adapter(
    name="data parallelism by hand",
    version="1",
    supports={
        "zero": [0],
        "dp": [1, 2],
        "micro_batches": [1, 2],
        "steps": [1, 2],
        "optimizer": ["sgd"],
        "clip": ["off", "binding"],
    },
    lacks="an example",
)
def train(me):
    me.environment()
    model = Linear(me.position)
    optimizer = optimizer_of(me.case, model.groups())
    batches = me.case["micro_batches"]
    for step in me.todo():
        me.begin(step)
        optimizer.zero_grad(set_to_none=False)
        for m in range(batches):
            (model(step, m) / batches / me.case["topology"]["dp"]).backward()
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad.clone() if FAULT == "lost" else p.grad)
        clip = me.case["clip"]["max_norm"] if me.case["clip"] else 1e30
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        if FAULT == "error":
            raise ValueError("on purpose")
        optimizer.step()
        me.steps.append({"norm": float(norm).hex(), "parameters": model.parameters_by_name()})
