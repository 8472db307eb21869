#!/usr/bin/env python3
"""Judges what proofs/prove.py left in build/proofs: WP itself exits 0 with unproved goals and
assumes what it could not prove. Prints a table and every problem, one to a line; exits 1 if there
is one.

With UNITs: only those units, without what concerns all of them together (scope, callees, claims).
--accept writes proofs/claimed.txt: the names and texts of what is proven."""
import argparse
import csv
import difflib
import json
import os
import re
import sys
from dataclasses import dataclass, field

import csource
import project as pj
import prove
import recursion
import wplog

# What a line of the log that should not be there means.
LOG_MEANS = [
    (r"Memory model hypotheses", "memory-model", "assumes a separation that nobody proves"),
    (r"not yet supported|skipped|Ignoring|ignoring", "dropped-annotation", "an annotation was dropped"),
    (r"Missing RTE guards", "missing-rte", "run-time errors were not checked"),
    (r"reads nothing", "reads-nothing", "a logic function claims to read nothing"),
    (r"Failed smoke-test", "smoke", "contradictory requires or dead code"),
    (r"[Mm]issing terminates|terminates", "missing-terminates", "termination is not stated"),
    (r"Neither code nor (explicit )?(specification|.*for function)|missing-spec",
     "no-contract", "a callee has no contract"),
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
    goals: dict          # goals.json
    rows: list           # properties.csv
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
    prover_of: dict = field(default_factory=dict)   # (file, function) -> unit name
    assumed: dict = field(default_factory=dict)     # function -> (id, units that call it)

    def add(self, kind, where, text):
        self.problems.append(Problem(kind, where, text))


# ---- One unit ------------------------------------------------------------------------------------

def read_result(v, u):
    """Everything that a unit's run left, or None (reported)."""
    meta = prove.read_meta(u)
    if not meta:
        v.add("not-run", u.name, "has no results: make prove")
        return None
    if meta["stamp"] != v.plan.stamps[u.name]:
        v.add("stale", u.name, "sources, configuration or tools changed since it was run")
        return None
    if prove.outputs_of(u) != meta["outputs"] or len(meta["outputs"]) != len(prove.OUTPUTS):
        changed = [n for n in prove.OUTPUTS if prove.outputs_of(u).get(n) != meta["outputs"].get(n)]
        missing = [n for n in prove.OUTPUTS if n not in meta["outputs"]]
        if changed:
            v.add("stale", u.name, f"{', '.join(changed)} is not what the run wrote")
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
    r = read_result(v, u)
    if not r:
        return
    v.results[u.name] = r
    if r.meta["exit"]:
        v.add("refused", u.name, f"frama-c ended with exit status {r.meta['exit']}")
    for number, line in r.log.odd:
        kind, means = next(((k, m) for p, k, m in LOG_MEANS if re.search(p, line)),
                           ("log", "a line of the log that the gate does not know"))
        v.add(kind, f"{u.name} (wp.log:{number})", f"{means}: {line[:300]}")
    if r.log.missed:
        v.add("cache-miss", u.name, f"{r.log.missed} prover results are not in proofs/cache.txt: "
              "make prove-update, or prove-cold and prove-cache")
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
        mine = [g for g in r.log.goals
                if g.stage == r.meta["stages"] and g.name.endswith("_" + control)]
        sentinel = control in r.meta["sentinels"]
        if not mine:
            v.add("no-control", u.name, f"{control}, which must stay unproved, was not tried")
        for g in mine:
            if g.valid:
                kind, means = ("sentinel-proven", "lemmas or definitions contradict each other") \
                    if sentinel else ("control-proven", "what must not be provable is")
                v.add(kind, u.name, f"{g.name}: {means}")
            elif g.died() and not r.log.missed:
                v.add("control-untried", u.name, f"{g.name}: no prover answered ({g.verdicts})")
    proven = {g.name for g in r.log.goals if g.valid}
    for lemma in r.meta["lemmas"]:
        if not any(re.fullmatch(rf"typed(_\w+)?_lemma_{lemma}(_part\d+)?", n) for n in proven):
            v.add("lemma-unproved", u.name, f"lemma {lemma} is not proven")


def judge_counts(v, r):
    """WP says everything three times: it must say the same."""
    u, valid = r.unit, sum(g.valid for g in r.log.goals)
    if len(r.log.proved) != r.meta["stages"]:
        v.add("counts", u.name, f"WP ran {len(r.log.proved)} times, {r.meta['stages']} were asked for")
    said = (sum(a for a, _ in r.log.proved), sum(b for _, b in r.log.proved))
    if said != (valid, len(r.log.goals)):
        v.add("counts", u.name, f"WP counts {said[0]} of {said[1]} goals, its log shows {valid} of "
              f"{len(r.log.goals)}")
    main = r.goals.get("wp:global", {}).get("wp:main", {})
    traced = [g for g in r.log.goals if g.prover != "CFG"]
    if (main.get("valid", 0), main.get("total", 0)) != (sum(g.valid for g in traced), len(traced)):
        v.add("counts", u.name, f"goals.json has {main.get('valid', 0)} of {main.get('total', 0)} "
              f"goals, the log {sum(g.valid for g in traced)} of {len(traced)}")


def judge_functions(v, r):
    u, named = r.unit, set(r.meta["functions"])
    failed = any(not g.valid for g in r.wanted())
    for row in r.rows:
        if row["function"] not in named or row["property kind"] == "precondition":
            continue  # a precondition is what callers prove
        status, text = row["status"], row["property"]
        if status == "Partially proven" and failed:
            continue  # it rests on a goal that is reported
        if status != "Valid" and not any(text.startswith(c + ":") for c in u.expect_unproved):
            v.add("property-" + status.lower().replace(" ", "-"), u.name,
                  f"{row['function']} ({row['file']}:{row['line']}) {row['property kind']}: {text}")
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
        v.add("contract", u.name, f"{f.name}: no assigns")
    for c in f.contract:
        if c.kind in NAMED and not c.name:
            v.add("unnamed", u.name, f"{f.name}: {c.kind} {c.text[:80]}")
        if c.name in r.controls() and not c.kind.startswith("check"):
            v.add("control-assumed", u.name, f"{f.name}: {c.line()[:80]}: a control must be a check")
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
            v.add("lemma-in-axiomatic", u.name, f"{x.name} stands in axiomatic {x.block}, where "
                  "the sentinel does not see it")
        if prove.recursive(x) and x.name not in reviewed and not recursion.well_founded(x):
            v.add("recursion", u.name, f"{x.name} is not recognisably well-founded: {x.text[:200]}")
        later = [w for w in set(prove.printed.WORD.findall(x.body())) if w in defined - seen - {x.name}]
        if later and "lemma" not in x.kind:
            v.add("recursion", u.name, f"{x.name} uses {', '.join(sorted(later))}, defined after it")
        seen.add(x.name)


# ---- All units together --------------------------------------------------------------------------

def judge_all(v, accept, claims):
    project = v.plan.project
    judge_scope(v)
    judge_callees(v)
    judge_same_texts(v)
    judge_lemma_order(v)
    judge_macros(v)
    if accept:
        with open(project.path("proofs/claimed.txt"), "w") as f:
            f.writelines(line + "\n" for line in claimed(v))
        print("proofs/claimed.txt written")
    judge_claimed(v)
    judge_assumptions(v)
    if claims and os.path.exists(project.path("proofs/claims.toml")):
        import claims as pages  # which imports this module
        v.problems += pages.check(v)


def judge_scope(v):
    """Every function of the files in scope, and of headers of theirs, has a unit that proves it."""
    project = v.plan.project
    assumed = project.assumed_functions()
    for u in v.plan.units:
        if u.kind == "lemmas":
            continue
        where = {n: p for (p, n) in csource.functions(project.root, u.file)}
        for f in v.plan.functions[u.name]:
            if u.name in v.results:
                v.prover_of.setdefault((where.get(f, u.file), f), u.name)
    reported = set()
    for file in project.scope_files():
        for (path, name), line in csource.functions(project.root, file).items():
            key = (path, name)
            if path.startswith("/") or key in v.prover_of or key in reported or name in assumed:
                continue
            reported.add(key)
            v.add("unproven-function", f"{path}:{line}", f"{name} is in scope, and no unit proves it")


def judge_callees(v):
    """Whoever a proven function calls is proven with the very contract that its caller relied on."""
    project = v.plan.project
    assumed = project.assumed_functions()
    by_name, graph = {}, {}
    for (path, name), unit in v.prover_of.items():
        by_name.setdefault(name, []).append((path, unit))
    for (path, name), unit in v.prover_of.items():
        tree = v.plan.trees[unit]
        home = csource.functions(project.root, project_unit(project, unit).file)
        graph[(path, name)] = []
        if tree.calls_itself(name):
            v.add("call-cycle", unit, f"{name} calls itself")
        for callee in tree.calls(name):
            f = tree.functions[callee]
            if not f.contract:
                v.add("no-contract", unit, f"{name} calls {callee}, which has no contract")
                continue
            if callee in assumed:
                v.assumed.setdefault(callee, (assumed[callee], set()))[1].add(unit)
                continue
            here = [(p, callee) for (p, n) in home if n == callee]  # defined in what the unit sees
            keys = [k for k in here if k in v.prover_of] or \
                [(p, callee) for p, _ in by_name.get(callee, []) if not here]
            if not keys:
                v.add("unproven-callee", unit, f"{name} calls {callee}, which no unit proves")
                continue
            graph[(path, name)].append(keys[0])
            there = v.plan.trees[v.prover_of[keys[0]]].functions[callee]
            if there.canonical_contract() != f.canonical_contract():
                v.add("other-contract", unit, f"{name} relies on a contract of {callee} that is not "
                      f"the one that unit {v.prover_of[keys[0]]} proves")
    loop = cycle(graph)
    if loop:
        v.add("call-cycle", "call graph", " -> ".join(n for _, n in loop))


def project_unit(project, name):
    return next(u for u in project.units if u.name == name)


def cycle(graph):
    """Some cycle as a list of nodes, or None."""
    state = {}
    for root in graph:
        if root in state:
            continue
        stack = [(root, iter(graph.get(root, [])))]
        state[root] = 1
        while stack:
            node, rest = stack[-1]
            for n in rest:
                if state.get(n) == 1:
                    path = [x for x, _ in stack]
                    return path[path.index(n):] + [n]
                if n not in state:
                    state[n] = 1
                    stack.append((n, iter(graph.get(n, []))))
                    break
            else:
                state[node] = 2
                stack.pop()
    return None


def judge_same_texts(v):
    """One name, one meaning: what unit A proves under a name is what unit B uses under it."""
    first = {}
    for u in v.plan.units:
        for x in v.plan.trees[u.name].logics:
            if x.kind in ("axiomatic", "check lemma"):
                continue
            old = first.setdefault((x.kind, x.name), (x.text, u.name))
            if old[0] != x.text:
                v.add("two-meanings", u.name, f"{x.kind} {x.name} differs from that in {old[1]}")


def judge_lemma_order(v):
    """A lemma is proven with all lemmas before it assumed. Over all units that must be no circle."""
    graph = {}
    for u in v.plan.units:
        names = [x.name for x in v.plan.trees[u.name].lemmas() if x.kind == "lemma"]
        for name in v.plan.lemmas[u.name]:
            graph[name] = names[: names.index(name)]
    loop = cycle(graph)
    if loop:
        v.add("lemma-cycle", "lemmas", " uses ".join(loop))


def judge_macros(v):
    project, seen = v.plan.project, set()
    for u in v.plan.units:
        for file in v.plan.sources[u.name][0]:
            if file in seen:
                continue
            seen.add(file)
            for n, line in enumerate(pj.read(project.path(file)).split("\n"), 1):
                if re.search(r"__FRAMAC__|__FC_|\bslevel\b|@\s*calls\b", line):
                    v.add("special-code", f"{file}:{n}", "code that only the prover sees, or a hint "
                          "that it trusts")


# ---- The list of what is claimed -----------------------------------------------------------------

def claimed(v):
    """One line for each property whose proof is claimed, in Frama-C's words."""
    project, lines = v.plan.project, set()
    assumed = project.assumed_functions()
    for (path, name), unit in v.prover_of.items():
        for c in v.plan.trees[unit].functions[name].contract:
            if not c.kind.startswith("check"):
                lines.add(f"{path} {name} {c.line()}")
    for u in v.plan.units:
        tree = v.plan.trees[u.name]
        for x in tree.logics:
            if x.kind not in ("axiomatic", "check lemma"):
                lines.add(x.text if not x.block else f"{x.text} [axiomatic {x.block}]")
        for name in assumed:
            if name in tree.functions:
                for c in tree.functions[name].contract:
                    lines.add(f"assumed {name} {c.line()}")
    return sorted(lines)


def judge_claimed(v):
    path = v.plan.project.path("proofs/claimed.txt")
    old = pj.read(path).split("\n")[:-1] if os.path.exists(path) else []
    for line in difflib.unified_diff(old, claimed(v), lineterm="", n=0):
        if line.startswith("-") and not line.startswith("---"):
            v.add("claim-lost", "proofs/claimed.txt", line[1:][:300])
        elif line.startswith("+") and not line.startswith("+++"):
            v.add("claim-new", "proofs/claimed.txt", f"not listed (make claims-accept): {line[1:][:300]}")


def judge_assumptions(v):
    """units.toml's assumptions are exactly those in ASSUMPTIONS.md, and none is idle."""
    project = v.plan.project
    path = project.path("ASSUMPTIONS.md")
    text = pj.read(path) if os.path.exists(path) else None
    for a in project.assumptions:
        if text is not None and not re.search(rf"\b{re.escape(a['id'])}\b", text):
            v.add("assumption-unlisted", a["id"], "is not in ASSUMPTIONS.md")
        for f in a.get("functions", []):
            if text is not None and f not in text:
                v.add("assumption-unlisted", a["id"], f"{f} is not in ASSUMPTIONS.md")
            if any(f == n for _, n in v.prover_of):
                v.add("assumption-idle", a["id"], f"{f} is proven: no need to assume its contract")


# ---- Output --------------------------------------------------------------------------------------

def judge(project, names=(), accept=False, claims=True):
    v = Verdict()
    try:
        versions = project.check_tools()
        v.plan = prove.Plan(project, project.units, versions)
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
        judge_all(v, accept, claims)
    return v


def table(v):
    rows = [("unit", "kind", "goals", "proven", "Qed", "provers", "seconds", "run")]
    total = [0, 0, 0.0]
    for name, r in v.results.items():
        wanted = r.wanted()
        by = {}
        for g in wanted:
            if g.valid:
                by[g.prover] = by.get(g.prover, 0) + 1
        simple = by.pop("Qed", 0) + by.pop("CFG", 0)
        provers = ", ".join(f"{p} {n}" for p, n in sorted(by.items(), key=lambda x: -x[1]))
        proven = sum(g.valid for g in wanted)
        rows.append((name, r.unit.kind, len(wanted), proven, simple, provers, r.meta["seconds"],
                     r.meta["mode"]))
        total = [total[0] + len(wanted), total[1] + proven, total[2] + r.meta["seconds"]]
    rows.append(("all", "", total[0], total[1], "", "", round(total[2], 1), ""))
    return rows


def print_table(rows):
    widths = [max(len(str(r[i])) for r in rows) for i in range(len(rows[0]))]
    for r in rows:
        cells = [str(c).rjust(w) if isinstance(c, (int, float)) else str(c).ljust(w)
                 for c, w in zip(r, widths)]
        print("  ".join(cells).rstrip())


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("units", nargs="*", metavar="UNIT")
    p.add_argument("--root", help="source tree (default: this one)")
    p.add_argument("--accept", action="store_true", help="write proofs/claimed.txt")
    p.add_argument("--json", action="store_true")
    args = p.parse_args()
    project = pj.load(args.root)
    if args.accept and args.units:
        pj.die("--accept is for all units together")
    try:
        v = judge(project, args.units, args.accept)
    except pj.Problem as e:
        pj.die(str(e))
    rows = table(v)
    if args.json:
        print(json.dumps({"units": [dict(zip(rows[0], r)) for r in rows[1:]],
                          "problems": [vars(x) for x in v.problems]}, indent=1))
    else:
        print_table(rows)
        for f, (which, units) in sorted(v.assumed.items()):
            print(f"assumed: {f} ({which}), called in {', '.join(sorted(units))}")
        for x in v.problems:
            print(x)
        print(f"gate: {len(v.problems)} problems" if v.problems else "gate: no problems")
    return 1 if v.problems else 0


if __name__ == "__main__":
    sys.exit(main())
