#!/usr/bin/env python3
"""Runs the unit tests with the contracts of ref/plan and ref/num checked at run time (E-ACSL).

Debian packages the plug-in without its driver script, and this version has gaps. So this script
translates and links each test, and lists everything omitted: tests that E-ACSL cannot read,
annotations that it cannot translate, clauses that no test evaluates (build/eacsl/left_out.txt). It
is an error if no clause of a file is evaluated, or if a broken clause is not detected. No claim
rests on this script, because the contracts are proven. It shows that they match the tests."""

import argparse
import glob
import json
import os
import re
import subprocess
import sys

import eacsl_inline
import printed
import project as pj
import sentinel

# The instrumented tests and the files that they test.
TESTS = {
    "test_plan_pipeline": ["ref/plan/pipeline.c"],
    "test_plan_topology": ["ref/plan/topology.c", "ref/plan/config.c"],
    "test_plan_layout": [
        "ref/plan/flat_size.c",
        "ref/plan/layout.c",
        "ref/plan/layout_build.c",
        "ref/plan/layout_put.c",
        "ref/plan/layout_stage.c",
        "ref/plan/segment.c",
        "ref/plan/topology.c",
        "ref/plan/config.c",
    ],
    "test_num_half": ["ref/num/half.c"],
    "test_num_scaler": ["ref/num/scaler.c"],
    "test_num_agree": ["ref/num/agree.c"],
    "test_num_packed": ["ref/num/packed.c", "ref/num/value.c"],
}
# Files that a test links without testing them.
NEEDED = {
    "test_plan_layout": ["ref/plan/flat_size.c", "ref/plan/topology.c", "ref/plan/config.c"],
    "test_num_packed": ["ref/num/value.c"],
}
# Smaller case counts of tests that would take minutes with every contract checked.
FEWER = {"test_plan_layout": {"LAYOUT_MOST": 24}}
# Tests omitted because a contract that is checked at each step takes minutes.
SLOW = {"test_plan_topology": ["too_many_tied_entries_are_refused"]}
# A control, a clause broken on purpose: test, clause, text before and after.
BROKEN = (
    "test_num_half",
    "zp_f16_from_f32: Postcondition overflow",
    r"\result % 32768 == 31744",
    r"\result % 32768 == 31743",
)
# Tests that cannot be instrumented, with the reason.
LEFT_OUT = {
    "test_plan_program": "contracts that fold over memory: E-ACSL's analysis does not terminate",
    "test_num_optim": "contracts that use uninterpreted IEEE operations",
    "test_num_exact": "uses GMP, like E-ACSL itself",
    "test_num_value": "uses GMP, like E-ACSL itself",
    "test_num_norm": "uses MPFR, whose header Frama-C cannot read",
    "test_num_ieee": "uses MPFR, whose header Frama-C cannot read",
    "test_num_simd": "tests code with intrinsics, which Frama-C cannot read",
}
SHARE = "/usr/share/frama-c/e-acsl"
LIBRARIES = [
    f"{SHARE}/e_acsl_rtl.c",
    "/usr/lib/frama-c/e-acsl/libeacsl-dlmalloc.a",
    "-lgmp",
    "-lm",
    "-lpthread",
]


def source(test):
    return f"tests/ref/{test.split('_')[1]}/{test}.c"  # of ref/plan or ref/num


def wrapper(project, test):
    """The test with a main() that calls each of its tests."""
    path = source(test)
    text = pj.read(project.path(path))
    names = re.findall(r"^Test\((\w+), *(\w+)", text, re.M)
    names = [(a, b) for a, b in names if b not in SLOW.get(test, [])]
    calls = "".join(f"  test_{a}_{b}();\n" for a, b in names)
    fewer = "".join(f"#define {k} {v}\n" for k, v in FEWER.get(test, {}).items())
    return (
        f'{fewer}#include "{path}"\n\nint main(void)\n{{\n{calls}  return 0;\n}}\n',
        len(names),
    )


