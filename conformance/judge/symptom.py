"""Describes a finding by words that are the same in all cases of one bug.

The words go beyond clause and kind: known.py compares them to separate known failures from new
ones. A word such as "only X" is added only if it holds for every wrong element."""

import itertools
import math
from fractions import Fraction

import groups


def holds(entry, trait):
    return entry["tied"] is not None if trait == "tied" else bool(entry[trait])


CLOSE = Fraction(1, 64)  # a relative error below this looks like rounding
TRAITS = (("expert", "experts"), ("sharded", "sharded"), ("tied", "tied"))


def of_elements(case, step, wrong, undo, copies):
    """Words for wrong elements; each is (what, rank, entry, element, got, right). copies: the copy
    of each."""
    words = ranks(wrong, copies)
    entries = [case["parameters"][j] for j in sorted({w[2] for w in wrong})]
    words += [f"only {name}" for trait, name in TRAITS if all(holds(e, trait) for e in entries)]
    if all(case["groups"][e["group"]]["weight_decay"] for e in entries):
        words.append("only decayed")
    if all(groups.since(case, e) for e in entries):
        words.append("only late groups")
    now = case["data"][step]
    if all(unused(now, w[2]) for w in wrong):
        words.append("only unused by all")
    elif all(any(batch[w[2]] is None for batch in now) for w in wrong):
        words.append("only unused somewhere")
    if all(any(unused(earlier, w[2]) for earlier in case["data"][:step]) for w in wrong):
        words.append("only unused earlier")
    return words + updates(case, wrong, undo, copies)


def unused(batches, j):
    """True if no micro-batch of a step uses parameter j."""
    return all(batch[j] is None for batch in batches)


def ranks(wrong, copies):
    """Words for the ranks that hold wrong elements."""
    words = ["masters alone"] if {w[0] for w in wrong} == {"master"} else []
    return words + ["ranks agree" if agree(wrong, copies) else "ranks differ"]


def agree(wrong, copies):
    """True if every rank with a wrong value of an element has the same wrong value."""
    seen = {}
    for (what, _, j, element, got, _), copy in zip(wrong, copies, strict=True):
        seen.setdefault((what, j, copy, element), set()).add(str(got))
    return all(len(values) == 1 for values in seen.values())


def updates(case, wrong, undo, copies):
    """Compares how far elements moved, apart from weight decay, with how far they should have
    moved."""
    found, unchanged, nearly = set(), True, True
    for (what, _, j, element, got, right), copy in zip(wrong, copies, strict=True):
        if what == "gradient" or not (math.isfinite(got) and math.isfinite(right)):
            continue
        group, before = (
            case["groups"][case["parameters"][j]["group"]],
            undo.before(what, j, copy, element),
        )
        decayed = before * (1 - Fraction(group["lr"]) * Fraction(group["weight_decay"]))
        moved, due = Fraction(got) - decayed, Fraction(right) - decayed
        unchanged = unchanged and undo.is_before(what, j, copy, element, got)
        nearly = nearly and abs(moved - due) <= abs(due) * CLOSE
        found.add(
            "no update"
            if moved == 0
            else "update where none is due"
            if due == 0
            else "other way"
            if moved * due < 0
            else "smaller update"
            if abs(moved) < abs(due)
            else "larger update"
        )
    if found == {"no update", "smaller update"}:
        found = {"smaller update"}
    words = sorted(found) if len(found) == 1 else ["several kinds of updates"] if found else []
    return (
        words
        + ["unchanged"] * (unchanged and bool(found))
        + ["nearly right"] * (nearly and bool(found))
    )


def of_contributions(case, missing):
    """Words for missing contributions (value, entry, dp, micro-batch, tp)."""
    last = case["micro_batches"] - 1
    micro_batches = {mb for *_, mb, _ in missing}
    parts = {part for *_, part in missing}
    words = ["parts of one tp rank"] if len(parts) == 1 and None not in parts else []
    if not missing or not last:
        return words
    return words + (
        ["earlier micro-batches"]
        if last not in micro_batches
        else ["last micro-batch"]
        if micro_batches == {last}
        else ["several micro-batches"]
    )


