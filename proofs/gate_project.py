"""Judges all units together: scope, callees, names, and the list of proven properties."""

import difflib
import os
import re

import csource
import project as pj

# Problems of units whose results do not count: a list of claims without them would be too short.
UNJUDGED = ("not-run", "stale", "stored-only")


def judge_all(v, accept, claims):
    project = v.plan.project
    judge_scope(v)
    judge_callees(v)
    judge_same_texts(v)
    judge_lemma_order(v)
    judge_macros(v)
    judge_values(v)
    judge_coq(v)
    if accept and not any(x.kind in UNJUDGED for x in v.problems):
        with open(project.path("proofs/claimed.txt"), "w") as f:
            f.writelines(line + "\n" for line in claimed(v))
        print("proofs/claimed.txt written")
    judge_claimed(v)
    judge_assumptions(v)
    if claims and os.path.exists(project.path("proofs/claims.toml")):
        import claims as pages  # which imports this module

        v.problems += pages.check(v)


def judge_scope(v):
    """Some unit proves each function of the files in scope and of their headers."""
    project = v.plan.project
    assumed = project.assumed_functions()
    for u in v.plan.units:
        if u.kind == "lemmas":
            continue
        where = {n: p for (p, n) in v.plan.defined(u.file)}
        for f in v.plan.functions[u.name]:
            if u.name in v.results:
                v.prover_of.setdefault((where.get(f, u.file), f), u.name)
    reported = set()
    for file in project.scope_files():
        for (path, name), line in v.plan.defined(file).items():
            key = (path, name)
            if path.startswith("/") or key in v.prover_of or key in reported or name in assumed:
                continue
            reported.add(key)
            v.add(
                "unproven-function", f"{path}:{line}", f"{name} is in scope, and no unit proves it"
            )


def judge_callees(v):
    """Each callee of a proven function is proven with the contract that the caller used."""
    project = v.plan.project
    assumed = project.assumed_functions()
    by_name, graph = {}, {}
    for (path, name), unit in v.prover_of.items():
        by_name.setdefault(name, []).append((path, unit))
    for (path, name), unit in v.prover_of.items():
        tree = v.plan.trees[unit]
        home = v.plan.defined(project_unit(project, unit).file)
        graph[(path, name)] = []
        if tree.calls_itself(name):
            v.add("call-cycle", unit, f"{name} calls itself")
        for callee in tree.calls(name):
            f = tree.functions[callee]
            if not f.contract:
                v.add("no-contract", unit, f"{name} calls {callee}, which has no contract")
                continue
            if callee in assumed:
                v.assumed.setdefault(callee, (assumed[callee], set()))[1].add(unit)
                continue
            here = [(p, callee) for (p, n) in home if n == callee]  # defined in the unit's sources
            keys = [k for k in here if k in v.prover_of] or [
                (p, callee) for p, _ in by_name.get(callee, []) if not here
            ]
            if not keys:
                v.add("unproven-callee", unit, f"{name} calls {callee}, which no unit proves")
                continue
            graph[(path, name)].append(keys[0])
            there = v.plan.trees[v.prover_of[keys[0]]].functions[callee]
            if there.canonical_contract() != f.canonical_contract():
                v.add(
                    "other-contract",
                    unit,
                    f"{name} uses a contract of {callee} other than "
                    f"the one that unit {v.prover_of[keys[0]]} proves",
                )
    loop = cycle(graph)
    if loop:
        v.add("call-cycle", "call graph", " -> ".join(n for _, n in loop))


def project_unit(project, name):
    return next(u for u in project.units if u.name == name)


def cycle(graph):
    """Some cycle as a list of nodes, or None."""
    state = {}
    for root in graph:
        if root in state:
            continue
        stack = [(root, iter(graph.get(root, [])))]
        state[root] = 1
        while stack:
            node, rest = stack[-1]
            for n in rest:
                if state.get(n) == 1:
                    path = [x for x, _ in stack]
                    return path[path.index(n) :] + [n]
                if n not in state:
                    state[n] = 1
                    stack.append((n, iter(graph.get(n, []))))
                    break
            else:
                state[node] = 2
                stack.pop()
    return None


