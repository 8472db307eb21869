"""Records the operations of a torch.distributed program for `zeroproof trace check DIR`.

    import zeroproof_trace
    zeroproof_trace.record("DIR")          # before the first collective

It hooks into PyTorch's dispatcher, which every collective passes, whether Python or C++ (DDP's
reducer) issues it. A reduction that only C++ knows is recorded as `unknown`. Every record is
written before the operation is entered, with its call site, step and phase. The format:
conformance/TRACE.md."""

import atexit
import functools
import multiprocessing.util
import os
import sys
import threading
import weakref
import zlib

from zeroproof_trace_attempt import choose
from zeroproof_trace_exit import Ending
from zeroproof_trace_file import CALL, CALL_END, REDOPS, STEP, TraceFile
from zeroproof_trace_sites import BATCH, BLOCKING, DEEPEST, DEPTH, Sites, hashed
from zeroproof_trace_values import Values, values_of


def total(tensors):
    return sum(t.numel() for t in tensors)


def total_of(name):
    """A function from the arguments to the elements of all tensors in the named list."""

    def count(arguments):
        tensors = arguments[name]
        return tensors[0].numel() if len(tensors) == 1 else total(tensors)

    return count


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
    "allreduce_": ("all_reduce", total_of("tensors")),
    "allreduce_coalesced_": ("all_reduce", total_of("tensors")),
    "broadcast_": ("broadcast", total_of("tensors")),
    "reduce_": ("reduce", total_of("tensors")),
    "allgather_": (
        "all_gather",
        lambda a: total(a["input_tensors"]) if even(a["output_tensors"]) else -1,
    ),
    "_allgather_base_": ("all_gather", lambda a: a["input_tensor"].numel()),
    "allgather_coalesced_": ("all_gather", lambda a: -1),
    "allgather_into_tensor_coalesced_": ("all_gather", total_of("inputs")),
    "reduce_scatter_": (
        "reduce_scatter",
        lambda a: total(a["output_tensors"]) if even(a["input_tensors"]) else -1,
    ),
    "_reduce_scatter_base_": ("reduce_scatter", lambda a: a["output_tensor"].numel()),
    "reduce_scatter_tensor_coalesced_": ("reduce_scatter", total_of("outputs")),
    "gather_": ("gather", total_of("input_tensors")),
    "scatter_": ("scatter", total_of("output_tensors")),
    "alltoall_": ("all_to_all", lambda a: -1),
    "alltoall_base_": (
        "all_to_all",
        lambda a: (
            -1 if a.get("input_split_sizes") or a.get("output_split_sizes") else a["input"].numel()
        ),
    ),
    "barrier": ("barrier", lambda a: 0),
    "send": ("send", total_of("tensors")),
    "recv_": ("recv", total_of("tensors")),
    "recv_any_source_": ("recv", total_of("tensors")),
}
# the methods of ProcessGroup that issue them
METHODS = [
    *(name.rstrip("_") for name in ENTERED if name != "recv_any_source_"),
    "recv_anysource",
    "all_gather_single",
    "all_gather_single_coalesced",
    "all_to_all_single",
    "reduce_scatter_single",
    "reduce_scatter_single_coalesced",
]
WORKS = 4096  # works that are kept before those that are gone are forgotten
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


class Operator:
    """An operator of the dispatcher: what it records, and which of its arguments say it."""

    def __init__(self, name, arguments):
        self.op, self.count = ENTERED[name]
        self.tensors = [known for known in TENSORS if known in arguments]
        roots = (known for known in ("root_rank", "dst", "src") if known in arguments)
        self.root = next(roots, None)
        self.reduces, self.has_flag = "reduce_op" in arguments, "async_op" in arguments
        self.any_source = name == "recv_any_source_"
        self.is_p2p = self.op in ("send", "recv")


class Hint:
    """What a thread's call in progress knows: the reduction; the grouped call; the number of the
    last operation, whether it is asynchronous, and what Values.received() gets."""

    __slots__ = ("redop", "batch", "number", "later", "received")

    def __init__(self):
        self.redop = self.batch = self.number = self.received = None
        self.later = False


