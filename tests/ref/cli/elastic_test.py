"""Laws of `zeroproof elastic`: the size of a job after a loss, where it continues, how it ends.

elastic_test.py ZEROPROOF. spec: CKPT-2, CKPT-5
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from elastic_kills import MODEL, PATIENT, Run, digest_of, victim_of

STEPS = 60


class First:
    """Chooses the first of several."""

    @staticmethod
    def choice(of):
        return of[0]


class Case:
    """One folder, one text, and runs in them."""

    def __init__(self, zp, tmp):
        self.zp, self.tmp = zp, tmp
        self.failed = 0
        text = Path(tmp, "text")
        text.write_bytes(Path("LICENSE").read_bytes()[:3000])
        self.train = ["train", "--data", str(text), *MODEL, "--steps", str(STEPS)]
        self.want = digest_of(self.plain(self.train).stdout)

    def plain(self, words):
        return subprocess.run([self.zp, *words], capture_output=True, text=True, check=False)

    def start(self, options, every=2, train=()):
        """A supervisor of a job that starts without a checkpoint."""
        shutil.rmtree(f"{self.tmp}/ck", ignore_errors=True)
        save = ["--save", f"{self.tmp}/ck", "--save-every", str(every)]
        words = [
            *PATIENT.split(),
            *options.split(),
        ]  # of one option given twice the last one counts
        return Run([self.zp, "elastic", *words, *self.train, *train, *save])

    def ended(self, run):
        """Waits for the end; exit code, and whether no process is left."""
        code = run.process.wait(600)
        run.wait(lambda: False)
        return code, not run.processes()

    def law(self, name, holds, run=None):
        why = f": {''.join(run.err[-8:])!r} digest {digest_of(''.join(run.out))}" if run else ""
        print(f"ok {name}" if holds else f"not ok {name}{why}", flush=True)
        self.failed += not holds


def send(run, kind, number, attempt, steps):
    """Sends a signal to one process of that kind, once the attempt has printed so many steps."""
    run.wait(lambda: len(run.attempts) >= attempt)
    run.wait(lambda: len(run.steps) - run.attempts[attempt - 1][3] >= steps)
    while run.ended < 2:
        pid = victim_of(run, First, kind)
        if pid is not None:
            os.kill(pid, number)
            return


def sizes_of(run):
    """(pp, dp) of each attempt."""
    return [
        (int(a), int(b))
        for a, b in re.findall(r"attempt \d+: \d+ ranks? \(pp (\d+), dp (\d+)\)", "".join(run.err))
    ]


def shrinks(c):
    """Each lost rank costs a slot; the largest size that is left is used, at last none."""
    run = c.start("--slots 5 --min-ranks 3")
    # the save of step 2 is published before step 5 ends, as that of step 4 waits for it
    for attempt in (1, 2, 3):
        send(run, "rank", signal.SIGKILL, attempt, 6)
    code, gone = c.ended(run)
    text = "".join(run.err)
    # of 12 micro-batches: 5 slots fit 2 x 2, 4 x 1 or 1 x 4; pp stays near to 2
    c.law("a_lost_rank_costs_its_slot", sizes_of(run) == [(2, 2), (2, 2), (3, 1)], run)
    c.law(
        "no_admissible_size_ends_with_3",
        code == 3 and gone and "gave up after 3 attempts" in run.err[-1],
        run,
    )
    c.law(
        "and_names_the_admissible_sizes",
        "2 slots are left, and at least 3 ranks are required; numbers of ranks that the global "
        "batch of 12 micro-batches admits: 48 (pp 4, dp 12), 36 (pp 3, dp 12), 24 (pp 2, dp 12), "
        in text
        and text.split(" admits: ")[1].split("\n")[0].endswith("4 (pp 2, dp 2), 3 (pp 3, dp 1)"),
        run,
    )
    c.law(
        "standard_error_has_a_line_for_each_attempt",
        len(run.err) == 6 and all(f"attempt {i + 1}: " in run.err[i] for i in range(3)),
        run,
    )
    c.law(
        "the_last_loss_has_a_line_too",
        run.err[4].startswith("zeroproof elastic: attempt 3: rank "),
        run,
    )
    log = Path(c.tmp, "ck.log")
    said = log.read_text() if log.exists() else ""
    c.law(
        "what_the_survivors_print_is_in_the_log",
        f"(all messages: {log})" in run.err[1]
        and run.err[-1].endswith(f"; all messages are in {log}\n")
        and "zeroproof launch: " in said
        and "zeroproof launch: " not in text,
        run,
    )
    rerun = Run(
        [c.zp, "elastic", "--slots", "2", *c.train, "--save", f"{c.tmp}/ck", "--save-every", "2"]
    )
    code, _ = c.ended(rerun)
    begins = rerun.attempts[0][2]
    c.law("another_supervisor_continues_its_checkpoint", code == 0 and begins > 0, rerun)
    c.law("with_the_same_bits_on_fewer_ranks", digest_of("".join(rerun.out)) == c.want, rerun)
    again = Run(
        [c.zp, "elastic", "--slots", "2", *c.train, "--save", f"{c.tmp}/ck", "--save-every", "2"]
    )
    code, _ = c.ended(again)
    c.law(
        "a_finished_training_is_not_repeated",
        code == 0
        and not again.attempts
        and "nothing to do: all 60 steps are trained; the last" in again.err[-1],
        again,
    )
    Path(c.tmp, "ck", "LATEST").write_text("zeroproof-latest 1\n")
    damaged = Run(
        [c.zp, "elastic", "--slots", "2", *c.train, "--save", f"{c.tmp}/ck", "--save-every", "2"]
    )
    code, _ = c.ended(damaged)
    c.law("a_damaged_checkpoint_is_refused", code == 2 and not damaged.attempts, damaged)


def begins_again(c):
    """A kill before the first checkpoint: the next attempt begins at step 0."""
    run = c.start("--slots 2", every=1000)
    send(run, "rank", signal.SIGKILL, 1, 2)
    code, gone = c.ended(run)
    ok = "from step 0, without a checkpoint; attempt 1: rank 0 (pid " in "".join(run.err)
    c.law("before_the_first_checkpoint_it_begins_again", code == 0 and gone and ok, run)
    c.law("and_ends_in_the_same_bits", digest_of("".join(run.out)) == c.want, run)
    run = c.start("--slots 2 --slots-return --futile 2", every=1000)
    for attempt in (1, 2):
        send(run, "mpirun", signal.SIGKILL, attempt, 1)
    code, gone = c.ended(run)
    last = "gave up: the last 2 attempts published no checkpoint (--futile); there is no checkpoint"
    c.law("attempts_without_progress_are_bounded", code == 3 and gone and last in run.err[-1], run)
    cause = "; attempt 1: mpirun was ended by signal 9 (Killed)"
    c.law("an_mpirun_that_was_ended_is_the_cause", cause in run.err[1], run)
    run = c.start("--slots 3 --slots-return --futile 1000 --restarts 1000")
    run.wait(lambda: len(run.steps) >= 2)
    ranks = [pid for pid, rank in run.processes() if rank is not None]
    for pid in ranks:
        os.kill(pid, signal.SIGKILL)
    code, gone = c.ended(run)
    named = all(f"(pid {pid})" in run.err[1] for pid in ranks)
    c.law("ranks_lost_at_once_are_all_named", code == 0 and gone and len(ranks) == 3 and named, run)
    run = c.start("--slots 2 --slots-return --restarts 1")
    for attempt in (1, 2):
        send(run, "rank", signal.SIGKILL, attempt, 4)
    code, gone = c.ended(run)
    c.law(
        "restarts_are_bounded",
        code == 3 and gone and "gave up after 2 attempts: 1 restart (--restarts)" in run.err[-1],
        run,
    )


def stops(c):
    """A rank that is stopped, all processes that are stopped, a supervisor that is ended."""
    # on a busy machine there may be more attempts
    often = "--slots 2 --slots-return --futile 1000 --restarts 1000"
    run = c.start(f"{often} --deadline 10")
    send(run, "rank", signal.SIGSTOP, 1, 3)
    code, gone = c.ended(run)
    c.law("a_stopped_rank_is_ended", code == 0 and gone and len(run.attempts) >= 2, run)
    c.law("and_the_bits_are_the_same", digest_of("".join(run.out)) == c.want, run)
    run = c.start(f"{often} --stall 15")
    run.wait(lambda: len(run.steps) >= 3)
    for pid, _ in run.processes():
        os.kill(pid, signal.SIGSTOP)
    code, gone = c.ended(run)
    ok = ": it printed nothing for 15 s (--stall)" in "".join(run.err)
    c.law("a_job_that_stands_still_is_ended", code == 0 and gone and ok, run)
    run = c.start("--slots 2", train=("--steps", "100000"))
    run.wait(lambda: len(run.steps) >= 3)
    run.process.send_signal(signal.SIGTERM)
    code, gone = c.ended(run)
    c.law(
        "a_signal_ends_the_job", code == 3 and gone and "cancelled by signal 15" in run.err[-1], run
    )


def refuses(c):
    """What cannot be restarted with the same bits."""
    save = ["--save", f"{c.tmp}/new", "--save-every", "2"]
    for name, words, why in (
        ("no_save", [*c.train], "give train --save DIR and --save-every N"),
        ("ordered_sums", [*c.train, *save, "--reduce", "ordered"], "only exact sums"),
        ("verify", [*c.train, *save, "--verify"], "a part of it"),
        ("no_train", ["plan"], "'plan' cannot be restarted"),
        ("a_bad_option", [*c.train, *save, "--no-such"], "unrecognized option"),
    ):
        r = c.plain(["elastic", "--slots", "2", *words])
        c.law(
            f"{name}_is_refused",
            r.returncode == 2 and why in r.stderr and not Path(c.tmp, "new").exists(),
        )
    missing = [*c.train, "--data", f"{c.tmp}/missing", "--save", f"{c.tmp}/never"]
    r = c.plain(["elastic", "--slots", "2", *missing, "--save-every", "2"])
    # of the ranks that refuse one prints why, and mpirun may end another before it has reported
    why = r"attempt 1 ended with exit code 2: rank \d reported: (--data |an error \(see its mess)"
    lines = r.stderr.splitlines()
    c.law(
        "a_refusal_of_the_ranks_is_the_last_line",
        r.returncode == 2
        and len(lines) == 2
        and re.search(why, lines[1])
        and "it is not restarted" in lines[1]
        and lines[1].endswith(f"there is no checkpoint; all messages are in {c.tmp}/never.log"),
    )
    r = c.plain(["elastic", "--slots", "2", "--verbose", *missing, "--save-every", "2"])
    c.law("with_verbose_it_is_printed", "zeroproof train: --data" in r.stderr)
    for word in ("--save", "--pp=2"):
        for command in (["elastic", "--slots", "2"], ["launch", "-n", "2"]):
            r = c.plain([*command, word, f"{c.tmp}/new", *c.train])
            why = f"{word.split('=')[0]} is an option of train: write it after the word train"
            good = r.returncode == 2 and why in r.stderr
            c.law(f"{word}_before_train_is_refused_by_{command[0]}", good)
    r = c.plain(["launch", "-n", "2", "plan", "--pp", "2"])
    c.law("options_after_another_command_are_its_own", "'plan' does not run as" in r.stderr)
    log = Path(c.tmp, "new.log")
    log.mkdir()
    r = c.plain(["elastic", "--slots", "2", *c.train, *save])
    last = "zeroproof elastic: no attempt could be made; there is no checkpoint"
    good = r.returncode == 3 and last in r.stderr.splitlines()[-1] and str(log) in r.stderr
    c.law("a_log_that_cannot_be_written_is_named", good)
    log.rmdir()
    r = c.plain(["elastic", *c.train, *save])
    c.law("no_slots_is_refused", r.returncode == 2 and "--slots N" in r.stderr)
    hosts = Path(c.tmp, "hosts")
    for name, text, why in (
        ("no_host", "# only a comment\n", "lists no host"),
        ("a_host_without_slots", "a slots=2\nb\n", "line 2: expected 'NAME slots=N'"),
        ("a_host_listed_twice", "a slots=2\na slots=1 # again\n", "line 2: a is listed twice"),
        ("an_option_as_a_host", "-oX slots=2\n", "line 1: '-oX' is not the name of a host"),
    ):
        hosts.write_text(text)
        r = c.plain(["elastic", "--hosts", str(hosts), *c.train, *save])
        c.law(f"{name}_is_refused", r.returncode == 2 and why in r.stderr)
    hosts.write_text("localhost slots=2\n")
    r = c.plain(["elastic", "--hosts", str(hosts), "--slots", "2", *c.train, *save])
    c.law("slots_beside_hosts_are_refused", r.returncode == 2 and "--hosts FILE" in r.stderr)
    r = c.plain(["elastic", "--slots", "2", *c.train, *save, "--lr", "nan"])
    c.law("train_s_own_refusal_ends_it", r.returncode == 2)
    r = c.plain(["elastic", "--slots", "2", "--min-ranks", "5", *c.train, *save])
    good = r.returncode == 3 and r.stderr.endswith("0 attempts; there is no checkpoint\n")
    c.law("a_log_that_was_not_begun_is_not_named", good and not log.exists())


def main():
    def run(part):
        with tempfile.TemporaryDirectory() as tmp:
            case = Case(sys.argv[1], tmp)
            part(case)
            return case.failed

    with ThreadPoolExecutor() as pool:  # jobs mostly wait for processes that end
        return 1 if sum(pool.map(run, (shrinks, begins_again, stops, refuses))) else 0


if __name__ == "__main__":
    sys.exit(main())
