#!/usr/bin/env python3
"""Runs frama-c/WP on the units of proofs/units.toml; proofs/gate.py judges what it leaves in
build/proofs/UNIT/.

A unit is not run again while its sources, its entry in units.toml, the tools and these scripts are
unchanged and its last run had everything proven.

  --mode replay  (default) prover results come from proofs/cache.txt only; one that is not there
                 leaves its goal unproved
  --mode update  what the cache lacks is proven and added to proofs/cache.txt
  --mode cold    no cache; everything is proven again. --pack makes proofs/cache.txt of the result"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import threading
import time

import csource
import printed
import project as pj
import wplog

STRICT = ["-wp-rte", "-warn-unsigned-overflow", "-warn-unsigned-downcast",
          "-warn-special-float", "none", "-kernel-warn-key", "annot:missing-spec=abort",
          "-wp-warn-key", "pedantic-assigns=abort"]
DRIVER = ("project.py", "csource.py", "printed.py", "prove.py", "why3.conf.in", "cvc5.drv")
SENTINELS = ("zp_sentinel", "zp_sentinel_definitions")
OUTPUTS = ("ast.txt", "wp.log", "goals.json", "properties.csv", "unit.c")
LONGEST_UNIT = 3600  # seconds: a unit that takes longer hangs
TRIES = 3  # of a unit in which a prover ended without any answer

say_lock = threading.Lock()


def say(text):
    with say_lock:
        print(text, flush=True)


# ---- The sentinel: what would be provable if lemmas or definitions contradicted each other -------

def recursive(logic):
    return logic.kind in ("logic", "predicate") and logic.name in printed.WORD.findall(logic.body())


def sentinel_text(tree):
    """`zp_sentinel` is \\false after all lemmas. WP gives provers a definition or an axiom only when the
    goal names its symbol, so `zp_sentinel_definitions` says f(x) == f(y) ==> \\false for every recursive
    or uninterpreted f, at arbitrary x and y: provable only if there is no such function. (With
    f(x) == v instead, Qed would solve for v, and f would be gone.)"""
    lines = ["/*@ check lemma zp_sentinel: \\false; */"]
    binders, hypotheses, labels = [], [], 0
    for x in tree.logics:
        if x.kind not in ("logic", "predicate") or (x.body() and not recursive(x)):
            continue
        before, _, args = x.head().partition(" reads ")[0].partition("(")
        args = [a for a in printed.split_top(args[: args.rfind(")")], ",") if a.strip()]
        if not args:
            continue
        own = before[before.index("{") + 1: before.index("}")].split(",") if "{" in before else []
        labels = max(labels, len(own))
        at = "{" + ", ".join(f"At{i}" for i in range(len(own))) + "}" if own else ""
        both = []
        for side in "xy":
            names = [f"{side}{len(hypotheses)}_{i}" for i in range(len(args))]
            binders += [renamed(a, n) for a, n in zip(args, names)]
            both.append(f"{x.name}{at}({', '.join(names)})")
        hypotheses.append((" == " if x.kind == "logic" else " <==> ").join(both))
    if hypotheses:
        at = "{" + ", ".join(f"At{i}" for i in range(labels)) + "}" if labels else ""
        lines.append(f"/*@ check lemma zp_sentinel_definitions{at}: \\forall {', '.join(binders)};\n  " +
                     " ==>\n  ".join(f"({h})" for h in hypotheses) + " ==> \\false; */")
    return "\n".join(lines) + "\n"


def renamed(formal, name):
    """`int *a` -> `int *name`"""
    word = printed.WORD.findall(formal)[-1]
    at = formal.rindex(word)
    return (formal[:at] + name + formal[at + len(word):]).strip()


# ---- Planning: what each unit reads, which functions and lemmas it proves ------------------------

class Plan:
    """Everything that decides what a unit's run does. Equal stamps, equal runs."""

    def __init__(self, project, units, versions):
        self.project = project
        self.versions = versions
        self.trees, self.functions, self.sources = {}, {}, {}
        self.broken = {}  # unit -> why nothing can be planned for it
        driver = pj.digest(*[pj.file_digest(os.path.join(pj.HERE, n)) for n in DRIVER])
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            list(pool.map(self._try, units))
        units = [u for u in units if u.name not in self.broken]
        self.units = units
        self.lemmas = self._share_lemmas(units)
        self.stamps = {}
        for u in units:
            self.stamps[u.name] = pj.digest(
                self.sources[u.name][1], json.dumps(u.table, sort_keys=True),
                json.dumps(self.functions[u.name]), json.dumps(self.lemmas[u.name]),
                json.dumps(versions, sort_keys=True), json.dumps(project.limits, sort_keys=True),
                driver)

    def _try(self, u):
        try:
            self._look(u)
        except pj.Problem as e:
            self.broken[u.name] = str(e)

    def _look(self, u):
        root = self.project.root
        files = csource.included(root, u.file)
        bytes_of = pj.digest(*[n + "=" + pj.file_digest(os.path.join(root, n)) for n in files])
        self.sources[u.name] = (files, bytes_of)
        self.trees[u.name] = syntax_tree(self.project, u, bytes_of, self.versions.get("frama-c", ""))
        if u.given_functions is not None:
            self.functions[u.name] = list(u.given_functions)
        else:
            self.functions[u.name] = [n for (p, n) in csource.functions(root, u.file) if p == u.file]
        for f in self.functions[u.name]:
            fun = self.trees[u.name].functions.get(f)
            if fun is None or fun.body is None:
                raise pj.Problem(f"unit {u.name}: {u.file} defines no function {f}")

    def _share_lemmas(self, units):
        """Each lemma is proven by one unit: that which lists it, else the first that sees it, kind
        lemmas before theorems before code."""
        owner = {}
        for u in units:
            there = {x.name for x in self.trees[u.name].lemmas() if x.kind == "lemma"}
            for name in u.given_lemmas:
                if name not in there:
                    raise pj.Problem(f"unit {u.name}: {u.file} has no lemma {name}")
                if name in owner:
                    raise pj.Problem(f"units {owner[name]} and {u.name} both list lemma {name}")
                owner[name] = u.name
        for kind in pj.KINDS:
            for u in units:
                if u.kind != kind:
                    continue
                for lemma in self.trees[u.name].lemmas():
                    if lemma.kind == "lemma":
                        owner.setdefault(lemma.name, u.name)
        return {u.name: [x.name for x in self.trees[u.name].lemmas()
                         if x.kind == "lemma" and owner[x.name] == u.name] for u in units}


