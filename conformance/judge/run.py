"""Runs cases on a subject: one adapter process per job, and what came of each case."""
import random
import re
import threading
import time
import traceback

import ledger
import streams
from adapter import Adapter
from values import Finding, Judge, Malformed, coordinates

# What must have been compared for a clause to be judged, one of each set: names of Judge.compared, "ledger",
# and of stream events the clauses of which two accesses met. Else: GRADIENTS.
GRADIENTS = {"gradients", "update"}
EVIDENCE = {"STAT-1": {"ledger"}, "STAT-2": {"norm"}, "STAT-3": {"overflow"}, "STAT-4": {"norm"},
            "STEP-6": {"skipped"}, "STEP-7": {"parameters"}, "STEP-8": {"parameters"},
            "SCALE-3": {"scale after an overflow"}, "SCALE-4": {"scale after an update"},
            "OPT-2": {"update"}, "OPT-4": {"update"}, "PART-1": {"frozen"}, "PART-6": {"shares"},
            **{f"LEDG-{n}": {"ledger"} for n in (2, 3, 6, 7)},
            **{f"STRM-{n}": {f"STRM-{n}"} for n in (1, 2, 3, 4, 6)}}


class Outcome:
    """status: pass, fail, unsupported."""

    def __init__(self, case, recipe):
        self.case, self.recipe = case, recipe
        self.status, self.findings, self.judged = "pass", [], set()
        self.answer, self.ledgers, self.expected, self.seconds = None, [], None, 0.0
        self.origin = "covering"  # covering, random, named, selected, fresh, known: who chose it
        self.issued = None  # (hash of what rank 0 issued, elements trained), where ranks communicate

    def forget(self):
        """Of a case that passed nothing but what reports tell: a run may have 100,000."""
        self.case = {k: self.case[k] for k in ("id", "clauses", "hunts", "world")}
        self.answer, self.ledgers, self.expected = {"status": self.answer["status"]}, [], None

    def signature(self):
        return self.findings[0].signature()


def normal(message):
    """An error's text without what differs from case to case; of a Python trace with the function that
    raised it."""
    last = [line for line in str(message).strip().splitlines() if line.strip()][-1:] or [""]
    text = re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?", "N", last[0])
    where = re.findall(r'^ *File ".*", line \d+, in (\S+)$', str(message), re.MULTILINE)[-1:]
    return re.sub(r"'[^']*/[^']*'", "'…'", text)[:120] + "".join(f" in {name}" for name in where)


def judged_by(case, compared):
    """The clauses of a case for which something was compared."""
    return {clause for clause in case["clauses"] if EVIDENCE.get(clause, GRADIENTS) & compared}


def mismatch_finding(case, bad):
    a, b = bad["ranks"]
    text = f"ranks {a} and {b} differ at place {bad['index']} of what they share ({bad['members']}): " \
           f"rank {a} enters {ledger.describe(bad['records'][0])}, rank {b} {ledger.describe(bad['records'][1])}"
    if bad["kind"] == "p2p":
        there = [r for r in bad["records"] if r is not None]
        clause = "PIPE-6" if len(there) == 2 else "PIPE-3"
        return Finding(clause, "message differs", text, detail={"ledger": bad, "symptom": message_words(case, bad, there)})
    ops = sorted({r["op"] for r in bad["records"] if r is not None})
    return Finding("LEDG-2", f"ledgers differ in {', '.join(ops)}", text,
                   detail={"ledger": bad, "symptom": [", ".join(ops)]})


def message_words(case, bad, there):
    """What a message is that its two ends see otherwise."""
    source, target = (coordinates(case, q)[0] for q in bad["members"])
    what = "activation" if source < target else "gradient" if source > target else "within a stage"
    return [what] + [key for key in ("dtype", "count") if len({repr(r.get(key)) for r in there}) > 1]


