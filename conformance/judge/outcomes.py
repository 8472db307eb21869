"""The outcomes of a run's cases. Only failures stay in memory; every case has a row in a temporary
file, which the reports are made from."""

import collections
import json
import tempfile
import threading

import demands
import limits
from protocol import FIELDS

# Classes of known failures (known.py). Those other than a defect are counted apart from failures.
DEFECT = "defect"
CITED = ("by design", "not promised")  # need "documented", the place where the subject says so
EXCUSED = (*CITED, "limitation")
EXTRA = ("random", "fresh")  # origins of cases beside the covering array and the selection
PASSED, FAILED, NOT_JUDGED = range(3)  # places in a row of the table of clauses; EXCUSED follow


class Outcome:
    """status: pass, fail, unsupported."""

    def __init__(self, case, recipe):
        self.case, self.recipe = case, recipe
        self.status, self.findings, self.judged = "pass", [], set()
        self.answer, self.ledgers, self.expected, self.seconds = None, [], None, 0.0
        self.origin = "covering"  # why it was run: covering, random, named, selected, fresh, known
        self.issued = None  # (hash of rank 0's operations, elements trained), if ranks communicate
        self.size = 0  # bytes of answer, ledgers and case
        self.number = None  # of its row
        self.failed = set()  # clauses of all its findings

    def drop_details(self):
        """Keeps only what grouping needs."""
        self.case = {k: self.case[k] for k in ("id", "clauses", "hunts", "world")}
        self.answer, self.ledgers, self.expected = {"status": self.answer["status"]}, [], None
        self.findings = self.findings[:1]
        self.size = 0

    def signature(self):
        return self.findings[0].signature()

    def row(self):
        """Its part of the report."""
        return {
            "id": self.case["id"],
            "recipe": self.recipe.full(),
            "status": self.status,
            "seconds": round(self.seconds, 3),
            "clauses": self.case["clauses"],
            "origin": self.origin,
            "findings": [f.json() for f in self.findings],
            "message": self.answer.get("message", "") if self.status == "unsupported" else "",
        }


class Details:
    """The bytes that a run may still keep of answers, ledgers and cases."""

    def __init__(self, most=limits.DETAILS):
        self.left, self.lock = most, threading.Lock()

    def keep(self, out):
        """Drops the details of a failure if there is no room for them."""
        with self.lock:
            fits = out.size <= self.left
            self.left -= out.size if fits else 0
        if not fits:
            out.drop_details()


