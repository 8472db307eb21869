"""Runs the scripts of proofs/ on broken copies of proofs/gate_tests/base."""

import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BASE = os.path.join(ROOT, "proofs", "gate_tests", "base")
WORK = os.path.join(ROOT, "build", "gate_tests")
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("ZP_REUSED", "ZP_DIFFERENCES")}
ENVIRONMENT["ZP_VERDICTS"] = "none"


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


def script(name, tree, *args, **environment):
    """Runs a script of proofs/ on the tree, by default without stored verdicts."""
    return subprocess.run(
        [sys.executable, os.path.join(ROOT, "proofs", name), "--root", tree, *args],
        capture_output=True,
        text=True,
        env={**ENVIRONMENT, **environment},
    )


def gate(tree, **environment):
    run = script("gate.py", tree, "--json", **environment)
    try:
        return run.returncode, json.loads(run.stdout)["problems"]
    except json.JSONDecodeError:
        return run.returncode, [{"kind": "crash", "where": "", "text": run.stdout + run.stderr}]


def reported(problems, kind, part):
    return any(
        p["kind"].startswith(kind) and part in p["where"] + ": " + p["text"] for p in problems
    )


def check(name, ok, problems=()):
    """(passed, the lines that say so)"""
    lines = [f"{'ok' if ok else 'not ok'} {name}"]
    if not ok:
        lines += [f"    {p['kind']}: {p['where']}: {p['text'][:200]}" for p in problems]
    return ok, lines


def output(run):
    return [{"kind": "run", "where": "", "text": run.stdout + run.stderr}]
