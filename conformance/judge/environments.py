"""The rows of subjects.txt: the subjects of the suite, and the environments of subject.sh."""

import os
import re

CONFORMANCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGES = {"megatron": "megatron-core", "paddle": "paddlepaddle"}  # by module, if names differ
MISSING = re.compile(r"ModuleNotFoundError: No module named '([^'.]+)")


def rows():
    """[subject, environment or "-", adapter, name of its lists, command] of each subject."""
    name = os.path.join(CONFORMANCE, "subjects.txt")
    if not os.path.exists(name):
        return []
    with open(name, encoding="utf-8") as file:
        return [line.split() for line in file if line.strip() and not line.startswith("#")]


def hint(command, errors):
    """What to do about a module that the adapter's Python lacks: a line, or "" if no environment of
    subjects.txt has it. The newest version is the last one."""
    module = MISSING.search(errors)
    if not module:
        return ""
    package = PACKAGES.get(module[1], module[1].replace("_", "-"))
    listed = [row[1] for row in rows()]
    own = [row[1] for row in rows() if f"adapters/{row[2]}" in command]
    having = [environment for environment in listed if environment.rpartition("-")[0] == package]
    if not own and not having:
        return ""
    return (
        f"\n  The adapter's Python lacks {module[1]}. "
        f"`sh conformance/subject.sh {[*having, *own][-1]}` makes an environment that has it, and "
        "prints its Python, which starts the command of --adapter"
    )
