#!/usr/bin/env python3
"""The gate is red where it must be: each case breaks a copy of proofs/gate_tests/base in one way and
names what the gate must report of it.

usage: tests/proofs/test_gate.py [CASE...]"""
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BASE = os.path.join(ROOT, "proofs", "gate_tests", "base")
WORK = os.path.join(ROOT, "build", "gate_tests")
LOGIC, HEADER, ARRAYS = "src/logic.h", "src/arrays.h", "src/arrays.c"
CALLERS, THEOREM = "src/callers.c", "src/theorem.c"
UNITS, CLAIMS = "proofs/units.toml", "proofs/claims.toml"
TWICE = "    ensures twice: \\result == 2 * x; */"

# name, edits (file, old text, new text), what the gate must say (kind, part of its line)
CASES = [
    ("admitted lemma", [(LOGIC, "lemma Sum_Zero", "admit lemma Sum_Zero")],
     ("admitted", "Sum_Zero is assumed")),
    ("axiom", [(LOGIC, "LeafOf(integer x); }",
                "LeafOf(integer x); axiom Even: \\forall integer x; LeafOf(x) % 2 == 0; }")],
     ("admitted", "axiom Even is assumed")),
    ("inconsistent axioms", [(LOGIC, "LeafOf(integer x); }",
                              "LeafOf(integer x); axiom A: \\forall integer x; LeafOf(x) > x;"
                              " axiom B: \\forall integer x; LeafOf(x) < x; }")],
     ("sentinel-proven", "zp_sentinel_definitions")),
    ("false lemma is not proven", [(LOGIC, "Sum(a, n) == 0;\n", "Sum(a, n) == 1;\n")],
     ("lemma-unproved", "Sum_Zero")),
    ("false lemma proves the sentinel", [(LOGIC, "    axiomatic",
                                          "    lemma Wrong: \\forall integer x; 0 < x ==> 1 < x;\n"
                                          "    axiomatic")],
     ("sentinel-proven", "contradict")),
    ("lemma hidden from the sentinel", [(LOGIC, "LeafOf(integer x); }",
                                         "LeafOf(integer x); lemma L: \\forall integer x;"
                                         " LeafOf(x) == LeafOf(x); }")],
     ("lemma-in-axiomatic", "L stands in axiomatic Leaf")),
    ("definition that contradicts itself", [(LOGIC, "    axiomatic",
                                             "    logic integer Bad(integer x) = Bad(x) + 1;\n"
                                             "    axiomatic")],
     ("sentinel-proven", "zp_sentinel_definitions")),
    ("recursion without an end", [(LOGIC, "    axiomatic", "    logic integer Far(integer x) ="
                                   " x == 7 ? 0 : Far(x - 1);\n    axiomatic")],
     ("recursion", "Far is not recognisably well-founded")),
    ("unproved goal", [(ARRAYS, "return x + x", "return x + x + 1")],
     ("unproved-goal", "twice_ensures_twice")),
    ("property excluded by its name", [(HEADER, TWICE, "    ensures zp_sentinel: \\result == 7;\n" + TWICE)],
     ("property-unknown", "zp_sentinel")),
    ("dropped annotation", [(HEADER, TWICE, "    allocates \\nothing;\n" + TWICE)],
     ("", "allocates")),
    ("contract-less callee", [(CALLERS, "/*@ requires small: -500 <= x <= 500;\n    terminates \\true; "
                               "exits \\false;\n    assigns \\nothing;\n    ensures leaf",
                               "int other(int x);\n/*@ requires small: -500 <= x <= 500;\n"
                               "    terminates \\true; exits \\false;\n    assigns \\nothing;\n"
                               "    ensures leaf"), (CALLERS, "leaf(four(x))", "leaf(other(x))")],
     ("no-contract", "other")),
    ("callee that nobody proves", [(UNITS, 'file = "src/arrays.c"\nkind = "code"',
                                    'file = "src/arrays.c"\nkind = "code"\nfunctions = ["clear"]')],
     ("unproven-callee", "four calls twice")),
    ("function in scope without a unit", [(UNITS, 'file = "src/arrays.c"\nkind = "code"',
                                           'file = "src/arrays.c"\nkind = "code"\n'
                                           'functions = ["twice"]')],
     ("unproven-function", "clear is in scope")),
    ("two contracts of one function", [(CALLERS, '#include "arrays.h"', "/*@ requires small: "
                                        "-1000 <= x <= 1000;\n  terminates \\true; exits \\false;\n"
                                        "  assigns \\nothing;\n  ensures twice: \\result == 2 * x;\n"
                                        "  ensures more: \\result % 4 == 0; */\nint twice(int x);\n"
                                        '#include "leaf.h"')],
     ("other-contract", "contract of twice")),
    ("two meanings of one name", [(THEOREM, "/* Two calls", "/*@ predicate Same(integer x) = x == 1;"
                                   " */\n/* Two calls"),
                                  (CALLERS, "/*@ requires", "/*@ predicate Same(integer x) = x == 2;"
                                   " */\n/*@ requires")],
     ("two-meanings", "Same")),
    ("function that calls itself", [(ARRAYS, "return x + x", "return x == 0 ? 0 : x + x + twice(0)")],
     ("call-cycle", "twice calls itself")),
    ("deleted ensures", [(HEADER, "    ensures sum: Sum(a, n) == 0; */", "*/")],
     ("claim-lost", "ensures sum")),
    ("changed ensures", [(HEADER, "ensures sum: Sum(a, n) == 0", "ensures sum: Sum(a, n) <= 0")],
     ("claim-lost", "ensures sum: Sum(\\old(a), \\old(n)) == 0")),
    ("narrowed requires", [(HEADER, "0 <= n <= 1000", "0 <= n <= 2")],
     ("claim-lost", "requires small: 0 <= n <= 1000")),
    ("narrowed requires at a call", [(HEADER, "-1000 <= x <= 1000", "0 <= x <= 1000")],
     ("unproved-goal", "call_twice")),
    ("changed definition", [(LOGIC, "n <= 0 ? 0 :", "n <= 1 ? 0 :")],
     ("claim-lost", "logic integer Sum")),
    ("unnamed clause", [(HEADER, "ensures twice:", "ensures")],
     ("unnamed", "twice: ensures")),
    ("no terminates", [(CALLERS, "terminates \\true; exits \\false;\n    assigns \\nothing;\n"
                        "    ensures four", "exits \\false;\n    assigns \\nothing;\n"
                        "    ensures four")],
     ("contract", "four: no `terminates")),
    ("loop that may not end", [(ARRAYS, "\n      loop variant n - i; */", " */")],
     ("unproved-goal", "clear_terminates")),
    ("function that never returns", [(ARRAYS, "  return x + x;", "  /*@ loop invariant stays: \\true; "
                                      "loop assigns \\nothing; */\n  while (1)\n    ;\n"
                                      "  return x + x;")],
     ("unreachable", "twice_ensures_twice")),
    ("memory hypothesis", [(ARRAYS, "#include", "int top;\n#include"),
                           (ARRAYS, "int twice(int x)\n{", "/*@ requires p: \\valid(p);\n  terminates "
                            "\\true; exits \\false; assigns *p, top;\n  ensures one: *p == 1; */\n"
                            "void both(int *p)\n{\n  *p = 1;\n  top = 2;\n}\n\nint twice(int x)\n{")],
     ("memory-model", "Memory model hypotheses")),
    ("control that is proven", [(THEOREM, "check ensures control: \\result == 0",
                                 "check ensures control: x == y ==> \\result <= 0")],
     ("control-proven", "control")),
    ("control that is assumed", [(THEOREM, "check ensures control", "ensures control")],
     ("control-assumed", "control")),
    ("control that is gone", [(THEOREM, "    check ensures control: \\result == 0; */", "*/"),
                              (THEOREM, "\\result == 0;\n", "\\result == 0;\n")],
     ("no-control", "control")),
    ("wrong tool version", [(UNITS, 'cvc5 = "1.0.3"', 'cvc5 = "1.0.4"')],
     ("tool-version", "cvc5: 1.0.4 is pinned")),
    ("unlisted assumption", [("ASSUMPTIONS.md", "`leaf`", "`flea`")],
     ("assumption-unlisted", "leaf is not in ASSUMPTIONS.md")),
    ("assumption that is proven", [(UNITS, '["leaf"]', '["leaf", "twice"]')],
     ("assumption-idle", "twice is proven")),
    ("claim of no property", [(CLAIMS, "clear/zero", "clear/nought")],
     ("claim-unknown", "clear has no property nought")),
    ("claim of no clause", [(CLAIMS, "BASE-1", "BASE-2")], ("claim-unknown", "no clause BASE-2")),
    ("claim that is not proven", [(ARRAYS, "a[i] = 0", "a[i] = 1")],
     ("claim-unproved", "clear/zero is not proven")),
    ("claim that hides an assumption", [(CLAIMS, 'assumptions = ["A-1"]', "assumptions = []")],
     ("assumption-unlisted", "rests on A-1")),
    ("page that says something else", [("CLAIMS.md", "Four times", "Five times")],
     ("claims-stale", "CLAIMS.md")),
    ("README that counts otherwise", [("README.md", "| 2 | 11 |", "| 2 | 12 |")],
     ("claims-stale", "README.md")),
    ("code for the prover only", [(ARRAYS, "  return x + x;", "#ifdef __FRAMAC__\n  return x + x;\n"
                                   "#else\n  return 7;\n#endif")],
     ("special-code", "only the prover sees")),
]


