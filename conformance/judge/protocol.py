"""Validates answers of an adapter, and the files that they name; hello.py validates hello.

The checks repeat schema/answer.json by hand: a run has an answer for each case. One of 11 kB takes
0.4 ms here, and 10 ms with the library jsonschema (ledger.py: a record takes 4 us, not 200). All
that an adapter sends is validated before any other module reads it."""

import json
import re
import struct

import checkpoint
import files
import limits
from demands import many

PROTOCOL = 1
RUNS = ("masters", "gradients", "moments1", "moments2")  # given as runs of elements
FIELDS = ("skipped", "norm", "scale", "loss", "parameters", *RUNS)  # of a step
STATUS = ("ok", "error", "unsupported")
FILES = {"fp32": ("<f", 4), "fp64": ("<d", 8), "bf16": (None, 2), "fp16": ("<e", 2)}
NUMBER = re.compile(
    r"[+-]?0x(?=\.?[0-9a-f])[0-9a-f]*(\.[0-9a-f]*)?(p[+-]?[0-9]+)?|[+-]?(inf|nan)", re.IGNORECASE
)


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
