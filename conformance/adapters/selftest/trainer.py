"""Adapters for the suite's own tests: a correct one, and faulty ones that the suite must reject.

usage: trainer.py FAULT [SECONDS]. One process computes the values of all ranks by plain sums and
writes made-up ledgers; before each answer it sleeps for SECONDS. FAULT is "correct", a way to evade
the checks, or a historic bug:"""

import json
import os
import sys
import time
from fractions import Fraction
from math import inf, isfinite, sqrt

import streams

THREE = "three data-parallel ranks are not supported"
FAULTS = {
    "correct": "the right answer with matching ledgers",
    "null": "answers are empty objects",
    "nothing": "supports nothing",
    "silent": "supports everything, returns nothing",
    "echo": "returns its inputs",
    "empty": 'every rank and step is present, but holds only "norm": null',
    "unannounced": "returns gradients, which hello does not name, instead of masters",
    "unwritten": "the right answer without the masters that hello names",
    "unskipped": 'the right answer without the field "skipped"',
    "refuses": 'answers "unsupported" to all cases but the first',
    "refuses-dp": 'answers "unsupported" to cases of three data-parallel ranks',
    "refuses-declared": "the same, with the reason in hello",
    "tacit": "the right answer, with null for every field that allows it",
    "unrecorded": 'serial values at level 2; hello does not name "ledger"',
    "no-ledger": 'serial values; hello names "ledger", but no file is written',
    "empty-ledger": "serial values; ledgers without operations",
    "constant-ledger": "serial values; the same ledger for every model",
    "small-ledger": "serial values; ledgers with single elements",
    "lonely-ledger": "serial values; each rank communicates with itself only",
    "stepless-ledger": "serial values; ledgers without a record that the second step begins",
    "twice-ledger": "serial values; ledgers with two records that the first step begins",
    "uneven-ledger": "serial values; rank 1 omits its last collective",
    "ungathered": "serial values; masters are sharded, but parameters are never gathered",
    "local": "each rank keeps its own gradients (DeepSpeed, fp32 accumulation)",
    "last-only": "only the last micro-batch counts (Fast-LLM #550)",
    "two-misses": "like last-only; with one micro-batch, like local",
    "two-norms": "like norm-replicas; without tp, like norm-local",
    "no-mean": "the sum instead of the mean",
    "next-scale": "unscales by the scale of the next step (DeepSpeed, growth step)",
    "unused-stale": "an unused parameter keeps the gradient of the previous step",
    "unused-still": "parameters unused in a step get no momentum and no weight decay (torch.optim)",
    "norm-local": "the norm of one rank's parameters (PyTorch #170862)",
    "norm-replicas": "replicas over tp count twice in the norm",
    "shifted": "gradients are shifted by one element (DeepSpeed #318)",
    "one-rate": "every group uses the learning rate of the first one",
    "steps-anyway": "an overflow does not skip the step",
    "lazy-scale": "the scale does not grow",
    "no-clip": "gradients are not clipped (DeepSpeed #5150)",
    "nan": "updated parameters are NaN (Transformers, gradients above 1.8e19)",
    "frozen-moves": "frozen parameters decay",
    "others-masters": "masters have another parameter's name (DeepSpeed, round robin)",
    "skipped-masters": "a skipped step changes the masters but no parameter",
    "hang": "rank 0 waits in a collective that rank 1 never enters",
    "stuck": "ranks enter different asynchronous operations and never answer",
    "computes": "the right answer, but each rank enters something before the others and computes",
    "third": "an error in the first of three cases",
    "third-value": "like no-mean in the first of three cases",
    "sleep": "never answers and publishes nothing",
    "crash": "the process exits while it runs a case",
    "garbage": "answers are not JSON",
    "backwards": "the right answer with several backwards",
    "buckets-reversed": "the last rank reduces its buckets in reverse order",
    "backwards-last": "only the last backward of a micro-batch counts (DeepSpeed #7981)",
    "replicas": "the right answer with the state sharded in each replica",
    "replicas-apart": "gradients are not reduced between replicas",
    "replicas-late": "micro-batches before the last are not reduced between replicas",
    "replicas-twice": "micro-batches before the last are reduced twice between replicas",
    "replicas-norm": "the norm counts the shards of each replica",
    "replicas-ignored": "the state is sharded over all data-parallel ranks",
    "replicas-ledger": "the right answer; its ledgers reduce nothing between replicas",
    "groups": "the right answer with groups whose number differs by rank or step",
    "groups-early": "a group is updated before it is added",
    "groups-never": "a group that is added is never updated",
    "groups-lost": "one rank does not add the group",
    "groups-rate": "an added group has the learning rate of the first one",
    "groups-unowned": "no rank keeps the masters of an added group",
    "groups-norm": "the norm omits groups that are not added yet",
    "groups-uncleared": "gradients of a group that is not added yet are never cleared",
    "groups-moment": "momentum of a group accumulates before it is added",
    "groups-partition": "each rank partitions its own list of groups",
    "groups-collective": "each rank reduces a number for each of its groups",
    "groups-index": "a rank with more groups takes constants by the index of other ranks",
    "streams": "the right answer with ordered stream events",
    "streams-none": 'hello names "streams", but no file is written',
    "streams-bare": "stream events without the bytes they access",
    "streams-short": "stream events without the collectives",
    "streams-garbage": "stream events that name an undeclared stream",
    **{f"streams-{name}": what for name, (_, what) in streams.LEFT_OUT.items()},
}


