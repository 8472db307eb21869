"""torch_trouble.py DIR RENDEZVOUS RANK: errors that the recorder must tolerate, on one of two ranks
on gloo."""

import os
import resource
import sys

import torch
import torch.distributed as dist

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "conformance", "recorder"))
import zeroproof_trace  # noqa: E402

folder, rendezvous, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])


def early():
    """A phase and a step before the process group exists."""
    recorder = zeroproof_trace.record(os.path.join(folder, "early"))
    zeroproof_trace.phase("nothing")
    zeroproof_trace.phase("load")
    zeroproof_trace.step(7)
    dist.init_process_group("gloo", init_method="file://" + rendezvous, rank=rank, world_size=2)
    dist.all_reduce(torch.ones(2))
    zeroproof_trace.phase("norm")
    dist.all_reduce(torch.ones(2))
    recorder.close()


def scatter():
    """Only the root has inputs; the other rank's dtype comes from its output."""
    recorder = zeroproof_trace.record(os.path.join(folder, "scatter"))
    got = torch.zeros(2, dtype=torch.int32 if rank else torch.float32)
    dist.scatter(got, None if rank else [torch.ones(2), torch.ones(2)], src=0)
    found = zeroproof_trace.first(
        {"output_tensors": [got], "input_tensors": [[]]}, *zeroproof_trace.TENSORS
    )
    assert found is got, "the device of a call without inputs is that of its outputs"
    recorder.close()


def full():
    """The disk accepts two bytes of rank 1's second record; later there is space again."""
    recorder = zeroproof_trace.record(os.path.join(folder, "full"))
    dist.all_reduce(torch.ones(2))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    if rank:
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (os.fstat(recorder.file.fd).st_size + 2, limits[1])
        )
    dist.all_reduce(torch.ones(3))
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    for _ in range(2):
        dist.all_reduce(torch.ones(2))
    recorder.close()


def nowhere():
    recorder = zeroproof_trace.record("/dev/null/nowhere")
    zeroproof_trace.step(1)
    for _ in range(2):
        dist.all_reduce(torch.ones(2))
    recorder.close()


for trouble in (early, scatter, full, nowhere):
    try:
        trouble()
    except (OSError, ValueError, AssertionError) as error:
        print(
            f"{trouble.__name__}: an error of the recorder reached the program: {error!r}",
            flush=True,
        )
        raise
dist.destroy_process_group()
print("alive", flush=True)
