"""Clause ids: those cited exist, and each clause is cited by code and by a test.

A clause is defined where its id opens a line of spec/*.md (after markup: # * - | >). Code cites it
anywhere in ref/, cuda/ and conformance/; tests in tests/. "PART-3 … PART-6" cites all of them. In a
comment "spec: …" every id must be a clause; elsewhere only ids with a clause's prefix are citations
(UTF-8 and AVX-512 are not). The linter itself is left out: its tests are full of made-up ids."""

import re

from common import Finding

ID = r"[A-Z][A-Z0-9]{1,7}-[0-9]+"
RANGE = re.compile(rf"({ID})(?: *… *((?:[A-Z][A-Z0-9]*-)?[0-9]+))?")
CODE, TESTS, PROOFS = ("ref", "cuda", "conformance"), ("tests",), ("proofs",)
CITING = (".c", ".h", ".inc", ".cu", ".sh", ".v", ".md", ".py")


def ids(text):
    """Every id in a text, ranges expanded."""
    for match in RANGE.finditer(text):
        prefix, first = match[1].rsplit("-", 1)
        last = int(match[2].rsplit("-", 1)[-1]) if match[2] else int(first)
        if last - int(first) > 99:
            last = int(first)
        for n in range(int(first), max(last, int(first)) + 1):
            yield f"{prefix}-{n}"


def clauses(tree):
    found = {}
    for path in tree.files:
        if re.fullmatch(r"spec/[^/]*\.md", path):
            for n, line in enumerate(tree.lines(path), 1):
                match = re.match(rf"[\]#*>|` -]*({ID})", line)
                if match:
                    found.setdefault(match[1], (path, n))
    return found


def citations(tree, folders, prefixes):
    """(path, line number, id) of every citation below the folders."""
    for path in tree.below(*folders):
        if not path.endswith(CITING) or path.startswith("tests/lint/"):
            continue
        text = tree.text(path)
        if not re.search(ID, text):
            continue
        for n, line in enumerate(text.split("\n"), 1):
            comment = line.split("spec: ", 1)
            strict = set(ids(comment[1])) if len(comment) > 1 else set()
            for cited in set(ids(line)):
                if cited in strict or cited.rsplit("-", 1)[0] in prefixes:
                    yield path, n, cited


def check(tree):
    known = clauses(tree)
    if not known:
        return [Finding("clause", "spec", 0, "spec/*.md defines no clause")]
    prefixes = {c.rsplit("-", 1)[0] for c in known}
    found = []
    cited = {}
    for kind, folders in (("code", CODE), ("test", TESTS), ("proof", PROOFS)):
        cited[kind] = set()
        for path, n, clause in citations(tree, folders, prefixes):
            cited[kind].add(clause)
            if clause not in known:
                text = f"{clause} is not a clause of spec/: correct the id"
                found.append(Finding("clause", path, n, text))
    for kind in ("code", "test"):
        for clause in sorted(set(known) - cited[kind]):
            path, n = known[clause]
            text = f"no {kind} cites {clause}: cite it where the {kind} keeps it"
            found.append(Finding("clause", path, n, text))
    return found
