"""zeroproof report on a judge whose causes and scripts are made here, and laws of the committed
scripts. Prints ok / not ok lines."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from selftest import COMMAND, ROOT, check, content, main, write

sys.path.insert(0, os.path.join(ROOT, "conformance", "judge"))

import cause_report  # noqa: E402

CONFORMANCE = os.path.join(ROOT, "conformance")
REPORTS = os.path.join(CONFORMANCE, "reports")
LINES = 40  # of a script, at most
MODULES = {
    *("torch", "accelerate", "transformers", "deepspeed", "megatron", "megatron_fsdp", "paddle"),
    "colossalai",
}
DOC = '"""It fails.\n\nRequirements: its-subject==1.0. It prints a number."""\n'
# A script's code -> (exit code of the command, part of its message)
ENDINGS = {
    "shows": ('print("noise")\nprint("reproduced: got 1, expected 2")', 0, "got 1, expected 2"),
    "fixed": ('print("not reproduced: got 2, expected 2")\nexit(3)', 1, "not reproduced"),
    "raises": ("1 / 0", 3, "ended without a verdict (exit code 1): ZeroDivisionError"),
    "silent": ("", 3, "ended without a verdict (exit code 0)"),
    "disagrees": ('print("not reproduced: got 2, expected 2")', 3, "ended without a verdict"),
    "lies": ('print("reproduced: got 1, expected 2")\nexit(3)', 3, "ended without a verdict"),
    "killed": ("import os\nos.kill(os.getpid(), 9)", 3, "ended without a verdict (signal 9)"),
    "endless": ("while True:\n    pass", 3, "did not end within 1 s"),
}


def causes_of(names, **more):
    return {
        name: {"title": f"{name} fails", "class": "defect", "subject": "X", "note": "why", **more}
        for name in names
    }


class Judge:
    """A copy of the judge with its own causes and scripts."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "conformance")
        shutil.copytree(os.path.join(CONFORMANCE, "judge"), os.path.join(self.folder, "judge"))
        shutil.copytree(os.path.join(CONFORMANCE, "schema"), os.path.join(self.folder, "schema"))
        self.known = os.path.join(self.folder, "known")
        for name in ("known", "reports"):
            os.mkdir(os.path.join(self.folder, name))
        causes = causes_of(ENDINGS)
        causes["designed"] = {**causes["shows"], "class": "by design", "documented": "there"}
        causes["shows"].update(issue="https://example.org/1", upstream="open")
        write(os.path.join(self.known, "causes.json"), json.dumps({"causes": causes}))
        entry = {"cause": "shows", "clause": "RED-2", "kind": "ratio", "needs": []}
        write(os.path.join(self.known, "x-1.0.json"), json.dumps({"failures": [entry]}))
        for name, (code, _, _) in ENDINGS.items():
            write(os.path.join(self.folder, "reports", f"{name}.py"), DOC + code + "\n")
        os.makedirs(os.path.join(folder, "its_subject-1.2.dist-info"))
        metadata = "Metadata-Version: 2.1\nName: its-subject\nVersion: 1.2\n"
        write(os.path.join(folder, "its_subject-1.2.dist-info", "METADATA"), metadata)
        self.environment = {**os.environ, "PYTHONPATH": folder}

    def report(self, *words):
        program = os.path.join(self.folder, "judge", "cause_report.py")
        argv = [sys.executable, "-B", program, *words]
        done = subprocess.run(argv, capture_output=True, text=True, env=self.environment)
        return done.returncode, done.stdout, done.stderr


def with_judge(test):
    def run():
        with tempfile.TemporaryDirectory() as folder:
            test(Judge(folder), os.path.join(folder, "out"))

    run.__name__ = test.__name__
    return run


@with_judge
def test_the_exit_code_is_the_verdict(judge, out):
    for name, (_, code, text) in ENDINGS.items():
        words = ["--deadline", "1"] if name == "endless" else []
        got = judge.report(name, "--python", sys.executable, "--out", out, *words)
        good = got[0] == code and text in got[1] + got[2] and "Traceback" not in got[1] + got[2]
        check(f"a_script_that_{name}_ends_with_{code}", good, got)
        written = os.path.exists(os.path.join(out, f"{name}.md"))
        check(f"a_script_that_{name}_is_reported_only_if_it_shows", written == (code == 0), got)


