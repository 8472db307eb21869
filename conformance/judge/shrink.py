"""Shrinks a failing case to the smallest one that fails alike, and groups failures by cause."""

import threading

from axes import case_of
from checkpoint import KINDS
from recipe import Entry, features
from rows import supported


def smaller(recipe):
    """Simpler recipes, the largest simplification first."""
    r = recipe

    def changed(**fields):
        c = r.copy()
        for name, value in fields.items():
            if value is None:
                c.fields.pop(name, None)
            else:
                c.fields[name] = value
        return in_one_dtype(c)

    yield from leaps(r)
    for name in ("pp", "tp", "ep"):
        for value in (1, 2):
            if r.number(name) > value:
                yield clamp(changed(**{name: value}))
    for value in (1, 2, 3, 4):
        if r.number("dp") > value and value % r.number("ep") == 0:
            yield changed(dp=value)
    for value in (1, 2, 3):
        if r.number("steps") > value:
            yield changed(steps=value, **overflow_within(r, value))
        if r.number("M") > value:
            yield changed(M=value, **({} if value > 1 else {"wide": None, "comm": None}))
    for i in range(len(r.entries)):
        if len(r.entries) > 1:
            c = r.copy()
            del c.entries[i]
            yield c
    for name in (
        *("unused", "clip", "overflow", "tuple", "vary", "dynamic", "wide", "comm"),
        *("sum", "rates", "late", "oneside", "sequence"),
    ):
        if name in r.fields:
            yield changed(**{name: None}, **({"comm": None} if name == "wide" else {}))
    first = r.number("first", 0)
    if first:
        yield changed(first=None, unit=r.number("unit", 0) - first)
    if "scale" in r.fields:
        yield changed(scale=None, unit=first, overflow=None, sum=None)
        if ":" in r.fields["scale"]:
            yield changed(scale=r.fields["scale"].split(":")[0])
    if r.fields.get("optim") != "sgd":
        yield changed(optim="sgd")
    if r.fields.get("precision") != "fp32":
        yield changed(precision="fp32", wide=None, comm=None)
    if r.number("bucket", 64) != 1024:
        yield changed(bucket=1024)
    yield from smaller_entries(r)
    for name in r.options:  # options that differ from their default
        c = r.copy()
        del c.options[name]
        yield c


# Groups of fields that make a case more complex.
LEAPS = [
    ("unused", "oneside"),
    ("scale", "overflow", "sum", "precision", "wide", "comm"),
    ("first",),
    ("rates",),
    ("late",),
    ("sequence",),
    ("options",),
    ("clip",),
    ("optim",),
    ("tuple", "vary", "dynamic"),
    ("bucket",),
    ("frozen",),
    ("dtypes",),
]


def leaps(r):
    """Resets all parts at once, then all but one, then one alone: usually few of them matter."""

    def plain(parts):
        c = r.copy()
        names = {name for part in parts for name in part}
        for name in names:
            c.fields.pop(name, None)
        if "scale" in names:
            c.fields["unit"] = c.number("first", 0)
        elif "first" in names:
            c.fields["unit"] = r.number("unit", 0) - r.number("first", 0)
        if "optim" in names:
            c.fields["optim"] = "sgd"
        if "precision" in names:
            c.fields["precision"] = "fp32"
        if "bucket" in names:
            c.fields["bucket"] = 1024
        if "options" in names:
            c.options = {}
        if "frozen" in names:
            c.entries = [
                Entry(e.numel, e.stage, e.group, e.flags.replace("f", "")) for e in c.entries
            ]
        if "dtypes" in names:
            c.without_flag("w")
        return in_one_dtype(c)

    seen = {r.full()}
    for parts in [LEAPS, *([p for p in LEAPS if p is not q] for q in LEAPS), *([p] for p in LEAPS)]:
        c = plain(parts)
        if c.full() not in seen:
            seen.add(c.full())
            yield c


