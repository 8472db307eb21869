"""Validates hello: schema/hello.json has its form. What the schema cannot express is checked here:
rules about the adapter's own options, and about values of several fields."""

import itertools
import json

import schema
from axes import AXES, NAMED
from protocol import FIELDS, Malformed, need

PAIRS_MOST = 4000  # pairs of values of two options, each of which needs a case


def check(hello):
    why = schema.error_of(hello, "hello")
    if why:
        raise Malformed(why)
    options = hello.get("options", {})
    check_options(options)
    check_without(
        hello.get("without", []),
        {**AXES, **{f"option {name}": values for name, values in options.items()}},
    )
    check_lacks(hello.get("lacks", {}))


def check_options(options):
    for name, values in options.items():
        need(
            name not in NAMED,
            f'"options": "{name}" is a field of the case and cannot be an option',
            name,
        )
        need(
            len(set(map(str, values))) == len(values),
            f'"options": the values of "{name}" must differ when printed',
            values,
        )
    pairs = sum(len(a) * len(b) for a, b in itertools.combinations(options.values(), 2))
    need(
        pairs <= PAIRS_MOST,
        f'"options" may have at most {PAIRS_MOST} pairs of values, because each pair needs a case',
        pairs,
    )


def is_one_of(value, values):
    """Compares types as well, because Python holds 1 == True."""
    return any(type(value) is type(v) and value == v for v in values)


def listing(values):
    return ", ".join(json.dumps(v) for v in values)


def check_without(rules, axes):
    """axes: the suite's axes, and "option NAME" for each option of hello."""
    for rule in rules:
        need(rule.keys() - {"why"}, 'a rule of "without" must name axes', rule)
        for axis, values in rule.items():
            if axis == "why":
                continue
            need(axis in axes, f'a rule of "without" may name the axes {", ".join(axes)}', axis)
            for value in values if isinstance(values, list) else [values]:
                need(
                    is_one_of(value, axes[axis]),
                    f'"without": "{axis}" may have the values {listing(axes[axis])}',
                    value,
                )


def check_lacks(lacks):
    """axis or field of a step -> why it is not supported, or value of an axis (as text) -> why;
    "*": why all others are not."""
    for axis, why in lacks.items():
        need(
            axis in (*AXES, *FIELDS, "*"),
            f'"lacks" may name the axes {", ".join(AXES)} and the fields {", ".join(FIELDS)}',
            axis,
        )
        need(axis in AXES or isinstance(why, str), f'"lacks": "{axis}" must be a sentence', why)
        for value in why if isinstance(why, dict) else ():
            need(
                value in map(str, AXES[axis]),
                f'"lacks": "{axis}" may have the values {listing(map(str, AXES[axis]))}',
                value,
            )
