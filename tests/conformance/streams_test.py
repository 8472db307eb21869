"""Tests the race check of stream events: it finds injected races, accepts ordered programs, and
these tests fail if any rule of the check is broken. Prints ok / not ok lines."""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [
    os.path.join(ROOT, "conformance", "judge"),
    os.path.join(ROOT, "conformance", "adapters", "selftest"),
]

# the judge and the self-test adapters both have a module "streams"
import streamlog  # noqa: E402
import streams as judge  # noqa: E402

sys.modules.pop("streams")
sys.path.remove(os.path.join(ROOT, "conformance", "judge"))
import streams as injected  # noqa: E402

COMMAND = os.environ["ZEROPROOF"]
TRAINER = f"{sys.executable} {ROOT}/conformance/adapters/selftest/trainer.py"
failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print(
        f"{'ok' if good else 'not ok'} {name}{'' if good else ' # ' + str(why)[:600]}", flush=True
    )


def clauses_of(logs):
    return {race.clause for race in judge.check(logs).races}


# ---- Injected races ------------------------------------------------------------------------------


def injected_bad():
    """Programs for which the check disagrees with the table."""
    bad = []
    for producers in (1, 2, 3):
        for without, (clause, _) in {None: (None, ""), **injected.LEFT_OUT}.items():
            logs = [injected.program(rank, 2, 3, producers, without) for rank in range(2)]
            found = clauses_of(logs)
            wanted = (
                {clause} if clause and not (without == "producer" and producers == 1) else set()
            )
            if found != wanted:
                bad.append((producers, without, found))
    return bad


def test_injected():
    check(
        "each missing wait is reported under its clause, and nothing else is reported",
        not injected_bad(),
        injected_bad(),
    )
    log = injected.program(0, 2, 1, 2, "producer")
    race = judge.check([log]).races[0]
    good = (
        "write copy on producer 1" in race.text()
        and "all_reduce on reduce" in race.text()
        and "16 bytes" in race.text()
    )
    check("a race names both accesses, their streams and bytes", good, race.text())


# ---- Small logs, one rule per log ----------------------------------------------------------------

A, B = [[0, 8]], [[8, 8]]


def log_of(*records, streams=3):
    head = [{"format": judge.FORMAT}, {"stream": 0, "name": "host", "host": True}]
    return [*head, *({"stream": n, "name": f"s{n}"} for n in range(1, streams)), *records]


def op(on, reads=(), writes=(), **more):
    return {"op": "op", "on": on, "reads": list(reads), "writes": list(writes), **more}


