"""Cases with a checkpoint: the axis "reload". CKPT-5

Such a case trains `after` steps, saves a checkpoint, and continues from it in new processes. Its
own topology is that of the steps after the checkpoint. The steps before it may have another
data-parallel size (and as many micro-batches as keep dp·M) or ZeRO stage: the case's "reload" names
them. The sums stay the same, so the expected values are those of the uninterrupted run."""

CLAUSE = "CKPT-5"
KINDS = ("same", "zero", "dp")


def nearest(values, mine, last=None):
    """Of other values, the one next to mine, and rather more than fewer; `last` only if there is no
    other."""
    return min(values, key=lambda v: (v == last, abs(v - mine), -v), default=None)


def split_before(kind, axes, row):
    """{"zero", "dp", "micro_batches"} of the steps before the checkpoint, or None if the subject,
    which supports `axes`, has no other split for this row."""
    mine = {name: row[name] for name in ("zero", "dp", "micro_batches")}
    replicas, cp = row.get("replicas", 1), row.get("cp", 1)  # ZeRO-0 shards nothing to replicate
    if kind == "zero":
        others = [z for z in axes["zero"] if z != mine["zero"] and (z > 0 or replicas == 1)]
        other = nearest(others, mine["zero"])
        return None if other is None else {**mine, "zero": other}
    if kind == "dp":
        batch = mine["dp"] * mine["micro_batches"]
        sizes = [
            dp
            for dp in axes["dp"]
            if dp != mine["dp"]
            and batch % dp == 0
            and batch // dp in axes["micro_batches"]
            and dp % (row.get("ep", 1) * replicas) == dp % cp == 0
            and dp * row.get("pp", 1) * row.get("tp", 1) <= axes["world"]
        ]
        other = nearest(sizes, mine["dp"], last=1)
        return other and {**mine, "dp": other, "micro_batches": batch // other}
    return mine


def reload_of(kind, axes, case, seed):
    """The field "reload" of a case, or None."""
    if case["steps"] < 2:
        return None
    row = {name: case[name] for name in ("zero", "micro_batches", "replicas", "cp")}
    row.update(case["topology"])
    split = split_before(kind, axes, row)
    return split and {"kind": kind, "after": 1 + seed % (case["steps"] - 1), **split}


def begins(case):
    """The first step that the answer has whole."""
    return case["reload"]["after"] if "reload" in case else 0


def before(case):
    """The steps before the checkpoint, as a case of their own."""
    split, topology = case["reload"], {**case["topology"], "dp": case["reload"]["dp"]}
    steps = split["after"]
    mine = {
        **uninterrupted(case),
        "zero": split["zero"],
        "topology": topology,
        "world": topology["pp"] * topology["dp"] * topology["tp"],
        "micro_batches": split["micro_batches"],
        "steps": steps,
        "data": case["data"][:steps],
        **({"rates": case["rates"][:steps]} if "rates" in case else {}),
    }
    mine.pop("either", None)
    return mine


def uninterrupted(case):
    """The same case without the checkpoint."""
    return {name: value for name, value in case.items() if name != "reload"}
