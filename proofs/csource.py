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
    run = subprocess.run(["gcc", "-E", "-I.", file], cwd=root, capture_output=True, text=True)
    if run.returncode:
        raise Problem(f"{file} does not preprocess: {run.stderr.strip()}")
    found = {}
    path, line, depth, head, head_at = file, 0, 0, "", (file, 1)
    for text in run.stdout.split("\n"):
        mark = re.match(r'# (\d+) "([^"]*)"', text)
        if mark:
            line, path = int(mark.group(1)) - 1, normal(mark.group(2))
            continue
        line += 1
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
