"""Tests how proofs/prove.py handles provers that end without an answer. WP is simulated, so no
prover runs.

Prints ok / not ok lines."""

import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "proofs"))

import prove  # noqa: E402
import wplog  # noqa: E402

DIED = "[wp] Running WP plugin...\n[wp] [CVC5 1.0.3] Goal g : Failed\n"
TIMEOUT = "[wp] Running WP plugin...\n[wp] [CVC5 1.0.3] Goal g : Timeout (2s)\n"
failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print(f"{'ok' if good else 'not ok'} {name}{'' if good else ' # ' + str(why)}", flush=True)


def play(logs, mode, cache):
    """Runs a unit whose WP runs leave these logs; each DIED adds a "failed" to the cache. Returns
    the number of WP runs."""
    runs = []

    def run_wp(_project, _unit, _command):
        log = logs[len(runs)]
        runs.append(log)
        if log == DIED:
            with open(os.path.join(cache, f"{len(runs)}.json"), "w", encoding="utf-8") as file:
                file.write('{ "prover": "CVC5:1.0.3", "verdict": "failed" }')
        return 0, wplog.parse(log)

    real, prove.run_wp = prove.run_wp, run_wp
    try:
        prove.answers(None, None, [], mode, cache)
    finally:
        prove.run_wp = real
    return len(runs)


def main():
    with tempfile.TemporaryDirectory() as cache:
        old = os.path.join(cache, "old.json")
        with open(old, "w", encoding="utf-8") as file:
            file.write('{ "prover": "Z3:4.8.12", "verdict": "failed" }')
        os.utime(old, (1, 1))
        check("an_answer_is_final", play([TIMEOUT], "cold", cache) == 1)
        check("a_failed_prover_runs_again", play([DIED, TIMEOUT], "cold", cache) == 2)
        check("the_number_of_tries_is_limited", play([DIED] * 9, "update", cache) == prove.TRIES)
        check("a_replay_runs_no_prover_again", play([DIED, TIMEOUT], "replay", cache) == 1)
        left = sorted(os.listdir(cache))
        check("only_new_failures_leave_the_cache", left == ["1.json", "3.json", "old.json"], left)
    check(
        "a_failed_prover_is_not_a_timeout",
        wplog.parse(DIED).goals[0].died() and not wplog.parse(TIMEOUT).goals[0].died(),
    )
    return 1 if failed else 0


sys.exit(main())
