"""Fingerprints of values: inputs and results of collectives, and parameters, gradients and the
optimizer's state every n steps. conformance/TRACE.md, "Values".

A fingerprint of a tensor on the CPU is computed by libzeroproof. On another device it is computed
on the current stream, by a kernel or by tensor operations, copied without blocking, and written
later."""

import collections
import contextlib
import ctypes
import functools
import glob
import os
import sys
import weakref

from zeroproof_trace_file import EXTENSION, OPS, extension, numbers
from zeroproof_trace_sides import SIDES, Pieces
from zeroproof_trace_sites import hashed

VALUE_OF_OP, TENSOR, VALUE_OF_TENSOR = 5, 6, 7  # kinds of extensions
ON, END_OF_VALUES = 17, 18  # also
NO_INPUT, INPUT, RESULT, NO_RESULT = range(4)
NAMED = 1 << 16  # readers compare this many tensors
STATES = frozenset(  # of PyTorch's optimizers: redaction keeps them
    "step exp_avg exp_avg_sq max_exp_avg_sq exp_inf momentum_buffer square_avg grad_avg acc_delta "
    "sum prev step_size eta mu ax mu_product row_var col_var variance".split()
)
WORDS, MASK = 512, (1 << 64) - 1
HERE = os.path.dirname(os.path.abspath(__file__))


def library_file():
    """The file of libzeroproof.so: of the package zeroproof, or built in this source tree."""
    try:
        from zeroproof import _native
    except ImportError:
        built = os.path.normpath(os.path.join(HERE, "..", "..", "build", "libzeroproof.so.*"))
        files = [os.environ.get("ZEROPROOF_LIBRARY"), *sorted(glob.glob(built))]
        found = next(filter(None, files), None)
        if found is None:
            raise without(
                "libzeroproof.so was not found: ZEROPROOF_LIBRARY is not set, the package "
                f"zeroproof is not installed, and there is no {built}"
            ) from None
        return found
    try:
        return str(_native.library_path())
    except OSError as error:
        raise without(error) from None


def without(why):
    """The error of a recorder that cannot compute fingerprints."""
    why = str(why).removeprefix("zeroproof: ")
    return OSError(
        f"zeroproof: values cannot be recorded: {why}. Install the package zeroproof, or run "
        "`make lib` in its source tree, or set ZEROPROOF_LIBRARY to the file libzeroproof.so; or "
        "record without values"
    )


def fingerprint_function():
    path = library_file()
    try:
        return ctypes.CDLL(path).zp_fingerprint_add
    except (OSError, AttributeError) as error:  # not there, or of an older version
        named = path == os.environ.get("ZEROPROOF_LIBRARY")
        raise without(f"{error}{' (ZEROPROOF_LIBRARY)' if named else ''}") from None


def mixed(x):
    """splitmix64"""
    x = x + 0x9E3779B97F4A7C15 & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def say(words):
    print(f"zeroproof: {words}", file=sys.stderr, flush=True)


def words_of(error):
    return f"{type(error).__name__}: {error}"


def prefix_of(number):
    """Of the names of a second model or optimizer: "2:"."""
    return "" if number == 1 else f"{number}:"


def signed(x):
    return x - (1 << 64) if x >> 63 else x


