"""The items of `make quick` and `make test`: commands, inputs, and how results are counted."""

import functools
import glob
import os
import re
import subprocess
import time

import sandbox
from inputs import ROOT, Inputs, digest

# What a test gets of the caller's environment. SEEN is part of each key; the others are folders and
# settings that may not change a verdict.
SEEN = "PATH LANG LC_ALL TZ CC SAN CFLAGS LDFLAGS LD_LIBRARY_PATH ZP_NVCC ZP_FETCH".split()
PASSED_ON = (
    "HOME USER LOGNAME TMPDIR JOBS MAKE ZP_CACHE ZP_VENVS XDG_CACHE_HOME CUDA_HOME "
    "http_proxy https_proxy no_proxy"
).split()
PACKAGES = (
    "gcc g++ clang libc6-dev make pkg-config libjansson-dev libxxhash-dev libopenmpi-dev "
    "openmpi-bin gnuplot-nox libcriterion-dev libgmp-dev libmpfr-dev jq python3 "
    "python3-jinja2 python3-jsonschema git"
).split()
# Further packages of single tests.
FURTHER = {"conformance/test_page": ("chromium",)}
MAKE = ("sh", "-c", 'exec make --no-print-directory BUILD="$ZP_BUILD" CC="$CC" "$@"', "make")
# What a command gets besides that keeps verdicts of its own, or calls one that does.
STORE = ("ZP_VERDICTS", "ZP_REUSED", "ZP_DIFFERENCES")
SAN_BUILD = "build-san"
LIMIT = 1800  # seconds after which an item is ended


class Item:
    """One line of the report: a command, and what it depends on (None: it is never stored)."""

    def __init__(self, name, kind, argv, **more):
        self.name = name
        self.kind = kind  # program, script or command
        self.argv = argv
        self.source = more.get("source")
        self.declared = more.get("declared")
        self.alone = more.get("alone")
        self.environment = more.get("environment", {})
        self.packages = more.get("packages", ())
        self.limit = more.get("limit", LIMIT)
        self.slots = more.get("slots", 1)  # of how many that run at a time it takes the place
        self.report = more.get("report")  # of the conformance suite, in the build's folder
        self.build = more.get("build")  # the folder of its build, where that is another one

    def inputs(self, build):
        """The inputs of its verdict; None when it is never stored."""
        if self.declared is None:
            return None
        inputs = Inputs(self.kind, self.name)
        if self.source:
            inputs.file(self.source)
        inputs.text("command", " ".join(self.argv) + repr(sorted(self.environment.items())))
        sandbox.add_inputs(inputs, self.declared, build)
        inputs.packages(*PACKAGES, *self.packages).cpu().environment(SEEN)
        return inputs.add("CUDA", cuda_versions())


@functools.cache
def cuda_versions():
    """Which headers of CUDA and NCCL, and which nvcc, tests find: by content, wherever they are."""
    found = []
    for folder in re.findall(r"(?:-isystem|-I) *(\S+)", os.environ.get("ZP_CUDA_FLAGS", "")):
        for name in ("cuda_runtime_api.h", "nccl.h", "cublasLt.h"):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found.append(name + " " + digest(file.read()))
    run = _output(["sh", "cuda/kernels/nvcc.sh"], env={**os.environ, "ZP_FETCH": "0"})
    nvcc = run.stdout.strip() if run.returncode == 0 else ""
    if nvcc:
        found.append(_output([nvcc, "--version"]).stdout)
    return digest("\n".join(found).encode())


def _output(argv, **more):
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, **more)


def environment(item, build):
    """The environment in which an item runs, with the build's folder at `build`."""
    kept = {name: os.environ[name] for name in SEEN + PASSED_ON if name in os.environ}
    if item.kind == "command" and item.declared is None:
        kept.update({name: os.environ[name] for name in STORE if name in os.environ})
    kept.update(
        ZP_BUILD=build,
        ZEROPROOF=os.path.join(build, "zeroproof"),
        ZP_CUDA_FLAGS=os.environ.get("ZP_CUDA_FLAGS", ""),
        UBSAN_OPTIONS="print_stacktrace=1",
        PYTHONDONTWRITEBYTECODE="1",
    )
    kept.update(item.environment)
    return kept


