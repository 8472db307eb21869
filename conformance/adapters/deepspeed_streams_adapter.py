"""Adapter for DeepSpeed with an accelerator that computes at once but logs streams like a GPU
(level 3).

Values are those of deepspeed_adapter.py; the log of stream events shows what a GPU could reorder.
DeepSpeed's functions are unchanged apart from the two declarations in deepspeed_adapter.py
(tests/conformance/replaced.py checks this). The accelerator is set through DeepSpeed's
set_accelerator, and the training loop writes the log's phases around its call of step(). In torch,
Tensor.record_stream, which does nothing on a CPU, is logged, and a callback queued for the end of a
backward runs after the log has noted that end (zeroproof_streams.Recording). Autograd is simulated
as on a GPU: with `streams` producers, producer j mod streams computes the gradient of parameter j
and runs its hook. The first producer is the compute stream."""

import contextlib
import os

import deepspeed_adapter as base
import torch
import zeroproof_streams
from deepspeed.accelerator import get_accelerator, set_accelerator
from torch_adapter import Linear, serve

CPU = get_accelerator().__class__  # DeepSpeed's accelerator for CPUs


class Asynchronous(CPU):
    """DeepSpeed's CPU accelerator with the stream behaviour of its CUDA accelerator."""

    def __init__(self, device):
        super().__init__()
        self.logged = device

    def is_synchronized_device(self):
        return False

    def use_host_timers(self):
        return True

    def resolves_data_dependency(self):
        return False

    def handles_memory_backpressure(self):
        return False

    def is_fp16_supported(self):
        return True

    def synchronize(self, device_index=None):
        self.logged.synchronize()

    @property
    def Stream(self):  # noqa: N802
        return self.logged.Stream

    @property
    def Event(self):  # noqa: N802
        return self.logged.Event

    def stream(self, stream):
        return self.logged.on(stream)

    def current_stream(self, device_index=None):
        return self.logged.current

    def default_stream(self, device_index=None):
        return self.logged.default


class Streamed(Linear):
    """Computes the terms of the loss on several streams, ordered as CUDA requires."""

    def __init__(self, position, device):
        super().__init__(position)
        self.logged = device
        others = [
            device.Stream(name=f"producer {k}") for k in range(1, position.case.get("streams", 1))
        ]
        self.producers = [device.default, *others]
        self.turn = {key: i % len(self.producers) for i, key in enumerate(self.w)}

    def forward(self, step, m, term=0):
        terms, caller = [], self.logged.current
        for j, w, x in self.used(step, m, term):
            stream = self.producers[self.turn[self.key(j)]]
            with self.logged.on(stream):
                stream.wait_stream(caller)
                term = zeroproof_streams.Term.apply(
                    self.logged, stream, caller, (w.float() * x).sum()
                )
            caller.wait_stream(stream)
            for tensor, user in ((x, stream), (term, caller)):
                tensor.record_stream(user)
            terms.append(term)
        loss = sum(terms) if terms else torch.zeros((), requires_grad=True) * 1.0
        self.position.note(m, loss)
        return loss


class Both:
    """Pauses the ledger and the stream log."""

    def __init__(self, *pauses):
        self.pauses = pauses

    def __enter__(self):
        for pause in self.pauses:
            pause.__enter__()

    def __exit__(self, *error):
        for pause in self.pauses:
            pause.__exit__(*error)


def observe(me, device):
    """Writes steps to the stream log as well, and pauses it with the ledger."""
    begin, pause = me.begin, me.recorder.pause

    def begin_both(number):
        begin(number)
        device.write({"step": number})

    me.begin = begin_both
    me.recorder.pause = lambda: Both(pause(), device.pause())


@contextlib.contextmanager
def stepping(device):
    """Marks phase "step", in which parameters may be updated."""
    device.write({"phase": "step"})
    try:
        yield
    finally:
        device.write({"phase": "backward"})


def main(me):
    with open(os.path.join(me.folder, f"streams-{me.rank}.jsonl"), "w", encoding="utf-8") as file:
        device = zeroproof_streams.Device(file, me.rank, me.case["world"], me.recorder)
        set_accelerator(Asynchronous(device))
        observe(me, device)
        with device.recording():
            base.main(me, lambda position: Streamed(position, device), lambda: stepping(device))
        device.close()


# Axes that affect streams; deepspeed_adapter.py covers the other axes of values. Offloading is not
# supported, because the host's tensors cannot be distinguished from the device's on a CPU.
HELLO = {
    **base.HELLO,
    "name": "DeepSpeed streams",
    "level": 3,
    "returns": [*base.HELLO["returns"], "streams"],
    "supports": {
        "zero": [1, 2],
        "dp": [1, 2, 3, 4],
        "micro_batches": [1, 2, 3],
        "steps": [1, 2, 3],
        "precision": ["fp32", "bf16"],
        "optimizer": ["sgd", "momentum"],
        "clip": ["off", "loose"],
        "groups": [1, 2],
        "sizes": ["plain", "tiny", "odd", "large"],
        "bucket": ["large", "small"],
        "frozen": ["no", "yes"],
        "tied": ["no", "stage"],
        "streams": [1, 2, 3],
    },
    "lacks": {
        **base.HELLO["lacks"],
        "*": "deepspeed_adapter.py judges values; these cases judge streams",
    },
    "without": [base.PREDIVISION],
    "unsupported": [],
    "options": {
        "overlap_comm": [True, False],
        **{
            n: base.HELLO["options"][n]
            for n in ("reduce_scatter", "use_multi_rank_bucket_allreduce", "predivide")
        },
    },
}


if __name__ == "__main__":
    serve(HELLO, main)
