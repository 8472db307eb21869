"""Runs the ranks of a case in one process each, and finds the rank that failed first by itself.

A rank that has ended, or raised an error, stays alive until the case ends. So its peers do not lose
their connections to it: they enter what they would have entered, and wait. Which error is reported
then depends on what the ranks did, and not on which of them noticed first."""

import ctypes
import importlib.util
import json
import math
import os
import select
import signal
import threading
import traceback

JUDGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge")
PR_SET_PDEATHSIG = 1  # linux/prctl.h
POLL = 0.05  # seconds between two looks at ranks that have not reported
BLOCKED = 0.4  # seconds without computing after which ranks wait for a rank that failed


def module_of_judge(name):
    """One module of the judge. Its folder is not searched, as a subject may import equal names."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(JUDGE, f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


idle = module_of_judge("idle")


class Rank:
    """A rank's ledger and the steps of its answer. written: the number of its records."""

    def __init__(self, rank, folder):
        self.rank, self.folder, self.steps, self.written = rank, folder, [], 0
        self.lock = threading.Lock()  # some libraries communicate in several threads
        self.file = open(
            os.path.join(folder, f"rank-{rank}.jsonl"), "w", buffering=1, encoding="utf-8"
        )

    def write(self, record):
        with self.lock:
            self.file.write(json.dumps(record) + "\n")
            self.written += 1

    def begin(self, step):
        self.write({"step": step})


def failure(me, error, lost):
    """What a rank reports of its error."""
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "type": type(error).__name__,
        "function": frames[-1].name,
        "message": "".join(traceback.format_exception(error)),
        "lost": lost(error),
        "written": me.written if me else 0,
    }


def child(make, main, rank, folder, lost, adapter, report):
    """Runs a rank, reports its end, and stays alive."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != adapter:  # it has ended before
        os._exit(1)
    me = None
    try:
        me = make(rank)
        main(me)
        me.write({"end": True})
        name, result = "result", {"rank": rank, "steps": me.steps}
    except BaseException as error:
        name, result = "error", failure(me, error, lost)
        traceback.print_exc()
        if me:
            me.write({"failed": True})
    with open(os.path.join(folder, f"{name}-{rank}.json"), "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.write(report, b"%d\n" % rank)
    while True:
        signal.pause()


class Children:
    """The processes of a case's ranks, until each has reported or died."""

    def __init__(self, make, main, world, folder, lost):
        self.folder, self.running, self.died = folder, {}, {}  # pid -> rank, rank -> how
        self.alive, self.watch = [], idle.Watch(BLOCKED)
        self.reports, report = os.pipe()
        adapter = os.getpid()
        for rank in range(world):
            pid = os.fork()
            if pid == 0:
                child(make, main, rank, folder, lost, adapter, report)
            self.running[pid] = rank
            self.alive.append(pid)
        os.close(report)

    def wait(self):
        """Returns when all ranks have reported or died, or when one failed and the others only
        wait. If none failed, the judge finds out from the ledgers that all wait."""
        while self.running:
            if select.select([self.reports], [], [], POLL)[0]:
                ranks = {int(word) for word in os.read(self.reports, 4096).split()}
                self.running = {p: q for p, q in self.running.items() if q not in ranks}
            self.bury()
            if (self.died or self.failed()) and self.watch.asleep(self.running):
                return

    def bury(self):
        """Notes ranks that died."""
        while (ended := os.waitpid(-1, os.WNOHANG) if self.alive else (0, 0))[0]:
            self.alive.remove(ended[0])
            if ended[0] in self.running:
                self.died[self.running.pop(ended[0])] = os.waitstatus_to_exitcode(ended[1])

    def failed(self):
        return any(name.startswith("error-") for name in os.listdir(self.folder))

    def end(self):
        for pid in self.alive:
            os.kill(pid, signal.SIGKILL)
        for pid in self.alive:
            os.waitpid(pid, 0)
        os.close(self.reports)


def error_of(folder, world, died):
    """The error of the rank that failed by itself; of several, after the fewest records. Errors of
    ranks that lost a peer count only if there is no other."""
    errors = []
    for rank in range(world):
        name = os.path.join(folder, f"error-{rank}.json")
        if os.path.exists(name):
            with open(name, encoding="utf-8") as file:
                errors.append({"status": "error", "rank": rank, **json.load(file)})
    for rank, code in sorted(died.items()):
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        message = f"rank {rank} ended by {how} without an error message"
        errors.append({"status": "error", "rank": rank, "type": how, "message": message})
    first = min(errors, key=lambda e: (e.get("lost", False), e.get("written", math.inf)))
    return {key: first[key] for key in first if key not in ("lost", "written")}


def lost_by_gloo(error):
    """True if gloo's transport raised the error: another rank has ended, or sent too much."""
    return "/gloo/transport/" in str(error)


def run(make, main, world, folder, lost=lambda error: False):
    """The answer. make(rank) makes a Rank, and main(Rank) fills its ledger and its steps.
    lost(error): True if the rank raised the error because it had lost a peer."""
    children = Children(make, main, world, folder, lost)
    children.wait()
    children.end()
    found = []
    for q in range(world):
        name = os.path.join(folder, f"result-{q}.json")
        if not os.path.exists(name):
            return error_of(folder, world, children.died)
        with open(name, encoding="utf-8") as file:
            found.append(json.load(file))
    return {"status": "ok", "ranks": found}
