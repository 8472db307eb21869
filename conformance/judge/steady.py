"""Shows that verdicts do not depend on seed and load: several seeds, each on this machine as it is
and beside busy processes, must give the same causes and exit code 0.

… | python3 conformance/judge/steady.py

Standard input has a line "NAME<tab>ADAPTER COMMAND" for each subject (COMMANDS=1 sh
conformance/run.sh). Each run has the covering array of its seed and the minimal cases of all known
failures. The causes of the known failures whose minimal cases occur, and the new causes, are
compared over all runs, except those that only chance shows, which are printed. Known failures have
the same minimal cases in each run, so what seeds and load can change is whether these occur, and
what the arrays find besides. Exit codes: 0 the causes are the same and each run exits with 0; 1 not
so; 2 invalid input; 3 the environment failed. ZEROPROOF names the command."""

import contextlib
import subprocess
import sys

import console
import limits
import supervise
from console import within
from hunt import add_jobs, checked, commands
from results import line, table
from tools import Refused


@contextlib.contextmanager
def busy(number):
    """Processes that compute until the end of the block."""
    loop = [sys.executable, "-c", "while True: pass"]
    running = [supervise.Process(loop, stdin=subprocess.DEVNULL) for _ in range(number)]
    try:
        yield
    finally:
        for process in running:
            process.close()


def causes_of(report):
    """(names of the causes of a report, of those that only chance shows, which are not compared). A
    new one is named by clause, kind and conditions."""
    steady, rare = set(), set()
    for c in report["causes"]:
        known = c["known"]
        name = f"{c['clause']} {c['kind']} ({', '.join(c['needs'])})"
        chance = c["chance"] or (known and known.get("chance"))
        (rare if chance else steady).add(known["cause"] if known else f"new: {name}")
    return steady, rare - steady


def runs_of(name, command, options):
    """Rows (seed, busy processes, exit code, report, errors) of a subject; reports each run when it
    has ended."""
    for load in (0, options.busy):
        with busy(load):
            for seed in options.seeds:
                more = ["--seconds", "0", "--seed", str(seed), "--jobs", str(options.jobs)]
                code, report, errors = checked(command, *more)
                took = f" after {report['seconds']:.0f} s" if report else ""
                console.put_error(
                    f"{line(name)}, seed {seed}, {load} busy processes: exit code {code}{took}\n"
                )
                yield seed, load, code, report, errors


def same_in_all(name, command, options):
    """Prints the runs of a subject. True if they are alike."""
    rows = list(runs_of(name, command, options))
    both = [causes_of(report) if report else (None, set()) for *_, report, _ in rows]
    found = [steady for steady, _ in both]
    common = set.intersection(*(f or set() for f in found))
    lines = table(
        ["subject", "seed", "busy", "exit code", "cases", "covering array", "seconds", "causes"],
        [
            [
                line(name),
                seed,
                load,
                code,
                sum(report["cases"].values()) if report else 0,
                "whole" if report and report["whole"] else "in part",
                round(report["seconds"]) if report else "",
                len(causes) if causes is not None else line(errors),
            ]
            for (seed, load, code, report, errors), causes in zip(rows, found, strict=True)
        ],
    )
    for (seed, load, _, report, _), (causes, rare) in zip(rows, both, strict=True):
        for other in sorted((causes or set()) - common):
            lines.append(f"seed {seed}, {load} busy, not in all runs: {line(other)}")
        for other in sorted(rare):
            lines.append(f"seed {seed}, {load} busy, not compared, by chance: {line(other)}")
        for problem in report["problems"] if report else ():
            lines.append(f"seed {seed}, {load} busy, error: {line(problem)}")
    console.put("\n".join([*lines, "", ""]))
    return all(code == 0 for _, _, code, _, _ in rows) and all(f == found[0] for f in found)


def seeds_of(text):
    return [within(int, -limits.SEED, limits.SEED)(word) for word in text.split(",")]


def main():
    parser = console.Parser(description="Compares the causes of runs by seed and load.")
    parser.add_argument("--seeds", type=seeds_of, default=[1, 2, 3], help="seeds (1,2,3)")
    parser.add_argument(
        "--busy", type=within(int, 1, limits.JOBS), default=8, help="busy processes beside (8)"
    )
    add_jobs(parser)
    options = parser.parse_args()
    try:
        subjects = commands(sys.stdin)
        alike = [same_in_all(name, command, options) for name, command in subjects.items()]
    except Refused as error:
        console.show_error(f"steady.py: {error}")
        return 2
    console.show(f"{sum(alike)} of {len(alike)} subjects have the same causes in all runs")
    return 0 if all(alike) else 1


if __name__ == "__main__":
    sys.exit(console.guarded("steady.py", main))
