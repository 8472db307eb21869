"""Finds the values of the axes that a case has: the inverse of draw.recipe_of_row. So shrinking
stays within what a subject supports."""

import itertools

import groups
from axes import AXES, NAMED, idle, options_of


def supported(space, recipe, case):
    """True if some row that the subject supports has this case."""
    values = values_of(space, recipe, case)
    names = list(values)
    return set(names) == set(space.all) and any(
        space.allows(dict(zip(names, some, strict=True)))
        for some in itertools.product(
            *([v for v in space.all[name] if v in values[name]] for name in names)
        )
    )


def values_of(space, recipe, case):
    """axis -> the values that rows of this case may have. It is one value, except for sizes and
    stages_groups, as rows of different values draw the same numbers of elements and groups."""
    fields, number, options = recipe.fields, recipe.number, options_of(space, recipe)
    shared = shared_keys(recipe)
    own = [e for e in recipe.entries if e.tied not in shared]
    scale = fields.get("scale", "0")
    chosen = {
        "zero": number("stage", 1),
        "dp": number("dp"),
        "pp": number("pp"),
        "tp": number("tp"),
        "ep": number("ep"),
        "sequence": "yes" if number("sequence", 0) else "no",
        "micro_batches": number("M"),
        "steps": number("steps"),
        "precision": fields.get("precision", "fp32"),
        "accumulate": "fp32" if "wide" in fields else "same",
        "communicate": "fp32" if "comm" in fields else "same",
        "optimizer": fields.get("optim", "adamw"),
        "scale": "one"
        if "scale" not in fields
        else "unit"
        if scale == "0"
        else "dynamic"
        if ":" in scale
        else "static",
        "overflow": "yes" if number("overflow", 0) else "sum" if number("sum", 0) else "no",
        "clip": clip_of(fields.get("clip")),
        "magnitude": magnitude_of(number("first", 0)),
        "groups": 1 + max((e.group for e in recipe.entries), default=0),
        "bucket": "large" if number("bucket", 64) >= 1024 else "small",
        "unused": unused_of(recipe, case),
        "frozen": frozen_of(recipe, shared),
        "tied": tied_of(shared),
        "messages": messages_of(recipe),
        "rates": "changing" if number("rates", 0) else "constant",
        **({"dtypes": dtypes_of(recipe)} if "dtypes" in space.axes else {}),
        **{name: options.get(name, n) for name, n in NAMED.items() if name in space.axes},
        **({groups.AXIS: groups.chosen(recipe, options)} if groups.AXIS in space.axes else {}),
    }
    return {
        **{name: {value} for name, value in chosen.items()},
        **{f"option {n}": {v} for n, v in options.items() if n not in NAMED},
        "sizes": sizes_of(own, number("dp")),
        "stages_groups": stages_groups_of(recipe, shared),
    }


def shared_keys(recipe):
    """Tied key -> the stages of its uses. A key with one use is not tied to anything."""
    uses = {}
    for e in recipe.entries:
        if e.tied is not None:
            uses.setdefault(e.tied, []).append(e.stage)
    return {key: stages for key, stages in uses.items() if len(stages) > 1}


def tied_of(shared):
    if len(shared) > 1:
        return "keys"
    return (
        "stages" if any(len(set(s)) > 1 for s in shared.values()) else "stage" if shared else "no"
    )


def clip_of(text):
    return "off" if text is None else "loose" if float(text) >= 1 << 20 else "binding"


def magnitude_of(first):
    return "huge" if first > 0 else "minute" if first < 0 else "plain"


def dtypes_of(recipe):
    return "mixed" if any("w" in e.flags for e in recipe.entries) else "same"


def messages_of(recipe):
    varying = recipe.number("vary", 0) or recipe.number("dynamic", 0)
    if recipe.number("tuple", 0):
        return "dynamic" if varying else "tuple"
    return "varying" if varying else "tensor"


def unused_of(recipe, case):
    if recipe.number("oneside", 0):
        return "onesided"
    if not recipe.number("unused", 0):
        return "no"
    return "often" if recipe.number("unused") > 50 or idle(case) else "some"


def frozen_of(recipe, shared):
    """Frozen parameters of a stage that trains none belong to the axis stages_groups."""
    frozen = [e for e in recipe.entries if "f" in e.flags]
    trained = {e.stage for e in recipe.entries if "f" not in e.flags}
    if any(e.tied in shared for e in frozen):
        return "tied"
    return "yes" if any(e.stage in trained for e in frozen) else "no"


def stages_groups_of(recipe, shared):
    """No value if stages differ from others in two ways: no row has both."""
    groups, found = set(), set()
    for stage in range(recipe.number("pp")):
        mine = [e for e in recipe.entries if e.stage == stage]
        if not mine:
            found.add("idle")
        elif all(e.tied in shared for e in mine) and recipe.number("pp") > 1:
            found.add("replicas")
        elif all("f" in e.flags for e in mine):
            found.add("frozen")
        else:
            groups.add(len({e.group for e in mine if "f" not in e.flags}))
    if found:
        return found if len(found) == 1 else set()
    return {"equal", "unequal"} if len(groups) > 1 else {"equal"}


def sizes_of(entries, dp):
    """The values of which each size may be; of a mixture that no value has, the one furthest from
    plain."""
    if any(e.numel == 0 for e in entries):
        return {"empty"}
    trained = [e for e in entries if "f" not in e.flags]
    # any row may have a parameter of 3 elements on stage 0, of a group that other stages lack
    sizes = {e.numel for e in trained if (e.numel, e.stage) != (3, 0)} or {e.numel for e in trained}
    order = [kind for kind in AXES["sizes"] if kind != "empty"]
    kinds = [[kind for kind in order if has(kind, n, dp)] for n in sizes]
    both = set(order).intersection(*kinds)
    return both or {max((kind[0] for kind in kinds), key=order.index)}


def has(kind, n, dp):
    """True if a parameter of n elements occurs in rows with this value of sizes."""
    return {
        "plain": n <= 16 and n % 2 == 0,
        "tiny": n <= 3,
        "odd": n <= 16 and (n % 2 == 1 or n == dp + 1),
        "large": n > 16 or n == 8 * dp + 1,
    }[kind]
