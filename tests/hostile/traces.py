"""Recorded runs (conformance/TRACE.md): valid runs, whose items and bytes are changed."""

import random

import mutate

MAGIC = b"ZPTRACE\1"
GROUP, DEF, PHASE, STEP, WAIT, CALL, CALL_END, TIME, END, OP, SOURCE, EXTENSION, FIRST = (
    *range(1, 13),
    16,
)
SITE, AT_SITE, EXIT, LABEL, VALUE_OF_OP, TENSOR, VALUE_OF_TENSOR = range(1, 8)
VALUES_ON, VALUES_END = 17, 18
ALL_REDUCE, ALL_GATHER, SEND, RECV = 1, 3, 10, 11
NUMBERS = [n for n in mutate.INTEGERS if n >= 0]


def leb(number):
    out = bytearray()
    while True:
        out.append((number & 127) | (128 if number > 127 else 0))
        number >>= 7
        if not number:
            return bytes(out)


def encode(header, items):
    """Items are lists of numbers, and bytes for texts and raw data."""
    out = bytearray(header)
    for item in items:
        for part in item:
            out += part if isinstance(part, bytes) else leb(max(0, part))
    return bytes(out)


def text(data):
    return len(data), data


def extension(kind, *numbers, data=b""):
    """An extension as numbers and bytes, whose length a change may make wrong."""
    return [EXTENSION, kind, sum(len(leb(n)) for n in numbers) + len(data), *numbers, data]


def lanes(dice):
    return bytes(dice.choices([0, 1, 7, 255], k=1)) * 16


def values(op, i, fingerprints):
    """The values of operation i of the group, the last one: its input and its result."""
    for side, (size, data) in zip((1, 2), fingerprints, strict=True):
        yield extension(VALUE_OF_OP, side, 1, op, 0, 1, i, size, data=data)


def operation(op, count, group, root=0, flags=0, phase=1):
    return [op, 2 if op == ALL_REDUCE else 1, 8, count + 1, group, root, flags, phase]


def run(dice, world):
    """The items of each rank of a valid run: collectives of all, a ring of sends, steps, call
    sites."""
    steps, any_source, ends_early = dice.choice([1, 3]), dice.random() < 0.3, dice.random() < 0.2
    with_values = dice.random() < 0.5
    given, tensor = lanes(dice), lanes(dice)
    gathered = (int.from_bytes(given[:8], "little") * world & (1 << 64) - 1).to_bytes(8, "little")
    prints = {
        ALL_REDUCE: ((384, given), (384, tensor)),
        ALL_GATHER: ((32, given), (32 * world, 2 * gathered)),
    }
    ranks = []
    for rank in range(world):
        items = [
            extension(LABEL, 1, data=b"default_pg"),
            extension(VALUES_ON, 1),
            [GROUP, 1, *text(b"world"), world, rank + 1, 1, 0, 2, world],
            [PHASE, 1, *text(b"gradient")],
            extension(SITE, 1, data=b"train.py:15;loop.py:8"),
            extension(SITE, 2, data=b"train.py:20"),
            extension(AT_SITE, 1),
            [
                DEF,
                0,
                *operation(ALL_REDUCE, 96, 1, 0, dice.choice([0, 1]) if world < 2 else 1),
            ],
            [DEF, 1, *operation(ALL_GATHER, 8, 1)],
        ]
        for step in range(steps):
            items += [
                [STEP, step],
                [TIME, 1000],
                [FIRST],
                *(values(ALL_REDUCE, 2 * step, prints[ALL_REDUCE]) if with_values else ()),
                [FIRST + 1],
                *(values(ALL_GATHER, 2 * step + 1, prints[ALL_GATHER]) if with_values else ()),
                [WAIT, 1],
                extension(AT_SITE, dice.choice([0, 2, 3])),
                extension(dice.choice([9, 99]), 7, data=b"unknown"),
                [CALL],
            ]
            if world > 1:
                right, left = (rank + 1) % world, (rank - 1) % world
                items.append([OP, *operation(SEND, 4, 1, right + 1, 1)])
                if any_source:
                    items.append([OP, *operation(RECV, 4, 1, 0, 3)])
                    items.append([SOURCE, 1, left + 1])
                else:
                    items.append([OP, *operation(RECV, 4, 1, left + 1, 1)])
            items += [[CALL_END], [WAIT, 1]]
            if with_values:
                items += [
                    extension(TENSOR, 1, data=b"parameter 0.weight"),
                    extension(VALUE_OF_TENSOR, 1, step + 1, 1, 40, data=tensor),
                    extension(VALUE_OF_TENSOR, 1, step + 1, 1, 40, data=given),
                ]
            elif step == 1:
                items.append(extension(VALUES_END, 0, data=b"RuntimeError"))
        status = extension(EXIT, 1 + rank % 2, 3, data=b"ValueError" if rank % 2 else b"")
        ranks.append([*items, status if ends_early else [END]])
    return ranks


