"""Stored verdicts of units and mutants: the gate accepts unchanged ones and reports the others."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys

from gate_cases import ARRAYS
from gate_lib import ENVIRONMENT, ROOT, WORK, check, copy, edit, gate, output, reported, script


def with_stored(name):
    """(a tree without results, an environment whose store has the verdicts of all its units)"""
    store = {
        "ZP_VERDICTS": "use",
        "ZP_CACHE": os.path.join(WORK, name.replace(" ", "_") + "_store"),
    }
    shutil.rmtree(store["ZP_CACHE"], ignore_errors=True)
    gate(copy(name), **store)
    tree = copy(name)
    shutil.rmtree(os.path.join(tree, "build"))
    return tree, store


def all_stored(store):
    """[(path, content)] of all stored verdicts."""
    found = []
    for path in glob.glob(os.path.join(store["ZP_CACHE"], "verdicts/*/*.json")):
        with open(path) as f:
            found.append((path, json.load(f)))
    return found


def stored(store, name):
    """(path, content) of the one stored verdict of a unit or mutant."""
    found = [pair for pair in all_stored(store) if pair[1]["name"] == name]
    assert len(found) == 1, f"{name} has {len(found)} verdicts"
    return found[0]


def tamper(store, unit, change):
    path, verdict = stored(store, unit)
    change(verdict["result"])
    with open(path, "w") as f:
        json.dump(verdict, f)


def reuse():
    """A fresh tree takes the verdicts from the store, and the gate says so; claims need a run."""
    tree, store = with_stored("stored verdicts")
    first = script("prove.py", tree, **store)
    judged = script("gate.py", tree, REPEAT_SECONDS="0", **store)
    good = (
        judged.returncode == 0
        and "4 with a stored verdict" in first.stdout
        and re.search(r"^4 verdicts were reused: 4 of commit ", judged.stdout, re.M)
        and "gate: no problems" in judged.stdout
    )
    return check("stored verdicts", good, output(first) + output(judged))


def claims_need_runs():
    """Neither CLAIMS.md nor claimed.txt is written from stored verdicts."""
    tree, store = with_stored("claims from stored verdicts")
    for name in ("CLAIMS.md", "proofs/claimed.txt"):
        os.remove(os.path.join(tree, name))
    script("prove.py", tree, **store)
    page = script("claims.py", tree, **store)
    accepted = script("gate.py", tree, "--accept", "--json", **store)
    good = (
        page.returncode == 1
        and "stored-only: arrays" in page.stderr
        and accepted.returncode == 1
        and '"stored-only"' in accepted.stdout
        and not os.path.exists(os.path.join(tree, "CLAIMS.md"))
        and not os.path.exists(os.path.join(tree, "proofs/claimed.txt"))
    )
    script("prove.py", tree)
    written = script("claims.py", tree)
    good = good and written.returncode == 0 and os.path.exists(os.path.join(tree, "CLAIMS.md"))
    return check(
        "claims from stored verdicts", good, output(page) + output(accepted) + output(written)
    )


def stored_sentinel():
    """The gate judges a stored verdict as it judges reports: here its sentinel is proven."""
    tree, store = with_stored("stored sentinel")

    def change(result):
        result["controls"][0][2] = "CVC5 1.0.3"

    tamper(store, "arrays", change)
    script("prove.py", tree, **store)
    code, problems = gate(tree, **store)
    return check(
        "stored sentinel", code == 1 and reported(problems, "sentinel-proven", "arrays"), problems
    )


def tampered_verdict():
    """A repetition and `make evidence` report a stored verdict with a goal that no run gives."""
    tree, store = with_stored("tampered verdict")

    def change(result):
        goal = next(g for g in result["goals"] if g[1].endswith("clear_ensures_zero"))
        goal[1] = goal[1].replace("zero", "nought")

    tamper(store, "arrays", change)
    script("prove.py", tree, **store)
    repeated = script("gate.py", tree, REPEAT_SECONDS="100", **store)
    first = (
        repeated.returncode == 1
        and "stored-verdict: arrays: the stored verdict of commit" in repeated.stdout
    )
    evidence = {**store, "ZP_VERDICTS": "compare"}
    script("prove.py", tree, "--mode", "cold", **evidence)
    code, problems = gate(tree, **evidence)
    return check(
        "tampered verdict",
        first
        and code == 1
        and len(problems) == 1
        and reported(problems, "stored-verdict", "clear_ensures_nought"),
        problems + output(repeated),
    )


def false_verdict():
    """A stored verdict of a unit that fails is reported by `make evidence`."""
    tree, store = with_stored("false verdict")
    edit(tree, [(ARRAYS, "return x + x", "return x + x + 1")])
    script("prove.py", tree, "--mode", "cold", "arrays", **store)
    code, _ = gate(tree, **store)
    never = code == 1 and not any(
        v["inputs"] == failing_inputs(tree)[0] for _, v in all_stored(store)
    )
    _, verdict = stored(store, "arrays")
    verdict["inputs"], verdict["key"] = failing_inputs(tree)
    to = os.path.join(store["ZP_CACHE"], "verdicts", verdict["key"][:2], verdict["key"] + ".json")
    os.makedirs(os.path.dirname(to), exist_ok=True)
    with open(to, "w") as f:
        json.dump(verdict, f)
    code, problems = gate(tree, **{**store, "ZP_VERDICTS": "compare"})
    return check(
        "false verdict",
        never
        and code == 1
        and reported(problems, "stored-verdict", "computed: unproved-goal: arrays"),
        problems,
    )


def failing_inputs(tree):
    """(inputs, key) of the verdict of arrays in this tree."""
    text = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import json, planning, project, verdicts\n"
        "p = project.load(sys.argv[2]); plan = planning.Plan(p, p.units, p.check_tools())\n"
        "i = verdicts.of_unit(plan, p.pick(['arrays'])[0]); print(json.dumps([i.parts, i.key()]))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", text, os.path.join(ROOT, "proofs"), tree],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


def stored_mutants():
    """Verdicts of mutants are reused; one that says otherwise than a computation is reported."""
    tree, store = with_stored("stored mutants")
    # a sample, so that the number of mutants in each family does not count
    first = script("mutate.py", tree, "--sample", "9", **store)
    second = script("mutate.py", tree, "--sample", "9", REPEAT_SECONDS="0", **store)
    path, verdict = stored(store, "clear-too-far")
    good = (
        first.returncode == 0
        and "were reused" not in first.stdout
        and verdict["result"]["killed"]
        and second.returncode == 0
        and "verdicts were reused: " in second.stdout
    )
    verdict["result"]["killed"] = False
    with open(path, "w") as f:
        json.dump(verdict, f)
    third = script("mutate.py", tree, **{**store, "ZP_VERDICTS": "compare"})
    return check(
        "stored mutants",
        good
        and third.returncode == 1
        and "stored-verdict: clear-too-far: the stored verdict of commit" in third.stdout,
        output(first) + output(second) + output(third),
    )


TESTS = [
    reuse,
    claims_need_runs,
    stored_sentinel,
    tampered_verdict,
    false_verdict,
    stored_mutants,
]