class Hints(threading.local):
    def __init__(self):
        self.mine = Hint()  # an attribute of this class takes several times as long to read


class Recorder:
    def __init__(self, folder, depth, redact, values):
        import torch
        import torch.distributed as dist
        from torch.distributed import distributed_c10d

        self.torch, self.dist, self.c10d = torch, dist, distributed_c10d
        self.hints, self.ending = Hints(), Ending()
        self.unbox = dist.ProcessGroup.unbox
        # id of a work -> (reference to it, number of its operation, later, file, received)
        self.works = {}
        self.names = {k: v for k, v in ENTERED.items() if hasattr(torch.ops.c10d, k)}
        self.in_backward = getattr(torch._C, "_current_graph_task_id", lambda: -1)
        self.recordings = 0
        self.begin(folder, depth, redact, values)

    def begin(self, folder, depth, redact, values):
        """A new trace in folder."""
        self.recordings += 1
        self.values = None if values is None else Values(self, values)
        self.folder, self.depth, self.redact = folder, depth, redact
        self.file, self.sites, self.keys, self.closed = None, None, {}, False
        self.any_source = set()  # numbers of receives from any source without a recorded source
        self.user_phase, self.user_steps, self.step_before = "", False, None
        self.user_step = None
        # steps that optimizers ended, None before the first phase; and how many each of them took
        self.steps, self.taken = None, weakref.WeakKeyDictionary()

    def install(self):
        """Installs hooks that stay, and do nothing after close()."""
        self.library = self.torch.library.Library("c10d", "IMPL")
        for name in self.names:
            self.library.impl(name, self.kernel(name), "BackendSelect")
        kind = self.dist.ProcessGroup
        for name in METHODS:
            if hasattr(kind, name):
                setattr(kind, name, self.with_work(getattr(kind, name), "reduce" in name))
        self.dist.Work.wait = self.with_wait(self.dist.Work.wait)
        atexit.register(self.close, at_exit=True)
        os.register_at_fork(after_in_child=self.forked)
        return self.hook()

    def hook(self):
        """Installs hooks that close() removes."""
        from torch.optim import optimizer

        self.ending.watch()
        register = getattr(optimizer, "register_optimizer_step_post_hook", None)
        can = register is not None and hasattr(self.torch, "compiler")  # not in old versions
        self.handle = register(self.stepped) if can else None
        self.real_check = getattr(self.c10d, "_check_p2p_op_list", None)
        if self.real_check is not None:
            self.check = self.with_batch(self.real_check)
            self.c10d._check_p2p_op_list = self.check
        return self

    def close(self, at_exit=False):
        """Stops recording."""
        if self.closed:
            return
        if self.values:
            self.values.close()
        self.closed = True
        if self.file:
            ended = self.ending.found() if at_exit or self.ending.error else None
            if ended is not None and self.redact:
                ended = (*ended[:2], "")
            self.file.close(ended=ended)
        self.ending.leave_alone()
        if self.handle is not None:
            self.handle.remove()
        if self.real_check is not None and self.c10d._check_p2p_op_list is self.check:
            self.c10d._check_p2p_op_list = self.real_check

    def left(self):
        """The function of a process of multiprocessing has returned, or raised what is handled
        now. A forked process then waits for its threads and leaves by os._exit(), without atexit;
        a spawned one ends as any other."""
        if self.closed:
            return
        error, me = sys.exc_info()[1], multiprocessing.current_process()
        self.ending.set_of_child(error)
        if getattr(me, "_start_method", None) == "spawn":
            return
        for thread in threading.enumerate() if error is None else ():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
        self.close(at_exit=True)

    def kernel(self, name):
        torch = self.torch
        op = getattr(torch.ops.c10d, name).default
        names = [argument.name for argument in op._schema.arguments]
        operator = Operator(name, names)
        # inference tensors have this key as well, and the dispatcher passes it once per operation
        below = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)

        def enter(*args, **kwargs):
            arguments = {**dict(zip(names, args, strict=False)), **kwargs}
            tensor = first(arguments, *operator.tensors)
            entered = self.publish(operator, arguments, tensor)
            keys = (
                torch._C._dispatch_keys(tensor)
                if tensor is not None
                else torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
            )
            if self.values is None:
                return op.redispatch(keys & below, *args, **kwargs)
            return self.values.around(
                lambda: op.redispatch(keys & below, *args, **kwargs), name, arguments, entered
            )

        return enter

    def publish(self, operator, arguments, tensor):
        """Records an operation before it is entered."""
        file, hint = self.file, self.hints.mine
        if file is None or self.closed:
            if not self.records():
                return None
            file = self.trace()
        group = self.unbox(arguments["process_group"])
        group = self.keys.get(group.group_name) or self.number_of(group)
        root = arguments.get(operator.root, -1)
        call = (
            operator,
            hint.redop,
            None if tensor is None else tensor.dtype,
            operator.count(arguments),
            group,
            root,
            arguments.get("async_op"),
            self.user_phase,
        )
        try:
            frame = sys._getframe(2)  # without that of the kernel
        except ValueError:  # C++ has called the kernel in a thread of its own
            frame = None
        known = self.known(call, frame)
        raw, what, hint.later, in_batch = known
        batch = hint.batch
        if batch is not None:
            self.batch_goes_on(batch, in_batch)
        hint.number = number = file.enter(what, raw)
        if raw is None:
            known[0] = file.defs.get(what)
        if operator.any_source:
            self.any_source.add(number)
        if batch is not None:
            self.batch_has(batch)
        if self.values is None:
            return None
        return self.values.entered(number, operator.op, group, root, arguments)

    def known(self, call, frame):
        """[bytes of the record or None, arguments of TraceFile.enter(), whether the operation is
        asynchronous, whether it may be one of a batch]. Calls from the same lines with the same
        arguments have one such list."""
        sites = self.sites
        if self.in_backward() != -1:
            return self.known_in_backward(call, frame)
        key = sites.frames(frame)
        known = sites.records.get((key, call))
        if known is None:
            known = self.described(call, *sites.look_up(frame))
            sites.keep(key, call, known)
        return known

    def known_in_backward(self, call, frame):
        """known(), while autograd is running."""
        sites = self.sites
        key, waiting = sites.frames_in_backward(frame)
        known = sites.records.get((key, call))
        if known is None:
            site, _, kinds = sites.look_up(frame)
            if waiting is not None:
                site = sites.look_up(waiting)[0]
            known = self.described(call, site, "backward", kinds)
            sites.keep(key, call, known)
        return known

    def described(self, call, site, words, kinds):
        """words: the phase; kinds: of the frames above the program."""
        operator, redop, dtype, count, group, root, later, user_phase = call
        redop = (redop or "unknown") if operator.reduces else "none"
        has_dtype = dtype is not None and operator.op != "barrier"
        dtype = str(dtype).rsplit(".", 1)[-1] if has_dtype else "unknown"
        if words and self.steps is None and not self.user_steps:
            self.steps = 0
            self.file.mark(STEP, 0)
        phase = self.file.number_of_phase(user_phase or words)
        later = later is not False if operator.has_flag else BLOCKING not in kinds
        op, any_source = operator.op, operator.any_source
        what = op, redop, dtype, count, group, root, later, any_source, site, phase
        return [None, what, later, BATCH in kinds and operator.is_p2p]

    def records(self):
        """False after close(), in a forked child (which would write to its parent's file), and
        before the default group exists (which defines the rank)."""
        return not self.closed and (self.file is not None or self.dist.is_initialized())

    def forked(self):
        """In a child. If no trace has begun, the child may become a rank."""
        self.closed |= self.file is not None

    def trace(self):
        if self.file is None:
            rank = self.dist.get_rank()
            store = self.c10d._get_default_store()
            folder = choose(self.folder, rank, store, self.recordings)
            file = TraceFile(folder, rank, self.dist.get_world_size())
            self.sites = Sites(file, self.depth, self.redact)
            self.file = file
            if multiprocessing.parent_process() is not None:
                # as late as possible; a registration before the fork would be lost
                multiprocessing.util.Finalize(None, self.left, exitpriority=-sys.maxsize)
            if self.step_before is not None:
                file.mark(STEP, self.step_before)
            if self.values:
                file.put(self.values.on())
        return self.file

    def step(self, number_of_step, of_user=True):
        if of_user:
            self.user_steps, self.user_step = True, number_of_step
        if self.records():
            self.trace().mark(STEP, number_of_step)
        elif not self.closed and self.file is None:
            self.step_before = number_of_step

    def phase(self, words):
        self.user_phase = words

    def stepped(self, optimizer, *_):
        """An optimizer has taken a step. An optimizer within it does not end a step, nor one that
        autograd runs. Of several optimizers, the first one ends it."""
        if self.torch.compiler.is_compiling() or self.in_backward() != -1:
            return
        wrapper = sys._getframe(1)
        frame = wrapper.f_back
        while frame is not None and frame.f_code is not wrapper.f_code:
            frame = frame.f_back
        if frame is not None:
            return
        if self.values:
            self.values.sample(optimizer, self.user_step)
        if self.user_steps:
            return
        try:
            self.taken[optimizer] = self.taken.get(optimizer, 0) + 1
        except TypeError:  # it is not hashable
            return
        if self.taken[optimizer] > (self.steps or 0):
            self.steps = self.taken[optimizer]
            self.step(self.steps, of_user=False)

    def number_of(self, group):
        name = group.group_name
        known = self.keys.get(name)
        if known is None:
            members = list(self.dist.get_process_group_ranks(group))
            key = f"{name[:200]} {zlib.crc32(repr(members).encode()):08x}"
            known = self.trace().group(key, members, label=self.label_of(group))
            self.keys[name] = known
        return known

    def label_of(self, group):
        label = getattr(group, "group_desc", "")
        if label in ("", "undefined"):
            return group.group_name
        return hashed(label) if self.redact and label != "default_pg" else label

    def with_batch(self, real):
        """batch_isend_irecv checks its list first, then enters the operations: one grouped call.
        It is recorded whatever name the program has for it."""

        @functools.wraps(real)
        def check(p2p_op_list):
            real(p2p_op_list)
            self.hints.mine.batch = Batch(len(p2p_op_list))

        return check

    def batch_goes_on(self, batch, belongs):
        if belongs and not batch.open:
            batch.open = True
            self.file.mark(CALL)
        elif not belongs:  # an operation of the batch has failed
            self.end_batch(batch)

    def batch_has(self, batch):
        """One more operation of the batch was recorded."""
        batch.left -= 1
        if batch.left == 0:
            self.end_batch(batch)

    def end_batch(self, batch):
        if batch.open:
            self.file.mark(CALL_END)
        batch.open, self.hints.mine.batch = False, None

    def with_work(self, real, reduces):
        """Notes the reduction, which the dispatcher receives as an opaque object, and which
        operation the work belongs to."""
        hints = self.hints

        @functools.wraps(real)
        def call(*args, **kwargs):
            hint = hints.mine
            hint.number = hint.received = None
            if reduces:
                for value in (*args, *kwargs.values()):
                    value = getattr(value, "reduceOp", value)
                    if isinstance(value, (self.dist.ReduceOp, self.dist.ReduceOp.RedOpType)):
                        hint.redop = self.operator(value)
            try:
                work = real(*args, **kwargs)
            finally:
                hint.redop = None
            if hint.number is not None:
                self.entered(work)
            return work

        return call

    def entered(self, work):
        """The thread's last operation has returned this work, or None."""
        hint = self.hints.mine
        if work is None:
            if not hint.later:
                self.file.returned(hint.number)
            return
        if len(self.works) >= WORKS:  # most were never awaited, or by C++
            self.works = {k: v for k, v in list(self.works.items()) if v[0]() is not None}
        key, gone = id(work), None
        if hint.received is not None:  # the tensors must not outlive the work
            gone = lambda _: self.works.pop(key, None)  # noqa: E731
        self.works[key] = weakref.ref(work, gone), hint.number, hint.later, self.file, hint.received

    def with_wait(self, real):
        """Records when the program waits for an asynchronous operation, when it has waited, and
        from where a receive from any source has received."""

        @functools.wraps(real)
        def wait(work, *args, **kwargs):
            known = self.works.pop(id(work), None)
            if known is None or known[0]() is not work or known[3] is not self.file:
                return real(work, *args, **kwargs)
            _, number_of_operation, later, file, received = known
            if later and self.records():
                file.wait(number_of_operation)
            done = real(work, *args, **kwargs)
            if self.records():
                file.returned(number_of_operation)
                if received is not None and self.values is not None:
                    self.values.received(*received)
                if number_of_operation in self.any_source:
                    self.any_source.discard(number_of_operation)
                    file.source(number_of_operation, work._source_rank())
            return done

        return wait

    def operator(self, value):
        for word in REDOPS[2:]:
            name = "PRODUCT" if word == "prod" else word.upper()
            if hasattr(self.dist.ReduceOp, name) and value == getattr(self.dist.ReduceOp, name):
                return word
        return "unknown"


