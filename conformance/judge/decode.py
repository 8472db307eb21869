"""Decodes which contributions a wrong element holds. RED-2, RED-3, RED-6, RED-8, PART-6, STEP-4

The contributions to one element are distinct powers of four (times D·M and a unit). The element,
divided by the unit and read in base 4, therefore names each contribution that is missing or
doubled. If the subject returns no gradients, they are computed back from SGD's update; other
updates cannot be inverted."""

import math
from fractions import Fraction

import groups
import symptom


def value_of(case, k):
    """A number of a row, which may be the text of a large integer or of what is not finite."""
    if k in ("inf", "-inf", "nan"):
        return math.nan
    return Fraction(k) * Fraction(2) ** case["log2_unit"]


def home(case, j):
    """All entries that share entry j's storage: the uses of its tied key."""
    tied = case["parameters"][j]["tied"]
    if tied is None:
        return [j]
    return [i for i, e in enumerate(case["parameters"]) if e["tied"] == tied]


def contributions(case, step, j, tp, ep, element):
    """[(value, entry, dp, micro-batch, tp)]: the contributions to one element, divided for the
    mean. tp: None, or of the rank that computed a part of the gradient."""
    t = case["topology"]
    found = []
    for g, batch in enumerate(case["data"][step]):
        d, mb = g % t["dp"], g // t["dp"]
        for i in home(case, j):
            entry = case["parameters"][i]
            if batch[i] is None or (entry["expert"] and d % t["ep"] != ep):
                continue
            parts = range(t["tp"]) if is_partial(case, entry) else [None]
            for part in parts:
                row = batch[i][part or (tp if entry["sharded"] else 0)]
                x = value_of(case, row[element])
                if x:
                    found.append((x / (t["dp"] * case["micro_batches"]), i, d, mb, part))
    return found


def is_partial(case, entry):
    """True if each tp rank computes a part of the entry's gradient. RED-8"""
    return case.get("sequence", False) and not entry["sharded"]


def idle(case, step, j):
    """True if no micro-batch of the step uses the storage of entry j."""
    return all(batch[i] is None for batch in case["data"][step] for i in home(case, j))


def name(case, item):
    _, i, d, mb, part = item
    rank = f"dp {d}" if part is None else f"dp {d}, tp {part}"
    return f"contribution of {rank}, micro-batch {mb}" + (
        f" (use {case['parameters'][i]['name']})"
        if case["parameters"][i]["tied"] is not None
        else ""
    )


