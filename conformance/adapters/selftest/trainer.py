"""Adapters that the suite must see through, and one that is honest: the suite's own test.

usage: trainer.py LIE. One process computes what every rank would hold, by plain sums, and writes
the ledgers that it claims. LIE is "honest", a way to cheat, or a historic kind of bug:"""
import json
import os
import sys
from fractions import Fraction
from math import inf, isfinite, sqrt

import streams

LIES = {
    "honest": "the right answer, with ledgers that fit it",
    "null": "answers nothing",
    "nothing": "supports nothing",
    "silent": "supports everything, returns nothing",
    "echo": "returns its inputs",
    "empty": "every rank and step is there, but only a norm in it that was not made",
    "refuses": "supports everything, and refuses all cases but the first",
    "tacit": "the right answer, with null for all that may be null",
    "unrecorded": "serial answer, of level 2, and hands no ledger over",
    "no-ledger": "serial answer, and says that it hands ledgers over, but there is none",
    "empty-ledger": "serial answer, no ledger at all",
    "constant-ledger": "serial answer, the same ledger for every model",
    "small-ledger": "serial answer, ledgers of one element",
    "lonely-ledger": "serial answer, each rank communicates with itself",
    "uneven-ledger": "serial answer, rank 1 leaves out its last collective",
    "ungathered": "serial answer, sharded masters, but parameters are never gathered",
    "local": "each rank keeps its own gradients (DeepSpeed, fp32 accumulation)",
    "last-only": "only the last micro-batch counts (Fast-LLM #550)",
    "two-misses": "as last-only, and where there is but one micro-batch, as local",
    "two-norms": "as norm-replicas, and without tp, as norm-local",
    "no-mean": "the sum instead of the mean",
    "next-scale": "unscales by the scale of the next step (DeepSpeed, growth step)",
    "unused-stale": "an unused parameter keeps the gradient of the step before",
    "unused-still": "what nobody used in a step is left out of it, momentum and decay included (torch.optim)",
    "norm-local": "the norm of one rank's parameters (PyTorch #170862)",
    "norm-replicas": "replicas over tp count twice in the norm",
    "shifted": "gradients land one element too far (DeepSpeed #318)",
    "one-rate": "every group uses the first one's learning rate",
    "steps-anyway": "an overflow does not skip the step",
    "lazy-scale": "the scale does not grow",
    "no-clip": "clipping is forgotten (DeepSpeed #5150)",
    "frozen-moves": "frozen parameters decay",
    "others-masters": "masters are handed out under another parameter's name (DeepSpeed, round robin)",
    "skipped-masters": "a skipped step changes the masters, and no parameter",
    "hang": "rank 0 waits in a collective that rank 1 never enters",
    "stuck": "ranks enter different things, asynchronously, and never answer",
    "sleep": "never answers, and publishes nothing",
    "crash": "its process ends in the middle",
    "garbage": "answers what is no JSON",
    "backwards": "the right answer, of several backwards",
    "backwards-last": "only the last backward of a micro-batch counts (DeepSpeed #7981)",
    "streams": "the right answer, and stream events that are ordered",
    "streams-none": "claims stream events, and writes none",
    "streams-bare": "its stream events lack the bytes that they access",
    "streams-short": "its stream events lack the collectives",
    "streams-garbage": "its stream events name a stream that is not there",
    **{f"streams-{name}": what for name, (_, what) in streams.LEFT_OUT.items()},
}


def supports():
    return {"zero": [0, 1, 2], "dp": [1, 2, 3, 4], "micro_batches": [1, 2, 3], "steps": [1, 2, 3], "tp": [1, 2],
            "precision": ["fp32"], "optimizer": ["sgd", "momentum"], "scale": ["one", "static", "dynamic"],
            "overflow": ["no", "yes"], "clip": ["off", "loose", "binding"], "groups": [1, 2, 3],
            "sizes": ["plain", "tiny", "odd", "large"], "unused": ["no", "some", "often"], "frozen": ["no", "yes"]}


def hexes(values):
    return [float(v).hex() if isfinite(v) else str(float(v)) for v in values]