def copy(name):
    to = os.path.join(WORK, name.replace(" ", "_"))
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(os.path.join(WORK, "base"), to, symlinks=True)
    return to


def edit(tree, edits):
    for file, old, new in edits:
        path = os.path.join(tree, file)
        with open(path) as f:
            text = f.read()
        assert old in text, f"{file} has no {old!r}"
        with open(path, "w") as f:
            f.write(text.replace(old, new, 1))


def script(name, tree, *args):
    return subprocess.run([sys.executable, os.path.join(ROOT, "proofs", name), "--root", tree, *args],
                          capture_output=True, text=True)


def gate(tree):
    run = script("gate.py", tree, "--json")
    try:
        return run.returncode, json.loads(run.stdout)["problems"]
    except json.JSONDecodeError:
        return run.returncode, [{"kind": "crash", "where": "", "text": run.stdout + run.stderr}]


def told(problems, kind, part):
    return any(p["kind"].startswith(kind) and part in p["where"] + ": " + p["text"] for p in problems)


def check(name, ok, problems=()):
    print(f"{'ok' if ok else 'not ok'} {name}", flush=True)
    if not ok:
        for p in problems:
            print(f"    {p['kind']}: {p['where']}: {p['text'][:200]}")
    return ok


def planted(name, edits, wanted):
    tree = copy(name)
    edit(tree, edits)
    script("prove.py", tree, "--mode", "update")
    code, problems = gate(tree)
    return check(name, code == 1 and told(problems, *wanted), problems)


