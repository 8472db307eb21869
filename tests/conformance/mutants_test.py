"""The suite catches engines with a historic bug (mutants): all mutants of cuda, and a share of
ref's that SEED (1) draws.

`make conformance-mutants` runs all of them. Prints ok / not ok lines."""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
JUDGE = os.path.join(ROOT, "conformance", "judge")
sys.path.insert(0, JUDGE)

import mutants  # noqa: E402
from outcomes import Outcome  # noqa: E402
from recipe import Recipe  # noqa: E402
from tools import Tools  # noqa: E402
from values import Finding  # noqa: E402

SHARE = 10
failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print(
        f"{'ok' if good else 'not ok'} {name}{'' if good else ' # ' + str(why)[:600]}", flush=True
    )


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-B", os.path.join(JUDGE, "mutants.py"), "--jobs", "2", *arguments],
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def faults(engine):
    done = subprocess.run(
        [mutants.command("ref").split()[0], "sim", "--engine", engine, "--fault", "list"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {
        line.split()[0] for line in done.stdout.splitlines()[1:] if line and not line[0].isspace()
    }


def the_corpus():
    rows = mutants.corpus()
    injected = [(r["engine"], r["mutant"]) for r in rows if "mutant" in r]
    known = {engine: faults(engine) for engine in ("ref", "cuda")}
    without = [r["row"] for r in rows if "row" in r and ("mutant" in r) == ("unplanted" in r)]
    check("each_row_of_the_corpus_has_a_mutant_or_a_reason_why_it_has_not", not without, without)
    check("no_two_rows_share_a_mutant", len(injected) == len(set(injected)), injected)
    lost = [m for m in injected if m[1] not in known[m[0]]]
    check("each_mutant_of_the_corpus_is_a_fault_of_its_engine", not lost, lost)
    nameless = [r["id"] for r in rows if "#" not in r["id"] and "no public issue" not in r["id"]]
    check(
        "each_row_names_its_public_issue_or_states_that_there_is_no_issue", not nameless, nameless
    )
    with open(os.path.join(ROOT, "conformance", "mutants.json"), encoding="utf-8") as file:
        table = {(r["engine"], r["mutant"]): r for r in json.load(file)["mutants"]}
    stale = set(mutants.mutants(mutants.faults_of_ref())) ^ set(table)
    check("the_committed_table_lists_exactly_the_mutants", not stale, stale)
    escaped = [m for m, r in table.items() if not r["clause"]]
    wrong = [m for m, r in table.items() if (r["clause"] == "RUN-1") != (r["by"] == "subject")]
    check("the_committed_table_marks_mutants_caught_by_their_own_error_only", not wrong, wrong)
    check("the_committed_table_names_a_clause_for_each_mutant", not escaped, escaped)


def prints():
    """Fingerprints of one mutant are equal, and those of different mutants differ."""
    tools = Tools()
    decks = {engine: mutants.Deck(tools, engine, 1) for engine in ("ref", "cuda")}
    seen = {}
    for engine, fault in (
        ("ref", "oi1498"),
        ("ref", "fl550"),
        ("ref", "ds7981"),
        ("cuda", "refill"),
    ):
        twice = [mutants.fingerprint(decks[engine], engine, fault, 60)["print"] for _ in range(2)]
        check(f"{fault}_is_one_mutant", twice[0] == twice[1])
        seen[fault] = twice[0]
    check(
        "mutants_of_one_family_differ",
        len({seen[f] for f in ("oi1498", "fl550", "ds7981")}) == 3,
        seen,
    )
    for engine, deck in decks.items():
        result = mutants.hunt(deck, engine, None, 40)
        check(f"{engine}_itself_is_not_caught", result["clause"] is None, result)
    tools.close()


class Scripted:
    """A deck and an adapter whose cases have the findings in `ends`."""

    hello, tools = {"returns": [], "level": 2}, None

    def __init__(self, ends):
        self.ends, self.ran = ends, 0

    def case(self, i):
        return self.ends[i], Recipe({"seed": i}, [])

    def run_one(self, _adapter, _tools, case, recipe, _hello, _level):
        self.ran += 1
        out = Outcome(case, recipe)
        out.findings = [Finding(clause, "kind", "") for clause in case]
        out.status = "fail" if case else "pass"
        return out

    def stop(self, gracefully):
        pass


def own_errors():
    """A finding of the suite takes precedence over the subject's error, also in a later case."""
    before = mutants.Adapter, mutants.run_one

    def look(*ends):
        scripted = Scripted(ends)
        mutants.Adapter, mutants.run_one = lambda *_: scripted, scripted.run_one
        row = mutants.hunt(scripted, "ref", "x", len(ends))
        return row["clause"], row["by"], row["cases"], row.get("also"), scripted.ran

    late = [["RUN-1"]] * (mutants.FURTHER + 1)
    for name, ends, right in (
        (
            "a_finding_takes_precedence_over_an_error_of_the_same_case",
            [["RUN-1", "RED-3"]],
            ("RED-3", "suite", 1, ["RUN-1"], 1),
        ),
        (
            "a_finding_takes_precedence_over_errors_of_earlier_cases",
            [[], ["RUN-1"], [], ["STAT-4"], []],
            ("STAT-4", "suite", 4, [], 4),
        ),
        (
            "errors_without_a_finding_count_as_the_subjects_own",
            [[], ["RUN-1"], ["RUN-1"]],
            ("RUN-1", "subject", 2, [], 3),
        ),
        (
            "the_search_after_an_error_is_bounded",
            [*late, ["STAT-4"]],
            ("RUN-1", "subject", 1, [], mutants.FURTHER + 1),
        ),
        ("a_mutant_without_a_finding_is_not_caught", [[], []], (None, None, 2, None, 2)),
    ):
        got = look(*ends)
        check(name, got == right, got)
    mutants.Adapter, mutants.run_one = before


def main():
    the_corpus()
    own_errors()
    prints()
    seed = os.environ.get("SEED") or "1"
    code, text = run("--share", str(SHARE), "--seed", seed)
    check(
        f"{SHARE}_mutants_of_seed_{seed}_are_caught",
        code == 0 and text.count("\nok ") == SHARE - 1,
        text,
    )
    # these few depend on chance (order, producers), so every run tries all of them
    cuda = [r["mutant"] for r in mutants.corpus() if r.get("engine") == "cuda"]
    code, text = run("--seed", seed, *cuda)
    check(
        f"the_mutants_of_cuda_are_caught_with_seed_{seed}",
        code == 0 and text.count("ok cuda ") == len(cuda) > 5,
        text,
    )
    code, text = run("--cases", "0", "ds551")
    check(
        "a_mutant_that_is_not_caught_is_a_failure", code == 1 and "not ok ref ds551" in text, text
    )
    code, text = run("ds0")
    check("an_unknown_mutant_is_refused", code == 2 and "unknown mutant ds0" in text, text)
    return 1 if failed else 0


sys.exit(main())
