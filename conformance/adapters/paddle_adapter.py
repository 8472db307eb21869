"""PaddlePaddle's DygraphShardingOptimizer (ZeRO 1) with ClipGradByGlobalNorm, on CPU with gloo: the
model and the optimizer are wrapped by paddle.distributed.fleet.

Level 1: Paddle has its own communication library, which the recorders do not see. step() reduces,
clips and updates in one call, so neither gradients nor the norm are returned.

Not covered: bf16 and fp16, which need Paddle's GPU kernels for its main gradients; several groups,
because the partition takes parameters only (dygraph_sharding_optimizer.py:290); parameters without
elements, which the partition refuses (:293); one rank, for which fleet does not shard; more than
two, because Paddle's gloo groups of three and four ranks often fail to connect
(topology.py:514)."""

import os
import socket
import time

import numpy
import paddle
from paddle.distributed import fleet
from torch_adapter import NO_PARALLELISM, ONE_STAGE, serve

HELLO = {
    "protocol": 1,
    "name": "PaddlePaddle sharding",
    "version": paddle.__version__,
    "returns": ["loss", "parameters", "masters", "moments1", "moments2"],
    "supports": {
        "zero": [1],
        "dp": [2],
        "micro_batches": [1, 2, 3, 4],
        "steps": [1, 2, 3, 4],
        "optimizer": ["sgd", "momentum", "adamw"],
        "clip": ["off", "loose", "binding"],
        "magnitude": ["plain", "huge", "minute"],
        "sizes": ["plain", "tiny", "odd", "large"],
        "unused": ["no", "some", "often"],
        "frozen": ["no", "yes"],
        "tied": ["no", "stage"],
        "rates": ["constant", "changing"],
        "start": ["same", "differ"],
        "reload": ["no", "same"],
    },
    "world": 2,
    "lacks": {
        "reload": {
            "zero": "it has ZeRO 1 alone",
            "dp": "it shards over two ranks alone, see the axis dp",
        },
        **ONE_STAGE,
        **NO_PARALLELISM,
        "zero": "fleet's first sharding optimizer is ZeRO 1; stage 2 asserts a GPU",
        "dp": "one rank is not sharded; gloo groups of more than two often fail to connect",
        "norm": "step() reduces, clips and updates in one call",
        "gradients": "step() reduces, clips and updates in one call",
        "precision": "16 bits need Paddle's GPU kernels for main gradients",
        "accumulate": "16 bits are not supported",
        "communicate": "16 bits are not supported",
        "dtypes": "16 bits are not supported",
        **{axis: "the training loop scales" for axis in ("scale", "overflow", "skipped")},
        "groups": "the partition takes parameters only (dygraph_sharding_optimizer.py:290)",
        "sizes": {"empty": "the partition refuses it (dygraph_sharding_optimizer.py:293)"},
        "bucket": "it reduces each gradient by itself",
        "unused": {"onesided": "it has no pipeline stages"},
        "frozen": {"tied": "a frozen tied parameter has no gradient, as any frozen one"},
        "backwards": "without a call that marks the last backward, it is a further micro-batch",
        "replicas": "of two ranks, each replica would be one, which fleet does not shard",
        "groups_vary": "it takes no groups, see the axis groups",
    },
}


def port(folder, rank):
    """The port of the store: rank 0 chooses a free one."""
    name = os.path.join(folder, "port")
    if rank == 0:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            chosen = free.getsockname()[1]
        with open(name + ".new", "w", encoding="utf-8") as file:
            file.write(str(chosen))
        os.rename(name + ".new", name)
        return chosen
    while not os.path.exists(name):
        time.sleep(0.01)
    with open(name, encoding="utf-8") as file:
        return int(file.read())


def start(me):
    """fleet with one sharding group of all ranks."""
    case, first = me.case, port(me.folder, me.rank)
    ends = [f"127.0.0.1:{first}"] + [f"127.0.0.1:{q}" for q in range(1, case["world"])]
    os.environ.update(
        PADDLE_TRAINER_ID=str(me.rank),
        PADDLE_TRAINERS_NUM=str(case["world"]),
        PADDLE_TRAINER_ENDPOINTS=",".join(ends),
        PADDLE_CURRENT_ENDPOINT=ends[me.rank],
        PADDLE_MASTER=ends[0],
        PADDLE_DISTRI_BACKEND="gloo",
    )
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {
        "dp_degree": 1,
        "mp_degree": 1,
        "pp_degree": 1,
        "sharding_degree": case["world"],
    }
    fleet.init(is_collective=True, strategy=strategy)