def ledger_findings(case, expected, answer, ledgers, returns):
    bad = ledger.mismatches(ledgers)
    if answer["status"] != "ok":
        # a rank that was stopped short has not yet entered what others have: no disagreement
        bad = [b for b in bad if None not in b["records"]]
    found = [mismatch_finding(case, b) for b in bad[:1]]
    if not found and answer["status"] == "ok":
        lacks = ledger.too_little(case, ledgers)
        if lacks:
            empty = not any(ledger.ops(r) for r in ledgers)
            found.append(Finding("LEDG-6", "empty ledger" if empty else "too little", lacks[0], detail={"symptom": lacks[1]}))
        if not found and "masters" in returns:
            skipped = [s["skipped"] for s in expected["steps"]]
            found += [Finding("LEDG-6", "ungathered", t) for t in ledger.ungathered(case, ledgers, answer, skipped)]
    return found


def ended_without(case, ledgers):
    """Of a case without an answer: what a rank has entered, and another, which has ended, never will. It is told
    besides what the case died of."""
    bad = [b for b in ledger.mismatches(ledgers) if None in b["records"] and
           ledger.has_ended(ledgers[b["ranks"][b["records"].index(None)]])]
    return [mismatch_finding(case, b) for b in bad[:1]]


def moves(record):
    """Does a communication read or write memory?"""
    return record["op"] != "barrier" and sum(record.get("counts") or [record.get("count") or 0]) > 0


def stream_findings(case, ledgers, logs):
    """(races, of each kind the first; clauses of which two accesses met). A log that lacks what the ledger
    has, or the bytes that this moved, was not recorded."""
    if not logs or len(logs) < case["world"] or not all(logs):
        rank = next((q for q in range(case["world"]) if not logs or len(logs) <= q or not logs[q]), 0)
        return [Finding("RUN-2", "no stream log", f"rank {rank} has written no streams-{rank}.jsonl, and the adapter "
                        "says that it returns streams")], set()
    try:
        found = streams.check(logs)
    except streams.Bad as error:
        return [Finding("RUN-2", "malformed stream log", str(error))], set()
    for rank, records in enumerate(ledgers):
        entered = ledger.communications(records)
        for here, there, what in ((len(entered), found.collectives(rank), "has"),
                                  (sum(map(moves, entered)), found.moving(rank), "tells the bytes of")):
            if there < here:
                return [Finding("RUN-2", "stream log incomplete", f"rank {rank} enters {here} communications"
                                f"{' of elements' if what != 'has' else ''}, and its stream log {what} {there}")], set()
    return [Finding(r.clause, r.kind(), f"rank {r.first.op.rank}: {r.text()}", step=r.second.op.step,
                    rank=r.first.op.rank, detail={"race": r.json(), "symptom": r.where()}) for r in found.races], found.met


def judge(case, expected, answer, ledgers, returns, level):
    """(findings, clauses really judged)."""
    found, besides, compared = [], [], set()
    status = answer["status"]
    judges_ledgers = level >= 2 and "ledger" in returns and case["world"] > 1
    if judges_ledgers:
        found += ledger_findings(case, expected, answer, ledgers, returns)
        besides = ended_without(case, ledgers) if not found and status in ("hang", "timeout", "error", "died") else []
        compared |= {"ledger"} if any(ledger.communications(records) for records in ledgers) else set()
    if status in ("hang", "timeout"):
        where = sorted({record.get("phase") or record["op"] for record, _ in answer.get("waits", {}).values()})
        found.append(Finding("LEDG-7", f"{status} in {', '.join(where) or 'nothing published'}", answer["message"]))
    elif status in ("error", "died"):
        message = answer.get("message", "")
        found.append(Finding("RUN-1", f"error: {normal(message)}", (message + answer.get("said", ""))[-2000:]))
    elif status == "malformed":
        found.append(Finding("RUN-2", answer.get("kind", "malformed answer"), answer["message"]))
    else:
        values = Judge(case, expected, answer, returns)
        try:
            found += values.run()
        except Malformed as error:
            found.append(Finding("RUN-2", "malformed answer", str(error)))
        compared |= values.compared
        if level >= 3 and "streams" in returns:
            races, met = stream_findings(case, ledgers, answer.get("streams"))
            found, compared = found + races, compared | met
        if judges_ledgers and found and ledger.lone(case, ledgers):
            for one in found:
                one.detail["symptom"] = one.detail.get("symptom", []) + ["statistics alone are reduced"]
    return found + besides, judged_by(case, compared)


