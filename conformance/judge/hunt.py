"""Looks for new failures of several subjects with fresh seeds, for hours.

… | python3 conformance/judge/hunt.py --hours N --out DIR

Standard input has a line "NAME<tab>ADAPTER COMMAND" for each subject (COMMANDS=1 sh
conformance/run.sh). The subjects take turns. After each run, what it found is merged by cause into
DIR/list.json and DIR/LIST.md, so an interruption loses one run, and a further hunt with the same
DIR continues the list. Failures that known/ explains by now leave it. ZEROPROOF names the command.
Exit codes: 0 also if something was found; 2 invalid input; 3 the environment failed."""

import collections
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
from recipe import features, recipe_of
from report import printable
from results import code as as_code
from results import line, table
from tools import Refused
from values import Finding

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def checked(command, *options):
    """(exit code, report or None, end of standard error) of `zeroproof check`."""
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
            code = process.wait()
            process.close()
        try:
            report = files.read_json(os.path.join(folder, "report.json"), limits.REPORT)
        except OSError:
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
    present = features(recipe_of(entry["recipe"]))
    finding = Finding(entry["clause"], entry["kind"], "", detail={"symptom": entry["symptom"]})
    return any(
        known.alike(one, finding)
        and set(one["needs"]) <= present
        and not set(one.get("lacks") or []) & present
        for one in listed
    )


def known_of(report):
    """The known failures of a report's subject."""
    name = known.file_of(None, ROOT, "known", report["subject"])
    return known.load_known(name, ROOT) if os.path.exists(name) else []


class Hunt:
    """The list in a folder."""

    def __init__(self, folder):
        self.folder, self.name = folder, os.path.join(folder, "list.json")
        os.makedirs(folder, exist_ok=True)
        self.list = {"runs": [], "causes": [], "problems": []}
        if os.path.exists(self.name):
            self.list = files.read_json(self.name, limits.REPORT)

    def run(self, name, command, seed, *options):
        """One run of a subject. Returns the number of new causes in it."""
        start = time.monotonic()
        code, report, errors = checked(command, "--seed", str(seed), *options)
        row = {"subject": name, "seed": seed, "code": code}
        new = []
        if report:
            new = found_in(name, command, seed, report)
            self.list["causes"] = [
                e
                for e in self.list["causes"]
                if e["subject"] != name or not explained(e, known_of(report))
            ]
            merge(self.list["causes"], new)
        problems = report["problems"] if report else [f"exit code {code}: {errors}"]
        self.list["problems"] += [
            {"subject": name, "seed": seed, "text": text} for text in problems
        ]
        row["cases"] = sum(report["cases"].values()) if report else 0
        row["seconds"] = round(time.monotonic() - start)
        self.list["runs"].append(row)
        self.write()
        return len(new)

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
            f"- {e['count']} cases; conditions: {line(', '.join(e['needs'])) or 'none'}"
            + (f"; symptom: {line(', '.join(e['symptom']))}" if e["symptom"] else ""),
            f"- seeds: {', '.join(map(str, e['seeds']))}",
            *(["- by chance: {failed} of {replays} replays".format(**chance)] if chance else []),
            f"- {line(e['text'])}",
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
    parser.add_argument("--hours", type=float, required=True, help="how long")
    parser.add_argument("--out", required=True, help="folder of the list, which is continued")
    parser.add_argument("--jobs", default=str(os.cpu_count() or 1), help="adapter processes")
    parser.add_argument(
        "--seconds", default="120", help="of a run; the covering array is always completed (120)"
    )
    return parser.parse_args()


def main():
    options = options_of()
    try:
        subjects = commands(sys.stdin)
        hunt, until = Hunt(options.out), time.monotonic() + options.hours * 3600
        limits_of_run = ("--seconds", options.seconds, "--jobs", options.jobs)
        while time.monotonic() < until:
            for name, command in subjects.items():
                if time.monotonic() >= until:
                    break
                seed = random.SystemRandom().randrange(1, 1 << 31)
                new = hunt.run(name, command, seed, *limits_of_run)
                row = hunt.list["runs"][-1]
                console.show(
                    f"{name}, seed {seed}: {row['cases']} cases in {row['seconds']} s, exit code "
                    f"{row['code']}, {new} new causes"
                )
    except Refused as error:
        console.show_error(f"hunt.py: {error}")
        return 2
    except KeyboardInterrupt:  # the list has all complete runs
        pass
    console.show(f"{len(hunt.list['causes'])} new causes: {printable(options.out)}/LIST.md")
    return 0


if __name__ == "__main__":
    sys.exit(console.guarded("hunt.py", main))
