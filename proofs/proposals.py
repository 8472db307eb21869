"""Proposes mutants: changes of single tokens in a unit's functions."""

import re

import csource
import project as pj

SWAPS = [
    ("<=", "<"),
    (">=", ">"),
    ("==", "!="),
    ("!=", "=="),
    ("&&", "||"),
    ("||", "&&"),
    ("++", "--"),
    ("+=", "-="),
    ("-=", "+="),
    ("+", "-"),
    ("-", "+"),
    ("*", "+"),
    ("/", "*"),
    ("%", "/"),
    ("<", "<="),
    (">", ">="),
]
TOKEN = re.compile(r"<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|\+=|-=|\*=|/=|->|[A-Za-z_]\w*|\d\w*|\S|\s+")


def proposals(plan, u, only):
    """Single-token changes in the bodies of the unit's functions (not in annotations)."""
    text = pj.read(plan.project.path(u.file))
    lines = text.split("\n")
    places = sorted(
        (at, n)
        for (p, n), at in csource.functions(plan.project.root, u.file).items()
        if p == u.file
    )
    blank = re.sub(r"/\*(?:.|\n)*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    for i, (at, name) in enumerate(places):
        if name not in plan.functions[u.name] or (only and name != only):
            continue
        last = places[i + 1][0] if i + 1 < len(places) else len(lines) + 1
        inside = False
        for n in range(at, last):
            code = blank.split("\n")[n - 1]
            if not inside:
                inside = "{" in code
                continue
            column = 0
            for token in TOKEN.findall(code):
                new = dict(SWAPS).get(token)
                if token.isdigit():
                    new = str(int(token) + 1)
                if new and not (
                    token == "*" and re.search(r"(int\w*|\w+_t|zp_\w+|[(,=])\s*$", code[:column])
                ):
                    line = lines[n - 1]
                    changed = line[:column] + new + line[column + len(token) :]
                    old, fresh = context(lines, n, line, changed)
                    if old:
                        yield {
                            "name": f"{name}-{n}-{column}",
                            "file": u.file,
                            "old": old,
                            "new": fresh,
                            "unit": u.name,
                            "functions": [name],
                            "bug": f"{name}: `{token}` becomes `{new}`",
                        }
                column += len(token)


def context(lines, n, line, changed):
    """Enough lines around n to occur only once in the file."""
    text = "\n".join(lines)
    if text.count(line) == 1:
        return line.strip() if text.count(
            line.strip()
        ) == 1 else line, changed.strip() if text.count(line.strip()) == 1 else changed
    for k in range(1, 6):
        old = "\n".join(lines[n - 1 - k : n])
        if text.count(old) == 1:
            return old, "\n".join(lines[n - 1 - k : n - 1] + [changed])
    return None, None
