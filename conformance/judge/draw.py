"""Draws a case of a row: of one value for each axis."""

import groups
from axes import MAGNITUDE, NAMED, case_of, idle
from recipe import Entry, Recipe


def numel(row, dice):
    kind, dp = row["sizes"], row["dp"]
    if kind == "tiny":
        return dice.choice([1, 1, 2, 3])
    if kind == "odd":
        return dice.choice([1, 3, 5, 7, 9, 11, dp + 1, 2 * dp - 1])
    if kind == "large":
        return dice.choice([17, 40, 8 * dp + 1, 300, 300])
    if kind == "empty" and dice.random() < 0.4:
        return 0
    return dice.choice([2, 4, 6, 8, 2 * dp, 12])


def entries_of(row, dice):
    count = {"tiny": 7, "large": 2}.get(row["sizes"], 3)
    if row.get("streams", 1) > 1 and row["bucket"] == "small":
        count = 9  # several streams fill each bucket buffer more than once
    entries = []
    # neither the first stage nor a stage with a tied copy
    other = dice.randrange(1, max(2, row["pp"] - (row["tied"] != "no")))
    bare = {"idle": other, "replicas": row["pp"] - 1}.get(row["stages_groups"])
    for stage in range(row["pp"]):
        if stage == bare:
            continue
        for i in range(max(1, count - dice.randrange(2))):
            group = dice.randrange(row["groups"])
            if i == 0 and stage == 0:
                group = row["groups"] - 1  # every group occurs
            if row["stages_groups"] == "unequal":
                group = i % row["groups"] if stage == 0 else 0
            flags = ""
            if row["tp"] > 1 and dice.random() < 0.5:
                flags += "s"
            if row["ep"] > 1 and dice.random() < 0.5:
                flags += "e"
            if row["stages_groups"] == "frozen" and stage == other:
                flags += "f"
            entries.append(Entry(numel(row, dice), stage, group, flags))
    for flag, size in (
        ("s", row["tp"]),
        ("e", row["ep"]),
    ):  # each group needs a parameter of its own
        if size > 1 and not any(flag in e.flags for e in entries):
            entries[0].flags += flag
    if row["sequence"] == "yes" and all("s" in e.flags for e in entries):
        last = entries[-1]
        entries.append(Entry(numel(row, dice), last.stage, last.group))
    if row["sizes"] == "empty":
        entries[-1].numel = 0
    if row["stages_groups"] == "unequal":
        extra = [
            g
            for g in range(row["groups"])
            if not any(e.stage == 0 and e.group == g for e in entries)
        ]
        entries = [Entry(3, 0, g) for g in extra] + entries
    if row["frozen"] != "no":
        entries.insert(0, Entry(3, 0, 0, "f"))
    return in_dtypes(row, dice, tie(row, dice, entries))


def in_dtypes(row, dice, entries):
    """About a third of the parameters in fp32, at least one that is trained, all uses of a tied key
    alike."""
    if row.get("dtypes", "same") == "same":
        return entries
    keys = {e.tied for e in entries if e.tied is not None and dice.random() < 0.35}
    for e in entries:
        if e.tied in keys if e.tied is not None else dice.random() < 0.35:
            e.flags += "w"
    trained = [e for e in entries if e.tied is None and "f" not in e.flags]
    if trained and not any("w" in e.flags for e in entries if "f" not in e.flags):
        dice.choice(trained).flags += "w"
    return entries


def tie(row, dice, entries):
    def insert(stage, entry):
        entries.insert(
            max([i + 1 for i, e in enumerate(entries) if e.stage <= stage] or [0]), entry
        )

    last = row["pp"] - 1
    for key in range({"no": 0, "stage": 1, "stages": 1, "keys": 2}[row["tied"]]):
        size = dice.choice([1, 3, 4, 5])
        flags = "f" if row["frozen"] == "tied" else ""
        if row["tp"] > 1 and dice.random() < 0.5:
            flags = "s" + flags
        ends = (0,) * dice.choice([2, 3]) if row["tied"] == "stage" else (0, last)
        for stage in ends:
            insert(stage, Entry(size, stage, 0, flags, key))
    return entries


def scale_of(row, dice):
    if row["scale"] in ("one", "unit"):
        return "0"
    log2 = dice.choice([3, 5, 8])
    if row["scale"] == "static":
        return str(log2)
    window = 1 if row["steps"] < 4 else dice.choice([1, 2])
    least, most = dice.choice(
        [(0, 24)] * 4 + [(log2, 24), (0, log2)]
    )  # the first scale may be the least or the largest
    return f"{log2}:{window}:{dice.choice([1, 1, 2])}:0:{least}:{most}"


def recipe_of_row(row, defaults, dice):
    scale = scale_of(row, dice)
    log2 = int(scale.split(":")[0])
    fields = {
        "precision": row["precision"],
        "reduce": "exact",
        "M": row["micro_batches"],
        "bucket": dice.choice([4, 8, 16]) if row["bucket"] == "small" else 1024,
        "pp": row["pp"],
        "dp": row["dp"],
        "tp": row["tp"],
        "ep": row["ep"],
        "stage": row["zero"],
        "steps": row["steps"],
        "optim": row["optimizer"],
        "seed": dice.randrange(1 << 24),
        "unit": -log2,
    }
    if row["scale"] != "one":
        fields["scale"] = scale
    if row["accumulate"] == "fp32":
        fields["wide"] = 8 if row["precision"] == "bf16" else 11
        fields["unit"] = -log2 - (8 if row["precision"] == "bf16" else 10)
    if row["communicate"] == "fp32":
        fields["comm"] = "fp32"
    if row["magnitude"] != "plain":
        fields["first"] = MAGNITUDE[row["magnitude"]]
        fields["unit"] += fields["first"]
    if row["overflow"] == "yes":
        fields["overflow"] = 1 << dice.randrange(row["steps"])
    if row["overflow"] == "sum":
        fields["sum"] = 1
    if row["sequence"] == "yes":
        fields["sequence"] = 1
    if row["rates"] == "changing":
        fields["rates"] = 1
    if row["clip"] != "off":
        fields["clip"] = "1048576" if row["clip"] == "loose" else "0.5"
    if row["unused"] == "onesided":
        fields["oneside"] = 1
    elif row["unused"] != "no":
        fields["unused"] = (
            50 if row["unused"] == "some" else 190
        )  # of 256: 190 makes parameters that no rank uses frequent
    if row["messages"] in ("tuple", "dynamic"):
        fields["tuple"] = 1
    if row["messages"] in ("varying", "dynamic"):
        fields["vary"] = fields["dynamic"] = 1
    options = {n[len("option ") :]: v for n, v in row.items() if n.startswith("option ")}
    options = {n: v for n, v in options.items() if v != defaults[n]}
    options.update({name: row[name] for name, n in NAMED.items() if row.get(name, n) != n})
    recipe = Recipe(fields, entries_of(row, dice), options)
    groups.draw(row, recipe)
    return recipe


def case_of_row(tools, space, row, dice):
    """(case, recipe) for a row, or (None, reason). Draws again if a recipe has no exact case."""
    why = ""
    for _ in range(12):
        recipe = recipe_of_row(row, space.defaults, dice)
        case, why = case_of(tools, space, recipe)
        if case is not None and row["unused"] == "some" and idle(case):
            why = "a micro-batch uses no parameter"
        elif case is not None:
            return case, recipe
    return None, why