def traits_of(_case, entry):
    return tuple(holds(entry, trait) for trait, _ in TRAITS)


def norm_parts(case, want, kind_of=traits_of):
    """Kind of parameter -> squared gradients of the parameters of this kind, each storage counted
    once."""
    parts, seen = {}, set()
    for j, entry in enumerate(case["parameters"]):
        key = entry["name"] if entry["tied"] is None else entry["tied"]
        if key in seen or entry["frozen"]:
            continue
        seen.add(key)
        kind = kind_of(case, entry)
        for copy in want["entries"][j]:
            square = sum(Fraction(float.fromhex(x)) ** 2 for x in copy.get("gradient", []))
            parts.setdefault(kind, []).append(square)
    return parts


def variants(parts, n, name):
    """[(word, by how much the square of the norm then differs)] of trait n counted otherwise than
    once."""
    copies = [s for kind, squares in parts.items() if kind[n] for s in squares]
    if not copies:
        return []
    some = [
        sum(c)
        for size in range(1, min(len(copies), 9))
        for c in itertools.combinations(copies[:8], size)
    ]
    found = [(f"without {name}", Fraction(0))] + [
        (f"{name} several times", k * sum(copies)) for k in range(2, 9)
    ]
    return [
        (word, square - sum(copies))
        for word, square in found
        + [(f"part of {name}", square) for square in some if square not in (0, sum(copies))]
    ]


def of_norm(case, want, got, right):
    """Words for a wrong norm, and for the part of the gradients whose norm it is."""
    if not math.isfinite(got):
        return ["not finite"]
    words = ["zero" if got == 0 else "too small" if got < right else "too large"]
    words += ["nearly right"] if abs(got - right) <= right * CLOSE else []
    parts = norm_parts(case, want)
    whole = sum(sum(squares) for squares in parts.values())
    by_since = norm_parts(case, want, groups.since)
    late = sum(sum(squares) for since, squares in by_since.items() if since)
    words += ["without late groups"] if late and matches_square(got, whole - late) else []
    by_trait = [variants(parts, n, name) for n, (_, name) in enumerate(TRAITS)]
    for one in (v for found in by_trait for v in found):
        words += [one[0]] if matches_square(got, whole + one[1]) else []
    for some, others in itertools.combinations(by_trait, 2):
        for one, other in itertools.product(some, others):
            words += [one[0], other[0]] if matches_square(got, whole + one[1] + other[1]) else []
    t = case["topology"]
    for name, factor in {
        **t,
        "replicas": case["replicas"],
        "M": case["micro_batches"],
        "the scale": Fraction(float.fromhex(want["used_scale"])),
    }.items():
        for power, text in ((1, f"root of {name}"), (2, name)):
            if factor != 1:
                words += [text] if matches_square(got, whole * factor**power) else []
                words += (
                    [f"1/{text}"] if matches_square(got, whole / Fraction(factor) ** power) else []
                )
    return list(dict.fromkeys(words))


def of_norms(norms, right):
    """Words for norms that differ between ranks. Those of shards have squares that add up."""
    if len(set(norms)) < 2:
        return []
    whole = math.sqrt(sum(norm * norm for norm in norms))
    alone = math.isclose(whole, right, rel_tol=1e-5)
    return ["ranks differ"] + ["each rank has the norm of its own shard"] * alone


def disagreement(norms, own, right):
    """What norms that differ between ranks have in common, as the end of a sentence.

    own: of each rank the right norm of the elements that it holds."""
    if len(set(norms)) < 2:
        return ""
    text = f"; the ranks disagree ({', '.join(f'{norm:.9g}' for norm in norms)})"

    def alike(norm, other):
        return math.isclose(norm, other, rel_tol=1e-5)

    if "each rank has the norm of its own shard" in of_norms(norms, right) or (
        len(norms) == len(own) and all(map(alike, norms, own))
    ):
        return text + ": each equals its own shard's norm"
    good = [rank for rank, norm in enumerate(norms) if alike(norm, right)]
    if good and len(good) < len(norms):
        return text + f": it is right on {len(good)} of {len(norms)} ranks"
    return text


def matches_square(norm, square):
    return square >= 0 and math.isclose(norm, math.sqrt(square), rel_tol=1e-5)
