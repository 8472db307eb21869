"""The table of SOUNDNESS.md with what each promise of the README rests on. `make claims` writes the
targets of its links [3.30]. A row must list every assumption of the claims that it cites."""

import os
import re

import clause_links
import project as pj

FILE = "SOUNDNESS.md"
CITED = re.compile(r"\[(\d\.\d+)\](?![(:])")


def pages(c):
    """{FILE: its text}; c: claims.Claims."""
    path = c.project.path(FILE)
    if not os.path.exists(path):
        return {}
    text = clause_links.bare(pj.read(path))
    assumed = {x.get("id"): set(x.get("assumptions", [])) for x in c.claims}
    cited = set(CITED.findall(text))
    for claim in sorted(cited - set(assumed), key=clause_links.order):
        c.wrong({"id": claim}, f"{FILE} cites it, and it does not exist")
    for line in text.split("\n"):
        cells = line.split(" | ")
        if line.startswith("| ") and len(cells) == 4:
            needed = {a for x in CITED.findall(cells[1]) for a in assumed.get(x, ())}
            for a in sorted(needed - set(re.findall(r"[A-Z]-\d+", cells[2]))):
                c.wrong(
                    {"id": "promises"},
                    f"{FILE}: the row of '{cells[0][2:]}' lacks {a}",
                    "assumption-unlisted",
                )
    return {FILE: clause_links.with_targets(text, cited & set(assumed), "proofs/claims")}
