"""Whether a change loses a goal: of a unit, or of some of its functions (proofs/mutate.py)."""

import re
import subprocess

import project as pj
import prove
import wplog

GOAL_SECONDS = 2  # a goal that takes longer is asked again, with the limit of units.toml


def last_line(text):
    lines = [x for x in text.strip().split("\n") if x.strip()]
    return lines[-1][:200] if lines else ""


def goal_lost(plan, trees, tree, u, functions):
    """(killed, how): whether some goal is not proven because of the change; None if that cannot be
    said."""
    run = subprocess.run(
        ["gcc", "-std=c11", "-fsyntax-only", "-I.", u.file],
        cwd=tree,
        capture_output=True,
        text=True,
    )
    if run.returncode:
        return None, "does not compile: " + last_line(run.stderr)
    if functions is not None and not set(functions) & set(plan.functions[u.name]):
        return None, f"unit {u.name} proves none of {', '.join(functions)}"
    return judge_loss(
        lambda seconds: first_lost(plan, trees, tree, u, functions, seconds),
        lambda: unchanged(plan, trees, u, functions),
        plan.project.limits["goal"],
    )


def judge_loss(lost, unchanged, limit):
    """lost(seconds): the first goal that is not proven with that limit, as (name, verdicts), or
    None; unchanged(): the same of the sources without the change, with the limit."""
    found = lost(GOAL_SECONDS)
    again = ""
    if found and re.search(r"Timeout|Failed", found[1]):
        found, again = lost(limit), f", asked again for {limit} s"
    if not found:
        return False, "all goals are still proven" + again
    if re.search(r"Failed", found[1]) and not re.search(r"Timeout|Unknown|Stepout", found[1]):
        return None, f"{found[0]}: no prover answers ({found[1]})"
    before = unchanged()
    if before:
        return None, f"{before[0]} is not proven without the change, either: run make prove"
    return True, found[0] + again


def unchanged(plan, trees, u, functions):
    """What is lost without a change; run once for each unit and choice of functions."""
    key = (u.name, tuple(functions) if functions is not None else None)
    if key not in trees.unchanged:
        root, limit = plan.project.root, plan.project.limits["goal"]
        trees.unchanged[key] = first_lost(plan, trees, root, u, functions, limit)
    return trees.unchanged[key]


def first_lost(plan, trees, tree, u, functions, seconds):
    """The first goal that no prover proves in that many seconds of CPU, with what each prover
    said; what else keeps Frama-C from proving all; None if all goals are proven."""
    chosen = [f for f in plan.functions[u.name] if functions is None or f in functions]
    lemmas = plan.lemmas[u.name] if functions is None else []
    cache = ("replay", trees.cache)
    line = prove.asks(u, u.file, chosen, lemmas, cache, seconds, u.expect_unproved)
    child = subprocess.Popen(
        line,
        cwd=tree,
        env=dict(pj.environment(plan.project), PWD=tree),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        found = loss_in(child.stdout)
        return found or (("Frama-C rejects it", "") if child.wait() else None)
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def loss_in(lines):
    """The first goal in a log that is not valid: (name, the provers' verdicts), or None."""
    found = None
    for text in lines:
        attempt = wplog.ATTEMPT.match(text.rstrip("\n"))
        if found and not attempt:
            return found
        if found:
            found = (found[0], f"{found[1]} {attempt['prover']}: {attempt['verdict']}".strip())
            continue
        g = wplog.GOAL.match(text.rstrip("\n"))
        if g and g["verdict"] != "Valid":
            said = f"{g['prover']}: {g['verdict']}" if g["verdict"] else ""
            found = (re.sub(r"^typed_(real_)?", "", g["name"]), said)
        elif re.search(r"User Error|aborted|Memory model hypotheses", text):
            return text.strip()[:120], ""
    return found
