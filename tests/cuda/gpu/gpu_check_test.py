"""Tests of gpu-check: a failing part does not affect the others."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "cuda" / "gpu"))

import check  # noqa: E402
from laws import FAILED, law  # noqa: E402


def parts_go_on():
    c = check.Check("sim", pathlib.Path("build"), 1200)

    def python(code, limit):
        return c.command([sys.executable, "-c", code], limit)

    begin = time.monotonic()
    c.part("dies", 100, lambda limit: python("import sys; print('{}'); sys.exit(5)", limit))
    child_hangs = (
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import time; time.sleep(900)'])"
    )
    c.part("hangs", 5, lambda limit: python(child_hangs, limit))
    prints_position = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: print('at 7', file=sys.stderr, flush=True))\n"
        "time.sleep(900)\ntime.sleep(900)"
    )
    c.part("prints its position", 10, lambda limit: python(prints_position, limit))
    c.part("is wrong itself", 100, lambda limit: [][1])
    c.part("says nothing", 100, lambda limit: python("pass", limit))
    c.part("is not there", 100, lambda limit: c.command(["/nonexistent/program"], limit))
    c.part("works", 100, lambda limit: python("print('{\"a\": 1}')", limit))
    c.end = time.monotonic() + 1
    c.part("has no time", 100, lambda limit: python("print('{}')", limit))
    results = [p["result"] for p in c.parts]
    law(
        "a_failing_part_does_not_stop_others",
        results == ["failed"] * 6 + ["passed", "not run"],
        results,
    )
    law(
        "a_part_is_stopped_at_its_limit",
        "limit" in c.parts[1]["why"] and time.monotonic() - begin < 900,
        c.parts[1],
    )
    law("a_stopped_part_may_print_its_position", "at 7" in c.parts[2].get("tail", ""), c.parts[2])
    law("not_run_has_its_reason", c.parts[7].get("why") == "no time is left", c.parts[7])


def touch(*files):
    for f in files:
        f.parent.mkdir(parents=True, exist_ok=True)
        f.touch()


def cublaslt_found():
    def found(*args):
        try:
            return check.cublaslt_of(*args)
        except check.NotRun as why:
            return str(why)

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        toolkit, wheels = folder / "toolkit", folder / "nvidia"
        law(
            "without_cublaslt_the_searched_folders_are_named",
            str(toolkit) in found(toolkit, [wheels])
            and str(wheels / "cu13") in found(toolkit, [wheels]),
            found(toolkit, [wheels]),
        )
        touch(toolkit / "include/cublasLt.h")
        law(
            "a_header_alone_is_not_enough",
            "no libcublasLt.so" in found(toolkit, [wheels]),
            found(toolkit, [wheels]),
        )
        touch(wheels / "cu13/include/cublasLt.h", wheels / "cu13/lib/libcublasLt.so.13")
        law(
            "cublaslt_is_found_in_torchs_wheels",
            found(toolkit, [wheels]) == (wheels / "cu13/include", wheels / "cu13/lib"),
            found(toolkit, [wheels]),
        )
        touch(toolkit / "lib64/libcublasLt.so")
        law(
            "the_toolkits_cublaslt_comes_first",
            found(toolkit, [wheels]) == (toolkit / "include", toolkit / "lib64"),
            found(toolkit, [wheels]),
        )


def gpt_on_a_device():
    """As on a machine with a GPU, with scripts in place of the programs."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        c = check.Check("gpu", folder, 60)
        c.toolkit = lambda: folder
        c.part("bounds, nothing there", 10, c.bounds)
        touch(folder / "include/cublasLt.h", folder / "lib64/libcublasLt.so.13")
        asked = []

        def made(targets, limit, result="failed"):
            asked.append(targets)
            return {"result": result, "output": []}

        c.made = made
        c.part("bounds, not built", 10, c.bounds)
        c.made = lambda targets, limit: made(targets, limit, "passed")
        c.part("bounds, no program", 10, c.bounds)
        bounds = folder / "tests/drivers/cuda/gpt_bounds_device_lt"
        train = folder / "zeroproof-cuda"
        touch(bounds, train)
        for f in (bounds, train):
            f.chmod(0o755)

        def play(name, program, text, status, part):
            program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {status}\n")
            c.part(name, 10, part)

        backend = "cuBLASLt 13.1.0, fp32 sums in an order of its own; ref's own for"
        said = f"# bf16: {backend} 1 of 9 shapes\n# fp32: {backend} 2 of 9 shapes\nok a\nok b"
        play("bounds, outside", bounds, said + "\nnot ok c: 7 not in [1, 2]", 1, c.bounds)
        play("bounds, silent", bounds, "", 0, c.bounds)
        play("bounds, within", bounds, said, 0, c.bounds)
        equal = "the CUDA engine equal to ref bit for bit: masters\nhash of the run (all): 12ab"
        judged = (
            "products: cuBLASLt 13.1.0\n\nproducts: cuBLASLt 13.1.0: 7 elements judged\n"
            "from ref's own products: losses at most 1e-07 apart\n"
        )
        play("trained, other bits", train, "the CUDA engine: STEP-7: masters", 1, c.trained("ref"))
        play("trained, silent", train, "hash of the run (all): 12ab", 0, c.trained("ref"))
        play("trained", train, equal, 0, c.trained("ref", "--dp", "2"))
        play("trained, cuBLASLt", train, judged + equal, 0, c.trained("cublaslt"))
        outside = judged + "the CUDA engine: ERR-7: 1 elements"
        play("trained, ERR-7", train, outside, 1, c.trained("cublaslt"))
        for f in (folder / "lib64/libcublasLt.so.13", folder / "include/cublasLt.h"):
            f.unlink()
        play("trained, no cuBLASLt", train, judged + equal, 0, c.trained("cublaslt"))
        gpts_laws(folder, backend, asked, c.parts)


