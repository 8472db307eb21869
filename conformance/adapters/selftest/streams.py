"""Stream events of a correct rank, or of one in which one kind of wait is missing. The race check
must accept the first and find the second."""

FORMAT = "zeroproof/streams/1"
# missing wait -> (clause that it violates, effect)
LEFT_OUT = {
    "producer": (
        "STRM-1",
        "a reduction waits for one of the streams that filled its bucket (DeepSpeed #8061)",
    ),
    "slot": (
        "STRM-2",
        "a slot is refilled while the reduction of its earlier contents reads it (DeepSpeed #5523)",
    ),
    "exchange": ("STRM-3", "an activation is sent before it is computed (ColossalAI #6091)"),
    "update": ("STRM-4", "the next forward does not wait for the update"),
    "host": ("STRM-6", "the host reads the norm before its copy has completed"),
    "keep": ("STRM-6", "memory that another stream still reads is freed (DeepSpeed #7965)"),
    "gone": ("STRM-6", "the host frees memory that a stream still reads"),
}
HOST, COMPUTE, REDUCE, P2P, PRODUCER = 0, 1, 2, 3, 4
PARAMS, GRADS, SLOTS, SUMS, NORM, PINNED, ACTIVATION, SCRATCH, TABLE = (
    k << 12 for k in range(1, 10)
)
PART = 16  # bytes


class Program:
    def __init__(self, rank, world, producers, without=None):
        self.without, self.events, self.records = (
            without,
            0,
            [{"format": FORMAT, "rank": rank, "world": world}],
        )
        names = [
            "host",
            "compute",
            "reduce",
            "p2p",
            *(f"producer {k}" for k in range(1, producers)),
        ]
        for number, name in enumerate(names):
            self.put(stream=number, name=name, **({"host": True} if number == HOST else {}))
        self.producers = [COMPUTE, *range(PRODUCER, PRODUCER + producers - 1)]
        self.world, self.freed = world, {}

    def put(self, **record):
        self.records.append(record)

    def op(self, name, on, reads=(), writes=(), **more):
        self.put(
            op=name, on=on, reads=[list(r) for r in reads], writes=[list(w) for w in writes], **more
        )

    def order(self, what, before, after):
        """Makes stream `after` wait for everything queued on `before`, unless this wait is the
        missing one."""
        if what != self.without:
            self.events += 1
            self.put(record=self.events, on=before)
            self.put(wait=self.events, on=after)

    def step(self, number):
        self.put(step=number)
        self.put(phase="backward")
        self.order("update", REDUCE, COMPUTE)
        self.op("forward", COMPUTE, [(PARAMS, 64)], [(ACTIVATION, 32)])
        self.order("exchange", COMPUTE, P2P)
        self.op("send", P2P, [(ACTIVATION, 32)])
        self.order("acknowledge", P2P, COMPUTE)
        for bucket in range(3):
            self.bucket(bucket)
        self.scratch()
        self.finish()

    def bucket(self, bucket):
        slot = SLOTS + bucket % 2 * 256
        for k, stream in enumerate(self.producers):
            part = slot + k * PART
            self.order("backward", COMPUTE, stream)
            self.op("backward", stream, [(PARAMS, 64)], [(GRADS + k * 64, PART)])
            if bucket % 2 in self.freed and self.without != "slot":
                self.put(wait=self.freed[bucket % 2], on=stream)
            self.op("copy", stream, [(GRADS + k * 64, PART)], [(part, PART)])
            self.order("producer" if k > 0 else "first producer", stream, REDUCE)
        whole = (slot, PART * len(self.producers))
        if self.world > 1:
            self.op("all_reduce", REDUCE, [whole], [whole], collective=True)
        self.op("add", REDUCE, [whole, (SUMS, 64)], [(SUMS, 64)])
        self.events += 1
        self.freed[bucket % 2] = self.events
        self.put(record=self.events, on=REDUCE)

    def scratch(self):
        """The compute stream's memory is read by the reduction stream, freed, and reused by the
        next block."""
        self.put(alloc=[SCRATCH, 32], on=COMPUTE, name="scratch")
        self.op("fill", COMPUTE, [], [(SCRATCH, 32)])
        self.order("scratch", COMPUTE, REDUCE)
        self.op("sum", REDUCE, [(SCRATCH, 32)], [(NORM, 4)])
        self.put(
            free=[SCRATCH, 32],
            on=COMPUTE,
            **({} if self.without == "keep" else {"after": [REDUCE]}),
        )
        self.put(alloc=[SCRATCH + 64, 32], on=COMPUTE, name="next")
        self.op("fill", COMPUTE, [], [(SCRATCH + 64, 32)])
        self.put(free=[SCRATCH + 64, 32], on=COMPUTE)

    def finish(self):
        if self.world > 1:
            self.op("all_reduce", REDUCE, [(NORM, 4)], [(NORM, 4)], collective=True)
        self.op("copy to host", REDUCE, [(NORM, 4)], [(PINNED, 4)])
        self.order("host", REDUCE, HOST)
        self.op("read", HOST, [(PINNED, 4)])
        self.order("backward end", COMPUTE, REDUCE)
        for stream in self.producers[1:]:
            self.order("backward end", stream, REDUCE)
        self.put(phase="step")
        self.op("update", REDUCE, [(SUMS, 64)], [(PARAMS, 64)])
        self.op("look up", COMPUTE, [(TABLE, 8)])

    def end(self):
        if self.without != "gone":
            self.put(synchronize=True, on=HOST)
        self.put(free=[TABLE, 8], on=HOST)
        self.put(end=True)
        return self.records


def program(rank, world, steps, producers, without=None):
    made = Program(rank, world, producers, without)
    for number in range(steps):
        made.step(number)
    return made.end()
