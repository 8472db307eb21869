#!/usr/bin/env python3
"""The gate reports each injected failure: each case breaks a copy of proofs/gate_tests/base in one
way and states the problem that the gate must report.

usage: tests/proofs/test_gate.py [CASE...]"""

import concurrent.futures
import glob
import multiprocessing
import os
import re
import shutil
import sys

import gate_stored
from gate_cases import ARRAYS, CALLERS, CASES, CLAIMS, HEADER, LOGIC, UNITS
from gate_lib import BASE, WORK, check, copy, edit, gate, output, reported, script

# Every unit includes the headers: the problem is in this one, and the others stay "stale".
UNIT_OF = {LOGIC: "lemmas", HEADER: "arrays"}


def planted(name, edits, wanted, units=None):
    tree = copy(name)
    edit(tree, edits)
    units = units or {UNIT_OF[file] for file, _, _ in edits if file in UNIT_OF}
    script("prove.py", tree, "--mode", "update", *units)
    code, problems = gate(tree)
    return check(name, code == 1 and reported(problems, *wanted), problems)


def foreign_header():
    """A header from outside the scope's folders is rejected, whatever is in it."""
    tree = copy("foreign header")
    os.mkdir(os.path.join(tree, "other"))
    with open(os.path.join(tree, "other", "more.h"), "w") as f:
        f.write("#ifndef MORE_H\n#define MORE_H\n#define TWO 2\n#endif\n")
    edit(tree, [(ARRAYS, '#include "arrays.h"', '#include "../other/more.h"\n#include "arrays.h"')])
    script("prove.py", tree, "--mode", "update", "arrays")
    code, problems = gate(tree)
    good = code == 1 and reported(problems, "foreign-code", "other/more.h")
    return check("foreign header", good, problems)


def coq_assumed():
    """What a file of Coq assumes is reported, in whatever way; what it proves is not."""
    tree = copy("coq assumed")
    folder = os.path.join(tree, "proofs", "coq")
    os.mkdir(folder)
    files = {
        "Good": "Require Import Lia ZP.Given.\nSection S. (* Axiom *)\nVariable n : nat.\n"
        "Lemma l : n = n. Proof. reflexivity. Qed.\nEnd S.\n",
        "Given": "Variable n : nat.",
        "Left": "Lemma l : 0 = 1. Proof. Admitted.",
        "Third": "Lemma l : 0 = 1. Proof. (* . *) admit. Qed.",
        "Flags": "Unset Guard Checking.",
        "Far": "Require Import Classical.",
        "Next": "Require Import Lia\n  Classical.",
        "Reals": "From Coq Require Import Reals.",
    }
    for name, text in files.items():
        with open(os.path.join(folder, name + ".v"), "w") as f:
            f.write(text)
    code, problems = gate(tree)
    found = {
        p["where"].split("/")[-1].split(".")[0] for p in problems if p["kind"] == "coq-assumed"
    }
    return check("coq assumed", code == 1 and found == set(files) - {"Good"}, problems)


def forged_report():
    """A report that was edited after the run is rejected; it could hide an unproved goal."""
    tree = copy("forged report")
    edit(
        tree,
        [
            (
                "build/proofs/arrays/wp.log",
                "typed_twice_ensures_twice : Valid",
                "typed_twice_ensures_twice : Unknown",
            )
        ],
    )
    code, problems = gate(tree)
    return check(
        "forged report", code == 1 and reported(problems, "stale", "arrays: wp.log"), problems
    )


def stale():
    tree = copy("stale results")
    edit(tree, [(ARRAYS, "x + x", "x - x")])
    code, problems = gate(tree)
    return check("stale results", code == 1 and reported(problems, "stale", "arrays"), problems)


def empty_cache():
    tree = copy("empty cache")
    edit(tree, [(ARRAYS, "i++", "i += 1")])  # so that the unit runs again
    open(os.path.join(tree, "proofs", "cache.txt"), "w").close()
    script("prove.py", tree)
    code, problems = gate(tree)
    return check("empty cache", code == 1 and reported(problems, "cache-miss", "arrays"), problems)