W1, R2, W2 = op(1, writes=A), op(2, reads=A), op(2, writes=A)
# name -> (logs of the ranks, races)
RULES = {
    "write, read": ([[W1, R2]], 1),
    "read, write": ([[op(1, reads=A), W2]], 1),
    "write, write": ([[W1, W2]], 1),
    "read, read": ([[op(1, reads=A), R2]], 0),
    "other bytes": ([[W1, op(2, reads=B)]], 0),
    "one byte of it": ([[W1, op(2, reads=[[7, 2]])]], 1),
    "next to it": ([[W1, op(2, reads=[[8, 1], [100, 1]])]], 0),
    "one stream": ([[W1, op(1, reads=A)]], 0),
    "event": ([[W1, {"record": 1, "on": 1}, {"wait": 1, "on": 2}, R2]], 0),
    "event recorded too early": ([[{"record": 1, "on": 1}, W1, {"wait": 1, "on": 2}, R2]], 1),
    "event never recorded": ([[W1, {"wait": 1, "on": 2}, R2]], 1),
    "event recorded again": (
        [[W1, {"record": 1, "on": 1}, {"record": 1, "on": 2}, {"wait": 1, "on": 2}, R2]],
        1,
    ),
    "event waited for elsewhere": ([[W1, {"record": 1, "on": 1}, {"wait": 1, "on": 1}, R2]], 1),
    "wait for what came later": ([[{"wait_stream": 1, "on": 2}, W1, R2]], 1),
    "stream waits for stream": ([[W1, {"wait_stream": 1, "on": 2}, R2]], 0),
    "the other way round": ([[W1, {"wait_stream": 2, "on": 1}, R2]], 1),
    "host waits, then queues": ([[W1, {"wait_stream": 1, "on": 0}, R2]], 0),
    "host synchronizes the device": ([[W1, {"synchronize": True, "on": 0}, R2]], 0),
    "host synchronizes before": ([[{"synchronize": True, "on": 0}, W1, R2]], 1),
    "host reads": ([[W1, op(0, reads=A)]], 1),
    "host waits and reads": (
        [[W1, {"record": 1, "on": 1}, {"wait": 1, "on": 0}, op(0, reads=A)]],
        0,
    ),
    "host writes, then queues": ([[op(0, writes=A), R2]], 0),
    "queued, then the host writes": ([[R2, op(0, writes=A)]], 1),
    "through a third stream": (
        [[W1, {"wait_stream": 1, "on": 3}, {"wait_stream": 3, "on": 2}, R2]],
        0,
    ),
    "memory freed and met again": (
        [[W1, {"free": [0, 8], "on": 1}, {"alloc": [0, 8], "on": 2}, W2]],
        0,
    ),
    "freed while used, handed out": (
        [[W1, R2, {"free": [0, 8], "on": 1}, {"alloc": [64, 8], "on": 1}, op(1, writes=[[64, 8]])]],
        2,
    ),
    "freed while used, kept": (
        [
            [
                W1,
                {"wait_stream": 1, "on": 2},
                R2,
                {"free": [0, 8], "on": 1, "after": [2]},
                {"alloc": [64, 8], "on": 1},
                op(1, writes=[[64, 8]]),
            ]
        ],
        0,
    ),
    "freed while used, too small": (
        [
            [
                W1,
                {"wait_stream": 1, "on": 2},
                R2,
                {"free": [0, 8], "on": 1},
                {"alloc": [64, 16], "on": 1},
                op(1, writes=[[64, 16]]),
            ]
        ],
        0,
    ),
    "freed while used, waited for": (
        [
            [
                W1,
                {"wait_stream": 1, "on": 2},
                R2,
                {"free": [0, 8], "on": 1},
                {"wait_stream": 2, "on": 1},
                {"alloc": [64, 8], "on": 1},
                op(1, writes=[[64, 8]]),
            ]
        ],
        0,
    ),
    "the host frees": ([[W1, {"free": [0, 8], "on": 0}]], 1),
    "the host waits and frees": ([[W1, {"wait_stream": 1, "on": 0}, {"free": [0, 8], "on": 0}]], 0),
    "through another rank": (
        [
            [op(1, writes=A, gives=["a"]), op(2, takes=["b"]), R2],
            [op(1, takes=["a"]), op(1, gives=["b"])],
        ],
        0,
    ),
    "another rank that was not waited for": (
        [[W1, op(2, takes=["b"]), R2], [op(1, gives=["b"])]],
        1,
    ),
    "ranks share no memory": ([[W1], [W1]], 0),
    "two hosts": (
        [
            [
                {"stream": 9, "host": True},
                {**W1, "by": 9},
                {"record": 1, "on": 1, "by": 9},
                {"wait": 1, "on": 0},
                R2,
            ]
        ],
        0,
    ),
    "another host waits, and queues": (
        [[W1, {"stream": 9, "host": True}, {"wait_stream": 1, "on": 9}, {**R2, "by": 9}]],
        0,
    ),
    "one host waits, another queues": (
        [[W1, {"stream": 9, "host": True}, {"wait_stream": 1, "on": 9}, R2]],
        1,
    ),
    "two hosts, unordered": ([[{"stream": 9, "host": True}, op(9, writes=A), R2]], 1),
}


def rules_bad():
    bad = []
    for name, (logs, races) in RULES.items():
        try:
            found = judge.check([log_of(*log, streams=4) for log in logs]).races_all
        except judge.InvalidLog as error:
            found = str(error)
        if found != races:
            bad.append((name, found, races))
    return bad


def test_rules():
    check(
        f"{len(RULES)} small logs, one rule per log, have the right number of races",
        not rules_bad(),
        rules_bad(),
    )


# ---- Random logs, against the graph --------------------------------------------------------------


def random_log(dice):
    records, streams = [], dice.randrange(2, 5)
    for _ in range(dice.randrange(4, 30)):
        on, what = dice.randrange(streams), dice.randrange(8)
        if what < 4:
            at = dice.randrange(6)
            access = [[at, dice.randrange(1, 4)]]
            records.append(op(on, *((access, ()) if dice.random() < 0.5 else ((), access))))
        elif what < 6:
            records.append({dice.choice(["record", "wait"]): dice.randrange(3), "on": on})
        elif what == 6:
            records.append({"wait_stream": dice.randrange(streams), "on": on})
        elif dice.random() < 0.3:
            records.append({"synchronize": True, "on": 0})
    return log_of(*records, streams=streams), streams


