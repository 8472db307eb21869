"""Tests the suite itself: it must catch engines that have one historic bug each (mutants).

python3 conformance/judge/mutants.py [--seed N] [--share N] [--cases N] [--out FILE] [MUTANT...]

ZEROPROOF names the command. The cases are those of `zeroproof check` for this seed in the same
order (covering array, then random cases); no case is written for a mutant. --distinct checks
instead that no two mutants behave alike in the first cases. Exit codes: 0 all mutants were caught
(or are distinct); 1 at least one was not; 2 invalid input; 3 the environment failed."""

import hashlib
import json
import os
import random
import sys
import threading
import time

import adapter as adapters
import axes
import console
import draw
import files
import supervise
from adapter import Adapter
from console import show, show_error
from run import dice_for, run_one
from tools import Broken, Refused, Tools

# If only the mutant's own error (RUN-1) revealed it, the suite runs this many further cases to find
# it by a check.
FURTHER = 100
FEW, MOST = 180, 4000  # cases: of the first comparison of mutants; of each mutant
HERE = os.path.dirname(os.path.abspath(__file__))
DEADLINE = 60


def command(engine, fault=None):
    words = [os.environ.get("ZEROPROOF", "zeroproof"), "adapter"]
    return " ".join(
        words + ["--engine", engine] * (engine != "ref") + ["--fault", fault or ""] * bool(fault)
    )


class Deck:
    """The cases of one engine and seed, made on demand."""

    def __init__(self, tools, engine, seed):
        adapter = Adapter(command(engine), DEADLINE)
        try:
            self.hello = adapter.hello()
        finally:
            adapter.stop(gracefully=True)
        self.tools, self.seed = tools, seed
        self.space = axes.Space(self.hello)
        self.rows = enumerate(axes.rows(self.space, seed))
        self.made, self.lock = [], threading.Lock()

    def case(self, i):
        """(case, recipe)"""
        with self.lock:
            while len(self.made) <= i:
                number, (row, _) = next(self.rows)
                case, recipe = draw.case_of_row(
                    self.tools, self.space, row, dice_for(self.seed, number)
                )
                if case is not None:
                    self.made.append((case, recipe))
            return self.made[i]


def caught(findings, number, recipe):
    """A row of the table. A finding of the suite takes precedence over RUN-1."""
    mine = [f for f in findings if f.clause != "RUN-1"]
    first = (mine or findings)[0]
    return {
        "clause": first.clause,
        "by": "suite" if mine else "subject",
        "kind": first.kind,
        "cases": number,
        "also": sorted({f.clause for f in findings} - {first.clause}),
        "shows": shows(findings),
        "recipe": recipe.full(),
    }


def shows(findings):
    """The different forms of the findings, which report.py compares with those of a failure."""
    found = []
    for f in findings:
        one = {"clause": f.clause, "kind": f.kind, "symptom": f.detail.get("symptom", [])}
        found += [one] if one not in found else []
    return found


def hunt(deck, engine, fault, most):
    """The first case that catches the mutant, as a row of the table (clause None: no case). If only
    the subject's own error revealed it, the search continues for FURTHER cases for a finding of the
    suite."""
    found = {"mutant": fault, "engine": engine, "clause": None, "by": None, "cases": most}
    adapter = Adapter(command(engine, fault), DEADLINE)
    try:
        for i in range(most):
            if found["by"] == "subject" and i >= found["cases"] + FURTHER:
                break
            case, recipe = deck.case(i)
            out = run_one(adapter, deck.tools, case, recipe, deck.hello, deck.hello["level"])
            if out.status == "unsupported" and "alone" not in out.answer:
                raise Broken(f"{fault}: {out.answer['message']}: {recipe.full()}")
            row = caught(out.findings, i + 1, recipe) if out.findings else {"by": None}
            if row["by"] == "suite" or row["by"] and not found["by"]:
                found.update(row)
            if row["by"] == "suite":
                break
        return found
    finally:
        adapter.stop(gracefully=True)


def fingerprint(deck, engine, fault, cases):
    """A mutant's row for --distinct: a hash of all its answers and ledgers."""
    adapter, digest = Adapter(command(engine, fault), DEADLINE), hashlib.sha256()
    try:
        for i in range(cases):
            answer, ledgers = adapter.run(deck.case(i)[0])
            digest.update(json.dumps([answer.get("ranks", answer["status"]), ledgers]).encode())
        return {"mutant": fault, "engine": engine, "print": digest.hexdigest()}
    finally:
        adapter.stop(gracefully=True)


def corpus():
    with open(os.path.join(HERE, "corpus.json"), encoding="utf-8") as file:
        return json.load(file)["rows"]


def mutants(known):
    """(engine, fault) of all rows of the corpus, then all other faults of ref."""
    rows = [(row["engine"], row["mutant"]) for row in corpus() if "mutant" in row]
    return rows + [("ref", fault) for fault in known if ("ref", fault) not in rows]


def faults_of_ref():
    command = os.environ.get("ZEROPROOF", "zeroproof")
    lines = supervise.output([command, "sim", "--fault", "list"]).splitlines()[1:]
    return [line.split()[0] for line in lines if line and not line[0].isspace()]