class Trainer:
    """Plain training of one case; Fractions, so that nothing rounds."""

    def __init__(self, case, lie):
        self.case, self.lie = case, lie
        self.t, self.entries = case["topology"], case["parameters"]
        first = Fraction(2) ** case["log2_first"]
        self.w = [[[k * first for k in copy] for copy in e["first"]] for e in self.entries]
        self.m = [[[Fraction(0)] * len(copy) for copy in e["first"]] for e in self.entries]
        self.scale = Fraction(case["scale"]["first"])
        self.iteration, self.last, self.left = 0, -1, case["scale"].get("hysteresis", 1)
        self.before = None

    def contribution(self, step, g, j, copy):
        rows = self.case["data"][step][g][j]
        return rows and rows[copy]

    def sums(self, step):
        """The mean gradient of every copy, and whether all was finite."""
        finite, means = True, []
        unit = Fraction(2) ** self.case["log2_unit"]
        n = self.t["dp"] * self.case["micro_batches"]
        for j, entry in enumerate(self.entries):
            means.append([])
            for copy in range(len(entry["first"])):
                total = [Fraction(0)] * entry["numel"]
                used = False
                for g in range(n):
                    row = self.contribution(step, g, j, copy)
                    if row is None or self.leaves_out(g):
                        continue
                    used = True
                    for i, k in enumerate(row):
                        if self.lie == "backwards-last" and i % self.case["backwards"] != self.case["backwards"] - 1:
                            continue
                        if isinstance(k, str):
                            finite = False
                        else:
                            total[i] += k * unit
                mean = [x / (1 if self.lie == "no-mean" else n) for x in total]
                if self.lie == "shifted":
                    mean = mean[-1:] + mean[:-1]
                if self.lie == "unused-stale" and not used and self.before:
                    mean = self.before[j][copy]
                means[-1].append(mean)
        if self.lie == "steps-anyway":
            finite = True
        return means, finite

    def idle(self, step, j):
        return all(batch[j] is None for batch in self.case["data"][step])

    def leaves_out(self, g):
        d, mb = g % self.t["dp"], g // self.t["dp"]
        last = self.case["micro_batches"] - 1
        if self.lie == "local" or (self.lie == "two-misses" and not last):
            return d != 0
        return self.lie in ("last-only", "two-misses") and mb != last

    def norm(self, means):
        total = Fraction(0)
        for j, entry in enumerate(self.entries):
            local = self.lie == "norm-local" or (self.lie == "two-norms" and self.t["tp"] == 1)
            if entry["frozen"] or (local and j % 2):
                continue
            weight = self.t["tp"] if self.lie in ("norm-replicas", "two-norms") and not entry["sharded"] else 1
            total += weight * sum(x * x for mean in means[j] for x in mean)
        return sqrt(total)

    def next_scale(self, finite):
        s = self.case["scale"]
        if not s["dynamic"]:
            return
        if not finite:
            if self.left == 1:
                self.scale = max(self.scale / 2, Fraction(s["least"]))
            else:
                self.left -= 1
            self.last = self.iteration
        else:
            q = self.iteration - self.last - 1
            if q > 0 and q % s["window"] == 0 and self.lie != "lazy-scale":
                self.scale, self.left = min(self.scale * 2, Fraction(s["most"])), s["hysteresis"]
        self.iteration += 1

    def step(self, step):
        means, finite = self.sums(step)
        norm = self.norm(means) if finite else inf
        used, clip, factor = self.scale, self.case["clip"], Fraction(1)
        self.next_scale(finite)
        if clip and self.lie != "no-clip":
            factor = min(Fraction(1), Fraction(clip["max_norm"] / (norm + clip["eps"])))
        if self.lie == "next-scale":
            factor *= used / self.scale
        for j, entry in enumerate(self.entries):
            group = self.case["groups"][0 if self.lie == "one-rate" else entry["group"]]
            if entry["frozen"] and self.lie == "frozen-moves":
                self.w[j] = [[x - Fraction(1, 8) for x in copy] for copy in self.w[j]]
            if entry["frozen"] or not finite or self.lie == "unused-still" and self.idle(step, j):
                continue
            lr, decay = Fraction(group["lr"]), Fraction(group["weight_decay"])
            for copy, mean in enumerate(means[j]):
                for i, g in enumerate(mean):
                    m = Fraction(group["momentum"]) * self.m[j][copy][i] + g * factor
                    self.m[j][copy][i] = m
                    self.w[j][copy][i] = self.w[j][copy][i] * (1 - lr * decay) - lr * m
        self.before = means
        return {"norm": hexes([norm])[0], "scale": hexes([self.scale])[0], "skipped": not finite}


def held(case, j, rank):
    entry, tp = case["parameters"][j], rank % case["topology"]["tp"]
    return tp if entry["sharded"] else 0


def results(trainer, step, ranks):
    case = trainer.case
    decided = trainer.step(step)
    for rank in ranks:
        state = trainer.w
        d = rank["rank"] // case["topology"]["tp"] % case["topology"]["dp"]
        mine = {e["name"]: hexes(state[j][held(case, j, rank["rank"])]) for j, e in enumerate(case["parameters"])}
        masters = {e["name"]: [[0, mine[e["name"]]]] for e in case["parameters"] if not e["frozen"]}
        if trainer.lie == "ungathered":
            masters = {n: runs for i, (n, runs) in enumerate(masters.items()) if i % case["topology"]["dp"] == d}
        if trainer.lie == "others-masters":
            names = list(masters)
            for a, b in zip(names[::2], names[1::2]):
                if len(mine[a]) == len(mine[b]):
                    masters[a], masters[b] = masters[b], masters[a]
        if trainer.lie == "skipped-masters" and decided["skipped"]:
            masters = {n: [[0, hexes([float.fromhex(x) + 1 for x in runs[0][1]])]] for n, runs in masters.items()}
        rank["steps"].append({**decided, "parameters": mine, "masters": masters})


