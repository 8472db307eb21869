"""Parses the output of `frama-c -print -no-unicode`: contracts, bodies, lemmas, logic definitions.

It parses Frama-C's output instead of the sources because the output shows what Frama-C understood
(macros expanded, one spelling)."""

import re
from dataclasses import dataclass, field

WORD = re.compile(r"[A-Za-z_]\w*")
GLOBAL_WORDS = (
    "lemma",
    "check lemma",
    "admit lemma",
    "axiom",
    "axiomatic",
    "logic",
    "predicate",
    "type",
    "inductive",
    "global",
    "strong",
    "weak",
    "model",
    "volatile",
    "ghost",
)
CLAUSE = re.compile(
    r"^(check |admit )?(requires|ensures|assigns|allocates|frees|terminates|exits|"
    r"decreases|assumes|behavior|complete|disjoint|breaks|continues|returns)\b"
)


def squeeze(text):
    return " ".join(text.split())


@dataclass
class Logic:
    """A lemma, an axiom, a logic function or predicate, a type."""

    kind: str  # lemma, check lemma, admit lemma, axiom, logic, predicate, type, inductive
    name: str
    text: str  # squeezed, from the kind on
    block: str  # its axiomatic block, or ""

    def head(self):
        """Everything before the definition's = (the whole text if it has no definition)."""
        return split_definition(self.text)[0]

    def body(self):
        return split_definition(self.text)[1]


@dataclass
class Clause:
    kind: str  # requires, ensures, assigns, ... ("check ensures" for a check)
    name: str  # "" if it is unnamed
    text: str  # without kind and name
    behavior: str = ""

    def line(self):
        label = f"{self.name}: " if self.name else ""
        where = f"behavior {self.behavior} " if self.behavior else ""
        return f"{where}{self.kind} {label}{self.text}"


@dataclass
class Function:
    name: str
    params: list = field(default_factory=list)
    contract: list = field(default_factory=list)
    body: str = None  # None: only declared
    annotations: str = ""  # all of the text within annotations of the body
    static: bool = False

    def canonical_contract(self):
        """The clauses with formals called $1, $2, …: declarations may name them differently."""
        out = []
        for c in self.contract:
            line = c.line()
            for i, p in enumerate(self.params):
                line = re.sub(rf"(?<![\w.>$]){re.escape(p)}\b", f"${i + 1}", line)
            out.append(line)
        return sorted(out)


@dataclass
class Tree:
    functions: dict = field(default_factory=dict)  # name -> Function
    logics: list = field(default_factory=list)  # in order
    annotations: str = ""  # the text of every annotation

    def lemmas(self):
        return [x for x in self.logics if x.kind in ("lemma", "check lemma", "admit lemma")]

    def calls(self, name):
        """Functions named in the body (called or not)."""
        body = self.functions[name].body or ""
        return sorted({w for w in WORD.findall(body) if w in self.functions and w != name})

    def calls_itself(self, name):
        return re.search(rf"\b{name}\s*\(", self.functions[name].body or "") is not None


def split_definition(text):
    """logic T f(args) = body -> (head, body): the first = that is not ==, <=, >= or !=."""
    depth = 0
    for i, c in enumerate(text):
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "=" and depth == 0 and text[i + 1 : i + 2] != "=" and text[i - 1] not in "=<>!":
            return text[:i].rstrip(), text[i + 1 :].strip()
    return text, ""


PIECE = re.compile(
    r"""/\*@ (?P<annotation> .*? ) \*/
                     | /\* .*? \*/
                     | //@ (?P<line> [^\n]* )
                     | (?P<code> "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*'
                               | [{};] | [^{};"'/]+ | / )""",
    re.S | re.X,
)


def pieces(text):
    """Cuts the file into ('annotation', text) and ('code', text) at any depth, without comments.
    Each of { } ; is a piece of its own."""
    end = 0
    for m in PIECE.finditer(text):
        if m.start() != end:
            break
        end = m.end()
        kind = m.lastgroup
        if kind == "code":
            yield kind, m["code"]
        elif kind:
            yield "annotation", m[kind]
    if end != len(text):
        raise ValueError(f"a quote or a comment does not end: {text[end : end + 60]!r}")


def parse(text):
    tree = Tree()
    pending, head, body, notes, depth = [], "", "", "", 0
    in_body = False
    everything = []
    for kind, part in pieces(text):
        if kind == "annotation":
            everything.append(part)
            ghost = re.match(r"\s*ghost\b", part)
            if in_body:
                if ghost:  # ghost statements call, too
                    body += part
                notes += part + "\n"
            elif ghost:
                if not head.strip():  # else: ghost parameters
                    merge(tree, parse(part[ghost.end() :].replace("/@", "/*@").replace("@/", "*/")))
            else:
                pending.append(part)
            continue
        if depth == 0 and part == "{" and "(" in head and "=" not in head:
            in_body = True
        if part == "{":
            depth += 1
        elif part == "}":
            depth -= 1
        if in_body:
            body += part
            if depth == 0:
                add_function(tree, head, pending, body, notes)
                pending, head, body, notes, in_body = [], "", "", "", False
            continue
        if depth == 0 and part == ";":
            if "(" in head and not head.strip().startswith("typedef") and "=" not in head:
                add_function(tree, head, pending, None, "")
            else:
                flush_globals(tree, pending)
            pending, head = [], ""
            continue
        head += part
    flush_globals(tree, pending)
    tree.annotations = "\n".join(everything)
    return tree


