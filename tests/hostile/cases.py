"""Conformance cases as JSON: read by the oracle and by the project's own adapter."""

import json

import mutate

SHAPES = [
    [4611686018427387904],
    [2147483647, 3],
    [-1],
    [0],
    [1 << 20, 1 << 20, 1 << 20],
    [1] * 3000,
    [65536, 65536],
    [],
    [1.5],
    ["2"],
]


class Kind:
    name = "cases"

    def __init__(self, made):
        self.cases = made.cases()
        self.staged = [case for case in self.cases if case["messages"]]
        self.adapters = [["{zeroproof}", "adapter"]]
        if made.simdev:
            self.adapters.append(["{simdev}", "adapter", "--engine", "cuda"])

    def unchanged(self):
        """All cases for each reader: (what, item, exit codes)."""
        lines = [json.dumps(case).encode() for case in self.cases]
        item = {"argv": ["{zeroproof}", "oracle"], "stdin": b"\n".join(lines), "json": "lines"}
        yield "oracle", item, (0,)
        for adapter in self.adapters:
            given = [self.request(line, b"{box}/work/ledgers") for line in lines]
            yield " ".join(adapter), self.requests(adapter, given), (0,)

    def case(self, dice):
        if dice.random() < 0.8:
            return mutate.json_bytes(dice, dice.choice(self.cases))
        # a hostile shape alone: with another change the case may be refused before it is used
        document = mutate.json_copy(dice.choice(self.staged))
        shapes = [at for at, key in mutate.nodes(document["messages"]) if key == "shape"]
        for at in dice.sample(shapes, min(len(shapes), dice.randint(1, 3))):
            at["shape"] = dice.choice(SHAPES)
        return mutate.dump(document)

    def request(self, case, folder):
        return b'{"do":"run","case":' + case + b',"ledgers":"' + folder + b'"}'

    def changed(self, dice):
        case = self.case(dice).replace(b"\n", b" ")
        if dice.random() < 0.2:
            return mutate.json_bytes(dice, {"do": "run", "case": {}, "ledgers": "/missing"})
        folder = dice.choice([b"{box}/work/ledgers", b"{box}/work/missing", b"/proc/missing"])
        return self.request(case, folder)

    def requests(self, adapter, lines, end=b"\n"):
        lines = [b'{"do":"hello","protocol":1}', *lines]
        return {
            "argv": adapter,
            "stdin": b"\n".join(lines) + end,
            "files": {"ledgers": {"folder": True}},
            "writes": ["ledgers"],
            "json": "lines",
        }

    def make(self, dice):
        pick = dice.random()
        if pick < 0.4:
            given = {"case.json": {"bytes": self.case(dice)}}
            if dice.random() < 0.05:
                mutate.kind_of_file(dice, given)
            return {
                "argv": ["{zeroproof}", "oracle", "case.json"],
                "files": given,
                "json": "lines",
            }
        if pick < 0.6:
            lines = [self.case(dice).replace(b"\n", b" ") for _ in range(3)]
            return {
                "argv": ["{zeroproof}", "oracle"],
                "stdin": b"\n".join(lines) + b"\n",
                "json": "lines",
            }
        lines = [self.changed(dice) for _ in range(3)]
        if dice.random() < 0.8:
            lines.append(b'{"do":"bye"}')
        return self.requests(dice.choice(self.adapters), lines, dice.choice([b"\n", b""]))