def variants(r):
    """Variants of a small case that are not simpler but different."""
    for name, values in (
        ("stage", (0, 1, 2)),
        ("precision", ("fp32", "bf16", "fp16")),
        ("dp", (2, 3, 4)),
        ("optim", ("sgd", "momentum", "adamw")),
    ):
        for value in values:
            if str(r.fields.get(name)) != str(value):
                c = r.copy()
                c.fields[name] = value
                yield in_one_dtype(c)
    scale = r.fields.get("scale", "0")
    if scale != "0":
        c = r.copy()
        c.fields["scale"] = scale.split(":")[0] if ":" in scale else f"{scale}:1:1:0:0:24"
        yield c
    if "overflow" in r.fields:
        c = r.copy()
        c.fields.update(steps=1, overflow=1)
        yield c
    for kind in KINDS if "reload" in r.options else ():
        if kind != r.options["reload"]:
            c = r.copy()
            c.options["reload"] = kind
            yield c
    for numel in (2, 12, 48):
        c = r.copy()
        for e in c.entries:
            e.numel = numel
        yield c
    c = r.copy()
    c.fields["bucket"] = 1024
    yield c
    c = r.copy()
    c.entries.append(Entry(4, max(e.stage for e in c.entries), 0))
    yield c


def overflow_within(r, steps):
    mask = int(r.fields.get("overflow", 0)) & ((1 << steps) - 1)
    return {"overflow": mask or None} if "overflow" in r.fields else {}


def in_one_dtype(c):
    """With precision fp32, no parameter has a dtype of its own."""
    if c.fields.get("precision", "fp32") == "fp32":
        c.without_flag("w")
    return c


def clamp(c):
    if c.number("pp") == 1:
        for name in ("tuple", "vary", "dynamic"):
            c.fields.pop(name, None)
    for e in c.entries:
        e.stage = min(e.stage, c.number("pp") - 1)
        if c.number("tp") == 1:
            e.flags = e.flags.replace("s", "")
            c.fields.pop("sequence", None)
        if c.number("ep") == 1:
            e.flags = e.flags.replace("e", "")
    return c


def smaller_entries(r):
    for i, e in enumerate(r.entries):
        for numel in (1, 2, 3, e.numel // 2, e.numel - 1):
            if 0 < numel < e.numel:
                c = r.copy()
                for k, other in enumerate(c.entries):  # all uses of a tied key have the same size
                    if k == i or (e.tied is not None and other.tied == e.tied):
                        other.numel = numel
                yield c
        for flag in e.flags:
            c = r.copy()
            for k, other in enumerate(c.entries):  # and, of the uses of a tied key, the same dtype
                if k == i or (flag == "w" and e.tied is not None and other.tied == e.tied):
                    other.flags = other.flags.replace(flag, "")
            yield c
        if e.tied is not None:
            c = r.copy()
            c.entries[i] = Entry(e.numel, e.stage, e.group, e.flags)
            yield c
        if e.group:
            c = r.copy()
            for k, other in enumerate(c.entries):
                if k == i or (e.tied is not None and other.tied == e.tied):
                    other.group = 0
            yield c


class Shrinker:
    """tries: cases to run for one cause; a number of cases gives the same result on a slow machine.
    is_other(outcome): True if the failure belongs to another cause, although it looks alike."""

    def __init__(self, runner, space, tries, is_other=lambda out: False):
        self.runner, self.space, self.tries = runner, space, tries
        self.is_other, self.left = is_other, 0
        self.most, self.seconds, self.signature = 0, 0.0, ""  # of the cause that is shrunk
        self.after_run = lambda: None
        self.adapter = runner.acquire()

    def shrink(self, out):
        """The smallest outcome found within three fifths of the tries; the rest is for needs().
        Timeouts get a tenth, because each try takes as long as the adapter may."""
        tries = self.tries // 10 if out.answer["status"] == "timeout" else self.tries
        self.most, self.seconds, self.signature = tries, 0.0, out.signature()
        self.left, rest = tries, tries * 2 // 5
        best, again = out, True
        while again and self.left > rest:
            again = False
            for candidate in smaller(best.recipe):
                if self.left <= rest:
                    break
                tried = self.fails_alike(candidate, best)
                if tried:
                    best, again = tried, True
                    break
        best.shrunk_in = tries - self.left
        return best

    def fails_alike(self, candidate, best):
        """The outcome of a candidate that fails as `best` does, or None."""
        case, _ = case_of(self.runner.tools, self.space, candidate)
        if case is None or not supported(self.space, candidate, case):
            return None
        self.left -= 1
        self.adapter.deadline = self.runner.patience()
        tried = self.runner.judged(self.adapter, case, candidate)
        self.seconds += tried.seconds
        self.after_run()
        alike = tried.status == "fail" and tried.signature() == best.signature()
        return tried if alike and not self.is_other(tried) else None

    def needs(self, best):
        """The conditions of the failure: features that the smallest case shares with all its
        variants that fail alike."""
        found = features(best.recipe)
        for other in variants(best.recipe):
            if self.left <= 0:
                break
            if not features(other) >= found and self.fails_alike(other, best):
                found &= features(other)
        return sorted(found)

    def state(self):
        """What it does now, for people."""
        made = self.most - self.left
        each = f", {self.seconds / made:.1f} s each" if made else ""
        return f"{self.signature}: run {made} of at most {self.most}{each}"

    def close(self):
        self.runner.release(self.adapter)


class Cause:
    """Failures with the same signature that meet the conditions (`needs`) of the smallest one."""

    def __init__(self, smallest, needs):
        self.smallest, self.needs, self.outcomes = smallest, needs, []
        self.signature = smallest.signature()
        self.known, self.shrunk = None, True
        self.chance = None  # {"replays", "failed"} of a new cause that does not always occur

    def fresh(self):
        """True if only cases of --fresh show it. Those differ from run to run."""
        return bool(self.outcomes) and all(o.origin == "fresh" for o in self.outcomes)

    def excused(self):
        """True if a new cause does not fail the run: the next run may not show it."""
        return bool(self.chance) or self.fresh()


def causes_of(
    outcomes, make_shrinker, jobs=1, most=40, progress=lambda *_: None, stopped=lambda: False
):
    """Groups failures by signature, several signatures at a time. stopped: becomes true if a signal
    ended the runner; what was not shrunk then is one cause of its signature."""
    kinds = {}
    for out in outcomes:
        if out.status == "fail":
            kinds.setdefault(out.signature(), []).append(out)
    todo, causes, lock, errors = list(kinds.values()), [], threading.Lock(), []

    def work():
        shrinker = make_shrinker()
        try:
            while not errors:
                with lock:
                    if not todo:
                        return
                    mine = todo.pop(0)
                causes_of_kind(
                    mine,
                    shrinker,
                    causes,
                    most,
                    lambda n, doing: progress(len(causes), n + sum(map(len, todo)), doing),
                )
        except Exception as error:  # raised again by the caller's thread
            errors.append(error)
        finally:
            shrinker.close()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(jobs, len(todo)))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if stopped():  # also errors of processes that ended with it
        return unshrunk(causes, kinds)
    if errors:
        raise errors[0]
    return merged(causes)


