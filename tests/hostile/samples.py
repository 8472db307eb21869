"""Valid inputs, made by the project's own commands: what the mutators start from."""

import ctypes
import ctypes.util
import json
import os
import re
import subprocess
import sys

import laws

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODEL = (
    "--layers 1 --d-model 8 --heads 1 --context 8 --batch 1 --micro-batches 1 --pp 2 --dp 2 "
    "--sample 0"
).split()
RECIPES = [
    "precision=fp32,reduce=exact,M=1,bucket=4,pp=1,dp=1,tp=1,ep=1,stage=1,steps=1,list=3@0.0",
    "precision=fp32,reduce=exact,M=2,bucket=8,pp=1,dp=2,tp=1,ep=1,stage=2,unit=0,steps=2,"
    "mode=coded,seed=4,optim=momentum,clip=1,list=5@0.0+2@0.1+4@0.0f",
    "precision=bf16,reduce=exact,M=2,bucket=16,pp=2,dp=2,tp=1,ep=1,stage=1,unit=-3,tuple=1,"
    "vary=1,dynamic=1,steps=1,mode=coded,seed=9,optim=sgd,scale=5:2:1:0:0:8,"
    "list=4@0.0t0+3@0.0+6@1.1+4@1.0t0",
    "precision=fp16,reduce=exact,M=1,bucket=64,pp=1,dp=2,tp=2,ep=2,stage=0,steps=2,mode=coded,"
    "seed=11,optim=adamw,scale=3,overflow=16384,unused=51,list=6@0.0s+4@0.0e+2@0.0",
]
FAULT = "ds551"  # of `adapter`: it fails RECIPES[1]
CONFIGS = [
    {"pp": 2, "dp": 2, "params": [{"numel": 5, "stage": 0}, {"numel": 7, "stage": 1}]},
    {
        "pp": 2,
        "dp": 4,
        "tp": 2,
        "ep": 2,
        "stage": 1,
        "micro_batches": 2,
        "bucket": "4Ki",
        "align": 4,
        "precision": "fp16",
        "reduce": "ordered",
        "dynamic_shapes": True,
        "steps": 2,
        "seed": 5,
        "params": [
            {"name": "embedding", "numel": 33, "stage": 0, "tied": 0, "sharded": True},
            {"name": "mlp", "numel": 8, "stage": 0, "optgroup": 1, "expert": True},
            {"name": "old", "numel": 3, "stage": 1, "frozen": True},
            {"name": "head", "numel": 33, "stage": 1, "tied": 0, "sharded": True},
            {"numel": 6, "stage": 1, "unused": [[0, 1], [1, 0]], "unused_percent": 20},
        ],
        "optgroups": 2,
        "tied_keys": 1,
        "optimizer": [
            {"kind": "adamw", "lr": 0.001, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8},
            {"kind": "sgd", "lr": 0.1, "momentum": 0.9, "weight_decay": 0.01},
        ],
        "clip": 1.0,
        "clip_eps": 1e-6,
        "loss_scale": {
            "init": 65536,
            "min": 1,
            "max": 16777216,
            "window": 2,
            "hysteresis": 2,
            "consecutive": True,
        },
    },
    {
        "pp": 3,
        "groups": [2, 1, 1],
        "micro_batches": 5,
        "loss_scale": 1024,
        "optimizer": [{}],
    },
]
TRAINING = {
    "stage": 1,
    "bucket": "4Ki",
    "precision": "fp16",
    "reduce": "ordered",
    "seed": 5,
    "clip": 1.0,
    "clip_eps": 1e-6,
    "loss_scale": CONFIGS[1]["loss_scale"],
}


class Failed(Exception):
    """A sample could not be made: the environment, or the command, is broken."""


def read(name):
    with open(name, "rb") as file:
        return file.read()


