"""Hostile values, and changes of JSON documents, bytes, texts and files that keep their structure.

Every function takes `dice`, a random.Random, so that a seed gives the same input again."""

import json

LONG = 1 << 17  # characters: longer than a pipe's buffer, and than any line that people write
DEEP = 20000  # levels: more than a recursive reader's stack holds

INTEGERS = [
    0,
    1,
    -1,
    2,
    7,
    8,
    63,
    64,
    127,
    128,
    255,
    256,
    1000,
    4096,
    65535,
    65536,
    1 << 20,
] + [
    sign * ((1 << bits) + off)
    for bits in (15, 16, 20, 26, 31, 32, 40, 53, 62, 63, 64, 65, 127)
    for off in (-1, 0, 1)
    for sign in (1, -1)
]
REALS = [0.0, -0.0, 0.5, 1.5, 1e-300, 5e-324, 1e300, -1e300, 1e308, 3.4e38, 0.1, -1.0]
HUGE = "1" + "0" * 400  # digits of a number that no type holds
STRINGS = [
    "",
    " ",
    "\0",
    "a\0b",
    "\x1b[2J\x1b[31mred",
    "\x1b]0;title\x07",
    "\u202egnp.exe",
    "\u2066\u2069\u200b\ufeff",
    "\x9b31m",
    "\x7f\x08\r\n",
    "a\nb",
    "%s%n%99999999d",
    "'; touch made; '",
    "$(touch made)`touch made`",
    "|touch made",
    "<script>alert(1)</script>",
    '"\\',
    "../elsewhere/kept",
    "-",
    "--help",
    "\ud7ff\ue000\U0010ffff",
    "e\u0301" * 50,
    "nan",
    "inf",
    "-inf",
    "0x1p+2000",
    "0x",
    "1e300",
    "1_000",
    "٣",
    "true",
    "null",
]
# Bytes in the place of a JSON value: what json.dumps cannot write, or no reader should take.
RAW = [
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"1e400",
    b"-1e400",
    b"1e999999999",
    b"0x10",
    b"01",
    b"+1",
    b"1.",
    b'"\xff\xfe"',
    b'"\xed\xa0\x80"',
    b'"\xc0\x80"',
    b'"\\ud800"',
    b'"\\udc00\\ud800"',
    b'"\\u0000"',
    b'"\x00"',
    b'"\x1b[2J"',
    b'"tab\there"',
    b'"open',
    b"tru",
    b"",
    b"{",
    b"[",
    b"]",
    b",",
    b"{}",
    b"[[]]",
    HUGE.encode(),
    b"-" + HUGE.encode(),
    b"0." + b"0" * 5000 + b"1",
]


class Raw:
    """Bytes that are written as they are."""

    def __init__(self, data):
        self.data = data


def string(dice):
    if dice.random() < 0.05:
        return dice.choice(["a", "\u202e", "\x1b", "["]) * LONG
    return dice.choice(STRINGS)


def number_text(dice):
    """A number as people write it in options and recipes."""
    pick = dice.random()
    if pick < 0.5:
        return str(dice.choice(INTEGERS))
    if pick < 0.7:
        return repr(dice.choice(REALS))
    if pick < 0.8:
        return str(dice.choice(INTEGERS)) + dice.choice(
            ["Ki", "Mi", "Gi", "Ti", "K", "i", " ", "x"]
        )
    return dice.choice(["nan", "inf", "-inf", "1e300", "0x10", HUGE, "-0", "", "1e", "+1", "007"])


def value(dice):
    """A JSON value of any kind, or raw bytes."""
    return dice.choice(
        [
            lambda: dice.choice(INTEGERS),
            lambda: dice.choice(INTEGERS),
            lambda: dice.choice(REALS),
            lambda: string(dice),
            lambda: Raw(dice.choice(RAW)),
            lambda: dice.choice([None, True, False, [], {}, [[]], [{}], {"": {}}]),
            lambda: [0] * dice.choice([1, 3, 1000, 70000]),
            lambda: deep(dice),
        ]
    )()


def deep(dice):
    left, right = dice.choice([(b"[", b"]"), (b'{"a":', b"}")])
    n = dice.choice([100, 2000, 2049, DEEP])
    return Raw(left * n + b"0" + (right * n if dice.random() < 0.8 else b""))


def similar(dice, old):
    """A value that is near the old one: the most useful for checks of ranges and consistency."""
    if isinstance(old, bool):
        return not old
    if isinstance(old, int):
        return dice.choice(
            [old + 1, old - 1, -old, old * 2, old << 32, old + (1 << 32), float(old)]
        )
    if isinstance(old, float):
        return dice.choice([-old, old * 2, old * 1e30, old * 1e-30, int(old) if old == old else 0])
    if isinstance(old, str):
        return dice.choice([old + "\0", old[:-1], old * 2, old.upper(), " " + old, old + "\x1b[1m"])
    if isinstance(old, list):
        return dice.choice([old[:-1], old * 2, old[::-1], old[:1] * 300, [old]])
    return dice.choice([[old], None])


def nodes(document):
    """(container, key) of every value inside a document."""
    todo, found = [document], []
    while todo:
        at = todo.pop()
        pairs = at.items() if isinstance(at, dict) else enumerate(at)
        for key, inner in list(pairs):
            found.append((at, key))
            if isinstance(inner, (dict, list)):
                todo.append(inner)
    return found


