#!/usr/bin/env python3
"""Gives the commands hostile inputs, and checks the laws of laws.py on each run.

    run.py --seconds 60                   all kinds, a new seed
    run.py --count 200 --seed 1           a fixed list of inputs, so that no chance is involved
    run.py --replay FILE                  one input again, as a finding was saved
    run.py --only traces --seconds 3600 --table tests/hostile/README.md

Exit codes: 0 every law held; 1 there are findings; 2 invalid options; 3 the environment failed."""

import argparse
import base64
import collections
import importlib
import json
import math
import multiprocessing
import os
import queue
import random
import re
import shutil
import sys
import tempfile
import time
import traceback

import laws
import reduce
import samples

KINDS = "options configs cases answers ledgers streams lists traces checkpoints recipes".split()
CUDA = {"configs", "cases", "checkpoints"}  # kinds that also use the CUDA engine
BEGIN, END = (
    "<!-- hostile: written by `make hostile TABLE=1` -->",
    "<!-- end of hostile -->",
)
REDUCED_S = 1  # an input that takes longer is saved as it is
SAVED_MOST = 20  # findings of one law and kind that are saved; all are counted
CODES = ("0", "1", "2", "3", "stopped")


def positive(text):
    number = float(text)
    if not (math.isfinite(number) and 0 < number <= 1e7):
        raise argparse.ArgumentTypeError(f"expected a number above 0, at most 1e7, got '{text}'")
    return number


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--seconds", type=positive, help="stop after this time (60)")
    parser.add_argument("--count", type=int, help="this many inputs of each kind; no time limit")
    parser.add_argument("--seed", type=int, help="seed of the inputs (the time, or 1 with --count)")
    parser.add_argument("--number", type=int, help="only this input of the kind given by --only")
    parser.add_argument("--only", choices=KINDS, action="append", help="only inputs of this kind")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--table", metavar="FILE", help="write the table between its markers")
    parser.add_argument("--replay", metavar="FILE", help="run a saved finding again")
    parser.add_argument("--out", metavar="DIR", help="where findings are saved (build-san/hostile)")
    parser.add_argument("--zeroproof", metavar="FILE", help="the command (build-san/zeroproof)")
    options = parser.parse_args()
    if options.jobs < 1 or (options.count is not None and options.count < 1):
        parser.error("--jobs and --count: expected a number of at least 1")
    if options.seconds and options.count:
        parser.error("--seconds and --count exclude each other")
    built = os.path.join(samples.ROOT, "build-san")
    options.zeroproof = os.path.abspath(options.zeroproof or os.path.join(built, "zeroproof"))
    options.out = os.path.abspath(options.out or os.path.join(built, "hostile"))
    options.kinds = options.only or KINDS
    if options.number is not None and len(options.kinds) != 1:
        parser.error("--number: name the kind with --only")
    if options.count is None:
        options.seconds = options.seconds or 60
    if options.seed is None:
        options.seed = 1 if options.count else int(time.time())
    return options


# ---- Saved inputs --------------------------------------------------------------------------------


def to_json(what):
    if isinstance(what, bytes):
        return {"base64": base64.b64encode(what).decode()}
    if isinstance(what, dict):
        return {key: to_json(inner) for key, inner in what.items()}
    return [to_json(inner) for inner in what] if isinstance(what, (list, tuple)) else what


def from_json(what):
    if isinstance(what, dict):
        if set(what) == {"base64"}:
            return base64.b64decode(what["base64"])
        return {key: from_json(inner) for key, inner in what.items()}
    return [from_json(inner) for inner in what] if isinstance(what, list) else what


def dice_for(seed, kind, number):
    """The generator of input `number`: the same for each number of jobs."""
    return random.Random(f"{seed}/{kind}/{number}")


# ---- Workers -------------------------------------------------------------------------------------


def smaller(item, out, box, program):
    """The input with less in it, unless each try would take long."""
    if out.seconds > REDUCED_S:
        return item
    return reduce.reduced(item, set(out.broken), lambda i: laws.run(i, box, program).broken)


def work(options, makers, job, folder, results):
    """Runs every jobs-th input. Puts (kind, inputs, word, broken, what) for each, None at last."""
    laws.become_reaper()
    end = time.monotonic() + options.seconds if options.seconds else math.inf
    box = os.path.join(folder, f"box-{job}")
    try:
        for number in range(job, options.count or sys.maxsize, options.jobs):
            for kind, maker in makers.items():
                if time.monotonic() > end:
                    return
                item = maker.make(dice_for(options.seed, kind, number))
                out = laws.run(item, box, options.zeroproof)
                saved = None
                if out.broken:
                    saved = {"kind": kind, "seed": options.seed, "number": number}
                    saved["item"] = smaller(item, out, box, options.zeroproof)
                results.put((kind, item.get("inputs", 1), out.word(), out.broken, saved))
    except Exception:
        results.put(("error", 0, "", {"error": traceback.format_exc()}, None))
    finally:
        results.put(None)


