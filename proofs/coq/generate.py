#!/usr/bin/env python3
"""Writes OpOf.v: the planner's functions and ops in Coq, from the ACSL that WP proves.

generate.py ROOT > OpOf.v

ROOT is the repository. Enum constants come from the headers in ref/plan. From spec/acsl come the
definitions that WANTED lists, in this order:

- a logic integer becomes a function to Z. If it recurses on an integer (x <= K ? base : ... f(x -
  1)), it becomes a Fixpoint on Z.to_nat (x - K), which has the same values.
- a predicate without an op becomes a function to bool.
- a predicate of one op whose body is one such predicate becomes the function that returns this op:
  IsHop becomes op_hop, TiedOp op_tied. IsOp, which fixes all 18 fields, becomes the constructor Op.

ACSL's division truncates, so / is Z.quot and % is Z.rem. Labels are dropped: the inputs do not
change. A definition that is missing or uses anything else is an error.
"""

import re
import sys

ENUMS = ["dtype.h", "config.h", "topology.h", "program.h"]
WANTED = {
    "partition.h": "RoundUp Buckets BucketNumel BucketPadded Part Capacity",
    "config.h": "ValidTopology ValidSwitches ValidAmounts ValidEntry SameTied Copies Together "
    "HeldElements DtypeOf Elements HasKey TiedEntries",
    "layout.h": "IsBelow EntriesBelow StageFirst StageEnd StageCount ClassOf Leader UsesBefore "
    "HeadOf UseOf Opens FlatCount FlatAt FlatOf Brings FlatNumel StartOf Opener "
    "GroupOf MembersOf",
    "pipeline.h": "Slots Places ForwardTime BackwardTime BackwardSlot HalfOf ForwardAt BackwardAt "
    "Computed Received Sent EndSlot",
    "topology.h": "Mix World Rank Within Seen On CountOn StageBelow StageOf InGroup GroupSize "
    "GroupIndex GroupMember",
    "step_program.h": "FirstBucket StopBucket DoneBucket RunFrom RunTo ReduceKind ReduceDtype "
    "ReduceRedop ReduceCount BucketPlace MetaLen ReducesOn",
    "step_fold.h": "Loads",
    "step_where.h": "CollectPlace SpotTo SpotNumel SpotCap SpotClock",
    "step_tail_fold.h": "SumClock UpdateClock TiedCount BucketsOf HeldOf Later PassOf HoldsKey",
    "init_save.h": "LaterUse LaterUses Holds IsKey Fp32At NumelAt Replica SaveClock Saves Writes "
    "WritesFrozen",
    "op_is.h": "IsLocal IsOnBucket IsAgreement",
    "op_slot.h": "IsHop IsMicro",
    "op_tail.h": "UpdatedBucket IsUpdate IsGather TiedOp MeanOp IsStatistics IsDecision",
    "op_init.h": "IsCreation IsFirst IsTpFirst IsDpFirst IsInstall",
    "op_gradient.h": "IsAddition IsReduced",
    "op_save.h": "IsSaveGather IsSaveWrite IsFrozenWrite IsPlain",
}

# Structs: Coq's type, the prefix of its fields, and the type of those fields that are not Z.
STRUCTS = {
    "zp_param": ("param", "p_", {}),
    "zp_config": ("config", "c_", {"params": "[zp_param]"}),
    "zp_flat": ("flat", "f_", {}),
    "zp_spot": ("spot", "s_", {}),
    "zp_layout": ("layout", "l_", {"flat": "[zp_flat]", "spot": "[zp_spot]"}),
}
TOKEN = re.compile(r"\\?[A-Za-z_]\w*|\d+|->|==>|==|!=|<=|>=|&&|\|\||\S")
COMPARE = {
    "==": "({} =? {})",
    "!=": "negb ({} =? {})",
    "<": "({} <? {})",
    "<=": "({} <=? {})",
    ">": "({1} <? {0})",
    ">=": "({1} <=? {0})",
}
ARITHMETIC = {
    "+": "({} + {})",
    "-": "({} - {})",
    "*": "({} * {})",
    "/": "(Z.quot {} {})",
    "%": "(Z.rem {} {})",
}


def refuse(why):
    sys.exit(f"generate.py: {why}")


def annotations(text, bounds):
    """The tokens of a header's ACSL comments, with the numbers that bounds.h names."""
    blocks = re.findall(r"/\*@(.*?)\*/", text, re.S)
    tokens = TOKEN.findall(re.sub(r"//[^\n]*", "", "\n".join(blocks)))
    return [bounds.get(token, token) for token in tokens]


def op_name(predicate):
    words = re.sub(r"^Is|Op$", "", predicate)
    return "op_" + re.sub(r"(?<!^)([A-Z])", r"_\1", words).lower()