def gpts_laws(folder, backend, asked, parts):
    results = [p["result"] for p in parts]
    expected = ["not run", *["failed"] * 4, "passed", "failed", "failed"]
    expected += ["passed", "passed", "failed", "not run"]
    law(
        "gpts_parts_fail_alone",
        results == expected,
        parts,
    )
    law(
        "without_the_library_gpts_bounds_are_not_run",
        "cublasLt.h" in parts[0]["why"],
        parts[0],
    )
    law(
        "gpts_bounds_are_built_with_the_library_that_was_found",
        asked[0]
        == [f"CUBLAS_INC={folder}/include", f"CUBLAS_LIB={folder}/lib64", "gpt-bounds-device"],
        asked,
    )
    law(
        "results_outside_the_bounds_are_reported",
        parts[3]["output"][0]["first"] == ["not ok c: 7 not in [1, 2]"],
        parts[3],
    )
    law(
        "the_gemm_backend_is_reported",
        parts[5]["output"][0]["products"] == f"{backend} 2 of 9 shapes",
        parts[5],
    )
    law(
        "the_bits_of_the_end_are_reported",
        parts[8]["output"] == [{"equal": True, "bits": "12ab"}],
        parts[8],
    )
    law(
        "results_of_judged_products_are_reported",
        parts[9]["output"]
        == [
            {
                "equal": True,
                "products": "cuBLASLt 13.1.0: 7 elements judged",
                "apart": "losses at most 1e-07 apart",
                "bits": "12ab",
            }
        ],
        parts[9],
    )


SANITIZER = """#!/bin/sh
while [ "$#" -gt 0 ]; do # options, up to the program
  case $1 in
  --tool | --error-exitcode) shift 2 ;;
  --report-api-errors) shift 2 ;;
  *) break ;;
  esac
done
echo "========= COMPUTE-SANITIZER"
CHECKED=1 "$@"
status=$?
%s
exit $status
"""
CLEAN = 'echo "========= ERROR SUMMARY: 0 errors"'
INVALID = """echo '========= Invalid __global__ read of size 4 bytes'
echo '=========     at zp_squares_entry'
seq -f 'line %03g' 1 400
echo '========= ERROR SUMMARY: 1 error'
status=9"""
REFUSED = """echo '========= Error: Device not supported. Please refer to the documentation'
seq -f 'line %03g' 1 400
status=1"""
LATE = "exec sleep 30"


