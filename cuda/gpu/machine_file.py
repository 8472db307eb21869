"""The file of a machine for `zeroproof plan --time --machine FILE`: figures that gpu-check
measured, and for the others those of the example that is closest to the GPU."""

import json
import re

from facts import NotRun
from process import ROOT

EXAMPLES = ROOT / "cuda" / "cost" / "machines"
LARGE = 200e6  # elements, from which on L2 and launches do not count
FLOOR = 0.5e-6  # seconds; a launch takes longer


def example_of(gpu):
    return "h100-cluster.json" if "H100" in gpu else "h200-node.json"


def median(values):
    return sorted(values)[len(values) // 2]


def of(facts, measured):
    """measured: rows of kernel_bench. Raises NotRun without a row of a large array."""
    rows = [m for m in measured if m["elements"] >= LARGE and m["clock"] == "events"]
    most = max((m["elements"] for m in rows), default=0)
    copies = [
        m["gb_s"]
        for m in rows
        if m["kernel"] in ("gather_copy", "scatter") and m["tensors"] == 1 and m["elements"] == most
    ]
    gaps = [m for m in rows if m["kernel"] == "copy in several launches"]
    if not copies or not gaps:
        raise NotRun("no kernel was measured on arrays that are large enough")
    name = example_of(facts.get("gpu", ""))
    machine = json.loads((EXAMPLES / name).read_text())
    by = f"measured by gpu-check on {facts.get('gpu', '')}, {facts.get('date', '')}"

    def put(figure, value, what):
        machine["figures"][figure].update(value=value, source=f"{by}: {what}")

    put("memory", 1e9 * median(copies), f"gather_copy and scatter of {most / 1e6:g} M elements")
    least = min(m["elements"] for m in gaps)
    gap = median(
        [
            1e-3 * (m["ms"] - m["base_ms"]) / (m["launches"] - 1)
            for m in gaps
            if m["elements"] == least
        ]
    )
    if gap >= FLOOR:  # else it is noise, and the example's figure stays
        put("kernel", gap, "a copy in several launches, less the same in one, by launch")
    mebibytes = re.match(r"(\d+) MiB", facts.get("memory", ""))
    if mebibytes:
        machine["capacity"] = int(mebibytes.group(1)) << 20
    measured_too = " and kernel" if gap >= FLOOR else ""
    machine["name"] = f"{facts.get('gpu', '')}: memory{measured_too} measured, the others of {name}"
    return machine