class OnDevice:
    """Fingerprints by tensor operations, for devices without a kernel of their own. Products and
    sums of int64 wrap."""

    CHUNK = 1 << 13  # blocks in one operation: 16 MiB, and 8 times as much for the products

    def __init__(self, torch, device):
        self.torch = torch
        keys = [[mixed(lane << 63 | i) >> 32 for i in range(WORDS)] for lane in (0, 1)]
        self.keys = torch.tensor(keys, dtype=torch.int64, device=device)
        self.device = device

    def constant(self, x):
        return self.torch.tensor(signed(x), dtype=self.torch.int64, device=self.device)

    def shifted(self, x, n):
        return x >> n & (1 << 64 - n) - 1

    def block_keys(self, first, n):
        """[2, n]: of blocks first, first + 1, …"""
        block = self.torch.arange(first, first + n, dtype=self.torch.int64, device=self.device)
        found = []
        for lane in (0, 1):
            x = (block | signed(lane << 63 | 1 << 62)) + signed(0x9E3779B97F4A7C15)
            x = (x ^ self.shifted(x, 30)) * signed(0xBF58476D1CE4E5B9)
            x = (x ^ self.shifted(x, 27)) * signed(0x94D049BB133111EB)
            found.append(x ^ self.shifted(x, 31) | 1)
        return self.torch.stack(found)

    def add(self, flat, at, total):
        """flat: the bytes, as uint8, from byte `at` of the value on. total: int64 [2]."""
        torch, size = self.torch, 4 * WORDS
        head = at % size
        padded = torch.nn.functional.pad(flat, (head, -(head + flat.numel()) % size))
        words = padded.view(torch.int32).view(-1, WORDS)
        for i in range(0, len(words), self.CHUNK):
            part = words[i : i + self.CHUNK].to(torch.int64) & 0xFFFFFFFF
            sums = torch.stack([(part * key).sum(1) for key in self.keys])
            total += (sums * self.block_keys(at // size + i, len(part))).sum(1)


class OfKernel:
    """Fingerprints by the kernel of libzeroproof_norm.so, on the current stream. Its version for
    tests, of a name with "simdev", takes tensors on the CPU."""

    def __init__(self, torch, path):
        self.torch, self.call = torch, ctypes.CDLL(path).zp_norm_fingerprint
        pointer = ctypes.c_void_p
        self.call.argtypes = [pointer, pointer, ctypes.c_int64, ctypes.c_uint64, pointer]

    @classmethod
    def found(cls, torch, device):
        """The kernel, if `make cuda-norm` has built it or ZEROPROOF_CUDA_LIBRARY names it."""
        built = os.path.join(os.path.dirname(library_file()), "libzeroproof_norm.so")
        path = os.environ.get("ZEROPROOF_CUDA_LIBRARY") or built
        if device.type == ("cpu" if "simdev" in os.path.basename(path) else "cuda"):
            with contextlib.suppress(OSError, AttributeError):  # missing, or of another version
                return cls(torch, path)
        return None

    def add(self, flat, at, total):
        cuda, stream = self.torch.cuda, None
        with cuda.device(flat.device) if flat.is_cuda else contextlib.nullcontext():
            if flat.is_cuda:
                stream = cuda.current_stream(flat.device).cuda_stream
            error = self.call(stream, flat.data_ptr(), flat.numel(), at, total.data_ptr())
        if error:
            raise RuntimeError(f"zp_norm_fingerprint on {flat.device}: error {error}")


class Entered:
    """An operation that was recorded: its number in the file, and in its group."""

    def __init__(self, number, op, group, i, root):
        self.number, self.op, self.group, self.i, self.root = number, op, group, i, root


class Values:
    """every: steps between two samples of parameters, gradients and states. 0: collectives only."""

    def __init__(self, recorder, every):
        import torch

        self.recorder, self.torch, self.every = recorder, torch, every
        self.add = fingerprint_function()
        self.add.restype = None
        self.add.argtypes = [
            ctypes.c_void_p,
            ctypes.c_int64,
            ctypes.c_uint64,
            ctypes.POINTER(ctypes.c_uint64),
        ]
        self.devices, self.waiting = {}, collections.deque()
        self.in_group, self.tensors, self.failed, self.unable = {}, {}, False, False
        self.from_any = set()  # groups in which this rank receives from any source
        self.known = {}  # id of a parameter -> (weak reference, name, groups of its replicas)
        self.models = collections.Counter()  # that were watched, by the name of their group
        # optimizer -> (its number, steps that it has taken)
        self.taken, self.optimizers = weakref.WeakKeyDictionary(), 0
        # operations before the optimizer's step that is running, and before the last end of a step
        # collectives of all ranks: so far, when an optimizer began, when a step ended
        self.common = self.begun = self.ended = 0
        self.watch_ddp()
        self.watch_optimizers()

    def on(self):
        """What a trace says about values before it has one."""
        return extension(ON, self.every)

    # ---- Fingerprints ----

    def of(self, pieces):
        """(bytes, lanes): lanes are numbers, or a tensor on a device."""
        lanes, total, size = (ctypes.c_uint64 * 2)(), None, 0
        for piece in pieces:
            at = piece.at
            for tensor in piece.tensors:
                n = tensor.numel() * tensor.element_size()
                dense = tensor.detach().contiguous()
                if tensor.device.type == "cpu":
                    self.add(dense.data_ptr(), n, at, lanes)
                elif n:
                    device = self.devices.get(tensor.device)
                    if device is None:
                        device = OfKernel.found(self.torch, tensor.device)
                        device = device or OnDevice(self.torch, tensor.device)
                        self.devices[tensor.device] = device
                    if total is None:
                        total = self.torch.zeros(2, dtype=self.torch.int64, device=tensor.device)
                    device.add(dense.view(-1).view(self.torch.uint8), at, total)
                at, size = at + n, size + n
        return size, tuple(lanes) if total is None else total

    def computed(self, pieces):
        """of(), or None for tensors that have no bytes in order, such as sparse ones."""
        try:
            return self.of(pieces)
        except Exception as error:
            strided = all(t.layout == self.torch.strided for p in pieces for t in p.tensors)
            if strided and not self.unable:
                self.unable = True
                say(f"a value is not recorded, nor are others like it: {words_of(error)}")
            return None

    def put(self, head, value):
        """Writes an extension: now, or when the value has arrived from its device. head: function
        to the kind and the first numbers, called when it is written."""
        size, lanes = value
        if not isinstance(lanes, tuple):
            host = self.torch.empty(2, dtype=self.torch.int64, pin_memory=lanes.is_cuda)
            host.copy_(lanes, non_blocking=True)
            event = self.torch.cuda.Event() if lanes.is_cuda else None
            if event:
                event.record()
            self.waiting.append((event, head, size, host))
            self.arrived()
            return
        self.write(head, size, lanes)

    def arrived(self, block=False):
        """Writes the values that have arrived."""
        while self.waiting:
            event, head, size, host = self.waiting[0]
            if event and block:
                event.synchronize()
            if event and not event.query():
                return
            self.waiting.popleft()
            self.write(head, size, [x & MASK for x in host.tolist()])

    def write(self, head, size, lanes):
        file = self.recorder.file
        with file.lock:
            kind, *first = head(file)
            body = numbers(*first, size) + b"".join(x.to_bytes(8, "little") for x in lanes)
            file.put(numbers(EXTENSION, kind, len(body)) + body)

    # ---- Collectives ----

    def entered(self, number, op, group, root, arguments):
        """Counts a collective in its group, or a send or receive among those with its peer."""
        key = group
        if op in ("send", "recv"):
            # which send belongs to a receive from any source, or with a tag, is not known
            if root < 0:
                self.from_any.add(group)
            if arguments.get("tag") or (op == "recv" and group in self.from_any):
                return None
            key = group, op, root
        elif self.every and self.is_of_all(arguments["process_group"]):
            self.common += 1
        i = self.in_group.get(key, 0)
        self.in_group[key] = i + 1
        return Entered(number, op, group, i, root)

    def is_of_all(self, group):
        return self.recorder.unbox(group).size() == self.recorder.dist.get_world_size()

    def put_side(self, entered, side, pieces):
        e, value = entered, None
        if pieces is not None:
            value = self.computed(pieces)
        if value is None:
            side = NO_INPUT if side in (NO_INPUT, INPUT) else NO_RESULT

        def head(file):
            n = file.count - e.number
            return VALUE_OF_OP, side, n, OPS.index(e.op), e.root + 1, e.group, e.i

        if value is None:
            file = self.recorder.file
            with file.lock:
                file.put(extension(*head(file)))
        else:
            self.put(head, value)

    def around(self, call, name, arguments, entered):
        """Enters the operation by call(), with fingerprints of its input and its result."""
        sides = SIDES.get(name)
        if entered is None or self.failed:
            return call()
        if sides is None:
            return self.around_p2p(call, arguments.get("tensors"), entered)
        try:
            self.arrived()
            process_group = self.recorder.dist.ProcessGroup.unbox(arguments["process_group"])
            given, made = sides(arguments, process_group.rank(), process_group.size())
            self.put_side(entered, NO_INPUT if given is None else INPUT, given)
        except Exception as error:
            self.fail(error)
            return call()
        result = call()
        try:
            return self.at_completion(result, entered, made)
        except Exception as error:
            self.fail(error)
            return result

    def around_p2p(self, call, tensors, entered):
        """The works of receives complete without a callback: the program waits for them."""
        try:
            if entered.op == "send":
                self.arrived()
                self.put_side(entered, INPUT, [Pieces(tensors)])
            elif entered.op == "recv":
                self.recorder.hints.mine.received = entered, [Pieces(tensors)]
        except Exception as error:
            self.fail(error)
        return call()

    def received(self, entered, pieces):
        """The program has waited for a receive."""
        try:
            if not self.failed:
                self.put_side(entered, RESULT, pieces)
        except Exception as error:
            self.fail(error)

    def at_completion(self, result, entered, made):
        """The same result, with a work that completes after the fingerprint. A caller that waits
        for it, in Python or C++, therefore cannot change the tensors before."""
        future = None
        if made is not None:
            work = result[-1] if isinstance(result, tuple) else result
            with contextlib.suppress(RuntimeError):  # a backend without futures
                future = self.recorder.dist.Work.unbox(work).get_future()
        if future is None:
            self.put_side(entered, NO_RESULT, None)
            return result

        def completed(done):
            value = done.value()  # raises the operation's error
            try:
                if self.recorder.file is not None and not self.recorder.closed:
                    self.put_side(entered, RESULT, made)
            except Exception as error:
                self.fail(error)
            return value

        wrapped = self.torch._C._distributed_c10d._create_work_from_future(future.then(completed))
        work = wrapped.boxed()
        return (*result[:-1], work) if isinstance(result, tuple) else work

    def fail(self, error):
        if not self.failed:
            self.failed = True
            say(f"values are no longer recorded: {words_of(error)}")
            file = self.recorder.file
            if file is not None and not self.recorder.closed:
                name = "" if self.recorder.redact else type(error).__name__
                with file.lock:
                    file.put(extension(END_OF_VALUES, 0, words=name))

    # ---- Tensors by name ----

    def watch_ddp(self):
        """Names the parameters of every model that DistributedDataParallel wraps from now on."""
        of = self.torch.nn.parallel.DistributedDataParallel
        self.real_init = real = of.__init__

        @functools.wraps(real)
        def init(module, *args, **kwargs):
            real(module, *args, **kwargs)
            self.watch(module)

        self.init = of.__init__ = init

    def watch_optimizers(self):
        from torch.optim import optimizer

        register = getattr(optimizer, "register_optimizer_step_pre_hook", None)
        can = register is not None and hasattr(self.torch, "compiler")  # not in old versions
        self.handle = register(self.begins) if self.every and can else None

    def begins(self, *_):
        """An optimizer begins a step."""
        if not self.torch.compiler.is_compiling():
            self.begun = self.common

    def close(self):
        """Writes the values that are missing, and removes the hooks."""
        self.arrived(block=True)
        if self.handle is not None:
            self.handle.remove()
        of = self.torch.nn.parallel.DistributedDataParallel
        if of.__init__ is self.init:
            of.__init__ = self.real_init

    def watch(self, model, group=None):
        """Names the parameters of a model. group: its members hold replicas of them. Names of a
        group's second model begin with "2:", and so on."""
        if isinstance(model, self.torch.nn.parallel.DistributedDataParallel):
            model, group = model.module, group or model.process_group
        named = list(model.named_parameters())
        if self.watched(named, group):
            return
        self.models[getattr(group, "group_name", None)] += 1
        prefix = prefix_of(self.models[getattr(group, "group_name", None)])
        for name, parameter in named:
            self.known[id(parameter)] = weakref.ref(parameter), prefix + name, group

    def watched(self, named, group):
        """Whether these are the parameters of one model of this group that has names already."""
        prefixes = set()
        for name, parameter in named:
            of, known, known_group = self.known.get(id(parameter), (lambda: None, "", None))
            if of() is not parameter or known_group is not group or not known.endswith(name):
                return False
            prefixes.add(known[: len(known) - len(name)])
        return len(prefixes) == 1

    def named(self, parameter, place):
        """(name, group of its replicas or None)"""
        found = self.known.get(id(parameter))
        if found is not None and found[0]() is parameter:
            _, name, group = found
            return hashed(name, 16) if self.recorder.redact else name, group
        return place, None

    def of_state(self, key):
        """The name of a part of an optimizer's state, such as "exp_avg"."""
        return hashed(str(key), 16) if self.recorder.redact and key not in STATES else key

    def replicas(self, tensor, group):
        """(the local tensor, the groups whose members hold replicas of it)"""
        if not hasattr(tensor, "to_local"):
            return tensor, [group]
        mesh, groups = tensor.device_mesh, []
        for dim, placement in enumerate(tensor.placements):
            if placement.is_replicate():
                groups.append(mesh.get_group(dim))
        return tensor.to_local(), groups or [None]

    def sample(self, optimizer, step):
        """Fingerprints of the optimizer's tensors. step: the program's, or None."""
        try:
            number, turn = self.taken.get(optimizer, (self.optimizers + 1, 0))
            self.optimizers = max(self.optimizers, number)
            self.taken[optimizer] = number, turn + 1
            every = turn if step is None else step
            step = self.step_of(turn) if step is None else step
            if self.failed or not self.every or not self.recorder.records():
                return
            if every % self.every:
                return
            self.recorder.trace()
            self.arrived()
            for i, group in enumerate(optimizer.param_groups):
                for k, parameter in enumerate(group["params"]):
                    name, of_replicas = self.named(parameter, f"{prefix_of(number)}group{i}.{k}")
                    self.put_tensor(f"parameter {name}", parameter, of_replicas, step)
                    if parameter.grad is not None:
                        self.put_tensor(f"gradient {name}", parameter.grad, of_replicas, step)
                    for key, value in optimizer.state.get(parameter, {}).items():
                        if self.torch.is_tensor(value):
                            state = self.of_state(key)
                            self.put_tensor(f"{state} {name}", value, of_replicas, step)
        except Exception as error:
            self.fail(error)

    def step_of(self, turn):
        """The step that the optimizer has ended by its step number `turn`, or the one that another
        optimizer has ended, if no collective of all ranks, of the next step, came before."""
        steps = self.recorder.steps or 0
        ends = turn >= steps
        if not ends and self.begun > self.ended:
            return steps
        self.ended = self.common
        return steps if ends else steps - 1

    def put_tensor(self, name, tensor, group, step):
        local, groups = self.replicas(tensor, group)
        if local.layout != self.torch.strided:
            return
        value = self.computed([Pieces([local])])
        if value is None:
            return
        for group in groups:
            number = 0 if group is None else self.recorder.number_of(group)
            head = VALUE_OF_TENSOR, self.number_of(name), step + 1, number
            self.put(lambda file, head=head: head, value)

    def number_of(self, name):
        if name not in self.tensors:
            if len(self.tensors) >= NAMED:
                return 0
            self.tensors[name] = len(self.tensors) + 1
            self.recorder.file.put(extension(TENSOR, self.tensors[name], words=name))
        return self.tensors[name]


def values_of(values):
    """The argument of record(), or ZEROPROOF_TRACE_VALUES; None: no values."""
    if values is None:
        words = os.environ.get("ZEROPROOF_TRACE_VALUES", "")
        if not words.isdecimal():
            if words:
                print(f"zeroproof: ZEROPROOF_TRACE_VALUES={words}: not a number", file=sys.stderr)
            return None
        values = int(words)
    if values < 0:
        raise ValueError(f"values {values}: expected 0, or the steps between two samples")
    return values