def syntax_tree(project, u, bytes_of, version):
    """The unit as Frama-C understands it: ast.txt, printed again only when the sources changed."""
    os.makedirs(u.dir, exist_ok=True)
    stamp = pj.digest(bytes_of, version, u.file)
    try:
        if pj.read(u.out("ast.stamp")) == stamp:
            return printed.parse(pj.read(u.out("ast.txt")))
    except FileNotFoundError:
        pass
    run = subprocess.run(["frama-c", "-no-unicode", "-cpp-extra-args=-I.", u.file, "-print", "-ocode",
                          u.out("ast.txt")], cwd=project.root, env=environment(project),
                         capture_output=True, text=True)
    if run.returncode:
        errors = [line for line in run.stdout.split("\n") if "Parsing" not in line]
        raise pj.Problem(f"unit {u.name}: Frama-C refuses {u.file}:\n" + "\n".join(errors))
    tree = printed.parse(pj.read(u.out("ast.txt")))
    with open(u.out("ast.stamp"), "w") as f:
        f.write(stamp)
    return tree


# ---- The cache -----------------------------------------------------------------------------------

def unpack(project, exactly=True):
    """build/proofs/cache becomes what proofs/cache.txt says, one line `HASH JSON` for each result;
    exactly that, or (when adding to it) that and what an interrupted run has left."""
    where = os.path.join(project.build, "cache")
    os.makedirs(where, exist_ok=True)
    wanted = {}
    path = project.path("proofs/cache.txt")
    if os.path.exists(path):
        for number, line in enumerate(pj.read(path).split("\n"), 1):
            name, _, value = line.partition(" ")
            if not line:
                continue
            if len(name) != 32 or not value.startswith("{"):
                raise pj.Problem(f"proofs/cache.txt:{number}: not a cache entry")
            wanted[name + ".json"] = value + "\n"
    for name in os.listdir(where) if exactly else []:
        if name not in wanted:
            os.remove(os.path.join(where, name))
    for name, value in wanted.items():
        file = os.path.join(where, name)
        if not os.path.exists(file) or pj.read(file) != value:
            with open(file, "w") as f:
                f.write(value)
    return where


