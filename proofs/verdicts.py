"""Stored verdicts of proof units and mutants: tests/runner/store.py says how they are stored.

The verdict of a unit names each of its goals with the prover that proved it, and has all other
inputs of the gate. The gate judges a stored verdict like the reports of a run. CLAIMS.md is written
from runs only."""

import functools
import json
import os
import random
import re
import sys
import threading
import time

import project as pj

REPOSITORY = os.path.dirname(pj.HERE)
sys.path.insert(0, os.path.join(REPOSITORY, "tests", "runner"))

import inputs as runner_inputs  # noqa: E402
import store as runner_store  # noqa: E402
import wplog  # noqa: E402

PACKAGES = ("frama-c-base", "why3", "z3", "cvc4", "cvc5", "gcc")
SCRIPTS = ("verdicts.py", "wplog.py")
COMMITTED = "proofs/verdicts.txt"
COLUMNS = ("function", "file", "line", "property kind", "status", "property")
UNPROVED = "not proven"
SIMPLIFIERS = ("Qed", "CFG")  # parts of WP: their results do not depend on time


def shared_trees():
    """The folder of the syntax trees of all source trees; None if stored results are disabled."""
    folder = os.path.join(os.path.dirname(runner_store.folder()), "trees")
    return folder if runner_store.Store().mode == "use" else None


def again(project, script, name):
    """The command that computes a verdict again, run in the repository's root."""
    where = [] if project.root == REPOSITORY else ["--root", project.root]
    return ["python3", "-B", f"proofs/{script}", *where, "--again", name]


def base(kind, name, parts):
    found = runner_inputs.Inputs(kind, name).packages(*PACKAGES)
    for script in SCRIPTS:
        found.add(f"script {script}", pj.file_digest(os.path.join(pj.HERE, script)))
    for label, value in parts.items():
        found.add(label, value)
    return found


def of_unit(plan, u):
    return base("proof", u.name, {"unit": plan.stamps[u.name]})


def of_mutant(plan, name, edits, targets, limits):
    """targets: [(unit, functions)] to prove again; limits: the other inputs of the verdict."""
    parts = {f"unit {unit}": plan.stamps[unit] for unit, _ in targets}
    parts["edits"] = pj.digest(*[x for edit in edits for x in edit])
    parts["targets"] = pj.digest(*[str(t) for t in targets], *limits)
    for script in ("mutate.py", "losses.py"):
        parts[f"script {script}"] = pj.file_digest(os.path.join(pj.HERE, script))
    return base("mutant", name, parts)


# ---- Verdicts in the repository ------------------------------------------------------------------


def committed_key(inputs):
    """Everything that a unit's verdict depends on, but not the versions of all packages below the
    tools: the same on each machine with these tools."""
    parts = {k: v for k, v in inputs.parts.items() if not k.startswith("packages ")}
    return pj.digest(inputs.name, json.dumps(parts, sort_keys=True))


def write_committed(plan, results):
    """Writes proofs/verdicts.txt, one line `UNIT KEY JSON` for each unit. results: {unit: (packed
    result, seconds, CPU seconds)}, from runs in this source tree."""
    units = {u.name: u for u in plan.units}
    with open(plan.project.path(COMMITTED), "w") as f:
        for name, (result, seconds, cpu) in sorted(results.items()):
            value = {"result": result, "wall": seconds, "cpu": cpu}
            text = json.dumps(value, sort_keys=True, separators=(",", ":"))
            f.write(f"{name} {committed_key(of_unit(plan, units[name]))} {text}\n")


@functools.cache
def committed():
    """The verdicts of proofs/verdicts.txt by key, not parsed."""
    path = os.path.join(REPOSITORY, COMMITTED)
    lines = pj.read(path).splitlines() if os.path.exists(path) else []
    return dict(line.split(" ", 2)[1:] for line in lines)


# ---- A unit's reports as JSON and back -----------------------------------------------------------


def pack(meta, log, counts, rows):
    """The reproducible part of a unit's reports. Controls have no prover, because a prover may give
    up in one run and time out in another."""
    stages = meta["stages"]
    return {
        "goals": [[g.stage, g.name, g.prover] for g in log.goals if g.stage < stages],
        "controls": [[g.stage, g.name, UNPROVED] for g in log.goals if g.stage == stages],
        "proved": [list(p) for p in log.proved],
        "counts": [counts.get("valid", 0), counts.get("total", 0)],
        "sentinels": meta["sentinels"],
        "stages": stages,
        "properties": [[row[c] for c in COLUMNS] for row in rows],
    }


def unpack(result):
    """(log, goals.json, rows of properties.csv) of a stored verdict."""
    log = wplog.Log(proved=[tuple(p) for p in result["proved"]])
    for stage, name, prover in result["goals"]:
        log.goals.append(wplog.Goal(name, bool(prover), prover, 0.0, "", stage))
    for stage, name, said in result["controls"]:
        log.goals.append(
            wplog.Goal(name, said != UNPROVED, "", 0.0, f"stored: Unknown ({said})", stage)
        )
    valid, total = result["counts"]
    goals = {"wp:global": {"wp:main": {"valid": valid, "total": total}}}
    return log, goals, [dict(zip(COLUMNS, row, strict=True)) for row in result["properties"]]


# ---- Comparison ----------------------------------------------------------------------------------


