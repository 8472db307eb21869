"""Rules about objects: cycles of calls between folders and between the files of a folder, external
functions and data that no other file uses, and the interfaces of callbacks, which are a reviewed
list (callbacks.txt).

A file depends on another when its object refers to a function of the other, by a call or by taking
its address, or to data of the other that hold addresses of functions: a table hides no call. What a
caller passes in at run time is invisible to that; so each type through which it can be passed is
listed."""

import os
import re
import struct
from collections import defaultdict

from common import Finding, data

FOLDERS = ("ref", "cuda", "conformance")
FUNC, OBJECT, SECTION = 2, 1, 3


class Object:
    """Symbols and relocations of an ELF file of 64 bits, little-endian."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.bytes = f.read()
        if self.bytes[:6] != b"\x7fELF\x02\x01":
            raise SystemExit(f"lint: {path} is no ELF object of 64 bits, little-endian")
        self.sections = self._sections()
        self.symbols = self._symbols()
        self.relocations = self._relocations()

    def _sections(self):
        at, size, count = (
            struct.unpack_from("<Q", self.bytes, 40)[0],
            *struct.unpack_from("<HH", self.bytes, 58),
        )
        return [struct.unpack_from("<IIQQQQIIQQ", self.bytes, at + i * size) for i in range(count)]

    def _symbols(self):
        """[(name, global?, type, section, value, size)]"""
        found = []
        for _, kind, _, _, at, size, link, _, _, _ in self.sections:
            if kind != 2:
                continue
            names = self.sections[link][4]
            for i in range(at, at + size, 24):
                name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", self.bytes, i)
                end = self.bytes.index(b"\0", names + name)
                text = self.bytes[names + name : end].decode()
                found.append((text, info >> 4 != 0, info & 15, section, value, length))
        return found

    def _relocations(self):
        """[(section, offset, symbol's index)] of sections that are loaded."""
        found = []
        for _, kind, _, _, at, size, _, target, _, _ in self.sections:
            if kind == 4 and self.sections[target][2] & 2:
                for i in range(at, at + size, 24):
                    offset, info, _ = struct.unpack_from("<QQq", self.bytes, i)
                    found.append((target, offset, info >> 32))
        return found

    def functions(self):
        return {s[0] for s in self.symbols if s[1] and s[2] == FUNC and s[3]}

    def external(self):
        """Functions and data that other objects may use."""
        return {s[0] for s in self.symbols if s[1] and s[2] in (FUNC, OBJECT) and s[3]}

    def used(self):
        return {self.symbols[s][0] for _, _, s in self.relocations if self.symbols[s][1]}

    def tables(self):
        """External data that hold an address of code."""
        code = {i for i, s in enumerate(self.sections) if s[2] & 4}
        places = defaultdict(list)
        for section, offset, s in self.relocations:
            symbol = self.symbols[s]
            if symbol[2] == FUNC or symbol[3] in code or not symbol[3]:
                places[section].append(offset)
        return {
            name
            for name, external, kind, section, value, size in self.symbols
            if external and kind == OBJECT and section not in (0, 0xFFF2)
            if any(value <= offset < value + size for offset in places[section])
        }


def source_of(tree, build, path):
    """The source of an object: what its .d file names first, or the path below the build folder."""
    plain = os.path.relpath(path, build)[:-2] + ".c"
    if os.path.exists(tree.at(plain)):
        return plain
    try:
        with open(path[:-2] + ".d", encoding="utf-8") as f:
            named = re.search(r"\S+\.cu?(?=\s)", f.read().split(":", 1)[1])
        return os.path.normpath(named[0]) if named else None
    except OSError:
        return None


def objects(tree, build):
    """[(source, object, main?)]: of the objects of a source, one is the main one.
    What only some targets build is left out, so that the verdict is the same after any of them."""
    paths = {}
    for folder, folders, files in os.walk(build):
        folders[:] = sorted(set(folders) - {"gpu", "device"} if folder == build else folders)
        for file in sorted(f for f in files if f.endswith(".o")):
            path = os.path.join(folder, file)
            source = source_of(tree, build, path)
            bench = source and os.path.basename(source).startswith("bench_")
            if source and not bench and os.path.exists(tree.at(source)):
                paths.setdefault(source, []).append(path)
    found = []
    for source, compiled in paths.items():
        plain = os.path.join(build, os.path.splitext(source)[0] + ".o")
        main = plain if plain in compiled else compiled[0]
        found += [(source, Object(path), path == main) for path in compiled]
    return found


def missing(tree, built):
    """Sources without an object: nothing can be said of them."""
    known = {source for source, _, _ in built}
    below = tree.below(*FOLDERS)
    return [path for path in below if path.endswith(".c") and path not in known]


# ---- Cycles --------------------------------------------------------------------------------------


def edges(built):
    """{folder: {file: {other file: name}}}: a name of the other that the file uses."""
    owner = {}
    for source, o, main in built:
        if main:
            for name in o.functions() | o.tables():
                owner[os.path.dirname(source), name] = source
    graph = defaultdict(lambda: defaultdict(dict))
    for source, o, main in built:
        folder = os.path.dirname(source)
        if main and source.startswith(FOLDERS):
            for name in sorted(o.used()):
                other = owner.get((folder, name))
                if other and other != source:
                    graph[folder][source].setdefault(other, name)
    return graph


def folder_edges(tree, built):
    """{folder: {other folder: "FILE uses NAME of FILE"}}, without names of an API that a folder
    implements for programs of others (apis.txt), or that several folders implement."""
    apis = [line.split()[0] for _, line in data(tree, "apis.txt")]
    owners = defaultdict(set)
    product = [(source, o) for source, o, main in built if main and source.startswith(FOLDERS)]
    for source, o in product:
        for name in o.functions() | o.tables():
            owners[name].add(source)
    graph = defaultdict(dict)
    for source, o in product:
        folder = os.path.dirname(source)
        for name in sorted(o.used()):
            if len(owners[name]) != 1 or any(re.fullmatch(a, name) for a in apis):
                continue
            other = min(owners[name])
            if os.path.dirname(other) != folder:
                text = f"{source} uses {name} of {other}"
                graph[folder].setdefault(os.path.dirname(other), text)
    return graph


def shortest_cycle(graph, start):
    """The nodes of a shortest cycle through a file or a folder, or None."""
    before, queue = {}, [start]
    for node in queue:
        for other in sorted(graph.get(node, ())):
            if other == start:
                path = [node]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return path[::-1]
            if other not in before:
                before[other] = node
                queue.append(other)
    return None


def cycle_rule(tree, built):
    found = []
    folders = folder_edges(tree, built)
    for folder in sorted(folders):
        cycle = shortest_cycle(folders, folder)
        if cycle:
            steps = zip(cycle, cycle[1:] + cycle[:1], strict=True)
            text = "is in a cycle of calls: " + ", ".join(folders[a][b] for a, b in steps)
            found.append(Finding("cycle", folder, 0, text))
    for folder, graph in sorted(edges(built).items()):
        for file in sorted(graph):
            cycle = shortest_cycle(graph, file)
            if cycle:
                steps = zip(cycle, cycle[1:] + cycle[:1], strict=True)
                said = [
                    f"{os.path.basename(a)} uses {graph[a][b]} of {os.path.basename(b)}"
                    for a, b in steps
                ]
                text = f"is in a cycle of calls in {folder}: " + ", ".join(said)
                found.append(Finding("cycle", file, 0, text))
    return found


# ---- External names ------------------------------------------------------------------------------


def unused_rule(tree, built, installed):
    """installed: headers whose names programs of others use."""
    public = " ".join(tree.text(h) for h in installed)
    apis = {line.split()[0]: n for n, line in data(tree, "apis.txt")}
    unneeded = dict(apis)
    users = defaultdict(set)
    for source, o, _ in built:
        for name in o.used():
            users[name].add(source)
    found = []
    for source, o, main in built:
        if not main or not source.startswith(FOLDERS):
            continue
        for name in sorted(o.external()):
            if users[name] - {source} or name == "main":
                continue
            named = [a for a in apis if re.fullmatch(a, name)]
            for pattern in named:
                unneeded.pop(pattern, None)
            if named or re.search(rf"\b{name}\b", public):
                continue
            advice = "make it static" if users[name] else "remove it"
            text = f"no other file uses the external name {name}: {advice}"
            found.append(Finding("unused", source, 0, text))
    for pattern, n in unneeded.items():
        text = f"remove this line: no unused name matches {pattern}"
        found.append(Finding("unused", "tests/lint/apis.txt", n, text))
    return found


# ---- Callbacks -----------------------------------------------------------------------------------

POINTER = re.compile(r"\(\s*\*\s*(?:const\s+)?(\w*)\s*(?:\[[^\]]*\])?\)\s*\(")


def interfaces(text):
    """(line, name) of each type, parameter or variable by which a header passes functions."""
    plain = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)
    plain = re.sub(r"^[ \t]*#.*$", lambda m: " " * len(m[0]), plain, flags=re.M)
    for match in POINTER.finditer(plain):
        n = plain.count("\n", 0, match.start()) + 1
        depth, at = 0, match.start()
        while at > 0 and depth < 1:
            at -= 1
            depth += {"{": 1, "}": -1}.get(plain[at], 0)
        if depth == 1 and not re.search(r'extern "C"\s*$', plain[:at]):
            before = re.split(r"[;{}]", plain[:at])[-1]
            name = re.search(r"struct\s+(\w+)", before) or re.search(r"(\w+)\s*\(", before)
            yield n, name[1] if name else "anonymous"
            continue
        statement = re.split(r"[;{}]", plain[: match.start()])[-1]
        function = re.search(r"(\w+)\s*\(", statement)
        yield n, function[1] if function else match[1]


def callback_rule(tree):
    listed = {}
    found = []
    for n, line in data(tree, "callbacks.txt"):
        name, _, reason = line.partition(" ")
        listed[name] = n
        if not reason:
            text = f"say who calls {name} and why"
            found.append(Finding("callback", "tests/lint/callbacks.txt", n, text))
    seen = set()
    for path in tree.ending(".h"):
        if not path.startswith(FOLDERS):
            continue
        for n, name in interfaces(tree.text(path)):
            if name not in listed and name not in seen:
                text = f"{name} passes functions: review it and list it in tests/lint/callbacks.txt"
                found.append(Finding("callback", path, n, text))
            seen.add(name)
    for name in sorted(set(listed) - seen):
        text = f"remove this line: {name} passes no function"
        found.append(Finding("callback", "tests/lint/callbacks.txt", listed[name], text))
    return found
