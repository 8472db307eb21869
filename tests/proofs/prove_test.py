"""Tests how proofs/prove.py and proofs/losses.py handle provers that end without an answer or run
out of time, and which verdicts of proofs/verdicts.txt count. WP is simulated, so no prover runs.

Prints ok / not ok lines."""

import json
import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "proofs"))

import losses  # noqa: E402
import prove  # noqa: E402
import verdicts  # noqa: E402
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


SLOW = ["[wp] [Failed] Goal typed_g", "  CVC5 1.0.3: Timeout (5s)", "  Z3 4.8.12: Unknown (1s)", ""]
WRONG = ["[wp] [Qed] Goal typed_f : Valid", "[wp] [CVC5 1.0.3] Goal typed_g : Unknown (30ms)"]
GONE = ["[wp] [CVC5 1.0.3] Goal typed_g : Failed"]
GOOD = ["[wp] [CVC5 1.0.3] Goal typed_g : Valid (30ms)"]


def judged(first, again, before):
    """The verdict on a mutant whose runs leave these logs, and how often the provers were asked."""
    logs, asked = [first, again], []

    def lost(seconds):
        asked.append(seconds)
        return losses.loss_in(logs[len(asked) - 1])

    return losses.judge_loss(lost, lambda: losses.loss_in(before), 10)[0], len(asked)


def kills():
    check("an_unknown_goal_kills", judged(WRONG, None, GOOD) == (True, 1))
    check("a_time_out_is_asked_again", judged(SLOW, SLOW, GOOD) == (True, 2))
    check("a_goal_that_needs_more_time_does_not_kill", judged(SLOW, GOOD, GOOD) == (False, 2))
    check("a_goal_lost_without_the_change_does_not_kill", judged(SLOW, SLOW, SLOW) == (None, 2))
    check("nor_one_that_is_unknown_without_it", judged(WRONG, None, WRONG) == (None, 1))
    check("nor_provers_that_do_not_answer", judged(GONE, GONE, GOOD) == (None, 2))
    check("no_loss_is_alive", judged(GOOD, None, GOOD) == (False, 1))


def committed():
    """A verdict of proofs/verdicts.txt counts if, and only if, its inputs are unchanged."""

    def inputs(stamp):
        return verdicts.runner_inputs.Inputs("proof", "u").add("unit", stamp).add("packages x", "1")

    line = json.dumps({"result": {"goals": []}, "wall": 1.0, "cpu": 1.0})
    real, verdicts.committed = (
        verdicts.committed,
        lambda: {verdicts.committed_key(inputs("a")): line},
    )
    with tempfile.TemporaryDirectory() as cache:
        os.environ["ZP_CACHE"] = cache
        os.environ.pop("ZP_VERDICTS", None)
        found = verdicts.Verdicts().get(inputs("a"))
        check("a_committed_verdict_counts", found and found["result"] == {"goals": []}, found)
        check("not_of_changed_sources", verdicts.Verdicts().get(inputs("b")) is None)
        for mode in ("none", "compare"):
            os.environ["ZP_VERDICTS"] = mode
            check(f"not_in_mode_{mode}", verdicts.Verdicts().get(inputs("a")) is None)
    verdicts.committed = real


def main():
    kills()
    committed()
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