@with_judge
def test_the_report_has_everything(judge, out):
    judge.report("shows", "--python", sys.executable, "--out", out)
    files = content(out)
    check("the_script_is_copied", files["shows.py"].decode() == DOC + ENDINGS["shows"][0] + "\n")
    text = files["shows.md"].decode()
    for part in (
        "# X: shows fails\n",
        "It fails.\n\nThe script below shows this. It prints a number.",
        "got 1, expected 2",
        "Results are wrong, and no error is reported. Found in x 1.0.",
        "Install its-subject==1.2, then:\n\n    python shows.py\n",
        "    noise\n    reproduced:",
        "| its-subject | 1.2 |",
        "Why.\n\nPublic issue: https://example.org/1 (open)",
        ENDINGS["shows"][0],
    ):
        check(f"the_report_has_{part[:24]!a}", part in text, text)


@with_judge
def test_json(judge, out):
    code, text, _ = judge.report("shows", "--json", "--python", sys.executable, "--out", out)
    made = json.loads(text)
    good = made["shown"] and made["environment"]["its-subject"] == "1.2"
    check("json_has_verdict_and_environment", code == 0 and good, text)
    check("json_names_the_files", all(os.path.exists(name) for name in made["files"]), text)
    code, text, _ = judge.report("fixed", "--json", "--python", sys.executable, "--out", out)
    check("json_says_that_it_is_fixed", code == 1 and json.loads(text)["shown"] is False, text)
    code, text, _ = judge.report("--json")
    listed = {row["cause"]: row["script"] for row in json.loads(text)["causes"]}
    check("json_lists_the_causes", code == 0 and listed["shows"] and not listed["designed"], text)


@with_judge
def test_versions(judge, out):
    """The report names the installed version, and says so if the cause was found in others only."""
    words = ["--python", sys.executable, "--out", out]
    new = "This report was made with its-subject 1.2, for which the cause is not listed."
    judge.report("shows", *words)
    text = content(out)["shows.md"].decode()
    check("a_report_of_another_version_says_so", new in text and "its-subject==1.0," not in text)
    shutil.copy(os.path.join(judge.known, "x-1.0.json"), os.path.join(judge.known, "x-1.2.json"))
    judge.report("shows", *words)
    text = content(out)["shows.md"].decode()
    check("a_report_of_a_listed_version_does_not", "with its-subject" not in text, text)
    check("a_report_has_all_versions_of_a_program", "Found in x 1.0, 1.2." in text, text)
    _, text, _ = judge.report("fixed", *words)
    check(
        "a_defect_that_does_not_occur_is_explained",
        "its-subject 1.2: the defect does not occur, so no report is written." in text
        and "x 1.0" not in text,
        text,
    )


@with_judge
def test_a_list_of_the_users_own(judge, out):
    """A cause of --known FILE has its script beside FILE."""
    folder = os.path.join(judge.folder, "mine")
    os.makedirs(folder)
    listed = os.path.join(folder, "mine-2.0.json")
    entry = {"clause": "RED-2", "kind": "ratio", "needs": []}
    causes = causes_of(["own", "bare", "broken"])
    entries = [{"cause": name, **entry} for name in ("own", "shows")]
    write(listed, json.dumps({"causes": causes, "failures": entries}))
    write(os.path.join(folder, "own.py"), DOC + ENDINGS["shows"][0] + "\n")
    write(os.path.join(folder, "broken.py"), "1 +\n")
    words = ["--known", listed, "--python", sys.executable, "--out", out]
    got = judge.report("own", *words)
    text = content(out).get("own.md", b"").decode()
    good = got[0] == 0 and "# X: own fails\n" in text and "Found in mine 2.0." in text
    check("a_cause_of_ones_own_has_a_report", good, (got, text))
    got = judge.report("shows", *words)
    text = content(out).get("shows.md", b"").decode()
    check("an_own_list_adds_its_version", "Found in x 1.0; mine 2.0." in text, (got, text))
    code, text, _ = judge.report("--known", listed)
    good = code == 0 and re.search(r"^  own +defect +own fails$", text, re.M)
    check(
        "own_causes_are_listed", good and re.search(r"^  bare .*\(no script\)$", text, re.M), text
    )
    for name, more, message in (
        ("own", ["--known", "/nowhere"], "--known: cannot read /nowhere"),
        ("own", [], "there is no cause 'own'"),
        ("bare", words[:2], os.path.join(folder, "bare.py")),
        ("broken", words[:2], "cannot read the script"),
    ):
        got = judge.report(name, *more, *words[2:])
        good = got[0] == 2 and message in got[2] and "suite" not in got[2]
        check(
            f"{name}_with_{os.path.basename(more[-1]) if more else 'nothing'}_is_refused", good, got
        )
    write(os.path.join(folder, "own.md"), json.dumps({"causes": causes, "failures": []}))
    words = ["--known", os.path.join(folder, "own.md"), "--python", sys.executable]
    got = judge.report("own", *words, "--out", folder)
    check("the_list_is_not_overwritten", got[0] == 2 and "would overwrite" in got[2], got)


