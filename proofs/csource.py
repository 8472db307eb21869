"""Lists a source's includes and functions with the C preprocessor and a brace counter."""

import re
import subprocess

from project import Problem

WORD = re.compile(r"[A-Za-z_]\w*")
KEYWORDS = {
    "if",
    "for",
    "while",
    "switch",
    "return",
    "sizeof",
    "do",
    "else",
    "_Static_assert",
    "__attribute__",
    "_Alignof",
}


def included(root, files):
    """{file: it and every file of the project that it includes, sorted; or a Problem}"""
    run = subprocess.run(["gcc", "-MM", "-I.", *files], cwd=root, capture_output=True, text=True)
    rules = [line for line in run.stdout.replace("\\\n", " ").split("\n") if line]
    if run.returncode == 0 and len(rules) == len(files):
        return {
            file: sorted({normal(n) for n in rule.split(":", 1)[1].split()})
            for file, rule in zip(files, rules, strict=True)
        }
    if len(files) == 1:
        return {files[0]: Problem(f"{files[0]} does not preprocess: {run.stderr.strip()}")}
    return {file: one for f in files for file, one in included(root, [f]).items()}


def normal(path):
    """a/b/../c -> a/c"""
    out = []
    for part in path.split("/"):
        if part == ".." and out and out[-1] != "..":
            out.pop()
        elif part not in ("", "."):
            out.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(out)


def functions(root, file):
    """Every function that is *defined* in the file or in what it includes, with a body:
    {(path, name): line}. Counts braces in the preprocessed text."""
    found = {}
    depth, head, head_at = 0, "", (file, 1)
    for path, line, text in preprocessed(root, file):
        for token in re.findall(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[{};]|[^{};"\']+', text):
            if token == "{":
                if depth == 0:
                    name = defined_name(head)
                    if name:
                        found[(head_at[0], name)] = head_at[1]
                depth += 1
            elif token == "}":
                depth -= 1
                if depth == 0:
                    head = ""
            elif depth == 0:
                if token == ";":
                    head = ""
                else:
                    if not head.strip():
                        head_at = (path, line)
                    head += token + " "
        if depth == 0 and head:
            head += " "
    return found


def defined_name(head):
    """The name in `static int f(int a, int b)`; None for structs, enums, arrays."""
    head = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", head)
    if "=" in head or "(" not in head or re.match(r"\s*typedef\b", head):
        return None
    words = WORD.findall(head[: head.index("(")])
    return words[-1] if words and words[-1] not in KEYWORDS else None


NO_TYPE = KEYWORDS | {"case", "goto", "break", "continue", "default", "typedef"}
DECLARES = re.compile(  # T x, T *x, T x[3]; T *x without a space before x; T (*x)(int), T (*x)[3]
    r"(\w+)(?:\s+[*\s]*\w|\s*\*+\s*\w+\s*(?:[,=\[]|$)|\s*\(\s*\*\s*\w+\s*\)\s*[\[(])"
)


def preprocessed(root, file):
    """The preprocessed text in pieces: [(path, line, text of the line)]."""
    run = subprocess.run(["gcc", "-E", "-I.", file], cwd=root, capture_output=True, text=True)
    if run.returncode:
        raise Problem(f"{file} does not preprocess: {run.stderr.strip()}")
    path, line, out = file, 0, []
    for text in run.stdout.split("\n"):
        mark = re.match(r'# (\d+) "([^"]*)"', text)
        if mark:
            line, path = int(mark[1]) - 1, normal(mark[2])
        else:
            line += 1
            out.append((path, line, text))
    return out


def uninitialised(root, file):
    """(path, line, declaration) of each variable that a function of the file, or of a header of
    the project that it includes, declares without a value. Macros are expanded. A function's body
    is a block after a `)`; declarations in structs, enums and initialisers do not count."""
    lines = [x for x in preprocessed(root, file) if not x[0].startswith(("/", "<"))]
    text = "\n".join(x[2] for x in lines)
    blocks, start = [], 0  # for each open brace: whether it is in a function's body
    for m in re.finditer(r"[{};]|\bfor\s*\(", text):
        inside = bool(blocks) and blocks[-1]
        if m[0] == "{":
            blocks.append(inside or text[: m.start()].rstrip().endswith(")"))
        elif m[0] == "}" and blocks:
            blocks.pop()
        elif m[0] == ";" and inside and lacks_value(text[start : m.start()]):
            path, line, _ = lines[text[: m.start()].count("\n")]
            yield path, line, " ".join(text[start : m.start()].split())
        start = m.end()


def lacks_value(statement):
    """Whether a statement declares a variable without a value."""
    said = re.sub(r"__attribute__\s*\(\(.*?\)\)|\b_Alignas\s*\([^)]*\)", " ", statement).strip()
    said = re.sub(r"^(case\b[^:]*|\w+)\s*:", "", said).strip()
    declares = DECLARES.match(said)
    if declares and declares[1] not in NO_TYPE:
        return any("=" not in part for part in split_commas(said))
    # after the braces of a value: `T x = {1}, y;`
    return said.startswith(",") and any("=" not in part for part in split_commas(said)[1:])


def split_commas(text):
    """The declarators of a declaration."""
    out, depth = [""], 0
    for c in text:
        depth += c in "([{"
        depth -= c in ")]}"
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return out
