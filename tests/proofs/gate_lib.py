"""Runs the scripts of proofs/ on broken copies of proofs/gate_tests/base."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BASE = os.path.join(ROOT, "proofs", "gate_tests", "base")
WORK = os.path.join(ROOT, "build", "gate_tests")
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("ZP_REUSED", "ZP_DIFFERENCES")}
ENVIRONMENT["ZP_VERDICTS"] = "none"
sys.path.insert(0, os.path.join(ROOT, "proofs"))
SCRIPTS = {
    n: importlib.import_module(n) for n in ("prove", "gate", "claims", "mutate", "cold", "audit")
}


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
    """Runs a script of proofs/ on the tree, by default without stored verdicts. It runs in a child
    that has the modules already: a new interpreter costs as much as most of the scripts."""
    words = [name, "--root", tree, *args]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(errors.fileno(), 2)
                os.environ.update(ENVIRONMENT | environment)
                sys.argv = words
                code = SCRIPTS[name.removesuffix(".py")].main()
            except SystemExit as end:
                code = end.code
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            os._exit(code or 0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(words, code, out.read(), errors.read())


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
