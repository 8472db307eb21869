"""Records the operations of a torch.distributed program for `zeroproof trace check DIR`.

    import zeroproof_trace
    zeroproof_trace.record("DIR")          # before the first collective

It hooks into PyTorch's dispatcher, which every collective passes, whether Python or C++ (DDP's
reducer) issues it. A reduction that only C++ knows is recorded as `unknown`. Every record is
written before the operation is entered. The format: conformance/TRACE.md."""

import atexit
import contextlib
import functools
import os
import stat
import sys
import threading
import time
import zlib

GROUP, DEF, PHASE, STEP, WAIT, CALL, CALL_END, TIME, END, OP, SOURCE, FIRST_DEF = *range(1, 12), 16
DEFS = 1024
OPS = (
    "",
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "reduce",
    "broadcast",
    "gather",
    "scatter",
    "all_to_all",
    "barrier",
    "send",
    "recv",
)
REDOPS = (
    "unknown",
    "none",
    "sum",
    "prod",
    "min",
    "max",
    "avg",
    "premul_sum",
    "band",
    "bor",
    "bxor",
)
DTYPES = (
    "unknown",
    "int8",
    "uint8",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "bool",
    "int16",
    "uint16",
    "complex64",
    "complex128",
)


def number(value):
    """A number in LEB128."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def numbers(*values):
    return b"".join(map(number, values))


def text(words):
    raw = words.encode("ascii", "replace")[:255]
    return number(len(raw)) + raw


def runs(members):
    """The members as arithmetic sequences: [(first, stride, length)]."""
    found, i = [], 0
    while i < len(members):
        j, stride = i + 1, 0
        if j < len(members):
            stride = members[j] - members[i]
            while j < len(members) and members[j] - members[j - 1] == stride:
                j += 1
        found.append((members[i], stride, j - i))
        i = j
    return found


class TraceFile:
    """The trace of one rank. Each record is written to the file at once."""

    def __init__(self, folder, rank, world):
        self.rank, self.groups, self.defs, self.phases = rank, {}, {}, {"": 0}
        self.count, self.last, self.now_in = 0, None, 0
        self.lock, self.fd = threading.RLock(), None
        try:
            os.makedirs(folder, exist_ok=True)
            name = os.path.join(folder, f"rank-{rank}.zpt")
            # a FIFO without a reader fails instead of blocking
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK
            self.fd = os.open(name, flags, 0o666)
            if not stat.S_ISREG(os.fstat(self.fd).st_mode):
                os.close(self.fd)  # a reader of a FIFO would otherwise wait for this process's end
                raise OSError(0, f"{name} is not a regular file")
        except OSError as error:
            self.stop(error)
        self.put(b"ZPTRACE\1" + numbers(rank, world))

    def put(self, raw):
        try:
            while raw and self.fd is not None:
                raw = raw[os.write(self.fd, raw) :]
        except OSError as error:
            self.stop(error)

    def stop(self, error):
        """Ends the trace after a failed write, without an end mark, and lets the program continue.
        Records after a torn or missing one would be misread. The descriptor is not closed: it may
        belong to another file by now."""
        self.fd = None
        with contextlib.suppress(OSError, ValueError):
            print(
                f"zeroproof: cannot write the trace of rank {self.rank}: {error}. The trace ends "
                "here, as if the rank "
                "had stopped; the program continues.",
                file=sys.stderr,
                flush=True,
            )

    def group(self, key, members, size=None):
        """The number of a group in this file. members None: unknown, so its operations are not
        judged."""
        with self.lock:
            if key not in self.groups:
                self.groups[key] = len(self.groups) + 1
                found = runs(members or [])
                zigzag = [
                    (first, 2 * stride if stride >= 0 else -2 * stride - 1, n)
                    for first, stride, n in found
                ]
                self.put(
                    numbers(GROUP, self.groups[key])
                    + text(key)
                    + numbers(
                        len(members) if members else size or 0,
                        0,
                        len(found),
                        *(v for run in zigzag for v in run),
                    )
                )
            return self.groups[key]

    def phase(self, words):
        with self.lock:
            if words not in self.phases:
                self.phases[words] = len(self.phases)
                self.put(numbers(PHASE, self.phases[words]) + text(words))
            self.now_in = self.phases[words]

    def operation(
        self,
        op,
        group,
        redop="unknown",
        dtype="unknown",
        count=-1,
        root=-1,
        later=False,
        any_source=False,
    ):
        """Records an operation and returns its number. group: from group(). count, root: -1 if
        unknown or none."""
        what = (
            OPS.index(op),
            REDOPS.index(redop),
            DTYPES.index(dtype) if dtype in DTYPES else 0,
            count + 1,
            group,
            root + 1,
            int(later) | 2 * int(any_source),
            self.now_in,
        )
        with self.lock:
            now, raw = time.monotonic_ns(), b""
            if self.last is None or now - self.last > 1000:
                raw = numbers(TIME, now - (self.last or 0))
                self.last = now
            if what not in self.defs and len(self.defs) < DEFS:
                self.defs[what] = len(self.defs)
                raw += numbers(DEF, self.defs[what], *what)
            raw += number(FIRST_DEF + self.defs[what]) if what in self.defs else numbers(OP, *what)
            self.put(raw)
            self.count += 1
            return self.count - 1

    def source(self, number_of_operation, group_rank):
        """Records the source of a receive from any source."""
        with self.lock:
            self.put(numbers(SOURCE, self.count - number_of_operation, group_rank + 1))

    def mark(self, *values):
        with self.lock:
            self.put(numbers(*values))

    def close(self, completed=True):
        if completed:
            self.mark(END)
        if self.fd is not None:
            fd, self.fd = self.fd, None
            try:  # some file systems report a full disk only here
                os.fsync(fd)
                os.close(fd)
            except OSError as error:
                self.stop(error)


def total(tensors):
    return sum(t.numel() for t in tensors)


def even(lists):
    """True if all parts have one size; otherwise the counts of the members may differ."""
    return len({t.numel() for parts in lists for t in parts}) <= 1


def tensor_in(value):
    """The first tensor in a value, or None."""
    if isinstance(value, (list, tuple)):
        return next((found for found in map(tensor_in, value) if found is not None), None)
    return value if hasattr(value, "dtype") else None


def first(arguments, *names):
    """The first tensor among the named arguments. A rank that is not the root of a scatter has
    outputs only."""
    return tensor_in([arguments.get(name) for name in names])


# dispatcher operator -> (operation, function from its arguments to the count; -1: unknown)
ENTERED = {
    "allreduce_": ("all_reduce", lambda a: total(a["tensors"])),
    "allreduce_coalesced_": ("all_reduce", lambda a: total(a["tensors"])),
    "broadcast_": ("broadcast", lambda a: total(a["tensors"])),
    "reduce_": ("reduce", lambda a: total(a["tensors"])),
    "allgather_": (
        "all_gather",
        lambda a: total(a["input_tensors"]) if even(a["output_tensors"]) else -1,
    ),
    "_allgather_base_": ("all_gather", lambda a: a["input_tensor"].numel()),
    "allgather_coalesced_": ("all_gather", lambda a: -1),
    "allgather_into_tensor_coalesced_": ("all_gather", lambda a: total(a["inputs"])),
    "reduce_scatter_": (
        "reduce_scatter",
        lambda a: total(a["output_tensors"]) if even(a["input_tensors"]) else -1,
    ),
    "_reduce_scatter_base_": ("reduce_scatter", lambda a: a["output_tensor"].numel()),
    "reduce_scatter_tensor_coalesced_": ("reduce_scatter", lambda a: total(a["outputs"])),
    "gather_": ("gather", lambda a: total(a["input_tensors"])),
    "scatter_": ("scatter", lambda a: total(a["output_tensors"])),
    "alltoall_": ("all_to_all", lambda a: -1),
    "alltoall_base_": (
        "all_to_all",
        lambda a: (
            -1 if a.get("input_split_sizes") or a.get("output_split_sizes") else a["input"].numel()
        ),
    ),
    "barrier": ("barrier", lambda a: 0),
    "send": ("send", lambda a: total(a["tensors"])),
    "recv_": ("recv", lambda a: total(a["tensors"])),
    "recv_any_source_": ("recv", lambda a: total(a["tensors"])),
}
REDUCING = (
    "allreduce",
    "allreduce_coalesced",
    "reduce",
    "reduce_scatter",
    "_reduce_scatter_base",
    "reduce_scatter_tensor_coalesced",
)
TENSORS = (
    "tensors",
    "input_tensors",
    "inputs",
    "input_tensor",
    "output_tensors",
    "outputs",
    "input",
    "tensor",
)


class Recorder:
    def __init__(self, folder):
        import torch
        import torch.distributed as dist

        self.torch, self.dist, self.folder, self.file = torch, dist, folder, None
        self.hint, self.failed, self.closed, self.keys = threading.local(), False, False, {}
        self.before = {}  # step and phase that were set before the rank was known
        # id of a work -> (work, operation number, file), for receives from any source
        self.receiving = {}
        self.names = {k: v for k, v in ENTERED.items() if hasattr(torch.ops.c10d, k)}

    def install(self):
        self.library = self.torch.library.Library("c10d", "IMPL")
        for name in self.names:
            self.library.impl(name, self.kernel(name), "BackendSelect")
        for name in REDUCING:
            if hasattr(self.dist.ProcessGroup, name):
                setattr(
                    self.dist.ProcessGroup,
                    name,
                    self.with_operator(getattr(self.dist.ProcessGroup, name)),
                )
        for name in ("send", "recv"):
            setattr(self.dist, name, self.hinted(getattr(self.dist, name), "blocking"))
        self.dist.ProcessGroup.recv_anysource = self.from_any(self.dist.ProcessGroup.recv_anysource)
        self.dist.Work.wait = self.with_source(self.dist.Work.wait)
        self.dist.batch_isend_irecv = self.hinted(self.dist.batch_isend_irecv, "call")
        hook = sys.excepthook

        def failing(*args):
            self.failed = True
            hook(*args)

        sys.excepthook = failing
        atexit.register(self.close)
        return self

    def close(self):
        """Stops recording."""
        if self.file and not self.closed and os.getpid() == self.owner:
            self.file.close(not self.failed)
        self.closed = True

    def kernel(self, name):
        torch = self.torch
        op = getattr(torch.ops.c10d, name).default
        names = [argument.name for argument in op._schema.arguments]
        # inference tensors have this key as well, and the dispatcher passes it once per operation
        below = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)

        def enter(*args, **kwargs):
            arguments = {**dict(zip(names, args, strict=False)), **kwargs}
            self.publish(name, arguments, "async_op" in names)
            tensor = first(arguments, *TENSORS)
            keys = (
                torch._C._dispatch_keys(tensor)
                if tensor is not None
                else torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
            )
            return op.redispatch(keys & below, *args, **kwargs)

        return enter

    def publish(self, name, arguments, has_async_flag):
        if not self.records():
            return
        op, count = ENTERED[name]
        group = self.dist.ProcessGroup.unbox(arguments["process_group"])
        tensor = first(arguments, *TENSORS)
        root = arguments.get("root_rank", arguments.get("dst", arguments.get("src", -1)))
        redop = "none"
        if "reduce_op" in arguments:
            redop = getattr(self.hint, "redop", None) or "unknown"
        later = (
            arguments.get("async_op", True)
            if has_async_flag
            else not getattr(self.hint, "blocking", False)
        )
        dtype = (
            "unknown" if tensor is None or op == "barrier" else str(tensor.dtype).rsplit(".", 1)[-1]
        )
        self.hint.number = self.trace().operation(
            op,
            self.number_of(group),
            redop,
            dtype,
            count(arguments),
            root,
            bool(later),
            name == "recv_any_source_",
        )

    def records(self):
        """False after close(), in a forked child (which would write to its parent's file), and
        before the default group exists (which defines the rank)."""
        if self.file is None:
            self.owner = os.getpid()
        return (
            not self.closed
            and self.owner == os.getpid()
            and (self.file is not None or self.dist.is_initialized())
        )

    def trace(self):
        if self.file is None:
            self.file = TraceFile(self.folder, self.dist.get_rank(), self.dist.get_world_size())
            for what, value in self.before.items():
                self.set(what, value)
            self.before = {}
        return self.file

    def set(self, what, value):
        """Sets the step or the phase of the following records."""
        if not self.records():
            if not self.closed and self.file is None:
                self.before[what] = value
        elif what == "step":
            self.trace().mark(STEP, value)
        else:
            self.trace().phase(value)

    def number_of(self, group):
        name = group.group_name
        if name not in self.keys:
            members = list(self.dist.get_process_group_ranks(group))
            key = f"{name[:200]} {zlib.crc32(repr(members).encode()):08x}"
            self.keys[name] = self.trace().group(key, members)
        return self.keys[name]

    def with_operator(self, real):
        """Notes the reduction, which the dispatcher receives as an opaque object."""

        @functools.wraps(real)
        def call(*args, **kwargs):
            for value in (*args, *kwargs.values()):
                value = getattr(value, "reduceOp", value)
                if isinstance(value, (self.dist.ReduceOp, self.dist.ReduceOp.RedOpType)):
                    self.hint.redop = self.operator(value)
            try:
                return real(*args, **kwargs)
            finally:
                self.hint.redop = None

        return call

    def from_any(self, real):
        """Keeps the work, which knows the source after its wait()."""

        @functools.wraps(real)
        def call(*args, **kwargs):
            self.hint.number = None
            work = real(*args, **kwargs)
            if self.hint.number is not None:
                self.receiving[id(work)] = work, self.hint.number, self.file
            return work

        return call

    def with_source(self, real):
        @functools.wraps(real)
        def wait(work, *args, **kwargs):
            done = real(work, *args, **kwargs)
            if self.receiving and id(work) in self.receiving:
                _, number_of_operation, file = self.receiving.pop(id(work))
                if self.records() and file is self.file:
                    file.source(number_of_operation, work._source_rank())
            return done

        return wait

    def operator(self, value):
        for word in REDOPS[2:]:
            name = "PRODUCT" if word == "prod" else word.upper()
            if hasattr(self.dist.ReduceOp, name) and value == getattr(self.dist.ReduceOp, name):
                return word
        return "unknown"

    def hinted(self, real, what):
        @functools.wraps(real)
        def call(*args, **kwargs):
            marks = what == "call" and self.records()
            if marks:
                self.trace().mark(CALL)
            setattr(self.hint, what, True)
            try:
                return real(*args, **kwargs)
            finally:
                setattr(self.hint, what, False)
                if marks:
                    self.trace().mark(CALL_END)

        return call


_recorder = None


def record(folder):
    """Starts recording to folder/rank-N.zpt."""
    global _recorder
    if _recorder is None:
        _recorder = Recorder(folder).install()
    elif _recorder.closed:
        _recorder.folder, _recorder.file, _recorder.keys, _recorder.closed = folder, None, {}, False
    return _recorder


def step(number_of_step):
    if _recorder:
        _recorder.set("step", number_of_step)


def phase(words):
    """Sets the phase of the following operations, such as "gradient"."""
    if _recorder:
        _recorder.set("phase", words)
