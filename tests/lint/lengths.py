"""Columns, and lengths of functions and files."""

import ast
import re

from common import Finding, c_functions

CODE = (".c", ".h", ".inc", ".cu", ".py", ".sh", ".mk", ".v", "Makefile")
COLUMNS, FUNCTION_LINES, FILE_LINES = 100, 70, 600


def columns(tree):
    found = []
    for path in tree.ending(*CODE):
        for n, line in enumerate(tree.lines(path), 1):
            if len(line) > COLUMNS:
                found.append(Finding("columns", path, n, f"{len(line)} columns, at most {COLUMNS}"))
    return found


def files(tree):
    found = []
    for path in tree.ending(*CODE):
        n = tree.text(path).count("\n")
        if n > FILE_LINES:
            found.append(
                Finding("file-length", path, 0, f"{n} lines, at most {FILE_LINES}: split it")
            )
    return found


def functions_of(tree, path):
    """(name, first line, last line) of each function of a file, in any of our languages."""
    text = tree.text(path)
    if path.endswith((".c", ".h", ".inc", ".cu")):
        return [tuple(f) for f in c_functions(text)]
    if path.endswith(".py"):
        nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
        return [(n.name, n.lineno, n.end_lineno) for n in nodes]
    if path.endswith(".sh"):
        return _shell(text)
    return []


def _shell(text):
    found, opened = [], None
    for n, line in enumerate(text.split("\n"), 1):
        start = re.match(r"(\w+) *\(\) *[{(]", line)
        if start:
            opened = (start[1], n)
            if line.rstrip().endswith("}"):
                found.append((*opened, n))
                opened = None
        elif opened and line.startswith(("}", ")")):
            found.append((*opened, n))
            opened = None
    return found


def functions(tree):
    found = []
    for path in tree.ending(".c", ".h", ".inc", ".cu", ".py", ".sh"):
        for name, first, last in functions_of(tree, path):
            n = last - first + 1
            if n > FUNCTION_LINES:
                text = f"{name} has {n} lines, at most {FUNCTION_LINES}: split it"
                found.append(Finding("function-length", path, first, text))
    return found
