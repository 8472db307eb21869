"""Each axis shows a bug that only its cases show: a mutant of ref, cuda or the trainer in
adapters/selftest fails a case of the axis with the expected clause, and passes the same case with
the axis at its first value. Without the bug both pass."""

import copy
import os
import sys
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "conformance", "judge"))

import axes  # noqa: E402
import checkpoint  # noqa: E402
import mutants  # noqa: E402
import protocol  # noqa: E402
from adapter import Adapter, AdapterError  # noqa: E402
from recipe import recipe_of  # noqa: E402
from run import ALONE, judge, run_one  # noqa: E402
from tools import Tools  # noqa: E402

BASE = "precision=fp32,reduce=exact,M=2,bucket=1024,dp=2,stage=1,optim=sgd,seed=7"
SMALL = BASE.replace("1024", "4")
SCALED = "precision=fp32,reduce=exact,M=1,bucket=1024,dp=2,stage=1,optim=sgd,seed=7,unit=-3"
MOMENTUM = BASE.replace("sgd", "momentum")
ADAMW = BASE.replace("sgd", "adamw")
LOADED = "CKPT-5 after loading:"
SCALED_BF16 = BASE.replace("fp32", "bf16") + ",unit=-3,scale=3:1:1:0:0:24"
# (axis and value, engine, mutant, clause and kind, recipe with the axis, recipe without it)
CASES = [
    (
        ("overflow sum", "ref", "local-overflow", "STEP-6 skip"),
        f"sum=1,{BASE},steps=2,list=6@0.0 sums=ordered",
        f"{BASE},steps=2,overflow=2,list=6@0.0 sums=ordered",
    ),
    (
        ("overflow sum", "ref", "sum-scale", "SCALE-3 scale"),
        f"sum=1,{SCALED_BF16},steps=2,list=6@0.0 sums=ordered",
        f"{SCALED_BF16},overflow=2,steps=2,list=6@0.0 sums=ordered",
    ),
    (
        ("overflow sum", "ref", "clamped-sum", "RED-2 overflowing sum"),
        f"sum=1,{BASE},clip=0.5,steps=2,list=6@0.0 sums=ordered",
        f"{BASE},overflow=2,clip=0.5,steps=2,list=6@0.0 sums=ordered",
    ),
    *(
        (
            (f"magnitude {value}", "ref", mutant, finding),
            f"first={first},{BASE},unit={first},list=6@0.0",
            f"{BASE},list=6@0.0",
        )
        for value, first, mutant, finding in (
            ("huge", 64, "ds416", "STEP-6 skip"),
            ("minute", -80, "flushed-squares", "STAT-4 norm"),
        )
    ),
    (
        ("rates changing", "ref", "late-rate", "RED-2 ratio"),
        f"rates=1,{BASE},steps=2,list=6@0.0",
        f"{BASE},steps=2,list=6@0.0",
    ),
    *(
        (
            ("sequence yes", "ref", mutant, finding),
            f"{BASE.replace('stage=1', 'stage=2')},tp=2,sequence=1,list=6@0.0+6@0.0s",
            f"{BASE.replace('stage=1', 'stage=2')},tp=2,list=6@0.0+6@0.0s",
        )
        for mutant, finding in (
            ("no-tp-sum", "RED-8 parts missing"),
            ("double-tp-sum", "RED-2 ratio"),
            ("late-tp-sum", "STAT-4 norm"),
            ("early-tp-sum", "RED-8 parts missing"),
        )
    ),
    (
        ("cp 2", "ref", "cp-mean", "RED-2 ratio"),
        f"{BASE},list=6@0.0 cp=2",
        f"{BASE},list=6@0.0",
    ),
    (
        ("etp one", "ref", "etp-mean", "RED-2 ratio"),
        f"{BASE},tp=2,list=6@0.0+6@0.0s etp=one",
        f"{BASE},tp=2,list=6@0.0+6@0.0s",
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
    *(
        (
            ("replicas 2", "replicas", fault, finding),
            f"{BASE.replace('dp=2', 'dp=4')},clip=1048576,list=6@0.0+3@0.0 replicas=2",
            f"{BASE.replace('dp=2', 'dp=4')},clip=1048576,list=6@0.0+3@0.0",
        )
        for fault, finding in (
            ("apart", "RED-3 missing"),
            ("late", "RED-3 missing"),
            ("twice", "RED-3 doubled"),
            ("norm", "STAT-4 norm"),
            ("ignored", "PART-6 unowned"),
            ("ledger", "LEDG-6 too little"),
        )
    ),
    *(
        (
            ("replicas 2", "ref", fault, finding),
            f"{BASE.replace('dp=2', 'dp=4')},clip=1048576,list=6@0.0+3@0.0 replicas=2",
            f"{BASE.replace('dp=2', 'dp=4')},clip=1048576,list=6@0.0+3@0.0",
        )
        for fault, finding in (
            ("no-replica-sum", "RED-3 missing"),
            ("double-replica-sum", "RED-2 ratio"),
            ("replica-norm", "STAT-4 norm"),
            ("replica-mean", "RED-2 ratio"),
            ("replica-first", "RED-3 missing"),
        )
    ),
    *(
        (
            ("groups_vary step", "groups", fault, finding),
            f"late=1,{BASE},steps=2,list=6@0.0+3@0.1",
            f"{BASE},steps=2,list=6@0.0+3@0.1",
        )
        for fault, finding in (
            ("early", "OPT-4 early group"),
            ("never", "OPT-4 lost group"),
            ("lost", "OPT-4 lost group"),
            ("unowned", "PART-6 unowned"),
            ("norm", "STAT-4 norm"),
            ("uncleared", "STEP-4 stale"),
        )
    ),
    *(
        (
            ("groups_vary step", "groups", fault, finding),
            f"late=1,{MOMENTUM},steps=2,list=6@0.0+3@0.1",
            f"{MOMENTUM},steps=2,list=6@0.0+3@0.1",
        )
        for fault, finding in (
            ("rate", "OPT-4 learning rate of another group"),
            ("moment", "RED-2 garbled"),
        )
    ),
    *(
        (
            ("groups_vary rank", "groups", fault, finding),
            f"{MOMENTUM},list=6@0.0+3@0.1 groups_vary=rank",
            f"{MOMENTUM},list=6@0.0+3@0.1",
        )
        for fault, finding in (
            ("partition", "PART-6 unowned"),
            ("collective", "LEDG-2 ledgers differ in all_reduce"),
            ("index", "OPT-4 learning rate of another group"),
        )
    ),
    *(
        (
            ("dtypes mixed", "ref", mutant, finding),
            f"{MOMENTUM.replace('fp32', 'bf16')},steps=2,list=6@0.0+5@0.0w",
            f"{MOMENTUM.replace('fp32', 'bf16')},steps=2,list=6@0.0+5@0.0",
        )
        for mutant, finding in (
            ("narrow-gradients", "STAT-4 norm"),
            ("narrow-parameters", "RED-2 garbled"),
        )
    ),
    (
        ("unused onesided", "ref", "one-sided", "RED-3 missing"),
        f"oneside=1,{BASE},pp=2,list=6@0.0+4@0.0t0+4@1.0+4@1.0t0",
        f"{BASE},pp=2,list=6@0.0+4@0.0t0+4@1.0+4@1.0t0",
    ),
    (
        ("tied stage", "ref", "third-use", "RED-3 missing"),
        f"{BASE},list=6@0.0+4@0.0t0+4@0.0t0+4@0.0t0",
        f"{BASE},list=6@0.0+4@0.0t0+4@0.0t0",
    ),
    (
        ("tied stages and tp", "ref", "tied-shards", "STAT-4 norm"),
        f"{BASE},pp=2,tp=2,list=6@0.0+4@0.0st0+6@1.0+4@1.0st0",
        f"{BASE},pp=2,tp=2,list=6@0.0+4@0.0t0+6@1.0+4@1.0t0",
    ),
    (
        ("scale unit", "ref", "unit-scale", "SCALE-4 scale"),
        f"{BASE},scale=0,list=6@0.0",
        f"{BASE},list=6@0.0",
    ),
    (
        ("option offload", "cuda", "drop-sync:averaged.wait", "RED-3 missing"),
        f"{SMALL},steps=4,list=6@0.0+9@0.0 offload=yes order=lazy",
        f"{SMALL},steps=4,list=6@0.0+9@0.0 order=lazy",
    ),
    (
        ("option gathers", "cuda", "drop-sync:updated.wait", "RED-3 missing"),
        f"{SMALL},steps=4,list=6@0.0+9@0.0 gathers=partial order=lazy",
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
TRAINER = os.path.join(ROOT, "conformance", "adapters", "selftest", "trainer.py")
failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print(f"{'ok' if good else 'not ok'} {name}{'' if good else f' # {why}'}", flush=True)


def command(engine, fault):
    if engine in ("replicas", "groups"):
        return f"{sys.executable} {TRAINER} {engine}{'-' * bool(fault)}{fault or ''}"
    return mutants.command(engine, fault)


def findings(tools, engine, fault, text, returns=None):
    """Clause and kind of each finding in the case of a recipe. returns: all fields of the answer,
    where the adapter has more."""
    adapter = Adapter(command(engine, fault), mutants.DEADLINE)
    try:
        hello = adapter.hello()
        returns = returns or hello["returns"]
        adapter.run = only(adapter.run, returns)
        case, why = axes.case_of(tools, axes.Space(hello), recipe_of(text))
        if case is None:
            return [why]
        out = run_one(
            adapter,
            tools,
            case,
            recipe_of(text),
            {**hello, "returns": returns},
            2,
        )
        if out.status == "unsupported":
            return [out.answer["message"]]
        return [f"{f.clause} {f.kind}" for f in out.findings]
    finally:
        adapter.stop(gracefully=True)


def only(run, names):
    """An adapter's run(case), of whose answers only these fields remain."""

    def reduced(case):
        answer, ledgers = run(case)
        for rank in answer.get("ranks", ()):
            for step in filter(None, rank["steps"]):
                for name in step.keys() - set(names):
                    del step[name]
        return answer, ledgers

    return reduced


def in_parameters(j, element, value):
    def change(ranks):
        for rank in ranks:
            rank["parameters"][f"p{j}"][element] = value

    return change


def in_all(field, value):
    return lambda ranks: [rank.update({field: value}) for rank in ranks]


def sum_case(tools, option, steps):
    """A step whose sum may overflow is judged in full, whether it is taken or skipped: ref's
    answers pass, and each with one wrong value fails."""
    adapter = Adapter(mutants.command("ref"), mutants.DEADLINE)
    hello = adapter.hello()
    text = f"sum=1,{SCALED_BF16},steps={steps},list=6@0.0+5@0.0 sums={option}"
    case, _ = axes.case_of(tools, axes.Space(hello), recipe_of(text))
    answer, ledgers = adapter.run(case)
    adapter.stop(gracefully=True)
    expected = tools.expected(case)
    one = expected["steps"][-1]["either"]
    skipped = option == "ordered"
    name = f"sum, {'skipped' if skipped else 'taken'}, {steps} step(s)"

    def judged(change):
        changed = copy.deepcopy(answer)
        change([rank["steps"][-1] for rank in changed["ranks"]])
        found, _ = judge(case, expected, changed, ledgers, set(hello["returns"]), 2)
        return [f"{f.clause} {f.kind}" for f in found]

    check(f"{name}: ref's answer passes", judged(len) == [], judged(len))
    said = {rank["steps"][-1]["skipped"] for rank in answer["ranks"]}
    check(f"{name}: so says ref", said == {skipped}, said)
    at, other = one["element"], 1 - one["entry"]
    changed = "STEP-6 changed by a skipped step"
    for what, change, clause in (
        ("another parameter", in_parameters(other, 2, "0x1.8p+5"), changed),
        ("an element beside it", in_parameters(one["entry"], at - 1, "0x1.8p+5"), changed),
        ("half of the sum", in_parameters(one["entry"], at, "-0x1.8p+120"), changed),
        ("an infinite element", in_parameters(one["entry"], at, "inf"), changed),
        ("the scale", in_all("scale", "0x1p+9"), "SCALE-3 scale"),
        ("a loss", lambda ranks: ranks[0].update(loss=["0x1p+40"] * 2), "STEP-8 loss"),
        ("the other decision", in_all("skipped", not skipped), None),
        ("different decisions", lambda ranks: in_all("skipped", not skipped)(ranks[1:]), None),
    ):
        found = judged(change)
        right = found and (not skipped or clause is None or found[0] == clause)
        check(f"{name}: {what} is found", right, found)
    found = judged(in_parameters(one["entry"], at, "-0x1.8p+120"))
    check(f"{name}: its kind", skipped or found == ["RED-2 overflowing sum"], found)


def reload_alone():
    """Of an option that only checkpoints have, the values with which rows may have a reload."""
    hello = {
        "supports": {"zero": [1], "dp": [1, 2], "steps": [2], "reload": ["no", "same"]},
        "options": {"form": ["a", "b"]},
        "without": [{"reload": "no", "option form": "b"}],
    }
    space = axes.Space(hello)
    row = {"zero": 1, "dp": 1, "steps": 2, "micro_batches": 1}
    return [
        (reload, form)
        for reload in ("no", "same")
        for form in ("a", "b")
        if space.allows({**row, "reload": reload, "option form": form})
    ]


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


def refused_restart(tools):
    """True if an adapter that cannot be started again, to find out whether a checkpoint is to
    blame, ends the run: it is no failure of the case."""
    adapter = Adapter(mutants.command("ref", "lost-moments"), mutants.DEADLINE)
    hello = adapter.hello()
    recipe = recipe_of(f"{ADAMW},steps=2,list=6@0.0 reload=same")
    case, _ = axes.case_of(tools, axes.Space(hello), recipe)
    answers = [adapter.run(dict(case)), AdapterError("cannot start")]
    adapter.stop(gracefully=True)
    with unittest.mock.patch.object(adapter, "run", side_effect=answers):
        try:
            run_one(adapter, tools, case, recipe, hello, 2)
        except AdapterError:
            return True
    return False


def main():
    tools = Tools()
    for option, steps in (("exact", 2), ("ordered", 2), ("ordered", 1)):
        sum_case(tools, option, steps)
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
    found = reload_alone()
    expected = [("no", "a"), ("same", "a"), ("same", "b")]
    check("reload: options of checkpoints occur with a reload alone", found == expected, found)
    check("reload: an answer with the steps before the checkpoint is refused", ignores_reload())
    check("reload: an adapter that cannot be restarted ends the run", refused_restart(tools))
    got = findings(tools, "ref", "own-first", f"{BASE},steps=2,list=6@0.0 start=differ reload=same")
    check("reload: not judged if the steps before the checkpoint fail", got == [ALONE], got)
    text = f"{BASE.replace('seed=7', 'seed=8')},steps=3,list=6@0.0 reload=same"
    got = findings(tools, "ref", "stale-forward", text)
    check("reload: what fails without it too is not lost by it", got[:1] == ["STEP-8 loss"], got)
    tools.close()
    return 1 if failed else 0


sys.exit(main())
