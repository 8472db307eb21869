"""A simulated asynchronous accelerator: it computes at once on the CPU and logs streams and events
as a GPU would see them. The log shows what a GPU could reorder (TRACE.md, "Stream events").

    device = Device(open("streams-0.jsonl", "w"), rank, world)
    with device.recording():             # logs the accesses of every operation
        with device.on(device.Stream()): ...

Streams and events log which stream waits for which. A dispatch mode logs the bytes that each
operation, including collectives, reads and writes on the current stream, and allocations and frees
of memory.

CUDA's rules hold. Memory belongs to the stream that was current at its allocation; record_stream
adds others. Reading an element into Python waits for the current stream. A synchronous collective
runs on the current stream; an asynchronous one on a separate stream, for which its wait() makes the
current stream wait.

Autograd behaves as on a GPU, through Term and Engine: an operation's backward runs on the stream of
its forward, and a parameter's hooks on the stream that computed its gradient. When backward ends,
the caller's stream waits for all these streams, and then callbacks run."""

import json
import sys
import threading
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

FORMAT = "zeroproof/streams/1"
HOST = 0
RUNS_MAX = (
    64  # runs of a strided tensor; a tensor with more counts as the whole range between its ends
)
# operations that neither read their arguments nor write their results
EMPTY = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"}
# operations whose result the host needs before it continues
SYNC = {
    "_local_scalar_dense",
    "equal",
    "is_nonzero",
    "nonzero",
    "masked_select",
    "unique_dim",
    "_unique2",
}


class Stream:
    """Has the methods of torch.cuda.Stream."""

    def __init__(self, device, name=None, number=None):
        self.log = device
        self.number = device.introduce(name) if number is None else number

    def wait_stream(self, other):
        self.log.write({"wait_stream": other.number, "on": self.number})

    def wait_event(self, event):
        event.wait(self)

    def record_event(self, event=None):
        event = event or self.log.Event()
        event.record(self)
        return event

    def synchronize(self):
        self.log.write({"wait_stream": self.number, "on": HOST})

    def query(self):
        self.synchronize()  # operations complete when they are queued
        return True

    def __eq__(self, other):
        return isinstance(other, Stream) and other.number == self.number

    def __hash__(self):
        return hash(self.number)


class Event:
    """Has the methods of torch.cuda.Event."""

    def __init__(self, device):
        self.log, self.number = device, device.next_event()

    def record(self, stream=None):
        self.log.write({"record": self.number, "on": (stream or self.log.current).number})

    def wait(self, stream=None):
        self.log.write({"wait": self.number, "on": (stream or self.log.current).number})

    def synchronize(self):
        self.log.write({"wait": self.number, "on": HOST})

    def query(self):
        self.synchronize()
        return True

    def elapsed_time(self, _):
        return 0.0


class On:
    """Like torch.cuda.stream(): sets the current stream inside a with block."""

    def __init__(self, device, stream):
        self.log, self.stream = device, stream

    def __enter__(self):
        self.before = self.log.current
        if self.stream is not None:
            self.log.current = self.stream
        return self.stream

    def __exit__(self, *_):
        self.log.current = self.before


class Pause:
    def __init__(self, device):
        self.log = device

    def __enter__(self):
        self.log.quiet += 1

    def __exit__(self, *_):
        self.log.quiet -= 1


