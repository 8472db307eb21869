"""Tests that shrinking stays within what a subject supports: the axes that a case has."""

import itertools
import json
import os
import random
import sys
import types
import unittest.mock

from selftest import ROOT, check, main

sys.path.insert(0, os.path.join(ROOT, "conformance", "judge"))

import axes  # noqa: E402
import choose  # noqa: E402
import draw  # noqa: E402
import rows  # noqa: E402
import shrink  # noqa: E402
from recipe import recipe_of  # noqa: E402
from tools import Tools  # noqa: E402


def test_worlds():
    """Shrinking tries only cases within the subject's world."""
    space = axes.Space({"supports": axes.AXES, "world": 4})
    tools = Tools()
    found = shrink.variants(recipe_of("pp=2,dp=2,M=1,optim=sgd,list=3@0.0+2@1.0"))
    cases = [(recipe, axes.case_of(tools, space, recipe)[0]) for recipe in found]
    tried = [r for r, case in cases if case and rows.supported(space, r, case)]
    sizes = {r.number("dp") * r.number("pp") * r.number("tp") for r in tried}
    check("variants of a case are within the world", tried and max(sizes) <= 4, sizes)
    tools.close()


# Values whose cases a row of another value may have as well: (axis, value, other value).
SHARED = list(itertools.permutations(("plain", "tiny", "odd", "large"), 2))
SHARED = [
    ("stages_groups", "unequal", "equal"),
    ("stages_groups", "equal", "unequal"),
    *(("sizes", v, w) for v, w in SHARED),
]


def test_rows():
    """The axes of a case are those of the row that it was made from; so a subject supports a case
    exactly if it supports a row of it."""
    space, tools, wrong, seen = axes.Space({"supports": axes.AXES}), Tools(), [], {}
    number = itertools.count()
    wanted = [(a, v) for a, values in space.all.items() for v in values for _ in range(8)]
    for axis, value in wanted:
        dice = random.Random(f"{axis} {value} {next(number)}")
        row = axes.random_row(space, dice, {axis: value})
        case, recipe = draw.case_of_row(tools, space, row, dice) if row else (None, None)
        if case is None:
            continue
        values = rows.values_of(space, recipe, case)
        wrong += [(a, v, values[a], recipe.full()) for a, v in row.items() if v not in values[a]]
        if not rows.supported(space, recipe, case):
            wrong.append(("not supported", recipe.full()))
        seen[axis, value] = seen.get((axis, value), 0) + 1
        others = [v for v in axes.AXES[axis] if v != value]
        if any((axis, value, v) in SHARED for v in values[axis]):
            continue
        without = axes.Space({"supports": {**axes.AXES, axis: others}})
        if rows.supported(without, recipe, case):
            wrong.append((f"without {axis} {value}", recipe.full()))
        rule = axes.Space({"supports": axes.AXES, "without": [{axis: value, "dp": row["dp"]}]})
        if rows.supported(rule, recipe, case):
            wrong.append((f"a rule for {axis} {value}", recipe.full()))
    check("a case has the axes of its row", not wrong, (len(wrong), wrong[:3]))
    lacking = {pair for pair in wanted if not seen.get(pair)}
    check("the rows have every value of every axis", not lacking, lacking)
    tools.close()


# What a shrunken case may be that no row of the values before is: recipe, then axis and value.
SHRUNKEN = [
    ("pp=2,list=4@0.0t0+4@1.0", "tied", {"no"}),  # one use is tied to nothing
    ("pp=2,list=4@0.0+4@1.0t0", "stages_groups", {"equal"}),
    ("pp=2,list=4@0.0t0+4@1.0t0", "stages_groups", {"replicas"}),
    ("pp=2,list=4@0.0", "stages_groups", {"idle"}),
    ("pp=2,list=4@0.0+4@1.0f", "stages_groups", {"frozen"}),
    ("pp=3,list=4@0.0+4@1.0f", "stages_groups", set()),  # the third stage is idle
    ("pp=2,list=4@0.0+4@1.0f", "frozen", {"no"}),
    ("pp=2,list=4@0.0+4@1.0f+4@1.0", "frozen", {"yes"}),
    ("pp=2,list=4@0.0+4@0.1+4@1.0", "stages_groups", {"equal", "unequal"}),
    ("list=4@0.0+1@0.0", "sizes", {"tiny"}),
    ("list=300@0.0+1@0.0", "sizes", {"large"}),
    ("dp=2,list=2@0.0", "sizes", {"plain", "tiny"}),
    ("dp=3,list=4@0.0", "sizes", {"plain", "odd"}),
    ("list=4@0.0+0@0.0", "sizes", {"empty"}),
    ("unused=50,seed=1,list=4@0.0+6@0.0+2@0.0", "unused", {"some"}),
    ("unused=50,seed=9,M=4,steps=4,list=4@0.0", "unused", {"often"}),  # often none at all
    ("vary=1,pp=2,list=4@0.0+4@1.0", "messages", {"varying"}),
    ("precision=bf16,list=4@0.0+3@0.0w", "dtypes", {"mixed"}),
    ("precision=bf16,list=4@0.0+3@0.0", "dtypes", {"same"}),
]


