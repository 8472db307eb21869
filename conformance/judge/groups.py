"""Optimizer groups whose number differs by rank or step: the axis "groups_vary". OPT-4

rank: ranks with an odd dp index list their first group in two, which changes no value. step: the
optimizer gets the last group after some steps, the field "since" of the group. Until then it
neither updates the group's parameters nor has state for them, but their gradients count for the
norm and the decision to skip."""

from fractions import Fraction

from recipe import Entry

AXIS = "groups_vary"
KINDS = ("rank", "step")
LATE = "late"  # the recipe's field for "step"


def allows(row):
    """False if the number of groups of such a case, or of a part of one, cannot vary."""
    kind = row.get(AXIS, "no")
    if kind == "rank":
        return row.get("dp", 2) > 1
    return kind == "no" or (row.get("steps", 2) > 1 and row.get("groups", 2) > 1)


def chosen(recipe, options):
    """The axis's value for a recipe and its options."""
    return "step" if recipe.number(LATE, 0) else options.get(AXIS, "no")


def draw(row, recipe):
    """Adds what "step" needs to a row's recipe."""
    if row.get(AXIS, "no") != "step":
        return
    del recipe.options[AXIS]
    recipe.fields[LATE] = 1
    early = [e for e in recipe.entries if e.group + 1 < row["groups"] and "f" not in e.flags]
    if not early:  # the optimizer must have something to train at first
        like = next(e for e in recipe.entries if e.group + 1 == row["groups"])
        recipe.entries.insert(0, Entry(like.numel, 0, 0))


def mark(space, case, recipe):
    """Sets the case's field and clauses. Returns why the subject cannot have the case, or None."""
    case[AXIS] = kind = chosen(recipe, {AXIS: case[AXIS]})
    if kind not in space.axes.get(AXIS, ["no"]):
        return f"the subject does not support {AXIS}={kind}"
    if kind == "step" and not recipe.number(LATE, 0):
        return f"{AXIS}=step is the field {LATE}=1"
    if kind == "rank" and case["topology"]["dp"] < 2:
        return f"{AXIS}=rank needs two data-parallel ranks"
    if kind == "rank":
        case["clauses"] += [clause for clause in ["STAT-1"] if clause not in case["clauses"]]
    return None


def since(case, entry):
    """The first step in which the optimizer has the group of a parameter."""
    return case["groups"][entry["group"]].get("since", 0)


def verdict(case, step, wrong, copies, undo, used):
    """(clause, kind, texts) if exactly the parameters of groups that come later are wrong: they
    were updated before, or not at all afterwards. Else None. used: whether the step uses some of
    these parameters; of others, only weight decay and momentum may be missing."""
    if any(w[0] == "gradient" for w in wrong):
        return None
    first = {since(case, case["parameters"][w[2]]) for w in wrong}
    if min(first) > step:
        text = f"its group is added before step {min(first)}; until then nothing may update it"
        return "OPT-4", "early group", [text]
    unchanged = used and all(
        undo.is_before(what, j, copy, element, got)
        for (what, _, j, element, got, _), copy in zip(wrong, copies, strict=True)
    )
    if min(first) > 0 and unchanged:
        text = f"its group was added before step {min(first)}, but it is not updated"
        return "OPT-4", "lost group", [text]
    return None


def kept(case, expected, step, j, copy, element, got):
    """True if the gradient `got` of a group that comes later also holds those of earlier steps: an
    optimizer clears the gradients of its own groups alone."""
    total = Fraction(0)
    for earlier in range(step, -1, -1) if since(case, case["parameters"][j]) else ():
        row = expected["steps"][earlier]["entries"][j][copy].get("gradient")
        total += Fraction(float.fromhex(row[element])) if row else 0
        if earlier < step and total == got:
            return True
    return False