def programs(build):
    """Criterion programs: tests/*/test_*.c. What is linked is their input."""
    for source in sorted(glob.glob("tests/**/test_*.c", root_dir=ROOT, recursive=True)):
        words, alone = sandbox.head(source)
        name = source.removeprefix("tests/").removesuffix(".c")
        binary = "build/tests/" + name
        argv = [binary, "--verbose", "-j1"]
        yield Item(name, "program", argv, declared=[binary] + (words or []), alone=alone)


def scripts():
    """Scripts: tests/*/test_*.sh."""
    for source in sorted(glob.glob("tests/**/test_*.sh", root_dir=ROOT, recursive=True)):
        words, alone = sandbox.head(source)
        name = source.removeprefix("tests/").removesuffix(".sh")
        more = {"source": source, "declared": words, "packages": FURTHER.get(name, ())}
        yield Item(name, "script", ["sh", source], alone=alone, **more)


def by_chance():
    """Random cases of a fresh seed: never stored. The log of a failure has a command for replay."""
    seconds = os.environ.get("FUZZ_SECONDS") or "20"
    fresh = os.environ.get("FUZZ_SEED") or str(int(time.time()))
    fuzz = ["build/zeroproof", "fuzz", "--seconds", seconds, "--seed", fresh]
    yield Item("fuzz", "command", fuzz)
    yield Item("fuzz-api", "command", fuzz + ["--engine", "api"])
    yield Item("fuzz-api-cuda", "command", fuzz + ["--engine", "api-cuda"])
    yield Item("fuzz-cuda", "command", fuzz + ["--engine", "cuda"])
    yield Item("fuzz-cuda-tsan", "command", fuzz + ["--engine", "cuda", "--tsan"])
    mutants = f"python3 -B conformance/judge/mutants.py --jobs 1 --share 10 --seed {fresh}"
    yield Item("conformance-mutants-fresh", "command", mutants.split())
    random_cases = ["sh", "conformance/fresh.sh", "build", seconds, fresh]
    yield Item("conformance-fresh", "command", random_cases)
    third = {"SHARE": "3", "SEED": fresh}
    reports = ["sh", "conformance/reports.sh", "build"]
    yield Item("conformance-reports", "command", reports, environment=third)


# of the subject that is this tree's own Python package
OWN_PACKAGE = "python ref/num/exact.h build/libzeroproof.so.* build/libzeroproof_engine.so".split()
JUDGE = (
    "build/zeroproof conformance/judge conformance/adapters conformance/schema "
    "conformance/recorder conformance/run.sh conformance/subject.sh conformance/subjects.txt "
    "conformance/locks conformance/mutants.json"
).split()