class Totals:
    def __init__(self, kinds):
        self.inputs = collections.Counter()
        self.runs = {kind: collections.Counter() for kind in kinds}
        self.findings = collections.Counter()  # (kind, law)
        self.saved, self.error = [], None

    def add(self, result, folder):
        kind, inputs, word, broken, what = result
        if kind == "error":
            self.error = broken["error"]
            return
        self.inputs[kind] += inputs
        self.runs[kind][word if word in CODES else "other"] += 1
        for law in broken:
            self.findings[kind, law] += 1
        law = next(iter(broken), None)
        if law is None or self.findings[kind, law] > SAVED_MOST:
            return
        os.makedirs(folder, exist_ok=True)
        name = f"{kind}-{law.replace(' ', '-')}-{what['seed']}-{what['number']}.json"
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(to_json({**what, "broken": broken}), file, indent=1)
        self.saved.append((kind, broken, os.path.join(folder, name)))

    def table(self):
        lines = [
            "| inputs of | tried | exit 0 | exit 1 | exit 2 | exit 3 | stopped | findings |",
            "|---|--:|--:|--:|--:|--:|--:|--:|",
        ]
        for kind, codes in self.runs.items():
            found = sum(n for (k, _), n in self.findings.items() if k == kind)
            row = [
                kind,
                f"{self.inputs[kind]:,}",
                *(f"{codes[c]:,}" for c in CODES),
                f"{found:,}",
            ]
            lines.append("| " + " | ".join(row) + " |")
        return "\n".join(lines)

    def as_json(self, options):
        return {
            "seed": options.seed,
            "kinds": {
                kind: {
                    "inputs": self.inputs[kind],
                    "runs": dict(self.runs[kind]),
                    "findings": {law: n for (k, law), n in self.findings.items() if k == kind},
                }
                for kind in self.runs
            },
            "findings": [
                {"kind": kind, "broken": broken, "file": name} for kind, broken, name in self.saved
            ],
        }


def progress(totals, began, final=False):
    text = (
        f"{time.monotonic() - began:.0f} s: {sum(totals.inputs.values()):,} inputs, "
        f"{sum(totals.findings.values())} findings"
    )
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}" + ("\n" if final else ""))
    else:
        print(text, file=sys.stderr)
    sys.stderr.flush()


def run_all(options, makers, folder):
    context = multiprocessing.get_context("fork")
    results, began = context.Queue(), time.monotonic()
    workers = [
        context.Process(target=work, args=(options, makers, job, folder, results))
        for job in range(options.jobs)
    ]
    for worker in workers:
        worker.start()
    totals, left, shown = Totals(options.kinds), len(workers), began
    while left:
        try:
            result = results.get(timeout=1)
        except queue.Empty:
            if not any(worker.is_alive() for worker in workers) and results.empty():
                totals.error = totals.error or "a worker process ended without a result"
                break
            continue
        if result is None:
            left -= 1
        else:
            totals.add(result, options.out)
        now = time.monotonic()
        if now - shown > (0.5 if sys.stderr.isatty() else 30):
            shown = now
            progress(totals, began)
    for worker in workers:
        worker.join()
    progress(totals, began, final=True)
    return totals


# ---- Results -------------------------------------------------------------------------------------


def write_table(name, totals, options):
    with open(name, encoding="utf-8") as file:
        text = file.read()
    if BEGIN not in text or END not in text:
        raise samples.Failed(f"{name} has no markers for the table: {BEGIN}")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    many = f"{options.count} runs of each kind" if options.count else f"{options.seconds:g} s"
    made = f"{BEGIN}\nSeed {options.seed}, {many}.\n\n{totals.table()}\n{END}"
    with open(name + ".new", "w", encoding="utf-8") as file:
        file.write(head + made + tail)
    os.replace(name + ".new", name)


def show(totals, options):
    if options.json:
        print(json.dumps(totals.as_json(options)))
        return
    print(f"seed {options.seed}\n{totals.table()}")
    for (kind, law), n in sorted(totals.findings.items()):
        print(f"{kind}: {law} ({laws.LAWS[law]}): broken by {n}")
    for _, broken, name in totals.saved[:50]:
        print(f"  {'; '.join(f'{law}: {seen}' for law, seen in broken.items())[:400]}")
        print(f"  replay: python3 tests/hostile/run.py --replay {name}")
        kind, number = re.fullmatch(r"(.*?)-.*-(\d+)\.json", os.path.basename(name)).groups()
        print(f"  or: --only {kind} --seed {options.seed} --number {number}")


def replay(item, options, folder):
    laws.become_reaper()
    out = laws.run(item, os.path.join(folder, "box-0"), options.zeroproof)
    sys.stdout.buffer.write(f"{' '.join(map(ascii, item['argv']))}\n".encode())
    print(f"exit code {out.word()}, {out.cpu:.1f} s of processor time, {out.memory >> 20} MiB")
    print("standard output:", ascii(out.said[-2000:]))
    print("standard error:", ascii(out.wrong[-2000:]))
    for law, seen in out.broken.items():
        print(f"broken: {law} ({laws.LAWS[law]}): {seen}")
    return 1 if out.broken else 0


def main():
    options = arguments()
    folder = tempfile.mkdtemp(prefix="zeroproof-hostile-")
    try:
        if options.replay:
            with open(options.replay, encoding="utf-8") as file:
                return replay(from_json(json.load(file))["item"], options, folder)
        if not os.access(options.zeroproof, os.X_OK):
            raise samples.Failed(f"{options.zeroproof} was not built: make SAN=1 all")
        made = samples.Samples(options.zeroproof, os.path.join(folder, "samples"))
        if made.simdev is None and CUDA & set(options.kinds):
            raise samples.Failed(
                f"{options.zeroproof}{laws.SIMDEV} was not built: make SAN=1 "
                f"build-san/zeroproof{laws.SIMDEV}"
            )
        os.mkdir(made.folder)
        makers = {kind: importlib.import_module(kind).Kind(made) for kind in options.kinds}
        if options.number is not None:
            dice = dice_for(options.seed, options.kinds[0], options.number)
            return replay(makers[options.kinds[0]].make(dice), options, folder)
        totals = run_all(options, makers, folder)
        show(totals, options)
        if totals.error:
            raise samples.Failed(totals.error)
        if options.table:
            write_table(options.table, totals, options)
        return 1 if totals.findings else 0
    except (samples.Failed, OSError) as error:
        print(f"hostile: {error}", file=sys.stderr)
        return 3
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
