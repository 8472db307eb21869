"""`zeroproof trace watch` beside a job that writes its traces, and the formats of `trace check`.
watch_test.py ZEROPROOF DIR"""

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "conformance", "recorder"))

import zeroproof_trace_file  # noqa: E402
import zeroproof_trace_sites  # noqa: E402

MOST = 600  # seconds: only limits how long a failing test takes
bad = 0


def verdict(good, name, why=""):
    global bad
    print(f"ok {name}" if good else f"not ok {name}: {why}")
    bad |= not good


class Unlocked(zeroproof_trace_file.TraceFile):
    """A trace that is to be copied: no process holds a lock on the copy."""

    def locked(self):
        return b""


def record(folder, ranks=3, skips=None, site="a,b:c%.py:7", closes=True, exits=None, locks=True):
    """Ten all_reduce of each rank; rank `skips` skips the eighth and enters an all_gather."""
    for rank in range(ranks):
        file = (zeroproof_trace_file.TraceFile if locks else Unlocked)(folder, rank, ranks)
        group = file.group("world", list(range(ranks)), label='<"&>')
        at = file.number_of_site(site)
        for step in range(10):
            file.mark(zeroproof_trace_file.STEP, step)
            op = "all_gather" if rank == skips and step == 7 else "all_reduce"
            number = file.operation(op, group, "sum", "float32", 4, site=at)
            if rank == skips and step == 7:
                break
            if skips is not None and step == 7:
                break
            file.returned(number)
        if closes:
            file.close(ended=exits if rank == ranks - 1 else None)


