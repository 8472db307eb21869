"""Checks that a recursive logic definition is well-founded. WP does not check it, and
`f(x) = f(x) + 1` would make everything provable. Accepted shapes, where E contains no formal that
the calls change:
    n <= E ? no call : calls with n - c (or n / c, E >= 0)     also n < E, n == E is not enough
    n >= E ? no call : calls with n + c
and the same with n > E ? calls : no call, with E on the left, and with `||`, `==>` in
predicates."""

import re

from printed import WORD, split_top

COMPARE = re.compile(r"^(.*?)(<=|>=|<|>)(.*)$")
# What an arithmetic term has not: a bound with one of these could be a truth value.
LOGICAL = re.compile(r"&&|\|\||[<>=!?^]|\\(forall|exists|let)\b")
TURNED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}
NEGATED = {"<=": ">", ">": "<=", "<": ">=", ">=": "<"}


def strip_parens(text):
    text = text.strip()
    while text.startswith("(") and closing(text, 0) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def closing(text, start):
    depth = 0
    for i in range(start, len(text)):
        depth += text[i] in "([{"
        depth -= text[i] in ")]}"
        if depth == 0:
            return i
    return len(text)


def calls(name, text):
    """The argument lists of every call of name."""
    out = []
    for m in re.finditer(rf"\b{name}\b\s*(\{{[^}}]*\}})?\s*\(", text):
        end = closing(text, m.end() - 1)
        out.append([a.strip() for a in split_top(text[m.end() : end], ",")])
    return out


def formals(head):
    if "(" not in head:
        return []
    args = head[head.index("(") + 1 : head.rindex(")")]
    return [WORD.findall(a)[-1] for a in split_top(args, ",") if a.strip()]


def branches(body):
    """(condition, then, else) of the outermost choice; None if the body has no choice."""
    body = strip_parens(body)
    for sign in ("?", "==>", "||"):
        depth = 0
        for i, c in enumerate(body):
            depth += c in "([{"
            depth -= c in ")]}"
            if depth == 0 and body.startswith(sign, i):
                condition, rest = body[:i], body[i + len(sign) :]
                if sign == "==>":
                    return condition, rest, ""
                if sign == "||":
                    return condition, "", rest
                depth2, nested = 0, 0
                for j, d in enumerate(rest):
                    depth2 += d in "([{"
                    depth2 -= d in ")]}"
                    nested += depth2 == 0 and d == "?"
                    if depth2 == 0 and d == ":":
                        if nested == 0:
                            return condition, rest[:j], rest[j + 1 :]
                        nested -= 1
    return None


def well_founded(logic):
    name, params, body = logic.name, formals(logic.head()), logic.body()
    parts = branches(body)
    if not parts:
        return False
    condition, yes, no = parts
    if calls(name, condition):
        return False
    if calls(name, yes) and calls(name, no):
        # both branches recurse: a guard further inside either is not analysed
        return False
    recursive, known = (no, False) if calls(name, no) else (yes, True)
    made = calls(name, recursive)
    if not made:
        return False
    for atom in atoms(condition, known):
        m = COMPARE.match(atom)
        if not m or LOGICAL.search(m[1]) or LOGICAL.search(m[3]):
            continue
        left, sign, right = strip_parens(m[1]), m[2], strip_parens(m[3])
        for n, s, e in ((left, sign, right), (right, TURNED[sign], left)):
            if n in params and decreases(n, s if known else NEGATED[s], e, params, made):
                return True
    return False


def atoms(condition, known):
    """The parts of a condition that all hold if it holds (known), or all fail if it fails: of a
    conjunction known to hold its operands, of a disjunction known to fail its operands. A part
    that is a disjunction or a conjunction in turn stays whole, and is no comparison."""
    parts = split_top(strip_parens(condition), "&&" if known else "||")
    if len(parts) == 1:
        return [strip_parens(parts[0])]
    return [atom for part in parts for atom in atoms(part, known)]


def decreases(n, sign, bound, params, made):
    """Each call is made only if `n sign bound`. True if every call steps towards the bound."""
    k = params.index(n)
    for word in set(WORD.findall(bound)):
        if word not in params:
            continue
        j = params.index(word)
        if any(len(a) != len(params) or a[j] != word for a in made):
            return False
    step = r"\s*-\s*[1-9]\d*" if sign in (">", ">=") else r"\s*\+\s*[1-9]\d*"
    for args in made:
        if len(args) != len(params):
            return False
        arg = strip_parens(args[k])
        if re.fullmatch(re.escape(n) + step, arg):
            continue
        positive = re.fullmatch(r"\d+", bound) and (sign == ">" or (sign == ">=" and bound != "0"))
        if positive and re.fullmatch(re.escape(n) + r"\s*/\s*([2-9]|[1-9]\d+)", arg):
            continue
        return False
    return True
