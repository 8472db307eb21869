"""Records the collectives of a torch.distributed program by wrapping torch.distributed's functions.

Each record is written before the collective is entered. Install the recorder before any code keeps
references to the functions, as the backend objects of some frameworks do. It does not see
collectives that C++ issues, such as those of DDP's reducer."""

import functools

# function -> operation in the ledger
COLLECTIVES = {
    "all_reduce": "all_reduce",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "all_gather": "all_gather",
    "all_gather_into_tensor": "all_gather",
    "_all_gather_base": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "_reduce_scatter_base": "reduce_scatter",
    "gather": "gather",
    "scatter": "scatter",
    "all_to_all_single": "all_to_all",
    "barrier": "barrier",
    "send": "send",
    "recv": "recv",
    "isend": "send",
    "irecv": "recv",
}


class Recorder:
    """Calls write(record) for each record. pause() excludes calls of the harness itself."""

    def __init__(self, write):
        self.write, self.quiet, self.count, self.batch = write, 0, 0, 0
        self.real = {}
        self.entering = (
            None,
            False,
        )  # (record number, whether the call is asynchronous) of the call in progress
        self.waited = lambda number: None  # called after a wait for a work (zeroproof_streams)

    def pause(self):
        recorder = self

        class Pause:
            def __enter__(self):
                recorder.quiet += 1

            def __exit__(self, *_):
                recorder.quiet -= 1

        return Pause()

    def install(self):
        import torch.distributed as dist

        self.dist = dist
        for name, op in COLLECTIVES.items():
            if hasattr(dist, name):
                self.real[name] = getattr(dist, name)
                setattr(dist, name, self.wrap(self.real[name], op, name))
        self.unwrap(dist.P2POp, "__new__", staticmethod)
        self.unwrap(dist.P2POp, "__init__", lambda call: call)
        self.real["batch_isend_irecv"] = dist.batch_isend_irecv
        dist.batch_isend_irecv = self.wrap_batch(dist.batch_isend_irecv)
        return self

    def unwrap(self, kind, name, as_method):
        """torch accepts only its own isend and irecv in a batch, so the wrappers are replaced by
        them."""
        real = getattr(kind, name)
        mine = {getattr(self.dist, n): self.real[n] for n in ("isend", "irecv")}

        def call(self_or_kind, op, *args, **kwargs):
            return real(self_or_kind, mine.get(op, op), *args, **kwargs)

        setattr(kind, name, as_method(call))

    def members(self, group):
        dist = self.dist
        if group is None or group is dist.group.WORLD:
            return list(range(dist.get_world_size()))
        return list(dist.get_process_group_ranks(group))

    def communicator(self, group):
        """The group's name, which is the same on all members. Groups with the same members differ
        in it."""
        return (self.dist.group.WORLD if group is None else group).group_name

    def wrap(self, real, op, name):
        import inspect

        signature = inspect.signature(real)

        @functools.wraps(real)
        def call(*args, **kwargs):
            if self.quiet or not self.dist.is_initialized():
                return real(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            arguments = bound.arguments
            later = bool(arguments.get("async_op")) or name in ("isend", "irecv")
            number = self.publish(op, arguments, later)
            self.entering = (number, later)
            self.quiet += 1
            try:
                work = real(*args, **kwargs)
            finally:
                self.quiet -= 1
                self.entering = (None, False)
            return Waiting(work, self, number) if later and work is not None else work

        return call

    def publish(self, op, arguments, later, batch=None):
        tensor = self.counted(op, arguments)
        record = {"op": op}
        if tensor is not None:
            record.update(
                dtype=DTYPES.get(str(tensor.dtype), str(tensor.dtype)), count=tensor.numel()
            )
        if op in ("send", "recv"):
            peer = arguments.get("dst") if op == "send" else arguments.get("src")
            if peer is None:
                peer = self.members(arguments.get("group"))[
                    arguments.get("group_dst", arguments.get("group_src"))
                ]
            record["peer"] = peer
        else:
            record["group"] = self.members(arguments.get("group"))
            record["name"] = self.communicator(arguments.get("group"))
            if "op" in arguments and arguments["op"] is not None:
                record["redop"] = (
                    str(arguments["op"]).rsplit(".", maxsplit=1)[-1].lower().strip("<>: 0123456789")
                )
            root = arguments.get("dst", arguments.get("src"))
            if root is not None and op in ("broadcast", "reduce", "gather", "scatter"):
                record["root"] = root
        if later:
            record["async"] = True
        if batch is not None:
            record["batch"] = batch
        self.write(record)
        self.count += 1
        return self.count - 1

    @staticmethod
    def counted(op, arguments):
        """The tensor whose elements are counted: one part, or the whole tensor."""
        for name in {
            "all_gather": ("tensor", "input_tensor"),
            "reduce_scatter": ("output", "output_tensor"),
            "all_to_all": ("input",),
        }.get(op, ("tensor",)):
            if arguments.get(name) is not None:
                return arguments[name]
        return None

    def wrap_batch(self, real):
        @functools.wraps(real)
        def call(ops):
            if self.quiet:
                return real(ops)
            self.batch += 1
            numbers = []
            for p in ops:
                op = "send" if p.op in (self.dist.isend, self.real["isend"]) else "recv"
                numbers.append(
                    self.publish(
                        op,
                        {"tensor": p.tensor, "dst": p.peer, "src": p.peer, "group": p.group},
                        True,
                        batch=self.batch,
                    )
                )
            self.quiet += 1
            try:
                works = real(ops)
            finally:
                self.quiet -= 1
            # if torch returns one work for the whole batch, it gets the number of the last
            # operation
            if len(works) != len(numbers):
                numbers = numbers[-1:] * len(works)
            return [
                Waiting(work, self, number) for work, number in zip(works, numbers, strict=True)
            ]

        return call


DTYPES = {
    "torch.float32": "fp32",
    "torch.bfloat16": "bf16",
    "torch.float16": "fp16",
    "torch.float64": "fp64",
}


class Waiting:
    """A work handle that records waits for it."""

    def __init__(self, work, recorder, number):
        self._work, self._recorder, self._number = work, recorder, number

    def wait(self, *args, **kwargs):
        self._recorder.write({"wait": self._number})
        done = self._work.wait(*args, **kwargs)
        self._recorder.waited(self._number)
        return done

    def __getattr__(self, name):
        return getattr(self._work, name)
