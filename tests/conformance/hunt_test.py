"""Tests the hunt for new failures: it merges runs by cause, continues its list, and survives a
subject that cannot be judged. Tests that the comparison of seeds and loads finds a difference."""

import json
import os
import subprocess
import sys
import tempfile

from selftest import ROOT, TRAINER, check, main

JUDGE = os.path.join(ROOT, "conformance", "judge")
sys.path.insert(0, JUDGE)

import hunt  # noqa: E402

ENTRY = {
    "subject": "a",
    "adapter": "x y",
    "clause": "RED-3",
    "kind": "missing",
    "needs": ["dp"],
    "text": "t",
    "recipe": "dp=2,M=1,optim=sgd,list=1@0.0",
    "chance": None,
    "symptom": ["ranks agree"],
    "count": 2,
    "seeds": [1],
}


def test_merge():
    causes = []
    larger = {**ENTRY, "needs": ["accumulation", "dp"], "seeds": [2]}
    larger["recipe"] = "dp=2,M=2,optim=sgd,list=1@0.0"
    hunt.merge(causes, [larger])
    hunt.merge(causes, [ENTRY, {**ENTRY, "subject": "b"}, {**ENTRY, "kind": "garbled"}])
    first = causes[0]
    check("a cause found again is merged, by subject, clause and kind", len(causes) == 3, causes)
    check(
        "the smallest case, the number of cases and the seeds stay",
        (first["needs"], first["recipe"], first["count"], first["seeds"])
        == (["dp"], ENTRY["recipe"], 4, [2, 1]),
        first,
    )
    other = {**ENTRY, "needs": ["pp"], "recipe": "pp=2,dp=1,M=1,list=1@0.0"}
    hunt.merge(causes, [other])
    check("another condition is another cause", len(causes) == 4, causes)
    text = hunt.markdown({"runs": [], "causes": causes, "problems": []})
    title = "a: RED-3 (mean of the contributions) missing"
    check("the list has the title of each clause", title in text, text)


def test_explained():
    """A cause that a list of known failures has by now leaves the list."""
    for name, entry, right in (
        ("its clause and conditions", {}, True),
        ("one of its symptoms", {"symptom": ["ranks agree + x", "ranks agree"]}, True),
        ("another symptom", {"symptom": ["ranks differ"]}, False),
        ("further conditions", {"needs": ["dp", "pp"]}, False),
        ("what its case must not have", {"lacks": ["dp"]}, False),
        ("another clause", {"clause": "RED-2"}, False),
    ):
        listed = {"clause": "RED-3", "kind": "missing", "needs": ["dp"], **entry}
        check(f"an entry with {name}: {right}", hunt.explained(ENTRY, [listed]) == right)


def hunted(folder, *subjects):
    done = subprocess.run(
        [sys.executable, "-B", f"{JUDGE}/hunt.py", "--hours", "1e-7", "--out", folder]
        + ["--jobs", "2", "--seconds", "0"],
        input="".join(f"{name}\t{command}\n" for name, command in subjects),
        capture_output=True,
        text=True,
    )
    with open(os.path.join(folder, "list.json"), encoding="utf-8") as file:
        listed = json.load(file)
    with open(os.path.join(folder, "LIST.md"), encoding="utf-8") as file:
        return done, listed, file.read()


def test_hunt():
    with tempfile.TemporaryDirectory() as folder:
        done, first, _ = hunted(folder, ("bad", f"{TRAINER} norm-local"))
        found = first["causes"]
        check("a hunt ends with what it found", done.returncode == 0 and found, done.stderr)
        done, second, text = hunted(folder, ("bad", f"{TRAINER} norm-local"))
        counts = [sum(e["count"] for e in one["causes"]) for one in (first, second)]
        check(
            "a further hunt continues the list with another seed",
            len(second["runs"]) == 2
            and len({r["seed"] for r in second["runs"]}) == 2
            and counts[1] > counts[0],
            second["runs"],
        )
        small = second["causes"][0]
        check(
            "the list has the command that repeats each cause",
            all(f"--only {e['recipe'].split(' ')[0]}" in text.replace("'", "") for e in [small]),
            text,
        )
        done, third, text = hunted(folder, ("none", "false"))
        check(
            "a subject that cannot be judged is listed, and the list stays",
            done.returncode == 0
            and third["causes"] == second["causes"]
            and third["problems"]
            and "exit code 2" in text,
            (done.stderr, third["problems"]),
        )


def steady(fault):
    return subprocess.run(
        [sys.executable, "-B", f"{JUDGE}/steady.py", "--seeds", "1,2", "--busy", "1"],
        input=f"subject\t{TRAINER} {fault}\n",
        capture_output=True,
        text=True,
    )


def test_steady():
    done = steady("correct")
    check("a correct subject is the same in all runs", done.returncode == 0, done.stdout)
    check("each run completes the covering array", done.stdout.count("| whole |") == 4, done.stdout)
    done = steady("no-clip")
    check(
        "a subject with new causes is not",
        done.returncode == 1 and "0 of 1 subjects" in done.stdout,
        done.stdout,
    )


sys.exit(main(test_merge, test_explained, test_hunt, test_steady))