def forged_cache():
    """A cache in which every result is valid makes the sentinel valid, and the gate says so."""
    tree = copy("forged cache")
    edit(tree, [(ARRAYS, "a[i] = 0", "a[i] = 1")])
    script("prove.py", tree, "--mode", "update", "arrays")
    path = os.path.join(tree, "proofs", "cache.txt")
    with open(path) as f:
        text = f.read()
    for old, new in (("timeout", "valid"), ("unknown", "valid")):
        text = text.replace(f'"{old}"', f'"{new}"')
    text = re.sub(r'"time": [0-9.]+', '"time": 0.1', text)  # WP asks again after a time-out's time
    with open(path, "w") as f:
        f.write(text)
    script("prove.py", tree, "arrays")
    code, problems = gate(tree)
    first = code == 1 and reported(problems, "sentinel-proven", "arrays")
    script("prove.py", tree, "--mode", "cold", "arrays")
    code, problems = gate(tree)
    second = code == 1 and reported(problems, "unproved-goal", "zero")
    return check("forged cache", first and second, problems)


def forged_goal():
    """A cache in which only the results of changed code are forged passes the gate; proving units
    without the cache, whatever the order, finds it, and finds nothing without the change."""
    tree = copy("forged goal")
    path = os.path.join(tree, "proofs", "cache.txt")
    with open(path) as f:
        old = f.read()
    true = script("cold.py", tree, "--seconds", "600", "--seed", "1")
    edit(tree, [(ARRAYS, "a[i] = 0", "a[i] = 1")])
    script("prove.py", tree, "--mode", "update", "arrays")
    with open(path) as f:
        lines = f.readlines()
    with open(path, "w") as f:
        for line in lines:
            new = re.sub(r'"(timeout|unknown|failed)"', '"valid"', line)
            f.write(line if line in old else new)
    script("prove.py", tree)
    script("claims.py", tree)  # the number of goals per prover differs
    code, problems = gate(tree)
    found = script("cold.py", tree, "--seconds", "600", "--seed", "2")
    good = true.returncode == 0 and "proven without the cache" in true.stdout and code == 0
    good = good and found.returncode == 1 and "zero" in found.stdout
    return check("forged goal", good, [*problems, *output(true), *output(found)])


def smoke():
    tree = copy("contradictory requires")
    edit(
        tree,
        [
            (
                CALLERS,
                "requires small: -500 <= x <= 500;\n    terminates \\true; exits \\false;\n"
                "    assigns \\nothing;\n    ensures leaf",
                "requires small: -500 <= x <= 500;\n    requires more: 501 <= x;\n    terminates "
                "\\true; exits \\false;\n    assigns \\nothing;\n    ensures leaf",
            )
        ],
    )
    run = script("prove.py", tree, "--smoke", "--mode", "update", "callers")
    good = run.returncode == 1 and "leaf_of_four_wp_smoke_default_requires" in run.stdout
    return check("contradictory requires", good, output(run))


def refused_option():
    tree = copy("option that weakens")
    edit(
        tree,
        [(UNITS, 'provers = ["cvc5"]', 'provers = ["cvc5"]\noptions = ["-wp-model Typed+cast"]')],
    )
    run = script("prove.py", tree)
    return check(
        "option that weakens",
        run.returncode == 2 and "-wp-model is not allowed" in run.stderr,
        output(run),
    )


def claimed_again():
    """A lost claim is accepted only after claims.toml and claimed.txt change."""
    tree = copy("claims accepted")
    edit(tree, [(HEADER, "    ensures sum: Sum(a, n) == 0; */", "*/")])
    script("prove.py", tree, "--mode", "update")
    edit(tree, [(CLAIMS, '"clear/sum", ', "")])
    script("gate.py", tree, "--accept")
    script("claims.py", tree)
    code, problems = gate(tree)
    with open(os.path.join(tree, "proofs", "claimed.txt")) as f:
        return check("claims accepted", code == 0 and "ensures sum" not in f.read(), problems)


