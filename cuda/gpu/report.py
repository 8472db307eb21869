"""The files of gpu-check: results.json, table.md and a picture for each size."""

import json

TARGETS = {
    ("squares", "fp32"): 0.90,
    ("squares", "bf16"): 0.80,
    ("update", "bf16"): 0.92,
    ("update", "fp32"): 0.92,
    ("mean_ordered", "fp32"): 0.90,  # what a step reads for its norm: sums
    ("gather_copy", "bf16"): 0.92,
    ("gather_copy", "fp32"): 0.92,
    ("gather_ordered, first", "bf16"): 0.92,  # widened, as in a step with native sums
    ("scatter", "bf16"): 0.92,
    ("scatter", "fp32"): 0.92,
}
WRITTEN = (
    "*.svg",
    "table.md",
    "machine.json",
    "trace.json",
    "trace-pytorch.json",
)  # if there is a measurement
STEP_TARGET = 0.85
L2_FITS = 50e6  # elements up to which an H200's L2 holds much of the data: printed, not judged
# torch's names of the same job; the fastest counts
JOBS = {
    "norm": ("norm",),
    "norm of sums": ("norm",),
    "update": ("update", "update, scale in the step", "update, compiled"),
}
BAR, ROW, LEFT, WIDTH = 14, 22, 330, 860


def beside_torch(m, torch):
    """torch's median divided by ours, or None."""
    same = [
        t["ms"] / m["ms"]
        for t in torch
        if t["torch"] in JOBS.get(m["kernel"], ())
        and m["data"] == "gradients"
        and all(t[k] == m[k] for k in ("elements", "tensors", "dtype"))
    ]
    return min(same, default=None)


def target_of(m):
    if m["elements"] <= L2_FITS or m["data"] != "gradients":
        return None
    return TARGETS.get((m["kernel"], m["dtype"]))


def size_of(m):
    """The run's elements; fewer for sums in limbs, as memory is limited."""
    return m.get("size", m["elements"])


def count(n):
    return f"{n / 1e9:g} G" if n >= 1e9 else f"{n / 1e6:g} M"


def parts_table(parts):
    rows = ["| part | result | seconds | limit | |", "|---|---|---|---|---|"]
    for p in parts:
        note = p.get("why", "")
        launches = [x for x in p.get("output", []) if x.get("clock") == "host" and "launch" in x]
        if launches:
            note = ", ".join(f"{x['launch']}: {x['host_us']} µs a call" for x in launches)
        if not note and p.get("output"):
            note = ", ".join(f"{k} {v}" for k, v in p["output"][-1].items() if k != "ranks")
        rows.append(
            f"| {p['part']} | {p['result']} | {p['seconds']} | {p['limit_s']:.0f} | {note} |"
        )
    return rows


