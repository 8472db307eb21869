"""Stand-ins for CUDA, for programs that expect a GPU and run their computation on a CPU as well.

None of them touches reduction, norm or step. A device "cuda" is the CPU, which is always
synchronized, so streams and events order nothing; Tensor.type() returns the torch.cuda names that
Megatron compares."""

import contextlib

import torch
from torch.overrides import TorchFunctionMode

TYPES = {
    torch.float32: "torch.cuda.FloatTensor",
    torch.float16: "torch.cuda.HalfTensor",
    torch.bfloat16: "torch.cuda.BFloat16Tensor",
}
CPU = torch.device("cpu")


class Stream:
    """A stream or event on which everything has completed."""

    def __init__(self, *_, **__):
        pass

    def wait(self, *_):
        pass

    wait_stream = wait_event = record = synchronize = wait

    def record_event(self, *_):
        return self

    def query(self):
        return True


torch.cuda.synchronize = lambda *_: None
torch.cuda.current_stream = torch.cuda.default_stream = Stream
torch.cuda.Stream = torch.cuda.Event = Stream
torch.cuda.stream = lambda _: contextlib.nullcontext()


class OnCpu(TorchFunctionMode):
    """Redirects CUDA devices to the CPU."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        args = [CPU if isinstance(a, torch.device) and a.type == "cuda" else a for a in args]
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = CPU
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.Tensor.type and len(args) == 1 and not kwargs:
            return TYPES.get(args[0].dtype, func(*args))
        return func(*args, **kwargs)


class Weight(torch.nn.Module):
    """A layer for one weight, so that Megatron's forward hooks detect its use."""

    def __init__(self, w):
        super().__init__()
        self.w = w

    def forward(self):
        return self.w
