"""Adapters that violate the protocol. The suite must report each violation and continue.

usage: bad.py FAULT. Trains like trainer.py's correct adapter, then violates the protocol as FAULT
says."""

import fcntl
import json
import os
import shutil
import signal
import struct
import sys
import time

import trainer

DEEP = "[" * 200000
HELLO = {
    "protocol": 1,
    "name": "bad",
    "version": "1",
    "level": 2,
    "returns": ["norm", "scale", "skipped", "parameters", "masters", "ledger"],
    "supports": trainer.supports(),
}


def supporting(**axes):
    return {**HELLO, "supports": {**HELLO["supports"], **axes}}


# Text that a report must escape: it would otherwise become markup, a verdict, or a terminal
# command.
WORDS = {
    "words-name": {
        **HELLO,
        "name": "<script>alert(1)</script> a|b",
        "version": "1 # TODO\n2 `c` \u202e4321\r",
        "options": {"</pre><b>x\x1b": ["<i>\u2066\u200b"]},
    },
    "words-unsupported": {**HELLO, "name": "\u0001\u001b[31m red"},
}
HELLOS = {
    **WORDS,
    "hello-list": [1],
    "hello-null": None,
    "hello-deep": DEEP,
    "hello-protocol": {**HELLO, "protocol": 2},
    "hello-name": {**HELLO, "name": 5},
    "hello-level": {**HELLO, "level": 9},
    "hello-level-text": {**HELLO, "level": "two"},
    "hello-returns": {**HELLO, "returns": 5},
    "hello-returns-unknown": {**HELLO, "returns": ["nrom"]},
    "hello-supports": {**HELLO, "supports": [1]},
    "hello-supports-value": {**HELLO, "supports": {"zero": 1}},
    "hello-without": {**HELLO, "without": "x"},
    "hello-without-all": {**HELLO, "without": [{}]},
    "hello-key": {**HELLO, "optoins": {"x": [1, 2]}},
    "hello-options": {**HELLO, "options": {"x": 5}},
    "hello-options-list": {**HELLO, "options": [1]},
    "hello-options-object": {**HELLO, "options": {"a": [{"x": 1}]}},
    "hello-options-words": {**HELLO, "options": {"a": ["x y"]}},
    "hello-options-streams": {**HELLO, "options": {"streams": [1, 2]}},
    "hello-options-backwards": {**HELLO, "options": {"backwards": [1, 2]}},
    "hello-world": {**HELLO, "world": "4"},
    # without the level's evidence, serial training on all ranks would pass
    "hello-no-ledger": {**HELLO, "returns": ["norm", "parameters"]},
    "hello-no-ledger-3": {**HELLO, "level": 3, "returns": ["parameters", "streams"]},
    "hello-no-streams": {**HELLO, "level": 3},
    "hello-no-streams-axis": {**HELLO, "level": 3, "returns": ["ledger", "streams"]},
    # values that would be ignored silently
    "hello-zero-7": supporting(zero=[0, 7]),
    "hello-dp-text": supporting(dp=["1"]),
    "hello-dp-true": supporting(dp=[True]),
    "hello-axis": supporting(dpp=[1]),
    "hello-axis-empty": supporting(dp=[]),
    "hello-no-zero": {**HELLO, "supports": {"dp": [1]}},
    "hello-without-axis": {**HELLO, "without": [{"zzz": 0}]},
    "hello-without-option": {**HELLO, "without": [{"option x": 1}]},
    "hello-without-value": {**HELLO, "without": [{"zero": [1, "2"]}]},
    # values that would make a search endless or too large
    "hello-many": {**HELLO, "options": {"x": list(range(5000))}},
    "hello-many-pairs": {**HELLO, "options": {f"x{i}": list(range(32)) for i in range(5)}},
    "hello-twice": {**HELLO, "options": {"x": [1, "1"]}},
    "hello-nothing": {**HELLO, "supports": {"zero": [0], "tied": ["stages"]}},
    "hello-name-long": {**HELLO, "name": "n" * 1001},
    "hello-returns-many": {**HELLO, "returns": ["norm"] * 1000},
    "hello-supports-many": supporting(dp=[1] * 1000),
    "hello-without-why": {**HELLO, "without": [{"zero": 0, "why": 5}]},
    "hello-without-only-why": {**HELLO, "without": [{"why": "no axis"}]},
    "hello-without-many": {**HELLO, "without": [{"zero": 0}] * 1001},
    "hello-unsupported": {**HELLO, "unsupported": "not today"},
    "hello-unsupported-empty": {**HELLO, "unsupported": [" "]},
    "hello-many-options": lambda: {**HELLO, "options": {f"x{i}": [1] for i in range(100000)}},
    "hello-nan": json.dumps(HELLO)[:-1] + ', "x": NaN}',
    "ledgers-size": supporting(dp=[4], tp=[2]),
    "hello-nothing-without": {**HELLO, "without": [{"zero": [0, 1, 2]}]},
}
# axes with long cases
LONG = {"zero": [1], "dp": [4], "micro_batches": [3], "steps": [3], "sizes": ["large"]}


