"""Command lines: every option that --help lists, with values that are invalid or much work."""

import json
import random

import mutate
import samples
import traces

SAVED = ["--save", "out", "--save-every", "1"]
# A valid and quick beginning of each command.
BEGINNINGS = {
    "train": [["--steps", "1", *samples.MODEL]],
    "plan": [["--config", "in.json"], ["--pp", "2", "--dp", "3", "--rank", "1"]],
    "sim": [
        ["--steps", "1"],
        ["--case", samples.RECIPES[1].replace("mode=coded,", "")],
    ],
    "fuzz": [["--cases", "2", "--jobs", "1"], ["--replay", samples.RECIPES[0]]],
    "env": [[]],
    "cases": [[samples.RECIPES[0]], ["--random", "1"], []],
    "oracle": [["case.json"], []],
    "adapter": [[]],
    "check": [["--jobs", "1", "--shrink", "0", "--cases", "2", "--only", samples.RECIPES[0]]],
    "explain": [["STAT-4"], []],
    "report": [[]],
    "trace": [["check", "run"], ["view", "run", "--out", "out"]],
    "elastic": [["--slots", "1", "train", "--steps", "1", *samples.MODEL, *SAVED]],
    "launch": [["-n", "1", "train", "--steps", "1", *samples.MODEL, "--dp", "1", "--pp", "1"]],
}
WEIGHTS = {"env": 1, "launch": 1, "elastic": 1, "check": 3}
# They write where the suite keeps its lists, or run what they are given: that is their purpose.
LEFT_OUT = {"--accept-support", "--accept-known", "--accept-quick", "--mpirun", "--slots"}
WRITTEN = {"--svg", "--plot", "--save", "--out", "--log"}
READ = [
    "in.json",
    "case.json",
    "missing",
    "folder",
    "fifo",
    "empty",
    "",
    "/dev/zero",
    "in.json/x",
]
ADAPTERS = [
    "{zeroproof} adapter",
    "{zeroproof} adapter",
    "true",
    "false",
    "cat",
    "{here}/missing",
    "'",
    "",
    " ",
    "yes ''",
    "yes",
    "sleep 100",
    "cat /dev/zero",
    "sh -c 'sleep 1000 & echo {}'",
    "sh -c 'kill -9 $$'",
    "sh -c 'setsid sleep 1000 & cat'",
    "\x1b[2J",
]
TRACE = traces.encode(traces.MAGIC + b"\0\1", traces.run(random.Random(1), 1)[0])
KIND = "options"


class Kind:
    name = KIND

    def __init__(self, made):
        self.listed = {command: made.options(command) for command in BEGINNINGS}
        self.case = json.dumps(made.cases()[0]).encode()

    def unchanged(self):
        """Each beginning alone: (what, item, exit codes)."""
        for command, beginnings in BEGINNINGS.items():
            for words in beginnings:
                if command == "check":
                    words = [*words, "--adapter", ADAPTERS[0]]
                item = {"argv": ["{zeroproof}", command, *words], "files": files(self.case)}
                item.update(
                    stdin=b"" if command == "adapter" else self.case, writes=["out", "out.log"]
                )
                yield " ".join(item["argv"][1:4]), item, (0,)

    def make(self, dice):
        command = dice.choice([c for c in BEGINNINGS for _ in range(WEIGHTS.get(c, 12))])
        argv, wanted = ["{zeroproof}", command], []
        words = list(dice.choice(BEGINNINGS[command]))
        if command == "check":
            words += ["--adapter", dice.choice(ADAPTERS), "--deadline", "2"]
        if dice.random() < 0.15:
            at = dice.randrange(len(words) + 1)
            words[at : at + dice.randrange(2)] = [free_of_nul(mutate.string(dice))]
        for flag, what in dice.choices(self.listed[command], k=dice.choice([0, 1, 1, 2, 3])):
            if flag not in LEFT_OUT:
                words += option(dice, flag, what, wanted)
        if dice.random() < 0.05:
            words += dice.choice([["--help"], ["--usage"], ["--"], ["--", "--json"], ["--jso"]])
        # an output may replace a file that is no input of the same command
        named = [word.rpartition("=")[2] for word in words]
        writes = [name for name in wanted if name not in files(b"") or named.count(name) == 1]
        item = {
            "argv": argv + words,
            "files": files(self.case),
            "stdin": dice.choice([b"", self.case, mutate.data_bytes(dice, self.case)]),
            "work": True,
            "writes": writes + (["out"] if command in ("trace", "elastic") else []),
        }
        if command == "elastic":  # the log beside the folder of --save
            item["writes"] += [word + ".log" for word in words]
        # after an option with a value, --json is that value
        valued = {flag for flag, what in self.listed[command] if what}
        item["json"] = any(
            word == "--json" and words[at - 1 : at] not in [[flag] for flag in valued]
            for at, word in enumerate(words)
        )
        return item


def files(case):
    config = json.dumps(samples.CONFIGS[1]).encode()
    return {
        "in.json": {"bytes": config},
        "case.json": {"bytes": case},
        "empty": {"bytes": b""},
        "folder": {"folder": True},
        "fifo": {"fifo": True},
        "run/rank-0.zpt": {"bytes": TRACE},
    }


def free_of_nul(text):
    """An argument cannot have a NUL; and one argument has at most 128 KiB."""
    return (
        text.replace("\0", "\\0")
        .encode("utf-8", "surrogateescape")[:100000]
        .decode("utf-8", "replace")
    )


def option(dice, flag, what, wanted):
    """The words of one option. `wanted` gets the names that it makes the command write."""
    if not what:
        return [flag]
    pick = dice.random()
    if flag in WRITTEN or (flag == "--trace"):
        name = dice.choice(
            ["out", "out", "in.json", "no/out", "folder", "", "fifo/x", "a\nb", "|x"]
        )
        name = free_of_nul(mutate.string(dice)) if pick < 0.2 else name
        name = "out" if name.startswith("/") or ".." in name else name
        wanted += [name, name.rstrip("/")] if name.strip("/") else []
        return [flag, name]
    if flag == "--adapter":
        return [flag, dice.choice(ADAPTERS)]
    if flag in (
        "--jobs",
        "--processes",
    ):  # each is a process: those that it may start are few
        return [
            flag,
            dice.choice(["0", "-1", "1", "2", "1e300", "99999999999", "x", "4294967297"]),
        ]
    if "FILE" in what or "DIR" in what:
        return [flag, dice.choice(READ)]
    if pick < 0.1:
        return [flag, free_of_nul(mutate.string(dice))]
    if "|" in what and pick < 0.7:
        return [flag, dice.choice(what.split("|"))]
    if what in ("CASE", "WHAT"):
        return [flag, free_of_nul(mutate.text(dice, dice.choice(samples.RECIPES)))]
    if flag == "--groups":
        return [
            flag,
            ",".join(mutate.number_text(dice) for _ in range(dice.choice([1, 2, 3, 900]))),
        ]
    if flag == "--loss-scale" and pick < 0.7:
        names = ("init", "min", "max", "window", "hysteresis", "consecutive")
        items = [
            f"{dice.choice(names)}={mutate.number_text(dice)}" for _ in range(dice.randint(1, 6))
        ]
        return [flag, "dynamic:" + ",".join(items)]
    if flag == "--ranks" and pick < 0.6:
        return [flag, mutate.number_text(dice) + "-" + mutate.number_text(dice)]
    joined = dice.random() < 0.3
    number = mutate.number_text(dice)
    return [f"{flag}={number}"] if joined else [flag, number]
