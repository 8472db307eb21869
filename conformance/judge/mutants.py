"""The suite put to the test: engines with one historic bug each, which general cases must catch.

python3 conformance/judge/mutants.py [--seed N] [--share N] [--cases N] [--out FILE] [MUTANT...]
ZEROPROOF names the command. The cases are those of `zeroproof check` for this seed, in its order:
the covering array, then chance; none is made for a mutant. Exit codes: 0 all were caught; 1 one
was not; 3 the environment failed."""
import argparse
import json
import os
import random
import sys
import threading
import time

import axes
from adapter import Adapter
from run import dice_for, judge
from tools import Broken, Tools

HERE = os.path.dirname(os.path.abspath(__file__))
DEADLINE = 60


def command(engine, fault=None):
    words = [os.environ.get("ZEROPROOF", "zeroproof"), "adapter"]
    return " ".join(words + ["--engine", engine] * (engine != "ref") + ["--fault", fault or ""] * bool(fault))


class Deck:
    """The cases of one engine and seed, each with what is right, made when somebody wants them."""

    def __init__(self, tools, engine, seed):
        adapter = Adapter(command(engine), DEADLINE)
        try:
            self.hello = adapter.hello()
        finally:
            adapter.stop(kindly=True)
        self.tools, self.seed = tools, seed
        self.space = axes.Space(self.hello)
        self.rows = enumerate(axes.rows(self.space, seed))
        self.made, self.lock = [], threading.Lock()

    def case(self, i):
        """(case, recipe, expected)"""
        with self.lock:
            while len(self.made) <= i:
                number, (row, _) = next(self.rows)
                case, recipe = axes.case_of_row(self.tools, self.space, row, dice_for(self.seed, number))
                if case is not None:
                    self.made.append((case, recipe, self.tools.expected(case)))
            return self.made[i]


def hunt(deck, engine, fault, most):
    """The first case that catches the mutant, as a line of the table; clause None: there is none."""
    found = {"mutant": fault, "engine": engine, "clause": None}
    adapter = Adapter(command(engine, fault), DEADLINE)
    returns = set(deck.hello["returns"])
    try:
        for i in range(most):
            case, recipe, expected = deck.case(i)
            answer, ledgers = adapter.run(case)
            if answer["status"] == "unsupported":
                raise Broken(f"{fault}: {answer['message']}: {recipe.full()}")
            findings, _ = judge(case, expected, answer, ledgers, returns, deck.hello["level"])
            if findings:
                return {**found, "clause": findings[0].clause, "kind": findings[0].kind, "cases": i + 1,
                        "also": sorted({f.clause for f in findings[1:]} - {findings[0].clause}),
                        "recipe": recipe.full()}
        return {**found, "cases": most}
    finally:
        adapter.stop(kindly=True)


def corpus():
    with open(os.path.join(HERE, "corpus.json"), encoding="utf-8") as file:
        return json.load(file)["rows"]


def mutants(known):
    """(engine, fault) of all rows, and all other historic bugs that ref can be given."""
    rows = [(row["engine"], row["mutant"]) for row in corpus() if "mutant" in row]
    return rows + [("ref", fault) for fault in known if ("ref", fault) not in rows]


def faults_of_ref():
    with os.popen(f"{os.environ.get('ZEROPROOF', 'zeroproof')} sim --fault list") as file:
        lines = file.read().splitlines()[1:]
    return [line.split()[0] for line in lines if line and not line[0].isspace()]


class Run:
    def __init__(self, todo, seed, most, jobs):
        self.tools, self.todo, self.most = Tools(), iter(todo), most
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
                result = hunt(self.decks[engine], engine, fault, self.most)
                with self.lock:
                    self.results.append(result)
                    print(line(result), flush=True)
        except Exception as error:  # told by the main thread
            self.error = error


def line(r):
    if r["clause"] is None:
        return f"not ok {r['engine']} {r['mutant']}: {r['cases']} cases have not caught it"
    return f"ok {r['engine']} {r['mutant']}: {r['clause']} {r['kind']}, in case {r['cases']}"


def arguments():
    parser = argparse.ArgumentParser(prog="mutants.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1, help="other cases (1)")
    parser.add_argument("--share", type=int, default=0, help="that many mutants, chosen by the seed (0: all)")
    parser.add_argument("--cases", type=int, default=4000, help="cases for one mutant at most (4000)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", metavar="FILE", help="write the table there")
    parser.add_argument("mutant", nargs="*", help="these alone")
    return parser.parse_args()


def main():
    options = arguments()
    start = time.monotonic()
    todo = mutants(faults_of_ref())
    if options.mutant:
        todo = [m for m in todo if m[1] in options.mutant]
        lacking = set(options.mutant) - {fault for _, fault in todo}
        if lacking:
            print(f"mutants.py: there is no mutant {', '.join(sorted(lacking))}", file=sys.stderr)
            return 2
    if options.share:
        todo = random.Random(options.seed).sample(todo, min(options.share, len(todo)))
    try:
        results = Run(todo, options.seed, options.cases, options.jobs).results
    except (Broken, OSError) as error:
        print(f"mutants.py: {error}", file=sys.stderr)
        return 3
    order = {m: i for i, m in enumerate(todo)}
    results.sort(key=lambda r: order[(r["engine"], r["mutant"])])
    left = [r for r in results if r["clause"] is None]
    print(f"{len(results) - len(left)} of {len(results)} mutants caught by general cases of seed {options.seed}, "
          f"in {time.monotonic() - start:.0f} s")
    if options.out:
        rows = {(r["engine"], r["mutant"]): r for r in corpus() if "mutant" in r}
        for r in results:
            r["row"] = rows.get((r["engine"], r["mutant"]), {}).get("row")
        with open(options.out, "w", encoding="utf-8") as file:
            table = ",\n".join(json.dumps(r) for r in results)
            file.write(f'{{"schema": "zeroproof/mutants/1", "seed": {options.seed}, "mutants": [\n{table}\n]}}\n')
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