def supports():
    return {
        "zero": [0, 1, 2],
        "dp": [1, 2, 3, 4],
        "micro_batches": [1, 2, 3],
        "steps": [1, 2, 3],
        "tp": [1, 2],
        "precision": ["fp32"],
        "optimizer": ["sgd", "momentum"],
        "scale": ["one", "static", "dynamic"],
        "overflow": ["no", "yes"],
        "clip": ["off", "loose", "binding"],
        "groups": [1, 2, 3],
        "sizes": ["plain", "tiny", "odd", "large"],
        "bucket": ["large", "small"],
        "unused": ["no", "some", "often"],
        "frozen": ["no", "yes"],
    }


def hexes(values):
    return [float(v).hex() if isfinite(v) else str(float(v)) for v in values]


class Trainer:
    """Trains one case serially, in Fractions so that nothing rounds, as a replica does."""

    def __init__(self, case, fault, replica=0, odd=None):
        self.case, self.fault, self.replica, self.odd = case, fault, replica, odd
        self.t, self.entries = case["topology"], case["parameters"]
        first = Fraction(2) ** case["log2_first"]
        self.w = [[[k * first for k in copy] for copy in e["first"]] for e in self.entries]
        self.m = [[[Fraction(0)] * len(copy) for copy in e["first"]] for e in self.entries]
        self.scale = Fraction(case["scale"]["first"])
        self.iteration, self.last, self.left = 0, -1, case["scale"].get("hysteresis", 1)
        self.before = None

    def contribution(self, step, g, j, copy):
        rows = self.case["data"][step][g][j]
        if rows and self.fault == "buckets-reversed":
            return self.reversed(step, g, j, copy)
        return rows and rows[copy]

    def reversed(self, step, g, j, copy):
        """A contribution as the owners of its shards receive it, if the last rank reduces its
        buckets in reverse order: then other elements meet there, or at the others."""
        data, size, flat = self.case["data"][step][g], self.case["bucket"], []
        dp, at = self.t["dp"], 0
        for i, entry in enumerate(self.entries):
            at = len(flat) if i == j else at
            if all(entry[key] == self.entries[j][key] for key in ("stage", "group", "sharded")):
                flat += data[i][copy] if data[i] else [0] * entry["numel"]
        end = len(flat) // size * size
        moved = [flat[end - size - k + 2 * (k % size)] for k in range(end)] + flat[end:]
        last = {k: k % size * dp // size == dp - 1 for k in range(len(flat))}  # its owner
        sent_last = g % dp == dp - 1
        return [
            (flat if last[k] == sent_last else moved)[k]
            for k in range(at, at + self.entries[j]["numel"])
        ]

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
                    row, times = self.contribution(step, g, j, copy), self.times(g)
                    if row is None or not times:
                        continue
                    used = True
                    for i, k in enumerate(row):
                        if (
                            self.fault == "backwards-last"
                            and i % self.case["backwards"] != self.case["backwards"] - 1
                        ):
                            continue
                        if isinstance(k, str):
                            finite = False
                        else:
                            total[i] += k * unit * times
                mean = [x / (1 if self.fault == "no-mean" else n) for x in total]
                if self.fault == "shifted":
                    mean = mean[-1:] + mean[:-1]
                if self.fault == "unused-stale" and not used and self.before:
                    mean = self.before[j][copy]
                if self.fault == "groups-uncleared" and self.before and self.since(j) >= step:
                    mean = [x + y for x, y in zip(mean, self.before[j][copy], strict=True)]
                means[-1].append(mean)
        if self.fault == "steps-anyway":
            finite = True
        return means, finite

    def since(self, j):
        """The first step in which the optimizer has the group of entry j."""
        return self.case["groups"][self.entries[j]["group"]].get("since", 0)

    def has(self, step, j):
        """True if the optimizer updates entry j."""
        if not self.since(j):
            return True
        never = self.fault == "groups-never" or (self.fault == "groups-lost" and self.odd)
        return self.fault == "groups-early" or (step >= self.since(j) and not never)

    def group(self, j):
        """The group whose constants entry j gets."""
        groups, number = self.case["groups"], self.entries[j]["group"]
        if self.fault == "one-rate" or (self.fault == "groups-rate" and self.since(j)):
            return groups[0]
        if self.fault == "groups-index" and self.odd and self.case["groups_vary"] == "rank":
            return groups[max(0, number - 1)]
        return groups[number]

    def idle(self, step, j):
        return all(batch[j] is None for batch in self.case["data"][step])

    def times(self, g):
        """How often micro-batch g is added."""
        d, mb = g % self.t["dp"], g // self.t["dp"]
        last = self.case["micro_batches"] - 1
        mine = d // shards(self.case) == self.replica
        if self.fault == "local" or (self.fault == "two-misses" and not last):
            return d == 0
        if self.fault == "replicas-apart" or (self.fault == "replicas-late" and mb != last):
            return mine
        if self.fault == "replicas-twice" and mb != last:
            return self.case["replicas"]
        return self.fault not in ("last-only", "two-misses") or mb == last

    def norm(self, means, step):
        total = Fraction(0)
        for j, entry in enumerate(self.entries):
            local = self.fault == "norm-local" or (self.fault == "two-norms" and self.t["tp"] == 1)
            if entry["frozen"] or (local and j % 2):
                continue
            if self.fault == "groups-norm" and step < self.since(j):
                continue
            weight = (
                self.t["tp"]
                if self.fault in ("norm-replicas", "two-norms") and not entry["sharded"]
                else 1
            )
            if self.fault == "replicas-norm":
                weight *= self.case["replicas"]
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
            if q > 0 and q % s["window"] == 0 and self.fault != "lazy-scale":
                self.scale, self.left = min(self.scale * 2, Fraction(s["most"])), s["hysteresis"]
        self.iteration += 1

    def step(self, step):
        means, finite = self.sums(step)
        norm = self.norm(means, step) if finite else inf
        used, clip, factor = self.scale, self.case["clip"], Fraction(1)
        self.next_scale(finite)
        if clip and self.fault != "no-clip":
            factor = min(Fraction(1), Fraction(clip["max_norm"] / (norm + clip["eps"])))
        if self.fault == "next-scale":
            factor *= used / self.scale
        for j, entry in enumerate(self.entries):
            group = self.group(j)
            if entry["frozen"] and self.fault == "frozen-moves":
                self.w[j] = [[x - Fraction(1, 8) for x in copy] for copy in self.w[j]]
            if entry["frozen"] or not finite or self.fault == "unused-still" and self.idle(step, j):
                continue
            lr, decay = Fraction(group["lr"]), Fraction(group["weight_decay"])
            for copy, mean in enumerate(means[j]):
                for i, g in enumerate(mean):
                    m = Fraction(group["momentum"]) * self.m[j][copy][i] + g * factor
                    if self.has(step, j) or self.fault == "groups-moment":
                        self.m[j][copy][i] = m
                    if not self.has(step, j):
                        continue
                    self.w[j][copy][i] = self.w[j][copy][i] * (1 - lr * decay) - lr * m
        self.before = means
        return {"norm": hexes([norm])[0], "scale": hexes([self.scale])[0], "skipped": not finite}


def is_sharded(fault):
    return fault.startswith(("replicas", "groups"))


def shards(case):
    """The number of ranks that share the state of a replica."""
    return case["topology"]["dp"] // case["replicas"]


def held(case, j, rank):
    entry, tp = case["parameters"][j], rank % case["topology"]["tp"]
    return tp if entry["sharded"] else 0


def results(trainer, step, ranks):
    """Adds the results of the trainer's replica."""
    case = trainer.case
    decided = trainer.step(step)
    for rank in ranks:
        state = trainer.w
        d = rank["rank"] // case["topology"]["tp"] % case["topology"]["dp"]
        if d // shards(case) != trainer.replica or trainer.odd not in (None, d % 2):
            continue
        mine = {
            e["name"]: hexes(state[j][held(case, j, rank["rank"])])
            for j, e in enumerate(case["parameters"])
        }
        for e in case["parameters"] if trainer.fault == "nan" and not decided["skipped"] else ():
            mine[e["name"]] = mine[e["name"]] if e["frozen"] else ["nan"] * e["numel"]
        masters = {e["name"]: [[0, mine[e["name"]]]] for e in case["parameters"] if not e["frozen"]}
        parts = shards(case) if is_sharded(trainer.fault) else 1
        own = d + (trainer.fault == "groups-partition" and case["groups_vary"] == "rank" and d % 2)
        for j, e in enumerate(case["parameters"]):
            late = trainer.fault == "groups-unowned" and trainer.since(j)
            if late or step < trainer.since(j):
                masters.pop(e["name"], None)
        if trainer.fault in ("ungathered", "replicas-ignored"):
            parts = case["topology"]["dp"]
        masters = {
            n: runs for i, (n, runs) in enumerate(masters.items()) if i % parts == own % parts
        }
        if trainer.fault == "others-masters":
            names = list(masters)
            for a, b in zip(names[::2], names[1::2], strict=False):
                if len(mine[a]) == len(mine[b]):
                    masters[a], masters[b] = masters[b], masters[a]
        if trainer.fault == "skipped-masters" and decided["skipped"]:
            masters = {
                n: [[0, hexes([float.fromhex(x) + 1 for x in runs[0][1]])]]
                for n, runs in masters.items()
            }
        rank["steps"].append({**decided, "parameters": mine, "masters": masters})


def publish(case, fault, folder):
    """Writes ledgers: per step, an all-reduce of all elements in each dp group and one of two
    statistics in the world."""
    world, t = case["world"], case["topology"]
    count = sum(e["numel"] for e in case["parameters"])
    for rank in range(world):
        tp = rank % t["tp"]
        group = [d * t["tp"] + tp for d in range(t["dp"])]
        with open(os.path.join(folder, f"rank-{rank}.jsonl"), "a", encoding="utf-8") as file:
            for step in range(case["steps"]):
                twice = 2 if fault == "twice-ledger" and step == 0 else 1
                for _ in range(0 if fault == "stepless-ledger" and step == 1 else twice):
                    print(json.dumps({"step": step}), file=file)
                if fault == "empty-ledger":
                    continue
                n = {"constant-ledger": 4096, "small-ledger": 1}.get(fault, count)
                if fault == "constant-ledger":
                    group = list(range(world))
                if fault == "lonely-ledger":
                    group = [rank]
                op = {
                    "op": "all_reduce",
                    "redop": "sum",
                    "dtype": "fp32",
                    "count": n,
                    "group": group,
                }
                if fault == "stuck":
                    op.update({"count": n + (rank == group[0]), "async": True})
                for record in sharded(case, fault, op, group.index(rank)):
                    print(json.dumps(record), file=file)
                if fault == "groups-collective" and case["groups_vary"] == "rank":
                    for _ in range(len(case["groups"]) + group.index(rank) % 2):
                        print(json.dumps({**op, "count": 1}), file=file)
                if fault in ("uneven-ledger", "hang") and rank == 1 and step == case["steps"] - 1:
                    if fault == "hang":  # waits for rank 0, which waits in something else
                        print(
                            json.dumps({"op": "recv", "dtype": "fp32", "count": 1, "peer": 0}),
                            file=file,
                        )
                    continue
                if fault not in ("constant-ledger", "small-ledger", "lonely-ledger"):
                    print(
                        json.dumps(
                            {
                                "op": "all_reduce",
                                "redop": "sum",
                                "dtype": "fp64",
                                "count": 2,
                                "group": list(range(world)),
                            }
                        ),
                        file=file,
                    )
            if fault not in ("hang", "stuck"):
                print(json.dumps({"end": True}), file=file)


def sharded(case, fault, op, index):
    """The operations of member `index` of the group of an all-reduce, if the state is sharded."""
    if not is_sharded(fault):
        return [op]
    group, parts = op["group"], shards(case)
    mine, others = group[index // parts * parts :][:parts], group[index % parts :: parts]
    scatter = {**op, "op": "reduce_scatter", "count": -(-op["count"] // parts), "group": mine}
    reduce = {**op, "count": scatter["count"], "group": others}
    gather = {"op": "all_gather", "dtype": op["dtype"], "count": op["count"], "group": mine}
    if fault == "replicas-ledger":
        return [scatter, gather]
    return [scatter, reduce, gather]


def publish_streams(case, fault, folder):
    what = fault.partition("-")[2]
    for rank in range(case["world"] if what != "none" else 0):
        records = streams.program(rank, case["world"], case["steps"], case["streams"], what or None)
        if what == "short":
            records = [r for r in records if not r.get("collective")]
        if what == "bare":
            records = [
                {k: v for k, v in r.items() if k not in ("reads", "writes")} for r in records
            ]
        if what == "garbage":
            records.append({"op": "copy", "on": 99})
        with open(os.path.join(folder, f"streams-{rank}.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)


def publish_early(case, folder):
    """Writes the records before a computation, which look like a hang: rank 1 has sent something
    that was buffered, and the others wait for it in the all-reduce."""
    world = list(range(case["world"]))
    both = {"op": "all_reduce", "redop": "sum", "dtype": "fp32", "count": 1, "group": world}
    sent = {"op": "send", "dtype": "fp32", "count": 1, "peer": 0}
    received = {"op": "recv", "dtype": "fp32", "count": 1, "peer": 1}
    files = [open(os.path.join(folder, f"rank-{q}.jsonl"), "a", encoding="utf-8") for q in world]
    for rank, file in enumerate(files):
        print(json.dumps(sent if rank == 1 else both), file=file, flush=True)
    until = time.monotonic() + 2.5
    while time.monotonic() < until:
        pass
    for record, file in ((both, files[1]), (received, files[0])):
        print(json.dumps(record), file=file)
    for file in files:
        file.close()


def run(case, fault, folder):
    ranks = [{"rank": q, "steps": []} for q in range(case["world"])]
    if fault == "crash":
        os._exit(7)
    if fault == "computes" and case["world"] > 1:
        publish_early(case, folder)
    if fault not in ("sleep", "no-ledger"):
        publish(case, fault, folder)
    if fault.startswith("streams"):
        publish_streams(case, fault, folder)
    if fault == "sleep" or (fault in ("hang", "stuck") and case["world"] > 1):
        sys.stdin.read()  # blocks until the suite kills the process
    odds = (0, 1) if fault in ("groups-lost", "groups-index") else (None,)
    trainers = [Trainer(case, fault, r, odd) for r in range(case["replicas"]) for odd in odds]
    for step in range(case["steps"]):
        for trainer in trainers:
            results(trainer, step, ranks)
    if fault == "echo":
        fresh = Trainer(case, fault)
        for rank in ranks:
            for step in rank["steps"]:
                step["parameters"] = {
                    e["name"]: hexes(fresh.w[j][held(case, j, rank["rank"])])
                    for j, e in enumerate(case["parameters"])
                }
                step["masters"] = {n: [[0, v]] for n, v in step["parameters"].items()}
    for step in (step for rank in ranks for step in rank["steps"]):
        if fault in ("silent", "empty"):
            step.clear()
        if fault == "empty":
            step["norm"] = None
        if fault == "unskipped":
            del step["skipped"]
        if fault in ("unannounced", "unwritten"):
            masters = step.pop("masters")
            if fault == "unannounced":
                step["gradients"] = masters
        if fault == "tacit":
            step.update(norm=None, scale=None, skipped=None)
    return {"status": "ok", "ranks": ranks}


def answer_to(request, fault, number):
    """number: of the request, from 1 on."""
    if fault.startswith("third"):
        if number % 3 == 1 and fault == "third":
            return {"status": "error", "message": "each third"}
        fault = "no-mean" if number % 3 == 1 else "correct"
    return run(request["case"], fault, request["ledgers"])


def main():
    fault, pause = (sys.argv[1:] + [""] * 2)[:2]
    if fault not in FAULTS:
        sys.exit(__doc__ + "\n" + "\n".join(f"  {n:<16}{what}" for n, what in FAULTS.items()))
    hello = {
        "protocol": 1,
        "name": f"selftest {fault}",
        "version": "1",
        "level": 2,
        "returns": []
        if fault == "silent"
        else ["norm", "scale", "skipped", "parameters", "masters", "ledger"],
        "supports": {} if fault == "nothing" else supports(),
    }
    if fault == "unrecorded":  # hides the ledgers so that they cannot be judged
        hello["returns"].remove("ledger")
    if fault == "unskipped":
        hello["returns"].remove("skipped")
    if fault in ("silent", "empty"):
        hello["level"] = 1
    if fault.startswith("streams"):
        hello["level"] = 3
        hello["returns"].append("streams")
        hello["supports"]["streams"] = [1, 2, 3]
    if fault.startswith("backwards"):
        hello["supports"]["backwards"] = [1, 2]
    if fault.startswith("replicas"):
        hello["supports"]["replicas"] = [1, 2]
    if fault.startswith("groups"):
        hello["supports"]["groups_vary"] = ["no", "rank", "step"]
    if fault == "refuses-declared":
        hello["unsupported"] = [THREE]
    if fault == "empty":
        hello["returns"] = ["norm", "masters", "gradients"]
    for number, line in enumerate(sys.stdin):
        request = json.loads(line)
        if request["do"] == "bye":
            break
        if request["do"] == "hello":
            answer = hello
        elif fault == "null":
            answer = {}
        elif fault == "refuses" and number > 1:
            answer = {"status": "unsupported", "message": "not today"}
        elif fault in ("refuses-dp", "refuses-declared") and request["case"]["topology"]["dp"] == 3:
            answer = {"status": "unsupported", "message": THREE}
        elif fault == "garbage":
            answer = None
        else:
            time.sleep(float(pause or 0))
            answer = answer_to(request, fault, number)
        print("%%%" if answer is None else json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
