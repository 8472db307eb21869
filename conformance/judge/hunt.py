"""Looks for new failures of several subjects with fresh seeds, for hours.

… | python3 conformance/judge/hunt.py --hours N --out DIR

Standard input has a line "NAME<tab>ADAPTER COMMAND" for each subject (COMMANDS=1 sh
conformance/run.sh). The subjects take turns. After each run, what it found is merged by cause into
DIR/list.json and DIR/LIST.md, so an interruption loses one run, and a further hunt with the same
DIR continues the list. Failures that known/ explains by now leave it. A subject of which no case
passes and every case fails alike, in several runs one after another, takes no further turns. The
hunt ends if no subject is left. ZEROPROOF names the command.
Exit codes: 0 also if something was found; 2 invalid input; 3 the environment failed, or no subject
is left."""

import collections
import contextlib
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time

import console
import demands
import files
import known
import limits
import supervise
from console import within
from matching import covers
from recipe import features, recipe_of
from results import code as as_code
from results import last_line, line, table
from run import normal
from tools import Refused
from values import Finding

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


# Seconds of a run beyond --seconds, after which it is ended: the slowest covering array takes a
# tenth of it.
LONGEST = 4 * 3600
HOPELESS = 3  # runs of a subject that fail as a whole in the same way, after which it is left out


