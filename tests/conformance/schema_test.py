"""The schemas of conformance/schema: what the judge refuses, and its messages. Also what it reports
if a library is missing."""

import copy
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import jsonschema
from selftest import COMMAND, ROOT, check, main, run, text_of

sys.path[:0] = [os.path.join(ROOT, "conformance", "judge"), os.path.join(ROOT, "tests", "hostile")]

import limits  # noqa: E402
import mutate  # noqa: E402
import protocol  # noqa: E402
import schema  # noqa: E402

# Keywords that find nothing themselves, or have a message of their own.
OTHERS = {"$defs", "$ref", "$schema", "title", "description", "properties", "propertyNames"}
OTHERS |= {"items", "prefixItems", "allOf", "if", "then", "required", "additionalProperties"}


def keywords(value, names=False):
    """The keywords of a schema. names: the keys of the value are names, and no keywords."""
    found = set()
    if isinstance(value, list):
        found.update(*map(keywords, value))
    elif isinstance(value, dict):
        found.update(() if names else value)
        for key, inner in value.items():
            found |= keywords(inner, not names and key in ("properties", "$defs"))
    return found


ONE = ("--cases", "1", "--shrink", "0")


def samples():
    """schema -> a value that conforms"""
    folder = os.path.join(ROOT, "conformance")
    support = json.loads(text_of(folder, "support/zeroproof-ref-0.1.0.json"))
    known = json.loads(text_of(folder, "known/deepspeed-0.19.8.json"))
    causes = json.loads(text_of(folder, "known/causes.json"))["causes"]
    mutants = json.loads(text_of(folder, "mutants.json"))
    _, report, _ = run(f"{COMMAND} adapter --fault ds5150", "--only", "STEP-6", *ONE)
    return {
        "known": {"causes": dict([*causes.items()][:3]), "failures": known["failures"][:3]},
        "support": support,
        "selection": json.loads(text_of(folder, "quick/deepspeed-0.19.8.json")),
        "mutants": {**mutants, "mutants": mutants["mutants"][:3]},
        "hello": {**support, "protocol": 1},
        "report": {name: value for name, value in report.items() if name != "files"},
    }


def test_refused():
    """What the library jsonschema refuses is reported with its place, whatever the value is. Only
    in the type of 1.0 the judge is stricter."""
    for name, sample in samples().items():
        plain = jsonschema.Draft202012Validator(schema.validator_of(name).schema)
        check(f"{name}: a sample conforms", schema.error_of(sample, name) is None)
        dice, wrong, refused = random.Random(1), [], 0
        for _ in range(60):
            value = copy.deepcopy(sample)
            mutate.change(dice, value)
            try:
                value = json.loads(mutate.dump(value), parse_constant=protocol.not_json)
            except (ValueError, RecursionError):
                continue
            why, others = schema.error_of(value, name), plain.is_valid(value)
            refused += not others
            stricter = others and "an integer" in (why or "")
            message = re.match(r'([^:]*: )?(expected |unknown field|".*" is missing)', why or "")
            if (why is None) != others and not stricter or why and not message:
                wrong.append((why, others))
        check(f"{name}: the judge refuses what jsonschema refuses", refused > 10, refused)
        check(f"{name}: every refusal has a message", not wrong, wrong[:3])
        used = keywords(plain.schema) - OTHERS
        check(f"{name}: every keyword has a message", used <= {*schema.EXPECTED}, used)


