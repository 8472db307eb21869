#!/usr/bin/env python3
"""Proves units again without the prover cache, drawn at random, for about half a minute.

`make prove` takes the provers' results from proofs/cache.txt, which anybody who can commit could
forge. This script draws units, and in each its functions and lemmas, in an order that depends on a
seed, which it prints, and asks the provers again, a few at a time, until the time is over. A goal
that no prover proves is a problem: the cache said that one does. A prover's limit counts seconds of
CPU, so load matters little; if a goal stays unproven, its batch is run again with four times the
limit of units.toml.

Exit code: 0 all proven, 1 a goal is not, 2 usage."""

import argparse
import copy
import os
import random
import shutil
import subprocess
import sys
import time

import planning
import project as pj
import prove
import wplog

LONGER = 4  # times the limit of units.toml, for a goal that was lost
ENCODING = 0.3  # seconds for a goal of an average function
PIECE = 6.0  # seconds that the functions and lemmas of one call of Frama-C should need


def parts_of(plan, u):
    """{function or lemma of the unit: an estimate of its seconds}. A lemma is one goal; a function
    has one for each clause and for many of its statements."""
    tree, parts = plan.trees[u.name], dict.fromkeys(plan.lemmas[u.name], 2 * ENCODING)
    for name in plan.functions[u.name]:
        f = tree.functions[name]
        parts[name] = ENCODING * (1 + f.annotations.count(";") + (f.body or "").count(";"))
    return parts


def pieces(parts, draw):
    """The functions and lemmas in an order that is drawn, in lists of about PIECE seconds."""
    names = list(parts)
    draw.shuffle(names)
    piece, out = 0.0, []
    for name in names:
        if not out or piece + parts[name] > PIECE:
            out.append([])
            piece = 0.0
        out[-1].append(name)
        piece += parts[name]
    return out


def lost_goals(plan, u, chosen, limit):
    """(number of goals, the goals that no prover proves) of a run without a cache."""
    there = copy.copy(u)
    there.name = os.path.join("drawn", u.name)
    shutil.rmtree(there.dir, ignore_errors=True)
    os.makedirs(there.dir)
    with open(there.out("unit.c"), "w") as f:
        f.write(f'#include "{u.file}"\n')
    functions = [f for f in plan.functions[u.name] if f in chosen]
    lemmas = [x for x in plan.lemmas[u.name] if x in chosen]
    cache = ("none", there.dir)
    file = there.out("unit.c")
    command = prove.asks(there, file, functions, lemmas, cache, limit, u.expect_unproved)
    run = subprocess.run(
        command,
        cwd=plan.project.root,
        env=pj.environment(plan.project),
        capture_output=True,
        text=True,
        timeout=prove.LONGEST_UNIT,
    )
    log = wplog.parse(run.stdout)
    goals = log.goals
    lost = [f"{g.name} ({g.verdicts})" for g in goals if not g.valid]
    if run.returncode or not goals or log.odd:
        lost.append(f"frama-c ended with exit status {run.returncode}: {log.odd[:1]}")
    return len(goals), lost


def check(plan, u, chosen):
    """(number of goals, what is not proven even with more time)"""
    limit = plan.project.limits["goal"]
    number, lost = lost_goals(plan, u, chosen, limit)
    if lost:
        number, lost = lost_goals(plan, u, chosen, LONGER * limit)
    return number, lost


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--root", help="source tree (default: this one)")
    p.add_argument(
        "--seconds",
        type=float,
        default=os.environ.get("COLD_SECONDS") or 30,
        help="until no further batch begins (default: COLD_SECONDS, or 30)",
    )
    p.add_argument(
        "--seed",
        type=int,
        default=os.environ.get("SEED") or int(time.time()),
        help="of the order (default: SEED, or the time)",
    )
    args = p.parse_args()
    project = pj.load(args.root)
    try:
        pj.write_why3_conf(project)
        plan = planning.Plan(project, project.units, project.check_tools())
    except pj.Problem as e:
        pj.die(str(e))
    draw = random.Random(args.seed)
    units = draw.sample(plan.units, len(plan.units))
    start, goals, bad, names = time.monotonic(), 0, 0, []
    while units and time.monotonic() - start < args.seconds:
        u = units.pop()
        parts, done = parts_of(plan, u), 0
        for piece in pieces(parts, draw):
            if time.monotonic() - start >= args.seconds:
                break
            number, lost = check(plan, u, piece)
            goals += number
            done += len(piece)
            for text in lost:
                bad += 1
                print(f"cold: {u.name}: {text}: no prover proves it without the cache")
        names.append(u.name + ("" if done == len(parts) else f" ({done} of {len(parts)} parts)"))
    print(
        f"cold: seed {args.seed}: {goals} goals proven without the cache in "
        f"{time.monotonic() - start:.0f} s: {', '.join(names)}"
        if not bad
        else f"cold: seed {args.seed}: {bad} problems"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
