"""Measures torch doing the engine's job on a GPU in its fastest way; prints JSON lines.

    torch_job.py ELEMENTS REPETITIONS

fp32 masters, gradients of bf16 or fp32: the norm (_foreach_norm); unscale and clip (one multiply of
its own, or the one that fused AdamW does for a GradScaler), fused AdamW, the parameters cast to
bf16. The same of one tensor as a single pass that torch.compile makes. One tensor, and 1,000 of
unequal lengths. Times are medians by CUDA events, L2 filled by reading before each, so often that
the host has queued the job before the device comes to it: what is compared is the device's time,
not Python's. The device has worked for 0.3 s before, so that its clocks are up.
"""

import json
import statistics
import sys
import time

import torch

TENSORS = 1000
FLUSH = 256 << 20
WARM = 0.3  # seconds
# Flushes before each measurement, some 60 µs each on an H200: longer than Python takes for 1,000
# tensors.
AHEAD = 256
SCALE = 1.0 / 1024


def lengths(n, tensors):
    """The data of kernel_bench."""
    mean, out = n // tensors, []
    for i in range(tensors - 1):
        out.append(mean + mean // 3 if i % 2 else mean - mean // 3)
    return out + [n - sum(out)]


def timed(fn, repetitions, flush):
    times = []
    for i in range(-2, repetitions):
        for _ in range(AHEAD):
            flush.sum()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        fn()
        end.record()
        end.synchronize()
        if i >= 0:
            times.append(begin.elapsed_time(end))
    return times


def say(what, n, tensors, dtype, times):
    row = {
        "torch": what,
        "elements": n,
        "tensors": tensors,
        "dtype": dtype,
        "ms": statistics.median(times),
        "least_ms": min(times),
        "repetitions": len(times),
        "version": torch.__version__,
    }
    print(json.dumps(row), flush=True)


def norm_job(n, tensors, dtype, repetitions, flush):
    name = str(dtype).split(".")[1].replace("bfloat", "bf").replace("float", "fp")
    grads = list((torch.randn(n, device="cuda", dtype=dtype) / 64).split(lengths(n, tensors)))

    def norm():
        parts = torch._foreach_norm(grads, 2, dtype=torch.float32)
        return torch.linalg.vector_norm(torch.stack(parts))

    say("norm", n, tensors, name, timed(norm, repetitions, flush))


def update_job(n, tensors, repetitions, flush):
    cut = lengths(n, tensors)
    masters = list(torch.randn(n, device="cuda").split(cut))
    grads = (torch.randn(n, device="cuda") / 64).split(cut)
    for p, g in zip(masters, grads, strict=True):
        p.grad = g
    params = list(torch.empty(n, device="cuda", dtype=torch.bfloat16).split(cut))
    adamw = torch.optim.AdamW(masters, lr=1e-3, weight_decay=0.01, fused=True)
    factor = torch.tensor(SCALE, device="cuda")

    def update():
        torch._foreach_mul_([p.grad for p in masters], factor)
        adamw.step()
        torch._foreach_copy_(params, masters)

    def update_of_scaler():
        adamw.step()
        torch._foreach_copy_(params, masters)

    say("update", n, tensors, "bf16", timed(update, repetitions, flush))
    for p in masters:  # small by now
        p.grad.normal_().div_(64)
    adamw.grad_scale = 1 / factor
    adamw.found_inf = torch.zeros((), device="cuda")
    times = timed(update_of_scaler, repetitions, flush)
    say("update, scale in the step", n, tensors, "bf16", times)


def compiled_job(n, repetitions, flush):
    """AdamW, unscaling and the bf16 parameters in one kernel of torch's compiler."""
    master, grad = torch.randn(n, device="cuda"), torch.randn(n, device="cuda") / 64
    m, v = torch.zeros(n, device="cuda"), torch.zeros(n, device="cuda")
    param = torch.empty(n, device="cuda", dtype=torch.bfloat16)
    factor = torch.tensor(SCALE, device="cuda")
    corrections = torch.tensor([0.1, 0.03], device="cuda")  # of both moments

    @torch.compile(dynamic=False)
    def step(master, grad, m, v, param, factor, corrections):
        grad = grad * factor
        m.lerp_(grad, 1 - 0.9)
        v.mul_(0.999).addcmul_(grad, grad, value=1 - 0.999)
        denominator = v.sqrt() / corrections[1] + 1e-8
        master.mul_(1 - 1e-3 * 0.01).sub_(1e-3 * (m / corrections[0]) / denominator)
        param.copy_(master)

    def update():
        step(master, grad, m, v, param, factor, corrections)

    say("update, compiled", n, 1, "bf16", timed(update, repetitions, flush))


def warm(flush):
    begin = time.monotonic()
    while time.monotonic() - begin < WARM:
        flush.sum()
        torch.cuda.synchronize()


def main():
    n, repetitions = int(float(sys.argv[1])), int(sys.argv[2])
    if not torch.cuda.is_available():
        sys.exit("torch sees no GPU")
    flush = torch.zeros(FLUSH // 4, device="cuda")
    warm(flush)
    with torch.no_grad():
        for tensors in (1, TENSORS):
            norm_job(n, tensors, torch.float32, repetitions, flush)
            norm_job(n, tensors, torch.bfloat16, repetitions, flush)
            torch.cuda.empty_cache()
            update_job(n, tensors, repetitions, flush)
            torch.cuda.empty_cache()
        try:  # last: it compiles for seconds, and needs Triton and a C compiler
            compiled_job(n, repetitions, flush)
        except Exception as why:
            print(json.dumps({"not_run": f"torch.compile: {str(why)[:200]}"}))


if __name__ == "__main__":
    main()
