"""Checks the committed lists: every subject and clause occurs in the selection that CI runs, each
list belongs to a subject, and each known failure has a case. Needs no subject to be installed."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CONFORMANCE = os.path.join(ROOT, "conformance")
sys.path.insert(0, os.path.join(CONFORMANCE, "judge"))

import axes  # noqa: E402
import draw  # noqa: E402
import known  # noqa: E402
import rows  # noqa: E402
from recipe import features, recipe_of  # noqa: E402
from run import dice_for  # noqa: E402
from tools import Tools  # noqa: E402

with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as makefile:
    VERSION = re.search(r"^VERSION := (.*)$", makefile.read(), re.MULTILINE)[1]
failed = 0
tools = Tools()


def check(name, why):
    """why: the error, or a false value."""
    global failed
    failed += bool(why)
    print(f"not ok {name} # {str(why)[:600]}" if why else f"ok {name}", flush=True)


def load(folder, name):
    with open(os.path.join(CONFORMANCE, folder, f"{name}.json"), encoding="utf-8") as file:
        return json.load(file)


def names(folder):
    return {n[:-5] for n in os.listdir(os.path.join(CONFORMANCE, folder))}


def subjects():
    """[(name, environment, adapter, name of its lists, which commands judge it)]"""
    with open(os.path.join(CONFORMANCE, "subjects.txt"), encoding="utf-8") as file:
        return [line.split() for line in file if not line.startswith("#")]


def clauses_of_array(space, seed):
    """Every clause that the cases of the covering array cite."""
    found = set()
    for number, row in enumerate(axes.covering(space, random.Random(seed))):
        case, _ = draw.case_of_row(tools, space, row, dice_for(seed, number))
        found |= set(case["clauses"]) if case else set()
    return found


def clauses_of_selection(space, recipes):
    found = set()
    for text in recipes:
        recipe = recipe_of(text)
        case, why = axes.case_of(tools, space, recipe)
        if case is None or not rows.supported(space, recipe, case):
            check("each recipe of a selection has a case", f"{text}: {why or 'not supported'}")
        else:
            found |= set(case["clauses"])
    return found


def lacks(wanted, found):
    return sorted(wanted - found)


def test_selections(everyone):
    everything = set()
    for name, _, _, lists, which in everyone:
        if lists not in names("support") or lists not in names("quick"):
            check(
                f"{name} has a support list and a selection",
                "make conformance ACCEPT=1 writes them",
            )
            continue
        space, chosen = axes.Space(load("support", lists)), load("quick", lists)["cases"]
        mine, whole = clauses_of_selection(space, chosen), clauses_of_array(space, 1)
        check(f"{name}: every clause of its cases occurs in its selection", lacks(whole, mine))
        check(
            f"{name}: a selection without the cases of a clause is detected",
            not lacks(whole, clauses_of_selection(space, chosen[:1])),
        )
        everything |= mine if which == "usual" else set()
    widest = {"supports": axes.AXES, "options": {}}
    # no subject of level 3 has pipeline stages; tests/cuda/verify/test_streams.sh judges exchanges
    check(
        "every clause of the suite but STRM-3 occurs in the selection",
        [c for c in lacks(clauses_of_array(axes.Space(widest), 1), everything) if c != "STRM-3"],
    )


# clauses whose failures have many causes
SYMPTOMS = {
    "RED-2",
    "RED-3",
    "STAT-4",
    "OPT-2",
    "OPT-4",
    "STEP-4",
    "STEP-6",
    "SCALE-3",
    "LEDG-6",
    "PIPE-6",
    "STRM-1",
    "STRM-2",
    "STRM-6",
}


def unknown_cause(note, causes):
    """What a note calls the same bug, defect or cause, if it is not an id of a cause."""
    found = re.findall(r"[Tt]he same (?:bug|defect|cause) as `?([\w.-]+)", note)
    return [name for name in found if name not in causes]


def test_known(everyone):
    mine = {lists for _, _, _, lists, _ in everyone}
    for folder in ("support", "known", "quick"):
        others = names(folder) - mine - {"causes"}
        check(f"each list in {folder}/ is of a subject", sorted(others))
    wrong, unused = [], set(load("known", "causes")["causes"])
    for lists in sorted(names("known") - {"causes"}):
        known.load_known(os.path.join(CONFORMANCE, "known", f"{lists}.json"), CONFORMANCE)
        space = axes.Space(load("support", lists))
        for entry in load("known", lists)["failures"]:
            where = f"{lists}: {entry['clause']} {entry['kind']}"
            wrong += [
                f'{where}: no "{key}"'
                for key in ("cause", "clause", "kind", "needs")
                if not entry.get(key)
            ]
            if not entry.get("recipe") and not entry.get("chance"):
                wrong.append(f'{where}: no "recipe"')
            unused.discard(entry["cause"])
            symptom = entry.get("symptom", ["-"])
            if (
                not symptom
                or not isinstance(symptom, list)
                or not all(isinstance(w, str) and w for w in symptom)
            ):
                wrong.append(f'{where}: "symptom": expected a list of words, got {symptom!r}')
            if (
                entry["clause"] in SYMPTOMS
                and "symptom" not in entry
                and not entry["kind"].startswith("unscaled")
            ):
                wrong.append(
                    f"{where}: needs a symptom, or the entry covers every failure of this kind"
                )
            also = entry.get("also", [])
            if not all(re.fullmatch(r"[A-Z]+-\d+ \S.*", a) for a in also):
                wrong.append(f'{where}: "also" must list "CLAUSE KIND", got {also!r}')
            if any(a.split()[0] in SYMPTOMS for a in also) and not entry.get("symptom"):
                wrong.append(f'{where}: "also" lists a clause that needs a symptom')
            if entry.get("recipe"):
                recipe = recipe_of(entry["recipe"])
                case, why = axes.case_of(tools, space, recipe)
                if case is None or not rows.supported(space, recipe, case):
                    wrong.append(
                        f"{where}: the subject does not support its case: {why or recipe.full()}"
                    )
                present = set(entry.get("lacks", [])) & features(recipe_of(entry["recipe"]))
                wrong += (
                    [f'{where}: its case has features of "lacks": {sorted(present)}']
                    if present
                    else []
                )
                lacking = set(entry["needs"]) - features(recipe_of(entry["recipe"]))
                wrong += (
                    [f'{where}: its case lacks features of "needs": {sorted(lacking)}']
                    if lacking
                    else []
                )
    check("each known failure has a cause, and a case that meets its conditions", wrong)
    check("each cause has a known failure", sorted(unused))
    causes = load("known", "causes")["causes"]
    unnamed = [name for name in causes if unknown_cause(causes[name].get("note", ""), causes)]
    check("a note names another cause by its id", unnamed)
    check(
        "a note that names another cause in other words is detected",
        not unknown_cause("the same bug as the RuntimeError", causes),
    )


def test_reasons(everyone):
    """Each combination that an adapter leaves out has a reason. A run compares hello with the
    list."""
    wrong = []
    for name, _, _, lists, _ in everyone:
        wrong += [(name, rule) for rule in load("support", lists)["without"] if not rule.get("why")]
    check('each rule of "without" has a reason', wrong)


def test_adapters(everyone):
    for name, environment, adapter, lists, which in everyone:
        check(f"{name}: usual or all", None if which in ("usual", "all") else which)
        exists = (
            adapter == "-"
            or adapter.startswith("--")
            or os.path.exists(os.path.join(CONFORMANCE, "adapters", adapter))
        )
        locked = os.path.exists(os.path.join(CONFORMANCE, "locks", f"{environment}.txt"))
        check(
            f"{name}: its adapter exists, and its environment has a lock",
            None if exists and (environment == "-" or locked) else (environment, adapter),
        )
        # zeroproof's own subjects are of this tree, whatever environment they run in
        own = lists.startswith("zeroproof-")
        version = VERSION if own else environment.rsplit("-", maxsplit=1)[-1]
        check(
            f"{name}: its lists have the version that is installed",
            None if lists.endswith(f"-{version}") else lists,
        )


def test_axes():
    """conformance/AXES.md: each value that a subject lacks has a reason."""

    def made(supports):
        with tempfile.TemporaryDirectory() as folder:
            out, copies = os.path.join(folder, "AXES.md"), []
            for number, support in enumerate(supports):
                copies.append(os.path.join(folder, f"{number}.json"))
                with open(copies[-1], "w", encoding="utf-8") as file:
                    json.dump(support, file)
            done = subprocess.run(
                [
                    sys.executable,
                    "-B",
                    os.path.join(CONFORMANCE, "judge", "table.py"),
                    out,
                    *copies,
                ],
                capture_output=True,
                text=True,
            )
            if done.returncode:
                return done.returncode, done.stderr, None
            with open(out, encoding="utf-8") as file:
                return 0, "", file.read()

    supports = [load("support", name) for name in sorted(names("support"))]
    code, errors, text = made(supports)
    check("each value that a subject lacks has a reason", code and errors)
    with open(os.path.join(CONFORMANCE, "AXES.md"), encoding="utf-8") as file:
        check(
            "AXES.md has what the support lists say (make conformance-axes)",
            file.read() != text and "it differs",
        )
    for change, words in (
        ({"lacks": {}}, "without a reason"),
        ({"lacks": {**supports[0]["lacks"], "zero": "never"}}, "has a reason to lack zero"),
        ({"without": [{"zero": 1, "dp": 3}]}, "leaves out"),
        ({"returns": ["parameters"], "lacks": {}}, "lacks the field norm"),
    ):
        code, errors, _ = made([{**supports[0], **change}])
        good = code == 1 and words in errors
        check(f"the table refuses a list that {words}", None if good else (code, errors))


def runner(build, *subjects_of_it, **more):
    done = subprocess.run(
        ["sh", f"{CONFORMANCE}/run.sh", build, *subjects_of_it],
        capture_output=True,
        text=True,
        env={**os.environ, "QUICK": "1", **more},
    )
    return done.returncode, done.stdout + done.stderr


def result(build, name):
    with open(os.path.join(build, "conformance-quick", name), encoding="utf-8") as file:
        return file.read()


def test_runner():
    """run.sh with a separate build folder."""
    with tempfile.TemporaryDirectory() as build:
        with open(os.path.join(build, "zeroproof"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {os.environ["ZEROPROOF"]} "$@"\n')
        os.chmod(file.name, 0o755)
        code, text = runner(build, "ref")
        files = os.listdir(os.path.join(build, "conformance-quick"))
        wanted = {"RESULTS.md", "index.html", "results.json"}
        check(
            "a run writes RESULTS.md, index.html and results.json",
            None if code == 0 and wanted <= set(files) else (code, text),
        )
        text = result(build, "RESULTS.md")
        head = text[: text.index("## Subjects")]
        named = "Without a result here: cuda, zeroproof-torch, torch-ddp, " in head
        named = named and "colossalai" in head
        check("RESULTS.md names the subjects without a result", None if named else head)
        command = f"QUICK=1 FRESH=0 SEED=7 sh conformance/run.sh {build} ref"
        runner(build, "ref", FRESH="0", SEED="7", BUDGET="")
        lacking = [name for name in sorted(wanted) if command not in result(build, name)]
        check("each of them has the command that repeats the run", lacking)
        name = os.path.join("ref", "report.json")
        for seed, kept in (("7", True), ("8", False)):
            before = result(build, name)
            code, text = runner(build, "ref", FRESH="0", SEED=seed, BUDGET="", KEEP="1")
            good = code == 0 and (result(build, name) == before) == kept
            how = "is kept" if kept else "is not kept after a change of the seed"
            check(f"KEEP=1: a report {how}", None if good else (code, text))
        code, text = runner(build, "ref", "torch-ddp", ZP_VENVS="/dev/null/nowhere")
        check(
            "a subject that cannot be installed is an error, and the others are judged",
            None
            if code == 3
            and "cannot install torch-ddp" in text
            and "zeroproof ref" in text
            and "RESULTS.md" in text
            else (code, text),
        )
        code, text = runner(build, "unlisted")
        check(
            "an unknown subject is refused",
            None if code == 2 and "unknown subject 'unlisted'" in text else (code, text),
        )


def test_table():
    """conformance/subjects.md is what judge/subjects.py writes."""
    done = subprocess.run(
        [sys.executable, "-B", f"{CONFORMANCE}/judge/subjects.py", "--check"],
        capture_output=True,
        text=True,
    )
    check("subjects.md is current", done.stdout + done.stderr if done.returncode else None)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("judge", "schema", "support"):
            shutil.copytree(os.path.join(CONFORMANCE, name), os.path.join(folder, name))
        for name in ("subjects.txt", "unreachable.txt"):
            shutil.copy(os.path.join(CONFORMANCE, name), folder)
        cases = {"pass": 5, "fail": 0, "by design": 3, "not promised": 0, "limitation": 0}
        row = {"subject": "zeroproof ref 0.1.0", "cases": {**cases, "unsupported": 1}, "causes": 1}
        row |= {"whole": True, "seconds": 7}
        with open(os.path.join(folder, "results.json"), "w", encoding="utf-8") as file:
            json.dump({"date": "2001-02-03", "subjects": [row]}, file)
        argv = [sys.executable, "-B", os.path.join(folder, "judge", "subjects.py")]
        done = subprocess.run(argv, capture_output=True, text=True)
        with open(os.path.join(folder, "subjects.md"), encoding="utf-8") as file:
            text = file.read()
        words = "5 cases passed, 0 failed, 3 by design, 1 not supported, 1 cause; "
        words += "with random cases (for 7 s) |"
        good = done.returncode == 0 and words in text and "of 2001-02-03" in text
        check("subjects.md has the numbers of results.json, by class", None if good else text)


def main():
    everyone = subjects()
    test_runner()
    test_adapters(everyone)
    test_axes()
    test_known(everyone)
    test_reasons(everyone)
    test_selections(everyone)
    test_table()
    tools.close()
    return 1 if failed else 0


sys.exit(main())
