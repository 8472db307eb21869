#!/usr/bin/env python3
"""Checks every claim again, without stored verdicts and without the prover cache: `make audit`.

  audit.py [STEP...]     default: all steps, in this order

  spin, coq, enumerate   the checks besides WP; reports in build/STEP/report.txt
  gate-test              the gate reports each injected failure
  prove                  all units, cold; then the gate, which also compares CLAIMS.md with the runs
  smoke                  no contradictory requires, no dead code
  mutants                each changed copy of code or contracts loses a proof

Prints a line for each step and for each claim: `proven` or `checked` by this run, `FAILED`, `open`
(its own goals are proven, but the gate found other problems) or `not checked` (its step was not
chosen). Exit codes: 0 all is well; 1 a step failed or a claim is FAILED, open or, without STEPs,
not checked; 2 usage."""

import argparse
import os
import subprocess
import sys
import time

import claims as pages
import clause_links
import gate
import project as pj

GOOD = ("proven", "checked")


def commands(args, root):
    """{step: (commands, log)}"""
    python = [sys.executable, "-B"]
    where = ["--root", root] if args.root else []
    jobs = ["--jobs", str(args.jobs)]

    def script(name, *more):
        return [*python, os.path.join(pj.HERE, name), *where, *more]

    def log(name):
        return os.path.join(root, args.build, "audit", name + ".log")

    found = {
        name: ([["sh", f"proofs/{name}/run.sh", args.build]], report(args, root, name))
        for name in pages.EXTERNAL
    }
    found["gate-test"] = ([[*python, "tests/proofs/test_gate.py"]], log("gate-test"))
    found["prove"] = (
        [script("prove.py", "--mode", "cold", *jobs), script("gate.py", *jobs)],
        log("prove"),
    )
    found["smoke"] = ([script("prove.py", "--smoke", "--mode", "cold", *jobs)], log("smoke"))
    found["mutants"] = ([script("mutate.py", *jobs)], log("mutants"))
    order = ["spin", "coq", "enumerate", "gate-test", "prove", "smoke", "mutants"]
    return {name: found[name] for name in order}


def report(args, root, name):
    return os.path.join(root, args.build, name, "report.txt")


def run(name, todo, log, root):
    """Runs the commands of a step, each even if the one before failed. Returns whether all passed;
    the last line of the log says what they found."""
    os.makedirs(os.path.dirname(log), exist_ok=True)
    environment = dict(os.environ, ZP_VERDICTS="compare")
    start = time.monotonic()
    with open(log, "w", encoding="utf-8") as f:
        codes = [
            subprocess.run(
                argv, cwd=root, env=environment, stdout=f, stderr=subprocess.STDOUT, check=False
            ).returncode
            for argv in todo
        ]
    lines = pj.read(log).rstrip().split("\n")
    verdict = "FAILED" if any(codes) else "passed"
    seconds = time.monotonic() - start
    print(f"  {name:<10} {verdict} {seconds:8.0f} s  {lines[-1][:100]}", flush=True)
    if any(codes):
        print(f"             see {os.path.relpath(log, root)}", flush=True)
    return not any(codes)


def verdict_of(claim, v, c, done):
    """(verdict, why) of one claim."""
    unit = claim["unit"]
    if unit in pages.EXTERNAL:
        wrong = [p for p in c.problems if p.where == f"claim {claim['id']}"]
        if wrong:
            return "FAILED", wrong[0].text
        if unit not in done:
            return "not checked", f"step {unit}"
        return ("checked", f"make {unit}") if done[unit] else ("FAILED", f"step {unit}")
    if "prove" not in done:
        return "not checked", "step prove"
    wrong = [p.text for p in c.problems if p.where == f"claim {claim['id']}"]
    units = list(dict.fromkeys(f.unit for f in c.found.get(claim["id"], [])))
    wrong += [v.failed[u] for u in units if u in v.failed]
    if wrong:
        return "FAILED", wrong[0]
    if not done["prove"]:
        return "open", "the gate found problems elsewhere, on which the proof may rest"
    goals = sum(len(f.goals) for f in c.found[claim["id"]])
    return "proven", f"{goals} goals, {'units' if units[1:] else 'unit'} {', '.join(units)}"


def show_claims(project, done):
    """Prints the verdict of each claim. Returns {verdict: number}."""
    v = gate.judge(project, claims=False, stored=False)
    c = pages.Claims(v)
    c.page()
    count = {}
    for claim in sorted(c.claims, key=lambda x: clause_links.order(x["id"])):
        verdict, why = verdict_of(claim, v, c, done)
        count[verdict] = count.get(verdict, 0) + 1
        print(f"  {claim['id']:<5} {verdict:<11} {why[:110]}")
    return count


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("steps", nargs="*", metavar="STEP")
    p.add_argument("--root", help="source tree (default: this one); its steps are those of WP")
    p.add_argument("--build", default="build")
    p.add_argument("--jobs", type=int, default=2)
    args = p.parse_args()
    project = pj.load(args.root)
    steps = commands(args, project.root)
    for name in args.steps:
        if name not in steps:
            p.error(f"got step {name}, expected one of {', '.join(steps)}")
    chosen = [name for name in steps if name in args.steps or not args.steps]
    print(f"steps ({args.jobs} jobs)", flush=True)
    done = {name: run(name, *steps[name], project.root) for name in chosen}
    print("claims", flush=True)
    try:
        count = show_claims(project, done)
    except pj.Problem as e:
        pj.die(str(e))
    failed = [name for name, good in done.items() if not good]
    print(
        f"audit: {sum(count.values())} claims: "
        + ", ".join(f"{n} {verdict}" for verdict, n in sorted(count.items()))
        + (f"; steps that failed: {', '.join(failed)}" if failed else "; no step failed")
    )
    allowed = GOOD + (("not checked",) if args.steps else ())
    return 1 if failed or set(count) - set(allowed) else 0


if __name__ == "__main__":
    sys.exit(main())
