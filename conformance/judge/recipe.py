"""Parses and prints recipes: a case as one line of text (conformance/cases/cases.h)."""

import re

ORDER = [
    *("wide", "comm", "first", "sum", "rates", "late", "oneside"),
    *("precision", "reduce", "M", "bucket"),
]


class Entry:
    """One parameter: NUMEL@STAGE.GROUP and flags s (sharded), e (expert), f (frozen), w
    (fp32, whatever the precision), tKEY."""

    def __init__(self, numel, stage=0, group=0, flags="", tied=None):
        self.numel, self.stage, self.group, self.flags, self.tied = numel, stage, group, flags, tied

    def text(self):
        key = "" if self.tied is None else f"t{self.tied}"
        return f"{self.numel}@{self.stage}.{self.group}{self.flags}{key}"

    def copy(self):
        return Entry(self.numel, self.stage, self.group, self.flags, self.tied)


def entry_of(text):
    match = re.fullmatch(r"(\d+)@(\d+)\.(\d+)([sefw]*)(?:t(\d+))?", text)
    if not match:
        raise ValueError(f"expected a parameter NUMEL@STAGE.GROUP[s][e][f][w][tKEY], got '{text}'")
    numel, stage, group, flags, tied = match.groups()
    return Entry(int(numel), int(stage), int(group), flags, None if tied is None else int(tied))


class Recipe:
    """fields: name -> text; entries: the parameters; options: passed to the subject unchanged."""

    def __init__(self, fields, entries, options=None):
        self.fields, self.entries, self.options = dict(fields), entries, dict(options or {})

    def number(self, name, default=1):
        return int(self.fields.get(name, default))

    def without_flag(self, flag):
        """Removes a flag from all entries."""
        for e in self.entries:
            e.flags = e.flags.replace(flag, "")

    def copy(self):
        return Recipe(self.fields, [e.copy() for e in self.entries], self.options)

    def text(self):
        first = [n for n in ORDER if n in self.fields]
        names = first + sorted(n for n in self.fields if n not in ORDER)
        parts = [f"{n}={self.fields[n]}" for n in names]
        if self.entries:
            parts.append("list=" + "+".join(e.text() for e in self.entries))
        return ",".join(parts)

    def full(self):
        """Recipe and options, as --only accepts them and a failure prints them."""
        options = "".join(f" {name}={value}" for name, value in sorted(self.options.items()))
        return self.text() + options


def recipe_of(text):
    words = text.split() or [""]
    fields, entries = {}, []
    for part in words[0].split(","):
        name, _, value = part.partition("=")
        if name == "list":
            entries = [entry_of(word) for word in value.split("+")]
        else:
            fields[name] = value
    options = {}
    for word in words[1:]:
        name, _, value = word.partition("=")
        options[name] = {"true": True, "false": False, "True": True, "False": False}.get(
            value, value
        )
        if isinstance(options[name], str) and re.fullmatch(r"-?\d+", options[name]):
            options[name] = int(options[name])
    return Recipe(fields, entries, options)


def features(recipe):
    """What distinguishes a case from the simplest one. Causes are separated by these features."""
    r, found = recipe, set()

    def add(when, name):
        if when:
            found.add(name)

    dp, pp, tp, ep = (r.number(n) for n in ("dp", "pp", "tp", "ep"))
    add(dp > 1, "dp"), add(dp > 2, "dp>2"), add(dp % 2 and dp > 1, "odd dp")
    add(pp > 1, "pp"), add(pp > 2, "pp>2"), add(tp > 1, "tp"), add(ep > 1, "ep")
    zero = r.number("stage", 1)
    first = r.number("first", 0)
    add(first > 0, "huge gradients"), add(first < 0, "minute gradients")
    add(zero == 0, "zero 0"), add(zero == 1, "zero 1"), add(zero == 2, "zero 2")
    precision = r.fields.get("precision", "fp32")
    add(precision != "fp32", precision)
    add(r.number("M") > 1, "accumulation"), add(r.number("steps") > 1, "several steps")
    add("wide" in r.fields, "wide sums"), add("comm" in r.fields, "fp32 communication")
    add(r.fields.get("optim") in ("momentum", "adamw"), r.fields.get("optim"))
    scale = r.fields.get("scale", "0")
    add(":" in scale, "dynamic scale"), add(scale != "0" and ":" not in scale, "static scale")
    add("scale" in r.fields and scale == "0", "scale of one")
    add("sum" in r.fields, "overflow in a sum"), add("rates" in r.fields, "changing rates")
    add("oneside" in r.fields, "one-sided use"), add("late" in r.fields, "late group")
    add(int(r.fields.get("sequence", 0)), "sequence parallel")
    add(int(r.fields.get("overflow", 0)), "overflow"), add("clip" in r.fields, "clipping")
    add(int(r.fields.get("unused", 0)), "unused")
    for name, word in (
        ("tuple", "tuple messages"),
        ("vary", "varying shapes"),
        ("dynamic", "dynamic shapes"),
    ):
        add(int(r.fields.get(name, 0)), word)
    add_list_features(r, dp, add)
    for name, value in r.options.items():
        found.add(f"{name}={value}")
    add("reload" in r.options, "a checkpoint")
    return found


def add_list_features(r, dp, add):
    bucket = int(r.fields.get("bucket", 64))
    trained = [e for e in r.entries if "f" not in e.flags]
    (
        add(len(r.entries) > 1, "several parameters"),
        add(any("f" in e.flags for e in r.entries), "frozen"),
    )
    add(any("w" in e.flags for e in r.entries), "fp32 parameters")
    (
        add(any("s" in e.flags for e in trained), "sharded"),
        add(any("e" in e.flags for e in trained), "expert"),
    )
    (
        add(any(e.numel == 0 for e in trained), "empty"),
        add(any(0 < e.numel < dp for e in trained), "numel < D"),
    )
    (
        add(any(e.numel % dp for e in trained), "numel mod D"),
        add(any(e.numel > bucket for e in trained), "numel > bucket"),
    )
    add(sum(e.numel for e in trained) > bucket, "several buckets")
    add(any(e.group for e in trained), "several groups")
    add(any("f" in e.flags and e.tied is not None for e in r.entries), "tied and frozen")
    groups = {}
    for e in trained:
        groups.setdefault(e.stage, set()).add(e.group)
    add(
        len({len(g) for g in groups.values()}) > 1 or 0 < len(groups) < int(r.fields.get("pp", 1)),
        "unequal K",
    )
    own = {e.stage for e in r.entries if e.tied is None}
    add(any(e.stage not in own for e in r.entries), "stage of tied parameters")
    stages = {e.stage for e in trained}
    sharded = {e.stage for e in trained if "s" in e.flags and e.tied is None}
    add(r.number("tp") > 1 and stages - sharded, "stage without sharded")
    whole = {e.stage for e in r.entries} - stages
    add(bool(whole), "frozen stage")
    keys = {}
    for e in r.entries:
        if e.tied is not None:
            keys.setdefault(e.tied, []).append(e.stage)
    add(any(len(set(s)) > 1 for s in keys.values()), "tied over stages")
    add(any(len(set(s)) < len(s) for s in keys.values()), "tied on one stage")
