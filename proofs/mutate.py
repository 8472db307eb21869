#!/usr/bin/env python3
"""Breaks the code and the contracts on purpose, and checks that a proof fails each time.

A mutant of proofs/mutants.toml changes some text. It is killed if a goal is no longer proven: of
the function that is changed, or of the units and functions that the mutant names. Each goal gets
2 s of a prover's CPU time; if one of them runs out, all are asked again with the limit of
units.toml. The loss must come from the change: without it, all are proven with that limit. The
verdict is stored (proofs/verdicts.py). This script makes further mutants:
  delete:FILE:FUNCTION/NAME   the contract without that ensures
  narrow:FILE:FUNCTION        the contract with one more requires
They are killed if the comparison with proofs/claimed.txt reports them: the syntax tree is printed
once for all of them in one unit. A mutant that survives needs a `survives = "reason"`, for
example that other clauses imply the one that is changed.

  mutate.py                     all
  mutate.py --sample 20 [--seed S]   that many of mutants.toml, drawn; prints the seed
  mutate.py --again NAME        this mutant of mutants.toml, without its stored verdict
  mutate.py --propose UNIT [--function F]   prints entries for mutants.toml: single token changes

With ZP_VERDICTS=compare (make evidence) all are tried, with the prover results of the last cold run
instead of proofs/cache.txt."""

import argparse
import concurrent.futures
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import time
import tomllib

import csource
import losses
import planning
import printed
import project as pj
import proposals
import prove
import prover_cache
import trees as printing
import verdicts

KEYS = {"name", "file", "old", "new", "unit", "functions", "family", "bug", "survives", "edits"}
SMALLEST_FAMILY = 10  # code mutants in each family of claims


class Mutant:
    def __init__(self, table):
        unknown = set(table) - KEYS
        self.name = table.get("name", "?")
        if unknown:
            raise pj.Problem(f"mutant {self.name}: unknown key {', '.join(sorted(unknown))}")
        for key in ("name", "family", "bug"):
            if key not in table:
                raise pj.Problem(f"mutant {self.name}: the key {key} is missing")
        edits = table.get("edits") or [table]
        self.edits = [(e["file"], e["old"], e["new"]) for e in edits]
        unit = table.get("unit", [])  # default: the units that prove the changed function
        self.units = [unit] if isinstance(unit, str) else unit
        self.functions = table.get("functions")
        self.family = table["family"]
        self.bug = table["bug"]
        self.survives = table.get("survives", "")


class Clause:
    """One clause of a contract deleted, or one added: the list of claims must report it."""

    family, survives = None, ""

    def __init__(self, file, function, clause, start, stop, unit):
        self.file, self.function, self.clause, self.unit = file, function, clause, unit
        self.start, self.stop = start, stop  # the range to blank; an empty range adds a requires
        self.name = f"delete:{file}:{function}/{clause}" if clause else f"narrow:{file}:{function}"
        self.bug = self.name

    def apply(self, text):
        new = " " * (self.stop - self.start) if self.clause else " requires narrowed: 1 == 2;\n"
        return text[: self.start] + new + text[self.stop :]

    def judge(self, before, after):
        """(killed, how), from the printed contracts of the function."""
        if not self.clause:
            return any(x.startswith("requires narrowed:") for x in after), "+ requires narrowed"
        lines = [x for x in before if re.match(rf"(behavior \w+ )?ensures {self.clause}:", x)]
        lost = [x for x in lines if x not in after]
        return bool(lines) and lost == lines, lost[0][:80] if lost else ""


def load_mutants(project):
    path = project.path("proofs/mutants.toml")
    if not os.path.exists(path):
        return []
    with open(path, "rb") as f:
        mutants = [Mutant(t) for t in tomllib.load(f).get("mutant", [])]
    names = [m.name for m in mutants]
    for n in names:
        if names.count(n) > 1:
            raise pj.Problem(f"two mutants have the name {n}")
    return mutants


# ---- Mutants of contracts ------------------------------------------------------------------------


def contract_mutants(plan):
    """The deletion of every ensures, and an additional requires for every contract."""
    project, seen, out = plan.project, set(), []
    for u in plan.units:
        if u.kind == "lemmas":
            continue
        for file in plan.sources[u.name][0]:
            text = pj.read(project.path(file))
            for start, end, function in contracts(text):
                if function not in plan.functions[u.name] or (file, start) in seen:
                    continue
                seen.add((file, start))
                block = text[start:end]
                for m in re.finditer(r"\bensures\s+(\w+)\s*:", block):
                    if block[: m.start()].rstrip().endswith("check"):
                        continue
                    stop = m.start() + len(printed.split_items(block[m.start() :])[0]) + 1
                    out.append(
                        Clause(file, function, m[1], start + m.start(), start + stop, u.name)
                    )
                out.append(Clause(file, function, "", start + 3, start + 3, u.name))
    return out