def judge_same_texts(v):
    """A name has one meaning in all units."""
    first = {}
    for u in v.plan.units:
        for x in v.plan.trees[u.name].logics:
            if x.kind in ("axiomatic", "check lemma"):
                continue
            old = first.setdefault((x.kind, x.name), (x.text, u.name))
            if old[0] != x.text:
                v.add("two-meanings", u.name, f"{x.kind} {x.name} differs from that in {old[1]}")


def judge_lemma_order(v):
    """A lemma's proof assumes all lemmas before it. Over all units there must be no cycle."""
    graph = {}
    for u in v.plan.units:
        names = [x.name for x in v.plan.trees[u.name].lemmas() if x.kind == "lemma"]
        for name in v.plan.lemmas[u.name]:
            graph[name] = names[: names.index(name)]
    loop = cycle(graph)
    if loop:
        v.add("lemma-cycle", "lemmas", " uses ".join(loop))


def judge_macros(v):
    """What is compiled is what is proven: no code, nor any meaning of it, that depends on who
    reads it, and none from elsewhere."""
    project, seen = v.plan.project, set()
    files = [*project.scope_files(), *(u.file for u in v.plan.units)]
    folders = {os.path.dirname(file) for file in files} | {"spec/acsl"}
    for u in v.plan.units:
        for file in v.plan.sources[u.name][0]:
            if file in seen:
                continue
            seen.add(file)
            text = pj.read(project.path(file))
            if os.path.dirname(file) not in folders:
                v.add("foreign-code", file, "a proven file includes it from outside the scope")
            for n, line in enumerate(text.split("\n"), 1):
                if re.search(r"__FRAMAC__|__FC_|\bslevel\b|@\s*calls\b", line):
                    v.add(
                        "special-code",
                        f"{file}:{n}",
                        "code that only the prover sees, or a hint that the prover trusts",
                    )
            judge_preprocessor(v, file, text)


# Types and constants; the functions of math.h are called by assumed leaves alone, and those of
# string.h are callees without a proof, which judge_callees reports.
SYSTEM = ("limits.h", "math.h", "stddef.h", "stdint.h", "string.h")


def judge_preprocessor(v, file, text):
    """Directives: includes, macros, an include guard and `#ifdef __cplusplus`."""
    code = re.sub(r"/\*.*?\*/", lambda c: "\n" * c.group().count("\n"), text, flags=re.DOTALL)
    lines = code.split("\n")
    for n, line in enumerate(lines, 1):
        directive = re.match(r"\s*#\s*(\w+)\s*(.*)", line)
        word, rest = directive.groups() if directive else ("", "")
        guard = re.match(r"#define (\w+_H)$", lines[n] if n < len(lines) else "")
        good = word in ("", "define", "endif") or (word == "ifdef" and rest == "__cplusplus")
        good = good or (word == "ifndef" and guard is not None and guard.group(1) == rest)
        if word == "include":
            good = rest.startswith('"') or rest in [f"<{name}>" for name in SYSTEM]
        if not good:
            v.add(
                "special-code", f"{file}:{n}", f"'{line.strip()}': code that depends on the reader"
            )
        if word != "ifdef" and re.search(r"\b__(?!attribute__)\w+", line):
            v.add("special-code", f"{file}:{n}", f"'{line.strip()}': a name of the compiler's own")


def judge_values(v):
    """Each variable has a value from its declaration on: WP 25 does not check that what a function
    reads was written before, if it reads a whole struct."""
    project = v.plan.project
    files = {*project.scope_files(), *(u.file for u in v.plan.units)}
    found = {x for file in sorted(files) for x in csource.uninitialised(project.root, file)}
    for path, line, text in sorted(found):
        v.add(
            "no-value", f"{path}:{line}", f"'{text}': a variable without a value, which may be read"
        )


# Commands of Coq by which a file assumes instead of proving, or weakens the kernel. Outside of a
# section the last four assume, too.
ASSUMES = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Conjectures?|Parameters?|Primitive|Unset\s+\w+\s+Checking"
    r"|bypass_check|Declare|Load|LoadPath|\w+_no_check|Module|Variables?|Hypothes[ie]s|Context"
    r"|Let)\b"
)
IN_SECTION = ("Variable", "Hypothes", "Context", "Let")
COQ_LIBRARY = {"Arith", "Bool", "FinFun", "Lia", "List", "Permutation", "RelationClasses"}
COQ_LIBRARY |= {"Sorted", "ZArith"}


