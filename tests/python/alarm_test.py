"""A rank that raises, dies, hangs or leaves ends the other ranks of a zeroproof.torch.Engine, whose
errors name it; and torchrun restarts a job, which goes on with the same bits. How long it takes is
printed and not judged, but without an alarm a rank would wait for 1,000 s.

    python alarm_test.py [SCENARIO...]    # these alone"""

import concurrent.futures
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

import torch.distributed as dist

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


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ends_of(scenario, folder):
    """Exit codes of the other ranks, None for one that lives on; what each rank says; seconds."""
    began = time.monotonic()
    keeps = scenario != "has the store"
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False) if keeps else None
    port, ends, files = store.port if store else free_port(), [], []
    for rank in range(WORLD):
        files.append(os.path.join(folder, f"{scenario} {rank}"))
        with open(files[-1], "w") as out:
            command = [sys.executable, os.path.join(HERE, "alarm_rank.py"), scenario, str(rank)]
            ends.append(subprocess.Popen([*command, str(WORLD), str(port)], stdout=out, stderr=out))
    one = 0 if scenario == "has the store" else WORLD - 1
    codes, limit = {}, time.monotonic() + MOST_S
    for rank in range(WORLD):
        if rank == one:
            continue
        try:
            codes[rank] = ends[rank].wait(max(1.0, limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            codes[rank] = None
    for end in ends:
        end.kill()
        end.wait()
    said = []
    for file in files:
        with open(file, errors="replace") as text:
            said.append(text.read())
    del store
    return codes, said, time.monotonic() - began


def scenarios(folder, which):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ended = pool.map(lambda scenario: ends_of(scenario, folder), which)
        for scenario, (codes, said, took) in zip(which, ended, strict=True):
            want = SCENARIOS[scenario]
            for rank, code in codes.items():
                last = re.findall(r"EngineError: (.*)", said[rank]) or [said[rank][-400:]]
                if want is None:
                    name, good = f"{scenario}: rank {rank} goes on", code == 0
                else:
                    name = f"a rank that {scenario}: rank {rank} ends and knows"
                    good = code == 1 and want in last[-1]
                check(name, good, f"exit {code}: {last[-1]}")
            print(f"  {took:.1f} s with the start of Python")


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
    with tempfile.TemporaryDirectory() as folder:
        scenarios(folder, sys.argv[1:] or SCENARIOS)
        if not sys.argv[1:]:
            under_torchrun(folder)
            restarts(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
