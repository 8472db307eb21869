"""The sentinels: goals that are provable only if lemmas or definitions contradict each other."""

import printed

NAMES = ("zp_sentinel", "zp_sentinel_definitions")


def recursive(logic):
    return logic.kind in ("logic", "predicate") and logic.name in printed.WORD.findall(logic.body())


def text(tree):
    """`zp_sentinel` is \\false after all lemmas. WP gives provers a definition or an axiom only if
    the goal names its symbol, so `zp_sentinel_definitions` says f(x) == f(y) ==> \\false for every
    recursive or uninterpreted f, at arbitrary x and y: provable only if there is no such function.
    (With f(x) == v instead, Qed would solve for v, and f would be gone.)"""
    lines = ["/*@ check lemma zp_sentinel: \\false; */"]
    binders, hypotheses, labels = [], [], 0
    for x in tree.logics:
        if x.kind not in ("logic", "predicate") or (x.body() and not recursive(x)):
            continue
        before, _, args = x.head().partition(" reads ")[0].partition("(")
        args = [a for a in printed.split_top(args[: args.rfind(")")], ",") if a.strip()]
        if not args:
            continue
        own = before[before.index("{") + 1 : before.index("}")].split(",") if "{" in before else []
        labels = max(labels, len(own))
        at = "{" + ", ".join(f"At{i}" for i in range(len(own))) + "}" if own else ""
        both = []
        for side in "xy":
            names = [f"{side}{len(hypotheses)}_{i}" for i in range(len(args))]
            binders += [renamed(a, n) for a, n in zip(args, names, strict=True)]
            both.append(f"{x.name}{at}({', '.join(names)})")
        hypotheses.append((" == " if x.kind == "logic" else " <==> ").join(both))
    if hypotheses:
        at = "{" + ", ".join(f"At{i}" for i in range(labels)) + "}" if labels else ""
        lines.append(
            f"/*@ check lemma zp_sentinel_definitions{at}: \\forall {', '.join(binders)};\n  "
            + " ==>\n  ".join(f"({h})" for h in hypotheses)
            + " ==> \\false; */"
        )
    return "\n".join(lines) + "\n"


def renamed(formal, name):
    """`int *a` -> `int *name`"""
    word = printed.WORD.findall(formal)[-1]
    at = formal.rindex(word)
    return (formal[:at] + name + formal[at + len(word) :]).strip()
