"""What proofs/prove.py does when provers end without an answer. No prover is needed: WP is played.

Prints ok / not ok lines."""
import os
import sys
import tempfile
import types

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "proofs"))

import prove  # noqa: E402
import wplog  # noqa: E402

DIED = "[wp] Running WP plugin...\n[wp] [CVC5 1.0.3] Goal g : Failed\n"
SAID = "[wp] Running WP plugin...\n[wp] [CVC5 1.0.3] Goal g : Timeout (2s)\n"
failed = 0


def check(name, good, why=""):
    global failed
    failed += not good
    print(f"{'ok' if good else 'not ok'} {name}{'' if good else ' # ' + str(why)}", flush=True)


def play(logs, mode, cache):
    """Runs a unit whose runs of WP leave these logs, each with a "failed" in the cache; how many were used."""
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
        check("who_answers_is_asked_once", play([SAID], "cold", cache) == 1)
        check("who_dies_is_asked_again", play([DIED, SAID], "cold", cache) == 2)
        check("not_for_ever", play([DIED] * 9, "update", cache) == prove.TRIES)
        check("a_replay_asks_nobody", play([DIED, SAID], "replay", cache) == 1)
        left = sorted(os.listdir(cache))
        check("only_what_failed_just_now_is_forgotten", left == ["1.json", "3.json", "old.json"], left)
    check("a_goal_that_died_is_told", wplog.parse(DIED).goals[0].died() and not wplog.parse(SAID).goals[0].died())
    return 1 if failed else 0


sys.exit(main())
