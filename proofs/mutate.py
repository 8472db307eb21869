#!/usr/bin/env python3
"""Breaks the code and the contracts on purpose: is a proof lost each time?

A mutant of proofs/mutants.toml changes some text and is killed when a goal is no longer proven: of the
function that is changed, or of the units and functions that the mutant names. Further mutants are made here:
  delete:FILE:FUNCTION/NAME   the contract without that ensures
  narrow:FILE:FUNCTION        the contract with one more requires
and killed when proofs/claimed.txt reports the loss: what it compares with is printed once for all of
them that stand in one unit. Survivors need a `survives = "why"` (other clauses imply it), which says of
what is changed that nothing is lost.

  mutate.py                     all
  mutate.py --sample 20 [--seed S]   that many of mutants.toml, drawn; the seed is printed
  mutate.py --propose UNIT [--function F]   prints ready entries: single tokens changed, what kills them"""
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
import printed
import project as pj
import prove
import wplog

KEYS = {"name", "file", "old", "new", "unit", "functions", "family", "bug", "survives", "edits"}
GOAL_SECONDS = 5       # a goal that needs longer is near enough to lost
SMALLEST_FAMILY = 10   # code mutants in each theorem family


class Mutant:
    def __init__(self, table):
        unknown = set(table) - KEYS
        self.name = table.get("name", "?")
        if unknown:
            raise pj.Problem(f"mutant {self.name}: unknown key {', '.join(sorted(unknown))}")
        for key in ("name", "family", "bug"):
            if key not in table:
                raise pj.Problem(f"mutant {self.name}: no {key}")
        edits = table.get("edits") or [table]
        self.edits = [(e["file"], e["old"], e["new"]) for e in edits]
        unit = table.get("unit", [])  # default: the units that prove the changed function
        self.units = [unit] if isinstance(unit, str) else unit
        self.functions = table.get("functions")
        self.family = table["family"]
        self.bug = table["bug"]
        self.survives = table.get("survives", "")


class Clause:
    """One clause of a contract deleted, or one added: the list of claims must notice."""
    family, survives = None, ""

    def __init__(self, file, function, clause, start, stop, unit):
        self.file, self.function, self.clause, self.unit = file, function, clause, unit
        self.start, self.stop = start, stop  # what is blanked; an empty range: one requires more
        self.name = f"delete:{file}:{function}/{clause}" if clause else f"narrow:{file}:{function}"
        self.bug = self.name

    def apply(self, text):
        new = " " * (self.stop - self.start) if self.clause else " requires narrowed: 1 == 2;\n"
        return text[: self.start] + new + text[self.stop:]

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
            raise pj.Problem(f"two mutants are called {n}")
    return mutants


# ---- Mutants of contracts ------------------------------------------------------------------------

def contract_mutants(plan):
    """Deletion of every ensures, one requires more for every function that has a contract."""
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
                    stop = m.start() + len(printed.split_items(block[m.start():])[0]) + 1
                    out.append(Clause(file, function, m[1], start + m.start(), start + stop, u.name))
                out.append(Clause(file, function, "", start + 3, start + 3, u.name))
    return out


def contracts(text):
    """(start, end, function) of each ACSL comment that ends just above a declaration."""
    for m in re.finditer(r"/\*@(?:.|\n)*?\*/", text):
        if not re.search(r"\b(requires|ensures|assigns)\b", m[0]) or "loop " in m[0]:
            continue
        after = re.match(r"\s*((?:[A-Za-z_][\w \t*]*?)\b(\w+)\s*\()", text[m.end():])
        if after and not re.match(r"(for|while|if|return|switch)\b", after[1].strip()):
            yield m.start(), m.end(), after[2]


# ---- Running one ---------------------------------------------------------------------------------

class Trees:
    """Copies of the sources, one for each worker."""

    def __init__(self, project, jobs):
        self.project = project
        self.free = queue.Queue()
        for i in range(jobs):
            tree = os.path.join(project.root, "build", "mutants", f"tree{i}")
            shutil.rmtree(tree, ignore_errors=True)
            os.makedirs(tree)
            for name in project.table.get("mutants", {}).get("copy", ["ref", "spec", "proofs"]):
                if os.path.isdir(project.path(name)):
                    shutil.copytree(project.path(name), os.path.join(tree, name),
                                    ignore=shutil.ignore_patterns("__pycache__", "gate_tests"))
            self.free.put(tree)