class Model(paddle.nn.Layer):
    """The loss of a micro-batch. Tied entries share a parameter."""

    def __init__(self, position):
        super().__init__()
        self.position, self.w = position, {}
        for j, entry in enumerate(position.case["parameters"]):
            if self.key(j) not in self.w:
                first = position.first(entry).numpy()
                w = self.create_parameter(
                    first.shape, default_initializer=paddle.nn.initializer.Assign(first)
                )
                w.stop_gradient = entry["frozen"]
                self.w[self.key(j)] = w
                self.add_parameter(self.key(j), w)

    def key(self, j):
        entry = self.position.case["parameters"][j]
        return entry["name"] if entry["tied"] is None else f"t{entry['tied']}"

    def forward(self, step, m):
        loss = paddle.zeros([1])
        loss.stop_gradient = False
        for j in range(len(self.position.case["parameters"])):
            x = self.position.row(step, m, j)
            if x is not None:
                loss = loss + (self.w[self.key(j)] * paddle.to_tensor(x.numpy())).sum()
        self.position.note(m, loss)
        return loss


def optimizer(case, model):
    group = case["groups"][0]
    shared = {
        "learning_rate": group["lr"],
        "parameters": [w for w in model.w.values() if not w.stop_gradient],
        "weight_decay": group["weight_decay"],
        "grad_clip": paddle.nn.ClipGradByGlobalNorm(case["clip"]["max_norm"])
        if case["clip"]
        else None,
    }
    if group["optimizer"] == "adamw":
        return paddle.optimizer.AdamW(
            beta1=group["betas"][0], beta2=group["betas"][1], epsilon=group["eps"], **shared
        )
    if group.get("momentum"):
        return paddle.optimizer.Momentum(momentum=group["momentum"], **shared)
    return paddle.optimizer.SGD(**shared)


MOMENTS = {"moments1": ("velocity", "moment1"), "moments2": ("moment2",)}


def moments(inner, names):
    """The moments that this rank's optimizer has."""
    return {
        field: {
            name: [[0, numbers(inner._accumulators[kind][w.name])]]
            for kind in kinds
            for name, w in names.items()
            if w.name in inner._accumulators[kind]
        }
        for field, kinds in MOMENTS.items()
    }


def numbers(w):
    return [float(x).hex() for x in w.numpy().astype(numpy.float64).flatten()]


def main(me):
    case = me.case
    start(me)
    model = Model(me.position)
    inner = optimizer(case, model)
    ddp, optim = fleet.distributed_model(model), fleet.distributed_optimizer(inner)
    if me.load:
        model.set_state_dict(paddle.load(os.path.join(me.load, "model.pdparams")))
        optim.set_state_dict(paddle.load(os.path.join(me.load, f"{me.rank}.pdopt")))
        me.steps[-1] = state(me, model, optim)
    for step in me.todo():
        me.begin(step)
        for m in range(case["micro_batches"]):
            (ddp(step, m) / case["micro_batches"]).backward()
        if "rates" in case:
            inner.set_lr(case["groups"][0]["lr"] * case["rates"][step])
        optim.step()
        optim.clear_grad()
        me.steps.append({"loss": me.position.noted(), **state(me, model, optim)})
    if me.save:  # each rank saves its part of the optimizer
        if me.rank == 0:
            paddle.save(model.state_dict(), os.path.join(me.save, "model.pdparams"))
        paddle.save(optim.state_dict(), os.path.join(me.save, f"{me.rank}.pdopt"))


def state(me, model, optim):
    """What the rank holds."""
    names = {e["name"]: model.w[model.key(j)] for j, e in enumerate(me.case["parameters"])}
    owner = optim._inner_opt._param2rank
    return {
        "parameters": {name: numbers(w) for name, w in names.items()},
        "masters": {
            name: [[0, numbers(w)]] for name, w in names.items() if owner.get(w.name) == me.rank
        },
        **moments(optim._inner_opt._inner_opt, names),
    }


if __name__ == "__main__":
    serve(HELLO, main)