def repair(text):
    """Repairs three errors of E-ACSL 25. Logic functions of small range return the GMP number in
    which % was computed as if it were an int; this returns its value. 65536 * x - y is computed in
    unsigned int if x and y are; this uses long (only in generated code). An integer argument is
    used as if it were a GMP number; this converts it."""
    numbers = set(re.findall(r"__e_acsl_mpz_t (__gen_e_acsl_\w+);", text))

    def value(m):
        return (
            (
                f"long zp_value = __gmpz_get_si({m[1]});\n  __gmpz_clear({m[1]});\n"
                "  return (int)zp_value;"
            )
            if m[1] in numbers
            else m[0]
        )

    def wide(m):
        return number(re.sub(r"\b(\d+)U\b", r"\1L", m[0].replace("(unsigned int)", "(long)")))

    def number(function):
        head, brace, body = function.partition("\n{\n")
        for name in re.findall(r"\b(?:int|long) (\w+)\s*[,)]", head):
            use = f"(__e_acsl_mpz_struct const *){name}"
            if re.search(re.escape(use) + r"\b", body):
                body = re.sub(
                    re.escape(use) + r"\b", f"(__e_acsl_mpz_struct const *)zp_{name}", body
                )
                body = (
                    f"  __e_acsl_mpz_t zp_{name};\n  __gmpz_init_set_si(zp_{name}, {name});\n"
                    + body.replace("  return ", f"  __gmpz_clear(zp_{name});\n  return ")
                )
        return head + brace + body

    text = re.sub(r"__gmpz_clear\((\w+)\);\n  return \1;", value, text)
    return re.sub(
        r"^[a-z][^\n;]*\b__gen_e_acsl_\w+\([^;{]*\)\n\{\n(.*\n)*?\}\n", wide, text, flags=re.M
    )


def without_values(text):
    """Removes the reports of variables' values in false annotations; they take most of the time."""
    return re.sub(
        r"\b__e_acsl_assert_(?:register_\w+|clean)\((?:[^;\"]|\"(?:[^\"\\]|\\.)*\")*\);", ";", text
    )


def in_order(text):
    """Moves an enum that uses an array's size after the array; Frama-C prints types first."""
    for m in list(re.finditer(r"^enum \w+ \{\n[^}]*sizeof\((\w+)\)[^}]*\};\n", text, re.M)):
        array = re.search(rf"\b{m[1]}\[\d+\] =\n(.*\n)*?.*\}};\n", text)
        if array:
            text = text[: m.start()] + text[m.end() : array.end()] + m[0] + text[array.end() :]
    return text


def warnings_of(text, lines):
    """[(annotation, reason)] for each annotation that was not translated."""
    out = []
    for m in re.finditer(r"^\[e-acsl\] (\S+):(\d+): Warning: *\n((?:  .*\n)+)", text, re.M):
        reason = " ".join(m[3].split())
        if "Ignoring annotation" in reason:
            line = lines[int(m[2]) - 1].strip() if m[1].endswith("whole.c") else f"{m[1]}:{m[2]}"
            out.append((line[:100], reason.replace(" Ignoring annotation.", "")))
    return out


def run(command, **kw):
    return subprocess.run(command, capture_output=True, text=True, **kw)


def keep_arguments(text):
    """Copies each argument x with \\at(x, Pre): in a loop, E-ACSL reads the current x instead."""
    out, end = [], 0
    for m in re.finditer(r"^(?:[a-z][^\n;{}]*\([^;{}]*\)\n)\{\n((?:.*\n)*?)\}\n", text, re.M):
        names = dict.fromkeys(re.findall(r"\\at\((\w+), *Pre\)", m[1]))
        if not names:
            continue
        copies = "".join(f"  __typeof__({n}) const zp_pre_{n} = {n};\n" for n in names)
        out += [text[end : m.start(1)], copies, re.sub(r"\\at\((\w+), *Pre\)", r"zp_pre_\1", m[1])]
        end = m.end(1)
    return "".join(out) + text[end:]


def cut(text):
    """Removes the bodies of recursive definitions that read memory: E-ACSL cannot translate them,
    and its analysis of them does not terminate. It then omits annotations that use them, and lists
    these."""

    def one(m):
        found = printed.globals_of(m[1]) if re.match(r"\s*(logic|predicate)\b", m[1]) else []
        if len(found) == 1 and sentinel.recursive(found[0]) and "{" in found[0].head():
            return f"/*@ axiomatic Cut_{found[0].name} {{ {found[0].head()}; }} */"
        return m[0]

    return re.sub(r"/\*@((?:.|\n)*?)\*/", one, text)


