"""`zeroproof elastic` on three hosts, with faults: the job restarts on the rest, from a checkpoint
in a folder that all hosts share, and ends in the digest of a run without faults.

elastic_case.py [NAME…] prints "ok NAME" or "not ok NAME: WHY" for each case. Exits with 1 if one is
not ok, with 2 and the reason if this machine has no namespaces. spec: CKPT-2, CKPT-5, CKPT-7"""

import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import case
import run
import world

PATIENCE_S = 900  # only a run that hangs takes so long
WITHOUT_LOCK_S = 5  # an attempt that waits for no lock begins within this time
JOBS = 2
SMALL = "--layers 3 --d-model 8 --heads 1 --context 8 --batch 1 --sample 0 --bucket 4096"
TRAIN = f"train --data {world.ROOT}/tree/LICENSE {SMALL} --pp 1 --dp 4 --micro-batches 3 --steps"
SEEN = 6  # with --save-every 2 the save of step 2 is published before step 5 ends
STEPS = (
    120,
    1200,
    12000,
)  # until the fault comes before the end: on an idle machine steps are short
SLOTS = {"host-a": 1, "host-b": 2, "host-c": 1}
DIGEST = re.compile(r"hash of the final state .*: ([0-9a-f]{16})")
STEP = re.compile(r"^ *\d+ +\d.*e[+-]\d", re.M)
ATTEMPT = re.compile(
    r"attempt \d+: (\d+) ranks? \(.*?\) on (\d+) slots? of (\d+) hosts?, from step (\d+)"
)
ORDER = list(world.NAMES)

# order: of the hosts in the file; rank 0 is on mpirun's if that is listed, else on the first;
# second: ranks, slots and hosts of the second attempt; line: what standard error says of the loss
CASES = {
    "a_rank_is_killed": {
        "order": ORDER,
        "second": [3, 3, 2],
        "line": r"attempt 1: rank 3 on host-c \(pid \d+\) (was ended by|has ended without)",
    },
    "a_daemon_is_killed": {
        "order": ORDER,
        "second": [2, 2, 2],
        "line": r"host-b has failed: its 2 slots are not used",
    },
    # rank 0, which publishes checkpoints, lives on behind the broken link
    "the_link_of_rank_0_is_cut": {
        "order": ["host-b", "host-c"],
        "second": [1, 1, 1],
        "line": r"host-b does not answer \(exit code 255 of the agent\): its 2 slots are not used",
        "deadline": 30,
    },
    # a daemon that is stopped ends no rank: the agent must
    "mpirun_is_killed_and_a_host_stopped": {
        "order": ORDER,
        "second": [4, 4, 3],
        "line": r"; attempt 1: ",
    },
}


def read(name):
    """A file of the run."""
    with open(f"{case.RUN}/{name}", encoding="utf-8", errors="replace") as file:
        return file.read()