def test_shrunken():
    space, tools = axes.Space({"supports": axes.AXES}), Tools()
    for text, axis, right in SHRUNKEN:
        recipe = recipe_of(f"optim=sgd,{text}")
        case, why = axes.case_of(tools, space, recipe)
        found = rows.values_of(space, recipe, case)[axis] if case else why
        check(
            f"{text}: {axis} is {' or '.join(sorted(right)) or 'that of no row'}",
            found == right,
            found,
        )
    typed = axes.Space({"supports": axes.AXES, "options": {"p": ["1", "2"], "q": [1, 2]}})
    typed.without = [{"option p": "2", "option q": 1}]
    for text, right in (("p=2 q=2", True), ("p=2", False), ("q=2", True)):
        recipe = recipe_of(f"optim=sgd,list=4@0.0 {text}")
        found = rows.supported(typed, recipe, axes.case_of(tools, typed, recipe)[0])
        check(f"options have the types of hello: {text}: {right}", found == right)
    first = recipe_of("first=64,unit=61,optim=sgd,scale=3,list=4@0.0")
    units = {("first" in r.fields, "scale" in r.fields, r.number("unit")) for r in steps(first)}
    check(
        "shrinking drops the magnitude and the scale, each with its part of the unit",
        {(False, True, -3), (True, False, 64), (False, False, 0)} <= units
        and all(unit == 64 * big - 3 * scaled for big, scaled, unit in units),
        units,
    )
    mixed = recipe_of("steps=2,M=2,precision=bf16,optim=sgd,list=4@0.0+3@0.0wt0+3@0.0wt0")
    tried = list(itertools.chain(shrink.smaller(mixed), shrink.variants(mixed)))
    in_fp32 = [r for r in tried if r.fields.get("precision", "fp32") == "fp32"]
    left = [r.full() for r in in_fp32 if any("w" in e.flags for e in r.entries)]
    check("shrinking to fp32 drops the parameters' own dtypes", in_fp32 and not left, left)
    uses = [{"w" in e.flags for e in r.entries if e.tied is not None} for r in tried]
    check("shrinking keeps the uses of a tied key in one dtype", all(len(u) < 2 for u in uses))
    some = "first=64,rates=1,wide=8,comm=fp32,scale=3,sum=1,clip=0.5,unused=50,tuple=1"
    leap = next(shrink.smaller(recipe_of(f"{some},unit=61,bucket=4,precision=bf16,list=4@0.0f")))
    left = leap.fields.keys() & {word.split("=")[0] for word in some.split(",")}
    check(
        "the first attempt drops all groups of fields", not left and not leap.number("unit"), left
    )
    tools.close()


def test_whole_array():
    """Pairs of values whose rows have no exact case get other rows; those that no row has are
    named."""
    hello = {"supports": {name: axes.AXES[name] for name in ("zero", "dp", "steps", "optimizer")}}
    space, tools, draws = axes.Space(hello), Tools(), itertools.count()
    options = types.SimpleNamespace(only=[], quick=None, seed=1, seconds=None, cases=None)
    options.until = None
    never = (("dp", 3), ("steps", 2))

    def case_of_row(tools, space, row, dice):
        refused = set(never) <= row.items() or next(draws) % 2
        return (None, "refused") if refused else (row, None)

    with unittest.mock.patch.object(draw, "case_of_row", case_of_row):
        chooser = choose.Chooser(tools, space, options, hello, ROOT)
        seen = set().union(*(axes.pairs_of(row) for row, *_ in chooser))
    wanted = {
        ((a, x), (b, y))
        for (a, xs), (b, ys) in itertools.combinations(sorted(space.all.items()), 2)
        for x, y in itertools.product(xs, ys)
        if space.allows({a: x, b: y})
    }
    check("the covering array has all pairs that a case can have", wanted - seen == {never})
    check("it names the pairs that it lacks", chooser.lost == [never], chooser.lost)
    tools.close()


def lists():
    """{name of a subject: its support list}"""
    folder = os.path.join(ROOT, "conformance", "support")
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found[name] = json.load(file)
    return found


def unknown_of(values, supports):
    """The names and values of a combination that no axis and no subject's option has."""
    offered = {name: list(some) for name, some in axes.AXES.items()}
    for one in supports:
        for name, some in one["options"].items():
            offered.setdefault(f"option {name}", []).extend(some)
    return [(n, v) for n, v in values.items() if v not in offered.get(n, [])]


def test_combinations():
    """The covering array drops a combination that a subject does not support, so a misspelt one
    would be dropped everywhere."""
    supports, tools, wrong, seen, without = lists(), Tools(), [], set(), []
    listed = axes.combinations()
    for number, one in enumerate(listed):
        wrong += unknown_of(one["values"], supports.values())
        if not (one["bug"] and len(one["values"]) > 2):
            wrong.append(one)
        if any(one["values"] == other["values"] for other in listed[:number]):
            wrong.append(("twice", one["values"]))
    check("combinations: each name and value is an axis' or an option's", not wrong, wrong)
    misspelt = ({"overflw": "yes"}, {"overflow": "maybe"}, {"option offlod": True}, {"dp": 9})
    missed = [values for values in misspelt if not unknown_of(values, supports.values())]
    check("combinations: a misspelt name or value is found", not missed, missed)
    for name, hello in supports.items():
        space, dice = axes.Space(hello), random.Random(1)
        for row in axes.with_combinations(space, dice):
            case, why = draw.case_of_row(tools, space, row, dice)
            mine = [n for n, one in enumerate(listed) if one["values"].items() <= row.items()]
            seen.update(mine if case is not None else ())
            without += [(name, mine, why)] if case is None else []
    lost = [one["bug"] for n, one in enumerate(listed) if n not in seen]
    check("combinations: some subject has a case of each", not lost, lost)
    check("combinations: the rows of each subject have cases", not without, without)
    tools.close()


def steps(recipe):
    """The simpler forms of a recipe, with those of each."""
    found = list(shrink.smaller(recipe))
    return found + [r for one in found for r in shrink.smaller(one)]


sys.exit(main(test_worlds, test_rows, test_shrunken, test_whole_array, test_combinations))