def out(answer):
    """answer: a value, a text, or a function that makes one, for those that are costly to make."""
    answer = answer() if callable(answer) else answer
    sys.stdout.write((answer if isinstance(answer, str) else json.dumps(answer)) + "\n")
    sys.stdout.flush()


def flood():
    while True:
        os.write(1, b"x" * 65536)
        time.sleep(0.1)  # in DEADLINE seconds, less than the limit of an answer


def blank():
    while True:
        os.write(1, b"\n \n" * 10000)


def trickle():
    """A byte in each tenth of a second, and never a line."""
    while True:
        os.write(1, b"x")
        time.sleep(0.1)


def chatter():
    while True:
        os.write(2, b"e" * 65536)


ENDLESS = {"flood": flood, "blank": blank, "trickle": trickle, "chatter": chatter}


def stay(fifo):
    """Reports this process's number in the FIFO, which shows that the process has ended: it keeps
    the FIFO open."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.write(os.open(fifo, os.O_WRONLY), f"{os.getpid()}\n".encode())


def escape(fifo):
    """Starts a child, one in another session, one whose parent ends, and one that is stopped."""
    for kind in ("child", "session", "orphan", "stopped"):
        if os.fork():
            continue
        if kind != "child":
            os.setsid()
        if kind == "orphan" and os.fork():
            os._exit(0)
        stay(fifo)
        if kind == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        while True:
            signal.pause()


LINES = {  # records appended to the ledger of rank 0
    "ledger-op": '{"op":[1]}',
    "ledger-op-unknown": '{"op":"frobnicate","group":[0]}',
    "ledger-op-null": '{"op":null,"step":0}',
    "ledger-op-wait": '{"op":"barrier","group":[0],"wait":"x"}',
    "ledger-null": "null",
    "ledger-count": '{"op":"all_reduce","redop":"sum","dtype":"fp32","count":"abc","group":[0]}',
    "ledger-counts": '{"op":"reduce_scatter","redop":"sum","dtype":"fp32","counts":5,"group":[0]}',
    "ledger-no-count": '{"op":"all_gather","dtype":"fp32","group":[0]}',
    "ledger-phase": '{"op":"barrier","group":[0],"phase":[1]}',
    "ledger-name": '{"op":"all_reduce","redop":"sum","dtype":"fp32","count":1,"group":[0],'
    '"name":[1]}',
    "ledger-root": '{"op":"broadcast","dtype":"fp32","count":1,"group":[0],"root":"x"}',
    "ledger-deep": DEEP,
    "ledger-wait": '{"wait":"x"}',
    "ledger-wait-ahead": '{"wait":1000000}',
    "ledger-empty": "{}",
    "ledger-wait-hang": '{"wait":"x"}',
    "ledger-text": "\udcff\udcfe",
    "ledger-nan": '{"op":"barrier","group":[0],"x":NaN}',
    "ledger-label": '{"op":"barrier","group":[0],"name":"' + "n" * 1001 + '"}',
    "ledger-records": '{"step":0}\n' * 100_000,
}


NUMBERS = {
    "number-decimal": "1.5",
    "number-integer": "10",
    "number-words": "Infinity",
    "number-space": " 0x1p0",
    "number-bare": "0x",
}


# fields of the first step of rank 0
FIRST = {"beyond": {"norm": "0x1p99999"}, "field": {"nrom": None}, "skipped": {"skipped": 0}}


def grow(name, size):
    """Makes a file of this size, which takes no space on the disk."""
    with open(name, "ab") as file:
        file.truncate(size)


def with_file(kind, folder, values):
    """Writes one parameter's values to a file in the ledgers' folder, or creates something that is
    not a file."""
    name = os.path.join(folder, "values")
    raw = b"".join(struct.pack("<f", float.fromhex(x)) for x in values)
    if kind == "file-fifo":
        os.mkfifo(name)
    elif kind == "file-folder":
        os.mkdir(name)
    elif kind in ("file-size", "files-size"):
        grow(name, (9 if kind == "file-size" else 8) << 20)
    elif kind != "file-missing":
        with open(name, "wb") as file:
            file.write(raw + b"x" * (kind == "file-odd"))
    return (
        {"file": name, "dtype": "int7" if kind == "file-dtype" else "fp32"}
        if kind != "file-nameless"
        else {"dtype": "fp32"}
    )


def large_ledgers(kind, world, folder):
    """One beyond the limit of a file, or all together beyond that of a case."""
    if kind == "ledger-size":
        grow(os.path.join(folder, "rank-0.jsonl"), 9 << 20)
        return
    for rank in range(world):
        with open(os.path.join(folder, f"rank-{rank}.jsonl"), "a", encoding="utf-8") as file:
            file.write("\n" * (7 << 20))


def broken(kind, answer, case, folder):
    """Applies the fault to a correct answer; returns the answer or a text."""
    if kind == "files-size":  # with a file, the answer is larger than 16 MiB
        answer["padding"] = "x" * (9 << 20)
    ranks, first = answer["ranks"], answer["ranks"][0]["steps"][0]
    name = next(iter(first["parameters"]))
    if kind in LINES:
        with open(
            os.path.join(folder, "rank-0.jsonl"), "a", encoding="utf-8", errors="surrogateescape"
        ) as file:
            file.write(LINES[kind] + "\n")
    elif kind in ("ledger-size", "ledgers-size"):
        large_ledgers(kind, case["world"], folder)
    elif kind == "ledger-folder":
        os.remove(os.path.join(folder, "rank-0.jsonl"))
        os.mkdir(os.path.join(folder, "rank-0.jsonl"))
    elif kind.startswith("file"):
        for rank in ranks:
            for step in rank["steps"][:1]:
                mine = os.path.join(folder, f"of-{rank['rank']}")
                os.mkdir(mine)
                step["parameters"][name] = with_file(kind, mine, step["parameters"][name])
                if kind == "file":
                    step["masters"] = {
                        n: [
                            [at, with_file(kind, os.path.dirname(f"{mine}-{n}-{at}/"), v)]
                            for at, v in runs
                            if os.mkdir(f"{mine}-{n}-{at}") is None
                        ]
                        for n, runs in step["masters"].items()
                    }
    elif kind in FIRST:
        first.update(FIRST[kind])
    elif kind in NUMBERS:
        first["parameters"][name] = [NUMBERS[kind]] * len(first["parameters"][name])
    elif kind == "number":
        first["parameters"][name] = [1.5] * len(first["parameters"][name])
    elif kind == "steps":
        ranks[0]["steps"] = [None] * case["steps"]
    elif kind == "ranks":
        answer["ranks"] = [5] * case["world"]
    elif kind == "masters":
        first["masters"] = {name: 5}
    elif kind == "masters-list":
        first["masters"] = [1]
    elif kind == "runs":
        first["masters"] = {name: [[0.5, ["0x1p0"]]]}
    return {
        "deep": DEEP,
        "no-json": "%%%",
        "half-json": "{%%%",
        "long": lambda: '{"status":"ok","x":"' + "y" * (100 << 20) + '"}',
        "unsupported": {"status": "unsupported", "message": {"x": [1]}},
        "no-status": {},
        "message": {"status": "error", "message": [1, 2]},
        "words-name": {
            "status": "error",
            "message": "</textarea><script>x ]]> \0\x1b[31m `a` | b\nnot ok 3 - x # SKIP"
            "\u202e\x9b2J",
        },
        "words-unsupported": {
            "status": "unsupported",
            "message": "no \1 kernel\nok 9 # TODO later",
        },
        "ledger-phase": {"status": "error", "message": "x"},
        "surrogate": {"status": "error", "message": "half \ud800 a pair\x00"},
    }.get(kind, answer)


# signals to the parent, which is the supervisor
PARENT = {f"parent-{name}": signal.Signals[name] for name in ("SIGTERM", "SIGINT", "SIGHUP")}
PARENT["parent-SIGSTOP"] = signal.SIGSTOP
KINDS = [
    *HELLOS,
    *LINES,
    *NUMBERS,
    *(f"hello-{kind}" for kind in ENDLESS),
    *ENDLESS,
    "hello-stays",
    "escapes",
    "escapes-and-exits",
    "unsupervised",
    *PARENT,
    "parent-after-hello",
    "folder-removed",
    "hello-dies",
    "hello-lacks-torch",
    "hello-lacks-megatron",
    "hello-exits",
    "deaf",
    "twice",
    "partial",
    "killed",
    "closes",
    "ledger-folder",
    "file",
    "file-size",
    "files-size",
    "ledger-size",
    "file-fifo",
    "file-folder",
    "file-missing",
    "file-odd",
    "file-dtype",
    "file-nameless",
    "beyond",
    "number",
    "field",
    "skipped",
    "steps",
    "ranks",
    "masters",
    "masters-list",
    "runs",
    "deep",
    "no-json",
    "half-json",
    "stray",
    "stray-later",
    "long",
    "unsupported",
    "no-status",
    "message",
    "surrogate",
]


def serve(kind):
    if kind == "hello-stays":
        stay(sys.argv[2])
        while True:
            signal.pause()
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "bye":
            break
        if request["do"] == "hello":
            if kind.startswith("hello-") and kind[6:] in ENDLESS:
                ENDLESS[kind[6:]]()
            if kind == "hello-dies":
                sys.exit("Traceback: no module named subject")
            if kind.startswith("hello-lacks-"):
                sys.exit(f"ModuleNotFoundError: No module named '{kind[12:]}.x'")
            if kind == "hello-exits":
                os._exit(7)
            if kind == "deaf":  # before the answer: afterwards the next case may fill the pipe
                fcntl.fcntl(0, fcntl.F_SETPIPE_SZ, 4096)  # smaller than a case
            out(HELLOS.get(kind, {**HELLO, "supports": LONG} if kind == "deaf" else HELLO))
            if kind == "parent-after-hello":
                os.kill(os.getppid(), signal.SIGTERM)
            if kind == "deaf":
                time.sleep(1000)
            continue
        answer = trainer.run(request["case"], "correct", request["ledgers"])
        if kind in ENDLESS:
            ENDLESS[kind]()
        if kind in ("escapes", "escapes-and-exits"):
            escape(sys.argv[2])
        if kind in ("escapes", "unsupervised"):
            stay(sys.argv[2])
        if kind == "unsupervised":
            os.kill(os.getppid(), signal.SIGKILL)
        if kind == "escapes-and-exits":
            with open(sys.argv[3], "rb") as file:  # until the test has read all numbers
                file.read()
            os._exit(0)
        while kind in ("escapes", "unsupervised"):
            signal.pause()
        if kind in PARENT:
            os.kill(os.getppid(), PARENT[kind])
            while kind != "parent-SIGSTOP":
                signal.pause()
        if kind == "folder-removed":
            shutil.rmtree(os.path.dirname(request["ledgers"]))
        if kind == "partial":
            sys.stdout.write('{"status":"ok"')
            sys.stdout.flush()
            os._exit(3)
        if kind == "killed":
            os.kill(os.getpid(), signal.SIGSEGV)
        if kind == "closes":
            os.close(1)
            time.sleep(1000)
        answer = broken(kind, answer, request["case"], request["ledgers"])
        if kind == "ledger-wait-hang":
            time.sleep(1000)
        if kind == "stray":
            out("stray\nstray")
            time.sleep(0.2)  # the judge reads it before the answer
        out(answer if kind != "twice" else f"{json.dumps(answer)}\n{json.dumps(answer)}")
        if kind == "stray-later":
            out("stray")


if __name__ == "__main__":
    if sys.argv[1:] == [] or sys.argv[1] not in KINDS:
        sys.exit(__doc__ + "\n" + "\n".join(f"  {kind}" for kind in KINDS))
    serve(sys.argv[1])
