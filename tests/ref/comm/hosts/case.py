"""One case: a job on three hosts, a fault, and how it ends.

case.py TREE BUILD CASE runs as the first process of the outer namespaces (world.enter), makes the
hosts, and prints the result as JSON. CASE is JSON: see plans.py."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import world

RUN = world.ROOT + "/run"
COMMAND = world.ROOT + "/build/zeroproof"
AGENT = world.ROOT + "/tree/tests/ref/comm/hosts/agent.py"
RANKS, LOCAL = 6, 2
LAUNCHER = "host-a"
END_S = 60  # for processes to end after the launcher has
KEPT = "LD_LIBRARY_PATH ASAN_OPTIONS UBSAN_OPTIONS".split()


def host_of(rank):
    """Where mpirun puts a rank: two on each host, in their order."""
    return world.NAMES[rank // LOCAL]


def environment():
    """That of the job's processes, on all hosts."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", **root, **kept}


def train_words(options):
    """The sub-command with its options."""
    small = "--layers 3 --d-model 8 --heads 1 --context 8 --batch 1 --sample 0 --bucket 4096"
    words = f"train --data {world.ROOT}/tree/LICENSE {small} --micro-batches 2 --json"
    return words.split() + options.split()


def rank_processes(host):
    """{rank: pid} of a host."""
    found = {}
    for pid, words in host.processes().items():
        if words[0] == COMMAND and words[1] == "train":
            rank = world.environment_of(pid).get("OMPI_COMM_WORLD_RANK")
            if rank is not None:
                found[int(rank)] = pid
    return found


def daemon_process(host):
    """Open MPI's daemon of a host; on the launcher's host that is mpirun itself."""
    for pid, words in host.processes().items():
        if os.path.basename(words[0]) in ("orted", "mpirun"):
            return pid
    return None