def publish(case, lie, folder):
    """The ledgers that it claims: per step, an all-reduce of everything in each dp group, one of the
    statistics in the world."""
    world, t = case["world"], case["topology"]
    count = sum(e["numel"] for e in case["parameters"])
    for rank in range(world):
        tp = rank % t["tp"]
        group = [d * t["tp"] + tp for d in range(t["dp"])]
        with open(os.path.join(folder, f"rank-{rank}.jsonl"), "w", encoding="utf-8") as file:
            for step in range(case["steps"]):
                print(json.dumps({"step": step}), file=file)
                if lie == "empty-ledger":
                    continue
                n = {"constant-ledger": 4096, "small-ledger": 1}.get(lie, count)
                if lie == "constant-ledger":
                    group = list(range(world))
                if lie == "lonely-ledger":
                    group = [rank]
                op = {"op": "all_reduce", "redop": "sum", "dtype": "fp32", "count": n, "group": group}
                if lie == "stuck":
                    op.update({"count": n + (rank == group[0]), "async": True})
                print(json.dumps(op), file=file)
                if lie in ("uneven-ledger", "hang") and rank == 1 and step == case["steps"] - 1:
                    if lie == "hang":  # waits for rank 0, which waits in something else
                        print(json.dumps({"op": "recv", "dtype": "fp32", "count": 1, "peer": 0}), file=file)
                    continue
                if lie not in ("constant-ledger", "small-ledger", "lonely-ledger"):
                    print(json.dumps({"op": "all_reduce", "redop": "sum", "dtype": "fp64", "count": 2,
                                      "group": list(range(world))}), file=file)
            if lie not in ("hang", "stuck"):
                print(json.dumps({"end": True}), file=file)


def publish_streams(case, lie, folder):
    what = lie.partition("-")[2]
    for rank in range(case["world"] if what != "none" else 0):
        records = streams.program(rank, case["world"], case["steps"], case["streams"], what or None)
        if what == "short":
            records = [r for r in records if not r.get("collective")]
        if what == "bare":
            records = [{k: v for k, v in r.items() if k not in ("reads", "writes")} for r in records]
        if what == "garbage":
            records.append({"op": "copy", "on": 99})
        with open(os.path.join(folder, f"streams-{rank}.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)


def run(case, lie, folder):
    ranks = [{"rank": q, "steps": []} for q in range(case["world"])]
    if lie == "crash":
        os._exit(7)
    if lie not in ("sleep", "no-ledger"):
        publish(case, lie, folder)
    if lie.startswith("streams"):
        publish_streams(case, lie, folder)
    if lie == "sleep" or (lie in ("hang", "stuck") and case["world"] > 1):
        sys.stdin.read()  # for ever: until it is stopped
    trainer = Trainer(case, lie)
    for step in range(case["steps"]):
        results(trainer, step, ranks)
    if lie == "echo":
        fresh = Trainer(case, lie)
        for rank in ranks:
            for step in rank["steps"]:
                step["parameters"] = {e["name"]: hexes(fresh.w[j][held(case, j, rank["rank"])])
                                      for j, e in enumerate(case["parameters"])}
                step["masters"] = {n: [[0, v]] for n, v in step["parameters"].items()}
    for step in (step for rank in ranks for step in rank["steps"]):
        if lie == "empty":
            step.clear()
            step["norm"] = None
        if lie == "tacit":
            step.update(norm=None, scale=None, skipped=None)
    return {"status": "ok", "ranks": ranks}


def main():
    lie = sys.argv[1] if len(sys.argv) > 1 else ""
    if lie not in LIES:
        sys.exit(__doc__ + "\n" + "\n".join(f"  {n:<16}{what}" for n, what in LIES.items()))
    hello = {"protocol": 1, "name": f"selftest {lie}", "version": "1", "level": 2,
             "returns": [] if lie == "silent" else ["norm", "scale", "skipped", "parameters", "masters", "ledger"],
             "supports": {} if lie == "nothing" else supports()}
    if lie == "unrecorded":  # a cheat: what nobody sees cannot be wrong
        hello["returns"].remove("ledger")
    if lie in ("silent", "empty"):
        hello["level"] = 1
    if lie.startswith("streams"):
        hello["level"] = 3
        hello["returns"].append("streams")
        hello["supports"]["streams"] = [1, 2, 3]
    if lie.startswith("backwards"):
        hello["supports"]["backwards"] = [1, 2]
    if lie == "empty":
        hello["returns"] = ["norm", "masters", "gradients"]
    for number, line in enumerate(sys.stdin):
        request = json.loads(line)
        if request["do"] == "bye":
            break
        if request["do"] == "hello":
            answer = hello
        elif lie == "null":
            answer = {}
        elif lie == "refuses" and number > 1:
            answer = {"status": "unsupported", "message": "not today"}
        elif lie == "garbage":
            answer = None
        else:
            answer = run(request["case"], lie, request["ledgers"])
        print("%%%" if answer is None else json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
