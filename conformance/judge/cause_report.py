"""zeroproof report: from a cause to a report for the subject's maintainer.

Each cause of class "defect" has a script reports/CAUSE.py, which needs only the subject. Its
docstring says what happens; in the second paragraph, "Requirements: NAME==VERSION …." has the
versions in which it was found. The last line of its output and its exit code are its verdict:

    shows it: got X, expected Y            0
    does not show it: got Y, expected Y    3

The command runs the script, and writes a copy and a report in Markdown. Exit codes: 0 the script
shows the defect; 1 it does not; 2 invalid input; 3 the environment failed, such as a script that
ends in another way."""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile

import console
import files
import limits
import supervise
from report import printable
from tools import Broken, Refused

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
NAME = "zeroproof report"
SHOWN, MENDED = 0, 3  # exit codes of a script
VERDICTS = {SHOWN: "shows it: ", MENDED: "does not show it: "}
OUTPUT = 4 * 1024 * 1024  # bytes of a script's output that are read
# Prints what a script's environment has, as JSON: the versions of the packages in argv.
PROBE = """
import importlib.metadata, json, platform, sys
rows = [["Python", platform.python_version()]]
rows += [[name, importlib.metadata.version(name)] for name in sys.argv[1:]]
print(json.dumps(rows + [["system", platform.system() + " " + platform.machine()]]))
"""


def arguments():
    parser = console.Parser(
        formatter_class=console.Help,
        prog=NAME,
        description="Writes a bug report for the maintainer of a subject: CAUSE.md, and CAUSE.py, "
        "a script that needs only the subject. Without CAUSE, lists the causes.",
        epilog="Exit codes: 0 the script shows the defect; 1 it does not: this version does not "
        "have it (the script itself ends with 3); 2 invalid input; 3 the environment failed.",
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


def causes():
    return files.read_json(os.path.join(ROOT, "known", "causes.json"), limits.LIST)["causes"]


def script_of(cause):
    return os.path.join(ROOT, "reports", f"{cause}.py")


def versions_of(cause):
    """The lists of known failures (a subject and its version) that have the cause."""
    found = []
    for name in sorted(os.listdir(os.path.join(ROOT, "known"))):
        listed = files.read_json(os.path.join(ROOT, "known", name), limits.LIST)
        if any(entry.get("cause") == cause for entry in listed.get("failures", [])):
            found.append(name.removesuffix(".json"))
    return found


class Script:
    """A script, and what its docstring says."""

    def __init__(self, cause):
        self.name = script_of(cause)
        self.text = files.read_whole(self.name, limits.LIST).decode("utf-8")
        doc = (ast.get_docstring(ast.parse(self.text)) or "").replace("\n", " ")
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
    """[(name, version)] of the script's environment."""
    wanted = [name for name, _ in script.requirements]
    code, out, err = output_of([python, "-c", PROBE, *wanted], 60)
    if code != 0:
        raise Broken(f"--python: {python}: {last_line(err) or 'ended without an error message'}")
    return json.loads(last_line(out))


def last_line(text):
    return text.splitlines()[-1] if text else ""


def run(python, script, deadline):
    """(whether the script shows the defect, the end of its output)."""
    code, out, err = output_of([python, "-B", script.name], deadline)
    if code is None:
        raise Broken(f"{script.name} did not end within {deadline:g} s")
    if code not in VERDICTS or not last_line(out).startswith(VERDICTS[code]):
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        raise Broken(f"{script.name} ended without a verdict ({how}): {last_line(err or out)}")
    return code == SHOWN, out.splitlines()[-2:]


def consequence(fields, script, verdict):
    if fields["title"].startswith("race:"):
        return "On a GPU, results may be wrong, depending on timing. No error is reported."
    if re.search(r"\bhangs?\b", script.what):
        return "The run hangs."
    if re.search(r"^shows it: got \w*(Error|Exception)\b", verdict):
        return "The run ends with an error."
    return "Results are wrong, and no error is reported."


def markdown(cause, fields, script, output, rows):
    """The report."""
    file = os.path.basename(script.name)
    found = versions_of(cause)
    lines = [
        f"# {fields['subject']}: {fields['title']}",
        "",
        "## What happens",
        "",
        f"{script.what} {script.details}",
        "",
        f"    {output[-1]}",
        "",
        "## Why it matters",
        "",
        consequence(fields, script, output[-1])
        + (f" Found in {', '.join(found)}." if found else ""),
        "",
        "## How to run",
        "",
        f"Install {' '.join('=='.join(pair) for pair in script.requirements)}, then:",
        "",
        f"    python {file}",
        "",
        "It needs no GPU. Exit code 0: it shows the defect; 3: this version has mended it.",
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
        fields["note"][:1].upper() + fields["note"][1:] + ".",
    ]
    if fields.get("issue"):
        lines += ["", f"Public issue: {fields['issue']}"]
    lines += ["", "## Script", "", "```python", script.text.rstrip(), "```", ""]
    return "\n".join(lines)


def write(folder, cause, text, script):
    """Writes CAUSE.md and CAUSE.py, unless that is the script itself."""
    os.makedirs(folder, exist_ok=True)
    copy = os.path.join(folder, f"{cause}.py")
    wanted = [(os.path.join(folder, f"{cause}.md"), [text])]
    if not files.same(copy, script.name):
        wanted.append((copy, [script.text]))
    files.write_all(wanted)
    return [name for name, _ in wanted]


def show(value, as_json):
    """Prints JSON, or lines of text."""
    text = json.dumps(value, ensure_ascii=False, indent=1) if as_json else printable(value)
    console.put([text, "\n"])


def list_causes(as_json):
    rows = [
        {"cause": cause, **fields, "script": os.path.exists(script_of(cause))}
        for cause, fields in causes().items()
    ]
    width = max(len(row["cause"]) for row in rows)
    lines = (
        f"{row['cause']:<{width}}  {row['class']}: {row['title']}"
        + ("" if row["script"] else " (no script)")
        for row in rows
    )
    show({"causes": rows} if as_json else "\n".join(lines), as_json)
    return 0


def report(options):
    fields = causes().get(options.cause)
    if fields is None:
        raise Refused(f"there is no cause '{options.cause}'. `{NAME}` lists them.")
    if not os.path.exists(script_of(options.cause)):
        raise Refused(
            f"{options.cause} ({fields['class']}) has no script, so no report can be written; "
            f"`{NAME}` lists the causes that have one"
        )
    script = Script(options.cause)
    rows = environment(options.python, script)
    shown, output = run(options.python, script, options.deadline)
    written = []
    if not options.json:  # before the files, which may fail
        show("\n".join([f"{options.cause}: {fields['title']}", *output]), False)
    try:
        if shown:
            text = markdown(options.cause, fields, script, output, rows)
            written = write(options.out, options.cause, text, script)
    finally:
        if options.json:
            result = {"cause": options.cause, **fields, "shown": shown, "output": output}
            show({**result, "environment": dict(rows), "files": written}, True)
    if written and not options.json:
        show("\n".join(written), False)
    return 0 if shown else 1


def main():
    options = arguments()
    try:
        return report(options) if options.cause else list_causes(options.json)
    except Refused as error:
        console.show_error(f"{NAME}: {error}")
        return 2
    except Broken as error:
        console.show_error(f"{NAME}: {error}")
        return 3


if __name__ == "__main__":
    sys.exit(console.guarded(NAME, main))
