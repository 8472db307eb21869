"""What is installed or downloaded comes from a lock file, with a hash."""

import re

from common import Finding

# They pass --require-hashes, --only-binary and --no-deps to pip, make the lock files, or write the
# command into a report for its reader.
HELPERS = (
    "conformance/locks/venv.sh",
    "conformance/locks/lock.sh",
    "python/zeroproof/_native.py",  # a message names the command
    "conformance/judge/tools.py",  # the same
    "cuda/wheel.sh",
    "conformance/judge/cause_report.py",
)
# A call of pip or uv, in a shell or as a list of Python strings, up to the end of the command.
CALL = re.compile(
    r"""(?<![\w.-])(?:pip[\d.]*|uv|pipx|easy_install)["']?[,\s][^;|&\n]*?(?<![\w-])
        (?:install|download|wheel|sync|run)(?![\w-])[^\n]*""",
    re.VERBOSE,
)
OTHER = re.compile(
    r"(?<![\w.-])(?:curl|wget|urlretrieve|urlopen|(?:conda|npm|cargo|gem|go)\s+install)(?![\w-])"
    r"|git\s+clone\s+\S*://|--(?:extra-)?index-url|--trusted-host"
)
LOCKED = re.compile(r"[a-z0-9.-]+==[\w.!+-]+( \\\n    --hash=sha256:[0-9a-f]{64})+\n")


def joined(text):
    """The text with continued lines of a shell and of a list of strings as one, and without
    comments; each keeps its number of lines."""
    text = re.sub(r"(?m)(^|[ \t])#([ \t].*)?$", "", text)
    return re.sub(r"(?:\\|(?<=[\w'\"]),)\n", lambda m: m[0].replace("\n", "\v"), text)


def pip_rule(tree):
    """No other file installs or downloads packages; without an index, a call downloads nothing."""
    found = []
    code = tree.ending(".sh", ".py", ".mk", "Makefile", ".yml", ".yaml") + tree.below(".ci")
    for path in (p for p in code if p not in HELPERS and not p.startswith("tests/lint/")):
        text = joined(tree.text(path))
        for match in [*CALL.finditer(text), *OTHER.finditer(text)]:
            if "--no-index" not in match[0]:
                line = 1 + len(re.findall("[\n\v]", text[: match.start()]))
                why = "use conformance/locks/venv.sh or cuda/wheel.sh, which check hashes"
                found.append(Finding("download", path, line, f"`{match[0][:60]}`: {why}"))
    return found


def lock_rule(tree):
    """Each line of a lock file is a pinned version with its hashes; indexes are the user's."""
    found = []
    for path in (p for p in tree.below("conformance/locks") if p.endswith(".txt")):
        text = re.sub(r"(?m)^#.*$", "#", tree.text(path))
        text = LOCKED.sub(lambda m: "#\n" * m[0].count("\n"), text)
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip("#"):
                why = f"expected NAME==VERSION with hashes, got '{line[:60]}'"
                found.append(Finding("lock", path, number, f"{why}: run conformance/locks/lock.sh"))
    return found
