"""Compares values with the oracle: bit for bit, or within the oracle's bounds where an operation
rounds.

RED-2 … RED-6, STAT-2 … STAT-4, STEP-4 … STEP-8, SCALE-3, SCALE-4, OPT-2 … OPT-4, TIE-1, TIE-2"""

import itertools
import math

import checkpoint
import groups
import limits
import symptom
from decode import explain, home
from protocol import RUNS, Malformed, number


def numbers(values, where):
    try:
        return [number(v) for v in values]
    except Malformed as error:
        raise Malformed(f"{where}: {error}") from None


def equal(a, b):
    """Equal as numbers: neither the sign of zero nor the payload of a NaN is judged."""
    return a == b or (math.isnan(a) and math.isnan(b))


class Finding:
    """One defect. Failures are grouped by clause and kind. detail["symptom"], if present, is a list
    of words that describe the defect in more detail; known.py compares it."""

    def __init__(self, clause, kind, text, step=None, rank=None, detail=None):
        self.clause, self.kind, self.text = clause, kind[: limits.LABEL], text[: limits.TEXT]
        self.step, self.rank, self.detail = step, rank, detail or {}

    def signature(self):
        return f"{self.clause} {self.kind}"

    def json(self):
        return {
            "clause": self.clause,
            "kind": self.kind,
            "text": self.text,
            "step": self.step,
            "rank": self.rank,
            **({"detail": self.detail} if self.detail else {}),
        }


def coordinates(case, rank):
    t = case["topology"]
    return rank // (t["dp"] * t["tp"]), rank // t["tp"] % t["dp"], rank % t["tp"]


def copy_of(case, entry, rank):
    """Which copy of an entry a rank holds, as in "first": tp index times ep plus ep index."""
    t = case["topology"]
    _, d, i = coordinates(case, rank)
    eps = t["ep"] if entry["expert"] else 1
    return (i if entry["sharded"] else 0) * eps + (d % t["ep"] if entry["expert"] else 0)


# Fields of runs, and what the expected values call an element.
ELEMENTS = {
    "masters": "master",
    "gradients": "gradient",
    "moments1": "moment1",
    "moments2": "moment2",
}
MOMENTS = ("moments1", "moments2")


def replica_of(case, rank):
    """Which replica of the sharded state a rank belongs to: blocks of consecutive dp indices."""
    _, d, _ = coordinates(case, rank)
    return d // (case["topology"]["dp"] // case["replicas"])


# Of several findings in one step, the first is most likely the cause: skipped or not, then decoded
# contributions, then decisions (norm, scale), then values that depend on all of these.
PRIORITY = {
    "skip": -1,
    "changed by a skipped step": 2,
    "norm": 2,
    "scale": 3,
    "loss": 4,
    "OPT-2": 4,
    "garbled": 5,
    "update": 5,
}


TENSORS = ("gradients", "masters", "parameters")


