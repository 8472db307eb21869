"""DeepSpeed under an accelerator that is asynchronous in name only: values as in deepspeed_adapter.py,
and a log of stream events (level 3), which says what a GPU could have reordered.

No function of DeepSpeed is replaced but what deepspeed_adapter.py says (fp16 is supported, an operator is
not there; tests/conformance/replaced.py looks): the accelerator is what it lets itself be given
(set_accelerator), and the log's phases are written by the training loop, around its call of step().
Of torch, Tensor.record_stream, which does nothing on a CPU, is logged, and a callback that is queued for
the end of a backward is called behind a note that it ended (zeroproof_streams.Recording).
Autograd is played as it would run on a GPU: with `streams` producers, parameter j's gradient is made,
and its hook runs, on producer j mod streams, the first of which is the compute stream."""
import contextlib
import os

import deepspeed_adapter as base
import torch
import zeroproof_streams
from deepspeed.accelerator import get_accelerator, set_accelerator
from torch_adapter import Linear, serve

FAKE = get_accelerator().__class__  # DeepSpeed's own for CPUs


class Asynchronous(FAKE):
    """As CUDA's, where it is about streams."""

    def __init__(self, device):
        super().__init__()
        self.fake = device

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
        self.fake.synchronize()

    @property
    def Stream(self):  # noqa: N802
        return self.fake.Stream

    @property
    def Event(self):  # noqa: N802
        return self.fake.Event

    def stream(self, stream):
        return self.fake.on(stream)

    def current_stream(self, device_index=None):
        return self.fake.current

    def default_stream(self, device_index=None):
        return self.fake.default


class Streamed(Linear):
    """The terms of the loss on several streams, ordered as CUDA's manual asks a program to."""

    def __init__(self, place, device):
        super().__init__(place)
        self.fake = device
        others = [device.Stream(name=f"producer {k}") for k in range(1, place.case.get("streams", 1))]
        self.producers = [device.default, *others]
        self.turn = {key: i % len(self.producers) for i, key in enumerate(self.w)}

    def forward(self, step, m, term=0):
        terms, caller = [], self.fake.current
        for j, w, x in self.used(step, m, term):
            stream = self.producers[self.turn[self.key(j)]]
            with self.fake.on(stream):
                stream.wait_stream(caller)
                term = zeroproof_streams.Term.apply(self.fake, stream, caller, (w.float() * x).sum())
            caller.wait_stream(stream)
            for tensor, user in ((x, stream), (term, caller)):
                tensor.record_stream(user)
            terms.append(term)
        return sum(terms) if terms else torch.zeros((), requires_grad=True) * 1.0


class Both:
    """A pause of the ledger and of the stream log."""

    def __init__(self, *pauses):
        self.pauses = pauses

    def __enter__(self):
        for pause in self.pauses:
            pause.__enter__()

    def __exit__(self, *error):
        for pause in self.pauses:
            pause.__exit__(*error)


def observe(me, device):
    """The log is told of steps and pauses as the ledger is."""
    begin, pause = me.begin, me.recorder.pause

    def told(number):
        begin(number)
        device.write({"step": number})

    me.begin = told
    me.recorder.pause = lambda: Both(pause(), device.pause())


@contextlib.contextmanager
def stepping(device):
    """While the script is in engine.step(), parameters may be updated."""
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
            base.main(me, lambda place: Streamed(place, device), lambda: stepping(device))
        device.close()


# What has to do with streams; values are deepspeed_adapter.py's business, and are looked at here, too.
# Offloading is left out: on the CPU nothing tells the host's tensors from the device's.
HELLO = {
    **base.HELLO, "name": "DeepSpeed streams", "level": 3, "returns": [*base.HELLO["returns"], "streams"],
    "supports": {
        "zero": [1, 2], "dp": [1, 2, 3, 4], "micro_batches": [1, 2, 3], "steps": [1, 2, 3], "precision": ["fp32", "bf16"],
        "optimizer": ["sgd", "momentum"], "clip": ["off", "loose"], "groups": [1, 2],
        "sizes": ["plain", "tiny", "odd", "large"], "bucket": ["large", "small"], "frozen": ["no", "yes"],
        "tied": ["no", "stage"], "streams": [1, 2, 3]},
    "without": [{"option reduce_scatter": True, "option predivide": 2}],
    "options": {"overlap_comm": [True, False], **{n: base.HELLO["options"][n] for n in (
        "reduce_scatter", "use_multi_rank_bucket_allreduce", "predivide")}},
}


if __name__ == "__main__":
    serve(HELLO, main)