SUPPORT = {"level": 1, "world": 8, "returns": [], "supports": {}, "options": {}, "without": []}
HELLO = {"protocol": 1, "name": "a", "version": "1", "supports": {"zero": [0]}}
MESSAGES = [
    ("selection", {"cases": [1.0]}, "cases[0]: expected a string, got 1.0"),
    ("selection", [], "expected an object, got []"),
    ("support", {**SUPPORT, "level": 1.0}, "level: expected an integer, got 1.0"),
    ("support", {**SUPPORT, "level": True}, "level: expected an integer, got True"),
    ("support", {**SUPPORT, "world": 1 << 4000}, f"world: expected at most {1 << 53}, got 1318204"),
    ("support", {**SUPPORT, "x" * 99: 1}, f"{'x' * 40}: unknown field; expected one of name, "),
    ("known", {"causes": {"A B": {}}}, "causes: expected a name that is text that matches ^[a-z0-"),
    ("known", {"causes": {"a\n": {}}}, "causes: expected a name that is text that matches ^[a-z0-"),
    ("known", {"failures": [{}]}, 'failures[0]: "cause" is missing'),
    ("hello", {**HELLO, "options": {"a b": [1]}}, "options: expected a name that is text that"),
    ("hello", {**HELLO, "options": {"a": []}}, "options.a: expected at least 1 item, got 0"),
    (
        "hello",
        {**HELLO, "options": {"a": [-(1 << 54)]}},
        f"options.a[0]: expected at least -{1 << 53}",
    ),
    ("hello", {**HELLO, "lacks": {"tp": {"2": " "}}}, "lacks.tp.2: expected text that matches \\S"),
    ("hello", {**HELLO, "level": 2, "returns": []}, 'returns: expected a list with "ledger", got'),
    ("hello", {**HELLO, "level": 2}, '"returns" is missing (at levels 2 and 3)'),
]


def test_messages():
    for name, value, words in MESSAGES:
        found = schema.error_of(value, name) or ""
        check(f"{name}: {words}", found.startswith(words) and len(found) < 300, found)
    deep = []
    for _ in range(100000):
        deep = [deep]
    found = schema.error_of({"cases": deep}, "selection")
    check("a list that is nested too deeply is refused", found == "it is nested too deeply", found)
    numbers = schema.validator_of("hello").schema
    kinds = numbers["properties"]
    check(
        "hello's limits are those of the judge",
        numbers["$defs"]["text"]["maxLength"] == limits.LABEL
        and kinds["unsupported"]["maxItems"] == limits.REASONS
        and {*kinds["returns"]["items"]["enum"]} == {*protocol.FIELDS, "ledger", "streams"}
        and kinds["protocol"]["const"] == protocol.PROTOCOL
        and all(
            v["maxItems"] == len(v["items"]["enum"])
            for v in kinds["supports"]["properties"].values()
        ),
    )


SAMPLE = os.path.join(ROOT, "conformance", "mutants.json")


def test_missing():
    """Without a library, a program names it and says how to install it."""
    with tempfile.TemporaryDirectory() as folder:
        bare = os.path.join(folder, "python3")
        with open(bare, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
        os.chmod(bare, 0o755)
        env = {**os.environ, "ZEROPROOF_PYTHON": bare}
        judge = os.path.join(ROOT, "conformance", "judge")
        for words, name, library in (
            ([COMMAND, "check", "--adapter", "true"], "zeroproof check", "jsonschema"),
            ([COMMAND, "report", "x"], "zeroproof report", "jsonschema"),
            ([bare, f"{judge}/results.py", SAMPLE], "results.py", "jinja2"),
        ):
            done = subprocess.run(words, env=env, capture_output=True, text=True)
            wanted = (
                rf"{name}: {library} is missing \(No module named '{library}'\): "
                r"pip \S+ jinja2 jsonschema, or on Debian apt-get \S+ python3-jinja2 "
                r"python3-jsonschema\n"
            )
            check(
                f"{name} names the missing library",
                done.returncode == 2 and re.fullmatch(wanted, done.stderr) and not done.stdout,
                (done.returncode, done.stdout, done.stderr),
            )
        for words in ("check", "--help"), ("report", "--help"), ("explain", "STAT-4"):
            done = subprocess.run([COMMAND, *words], env=env, capture_output=True, text=True)
            check(f"{' '.join(words)} needs no library", done.returncode == 0 and done.stdout, done)
        done = subprocess.run(
            ["sh", "-c", f"{COMMAND} check --adapter true 2>&-"], env=env, capture_output=True
        )
        check("with standard error closed: exit code 2", done.returncode == 2, done)


sys.exit(main(test_refused, test_messages, test_missing))
