"""Provenance: which contributions a wrong element holds. RED-2, RED-3, RED-6, PART-6, STEP-4

Contributions that meet in an element are distinct powers of four (times D·M and a unit), so that
what an element holds, divided by the unit and read in base 4, names each contribution that is
missing, doubled, or was declared unused. Only SGD can be undone; where gradients are returned
nothing needs to be."""
import math
from fractions import Fraction

import symptom


def value_of(case, k):
    return math.nan if isinstance(k, str) else Fraction(k) * Fraction(2) ** case["log2_unit"]


def home(case, j):
    """All entries that share entry j's storage: the uses of its tied key."""
    tied = case["parameters"][j]["tied"]
    if tied is None:
        return [j]
    return [i for i, e in enumerate(case["parameters"]) if e["tied"] == tied]


def contributions(case, step, j, tp, ep, element):
    """[(value, entry, dp, micro-batch)] of what should meet in one element, mean taken."""
    t = case["topology"]
    found = []
    for g, batch in enumerate(case["data"][step]):
        d, mb = g % t["dp"], g // t["dp"]
        for i in home(case, j):
            entry = case["parameters"][i]
            if batch[i] is None or (entry["expert"] and d % t["ep"] != ep):
                continue
            x = value_of(case, batch[i][tp if entry["sharded"] else 0][element])
            if x:
                found.append((x / (t["dp"] * case["micro_batches"]), i, d, mb))
    return found


def idle(case, step, j):
    """Did nobody use what entry j stands for?"""
    return all(batch[i] is None for batch in case["data"][step] for i in home(case, j))


def name(case, item):
    _, i, d, mb = item
    return f"contribution of dp {d}, micro-batch {mb}" + (
        f" (use {case['parameters'][i]['name']})" if case["parameters"][i]["tied"] is not None else "")


