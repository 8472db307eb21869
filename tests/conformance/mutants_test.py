"""The suite catches engines with a historic bug: all of cuda, and a share of those of ref, other ones in each run (SEED=…).

`make conformance-mutants` asks all of them. Prints ok / not ok lines."""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
JUDGE = os.path.join(ROOT, "conformance", "judge")
sys.path.insert(0, JUDGE)

import mutants  # noqa: E402
from recipe import Recipe  # noqa: E402
from tools import Tools  # noqa: E402
from values import Finding  # noqa: E402

SHARE = 10
failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print(f"{'ok' if good else 'not ok'} {name}{'' if good else ' # ' + str(why)[:600]}", flush=True)


def run(*arguments):
    done = subprocess.run([sys.executable, "-B", os.path.join(JUDGE, "mutants.py"), "--jobs", "2", *arguments],
                          capture_output=True, text=True, timeout=500)
    return done.returncode, done.stdout + done.stderr


def faults(engine):
    done = subprocess.run([mutants.command("ref").split()[0], "sim", "--engine", engine, "--fault", "list"],
                          capture_output=True, text=True, check=True)
    return {line.split()[0] for line in done.stdout.splitlines()[1:] if line and not line[0].isspace()}


def the_corpus():
    rows = mutants.corpus()
    planted = [(r["engine"], r["mutant"]) for r in rows if "mutant" in r]
    known = {engine: faults(engine) for engine in ("ref", "cuda")}
    without = [r["row"] for r in rows if "row" in r and ("mutant" in r) == ("unplanted" in r)]
    check("each_row_of_the_corpus_has_a_mutant_or_the_reason_why_not", not without, without)
    check("no_two_rows_share_a_mutant", len(planted) == len(set(planted)), planted)
    lost = [m for m in planted if m[1] not in known[m[0]]]
    check("each_mutant_of_the_corpus_can_be_planted", not lost, lost)
    nameless = [r["id"] for r in rows if "#" not in r["id"] and "no public issue" not in r["id"]]
    check("each_row_names_its_public_issue_or_says_that_there_is_none", not nameless, nameless)
    with open(os.path.join(ROOT, "conformance", "mutants.json"), encoding="utf-8") as file:
        table = {(r["engine"], r["mutant"]): r for r in json.load(file)["mutants"]}
    stale = set(mutants.mutants(mutants.faults_of_ref())) ^ set(table)
    check("the_committed_table_has_all_mutants_and_no_others", not stale, stale)
    escaped = [m for m, r in table.items() if not r["clause"]]
    told = [m for m, r in table.items() if (r["clause"] == "RUN-1") != (r["by"] == "subject")]
    check("the_committed_table_says_which_were_told_by_the_subject_itself", not told, told)
    check("the_committed_table_names_a_clause_for_each", not escaped, escaped)


def prints():
    """Distinct mutants are told apart, and one is not taken for two."""
    tools = Tools()
    decks = {engine: mutants.Deck(tools, engine, 1) for engine in ("ref", "cuda")}
    seen = {}
    for engine, fault in (("ref", "oi1498"), ("ref", "fl550"), ("ref", "ds7981"), ("cuda", "refill")):
        twice = [mutants.fingerprint(decks[engine], engine, fault, 60)["print"] for _ in range(2)]
        check(f"{fault}_is_one_mutant", twice[0] == twice[1])
        seen[fault] = twice[0]
    check("mutants_of_one_family_differ", len({seen[f] for f in ("oi1498", "fl550", "ds7981")}) == 3, seen)
    for engine, deck in decks.items():
        result = mutants.hunt(deck, engine, None, 40)
        check(f"{engine}_itself_is_not_caught", result["clause"] is None, result)
    tools.close()


class Told:
    """A deck and an adapter whose cases end as `ends` says: what findings each has."""

    hello = {"returns": [], "level": 2}

    def __init__(self, ends):
        self.ends, self.ran = ends, 0

    def case(self, i):
        return self.ends[i], Recipe({"seed": i}, []), None

    def run(self, case):
        self.ran += 1
        return {"status": "error"}, []

    def stop(self, kindly):
        pass


def own_errors():
    """The suite's own finding goes before the subject's error, also when it comes in a later case."""
    before = mutants.Adapter, mutants.judge

    def look(*ends):
        told = Told(ends)
        mutants.Adapter, mutants.judge = lambda *_: told, lambda case, *_: ([Finding(c, "kind", "") for c in case], set())
        row = mutants.hunt(told, "ref", "x", len(ends))
        return row["clause"], row["by"], row["cases"], row.get("also"), told.ran

    late = [["RUN-1"]] * (mutants.FURTHER + 1)
    for name, ends, right in (
            ("an_error_beside_a_finding_is_the_suites", [["RUN-1", "RED-3"]], ("RED-3", "suite", 1, ["RUN-1"], 1)),
            ("a_finding_after_errors_is_the_suites", [[], ["RUN-1"], [], ["STAT-4"], []], ("STAT-4", "suite", 4, [], 4)),
            ("errors_alone_are_the_subjects", [[], ["RUN-1"], ["RUN-1"]], ("RUN-1", "subject", 2, [], 3)),
            ("the_hunt_after_an_error_ends", [*late, ["STAT-4"]], ("RUN-1", "subject", 1, [], mutants.FURTHER + 1)),
            ("nothing_is_nobodys", [[], []], (None, None, 2, None, 2))):
        got = look(*ends)
        check(name, got == right, got)
    mutants.Adapter, mutants.judge = before


def main():
    the_corpus()
    own_errors()
    prints()
    seed = os.environ.get("SEED") or str(int(time.time()))
    code, text = run("--share", str(SHARE), "--seed", seed)
    check(f"{SHARE}_mutants_of_seed_{seed}_are_caught", code == 0 and text.count("\nok ") == SHARE - 1, text)
    # few, and about what chance decides (order, producers): all of them, each time
    cuda = [r["mutant"] for r in mutants.corpus() if r.get("engine") == "cuda"]
    code, text = run("--seed", seed, *cuda)
    check(f"the_mutants_of_cuda_are_caught_with_seed_{seed}", code == 0 and text.count("ok cuda ") == len(cuda) > 5, text)
    code, text = run("--cases", "0", "ds551")
    check("a_mutant_that_nothing_catches_is_a_failure", code == 1 and "not ok ref ds551" in text, text)
    code, text = run("ds0")
    check("an_unknown_mutant_is_refused", code == 2 and "there is no mutant ds0" in text, text)
    return 1 if failed else 0


sys.exit(main())
