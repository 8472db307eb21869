"""A rank that raises, dies, hangs or leaves ends the other ranks of a zeroproof.torch.Engine, whose
errors name it; and torchrun restarts a job, which goes on with the same bits. How long it takes is
printed and not judged, as it depends on the machine's load: judged is how long ranks wait, by a
clock that goes on in waits alone, and that the error is the alarm's, not that of gloo.

    python alarm_test.py [SCENARIO...]    # these alone"""

import concurrent.futures
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest.mock

import forked
import torch.distributed as dist
from zeroproof import _alarm

HERE = os.path.dirname(os.path.abspath(__file__))
WORLD, MOST_S = 3, 400
failed = 0

# how the last rank (where "has the store": the first) ends, what the others say, and why
SCENARIOS = {
    "raises": "rank 2 ended: ValueError: a bad batch",
    "is heard": "rank 2 ended: ValueError: a bad batch",
    "quits": "rank 2 has ended: its program is over; it had left micro-batch 0 of step 1",
    "leaves": "rank 2 has ended: an exception in micro-batch 0 of step 1: KeyError: 'of its own'",
    "is killed": "rank 2 has ended without a message: it was killed or is stopped",
    "is stopped": "rank 2 has ended without a message: it was killed or is stopped",
    "hangs": "rank 2 was in micro-batch 0 of step 1 while rank",
    "has the store": "rank 0 or torchrun, which has it, has ended",
    "forks": None,  # nothing ends
}


def check(name, good, why=""):
    global failed
    failed += not good
    print(f"{'ok' if good else 'not ok'} {name}{'' if good else f' # {why}'}", flush=True)


class Clock:
    """Stands for `time` of zeroproof._alarm, and for its events: only waiting takes time."""

    now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Judged:
    """Alarms._judged, which is set at a time."""

    def __init__(self, clock, alarms, at):
        self.clock, self.alarms, self.at = clock, alarms, at

    def wait(self, seconds):
        self.clock.sleep(seconds)
        if self.clock.now >= self.at:
            self.alarms.verdict = "rank 2 ended: an alarm"
        return self.clock.now >= self.at


class Running:
    """A collective that never ends."""

    def is_completed(self):
        return False


def waits():
    """How long rank 0 waits, at most, between another rank's end and its own error. Its thread does
    not run here, so that no other one uses the clock; the other ranks do not answer."""
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    gloo, never, found = RuntimeError("Connection closed by peer"), float("inf"), {}
    for name, at, run in (
        ("in a collective", 7.02, lambda alarms: alarms.wait(Running(), 1000.0)),
        ("before its turn", 7.02, lambda alarms: alarms.turn(False)),
        ("connection", never, lambda alarms: alarms.explain(gloo)),
        ("judges", never, lambda alarms: alarms._judge(0, "lost", str(gloo))),
        ("raises", never, lambda alarms: alarms.raised(ValueError())),
    ):
        clock = Clock()
        with (
            unittest.mock.patch.object(_alarm, "time", clock),
            unittest.mock.patch.object(_alarm.Alarms, "_listen", lambda _: None),
        ):
            alarms = _alarm.Alarms(store, name, 0, WORLD)
            alarms._store.set("here/0", "answers")
            alarms._judged = Judged(clock, alarms, at)
            try:
                error = str(run(alarms))
            except ConnectionAbortedError as aborted:
                error = str(aborted)
            alarms.close()
        found[name] = (clock.now - (0 if at == never else at), error)
    for name, most in (("in a collective", 0.005), ("before its turn", 0.05)):
        late, error = found[name]
        good = 0 <= late <= most and error == "rank 2 ended: an alarm"
        check(f"{name} a rank looks for alarms each {1000 * most:.0f} ms", good, found[name])
    most = found["connection"][0]
    check("a broken connection is an error after at most 10 s", 0 < most <= 10, found)
    late, error = found["judges"]
    good = late < most and "rank 1 has ended without a message" in error and "rank 0" not in error
    check("before that it is known which ranks have ended", good, found)
    check("a rank that raises waits for others at most 2.1 s", 0 < found["raises"][0] <= 2.1, found)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ends_of(server, scenario, folder):
    """Exit codes of the other ranks, None for one that lives on; what each rank says; seconds."""
    began = time.monotonic()
    keeps = scenario != "has the store"
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False) if keeps else None
    port, ends, files = store.port if store else free_port(), [], []
    for rank in range(WORLD):
        files.append(os.path.join(folder, f"{scenario} {rank}"))
        script = os.path.join(HERE, "alarm_rank.py")
        ends.append(server.start([script, scenario, str(rank), str(WORLD), str(port)], files[-1]))
    one = 0 if scenario == "has the store" else WORLD - 1
    codes, limit = {}, time.monotonic() + MOST_S
    for rank in range(WORLD):
        if rank != one:
            codes[rank] = ends[rank].wait(max(1.0, limit - time.monotonic()))
    for end in ends:
        end.kill()
        end.wait()
    said = []
    for file in files:
        with open(file, errors="replace") as text:
            said.append(text.read())
    del store
    return codes, said, time.monotonic() - began


def scenarios(server, folder, which):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ended = pool.map(lambda scenario: ends_of(server, scenario, folder), which)
        for scenario, (codes, said, took) in zip(which, ended, strict=True):
            want = SCENARIOS[scenario]
            for rank, code in codes.items():
                last = re.findall(r"EngineError: (.*)", said[rank]) or [said[rank][-400:]]
                if want is None:
                    name, good = f"{scenario}: rank {rank} goes on", code == 0
                else:
                    name = f"a rank that {scenario}: rank {rank} ends and knows"
                    # no time-out's error: all limits are 1,000 s, but for the two that wait
                    good = code == 1 and want in last[-1]
                check(name, good, f"exit {code}: {last[-1]}")
            print(f"  {took:.1f} s")


def torchrun(folder, *arguments):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", *arguments]
    with open(os.path.join(folder, "torchrun"), "w+") as out:
        code = subprocess.run(command, stdout=out, stderr=out, timeout=MOST_S, check=False)
        out.seek(0)
        return code.returncode, out.read()


def under_torchrun(folder):
    rank = os.path.join(HERE, "alarm_rank.py")
    code, said = torchrun(folder, "--nproc-per-node", "3", rank, "raises", "0", "0", "-")
    before = said.split("SIGTERM")[0]
    for r in (0, 1):
        line = f"zeroproof: rank {r}: rank 2 ended: ValueError: a bad batch"
        check(f"torchrun: rank {r} says which rank it was before SIGTERM", line in before, said)
    check("torchrun fails", code == 1, code)


def restarts(folder):
    rank = os.path.join(HERE, "restart_rank.py")
    bits = []
    for name, dies in (("whole", []), ("torn", ["2"])):
        where = os.path.join(folder, name)
        os.mkdir(where)
        options = ["--nproc-per-node", "2", "--max-restarts", "1"]
        code, said = torchrun(folder, *options, rank, where, *dies)
        found = re.findall(r"from step (\d): (\w+)", said)
        check(f"{name}: trains to the end", code == 0 and len(found) == 1, said)
        bits += found or [("", "")]
    check("a restarted job goes on from its last checkpoint", bits[1][0] == "2", bits)
    check("and ends with the same bits", bits[0][1] == bits[1][1] != "", bits)


def main():
    server = forked.Server()
    with tempfile.TemporaryDirectory() as folder:
        waits()
        scenarios(server, folder, sys.argv[1:] or SCENARIOS)
        if not sys.argv[1:]:
            under_torchrun(folder)
            restarts(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except forked.Child:
        pass
    forked.run_script()
