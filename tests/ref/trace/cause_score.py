"""Scores the first sentence of zeroproof trace check on random programs with one planted deviation.

python3 tests/ref/trace/cause_score.py [--seeds A-B] [--large A-B] prints a table; `make
trace-cause` runs it on seeds that no development used. --seeds: programs of 2 to 6 ranks, judged by
a brute-force oracle that lists all explanations by a single edit (cause_oracle.py). If there is
only one rank whose edit explains the traces, the first cause must name it, with a kind that the
oracle found; otherwise the causes must name all of these ranks. --large: programs of 7 to 16 ranks;
the planted rank must be named first. Every fourth program is correct: no error may be reported.
Exit codes: 0 if the rates are met; 1 if not (--exact: if one case fails); 2 for invalid input.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import cause_equal
import cause_oracle
import cause_programs

COMMAND = os.environ.get(
    "ZEROPROOF", os.path.join(os.environ.get("ZP_BUILD", "build"), "zeroproof")
)
FIRST, UNAMBIGUOUS, AMBIGUOUS = 0.98, 0.70, 0.95
SAME = {"truncated": "hang"}


def judge(program, run, folder, definitions=1024):
    """The verdict of trace check as JSON."""
    os.makedirs(folder, exist_ok=True)
    cause_programs.write(program, run, folder, definitions)
    words = [COMMAND, "trace", "check", "--json", folder]
    child = subprocess.run(words, capture_output=True, text=True, check=False)
    if child.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(words)}: exit code {child.returncode}: {child.stderr}")
    return json.loads(child.stdout)


class Score:
    def __init__(self, folder, definitions):
        self.folder, self.definitions = folder, definitions
        self.count = collections.Counter()
        self.by_kind = collections.defaultdict(collections.Counter)
        self.wrong = []

    def fail(self, seed, program, why, verdict):
        said = "; ".join(c["text"] for c in verdict["cause"]) or "consistent"
        kind, rank = program.deviation or ("correct", -1)
        self.wrong.append(f"seed {seed}, {kind} by rank {rank}: {why}: {said}")

    def judge(self, seed, program, run, name):
        """Operations without a definition give the same verdict."""
        folder = os.path.join(self.folder, name)
        verdict = judge(program, run, folder)
        for n in self.definitions:
            if judge(program, run, folder, n) != verdict:
                self.fail(seed, program, f"another verdict with {n} definitions", verdict)
        return verdict

    def case(self, seed, large):
        program = cause_programs.make(seed, *((7, 16) if large else (2, 6)))
        run = cause_programs.Run(program)
        name = f"{'large' if large else 'small'} {seed}"
        verdict = self.judge(seed, program, run, name)
        side = "large " if large else "small "
        if program.deviation is None:
            self.count[side + "correct"] += 1
            if not verdict["good"] or verdict["cause"]:
                self.count[side + "alarms"] += 1
                self.fail(seed, program, "a false alarm", verdict)
            return
        self.count[side + "deviating"] += 1
        if large:
            self.large(seed, program, verdict)
        else:
            self.small(seed, program, verdict, cause_oracle.Oracle(program, run))

    def large(self, seed, program, verdict):
        first = verdict["cause"][:1]
        if not first:
            self.count["large invisible"] += 1
            return
        right = first[0]["ranks"] == [program.deviation[1]]
        self.count["large first"] += right
        self.note(program, right)
        if not right:
            self.fail(seed, program, "another rank is named first", verdict)

    def note(self, program, right):
        self.by_kind[program.deviation[0]]["cases"] += 1
        self.by_kind[program.deviation[0]]["right"] += right

    def small(self, seed, program, verdict, oracle):
        kind, rank = program.deviation
        if oracle.good:
            self.count["small invisible"] += 1
            if not verdict["good"]:
                self.fail(seed, program, "an error where the oracle finds none", verdict)
            return
        found = oracle.explanations()
        causes = [c for c in verdict["cause"] if c["cause"] == 0]
        if rank not in found:
            self.count["small unexplained"] += 1
            self.fail(seed, program, f"the oracle explains it by {found} only", verdict)
        elif len(found) == 1:
            self.count["unambiguous"] += 1
            right = bool(causes) and causes[0]["ranks"] == [rank]
            right = right and SAME.get(causes[0]["kind"], causes[0]["kind"]) in found[rank]
            self.count["unambiguous first"] += right
            self.note(program, right)
            if not right:
                self.fail(seed, program, f"the oracle finds {found}", verdict)
        else:
            self.count["ambiguous"] += 1
            named = {r for c in causes for r in c["ranks"]}
            self.count["ambiguous all"] += named >= set(found)
            self.count["ambiguous first"] += bool(causes) and causes[0]["ranks"] == [rank]
            if not named >= set(found):
                self.fail(seed, program, f"not all are named of {found}", verdict)

    # ---- Runs of equal operations ----------------------------------------------------------------

    def equal(self, seed, large):
        program = cause_equal.make(seed, *((7, 9) if large else (2, 6)))
        run = cause_programs.Run(program)
        verdict = self.judge(seed, program, run, f"equal {large} {seed}")
        hints = [f for f in verdict["findings"] if f["kind"] == "shifted"]
        if program.deviation is None:
            self.count["equal correct"] += 1
            if not verdict["good"] or hints:
                self.count["equal alarms"] += 1
                self.fail(seed, program, "a false alarm or hint", verdict)
        elif cause_oracle.Oracle(program, run).good:
            self.hint(seed, program, run, verdict, hints)
        elif verdict["good"]:
            self.count["equal sites"] += 1
            self.fail(seed, program, "no error where the oracle finds one", verdict)
        else:
            oracle = cause_oracle.Oracle(program, run, moments=True)
            self.sites(seed, program, verdict, oracle.explanations())

    @staticmethod
    def moment(cause):
        """A cause as the oracle has it: the end of a trace has no step and no site."""
        kind = SAME.get(cause["kind"], cause["kind"])
        return (kind,) if kind in ("exit", "hang") else (kind, cause["step"], cause["site"])

    def hint(self, seed, program, run, verdict, hints):
        """The arguments fit, but the rank skipped one and made up for it."""
        if not verdict["good"]:
            self.count["equal fits"] += 1
            self.fail(seed, program, "an error where the oracle finds none", verdict)
            return
        found = cause_equal.first_shifted(program, run)
        if found is None:
            self.count["equal invisible"] += 1
            return
        self.count["equal fits"] += 1
        text = "".join(h["text"] for h in hints)
        right = len(hints) == 1 and self.is_hint(program.deviation[1], found, hints[0])
        self.count["equal hints"] += right
        if not right:
            self.fail(seed, program, f"no hint at {found}: {text}", verdict)

    @staticmethod
    def is_hint(rank, found, hint):
        """Whether a warning names rank and record, the direction, and the operation skipped."""
        record, step, site = found
        before, _, after = hint["text"].partition(": its record ")
        right = step < 0 or re.search(rf" in step {step}\b", before) is not None
        right = right and (site is None or f"({site.split(';')[0]})" in before)
        if before.startswith(f"rank {rank} may have skipped "):
            return right and hint["record"] == record and after.startswith(f"{record} is ")
        other = f", or rank {rank} skipped it" in before  # of two, either may be it
        return right and other and " may have entered in addition " in before

    def sites(self, seed, program, verdict, found):
        """The first cause must have the step and the site of an explanation of its rank."""
        rank = program.deviation[1]
        if program.deviation[0] == "shift":  # no single edit
            self.count["equal unexplained"] += 1
            return
        if rank not in found:
            self.count["equal sites"] += 1
            self.fail(seed, program, f"the oracle explains it by {found} only", verdict)
            return
        causes = [c for c in verdict["cause"] if c["cause"] == 0]
        first = causes[:1] or [{"ranks": [], "kind": "", "step": -1, "site": None}]
        named = self.moment(first[0])
        which = "equal sites" if len(found) == 1 else "equal ambiguous"
        self.count[which] += 1
        right = first[0]["ranks"] == [rank] and named in found[rank]
        if len(found) > 1:
            ranks = {r for c in causes for r in c["ranks"]}
            wrong = [c for c in causes if self.moment(c) not in found.get(c["ranks"][0], ())]
            right = ranks >= set(found) and not wrong
        self.count[which + " named"] += right
        if not right:
            self.fail(seed, program, f"planted {program.moment}, possible {found}", verdict)

    def table(self):
        n = self.count
        rows = [
            ("correct programs", n["small correct"] + n["large correct"], "errors reported",
             n["small alarms"] + n["large alarms"]),
            ("2 to 6 ranks, one deviates", n["small deviating"], "the traces do not show it",
             n["small invisible"]),
            ("of them visible and unambiguous", n["unambiguous"], "the culprit is named first",
             n["unambiguous first"]),
            ("ambiguous", n["ambiguous"], "all are named", n["ambiguous all"]),
            ("ambiguous", n["ambiguous"], "the planted one is the first", n["ambiguous first"]),
            ("7 to 16 ranks, one deviates", n["large deviating"], "the traces do not show it",
             n["large invisible"]),
            ("of them visible", n["large deviating"] - n["large invisible"],
             "the planted one is the first", n["large first"]),
            ("correct, with runs of equal operations", n["equal correct"],
             "errors or hints reported", n["equal alarms"]),
            ("skip or extra among equal ones, unambiguous", n["equal sites"],
             "rank, step and site named first", n["equal sites named"]),
            ("ambiguous", n["equal ambiguous"], "all ranks named, each with its step and site",
             n["equal ambiguous named"]),
            ("arguments fit, lines and steps are shifted", n["equal fits"],
             "the first one is named in a warning", n["equal hints"]),
            ("of the kinds in the last three rows", n["equal invisible"] + n["equal unexplained"],
             "not judged: the traces show too little, or no single edit explains them",
             n["equal invisible"] + n["equal unexplained"]),
        ]  # fmt: skip
        print("| programs | number | verdict | number |\n|---|---|---|---|")
        for row in rows:
            print("| {} | {} | {} | {} |".format(*row))
        print("\n| deviation | unambiguous or of 7 to 16 ranks | culprit first |\n|---|---|---|")
        for kind in cause_programs.KINDS:
            print(f"| {kind} | {self.by_kind[kind]['cases']} | {self.by_kind[kind]['right']} |")
        for line in self.wrong:
            print(line, file=sys.stderr)

    def is_good(self, exact):
        n = self.count
        if exact:
            return not self.wrong
        visible = n["small deviating"] - n["small invisible"]
        large = n["large deviating"] - n["large invisible"]
        return (
            n["equal alarms"] == 0
            and n["equal sites named"] >= FIRST * n["equal sites"]
            and n["equal ambiguous named"] >= AMBIGUOUS * n["equal ambiguous"]
            and n["equal hints"] >= FIRST * n["equal fits"]
            and n["small alarms"] + n["large alarms"] == 0
            and n["unambiguous"] >= UNAMBIGUOUS * visible
            and n["unambiguous first"] >= FIRST * n["unambiguous"]
            and n["ambiguous all"] == n["ambiguous"]
            and n["large first"] >= FIRST * large
        )


def seeds(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=seeds, default=range(0), help="programs of 2 to 6 ranks")
    parser.add_argument("--large", type=seeds, default=range(0), help="programs of 7 to 16 ranks")
    parser.add_argument("--equal", type=seeds, default=range(0), help="runs of equal operations")
    parser.add_argument("--exact", action="store_true", help="no case may fail")
    words = "traces with this many definitions have the same verdict"
    parser.add_argument("--definitions", type=int, nargs="*", default=[], help=words)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        score = Score(folder, options.definitions)
        for seed in options.seeds:
            score.case(seed, False)
        for seed in options.large:
            score.case(seed, True)
        for seed in options.equal:
            score.equal(seed, seed % 20 == 19)
    score.table()
    return 0 if score.is_good(options.exact) else 1


if __name__ == "__main__":
    sys.exit(main())
