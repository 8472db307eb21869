#!/usr/bin/env python3
"""Runs frama-c/WP on the units of proofs/units.toml; proofs/gate.py judges the reports in
build/proofs/UNIT/.

A unit is not run again while its sources, its entry in units.toml, the tools and these scripts are
unchanged and its last run proved everything.

  --mode replay  (default) prover results come from proofs/cache.txt; a goal without a result there
                 stays unproved. A unit with a stored verdict is not run (proofs/verdicts.py)
  --mode update  runs provers for the results that the cache lacks, and adds them to it
  --mode cold    proves everything again: of the cache it uses only which provers gave no answer.
                 --pack makes proofs/cache.txt of it

With ZP_VERDICTS=compare (make evidence) the mode is always cold."""

import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import threading
import time

import planning
import project as pj
import prover_cache
import sentinel
import verdicts
import wplog

STRICT = (
    "-wp-rte -warn-unsigned-overflow -warn-unsigned-downcast -warn-special-float none "
    "-kernel-warn-key annot:missing-spec=abort -wp-warn-key pedantic-assigns=abort"
).split()
# With all plug-ins: some of them create variables when they start, and goals contain the numbers of
# variables. With fewer plug-ins a unit starts 0.1 s earlier, but the cache has not its goals.
FRAMA_C = ["frama-c", "-no-unicode", "-cpp-extra-args=-I."]
OUTPUTS = ("wp.log", "goals.json", "properties.csv", "unit.c")
LONGEST_UNIT = 3600  # seconds: a unit that takes longer hangs
TRIES = 3  # of a unit in which a prover ended without any answer

say_lock = threading.Lock()


def say(text):
    with say_lock:
        print(text, flush=True)


# ---- One unit ------------------------------------------------------------------------------------


def asks(u, file, functions, lemmas, cache, limit, ignored, options=()):
    """The frama-c command that proves functions and lemmas of a unit, without the clauses ignored.
    cache: (mode, folder); limit: seconds for each goal; options: further ones of the command. The
    functions come first because WP prints the memory hypotheses of a function only in its first
    run (tests/proofs/test_gate.py checks that it does)."""
    line = [*FRAMA_C, *STRICT, file, "-wp-cache", cache[0], "-wp-cache-dir", cache[1]]
    line += ["-wp-par", "1", *u.words, "-wp-prover", ",".join(u.provers), *options]
    if functions:
        line += ["-then", "-wp", "-wp-timeout", str(limit), "-wp-fct", ",".join(functions)]
        line += ["-wp-prop=" + ",".join("-" + c for c in ignored)] if ignored else []
    if lemmas:
        line += ["-then", "-wp", "-wp-timeout", str(limit), "-wp-fct=@default"]
        line += ["-wp-prop", ",".join(lemmas)]
    return line


def command_of(project, u, functions, lemmas, cache, controls, cold=False):
    """The frama-c command of a unit's run: the functions and lemmas, then the controls that must
    stay unproved, then the status of every property. cold: the controls' provers run again."""
    report = ("-wp-report-json", u.out("goals.json"))
    limit = project.limits["goal"]
    line = asks(u, u.out("unit.c"), functions, lemmas, cache, limit, controls, report)
    line += ["-then", "-wp", "-wp-timeout", str(project.limits["sentinel"]), "-wp-fct=@default"]
    line += ["-wp-prop", ",".join(controls)]
    line += ["-wp-cache", "rebuild"] if cold else []
    return line + ["-then", "-report-csv", u.out("properties.csv")]


def up_to_date(plan, u, cold):
    """Whether the reports of a run in this source tree are those that a run would write now."""
    meta = read_meta(u)
    return (
        bool(meta)
        and not cold
        and meta["mode"] != "stored"
        and meta["stamp"] == plan.stamps[u.name]
        and meta["ok"]
        and outputs_of(u) == meta["outputs"]
    )


def reuse(plan, u, store):
    """Writes the stored verdict to meta.json instead of a run; False if no verdict is stored."""
    verdict = store.get(verdicts.of_unit(plan, u))
    if not verdict:
        return False
    forget_outputs(u)
    result = verdict["result"]
    meta = {
        "unit": u.name,
        "stamp": plan.stamps[u.name],
        "mode": "stored",
        "exit": 0,
        "ok": True,
        "seconds": 0.0,
        "cpu": 0.0,
        "functions": plan.functions[u.name],
        "lemmas": plan.lemmas[u.name],
        "sentinels": result["sentinels"],
        "missed": 0,
        "stages": result["stages"],
        "tree": plan.files[u.file].hash,
        "verdict": verdict,
        "versions": plan.versions,
        "outputs": {},
    }
    write_meta(u, meta)
    return True


def write_meta(u, meta):
    os.makedirs(u.dir, exist_ok=True)
    with open(u.out("meta.json"), "w") as f:
        json.dump(meta, f, indent=1)