def contracts(text):
    """(start, end, function) of each ACSL comment that ends just above a declaration."""
    for m in re.finditer(r"/\*@(?:.|\n)*?\*/", text):
        if not re.search(r"\b(requires|ensures|assigns)\b", m[0]) or "loop " in m[0]:
            continue
        after = re.match(r"\s*((?:[A-Za-z_][\w \t*]*?)\b(\w+)\s*\()", text[m.end() :])
        if after and not re.match(r"(for|while|if|return|switch)\b", after[1].strip()):
            yield m.start(), m.end(), after[2]


# ---- Running one ---------------------------------------------------------------------------------


class Trees:
    """Copies of the sources, one for each worker."""

    def __init__(self, project, jobs):
        self.project = project
        self.cache = os.path.join(project.build, "cache")  # prover results
        self.unchanged = {}  # (unit, functions) -> what is lost without any change
        self.free = queue.Queue()
        for i in range(jobs):
            tree = os.path.join(project.root, "build", "mutants", f"tree{i}")
            shutil.rmtree(tree, ignore_errors=True)
            os.makedirs(tree)
            for name in project.table.get("mutants", {}).get("copy", ["ref", "spec", "proofs"]):
                if os.path.isdir(project.path(name)):
                    shutil.copytree(
                        project.path(name),
                        os.path.join(tree, name),
                        ignore=shutil.ignore_patterns("__pycache__", "gate_tests"),
                    )
            self.free.put(tree)


def enclosing(root, file, text, old):
    """The function of a .c file whose body contains the text, or None."""
    line = text[: text.index(old)].count("\n") + 1
    best = None
    for (path, name), at in sorted(csource.functions(root, file).items(), key=lambda x: x[1]):
        if path == file and at <= line:
            best = name
    return best


def units_of(plan, file, functions):
    return [
        u.name
        for u in plan.units
        if u.file == file and set(functions or []) & set(plan.functions[u.name])
    ]


def targets(plan, m):
    """([(unit, its functions to prove again, or None for all)], reason if the list is empty)"""
    functions = m.functions
    file, old, _ = m.edits[0]
    if functions is None and file.endswith(".c") and len(m.edits) == 1:
        f = enclosing(plan.project.root, file, pj.read(plan.project.path(file)), old)
        functions = [f] if f else None
    names = m.units or units_of(plan, file, functions)
    known = {u.name for u in plan.units}
    for name in names:
        if name not in known:
            return [], f"units.toml has no unit {name}"
    return [
        (name, functions) for name in names
    ], "" if names else "no unit proves the changed text: name one in mutants.toml"


def misplaced(plan, m):
    """Why an edit cannot be made, or an empty string."""
    texts = {}
    for file, old, new in m.edits:
        text = texts.get(file) or pj.read(plan.project.path(file))
        if text.count(old) != 1:
            return f"{file} has the text {text.count(old)} times, expected once"
        texts[file] = text.replace(old, new)
    return ""


def run_mutant(plan, trees, m):
    """(killed, how, seconds); killed is None if the mutant cannot be tried."""
    why = misplaced(plan, m)
    chosen, none = ([], "") if why else targets(plan, m)
    if why or none:
        return None, why or none, 0
    tree = trees.free.get()
    start = time.monotonic()
    saved = {}
    try:
        for file, old, new in m.edits:
            path = os.path.join(tree, file)
            text = pj.read(path)
            saved.setdefault(path, text)
            with open(path, "w") as f:
                f.write(text.replace(old, new))
        for name, functions in chosen:
            u = next(u for u in plan.units if u.name == name)
            killed, how = losses.goal_lost(plan, trees, tree, u, functions)
            if killed is None or killed:
                return killed, how, time.monotonic() - start
        return False, "all goals are still proven", time.monotonic() - start
    finally:
        for path, text in saved.items():
            with open(path, "w") as f:
                f.write(text)
        trees.free.put(tree)


