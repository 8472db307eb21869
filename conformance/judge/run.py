"""Runs cases on a subject, with one adapter process per job, and judges each answer."""

import collections
import random
import re
import threading
import time
import traceback

import amount
import checkpoint
import ledger
import limits
import streams
import supervise
from adapter import Adapter
from demands import evidence
from matching import put_excused_last
from outcomes import Outcome, Outcomes
from values import Finding, Judge, Malformed, coordinates


def normal(message):
    """A message's last line without numbers and paths, which differ between cases."""
    last = [line for line in str(message).strip().splitlines() if line.strip()][-1:] or [""]
    text = re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?", "N", last[0])
    return re.sub(r"'[^']*/[^']*'", "'…'", text)[:120]


# The last frame of a Python traceback, and the type in the line after its source line.
RAISED = re.compile(
    r'^ *File ".*", line \d+, in (?P<function>\S+)\n(?:^(?! *File)[ \t].*\n)*'
    r"^(?:[\w.]+\.)?(?P<type>\w+)(?::|$)",
    re.MULTILINE,
)


def kind_of_error(answer):
    """The error's type and the function that raised it: its text differs between cases. The text
    only of an error that is no Python exception, if the adapter names no type."""
    named, message = {"type": answer.get("type"), "function": answer.get("function")}, ""
    if not named["type"]:
        message = answer.get("message", "")
        *_, named = [{}, *(found.groupdict() for found in RAISED.finditer(message))]
    function = f" in {named['function']}" if named.get("function") else ""
    return f"error: {named.get('type') or normal(message)}{function}"


def judged_by(case, compared):
    """The clauses of a case for which a field was compared."""
    return {clause for clause in case["clauses"] if evidence(clause) & compared}


def mismatch_finding(case, bad):
    a, b = bad["ranks"]
    where = (
        "message {} from rank {} to rank {}".format(bad["index"], *bad["members"])
        if bad["kind"] == "p2p"
        else f"operation {bad['index']} of group {bad['members']}"
    )
    one, other = map(ledger.describe, bad["records"])
    text = f"{where}: rank {a} enters {one}, rank {b} enters {other}"
    if bad["kind"] == "p2p":
        present = [r for r in bad["records"] if r is not None]
        clause = "PIPE-6" if len(present) == 2 else "PIPE-3"
        return Finding(
            clause,
            "message differs",
            text,
            detail={"ledger": bad, "symptom": message_words(case, bad, present)},
        )
    ops = sorted({r["op"] for r in bad["records"] if r is not None})
    return Finding(
        "LEDG-2",
        f"ledgers differ in {', '.join(ops)}",
        text,
        detail={"ledger": bad, "symptom": [", ".join(ops)]},
    )


def message_words(case, bad, present):
    """Symptom words for a message whose two ends differ."""
    source, target = (coordinates(case, q)[0] for q in bad["members"])
    what = "activation" if source < target else "gradient" if source > target else "within a stage"
    return [what] + [
        key for key in ("dtype", "count") if len({repr(r.get(key)) for r in present}) > 1
    ]


def ledger_findings(case, expected, answer, ledgers, returns):
    used, bad = ledger.freed(ledgers), ledger.mismatches(ledgers)
    if answer["status"] != "ok":
        # a rank that was killed may lack later operations, so only operations that differ count
        bad = [b for b in bad if None not in b["records"]]
    found = [mismatch_finding(case, b) for b in bad[:1]]
    if used:
        rank, number, record = used
        text = f"rank {rank}: {ledger.describe(record)}: its memory was freed before the wait"
        kind, symptom = "memory freed during a transfer", {"symptom": [record["op"]]}
        before = bad and min(p for p in bad[0]["places"] if p is not None) < number
        found.insert(bool(before), Finding("PIPE-6", kind, text, detail=symptom))
    if not found and answer["status"] == "ok":
        empty = not any(map(ledger.ops, ledgers))
        wrong, little = amount.wrong_steps(case, ledgers), amount.too_little(case, ledgers)
        if wrong and not empty:
            found.append(Finding("RUN-2", "malformed ledger", wrong))
        elif little:
            found.append(
                Finding(
                    "LEDG-6",
                    "empty ledger" if empty else "too little",
                    little[0],
                    detail={"symptom": little[1]},
                )
            )
        if not found and "masters" in returns:
            skipped = [s["skipped"] or s["either"] for s in expected["steps"]]
            lacking = amount.ungathered(case, ledgers, answer, skipped)
            if lacking:
                text, symptom = lacking
                found.append(Finding("LEDG-6", "ungathered", text, detail={"symptom": [symptom]}))
    return found


def ended_without(case, ledgers):
    """For a case without an answer: an operation that a rank entered and another rank, which has
    ended, never will. It is the cause, whether the first rank then hangs, fails or is lost."""
    bad = [
        b
        for b in ledger.mismatches(ledgers)
        if None in b["records"] and ledger.has_ended(ledgers[b["ranks"][b["records"].index(None)]])
    ]
    return [mismatch_finding(case, b) for b in bad[:1]]