def sanitized():
    """With scripts in place of the programs and compute-sanitizer."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tools = folder / "tools"
        tools.mkdir()
        c = check.Check("gpu", folder, 60)
        path, os.environ["PATH"] = os.environ["PATH"], f"{tools}{os.pathsep}{os.environ['PATH']}"

        def script(file, text):
            touch(file)
            file.write_text(text)
            file.chmod(0o755)

        def play(name, of, tool="memcheck", how=CLEAN, limit=10):
            script(tools / "compute-sanitizer", SANITIZER % how)
            c.part(name, limit, c.sanitizer(tool, of))
            return c.parts[-1]

        not_built = play("bounds, not built", c.bounds_checked)
        print_line = "#!/bin/sh\n[ $CHECKED ] && echo '%s'\n"
        script(folder / "gpu/kernel_check", print_line % '{"kernels": 15, "equal": true}')
        script(folder / "gpu/random_topologies", print_line % '{"cases": 1, "limit": "\'"$3"\'"}')
        script(
            folder / "tests/drivers/cuda/gpt_bounds_device_lt",
            "#!/bin/sh\n[ $1 = small ] && printf '# a: b, in its order\\nok a\\nok b\\n'\n",
        )
        kernels = play("kernels", c.kernels_checked)
        raced = play("kernels, raced", c.kernels_checked, "racecheck")
        bounds = play("bounds", c.bounds_checked)
        trials = play("trials", c.topologies_checked)
        invalid = play("invalid", c.topologies_checked, how=INVALID)
        refused = play("refused", c.bounds_checked, how=REFUSED)
        late = play("late", c.topologies_checked, how=LATE, limit=3)
        bad = play("late and wrong", c.topologies_checked, how=INVALID + "\n" + LATE, limit=3)
        script(folder / "gpu/random_topologies", "#!/bin/sh\nexit 1\n")
        dead = play("dead", c.topologies_checked)
        os.environ["PATH"] = path
    law("a_program_that_fails_when_sanitized_fails", dead["result"] == "failed", dead)
    runs_of_sanitizers(not_built, kernels, raced, bounds, trials)
    findings_of_sanitizers(invalid, refused, late, bad)


def runs_of_sanitizers(not_built, kernels, raced, bounds, trials):
    law(
        "a_program_that_was_not_built_is_not_sanitized",
        not_built["result"] == "not run"
        and "gpt_bounds_device_lt was not built" in not_built["why"],
        not_built,
    )
    law(
        "kernels_gpt_and_topologies_are_sanitized",
        [p["result"] for p in (kernels, raced, bounds, trials)] == ["passed"] * 4,
        [kernels, raced, bounds, trials],
    )
    law(
        "errors_of_cuda_calls_are_left_to_the_program",
        "--report-api-errors no" in trials["command"]
        and "--report-api-errors" not in raced["command"],
        [trials, raced],
    )
    law(
        "sanitized_topologies_end_before_their_limit", trials["output"][0]["limit"] == "5.0", trials
    )


def findings_of_sanitizers(invalid, refused, late, bad):
    law(
        "a_finding_is_reported_from_its_beginning",
        invalid["result"] == "failed"
        and invalid["found"].startswith("========= Invalid __global__ read"),
        invalid,
    )
    law(
        "a_refused_device_is_not_run",
        refused["result"] == "not run" and "Device not supported" in refused["why"],
        refused,
    )
    law(
        "slow_under_a_sanitizer_is_not_run",
        late["result"] == "not run" and "no end in 3 s" in late["why"],
        late,
    )
    law(
        "a_finding_counts_even_if_the_program_did_not_end",
        bad["result"] == "failed" and "found" in bad,
        bad,
    )


def order_of_parts():
    """Programs are checked before they are measured; ranks that may deadlock come after both."""
    c = check.Check("gpu", pathlib.Path("build"), 530)
    names = []
    c.part = lambda name, *_: names.append(name)
    c.all()
    order = ["build", "kernels", "native over NCCL, one rank", "bandwidth, 250e6"]
    order += ["NCCL, two ranks", "random topologies", "memcheck, gpt"]
    law("parts_are_in_order_of_value", sorted(order, key=names.index) == order, names)
    law("a_part_runs_once", len(set(names)) == len(names), names)


def engine_over_simdev():
    """With scripts in place of the drivers."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        c = check.Check("sim", folder, 60)

        def play(program, text, words):
            script = folder / "tests/drivers/cuda" / program
            touch(script)
            script.write_text(f"#!/bin/sh\n{text}\n")
            script.chmod(0o755)
            c.part(words, 10, c.engine(2, True, words))
            return c.parts[-1]

        wrong = play("api_example", "echo step 0 loss 0x1p+0 norm 0x1p+0", "example")
        good = play("api_driver", 'exec [ "$*" = "2 1 pp=2" ]', "engine_driver pp=2")
        bad = play("api_driver", "exit 1", "engine_driver pp=2")
        c.part("NCCL, two ranks", 10, c.nccl(2, True))
    law("the_example_is_compared_on_simdev", wrong["result"] == "failed", wrong)
    law(
        "the_driver_compares_itself_on_simdev",
        [good["result"], bad["result"]] == ["passed", "failed"],
        [good, bad],
    )
    law("nccl_alone_is_for_devices", c.parts[-1]["result"] == "not run", c.parts[-1])


