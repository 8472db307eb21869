"""Laws of gpu-check: what it writes, what a failing part does to the others."""

import json
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cuda" / "gpu"))

import check  # noqa: E402
import report  # noqa: E402

FAILED = []


def law(name, good, why=""):
    print(f"{'ok' if good else 'not ok'} {name}{'' if good else ': ' + str(why)}")
    if not good:
        FAILED.append(name)


def bar(kernel, dtype, share, elements=250000000, data="gradients"):
    return {"kernel": kernel, "dtype": dtype, "data": data, "elements": elements, "tensors": 1,
            "ms": 2.0, "gb_s": 1000.0, "base": "read", "base_ms": 2.0 * share, "share": share,
            "clock": "events"}


def parts_go_on():
    c = check.Check("sim", pathlib.Path("build"), 60)
    python = lambda code, limit: c.command([sys.executable, "-c", code], limit)
    begin = time.monotonic()
    c.part("dies", 10, lambda limit: python("import sys; print('{}'); sys.exit(5)", limit))
    c.part("hangs", 3, lambda limit: python(
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])",
        limit))
    c.part("says nothing", 10, lambda limit: python("pass", limit))
    c.part("is not there", 10, lambda limit: c.command(["/nonexistent/program"], limit))
    c.part("works", 10, lambda limit: python("print('{\"a\": 1}')", limit))
    c.end = time.monotonic() + 1
    c.part("has no time", 10, lambda limit: python("print('{}')", limit))
    results = [p["result"] for p in c.parts]
    law("a_part_that_fails_stops_no_other",
        results == ["failed"] * 4 + ["passed", "not run"], results)
    law("a_part_is_stopped_at_its_limit", "limit" in c.parts[1]["why"]
        and time.monotonic() - begin < 30, c.parts[1])
    law("not_run_has_its_reason", c.parts[5].get("why") == "no time is left", c.parts[5])


def nothing_measured():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "table.md").write_text("old")
        (folder / "bandwidth-25M.svg").write_text("old")
        report.write(folder, {"device": "gpu"}, [], [], [])
        law("a_table_without_a_measurement_is_not_written",
            [p.name for p in folder.iterdir()] == ["results.json"], list(folder.iterdir()))


def measured():
    torch = [{"torch": "norm", "elements": 250000000, "tensors": 1, "dtype": "fp32", "ms": 3.0}]
    rows = [bar("squares", "fp32", 0.95), bar("squares", "bf16", 0.70),
            bar("squares", "fp32", 0.50, 25000000),
            bar("squares", "fp32", 0.4, data="all exponents")]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        names = [p.name for p in report.write(folder, {"gpu": "x"}, [], rows, torch)]
        law("a_picture_for_each_size", names == ["results.json", "table.md", "bandwidth-25M.svg",
                                                 "bandwidth-250M.svg"], names)
        table = [x for x in (folder / "table.md").read_text().splitlines() if "squares" in x]
        law("targets_are_judged", "90% met" in table[0] and "80% missed" in table[1], table)
        law("what_fits_the_cache_is_reported_only",
            "met" not in table[2] and "missed" not in table[2], table[2])
        law("outliers_have_no_target", "met" not in table[3] and "missed" not in table[3], table[3])
        law("torch_s_time_stands_beside_the_same_job", "1.50 ×" in table[0]
            and "×" not in table[1], table)
        whole = json.loads((folder / "results.json").read_text())
        law("json_is_whole", len(whole["bandwidth"]) == 4)
    rows.append({**bar("settle", "limbs", 0.8, 50000000), "size": 250000000})
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        names = [p.name for p in report.write(folder, {"gpu": "x"}, [], rows, torch)]
        law("sums_in_limbs_stand_with_the_run_that_they_were_measured_in",
            "bandwidth-50M.svg" not in names
            and "settle limbs (50 M)" in (folder / "bandwidth-250M.svg").read_text(), names)


def simulated():
    c = check.Check("sim", pathlib.Path("build"), 60)
    c.program = lambda name: "/bin/echo"
    line = json.dumps({"kernel": "update", "clock": "simulated"})
    c.command = lambda argv, limit: {"result": "passed", "output": check.lines_of(line)}
    c.bench("25e6", 2)(10)
    law("what_simdev_took_is_no_measurement", c.measured == [], c.measured)


parts_go_on()
nothing_measured()
measured()
simulated()
sys.exit(1 if FAILED else 0)
