"""One rank of alarm_test.py: alarm_rank.py SCENARIO RANK WORLD PORT. The last rank ends as the
scenario says, in its second step. PORT: of the parent's store, or - for torchrun's."""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
import zeroproof.torch as zt

LONG = 1000.0


def ends(scenario):
    if scenario == "raises":
        raise ValueError("a bad batch")
    if scenario == "quits":
        sys.exit(3)
    if scenario == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if scenario == "is stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    if scenario == "hangs":
        time.sleep(LONG)
    if scenario == "forks":  # a child's end is not the rank's
        child = os.fork()
        if child == 0:
            try:
                raise ValueError("of the child")
            except ValueError:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
        os.waitpid(child, 0)


def main():
    scenario, rank, world, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if port == "-":
        dist.init_process_group("gloo")
        rank, world = dist.get_rank(), dist.get_world_size()
    else:
        first = rank == 0 and scenario == "has the store"
        store = dist.TCPStore("127.0.0.1", int(port), is_master=first, wait_for_workers=False)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    waits = scenario in ("is stopped", "hangs")
    engine = zt.Engine(torch.nn.Linear(4, 4), timeout_s=30.0 if waits else LONG)
    for step in range(3):
        bad = step == 1 and rank == (0 if scenario == "has the store" else world - 1)
        if step == 1 and rank == 0 and scenario == "is heard":
            time.sleep(2)  # not in the engine when the alarm comes
        try:
            with engine.micro_batch():
                engine.backward(engine.model(torch.ones(2, 4)).sum())
                if bad and scenario in ("leaves", "has the store"):  # no hook of Python runs
                    raise KeyError("of its own")
                if bad:
                    ends("raises" if scenario == "is heard" else scenario)
        except KeyError:
            os._exit(1)
        engine.step()
        print(f"rank {rank} ended step {step}", flush=True)


if __name__ == "__main__":
    main()