def moves(record):
    """True if a communication reads or writes memory."""
    return record["op"] != "barrier" and sum(record.get("counts") or [record.get("count") or 0]) > 0


def stream_findings(case, ledgers, logs):
    """(one finding per distinct race, clauses for which the log has two conflicting accesses). A
    log that lacks the ledger's communications, or the bytes they access, is incomplete."""
    if not logs or len(logs) < case["world"] or not all(logs):
        rank = next(
            (q for q in range(case["world"]) if not logs or len(logs) <= q or not logs[q]), 0
        )
        return [
            Finding(
                "RUN-2",
                "no stream log",
                f"rank {rank}: streams-{rank}.jsonl is missing, though hello says that the "
                "adapter returns streams",
            )
        ], set()
    try:
        found = streams.check(logs)
    except streams.InvalidLog as error:
        return [Finding("RUN-2", "malformed stream log", str(error))], set()
    for rank, records in enumerate(ledgers):
        entered = ledger.communications(records)
        for expected, got, what in (
            (len(entered), found.collectives(rank), "communications"),
            (sum(map(moves, entered)), found.moving(rank), "communications with their bytes"),
        ):
            if got < expected:
                return [
                    Finding(
                        "RUN-2",
                        "stream log incomplete",
                        f"rank {rank}: {what} in the stream log: got {got}, expected "
                        f"at least {expected}, as in its ledger",
                    )
                ], set()
    return [
        Finding(
            r.clause,
            r.kind(),
            f"rank {r.first.op.rank}: {r.text()}",
            step=r.second.op.step,
            rank=r.first.op.rank,
            detail={"race": r.json(), "symptom": r.where()},
        )
        for r in found.races
    ], found.compared


def judge(case, expected, answer, ledgers, returns, level):
    """(findings, clauses that were judged)."""
    found, compared = [], set()
    status = answer["status"]
    judges_ledgers = level >= 2 and "ledger" in returns and case["world"] > 1
    if judges_ledgers:
        found += ledger_findings(case, expected, answer, ledgers, returns)
        if not found and status in ("hang", "timeout", "error", "died"):
            found = ended_without(case, ledgers)
        compared |= (
            {"ledger"} if any(ledger.communications(records) for records in ledgers) else set()
        )
    if status in ("hang", "timeout"):
        hung, waits = ledger.is_hung(ledgers, silent=True)
        entered = [record for record, _ in waits.values() if "op" in record]
        where = sorted({record.get("phase") or record["op"] for record in entered})
        found.append(
            Finding(
                "LEDG-7",
                f"{'hang' if hung else status} in {', '.join(where) or 'nothing published'}",
                answer["message"],
            )
        )
    elif status in ("error", "died"):
        text = answer.get("message", "") + answer.get("said", "")
        found.append(Finding("RUN-1", kind_of_error(answer), text[-2000:]))
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
            races, clauses = stream_findings(case, ledgers, answer.get("streams"))
            found, compared = found + races, compared | clauses
        if judges_ledgers and found and amount.reduces_only_scalars(case, ledgers):
            for one in found:
                one.detail["symptom"] = one.detail.get("symptom", []) + [
                    "statistics alone are reduced"
                ]
    return found, judged_by(case, compared)


def run_one(adapter, tools, case, recipe, hello, level):
    out = Outcome(case, recipe)
    out.expected = tools.expected(case)
    start = time.monotonic()
    out.answer, out.ledgers = adapter.run(dict(case))
    out.seconds = time.monotonic() - start
    judge_one(out, hello, level)
    if "reload" in case and out.status == "fail":
        blame_checkpoint(out, adapter, tools, hello, level)
    out.answer.pop("streams", None)  # large, and already judged
    out.size = adapter.asked + adapter.size
    return out


def judge_one(out, hello, level):
    try:
        judge_answer(out, hello, level)
    except Exception as error:  # the error concerns this case alone, so the run continues
        where = traceback.extract_tb(error.__traceback__)[-1]
        out.status, out.findings = (
            "fail",
            [
                Finding(
                    "RUN-2",
                    "cannot be judged",
                    "the judge failed on the answer or its ledgers: "
                    f"{type(error).__name__}: {error} (in {where.name})",
                )
            ],
        )


def judge_answer(out, hello, level):
    case = out.case
    if out.answer["status"] == "unsupported":
        out.status = "unsupported"
        return
    out.findings, out.judged = judge(
        case, out.expected, out.answer, out.ledgers, set(hello.get("returns", [])), level
    )
    if case["world"] > 1 and out.answer["status"] == "ok" and out.ledgers:
        what = frozenset(
            str((r["op"], r.get("dtype"), r.get("count"))) for r in ledger.ops(out.ledgers[0])
        )
        out.issued = (hash(what), sum(e["numel"] for e in case["parameters"] if not e["frozen"]))
    if out.findings:
        out.status = "fail"
    elif not out.judged:
        out.status = "unsupported"
        out.answer = {
            "status": "unsupported",
            "message": "the answer has no field that the case's clauses need",
        }


