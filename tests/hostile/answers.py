"""Answers of an adapter: `zeroproof check` judges them. The adapter is reply.py, which gives the
answers of a file; each run judges several."""

import base64
import json

import mutate
import reply

EACH = 4  # answers of one run
HELLO = {
    "protocol": 1,
    "name": "hostile",
    "version": "1",
    "level": 2,
    "returns": [
        "norm",
        "skipped",
        "scale",
        "parameters",
        "masters",
        "gradients",
        "loss",
        "moments1",
        "moments2",
        "ledger",
    ],
}
TENSORS = [
    {"file": "{box}/work/tensor", "dtype": "fp32"},
    {"file": "{box}/work/tensor", "dtype": "bf16"},
    {"file": "{box}/work/odd", "dtype": "fp64"},
    {"file": "{box}/work/fifo", "dtype": "fp32"},
    {"file": "{box}/work/folder", "dtype": "fp32"},
    {"file": "{box}/work/missing", "dtype": "fp32"},
    {"file": "{box}/work/sparse", "dtype": "fp16"},
    {"file": "/dev/zero", "dtype": "fp16"},
    {"file": "", "dtype": "fp32"},
    {"file": "a\0b", "dtype": "fp32"},
    {"file": "\ud800", "dtype": "fp32"},
    {"file": "{box}/work/tensor", "dtype": "fp99"},
]
# What reply.py does instead of answering.
BEHAVIOURS = ["blank", "drip", "silent", "exit", "killed", "child", "endless", "stderr"]
BEHAVIOURS += ["hangs up on the parent", "removes the folder above ledgers"]
LINES = [
    b"",
    b"\n\n\n",
    b"{}",
    b"[]",
    b"null",
    b"\xff\xfe",
    b"\0",
    b'{"status": "ok"}',
    b'{"status": "ok", "ranks": []}',
    b'{"status": "error", "message": "\x1b[2J"}',
    '{"status": "error", "message": "\u202e \x9b \\u001b[31m \\ud800 </script>"}'.encode(),
    b'{"status": "unsupported"}',
    b'{"status": "error", "message": ' + b"9" * 5000 + b"}",
    b'{"status": "ok", "status": "error"}',
    b"{" * 100000,
    b'{"status": "error", "message": "' + b"x" * (1 << 20) + b'"}',
]


def encoded(data):
    return base64.b64encode(data).decode()


class Kind:
    name = "answers"
    levels = (1, 2)

    def __init__(self, made):
        self.python, self.answered = made.python, made.answers()
        self.true_hello = {**made.hello(), **HELLO}
        self.true_hello.pop("options", None)

    def entry(self, dice, case, answer, ledgers):
        """One scripted reply: the line and the files of the ledgers' folder."""
        line = mutate.json_bytes(dice, answer).replace(b"\n", b" ")
        pick = dice.random()
        if pick < 0.1:
            line = dice.choice(LINES)
        elif pick < 0.2:
            copy = mutate.json_copy(answer)
            tensors = [n for n in mutate.nodes(copy) if isinstance(n[0][n[1]], list)]
            at, key = dice.choice(tensors)
            at[key] = dice.choice(TENSORS)
            line = json.dumps(copy).encode()
        entry = {
            "line": encoded(line),
            "files": {n: encoded(d) for n, d in ledgers.items()},
        }
        if dice.random() < 0.05:
            entry["before"] = encoded(dice.choice([b"\n" * 1000, b"{}\n", b"\x1b[2J\n"]))
        return entry

    def make(self, dice):
        chosen = dice.sample(self.answered, min(EACH, len(self.answered)))
        script = {"hello": encoded(json.dumps(self.hello(dice)).encode()), "runs": {}}
        only = []
        for case, answer, ledgers in chosen:
            entry = self.entry(dice, case, answer, ledgers)
            if dice.random() < 0.03:
                entry["do"] = dice.choice(BEHAVIOURS)
            script["runs"][reply.key(case["recipe"])] = entry
            only += ["--only", case["recipe"]]
        if dice.random() < 0.15:
            script["hello"] = encoded(mutate.json_bytes(dice, self.true_hello).replace(b"\n", b" "))
        return self.item(
            script, only, dice.choice(self.levels), dice.random() < 0.5, dice.random() < 0.5
        )

    def item(self, script, only, level, json_out, report):
        argv = ["{zeroproof}", "check", "--adapter", f"{self.python} -B {{here}}/reply.py replies"]
        argv += ["--jobs", "1", "--shrink", "0", "--deadline", "10", "--level", str(level), *only]
        argv += ["--json"] * json_out + ["--out", "out"] * report
        return {
            "argv": argv,
            "files": {
                "replies": {"bytes": json.dumps(script).encode()},
                "tensor": {"bytes": b"\0\0\x80\x3f" * 6},
                "odd": {"bytes": b"123"},
                "fifo": {"fifo": True},
                "folder": {"folder": True},
                "sparse": {"sparse": 1 << 34},
            },
            "json": json_out,
            "writes": ["out"],
            "inputs": len(only) // 2,
        }

    def true_files(self, _case, ledgers):
        return ledgers

    def unchanged(self):
        """All answers as they were given: (what, item, exit codes)."""
        hello = json.dumps(self.hello(None)).encode()
        script, only = {"hello": encoded(hello), "runs": {}}, []
        for case, answer, ledgers in self.answered:
            files = {n: encoded(d) for n, d in self.true_files(case, ledgers).items()}
            line = encoded(json.dumps(answer).encode())
            script["runs"][reply.key(case["recipe"])] = {"line": line, "files": files}
            only += ["--only", case["recipe"]]
        for level in self.levels:
            yield f"level {level}", self.item(script, only, level, True, False), (0,)

    def hello(self, dice):
        return self.true_hello