def graph_races(log, streams):
    """Pairs of conflicting records without a path between them, by the definition, pair by pair."""
    last, event, before, ops = {}, {}, [], []
    for number, record in enumerate(log):
        before.append(set())
        if "on" not in record:
            continue
        sources = [last.get(record["on"]), last.get(0)]
        if "wait" in record:
            sources.append(event.get(record["wait"]))
        if "wait_stream" in record:
            sources.append(last.get(record["wait_stream"]))
        if "synchronize" in record:
            sources += [last.get(s) for s in range(streams)]
        for source in sources:
            if source is not None:
                before[number] |= before[source] | {source}
        last[record["on"]] = number
        if "record" in record:
            event[record["record"]] = number
        if "op" in record:
            ops.append(number)

    def touches(number, kind):
        return {b for at, size in log[number][kind] for b in range(at, at + size)}

    return {
        (i, k)
        for i in ops
        for k in ops
        if i < k
        and i not in before[k]
        and (
            touches(i, "writes") & (touches(k, "writes") | touches(k, "reads"))
            or touches(i, "reads") & touches(k, "writes")
        )
    }


class Pairs(judge.Checker):
    """Collects the record numbers of each race."""

    def report(self, rank, old, new, at, size):
        self.__dict__.setdefault("pairs", set()).add((old.op.number, new.op.number))
        super().report(rank, old, new, at, size)


def random_bad(count, seed=1):
    """Every reported pair must be a race, and a log with races must have a report. Not every racing
    pair is reported: an access is dropped once a later one represents it."""
    dice, bad = random.Random(seed), []
    for number in range(count):
        log, streams = random_log(dice)
        right = graph_races(log, streams)
        done = Pairs([log])
        done.run()
        reported = getattr(done, "pairs", set())
        if not reported <= right or bool(reported) != bool(right):
            bad.append((number, sorted(reported), sorted(right)))
    return bad


def test_random():
    bad = random_bad(3000)
    check("3000 random logs agree with the graph of their waits", not bad, bad[:2])


# ---- Broken checks must fail these tests ---------------------------------------------------------


def broken(name, target, attribute, new):
    with unittest.mock.patch.object(target, attribute, new):
        try:
            missed = not (injected_bad() or rules_bad() or random_bad(300))
        except (judge.InvalidLog, KeyError, IndexError, TypeError, AttributeError):
            missed = False  # an exception fails the tests as well
    check(f"a check {name} fails the tests", not missed)


def test_broken():
    checker, real_process = judge.Checker, judge.Checker.process

    def without(*kinds):
        return lambda self, rank, record: (
            True if any(k in record for k in kinds) else real_process(self, rank, record)
        )

    for kind in ("record", "wait", "wait_stream", "synchronize", "free"):
        broken(f"that ignores {kind} records", checker, "process", without(kind))
    broken("that orders all accesses", judge.Access, "before", lambda self, clock: True)
    broken("that orders no accesses", judge.Access, "before", lambda self, clock: False)
    broken(
        "that is off by one tick",
        judge.Access,
        "before",
        lambda self, clock: self.by < len(clock) and clock[self.by] >= self.tick - 1,
    )
    broken(
        "that ignores the order of the host",
        checker,
        "reach",
        lambda self, rank, number, record: self.clock(rank, number),
    )
    broken("that does not split ranges", judge.Shadow, "cut", lambda self, at: None)
    broken(
        "that keeps accesses to freed memory", judge.Shadow, "forget", lambda self, at, end: None
    )
    broken("that never reuses freed memory", checker, "allocate", lambda self, rank, record: None)

    def ignoring(field):
        return lambda self, rank, record: real_process(
            self, rank, {k: v for k, v in record.items() if k != field}
        )

    for field in ("after", "takes", "reads", "writes", "by"):
        broken(f'that ignores "{field}"', checker, "process", ignoring(field))


# ---- Invalid logs --------------------------------------------------------------------------------


