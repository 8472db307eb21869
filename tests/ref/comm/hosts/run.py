"""Runs cases of jobs on three hosts and writes their table.

run.py --wrong: cases whose expectations are wrong must be reported; or
run.py [--cases 30] [--seed 1] [--jobs 4] [--table FILE] [--only TEXT]: prints "ok NAME" or
"not ok NAME: WHY" for each case. Exits with 1 if one is not ok, with 2 and the reason if this
machine has no namespaces."""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys

import plans
import world

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.abspath(os.path.join(HERE, *[os.pardir] * 4))


def run(case, build):
    """The result of a case, in namespaces of its own."""
    argv = [sys.executable, "-B", os.path.join(HERE, "case.py"), TREE, build, json.dumps(case)]
    process = world.enter(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=case["limit_s"] + 900)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = "", "it did not end"
    if process.returncode == 0:
        return json.loads(out)
    why = " ".join(err.split())[-1000:]
    return {"name": case["name"], "fault": case["label"], "end": "none", "why": [why]}


def table(results):
    """Numbers by fault, as Markdown."""
    lines = [
        "| fault | cases | right result | errors reported | neither | most seconds until the end |",
        "|---|---|---|---|---|---|",
    ]
    for label in sorted({one["fault"] for one in results}, key=plans.MAKERS_ORDER.get):
        of = [one for one in results if one["fault"] == label]
        good = [one for one in of if not one["why"]]
        right = sum(one["end"] == "result" for one in good)
        most = max((one["seconds"] for one in good), default=0)
        row = (label, len(of), right, len(good) - right, len(of) - len(good), f"{most:.0f}")
        lines.append("| " + " | ".join(str(word) for word in row) + " |")
    return "\n".join(lines) + "\n"


def report(one, errors):
    """One line for a case; what the ranks wrote, if it is not ok."""
    if not one["why"]:
        print(f"ok {one['name']}: {one['end']}, {one['seconds']} s", flush=True)
        return
    print(
        f"not ok {one['name']}: {'; '.join(one['why'])}; last line: {one.get('last')}", flush=True
    )
    print(one.get("err", ""), file=errors, flush=True)


def run_wrong(build, jobs):
    """Runs cases whose expectation is wrong; 1 if one passes, or fails for another reason."""
    cases = plans.wrong()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda pair: run(pair[0], build), cases))
    passed = [
        (one["name"], one["why"])
        for (_, expected), one in zip(cases, results, strict=True)
        if not any(expected in why for why in one["why"])
    ]
    for name, why in passed:
        print(f"'{name}' is not reported: {why}", file=sys.stderr)
    return int(bool(passed))


def main():
    """The exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--table")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    build = os.path.abspath(os.environ.get("ZP_BUILD", "build"))
    why = world.why_impossible()
    if why:
        print(f"not run: {why}")
        return 2
    if options.wrong:
        return run_wrong(build, options.jobs)
    cases = [one for one in plans.make(options.cases, options.seed) if options.only in one["name"]]
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in concurrent.futures.as_completed([pool.submit(run, c, build) for c in cases]):
            results.append(future.result())
            report(results[-1], sys.stderr)
            if options.table:  # after each case: a long run may be cut short
                with open(options.table, "w", encoding="utf-8") as file:
                    file.write(table(results))
    print(table(results), end="")
    return int(not results or any(one["why"] for one in results))


if __name__ == "__main__":
    sys.exit(main())