class Stored:
    """Mutants with their stored verdicts."""

    def __init__(self, plan, trees):
        self.plan, self.trees = plan, trees
        self.verdicts = verdicts.Verdicts()
        self.reused = []

    def inputs(self, m):
        if misplaced(self.plan, m):
            return None
        chosen, none = targets(self.plan, m)
        return (
            None
            if none
            else verdicts.of_mutant(
                self.plan, m.name, m.edits, chosen, [str(losses.GOAL_SECONDS), m.survives]
            )
        )

    def run(self, m, reuse=True):
        """(killed, how, seconds), computed or from the store."""
        where = self.inputs(m)
        found = self.verdicts.get(where) if where and reuse else None
        if found:
            self.reused.append(found)
            return found["result"]["killed"], found["result"]["goal"] + " (stored)", 0.0
        killed, how, seconds = run_mutant(self.plan, self.trees, m)
        if where and killed is not None and killed != bool(m.survives):
            # one process at a time: its CPU time is the time that it takes on an idle machine
            self.verdicts.passed(
                where,
                {"killed": killed, "goal": how},
                seconds,
                seconds,
                verdicts.again(self.plan.project, "mutate.py", m.name),
            )
        elif where:
            self.verdicts.failed(where, how)
        return killed, how, seconds

    def repeat(self, mutants, jobs):
        """Computes reused verdicts again, drawn at random. Returns the problems."""
        by_name = {m.name: m for m in mutants}
        start = time.monotonic()

        def compute(verdict):
            m = by_name[verdict["name"]]
            killed, how, _ = self.run(m, reuse=False)
            return [] if killed is not None and killed != bool(m.survives) else [f"{m.name}: {how}"]

        done, bad = verdicts.repeat(self.reused, compute, verdicts.seconds_to_repeat(), jobs)
        prove.say(
            f"{len(done)} of them were computed again in {time.monotonic() - start:.0f} s: "
            + (f"{len(bad)} problems" if bad else "no difference")
        )
        return bad


def claims_lost(plan, trees, u, clauses):
    """(killed, how, seconds) of each: killed if the unit's printed contracts changed."""
    tree = trees.free.get()
    start = time.monotonic()
    saved = {}
    try:
        for c in sorted(
            clauses, key=lambda c: -c.start
        ):  # from the end, so that earlier positions stay valid
            path = os.path.join(tree, c.file)
            saved.setdefault(path, pj.read(path))
            text = c.apply(pj.read(path))
            with open(path, "w") as f:
                f.write(text)
        out = os.path.join(tree, "ast.txt")
        env = dict(pj.environment(plan.project), PWD=tree)
        run = subprocess.run(
            [*printing.PRINT, u.file, "-print", "-ocode", out],
            cwd=tree,
            env=env,
            capture_output=True,
            text=True,
        )
        if run.returncode:
            return [
                (None, "Frama-C rejects it: " + losses.last_line(run.stdout), 0) for _ in clauses
            ]
        old, new = plan.trees[u.name].functions, printed.parse(pj.read(out)).functions
        each = (time.monotonic() - start) / len(clauses)
        return [
            (
                *c.judge(*([x.line() for x in tree[c.function].contract] for tree in (old, new))),
                each,
            )
            for c in clauses
        ]
    finally:
        for path, text in saved.items():
            with open(path, "w") as f:
                f.write(text)
        trees.free.put(tree)


# ---- Proposals -----------------------------------------------------------------------------------


def propose(plan, trees, args):
    u = plan.project.pick([args.propose])[0]
    found = list(proposals.proposals(plan, u, args.function))
    random.Random(args.seed).shuffle(found)
    for p in found[: args.sample or None]:
        m = Mutant(dict(p, family=-1))
        killed, how, seconds = run_mutant(plan, trees, m)
        if killed is None:
            continue
        print(f"# {'killed by ' + how if killed else 'SURVIVES'} ({seconds:.0f} s)\n[[mutant]]")
        for key in ("name", "file", "old", "new", "unit", "functions"):
            value = p[key]
            quoted = (
                f"'''\n{value}'''"
                if isinstance(value, str) and "\n" in value
                else json.dumps(value, ensure_ascii=False)
            )
            print(f"{key} = {quoted}")
        print(f"family = {args.family}\nbug = {json.dumps(p['bug'])}\n", flush=True)
    return 0


# ---- All of them ---------------------------------------------------------------------------------