@with_judge
def test_a_python_without_the_package(judge, out):
    judge.environment["PYTHONPATH"] = out
    got = judge.report("shows", "--python", sys.executable, "--out", out)
    wanted = (f"--python: {sys.executable} (Python 3.", "lacks its-subject", " -m pip ")
    wanted += ("its-subject==1.0. Or name another Python.",)
    good = got[0] == 3 and all(words in got[2] for words in wanted)
    check("a_missing_package_is_named_with_what_to_do", good, got)
    done = subprocess.run(
        [COMMAND, "report", "deepspeed-step-in-constructor", "--python", sys.executable],
        **{"capture_output": True, "text": True, "cwd": ROOT, "env": judge.environment},
    )
    hint = "`sh conformance/subject.sh deepspeed-0.19.8` makes one"
    check("the_suite_can_make_the_environment", hint in done.stderr, done.stderr)


@with_judge
def test_errors(judge, out):
    for name, words, code, text in (
        ("an_unknown_cause", ["nothing"], 2, "there is no cause 'nothing'"),
        ("a_path_as_cause", ["../reports/shows"], 2, "there is no cause"),
        ("a_cause_without_script", ["designed"], 2, "(by design): there is no script"),
        (
            "a_cause_that_the_list_marks",
            ["designed"],
            2,
            'marks those that have none with "(no script)"',
        ),
        ("a_deadline_of_0", ["shows", "--deadline", "0"], 2, "above 0"),
        ("a_python_that_is_missing", ["shows", "--python", "/nowhere"], 3, "/nowhere"),
        ("a_python_that_fails", ["shows", "--python", "false"], 3, "--python: false"),
        ("a_folder_that_is_a_file", ["shows", "--out", __file__], 3, "File exists"),
        ("a_full_folder", ["shows", "--out", "/proc/self"], 3, "cannot write"),
    ):
        got = judge.report("--python", sys.executable, "--out", out, *words)
        good = got[0] == code and text in got[2] and "Traceback" not in got[2]
        good = good and (text != "cannot write" or "reproduced: got" in got[1])
        check(f"{name}_ends_with_{code}", good, got)
    got = judge.report("shows", "--python", sys.executable, "--out", out)
    good = re.search(r"running \S+shows\.py \(at most 300 s\)\n", got[2])
    check("the_script_that_runs_is_named_before", good, got)
    write(os.path.join(judge.folder, "reports", "shows.py"), 'print("no docstring")\n')
    got = judge.report("shows", "--python", sys.executable, "--out", out)
    check("a_script_without_requirements_is_refused", got[0] == 2 and "Requirements" in got[2], got)


def test_full_output():
    """Output that cannot be printed is an error."""
    for words in (["report"], ["report", "--json"], ["report", "--help"]):
        for to, what in ((">/dev/full", "No space left"), (">&-", "standard output")):
            argv = ["sh", "-c", f'exec "$@" {to}', "sh", COMMAND, *words]
            done = subprocess.run(argv, capture_output=True, text=True)
            good = done.returncode == 3 and what in done.stderr and done.stderr.count("\n") == 1
            check(f"{' '.join(words)}_{to}", good, (done.returncode, done.stderr))