def forget_outputs(u):
    for name in OUTPUTS + ("meta.json",):
        if os.path.exists(u.out(name)):
            os.remove(u.out(name))


def read_meta(u):
    try:
        return json.loads(pj.read(u.out("meta.json")))
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def outputs_of(u):
    return {n: pj.file_digest(u.out(n)) for n in OUTPUTS if os.path.exists(u.out(n))}


def run_unit(plan, u, mode, cache_dir):
    """Runs WP; writes OUTPUTS and meta.json. Returns whether it proved every goal."""
    project, tree = plan.project, plan.trees[u.name]
    os.makedirs(u.dir, exist_ok=True)
    forget_outputs(u)
    with open(u.out("unit.c"), "w") as f:
        f.write(f'#include "{u.file}"\n' + sentinel.text(tree))
    sentinels = (
        sentinel.NAMES if sentinel.NAMES[1] in pj.read(u.out("unit.c")) else sentinel.NAMES[:1]
    )
    controls = list(sentinels) + list(u.expect_unproved)
    command = command_of(
        project,
        u,
        plan.functions[u.name],
        plan.lemmas[u.name],
        ("offline" if mode == "replay" else "update", cache_dir),
        controls,
        mode == "cold",
    )
    start = time.monotonic()
    code, log = answers(project, u, command, mode, cache_dir)
    seconds = time.monotonic() - start
    stages = command.count("-wp")  # the last is the controls
    wanted = [g for g in log.goals if g.stage < stages]
    proved = sum(g.valid for g in wanted)
    good = code == 0 and not log.missed and not log.odd and proved == len(wanted)
    meta = {
        "unit": u.name,
        "stamp": plan.stamps[u.name],
        "mode": mode,
        "exit": code,
        "ok": good,
        "seconds": round(seconds, 1),
        "cpu": round(log.cpu, 1),
        "functions": plan.functions[u.name],
        "lemmas": plan.lemmas[u.name],
        "sentinels": list(sentinels),
        "missed": log.missed,
        "stages": stages,
        "tree": plan.files[u.file].hash,
        "command": [w.replace(project.root + "/", "") for w in command],
        "versions": plan.versions,
        "outputs": outputs_of(u),
    }
    write_meta(u, meta)
    say(
        f"  {u.name:<32} {proved:>4}/{len(wanted):<4} {seconds:6.1f} s {log.cpu:6.1f} s CPU"
        + (
            ""
            if good
            else f"   NOT PROVEN (exit {code}, {log.missed} cache misses)"
            if code or log.missed
            else "   NOT PROVEN"
        )
    )
    return good


def answers(project, u, command, mode, cache_dir):
    """Runs WP; again if a prover ended without an answer: the cache has the other results."""
    start = time.time()
    code, log = run_wp(project, u, command)
    for _ in range(TRIES - 1):
        if code or mode == "replay" or not any(g.died() for g in log.goals):
            break
        forget_failures(cache_dir, start)
        cpu = log.cpu
        code, log = run_wp(project, u, command)
        log.cpu += cpu
    return code, log