def test_malformed():
    rows = {
        "an undeclared stream": [op(7)],
        "an unknown record": [{"hello": 1}],
        "another format": [{"format": "x/9"}],
        "a range of one number": [op(1, reads=[[3]])],
        "a key that no record gives": [op(1, takes=["x"])],
    }
    for name, records in rows.items():
        try:
            judge.check([log_of(*records)])
            check(f"{name} is refused", False)
        except judge.InvalidLog as error:
            check(f"{name} is refused", "rank 0" in str(error), error)
    with tempfile.TemporaryDirectory() as folder:
        check("a folder without files has no logs", judge.read(folder, 2) is None)
        for text, code, words in (
            ("{", 2, "line 1"),
            ("[]", 2, "expected a JSON object"),
            ("", 2, "no stream logs"),
            # a name that would reverse the text on a terminal is escaped
            ('{"stream": 1}\n{"record": 1, "on": 1}\n{"wait": 1, "on": "\u202e"}', 2, "\\u202e"),
        ):
            with open(streamlog.file_of(folder, 0), "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run(
                [sys.executable, "-B", f"{ROOT}/conformance/judge/streams.py", folder],
                capture_output=True,
                text=True,
            )
            check(
                f"a file with {text!r} is refused",
                done.returncode == code and words in done.stderr,
                done.stderr,
            )
        # the number of ranks, from a file's name, is not a number of turns
        with open(streamlog.file_of(folder, (1 << 64) + 1), "w", encoding="utf-8") as file:
            file.write("{}")
        done = subprocess.run(
            [sys.executable, "-B", f"{ROOT}/conformance/judge/streams.py", folder],
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)),
        )
        check(
            "a file of rank 2^64 + 1 is refused",
            done.returncode == 2 and "a rank above 131071" in done.stderr,
            done.stderr,
        )
        os.remove(streamlog.file_of(folder, (1 << 64) + 1))
        for without, code in ((None, 0), ("slot", 1)):
            with open(streamlog.file_of(folder, 0), "w", encoding="utf-8") as file:
                file.writelines(json.dumps(r) + "\n" for r in injected.program(0, 2, 2, 2, without))
            done = subprocess.run(
                [sys.executable, "-B", f"{ROOT}/conformance/judge/streams.py", folder],
                capture_output=True,
                text=True,
            )
            check(
                f"streams.py exits with {code} if the missing wait is {without}",
                done.returncode == code and (code == 0 or "STRM-2" in done.stdout),
                done.stdout + done.stderr,
            )


def test_schema():
    try:
        import jsonschema
    except ImportError:
        print("not run: the schema of stream logs (no python3-jsonschema)")
        return
    with open(os.path.join(ROOT, "conformance/schema/streams.json"), encoding="utf-8") as file:
        schema = jsonschema.Draft202012Validator(json.load(file))
    logs = [injected.program(0, 2, 1, 3, without) for without in (None, *injected.LEFT_OUT)]
    logs += [log_of(*log) for rows, _ in RULES.values() for log in rows]
    errors = [e.message for log in logs for record in log for e in schema.iter_errors(record)]
    check("every record conforms to the schema", not errors, errors[:3])
    bad = [{"op": "x"}, {"wait": "e", "on": 1}, {"record": 1}, {"free": [1], "on": 1}, {"what": 1}]
    accepted = [record for record in bad if schema.is_valid(record)]
    check("the schema rejects malformed records", not accepted, accepted)


# ---- Through the command -------------------------------------------------------------------------


