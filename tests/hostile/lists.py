"""Lists of --known, --support and --quick, read by `check`; reports of `check` and a table of
mutants, read by judge/results.py."""

import os

import mutate
import samples

RECIPE = samples.RECIPES[0]
KNOWN = {
    "causes": {
        "c": {
            "title": "sums are not divided",
            "class": "by design",
            "subject": "zeroproof ref",
            "note": "an explanation",
            "issue": "https://example.org/issues/1",
            "upstream": "open",
            "documented": "file.py:1",
            "alias": "L1",
        }
    },
    "failures": [
        {
            "cause": "c",
            "clause": "RED-2",
            "kind": "ratio",
            "also": ["RED-3 missing"],
            "symptom": ["ranks agree + 1/dp", "ranks differ"],
            "needs": ["dp", "several steps"],
            "lacks": ["pp"],
            "recipe": RECIPE,
        },
        {
            "cause": "c",
            "clause": "RUN-1",
            "kind": "error",
            "needs": [],
            "chance": {"replays": 200, "failed": 60},
            "recipe": RECIPE,
        },
    ],
}
MUTANTS = {
    "schema": "zeroproof/mutants/2",
    "seed": 1,
    "mutants": [
        {
            "row": 7,
            "mutant": "pr7847",
            "engine": "ref",
            "clause": "STAT-1",
            "by": "suite",
            "kind": "norm",
            "cases": 3,
            "also": ["STAT-4"],
            "recipe": RECIPE,
        },
        {"row": None, "mutant": "x", "engine": "cuda", "clause": None, "by": None, "cases": 9},
    ],
}
LISTS = ("--known", "--support", "--quick")


class Kind:
    name = "lists"

    def __init__(self, made):
        self.python = made.python
        self.program = os.path.join(samples.ROOT, "conformance", "judge", "results.py")
        hello = made.hello()
        support = {name: hello[name] for name in ("name", "version", "level", "returns")}
        support.update(world=8, supports=hello["supports"], options=hello["options"])
        support.update(without=[], unsupported=["a reason"])
        self.lists = {"--known": KNOWN, "--support": support, "--quick": {"cases": [RECIPE]}}
        self.report = mutate.json_copy(made.report())
        self.report["causes"][0]["known"] = {**KNOWN["causes"]["c"], **KNOWN["failures"][0]}

    def checked(self, option, data):
        """`check` with a list."""
        argv = ["{zeroproof}", "check", "--adapter", "{zeroproof} adapter", "--jobs", "1"]
        argv += ["--shrink", "0", option, "list.json", "--json"]
        argv += [] if option == "--quick" else ["--cases", "1"]
        return {"argv": argv, "files": {"list.json": {"bytes": data}}, "json": True}

    def shown(self, report, mutants=None):
        """results.py on two reports."""
        argv = [self.python, "-B", self.program, "--out", "out", "a.json", "b.json"]
        files = {"a.json": {"bytes": report}, "b.json": {"bytes": mutate.dump(self.report)}}
        if mutants is not None:
            argv += ["--mutants", "mutants.json"]
            files["mutants.json"] = {"bytes": mutants}
        return {"argv": argv, "files": files, "writes": ["out"]}

    def unchanged(self):
        """Each list, and reports with and without mutants: (what, item, exit codes)."""
        for option, document in self.lists.items():
            # the failures of KNOWN do not occur
            code = 1 if option == "--known" else 0
            yield option, self.checked(option, mutate.dump(document)), (code,)
        report = mutate.dump(self.report)
        yield "reports", self.shown(report), (0,)
        yield "reports, mutants", self.shown(report, mutate.dump(MUTANTS)), (0,)

    def make(self, dice):
        if dice.random() < 0.4:
            option = dice.choice(LISTS)
            item = self.checked(option, self.changed(dice, self.lists[option]))
        elif dice.random() < 0.7:
            item = self.shown(self.changed(dice, self.report))
        else:
            item = self.shown(mutate.dump(self.report), self.changed(dice, MUTANTS))
        if dice.random() < 0.05:
            mutate.kind_of_file(dice, item["files"])
        return item

    def changed(self, dice, document):
        """A document with other texts, or with any changes."""
        if dice.random() < 0.6:
            return mutate.json_bytes(dice, document)
        copy = mutate.json_copy(document)
        texts = [(at, key) for at, key in mutate.nodes(copy) if isinstance(at[key], str)]
        for at, key in dice.sample(texts, min(len(texts), dice.choice([1, 3, 20]))):
            at[key] = mutate.string(dice)
        return mutate.dump(copy)
