"""Checks JSON values by the schemas of conformance/schema, with the library jsonschema.

The library's own messages repeat a whole value. Here a message has the place, what is expected
there, and the beginning of what was found. Two rules of JSON Schema are stricter here: 1.0 is no
integer, and "$" in a pattern is the end of the text, also if a line feed precedes it."""

import functools
import json
import os
import re

import files
from demands import many
from protocol import not_json, shown
from tools import Refused, missing

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "schema")
TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
# keyword -> what it expects. The keywords of COUNTS limit a number, which the message names.
COUNTS = {"Items": "item", "Length": "character", "Properties": "field"}
EXPECTED = {
    "type": lambda names: " or ".join(
        TYPES[name] for name in ([names] if isinstance(names, str) else names)
    ),
    "const": json.dumps,
    "enum": lambda values: " or ".join(map(json.dumps, values)),
    "pattern": "text that matches {}".format,
    "contains": lambda inner: f"a list with {json.dumps(inner['const'])}",
    "minimum": "at least {}".format,
    "maximum": "at most {}".format,
    **{f"min{what}": lambda n, w=word: f"at least {many(n, w)}" for what, word in COUNTS.items()},
    **{f"max{what}": lambda n, w=word: f"at most {many(n, w)}" for what, word in COUNTS.items()},
}


@functools.cache
def checker():
    """The class of validators. Imports the library, which --help does not need."""
    try:
        from jsonschema import Draft202012Validator, ValidationError, validators
    except ImportError as error:
        raise missing("jsonschema", error) from None

    def pattern_errors(_validator, pattern, value, _schema):
        if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
            yield ValidationError("")

    return validators.extend(
        Draft202012Validator,
        {"pattern": pattern_errors},
        type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
            "integer", lambda _, value: type(value) is int
        ),
    )


@functools.cache
def validator_of(name):
    return checker()(files.read_json(os.path.join(FOLDER, f"{name}.json"), 1 << 20))


def position_of(steps):
    """Where a value is. The file itself is named already."""
    return "".join(f"[{s}]" if isinstance(s, int) else f".{s[:40]}" for s in steps).lstrip(".")


def text_of(error):
    """An error of the library as a message for people."""
    value, steps = error.instance, list(error.absolute_path)
    if error.validator == "required":
        lacked = next(name for name in error.validator_value if name not in value)
        why = f'"{lacked}" is missing'
    elif error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        steps.append(next(name for name in value if name not in known))
        why = f"unknown field; expected one of {', '.join(known)}"
    else:
        counted = error.validator[3:] in COUNTS
        what = "a name that is " * ("propertyNames" in error.absolute_schema_path)
        why = f"expected {what}{EXPECTED[error.validator](error.validator_value)}, got "
        why += str(len(value)) if counted else shown(value)
    about = error.schema.get("description")
    where = position_of(steps)
    return f"{where}{': ' if where else ''}{why}{f' ({about})' if about else ''}"


def error_of(value, name):
    """What is wrong with a value that must conform to the schema of this name, or None. It is the
    first error: which is the best match differs between releases of the library, and to search for
    it takes seconds in a long list."""
    try:
        error = next(validator_of(name).iter_errors(value), None)
        return None if error is None else text_of(error)
    except RecursionError:
        return "it is nested too deeply"


def read(name, most, schema, option=""):
    """The content of a JSON file that must conform to a schema. option: names the file."""
    what = f"{option}: " if option else ""
    try:
        text = files.read_whole(name, most).decode("utf-8")
        value = json.loads(text, parse_constant=not_json)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(f"{what}cannot read {name}: half of a surrogate pair") from None
    except (OSError, ValueError, RecursionError) as error:
        raise Refused(
            f"{what}cannot read {name}: {getattr(error, 'strerror', None) or error}"
        ) from None
    why = error_of(value, schema)
    if why:
        raise Refused(f"{what}{name}: {why}")
    return value