def subjects():
    """The committed selection of cases, on each usual subject of conformance/subjects.txt."""
    with open(os.path.join(ROOT, "conformance", "subjects.txt"), encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    for name, venv, adapter, known, which in rows:
        if which != "usual":
            continue
        words = JUDGE + [f"conformance/quick/{known}.json", f"conformance/support/{known}.json"]
        if os.path.exists(os.path.join(ROOT, "conformance", "known", known + ".json")):
            words += ["conformance/known/causes.json", f"conformance/known/{known}.json"]
        words += ["@venv:torch-2.13.0", "@venv:" + venv] if venv != "-" else []
        words += ["build/zeroproof-simdev"] if "cuda" in adapter else []
        words += OWN_PACKAGE if adapter == "engine_adapter.py" else []
        yield Item(
            "conformance/" + name,
            "command",
            ["sh", "conformance/run.sh", "build", name],
            declared=words,
            environment={"QUICK": "1", "FRESH": "0", "SEED": "1"},
            report=f"conformance-quick/{name}/report.json",
        )


# Under the sanitizers these would show nothing new: they compile, test what time limits do, or
# measure memory, of which the sanitizers take most.
UNSANITIZED = (
    "ref/cli/test_acceptance",
    "ref/cli/test_compilers",
    "ref/cli/test_install",
    "ref/cli/test_make",
    "ref/cli/test_launch",
    "ref/cli/test_memory",
    "ref/cli/test_memory_flat",
    "ref/cli/test_no_mpi",
)


def sanitized():
    """The tests of ref/ again, on the build with AddressSanitizer and UBSan; and hostile inputs."""
    for item in [*programs(SAN_BUILD), *scripts()]:
        chosen = item.name.startswith("ref/") and item.name not in UNSANITIZED
        if chosen and item.declared is not None and item.alone is None:
            yield Item(
                "san/" + item.name,
                item.kind,
                item.argv,
                source=item.source,
                declared=item.declared,
                environment={"SAN": "1"},
                build=SAN_BUILD,
            )
    words = "build/zeroproof build/zeroproof-simdev tests/hostile conformance/judge "
    words += "conformance/schema conformance/known conformance/support conformance/quick "
    words += "conformance/mutants.json spec/*.md"
    yield Item(
        "hostile",
        "command",
        # A fixed list of inputs; `make hostile` draws fresh and many more. With 12 of a kind, the
        # self-test reports each law that a third of the command lines break.
        ["python3", "-B", "tests/hostile/run.py", "--zeroproof", "build/zeroproof"]
        + ["--count", "12", "--seed", "1", "--jobs", "1", "--out", "findings"],
        declared=words.split(),
        build=SAN_BUILD,
    )


def proofs():
    """Proofs, by targets of make that store verdicts of their own, and checks besides WP."""
    jobs = int(os.environ.get("JOBS") or 1)
    if os.environ.get("ZP_VERDICTS") == "compare":
        # make evidence: without the prover cache, all mutants
        yield Item("prove", "command", [*MAKE, "prove-cold"], slots=jobs, limit=86400)
        yield Item("smoke", "command", [*MAKE, "smoke", "COLD=1"], slots=jobs, limit=86400)
        yield Item("mutants", "command", [*MAKE, "mutants"], slots=jobs, limit=86400)
    else:
        yield Item("prove", "command", [*MAKE, "prove"], slots=jobs)
        yield Item("mutants", "command", [*MAKE, "mutants", "N=10", "SEED=1"], slots=jobs)
    enumerated = "proofs/enumerate ref/plan ref/num spec/acsl"
    for name, kind, command, declared, packages in (
        (
            "gate-test",
            "script",
            "python3 -B tests/proofs/test_gate.py",
            "proofs tests/proofs tests/runner",
            "frama-c-base why3 z3 cvc4 cvc5",
        ),
        (
            "coq",
            "command",
            "sh proofs/coq/run.sh build",
            "proofs/coq ref/plan spec/acsl build/libzeroproof.a",
            "coq libzarith-ocaml-dev",
        ),
        ("spin", "command", "sh proofs/spin/run.sh build", "proofs/spin", "spin"),
        ("enumerate-half", "command", "sh proofs/enumerate/run.sh build half", enumerated, ""),
        ("enumerate-memory", "command", "sh proofs/enumerate/run.sh build memory", enumerated, ""),
        (
            "enumerate",
            "command",
            "sh proofs/enumerate/run.sh build rest",
            enumerated + " build/libzeroproof.a",
            "",
        ),
    ):
        yield Item(
            name, kind, command.split(), declared=declared.split(), packages=packages.split()
        )


def quick(build):
    """The items of `make quick`."""
    return list(programs(build)) + list(scripts()) + list(by_chance())


def everything(build):
    """The items of `make test`."""
    found = quick(build) + list(sanitized()) + list(subjects()) + list(proofs())
    return found + [Item("lint-symbols", "command", [*MAKE, "lint-symbols-now"])]