class Xxh3:
    """The checksum of checkpoints, by the library that the project links."""

    def __init__(self):
        name = ctypes.util.find_library("xxhash")
        if name is None:
            raise Failed("libxxhash is not installed (Debian: libxxhash-dev)")

        class Hash(ctypes.Structure):
            _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]

        self.function = ctypes.CDLL(name).XXH3_128bits
        self.function.restype = Hash
        self.function.argtypes = [ctypes.c_char_p, ctypes.c_size_t]

    def __call__(self, data):
        h = self.function(data, len(data))
        return f"{h.high:016x}{h.low:016x}".encode()


class Samples:
    """program: the command under test; folder: where samples may be made."""

    def __init__(self, program, folder):
        self.program, self.folder, self.python = program, folder, sys.executable
        simdev = program + laws.SIMDEV
        self.simdev = simdev if os.access(simdev, os.X_OK) else None
        self.xxh3 = Xxh3()
        self._cases = self._answers = self._checkpoints = self._report = None

    def out(self, *argv, given=b"", code=0):
        run = subprocess.run(
            [self.program, *argv],
            input=given,
            capture_output=True,
            cwd=self.folder,
            check=False,
        )
        if run.returncode != code:
            raise Failed(
                f"{self.program} {' '.join(argv)}: exit code {run.returncode}: "
                f"{run.stderr.decode('utf-8', 'replace')[-500:]}"
            )
        return run.stdout

    def cases(self):
        """Conformance cases as documents: those of RECIPES, and some by chance."""
        if self._cases is None:
            lines = self.out("cases", *RECIPES) + self.out("cases", "--random", "16", "--seed", "7")
            self._cases = [json.loads(line) for line in lines.splitlines()]
        return self._cases

    def answers(self):
        """[(case, answer, {file name: ledger})] of the project's own adapter."""
        if self._answers is None:
            self._answers = []
            for number, case in enumerate(self.cases()):
                ledgers = os.path.join(self.folder, f"ledgers-{number}")
                os.makedirs(ledgers, exist_ok=True)
                request = {"do": "run", "case": case, "ledgers": ledgers}
                given = json.dumps(request).encode() + b'\n{"do": "bye"}\n'
                answer = json.loads(self.out("adapter", given=given).splitlines()[0])
                if answer["status"] == "ok":
                    files = {n: read(os.path.join(ledgers, n)) for n in sorted(os.listdir(ledgers))}
                    self._answers.append((case, answer, files))
            if not self._answers:
                raise Failed("the project's own adapter answered no case")
        return self._answers

    def report(self):
        """A report of `check`, with a failure, and little of what else it has."""
        if self._report is None:
            adapter = f"{self.program} adapter --fault {FAULT}"
            argv = ["check", "--adapter", adapter, "--json", "--shrink", "0", "--jobs", "1"]
            made = json.loads(self.out(*argv, "--only", RECIPES[1], code=1))
            for cause in made["causes"]:
                cause.update(case={}, expected={}, answer={"status": "ok"})
                cause["ledgers"] = [records[:4] for records in cause["ledgers"]]
            if not made["causes"]:
                raise Failed(f"the fault {FAULT} is not found in {RECIPES[1]}")
            self._report = made
        return self._report

    def hello(self):
        given = b'{"do": "hello", "protocol": 1}\n{"do": "bye"}\n'
        return json.loads(self.out("adapter", given=given).splitlines()[0])

    def checkpoints(self):
        """[{name: bytes}] of two saved folders: one save, and a save after a load."""
        if self._checkpoints is None:
            self.out("train", "--steps", "1", *MODEL, "--save", "ck")
            first = self.tree("ck")
            self.out("train", "--steps", "1", *MODEL, "--load", "ck", "--save", "ck")
            self._checkpoints = [first, self.tree("ck")]
        return self._checkpoints

    def tree(self, name):
        found = {}
        for at, _, names in os.walk(os.path.join(self.folder, name)):
            for one in names:
                full = os.path.join(at, one)
                found[os.path.relpath(full, self.folder)] = read(full)
        return found

    def options(self, command):
        """[(flag, what its value is called or None)] as --help of a command lists them."""
        text = self.out(command, "--help").decode()
        return re.findall(r"^ {2,6}(?:-\w, )?(--[a-z-]+)(?:\[?=(\S+?)\]?)?(?=\s|$)", text, re.M)