def pack(project, folders):
    """proofs/cache.txt from the entries in these folders, sorted; times of entries that are already
    there are kept, so that the file changes only where a result does."""
    path = project.path("proofs/cache.txt")
    old = {}
    if os.path.exists(path):
        old = dict(line.split(" ", 1) for line in pj.read(path).split("\n") if line)
    new = {}
    for folder in folders:
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if name.endswith(".json"):
                key = name[:-5]
                value = " ".join(pj.read(os.path.join(folder, name)).split())
                same = key in old and verdict(old[key]) == verdict(value)
                new[key] = old[key] if same else value
    with open(path, "w") as f:
        f.writelines(f"{k} {new[k]}\n" for k in sorted(new))
    say(f"proofs/cache.txt: {len(new)} prover results")


def verdict(value):
    try:
        return json.loads(value).get("verdict")
    except json.JSONDecodeError:
        return None


# ---- One unit ------------------------------------------------------------------------------------

def command_of(project, u, functions, lemmas, cache_mode, cache_dir, controls):
    """One frama-c: the functions, then the lemmas, then what must stay unproved; then the status of
    every property. The functions come first because WP tells the memory hypotheses of a function
    only in its first run (tests/proofs/test_gate.py checks that it does)."""
    limits = project.limits
    line = ["frama-c", "-no-unicode", "-cpp-extra-args=-I.", *STRICT, u.out("unit.c"),
            "-wp-cache", cache_mode, "-wp-cache-dir", cache_dir, "-wp-par", "1", *u.words,
            "-wp-prover", ",".join(u.provers), "-wp-report-json", u.out("goals.json")]
    if functions:
        line += ["-then", "-wp", "-wp-timeout", str(limits["goal"]), "-wp-fct", ",".join(functions),
                 "-wp-prop=" + ",".join("-" + c for c in controls)]
    if lemmas:
        line += ["-then", "-wp", "-wp-timeout", str(limits["goal"]), "-wp-fct=@default",
                 "-wp-prop", ",".join(lemmas)]
    line += ["-then", "-wp", "-wp-timeout", str(limits["sentinel"]), "-wp-fct=@default",
             "-wp-prop", ",".join(controls)]
    return line + ["-then", "-report-csv", u.out("properties.csv")]


def environment(project):
    """Frama-C looks for files in $PWD, whatever folder it was started in."""
    env = dict(os.environ, WHY3CONFIG=os.path.join(project.build, "why3.conf"), LC_ALL="C.UTF-8",
               PWD=project.root)
    for name in ("FRAMAC_WP_CACHE", "FRAMAC_WP_CACHEDIR", "FRAMAC_SHARE", "CPP"):
        env.pop(name, None)
    return env


def write_why3_conf(project):
    os.makedirs(project.build, exist_ok=True)
    text = pj.read(os.path.join(pj.HERE, "why3.conf.in"))
    path = os.path.join(project.build, "why3.conf")
    with open(path, "w") as f:
        f.write(text.replace("@PROOFS@", pj.HERE))


def up_to_date(plan, u, cold):
    meta = read_meta(u)
    return bool(meta) and not cold and meta["stamp"] == plan.stamps[u.name] and meta["ok"] and \
        outputs_of(u) == meta["outputs"]


def read_meta(u):
    try:
        return json.loads(pj.read(u.out("meta.json")))
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def outputs_of(u):
    return {n: pj.file_digest(u.out(n)) for n in OUTPUTS if os.path.exists(u.out(n))}