class Job:
    """A case that runs."""

    def __init__(self, tree, build, case):
        self.case = case
        self.world = world.World(tree, build, environment(), case["network"], case["seed"])
        self.fault_at = self.ended_at = None
        self.why = []
        if case["network"] == "forwarder":
            for name in ("loss", "delay_s", "jitter_s"):
                setattr(self.world.forwarder, name, case.get(name, 0.0))
        with open(f"{RUN}/hosts", "w", encoding="ascii") as file:
            slots = case.get("slots", [LOCAL] * 3)
            for name, n in zip(world.NAMES[: len(slots)], slots, strict=True):
                file.write(f"{name} slots={n}\n")
        self.before = {host.name: host.counters() for host in self.world.hosts}

    def launch(self):
        """Starts the job; its output goes to files."""
        words = [COMMAND, "launch", "-n", str(RANKS), "--hosts", f"{RUN}/hosts"]
        words += [
            "--agent",
            AGENT,
            "--log",
            self.case.get("log", "/tmp/log"),
            "--deadline",
            str(self.case["deadline"]),
        ]
        with open(f"{RUN}/out", "wb") as out, open(f"{RUN}/err", "wb") as err:
            return self.world.start(
                LAUNCHER,
                words + train_words(self.case["train"]),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    def moment(self, launcher):
        """Waits until the job has come as far as the case says; False if it has ended before."""
        host = self.world.host(self.case["host"])
        sent = self.before[host.name][1] + self.case["sent"]

        def has_come():
            if launcher.poll() is not None:
                return True
            # ranks of this host, so that there is something to end
            return host.counters()[1] >= sent and len(rank_processes(host)) == LOCAL

        world.wait_until(has_come, 600, 0.02)
        return launcher.poll() is None

    def inject(self):
        """The fault."""
        fault, host = self.case["fault"], self.world.host(self.case["host"])
        self.fault_at = time.monotonic()
        number = signal.SIGSTOP if fault.startswith("stop") else signal.SIGKILL
        if fault in ("kill_rank", "stop_rank"):
            os.kill(rank_processes(host)[self.case["rank"]], number)
        elif fault in ("kill_daemon", "stop_daemon"):
            os.kill(daemon_process(host), number)
        elif fault == "link_down":
            self.world.link(host.name, False)
        elif fault == "half_open":
            for other in world.NAMES:
                if other != host.name:
                    pair = (host.name, other)
                    self.world.cut_one_way(*(pair if self.case["outwards"] else pair[::-1]))

    def run(self):
        """Runs the job to its end; the result."""
        launcher = self.launch()
        started = self.fault_at = time.monotonic()
        limit = started + self.case["limit_s"]
        if self.case["fault"] != "none":
            if self.moment(launcher):
                self.inject()
            else:
                self.why.append("the job ended before the fault")
        if self.case["fault"] == "link_down":
            # a job that has failed meanwhile has ended before the link returns
            up_at = self.fault_at + self.case["seconds"]
            world.wait_until(
                lambda: launcher.poll() is not None or time.monotonic() > up_at, 600, 0.02
            )
            self.world.link(self.case["host"], True)
        try:
            code = launcher.wait(max(limit - time.monotonic(), 1))
        except subprocess.TimeoutExpired:
            code = None
            self.why.append(f"no end after {self.case['limit_s']} s")
        self.ended_at = time.monotonic()
        return self.judge(code)

    # ---- How it has ended

    def judge(self, code):
        """The result of the case."""
        with open(f"{RUN}/err", encoding="utf-8", errors="replace") as file:
            err = file.read()
        last = err.rstrip("\n").rsplit("\n", 1)[-1]
        self.check_processes()  # first: ranks may still write their logs
        if code == 0:
            end = "result"
            self.check_result(last)
        else:
            end = "errors"
            self.check_errors(code, last)
        # MPI makes its connections when it starts, and does not repeat one that a link down refused
        starting = self.case["fault"] == "link_down" and ": starting MPI: " in last
        if end not in self.case["ends"] and not (end == "errors" and starting):
            self.why.append(f"ended with {end}, expected {self.case['ends']}")
        return {
            "name": self.case["name"],
            "fault": self.case["label"],
            "end": end,
            "seconds": round(self.ended_at - self.fault_at, 1),
            "why": self.why,
            "last": last,
            "err": err[-6000:] if self.why else "",
        }

    def check_result(self, last):
        """The bits of one host, and links that carried what the ledger says."""
        words = [COMMAND, *train_words(self.case.get("alone", self.case["train"]))]
        alone = subprocess.run(words, capture_output=True, text=True, check=True)
        with open(f"{RUN}/out", encoding="utf-8") as file:
            here = json.load(file)
        expected = json.loads(alone.stdout)["bits"]
        if here["bits"] != expected:
            self.why.append(f"the bits are {here['bits']}, on one host {expected}")
        if last != f"zeroproof launch: the {RANKS} ranks have ended with exit code 0":
            self.why.append("the last line does not say that all has ended")
        self.check_links(here.get("hosts", []))

    def check_links(self, hosts):
        """The links carried what the ledgers count between hosts. Of an all-reduce by MPI one host
        may send half of its count, another twice as much."""
        names = [one["host"] for one in hosts]
        if names != list(world.NAMES) or any(len(one["ranks"]) != LOCAL for one in hosts):
            self.why.append(f"the hosts are {hosts}")
        ledger = sent = received = 0
        for one in hosts:
            now, before = self.world.host(one["host"]).counters(), self.before[one["host"]]
            counted, its = one["sent_to_other_hosts"], now[1] - before[1]
            ledger, sent, received = ledger + counted, sent + its, received + now[0] - before[0]
            if not 2 * its >= counted > 0:
                self.why.append(f"{one['host']} sent {its} bytes, its ledger has {counted}")
        if min(sent, received) < ledger:
            self.why.append(f"{sent} bytes sent, {received} received, the ledgers have {ledger}")

    def survivors(self):
        """The ranks that no fault has ended: those of a host without its daemon end with it."""
        fault, lost = self.case["fault"], set()
        if fault in ("kill_rank", "stop_rank"):
            lost = {self.case["rank"]}
        elif fault == "kill_daemon" and self.case["host"] == LAUNCHER:
            lost = set(range(RANKS))  # without mpirun every daemon ends its ranks
        elif fault == "kill_daemon":
            lost = {rank for rank in range(RANKS) if host_of(rank) == self.case["host"]}
        return [rank for rank in range(RANKS) if rank not in lost]

    def check_errors(self, code, last):
        """Exit code 3; an error of each survivor; the last line."""
        if code != 3:
            self.why.append(f"exit code {code}, expected 3")
        for rank in self.survivors():
            host = self.world.host(host_of(rank))
            log = host.run("sh", "-c", f"cat /tmp/log/rank.{rank} 2>/dev/null || true")
            if not re.match(rf"rank {rank} on {host.name}: .*rank \d+ on host-[abc]", log, re.S):
                self.why.append(f"rank {rank} on {host.name} reports '{log[:300]}'")
        if not last.startswith("zeroproof launch: ") or not re.search(self.case["last"], last):
            self.why.append(f"the last line does not match '{self.case['last']}'")

    def check_processes(self):
        """No rank is left; what was stopped may be, until it is continued."""
        for host in self.world.hosts:
            for pid, words in host.processes().items():
                if os.path.basename(words[0]) in ("orted", "mpirun"):
                    os.kill(pid, signal.SIGCONT)
        for host in self.world.hosts:
            if world.wait_until(lambda at=host: not rank_processes(at), END_S) is None:
                self.why.append(f"{host.name} still runs ranks {sorted(rank_processes(host))}")


def main():
    """Prints the result."""
    tree, build, case = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    print(json.dumps(Job(tree, build, case).run()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
