"""Each law is seen to be broken: injected.py in the place of the command, with one defect each."""

import concurrent.futures
import importlib
import json
import os
import subprocess
import sys
import tempfile

import laws
import samples
from run import KINDS

HERE = os.path.dirname(os.path.abspath(__file__))
# defect: the law that must be reported. None: without a defect there is no finding.
DEFECTS = {
    "none": None,
    "signal": "exit code",
    "code": "exit code",
    "spin": "processor time",
    "hang": "hang",
    "memory": "memory",
    "sanitizer": "sanitizer",
    "traceback": "suite",
    "silent": "message",
    "escape": "control",
    "bidi": "control",
    "bytes": "control",
    "nan": "json",
    "file nan": "file json",
    "file twice": "file json",
    "file escape": "file text",
    "file bidi": "file text",
    "file bytes": "file text",
    "file xml": "file text",
    "file script": "file page",
    "file link": "file page",
    "elsewhere": "elsewhere",
    "overwrite": "elsewhere",
    "temporary": "temporary",
    "child": "child",
}
# Those that wait for a limit begin first, as two run at a time.
WAITING = ("hang", "child", "spin")
bad = 0


def result(name, good, why=""):
    global bad
    bad += not good
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)


def run(words, defect, limits):
    env = {**os.environ, **limits, "INJECTED": defect}
    command = [sys.executable, "-B", os.path.join(HERE, "run.py"), "--zeroproof"]
    command += [os.path.join(HERE, "injected.py"), *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def check(defect, law, folder):
    """The results of a defect, as arguments of result()."""
    # limits that the defects reach soon; traces take milliseconds and 50 MB, to fill 700 MB longer
    cpu = 1 if defect == "spin" else 3
    limits = {"ZP_HOSTILE_LIMITS": f"cpu={cpu},idle=4,memory=700,gone=2,tries=3"}
    out = os.path.join(folder, defect)
    words = ["--only", "traces", "--count", "12", "--jobs", "1", "--json", "--out", out]
    ran = run(words, defect, limits)
    name = f"{defect}: {law or 'no finding'}"
    try:
        found = json.loads(ran.stdout)["findings"]
    except ValueError:
        return [(name, False, f"exit code {ran.returncode}: {ran.stderr[-300:]!r}")]
    broken = {law for one in found for law in one["broken"]}
    if law is None:
        return [(name, ran.returncode == 0 and not found, f"{ran.returncode}, {broken}")]
    results = [(name, ran.returncode == 1 and law in broken, f"{ran.returncode}, {broken}")]
    saved = next((one["file"] for one in found if law in one["broken"]), None)
    if saved is None:
        return results
    again = run(["--replay", saved], defect, limits)
    good = again.returncode == 1 and f"broken: {law}" in again.stdout
    why = f"{again.returncode}: {again.stdout[-300:]}"
    results.append((f"{defect}: replayed", good, why))
    healed = run(["--replay", saved], "none", limits)
    why = f"{healed.returncode}: {healed.stdout[-300:]}"
    return [*results, (f"{defect}: not without the defect", healed.returncode == 0, why)]


def unchanged(folder):
    """Every sample is accepted as it is: a change of one that no longer parses would reach only the
    parser."""
    laws.become_reaper()
    program = os.environ["ZEROPROOF_TRUE"]
    made = samples.Samples(program, os.path.join(folder, "samples"))
    os.mkdir(made.folder)
    if made.simdev is None:
        print(
            f"not run: samples for the CUDA engine (no {program}{laws.SIMDEV}: make simdev-command)"
        )
    for kind in KINDS:
        tried, refused = 0, []
        for what, item, codes in importlib.import_module(kind).Kind(made).unchanged():
            out = laws.run(item, os.path.join(folder, "box"), program)
            tried += 1
            if out.code not in codes or out.broken:
                text = (out.wrong or out.said).decode("utf-8", "replace")[-300:]
                refused.append(f"{what}: exit code {out.word()}, {out.broken}: {text!r}")
        why = f"{len(refused)} of {tried}: " + "; ".join(refused[:5])
        result(f"{kind}: unchanged samples are accepted", tried > 0 and not refused, why)


def main():
    os.environ["ZEROPROOF_TRUE"] = os.path.abspath(os.environ["ZEROPROOF"])
    made = {}
    with tempfile.TemporaryDirectory(prefix="zeroproof-") as folder:
        unchanged(folder)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for defect in sorted(DEFECTS, key=lambda one: one not in WAITING):
                made[defect] = pool.submit(check, defect, DEFECTS[defect], folder)
            for defect in DEFECTS:
                for one in made[defect].result():
                    result(*one)
    result("each law has a defect", set(DEFECTS.values()) - {None} == set(laws.LAWS))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
