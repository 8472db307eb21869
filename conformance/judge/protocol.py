"""Validates what an adapter sends: hello, answers, and the files that answers name.

The checks repeat schema/ by hand, because the judge uses the standard library alone. Everything an
adapter sends passes through here before any other module reads it."""

import itertools
import json
import re
import struct

import checkpoint
import files
import limits
from axes import AXES, NAMED
from demands import many

PROTOCOL = 1
RUNS = ("masters", "gradients", "moments1", "moments2")  # given as runs of elements
FIELDS = ("skipped", "norm", "scale", "loss", "parameters", *RUNS)  # of a step
RETURNS = {*FIELDS, "ledger", "streams"}
HELLO = (
    *("protocol", "name", "version", "level", "world", "returns", "supports", "without", "lacks"),
    *("options", "unsupported"),
)
STATUS = ("ok", "error", "unsupported")
FILES = {"fp32": ("<f", 4), "fp64": ("<d", 8), "bf16": (None, 2), "fp16": ("<e", 2)}
WORD = re.compile(r"[^\s=,]+")
NUMBER = re.compile(
    r"[+-]?0x(?=\.?[0-9a-f])[0-9a-f]*(\.[0-9a-f]*)?(p[+-]?[0-9]+)?|[+-]?(inf|nan)", re.IGNORECASE
)
OPTION_MOST, PAIRS_MOST = (
    32,
    4000,
)  # values of one option; pairs of values of two options, each of which needs a case


class Malformed(Exception):
    """An adapter's output violates ADAPTER.md."""


def shown(value):
    """The beginning of a value, for a message."""
    return f"{value[:120]!r}" if isinstance(value, (str, bytes)) else repr(value)[:120]


def not_json(text):
    """Python's parser accepts NaN and Infinity, which JSON does not have."""
    raise ValueError(text)


def parse(line):
    """The JSON object on one line."""
    try:
        text = line.decode("utf-8")
        value = json.loads(text, parse_constant=not_json)
        if "\\u" in text:  # half a surrogate pair cannot be encoded: reports could not be written
            value = json.loads(
                json.dumps(value, ensure_ascii=False).encode("utf-8", errors="replace")
            )
    except RecursionError:
        raise Malformed(f"JSON is nested too deeply: {shown(line)}") from None
    except ValueError:
        raise Malformed(f"not valid JSON: {shown(line)}") from None
    if not isinstance(value, dict):
        raise Malformed(f"expected a JSON object, got {shown(line)}")
    return value


def is_int(value, least=0):
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def need(good, what, value):
    if not good:
        raise Malformed(f"{what}, got {shown(value)}")


# ---- hello ---------------------------------------------------------------------------------------


def is_option(value):
    """An option's value is printed as one word of a recipe and parsed back."""
    return (
        isinstance(value, bool)
        or is_int(value, -1 << 53)
        or (isinstance(value, str) and WORD.fullmatch(value) is not None)
    )


def check_hello(hello):
    for name in hello:
        need(name in HELLO, f"hello may have the keys {', '.join(HELLO)}", name)
    need(
        is_int(hello.get("protocol")) and hello["protocol"] == PROTOCOL,
        f'"protocol" must be {PROTOCOL}',
        hello.get("protocol"),
    )
    for name in ("name", "version"):
        need(
            isinstance(hello.get(name), str) and hello[name].strip(),
            f'"{name}" must be a string that is not empty',
            hello.get(name),
        )
        need(
            len(hello[name]) <= limits.LABEL,
            f'"{name}" may have at most {limits.LABEL} characters',
            f"{len(hello[name])}: {hello[name]}",
        )
    level = hello.get("level", 1)
    need(is_int(level, 1) and level <= 3, '"level" must be 1, 2 or 3', level)
    check_world_and_returns(hello, level)
    supports = hello.get("supports")
    need(
        isinstance(supports, dict), '"supports" must be an object: axis -> list of values', supports
    )
    check_supports(supports, level)
    options = hello.get("options", {})
    need(isinstance(options, dict), '"options" must be an object: name -> list of values', options)
    check_options(options)
    check_without(
        hello.get("without", []),
        {**AXES, **{f"option {name}": values for name, values in options.items()}},
    )
    check_lacks(hello.get("lacks", {}))
    check_unsupported(hello.get("unsupported", []))


def check_world_and_returns(hello, level):
    world = hello.get("world", 1)
    need(is_int(world, 1) and world <= 2**53, '"world" must be a number of ranks', world)
    returns = hello.get("returns", [])
    need(isinstance(returns, list), '"returns" must be a list', returns)
    need(
        len(returns) <= len(RETURNS),
        f'"returns" may have at most {len(RETURNS)} names',
        len(returns),
    )
    for name in returns:
        need(
            isinstance(name, str) and name in RETURNS,
            f'"returns" may name {", ".join(sorted(RETURNS))}',
            name,
        )
    for name, least in (
        ("ledger", 2),
        ("streams", 3),
    ):  # without it, nothing of that level could fail
        need(
            level < least or name in returns,
            f'"returns" must name "{name}" because "level" is {level}',
            returns,
        )