def run_unit(plan, u, mode, cache_dir):
    """Runs WP; leaves OUTPUTS and meta.json. Returns True when all that should be proven is."""
    project, tree = plan.project, plan.trees[u.name]
    for name in OUTPUTS[1:] + ("meta.json",):
        if os.path.exists(u.out(name)):
            os.remove(u.out(name))
    with open(u.out("unit.c"), "w") as f:
        f.write(f'#include "{u.file}"\n' + sentinel_text(tree))
    sentinels = SENTINELS if SENTINELS[1] in pj.read(u.out("unit.c")) else SENTINELS[:1]
    controls = list(sentinels) + list(u.expect_unproved)
    command = command_of(project, u, plan.functions[u.name], plan.lemmas[u.name],
                         "offline" if mode == "replay" else "update", cache_dir, controls)
    start = time.monotonic()
    code, log = answers(project, u, command, mode, cache_dir)
    seconds = time.monotonic() - start
    stages = command.count("-wp")  # the last is the controls
    wanted = [g for g in log.goals if g.stage < stages]
    proved = sum(g.valid for g in wanted)
    good = code == 0 and not log.missed and not log.odd and proved == len(wanted)
    meta = {"unit": u.name, "stamp": plan.stamps[u.name], "mode": mode, "exit": code, "ok": good,
            "seconds": round(seconds, 1), "functions": plan.functions[u.name],
            "lemmas": plan.lemmas[u.name], "sentinels": list(sentinels), "missed": log.missed,
            "stages": stages,
            "command": [w.replace(project.root + "/", "") for w in command],
            "versions": plan.versions, "outputs": outputs_of(u)}
    with open(u.out("meta.json"), "w") as f:
        json.dump(meta, f, indent=1)
    say(f"  {u.name:<24} {proved:>4}/{len(wanted):<4} {seconds:6.1f} s"
        + ("" if good else f"   NOT PROVEN (exit {code}, {log.missed} cache misses)"
           if code or log.missed else "   NOT PROVEN"))
    return good


def answers(project, u, command, mode, cache_dir):
    """Runs WP, again where a prover ended without an answer (the other results are in the cache by then)."""
    start = time.time()
    code, log = run_wp(project, u, command)
    for _ in range(TRIES - 1):
        if code or mode == "replay" or not any(g.died() for g in log.goals):
            break
        forget_failures(cache_dir, start)
        code, log = run_wp(project, u, command)
    return code, log


def run_wp(project, u, command):
    with open(u.out("wp.log"), "w") as log:
        try:
            code = subprocess.run(command, cwd=project.root, env=environment(project), stdout=log,
                                  stderr=subprocess.STDOUT, timeout=LONGEST_UNIT).returncode
        except subprocess.TimeoutExpired:
            code = 124
    return code, wplog.parse(pj.read(u.out("wp.log")))


def forget_failures(cache_dir, since):
    """WP keeps "failed" as it keeps every answer, so that a prover that once ran out of memory would never
    be asked again. Those since then are forgotten."""
    for entry in os.scandir(cache_dir):
        try:
            if entry.stat().st_mtime >= since - 1 and '"failed"' in pj.read(entry.path):
                os.remove(entry.path)
        except FileNotFoundError:
            pass  # the unit beside this one was quicker