def locked_up():
    """With a program that never ends in place of NCCL's ranks."""
    with tempfile.TemporaryDirectory() as folder:
        library, example = pathlib.Path(folder, "libnccl.so"), pathlib.Path(folder, "example")
        subprocess.run(
            [os.environ.get("CC", "gcc"), "-shared", "-x", "c", "-", "-o", library],
            input="int ncclGetVersion(int *v) { return *v = 23007, 0; }",
            text=True,
            check=True,
        )
        example.write_text("#!/bin/sh\necho 'NCCL WARN: waits'\nexec sleep 60\n")
        example.chmod(0o755)
        c = check.Check("gpu", pathlib.Path(folder), 60)
        command = c.command
        c.command = lambda argv, limit, env: command(
            argv + ["--library", str(library), "--program", str(example)], limit, env
        )
        c.part("NCCL, in no time", 5, c.nccl(1, True))
        begins, check.BEGINS = check.BEGINS, 5
        for ranks in 1, 2:
            c.part(f"NCCL, {ranks}", 5, c.nccl(ranks, True))
        check.BEGINS = begins
        late, one, two = c.parts
        driver = example.with_name("engine_driver")
        driver.write_text("#!/bin/sh\nexec [ $1 = good ]\n")
        driver.chmod(0o755)
        c.command = lambda argv, limit, env: command(
            [*argv[:-3], "--library", str(library), "--program", str(driver), argv[-1]], limit, env
        )
        lacks = [{"lacks": ["broadcast"]}]
        c.parts.append({"part": "NCCL, two ranks", "result": "passed", "output": lacks})
        for word in "good", "bad":
            c.part(f"engine, {word}", 5, c.engine(2, True, f"engine_driver {word}"))
        judged = [p["result"] for p in c.parts[4:]]
        for needs in ["all-gather"], ["broadcast", "all-gather"]:
            c.part("engine, needs", 5, c.engine(2, True, "engine_driver good", needs))
        able, unable = c.parts[-2:]
    law(
        "a_deadlock_of_two_ranks_is_not_a_failure_of_one_it_is",
        [one["result"], two["result"]] == ["failed", "locked up"],
        c.parts,
    )
    law(
        "what_a_library_lacks_is_not_run",
        able["result"] == "passed"
        and (unable["result"], unable["why"])
        == ("not run", "this NCCL was built without broadcast"),
        [able, unable],
    )
    law("another_program_than_the_example_judges_itself", judged == ["passed", "failed"], c.parts)
    law("a_part_without_time_to_begin_is_not_run", late["result"] == "not run", late)
    law("the_output_of_nccl_is_reported", "NCCL WARN: waits" in str(one["output"]), one)


def measured_steps():
    """With outputs in place of the program's."""
    c = check.Check("gpu", pathlib.Path("build"), 900)
    outputs, words = [], []

    def engine(*args):
        words.append(args[2])
        return lambda _: {"result": outputs[0], "output": outputs[1:]}

    c.engine = engine
    step, late = {"step": "124m", "clock": "host"}, {"locked_up": "no end within 9 s"}
    for outputs[:] in (
        ["passed", step, {"left_out": 1}, {"equal": True}],
        ["failed", step, late],
        ["failed", late],
        ["failed", step, {"equal": False}],
        ["passed", {**step, "clock": "simulated"}, {"equal": True}],
    ):
        c.part("steps", 90, c.measured_steps(["a", "b"]))
    c.part("steps, too late", check.LAST_CASE, c.measured_steps(["a", "b"]))
    found = [p["result"] for p in c.parts]
    law("left_out_steps_are_counted", "1 of 2 cases" in c.parts[0]["why"], c.parts[0])
    law("no_case_begins_late", words[0] == f"step_bench within={90 - check.LAST_CASE} a b", words)
    law("a_hang_is_a_failure", found[1:4] == ["failed"] * 3, c.parts)
    law("without_time_for_a_case_steps_are_not_run", found[5] == "not run", c.parts[5])
    law("steps_of_simdev_are_not_measurements", len(c.steps) == 3, c.steps)


def simulated():
    c = check.Check("sim", pathlib.Path("build"), 60)
    c.program = lambda name: "/bin/echo"
    line = json.dumps({"kernel": "update", "clock": "simulated"})
    c.command = lambda argv, limit: {"result": "passed", "output": check.lines_of(line)}
    c.bench("25e6", 2)(10)
    law("times_of_simdev_are_not_measurements", c.measured == [], c.measured)


parts_go_on()
measured_steps()
cublaslt_found()
gpt_on_a_device()
sanitized()
order_of_parts()
engine_over_simdev()
locked_up()
simulated()
sys.exit(1 if FAILED else 0)