class Device:
    """The log of one rank, and its streams. recorder (zeroproof_record.Recorder) knows which
    collectives are asynchronous and reports waits for them."""

    def __init__(self, file, rank, world, recorder=None):
        self.lock = threading.Lock()
        self.file, self.quiet, self.streams, self.events, self.names = file, 0, 0, 0, {}
        self.storages, self.recorder, self.closed = {}, recorder, False
        self.works, self.backward = {}, None  # recorder's number -> event
        self.write({"format": FORMAT, "rank": rank, "world": world})
        self.introduce("host", host=True)
        self.default = self.current = Stream(self, "compute")
        self.comm = None
        if recorder is not None:
            recorder.waited = self.waited

    def write(self, record):
        # autograd and the transport write from other threads, which corrupts a text file without a
        # lock (CPython gh-119506)
        with self.lock:
            if not self.closed:
                self.file.write(json.dumps(record, separators=(",", ":")) + "\n")

    def introduce(self, name=None, host=False):
        number = self.streams
        self.streams += 1
        self.names[number] = name or f"stream {number}"
        self.write(
            {"stream": number, "name": self.names[number], **({"host": True} if host else {})}
        )
        return number

    def next_event(self):
        self.events += 1
        return self.events

    def Stream(self, *_, name=None, **__):  # noqa: N802 (stands for a class)
        return Stream(self, name)

    def Event(self, *_, **__):  # noqa: N802
        return Event(self)

    def on(self, stream):
        return On(self, stream)

    def pause(self):
        """Excludes operations of the harness from the log."""
        return Pause(self)

    def synchronize(self):
        self.write({"synchronize": True, "on": HOST})

    def recording(self):
        return Recording(self)

    def close(self):
        """Ends the log. Memory that Python still holds is not freed."""
        self.write({"end": True})
        self.closed = True

    # ---- Memory ----------------------------------------------------------------------------------

    def track(self, tensor, site):
        """Logs the allocation of the tensor's memory, and later its end. Returns False if it is
        already tracked."""
        storage = tensor.untyped_storage()
        key, at, size = storage._cdata, storage.data_ptr(), storage.nbytes()
        if key in self.storages or size == 0:
            return False
        self.storages[key] = (at, size, self.current.number, set())
        self.write({"alloc": [at, size], "on": self.current.number, "name": site})
        weakref.finalize(storage, self.freed, key).atexit = False
        return True

    def freed(self, key):
        at, size, on, used = self.storages.pop(key)
        after = sorted(used | ({self.comm.number} if self.comm else set()))
        self.write({"free": [at, size], "on": on, **({"after": after} if after else {})})

    def keep_for(self, tensor, stream):
        """Tensor.record_stream."""
        key = tensor.untyped_storage()._cdata
        if key in self.storages:
            self.storages[key][3].add(stream.number)

    # ---- Collectives -----------------------------------------------------------------------------

    def waited(self, number):
        event = self.works.pop(number, None)
        if event is not None:
            event.wait()

    def collective(self, record, later):
        """A blocking collective runs on the current stream, an asynchronous one on the
        communication stream."""
        if not later:
            self.write({**record, "on": self.current.number})
            return
        self.comm = self.comm or Stream(self, "communication")
        self.comm.wait_stream(self.current)
        self.write({**record, "on": self.comm.number})
        self.works[self.recorder.entering[0]] = self.comm.record_event()

    # ---- Autograd --------------------------------------------------------------------------------

    def backward_ended(self):
        """Makes the caller's stream wait for the streams on which gradients were computed."""
        if self.backward is None:
            return
        ended, self.backward = self.backward, None
        self.current = ended.caller
        for stream in ended.streams:
            if stream != ended.caller:
                ended.caller.wait_stream(stream)


class Backward:
    """A backward in progress: the stream it was called on, the event after the gradients of all
    terms, and the streams that compute the parameters' gradients."""

    def __init__(self, caller, made):
        self.caller, self.made, self.streams = caller, made, []


class Term(torch.autograd.Function):
    """Ends a part of the forward that ran on a separate stream, so that its backward runs there as
    well."""

    @staticmethod
    def forward(ctx, device, stream, made_on, out):
        ctx.device, ctx.stream, ctx.made_on = device, stream, made_on
        return out.view_as(out)

    @staticmethod
    def backward(ctx, grad):
        device, stream = ctx.device, ctx.stream
        if device.backward is None:
            # the gradients of all terms exist by now; streams do not wait for operations that hooks
            # queue later
            device.backward = Backward(device.current, device.current.record_event())
            torch.autograd.Variable._execution_engine.queue_callback(device.backward_ended)
        if stream not in device.backward.streams:
            device.backward.streams.append(stream)
        if stream != ctx.made_on:
            stream.wait_event(device.backward.made)
            grad.record_stream(stream)
        device.current = stream
        return None, None, None, grad


class Engine:
    """Autograd's engine, except that callbacks run after the caller's stream has waited."""

    def __init__(self, device, real):
        self.device, self.real = device, real

    def queue_callback(self, call):
        def run():
            self.device.backward_ended()
            call()

        self.real.queue_callback(run)

    def __getattr__(self, name):
        return getattr(self.real, name)


# ---- Operations ----------------------------------------------------------------------------------


def runs_of(tensor):
    """[[address, bytes], …] of the elements of a tensor."""
    if tensor.numel() == 0 or tensor.layout != torch.strided:
        return []
    size, base = tensor.element_size(), tensor.data_ptr()
    dims = sorted(
        (st, n) for n, st in zip(tensor.shape, tensor.stride(), strict=True) if n > 1 and st != 0
    )
    length = 1
    while dims and dims[0][0] == length:
        length *= dims.pop(0)[1]
    starts = [0]
    for stride, n in dims:
        if len(starts) * n > RUNS_MAX:
            last = sum((n - 1) * stride for stride, n in dims) + length
            return [[base, last * size]]
        starts = [s + k * stride for s in starts for k in range(n)]
    return [[base + s * size, length * size] for s in sorted(starts)]


def tensors_of(value):
    return [t for t in tree_leaves(value) if isinstance(t, torch.Tensor)]


def ranges(tensors):
    return [run for t in tensors for run in runs_of(t)]


SKIP = ("/torch/", "zeroproof_streams.py", "zeroproof_record.py", "/functools.py", "/contextlib.py")