def report(mutants, results, whole, as_json):
    bad = []
    for m, (killed, how, _) in zip(mutants, results, strict=True):
        if killed is None:
            bad.append(f"broken mutant {m.name}: {how}")
        elif not killed and not m.survives:
            bad.append(f"SURVIVOR {m.name}: {m.bug}")
        elif killed and m.survives:
            bad.append(f"{m.name} is listed as surviving, but is killed by {how}")
    counts = {}
    for m in mutants:
        if m.family is not None and not m.survives:
            counts[m.family] = counts.get(m.family, 0) + 1
    if whole:
        bad += [
            f"family {f} has {counts.get(f, 0)} code mutants, fewer than {SMALLEST_FAMILY}"
            for f in range(10)
            if f != 5 and counts.get(f, 0) < SMALLEST_FAMILY
        ]
    killed = sum(1 for r in results if r[0])
    explained = [m for m, r in zip(mutants, results, strict=True) if r[0] is False and m.survives]
    if as_json:
        print(
            json.dumps(
                {
                    "mutants": len(mutants),
                    "killed": killed,
                    "problems": bad,
                    "explained": [m.name for m in explained],
                    "families": counts,
                },
                indent=1,
            )
        )
        return bad
    for m in explained:
        print(f"explained: {m.name}: {m.survives}")
    for b in bad:
        print(b)
    print(
        f"{len(mutants)} mutants: {killed} killed, {len(explained)} survive with a reason, "
        f"{len(bad)} problems"
        + (f"; code mutants by family: {dict(sorted(counts.items()))}" if counts else "")
    )
    return bad


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("names", nargs="*", metavar="NAME", help="only these (a prefix is enough)")
    p.add_argument("--root", help="source tree (default: this one)")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--sample", type=int, default=0, metavar="N")
    p.add_argument("--seed", type=int, default=None)
    p.add_argument("--propose", metavar="UNIT")
    p.add_argument("--function", metavar="F", help="with --propose: only this function")
    p.add_argument("--family", type=int, default=0, help="with --propose: the family to write")
    p.add_argument("--again", metavar="NAME", help="only this one, without its stored verdict")
    p.add_argument("--json", action="store_true")
    args = p.parse_args()
    if args.seed is None:
        args.seed = int(time.time())
    return args


def selected(mutants, clauses, args):
    """The mutants of code and of contracts that the arguments name; all if they name none."""
    if args.sample and args.sample < len(mutants):
        if not args.json:
            print(f"{args.sample} of {len(mutants)} mutants of code, seed {args.seed}")
        mutants = random.Random(args.seed).sample(mutants, args.sample)
    mutants = mutants + clauses
    if not args.names and not args.again:
        return mutants
    named = [
        m for m in mutants if m.name == args.again or any(m.name.startswith(n) for n in args.names)
    ]
    if not named:
        pj.die(f"no mutant has the name {args.again or ' or '.join(args.names)}")
    return named


def run_all(stored, mutants, args):
    """The results of the mutants, in their order."""
    plan, trees = stored.plan, stored.trees
    units = {u.name: u for u in plan.units}

    def one(job):
        """[(mutant, result)]: of one mutant, or of all contract mutants in a unit."""
        if isinstance(job, Mutant):
            found = [(job, stored.run(job, reuse=not args.names and not args.again))]
        else:
            found = list(zip(job, claims_lost(plan, trees, units[job[0].unit], job), strict=True))
        if not args.json:
            show(found)
        return found

    jobs = [m for m in mutants if isinstance(m, Mutant)]
    clauses = [m for m in mutants if isinstance(m, Clause)]
    jobs += [[c for c in clauses if c.unit == name] for name in sorted({c.unit for c in clauses})]
    by_name = {}
    with concurrent.futures.ThreadPoolExecutor(max(1, args.jobs)) as pool:
        for found in pool.map(one, jobs):
            by_name.update((m.name, result) for m, result in found)
    return [by_name[m.name] for m in mutants]


def show(found):
    for m, (killed, how, seconds) in found:
        word = {None: "BROKEN", True: "killed", False: "alive"}[killed]
        prove.say(f"  {word:<7} {m.name:<44} {how} ({seconds:.1f} s)")


def without_stored_proofs(trees, project):
    """Uses the prover results of the last cold run instead of cache.txt."""
    trees.cache = os.path.join(project.build, "cold")
    os.makedirs(trees.cache, exist_ok=True)


def main():
    args = arguments()
    project = pj.load(args.root)
    try:
        versions = project.check_tools()
        pj.write_why3_conf(project)
        plan = planning.Plan(project, project.units, versions)
        prover_cache.unpack(project, exactly=False)
        trees = Trees(project, args.jobs)
        if args.propose:
            return propose(plan, trees, args)
        mutants, clauses = load_mutants(project), contract_mutants(plan)
    except pj.Problem as e:
        pj.die(str(e))
    stored = Stored(plan, trees)
    if stored.verdicts.comparing and not args.again:  # make evidence
        args.sample = 0
        without_stored_proofs(trees, project)
    mutants = selected(mutants, clauses, args)
    results = run_all(stored, mutants, args)
    whole = not args.names and not args.sample and not args.again
    bad = report(mutants, results, whole, args.json)
    if stored.reused and not args.json:
        prove.say(verdicts.reused_line(stored.reused))
        if not verdicts.runner_repeats():
            bad += stored.repeat(mutants, args.jobs)
    for name, text in stored.verdicts.problems:
        print(f"stored-verdict: {name}: {text}")
    return 1 if bad or stored.verdicts.problems else 0


if __name__ == "__main__":
    sys.exit(main())