def run(adapter, *more):
    done = subprocess.run(
        [COMMAND, "check", "--adapter", adapter, "--json", "--shrink", "100", "--jobs", "2", *more],
        capture_output=True,
        text=True,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def test_command():
    code, report, errors = run(f"{TRAINER} streams", "--cases", "20")
    clauses = (report or {}).get("clauses", {})
    check(
        "stream events that are ordered pass",
        code == 0 and clauses.get("STRM-1", [0])[0] == 20,
        errors or report,
    )
    code, report, _ = run(f"{TRAINER} streams", "--cases", "20", "--level", "2")
    check(
        "level 2 does not judge them",
        code == 0 and report["clauses"]["STRM-1"][0] == 0,
        report["clauses"],
    )
    rows = {name: (clause, "race") for name, (clause, _) in injected.LEFT_OUT.items()}
    rows.update(
        {
            "none": ("RUN-2", "no stream log"),
            "bare": ("RUN-2", "stream log incomplete"),
            "short": ("RUN-2", "stream log incomplete"),
            "garbage": ("RUN-2", "malformed stream log"),
        }
    )
    for name, (clause, kind) in rows.items():
        code, report, errors = run(f"{TRAINER} streams-{name}", "--cases", "20")
        seen = [(c["clause"], c["kind"]) for c in (report or {"causes": []})["causes"]]
        good = code == 1 and seen and all(c == clause and k.startswith(kind) for c, k in seen)
        check(f"streams-{name} is reported as {clause} {kind}", good, errors or seen)
        if name in ("none", "bare"):
            rows = {
                c: n[0]
                for c, n in (report or {"clauses": {}})["clauses"].items()
                if c.startswith("STRM")
            }
            check(f"streams-{name} passes no STRM clause", rows and not any(rows.values()), rows)


# ---- DeepSpeed -----------------------------------------------------------------------------------

VENVS = os.environ.get("ZP_VENVS", os.path.expanduser("~/.cache/zeroproof/venv"))
SIMPLE = "precision=fp32,reduce=exact,M=1,ep=1,optim=sgd,pp=1,stage=2,steps=1,tp=1,unit=0,"
# conformance/STREAMS.md; version -> recipe -> clause of the first race, or None
DEEPSPEED = {
    "0.19.2": {"seed=9,bucket=4,dp=2,list=2@0.0+2@0.0+2@0.0+2@0.0 streams=2": "STRM-1"},
    "0.19.8": {
        "seed=9,bucket=4,dp=2,list=2@0.0+2@0.0+2@0.0+2@0.0 streams=2": None,
        "seed=5,bucket=4,dp=2,list=2@0.0+1@0.0+1@0.0+1@0.0+3@0.0+1@0.0+1@0.0+2@0.0+1@0.0+2@0.0 "
        "streams=2": "STRM-2",
        "seed=6,bucket=8,dp=4,list=4@0.0+4@0.0+16@0.0+8@0.0": "STRM-6",
    },
}


def test_deepspeed():
    for version, recipes in DEEPSPEED.items():
        python = f"{VENVS}/deepspeed-{version}/bin/python"
        if not os.access(python, os.X_OK):
            print(
                f"not run: DeepSpeed {version} (needs sh conformance/subject.sh "
                f"deepspeed-{version})"
            )
            continue
        only = [word for recipe in recipes for word in ("--only", SIMPLE + recipe)]
        _, report, errors = run(
            f"{python} {ROOT}/conformance/adapters/deepspeed_streams_adapter.py",
            "--shrink",
            "0",
            *only,
        )
        seen = [
            r["findings"][0]["clause"] if r["findings"] else None
            for r in (report or {"results": []})["results"]
        ]
        good = sorted(map(str, seen)) == sorted(map(str, recipes.values()))
        check(f"DeepSpeed {version}: {', '.join(map(str, recipes.values()))}", good, errors or seen)


# functions that the adapter declares to replace, and those that replaced.py replaces to test itself
DECLARED = ["deepspeed.accelerator.cpu_accelerator.CPU_Accelerator.is_fp16_supported"]
INJECTED = [
    f"deepspeed.runtime.engine.DeepSpeedEngine{n}" for n in ("().backward", ".__init__", ".step")
]


def test_replaced():
    """The adapter for DeepSpeed's streams replaces none of DeepSpeed's reduction, norm and step."""
    python = f"{VENVS}/deepspeed-0.19.8/bin/python"
    if not os.access(python, os.X_OK):
        print(
            "not run: functions that DeepSpeed's adapter replaces (needs sh conformance/subject.sh "
            "deepspeed-0.19.8)"
        )
        return
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        subprocess.run(
            [COMMAND, "cases", SIMPLE + "seed=5,bucket=4,dp=1,list=2@0.0+1@0.0+5@0.0"],
            stdout=file,
            check=True,
        )
        done = subprocess.run(
            [python, "-B", f"{HERE}/replaced.py", "deepspeed_streams_adapter", file.name],
            capture_output=True,
            text=True,
        )
    lines = (
        [json.loads(line) for line in done.stdout.splitlines()[-2:]] if done.returncode == 0 else []
    )
    check(
        "the streams adapter replaces only the functions it declares",
        lines[:1] == [DECLARED],
        done.stderr or lines,
    )
    check(
        "a replaced step would be detected",
        lines[1:] == [DECLARED + INJECTED],
        done.stderr or lines,
    )


def main():
    tests = {name[5:]: run for name, run in globals().items() if name.startswith("test_")}
    for name, test in tests.items():
        if len(sys.argv) < 2 or name in sys.argv[1:]:
            test()
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
