"""The pages of proofs/claims: for each claim its clauses, contracts, definitions, code, goals and
provers; and the table of units. `make claims` writes them."""

import os
import re

import clause_links
import named_links
import printed

FOLDER = "proofs/claims"
UNITS = f"{FOLDER}/units.md"
UP = "../../"  # from FOLDER to the root
PROVED = re.compile(r"(?:(?:z3|cvc4|cvc5)(?:-\w+)? \d+(?:, )?)+")


def short(prover):
    """The prover's name in units.toml: CVC5 1.0.3 (ind) -> cvc5-ind; WP's own steps -> Qed."""
    if prover in ("Qed", "CFG"):
        return "Qed"
    strategy = re.search(r"\((\w+)\)", prover)
    return prover.split()[0].lower() + (f"-{strategy[1]}" if strategy else "")


def provers(goals):
    """`cvc5 12, Qed 3`: how many goals each prover proved."""
    count = {}
    for g in goals:
        if g.valid:
            count[short(g.prover)] = count.get(short(g.prover), 0) + 1
    return ", ".join(f"{p} {n}" for p, n in sorted(count.items(), key=lambda x: (-x[1], x[0])))


def without_provers(text):
    """A page without the names of the provers: in another run a prover may run out of time and
    leave its goal to the next."""

    def total(m):
        count = sum(int(n) for n in re.findall(r" (\d+)", m[0]))
        return f"provers {count}" + (", " if m[0].endswith(", ") else "")

    return PROVED.sub(total, text)


def names(goals):
    """The goals' names in the log. Those that differ only in the number at the end are one."""
    count = {}
    for g in goals:
        name = re.sub(r"(_part\d+|_\d+)+$", "", g.name)
        count[name] = count.get(name, 0) + 1
    return "<br>".join(f"`{n}`" + (f" × {k}" if k > 1 else "") for n, k in count.items())


def link(location, text=None):
    """A link from the pages to a line of a source; the text is the file's name and line."""
    file, n = location
    return f"[{text or f'{os.path.basename(file)}:{n}'}]({UP}{file}#L{n})"


def assumption(name):
    return f"[{name}]({UP}ASSUMPTIONS.md#{name})"


def prove(unit):
    return f"`make prove-{unit}`, log `build/proofs/{unit}/wp.log`"