def report_deleted():
    """The results of a run are changed by hand: an unproved goal would go unseen."""
    tree = copy("forged report")
    edit(tree, [("build/proofs/arrays/wp.log", "typed_twice_ensures_twice : Valid",
                 "typed_twice_ensures_twice : Unknown")])
    code, problems = gate(tree)
    return check("forged report", code == 1 and told(problems, "stale", "arrays: wp.log"), problems)


def stale():
    tree = copy("stale results")
    edit(tree, [(ARRAYS, "x + x", "x - x")])
    code, problems = gate(tree)
    return check("stale results", code == 1 and told(problems, "stale", "arrays"), problems)


def empty_cache():
    tree = copy("empty cache")
    edit(tree, [(ARRAYS, "i++", "i += 1")])  # to run the unit again
    open(os.path.join(tree, "proofs", "cache.txt"), "w").close()
    script("prove.py", tree)
    code, problems = gate(tree)
    return check("empty cache", code == 1 and told(problems, "cache-miss", "arrays"), problems)


def forged_cache():
    """A cache that calls everything valid turns the sentinel valid; only one goal forged, it takes a
    cold run to see it."""
    tree = copy("forged cache")
    edit(tree, [(ARRAYS, "a[i] = 0", "a[i] = 1")])
    script("prove.py", tree, "--mode", "update", "arrays")
    path = os.path.join(tree, "proofs", "cache.txt")
    with open(path) as f:
        text = f.read()
    for old, new in (("timeout", "valid"), ("unknown", "valid")):
        text = text.replace(f'"{old}"', f'"{new}"')
    with open(path, "w") as f:
        f.write(text)
    script("prove.py", tree)
    code, problems = gate(tree)
    first = code == 1 and told(problems, "sentinel-proven", "arrays")
    script("prove.py", tree, "--mode", "cold")
    code, problems = gate(tree)
    return check("forged cache", first and code == 1 and told(problems, "unproved-goal", "zero"), problems)