def checked(command, *options, longest=LONGEST):
    """(exit code, report or None, end of standard error) of `zeroproof check`. longest: seconds,
    after which it is ended, without a report."""
    with tempfile.TemporaryDirectory() as folder:
        errors = os.path.join(folder, "errors")
        argv = [os.environ.get("ZEROPROOF", "zeroproof"), "check", "--adapter", command]
        with open(errors, "wb") as file:
            process = supervise.Process(
                [*argv, "--out", folder, *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
            )
            try:
                code = process.wait(longest)
            except subprocess.TimeoutExpired:
                return 3, None, f"it did not end within {longest:.0f} s"
            finally:
                process.close()
        try:
            report = files.read_json(os.path.join(folder, "report.json"), limits.REPORT)
        except (OSError, ValueError):
            report = None
        with open(errors, encoding="utf-8", errors="replace") as file:
            return code, report, file.read()[-400:].strip()


def symptom(cause):
    return (cause["findings"][0].get("detail") or {}).get("symptom", [])


def found_in(name, command, seed, report):
    """The new causes of a run, as entries of the list."""
    return [
        {
            "subject": name,
            "adapter": command,
            **{key: cause[key] for key in ("clause", "kind", "needs", "text", "recipe", "chance")},
            "symptom": symptom(cause),
            "count": len(cause["cases"]),
            "seeds": [seed],
        }
        for cause in report["causes"]
        if not cause["known"]
    ]


def alike(a, b):
    """True if two entries have the same clause and kind, and one's case meets the conditions of the
    other: shrinking may have gone further in one of the runs."""
    return all(a[key] == b[key] for key in ("subject", "clause", "kind")) and any(
        set(one["needs"]) <= features(recipe_of(other["recipe"])) for one, other in ((a, b), (b, a))
    )


def merge(causes, new):
    """Adds entries to the list. Of each cause, the smallest case stays."""
    for entry in new:
        for old in causes:
            if alike(old, entry):
                smaller = min(old, entry, key=lambda e: (len(e["needs"]), len(e["recipe"])))
                old["count"] += entry["count"]
                old["seeds"] = list(dict.fromkeys(old["seeds"] + entry["seeds"]))
                old.update({k: v for k, v in smaller.items() if k not in ("count", "seeds")})
                break
        else:
            causes.append(entry)


def explained(entry, listed):
    """True if an entry of a list of known failures explains a cause."""
    finding = Finding(entry["clause"], entry["kind"], "", detail={"symptom": entry["symptom"]})
    return any(covers(one, finding, recipe_of(entry["recipe"])) for one in listed)


def hopeless(code, report, errors):
    """How every case of a run fails, if no case passes and all fail alike, else None."""
    if report is None:
        return f"exit code {code}: {normal(errors)}"
    kinds = {
        f"{r['findings'][0]['clause']} {r['findings'][0]['kind']}" if r["findings"] else r["status"]
        for r in report["results"]
    }
    return kinds.pop() if len(kinds) == 1 and not report["cases"]["pass"] else None


def known_of(report):
    """The known failures of a report's subject."""
    name = known.file_of(None, ROOT, "known", report["subject"])
    return known.load_known(name, ROOT) if os.path.exists(name) else []


def read_list(name):
    try:
        listed = files.read_json(name, limits.REPORT)
    except (OSError, ValueError) as error:
        raise Refused(f"--out: cannot read {name}: {error}") from None
    parts = ("runs", "causes", "problems")
    if not isinstance(listed, dict) or any(type(listed.get(part)) is not list for part in parts):
        raise Refused(f"--out: {name}: expected an object with the lists {', '.join(parts)}")
    return listed


class Hunt:
    """The list in a folder."""

    def __init__(self, folder):
        self.folder, self.name = folder, os.path.join(folder, "list.json")
        os.makedirs(folder, exist_ok=True)
        self.list = {"runs": [], "causes": [], "problems": []}
        self.failed = {}  # subject -> how all cases of its last runs failed
        if os.path.exists(self.name):
            self.list = read_list(self.name)

    def run(self, name, command, seed, *options, longest):
        """One run of a subject. Returns the number of new causes in it."""
        start = time.monotonic()
        code, report, errors = checked(command, "--seed", str(seed), *options, longest=longest)
        row = {"subject": name, "seed": seed, "code": code}
        new = []
        if report:
            new = found_in(name, command, seed, report)
            listed = known_of(report)
            self.list["causes"] = [
                e for e in self.list["causes"] if e["subject"] != name or not explained(e, listed)
            ]
            merge(self.list["causes"], new)
        problems = report["problems"] if report else [f"exit code {code}: {errors}"]
        self.list["problems"] += [
            {"subject": name, "seed": seed, "text": text} for text in problems
        ]
        row["cases"] = sum(report["cases"].values()) if report else 0
        row["seconds"] = round(time.monotonic() - start)
        self.list["runs"].append(row)
        self.failed.setdefault(name, []).append(hopeless(code, report, errors))
        why = self.left_out(name)
        if why:
            last = report["causes"][0]["text"] if report and report["causes"] else errors
            text = f"left out after {HOPELESS} runs in which every case failed alike ({why}): "
            self.list["problems"].append(
                {"subject": name, "seed": seed, "text": text + last[-400:]}
            )
        self.write()
        return len(new)

    def left_out(self, name):
        """How all cases of a subject fail, if its last runs show that it cannot be judged."""
        last = self.failed.get(name, [])[-HOPELESS:]
        return last[0] if len(last) == HOPELESS and len(set(last)) == 1 else None

    def write(self):
        files.write(self.name, [json.dumps(self.list, indent=1), "\n"])
        files.write(os.path.join(self.folder, "LIST.md"), [markdown(self.list)])


def markdown(listed):
    """The list for a person."""
    runs = collections.defaultdict(list)
    for row in listed["runs"]:
        runs[row["subject"]].append(row)
    lines = ["# New failures", "", "Made by `make conformance-hunt`.", ""]
    lines += table(
        ["subject", "runs", "cases", "hours", "new causes"],
        [
            [
                line(name),
                len(rows),
                sum(r["cases"] for r in rows),
                f"{sum(r['seconds'] for r in rows) / 3600:.2f}",
                sum(e["subject"] == name for e in listed["causes"]),
            ]
            for name, rows in sorted(runs.items())
        ],
    )
    for number, e in enumerate(sorted(listed["causes"], key=lambda e: -e["count"]), 1):
        chance = e["chance"] or {}
        again = shlex.join(["zeroproof", "check", "--adapter", e["adapter"], "--only", e["recipe"]])
        lines += [
            "",
            f"## {number}. {line(e['subject'])}: {line(demands.named(e['clause']))} "
            f"{line(e['kind'])}",
            "",
            f"- {demands.many(e['count'], 'case')}; conditions: "
            f"{line(', '.join(e['needs'])) or 'none'}"
            + (f"; symptom: {line(', '.join(e['symptom']))}" if e["symptom"] else ""),
            f"- seeds: {', '.join(map(str, e['seeds']))}",
            *(["- by chance: {failed} of {replays} replays".format(**chance)] if chance else []),
            f"- {line(last_line(e))}",
            f"- {as_code(again)}",
        ]
    texts = collections.defaultdict(list)
    for problem in listed["problems"]:
        texts[(problem["subject"], problem["text"])].append(problem["seed"])
    if texts:
        lines += ["", "## Errors of runs", ""]
    for (name, text), seeds in sorted(texts.items()):
        lines.append(f"- {line(name)}, seeds {', '.join(map(str, seeds))}: {line(text)}")
    return "\n".join([*lines, ""])


def commands(stream):
    """name -> command line of its adapter, from lines "NAME<tab>COMMAND"."""
    found = dict(row.rstrip("\n").split("\t", 1) for row in stream if "\t" in row)
    if not found:
        raise Refused('standard input: expected lines "NAME<tab>ADAPTER COMMAND"')
    return found


def options_of():
    parser = console.Parser(description="Looks for new failures with fresh seeds, for hours.")
    parser.add_argument(
        "--hours", type=within(float, 0, limits.SECONDS / 3600), required=True, help="how long"
    )
    parser.add_argument("--out", required=True, help="folder of the list, which is continued")
    add_jobs(parser)
    parser.add_argument(
        "--seconds",
        type=within(float, 0, limits.SECONDS),
        default=120,
        help="of a run; the covering array is always completed (120)",
    )
    return parser.parse_args()


def add_jobs(parser):
    parser.add_argument(
        "--jobs",
        type=within(int, 1, limits.JOBS),
        default=os.cpu_count() or 1,
        help="adapter processes (all cores)",
    )


def take_turns(hunt, subjects, options):
    """Runs the subjects until the time is over. Removes those that cannot be judged."""
    until = time.monotonic() + options.hours * 3600
    limits_of_run = ("--seconds", str(options.seconds), "--jobs", str(options.jobs))
    longest = options.seconds + LONGEST
    while subjects:
        for name, command in list(subjects.items()):
            if time.monotonic() >= until:
                return
            seed = random.SystemRandom().randrange(1, 1 << 31)
            new = hunt.run(name, command, seed, *limits_of_run, longest=longest)
            row = hunt.list["runs"][-1]
            console.show(
                f"{name}, seed {seed}: {demands.many(row['cases'], 'case')} in {row['seconds']} s, "
                f"exit code {row['code']}, {demands.many(new, 'new cause')}"
            )
            if hunt.left_out(name):
                console.show_error(f"hunt.py: {name}: {hunt.list['problems'][-1]['text']}")
                del subjects[name]


def main():
    options = options_of()
    try:
        subjects, hunt = commands(sys.stdin), Hunt(options.out)
        with contextlib.suppress(KeyboardInterrupt):  # the list has all complete runs
            take_turns(hunt, subjects, options)
    except Refused as error:
        console.show_error(f"hunt.py: {error}")
        return 2
    console.show(f"{len(hunt.list['causes'])} new causes: {options.out}/LIST.md")
    return 0 if subjects else 3


if __name__ == "__main__":
    sys.exit(console.guarded("hunt.py", main))
