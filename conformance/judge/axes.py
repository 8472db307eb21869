"""Generates cases: a pairwise covering array over the axes that a subject supports, then random
cases.

An axis is a name with values, which schema/hello.json lists. hello's "supports" maps each supported
axis to its values; an axis that it omits has its first value only. "without" lists unsupported
combinations (axis -> value or list of values; a rule applies if all its axes match; "why" is for
people). "lacks" says why values are not supported. "options" are the subject's own axes: they are
passed to the subject and do not change the expected values."""

import itertools
import json
import os
import random

import checkpoint
import groups

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
with open(os.path.join(ROOT, "schema", "hello.json"), encoding="utf-8") as file:
    SUPPORTS = json.load(file)["properties"]["supports"]["properties"]
AXES = {name: values["items"]["enum"] for name, values in SUPPORTS.items()}
# The value of an axis that hello does not name: the simplest one.
FIRST = {name: values[0] for name, values in AXES.items()}
FIRST["zero"] = None  # has no default: hello must name it
# Axes that exist only for subjects that name them, with the value of all other cases. They do not
# change the expected values. Recipes list them among the options; cases have them as fields.
NAMED = {
    "streams": 1,
    "backwards": 1,
    "start": "same",
    "reload": "no",
    "replicas": 1,
    groups.AXIS: "no",
    "cp": 1,
    "etp": "tp",
}
# Axes that exist only for subjects that name them: the rows of others stay what they were when an
# axis is added.
OWN = {*NAMED, "dtypes"}
STREAM_CLAUSES = ["STRM-1", "STRM-2", "STRM-4", "STRM-6"]
WORLD = 8
# The gradients fit fp32; squares of huge ones overflow it and squares of minute ones underflow.
MAGNITUDE = {"plain": 0, "huge": 64, "minute": -80}
# All clauses that a case can cite (conformance/cases/tags.c, case_of); --only accepts these.
CLAUSES = [
    "CKPT-5",
    "LEDG-2",
    "LEDG-3",
    "LEDG-6",
    "LEDG-7",
    "OPT-2",
    "OPT-4",
    "PART-1",
    "PART-3",
    "PART-6",
    "PIPE-2",
    "PIPE-3",
    "PIPE-6",
    "RED-2",
    "RED-3",
    "RED-5",
    "RED-6",
    "RED-8",
    "SCALE-3",
    "SCALE-4",
    "STAT-1",
    "STAT-2",
    "STAT-3",
    "STAT-4",
    "STEP-4",
    "STEP-6",
    "STEP-7",
    "STEP-8",
    *STREAM_CLAUSES,
    "STRM-3",
    "TIE-1",
    "TIE-2",
    "TOPO-3",
]
FAMILIES = ["CM", "DT", "MAP", "N", "OV", "PS", "R", "RACE", "ST", "TIE", "WIN"]


def bare(rule):
    """A rule of "without" without its reason."""
    return {name: values for name, values in rule.items() if name != "why"}


def allows_dtypes(get):
    """True if the row that `get` reads has sums that are exact in its dtypes."""
    if get("accumulate") == "fp32":
        if get("precision") == "fp32" or get("micro_batches", 2) < 2 or get("micro_batches", 2) > 3:
            return False
        if get("precision") == "fp16" and get("micro_batches", 2) > 2:
            return False
        if get("communicate") == "same" and (get("zero", 2) < 2 or get("replicas", 1) > 1):
            # a subject may pass sums of several micro-batches through the communication dtype
            return False
    if get("dtypes", "same") == "mixed" and (
        get("precision") == "fp32" or (get("pp", 1) > 1 and get("micro_batches") == 3)
    ):
        return False  # in 16 bits, 1/3 rounds on its way between stages (prove.c)
    return get("communicate") != "fp32" or get("accumulate", "fp32") == "fp32"


