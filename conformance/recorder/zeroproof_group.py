"""A process group that records collectives and forwards them to gloo.

It also sees collectives that torch's C++ issues (DDP's reducer, functional collectives, DTensor),
with their reduction, which a dispatch mode does not show.

    import zeroproof_group
    zeroproof_group.register(write)                      # before init_process_group
    torch.distributed.init_process_group("zeroproof", ...)

Every group of the program, including those of new_group and device meshes, is then of this kind. A
collective that is not implemented here fails, because torch finds no backend for it."""

import torch
import torch.distributed as dist
from torch.multiprocessing.reductions import StorageWeakRef
from zeroproof_record import DTYPES, Waiting

NAME = "zeroproof"
REDOPS = ("sum", "avg", "max", "min", "product", "band", "bor", "bxor", "premul_sum")


class Log:
    """Calls write(record) for each record. pause() excludes calls of the harness itself."""

    def __init__(self, write):
        self.write, self.quiet, self.count = write, 0, 0
        self.moving = {}  # number of a send or receive in progress -> its memory
        self.waited = lambda number: None

    def pause(self):
        log = self

        class Pause:
            def __enter__(self):
                log.quiet += 1

            def __exit__(self, *_):
                log.quiet -= 1

        return Pause()

    def publish(self, record):
        """The record's number, or None while paused."""
        if self.quiet:
            return None
        self.check()
        self.write(record)
        self.count += 1
        return self.count - 1

    def check(self):
        """Records transfers whose memory was freed before the program waited for them."""
        for number in [n for n, memory in self.moving.items() if memory.expired()]:
            del self.moving[number]
            self.write({"freed": number})


class Moving(Waiting):
    """A send or receive in progress."""

    def __init__(self, work, log, number, tensor):
        super().__init__(work, log, number)
        log.moving[number] = StorageWeakRef(tensor.untyped_storage())

    def wait(self, *args, **kwargs):
        self._recorder.check()
        self._recorder.moving.pop(self._number, None)
        return super().wait(*args, **kwargs)

    def is_completed(self):
        done = self._work.is_completed()
        if done:
            self._recorder.moving.pop(self._number, None)
        return done


def redop_of(op):
    return next((name for name in REDOPS if op == getattr(dist.ReduceOp, name.upper())), "unknown")


def total(tensors):
    return sum(t.numel() for t in tensors)


def in_one_dtype(tensors):
    """As bytes if the dtypes differ: gloo gathers all in the first one's, NCCL each in its own."""
    if len({t.dtype for t in tensors}) == 1:
        return tensors
    return [t.view(-1).view(torch.uint8) for t in tensors]