def other_provers(stored, computed):
    """Goals that are proven in both results, by different provers: a prover that ran out of time
    leaves its goal to the next. [(goal, stored prover, computed prover)], or None if more than that
    differs."""

    def rest(result):
        return {k: v for k, v in result.items() if k != "goals"}

    if rest(stored) != rest(computed) or len(stored["goals"]) != len(computed["goals"]):
        return None
    found = []
    for (stage, name, prover), (stage2, name2, prover2) in zip(
        stored["goals"], computed["goals"], strict=True
    ):
        if (stage, name) != (stage2, name2):
            return None
        if prover != prover2:
            if not prover or not prover2 or prover in SIMPLIFIERS or prover2 in SIMPLIFIERS:
                return None
            found.append((name, prover, prover2))
    return found


def difference(stored, computed):
    """One line: where two results of a unit differ."""
    if "failed" in computed:
        return f"stored: passed; computed: {computed['failed']}"
    if "killed" in computed:
        said = [f"{'killed' if r['killed'] else 'alive'} ({r['goal']})" for r in (stored, computed)]
        return f"stored: {said[0]}, computed: {said[1]}"
    for key in ("goals", "controls"):
        old, new = ({(g[0], g[1]): g[2] for g in r.get(key, [])} for r in (stored, computed))
        for goal in sorted(set(old) | set(new)):
            if old.get(goal) != new.get(goal):
                return (
                    f"{goal[1]}: stored: {old.get(goal, 'no such goal') or UNPROVED}, "
                    f"computed: {new.get(goal, 'no such goal') or UNPROVED}"
                )
    keys = sorted(k for k in set(stored) | set(computed) if stored.get(k) != computed.get(k))
    return f"{', '.join(keys)}: the stored and the computed result differ"


class Verdicts:
    """The store, and the stored verdicts that a computation contradicts."""

    def __init__(self):
        self.store = runner_store.Store()
        self.problems = []  # (name, text)

    @property
    def comparing(self):
        """Whether everything is computed again, to be compared with what is stored."""
        return self.store.mode == "compare"

    def get(self, inputs):
        """The stored verdict, or None. Verdicts of proofs/verdicts.txt are stored first, so that a
        new clone need not run all units. They are trusted like others: some are computed again in
        each run, and cold.py proves goals without any."""
        if self.store.mode == "use" and not self.store._read(inputs):
            text = committed().get(committed_key(inputs))
            if text:
                value = json.loads(text)
                command = ["python3", "-B", "proofs/gate.py", "--again", inputs.name]
                self.store.put(inputs, value["result"], value["wall"], value["cpu"], command)
        return self.store.get(inputs)

    def passed(self, inputs, result, seconds, cpu, command):
        """Stores the verdict, or compares the result with the verdict that is stored already."""
        stored = self._stored(inputs)
        if stored is None:
            self.store.put(inputs, result, wall=seconds, cpu=cpu, again=command)
            return
        if "killed" in result and stored["result"].get("killed") == result["killed"]:
            return  # the first goal that fails can be another one on a slower machine
        others = other_provers(stored["result"], result) if "goals" in result else None
        for goal, old, new in others or []:
            print(f"note: {inputs.name}: {goal}: the stored verdict has {old}, this run {new}")
        self._compare(inputs, stored, stored["result"] if others else result)

    def failed(self, inputs, why):
        """Stores nothing; reports a stored verdict that says that it passed."""
        stored = self._stored(inputs)
        if stored:
            self._compare(inputs, stored, {"failed": why})

    def _stored(self, inputs):
        # Store.get reads only in mode use, and counts what it reads as reused
        return None if self.store.mode == "none" else self.store._read(inputs)

    def _compare(self, inputs, stored, result):
        if stored["result"] != result:
            self.store._compare(inputs, result)
            self.problems.append(
                (
                    inputs.name,
                    f"the stored verdict of commit {stored['commit']} differs: "
                    + difference(stored["result"], result),
                )
            )


def reused_line(found):
    """Says how many verdicts were reused, and of which commits."""
    commits = {}
    for verdict in found:
        commits[verdict["commit"]] = commits.get(verdict["commit"], 0) + 1
    by = ", ".join(
        f"{n} of commit {c}" for c, n in sorted(commits.items(), key=lambda pair: -pair[1])
    )
    return f"{len(found)} verdicts were reused: {by}"


def repeat(found, compute, seconds, jobs):
    """Computes reused verdicts again, drawn at random, until the time is over.

    compute(verdict) -> problems. Returns the names of the repeated ones, and all problems."""

    def needs(verdict):  # the stored wall time is from a run in parallel with seven others
        return min(verdict["wall"], 2 * verdict["cpu"] + 5)

    end = time.monotonic() + seconds
    lock = threading.Lock()
    left = random.sample(found, len(found))
    done, problems = [], []

    def work():
        while True:
            with lock:
                fits = [v for v in left if needs(v) <= end - time.monotonic()]
                if not fits:
                    return
                verdict = fits[0]
                left.remove(verdict)
                done.append(verdict["name"])
            problems.extend(compute(verdict))

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done, problems


def runner_repeats():
    """Whether the tests' runner called. It repeats the verdicts that all its items reused."""
    return bool(os.environ.get("ZP_REUSED"))


def seconds_to_repeat():
    text = os.environ.get("REPEAT_SECONDS") or "60"
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise pj.Problem(f"REPEAT_SECONDS: got '{text}', expected a number of seconds")
    return float(text)