class Judge:
    """Judges one answer: the findings of the first step that is wrong."""

    def __init__(self, case, expected, answer, returns):
        self.case, self.expected, self.answer = case, expected, answer
        self.returns = set(returns)
        self.findings = []
        self.compared = set()  # fields that were present and compared: EVIDENCE in demands.py

    def add(self, *args, **more):
        self.findings.append(Finding(*args, **more))

    def run(self):
        ranks = self.answer["ranks"]  # protocol.load() has checked the form
        self.announced(ranks)
        begins = checkpoint.begins(self.case)
        if begins:
            self.loaded(begins - 1, [r["steps"][begins - 1] for r in ranks])
        for step in range(begins, self.case["steps"] if not self.findings else 0):
            self.step(step, [r["steps"][step] for r in ranks])
            if begins and not self.findings and self.compared:
                self.compared.add("continued")
            if self.findings:
                break  # later steps start from wrong values
        self.findings.sort(key=lambda f: PRIORITY.get(f.kind, PRIORITY.get(f.clause, 0)))
        return self.findings

    def announced(self, ranks):
        """A field that hello does not announce would not be compared, however wrong it is."""
        for rank, mine in enumerate(ranks):
            for step, fields in enumerate(mine["steps"]):
                for name in fields or ():
                    if name not in self.returns:
                        raise Malformed(
                            f'rank {rank}, step {step}: the answer has the field "{name}", which '
                            '"returns" in hello does not name'
                        )

    def loaded(self, step, got):
        """The state that the ranks have loaded, as that after the last step before the checkpoint:
        what they report of it."""
        right = self.expected["steps"][step]
        want = {**right, "skipped": True}  # no gradients
        reported = [{} if mine is None else mine for mine in got]
        for name in ("parameters", "masters", *MOMENTS):
            if not any(name in mine for mine in reported) or name not in self.returns:
                continue
            judge = self.parameters if name == "parameters" else self.shards
            wrong = judge(name, step, reported, want)
            if wrong:
                self.differs(step, f"loaded {name}", wrong)
        for rank, mine in enumerate(reported):
            if "scale" in self.returns and mine.get("scale") is not None:
                self.scale(step, rank, mine["scale"], right)

    def differs(self, step, kind, wrong):
        """Reports wrong elements from which no contributions can be decoded."""
        what, rank, j, element, got, right = wrong[0]
        copies = [copy_of(self.case, self.case["parameters"][w[2]], w[1]) for w in wrong]
        self.add(
            "OPT-4",
            kind,
            f"step {step}, rank {rank}: {what} {self.case['parameters'][j]['name']}[{element}]: "
            f"got {got:.9g}, expected {right:.9g} ({len(wrong)} wrong elements)",
            step=step,
            rank=rank,
            detail={"got": got.hex(), "want": right.hex(), "symptom": symptom.ranks(wrong, copies)},
        )

    def step(self, step, got):
        want = self.expected["steps"][step]
        if want["either"] is not None:
            self.either(step, got, want)
            return
        for name in ("skipped", "scale", "norm", "loss"):
            if name in self.returns:
                for rank, mine in enumerate(got):
                    if name not in mine:
                        raise Malformed(
                            f'rank {rank}, step {step}: "{name}" is missing, though hello '
                            "returns it"
                        )
                    getattr(self, name)(step, rank, mine[name], want)
        if self.returns & {"parameters", *RUNS}:
            self.tensors(step, got, want)

    # ---- Scalars

    def skipped(self, step, rank, got, want):
        if got is None:
            return
        self.compared |= {"skipped", "overflow"} if want["skipped"] else {"skipped"}
        if got is not want["skipped"]:
            verb = "is not skipped" if want["skipped"] else "is skipped"
            self.add(
                "STEP-6",
                "skip",
                f"step {step}, rank {rank}: skipped: got {got}, expected {want['skipped']}: "
                + ("a gradient is not finite" if want["skipped"] else "all gradients are finite"),
                step=step,
                rank=rank,
                detail={"symptom": [verb]},
            )

    def scale(self, step, rank, got, want):
        if got is None:
            return
        got, right = number(got), number(want["scale"])
        clause = "SCALE-3" if want["skipped"] else "SCALE-4"
        self.compared.add("scale after an overflow" if want["skipped"] else "scale after an update")
        if got != right:
            self.add(
                clause,
                "scale",
                f"step {step}, rank {rank}: loss scale after the step: got {got:g}, "
                f"expected {right:g}",
                step=step,
                rank=rank,
                detail={
                    "got": got,
                    "want": right,
                    "symptom": ["too small" if got < right else "too large"],
                },
            )

    def norm(self, step, rank, got, want):
        if want["skipped"]:
            return  # a skipped step may report a norm or none
        if got is None:
            return
        got, right = number(got), number(want["norm"])
        slack = number(want["norm_slack"]) * right
        self.compared.add("norm")
        if not abs(got - right) <= slack:
            ratio = got / right if right else math.inf
            self.add(
                "STAT-4",
                "norm",
                f"step {step}, rank {rank}: norm: got {got:.9g}, expected {right:.9g} "
                f"(ratio {ratio:.6g}; ratio squared {ratio * ratio:.6g})"
                + symptom.disagreement(self.norms(step), self.own_norms(step, want), right),
                step=step,
                rank=rank,
                detail={
                    "got": got,
                    "want": right,
                    "ratio": ratio,
                    "symptom": symptom.of_norm(self.case, want, got, right)
                    + symptom.of_norms(self.norms(step), right),
                },
            )

    def loss(self, step, rank, got, want):
        """The terms of this rank's stage, micro-batch by micro-batch: they show which parameters
        the forward pass used."""
        if got is None:
            return
        stage, d, t = coordinates(self.case, rank)
        for m, text in enumerate(got):
            right = want["losses"][stage][m * self.case["topology"]["dp"] + d][t]
            if right is None:
                continue
            loss, (value, slack) = number(text), map(number, right)
            self.compared.add("loss")
            if not abs(loss - value) <= slack:
                self.add(
                    "STEP-8",
                    "loss",
                    f"step {step}, rank {rank}, micro-batch {m}: loss: got {loss:.9g}, expected "
                    f"{value:.9g}",
                    step=step,
                    rank=rank,
                    detail={"got": loss, "want": value, "symptom": ["first step"] * (step == 0)},
                )
                return

    # ---- Steps that may be skipped or not

    def either(self, step, got, want):
        """A sum of finite gradients overflows unless it is divided before. So the ranks may all
        skip the step, or all take it with the right values: SPEC.md, "Overflow in a sum"."""
        said = {mine.get("skipped") for mine in got} - {None}
        self.compared |= {"skipped", "overflow"} if said else set()
        if len(said) > 1:
            self.add(
                "STAT-3",
                "skip",
                f"step {step}: some ranks skip it, others do not",
                step=step,
                detail={"symptom": ["ranks differ"]},
            )
            return
        skipped = {**self.before(step), "skipped": True, "scale": want["either"]["scale"]}
        taken = {**want, "skipped": False}
        for rank, mine in enumerate(got):
            if "scale" in self.returns and said:
                self.scale(step, rank, mine.get("scale"), skipped if True in said else taken)
            if "loss" in self.returns:
                self.loss(step, rank, mine.get("loss"), want)
        if said == {True}:
            self.tensors(step, got, skipped)
        elif said or self.wrong(step, got, skipped):
            self.taken(step, got, taken)

    def before(self, step):
        """What the parameters and masters were before a step, as an expected step."""
        if step:
            return self.expected["steps"][step - 1]
        unit = 2.0 ** self.case["log2_first"]
        entries = [
            [
                dict.fromkeys(("parameter", "master"), [(x * unit).hex() for x in copy])
                for copy in entry["first"]
            ]
            for entry in self.case["parameters"]
        ]
        return {**self.expected["steps"][0], "entries": entries}

    def taken(self, step, got, want):
        """All elements but the one that overflowed are judged as in any step. That one is finite
        and, where it can be computed from the gradient, right but for the roundings of its sum and
        divisions."""
        if self.infinite(step, got):
            return
        if "norm" in self.returns and self.case["precision"] == "fp16" and not want["clipped"]:
            loose = {**want, "norm_slack": (number(want["norm_slack"]) + self.rounding()).hex()}
            for rank, mine in enumerate(got):
                self.norm(step, rank, mine.get("norm"), loose)
        # the element may make the norm infinite in fp32, so what was clipped is not compared
        self.tensors(step, got, want, ("gradients",) if want["clipped"] else TENSORS)

    def rounding(self):
        """The relative error of at most eight roundings in the case's precision."""
        return 2.0 ** (4 - {"fp32": 24, "bf16": 8, "fp16": 11}[self.case["precision"]])

    def is_spared(self, j, element, want):
        one = want["either"]
        return (
            one is not None
            and not want["skipped"]
            and element == one["element"]
            and home(self.case, j)[0] == one["entry"]
        )

    def agrees_roughly(self, what, step, j, copy, element, x, right):
        """True if the element of which a sum may overflow is right within roundings."""
        if not math.isfinite(x):
            return False
        if what == "gradient":
            return abs(x - right) <= self.rounding() * abs(right)
        group = self.case["groups"][self.case["parameters"][j]["group"]]
        before = number(self.before(step)["entries"][j][copy][what][element])
        slack = self.rounding() * (abs(right) + 2 * abs(before))
        return group["optimizer"] != "sgd" or abs(x - right) <= slack

    def infinite(self, step, got):
        """Adds a finding if a parameter is not finite."""
        for rank, mine in enumerate(got):
            for name, values in mine.get("parameters", {}).items():
                bad = [x for x in map(number, values) if not math.isfinite(x)]
                if bad:
                    self.add(
                        "STEP-6",
                        "skip",
                        f"step {step}, rank {rank}: parameter {name} is {bad[0]}: a sum of finite "
                        "gradients overflowed, and the parameter was updated",
                        step=step,
                        rank=rank,
                        detail={"symptom": ["is not skipped"]},
                    )
                    return True
        return False

    def norms(self, step):
        """The norms that the ranks report in a step."""
        mine = [rank["steps"][step].get("norm") for rank in self.answer["ranks"]]
        return [number(norm) for norm in mine if norm is not None]

    def own_norms(self, step, want):
        """For each rank, the right norm of the elements whose gradients or masters it returned."""
        found = []
        for rank, answer in enumerate(self.answer["ranks"]):
            squares, mine = 0.0, answer["steps"][step]
            runs = mine.get("gradients") or mine.get("masters") or {}
            for j, entry in enumerate(self.case["parameters"]):
                copies = want["entries"][j]
                right = copies[copy_of(self.case, entry, rank)].get("gradient", [])
                for offset, values in runs.get(entry["name"], []):
                    held = right[offset : offset + len(values)]
                    squares += sum(number(x) ** 2 for x in held)
            found.append(math.sqrt(squares))
        return found

    # ---- Tensors

    def holds(self, rank, entry):
        return entry["stage"] == coordinates(self.case, rank)[0]

    def tensors(self, step, got, want, names=TENSORS):
        wrong = self.wrong(step, got, want, names)
        if wrong:
            self.explain(step, want, wrong)
        for name in MOMENTS if not wrong and want["either"] is None else ():
            moments = self.shards(name, step, got, want) if name in self.returns else []
            if moments:
                self.differs(step, "moment", moments)

    def wrong(self, step, got, want, names=TENSORS):
        """The wrong elements of these tensors."""
        wrong = []
        for name, judge in (
            ("gradients", self.shards),
            ("masters", self.shards),
            ("parameters", self.parameters),
        ):
            present = [name in mine for mine in got]  # an answer may omit masters or gradients
            if name != "parameters" and not any(present):
                continue
            if name not in names or (name == "gradients" and want["skipped"]):
                continue
            if name in self.returns:
                wrong += judge(name, step, got, want)
        return wrong

    def parameters(self, _name, step, got, want):
        wrong = []
        for rank, mine in enumerate(got):
            for j, entry in enumerate(self.case["parameters"]):
                if not self.holds(rank, entry):
                    continue
                if entry["name"] not in mine.get("parameters", {}):
                    raise Malformed(
                        f"rank {rank}, step {step}: parameter {entry['name']} is missing"
                    )
                values = numbers(
                    mine["parameters"][entry["name"]],
                    f"rank {rank}, step {step}: parameter {entry['name']}",
                )
                if len(values) != entry["numel"]:
                    raise Malformed(
                        f"rank {rank}, step {step}: elements of parameter {entry['name']}: got "
                        f"{len(values)}, "
                        f"expected {entry['numel']}"
                    )
                self.note_compared("parameters", entry, values, want)
                wrong += self.compare("parameter", step, rank, j, 0, values, want)
        return wrong

    def note_compared(self, name, entry, values, want):
        if values:
            self.compared.add(name)
            if entry["frozen"]:
                self.compared.add("frozen")
            elif name != "gradients" and not want["skipped"]:
                self.compared.add("update")

    def shards(self, name, step, got, want):
        """Runs of elements: each rank reports the ones it owns; the ranks of each replica together
        must cover the parameter."""
        what = ELEMENTS[name]
        wrong, seen, missing = [], {}, {}
        for rank, mine in enumerate(got):
            for j, entry in enumerate(self.case["parameters"]):
                if not self.holds(rank, entry) or entry["frozen"]:
                    continue
                copy = (j, copy_of(self.case, entry, rank), replica_of(self.case, rank))
                missing[copy] = missing.get(copy, 0) + entry["numel"]
                for run in mine.get(name, {}).get(entry["name"], []):
                    offset, values = (
                        run[0],
                        numbers(run[1], f"rank {rank}, step {step}: {name} of {entry['name']}"),
                    )
                    if offset < 0 or offset + len(values) > entry["numel"]:
                        raise Malformed(
                            f"rank {rank}, step {step}: {name} of {entry['name']}: elements "
                            f"{offset} to "
                            f"{offset + len(values)} are outside the parameter's {entry['numel']}"
                        )
                    seen.setdefault(copy, set()).update(range(offset, offset + len(values)))
                    missing[copy] -= len(values)
                    self.note_compared(name, entry, values, want)
                    wrong += self.compare(what, step, rank, j, offset, values, want)
        # an optimizer may have no moments of what it has not updated yet
        for j, entry in enumerate(self.case["parameters"] if name not in MOMENTS else ()):
            if entry["frozen"] or self.is_other_use(j) or groups.since(self.case, entry) > step:
                continue
            if name == "gradients" and all(batch[j] is None for batch in self.case["data"][step]):
                continue  # unused in this step, so it may have no gradient
            if any(left > 0 for copy, left in missing.items() if copy[0] == j):
                self.compared.add("shares")  # some rank lacks elements, so ownership is visible
            replicas = range(self.case["replicas"])
            for copy, replica in itertools.product(range(len(want["entries"][j])), replicas):
                lacking = entry["numel"] - len(seen.get((j, copy, replica), ()))
                if lacking:
                    where = f" of replica {replica}" if len(replicas) > 1 else ""
                    self.add(
                        "PART-6",
                        "unowned",
                        f"step {step}: {name} of {entry['name']}: no rank{where} owns {lacking} of "
                        f"{entry['numel']} elements",
                        step=step,
                    )
        return wrong

    def is_other_use(self, j):
        """True for the second and later uses of a tied key on one stage, which may report nothing:
        TIE-2."""
        entry = self.case["parameters"][j]
        return entry["tied"] is not None and any(
            i != j and e["tied"] == entry["tied"] and e["stage"] == entry["stage"]
            for i, e in enumerate(self.case["parameters"])
        )

    def compare(self, what, step, rank, j, offset, values, want):
        wrong = []
        copy = copy_of(self.case, self.case["parameters"][j], rank)
        right = want["entries"][j][copy]
        low, high = right.get(f"{what}_low"), right.get(f"{what}_high")
        for i, x in enumerate(values, offset):
            if self.is_spared(j, i, want):
                good = self.agrees_roughly(what, step, j, copy, i, x, number(right[what][i]))
            elif low is not None:
                good = number(low[i]) <= x <= number(high[i])
            else:
                good = equal(x, number(right[what][i]))
            if not good:
                wrong.append((what, rank, j, i, x, number(right[what][i])))
        return wrong

    def explain(self, step, want, wrong):
        # the contributions to an element whose sum overflows have no code
        coded = [w for w in wrong if not self.is_spared(w[2], w[3], want)]
        what, rank, j, element, got, right = [*coded, *wrong][0]
        name = self.case["parameters"][j]["name"]
        detail = {
            "what": what,
            "parameter": name,
            "element": element,
            "got": got.hex(),
            "want": right.hex(),
            "wrong": len(wrong),
            "values": [
                {
                    "what": w,
                    "rank": r,
                    "parameter": self.case["parameters"][k]["name"],
                    "element": e,
                    "got": g.hex(),
                    "want": x.hex(),
                }
                for w, r, k, e, g, x in wrong[:40]
            ],
        }
        steps = [*self.expected["steps"]]
        steps[step] = want  # which may be that of a skipped step
        expected = {**self.expected, "steps": steps}
        clause, kind, notes = "RED-2", "overflowing sum", []
        if coded:
            clause, kind, notes = explain(self.case, expected, step, coded, coordinates, detail)
        detail["decoded"] = notes
        text = f"step {step}, rank {rank}: {what} {name}[{element}]: "
        text += f"got {got:.9g}, expected {right:.9g}"
        if len(wrong) > 1:
            text += f" ({len(wrong)} wrong elements)"
        if notes:
            text += "; " + "; ".join(notes[:3])
        self.add(clause, kind, text, step=step, rank=rank, detail=detail)
