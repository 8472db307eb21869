"""zeroproof report: from a cause to a report for the subject's maintainer.

Each cause of class "defect" has a script reports/CAUSE.py, which needs only the subject; for a
cause of the user's list (--known FILE) it is CAUSE.py beside FILE. Its docstring says what happens;
in the second paragraph, "Requirements: NAME==VERSION …." has the versions in which it was found,
and the text after that says what the script does. The last line of its output and its exit code are
its verdict:

    reproduced: got X, expected Y        0
    not reproduced: got Y, expected Y    3

The command runs the script, and writes a copy and a report in Markdown. Exit codes: 0 the defect is
reproduced; 1 it is not; 2 invalid input; 3 the environment failed, such as a script that ends in
another way."""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile

import console
import files
import known
import limits
import supervise
from report import printable, sentence
from tools import Broken, Refused

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
NAME = "zeroproof report"
REPRODUCED, FIXED = 0, 3  # exit codes of a script
VERDICTS = {REPRODUCED: "reproduced: ", FIXED: "not reproduced: "}
OUTPUT = 4 * 1024 * 1024  # bytes of a script's output that are read
# Prints what a script's environment has, as JSON: the versions of the packages in argv, null if one
# is missing.
PROBE = """
import importlib.metadata, json, platform, sys
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
rows = [["Python", platform.python_version()]]
rows += [[name, version(name)] for name in sys.argv[1:]]
print(json.dumps(rows + [["system", platform.system() + " " + platform.machine()]]))
"""