def multiplicities(parts, got):
    """{part: how often it is in got, 0 to 3 times}; None if got is not such a sum. Parts are powers
    of 4, so three times the sum of all smaller parts is still smaller than one part."""
    if got < 0:
        return None
    scale = math.lcm(got.denominator, *(p[0].denominator for p in parts))
    rest, found = int(got * scale), {}
    order = sorted(parts, key=lambda p: -p[0])
    small = [3 * sum(int(p[0] * scale) for p in order[i + 1 :]) for i in range(len(order))]
    for part, below in zip(order, small, strict=True):
        value = int(part[0] * scale)
        times = min(3, rest // value)
        if value <= 0 or rest - times * value > below:
            return None
        found[part] = times
        rest -= times * value
    return {p: found[p] for p in parts} if rest == 0 else None


class Undo:
    """Computes the reduced gradient back from an updated element, by SGD's rule."""

    def __init__(self, case, expected, step):
        self.case, self.expected, self.step = case, expected, step

    def before(self, what, j, copy, element):
        if self.step:
            return Fraction(
                float.fromhex(
                    self.expected["steps"][self.step - 1]["entries"][j][copy][what][element]
                )
            )
        return (
            Fraction(self.case["parameters"][j]["first"][copy][element])
            * Fraction(2) ** self.case["log2_first"]
        )

    def is_before(self, what, j, copy, element, x):
        """True if x is the element's value before the step, within the oracle's bounds if that was
        rounded."""
        right = self.expected["steps"][self.step - 1]["entries"][j][copy] if self.step else {}
        if f"{what}_low" in right:
            return (
                float.fromhex(right[f"{what}_low"][element])
                <= x
                <= float.fromhex(right[f"{what}_high"][element])
            )
        return math.isfinite(x) and Fraction(x) == self.before(what, j, copy, element)

    def gradient(self, what, j, copy, element, x):
        if what == "gradient":
            return Fraction(x)
        group = self.case["groups"][self.case["parameters"][j]["group"]]
        want = self.expected["steps"][self.step]
        if (
            group["optimizer"] != "sgd"
            or want["clipped"]
            or want["skipped"]
            or not math.isfinite(x)
        ):
            return None
        right = want["entries"][j][copy]
        # the element's error is -lr times the gradient's error
        error = Fraction(x) - Fraction(float.fromhex(right[what][element]))
        rate = Fraction(group["lr"])
        if "rates" in self.case:
            rate *= Fraction(self.case["rates"][self.step])
        return Fraction(float.fromhex(right["gradient"][element])) - error / rate


def explain(case, expected, step, wrong, coordinates, detail):
    """(clause, kind, texts) for the wrong elements of one step. Sets detail["symptom"]."""
    want = expected["steps"][step]
    undo = Undo(case, expected, step)
    copies = [copy_indices(case, coordinates, w)[2] for w in wrong]
    if want["skipped"]:
        detail["symptom"] = symptom.ranks(wrong, copies)
        return "STEP-6", "changed by a skipped step", ["a skipped step must not change it"]
    detail["symptom"] = symptom.of_elements(case, step, wrong, undo, copies)
    used = not all(idle(case, step, w[2]) for w in wrong)
    of_groups = groups.verdict(case, step, wrong, copies, undo, used)
    if of_groups:
        return of_groups
    if case["precision"] != "fp32" and any(w[0] != "parameter" for w in wrong):
        wrong = [
            w for w in wrong if w[0] != "parameter"
        ]  # masters are more precise than rounded parameters
    decoded, ratios, unchanged = {}, set(), []
    for one_wrong in wrong:
        what, rank, j, element, got, _right = one_wrong
        entry = case["parameters"][j]
        tp, ep, copy = copy_indices(case, coordinates, one_wrong)
        if entry["frozen"]:
            return "PART-1", "frozen", [f"{entry['name']} is frozen and must not change"]
        if (
            what != "gradient"
            and idle(case, step, j)
            and undo.is_before(what, j, copy, element, got)
        ):
            unchanged.append(
                f"rank {rank}, {entry['name']}[{element}]: unused in this step and left unchanged: "
                "weight "
                "decay and momentum were not applied"
            )
            continue
        g = undo.gradient(what, j, copy, element, got) if math.isfinite(got) else None
        if g is None:
            continue
        right = Fraction(float.fromhex(want["entries"][j][copy]["gradient"][element]))
        if right:
            ratios.add(g / right)
        decoded[(rank, j, element)] = (g, right, tp, ep, copy)
    if not decoded:
        if want["clipped"] and len(unchanged) < len(wrong):
            return "OPT-2", "clip", ["the update does not match the clipped gradient"]
        return "OPT-4", "update", unchanged[:4]
    if len(ratios) == 1 and all(g == r * next(iter(ratios)) for g, r, *_ in decoded.values()):
        r = next(iter(ratios))
        detail["symptom"] += ratio_labels(case, want, r) or [str(r)]
        return ratio(case, expected, step, r, wrong)
    return by_elements(case, expected, step, decoded, detail)


def copy_indices(case, coordinates, one_wrong):
    """(tp index, ep index, copy) of a wrong element."""
    t, entry = case["topology"], case["parameters"][one_wrong[2]]
    _, d, i = coordinates(case, one_wrong[1])
    tp, ep = (i if entry["sharded"] else 0), (d % t["ep"] if entry["expert"] else 0)
    return tp, ep, tp * (t["ep"] if entry["expert"] else 1) + ep


def by_elements(case, expected, step, decoded, detail):
    """The verdict that most elements support; decoded has the gradient of each."""
    kinds, lost, texts = {}, [], []
    for (rank, j, element), (g, _right, tp, ep, copy) in decoded.items():
        kind, text, missing = decode_element(case, expected, step, j, tp, ep, copy, element, g)
        kinds.setdefault(kind, []).append(
            f"rank {rank}, {case['parameters'][j]['name']}[{element}]: {text}"
        )
        lost += missing
    kind = max(kinds, key=lambda k: (len(kinds[k]), k))
    for k in sorted(kinds, key=lambda k: -len(kinds[k])):
        texts += kinds[k][:4]
    detail["symptom"] += symptom.of_contributions(case, lost)
    clause = {
        "missing": "RED-3",
        "parts missing": "RED-8",
        "doubled": "RED-3",
        "unused": "RED-6",
        "moved": "PART-6",
        "stale": "STEP-4",
    }.get(kind, "RED-2")
    return clause, kind, texts


def ratio_labels(case, want, r):
    """Names of the factors that equal a ratio: D, 1/D, …"""
    t = case["topology"]
    known = {
        "D": t["dp"],
        "M": case["micro_batches"],
        "D·M": t["dp"] * case["micro_batches"],
        "ep": t["ep"],
        "tp": t["tp"] if case.get("sequence") else 1,
        "replicas": case["replicas"],
        "the scale": Fraction(float.fromhex(want["used_scale"])),
        "the next scale": Fraction(float.fromhex(want["scale"])),
    }
    return [
        label if r > 1 else f"1/{label}"
        for label, value in known.items()
        if value != 1 and r in (Fraction(value), 1 / Fraction(value))
    ]


def ratio(case, expected, step, r, wrong):
    want = expected["steps"][step]
    labels = ratio_labels(case, want, r)
    text = f"every wrong gradient is {r} times the expected one" + (
        f" ({labels[0]})" if labels else ""
    )
    used, after = (Fraction(float.fromhex(want[n])) for n in ("used_scale", "scale"))
    if used != after and r == used / after:
        return (
            "STEP-6",
            "unscaled by the next scale",
            [
                text,
                f"the loss was multiplied by the scale {float(used):g}, but the gradient was "
                "divided by the next "
                f"step's scale {float(after):g}",
            ],
        )
    groups = {case["parameters"][w[2]]["group"] for w in wrong}
    if r == 0:
        return "RED-3", "missing", ["all contributions are missing"]
    if len(groups) == 1 and len(case["groups"]) > 1:
        mine = case["groups"][next(iter(groups))]
        for other in case["groups"]:
            if (
                other is not mine
                and mine["lr"]
                and r == Fraction(other["lr"]) / Fraction(mine["lr"])
            ):
                update = text.replace("gradient", "update", 1)
                return "OPT-4", "learning rate of another group", [update]
    return "RED-2", "ratio", [text]


def decode_element(case, expected, step, j, tp, ep, copy, element, g):
    """(kind, text, missing contributions) for one element whose gradient is g."""
    if g == of_all_experts(case, expected["steps"][step], j, tp, element):
        return "experts added", "it holds the sum of this element's gradients over all experts", []
    if groups.kept(case, expected, step, j, copy, element, g):
        return "stale", "it also holds the gradients of earlier steps", []
    parts = contributions(case, step, j, tp, ep, element)
    many = multiplicities(parts, g) if parts else None
    if many is not None:
        lost = [p for p, n in many.items() if n == 0]
        missing = [name(case, p) for p in lost]
        doubled = [f"{name(case, p)} was added {n} times" for p, n in many.items() if n > 1]
        if missing and not doubled:
            kind = "parts missing" if parts_of_others(parts, lost) else "missing"
            return kind, f"missing: {', '.join(missing)}", lost
        if doubled:
            text = "; ".join(doubled + [f"{m} is missing" for m in missing])
            return ("missing" if missing else "doubled"), text, lost
    row = [
        Fraction(float.fromhex(x)) for x in expected["steps"][step]["entries"][j][copy]["gradient"]
    ]
    nearest = sorted(
        (abs(e - element), e) for e, x in enumerate(row) if x == g and e != element and g != 0
    )
    if (
        step
        and g
        == Fraction(
            float.fromhex(
                expected["steps"][step - 1]["entries"][j][copy].get("gradient", row_zero(row))[
                    element
                ]
            )
        )
        and g != 0
    ):
        return "stale", "it holds the gradient of the previous step", []
    if nearest:
        return "moved", f"it holds the gradient of element {nearest[0][1]}", []
    if g == 0:
        return "missing", "all contributions are missing", []
    right = row[element]
    return (
        "garbled",
        f"gradient: got {float(g):.9g}, expected {float(right):.9g}; it is not a sum of "
        "contributions",
        [],
    )


def parts_of_others(parts, lost):
    """True if what is missing is all that some of the tp ranks computed, and nothing else."""
    whose = {part for *_, part in lost}
    return None not in whose and all(p in lost for p in parts if p[-1] in whose)


def of_all_experts(case, want, j, tp, element):
    """The sum of an element's gradients over all experts; None if there are no experts."""
    ep = case["topology"]["ep"]
    if not case["parameters"][j]["expert"] or ep == 1:
        return None
    return sum(
        Fraction(float.fromhex(copy["gradient"][element]))
        for copy in want["entries"][j][tp * ep : (tp + 1) * ep]
    )


def row_zero(row):
    return [(0.0).hex()] * len(row)
