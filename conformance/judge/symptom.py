"""What a finding looks like, in words: more than its clause and kind, and nothing that differs between two cases of
one bug. Known failures are told from new ones by these (known.py).

"only X" and the like hold for every wrong element; a word that does not hold for all is left out."""
import itertools
import math
from fractions import Fraction


def holds(entry, trait):
    return entry["tied"] is not None if trait == "tied" else bool(entry[trait])


TRAITS = (("expert", "experts"), ("sharded", "sharded"), ("tied", "tied"))


def of_elements(case, step, wrong, undo, copies):
    """Words for wrong elements, (what, rank, entry, element, got, right) each; copies: of each, which copy."""
    words = ["masters alone"] if {w[0] for w in wrong} == {"master"} else []
    words.append("ranks agree" if agree(wrong, copies) else "ranks differ")
    entries = [case["parameters"][j] for j in sorted({w[2] for w in wrong})]
    words += [f"only {name}" for trait, name in TRAITS if all(holds(e, trait) for e in entries)]
    if all(case["groups"][e["group"]]["weight_decay"] for e in entries):
        words.append("only decayed")
    batches = [[batch[j] is not None for batch in case["data"][step]] for j in {w[2] for w in wrong}]
    if not any(map(any, batches)):
        words.append("only unused by all")
    elif not any(map(all, batches)):
        words.append("only unused somewhere")
    return words + updates(wrong, undo, copies)


def agree(wrong, copies):
    """Is what one element is on several ranks the same wrong number? A rank that has it right is not asked."""
    seen = {}
    for (what, _, j, element, got, _), copy in zip(wrong, copies):
        seen.setdefault((what, j, copy, element), set()).add(str(got))
    return all(len(values) == 1 for values in seen.values())


def updates(wrong, undo, copies):
    """How far elements moved, compared with how far they should have."""
    found = set()
    for (what, _, j, element, got, right), copy in zip(wrong, copies):
        if what == "gradient" or not (math.isfinite(got) and math.isfinite(right)):
            continue
        before = undo.before(what, j, copy, element)
        moved, due = Fraction(got) - before, Fraction(right) - before
        found.add("no update" if moved == 0 else "update where none is due" if due == 0 else
                  "other way" if moved * due < 0 else "smaller update" if abs(moved) < abs(due) else "larger update")
    return sorted(found) if len(found) == 1 else ["several kinds of updates"] if found else []


def of_contributions(case, missing):
    """Words for contributions (value, entry, dp, micro-batch) that are missing."""
    last = case["micro_batches"] - 1
    micro_batches = {mb for *_, mb in missing}
    if not missing or not last:
        return []
    return ["earlier micro-batches"] if last not in micro_batches else \
        ["last micro-batch"] if micro_batches == {last} else ["several micro-batches"]


def norm_parts(case, want):
    """trait values -> the squares of the gradients of parameters that have these, each storage's once."""
    parts, seen = {}, set()
    for j, entry in enumerate(case["parameters"]):
        key = entry["name"] if entry["tied"] is None else entry["tied"]
        if key in seen or entry["frozen"]:
            continue
        seen.add(key)
        kind = tuple(holds(entry, trait) for trait, _ in TRAITS)
        for copy in want["entries"][j]:
            square = sum(Fraction(float.fromhex(x)) ** 2 for x in copy.get("gradient", []))
            parts.setdefault(kind, []).append(square)
    return parts


def of_norm(case, want, got, right):
    """Words for a norm; where it is that of a part of the gradients, of which."""
    if not math.isfinite(got):
        return ["not finite"]
    words = ["zero" if got == 0 else "too small" if got < right else "too large"]
    parts = norm_parts(case, want)
    for n, (_, name) in enumerate(TRAITS):
        with_it = [s for kind, squares in parts.items() if kind[n] for s in squares]
        rest = sum(s for kind, squares in parts.items() if not kind[n] for s in squares)
        sums = {f"without {name}": {Fraction(0)}, f"{name} several times": {k * sum(with_it) for k in range(2, 9)}}
        if len(with_it) > 1:  # sums of some of the copies, not of all and not of none
            sums[f"part of {name}"] = {sum(some) for size in range(1, min(len(with_it), 9))
                                       for some in itertools.combinations(with_it[:8], size)}
        words += [word for word, values in sums.items() if with_it and any(near(got, rest + v) for v in values)]
    whole = sum(sum(squares) for squares in parts.values())
    factors = {"D": case["topology"]["dp"], "tp": case["topology"]["tp"], "pp": case["topology"]["pp"],
               "ep": case["topology"]["ep"], "M": case["micro_batches"],
               "the scale": Fraction(float.fromhex(want["used_scale"]))}
    for name, factor in factors.items():
        for power, text in ((1, f"root of {name}"), (2, name)):
            if factor != 1:
                words += [text] if near(got, whole * factor ** power) else []
                words += [f"1/{text}"] if near(got, whole / factor ** power) else []
    return words


def near(norm, square):
    return math.isclose(norm, math.sqrt(square), rel_tol=1e-5)