def merge(tree, other):
    tree.functions.update(other.functions)
    tree.logics += other.logics


def is_global(annotation):
    a = annotation.strip()
    return any(re.match(rf"{w}\b", a) for w in GLOBAL_WORDS)


def flush_globals(tree, pending):
    for a in pending:
        if is_global(a):
            tree.logics += globals_of(a)


def add_function(tree, head, pending, body, notes):
    flush_globals(tree, pending)
    head = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", head)
    before, _, rest = head.partition("(")
    words = WORD.findall(before)
    if not words:
        return
    name = words[-1]
    params = []
    for p in split_top(rest[: rest.rfind(")")], ","):
        p = re.sub(r"\[[^\]]*\]", "", p)
        w = WORD.findall(p)
        if w and w != ["void"]:
            params.append(w[-1])
    contract = [c for a in pending if not is_global(a) for c in clauses_of(a)]
    old = tree.functions.get(name)
    new = Function(name, params, contract, body, notes, bool(re.search(r"\bstatic\b", before)))
    if old:  # declared again: keep what either has
        if new.body is None:
            new.body, new.annotations = old.body, old.annotations
        if not new.contract:
            new.contract, new.params = old.contract, old.params
    tree.functions[name] = new


def split_top(text, sep):
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif depth == 0 and i >= start and text.startswith(sep, i):
            out.append(text[start:i])
            start = i + len(sep)
    return out + [text[start:]]


STOP = re.compile(r"[][(){};]|\\(?:forall|exists|let)\b")


def split_items(text):
    """Splits at each ; outside of parentheses that does not end the binders of a quantifier."""
    out, depth, binders, start = [], 0, 0, 0
    for m in STOP.finditer(text):
        c = m[0]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif depth:
            continue
        elif c != ";":
            binders += 1
        elif binders:
            binders -= 1
        else:
            out.append(text[start : m.start()])
            start = m.end()
    return out + [text[start:]]


def clauses_of(annotation):
    """The clauses of a contract. A clause ends at a ; outside of parentheses."""
    out, behavior = [], ""
    rest = squeeze(annotation)
    while rest:
        m = re.match(r"behavior (\w+):\s*", rest)
        if m:
            behavior = m.group(1)
            rest = rest[m.end() :]
            continue
        clause = split_items(rest)[0]
        rest = rest[len(clause) + 1 :].strip()
        m = CLAUSE.match(clause.strip())
        if not m:
            if clause.strip():
                out.append(Clause("other", "", clause.strip(), behavior))
            continue
        kind = m.group(0)
        body = clause.strip()[m.end() :].strip()
        label = re.match(r"([A-Za-z_]\w*(?:: *[A-Za-z_]\w*)*): ", body + " ")
        name = ""
        if label and kind.split()[-1] in ("requires", "ensures", "assumes", "exits", "terminates"):
            name = label.group(1)
            body = body[label.end() :].strip()
        out.append(Clause(kind, name, body, behavior))
    return out


def globals_of(annotation):
    """The items of one global annotation; those of an axiomatic block, one by one."""
    text = annotation.strip()
    m = re.match(r"axiomatic (\w+)\s*\{", text)
    if m:
        inner = text[m.end() : text.rindex("}")]
        return [Logic("axiomatic", m.group(1), f"axiomatic {m.group(1)}", "")] + [
            x for part in items_of(inner) for x in one_global(part, m.group(1))
        ]
    return [x for part in items_of(text) for x in one_global(part, "")]


def items_of(text):
    return [squeeze(p) for p in split_items(text) if p.strip()]


def one_global(text, block):
    m = re.match(r"(check lemma|admit lemma|lemma|axiom|logic|predicate|type|inductive)\b\s*", text)
    if not m:
        return [Logic("other", text.split()[0], text, block)]
    kind = m.group(1)
    rest = text[m.end() :]
    if kind in ("lemma", "check lemma", "admit lemma", "axiom"):
        name = WORD.match(rest).group(0)
    elif kind == "logic":
        head = split_definition(rest)[0]
        head = head.partition(" reads ")[0]
        before = re.split(r"[({]", head)[0]
        words = WORD.findall(before)
        name = words[-1]
    else:
        name = WORD.match(rest).group(0)
    return [Logic(kind, name, text, block)]