class Batch:
    """A call of batch_isend_irecv: how many operations are not recorded yet."""

    def __init__(self, left):
        self.left, self.open = left, False


_recorder = None


def depth_of(depth):
    """The number of lines of a call site: the argument, or ZEROPROOF_TRACE_DEPTH, or 3."""
    if depth is None:
        words = os.environ.get("ZEROPROOF_TRACE_DEPTH", "")
        if words and not (words.isdecimal() and int(words) <= DEEPEST):
            print(
                f"zeroproof: ZEROPROOF_TRACE_DEPTH={words}: not a number from 0 to {DEEPEST}",
                file=sys.stderr,
            )
            words = ""
        depth = int(words or DEPTH)
    if not 0 <= depth <= DEEPEST:
        raise ValueError(f"depth {depth}: expected 0 to {DEEPEST}")
    return depth


def record(folder, depth=None, redact=None, values=None):
    """Starts recording to folder/rank-N.zpt, or folder/attempt-K/rank-N.zpt after a restart, or if
    the folder has traces. depth: how many lines of the stack a call site has
    (ZEROPROOF_TRACE_DEPTH, or 3); 0: none. redact: file names, labels of groups and names of
    tensors are hashed (ZEROPROOF_TRACE_REDACT=1). values: fingerprints of the values of
    collectives, and every that many steps of parameters, gradients and states
    (ZEROPROOF_TRACE_VALUES); 0: of collectives."""
    global _recorder
    depth, values = depth_of(depth), values_of(values)
    if redact is None:
        redact = os.environ.get("ZEROPROOF_TRACE_REDACT", "0") not in ("", "0")
    if _recorder is None:
        _recorder = Recorder(folder, depth, redact, values).install()
    elif _recorder.closed:
        _recorder.begin(folder, depth, redact, values)
        _recorder.hook()
    return _recorder


def step(number_of_step):
    """Sets the step of the following operations. From then on, optimizers do not count steps."""
    if _recorder:
        _recorder.step(number_of_step)


def watch(model, group=None):
    """Names the parameters of a model in fingerprints of values. group: all its members hold
    replicas of the model (DistributedDataParallel: its own group)."""
    if _recorder and _recorder.values:
        _recorder.values.watch(model, group)


def phase(words):
    """Sets the phase of the following operations, such as "gradient". "": the recorder sets it."""
    if _recorder:
        _recorder.phase(words)


def ended(error):
    """What ended the program, for a caller that knows it: an exception, or None."""
    if _recorder:
        _recorder.ending.set(error)


if __name__ == "__main__":
    sys.exit(
        "zeroproof_trace runs no scripts: call zeroproof_trace.record(folder) in the script, or "
        "use python -m zeroproof.trace of the package zeroproof."
    )