class Space:
    """The axes of one subject, and the combinations that it allows."""

    def __init__(self, hello):
        supports = hello.get("supports", {})
        self.axes = {}
        for name, values in AXES.items():
            if name in supports:
                self.axes[name] = [v for v in values if v in supports[name]]
            elif name in OWN:
                continue
            elif FIRST[name] is not None:
                self.axes[name] = [FIRST[name]]
            else:
                self.axes[name] = []
        self.options = dict(hello.get("options", {}))
        self.defaults = {n: v[0] for n, v in self.options.items() if v}
        self.all = {**self.axes, **{f"option {n}": list(v) for n, v in self.options.items()}}
        self.without = [bare(rule) for rule in hello.get("without", [])]
        self.world = hello.get("world", WORLD)

    def contradiction(self):
        """The reason why no row is allowed, or None. Without this check the search for a row would
        never end."""
        if (
            random_row(self, random.Random(0)) is not None
            or plainest(self, random.Random(0), {}) is not None
        ):
            return None
        for name, values in self.all.items():
            if not any(self.allows({name: value}) for value in values):
                return f'"without" or "world" excludes every {name}: {", ".join(map(str, values))}'
        for (a, values), (b, others) in itertools.combinations(self.all.items(), 2):
            if not any(self.allows({a: x, b: y}) for x in values for y in others):
                one, other = (" or ".join(map(str, each)) for each in (values, others))
                return f"{a} {one} cannot be combined with {b} {other}"
        return '"without", "world" and the axes exclude each other'

    def allows(self, row):
        """True if a row, or part of one, is meaningful and supported by the subject."""
        get = row.get
        if get("dp", 1) * get("pp", 1) * get("tp", 1) > self.world:
            return False
        if "dp" in row and any(
            get("dp") % parts for parts in (get("ep", 1) * get("replicas", 1), get("cp", 1))
        ):
            return False
        if get("replicas", 1) > 1 and get("zero") == 0:
            return False  # nothing is sharded, so nothing is replicated
        if not allows_dtypes(get):
            return False
        if get("etp") == "one" and (get("tp", 2) == 1 or get("ep", 1) > 1):
            return False
        if get("sequence") == "yes" and get("tp", 2) == 1:
            return False
        if get("overflow") == "sum" and (
            get("dp", 2) < 2
            or get("accumulate") == "fp32"
            or get("magnitude", "plain") != "plain"
            or get("unused") == "often"
        ):
            return False
        if get("tied") == "no" and (
            get("frozen") == "tied"
            or get("unused") == "onesided"
            or get("stages_groups") == "replicas"
        ):
            return False
        if get("frozen") == "tied" and get("unused") == "onesided":
            return False  # a frozen parameter has no gradients
        if get("tied") == "stage" and get("stages_groups") == "replicas":
            return False
        if get("magnitude", "plain") != "plain":
            if (
                get("precision") == "fp16"
                or get("clip", "off") != "off"
                or get("optimizer") == "adamw"
            ):
                return False
        if (
            get("stages_groups") in ("idle", "frozen")
            and get("pp", 3) < 3
            and get("tied") in ("stages", "keys")
        ):
            return False  # both stages hold a copy, so neither is without trained parameters
        if get("pp", 2) == 1:
            if get("tied") in ("stages", "keys") or get("messages", "tensor") != "tensor":
                return False
            if get("stages_groups", "equal") != "equal":
                return False
        if get("stages_groups") == "unequal" and get("groups", 2) == 1:
            return False
        if get("reload", "no") != "no" and not self.allows_reload(row):
            return False
        return groups.allows(row) and not any(self.matches(rule, row) for rule in self.without)

    def allows_reload(self, row):
        """True if a row's steps before the checkpoint are supported as well. Overflows in a sum and
        sums in fp32 depend on which micro-batches a rank has."""
        get = row.get
        if get("steps", 2) < 2:
            return False
        if get("reload") == "dp" and (get("accumulate") == "fp32" or get("overflow") == "sum"):
            return False
        if not {"zero", "dp", "micro_batches"} <= row.keys():
            return True
        split = checkpoint.split_before(get("reload"), self.bounds(), row)
        if split is None:
            return False
        # without the axis itself: rules about it hold for the case, not for these steps
        return self.allows({k: v for k, v in {**row, **split}.items() if k != "reload"})

    def bounds(self):
        """What limits a split."""
        return {**self.axes, "world": self.world}

    @staticmethod
    def matches(rule, row):
        for name, bad in rule.items():
            if name not in row:
                return False
            if row[name] not in (bad if isinstance(bad, list) else [bad]):
                return False
        return True


# BASE: the plain value of an axis whose first value would hide most bugs. CORE: axes that are fully
# crossed.
BASE = {"zero": "most", "dp": 2, "pp": "most", "micro_batches": 2, "steps": 2}
CORE = ("zero", "precision", "accumulate")
# probability that an axis keeps its plain value, so that one failure does not hide all others
CALM = 0.5


def random_row(space, dice, fixed=None):
    """A random row that is allowed and has the fixed values; None if 200 attempts find none."""
    names = list(space.all)
    for _ in range(200):
        row = dict(fixed or {})
        dice.shuffle(names)
        for name in names:
            if name in row:
                continue
            values = list(space.all[name])
            plain = values[0]
            dice.shuffle(values)
            if name not in ("zero", "dp", "pp") and dice.random() < CALM:
                values = [plain] + [v for v in values if v != plain]
            for value in values:
                row[name] = value
                if space.allows(row):
                    break
            else:
                break
        if len(row) == len(names) and space.allows(row):
            return row
    return None


def pairs_of(row):
    items = sorted(row.items(), key=lambda item: item[0])
    return set(itertools.combinations(items, 2))


def plain_value(space, name):
    values = space.all[name]
    wish = BASE.get(name, values[0])
    return max(values) if wish == "most" else wish if wish in values else values[0]


def plainest(space, dice, fixed):
    """A row with the fixed values and all others as plain as possible, or None."""
    names = [n for n in space.all if n not in fixed]
    for _ in range(50):
        row = dict(fixed)
        for name in names:
            for value in sorted(
                space.all[name], key=lambda v, name=name: v != plain_value(space, name)
            ):
                row[name] = value
                if space.allows(row):
                    break
            else:
                break
        if len(row) == len(space.all) and space.allows(row):
            return row
        dice.shuffle(names)
    return None


