"""torch_context.py DIR RENDEZVOUS RANK: what a record knows beside its operation, on two ranks on
gloo: call site, step, phase, group. The functions of torch.distributed are imported by name before
the recorder starts. Lines with a mark "# name" are the call sites that the test expects."""

import os
import sys
import threading

import torch
import torch.distributed as dist
from torch.distributed import P2POp, batch_isend_irecv, irecv, isend, recv, send
from torch.optim.optimizer import _global_optimizer_post_hooks

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "conformance", "recorder"))
import zeroproof_trace  # noqa: E402

folder, rendezvous, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])


def hooks():
    return (
        sys.excepthook,
        dist.distributed_c10d._check_p2p_op_list,
        list(_global_optimizer_post_hooks),
    )


def record(name, **options):
    return zeroproof_trace.record(os.path.join(folder, name), **options)


class Layer(torch.nn.Linear):
    """A layer with a collective of its own."""

    def forward(self, x):
        dist.all_reduce(torch.ones(5))  # layer
        return super().forward(x)


class Descent(torch.optim.SGD):
    """An optimizer with a collective, and an optimizer within it."""

    def __init__(self, parameters):
        super().__init__(parameters, lr=0.1)
        self.inner = torch.optim.SGD(self.param_groups[0]["params"], lr=0.1)

    def step(self, closure=None):
        dist.all_reduce(torch.ones(26))  # optimizer
        self.inner.step()
        return super().step(closure)


def shared(size):
    dist.all_reduce(torch.ones(size))  # shared


class Inner(torch.nn.Module):
    def forward(self):
        shared(31)  # inner


def training():
    """Three steps. The second optimizer does not count them again."""
    recorder = record("training")
    group = dist.new_group([0, 1], group_desc="pair")
    model = torch.nn.parallel.DistributedDataParallel(Layer(3, 2))
    optimizer, other = Descent(model.parameters()), torch.optim.Adam(model.parameters())
    shared(7)  # before
    for step in range(3):
        loss = model(torch.ones(1, 3) * rank).sum()  # forward
        loss.backward()  # backward
        optimizer.step()  # step
        other.step()
        if step == 1:
            zeroproof_trace.phase("norm")
        shared(28)  # after
        Inner()()
        zeroproof_trace.phase("")
        dist.all_reduce(torch.ones(9), group=group)
    thread = threading.Thread(target=shared, args=(10,))
    thread.start()
    thread.join()
    recorder.close()
    optimizer.step()


def numbered():
    """The program numbers its steps itself."""
    recorder = record("numbered")
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    for step in (40, 50):
        zeroproof_trace.step(step)
        shared(7)
        parameter.sum().backward()
        optimizer.step()
        shared(8)
    recorder.close()


def by_name():
    """Functions that were imported before the recorder started."""
    recorder = record("by_name")
    other = 1 - rank
    for order in (-1, 1):
        ops = [P2POp(isend, torch.ones(2), other), P2POp(irecv, torch.zeros(2), other)][::order]
        for work in batch_isend_irecv(ops):  # batch
            work.wait()
    for turn in (0, 1):
        if rank == turn:
            send(torch.ones(3), other)
        else:
            recv(torch.zeros(3), other)
    calls = [(isend, torch.ones(4)), (irecv, torch.zeros(4))]
    for work in [call(tensor, other) for call, tensor in calls[:: 1 - 2 * rank]]:
        work.wait()
    dist.barrier()
    recorder.close()


def failing():
    """The second operation of a batch fails before it is entered."""
    recorder = record("failing")
    other = 1 - rank
    ops = [P2POp(isend, torch.ones(2), other), P2POp(irecv, torch.zeros(2), other)]
    ops[1].tensor = None
    real, works = vars(dist.ProcessGroup)["send"], []
    dist.ProcessGroup.send = lambda group, *args: (
        works.append(real.__get__(group)(*args)) or works[-1]
    )
    try:
        batch_isend_irecv(ops)
    except TypeError:
        dist.ProcessGroup.send = real
        irecv(torch.zeros(2), other).wait()
        works[0].wait()
    recorder.close()


def in_autograd():
    """A thread without a line of the program, as autograd has for a device: the main thread waits
    for it within backward()."""
    recorder = record("autograd")
    recorder.in_backward = lambda: 1
    thread = threading.Thread(target=dist.all_reduce, args=(torch.ones(3),))
    thread.start() or thread.join()  # waits
    thread = threading.Thread(target=dist.all_reduce, args=(torch.ones(3),))
    thread.start() or thread.join()  # waits_again
    recorder.in_backward = torch._C._current_graph_task_id
    thread = threading.Thread(target=dist.all_reduce, args=(torch.ones(4),))
    thread.start()
    thread.join()
    recorder.close()


def repeated():
    """The lines of a record in the backward pass are looked up once."""
    recorder = record("repeated")
    real, calls = recorder.described, []
    recorder.described = lambda *call: calls.append(call) or real(*call)
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda _: shared(3))  # hook
    for _ in range(4):
        x.sum().backward()  # repeated
    del recorder.described
    recorder.close()
    print("described", len(calls), flush=True)


def shown():
    """Depth and redaction."""
    for name, options in (
        ("deep", {"depth": 1}),
        ("hidden", {"redact": True}),
        ("none", {"depth": 0}),
    ):
        recorder = record(name, **options)
        group = dist.new_group([0, 1], group_desc="secret")
        shared(3)
        dist.all_reduce(torch.ones(4), group=group)
        recorder.close()
    os.environ.update(ZEROPROOF_TRACE_DEPTH="2", ZEROPROOF_TRACE_REDACT="1")
    recorder = record("environment")
    shared(3)
    recorder.close()
    os.environ.update(ZEROPROOF_TRACE_DEPTH="two", ZEROPROOF_TRACE_REDACT="0")
    recorder = record("invalid")
    shared(3)
    recorder.close()
    os.environ.update(ZEROPROOF_TRACE_DEPTH="")


def compiled():
    """A compiled step of an optimizer."""
    recorder = record("compiled")
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    parameter.grad = torch.ones(2)
    torch.compile(optimizer.step, backend="eager")()
    assert parameter.tolist() == [0.5, 0.5]
    shared(3)
    recorder.close()


def main():
    dist.init_process_group("gloo", init_method="file://" + rendezvous, rank=rank, world_size=2)
    for case in (training, numbered, by_name, failing, in_autograd, repeated, shown, compiled):
        before = hooks()
        case()
        assert hooks() == before, f"{case.__name__}: close() left hooks: {hooks()}"
    dist.destroy_process_group()
    print("alive", flush=True)


if __name__ == "__main__":
    main()
