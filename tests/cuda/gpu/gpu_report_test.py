"""Tests of the files that gpu-check writes."""

import json
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "cuda" / "gpu"))

import check  # noqa: E402
import report  # noqa: E402
import torch_trace  # noqa: E402
from laws import FAILED, law  # noqa: E402


def results(measured=(), torch=(), steps=(), machine=None, trace=None):
    """A run of gpu-check for report.write."""
    c = check.Check("gpu", pathlib.Path("build"), 60)
    c.facts = {"gpu": "x", "device": "gpu"}
    c.measured, c.torch, c.steps = list(measured), list(torch), list(steps)
    c.machine, c.trace, c.trace_pytorch = machine, trace, trace
    return c


def bar(kernel, dtype, share, elements=250000000, data="gradients"):
    return {
        "kernel": kernel,
        "dtype": dtype,
        "data": data,
        "elements": elements,
        "tensors": 1,
        "ms": 2.0,
        "gb_s": 1000.0,
        "base": "read",
        "base_ms": 2.0 * share,
        "share": share,
        "clock": "events",
    }


STEP = {
    "step": "124m",
    "ranks": 1,
    "stage": 2,
    "micro_batches": 1,
    "bucket": 40000000,
    "offload": 0,
    "option": "",
    "ms": 2.0,
    "host_us": 900.0,
    "launches": 90,
    "bytes": 6e9,
    "share": 0.9,
    "planned": int(2e9),
    "allocated": int(3e9),
    "peak": int(4e9),
    "clock": "host",
}


def steps():
    slow = {**STEP, "stage": 1, "share": 0.8}
    offloaded = {**STEP, "offload": 1, "bytes": 0, "share": 0, "ms": 5.5}
    partial = {**STEP, "option": "partial gathers", "ms": 7.0}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        all_steps = [STEP, slow, offloaded, partial]
        names = [p.name for p in report.write(folder, results(steps=all_steps))]
        rows = [x for x in (folder / "table.md").read_text().splitlines() if "| 124m" in x]
    law("a_table_of_steps_is_written", names == ["results.json", "table.md"], names)
    law("steps_have_a_target", "85% met" in rows[0] and "85% missed" in rows[1], rows)
    law("exposed_offload_is_the_difference", "| 5.50 |  | 3.50 |" in rows[2], rows)
    law("without_offload_nothing_is_exposed", "| 90.0%, 85% met |  |" in rows[0], rows)
    law("an_option_is_named", "| partial gathers | 7.00 |" in rows[3], rows)
    law("memory_of_nccl_and_cuda_is_the_rest", rows[0].endswith("| 4.00 GB | 1.00 GB |"), rows)

    launch = {"launch": "blocking", "host_us": 7.5, "clock": "host"}
    part = {"part": "launches", "result": "passed", "seconds": 1, "limit_s": 30}
    row = report.parts_table([{**part, "output": [launch, {"equal": True}]}])[-1]
    law("the_cost_of_a_launch_is_reported", "blocking: 7.5 µs a call" in row, row)


def traced():
    """Ten steps of 100 µs, the decision 60 µs after a step's begin."""
    events = [{"cat": "cpu_op", "name": "zp_decide", "ts": 0.0, "dur": 1.0}]
    for step in range(10):
        for at, cat, name in (
            (0, "kernel", "zp_gather_ordered_entry"),
            (60, "kernel", "zp_decide_entry"),
            (70, "gpu_memcpy", "Memcpy DtoD"),
            (80, "kernel", "zp_update_entry"),
        ):
            work = {"cat": cat, "name": name, "ts": 1e6 + 100.0 * step + at, "dur": 5.0}
            events.append({**work, "args": {"stream": 7}})
    events.reverse()
    step = torch_trace.one_step(events)
    names = ["zp_decide_entry", "Memcpy DtoD", "zp_update_entry", "zp_gather_ordered_entry"]
    law("a_trace_has_the_work_of_one_step", [e["name"] for e in step] == names, step)
    law("its_times_begin_at_a_decision", [e["ts"] for e in step] == [0, 10, 20, 40], step)
    law("streams_are_its_rows", {e["tid"] for e in step} == {7}, step)
    few = torch_trace.one_step([e for e in events if e["ts"] < 1e6 + 650])
    law("without_steps_there_is_no_trace", few == [], few)


def nothing_measured():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        names = [p.name for p in report.write(folder, results(machine={"name": "x"}, trace="{}"))]
        law(
            "the_machine_and_the_trace_are_written",
            names == ["results.json", "machine.json", "trace.json", "trace-pytorch.json"],
            names,
        )
        (folder / "table.md").write_text("old")
        (folder / "bandwidth-25M.svg").write_text("old")
        report.write(folder, results())
        law(
            "a_table_without_a_measurement_is_not_written",
            [p.name for p in folder.iterdir()] == ["results.json"],
            list(folder.iterdir()),
        )


def measured():
    torch = [{"torch": "norm", "elements": 250000000, "tensors": 1, "dtype": "fp32", "ms": 3.0}]
    rows = [
        bar("squares", "fp32", 0.95),
        bar("squares", "bf16", 0.70),
        bar("squares", "fp32", 0.50, 25000000),
        bar("squares", "fp32", 0.4, data="all exponents"),
        bar("norm", "fp32", 0.9),
        bar("norm", "bf16", 0.9),
    ]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        names = [p.name for p in report.write(folder, results(rows, torch))]
        law(
            "there_is_a_picture_for_each_size",
            names == ["results.json", "table.md", "bandwidth-25M.svg", "bandwidth-250M.svg"],
            names,
        )
        table = [x for x in (folder / "table.md").read_text().splitlines() if "squares" in x]
        law("targets_are_judged", "90% met" in table[0] and "80% missed" in table[1], table)
        law(
            "sizes_that_fit_the_cache_are_not_judged",
            "met" not in table[2] and "missed" not in table[2],
            table[2],
        )
        law("outliers_have_no_target", "met" not in table[3] and "missed" not in table[3], table[3])
        law("squares_are_not_compared_with_torchs_norm", not any("×" in x for x in table), table)
        norms = [x for x in (folder / "table.md").read_text().splitlines() if "| norm" in x]
        law(
            "torchs_time_is_compared_for_the_same_job",
            "| 1.50 × met |" in norms[0] and "×" not in norms[1],
            norms,
        )
        whole = json.loads((folder / "results.json").read_text())
        law("json_is_whole", len(whole["bandwidth"]) == 6)
    torch = [
        {**torch[0], "torch": name, "dtype": "bf16", "ms": ms}
        for name, ms in (("update", 3.0), ("update, scale in the step", 1.0))
    ]
    law(
        "torchs_fastest_way_counts",
        "| 0.50 × missed |" in report.bandwidth_table([bar("update", "bf16", 0.95)], torch)[2],
    )
    law(
        "the_target_of_the_update_applies_to_fp32_too",
        [report.target_of(bar("update", t, 0.9)) for t in ("bf16", "fp32")] == [0.92, 0.92],
    )
    rows.append({**bar("settle", "limbs", 0.8, 50000000), "size": 250000000})
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        names = [p.name for p in report.write(folder, results(rows, torch))]
        law(
            "sums_in_limbs_are_listed_with_their_run",
            "bandwidth-50M.svg" not in names
            and "settle limbs (50 M)" in (folder / "bandwidth-250M.svg").read_text(),
            names,
        )


steps()
traced()
nothing_measured()
measured()
sys.exit(1 if FAILED else 0)