def enclosing(root, file, text, old):
    """The function of a .c file in whose body the text stands, or None."""
    line = text[: text.index(old)].count("\n") + 1
    best = None
    for (path, name), at in sorted(csource.functions(root, file).items(), key=lambda x: x[1]):
        if path == file and at <= line:
            best = name
    return best


def units_of(plan, file, functions):
    return [u.name for u in plan.units
            if u.file == file and set(functions or []) & set(plan.functions[u.name])]


def run_mutant(plan, trees, m):
    """(killed, how, seconds)"""
    tree = trees.free.get()
    start = time.monotonic()
    saved = {}
    try:
        functions = m.functions
        for file, old, new in m.edits:
            path = os.path.join(tree, file)
            text = pj.read(path)
            saved.setdefault(path, text)
            if text.count(old) != 1:
                return None, f"{file} has the text {text.count(old)} times, not once", 0
            if functions is None and file.endswith(".c") and len(m.edits) == 1:
                f = enclosing(tree, file, text, old)
                functions = [f] if f else None
            with open(path, "w") as f:
                f.write(text.replace(old, new))
        for name in m.units or units_of(plan, m.edits[0][0], functions):
            u = next((u for u in plan.units if u.name == name), None)
            if u is None:
                return None, f"there is no unit {name}", 0
            killed, how = goal_lost(plan, tree, u, functions)
            if killed is None or killed:
                return killed, how, time.monotonic() - start
        if not m.units and not units_of(plan, m.edits[0][0], functions):
            return None, "no unit proves what is changed: name one", 0
        return False, "everything is still proven", time.monotonic() - start
    finally:
        for path, text in saved.items():
            with open(path, "w") as f:
                f.write(text)
        trees.free.put(tree)


def claims_lost(plan, trees, u, clauses):
    """(killed, how, seconds) of each: do the unit's contracts read otherwise than before?"""
    tree = trees.free.get()
    start = time.monotonic()
    saved = {}
    try:
        for c in sorted(clauses, key=lambda c: -c.start):  # from the end: earlier places stay
            path = os.path.join(tree, c.file)
            saved.setdefault(path, pj.read(path))
            text = c.apply(pj.read(path))
            with open(path, "w") as f:
                f.write(text)
        out = os.path.join(tree, "ast.txt")
        env = dict(prove.environment(plan.project), PWD=tree)
        run = subprocess.run(["frama-c", "-no-unicode", "-cpp-extra-args=-I.", u.file, "-print",
                              "-ocode", out], cwd=tree, env=env, capture_output=True, text=True)
        if run.returncode:
            return [(None, "Frama-C refuses it: " + last_line(run.stdout), 0) for _ in clauses]
        old, new = plan.trees[u.name].functions, printed.parse(pj.read(out)).functions
        each = (time.monotonic() - start) / len(clauses)
        return [(*c.judge(*([x.line() for x in tree[c.function].contract] for tree in (old, new))), each)
                for c in clauses]
    finally:
        for path, text in saved.items():
            with open(path, "w") as f:
                f.write(text)
        trees.free.put(tree)


def last_line(text):
    lines = [x for x in text.strip().split("\n") if x.strip()]
    return lines[-1][:200] if lines else ""