class Run:
    """Calls examine(deck, engine, fault, cases) for every mutant on several threads, and
    report(result)."""

    def __init__(self, todo, seed, most, jobs, examine, report):
        self.tools, self.todo, self.most = Tools(), iter(todo), most
        self.examine, self.report = examine, report
        self.decks = {engine: Deck(self.tools, engine, seed) for engine in {e for e, _ in todo}}
        self.results, self.lock, self.error = [], threading.Lock(), None
        threads = [threading.Thread(target=self.work, daemon=True) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.tools.close()
        if self.error:
            raise self.error

    def work(self):
        try:
            while self.error is None:
                with self.lock:
                    engine, fault = next(self.todo, (None, None))
                if fault is None:
                    return
                result = self.examine(self.decks[engine], engine, fault, self.most)
                with self.lock:
                    self.results.append(result)
                    self.report(result)
        except Exception as error:  # raised again by the main thread
            self.error = error


def line(r):
    if r["clause"] is None:
        return f"not ok {r['engine']} {r['mutant']}: not caught by {r['cases']} cases"
    source = ", by the subject's own error" * (r["by"] == "subject")
    return (
        f"ok {r['engine']} {r['mutant']}: {r['clause']} {r['kind']}, in case {r['cases']}{source}"
    )


def arguments():
    parser = console.Parser(prog="mutants.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1, help="seed of the cases (1)")
    parser.add_argument(
        "--share", type=int, default=0, help="number of mutants to try, drawn by the seed (0: all)"
    )
    parser.add_argument(
        "--cases",
        type=int,
        help=f"maximum number of cases for each mutant ({MOST})",
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="mutants to try at a time (all cores)"
    )
    parser.add_argument("--out", metavar="FILE", help="write the table to FILE")
    parser.add_argument(
        "--distinct",
        action="store_true",
        help="check that no two mutants behave alike in all cases",
    )
    parser.add_argument("mutant", nargs="*", help="try these mutants only")
    return parser.parse_args()


def chosen(options):
    todo = mutants(faults_of_ref())
    unknown = set(options.mutant) - {fault for _, fault in todo}
    if unknown:
        show_error(
            f"mutants.py: unknown mutant {', '.join(sorted(unknown))}; see `zeroproof sim --fault "
            "list` and conformance/judge/corpus.json"
        )
        sys.exit(2)
    todo = [m for m in todo if not options.mutant or m[1] in options.mutant]
    share = options.share or len(todo)
    return random.Random(options.seed).sample(todo, share) if share < len(todo) else todo


def write(file, seed, results):
    rows = {(r["engine"], r["mutant"]): r.get("row") for r in corpus() if "mutant" in r}
    table = [{"row": rows.get((r["engine"], r["mutant"])), **r} for r in results]
    lines = ",\n".join(json.dumps(r, allow_nan=False) for r in table)
    text = f'{{"schema": "zeroproof/mutants/2", "seed": {seed}, "mutants": [\n{lines}\n]}}\n'
    files.write(file, [text])


def behave_alike(options, todo, cases):
    """Groups of mutants with the same answers and ledgers in the first cases."""
    found = {}
    for r in Run(todo, options.seed, cases, options.jobs, fingerprint, lambda r: None).results:
        found.setdefault(r["print"], []).append((r["engine"], r["mutant"]))
    return [same for same in found.values() if len(same) > 1]


def run_distinct(options, todo):
    """Compares in few cases, then those that behave alike in four times as many, and so on."""
    adapters.QUIET = 0.2  # hangs are not judged here, so a short pause is enough
    most = options.cases or MOST
    cases = min(most, FEW)
    alike = behave_alike(options, todo, cases)
    while alike and cases < most:
        cases = min(most, 4 * cases)
        alike = behave_alike(options, sum(alike, []), cases)
    for same in alike:
        show(f"not ok {' and '.join(' '.join(m) for m in sorted(same))} behave alike")
    own = len(todo) - sum(map(len, alike))
    show(f"{own} of {len(todo)} mutants differ from all others")
    return 1 if alike else 0


def run_hunt(options, todo):
    start = time.monotonic()
    results = Run(
        todo,
        options.seed,
        MOST if options.cases is None else options.cases,
        options.jobs,
        hunt,
        lambda r: show(line(r)),
    ).results
    order = {m: i for i, m in enumerate(todo)}
    results.sort(key=lambda r: order[(r["engine"], r["mutant"])])
    left = [r for r in results if r["clause"] is None]
    own = sum(r["by"] == "subject" for r in results)
    show(
        f"{len(results) - len(left)} of {len(results)} mutants caught by general cases of seed "
        f"{options.seed}"
        f"{f' ({own} by their own error only)' if own else ''}, in {time.monotonic() - start:.0f} s"
    )
    if options.out:
        write(options.out, options.seed, results)
    return 1 if left else 0


def main():
    options = arguments()
    todo = chosen(options)
    try:
        return (run_distinct if options.distinct else run_hunt)(options, todo)
    except (Broken, Refused, adapters.AdapterError, OSError) as error:
        show_error(f"mutants.py: {error}")
        return 3


if __name__ == "__main__":
    sys.exit(console.guarded("mutants.py", main))