class Outcomes:
    """What a run keeps of all its cases."""

    def __init__(self):
        self.failures = []
        self.counts = {"pass": 0, "fail": 0, **dict.fromkeys(EXCUSED, 0), "unsupported": 0}
        self.table = {}  # clause -> cases [passed, failed, not judged, one number per EXCUSED]
        self.lacking = collections.Counter()  # clause -> cases that passed without evidence for it
        self.judged = False  # some case was
        self.fixed = 0  # cases whose number neither speed nor the time of day changes
        self.refusals = {}  # reason -> {"cases", "selected", "recipe"}, of the fixed cases
        self.reported = None  # fields of steps that some answer had; None: there was no answer
        self.issued = set()  # at most 2 hashes of ledgers
        self.trained = []  # the smallest and the largest number of elements of a model
        self.details = Details()
        self.file = tempfile.TemporaryFile("w+", encoding="utf-8")

    def __len__(self):
        return sum(self.counts.values())

    def add(self, out, reason):
        """reason(message): the part of a refusal's message that is the same in other cases."""
        out.number = len(self)
        try:
            self.file.write(json.dumps(strict(out.row()), allow_nan=False) + "\n")
        except OSError as error:
            raise OSError(
                0, f"cannot write results to {tempfile.gettempdir()}: {error.strerror}"
            ) from None
        self.counts[out.status] += 1
        self.fixed += out.origin not in EXTRA
        self.judged = self.judged or out.status == "fail" or bool(out.judged)
        self.note_fields(out.answer)
        if out.status == "unsupported":
            self.refuse(out, reason(out.answer.get("message", "")))
        else:
            self.count_clauses(out)
        if out.issued:
            what, size = out.issued
            self.issued = self.issued | {what} if len(self.issued) < 2 else self.issued
            self.trained = [min([size, *self.trained]), max([size, *self.trained])]
        if out.status == "fail":
            self.details.keep(out)
            self.failures.append(out)

    def note_fields(self, answer):
        if answer["status"] == "ok" and answer.get("ranks"):
            steps = [step for rank in answer["ranks"] for step in rank["steps"] if step]
            self.reported = (self.reported or set()).union(*steps)

    def missing(self, returns):
        """Fields of steps that hello announces and no answer had."""
        return [
            name
            for name in FIELDS
            if self.reported is not None and name in set(returns) - self.reported
        ]

    def refuse(self, out, reason):
        """Random cases are left out, because how many there are depends on the machine's speed,
        and so are cases whose steps fail without their checkpoint."""
        if out.origin in EXTRA or out.answer.get("alone"):
            return
        if reason not in self.refusals and len(self.refusals) >= limits.REASONS:
            reason = "other reasons"
        row = self.refusals.setdefault(
            reason, {"cases": 0, "selected": False, "recipe": out.recipe.full()}
        )
        row["cases"] += 1
        if out.origin == "selected" and not row["selected"]:
            row.update(selected=True, recipe=out.recipe.full())

    def count_clauses(self, out):
        out.failed = {f.clause for f in out.findings}
        # every case judges that it ended with an answer (RUN-1) and that the answer was valid
        # (RUN-2)
        judged = out.judged | {"RUN-1", "RUN-2"}
        for clause in set(out.case["clauses"]) | out.failed | {"RUN-1", "RUN-2"}:
            row = self.table.setdefault(clause, empty_row())
            if clause in out.failed:
                row[FAILED] += 1
            elif out.status == "pass" and clause in judged:
                row[PASSED] += 1
            else:
                row[NOT_JUDGED] += 1
                self.lacking[clause] += out.status == "pass"

    def unjudged(self):
        """{clause: why it is not judged in some cases}"""
        return {
            clause: demands.unjudged(clause, row[NOT_JUDGED], self.lacking[clause])
            for clause, row in sorted(self.table.items())
            if row[NOT_JUDGED]
        }

    def never_judged(self, clauses, returns):
        """Texts for those of the clauses that were judged in no case."""
        texts = []
        for clause in clauses:
            row = self.table.get(clause)
            if row is None or sum(row) > row[NOT_JUDGED]:
                continue
            need, fields = demands.needs(clause)
            why = "each failed another clause"
            if self.lacking[clause]:
                unnamed = "" if fields & set(returns) else ", which returns does not name"
                why = f"it needs {need}{unnamed}"
            texts.append(f"{clause} was not judged in any case: {why}")
        return texts

    def excuse(self, out, name):
        """Counts a failing case in one of EXCUSED instead of as failed."""
        self.counts["fail"] -= 1
        self.counts[name] += 1
        for clause in out.failed:
            row = self.table[clause]
            row[FAILED] -= 1
            row[NOT_JUDGED + 1 + EXCUSED.index(name)] += 1

    def full(self):
        return len(self.failures) >= limits.FAILURES

    def constant_ledger(self):
        """True if the ledger is the same for models of very different sizes, so it cannot have been
        recorded. Models of similar size may have equal ledgers because of padding."""
        return len(self.issued) == 1 and self.trained[0] < 32 and self.trained[1] > 256

    def rows(self, known, fresh):
        return Rows(self.file, len(self), known, fresh)


def empty_row():
    return [0, 0, 0, *(0 for _ in EXCUSED)]


class Rows:
    """The rows of the report, read from the file again in each loop. known: number of a failure ->
    {"cause", "title", "class"}; fresh: numbers of failures."""

    def __init__(self, file, number, known, fresh):
        self.file, self.number, self.known, self.fresh = file, number, known, fresh

    def __len__(self):
        return self.number

    def __iter__(self):
        self.file.seek(0)
        for number, line in enumerate(self.file):
            row, known = json.loads(line), self.known.get(number)
            if known and known["class"] in EXCUSED:
                row["status"] = known["class"]
            yield {**row, "known": known, "fresh": number in self.fresh}


def strict(value):
    """The value with "nan", "inf" and "-inf" for floats that JSON does not have."""
    if isinstance(value, float) and value - value != 0:
        return str(value)
    if isinstance(value, dict):
        return {key: strict(one) for key, one in value.items()}
    return [strict(one) for one in value] if isinstance(value, (list, tuple)) else value
