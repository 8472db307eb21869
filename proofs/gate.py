#!/usr/bin/env python3
"""Judges the reports that proofs/prove.py wrote to build/proofs: WP itself exits 0 with unproved
goals and assumes what it could not prove. Prints a table and every problem, one to a line; exits 1
if there is one. Stores the verdicts of units without problems; repeats some that were reused.

With UNITs: judges only those units, without the checks of all units together (scope, callees,
claims).
--accept writes proofs/claimed.txt: the names and texts of all proven properties.
--again UNIT: runs this unit from the cache and judges it, without a stored verdict."""

import argparse
import csv
import json
import os
import re
import sys
import time
from dataclasses import dataclass, field

import gate_project
import planning
import printed
import project as pj
import prove
import prover_cache
import recursion
import sentinel
import verdicts
import wplog

# The meaning of log lines that are not routine.
LOG_MEANS = [
    (
        r"Memory model hypotheses",
        "memory-model",
        "assumes a separation of memory that no goal proves",
    ),
    (
        r"not yet supported|skipped|Ignoring|ignoring",
        "dropped-annotation",
        "an annotation was dropped",
    ),
    (r"Missing RTE guards", "missing-rte", "run-time errors were not checked"),
    (r"reads nothing", "reads-nothing", "a logic function claims to read nothing"),
    (r"Failed smoke-test", "smoke", "contradictory requires or dead code"),
    (r"[Mm]issing terminates|terminates", "missing-terminates", "termination is not stated"),
    (
        r"Neither code nor (explicit )?(specification|.*for function)|missing-spec",
        "no-contract",
        "a callee has no contract",
    ),
    (r"pedantic-assigns|No 'assigns'", "no-assigns", "an assigns clause is missing"),
    (r"[Uu]ser Error|aborted|[Ff]ailure|fatal", "refused", "Frama-C or a prover refused"),
]
NAMED = ("requires", "ensures", "assumes", "check requires", "check ensures")


@dataclass
class Problem:
    kind: str
    where: str
    text: str

    def __str__(self):
        return f"{self.kind}: {self.where}: {self.text}"


@dataclass
class Result:
    """A unit's reports, read."""

    unit: object
    meta: dict
    log: object
    goals: dict  # goals.json
    rows: list  # properties.csv
    tree: object

    def wanted(self):
        """Goals that must be valid."""
        return [g for g in self.log.goals if g.stage < self.meta["stages"]]

    def controls(self):
        return self.meta["sentinels"] + self.unit.expect_unproved


@dataclass
class Verdict:
    problems: list = field(default_factory=list)
    results: dict = field(default_factory=dict)
    plan: object = None
    stored: bool = True  # whether stored verdicts count
    reused: list = field(default_factory=list)  # the stored verdicts that were judged
    failed: dict = field(default_factory=dict)  # unit -> its first problem
    prover_of: dict = field(default_factory=dict)  # (file, function) -> unit name
    assumed: dict = field(default_factory=dict)  # function -> (id, units that call it)

    def add(self, kind, where, text):
        self.problems.append(Problem(kind, where, text))


# ---- One unit ------------------------------------------------------------------------------------