def test_the_list_has_each_cause_with_its_title():
    done = subprocess.run([COMMAND, "report"], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    missing = [
        name
        for name, fields in committed_causes().items()
        if not any(line.startswith(f"  {name} ") and fields["title"] in line for line in lines)
    ]
    check("the_list_has_each_cause_with_its_title", done.returncode == 0 and not missing, missing)
    usage = any("zeroproof report CAUSE --python FILE" in line for line in lines[:4])
    check("the_list_has_a_hint", usage, lines[:5])
    subject, found = None, {}
    for line in lines[5:]:
        subject = line if line and line[0] != " " else subject
        found[line.split()[0] if line[:2] == "  " else None] = subject
    wrong = [name for name, c in committed_causes().items() if found.get(name) != c["subject"]]
    check("the_list_is_grouped_by_subject", not wrong, wrong)


def committed_causes():
    with open(os.path.join(CONFORMANCE, "known", "causes.json"), encoding="utf-8") as file:
        return json.load(file)["causes"]


def scripts():
    """{cause: (script, report)} of the committed files."""
    found = {}
    for name in sorted(os.listdir(REPORTS)):
        if name.endswith(".py"):
            texts = []
            for path in (name, name[:-3] + ".md"):
                with open(os.path.join(REPORTS, path), encoding="utf-8") as file:
                    texts.append(file.read())
            found[name[:-3]] = texts
    return found


def newest_lists():
    """The lists of known failures of the newest version of each subject, by file name."""
    newest = {}
    for name in os.listdir(os.path.join(CONFORMANCE, "known")):
        subject, _, version = name.removesuffix(".json").rpartition("-")
        key = [int(part) for part in version.split(".")] if subject else []
        if subject and key > newest.get(subject, ([], ""))[0]:
            newest[subject] = (key, name)
    return [name for _, name in newest.values()]


def test_each_defect_of_a_current_version_has_a_script():
    causes, present = committed_causes(), scripts()
    for name in newest_lists():
        with open(os.path.join(CONFORMANCE, "known", name), encoding="utf-8") as file:
            wanted = {entry["cause"] for entry in json.load(file)["failures"]}
        missing = [
            cause
            for cause in sorted(wanted)
            if causes[cause]["class"] == "defect" and cause not in present
        ]
        check(f"each_defect_of_{name}_has_a_script", not missing, missing)


def test_reports_are_current():
    """Each committed report has what the lists of known failures say of its cause."""
    causes = cause_report.Causes(None)
    for part, text_of in (
        ("title", lambda cause, f: f"# {f['subject']}: {f['title']}\n"),
        ("note", lambda cause, f: f"\n{cause_report.sentence(f['note'])}\n"),
        ("versions", lambda c, f: f" Found in {cause_report.text_of(causes.found_in(c))}.\n"),
        ("issue", lambda cause, f: f"Public issue: {f['issue']}" if "issue" in f else ""),
        ("state", lambda cause, f: f"{f['issue']} ({f['upstream']})" if "upstream" in f else ""),
    ):
        stale = [
            cause
            for cause, (_, report) in scripts().items()
            if text_of(cause, causes.all[cause]) not in report
        ]
        check(f"each_report_has_the_{part}_of_its_cause", not stale, stale)


def modules_of(text):
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            found.add(node.module.partition(".")[0])
    return found


def test_scripts():
    causes, violations = committed_causes(), {}
    for cause, (script, report) in scripts().items():
        foreign = modules_of(script) - MODULES - sys.stdlib_module_names
        [requirement] = re.findall(r"^Requirements: ([^= ]+)==([^ ]+[0-9])", script, re.M)
        lock = os.path.join(CONFORMANCE, "locks", "-".join(requirement) + ".txt")
        for law, good in (
            ("belongs_to_a_defect", causes.get(cause, {}).get("class") == "defect"),
            (f"has_at_most_{LINES}_lines", script.count("\n") <= LINES),
            ("imports_only_the_subject", not foreign),
            ("ends_after_100_seconds", "\nsignal.alarm(100)" in script),
            ("prints_a_verdict", '"reproduced:"' in script and '"not reproduced:"' in script),
            ("requires_a_locked_version", os.path.exists(lock)),
            ("is_in_its_report", f"```python\n{script}```\n" in report),
        ):
            violations.setdefault(law, []).extend([] if good else [cause])
    for law, found in violations.items():
        check(f"each_script_{law}", not found, found)


if __name__ == "__main__":
    sys.exit(
        main(
            test_the_exit_code_is_the_verdict,
            test_the_report_has_everything,
            test_json,
            test_versions,
            test_a_list_of_the_users_own,
            test_a_python_without_the_package,
            test_errors,
            test_full_output,
            test_the_list_has_each_cause_with_its_title,
            test_each_defect_of_a_current_version_has_a_script,
            test_reports_are_current,
            test_scripts,
        )
    )