def blame_checkpoint(out, adapter, tools, hello, level):
    """Finds out whether the failure of a case with a checkpoint results from it: neither the steps
    before it nor the case without it fail then."""

    def passes(case):
        again = Outcome(case, out.recipe)
        again.expected = tools.expected(case)
        again.answer, again.ledgers = adapter.run(dict(case))
        judge_one(again, hello, level)
        return again.status == "pass"

    if not passes(checkpoint.before(out.case)):
        # other cases have this split from their first step, and report what is wrong with it
        out.status, out.findings, out.judged = "unsupported", [], set()
        out.answer = {"status": "unsupported", "message": ALONE, "alone": True}
    elif out.answer["status"] == "ok" and passes(checkpoint.uninterrupted(out.case)):
        for one in out.findings:
            one.text = f"after loading a checkpoint (without it, the case passes): {one.text}"
            one.kind = f"after loading: {one.clause} {one.kind}"[: limits.LABEL]
            one.clause = checkpoint.CLAUSE


ALONE = "the steps before the checkpoint fail without it"
DEADLINE = 120.0  # seconds for a case if --deadline is not given, at least
HELLO = 600.0  # for the first answer: nothing is measured yet, and it may import a framework
# A case may take this many times as long as the slowest of the last ones that the adapter answered:
# on a loaded machine, those are slower as well.
PATIENCE = 20
LEAST = 10.0  # seconds that a case may take while another is shrunk, at least


class Interrupted(Exception):
    """The user has ended the shrinking of failures by a signal, which is the argument."""


class Runner:
    """Runs all cases of an iterator on several adapter processes. deadline: seconds for a case, or
    None. known: the list of known failures."""

    def __init__(self, command, tools, hello, level, jobs, deadline=None, log=None):
        self.known = []
        self.command, self.tools, self.hello, self.level = command, tools, hello, level
        self.jobs, self.deadline, self.log = jobs, deadline, log
        self.lasted = collections.deque(maxlen=50)  # seconds of the last answers
        self.outcomes, self.lock, self.error = Outcomes(), threading.Lock(), None
        self.idle = []  # started adapters: most need seconds to import the subject
        self.stopped = None  # the name of the signal that ended shrinking

    def acquire(self):
        with self.lock:
            return self.idle.pop() if self.idle else Adapter(self.command, DEADLINE, self.log)

    def most(self):
        """Seconds that a case may take."""
        return self.deadline or max(DEADLINE, PATIENCE * max(self.lasted, default=0))

    def patience(self):
        """Seconds that a smaller form of a failing case may take."""
        if not self.lasted:
            return self.most()
        return min(self.most(), max(LEAST, PATIENCE * max(self.lasted)))

    def judged(self, adapter, case, recipe):
        """The outcome of a case."""
        out = (
            None
            if self.stopped
            else run_one(adapter, self.tools, case, recipe, self.hello, self.level)
        )
        if self.stopped:  # before, or while it ran
            raise Interrupted(self.stopped)
        put_excused_last(out, self.known)
        return out

    def release(self, adapter):
        with self.lock:
            self.idle.append(adapter)

    def stop(self, signal_name):
        """Ends all adapters. Threads that run cases end with Interrupted."""
        self.stopped = signal_name
        supervise.end_all()

    def close(self):
        for adapter in self.idle if not self.stopped else ():  # stop() has ended them
            adapter.stop(gracefully=True)
        self.idle = []

    def run(self, cases, progress, seen=None):
        """Adds the outcomes of these cases to self.outcomes, and to the list `seen`."""
        threads = [
            threading.Thread(target=self.work, args=(cases, progress, seen), daemon=True)
            for _ in range(self.jobs)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if self.error:
            raise self.error

    def work(self, cases, progress, seen):
        adapter = self.acquire()
        try:
            while self.error is None:
                with self.lock:
                    made = None if self.outcomes.full() and seen is None else next(cases, None)
                if made is None:
                    return
                case, recipe, origin = made
                adapter.deadline = self.most()
                out = self.judged(adapter, case, recipe)
                out.origin = origin
                with self.lock:
                    if out.answer["status"] in ("ok", "error"):
                        self.lasted.append(out.seconds)
                    self.outcomes.add(out, normal)
                    if seen is not None:
                        seen.append(out)
                    progress(self.outcomes)
        except Exception as error:  # raised again by the main thread
            self.error = error
        finally:
            self.release(adapter)


def dice_for(seed, text):
    return random.Random(f"{seed}/{text}")
