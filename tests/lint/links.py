"""Relative links in Markdown: the file exists, a line number is in it, an anchor is a heading's or
an <a id="…">."""

import os
import re

from common import Finding

LINK = re.compile(r"\]\(<?([^()<>\s]+)>?\)|^\[[^\]]+\]: +(\S+)$", re.M)
# Broken on purpose, or with links that hold in the whole repository only.
SKIPPED = ("tests/lint/", "proofs/gate_tests/")


def without_code(text):
    """The text with code blanked out, so that it has no links there."""

    def blank(m):
        return re.sub(r"[^\n]", " ", m[0])

    text = re.sub(r"^(```|~~~).*?^\1", blank, text, flags=re.M | re.S)
    text = re.sub(r"(?:(?<=\n\n)|(?<=^))(?: {4}[^\n]*\n)+", blank, text)
    return re.sub(r"(?<!`)(`+)(?!`)([^`]|\n(?!\n))*?\1(?!`)", lambda m: keep(m, blank), text)


def keep(m, blank):
    """A code span is blanked out, unless it is the text of a link."""
    return m[0] if m.string[m.end() : m.end() + 2] == "](" else blank(m)


def slug(heading):
    """The anchor that GitHub makes of a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text):
    found = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    for m in re.finditer(r"^#{1,6} +(.*?)#* *$", text, re.M):
        name, n = slug(m[1]), 0
        while name + (f"-{n}" if n else "") in found:
            n += 1
        found.add(name + (f"-{n}" if n else ""))
    return found


def check(tree):
    found, known = [], {}

    def wrong(target, anchor):
        """What is wrong with a link to this file and anchor, or None."""
        if not os.path.exists(tree.at(target)):
            return "there is no such file"
        line = re.fullmatch(r"L(\d+)(?:-L(\d+))?", anchor)
        if line:
            last = int(line[2] or line[1])
            return f"there is no line {last}" if last > len(tree.lines(target)) else None
        if anchor and target.endswith(".md"):
            if target not in known:
                known[target] = anchors(tree.text(target))
            return None if anchor in known[target] else "there is no such heading"
        return None

    for path in tree.ending(".md"):
        if path.startswith(SKIPPED):
            continue
        text = without_code(tree.text(path))
        for m in LINK.finditer(text):
            link = m[1] or m[2]
            if re.match(r"[a-z]+:", link) or link.startswith("/"):
                continue
            file, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            why = wrong(target, anchor)
            if why:
                n = text.count("\n", 0, m.start()) + 1
                found.append(Finding("link", path, n, f"{link}: {why}"))
    return found