def translate(project, where, given, functions, seconds=60):
    """frama-c -e-acsl on these functions: (exit status, log)."""
    out = os.path.join(where, "instrumented.c")
    if os.path.exists(out):
        os.remove(out)
    try:
        r = run(
            [
                "frama-c",
                *given,
                "-e-acsl",
                "-e-acsl-functions",
                ",".join(functions),
                "-then-last",
                "-print",
                "-ocode",
                out,
            ],
            cwd=project.root,
            env=pj.environment(project),
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return 124, ""
    return (r.returncode if os.path.exists(out) else r.returncode or 1), r.stdout + r.stderr


def instrument(project, where, given, functions):
    """Translates all functions on which E-ACSL does not crash or hang: (log, omitted functions)."""
    code, log = translate(project, where, given, functions)
    if code == 0:
        return log, []
    bad = [f for f in functions if translate(project, where, given, [f], 20)[0]]
    code, log = translate(project, where, given, [f for f in functions if f not in bad])
    return (log if code == 0 else None), bad


def compiled(project, where):
    """gcc's first error, or ""."""
    out, here = os.path.join(where, "instrumented.c"), os.path.join(pj.HERE, "eacsl")
    with open(out) as f:
        code = without_values(in_order(repair(f.read())))
    with open(out, "w") as f:
        f.write(code)
    r = run(
        [
            "gcc",
            "-DE_ACSL_SEGMENT_MMODEL",
            "-DE_ACSL_EXTERNAL_ASSERT",
            "-DE_ACSL_HEAP_SIZE=1024",
            "-std=c11",
            "-D_GNU_SOURCE",
            "-O1",
            "-w",
            "-Werror=int-conversion",
            "-Werror=implicit-function-declaration",
            "-include",
            os.path.join(here, "libc.h"),
            "-ffp-contract=off",
            "-fno-strict-aliasing",
            f"-I{SHARE}",
            out,
            os.path.join(here, "runtime.c"),
            *LIBRARIES,
            "-o",
            os.path.join(where, "test"),
        ],
        cwd=project.root,
    )
    errors = [x for x in r.stderr.split("\n") if "error" in x or "undefined" in x]
    return (errors or ["?"])[0][:200] if r.returncode else ""


def judged(project, where, test, tree, functions, output):
    """(problem or "", summary, clauses that were not evaluated), from the program's output."""
    translated = set()
    for part in pj.read(os.path.join(where, "instrumented.c")).split(".blocking = ")[1:]:
        found = [re.search(rf'\.{what} = "(\w+)";', part) for what in ("fct", "kind", "name")]
        translated.add(tuple(m[1] if m else "" for m in found))
    seen = set(re.findall(r"^  (\w+): (Precondition|Postcondition) (\w+)$", output, re.M))
    wanted = [
        (f, {"requires": "Precondition", "ensures": "Postcondition"}[c.kind], c.name)
        for f in functions
        for c in tree.functions[f].contract
        if c.kind in ("requires", "ensures")
    ]
    never = [
        (
            f"{f}: {kind} {name}",
            "no test evaluates it"
            if (f, kind, name) in translated
            else "E-ACSL does not translate it",
        )
        for f, kind, name in wanted
        if (f, kind, name) not in seen
    ]
    idle = []
    for file in TESTS[test]:
        if file in NEEDED.get(test, []):
            continue
        here = re.findall(r"^[a-z][^\n;=]*?\b(\w+)\(", pj.read(project.path(file)), re.M)
        if not any(f in here and kind == "Postcondition" for f, kind, _ in seen):
            idle.append(file)
    total = output.strip().split("\n")[-1]
    return (
        f"no test evaluates an ensures of {', '.join(idle)}" if idle else "",
        f"{len(functions)} functions, {len(wanted) - len(never)} of {len(wanted)} clauses; {total}",
        never,
    )


def one(project, build, test, seconds, broken=None):
    """(status, text, omissions). broken: text before and after of a clause to break."""
    where = os.path.join(build, "broken" if broken else test)
    os.makedirs(where, exist_ok=True)
    text, count = wrapper(project, test)
    main, whole = os.path.join(where, "main.c"), os.path.join(where, "whole.c")
    with open(main, "w") as f:
        f.write(text)
    include = f"-cpp-extra-args=-I{os.path.join(pj.HERE, 'eacsl')} -I."
    r = run(
        ["frama-c", "-no-unicode", include, main, *TESTS[test], "-print", "-ocode", whole],
        cwd=project.root,
        env=pj.environment(project),
    )
    if r.returncode:
        errors = [x for x in r.stdout.split("\n") if "rror" in x]
        return "not read", (errors or ["?"])[0][:200], []
    code = keep_arguments(eacsl_inline.inline(in_order(cut(pj.read(whole)))))
    if broken:
        if code.count(broken[0]) != 1:
            return "not broken", f"expected one {broken[0]}, got {code.count(broken[0])}", []
        code = code.replace(*broken)
    with open(whole, "w") as f:
        f.write(code)
    tree = printed.parse(code)
    functions = [n for n, f in tree.functions.items() if f.body and f.contract]
    log, bad = instrument(project, where, [whole], functions)
    left = [(f, "E-ACSL crashes on it") for f in bad]
    if log is None:
        return "not translated", "E-ACSL crashes", left
    left += warnings_of(log, code.split("\n"))
    errors = compiled(project, where)
    if errors:
        return "not compiled", errors, left
    try:
        r = run([os.path.join(where, "test")], cwd=project.root, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "too slow", f"more than {seconds} s", left
    if r.returncode:
        return "FAILED", (r.stderr.strip() or f"exit status {r.returncode}")[:400], left
    slow = [(t, "test omitted: too slow") for t in SLOW.get(test, [])]
    problem, summary, never = judged(
        project, where, test, tree, [f for f in functions if f not in bad], r.stdout
    )
    return (
        ("CHECKS NOTHING", problem, left + never)
        if problem
        else ("ok", f"{count} tests, {summary}", left + never + slow)
    )


def control(project, build, seconds):
    """A broken clause must be detected and named."""
    test, clause, before, after = BROKEN
    status, text, _ = one(project, build, test, seconds, (before, after))
    if status == "FAILED" and clause in text:
        return "ok", f"detected that {clause} is false when {after} replaces {before}"
    return "NOT DETECTED", f"{clause} with {after} for {before}: {status}, {text}"


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("tests", nargs="*", metavar="TEST", help="default: all that can be instrumented")
    p.add_argument("--build", default="build")
    p.add_argument("--seconds", type=int, default=300, help="time for one test (default 300)")
    p.add_argument("--json", action="store_true")
    args = p.parse_args()
    project = pj.load(None)
    project.check_tools(only=("frama-c",))
    build = os.path.join(project.root, args.build, "eacsl")
    os.makedirs(build, exist_ok=True)
    every = [
        os.path.basename(t)[:-2]
        for pattern in ("plan", "num")
        for t in sorted(glob.glob(f"tests/ref/{pattern}/test_*.c", root_dir=project.root))
    ]
    for test in every:
        if test not in TESTS and test not in LEFT_OUT:
            pj.die(f"proofs/eacsl.py lists {test} neither in TESTS nor in LEFT_OUT")
    results, left = {}, {}
    for test in args.tests or every:
        if test in LEFT_OUT:
            results[test] = ("omitted", LEFT_OUT[test])
        else:
            status, text, ignored = one(project, build, test, args.seconds)
            results[test] = (status, text)
            for where, reason in ignored:
                left.setdefault(where + ": " + reason, set()).add(test)
        if not args.json:
            print(f"  {results[test][0]:<14} {test}: {results[test][1]}", flush=True)
    results["a broken clause"] = control(project, build, args.seconds)
    if not args.json:
        print(
            f"  {results['a broken clause'][0]:<14} a broken clause: "
            f"{results['a broken clause'][1]}",
            flush=True,
        )
    with open(os.path.join(build, "left_out.txt"), "w") as f:
        f.writelines(line.replace(project.root + "/", "") + "\n" for line in sorted(left))
    kinds = {}
    for line in left:
        m = re.search(
            r"construct `(.*?)( in quantification.*|\(.*)?'|crashes|evaluates it|comparison|"
            r"does not translate it",
            line,
        )
        kind = (m[1] or m[0]) if m else "other"
        kinds[kind] = kinds.get(kind, 0) + 1
    ok = all(s in ("ok", "omitted") for s, _ in results.values())
    if args.json:
        print(json.dumps({"results": results, "left_out": kinds}, indent=1))
    else:
        print(f"annotations omitted: {len(left)} ({args.build}/eacsl/left_out.txt)")
        for kind, n in sorted(kinds.items(), key=lambda x: -x[1]):
            print(f"  {n:>5}  {kind}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