def base_choice(space, dice):
    """Rows that deviate from the plain row in one respect, so that no other failure hides a bug:
    all combinations of CORE, then each value of every other axis."""
    core = [[(name, value) for value in space.all[name]] for name in CORE if name in space.all]
    wanted = [dict(values) for values in itertools.product(*core)]
    wanted += [
        {name: value}
        for name, values in space.all.items()
        if name not in CORE
        for value in values
        if value != plain_value(space, name)
    ]
    found = [plainest(space, dice, fixed) for fixed in wanted if space.allows(fixed)]
    return list({repr(sorted(row.items())): row for row in found if row is not None}.values())


def combinations():
    """Values that only together showed a historic bug: triples.json."""
    name = os.path.join(os.path.dirname(os.path.abspath(__file__)), "triples.json")
    with open(name, encoding="utf-8") as file:
        return json.load(file)["combinations"]


def with_combinations(space, dice):
    """Plain rows with those combinations that the subject supports."""
    wanted = [one["values"] for one in combinations()]
    known = [w for w in wanted if all(v in space.all.get(n, []) for n, v in w.items())]
    found = [plainest(space, dice, fixed) for fixed in known if space.allows(fixed)]
    return [row for row in found if row is not None]


def covering(space, dice, tries=12):
    """Rows that contain every allowed pair of values: those of base_choice and with_combinations,
    then, greedily, the best of `tries` random rows, each built around an uncovered pair."""
    left = set()
    for (a, values), (b, others) in itertools.combinations(sorted(space.all.items()), 2):
        for x, y in itertools.product(values, others):
            if space.allows({a: x, b: y}):
                left.add(((a, x), (b, y)))
    rows = base_choice(space, dice) + with_combinations(space, dice)
    left.difference_update(*map(pairs_of, rows))
    while left:
        best, gain = None, 0
        for seed in dice.sample(sorted(left, key=repr), min(tries, len(left))):
            row = random_row(space, dice, dict(seed))
            if row is None:
                left.discard(seed)  # allowed as a pair, but no complete row contains it
                continue
            won = len(pairs_of(row) & left)
            if won > gain:
                best, gain = row, won
        if best is None:
            continue
        rows.append(best)
        left -= pairs_of(best)
    return rows


def rows(space, seed):
    """Yields (row, True) for the covering array, then (row, False) for random rows without end."""
    dice = random.Random(seed)
    for row in covering(space, dice):
        yield row, True
    while True:
        row = random_row(space, dice)
        if row is None:
            return
        yield row, False


def options_of(space, recipe):
    """The recipe's options with the values that hello lists: text does not keep their types."""
    chosen = {}
    for name, value in recipe.options.items():
        known = AXES[name] if name in NAMED else space.options.get(name)
        if known is None:
            raise ValueError(f"the subject has no option '{name}'")
        by_text = {str(v): v for v in known}
        if str(value) not in by_text:
            raise ValueError(f"'{name}' must be one of {', '.join(sorted(by_text))}")
        chosen[name] = by_text[str(value)]
    return {**space.defaults, **chosen}


def case_of(tools, space, recipe):
    """(case with all options, None) or (None, reason)."""
    try:
        options = options_of(space, recipe)
    except ValueError as error:
        return None, str(error)
    case, why = tools.case(recipe.text())
    if case is not None and not any(e["numel"] for e in case["parameters"] if not e["frozen"]):
        return None, "no parameter is trained"
    if case is not None:
        case["options"] = options
        case.update({name: case["options"].pop(name, n) for name, n in NAMED.items()})
        t, replicas = case["topology"], case["replicas"]
        refused = groups.mark(space, case, recipe)
        if refused:
            return None, refused
        if replicas > 1 and (t["dp"] % (t["ep"] * replicas) or case["zero"] == 0):
            return None, f"dp={t['dp']}, ep={t['ep']} cannot be sharded in {replicas} replicas"
        if t["dp"] % case["cp"]:
            return None, "cp does not divide dp"
        if case["etp"] == "one" and t["ep"] > 1:
            return None, "etp is for sharded parameters, without further experts"
        kind = case.pop("reload")
        if kind != "no":
            reload = checkpoint.reload_of(kind, space.bounds(), case, recipe.number("seed"))
            if reload is None:
                return None, f"the subject has no other split for reload={kind}, or there is 1 step"
            case["reload"] = reload
            case["clauses"] += [checkpoint.CLAUSE]
            case["hunts"] += [family for family in ["ST"] if family not in case["hunts"]]
        if case["backwards"] > 1:
            case["hunts"] += [family for family in ["WIN"] if family not in case["hunts"]]
        if "streams" in space.axes:
            case["clauses"] += STREAM_CLAUSES + (["STRM-3"] if case["topology"]["pp"] > 1 else [])
            case["hunts"] += ["RACE"]
    return case, why


def idle(case):
    """True if a stage with trained parameters uses none in a micro-batch, which only unused =
    "often" allows."""
    stages = {e["stage"] for e in case["parameters"] if not e["frozen"]}
    return any(
        all(batch[j] is None for j, e in enumerate(case["parameters"]) if e["stage"] == s)
        for step in case["data"]
        for batch in step
        for s in stages
    )