def run_smoke(plan, u, mode, cache_dir):
    """-wp-smoke-tests: contradictory requires and dead code. Not with -wp-prop, so all goals of the
    functions are generated again; they come from the cache."""
    project = plan.project
    functions = plan.functions[u.name]
    if not functions:
        return True
    command = ["frama-c", "-no-unicode", "-cpp-extra-args=-I.", *STRICT, u.file, "-wp",
               "-wp-cache", "offline" if mode == "replay" else "update", "-wp-cache-dir", cache_dir,
               "-wp-par", "1", *u.words, "-wp-prover", u.provers[0], "-wp-timeout", "1",
               "-wp-smoke-tests", "-wp-smoke-timeout", str(project.limits["smoke"]),
               "-wp-fct", ",".join(functions)]
    start = time.monotonic()
    with open(u.out("smoke.log"), "w") as f:
        code = subprocess.run(command, cwd=project.root, env=environment(project), stdout=f,
                              stderr=subprocess.STDOUT).returncode
    text = pj.read(u.out("smoke.log"))
    log = wplog.parse(text)
    passed = text.count("[Passed] Smoke-test")
    allowed = dict(u.expect_dead)
    bad = []
    for name in log.smoke:
        f = next((f for f in sorted(functions, key=len, reverse=True) if f"_{f}_wp_smoke" in name), "?")
        if allowed.get(f, 0) > 0 and "dead" in name:
            allowed[f] -= 1
        else:
            bad.append(name)
    good = code == 0 and not bad and passed + len(log.smoke) > 0
    say(f"  {u.name:<24} {passed:>4} smoke tests passed, {len(bad)} failed "
        f"{time.monotonic() - start:6.1f} s" + (f" (exit {code})" if code else ""))
    for name in bad:
        line = next((t for t in text.split("\n") if "Failed smoke-test" in t), "")
        say(f"    {u.name}: {name}: contradictory requires or dead code {line.split(': W')[0]}")
    return good


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("units", nargs="*", metavar="UNIT", help="default: all")
    p.add_argument("--root", help="source tree (default: this one)")
    p.add_argument("--mode", choices=("replay", "update", "cold"), default="replay")
    p.add_argument("--jobs", type=int, default=2,
                   help="units at the same time (default 2); in replay, 4 times as many")
    p.add_argument("--smoke", action="store_true", help="run WP's smoke tests instead")
    p.add_argument("--pack", action="store_true",
                   help="make proofs/cache.txt of the last cold run, and do nothing else")
    p.add_argument("--json", action="store_true", help="print the result as JSON")
    args = p.parse_args()
    project = pj.load(args.root)
    try:
        return pack_cold(project) if args.pack else prove(project, args)
    except pj.Problem as e:
        pj.die(str(e))


def pack_cold(project):
    for u in project.units:
        meta = read_meta(u)
        if not meta or meta["mode"] != "cold" or not meta["ok"]:
            raise pj.Problem(f"unit {u.name} has no complete cold run: make prove-cold first")
    pack(project, [os.path.join(project.build, d) for d in ("cold", "smoke")])
    return 0


def prove(project, args):
    units = project.pick(args.units)
    versions = project.check_tools()
    if not args.json:
        say("  ".join(f"{n} {v}" for n, v in project.tools.items()))
    write_why3_conf(project)
    plan = Plan(project, project.units, versions)
    for name, why in plan.broken.items():
        print(f"error: {why}", file=sys.stderr)
    units = [u for u in units if u.name not in plan.broken]
    cold = args.mode == "cold"
    cache = os.path.join(project.build, "cold") if cold else \
        unpack(project, args.mode == "replay")
    if args.smoke and cold:
        cache = os.path.join(project.build, "smoke")
    if cold and not args.units:
        shutil.rmtree(cache, ignore_errors=True)
    os.makedirs(cache, exist_ok=True)  # without it every goal would fail
    if args.smoke:
        todo = [u for u in units if plan.functions[u.name]]
        work = run_smoke
    else:
        todo = [u for u in units if not up_to_date(plan, u, cold)]
        work = run_unit
    last = {u.name: (read_meta(u) or {}).get("seconds", 60) for u in todo}
    todo.sort(key=lambda u: -last[u.name])  # the longest first
    start = time.monotonic()
    # where no prover runs, WP sleeps most of the time: 50 ms before each goal
    jobs = args.jobs * 4 if args.mode == "replay" else args.jobs
    with concurrent.futures.ThreadPoolExecutor(max(1, jobs)) as pool:
        good = list(pool.map(lambda u: work(plan, u, args.mode, cache), todo))
    if args.mode == "update":
        pack(project, [cache])
    seconds = time.monotonic() - start
    if args.json:
        say(json.dumps({"ran": [u.name for u in todo], "good": all(good),
                        "seconds": round(seconds, 1)}))
    elif not todo:
        say(f"{len(units)} units, all up to date")
    else:
        say(f"{len(units)} units, {len(todo)} run, {len(units) - len(todo)} up to date, "
            f"{seconds:.0f} s")
    return 0 if all(good) and not plan.broken else 1


if __name__ == "__main__":
    sys.exit(main())