def smoke():
    tree = copy("contradictory requires")
    edit(tree, [(CALLERS, "requires small: -500 <= x <= 500;\n    terminates \\true; exits \\false;\n"
                 "    assigns \\nothing;\n    ensures leaf",
                 "requires small: -500 <= x <= 500;\n    requires more: 501 <= x;\n    terminates "
                 "\\true; exits \\false;\n    assigns \\nothing;\n    ensures leaf")])
    run = script("prove.py", tree, "--smoke", "--mode", "update", "callers")
    good = run.returncode == 1 and "leaf_of_four_wp_smoke_default_requires" in run.stdout
    return check("contradictory requires", good, [{"kind": "smoke", "where": "", "text": run.stdout}])


def refused_option():
    tree = copy("option that weakens")
    edit(tree, [(UNITS, 'provers = ["cvc5"]', 'provers = ["cvc5"]\noptions = ["-wp-model Typed+cast"]')])
    run = script("prove.py", tree)
    return check("option that weakens", run.returncode == 2 and "-wp-model is not allowed" in run.stderr,
                 [{"kind": "run", "where": "", "text": run.stdout + run.stderr}])


def claimed_again():
    """What the gate refuses is accepted only by changing the list of claims."""
    tree = copy("claims accepted")
    edit(tree, [(HEADER, "    ensures sum: Sum(a, n) == 0; */", "*/")])
    script("prove.py", tree, "--mode", "update")
    edit(tree, [(CLAIMS, '"clear/sum", ', "")])
    script("gate.py", tree, "--accept")
    script("claims.py", tree)
    code, problems = gate(tree)
    with open(os.path.join(tree, "proofs", "claimed.txt")) as f:
        return check("claims accepted", code == 0 and "ensures sum" not in f.read(), problems)


def mutants():
    """A mutant that survives without a reason is reported, and so is one that does not survive."""
    tree = copy("surviving mutants")
    edit(tree, [("proofs/mutants.toml", 'survives = "the same value"', ""),
                ("proofs/mutants.toml", "one element more\"", 'one element more"\nsurvives = "no"')])
    run = script("mutate.py", tree)
    good = run.returncode == 1 and "SURVIVOR clear-same" in run.stdout and \
        "clear-too-far is said to survive" in run.stdout
    return check("surviving mutants", good, [{"kind": "run", "where": "", "text": run.stdout}])


OTHERS = [report_deleted, stale, empty_cache, forged_cache, smoke, refused_option, claimed_again,
          mutants]


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(BASE, os.path.join(WORK, "base"))
    os.makedirs(os.path.join(WORK, "base", "build"), exist_ok=True)
    base = os.path.join(WORK, "base")
    first = script("prove.py", base)
    code, problems = gate(base)
    if not check("nothing broken: no problems", first.returncode == 0 and code == 0, problems):
        print(first.stdout + first.stderr)
        return 1
    wanted = [re.sub(r"[_-]", " ", a) for a in sys.argv[1:]]
    bad = 0
    for case in CASES:
        if not wanted or case[0] in wanted:
            bad += not planted(*case)
    for other in OTHERS:
        if not wanted or other.__name__.replace("_", " ") in wanted:
            bad += not other()
    print(f"{len(CASES) + len(OTHERS)} planted failures, {bad} not reported" if not wanted
          else f"{bad} not reported")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