def run_one(adapter, tools, case, recipe, hello, level):
    out = Outcome(case, recipe)
    out.expected = tools.expected(case)
    start = time.monotonic()
    out.answer, out.ledgers = adapter.run(dict(case))
    out.seconds = time.monotonic() - start
    try:
        judge_one(out, hello, level)
    except Exception as error:  # of one case, whatever it is: the run goes on
        where = traceback.extract_tb(error.__traceback__)[-1]
        out.status, out.findings = "fail", [Finding("RUN-2", "cannot be judged", "the answer or its ledgers cannot be judged: "
                                                    f"{type(error).__name__}: {error} (in {where.name})")]
    out.answer.pop("streams", None)  # long, and judged
    return out


def judge_one(out, hello, level):
    case = out.case
    if out.answer["status"] == "unsupported":
        out.status = "unsupported"
        return
    out.findings, out.judged = judge(case, out.expected, out.answer, out.ledgers,
                                     set(hello.get("returns", [])), level)
    if case["world"] > 1 and out.answer["status"] == "ok" and out.ledgers:
        what = frozenset(str((r["op"], r.get("dtype"), r.get("count"))) for r in ledger.ops(out.ledgers[0]))
        out.issued = (hash(what), sum(e["numel"] for e in case["parameters"] if not e["frozen"]))
    if out.findings:
        out.status = "fail"
    elif not out.judged:
        out.status = "unsupported"
        out.answer = {"status": "unsupported", "message": "nothing that the case is about is returned"}


class Runner:
    """Takes cases from an iterator until it ends, time is up, or enough were run."""

    def __init__(self, command, tools, hello, level, jobs, deadline, log=None):
        self.command, self.tools, self.hello, self.level = command, tools, hello, level
        self.jobs, self.deadline, self.log = jobs, deadline, log
        self.outcomes, self.lock, self.error = [], threading.Lock(), None
        self.idle = []  # adapters that are started: most take seconds to import what they test

    def take(self):
        with self.lock:
            return self.idle.pop() if self.idle else Adapter(self.command, self.deadline, self.log)

    def give_back(self, adapter):
        with self.lock:
            self.idle.append(adapter)

    def close(self):
        for adapter in self.idle:
            adapter.stop(kindly=True)
        self.idle = []

    def run(self, cases, progress):
        """The outcomes of these cases; self.outcomes has those of all calls."""
        before = len(self.outcomes)
        threads = [threading.Thread(target=self.work, args=(cases, progress), daemon=True)
                   for _ in range(self.jobs)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if self.error:
            raise self.error
        return self.outcomes[before:]

    def work(self, cases, progress):
        adapter = self.take()
        try:
            while self.error is None:
                with self.lock:
                    made = next(cases, None)
                if made is None:
                    return
                case, recipe, origin = made
                out = run_one(adapter, self.tools, case, recipe, self.hello, self.level)
                out.origin = origin
                if out.status == "pass":
                    out.forget()
                with self.lock:
                    self.outcomes.append(out)
                    progress(self.outcomes)
        except Exception as error:  # told by the main thread
            self.error = error
        finally:
            self.give_back(adapter)


def constant_ledger(outcomes):
    """Ledgers that are the same whatever the model is were not recorded. Real ones may be padded, so
    that only models of very different sizes are compared."""
    issued = [out.issued for out in outcomes if out.issued]
    sizes = [size for _, size in issued]
    return len({what for what, _ in issued}) == 1 and min(sizes) < 32 and max(sizes) > 256


def dice_for(seed, text):
    return random.Random(f"{seed}/{text}")
