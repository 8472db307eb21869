"""A small torch.distributed program on gloo: torch_program.py DIR FAULT... For each FAULT, rank 1
of 3 has that fault, and the trace is in DIR/FAULT."""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "conformance", "recorder"))


def run(rank, folder, faults, rendezvous):
    import zeroproof_trace

    zeroproof_trace.record(os.path.join(folder, faults[0]))
    dist.init_process_group("gloo", init_method="file://" + rendezvous, rank=rank, world_size=3)
    for fault in faults:
        train(rank, fault, zeroproof_trace.record(os.path.join(folder, fault)))
        dist.barrier()
    dist.destroy_process_group()


def from_any(rank, size):
    """Ranks 1 and 2 send, rank 0 receives from any source."""
    if rank > 0:
        dist.send(torch.ones(size), 0)
    else:
        source = dist.recv(torch.empty(4))
        work = dist.irecv(torch.empty(4))
        work.wait()
        assert {source, work._source_rank()} == {1, 2}


def only_record(recorder, name, **arguments):
    from zeroproof_trace import Operator, first

    operator = Operator(name, [*arguments, "async_op"])
    recorder.publish(operator, arguments, first(arguments, *operator.tensors))


def train(rank, fault, recorder):
    import zeroproof_trace

    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
    pair = dist.new_group([0, 1])
    tensor = torch.ones(6)
    for step in range(2):
        zeroproof_trace.step(step)
        zeroproof_trace.phase("gradient")
        model(torch.ones(1, 3) * rank).sum().backward()
        zeroproof_trace.phase("norm")
        dist.all_reduce(
            tensor,
            op=dist.ReduceOp.MIN if (fault, rank, step) == ("redop", 1, 1) else dist.ReduceOp.MAX,
        )
        with torch.inference_mode():
            dist.broadcast(torch.ones(4, dtype=torch.bfloat16), 2)
        if rank < 2:
            dist.all_reduce(tensor, group=pair)
        ops = [
            dist.P2POp(dist.isend, tensor, (rank + 1) % 3),
            dist.P2POp(dist.irecv, tensor.clone(), (rank + 2) % 3),
        ]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        from_any(rank, 3 if (fault, rank, step) == ("sent", 1, 1) else 4)
    # gloo does not run these operations, so that a fault does not stop the program; they are only
    # recorded
    world = {"process_group": dist.group.WORLD.boxed()}
    if fault == "op" and rank == 1:
        whole = [[tensor] * 3]
        only_record(recorder, "allgather_", input_tensors=[tensor], output_tensors=whole, **world)
    elif not (fault == "skip" and rank == 1):
        sent = tensor[:5] if fault == "count" and rank == 1 else tensor
        only_record(recorder, "broadcast_", tensors=[sent], root_rank=0, **world)
    recorder.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        mp.spawn(
            run, args=(sys.argv[1], sys.argv[2:], os.path.join(scratch, "rendezvous")), nprocs=3
        )