def goal_lost(plan, tree, u, functions):
    """Is some goal not proven? Stops at the first."""
    project = plan.project
    run = subprocess.run(["gcc", "-std=c11", "-fsyntax-only", "-I.", u.file], cwd=tree,
                         capture_output=True, text=True)
    if run.returncode:
        return None, "does not compile: " + last_line(run.stderr)
    mine = plan.functions[u.name]
    if functions is not None and not set(functions) & set(mine):
        return None, f"unit {u.name} proves none of {', '.join(functions)}"
    chosen = [f for f in mine if functions is None or f in functions]
    line = ["frama-c", "-no-unicode", "-cpp-extra-args=-I.", *prove.STRICT, u.file, "-wp-cache",
            "replay", "-wp-cache-dir", os.path.join(project.build, "cache"), "-wp-par", "1", *u.words,
            "-wp-prover", ",".join(u.provers), "-wp-timeout", str(GOAL_SECONDS)]
    ignore = ["-" + c for c in u.expect_unproved]
    if chosen:
        line += ["-then", "-wp", "-wp-fct", ",".join(chosen)]
        line += ["-wp-prop=" + ",".join(ignore)] if ignore else []
    if functions is None and plan.lemmas[u.name]:
        line += ["-then", "-wp", "-wp-fct=@default", "-wp-prop", ",".join(plan.lemmas[u.name])]
    child = subprocess.Popen(line, cwd=tree, env=dict(prove.environment(project), PWD=tree),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for text in child.stdout:
            g = wplog.GOAL.match(text.rstrip("\n"))
            if g and g["verdict"] != "Valid":
                return True, re.sub(r"^typed_(real_)?", "", g["name"])
            if re.search(r"User Error|aborted|Memory model hypotheses", text):
                return True, text.strip()[:120]
        return (True, "frama-c refuses it") if child.wait() else (False, "")
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


# ---- Proposals -----------------------------------------------------------------------------------

SWAPS = [("<=", "<"), (">=", ">"), ("==", "!="), ("!=", "=="), ("&&", "||"), ("||", "&&"),
         ("++", "--"), ("+=", "-="), ("-=", "+="), ("+", "-"), ("-", "+"), ("*", "+"), ("/", "*"),
         ("%", "/"), ("<", "<="), (">", ">=")]
TOKEN = re.compile(r"<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|\+=|-=|\*=|/=|->|[A-Za-z_]\w*|\d\w*|\S|\s+")


def proposals(plan, u, only):
    """Single-token changes in the bodies of the unit's functions (not in annotations)."""
    text = pj.read(plan.project.path(u.file))
    lines = text.split("\n")
    places = sorted((at, n) for (p, n), at in csource.functions(plan.project.root, u.file).items()
                    if p == u.file)
    blank = re.sub(r"/\*(?:.|\n)*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    for i, (at, name) in enumerate(places):
        if name not in plan.functions[u.name] or (only and name != only):
            continue
        last = places[i + 1][0] if i + 1 < len(places) else len(lines) + 1
        inside = False
        for n in range(at, last):
            code = blank.split("\n")[n - 1]
            if not inside:
                inside = "{" in code
                continue
            column = 0
            for token in TOKEN.findall(code):
                new = dict(SWAPS).get(token)
                if token.isdigit():
                    new = str(int(token) + 1)
                if new and not (token == "*" and re.search(r"(int\w*|\w+_t|zp_\w+|[(,=])\s*$",
                                                           code[:column])):
                    line = lines[n - 1]
                    changed = line[:column] + new + line[column + len(token):]
                    old, fresh = context(lines, n, line, changed)
                    if old:
                        yield {"name": f"{name}-{n}-{column}", "file": u.file, "old": old, "new": fresh,
                               "unit": u.name, "functions": [name],
                               "bug": f"{name}: `{token}` becomes `{new}`"}
                column += len(token)


def context(lines, n, line, changed):
    """Enough lines around n for the text to stand only once in the file."""
    text = "\n".join(lines)
    if text.count(line) == 1:
        return line.strip() if text.count(line.strip()) == 1 else line, \
            changed.strip() if text.count(line.strip()) == 1 else changed
    for k in range(1, 6):
        old = "\n".join(lines[n - 1 - k: n])
        if text.count(old) == 1:
            return old, "\n".join(lines[n - 1 - k: n - 1] + [changed])
    return None, None


def propose(plan, trees, args):
    u = plan.project.pick([args.propose])[0]
    found = list(proposals(plan, u, args.function))
    random.Random(args.seed).shuffle(found)
    for p in found[: args.sample or None]:
        m = Mutant(dict(p, family=-1))
        killed, how, seconds = run_mutant(plan, trees, m)
        if killed is None:
            continue
        print(f"# {'killed by ' + how if killed else 'SURVIVES'} ({seconds:.0f} s)\n[[mutant]]")
        for key in ("name", "file", "old", "new", "unit", "functions"):
            value = p[key]
            quoted = f"'''\n{value}'''" if isinstance(value, str) and "\n" in value else \
                json.dumps(value, ensure_ascii=False)
            print(f"{key} = {quoted}")
        print(f'family = {args.family}\nbug = {json.dumps(p["bug"])}\n', flush=True)
    return 0


# ---- All of them ---------------------------------------------------------------------------------

def report(mutants, results, whole, as_json):
    bad = []
    for m, (killed, how, _) in zip(mutants, results):
        if killed is None:
            bad.append(f"broken mutant {m.name}: {how}")
        elif not killed and not m.survives:
            bad.append(f"SURVIVOR {m.name}: {m.bug}")
        elif killed and m.survives:
            bad.append(f"{m.name} is said to survive, but is killed by {how}")
    counts = {}
    for m in mutants:
        if m.family is not None and not m.survives:
            counts[m.family] = counts.get(m.family, 0) + 1
    if whole:
        bad += [f"family {f} has {counts.get(f, 0)} code mutants, fewer than {SMALLEST_FAMILY}"
                for f in range(10) if f != 5 and counts.get(f, 0) < SMALLEST_FAMILY]
    killed = sum(1 for r in results if r[0])
    explained = [m for m, r in zip(mutants, results) if r[0] is False and m.survives]
    if as_json:
        print(json.dumps({"mutants": len(mutants), "killed": killed, "problems": bad,
                          "explained": [m.name for m in explained], "families": counts}, indent=1))
        return bad
    for m in explained:
        print(f"explained: {m.name}: {m.survives}")
    for b in bad:
        print(b)
    print(f"{len(mutants)} mutants: {killed} killed, {len(explained)} survive with a reason, "
          f"{len(bad)} problems" + (f"; code mutants by family: {dict(sorted(counts.items()))}"
                                    if counts else ""))
    return bad


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", metavar="NAME", help="only these (a prefix is enough)")
    p.add_argument("--root", help="source tree (default: this one)")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--sample", type=int, default=0, metavar="N")
    p.add_argument("--seed", type=int, default=None)
    p.add_argument("--propose", metavar="UNIT")
    p.add_argument("--function", metavar="F", help="with --propose: only this function")
    p.add_argument("--family", type=int, default=0, help="with --propose: the family to write")
    p.add_argument("--json", action="store_true")
    args = p.parse_args()
    if args.seed is None:
        args.seed = int(time.time())
    project = pj.load(args.root)
    try:
        versions = project.check_tools()
        prove.write_why3_conf(project)
        plan = prove.Plan(project, project.units, versions)
        prove.unpack(project, exactly=False)
        trees = Trees(project, args.jobs)
        if args.propose:
            return propose(plan, trees, args)
        mutants = load_mutants(project)
        contracts_too = contract_mutants(plan)
    except pj.Problem as e:
        pj.die(str(e))
    if args.sample and args.sample < len(mutants):
        if not args.json:
            print(f"{args.sample} of {len(mutants)} mutants of code, seed {args.seed}")
        mutants = random.Random(args.seed).sample(mutants, args.sample)
    mutants += contracts_too
    if args.names:
        mutants = [m for m in mutants if any(m.name.startswith(n) for n in args.names)]
        if not mutants:
            pj.die("no mutant has such a name")

    def one(job):
        """Results by name: of one mutant, or of all contract mutants in a unit."""
        if isinstance(job, Mutant):
            found = [(job, run_mutant(plan, trees, job))]
        else:
            found = list(zip(job, claims_lost(plan, trees, unit[job[0].unit], job)))
        for m, (killed, how, seconds) in found if not args.json else ():
            word = {None: "BROKEN", True: "killed", False: "alive"}[killed]
            prove.say(f"  {word:<7} {m.name:<44} {how} ({seconds:.1f} s)")
        return {m.name: result for m, result in found}

    unit = {u.name: u for u in plan.units}
    jobs = [m for m in mutants if isinstance(m, Mutant)]
    clauses = [m for m in mutants if isinstance(m, Clause)]
    jobs += [[c for c in clauses if c.unit == name] for name in sorted({c.unit for c in clauses})]
    by_name = {}
    with concurrent.futures.ThreadPoolExecutor(max(1, args.jobs)) as pool:
        for found in pool.map(one, jobs):
            by_name.update(found)
    results = [by_name[m.name] for m in mutants]
    bad = report(mutants, results, not args.names and not args.sample, args.json)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
