"""Adapters whose ranks are processes, of which one is at fault. The judge must find it, whatever
the others do then.

usage: processes.py FAULT"""

import json
import os
import signal
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import ranks  # noqa: E402

FAULTS = {
    "raises": "rank 1 raises an error instead of entering the last collective",
    "raises-late": "the same after it has computed for a second",
    "two-errors": "rank 0 raises an error after rank 1, but after fewer records",
    "ends-early": "rank 1 ends without entering the last collective",
    "killed": "rank 1 is killed, so the others lose it",
}
HELLO = {
    "protocol": 1,
    "name": "selftest processes",
    "version": "1",
    "level": 2,
    "returns": ["parameters", "ledger"],
    "supports": {"zero": [0], "dp": [2, 3], "steps": [1, 2]},
}


class PeerClosed(ConnectionError):
    """The connection to another rank is closed."""


def compute(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
    raise ValueError(f"computed for {seconds} s")


def look_up(key):
    return {}[key]


def all_reduce(me, peers, count):
    group = list(range(len(peers) + 1))
    me.write({"op": "all_reduce", "redop": "sum", "dtype": "fp32", "count": count, "group": group})
    for peer in peers:
        peer.send(b"x")
    for peer in peers:
        if not peer.recv(1):
            raise PeerClosed(f"rank {me.rank}: connection closed by peer")


def train(me, fault, case, peers):
    count = sum(e["numel"] for e in case["parameters"])
    for step in range(case["steps"]):
        me.begin(step)
        if step == case["steps"] - 1 and me.rank == 1:
            if fault == "ends-early":
                return
            if fault == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            compute(1 if fault == "raises-late" else 0)
        all_reduce(me, peers, count)


def connect(me, world):
    """A connection to each other rank, which closes when that rank's process ends."""
    mine = socket.socket(socket.AF_UNIX)
    mine.bind(os.path.join(me.folder, f"socket-{me.rank}"))
    mine.listen(world)
    peers = []
    for rank in range(me.rank):
        peer = socket.socket(socket.AF_UNIX)
        while peer.connect_ex(os.path.join(me.folder, f"socket-{rank}")):
            time.sleep(0.01)  # it does not listen yet
        peers.append(peer)
    return peers + [mine.accept()[0] for _ in range(me.rank + 1, world)]


def run(fault, case, folder):
    def main(me):
        peers = me.peers = connect(me, case["world"])  # they stay open while the rank lives
        if fault == "two-errors" and me.rank == 0:
            time.sleep(0.3)
            look_up("p0")
        if fault == "two-errors" and me.rank == 1:
            me.begin(0)
            compute(0)
        train(me, fault, case, peers)

    return ranks.run(
        lambda rank: ranks.Rank(rank, folder),
        main,
        case["world"],
        folder,
        lambda error: isinstance(error, ConnectionError),
    )


if __name__ == "__main__":
    if sys.argv[1:] not in [[fault] for fault in FAULTS]:
        sys.exit(__doc__ + "\n" + "\n".join(f"  {n:<16}{what}" for n, what in FAULTS.items()))
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "bye":
            break
        answer = (
            HELLO
            if request["do"] == "hello"
            else run(sys.argv[1], request["case"], request["ledgers"])
        )
        print(json.dumps(answer), flush=True)