def judge_coq(v):
    """The files of proofs/coq assume nothing. `make coq` asks Coq's kernel; this reads the text."""
    folder = v.plan.project.path("proofs/coq")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    ours = {f"ZP.{name[:-2]}" for name in names if name.endswith(".v")}
    for name in names:
        if not name.endswith(".v"):
            continue
        text, depth = uncommented(pj.read(os.path.join(folder, name))), 0
        for n, line in enumerate(text.split("\n"), 1):
            depth += len(re.findall(r"^\s*Section\b", line)) - len(re.findall(r"^\s*End\b", line))
            where = f"proofs/coq/{name}:{n}"
            for word in ASSUMES.findall(line):
                if depth == 0 or not word.startswith(IN_SECTION):
                    v.add("coq-assumed", where, f"'{line.strip()}': {word} proves nothing")
            if re.search(r"\bRequire\b", line):
                words = set(re.findall(r"[\w.]*\w", line)) - {"Require", "Import", "Export"}
                for word in sorted(words - COQ_LIBRARY - ours):
                    v.add(
                        "coq-assumed", where, f"{word} may have axioms: the gate does not know it"
                    )
                if not line.rstrip().endswith("."):
                    v.add("coq-assumed", where, "a Require that goes on in the next line")


def uncommented(text):
    """Coq's text without comments, which may be nested; its lines stay."""
    out, depth = [], 0
    for part in re.split(r"(\(\*|\*\))", text):
        if part == "(*":
            depth += 1
        elif part == "*)" and depth:
            depth -= 1
        else:
            out.append("\n" * part.count("\n") if depth else part)
    return "".join(out)


# ---- The list of proven properties ---------------------------------------------------------------


def claimed(v):
    """One line for each property whose proof is claimed, in Frama-C's words."""
    project, lines = v.plan.project, set()
    assumed = project.assumed_functions()
    for (path, name), unit in v.prover_of.items():
        for c in v.plan.trees[unit].functions[name].contract:
            if not c.kind.startswith("check"):
                lines.add(f"{path} {name} {c.line()}")
    for u in v.plan.units:
        tree = v.plan.trees[u.name]
        for x in tree.logics:
            if x.kind not in ("axiomatic", "check lemma"):
                lines.add(x.text if not x.block else f"{x.text} [axiomatic {x.block}]")
        for name in assumed:
            if name in tree.functions:
                for c in tree.functions[name].contract:
                    lines.add(f"assumed {name} {c.line()}")
    return sorted(lines)


def judge_claimed(v):
    path = v.plan.project.path("proofs/claimed.txt")
    old = pj.read(path).split("\n")[:-1] if os.path.exists(path) else []
    for line in difflib.unified_diff(old, claimed(v), lineterm="", n=0):
        if line.startswith("-") and not line.startswith("---"):
            v.add("claim-lost", "proofs/claimed.txt", line[1:][:300])
        elif line.startswith("+") and not line.startswith("+++"):
            v.add(
                "claim-new",
                "proofs/claimed.txt",
                f"not listed (make claims-accept): {line[1:][:300]}",
            )


def judge_assumptions(v):
    """units.toml's assumptions are exactly those in ASSUMPTIONS.md, and each is used."""
    project = v.plan.project
    path = project.path("ASSUMPTIONS.md")
    text = pj.read(path) if os.path.exists(path) else None
    for a in project.assumptions:
        if text is not None and not re.search(rf"\b{re.escape(a['id'])}\b", text):
            v.add("assumption-unlisted", a["id"], "is not in ASSUMPTIONS.md")
        for f in a.get("functions", []):
            if text is not None and f not in text:
                v.add("assumption-unlisted", a["id"], f"{f} is not in ASSUMPTIONS.md")
            if any(f == n for _, n in v.prover_of):
                v.add(
                    "assumption-idle",
                    a["id"],
                    f"{f} is proven, so its contract need not be assumed",
                )