class Twice:
    """An object in which one key is written twice."""

    def __init__(self, old, key, second):
        self.old, self.key, self.second = old, key, second


def change(dice, document):
    """Changes one place of a document, in place."""
    found = nodes(document)
    if not found:
        return
    # lists of numbers would otherwise get nearly all of the changes
    short = [(at, key) for at, key in found if isinstance(at, dict)]
    at, key = dice.choice(short if short and dice.random() < 0.7 else found)
    pick = dice.random()
    if pick < 0.4:
        at[key] = value(dice)
    elif pick < 0.7:
        at[key] = similar(dice, at[key])
    elif pick < 0.8:
        del at[key]
    elif pick < 0.9:
        other, name = dice.choice(found)
        if isinstance(other, dict) == isinstance(at, dict) and name in other_keys(other):
            at[key] = json_copy(other[name])
    elif isinstance(at, dict):
        if dice.random() < 0.5:
            at[string(dice)[:3000]] = value(dice)
        else:
            at[key] = Twice(at[key], key, value(dice))
    else:
        at[key:key] = [at[key]] * dice.choice([1, 2, 100])


def other_keys(container):
    return container if isinstance(container, dict) else range(len(container))


def json_copy(what):
    if isinstance(what, dict):
        return {key: json_copy(inner) for key, inner in what.items()}
    return [json_copy(inner) for inner in what] if isinstance(what, list) else what


def dump(what):
    """JSON as bytes, with Raw and Twice as they stand."""
    if isinstance(what, Raw):
        return what.data
    if isinstance(what, Twice):
        return dump(what.old) + b"," + dump(what.key) + b":" + dump(what.second)
    if isinstance(what, dict):
        return b"{" + b",".join(dump(k) + b":" + dump(v) for k, v in what.items()) + b"}"
    if isinstance(what, list):
        return b"[" + b",".join(map(dump, what)) + b"]"
    return json.dumps(what, ensure_ascii=False).encode("utf-8", "surrogatepass")


def json_bytes(dice, document, changes=3):
    """A changed document as bytes; now and then the bytes are changed as well."""
    copy = json_copy(document)
    for _ in range(dice.choice([1, 1, 1, changes])):
        change(dice, copy)
    data = dump(copy)
    return data_bytes(dice, data) if dice.random() < 0.1 else data


def data_bytes(dice, data, changes=3):
    """Changed bytes: flips, cuts, copies, insertions, integers of all widths."""
    data = bytearray(data)
    for _ in range(dice.randint(1, changes)):
        at = dice.randrange(len(data) + 1)
        end = min(len(data), at + dice.choice([1, 2, 4, 8, 32, 1000]))
        pick = dice.randrange(8)
        if pick == 0 and at < len(data):
            data[at] ^= 1 << dice.randrange(8)
        elif pick == 1 and at < len(data):
            data[at] = dice.choice([0, 1, 9, 10, 32, 127, 128, 255])
        elif pick == 2:
            del data[at:]
        elif pick == 3:
            del data[at:end]
        elif pick == 4:
            data[at:at] = data[at:end] * dice.choice([1, 2, 50])
        elif pick == 5:
            other = dice.randrange(len(data) + 1)
            data[at:end] = data[other : other + end - at]
        elif pick == 6:
            width = dice.choice([4, 8])
            word = dice.choice(INTEGERS) % (1 << 8 * width)
            data[at : at + width] = word.to_bytes(width, "little")
        else:
            data[at:at] = dice.choice([b"\xff" * 9, b"\0" * 64, b"\n", b"\x1b[2J", b"\xe2\x80\xae"])
    return bytes(data)


def text(dice, old, changes=2):
    """A changed line of text such as a recipe: its words keep their separators."""
    for _ in range(dice.randint(1, changes)):
        marks = [i for i, c in enumerate(old) if c in ",=+@.: "]
        if not marks:
            return string(dice)
        at = dice.choice(marks)
        end = next((i for i in marks if i > at), len(old))
        pick = dice.random()
        if pick < 0.6:
            new = old[at] + number_text(dice)
        elif pick < 0.7:
            new = old[at] + string(dice)[:3000]
        elif pick < 0.8:
            new = ""
        elif pick < 0.9:
            new = old[at:end] * dice.choice([2, 3, 600])
        else:
            new = dice.choice(",=+@.: ") + old[at + 1 : end]
        old = old[:at] + new + old[end:]
    return old


def kind_of_file(dice, files):
    """Replaces one of the files {name: entry} by something that is not a file with that content."""
    name = dice.choice(sorted(files))
    others = [other for other in files if other != name]
    files[name] = dice.choice(
        [
            {"bytes": b""},
            {"fifo": True},
            {"folder": True},
            {"sparse": dice.choice([1 << 20, 1 << 34, 1 << 40])},
            {"link": dice.choice(["/dev/zero", "/dev/full", "/dev/null", "/proc/self/mem"])},
            {"link": "../elsewhere/kept"},
            {"link": dice.choice(["missing", name.rsplit("/", 1)[-1], ".", *others])},
            {"bytes": dice.choice([b"\n", b"\0" * 100, b"{}", b"[]", b"null", b"\xef\xbb\xbf{}"])},
        ]
    )
