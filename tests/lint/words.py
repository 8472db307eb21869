"""The word list (words.txt): banned in every text, banned in names, and for review.

Words are found inside identifiers as well: `is_told` and `ToldEntry` hold "told". Identifiers in
frozen.txt are exempt: formats, options, clause ids and installed symbols that others depend on."""

import os
import re

import lengths
from common import Finding, data

# The linter's own data name the words.
SKIPPED = ("tests/lint/", "LICENSE")


def rules(tree):
    """[(class, word or phrase, folders, replacement)] of words.txt."""
    found = []
    for n, line in data(tree, "words.txt"):
        match = re.fullmatch(r"(text|name|review) ([^=@]+?)(?: @ (\S+(?: \S+)*))? = (.+)", line)
        if not match:
            raise SystemExit(
                f"tests/lint/words.txt:{n}: expected 'CLASS WORD [@ FOLDERS] = instead'"
            )
        found.append((match[1], match[2], tuple((match[3] or "").split()), match[4]))
    return found


def pattern(word):
    """A pattern of a word or a phrase, which may go on after a comment's or a string's line end."""
    if word.startswith("/"):
        return re.compile(word.strip("/"))
    if " " in word:
        gap = r'(?:[ \t]|\\n|["\n*/#>@])+'
        first, rest = word[0], word[1:]
        body = f"[{first.upper()}{first}]" + gap.join(re.escape(w) for w in rest.split(" "))
        return re.compile(rf"(?<![A-Za-z]){body}(?![A-Za-z])")
    return re.compile(re.escape(word), re.IGNORECASE)


def whole(text, start, end):
    """Whether a match is a word, or a whole part of an identifier: is_told, ToldEntry."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if before.isalpha() and not (before.islower() and text[start].isupper()):
        return False
    return not (after.isalpha() and not (text[end - 1].islower() and after.isupper()))


def frozen(tree):
    return {line.split()[0]: n for n, line in data(tree, "frozen.txt")}


def identifier(text, start, end):
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_-"):
        start -= 1
    while end < len(text) and (text[end].isalnum() or text[end] in "_-"):
        end += 1
    return text[start:end]


def matches(tree, kind):
    """(path, line, word, replacement, identifier around it) of each occurrence in the text."""
    wanted = [(w, pattern(w), folders, r) for k, w, folders, r in rules(tree) if k == kind]
    for path in tree.files:
        if path.startswith(SKIPPED):
            continue
        text = tree.text(path)
        low = text.lower()
        for word, find, folders, replacement in wanted:
            if folders and not path.startswith(folders):
                continue
            if word[0] != "/" and word.split(" ")[0] not in low:
                continue
            for m in find.finditer(text):
                if word[0] == "/" or " " in word or whole(text, m.start(), m.end()):
                    n = text.count("\n", 0, m.start()) + 1
                    yield path, n, word, replacement, identifier(text, m.start(), m.end())


def in_text(tree):
    exempt = frozen(tree)
    found = unused_frozen(tree, exempt)
    for path, n, word, replacement, name in matches(tree, "text"):
        if name not in exempt:
            text = f"'{word}' is a banned word; write: {replacement}"
            found.append(Finding("word", path, n, text))
    return found


def unused_frozen(tree, exempt):
    """Lines of frozen.txt that exempt nothing."""
    found = []
    for name, n in exempt.items():
        holds = any(
            whole(name, m.start(), m.end())
            for kind, word, _, _ in rules(tree)
            if kind != "review" and " " not in word
            for m in re.finditer(word, name, re.IGNORECASE)
        )
        occurs = any(name in tree.text(f) for f in tree.files if not f.startswith(SKIPPED))
        if not holds or not occurs:
            text = f"remove this line: it exempts no occurrence of '{name}'"
            found.append(Finding("word", "tests/lint/frozen.txt", n, text))
    return found


def in_names(tree):
    """Names of files, folders and functions."""
    wanted = [(w, folders, r) for k, w, folders, r in rules(tree) if k == "name"]
    exempt = frozen(tree)
    found, folders_seen = [], set()
    for path in tree.files:
        if path.startswith(SKIPPED):
            continue
        names = [("file", os.path.basename(path), path, 0)]
        folder = os.path.dirname(path)
        while folder and folder not in folders_seen:
            folders_seen.add(folder)
            names.append(("folder", os.path.basename(folder), folder + "/", 0))
            folder = os.path.dirname(folder)
        if path.endswith((".c", ".h", ".inc", ".cu", ".py", ".sh")):
            # A Criterion test's name is a sentence: a text.
            names += [
                ("function", f, path, n)
                for f, n, _ in lengths.functions_of(tree, path)
                if not tree.lines(path)[n - 1].startswith(("Test(", "ParameterizedTest("))
            ]
        for kind, name, where, n in names:
            low = name.lower().replace("in_place", "")
            for word, folders, replacement in wanted:
                if (folders and not where.startswith(folders)) or word not in low:
                    continue
                if not any(whole(name, m.start(), m.end()) for m in re.finditer(word, name, re.I)):
                    continue
                if name not in exempt:
                    text = f"{kind} '{name}': '{word}' is banned in names; use: {replacement}"
                    found.append(Finding("name", where, n, text))
    return found


def review(tree):
    for path, n, word, replacement, _ in matches(tree, "review"):
        yield f"{path}:{n}: {word}: {replacement}: {tree.lines(path)[n - 1].strip()[:100]}"