def change(dice, ranks):
    """Changes one item of one rank, or moves items between ranks."""
    items = dice.choice(ranks)
    at = dice.randrange(len(items)) if items else 0
    pick = dice.randrange(9)
    if pick == 0:
        del items[at:]
    elif pick == 1:
        del items[at : at + dice.choice([1, 3])]
    elif pick == 2:
        items[at:at] = items[at : at + dice.choice([1, 4])] * dice.choice([1, 2, 50])
    elif pick == 3:
        items[at:at] = dice.choice(ranks)[at : at + dice.choice([1, 5])]
    elif pick == 4:
        items.insert(at, [dice.randrange(20), *dice.choices(NUMBERS, k=dice.randrange(9))])
    elif pick == 5 and dice.random() < 0.5:
        body = [dice.choice(NUMBERS) for _ in range(dice.randrange(3))]
        kind, length = dice.choice([*range(9), *NUMBERS[:4]]), dice.choice([0, 1, 40, *NUMBERS])
        item = extension(kind, *body, data=b"x" * dice.choice([0, 1, 300, 9000]))
        if dice.random() < 0.5:
            item[2] = length
        items.insert(at, item)
    elif pick == 5:
        items.insert(at, [dice.choice([b"\xff" * 12, b"\0\0\0", b"\x80" * 9 + b"\x01"])])
    elif items:
        numbers = [i for i, part in enumerate(items[at]) if isinstance(part, int)]
        texts = [i for i, part in enumerate(items[at]) if isinstance(part, bytes)]
        if texts and dice.random() < 0.4:
            new = mutate.string(dice).encode("utf-8", "surrogatepass")[
                : dice.choice([255, 256, 9000])
            ]
            items[at][texts[0]] = new
            if dice.random() < 0.8:
                items[at][texts[0] - 1] = len(new)
        elif numbers:
            i = dice.choice(numbers)
            near = max(0, items[at][i] + dice.choice([-1, 1, 2]))
            items[at][i] = near if dice.random() < 0.5 else dice.choice(NUMBERS)


class Kind:
    name = "traces"

    def __init__(self, _made):
        pass

    def files(self, dice):
        world = dice.choice([1, 2, 3, 5, 8])
        ranks = run(dice, world)
        for _ in range(dice.choice([0, 1, 1, 2, 4])):
            change(dice, ranks)
        found = {}
        for rank, items in enumerate(ranks):
            header = MAGIC + leb(rank) + leb(world if dice.random() < 0.95 else 0)
            if dice.random() < 0.03:
                header = MAGIC + leb(dice.choice(NUMBERS)) + leb(dice.choice(NUMBERS))
            data = encode(header, items)
            if dice.random() < 0.1:
                data = mutate.data_bytes(dice, data)
            found[f"run/rank-{rank}.zpt"] = {"bytes": data}
        if dice.random() < 0.05:
            del found[dice.choice(sorted(found))]
        if dice.random() < 0.05:
            name = dice.choice(["131071", "131072", "999999999", "4294967296", "-1", "00", "1x"])
            found[f"run/rank-{name}.zpt"] = {"bytes": MAGIC + leb(0) + leb(1)}
        if found and dice.random() < 0.05:
            mutate.kind_of_file(dice, found)
        return found

    def unchanged(self):
        """Runs of each size: (what, item, exit codes)."""
        for seed, world in enumerate((1, 2, 3, 5, 8)):
            ranks = run(random.Random(seed), world)
            given = {
                f"run/rank-{rank}.zpt": {"bytes": encode(MAGIC + leb(rank) + leb(world), items)}
                for rank, items in enumerate(ranks)
            }
            for words in (["check", "run", "--json"], ["view", "run", "--out", "out"]):
                item = {"argv": ["{zeroproof}", "trace", *words], "files": given}
                yield f"{words[0]} {world}", {**item, "writes": ["out"]}, (0,)

    def make(self, dice):
        given = self.files(dice)
        argv, writes = ["{zeroproof}", "trace"], []
        if dice.random() < 0.7:
            argv += ["check", "run"] + ["--json"] * (dice.random() < 0.5)
        else:
            argv += ["view", "run", "--out", "out"]
            writes = ["out"]
            if dice.random() < 0.3:
                argv += [
                    "--ranks",
                    dice.choice(["0-63", "1", "0-131071", "7-2", "131071"]),
                ]
        return {
            "argv": argv,
            "files": given,
            "json": "--json" in argv,
            "writes": writes,
        }