def arguments():
    parser = console.Parser(
        formatter_class=console.Help,
        prog=NAME,
        description="Writes a bug report for the maintainer of a subject: CAUSE.md, and CAUSE.py, "
        "a script that needs only the subject. Without CAUSE, lists the causes.",
        epilog="Exit codes: 0 the script reproduces the defect; 1 it does not, because the "
        "installed version does not have it (the script itself ends with 3); 2 invalid input; 3 "
        "the environment failed.",
    )
    parser.add_argument(
        "cause", metavar="CAUSE", nargs="?", help="a cause; without it, they are listed"
    )
    parser.add_argument(
        "--python",
        metavar="FILE",
        default="python3",
        help="the Python that has the subject (python3)",
    )
    parser.add_argument(
        "--known",
        metavar="FILE",
        help="a list of known failures with causes of your own; the script of such a cause is "
        "CAUSE.py beside FILE",
    )
    parser.add_argument("--out", metavar="DIR", default=".", help="where to write the files (.)")
    parser.add_argument(
        "--deadline",
        metavar="T",
        type=console.within(float, 0, limits.SECONDS, above=True),
        default=300,
        help="time limit for the script in seconds (300)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser.parse_args()


class Causes:
    """The causes of the suite, and those of the user's list."""

    def __init__(self, listed):
        self.file = listed
        self.folder = os.path.join(ROOT, "known")
        self.all = known.read_causes(os.path.join(self.folder, "causes.json"))
        self.own = known.causes_of(listed, known.load(listed, "known")) if listed else {}
        self.all.update(self.own)

    def script(self, cause):
        """The file name of a cause's script, which may not exist."""
        folder = os.path.dirname(self.file) if cause in self.own else os.path.join(ROOT, "reports")
        return os.path.join(folder, f"{cause}.py")

    def has_script(self, cause):
        return os.path.exists(self.script(cause))

    def found_in(self, cause):
        """{program: its versions in which the cause was found}, from the lists of known
        failures."""
        names = sorted(os.path.join(self.folder, name) for name in os.listdir(self.folder))
        found = {}
        for name in [*names, *([self.file] if self.file else [])]:
            failures = files.read_json(name, limits.LIST).get("failures", [])
            if any(entry["cause"] == cause for entry in failures):
                program, version = subject_of(name)
                found.setdefault(program, []).append(version)
        return found


def subject_of(listed):
    """(name, version) of the subject of a list: those of the list of what it supports, or else the
    parts of the file name."""
    name = os.path.basename(listed)
    support = os.path.join(ROOT, "support", name)
    if os.path.exists(support):
        fields = known.load(support, "support")
        return fields["name"], bare(fields["version"])
    program, _, version = name.removesuffix(".json").rpartition("-")
    return (program, version) if program else (version, "")


def bare(version):
    """A version without its build tag."""
    return version.partition("+")[0]


def text_of(found):
    """The programs and versions of found_in()."""
    return "; ".join(
        f"{program} {', '.join(versions)}".rstrip() for program, versions in found.items()
    )


class Script:
    """A script, and what its docstring says."""

    def __init__(self, name):
        self.name = name
        try:
            self.text = files.read_whole(name, limits.LIST).decode("utf-8")
            doc = (ast.get_docstring(ast.parse(self.text)) or "").replace("\n", " ")
        except (OSError, ValueError, SyntaxError) as error:
            raise Refused(f"cannot read the script {name}: {error}") from None
        found = re.search(r"Requirements: (\S+==\S+(?: \S+==\S+)*)\. (.*)", doc)
        if not found:
            raise Refused(f"{self.name}: its docstring lacks 'Requirements: NAME==VERSION. …'")
        packages, self.details = found.groups()
        self.what = doc.partition("  ")[0]
        self.requirements = [word.split("==") for word in packages.split()]


def output_of(argv, deadline):
    """(exit code, standard output, standard error) of a program; the code is None if it did not end
    in time."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = supervise.Process(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        except OSError as error:
            raise Broken(f"cannot start {argv[0]}: {error.strerror or error}") from None
        try:
            code = process.wait(deadline)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            process.close()
        return code, *(end_of(file) for file in (out, err))


def end_of(file):
    """The end of a file as text."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - OUTPUT))
    return file.read().decode("utf-8", "replace").rstrip()


def environment(python, script):
    """[(name, version)] of the script's environment, which has what the script requires."""
    wanted = [name for name, _ in script.requirements]
    code, out, err = output_of([python, "-c", PROBE, *wanted], 60)
    if code != 0:
        raise Broken(f"--python: {python}: {last_line(err) or 'ended without an error message'}")
    rows = json.loads(last_line(out))
    missing = [name for name, version in rows if version is None]
    if missing:
        raise Broken(
            f"--python: {python} (Python {rows[0][1]}) lacks {' and '.join(missing)}, which the "
            f"script needs. Install: {python} -m pip install {pinned(script.requirements)}. Or "
            "name another Python" + suggestion(script)
        )
    return rows


def suggestion(script):
    """How to make the Python that the suite uses, if the script belongs to the suite."""
    maker = os.path.join(ROOT, "subject.sh")
    if os.path.dirname(script.name) != os.path.join(ROOT, "reports") or not os.path.exists(maker):
        return "."
    name = "-".join(script.requirements[0])
    return f"; `sh {os.path.relpath(maker)} {name}` makes one and prints its name."


def pinned(packages):
    """The arguments of `pip install`."""
    return " ".join(f"{name}=={bare(version)}" for name, version in packages)


def last_line(text):
    return text.splitlines()[-1] if text else ""


def run(python, script, deadline):
    """(whether the script reproduces the defect, the end of its output)."""
    code, out, err = output_of([python, "-B", script.name], deadline)
    if code is None:
        raise Broken(f"{script.name} did not end within {deadline:g} s")
    if code not in VERDICTS or not last_line(out).startswith(VERDICTS[code]):
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        raise Broken(f"{script.name} ended without a verdict ({how}): {last_line(err or out)}")
    return code == REPRODUCED, out.splitlines()[-2:]


def consequence(fields, script, verdict):
    if fields["title"].startswith("race:"):
        return "On a GPU, results may be wrong, depending on timing. No error is reported."
    if re.search(r"\bhangs?\b", script.what):
        return "The run hangs."
    if re.search(r"^reproduced: got \w*(Error|Exception)\b", verdict):
        return "The run ends with an error."
    return "Results are wrong, and no error is reported."


def is_new(rows, script, found):
    """True if the script ran with a version in which the cause has not been found before."""
    name, before = script.requirements[0]
    seen = {before, *(version for versions in found.values() for version in versions)}
    return bare(dict(rows)[name]) not in seen


def installed(rows, script):
    """The installed versions of the packages that the script requires."""
    return [(name, dict(rows)[name]) for name, _ in script.requirements]


def history(rows, script, found):
    """Where the cause was found, and whether this report is of a further version."""
    text = f" Found in {text_of(found)}." if found else ""
    if is_new(rows, script, found):
        name, version = installed(rows, script)[0]
        text += f" This report was made with {name} {version}, for which the cause is not listed."
    return text


def markdown(cause, fields, script, output, rows, found):
    """The report."""
    file = os.path.basename(script.name)
    lines = [
        f"# {fields['subject']}: {fields['title']}",
        "",
        "## What happens",
        "",
        script.what,
        "",
        f"The script below shows this. {script.details}",
        "",
        f"    {output[-1]}",
        "",
        "## Why it matters",
        "",
        consequence(fields, script, output[-1]) + history(rows, script, found),
        "",
        "## How to run",
        "",
        f"Install {pinned(installed(rows, script))}, then:",
        "",
        f"    python {file}",
        "",
        "It needs no GPU. Exit code 0: the defect is reproduced; 3: it is not, so the installed "
        "version does not have it.",
        "",
        "## Output",
        "",
        *(f"    {line}" for line in output),
        "",
        "## Environment",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {version} |" for name, version in rows),
        "",
        "## Suspected cause",
        "",
        sentence(fields["note"]),
    ]
    if fields.get("issue"):
        state = f" ({fields['upstream']})" if fields.get("upstream") else ""
        lines += ["", f"Public issue: {fields['issue']}{state}"]
    lines += ["", "## Script", "", "```python", script.text.rstrip(), "```", ""]
    return "\n".join(lines)


def write(folder, cause, text, script, listed):
    """Writes CAUSE.md and CAUSE.py, unless that is the script itself. listed: the file of
    --known."""
    os.makedirs(folder, exist_ok=True)
    copy = os.path.join(folder, f"{cause}.py")
    wanted = [(os.path.join(folder, f"{cause}.md"), [text])]
    if not files.same(copy, script.name):
        wanted.append((copy, [script.text]))
    for name, _ in wanted:
        if listed and files.same(name, listed):
            raise Refused(f"--out {folder} would overwrite --known {listed}")
    files.write_all(wanted)
    return [name for name, _ in wanted]


def show(value, as_json):
    """Prints JSON, or lines of text."""
    text = json.dumps(value, ensure_ascii=False, indent=1) if as_json else printable(value)
    console.put([text, "\n"])


def list_causes(causes, as_json):
    rows = [
        {"cause": cause, **fields, "script": causes.has_script(cause)}
        for cause, fields in causes.all.items()
    ]
    if as_json:
        show({"causes": rows}, True)
        return 0
    lines = []
    for subject in sorted({row["subject"] for row in rows}, key=str.lower):
        mine = [row for row in rows if row["subject"] == subject]
        wide, narrow = (max(len(row[name]) for row in mine) for name in ("cause", "class"))
        lines += ["", subject]
        lines += [
            f"  {row['cause']:<{wide}}  {row['class']:<{narrow}}  {row['title']}"
            + ("" if row["script"] else " (no script)")
            for row in mine
        ]
    intro = [
        "Causes of known failures. With a Python that has the subject,",
        f"    {NAME} CAUSE --python FILE",
        "runs the script of a cause, and writes CAUSE.md, a bug report for the maintainer. For",
        "each subject: the cause, its class, and what goes wrong.",
    ]
    show("\n".join([*intro, *lines]), False)
    return 0


def report(options, causes):
    cause = options.cause
    fields = causes.all.get(cause)
    if fields is None:
        raise Refused(
            f"there is no cause '{cause}'. `{NAME}` lists them; --known FILE adds your own."
        )
    if not causes.has_script(cause):
        raise Refused(
            f"{cause}: {fields['title']} ({fields['class']}): there is no script "
            f"{causes.script(cause)}, so no report can be written. `{NAME}` lists all causes, and "
            'marks those that have none with "(no script)".'
        )
    script = Script(causes.script(cause))
    rows = environment(options.python, script)
    console.show_error(f"{NAME}: running {script.name} (at most {options.deadline:g} s)")
    shown, output = run(options.python, script, options.deadline)
    found, written = causes.found_in(cause), []
    if not options.json:  # before the files, which may fail
        show("\n".join([f"{cause}: {fields['title']}", *output]), False)
    try:
        if shown:
            text = markdown(cause, fields, script, output, rows, found)
            written = write(options.out, cause, text, script, options.known)
    finally:
        if options.json:
            result = {"cause": cause, **fields, "found_in": found, "shown": shown}
            result |= {"output": output, "environment": dict(rows), "files": written}
            show(result, True)
    if not options.json:
        show("\n".join(f"wrote {name}" for name in written) or without(rows, script, found), False)
    return 0 if shown else 1


def without(rows, script, found):
    """What it means that a script does not reproduce a defect."""
    here = ", ".join(" ".join(pair) for pair in installed(rows, script))
    before = f" It was found in {text_of(found)}." if found else ""
    return f"{here}: the defect does not occur, so no report is written.{before}"


def main():
    options = arguments()
    try:
        causes = Causes(options.known)
        return report(options, causes) if options.cause else list_causes(causes, options.json)
    except Refused as error:
        console.show_error(f"{NAME}: {error}")
        return 2
    except Broken as error:
        console.show_error(f"{NAME}: {error}")
        return 3


if __name__ == "__main__":
    sys.exit(console.guarded(NAME, main))