def read_result(v, u):
    """The reports of a unit's run, or its stored verdict; None if they do not count (reported)."""
    meta = prove.read_meta(u)
    if not meta:
        v.add("not-run", u.name, "has no results: run make prove")
        return None
    if meta["stamp"] != v.plan.stamps[u.name]:
        v.add("stale", u.name, "sources, configuration or tools changed since it was run")
        return None
    if meta["tree"] != v.plan.files[u.file].hash:
        v.add("stale", u.name, "the syntax tree is not the one that the run used")
        return None
    if meta["mode"] == "stored":
        if not v.stored:
            v.add(
                "stored-only",
                u.name,
                "has only a stored verdict; this needs a run in this source "
                "tree: ZP_VERDICTS=none make prove",
            )
            return None
        v.reused.append(meta["verdict"])
        return Result(u, meta, *verdicts.unpack(meta["verdict"]["result"]), v.plan.trees[u.name])
    if prove.outputs_of(u) != meta["outputs"] or len(meta["outputs"]) != len(prove.OUTPUTS):
        changed = [n for n in prove.OUTPUTS if prove.outputs_of(u).get(n) != meta["outputs"].get(n)]
        missing = [n for n in prove.OUTPUTS if n not in meta["outputs"]]
        if changed:
            v.add("stale", u.name, f"{', '.join(changed)} changed after the run")
            return None
        v.add("refused", u.name, f"Frama-C wrote no {', '.join(missing)} (see {u.out('wp.log')})")
    log = wplog.parse(pj.read(u.out("wp.log"))) if os.path.exists(u.out("wp.log")) else wplog.Log()
    try:
        goals = json.loads(pj.read(u.out("goals.json")))
    except (OSError, json.JSONDecodeError):
        goals = {}
    rows = []
    if os.path.exists(u.out("properties.csv")):
        with open(u.out("properties.csv"), encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    return Result(u, meta, log, goals, rows, v.plan.trees[u.name])


def judge_unit(v, u):
    before = len(v.problems)
    r = read_result(v, u)
    if r:
        v.results[u.name] = r
        judge_result(v, r)
    if len(v.problems) > before:
        v.failed[u.name] = str(v.problems[before])


def judge_result(v, r):
    u = r.unit
    if r.meta["exit"]:
        v.add("refused", u.name, f"frama-c ended with exit status {r.meta['exit']}")
    for number, line in r.log.odd:
        kind, means = next(
            ((k, m) for p, k, m in LOG_MEANS if re.search(p, line)),
            ("log", "a log line that the gate does not know"),
        )
        v.add(kind, f"{u.name} (wp.log:{number})", f"{means}: {line[:300]}")
    if r.log.missed:
        v.add(
            "cache-miss",
            u.name,
            f"{r.log.missed} prover results are not in proofs/cache.txt: "
            "make prove-update, or prove-cold and prove-cache",
        )
    judge_goals(v, r)
    judge_counts(v, r)
    judge_functions(v, r)
    judge_logic(v, r)


def judge_goals(v, r):
    u = r.unit
    for g in r.wanted():
        if not g.valid:
            v.add("unproved-goal", u.name, f"{g.name}" + (f" ({g.verdicts})" if g.verdicts else ""))
        elif g.prover == "CFG" and not re.search(r"_(exits|terminates)(_\d+)?$", g.name):
            v.add("unreachable", u.name, f"{g.name} holds only because the function never returns")
    for control in r.controls():
        mine = [
            g for g in r.log.goals if g.stage == r.meta["stages"] and g.name.endswith("_" + control)
        ]
        sentinel = control in r.meta["sentinels"]
        if not mine:
            v.add("no-control", u.name, f"{control}, which must stay unproved, was not tried")
        for g in mine:
            if g.valid:
                kind, means = (
                    ("sentinel-proven", "lemmas or definitions contradict each other")
                    if sentinel
                    else ("control-proven", "a control that must stay unproved is proven")
                )
                v.add(kind, u.name, f"{g.name}: {means}")
            elif g.died() and not r.log.missed:
                v.add("control-untried", u.name, f"{g.name}: no prover answered ({g.verdicts})")
    proven = {g.name for g in r.log.goals if g.valid}
    for lemma in r.meta["lemmas"]:
        if not any(re.fullmatch(rf"typed(_\w+)?_lemma_{lemma}(_part\d+)?", n) for n in proven):
            v.add("lemma-unproved", u.name, f"lemma {lemma} is not proven")


def judge_counts(v, r):
    """WP counts its goals in the log, goals.json and properties.csv: the counts must agree."""
    u, valid = r.unit, sum(g.valid for g in r.log.goals)
    if len(r.log.proved) != r.meta["stages"]:
        v.add("counts", u.name, f"got {len(r.log.proved)} runs of WP, expected {r.meta['stages']}")
    said = (sum(a for a, _ in r.log.proved), sum(b for _, b in r.log.proved))
    if said != (valid, len(r.log.goals)):
        v.add(
            "counts",
            u.name,
            f"WP counts {said[0]} of {said[1]} goals, its log lists {valid} of {len(r.log.goals)}",
        )
    main = r.goals.get("wp:global", {}).get("wp:main", {})
    traced = [g for g in r.log.goals if g.prover != "CFG"]
    if (main.get("valid", 0), main.get("total", 0)) != (sum(g.valid for g in traced), len(traced)):
        v.add(
            "counts",
            u.name,
            f"goals.json has {main.get('valid', 0)} of {main.get('total', 0)} "
            f"goals, the log {sum(g.valid for g in traced)} of {len(traced)}",
        )


def judge_functions(v, r):
    u, named = r.unit, set(r.meta["functions"])
    failed = any(not g.valid for g in r.wanted())
    for row in r.rows:
        if row["function"] not in named or row["property kind"] == "precondition":
            continue  # callers prove preconditions
        status, text = row["status"], row["property"]
        if status == "Partially proven" and failed:
            continue  # it depends on an unproved goal, which is reported
        if status != "Valid" and not any(text.startswith(c + ":") for c in u.expect_unproved):
            v.add(
                "property-" + status.lower().replace(" ", "-"),
                u.name,
                f"{row['function']} ({row['file']}:{row['line']}) {row['property kind']}: {text}",
            )
    for name in r.meta["functions"]:
        if not any(row["function"] == name for row in r.rows):
            v.add("not-proven", u.name, f"{name} has no property in properties.csv")
        judge_contract(v, r, r.tree.functions[name])


def judge_contract(v, r, f):
    u = r.unit
    lines = [c.line() for c in f.contract]
    for wanted in ("terminates \\true", "exits \\false"):
        if wanted not in lines:
            v.add("contract", u.name, f"{f.name}: no `{wanted}`")
    if not any(c.kind == "assigns" for c in f.contract):
        v.add("contract", u.name, f"{f.name}: no `assigns`")
    for c in f.contract:
        if c.kind in NAMED and not c.name:
            v.add("unnamed", u.name, f"{f.name}: {c.kind} {c.text[:80]}")
        if c.name in r.controls() and not c.kind.startswith("check"):
            v.add(
                "control-assumed", u.name, f"{f.name}: {c.line()[:80]}: a control must be a check"
            )
        if c.kind.startswith("admit") or c.kind == "other":
            v.add("admitted", u.name, f"{f.name}: {c.line()[:120]}")
    for word in re.findall(r"\badmit\b[^;]*", f.annotations):
        v.add("admitted", u.name, f"{f.name}: {word[:120]}")


def judge_logic(v, r):
    u, defined = r.unit, {x.name for x in r.tree.logics}
    reviewed = v.plan.project.table.get("recursion", {}).get("reviewed", [])
    seen = set()
    for x in r.tree.logics:
        if x.kind in ("admit lemma", "axiom"):
            v.add("admitted", u.name, f"{x.kind} {x.name} is assumed, not proven")
        elif x.kind in ("inductive", "other"):
            v.add("admitted", u.name, f"{x.kind} {x.name}: not a definition that the gate knows")
        elif x.kind == "lemma" and x.name in r.controls():
            v.add("control-assumed", u.name, f"lemma {x.name}: a control must be a check lemma")
        elif "lemma" in x.kind and x.block:
            v.add(
                "lemma-in-axiomatic",
                u.name,
                f"{x.name} stands in axiomatic {x.block}, where the sentinel does not see it",
            )
        if sentinel.recursive(x) and x.name not in reviewed and not recursion.well_founded(x):
            v.add("recursion", u.name, f"{x.name} is not recognisably well-founded: {x.text[:200]}")
        later = [w for w in set(printed.WORD.findall(x.body())) if w in defined - seen - {x.name}]
        if later and "lemma" not in x.kind:
            v.add(
                "recursion", u.name, f"{x.name} uses {', '.join(sorted(later))}, defined after it"
            )
        seen.add(x.name)


# ---- Stored verdicts -----------------------------------------------------------------------------


def packed(r):
    """What verdicts.py stores of a unit's result."""
    main = r.goals.get("wp:global", {}).get("wp:main", {})
    rows = [
        row
        for row in r.rows
        if row["function"] in r.meta["functions"] and row["property kind"] != "precondition"
    ]
    return verdicts.pack(r.meta, r.log, main, rows)


def keep(v, store):
    """Stores the verdicts of the units that were run; compares them with those already stored."""
    for name, r in v.results.items():
        if r.meta["mode"] == "stored":
            continue
        where = verdicts.of_unit(v.plan, r.unit)
        if name in v.failed:
            store.failed(where, v.failed[name])
            continue
        store.passed(
            where,
            packed(r),
            r.meta["seconds"],
            r.meta["cpu"],
            verdicts.again(v.plan.project, "gate.py", name),
        )
    for name, text in store.problems:
        v.add("stored-verdict", name, text)
    store.problems.clear()


def run_again(v, u, store):
    """Runs a unit from the cache, judges it, compares its stored verdict. Returns problems."""
    prove.run_unit(v.plan, u, "replay", os.path.join(v.plan.project.build, "cache"))
    new = Verdict(plan=v.plan, stored=False)
    judge_unit(new, u)
    keep(new, store)
    return new.problems


def repeat(v, jobs):
    """Runs units again that have a stored verdict, drawn at random."""
    units = {u.name: u for u in v.plan.units}
    limit = verdicts.seconds_to_repeat()
    prover_cache.unpack(v.plan.project)
    start = time.monotonic()
    done, problems = verdicts.repeat(
        v.reused, lambda x: run_again(v, units[x["name"]], verdicts.Verdicts()), limit, jobs
    )
    v.problems += problems
    prove.say(
        f"{len(done)} of them were computed again in {time.monotonic() - start:.0f} s: "
        + (f"{len(problems)} problems" if problems else "no difference")
    )


def again(project, name):
    """--again: one unit, computed without its stored verdict. Returns the exit code."""
    v = Verdict(stored=False)
    pj.write_why3_conf(project)
    v.plan = planning.Plan(project, project.units, project.check_tools(), stored=False)
    u = project.pick([name])[0]
    if name in v.plan.broken:
        raise pj.Problem(v.plan.broken[name])
    prover_cache.unpack(project, exactly=False)
    problems = run_again(v, u, verdicts.Verdicts())
    for x in problems:
        print(x)
    return 1 if problems else 0


# ---- Output --------------------------------------------------------------------------------------


def judge(project, names=(), accept=False, claims=True, stored=True):
    """stored: whether stored verdicts and syntax trees of other source trees count."""
    v = Verdict(stored=stored and not accept)
    try:
        versions = project.check_tools()
        v.plan = planning.Plan(project, project.units, versions, v.stored)
    except pj.Problem as e:
        text = str(e)
        kind = "tool-version" if "tool version" in text else "refused"
        v.add(kind, "units.toml" if kind == "tool-version" else "Frama-C", text)
        return v
    for u in project.pick(names):
        if u.name in v.plan.broken:
            v.add("refused", u.name, v.plan.broken[u.name])
        else:
            judge_unit(v, u)
    if not names:
        gate_project.judge_all(v, accept, claims)
    return v


def table(v):
    rows = [("unit", "kind", "goals", "proven", "Qed", "provers", "seconds", "CPU", "run")]
    total = [0, 0, 0.0, 0.0]
    for name, r in v.results.items():
        wanted = r.wanted()
        by = {}
        for g in wanted:
            if g.valid:
                by[g.prover] = by.get(g.prover, 0) + 1
        simple = by.pop("Qed", 0) + by.pop("CFG", 0)
        provers = ", ".join(f"{p} {n}" for p, n in sorted(by.items(), key=lambda x: -x[1]))
        proven = sum(g.valid for g in wanted)
        rows.append(
            (
                name,
                r.unit.kind,
                len(wanted),
                proven,
                simple,
                provers,
                r.meta["seconds"],
                r.meta["cpu"],
                r.meta["mode"],
            )
        )
        total = [
            total[0] + len(wanted),
            total[1] + proven,
            total[2] + r.meta["seconds"],
            total[3] + r.meta["cpu"],
        ]
    rows.append(("all", "", total[0], total[1], "", "", round(total[2], 1), round(total[3], 1), ""))
    return rows


def print_table(rows):
    widths = [max(len(str(r[i])) for r in rows) for i in range(len(rows[0]))]
    for r in rows:
        cells = [
            str(c).rjust(w) if isinstance(c, (int, float)) else str(c).ljust(w)
            for c, w in zip(r, widths, strict=True)
        ]
        print("  ".join(cells).rstrip())


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("units", nargs="*", metavar="UNIT")
    p.add_argument("--root", help="source tree (default: this one)")
    p.add_argument("--accept", action="store_true", help="write proofs/claimed.txt")
    p.add_argument(
        "--again", metavar="UNIT", help="run this unit and judge it, without a stored verdict"
    )
    p.add_argument(
        "--jobs", type=int, default=2, help="units at the same time, when some are repeated"
    )
    p.add_argument("--json", action="store_true")
    args = p.parse_args()
    project = pj.load(args.root)
    if args.accept and args.units:
        pj.die("--accept is for all units together")
    try:
        if args.again:
            return again(project, args.again)
        v = judge(project, args.units, args.accept)
        if v.plan:
            keep(v, verdicts.Verdicts())
    except pj.Problem as e:
        pj.die(str(e))
    rows = table(v)
    if args.json:
        print(
            json.dumps(
                {
                    "units": [dict(zip(rows[0], r, strict=True)) for r in rows[1:]],
                    "problems": [vars(x) for x in v.problems],
                },
                indent=1,
            )
        )
    else:
        print_table(rows)
        for f, (which, units) in sorted(v.assumed.items()):
            print(f"assumed: {f} ({which}), called in {', '.join(sorted(units))}")
        if v.reused:
            prove.say(verdicts.reused_line(v.reused))
            if not verdicts.runner_repeats():
                repeat(v, args.jobs)
        for x in v.problems:
            print(x)
        print(f"gate: {len(v.problems)} problems" if v.problems else "gate: no problems")
    return 1 if v.problems else 0


if __name__ == "__main__":
    sys.exit(main())