class Definition:
    """One definition: its parameters (name, type) and where its body starts."""

    def __init__(self, kind, tokens, at):
        self.kind, self.name = kind, tokens[at]
        at += 1
        if tokens[at] == "{":
            at = tokens.index("}", at) + 1
        self.params = []
        if tokens[at] == "(":
            end = tokens.index(")", at)
            for part in " ".join(tokens[at + 1 : end]).split(" , "):
                words = part.replace("*", "").split()
                self.params.append((words[1], words[0]))
            at = end + 1
        self.op = bool(self.params) and self.params[0][1] == "zp_op"
        self.body = at + 1 if tokens[at] == "=" else None


class Body:
    """Parses an expression and writes it in Coq. Each method returns (text, type): "Z", "bool",
    "op", or a struct's name."""

    def __init__(self, tokens, at, d, known):
        self.tokens, self.at, self.d, self.known = tokens, at, d, known
        self.types = dict(d.params)
        self.inner = None  # the recursive call's Coq text once the definition is a Fixpoint
        self.calls = set()

    def fail(self, why):
        refuse(f"{self.d.name}: {why} near {' '.join(self.tokens[self.at - 4 : self.at + 4])}")

    def peek(self):
        return self.tokens[self.at]

    def take(self, wanted=None):
        token = self.tokens[self.at]
        if wanted is not None and token != wanted:
            self.fail(f"expected {wanted}, got {token}")
        self.at += 1
        return token

    def expression(self):
        condition, kind = self.binary_or()
        if self.peek() != "?":
            return condition, kind
        if kind != "bool":
            self.fail("a condition that is not a comparison")
        self.take("?")
        yes, kind = self.expression()
        self.take(":")
        no, other = self.expression()
        if kind != other:
            self.fail("cases of two types")
        return f"(if {condition} then {yes} else {no})", kind

    def joined(self, sign, coq, part):
        text, kind = part()
        while self.peek() == sign:
            self.take()
            more, other = part()
            if (kind, other) != ("bool", "bool"):
                self.fail(f"{sign} of other than comparisons")
            text = f"({text} {coq} {more})"
        return text, kind

    def binary_or(self):
        return self.joined("||", "||", self.binary_and)

    def binary_and(self):
        return self.joined("&&", "&&", self.comparison)

    def comparison(self):
        left, kind = self.sum()
        parts = []
        while self.peek() in COMPARE:
            sign = self.take()
            right, other = self.sum()
            if (kind, other) != ("Z", "Z"):
                self.fail(f"{sign} of other than integers")
            parts.append(COMPARE[sign].format(left, right))
            left = right
        if not parts:
            return left, kind
        text = parts[0]
        for more in parts[1:]:
            text = f"({text} && {more})"
        return text, "bool"

    def chain(self, signs, part):
        text, kind = part()
        while self.peek() in signs:
            sign = self.take()
            more, other = part()
            if (kind, other) != ("Z", "Z"):
                self.fail(f"{sign} of other than integers")
            text = ARITHMETIC[sign].format(text, more)
        return text, kind

    def sum(self):
        return self.chain("+-", self.product)

    def product(self):
        return self.chain("*/%", self.unary)

    def unary(self):
        if self.peek() == "-":
            self.take()
            text, kind = self.unary()
            return f"(-{text})" if text.isdigit() else f"(- {text})", kind
        return self.postfix()

    def postfix(self):
        text, kind = self.primary()
        while self.peek() in ("->", ".", "["):
            if self.take() == "[":
                index, _ = self.expression()
                self.take("]")
                if not kind.startswith("["):
                    self.fail("an index into something else than a list")
                kind = kind[1:-1]
                text = f"({STRUCTS[kind][0]}_at {text} {index})"
                continue
            field = self.take()
            if kind not in STRUCTS:
                self.fail("a field of something else than a struct")
            _, prefix, others = STRUCTS[kind]
            text, kind = f"({prefix}{field} {text})", others.get(field, "Z")
        return text, kind

    def primary(self):
        token = self.take()
        if token == "(":
            inside = self.expression()
            self.take(")")
            return inside
        if token == "\\at":
            self.take("(")
            inside = self.expression()
            self.take(",")
            self.take()
            self.take(")")
            return inside
        if token.isdigit():
            return token, "Z"
        if token in self.types:
            kind = self.types[token]
            return token, "Z" if kind == "integer" else kind
        if token.startswith("ZP_"):
            return token, "Z"
        return self.call(token)

    def call(self, name):
        if self.peek() == "{":
            while self.take() != "}":
                pass
        self.take("(")
        args = [self.expression()]
        while self.peek() == ",":
            self.take()
            args.append(self.expression())
        self.take(")")
        self.calls.add(name)
        if name == "IsOp":
            return "Op " + " ".join(a for a, _ in args[1:]), "op"
        if name == self.d.name:
            if self.inner is None:
                self.fail("a call of itself before the case that ends it")
            return self.inner([a for a, _ in args]), "Z"
        if name not in self.known:
            self.fail(f"{name} is not in WANTED before it")
        callee = self.known[name]
        if callee.op:
            return f"{op_name(name)} " + " ".join(a for a, _ in args[1:]), "op"
        kind = "Z" if callee.kind == "logic" else "bool"
        return f"({name} " + " ".join(a for a, _ in args) + ")", kind