def watch(zeroproof, folder, *options):
    return subprocess.Popen(
        [zeroproof, "trace", "watch", folder, "--interval", "0.02", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ends(process, code, pattern, name):
    try:
        out = process.communicate(timeout=MOST)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        out = "it does not end: " + process.communicate()[0]
    good = process.returncode == code and re.search(pattern, out, re.MULTILINE)
    verdict(good, name, f"exit code {process.returncode}: {out}")
    return out


def growing(zeroproof, folder):
    """The watch begins before the folder exists. Files grow by a few bytes, and tear items."""
    source, target = os.path.join(folder, "source"), os.path.join(folder, "grows")
    record(source, locks=False)
    process = watch(zeroproof, target)
    os.mkdir(target)
    whole = []
    for rank in range(3):
        with open(os.path.join(source, f"rank-{rank}.zpt"), "rb") as file:
            whole.append(file.read())
    seen = ""
    for at in range(0, max(map(len, whole)), 5):
        for rank, data in enumerate(whole):
            with open(os.path.join(target, f"rank-{rank}.zpt"), "ab") as file:
                file.write(data[at : at + 5])
        if at in (130, 180):  # until the watch has read so far, within an item
            seen += process.stdout.readline()
    ends(
        process,
        0,
        "^all 3 ranks completed: 30 records, consistent$",
        "a_job_that_completes_ends_it",
    )
    verdict("3 of 3 ranks have traces, 0 ended" in seen, "it_follows_the_traces", seen)


def starts(zeroproof, folder):
    """A job that loads data before its first operation: its traces are old, and have no record."""
    source, target = os.path.join(folder, "source"), os.path.join(folder, "starts")
    ends(watch(zeroproof, target, "--once"), 0, "^no traces in .* yet$", "no_traces_are_no_alarm")
    os.mkdir(target)
    whole, longago = {}, time.time() - 100000
    for rank in range(3):
        name = os.path.join(target, f"rank-{rank}.zpt")
        with open(os.path.join(source, f"rank-{rank}.zpt"), "rb") as file:
            whole[name] = file.read()
        with open(name, "wb") as file:
            file.write(whole[name][:10])
        os.utime(name, (longago, longago))
    process = watch(zeroproof, target, "--stall", "5000")
    said = process.stdout.readline()
    verdict("0 records of each rank yet\n" in said, "start_up_is_no_stall", said)
    for name, data in whole.items():
        with open(name, "ab") as file:
            file.write(data[10:])
    ends(process, 0, "^all 3 ranks completed: 30 records", "the_job_is_watched_after_its_start")


def states(zeroproof, folder):
    """Rank 0 runs: this process has its trace open. The process of rank 1 has ended, without an end
    mark; rank 2 ended with a status; of rank 3 it is not known, as its trace has no lock."""
    target = os.path.join(folder, "states")
    held = zeroproof_trace_file.TraceFile(target, 0, 4)
    script = f"import sys; sys.path.append({sys.path[0]!r}); import os, zeroproof_trace_file as z; "
    script += f"z.TraceFile({target!r}, 1, 4).mark(z.STEP, 5); os._exit(1)"
    subprocess.run([sys.executable, "-B", "-c", script], check=False)
    zeroproof_trace_file.TraceFile(target, 2, 4).close(ended=(1, 3, ""))
    with open(os.path.join(target, "rank-3.zpt"), "wb") as file:
        file.write(b"ZPTRACE\1" + zeroproof_trace_file.numbers(3, 4))
    out = ends(watch(zeroproof, target, "--once"), 0, "4 of 4 ranks have traces, 2 ended", "states")
    want = ("runs", "ended", "exit status 3", "no end mark")
    for rank, state in enumerate(want):
        row = rf"^ +{rank} +[-0-9]+ +0 +0 +[0-9.]+  {state} *$"
        verdict(re.search(row, out, re.MULTILINE), f"rank_{rank}_is_shown_as_{state}", out)
    check = subprocess.run(
        [zeroproof, "trace", "check", target], check=False, stdout=subprocess.PIPE, text=True
    )
    for rank, why in (
        (0, "no end mark: the process still runs"),
        (1, "no end mark, and the process has ended: killed, or not closed"),
        (3, "no end mark: still running, killed, or not closed"),
    ):
        good = f"\nwarning: rank {rank} has {why}\n" in check.stdout
        verdict(good, f"check_reports_the_writer_of_rank_{rank}", check.stdout)
    stopped = os.path.join(folder, "stopped")
    script = f"import sys; sys.path.append({sys.path[0]!r}); import os, zeroproof_trace_file as z\n"
    script += f"files = [z.TraceFile({stopped!r}, rank, 2) for rank in range(2)]\n"
    script += "groups = [file.group('world', [0, 1]) for file in files]\n"
    script += "files[0].operation('all_reduce', groups[0], 'sum', 'float32', 4)\nos._exit(1)"
    subprocess.run([sys.executable, "-B", "-c", script], check=False)
    check = subprocess.run(
        [zeroproof, "trace", "check", stopped], check=False, stdout=subprocess.PIPE, text=True
    )
    good = check.returncode == 1 and "unless the job" not in check.stdout
    verdict(good, "a_job_whose_processes_have_ended_does_not_run", check.stdout)
    held.close(ended=(4, 0, ""))
    out = ends(watch(zeroproof, target, "--once"), 0, "3 ended", "a_rank_that_was_ended")
    verdict(
        re.search("^ +0 .*  status unknown *$", out, re.MULTILINE), "its_status_is_unknown", out
    )
    os.remove(os.path.join(target, "rank-3.zpt"))
    record(os.path.join(target, "attempt-1"), ranks=2)
    name = os.path.join(target, "attempt-1", "rank-1.zpt")
    with open(name, "rb") as file:
        data = file.read()
    with open(name, "wb") as file:
        file.write(data[:-1])  # without its end mark; no process holds a lock
    ends(
        watch(zeroproof, target, "--stall", "5000"),
        1,
        r"^alarm: rank 1's process has ended without an end mark \(step 9, 10 records\): killed, ",
        "a_job_whose_processes_have_ended_is_an_alarm_at_once",
    )


def enter(folder, rank, steps, returns=True, status=0, ranks=3):
    """A process that writes the trace of one of the ranks, and still runs."""
    file = zeroproof_trace_file.TraceFile(folder, rank, ranks)
    group = file.group("world", list(range(ranks)))
    for step in range(steps):
        file.mark(zeroproof_trace_file.STEP, step)
        number = file.operation("all_reduce", group, "sum", "float32", 4)
        if returns or step < steps - 1:
            file.returned(number)
    file.put(b"")  # what is pending
    if status:
        file.close(ended=(1, status, ""))


def enter_and_leave(*args, **kwargs):
    """A process that does the same, and has ended."""
    pid = os.fork()
    if pid == 0:
        enter(*args, **kwargs)
        os._exit(0)
    os.waitpid(pid, 0)


def gone(zeroproof, folder):
    """A process that has ended without an end mark is the first thing that an alarm says, unless
    it is a consequence."""
    ended = r"rank 1's process has ended without an end mark \(step 2, 3 records\)"
    for name, more, rest in (
        ("killed", 0, ": killed, or not closed"),
        ("awaited", 1, "; ranks 0, 2 wait for it in all_reduce sum of 4 fp32 in .*"),
    ):
        target = os.path.join(folder, name)
        enter_and_leave(target, 1, 3)
        for rank in (0, 2):
            enter(target, rank, 3 + more, returns=not more)
        ends(
            watch(zeroproof, target, "--stall", "0.2"),
            1,
            rf"^alarm: no progress for \d+ s: {ended}{rest}$",
            f"a_process_that_has_ended_is_named_first:{name}",
        )
    target = os.path.join(folder, "one of two")
    enter_and_leave(target, 1, 3)
    enter_and_leave(target, 2, 4, returns=False)
    enter(target, 0, 4, returns=False)
    ends(
        watch(zeroproof, target, "--stall", "0.2"),
        1,
        r"^alarm: no progress for \d+ s: step 3: rank 1 stopped .* after 3 records; ranks 0, 2 "
        r"wait for it in .*; the processes of 2 ranks \(1, 2\) have ended without end marks$",
        "of_two_processes_that_have_ended_the_one_that_others_wait_for_is_named",
    )
    target = os.path.join(folder, "failed first")
    for rank in (0, 1, 2):
        enter_and_leave(target, rank, 3 + (rank != 1), returns=False, status=4 * (rank == 1))
    ends(
        watch(zeroproof, target),
        1,
        r"^alarm: .*rank 1 ended with exit status 4, .*; the processes of 2 ranks \(0, 2\) have "
        "ended without end marks$",
        "processes_that_a_failed_rank_ended_are_named_last",
    )


def continues(zeroproof, folder):
    """A rank without an end may yet enter an operation only if the process of no member of the
    group has ended, whether that one is late or waits."""
    for name, late, dead in (
        ("all_run", (1, 2), ()),
        ("the_first_late_rank_has_ended", (1, 2), (1,)),
        ("another_late_rank_has_ended", (1, 2), (2,)),
        ("a_rank_that_waits_has_ended", (1,), (2,)),
        ("the_first_rank_that_waits_has_ended", (1,), (0,)),
    ):
        target = os.path.join(folder, name)
        for rank in range(4):
            start = enter_and_leave if rank in dead else enter
            start(target, rank, 3 if rank in late else 4, returns=False, ranks=4)
        check = subprocess.run(
            [zeroproof, "trace", "check", target], check=False, stdout=subprocess.PIPE, text=True
        )
        good = check.returncode == 1 and ("unless the job still runs" in check.stdout) == (not dead)
        verdict(good, f"a_job_may_continue_only_with_all_members:{name}", check.stdout)


def alarms(zeroproof, folder):
    hangs = os.path.join(folder, "hangs")
    record(hangs, skips=1, closes=False)
    command = f'echo "$ZEROPROOF_ALARM" >{folder}/alarm; exit 5'
    out = ends(
        watch(zeroproof, hangs, "--stall", "0.2", "--command", command),
        1,
        r"^alarm: no progress for \d+ s: step 7: rank 1 ",
        "an_alarm_names_the_culprit",
    )
    verdict("rank 1 " in out and "exit status 5" in out, "a_failed_command_is_reported", out)
    with open(os.path.join(folder, "alarm"), encoding="utf-8") as file:
        said = file.read()
    verdict(said.startswith("no progress for ") and "rank 1 " in said, "it_has_the_sentence", said)
    out = ends(watch(zeroproof, hangs, "--once"), 0, "3 of 3 ranks", "one_look_is_no_alarm")
    row = r"^ +1 +7 +8 +0 +[0-9.]+  runs +all_gather sum of 4 fp32 \(a,b:c%\.py:7\)$"
    verdict(re.search(row, out, re.MULTILINE), "the_table_has_a_row_for_each_rank", out)
    fails = os.path.join(folder, "fails")
    record(fails, exits=(1, 3, ""))
    ends(
        watch(zeroproof, fails),
        1,
        "^alarm: .*rank 2 ended with exit status 3",
        "so_is_a_failed_rank",
    )
    record(os.path.join(fails, "attempt-1"))
    out = ends(watch(zeroproof, fails), 0, "^all 3 ranks completed", "the_last_attempt_is_watched")
    verdict("attempt 1\n" in out, "it_is_named", out)
    ends(watch(zeroproof, fails, "--attempt", "0"), 1, "^alarm: ", "another_one_can_be_watched")
    large = os.path.join(folder, "large")
    record(large, ranks=1, closes=False)
    name = os.path.join(large, "rank-0.zpt")
    with open(name, "rb") as file:
        data = file.read()
    with open(name, "wb") as file:  # the world has 131072 ranks
        file.write(data[:8] + zeroproof_trace_file.numbers(0, 1 << 17) + data[10:])
    out = ends(
        watch(zeroproof, large, "--once"), 0, "1 of 131072 ranks", "large_worlds_are_watched"
    )
    verdict(len(out.splitlines()) < 40, "the_table_is_short", out)


def restarts(zeroproof, folder):
    """torchrun restarts all ranks after one has failed."""

    def attempt(at, status):
        for rank in range(3):
            enter_and_leave(os.path.join(target, at), rank, 3, status=status * (rank == 1))

    def waiting(*options):
        process = watch(zeroproof, target, "--restarts", *options)
        seen = ""
        for line in process.stdout:
            seen += line
            if "waiting for another attempt" in line:
                return process
        verdict(False, "it_waits_for_another_attempt", seen)
        return process

    failed = "rank 1 ended with exit status 4"
    target = os.path.join(folder, "restarted")
    attempt("", 4)
    process = waiting("1", "--stall", "5000")
    record(os.path.join(target, "attempt-1"))
    out = ends(process, 0, "^all 3 ranks completed", "the_attempt_after_a_failed_one_is_watched")
    verdict("attempt 1\n" in out, "it_is_named_when_it_begins", out)
    target = os.path.join(folder, "restarted_again")
    attempt("", 4)
    process = waiting("1", "--stall", "5000")
    attempt("attempt-1", 4)
    ends(process, 1, f"^alarm: {failed}", "after_the_last_restart_a_failure_is_an_alarm")
    target = os.path.join(folder, "restarted_never")
    attempt("", 4)
    ends(
        waiting("2", "--stall", "0.2"),
        1,
        rf"^alarm: attempt 0 failed, and no other began within 0.2 s: {failed}",
        "an_attempt_that_does_not_begin_is_an_alarm",
    )
    ends(watch(zeroproof, target), 1, f"^alarm: {failed}", "without_restarts_it_does_not_wait")


def refuses(zeroproof, folder):
    """Options of other sub-commands; each sub-command has its own help."""

    def run(*words):
        return subprocess.run([zeroproof, *words], capture_output=True, text=True, check=False)

    for words, why in (
        (
            ("watch", folder, "--once", "--json"),
            "--json is an option of trace check, view, dump, not of tra",
        ),
        (
            ("watch", "--once", "--format", "json", folder),
            "--format is an option of trace check, not of tr",
        ),
        (("--out", "x", "check", folder), "--out is an option of trace view, not of trace check"),
        (("dump", "--attempt=1", folder), "--attempt is an option of trace check, view, watch, n"),
        (("check", "--values", folder), "--values is an option of the recorder"),
        (("watch", folder, "--restarts", "x"), "--restarts x: expected a number from 0 to 999999"),
        (("watch", folder, "--restarts=1", "--once"), "later attempts: leave out --once"),
        (("watch", folder, "--restarts=1", "--attempt=0"), "leave out --attempt"),
        (("view", folder), "view needs --out FILE"),
        (("check",), "name the folder of the run"),
        (("dump",), "name the file"),
        ((), "expected check DIR, view DIR --out FILE, dump FILE, or watch DIR."),
        (("check", folder, "b"), "unexpected argument b; check reads one folder."),
        (("dump", folder, "b"), "unexpected argument b; dump reads one file."),
        (("draw", folder), "'draw' is no sub-command: expected check DIR, view"),
    ):
        done = run("trace", *words)
        name = "_".join(words).replace(folder, "DIR")
        verdict(done.returncode == 2 and why in done.stderr, f"refused:{name}", done)
    for words in (("--form", "json"), ("--attempt", "0"), ("--format=json",), ("--j",)):
        done = run("trace", *words, "check", os.path.join(folder, "source"))
        verdict(done.returncode == 0, f"an_option_may_come_first:{words[0]}", done)
    others = {"check": "--format", "view": "--out", "dump": "--json", "watch": "--stall"}
    for what, option in others.items():
        done = run("trace", what, "--help")
        good = done.stdout.startswith(f"Usage: zeroproof trace {what} [OPTION...] ")
        good = good and option in done.stdout and "check:" not in done.stdout
        missing = {"--format", "--out", "--stall"} - {option}
        good = good and not any(o + "=" in done.stdout for o in missing)
        verdict(good and done.returncode == 0, f"trace_{what}_has_its_help", done)
        verdict(run("help", "trace", what).stdout == done.stdout, f"help_trace_{what}_is_the_same")
    out = run("trace", "--help").stdout
    verdict(all(o in out for o in others.values()), "trace_has_all_options", out)


def formats(zeroproof, folder):
    def check(what, form, code):
        process = subprocess.run(
            [zeroproof, "trace", "check", os.path.join(folder, what), "--format", form],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        verdict(process.returncode == code, f"{form}_of_{what}_has_the_exit_code", process)
        return process.stdout

    out = check("hangs", "github", 1).splitlines()
    start = "::error file=a%2Cb%3Ac%25.py,line=7,title=zeroproof trace check::step 7: rank 1 "
    verdict(out[0].startswith(start), "annotations_are_at_the_line_of_the_call", out)
    verdict("a,b:c%25.py:7" in out[0], "the_message_is_escaped", out)
    hashed = zeroproof_trace_sites.hashed("train.py") + ":15"
    sites = ("my;dir/train.py:15", "C:train", "d" * 300 + "/train.py:15", "train.py", hashed)
    for number, site in enumerate(sites):
        record(os.path.join(folder, f"site{number}"), skips=1, site=site, closes=False)
        out = check(f"site{number}", "github", 1)
        good = out.startswith("::error title=zeroproof trace check::step 7: rank 1 ")
        verdict(good, f"a_call_without_a_position:{site[:20]}", out)
    record(os.path.join(folder, "hex"), skips=1, site="deadbeef.py:15", closes=False)
    out = check("hex", "github", 1)
    verdict(out.startswith("::error file=deadbeef.py,line=15,"), "another_name_has_one", out)
    out = check("source", "github", 0)
    verdict("::" not in out and "consistent" in out, "a_good_run_has_no_annotations", out)
    for what, failures in (("hangs", 1), ("source", 0)):
        suite = xml.etree.ElementTree.fromstring(check(what, "junit", failures))[0]
        found = suite.findall("testcase/failure")
        good = len(found) == int(suite.get("failures")) == failures
        good = good and all("in '<?&>' {0–2}" in f.get("message") for f in found)
        verdict(good, f"junit_has_the_failures_of_{what}", [f.attrib for f in found])
    verdict(
        check("hangs", "json", 1)
        == subprocess.run(
            [zeroproof, "trace", "check", "--json", os.path.join(folder, "hangs")],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        ).stdout,
        "json_is_the_short_form",
    )


def main():
    zeroproof, folder = sys.argv[1:]
    growing(zeroproof, folder)
    starts(zeroproof, folder)
    alarms(zeroproof, folder)
    states(zeroproof, folder)
    gone(zeroproof, folder)
    continues(zeroproof, folder)
    restarts(zeroproof, folder)
    refuses(zeroproof, folder)
    formats(zeroproof, folder)
    return bad


if __name__ == "__main__":
    sys.exit(main())
