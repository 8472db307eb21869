"""The exceptions of a rule: tests/lint/exceptions/RULE.txt.

Its lines have the form `RULE PATH[:NAME] [xCOUNT] [reason]`.
A line allows exactly COUNT (1) violations. More are errors, and so are fewer: a list may only
shrink. It may not be longer than in the last commit or in its parent either."""

import os
import re
from collections import Counter

from common import run

FOLDER = "tests/lint/exceptions"


def path_of(rule):
    return f"{FOLDER}/{rule}.txt"


def parse(text, rule):
    """{key: (count, line number, reason)} and what is wrong with the file."""
    entries, errors, before = {}, [], ""
    for n, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\S+) (\S+)(?: x(\d+))?(?: (.*))?", line)
        if not match or match[1] != rule:
            errors.append((n, f"expected '{rule} PATH[:NAME] [xCOUNT] [reason]'"))
            continue
        if match[2] in entries:
            errors.append((n, f"{match[2]} is listed twice"))
        if match[2] <= before:
            errors.append((n, "the list is not sorted: run `make lint-update`"))
        before = match[2]
        entries[match[2]] = (int(match[3] or 1), n, match[4] or "")
    return entries, errors


def key_of(finding):
    return f"{finding.path}:{finding.name}".replace(" ", "_") if finding.name else finding.path


def judge(tree, rule, findings):
    """The lines to print for a rule: violations beyond the list, and lines that are not needed."""
    path = path_of(rule)
    entries, errors = parse(tree.text(path), rule)
    out = [f"{path}:{n}: {message}" for n, message in errors]
    counts = Counter(key_of(f) for f in findings)
    for key in dict.fromkeys(key_of(f) for f in findings):
        allowed = entries.get(key, (0, 0, ""))[0]
        if counts[key] > allowed:
            out += [message(f) for f in findings if key_of(f) == key]
            if allowed:
                out.append(f"  ({path} allows {allowed} of these {counts[key]})")
    for key, (allowed, n, _) in entries.items():
        if counts[key] == 0:
            out.append(f"{path}:{n}: remove this line: {key} no longer breaks the rule")
        elif counts[key] < allowed:
            out.append(f"{path}:{n}: write x{counts[key]} in place of x{allowed}: {key} improved")
    return out + grown(tree, rule, entries)


def message(f):
    where = f"{f.path}:{f.line}" if f.line else f.path
    return f"{where}: {f.rule}: {f.message}"


def total(entries):
    return sum(count for count, _, _ in entries.values())


def grown(tree, rule, entries):
    """An error where the list allows more than in the last commit or its parent."""
    if not os.path.exists(tree.at(".git")):
        return []
    for commit in ("HEAD", "HEAD^"):
        shown = run(["git", "-C", tree.root, "show", f"{commit}:{path_of(rule)}"])
        if shown.returncode:
            # The list of a rule without exceptions does not exist; a new rule may begin with one.
            rules = run(["git", "-C", tree.root, "show", f"{commit}:tests/lint/lint.py"])
            if rules.returncode or f'"{rule}"' not in rules.stdout:
                continue
        before = total(parse(shown.stdout if not shown.returncode else "", rule)[0])
        if total(entries) > before:
            return [
                f"{path_of(rule)}: the list allows {total(entries)} violations, {before} in "
                f"{commit}: remove the violation, not the error"
            ]
    return []


def update(tree, rule, findings):
    """Writes the list that fits the tree. Returns how many violations it allowed and allows."""
    path = tree.at(path_of(rule))
    entries, _ = parse(tree.text(path_of(rule)), rule)
    counts = Counter(key_of(f) for f in findings)
    lines = []
    for key in sorted(counts):
        count = f" x{counts[key]}" if counts[key] > 1 else ""
        reason = entries[key][2] if key in entries else ""
        lines.append(f"{rule} {key}{count}{' ' + reason if reason else ''}\n")
    if lines:
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(lines)
    elif os.path.exists(path):
        os.remove(path)
    return total(entries), sum(counts.values())