def bare(text):
    """Without the parentheses around all of it."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and i < len(text) - 1:
            return text
    return text[1:-1]


def binders(params):
    out = []
    for name, kind in params:
        coq = "Z" if kind == "integer" else STRUCTS[kind][0] if kind in STRUCTS else None
        if coq is None:
            refuse(f"a parameter of type {kind}")
        if out and out[-1][1] == coq:
            out[-1][0].append(name)
        else:
            out.append(([name], coq))
    return " ".join(f"({' '.join(names)} : {coq})" for names, coq in out)


def recursive(tokens, d, known):
    """x <= K ? base : step, where each call of itself has x - 1 in the place of x."""
    body = Body(tokens, d.body, d, known)
    x, sign, k, question = tokens[d.body : d.body + 4]
    if sign != "<=" or not k.isdigit() or question != "?" or x not in body.types:
        refuse(f"{d.name} recurses, but does not start with x <= K ?")
    others = [p for p in d.params if p[0] != x]
    where = [name for name, _ in d.params].index(x)

    def inner(args):
        if args[where] != f"({x} - 1)":
            refuse(f"{d.name} calls itself with {args[where]}")
        rest = " ".join(a for i, a in enumerate(args) if i != where)
        return f"({d.name}_n below {rest})"

    body.at = d.body + 4
    base, _ = body.expression()
    if re.search(rf"\b{x}\b", base):
        refuse(f"{d.name}: its first case depends on {x}")
    body.take(":")
    body.inner = inner
    step, _ = body.expression()
    body.take(";")
    used = f"let {x} := Z.of_nat below + {int(k) + 1} in " if re.search(rf"\b{x}\b", step) else ""
    rest = "".join(f" {name}" for name, _ in others)
    steps = f"Z.to_nat ({x} - {k})" if k != "0" else f"Z.to_nat {x}"
    return (
        f"Fixpoint {d.name}_n (count : nat) {binders(others)} : Z :=\n"
        f"  match count with\n  | O => {base}\n"
        f"  | Datatypes.S below => {used}{bare(step)}\n  end.\n"
        f"Definition {d.name} {binders(d.params)} : Z :=\n"
        f"  {d.name}_n ({steps}){rest}."
    )


def translated(tokens, d, known):
    if d.body is None:
        refuse(f"{d.name} has no body")
    end = tokens.index(";", d.body)
    if d.name in tokens[d.body : end]:
        return recursive(tokens, d, known)
    body = Body(tokens, d.body, d, known)
    text, kind = body.expression()
    body.take(";")
    if d.op != (kind == "op") or (not d.op and (kind == "Z") != (d.kind == "logic")):
        refuse(f"{d.name} has type {kind}")
    name, params = (op_name(d.name), d.params[1:]) if d.op else (d.name, d.params)
    head = f"Definition {name} {binders(params)}".rstrip()
    return f"{head} : {kind} :=\n  {bare(text)}."


def constants(root):
    """All enum constants of the headers, with C's values."""
    values, out = {}, []
    for header in ENUMS:
        text = open(f"{root}/ref/plan/{header}", encoding="utf-8").read()
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        for block in re.findall(r"enum\s+\w*\s*\{(.*?)\}", text, re.S):
            value = -1
            for item in filter(None, (i.strip() for i in block.split(","))):
                name, _, given = (x.strip() for x in item.partition("="))
                value = value + 1 if not given else values[given] if given in values else int(given)
                values[name] = value
                out.append(f"Definition {name} : Z := {value}.")
    return out


def wrapped(text, width=100):
    """Breaks long lines at spaces."""
    out = []
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip()) + 2
        while len(line) > width:
            cut = line.rfind(" ", indent, width + 1)
            if cut < 0:
                break
            out.append(line[:cut])
            line = " " * indent + line[cut + 1 :]
        out.append(line)
    return "\n".join(out)


def main(root):
    known = {}
    print("(* Written by generate.py from the enums of ref/plan and from spec/acsl. *)\n")
    print("Require Import Bool ZArith ZP.Op.\nOpen Scope Z_scope.\nOpen Scope bool_scope.\n")
    print("\n".join(constants(root)))
    text = open(f"{root}/spec/acsl/bounds.h", encoding="utf-8").read()
    bounds = dict(re.findall(r"^#define (ZP_\w+) (\d+)", text, re.M))
    for header, names in WANTED.items():
        text = open(f"{root}/spec/acsl/{header}", encoding="utf-8").read()
        tokens = annotations(text, bounds)
        found = {}
        for at, token in enumerate(tokens):
            if token == "predicate" or (token == "logic" and tokens[at + 1] == "integer"):
                d = Definition(token, tokens, at + (1 if token == "predicate" else 2))
                found[d.name] = (d, tokens)
        print(f"\n(* ---- spec/acsl/{header} ---- *)")
        for name in names.split():
            if name not in found:
                refuse(f"spec/acsl/{header} does not define {name}")
            d = found[name][0]
            print(wrapped(translated(tokens, d, known)))
            known[name] = d


main(sys.argv[1])