def other_prover():
    """A page that names another prover is up to date: provers differ between runs. A page that no
    claim has is reported."""
    tree = copy("other prover")
    edit(tree, [("proofs/claims/1.md", "| cvc5-ind 1 |", "| z3 1 |")])
    code, problems = gate(tree)
    if code:
        return check("other prover", False, problems)
    with open(os.path.join(tree, "proofs/claims/7.md"), "w") as f:
        f.write("# Claims 7: step\n")
    code, problems = gate(tree)
    good = code == 1 and reported(problems, "claims-stale", "proofs/claims/7.md")
    return check("other prover", good, problems)


def audit():
    """The audit gives each claim a verdict: those of this run, and of broken code."""
    tree = copy("audit")
    run = script("audit.py", tree, "prove")
    good = run.returncode == 0 and "2 claims: 2 proven; no step failed" in run.stdout
    edit(tree, [(ARRAYS, "a[i] = 0", "a[i] = 1")])
    broken = script("audit.py", tree, "prove")
    good = (
        good
        and broken.returncode == 1
        and re.search(r"^ +1\.1 +FAILED +clear/zero is not proven", broken.stdout, re.M)
        and re.search(r"^ +1\.2 +open ", broken.stdout, re.M)
        and "steps that failed: prove" in broken.stdout
    )
    return check("audit", good, output(run) + output(broken))


def mutants():
    """Reports a survivor without a reason, and a killed mutant that is listed as surviving."""
    tree = copy("surviving mutants")
    edit(
        tree,
        [
            ("proofs/mutants.toml", 'survives = "the same value"', ""),
            (
                "proofs/mutants.toml",
                'one element too many"',
                'one element too many"\nsurvives = "no"',
            ),
        ],
    )
    run = script("mutate.py", tree)
    good = (
        run.returncode == 1
        and "SURVIVOR clear-same" in run.stdout
        and "clear-too-far is listed as surviving" in run.stdout
    )
    return check("surviving mutants", good, output(run))


def forged_tree():
    """A syntax tree that was edited after the run is rejected; it could hide a changed contract."""
    tree = copy("forged tree")
    changed = 0
    for path in glob.glob(os.path.join(tree, "build/proofs/trees/*/*.json")):
        with open(path) as f:
            text = f.read()
        changed += "result == 2 * " in text
        with open(path, "w") as f:
            f.write(text.replace("result == 2 * ", "result == 3 * "))
    code, problems = gate(tree)
    return check(
        "forged tree",
        changed and code == 1 and reported(problems, "stale", "arrays: the syntax tree"),
        problems,
    )


OTHERS = [
    foreign_header,
    coq_assumed,
    forged_report,
    forged_tree,
    stale,
    empty_cache,
    forged_cache,
    forged_goal,
    smoke,
    refused_option,
    claimed_again,
    other_prover,
    audit,
    mutants,
    *gate_stored.TESTS,
]


def run(job):
    function, arguments = job
    return function(*arguments)


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(BASE, os.path.join(WORK, "base"))
    os.makedirs(os.path.join(WORK, "base", "build"), exist_ok=True)
    base = os.path.join(WORK, "base")
    first = script("prove.py", base)
    code, problems = gate(base)
    good, lines = check(
        "the unbroken project has no problems", first.returncode == 0 and code == 0, problems
    )
    print("\n".join(lines), flush=True)
    if not good:
        print(first.stdout + first.stderr)
        return 1
    wanted = [re.sub(r"[_-]", " ", a) for a in sys.argv[1:]]
    jobs = [(planted, case) for case in CASES if not wanted or case[0] in wanted]
    jobs += [
        (other, ()) for other in OTHERS if not wanted or other.__name__.replace("_", " ") in wanted
    ]
    if not jobs:
        print(f"no case has a name of: {', '.join(wanted)}")
        return 2
    bad = 0
    # WP sleeps much of the time, so that two cases for each processor take no longer
    fork = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(2 * (os.cpu_count() or 1), fork) as pool:
        for good, lines in pool.map(run, jobs):
            print("\n".join(lines), flush=True)
            bad += not good
    print(
        f"{len(jobs)} injected failures, {bad} not reported"
        if not wanted
        else f"{bad} not reported"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