def site_of():
    """The line of the program that called an operation."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if not any(part in name for part in SKIP):
            return f"{'/'.join(name.split('/')[-2:])}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


# dispatcher's name -> (op, arguments read, arguments written)
C10D = {
    "allreduce_": ("all_reduce", ("tensors",), ("tensors",)),
    "allreduce_coalesced_": ("all_reduce", ("tensors",), ("tensors",)),
    "_allgather_base_": ("all_gather", ("input_tensor",), ("output_tensor",)),
    "allgather_": ("all_gather", ("input_tensors",), ("output_tensors",)),
    "allgather_into_tensor_coalesced_": ("all_gather", ("inputs",), ("outputs",)),
    "reduce_scatter_": ("reduce_scatter", ("input_tensors",), ("output_tensors",)),
    "_reduce_scatter_base_": ("reduce_scatter", ("input_tensor",), ("output_tensor",)),
    "reduce_scatter_tensor_coalesced_": ("reduce_scatter", ("inputs",), ("outputs",)),
    "alltoall_base_": ("all_to_all", ("input",), ("output",)),
    "gather_": ("gather", ("input_tensors",), ("output_tensors",)),
    "scatter_": ("scatter", ("input_tensors",), ("output_tensors",)),
    "send": ("send", ("tensors",), ()),
    "recv_": ("recv", (), ("tensors",)),
    "barrier": ("barrier", (), ()),
}
ROOTED = {"broadcast_": "broadcast", "reduce_": "reduce"}


def is_root(arguments):
    from torch.distributed import ProcessGroup

    return ProcessGroup.unbox(arguments["process_group"]).rank() == arguments["root_rank"]


def accesses(name, arguments):
    """(op, tensors read, tensors written) of a collective."""
    if name == "broadcast_":
        return "broadcast", *(
            (arguments["tensors"], []) if is_root(arguments) else ([], arguments["tensors"])
        )
    if name == "reduce_":
        return "reduce", arguments["tensors"], arguments["tensors"] if is_root(arguments) else []
    op, read, written = C10D[name]
    return op, [arguments[n] for n in read], [arguments[n] for n in written]


class Recording(TorchDispatchMode):
    """Logs the memory that operations access. While active, it replaces Tensor.record_stream and
    autograd's engine by the device's."""

    def __init__(self, device):
        super().__init__()
        self.device = device

    def __enter__(self):
        device, autograd = self.device, torch.autograd.Variable
        self.real = (torch.Tensor.record_stream, autograd._execution_engine)
        torch.Tensor.record_stream = lambda t, stream: device.keep_for(t, stream)
        autograd._execution_engine = Engine(device, autograd._execution_engine)
        return super().__enter__()

    def __exit__(self, *error):
        torch.Tensor.record_stream, torch.autograd.Variable._execution_engine = self.real
        return super().__exit__(*error)

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        device = self.device
        name = op._schema.name.split("::")[1]
        space = op.namespace
        site = site_of()
        if space == "c10d" and not device.quiet:
            self.communicate(op, name, args, kwargs, site)
            return op(*args, **kwargs)
        for t in tensors_of((args, kwargs)):
            device.track(t, site)
        before = {t.untyped_storage()._cdata for t in tensors_of((args, kwargs))}
        out = op(*args, **kwargs)
        fresh = [t for t in tensors_of(out) if t.untyped_storage()._cdata not in before]
        for t in fresh:
            device.track(t, site)
        if not device.quiet:
            self.compute(op, name, args, kwargs, fresh, site)
        return out

    def compute(self, op, name, args, kwargs, fresh, site):
        if name in EMPTY:
            return
        reads, writes = [], list(fresh)
        for argument, value in self.bound(op, args, kwargs):
            kind = argument.alias_info
            if kind is not None and kind.is_write:
                writes += tensors_of(value)
                if name != "copy_" and not name.startswith(("fill_", "zero_")):
                    reads += tensors_of(value)
            else:
                reads += tensors_of(value)
        if not writes and name not in SYNC:
            return  # a view
        record = {"op": name, "on": self.device.current.number, "site": site}
        self.device.write({**record, "reads": ranges(reads), "writes": ranges(writes)})
        if name in SYNC:
            self.device.current.synchronize()

    def communicate(self, op, name, args, kwargs, site):
        if name not in C10D and name not in ROOTED:
            raise NotImplementedError(
                f"zeroproof_streams: the accesses of {name} are unknown: add it to C10D"
            )
        arguments = {a.name: value for a, value in self.bound(op, args, kwargs)}
        word, read, written = accesses(name, arguments)
        read, written = tensors_of(read), tensors_of(written)
        for t in read + written:
            self.device.track(t, site)
        later = self.device.recorder is not None and self.device.recorder.entering[1]
        record = {
            "op": word,
            "site": site,
            "reads": ranges(read),
            "writes": ranges(written),
            "collective": True,
        }
        self.device.collective(record, later)

    @staticmethod
    def bound(op, args, kwargs):
        """Yields (argument of the schema, value) for each passed argument."""
        arguments = op._schema.arguments
        yield from zip(arguments, args, strict=False)
        names = {a.name: a for a in arguments}
        yield from ((names[n], value) for n, value in kwargs.items() if n in names)