def unshrunk(causes, kinds):
    """The causes found so far, and one for all other failures of a signature, with the shortest
    case."""
    found = merged(causes)
    assigned = {id(out) for cause in found for out in cause.outcomes}
    for mine in kinds.values():
        left = [out for out in mine if id(out) not in assigned]
        if left:
            found.append(whole(sorted(left, key=lambda o: len(o.recipe.full()))))
    return found


def whole(outcomes):
    """A cause with all these failures, the shortest first, which is not shrunk."""
    cause = Cause(outcomes[0], sorted(features(outcomes[0].recipe)))
    cause.outcomes, cause.shrunk = outcomes, False
    return cause


def merged(causes):
    """Merges a cause into another of the same signature if its smallest case meets all conditions
    of that one: the tries were too few to shrink it as far."""
    kept = []
    for cause in sorted(causes, key=lambda c: len(c.needs)):
        for other in kept:
            if other.signature == cause.signature and set(other.needs) <= features(
                cause.smallest.recipe
            ):
                other.outcomes += cause.outcomes
                break
        else:
            kept.append(cause)
    return kept


def causes_of_kind(outcomes, shrinker, causes, most, progress):
    """Shrinks the shortest failure, assigns to it all failures that meet its conditions, and
    repeats with the rest."""

    def report_of(number):
        return lambda: progress(number, shrinker.state())

    left = sorted(outcomes, key=lambda o: len(o.recipe.full()))
    while left:
        progress(len(left), left[0].signature())
        if len(causes) >= most:
            causes.append(whole(left))
            return
        shrinker.after_run = report_of(len(left))
        smallest = shrinker.shrink(left[0])
        cause = Cause(smallest, shrinker.needs(smallest))
        if smallest.number is None:  # a new case; those of the run are counted already
            shrinker.runner.outcomes.details.keep(smallest)
        needs = set(cause.needs)
        cause.outcomes = [o for o in left if o is left[0] or needs <= features(o.recipe)]
        left = [o for o in left if o not in cause.outcomes]
        causes.append(cause)
