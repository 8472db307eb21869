"""Writes into spec/*.md, after each clause, the claims that cite it: a line `*Claims:* [3.30], …`.
The links' targets are in a block at the end of each file. `make claims` writes both."""

import glob
import os
import re
import textwrap

import project as pj

BEGIN, END = "<!-- links to claims: made by `make claims` -->", "<!-- end of claims -->"
CLAUSE = re.compile(r"(?:[-*>|] +)?\*\*([A-Z][A-Z0-9]{1,7}-\d+)\*\*")
MARK = "*Claims:*"
COLUMNS = 120


def order(claim):
    return [int(n) for n in claim.split(".")]


def page_of(claim):
    """The claim's place in the pages of proofs/claims."""
    return f"{claim.split('.')[0]}.md#{claim.replace('.', '')}"


def clauses(text):
    """{clause: line number}; a clause is defined where its id opens a line in bold."""
    found = {}
    for n, line in enumerate(text.split("\n"), 1):
        m = CLAUSE.match(line)
        if m:
            found.setdefault(m[1], n)
    return found


def bare(text):
    """The text as people wrote it."""
    text = text.partition(BEGIN)[0]
    kept, inside = [], False
    for line in text.split("\n"):
        inside = line.startswith(MARK) or (inside and re.match(r"\[\d+\.\d+\]", line))
        if not inside:
            kept.append(line)
    return "\n".join(kept).rstrip("\n") + "\n"


def line_of(claims):
    links = ", ".join(f"[{c}]" for c in claims) or "none"
    return textwrap.wrap(f"{MARK} {links}", COLUMNS, break_long_words=False, break_on_hyphens=False)


def linked(text, citing):
    """The text with the claims of each clause; citing: {clause: ids of claims}."""
    lines, out, at, cited = bare(text).split("\n"), [], None, set()

    def close():
        nonlocal at
        if at is None:
            return
        blank = len(out)
        while blank and not out[blank - 1].strip():
            blank -= 1
        claims = sorted(citing.get(at, ()), key=order)
        cited.update(claims)
        apart = [""] if out[blank - 1].startswith((" ", "|")) else []
        out[blank:blank] = apart + line_of(claims)
        at = None

    for line in lines:
        m = CLAUSE.match(line)
        if m or line.startswith("#"):
            close()
        if m:
            at = m[1]
        out.append(line)
    close()
    return with_targets("\n".join(out), cited, "../proofs/claims")


def with_targets(text, claims, folder):
    """The text with the targets of links [3.30] to these claims at its end."""
    targets = [f"[{c}]: {folder}/{page_of(c)}" for c in sorted(claims, key=order)]
    block = ["", BEGIN, *targets, END, ""] if targets else []
    return text.rstrip("\n") + "\n" + "\n".join(block)


def pages(project, citing):
    """{file: its text with the claims} of all files that define clauses."""
    found = {}
    for file in sorted(glob.glob("spec/*.md", root_dir=project.root)):
        text = pj.read(os.path.join(project.root, file))
        if clauses(text):
            found[file] = linked(text, citing)
    return found
