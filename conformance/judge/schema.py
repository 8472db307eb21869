"""Checks JSON files by the schemas of conformance/schema.

The judge uses the standard library alone, so this knows only the keywords that the schemas of files
need (KEYWORDS). A message names the place, what is expected there, and what was found."""

import functools
import json
import os
import re

import files
from protocol import not_json, shown
from tools import Refused

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "schema")
TYPES = {
    "object": (dict, "an object"),
    "array": (list, "a list"),
    "string": (str, "a string"),
    "integer": (int, "an integer"),
    "number": ((int, float), "a number"),
    "boolean": (bool, "true or false"),
    "null": (type(None), "null"),
}
IGNORED = {"$schema", "$defs", "title", "description"}


@functools.cache
def schema_of(name):
    return files.read_json(os.path.join(FOLDER, f"{name}.json"), 1 << 20)


def is_type(value, name):
    if isinstance(value, bool):  # Python holds that True is an integer
        return name == "boolean"
    return isinstance(value, TYPES[name][0])


def check_type(value, wanted):
    names = [wanted] if isinstance(wanted, str) else wanted
    if not any(is_type(value, name) for name in names):
        return f"expected {' or '.join(TYPES[name][1] for name in names)}"
    return None


def check_choice(value, wanted):
    if not any(type(value) is type(one) and value == one for one in wanted):
        return f"expected {' or '.join(json.dumps(one) for one in wanted)}"
    return None


def check_pattern(value, wanted):
    """Patterns have ^ and $, which Python's $ would not match as JSON Schema's does."""
    if isinstance(value, str) and re.fullmatch(wanted[1:-1], value, re.ASCII) is None:
        return f"expected text that matches {wanted}"
    return None


def check_size(kind, what, least):
    def check(value, wanted):
        if not isinstance(value, kind) or (len(value) >= wanted if least else len(value) <= wanted):
            return None
        return f"expected at {'least' if least else 'most'} {wanted} {what}"

    return check


def check_least(value, wanted):
    return f"expected at least {wanted}" if is_type(value, "number") and value < wanted else None


def check_most(value, wanted):
    return f"expected at most {wanted}" if is_type(value, "number") and value > wanted else None


def check_required(value, wanted):
    missing = [name for name in wanted if name not in value] if isinstance(value, dict) else []
    return f'"{missing[0]}" is missing' if missing else None


def check_names(value, wanted):
    for name in value if isinstance(value, dict) else ():
        why = check_pattern(name, wanted["pattern"])
        if why:
            return f"expected names with {why.removeprefix('expected ')}"
    return None


KEYWORDS = {
    "type": check_type,
    "const": lambda value, wanted: check_choice(value, [wanted]),
    "enum": check_choice,
    "pattern": check_pattern,
    "minItems": check_size(list, "items", True),
    "maxItems": check_size(list, "items", False),
    "minLength": check_size(str, "characters", True),
    "maxLength": check_size(str, "characters", False),
    "minimum": check_least,
    "maximum": check_most,
    "required": check_required,
    "propertyNames": check_names,
}
INSIDE = {"properties", "additionalProperties", "items", "prefixItems", "$ref"}


def parts(value, schema):
    """(place, value, schema) of the values inside."""
    if isinstance(value, list):
        first = schema.get("prefixItems", [])
        for at, inner in enumerate(value):
            below = first[at] if at < len(first) else schema.get("items")
            if below is not None:
                yield f"[{at}]", inner, below
    elif isinstance(value, dict):
        known = schema.get("properties", {})
        for name, inner in value.items():
            below = known.get(name, schema.get("additionalProperties", True))
            if below is not True:
                yield f".{name[:40]}", inner, below


def at(where):
    """The beginning of a message about a place; the file itself is named already."""
    return f"{where.lstrip('.')}: " if where else ""


def error_of(value, schema, root=None, where=""):
    """What is wrong with a value, or None."""
    root = schema if root is None else root
    todo = [(where, value, schema)]
    while todo:
        where, value, schema = todo.pop()
        if schema is False:
            return f"{at(where)}unknown field"
        while "$ref" in schema:
            schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        for keyword, wanted in schema.items():
            if keyword in IGNORED or keyword in INSIDE:
                continue
            why = KEYWORDS[keyword](value, wanted)
            if why:
                found = "" if keyword == "required" else f", got {shown(value)}"
                return f"{at(where)}{why}{found}"
        below = [(where + place, inner, deeper) for place, inner, deeper in parts(value, schema)]
        todo += below[::-1]
    return None


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
    why = error_of(value, schema_of(schema))
    if why:
        raise Refused(f"{what}{name}: {why}")
    return value
