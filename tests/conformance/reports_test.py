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

CONFORMANCE = os.path.join(ROOT, "conformance")
REPORTS = os.path.join(CONFORMANCE, "reports")
LINES = 40  # of a script, at most
MODULES = {"torch", "deepspeed", "megatron", "megatron_fsdp"}
# Defects without a script so far.
WITHOUT_SCRIPTS = re.compile("megatron-fsdp-reduces-twice|paddle-|colossalai-")
DOC = '"""It fails.\n\nRequirements: its-subject==1.0. Printed: a number."""\n'
# A script's code -> (exit code of the command, part of its message)
ENDINGS = {
    "shows": ('print("noise")\nprint("shows it: got 1, expected 2")', 0, "got 1, expected 2"),
    "mended": ('print("does not show it: got 2, expected 2")\nexit(3)', 1, "does not show it"),
    "raises": ("1 / 0", 3, "ended without a verdict (exit code 1): ZeroDivisionError"),
    "silent": ("", 3, "ended without a verdict (exit code 0)"),
    "disagrees": ('print("does not show it: got 2, expected 2")', 3, "ended without a verdict"),
    "lies": ('print("shows it: got 1, expected 2")\nexit(3)', 3, "ended without a verdict"),
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
        for name in ("known", "reports"):
            os.mkdir(os.path.join(self.folder, name))
        causes = causes_of(ENDINGS)
        causes["designed"] = {**causes["shows"], "class": "by design", "documented": "there"}
        causes["shows"]["issue"] = "https://example.org/1"
        write(os.path.join(self.folder, "known", "causes.json"), json.dumps({"causes": causes}))
        entry = {"cause": "shows", "clause": "RED-2", "kind": "ratio", "needs": []}
        write(os.path.join(self.folder, "known", "x-1.0.json"), json.dumps({"failures": [entry]}))
        for name, (code, _, _) in ENDINGS.items():
            write(os.path.join(self.folder, "reports", f"{name}.py"), DOC + code + "\n")
        os.makedirs(os.path.join(folder, "its_subject-1.2.dist-info"))
        metadata = "Metadata-Version: 2.1\nName: its-subject\nVersion: 1.2\n"
        write(os.path.join(folder, "its_subject-1.2.dist-info", "METADATA"), metadata)
        self.environment = {**os.environ, "PYTHONPATH": folder}

    def report(self, *words):
        program = os.path.join(self.folder, "judge", "cause_report.py")
        argv = [sys.executable, "-B", program, *words]
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=300, env=self.environment
        )
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
        "It fails. Printed: a number.",
        "got 1, expected 2",
        "Results are wrong, and no error is reported. Found in x-1.0.",
        "Install its-subject==1.0, then:\n\n    python shows.py\n",
        "    noise\n    shows it:",
        "| its-subject | 1.2 |",
        "Why.\n\nPublic issue: https://example.org/1",
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
    code, text, _ = judge.report("mended", "--json", "--python", sys.executable, "--out", out)
    check("json_says_mended", code == 1 and json.loads(text)["shown"] is False, text)
    code, text, _ = judge.report("--json")
    listed = {row["cause"]: row["script"] for row in json.loads(text)["causes"]}
    check("json_lists_the_causes", code == 0 and listed["shows"] and not listed["designed"], text)


@with_judge
def test_errors(judge, out):
    for name, words, code, text in (
        ("an_unknown_cause", ["nothing"], 2, "there is no cause 'nothing'"),
        ("a_path_as_cause", ["../reports/shows"], 2, "there is no cause"),
        ("a_cause_without_script", ["designed"], 2, "(by design) has no script"),
        ("a_deadline_of_0", ["shows", "--deadline", "0"], 2, "above 0"),
        ("a_python_that_is_missing", ["shows", "--python", "/nowhere"], 3, "/nowhere"),
        ("a_python_that_fails", ["shows", "--python", "false"], 3, "--python: false"),
        ("a_folder_that_is_a_file", ["shows", "--out", __file__], 3, "File exists"),
        ("a_full_folder", ["shows", "--out", "/proc/self"], 3, "cannot write"),
    ):
        got = judge.report("--python", sys.executable, "--out", out, *words)
        good = got[0] == code and text in got[2] and "Traceback" not in got[2]
        good = good and (text != "cannot write" or "shows it: got" in got[1])
        check(f"{name}_ends_with_{code}", good, got)
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
        if not any(line.startswith(name) and fields["title"] in line for line in lines)
    ]
    check("the_list_has_each_cause_with_its_title", done.returncode == 0 and not missing, missing)


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
            if causes[cause]["class"] == "defect"
            and cause not in present
            and not WITHOUT_SCRIPTS.match(cause)
        ]
        check(f"each_defect_of_{name}_has_a_script", not missing, missing)


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
            test_errors,
            test_full_output,
            test_the_list_has_each_cause_with_its_title,
            test_each_defect_of_a_current_version_has_a_script,
            test_scripts,
        )
    )
