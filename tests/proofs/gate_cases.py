"""Single edits of proofs/gate_tests/base, and the problem that the gate must report for each."""

LOGIC, HEADER, ARRAYS = "src/logic.h", "src/arrays.h", "src/arrays.c"
CALLERS, THEOREM = "src/callers.c", "src/theorem.c"
UNITS, CLAIMS = "proofs/units.toml", "proofs/claims.toml"
TWICE = "    ensures twice: \\result == 2 * x; */"

# name, edits (file, old text, new text), expected problem (kind, part of its line), units that are
# run, if they are not those of the edited files
CASES = [
    (
        "admitted lemma",
        [(LOGIC, "lemma Sum_Zero", "admit lemma Sum_Zero")],
        ("admitted", "Sum_Zero is assumed"),
    ),
    (
        "axiom",
        [
            (
                LOGIC,
                "LeafOf(integer x); }",
                "LeafOf(integer x); axiom Even: \\forall integer x; LeafOf(x) % 2 == 0; }",
            )
        ],
        ("admitted", "axiom Even is assumed"),
    ),
    (
        "inconsistent axioms",
        [
            (
                LOGIC,
                "LeafOf(integer x); }",
                "LeafOf(integer x); axiom A: \\forall integer x; LeafOf(x) > x;"
                " axiom B: \\forall integer x; LeafOf(x) < x; }",
            )
        ],
        ("sentinel-proven", "zp_sentinel_definitions"),
    ),
    (
        "false lemma stays unproven",
        [(LOGIC, "Sum(a, n) == 0;\n", "Sum(a, n) == 1;\n")],
        ("lemma-unproved", "Sum_Zero"),
    ),
    (
        "false lemma proves the sentinel",
        [
            (
                LOGIC,
                "    axiomatic",
                "    lemma Wrong: \\forall integer x; 0 < x ==> 1 < x;\n    axiomatic",
            )
        ],
        ("sentinel-proven", "contradict"),
    ),
    (
        "lemma hidden from the sentinel",
        [
            (
                LOGIC,
                "LeafOf(integer x); }",
                "LeafOf(integer x); lemma L: \\forall integer x; LeafOf(x) == LeafOf(x); }",
            )
        ],
        ("lemma-in-axiomatic", "L stands in axiomatic Leaf"),
    ),
    (
        "definition that contradicts itself",
        [(LOGIC, "    axiomatic", "    logic integer Bad(integer x) = Bad(x) + 1;\n    axiomatic")],
        ("sentinel-proven", "zp_sentinel_definitions"),
    ),
    (
        "recursion that does not terminate",
        [
            (
                LOGIC,
                "    axiomatic",
                "    logic integer Far(integer x) = x == 7 ? 0 : Far(x - 1);\n    axiomatic",
            )
        ],
        ("recursion", "Far is not recognisably well-founded"),
    ),
    (
        "unproved goal",
        [(ARRAYS, "return x + x", "return x + x + 1")],
        ("unproved-goal", "twice_ensures_twice"),
    ),
    (
        "property excluded by its name",
        [(HEADER, TWICE, "    ensures zp_sentinel: \\result == 7;\n" + TWICE)],
        ("property-unknown", "zp_sentinel"),
    ),
    (
        "dropped annotation",
        [(HEADER, TWICE, "    allocates \\nothing;\n" + TWICE)],
        ("", "allocates"),
    ),
    (
        "callee without a contract",
        [
            (
                CALLERS,
                "/*@ requires small: -500 <= x <= 500;\n    terminates \\true; "
                "exits \\false;\n    assigns \\nothing;\n    ensures leaf",
                "int other(int x);\n/*@ requires small: -500 <= x <= 500;\n"
                "    terminates \\true; exits \\false;\n    assigns \\nothing;\n"
                "    ensures leaf",
            ),
            (CALLERS, "leaf(four(x))", "leaf(other(x))"),
        ],
        ("no-contract", "other"),
    ),
    (
        "callee that no unit proves",
        [
            (
                UNITS,
                'file = "src/arrays.c"\nkind = "code"',
                'file = "src/arrays.c"\nkind = "code"\nfunctions = ["clear"]',
            )
        ],
        ("unproven-callee", "four calls twice"),
    ),
    (
        "function in scope without a unit",
        [
            (
                UNITS,
                'file = "src/arrays.c"\nkind = "code"',
                'file = "src/arrays.c"\nkind = "code"\nfunctions = ["twice"]',
            )
        ],
        ("unproven-function", "clear is in scope"),
    ),
    (
        "two contracts of one function",
        [
            (
                CALLERS,
                '#include "arrays.h"',
                "/*@ requires small: "
                "-1000 <= x <= 1000;\n  terminates \\true; exits \\false;\n"
                "  assigns \\nothing;\n  ensures twice: \\result == 2 * x;\n"
                "  ensures more: \\result % 4 == 0; */\nint twice(int x);\n"
                '#include "leaf.h"',
            )
        ],
        ("other-contract", "contract of twice"),
    ),
    (
        "two meanings of one name",
        [
            (THEOREM, "/* Two calls", "/*@ predicate Same(integer x) = x == 1; */\n/* Two calls"),
            (CALLERS, "/*@ requires", "/*@ predicate Same(integer x) = x == 2; */\n/*@ requires"),
        ],
        ("two-meanings", "Same"),
    ),
    (
        "function that calls itself",
        [(ARRAYS, "return x + x", "return x == 0 ? 0 : x + x + twice(0)")],
        ("call-cycle", "twice calls itself"),
    ),
    (
        "deleted ensures",
        [(HEADER, "    ensures sum: Sum(a, n) == 0; */", "*/")],
        ("claim-lost", "ensures sum"),
    ),
    (
        "changed ensures",
        [(HEADER, "ensures sum: Sum(a, n) == 0", "ensures sum: Sum(a, n) <= 0")],
        ("claim-lost", "ensures sum: Sum(\\old(a), \\old(n)) == 0"),
    ),
    (
        "narrowed requires",
        [(HEADER, "0 <= n <= 1000", "0 <= n <= 2")],
        ("claim-lost", "requires small: 0 <= n <= 1000"),
    ),
    (
        "narrowed requires at a call",
        [(HEADER, "-1000 <= x <= 1000", "0 <= x <= 1000")],
        ("unproved-goal", "call_twice"),
        ["callers"],
    ),
    (
        "changed definition",
        [(LOGIC, "n <= 0 ? 0 :", "n <= 1 ? 0 :")],
        ("claim-lost", "logic integer Sum"),
    ),
    ("unnamed clause", [(HEADER, "ensures twice:", "ensures")], ("unnamed", "twice: ensures")),
    (
        "no terminates",
        [
            (
                CALLERS,
                "terminates \\true; exits \\false;\n    assigns \\nothing;\n    ensures four",
                "exits \\false;\n    assigns \\nothing;\n    ensures four",
            )
        ],
        ("contract", "four: no `terminates"),
    ),
    (
        "loop without a variant",
        [(ARRAYS, "\n      loop variant n - i; */", " */")],
        ("unproved-goal", "clear_terminates"),
    ),
    (
        "function that never returns",
        [
            (
                ARRAYS,
                "  return x + x;",
                "  /*@ loop invariant stays: \\true; "
                "loop assigns \\nothing; */\n  while (1)\n    ;\n"
                "  return x + x;",
            )
        ],
        ("unreachable", "twice_ensures_twice"),
    ),
    (
        "assumed separation of memory",
        [
            (ARRAYS, "#include", "int top;\n#include"),
            (
                ARRAYS,
                "int twice(int x)\n{",
                "/*@ requires p: \\valid(p);\n  terminates "
                "\\true; exits \\false; assigns *p, top;\n  ensures one: *p == 1; */\n"
                "void both(int *p)\n{\n  *p = 1;\n  top = 2;\n}\n\nint twice(int x)\n{",
            ),
        ],
        ("memory-model", "Memory model hypotheses"),
    ),
    (
        "control that is proven",
        [
            (
                THEOREM,
                "check ensures control: \\result == 0",
                "check ensures control: x == y ==> \\result <= 0",
            )
        ],
        ("control-proven", "control"),
    ),
    (
        "control that is assumed",
        [(THEOREM, "check ensures control", "ensures control")],
        ("control-assumed", "control"),
    ),
    (
        "missing control",
        [
            (THEOREM, "    check ensures control: \\result == 0; */", "*/"),
            (THEOREM, "\\result == 0;\n", "\\result == 0;\n"),
        ],
        ("no-control", "control"),
    ),
    (
        "wrong tool version",
        [(UNITS, 'cvc5 = "1.0.3"', 'cvc5 = "1.0.4"')],
        ("tool-version", "cvc5: 1.0.4 is pinned"),
    ),
    (
        "unlisted assumption",
        [("ASSUMPTIONS.md", "`leaf`", "`flea`")],
        ("assumption-unlisted", "leaf is not in ASSUMPTIONS.md"),
    ),
    (
        "assumption that is proven",
        [(UNITS, '["leaf"]', '["leaf", "twice"]')],
        ("assumption-idle", "twice is proven"),
    ),
    (
        "claim with an unknown property",
        [(CLAIMS, "clear/zero", "clear/nought")],
        ("claim-unknown", "clear has no property nought"),
    ),
    (
        "claim with an unknown clause",
        [(CLAIMS, "BASE-1", "BASE-2")],
        ("claim-unknown", "no clause BASE-2"),
    ),
    (
        "claim that is not proven",
        [(ARRAYS, "a[i] = 0", "a[i] = 1")],
        ("claim-unproved", "clear/zero is not proven"),
    ),
    (
        "claim that hides an assumption",
        [(CLAIMS, 'assumptions = ["A-1"]', "assumptions = []")],
        ("assumption-unlisted", "uses A-1"),
    ),
    (
        "CLAIMS.md with another sentence",
        [("CLAIMS.md", "Four times", "Five times")],
        ("claims-stale", "CLAIMS.md"),
    ),
    (
        "page of claims with another goal",
        [("proofs/claims/1.md", "typed_four_ensures_four", "typed_four_ensures_five")],
        ("claims-stale", "proofs/claims/1.md"),
    ),
    (
        "table of units with another count",
        [("proofs/claims/units.md", "| 13 |", "| 14 |")],
        ("claims-stale", "proofs/claims/units.md"),
    ),
    (
        "clause without one of its claims",
        [("spec/base.md", "[1.1], [1.2]", "[1.1]")],
        ("claims-stale", "spec/base.md"),
    ),
    (
        "promise that hides an assumption",
        [("SOUNDNESS.md", "| A-1 |", "| – |")],
        ("assumption-unlisted", "the row of 'four times' lacks A-1"),
    ),
    (
        "promise that cites an unknown claim",
        [("SOUNDNESS.md", "| [1.2] |", "| [1.2], [1.9] |")],
        ("claim-unknown", "SOUNDNESS.md cites it"),
    ),
    (
        "link to an unknown property",
        [("proofs/README.md", "[`four/four`]", "[`four/five`]")],
        ("claim-unknown", "four/five"),
    ),
    (
        "link to another line",
        [("proofs/README.md", "logic.h#L5", "logic.h#L6")],
        ("claims-stale", "proofs/README.md"),
    ),
    (
        "README.md with another count",
        [("README.md", "| 2 | 11 |", "| 2 | 12 |")],
        ("claims-stale", "README.md"),
    ),
    (
        "code that only the prover sees",
        [
            (
                ARRAYS,
                "  return x + x;",
                "#ifdef __FRAMAC__\n  return x + x;\n#else\n  return 7;\n#endif",
            )
        ],
        ("special-code", "only the prover sees"),
    ),
    (
        "code that only the optimizer sees",
        [
            (
                ARRAYS,
                "  return x + x;",
                "#ifdef __OPTIMIZE__\n  return 7;\n#else\n  return x + x;\n#endif",
            )
        ],
        ("special-code", "'#ifdef __OPTIMIZE__': code that depends on the reader"),
    ),
    (
        "a variable without a value",
        [(ARRAYS, "  return x + x;", "  int y;\n  y = x;\n  return x + y;")],
        ("no-value", "src/arrays.c:"),
    ),
    (
        "a struct without a value",
        [(ARRAYS, "  return x + x;", "  struct { int a; } y;\n  y.a = x;\n  return x + y.a;")],
        ("no-value", "src/arrays.c:"),
    ),
    (
        "recursion behind a conjunction",
        [
            (
                LOGIC,
                "    axiomatic",
                "    logic integer Far(integer x, integer y) ="
                " (x <= 0 && y == 2) ? 0 : Far(x - 1, y);\n    axiomatic",
            )
        ],
        ("recursion", "Far is not recognisably well-founded"),
    ),
    (
        "recursion behind a nested disjunction",
        [
            (
                LOGIC,
                "    axiomatic",
                "    logic integer Far(integer x, integer y) ="
                " (y > 0 && (y > 1 || x <= 0)) ? 0 : Far(x - 1, y);\n    axiomatic",
            )
        ],
        ("recursion", "Far is not recognisably well-founded"),
    ),
    (
        "code that asks the compiler",
        [(ARRAYS, "  return x + x;", "  return x + x + 0 * __COUNTER__;")],
        ("special-code", "a name of the compiler's own"),
    ),
    (
        "a pragma",
        [(ARRAYS, "int twice(int x)", "#pragma GCC optimize (3)\nint twice(int x)")],
        ("special-code", "'#pragma GCC optimize (3)'"),
    ),
    (
        "a header of the system",
        [(ARRAYS, '#include "arrays.h"', '#include "arrays.h"\n#include <stdarg.h>')],
        ("special-code", "'#include <stdarg.h>'"),
    ),
]