class Group(dist.ProcessGroup):
    """Records each call, then makes it on the real backend."""

    def __init__(self, rank, members, real, log):
        super().__init__(rank, len(members))
        self.members, self.real, self.log = members, real, log
        self.called = None

    def getBackendName(self):  # noqa: N802 (torch's name)
        return NAME

    def _set_group_name(self, name):  # torch's version of these two needs a C++ backend
        self.called = name

    @property
    def group_name(self):
        return self.called

    @property
    def _device_types(self):  # loading checkpoints asks for it
        return [torch.device("cpu")]

    def note(self, op, tensor, opts=None, root=None, count=None):
        record = {"op": op, "group": self.members}
        if self.called is not None:  # distinguishes groups with the same members
            record["name"] = self.called
        if tensor is not None:
            record.update(
                dtype=DTYPES.get(str(tensor.dtype), str(tensor.dtype)),
                count=tensor.numel() if count is None else count,
            )
        if opts is not None and hasattr(opts, "reduceOp"):
            record["redop"] = redop_of(opts.reduceOp)
        if root is not None:
            record["root"] = self.members[root]
        if opts is None or opts.asyncOp:
            record["async"] = True
        self.log.publish(record)

    def allreduce(self, tensors, opts=None):
        opts = opts or dist.AllreduceOptions()
        self.note("all_reduce", tensors[0], opts, count=total(tensors))
        return self.real.allreduce(tensors, opts)

    def allreduce_coalesced(self, tensors, opts=None):
        opts = opts or dist.AllreduceCoalescedOptions()
        self.note("all_reduce", tensors[0], opts, count=total(tensors))
        return self.real.allreduce_coalesced(tensors, opts)

    def broadcast(self, tensors, opts=None):
        self.note("broadcast", tensors[0], opts, root=opts.rootRank, count=total(tensors))
        return self.real.broadcast(tensors, opts)

    def reduce(self, tensors, opts=None):
        self.note("reduce", tensors[0], opts, root=opts.rootRank)
        return self.real.reduce(tensors, opts)

    def allgather(self, outputs, inputs, opts=None):
        opts = opts or dist.AllgatherOptions()
        self.note("all_gather", inputs[0], opts)
        return self.real.allgather(outputs, inputs, opts)

    def _allgather_base(self, output, mine, opts=None):
        opts = opts or dist.AllgatherOptions()
        self.note("all_gather", mine, opts)
        return self.real._allgather_base(output, mine, opts)

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        opts = opts or dist.AllgatherOptions()
        self.note("all_gather", inputs[0], opts, count=total(inputs))
        outputs, inputs = in_one_dtype(outputs), in_one_dtype(inputs)
        return self.real.allgather_into_tensor_coalesced(outputs, inputs, opts)

    def reduce_scatter(self, outputs, inputs, opts=None):
        opts = opts or dist.ReduceScatterOptions()
        self.note("reduce_scatter", outputs[0], opts)
        return self.real.reduce_scatter(outputs, inputs, opts)

    def _reduce_scatter_base(self, output, mine, opts=None):
        opts = opts or dist.ReduceScatterOptions()
        self.note("reduce_scatter", output, opts)
        return self.real._reduce_scatter_base(output, mine, opts)

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
        opts = opts or dist.ReduceScatterOptions()
        self.note("reduce_scatter", outputs[0], opts, count=total(outputs))
        return self.real.reduce_scatter_tensor_coalesced(outputs, inputs, opts)

    def alltoall_base(self, output, mine, output_sizes, input_sizes, opts=None):
        opts = opts or dist.AllToAllOptions()
        self.note("all_to_all", mine, opts)
        return self.real.alltoall_base(output, mine, output_sizes, input_sizes, opts)

    # new names since torch 2.13; C++ may call either
    all_gather_single, all_gather_single_coalesced = (
        _allgather_base,
        allgather_into_tensor_coalesced,
    )
    reduce_scatter_single, reduce_scatter_single_coalesced = (
        _reduce_scatter_base,
        reduce_scatter_tensor_coalesced,
    )
    all_to_all_single = alltoall_base

    def gather(self, outputs, inputs, opts=None):
        self.note("gather", inputs[0], opts, root=opts.rootRank)
        return self.real.gather(outputs, inputs, opts)

    def scatter(self, outputs, inputs, opts=None):
        self.note("scatter", outputs[0], opts, root=opts.rootRank)
        return self.real.scatter(outputs, inputs, opts)

    def barrier(self, opts=None):
        opts = opts or dist.BarrierOptions()
        self.note("barrier", None, opts)
        return self.real.barrier(opts)

    def p2p(self, op, tensors, peer, call):
        record = {
            "op": op,
            "peer": self.members[peer],
            "count": total(tensors),
            "async": True,
            "dtype": DTYPES.get(str(tensors[0].dtype), str(tensors[0].dtype)),
        }
        number = self.log.publish(record)
        work = call(tensors, peer)
        return work if number is None else Moving(work, self.log, number, tensors[0])

    def send(self, tensors, peer, tag=0):
        return self.p2p("send", tensors, peer, lambda t, q: self.real.send(t, q, tag))

    def recv(self, tensors, peer, tag=0):
        return self.p2p("recv", tensors, peer, lambda t, q: self.real.recv(t, q, tag))


def register(write):
    """Registers the backend "zeroproof" and returns its log."""
    log = Log(write)

    def create(backend, _options):
        members = list(backend.global_ranks_in_group) or list(range(backend.group_size))
        gloo = torch._C._distributed_c10d.ProcessGroupGloo(
            backend.store, backend.group_rank, backend.group_size, timeout=backend.timeout
        )
        real = dist.ProcessGroup(backend.store, backend.group_rank, backend.group_size)
        real._set_default_backend(dist.ProcessGroup.BackendType.GLOO)
        real._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, gloo)
        return Group(backend.group_rank, members, real, log)

    dist.Backend.register_backend(NAME, create, extended_api=True, devices=["cpu"])
    return log