class Elastic:
    """A case that runs."""

    def __init__(self, build, name):
        self.name, self.case, self.why = name, CASES[name], []
        self.world = world.World(run.TREE, build, case.environment())
        with open(f"{case.RUN}/hosts", "w", encoding="ascii") as file:
            file.write("# a comment\n\n")
            for host in self.case["order"]:
                file.write(f"{host} slots={SLOTS[host]}\n")
        self.steps, self.supervisor = 0, None

    def start(self):
        """The supervisor, on the launcher's host. /mnt/run is one folder on all hosts."""
        words = [case.COMMAND, "elastic", "--hosts", f"{case.RUN}/hosts", "--agent", case.AGENT]
        words += ["--deadline", str(self.case.get("deadline", 600)), "--stall", "3000"]
        words += [*TRAIN.split(), str(self.steps), "--save", f"{case.RUN}/ck", "--save-every", "2"]
        with open(f"{case.RUN}/out", "wb") as out, open(f"{case.RUN}/err", "wb") as err:
            return self.world.start(
                case.LAUNCHER, words, stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )

    def inject(self):
        """The fault; the processes that must be gone before the second attempt."""
        if self.name == "a_rank_is_killed":
            os.kill(case.rank_processes(self.world.host("host-c"))[3], signal.SIGKILL)
        elif self.name == "a_daemon_is_killed":
            os.kill(case.daemon_process(self.world.host("host-b")), signal.SIGKILL)
        elif self.name == "the_link_of_rank_0_is_cut":
            return [self.cut_off(self.world.host("host-b"))]
        else:
            there = self.world.host("host-c")
            stopped = [*case.rank_processes(there).values(), case.daemon_process(there)]
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            os.kill(case.daemon_process(self.world.host(case.LAUNCHER)), signal.SIGKILL)
            return stopped
        return []

    def cut_off(self, host):
        """Cuts a host off, whose rank 0 does not give up. No attempt may begin until it has ended:
        it holds a lock of the checkpoint. Its process."""
        rank = case.rank_processes(host)[0]
        stopped = [case.daemon_process(host), rank]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        self.world.link(host.name, False)
        self.wait(lambda: "does not answer (exit" in read("err"))
        if self.wait(lambda: len(ATTEMPT.findall(read("err"))) >= 2, WITHOUT_LOCK_S):
            if len(ATTEMPT.findall(read("err"))) >= 2:
                self.why.append("the second attempt began beside rank 0 of the first")
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        return rank

    def wait(self, holds, seconds=PATIENCE_S):
        """Waits until holds() or the end of the supervisor; False if it has ended."""
        world.wait_until(lambda: self.supervisor.poll() is not None or holds(), seconds, 0.01)
        return self.supervisor.poll() is None

    def run(self):
        """Runs the job to its end; what is wrong."""
        for self.steps in STEPS:
            shutil.rmtree(f"{case.RUN}/ck", ignore_errors=True)
            self.supervisor = self.start()
            if not self.wait(lambda: len(STEP.findall(read("out"))) >= SEEN):
                continue
            gone = self.inject()
            self.wait(lambda: len(ATTEMPT.findall(read("err"))) >= 2)
            if len(ATTEMPT.findall(read("err"))) >= 2:
                break
            self.supervisor.wait(PATIENCE_S)  # the fault came after the last step
            self.why.clear()
            for name in world.NAMES:
                self.world.link(name, True)
        else:
            return [f"ended before the fault: {read('err')[-2000:]}"]
        left = [pid for pid in gone if is_alive(pid)]
        if left:
            self.why.append(f"processes {left} lived when the second attempt began")
        try:
            self.judge(self.supervisor.wait(PATIENCE_S))
        except subprocess.TimeoutExpired:
            self.why.append(f"no end after {PATIENCE_S} s")
        if self.why:
            self.why.append(read("err")[-3000:])
        return self.why

    def judge(self, code):
        """The exit code, the attempts, the digest, and what is left on the hosts."""
        err, attempts = read("err"), [[int(w) for w in a] for a in ATTEMPT.findall(read("err"))]
        words = [case.COMMAND, *TRAIN.split(), str(self.steps)]
        alone = subprocess.run(words, capture_output=True, text=True, check=True)
        here, want = DIGEST.findall(read("out")), DIGEST.findall(alone.stdout)
        if code != 0 or len(want) != 1 or here != want:
            self.why.append(f"exit code {code}, digest {here}, without faults {want}")
        if len(attempts) < 2 or attempts[1][:3] != self.case["second"] or attempts[1][3] == 0:
            self.why.append(f"attempts {attempts}, the second must be {self.case['second']}")
        if not re.search(self.case["line"], err):
            self.why.append(f"nothing matches '{self.case['line']}'")
        for host in self.world.hosts:
            if world.wait_until(lambda at=host: not case.rank_processes(at), case.END_S) is None:
                self.why.append(f"{host.name} still runs {case.rank_processes(host)}")


def is_alive(pid):
    """Neither ended nor a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def start_case(name):
    """Runs a case in namespaces of its own; what is wrong."""
    argv = [sys.executable, "-B", __file__, "inside", name]
    process = world.enter(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.communicate()
    return json.loads(out) if process.returncode == 0 else [err[-2000:]]


def main():
    """The exit code."""
    build = os.path.abspath(os.environ.get("ZP_BUILD", "build"))
    if sys.argv[1:2] == ["inside"]:
        print(json.dumps(Elastic(build, sys.argv[2]).run()))
        return 0
    why = world.why_impossible()
    if why:
        print(f"not run: zeroproof elastic on three hosts: {why}")
        return 2
    names = sys.argv[1:] or list(CASES)
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for name, wrong in zip(names, pool.map(start_case, names), strict=True):
            print(f"not ok {name}: {'; '.join(wrong)}" if wrong else f"ok {name}", flush=True)
            bad += bool(wrong)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