def bandwidth_table(measured, torch):
    rows = [
        "| kernel | elements | tensors | of | data | GB/s | share of | | target | torch's time |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for m in measured:
        target, other = target_of(m), beside_torch(m, torch)
        met = target is not None and m["share"] >= target
        verdict = "" if target is None else f"{target:.0%} {'met' if met else 'missed'}"
        beside = "" if other is None else f"{other:.2f} ×"
        if beside and m["elements"] > L2_FITS:  # the engine has to be faster
            beside += " met" if other > 1 else " missed"
        rows.append(
            f"| {m['kernel']} | {count(m['elements'])} | {m['tensors']:,} | {m['dtype']} "
            f"| {m['data']} | {m['gb_s']:.0f} | {m['base']} | {m['share']:.1%} | {verdict} "
            f"| {beside} |"
        )
    return rows


def torch_table(torch):
    rows = ["| torch | elements | tensors | gradients | ms |", "|---|---|---|---|---|"]
    for t in torch:
        rows.append(
            f"| {t['torch']} | {count(t['elements'])} | {t['tensors']:,} | {t['dtype']} "
            f"| {t['ms']:.3f} |"
        )
    return rows


def without_offload(step, steps):
    """The same case, masters and moments on the device, or None."""
    keys = ("step", "ranks", "stage", "micro_batches", "bucket", "option")
    same = [x for x in steps if not x["offload"] and all(x[k] == step[k] for k in keys)]
    return same[0] if same and step["offload"] else None


def steps_table(steps):
    rows = [
        "| model | stage | M | bucket | offload | option | ms | of its bytes' time | exposed ms "
        "| host µs | launches | planned | allocated | in use | NCCL and CUDA |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for x in steps:
        share = ""
        if x["bytes"]:
            met = "met" if x["share"] >= STEP_TARGET else "missed"
            share = f"{x['share']:.1%}, {STEP_TARGET:.0%} {met}"
        other = without_offload(x, steps)
        exposed = f"{x['ms'] - other['ms']:.2f}" if other else ""
        memory = [x["planned"], x["allocated"], x["peak"], x["peak"] - x["allocated"]]
        rows.append(
            f"| {x['step']} | {x['stage']} | {x['micro_batches']} | {count(x['bucket'])} "
            f"| {'yes' if x['offload'] else ''} | {x['option']} | {x['ms']:.2f} | {share} "
            f"| {exposed} "
            f"| {'' if x['offload'] else format(x['host_us'], '.0f')} | {x['launches']} | "
            + " | ".join(f"{b / 1e9:.2f} GB" for b in memory)
            + " |"
        )
    return rows


STEPS_TEXT = """Steps of the engine without a model, one rank over NCCL, bf16, native sums. Of its
bytes' time: the time that a plain copy of the bytes that a step moves would take, over the step's.
Exposed: the step with offload less the same without. Host: of a step, the device idle; left out
with offload, where the host waits for the device. Planned: as `plan` prints it; in use: what
cudaMemGetInfo reports between steps, less that before the first case and the caller's gradients."""


def table(check):
    where = ", ".join(f"{k} {v}" for k, v in check.facts.items() if v and k != "device")
    text = ["# gpu-check", "", where, ""] + parts_table(check.parts)
    if check.steps:
        text += ["", STEPS_TEXT, ""] + steps_table(check.steps)
    if check.measured:
        text += [
            "",
            "Share: the time of a plain read, or copy, of the same bytes, over the "
            "kernel's; medians, measured in turns, L2 filled by reading before each.",
            "",
        ]
        text += bandwidth_table(check.measured, check.torch)
    if check.torch:
        text += [""] + torch_table(check.torch)
    return "\n".join(text) + "\n"


def picture(measured, elements):
    """Bars: each kernel's share of a plain read or copy."""
    rows = [m for m in measured if size_of(m) == elements]
    height = ROW * len(rows) + 60
    scale = (WIDTH - LEFT - 70) / 1.1
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="10" y="20" font-size="14">{count(elements)} elements: share of the bandwidth '
        f"of a plain read or copy of the same bytes</text>",
    ]
    for i, m in enumerate(rows):
        y = 40 + i * ROW
        fewer = "" if m["elements"] == elements else f" ({count(m['elements'])})"
        name = f"{m['kernel']} {m['dtype']}{fewer}, {m['tensors']:,} tensors, {m['data']}"
        out.append(f'<text x="{LEFT - 8}" y="{y + 11}" text-anchor="end">{name}</text>')
        out.append(
            f'<rect x="{LEFT}" y="{y}" width="{m["share"] * scale:.1f}" height="{BAR}" '
            f'fill="{"#3b6ea5" if m["base"] == "read" else "#7a9a3b"}"/>'
        )
        target = target_of(m)
        if target is not None:
            x = LEFT + target * scale
            out.append(
                f'<line x1="{x:.1f}" y1="{y - 2}" x2="{x:.1f}" y2="{y + BAR + 2}" '
                f'stroke="#c0392b" stroke-width="2"/>'
            )
        out.append(
            f'<text x="{LEFT + m["share"] * scale + 5:.1f}" y="{y + 11}">'
            f"{m['share']:.0%} of a {m['base']}</text>"
        )
    full = LEFT + scale
    out.append(
        f'<line x1="{full:.1f}" y1="34" x2="{full:.1f}" y2="{height - 16}" stroke="#888" '
        f'stroke-dasharray="3 3"/>'
    )
    return "\n".join(out + ["</svg>"]) + "\n"


def write(folder, check):
    """check: with facts, parts, and measurements: measured, torch, steps, machine, trace,
    trace_pytorch."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in [x for name in WRITTEN for x in folder.glob(name)]:
        old.unlink()  # of a run before, which this one may not have measured
    written = []

    def put(name, text):
        (folder / name).write_text(text)
        written.append(folder / name)

    whole = {
        "machine": check.facts,
        "parts": check.parts,
        "steps": check.steps,
        "bandwidth": check.measured,
        "torch": check.torch,
    }
    put("results.json", json.dumps(whole, indent=1) + "\n")
    if check.measured or check.torch or check.steps:
        put("table.md", table(check))
    if check.machine:
        put("machine.json", json.dumps(check.machine, indent=2) + "\n")
    if check.trace:
        put("trace.json", check.trace)
    if check.trace_pytorch:
        put("trace-pytorch.json", check.trace_pytorch)
    for elements in sorted({size_of(m) for m in check.measured}):
        name = count(elements).replace(" ", "").replace(".", "_")
        put(f"bandwidth-{name}.svg", picture(check.measured, elements))
    return written
