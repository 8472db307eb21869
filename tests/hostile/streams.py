"""Logs of stream events (level 3), read by conformance/judge/streams.py and `zeroproof check`."""

import json
import os

import answers
import ledgers
import mutate
import samples


def log(rank, world, steps=2):
    """A valid log of one rank: two streams and a host thread, buckets that are copied, reduced and
    freed, events between the streams, and data that ranks exchange."""
    found = [
        {"format": "zeroproof/streams/1", "rank": rank, "world": world},
        {"stream": 0, "name": "host", "host": True},
        {"stream": 1, "name": "compute"},
        {"stream": 2, "name": "reduce"},
    ]
    for step in range(steps):
        at = 4096 + 512 * step
        found += [
            {"step": step},
            {"alloc": [at, 256], "on": 1, "name": f"bucket {step}"},
            {"op": "copy", "on": 1, "reads": [], "writes": [[at, 128], [at + 128, 64]]},
            {"record": 1, "on": 1},
            {"wait": 1, "on": 2},
            {
                "op": "all_reduce",
                "on": 2,
                "reads": [[at, 192]],
                "writes": [[at, 192]],
                "collective": True,
                "site": "train.py:7",
                "gives": [f"sum {step} of {rank}"],
                "takes": [f"sum {step} of {other}" for other in range(world)],
            },
            {"phase": "step"},
            {"wait_stream": 2, "on": 1},
            {
                "op": "update",
                "on": 1,
                "reads": [[at, 192]],
                "writes": [[64, 64]],
                "issue": 3,
            },
            {"free": [at, 256], "on": 1, "after": [2]},
            {"synchronize": True, "on": 0},
        ]
    if world > 1:
        if rank == 0:
            found.append(
                {
                    "op": "send",
                    "on": 1,
                    "reads": [[64, 8]],
                    "writes": [],
                    "gives": ["s"],
                    "by": 0,
                }
            )
        elif rank == 1:
            found.append(
                {
                    "op": "recv",
                    "on": 1,
                    "reads": [],
                    "writes": [[64, 8]],
                    "takes": ["s"],
                }
            )
    return [*found, {"end": True}]


WAITS = {"wait", "wait_stream", "synchronize"}
# What races are ordered by comes more often.
ALIKE = "issue issue issue issue on by step site phase op reads writes gives".split()


def without_waits(records):
    """The log with more races than others: nothing waits."""
    kept = [record for record in records if not WAITS & set(record)]
    return [{name: record[name] for name in record if name != "takes"} for record in kept]


def alike(dice, records):
    """Sets one field of many records to two values, by chance or by their step: what compares two
    records gets both."""
    field, by_step, step, found = dice.choice(ALIKE), dice.random() < 0.7, 0, []
    values = [mutate.value(dice), dice.choice([0, 1, "a", [[64, 64]]])]
    for record in records:
        step += "step" in record
        chosen = values[step % 2] if by_step else dice.choice(values)
        changes = ("op" in record or field in record) and (by_step or dice.random() < 0.7)
        found.append({**record, field: chosen} if changes else record)
    return found


def folder(dice, world):
    """{file name: bytes} of a run in which some logs are changed."""
    logs = [log(rank, world) for rank in range(world)]
    for records in logs:
        if dice.random() < 0.1:
            records.pop()  # without its end mark
    data = {}
    hurt = dice.randrange(world)
    same = dice.random() < 0.3
    if dice.random() < (0.7 if same else 0.2):
        logs = [without_waits(records) for records in logs]
    if same:
        logs[hurt] = alike(dice, logs[hurt])
        return {f"streams-{rank}.jsonl": ledgers.lines(one) for rank, one in enumerate(logs)}
    for rank in range(world):
        changed = rank == hurt or dice.random() < 0.2
        data[f"streams-{rank}.jsonl"] = (
            ledgers.changed(dice, logs[rank], logs[0]) if changed else ledgers.lines(logs[rank])
        )
    return data


def whole(world):
    """{file name: bytes} of a run."""
    return {f"streams-{rank}.jsonl": ledgers.lines(log(rank, world)) for rank in range(world)}


class Kind(answers.Kind):
    name = "streams"
    levels = (3,)

    def __init__(self, made):
        super().__init__(made)
        self.judge = os.path.join(samples.ROOT, "conformance", "judge", "streams.py")

    def hello(self, dice):
        hello = mutate.json_copy(self.true_hello)
        hello.update(level=3, returns=[*hello["returns"], "streams"])
        hello["supports"] = {**hello["supports"], "streams": [1, 2, 3]}
        return hello

    def entry(self, dice, case, answer, ledger_files):
        files = {**ledger_files, **folder(dice, case["world"])}
        files = {name: answers.encoded(data) for name, data in files.items()}
        if dice.random() < 0.05:
            files[dice.choice(sorted(files))] = dice.choice(ledgers.OTHER_FILES)
        return {"line": answers.encoded(json.dumps(answer).encode()), "files": files}

    def true_files(self, case, ledger_files):
        return {**ledger_files, **whole(case["world"])}

    def unchanged(self):
        """Runs of each size for the judge alone, then answers: (what, item, exit codes)."""
        for world in range(1, 5):
            files = {f"logs/{name}": {"bytes": data} for name, data in whole(world).items()}
            item = {"argv": [self.python, "-B", self.judge, "logs"], "files": files}
            yield f"{world} ranks", item, (0,)
        for what, item, _ in super().unchanged():
            yield what, item, (0, 1)  # these logs are not those of the cases

    def make(self, dice):
        if dice.random() < 0.1:
            return super().make(dice)
        given = {f"logs/{n}": {"bytes": d} for n, d in folder(dice, dice.randint(1, 4)).items()}
        if dice.random() < 0.05:
            mutate.kind_of_file(dice, given)
        if dice.random() < 0.03:
            given[f"logs/streams-{dice.choice(mutate.INTEGERS)}.jsonl"] = {"bytes": b"{}"}
        where = (
            "logs" if dice.random() < 0.97 else dice.choice(["missing", "", "logs/x", "/dev/null"])
        )
        return {"argv": [self.python, "-B", self.judge, where], "files": given}
