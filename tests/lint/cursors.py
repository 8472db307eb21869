"""All control state of an executor is in a zp_cursor, which only the proven functions write."""

import re

from common import Finding

PLACE = ("ref/engine/cursor.c", "ref/engine/cursor.h")
HEADER = "ref/engine/cursor.h"
FOLDERS = ("ref/", "cuda/", "conformance/", "tests/")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
STRUCT = re.compile(r"typedef struct zp_cursor \{(.*?)\} zp_cursor;", re.DOTALL)
NAMED = re.compile(r"\bzp_cursor\s*\**\s*(?:const\s+)?(\w+)\s*[,;)=\[]")
ASSIGN = r"(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"


def plain(text):
    return COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def fields(text):
    """The fields of zp_cursor: the last word before each `;`."""
    struct = STRUCT.search(plain(text))
    return re.findall(r"(\w+)\s*;", struct[1]) if struct else []


def writes(text, names):
    """(offset, what) of each write to a field, to a whole cursor, or to its memory."""
    held = "|".join(sorted(set(NAMED.findall(text)) | {"cursor"}))
    cursor = rf"(?:\w+(?:->|\.))*\b(?:{held})\b"
    field = rf"{cursor}\s*(?:->|\.)\s*(?:{'|'.join(names)})\b"
    patterns = {
        "a field of a zp_cursor": rf"{field}(?:\s*\[[^]]*\])?\s*{ASSIGN}"
        rf"|(?:\+\+|--|(?<!&)&(?!&))\s*{field}(?!\s*\[)",
        "a whole zp_cursor": rf"(?:->|\.)\s*cursor\s*=(?!=)|(?:^|[;{{}})])\s*\*\s*{cursor}\s*=(?!=)"
        r"|\bzp_cursor\s+\w+\s*=(?!=)",
        "the memory of a zp_cursor": rf"\bmem(?:set|cpy|move)\(\s*&?{cursor}\s*,",
    }
    for what, pattern in patterns.items():
        for m in re.finditer(pattern, text, re.MULTILINE):
            yield m.end(), what


def check(tree):
    names = fields(tree.text(HEADER))
    if not names:
        return []
    found = []
    for path in tree.ending(".c", ".h", ".inc", ".cu", ".cpp"):
        if path in PLACE or not path.startswith(FOLDERS):
            continue
        text = plain(tree.text(path))
        if "cursor" not in text:
            continue
        for at, what in writes(text, names):
            line = text.count("\n", 0, at) + 1
            why = f"writes {what}: call the functions of {HEADER}, which are proven"
            found.append(Finding("cursor", path, line, why))
    return found