class Pages:
    """c: the claims, whose properties were looked up; see claims.Claims."""

    def __init__(self, c):
        self.c = c
        self.v = c.v
        self.definitions = self.find_definitions()

    def find_definitions(self):
        """Predicate or logic function -> (file, line)."""
        head = re.compile(r"\b(?:predicate|logic\s+[\w ]*\w[\s*]+)\s*([A-Za-z_]\w*)\s*[{(=;]")
        found = {}
        for file in sorted({f for u in self.v.plan.units for f in self.v.plan.sources[u.name][0]}):
            for n, line in enumerate(self.c.text_of(file), 1):
                m = head.search(line)
                if m:
                    found.setdefault(m[1], (file, n))
        return found

    def texts(self, found):
        """The text of a property, as Frama-C reads it. `rte` stands for no text."""
        tree = self.v.plan.trees[found.unit]
        owner, _, label = found.prop.partition("/")
        if owner == "lemma":
            lemmas = [x.text for x in tree.lemmas() if x.name == label]
            return [text.partition(": ")[2] for text in lemmas]
        contract = tree.functions[owner].contract
        if label in ("assigns", "exits", "terminates"):
            return [x.line() for x in contract if x.kind == label]
        return [x.text for x in contract if x.kind == "ensures" and x.name == label]

    def meaning(self, found):
        """The definitions that the text of a property uses."""
        words = {w for text in self.texts(found) for w in printed.WORD.findall(text)}
        tree = self.v.plan.trees[found.unit]
        known = {x.name for x in tree.logics if x.kind in ("predicate", "logic")}
        return words & known & set(self.definitions)

    def code_of(self, found):
        """(file, line) of the function's definition; None for a lemma."""
        owner = found.prop.partition("/")[0]
        unit = next(u for u in self.v.plan.units if u.name == found.unit)
        for (file, name), line in self.v.plan.defined(unit.file).items():
            if name == owner:
                return file, line
        return None

    def contract_of(self, found):
        """(file, line) where the contract of a property begins, or None."""
        if not found.location:
            return None
        file, line = found.location
        lines = self.c.text_of(file)
        while line > 1 and "/*@" not in lines[line - 1]:
            line -= 1
        return file, line

    def callees(self, unit, found):
        """The functions of other units whose contracts the proofs of these functions use, directly
        or by functions of this unit that they call."""
        tree = self.v.plan.trees[unit]
        assumed = self.c.project.assumed_functions()
        homes = {f: u for (_, f), u in self.v.prover_of.items()}
        todo = [f.prop.partition("/")[0] for f in found]
        seen, outside = set(), set()
        while todo:
            name = todo.pop()
            if name in seen or name not in tree.functions:
                continue
            seen.add(name)
            for callee in tree.calls(name):
                if callee not in assumed and homes.get(callee, unit) == unit:
                    todo.append(callee)
                    continue
                at = self.c.function_location(unit, callee, r"/\*@")
                name = link(at, f"`{callee}`") if at else f"`{callee}`"
                if callee in assumed:
                    outside.add(f"{name} ({assumption(assumed[callee])})")
                else:
                    outside.add(f"{name} ([{homes[callee]}](units.md#{homes[callee]}))")
        return sorted(outside)

    def unit_table(self, unit, found):
        yield f"Unit [{unit}](units.md#{unit}): {prove(unit)}."
        yield ""
        yield "| property | contract | code | goals | proven by |"
        yield "|---|---|---|---|---|"
        for f in found:
            owner, _, label = f.prop.partition("/")
            begin = self.contract_of(f)
            name = link(begin, f"`{owner}`") if begin else f"`{owner}`"
            name = f"lemma `{label}`" if owner == "lemma" else f"{name}: `{label}`"
            code = self.code_of(f)
            text = [f"`{x}`".replace("|", "\\|") for x in self.texts(f)]
            where = "<br>".join([*([link(f.location)] if f.location else []), *text]) or "–"
            yield (
                f"| {name} | {where} | {link(code) if code else '–'} | {names(f.goals)} "
                f"| {provers(f.goals)} |"
            )
        yield ""
        called = ", ".join(self.callees(unit, found))
        if called:
            yield f"Uses the contracts of {called}."
            yield ""

    def external_table(self, claim, found):
        how, unit = found[0].how, claim["unit"]
        files = [f"proofs/{unit}/{name}" for name in ("README.md", "audit.expected")]
        there = [f for f in files if os.path.exists(self.c.project.path(f))]
        more = " and ".join(f"[{os.path.basename(f)}]({UP}{f})" for f in there)
        yield (
            f"Checked by `{how}`, report `build/{unit}/report.txt`."
            + (
                f" See {more}. A statement also depends on the variables and hypotheses of its "
                "section; audit.expected has all of it."
                if more
                else ""
            )
        )
        yield ""
        yield "| property | where | statement |" if unit == "coq" else "| property | where |"
        yield "|---|---|---|" if unit == "coq" else "|---|---|"
        for f in found:
            row = f"| `{f.prop.partition('/')[2]}` | {link(f.location)} |"
            yield row + (f" `{self.statement(f)}` |" if unit == "coq" else "")
        yield ""

    def statement(self, found):
        """The statement of a theorem of Coq, in one line."""
        file, line = found.location
        text = "\n".join(self.c.text_of(file)[line - 1 :])
        text = re.split(r"\.\s*(?:\n\s*)?Proof\b", text, maxsplit=1)[0]
        text = re.sub(r"^\w+\s+\w+\s*:?", "", text)  # Theorem name :
        return printed.squeeze(re.sub(r"\(\*.*?\*\)", "", text, flags=re.S)).replace("|", "\\|")

    def claim(self, claim):
        """The lines of one claim."""
        found = self.c.found.get(claim["id"], [])
        yield f"## {claim['id']}"
        yield ""
        yield claim["says"].strip()
        yield ""
        clauses = [(x, self.c.clauses[x]) for x in claim["clauses"] if x in self.c.clauses]
        yield "- Clauses: " + ", ".join(link(at, x) for x, at in clauses) + "."
        assumed = ", ".join(assumption(a) for a in sorted(claim.get("assumptions", [])))
        if assumed:
            yield f"- Assumes {assumed}."
        outside = [f for f in found if f.how]
        inside = [f for f in found if not f.how]
        used = sorted({w for f in inside for w in self.meaning(f)})
        if used:
            links = ", ".join(link(self.definitions[w], f"`{w}`") for w in used)
            yield f"- Definitions: {links}."
        yield ""
        if outside:
            yield from self.external_table(claim, outside)
        for unit in dict.fromkeys(f.unit for f in inside):
            yield from self.unit_table(unit, [f for f in inside if f.unit == unit])

    def family(self, number, name, claims):
        text = [
            f"# Claims {number}: {name.lower()}",
            "",
            "Generated by `make claims`. For each claim: its sentence; the clauses that it cites; "
            "the definitions that its properties use; and for each property its text in the "
            "contract, the code, and its goals as `wp.log` names them, with the number of goals "
            "that each prover proved. A proof of a property also uses the loop invariants and "
            "assertions of its function; the same log has their goals. The name of a function "
            "leads to its contract. A property holds for calls that satisfy all `requires` there; "
            "for each call in a proven function these are goals of the caller. The property `rte` "
            "means: no undefined behaviour and no overflow in this function. "
            f"[CLAIMS.md]({UP}CLAIMS.md) lists all claims, "
            "[units.md](units.md) the units and the units that prove their lemmas, "
            f"[ASSUMPTIONS.md]({UP}ASSUMPTIONS.md) the assumptions. "
            f"[proofs/README.md]({UP}proofs/README.md#one-claim-from-clause-to-proof) explains one "
            "claim step by step.",
            "",
        ]
        for claim in claims:
            text += self.claim(claim)
        return "\n".join(text).rstrip() + "\n"

    def units(self):
        """The table of units."""
        claims = {}
        for claim in self.c.claims:
            for f in self.c.found.get(claim.get("id"), []):
                if not f.how and claim["id"] not in claims.setdefault(f.unit, []):
                    claims[f.unit].append(claim["id"])
        text = [
            "# Units",
            "",
            f"Generated by `make claims` from [units.toml]({UP}proofs/units.toml) and the results "
            "of the proofs. To prove one unit: `make prove-UNIT`; its log is "
            "`build/proofs/UNIT/wp.log`. A unit assumes the lemmas that it includes; the units of "
            "the column `lemmas of` prove them. Claims cite some of a unit's goals, not all.",
            "",
            "| unit | file | what it proves | functions | goals | proven by | lemmas of | claims |",
            "|---|---|---|---|--:|---|---|---|",
        ]
        text += [self.unit(u, claims.get(u.name, [])) for u in self.v.plan.units]
        return "\n".join(text) + "\n"

    def unit(self, u, claims):
        own = set(self.v.plan.lemmas[u.name])
        used = {x.name for x in self.v.plan.trees[u.name].lemmas() if x.kind == "lemma"} - own
        homes = [n for n, names in self.v.plan.lemmas.items() if used & set(names)]
        r = self.v.results.get(u.name)
        goals = r.wanted() if r else []
        ids = ", ".join(
            f"[{c}]({clause_links.page_of(c)})" for c in sorted(claims, key=clause_links.order)
        )
        shows = u.shows.replace("|", "\\|")
        functions = ", ".join(f"`{f}`" for f in self.v.plan.functions[u.name])
        return (
            f'| <a id="{u.name}"></a>{u.name} | [{os.path.basename(u.file)}]({UP}{u.file}) '
            f"| {shows} | {functions or '–'} | {len(goals)} | {provers(goals)} "
            f"| {', '.join(homes) or '–'} | {ids or '–'} |"
        )


def generate(c, families):
    """{file: text}"""
    pages = Pages(c)
    texts = {UNITS: pages.units()}
    for number, name in enumerate(families):
        mine = [x for x in c.claims if x.get("id", "").startswith(f"{number}.")]
        if mine:
            mine.sort(key=lambda x: clause_links.order(x["id"]))
            texts[f"{FOLDER}/{number}.md"] = pages.family(number, name, mine)
    return texts | named_links.pages(c, pages.definitions)
