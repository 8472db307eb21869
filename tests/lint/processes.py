"""Processes are started in one place only, so that each ends when its parent ends."""

import re

from common import Finding

PLACE = "ref/base/child.c"
FOLDERS = ("ref/", "cuda/", "conformance/")
CALL = re.compile(r"\b(v?fork|clone|popen|system|daemon|posix_spawnp?)\s*\(")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def check(tree):
    found = []
    for path in tree.ending(".c", ".h", ".inc", ".cu", ".cpp"):
        if path == PLACE or not path.startswith(FOLDERS):
            continue
        text = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), tree.text(path))
        for match in CALL.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            why = f"{match[1]}() starts a process that may outlive its parent: use {PLACE}"
            found.append(Finding("process", path, line, why))
    return found