def is_one_of(value, values):
    """Compares types as well, because Python holds 1 == True."""
    return any(type(value) is type(v) and value == v for v in values)


def listing(values):
    return ", ".join(json.dumps(v) for v in values)


def check_supports(supports, level):
    for axis, values in supports.items():
        need(axis in AXES, f'"supports" may name the axes {", ".join(AXES)}', axis)
        need(
            isinstance(values, list) and values,
            f'"supports": "{axis}" must be a list of values from {listing(AXES[axis])}',
            values,
        )
        need(
            len(values) <= len(AXES[axis]),
            f'"supports": "{axis}" may have at most {len(AXES[axis])} values',
            f"{len(values)}: {shown(values)}",
        )
        for value in values:
            need(
                is_one_of(value, AXES[axis]),
                f'"supports": "{axis}" may have the values {listing(AXES[axis])}',
                value,
            )
    need(
        "zero" in supports,
        f'"supports" must name "zero", with values from {listing(AXES["zero"])}',
        supports,
    )
    need(
        level < 3 or "streams" in supports,
        '"supports" must name the axis "streams" because "level" is 3',
        supports,
    )


def check_options(options):
    need(
        len(options) <= limits.OPTIONS,
        f'"options" may have at most {limits.OPTIONS} names',
        len(options),
    )
    for name, values in options.items():
        need(
            WORD.fullmatch(name) is not None,
            "\"options\": a name must be one word without '=' and ','",
            name,
        )
        need(
            name not in NAMED,
            f'"options": "{name}" is a field of the case and cannot be an option',
            name,
        )
        need(
            isinstance(values, list) and values and all(map(is_option, values)),
            f'"options": "{name}" must be a list of booleans, integers or words',
            values,
        )
        need(
            len(values) <= OPTION_MOST,
            f'"options": "{name}" may have at most {OPTION_MOST} values',
            f"{len(values)}: {values}",
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


def check_without(rules, axes):
    """axes: the suite's axes, and "option NAME" for each option of hello."""
    need(isinstance(rules, list), '"without" must be a list of objects', rules)
    need(
        len(rules) <= limits.RULES,
        f'"without" may have at most {limits.RULES} rules',
        len(rules),
    )
    for rule in rules:
        need(
            isinstance(rule, dict) and rule.keys() - {"why"},
            'a rule of "without" must name axes',
            rule,
        )
        why = rule.get("why", "-")
        need(
            isinstance(why, str) and 0 < len(why) <= limits.LABEL,
            f'"why" of a rule of "without" must be a text of at most {limits.LABEL} characters',
            why,
        )
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


def check_reason(text, where):
    need(isinstance(text, str) and text.strip(), f"{where} must be a sentence", text)
    need(
        len(text) <= limits.LABEL,
        f"{where} may have at most {limits.LABEL} characters",
        f"{len(text)}: {shown(text)}",
    )


def check_unsupported(reasons):
    """All messages of the answer "unsupported"."""
    need(
        isinstance(reasons, list) and len(reasons) <= limits.REASONS,
        f'"unsupported" must be a list of at most {limits.REASONS} reasons',
        reasons,
    )
    for reason in reasons:
        check_reason(reason, 'each reason of "unsupported"')


def check_lacks(lacks):
    """axis or field of a step -> why it is not supported, or value of an axis (as text) -> why;
    "*": why all others are not."""
    need(isinstance(lacks, dict), '"lacks" must be an object: axis -> reason', lacks)
    for axis, why in lacks.items():
        need(
            axis in (*AXES, *FIELDS, "*"),
            f'"lacks" may name the axes {", ".join(AXES)} and the fields {", ".join(FIELDS)}',
            axis,
        )
        if axis not in AXES or not isinstance(why, dict):
            check_reason(why, f'"lacks": "{axis}"')
            continue
        for value, reason in why.items():
            need(
                value in map(str, AXES[axis]),
                f'"lacks": "{axis}" may have the values {listing(map(str, AXES[axis]))}',
                value,
            )
            check_reason(reason, f'"lacks": "{axis}": "{value}"')


# ---- Answers -------------------------------------------------------------------------------------


def answer_of(line):
    answer = parse(line)
    need(
        answer.get("status") in STATUS,
        f'"status" must be one of {", ".join(STATUS)}',
        answer.get("status"),
    )
    for name in ("message", "type", "function"):
        if name in answer and not isinstance(answer[name], str):
            raise Malformed(f'"{name}" must be a string, got {shown(answer[name])}')
    return {
        "status": answer["status"],
        "message": answer.get("message", "")[-limits.MESSAGE :],
        **{n: answer[n][: limits.LABEL] for n in ("type", "function") if n in answer},
        **({"ranks": answer.get("ranks")} if answer["status"] == "ok" else {}),
    }


class Budget:
    """The bytes that an answer may still have, over its line and the files that it names."""

    def __init__(self, used):
        self.left = limits.ANSWER - used

    def read(self, name, what):
        most = min(limits.FILE, self.left)
        try:
            raw = files.read_whole(name, most)
        except OSError as error:
            which = "file" if most == limits.FILE else f"answer ({limits.ANSWER} bytes)"
            limit = f" (limit of one {which})" if "expected at most" in error.strerror else ""
            raise Malformed(f"{what}: cannot read {shown(name)}: {error.strerror}{limit}") from None
        self.left -= len(raw)
        return raw


def load(answer, case, budget):
    """Checks an answer whose status is ok, and replaces file names by the files' values: the files
    may lie in the ledgers' folder, which is removed before values are judged."""
    ranks = answer["ranks"]
    need(
        isinstance(ranks, list)
        and all(isinstance(r, dict) and is_int(r.get("rank")) for r in ranks)
        and [r["rank"] for r in ranks] == list(range(case["world"])),
        f'"ranks" must list ranks 0..{case["world"] - 1} in order',
        ranks,
    )
    for q, mine in enumerate(ranks):
        steps = mine.get("steps")
        need(
            isinstance(steps, list) and len(steps) == case["steps"],
            f"rank {q} must report {many(case['steps'], 'step')}",
            steps,
        )
        for number, step in enumerate(steps):
            early = number < checkpoint.begins(case) - 1  # the next one is the state as loaded
            need(not early or step is None, f"rank {q}, step {number}: must be null", step)
            if step is None and number < checkpoint.begins(case):
                continue
            load_step(step, f"rank {q}, step {number}", case["micro_batches"], budget)
        answer["ranks"][q] = {"rank": q, "steps": steps}


def load_step(step, where, micro_batches, budget):
    need(isinstance(step, dict), f"{where}: a step must be an object", step)
    for name in step:
        need(name in FIELDS, f"{where}: a step may have the fields {', '.join(FIELDS)}", name)
    if step.get("skipped") is not None:
        need(
            isinstance(step["skipped"], bool),
            f'{where}: "skipped" must be true or false',
            step["skipped"],
        )
    if step.get("norm") is not None:
        check_number(step["norm"], f'{where}: "norm"')
    if step.get("scale") is not None:
        check_number(step["scale"], f'{where}: "scale"')
    if step.get("loss") is not None:
        need(
            isinstance(step["loss"], list) and len(step["loss"]) == micro_batches,
            f'{where}: "loss" must list the losses of {micro_batches} micro-batches',
            step["loss"],
        )
        for value in step["loss"]:
            check_number(value, f'{where}: "loss"')
    for name in ("parameters", *RUNS):
        if name not in step:
            continue
        need(
            isinstance(step[name], dict),
            f'{where}: "{name}" must be an object: name -> values',
            step[name],
        )
        for parameter, values in step[name].items():
            what = f"{where}: {name} of {parameter}"
            if name == "parameters":
                step[name][parameter] = tensor(values, what, budget)
                continue
            need(isinstance(values, list), f"{what} must be a list of [offset, values]", values)
            for run in values:
                need(
                    isinstance(run, list) and len(run) == 2 and is_int(run[0]),
                    f"{what}: a run must be [offset, values]",
                    run,
                )
                run[1] = tensor(run[1], what, budget)


def check_number(text, what):
    need(isinstance(text, str), f"{what}: a number must be a hexadecimal float in a string", text)
    try:
        number(text)
    except Malformed as error:
        raise Malformed(f"{what}: {error}") from None


def number(text):
    if not isinstance(text, str):
        raise Malformed(f"a number must be a hexadecimal float in a string, got {text!r:.40}")
    if NUMBER.fullmatch(text) is None:  # fromhex would read the decimal "1.5" as 0x1.5
        raise Malformed(f"expected a hexadecimal float (0x…, inf, -inf or nan), got {text[:40]!r}")
    try:
        return float.fromhex(text)
    except OverflowError:
        raise Malformed(f"'{text:.40}' does not fit a double") from None


def tensor(values, what, budget):
    """A list of hexadecimal floats. {"file": PATH, "dtype": …} names a raw, little-endian file with
    the values."""
    if isinstance(values, dict):
        return values_of_file(values, what, budget)
    need(isinstance(values, list), f"{what} must be a list or name a file", values)
    for text in values:
        need(
            isinstance(text, str), f"{what}: a number must be a hexadecimal float in a string", text
        )
    return values


def values_of_file(reference, what, budget):
    name, dtype = reference.get("file"), reference.get("dtype")
    need(
        isinstance(name, str) and name and "\0" not in name, f'{what}: "file" must be a path', name
    )
    need(
        isinstance(dtype, str) and dtype in FILES,
        f'{what}: "dtype" of a file must be one of {", ".join(FILES)}',
        dtype,
    )
    code, size = FILES[dtype]
    raw = budget.read(name, what)
    if len(raw) % size:
        raise Malformed(
            f"{what}: the size of {shown(name)} must be a multiple of {size} bytes ({dtype}), got "
            f"{len(raw)}"
        )
    if code is None:  # bf16: the upper half of an fp32
        raw, code = b"".join(b"\0\0" + raw[i : i + 2] for i in range(0, len(raw), 2)), "<f"
    return [x.hex() for (x,) in struct.iter_unpack(code, raw)]
