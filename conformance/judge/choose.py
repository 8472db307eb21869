"""Selects the cases of a run and their order: the recipes of --only, the committed selection of
--quick, or the covering array followed by random cases. Also makes such a selection."""

import json
import os
import re
import time

import axes
import draw
import files
import limits
import schema
from known import file_of, load
from recipe import features, recipe_of
from run import dice_for
from tools import Refused


def wanted(case, recipe, only):
    if not only:
        return True
    tags = set(case["clauses"]) | set(case["hunts"]) | {case["id"], recipe.full()}
    return any(word in tags for word in only)


ID = re.compile(r"c[0-9a-f]{12}")  # of a case
ENOUGH = (
    200  # random cases to try after the covering array before concluding that --only matches none
)


def check_words(only):
    """Rejects words of --only that no case can match; the search for them would never end."""
    for word in only:
        if "=" not in word and word not in axes.CLAUSES + axes.FAMILIES and not ID.fullmatch(word):
            raise Refused(
                f"--only: unknown '{word}'; expected a clause ({', '.join(axes.CLAUSES)}), a "
                "family "
                f"({', '.join(axes.FAMILIES)}), a case's id, or a recipe"
            )


REDRAWN = 10  # further rows for a pair of values whose rows have no exact case


class Chooser:
    """Iterates over (case, recipe, origin). total: the number of cases, or None if it is not known
    in advance. complete: True once the whole covering array was produced; covered: when; lost: the
    pairs of values that it lacks, because none of their rows has a case."""

    def __init__(self, tools, space, options, hello, root):
        self.tools, self.space, self.options = tools, space, options
        self.complete, self.covered, self.lost = False, None, []
        check_words(options.only)
        self.named = [word for word in options.only if "=" in word]
        self.array, self.selection = [], []
        if self.named:
            self.total = len(self.named)
        elif options.quick is not None:
            self.list_name = file_of(options.quick or None, root, "quick", hello)
            self.selection = read_selection(self.list_name)
            self.total = len(self.selection) + options.fresh
        else:
            self.rows = axes.rows(space, options.seed)
            why = space.contradiction()
            if why:
                raise Refused(f"{hello['name']}: no case fits what hello supports: {why}")
            self.total = options.cases
        self.cases = self.choose()

    def __iter__(self):
        return self.cases

    def late(self):
        return self.options.until is not None and time.monotonic() > self.options.until

    def choose(self):
        if self.named:
            yield from self.texts(self.named, "named", "--only")
        elif self.options.quick is not None:
            yield from self.texts(self.selection, "selected", f"--quick: {self.list_name}")
            yield from self.chance(self.options.fresh)
        else:
            yield from self.by_axes()

    def texts(self, recipes, origin, where):
        for text in recipes:
            try:
                recipe = recipe_of(text)
                case, why = axes.case_of(self.tools, self.space, recipe)
            except ValueError as error:
                raise Refused(f"{where}: '{text}': {error}") from None
            if case is None:
                raise Refused(f"{where}: '{text}': {why}")
            yield case, recipe, origin

    def chance(self, most):
        """Random cases of an arbitrary seed. New failures in them are reported but do not fail the
        run."""
        dice = dice_for(self.options.seed, "fresh")
        for number in range(most):
            row = axes.random_row(self.space, dice)
            if row is None or self.late():
                return
            case, recipe = draw.case_of_row(
                self.tools, self.space, row, dice_for(self.options.seed, number)
            )
            if case is not None:
                yield case, recipe, "fresh"

    def by_axes(self):
        options, made, looked, number = self.options, 0, 0, 0
        for case, recipe, covering in self.drawn():
            looked += not covering
            if not covering and not self.complete:
                self.complete, self.covered = True, time.monotonic()
            enough = not covering and (
                (options.seconds is None and options.cases is None)
                or (not made and looked > ENOUGH)
                or self.late()
            )
            if enough or (options.cases is not None and made >= options.cases):
                break
            number += 1
            if case is not None and wanted(case, recipe, options.only):
                made += 1
                yield case, recipe, "covering" if covering else "random"
        if options.only and not made:
            raise Refused(
                f"--only: none of the {number} cases that this subject supports matches "
                f"{' or '.join(options.only)}"
            )

    def drawn(self):
        """(case or None, recipe, True if it is of the covering array) of each row. Rows of the
        array without an exact case are replaced."""
        seen, lost, covered = set(), set(), False
        for number, (row, covering) in enumerate(self.rows):
            if not covering and not covered:
                covered = True
                yield from self.replacements(lost - seen)
            dice = dice_for(self.options.seed, number)
            case, recipe = draw.case_of_row(self.tools, self.space, row, dice)
            if covering:
                (lost if case is None else seen).update(axes.pairs_of(row))
            yield case, recipe, covering

    def replacements(self, lost):
        """Cases with the pairs of values that are lost, as long as some row has one."""
        dice = dice_for(self.options.seed, "lost")
        for pair in sorted(lost, key=repr) * REDRAWN:
            row = axes.random_row(self.space, dice, dict(pair)) if pair in lost else None
            case, recipe = (
                draw.case_of_row(self.tools, self.space, row, dice) if row else (None, "")
            )
            if case is not None:
                lost -= axes.pairs_of(row)
                yield case, recipe, True
        self.lost = sorted(lost, key=repr)


# ---- The committed selection ---------------------------------------------------------------------


def read_selection(name):
    if not os.path.exists(name):
        raise Refused(f"--quick: {name} does not exist; --accept-quick writes it")
    return load(name, "selection")["cases"]


def holds(case, recipe):
    return {f"clause {c}" for c in case["clauses"]} | features(recipe)


def select(cases, times=2):
    """Greedily selects few, cheap cases in which every clause and feature of `cases` occurs,
    `times` times if enough cases have it. Returns their recipes."""
    candidates = [
        (
            holds(case, recipe),
            case["world"] * (8 + case["steps"] * case["micro_batches"]),
            recipe.full(),
        )
        for case, recipe, _ in cases
    ]  # starting a process costs about as much as eight micro-batches
    chosen = []
    for _ in range(times):
        rest = [one for one in candidates if one[2] not in chosen]
        left = set().union(*(held for held, _, _ in rest))
        while left:
            held, _, text = max(rest, key=lambda one: (len(one[0] & left) / one[1], one[2]))
            chosen.append(text)
            left -= held
    return chosen


def write_selection(option, root, hello, cases, out):
    """out: the folder of a report, or None; what its run refused is left out."""
    report = os.path.join(out, "report.json") if out else ""
    if os.path.exists(report):
        found = schema.read(report, limits.REPORT, "report")
        subject = found["subject"]
        if (subject["name"], subject["version"]) != (hello["name"], hello["version"]):
            raise Refused(f"--out: {report} is of {subject['name']} {subject['version']}")
        refused = {r["recipe"] for r in found["results"] if r["status"] == "unsupported"}
        cases = [one for one in cases if one[1].full() not in refused]
    name = file_of(option or None, root, "quick", hello)
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    chosen = {"name": hello["name"], "version": hello["version"], "cases": select(cases)}
    files.write(name, [json.dumps(chosen, indent=1), "\n"])
