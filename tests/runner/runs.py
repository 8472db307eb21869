"""Writes a table of measured runs into tests/RUNS.md.

COMMAND | python3 tests/runner/runs.py NAME replaces what is between the lines "<!-- NAME: … -->"
and "<!-- end of NAME -->" by its standard input, with the date and the commit, and prints it. Exit
codes: 0; 2 if the file has no such lines or the input is empty.
"""

import datetime
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILE = os.path.join(ROOT, "tests", "RUNS.md")


def commit():
    """The commit, with "edited" if files differ from it; "unknown" outside a repository."""
    command = ["git", "-C", ROOT, "describe", "--always", "--dirty=, edited", "--exclude=*"]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    return child.stdout.strip() or "unknown"


def put(document, name, table, note):
    """The document with the table in the place of its name, or None if it has no such place."""
    begin, end = rf"<!-- {re.escape(name)}: [^\n]* -->\n", rf"<!-- end of {re.escape(name)} -->"
    place = re.compile(f"({begin}).*?({end})", re.S)
    if not place.search(document):
        return None
    text = f"\n{note}\n\n{table.strip()}\n\n"
    return place.sub(lambda m: m[1] + text + m[2], document)


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    name, table = sys.argv[1], sys.stdin.read()
    print(table, end="")
    with open(FILE, encoding="utf-8") as document:
        text = document.read()
    note = f"Measured on {datetime.date.today()}, commit {commit()}."
    text = put(text, name, table, note) if table.strip() else None
    if text is None:
        why = "standard input is empty" if not table.strip() else f"{FILE} has no place for it"
        print(f"runs.py: {name} is not written: {why}", file=sys.stderr)
        return 2
    temporary = FILE + ".new"
    with open(temporary, "w", encoding="utf-8") as document:
        document.write(text)
    os.replace(temporary, FILE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
