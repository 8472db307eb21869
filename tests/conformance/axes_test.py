"""Each axis shows a bug that only its cases show: a mutant of ref or cuda fails a case of the axis
with the expected clause, and passes the same case with the axis at its first value. Without the bug
both pass."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "conformance", "judge"))

import axes  # noqa: E402
import checkpoint  # noqa: E402
import mutants  # noqa: E402
import protocol  # noqa: E402
from adapter import Adapter  # noqa: E402
from recipe import recipe_of  # noqa: E402
from run import ALONE, run_one  # noqa: E402
from tools import Tools  # noqa: E402

BASE = "precision=fp32,reduce=exact,M=2,bucket=1024,dp=2,stage=1,optim=sgd,seed=7"
SMALL = BASE.replace("1024", "4")
SCALED = "precision=fp32,reduce=exact,M=1,bucket=1024,dp=2,stage=1,optim=sgd,seed=7,unit=-3"
ADAMW = BASE.replace("sgd", "adamw")
LOADED = "CKPT-5 after loading:"
# (axis and value, engine, mutant, clause and kind, recipe with the axis, recipe without it)
CASES = [
    (
        ("overflow sum", "ref", "local-overflow", "STEP-6 skip"),
        f"sum=1,{BASE},steps=2,list=6@0.0 sums=ordered",
        f"{BASE},steps=2,overflow=2,list=6@0.0 sums=ordered",
    ),
    (
        ("rates changing", "ref", "late-rate", "RED-2 ratio"),
        f"rates=1,{BASE},steps=2,list=6@0.0",
        f"{BASE},steps=2,list=6@0.0",
    ),
    (
        ("start differ", "ref", "own-first", "PART-6 moved"),
        f"{BASE},list=6@0.0 start=differ",
        f"{BASE},list=6@0.0",
    ),
    (
        ("stages_groups frozen", "ref", "idle-scale", "SCALE-4 scale"),
        f"{SCALED},pp=2,steps=2,scale=3:1:1:0:0:24,list=6@0.0+4@1.0f",
        f"{SCALED},pp=2,steps=2,scale=3:1:1:0:0:24,list=6@0.0+4@1.0",
    ),
    (
        ("stages_groups replicas", "ref", "tied-stage", "RED-3 missing"),
        f"{BASE},pp=2,list=6@0.0+4@0.0t0+4@1.0t0",
        f"{BASE},pp=2,list=6@0.0+4@0.0t0+4@1.0+4@1.0t0",
    ),
    (
        ("frozen tied", "ref", "frozen-tied", "PART-1 frozen"),
        f"{BASE},pp=2,list=6@0.0+4@0.0ft0+4@1.0+4@1.0ft0",
        f"{BASE},pp=2,list=6@0.0+4@0.0t0+4@1.0+4@1.0t0",
    ),
    (
        ("option offload", "cuda", "drop-sync:averaged.wait", "RED-3 missing"),
        f"{SMALL},steps=4,list=6@0.0+9@0.0 offload=yes order=lazy",
        f"{SMALL},steps=4,list=6@0.0+9@0.0 order=lazy",
    ),
    (
        ("reload same", "ref", "lost-moments", f"{LOADED} OPT-4 loaded moments2"),
        f"{ADAMW},steps=2,list=6@0.0 reload=same",
        f"{ADAMW},steps=2,list=6@0.0",
    ),
    (
        ("reload same", "ref", "lost-powers", f"{LOADED} OPT-4 update"),
        f"{ADAMW},steps=2,list=6@0.0 reload=same",
        f"{ADAMW},steps=2,list=6@0.0",
    ),
    (
        ("reload same", "ref", "lost-counters", f"{LOADED} SCALE-4 scale"),
        f"{SCALED},steps=2,scale=3:1:1:0:0:24,list=6@0.0 reload=same",
        f"{SCALED},steps=2,scale=3:1:1:0:0:24,list=6@0.0",
    ),
    (
        ("reload dp", "ref", "next-shard", f"{LOADED} OPT-4 loaded masters"),
        f"{BASE},steps=2,list=6@0.0 reload=dp",
        f"{BASE},steps=2,list=6@0.0",
    ),
    (
        ("reload zero", "ref", "rounded-masters", f"{LOADED} OPT-4 loaded masters"),
        f"{ADAMW.replace('fp32', 'bf16')},steps=4,list=40@0.0 reload=zero",
        f"{ADAMW.replace('fp32', 'bf16')},steps=4,list=40@0.0",
    ),
]
SIMDEV = os.path.join(os.path.dirname(mutants.command("ref").split()[0]), "zeroproof-simdev")
failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print(f"{'ok' if good else 'not ok'} {name}{'' if good else f' # {why}'}", flush=True)


def findings(tools, engine, fault, text, returns=None):
    """Clause and kind of each finding in the case of a recipe. returns: the fields that count."""
    adapter = Adapter(mutants.command(engine, fault), mutants.DEADLINE)
    try:
        hello = adapter.hello()
        case, why = axes.case_of(tools, axes.Space(hello), recipe_of(text))
        if case is None:
            return [why]
        out = run_one(
            adapter,
            tools,
            case,
            recipe_of(text),
            {**hello, "returns": returns or hello["returns"]},
            2,
        )
        if out.status == "unsupported":
            return [out.answer["message"]]
        return [f"{f.clause} {f.kind}" for f in out.findings]
    finally:
        adapter.stop(gracefully=True)


def ignores_reload():
    """True if the judge refuses the answer of an adapter that runs all steps in one go."""
    case = {"world": 1, "steps": 3, "micro_batches": 1, "reload": {"after": 2}}
    answers = [{"ranks": [{"rank": 0, "steps": [first, {}, {}]}]} for first in (None, {})]
    protocol.load(answers[0], case, protocol.Budget(0))
    try:
        protocol.load(answers[1], case, protocol.Budget(0))
    except protocol.Malformed:
        return True
    return False


def main():
    tools = Tools()
    for (axis, engine, fault, finding), text, plain in CASES:
        if engine == "cuda" and not os.access(SIMDEV, os.X_OK):
            print(f"not run: {axis} (needs zeroproof-simdev: make simdev-command)")
            continue
        got = findings(tools, engine, fault, text)
        check(f"{axis}: {fault} is caught", got[:1] == [finding], got)
        got = findings(tools, engine, fault, plain)
        check(f"{axis}: {fault} passes without the axis", not got, got)
        for one in (text, plain):
            got = findings(tools, engine, None, one)
            check(f"{axis}: {engine} passes {one[:40]}…", not got, got)
    text = f"{BASE},steps=2,list=6@0.0"
    got = findings(tools, "ref", "stale-forward", text)
    check("loss: stale-forward is caught", got[:1] == ["STEP-8 loss"], got)
    others = [*("norm", "scale", "skipped", "parameters", "masters", "gradients", "ledger")]
    got = findings(tools, "ref", "stale-forward", text, others)
    check("loss: stale-forward passes without the loss", not got, got)
    for (axis, engine, fault, _), text, _ in CASES:
        if axis.startswith("reload") and fault != "lost-counters":
            got = findings(tools, engine, fault, text, ["parameters", "ledger"])
            good = got[:1] and got[0].startswith(LOADED)
            check(f"{axis}: parameters alone show {fault}", good, got)
    known = {**axes.AXES, "world": 64}
    splits = [
        (dp, m, checkpoint.split_before("dp", known, {"zero": 1, "dp": dp, "micro_batches": m}))
        for dp in axes.AXES["dp"]
        for m in axes.AXES["micro_batches"]
    ]
    odd = [
        (dp, m, split)
        for dp, m, split in splits
        for n in (split or {}).values()
        if n & (n - 1) and n not in (dp, m)
    ]
    check("reload: exact for D and M, exact for the other split", not odd, odd)
    found = [split for _, _, split in splits if split]
    check("reload: most sizes have another split", len(found) > len(splits) / 2, splits)
    check("reload: an answer with the steps before the checkpoint is refused", ignores_reload())
    got = findings(tools, "ref", "own-first", f"{BASE},steps=2,list=6@0.0 start=differ reload=same")
    check("reload: not judged if the steps before the checkpoint fail", got == [ALONE], got)
    text = f"{BASE.replace('seed=7', 'seed=8')},steps=3,list=6@0.0 reload=same"
    got = findings(tools, "ref", "stale-forward", text)
    check("reload: what fails without it too is not lost by it", got[:1] == ["STEP-8 loss"], got)
    tools.close()
    return 1 if failed else 0


sys.exit(main())