def multiplicities(parts, got):
    """How often each part is in got, 0 to 3 times each: {part: times}; None when got is no such sum.
    Parts are so far apart (powers of 4) that three times all smaller ones do not make up for one."""
    if got < 0:
        return None
    scale = math.lcm(got.denominator, *(p[0].denominator for p in parts))
    rest, found = int(got * scale), {}
    order = sorted(parts, key=lambda p: -p[0])
    small = [3 * sum(int(p[0] * scale) for p in order[i + 1:]) for i in range(len(order))]
    for part, below in zip(order, small):
        value = int(part[0] * scale)
        times = min(3, rest // value)
        if value <= 0 or rest - times * value > below:
            return None
        found[part] = times
        rest -= times * value
    return {p: found[p] for p in parts} if rest == 0 else None


class Undo:
    """The reduced gradient that an updated element must have had, by SGD's rule."""

    def __init__(self, case, expected, step):
        self.case, self.expected, self.step = case, expected, step

    def before(self, what, j, copy, element):
        if self.step:
            return Fraction(float.fromhex(self.expected["steps"][self.step - 1]["entries"][j][copy][what][element]))
        return Fraction(self.case["parameters"][j]["first"][copy][element]) * Fraction(2) ** self.case["log2_first"]

    def is_before(self, what, j, copy, element, x):
        """Is x what the element was before the step? Within the oracle's bounds where that was rounded."""
        right = self.expected["steps"][self.step - 1]["entries"][j][copy] if self.step else {}
        if f"{what}_low" in right:
            return float.fromhex(right[f"{what}_low"][element]) <= x <= float.fromhex(right[f"{what}_high"][element])
        return Fraction(x) == self.before(what, j, copy, element)

    def gradient(self, what, j, copy, element, x):
        if what == "gradient":
            return Fraction(x)
        group = self.case["groups"][self.case["parameters"][j]["group"]]
        want = self.expected["steps"][self.step]
        if group["optimizer"] != "sgd" or want["clipped"] or want["skipped"] or not math.isfinite(x):
            return None
        right = want["entries"][j][copy]
        # what is too much in the element is lr times what is too much in the gradient
        wrong = Fraction(x) - Fraction(float.fromhex(right[what][element]))
        return Fraction(float.fromhex(right["gradient"][element])) - wrong / Fraction(group["lr"])


def explain(case, expected, step, wrong, coordinates, detail):
    """(clause, kind, texts) for the wrong elements of one step; detail["symptom"]: more to tell it by."""
    want = expected["steps"][step]
    undo = Undo(case, expected, step)
    copies = [place(case, coordinates, w)[2] for w in wrong]
    if want["skipped"]:
        detail["symptom"] = symptom.where(wrong, copies)
        return "STEP-6", "changed by a skipped step", ["a skipped step changes nothing"]
    detail["symptom"] = symptom.of_elements(case, step, wrong, undo, copies)
    if case["precision"] != "fp32" and any(w[0] != "parameter" for w in wrong):
        wrong = [w for w in wrong if w[0] != "parameter"]  # masters say more than what was rounded
    decoded, ratios, still = {}, set(), []
    for one_wrong in wrong:
        what, rank, j, element, got, _right = one_wrong
        entry = case["parameters"][j]
        tp, ep, copy = place(case, coordinates, one_wrong)
        if entry["frozen"]:
            return "PART-1", "frozen", [f"{entry['name']} is frozen"]
        if what != "gradient" and idle(case, step, j) and math.isfinite(got) \
                and undo.is_before(what, j, copy, element, got):
            still.append(f"rank {rank}, {entry['name']}[{element}]: nobody used it in this step, and it is as "
                         "before: its decay and momentum are left out")
            continue
        g = undo.gradient(what, j, copy, element, got) if math.isfinite(got) else None
        if g is None:
            continue
        right = Fraction(float.fromhex(want["entries"][j][copy]["gradient"][element]))
        if right:
            ratios.add(g / right)
        decoded[(rank, j, element)] = (g, right, tp, ep, copy)
    if not decoded:
        if want["clipped"] and len(still) < len(wrong):
            return "OPT-2", "clip", ["the update is not that of the clipped gradient"]
        return "OPT-4", "update", still[:4]
    if len(ratios) == 1 and all(g == r * next(iter(ratios)) for g, r, *_ in decoded.values()):
        r = next(iter(ratios))
        detail["symptom"] += ratio_labels(case, want, r) or [str(r)]
        return ratio(case, expected, step, r, wrong)
    return by_elements(case, expected, step, decoded, detail)


def place(case, coordinates, one_wrong):
    """(tp index, ep index, copy) of a wrong element."""
    t, entry = case["topology"], case["parameters"][one_wrong[2]]
    _, d, i = coordinates(case, one_wrong[1])
    tp, ep = (i if entry["sharded"] else 0), (d % t["ep"] if entry["expert"] else 0)
    return tp, ep, tp * (t["ep"] if entry["expert"] else 1) + ep


def by_elements(case, expected, step, decoded, detail):
    """What most of the elements show, each with the gradient that it must have had."""
    kinds, lost, says = {}, [], []
    for (rank, j, element), (g, _right, tp, ep, copy) in decoded.items():
        kind, text, missing = one(case, expected, step, j, tp, ep, copy, element, g)
        kinds.setdefault(kind, []).append(f"rank {rank}, {case['parameters'][j]['name']}[{element}]: {text}")
        lost += missing
    kind = max(kinds, key=lambda k: (len(kinds[k]), k))
    for k in sorted(kinds, key=lambda k: -len(kinds[k])):
        says += kinds[k][:4]
    detail["symptom"] += symptom.of_contributions(case, lost)
    clause = {"missing": "RED-3", "doubled": "RED-3", "unused": "RED-6", "moved": "PART-6",
              "stale": "STEP-4"}.get(kind, "RED-2")
    return clause, kind, says


def ratio_labels(case, want, r):
    """What a ratio may be: D, 1/D, ..."""
    t = case["topology"]
    known = {"D": t["dp"], "M": case["micro_batches"], "D·M": t["dp"] * case["micro_batches"],
             "ep": t["ep"], "the scale": Fraction(float.fromhex(want["used_scale"])),
             "the next scale": Fraction(float.fromhex(want["scale"]))}
    return [label if r > 1 else f"1/{label}" for label, value in known.items()
            if value != 1 and r in (Fraction(value), 1 / Fraction(value))]


def ratio(case, expected, step, r, wrong):
    want = expected["steps"][step]
    labels = ratio_labels(case, want, r)
    text = f"every wrong gradient is {r} times the right one" + (f" ({labels[0]})" if labels else "")
    used, after = (Fraction(float.fromhex(want[n])) for n in ("used_scale", "scale"))
    if used != after and r == used / after:
        return "STEP-6", "unscaled by the next scale", [
            text, f"the loss was scaled by {float(used):g}; unscaling by the scale of the next step, "
                  f"{float(after):g}, gives this"]
    groups = {case["parameters"][w[2]]["group"] for w in wrong}
    if r == 0:
        return "RED-3", "missing", ["the gradients are missing"]
    if len(groups) == 1 and len(case["groups"]) > 1:
        mine = case["groups"][next(iter(groups))]
        for other in case["groups"]:
            if other is not mine and mine["lr"] and r == Fraction(other["lr"]) / Fraction(mine["lr"]):
                return "OPT-4", "learning rate of another group", [text]
    return "RED-2", "ratio", [text]


def one(case, expected, step, j, tp, ep, copy, element, g):
    """(kind, text, contributions that are missing) for one element whose gradient is g."""
    if g == of_all_experts(case, expected["steps"][step], j, tp, element):
        return "experts added", "it holds what belongs to this element of all experts", []
    parts = contributions(case, step, j, tp, ep, element)
    many = multiplicities(parts, g) if parts else None
    if many is not None:
        lost = [p for p, n in many.items() if n == 0]
        missing = [name(case, p) for p in lost]
        doubled = [f"{name(case, p)} is there {n} times" for p, n in many.items() if n > 1]
        if missing and not doubled:
            return "missing", f"{', '.join(missing)} missing", lost
        if doubled:
            text = "; ".join(doubled + [f"{m} missing" for m in missing])
            return ("missing" if missing else "doubled"), text, lost
    row = [Fraction(float.fromhex(x)) for x in expected["steps"][step]["entries"][j][copy]["gradient"]]
    near = sorted((abs(e - element), e) for e, x in enumerate(row) if x == g and e != element and g != 0)
    if step and g == Fraction(float.fromhex(
            expected["steps"][step - 1]["entries"][j][copy].get("gradient", row_zero(row))[element])) and g != 0:
        return "stale", "it holds the gradient of the step before", []
    if near:
        return "moved", f"it holds what belongs to element {near[0][1]}", []
    if g == 0:
        return "missing", "all contributions are missing", []
    right = row[element]
    return "garbled", f"its gradient is {float(g):.9g}, not {float(right):.9g}: no sum of contributions", []


def of_all_experts(case, want, j, tp, element):
    """What an element would hold if gradients of different experts were added; None where there are none."""
    ep = case["topology"]["ep"]
    if not case["parameters"][j]["expert"] or ep == 1:
        return None
    return sum(Fraction(float.fromhex(copy["gradient"][element])) for copy in want["entries"][j][tp * ep:(tp + 1) * ep])


def row_zero(row):
    return [(0.0).hex()] * len(row)