def run_wp(project, u, command):
    with open(u.out("wp.log"), "w") as log:
        child = subprocess.Popen(
            command,
            cwd=project.root,
            env=pj.environment(project),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        timer = threading.Timer(LONGEST_UNIT, child.kill)
        timer.start()
        _, status, used = os.wait4(child.pid, 0)  # the CPU time of this child and its provers
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
    log = wplog.parse(pj.read(u.out("wp.log")))
    log.cpu = used.ru_utime + used.ru_stime
    return child.returncode, log


def forget_failures(cache_dir, since):
    """Removes the entries "failed" that WP wrote since then: it keeps them like any other answer,
    and a prover that once ran out of memory would never run again on that goal."""
    for entry in os.scandir(cache_dir):
        try:
            if entry.stat().st_mtime >= since - 1 and '"failed"' in pj.read(entry.path):
                os.remove(entry.path)
        except FileNotFoundError:
            pass  # a unit that runs at the same time removed it


def run_smoke(plan, u, mode, cache_dir):
    """-wp-smoke-tests: contradictory requires and dead code. Not with -wp-prop, so all goals of the
    functions are generated again; they come from the cache."""
    project = plan.project
    functions = plan.functions[u.name]
    if not functions:
        return True
    command = [
        *FRAMA_C,
        *STRICT,
        u.file,
        "-wp",
        "-wp-cache",
        "offline" if mode == "replay" else "update",
        "-wp-cache-dir",
        cache_dir,
        "-wp-par",
        "1",
        *u.words,
        "-wp-prover",
        u.provers[0],
        "-wp-timeout",
        "1",
        "-wp-smoke-tests",
        "-wp-smoke-timeout",
        str(project.limits["smoke"]),
        "-wp-fct",
        ",".join(functions),
    ]
    start = time.monotonic()
    with open(u.out("smoke.log"), "w") as f:
        code = subprocess.run(
            command,
            cwd=project.root,
            env=pj.environment(project),
            stdout=f,
            stderr=subprocess.STDOUT,
        ).returncode
    text = pj.read(u.out("smoke.log"))
    log = wplog.parse(text)
    passed = text.count("[Passed] Smoke-test")
    allowed = dict(u.expect_dead)
    bad = []
    for name in log.smoke:
        f = next(
            (f for f in sorted(functions, key=len, reverse=True) if f"_{f}_wp_smoke" in name), "?"
        )
        if allowed.get(f, 0) > 0 and "dead" in name:
            allowed[f] -= 1
        else:
            bad.append(name)
    good = code == 0 and not bad and passed + len(log.smoke) > 0
    say(
        f"  {u.name:<24} {passed:>4} smoke tests passed, {len(bad)} failed "
        f"{time.monotonic() - start:6.1f} s" + (f" (exit {code})" if code else "")
    )
    for name in bad:
        line = next((t for t in text.split("\n") if "Failed smoke-test" in t), "")
        say(f"    {u.name}: {name}: contradictory requires or dead code {line.split(': W')[0]}")
    return good


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("units", nargs="*", metavar="UNIT", help="default: all")
    p.add_argument("--root", help="source tree (default: this one)")
    p.add_argument("--mode", choices=("replay", "update", "cold"), default="replay")
    p.add_argument(
        "--jobs",
        type=int,
        default=2,
        help="units at the same time (default 2); in replay, 3 times as many",
    )
    p.add_argument("--smoke", action="store_true", help="run WP's smoke tests instead")
    p.add_argument(
        "--pack",
        action="store_true",
        help="make proofs/cache.txt of the last cold run, and do nothing else",
    )
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
    prover_cache.pack(project, [os.path.join(project.build, d) for d in ("cold", "smoke")])
    return 0


def expected(plan, u):
    """An estimate of what the unit's run costs, which orders the runs. A lemma is one goal; a
    function has a goal for each clause and for many of its statements. The cost of a goal grows
    with the number of lemmas that it may use."""
    tree = plan.trees[u.name]
    text = "".join(
        tree.functions[f].annotations + (tree.functions[f].body or "")
        for f in plan.functions[u.name]
    )
    return (len(plan.lemmas[u.name]) + text.count(";") / 2) * (10 + len(tree.lemmas()))


def prove(project, args):
    units = project.pick(args.units)
    versions = project.check_tools()
    if not args.json:
        say("  ".join(f"{n} {v}" for n, v in project.tools.items()))
    pj.write_why3_conf(project)
    plan = planning.Plan(project, project.units, versions)
    for why in plan.broken.values():
        print(f"error: {why}", file=sys.stderr)
    units = [u for u in units if u.name not in plan.broken]
    store = verdicts.Verdicts()
    if store.comparing and not args.smoke:  # make evidence
        args.mode = "cold"
    cold = args.mode == "cold"
    cache = (
        os.path.join(project.build, "cold")
        if cold
        else prover_cache.unpack(project, args.mode == "replay")
    )
    if args.smoke and cold:
        cache = os.path.join(project.build, "smoke")
    if cold and not args.units:
        shutil.rmtree(cache, ignore_errors=True)
    os.makedirs(cache, exist_ok=True)  # without it every goal would fail
    if cold:
        prover_cache.unpack_unanswered(project, cache)
    if args.smoke:
        todo = [u for u in units if plan.functions[u.name]]
        work = run_smoke
    else:
        todo = [u for u in units if not up_to_date(plan, u, cold)]
        work = run_unit
    current = len(units) - len(todo)
    reused = 0
    if args.mode == "replay" and not args.smoke and not args.units:
        stored = {u.name for u in todo if reuse(plan, u, store)}
        todo = [u for u in todo if u.name not in stored]
        reused = len(stored)
    todo.sort(key=lambda u: -expected(plan, u))  # the longest first
    start = time.monotonic()
    # where no prover runs, WP sleeps much of the time: 50 ms before each goal
    jobs = args.jobs * 3 if args.mode == "replay" else args.jobs
    with concurrent.futures.ThreadPoolExecutor(max(1, jobs)) as pool:
        good = list(pool.map(lambda u: work(plan, u, args.mode, cache), todo))
    if args.mode == "update":
        prover_cache.pack(project, [cache])
    seconds = time.monotonic() - start
    if args.json:
        say(
            json.dumps(
                {"ran": [u.name for u in todo], "good": all(good), "seconds": round(seconds, 1)}
            )
        )
    else:
        say(
            f"{len(units)} units: {len(todo)} run in {seconds:.0f} s, {current} up to date, "
            f"{reused} with a stored verdict"
        )
    return 0 if all(good) and not plan.broken else 1


if __name__ == "__main__":
    sys.exit(main())
