#!/usr/bin/env python3
"""Writes CLAIMS.md, its summary in README.md, the pages of proofs/claims and the claims of each
clause in spec/*.md, from proofs/claims.toml, the units' reports and the sources. Accepts only units
that were run in this source tree, no stored verdicts.

Each claim is a sentence with the clauses it states, the properties that prove it and links to them,
the number of goals, the provers and the assumptions. A property that does not exist or is not
proven is an error and never enters the table. The output depends only on the sources, except for
the names of the provers in proofs/claims.

  --check   writes nothing; exits 1 if the files differ from the output"""

import argparse
import glob
import json
import os
import re
import sys
import tomllib
from dataclasses import dataclass, field

import claim_pages
import clause_links
import gate
import gate_project
import project as pj
import promises
import verdicts

FAMILIES = [
    "Completeness",
    "Partition",
    "Exactly once",
    "Equal ledgers",
    "Pipeline",
    "No deadlock",
    "Norm and exact sums",
    "Step",
    "Executor",
    "Safety",
]
HEAD_BEGIN, HEAD_END = "<!-- claims: made by `make claims` -->", "<!-- end of claims -->"
ID = r"(\d)\.(\d+)"
KEYS = {"id", "says", "clauses", "unit", "properties", "assumptions", "evidence"}
# Claims outside WP: unit -> the command that checks it, the files and the pattern of its
# properties. A property is UNIT/NAME.
EXTERNAL = {
    "coq": ("make coq", "proofs/coq/*.v", r"^(Theorem|Corollary|Lemma) {name}\b"),
    "spin": ("make spin", "proofs/spin/{name}.pml", ""),
    "enumerate": ("make model-check", "proofs/enumerate/{name}.c", ""),
}


@dataclass
class Found:
    """A property of a claim, looked up."""

    prop: str  # FUNCTION/NAME, lemma/NAME, or coq/THEOREM and so on
    location: tuple  # (file, line) of its text, or None
    goals: list = field(default_factory=list)
    unit: str = ""
    how: str = ""  # the command that checks it, if that is not WP


class Claims:
    def __init__(self, v):
        self.v = v
        self.project = v.plan.project
        self.problems = []
        self.found = {}  # claim -> [Found]
        path = self.project.path("ASSUMPTIONS.md")
        self.assumptions = (
            set(re.findall(r"\b[A-Z]-\d+\b", pj.read(path))) if os.path.exists(path) else set()
        )
        path = self.project.path("proofs/claims.toml")
        try:
            with open(path, "rb") as f:
                self.claims = tomllib.load(f).get("claim", [])
        except FileNotFoundError:
            raise pj.Problem("proofs/claims.toml does not exist") from None
        except tomllib.TOMLDecodeError as e:
            raise pj.Problem(f"proofs/claims.toml: {e}") from e
        self.spec = clause_links.pages(self.project, self.citing())  # file -> text
        self.lines = {file: text.split("\n") for file, text in self.spec.items()}  # of every file
        self.clauses = self.find_clauses()

    def citing(self):
        """{clause: ids of the claims that cite it}"""
        found = {}
        for claim in self.claims:
            for c in claim.get("clauses", []):
                if re.fullmatch(ID, claim.get("id", "")):
                    found.setdefault(c, []).append(claim["id"])
        return found

    def wrong(self, claim, text, kind="claim-unknown"):
        self.problems.append(gate.Problem(kind, f"claim {claim.get('id', '?')}", text))

    # ---- Locations in the sources ----------------------------------------------------------------

    def text_of(self, file):
        if file not in self.lines:
            self.lines[file] = pj.read(self.project.path(file)).split("\n")
        return self.lines[file]

    def find_clauses(self):
        """Clause -> (file, line), in the files as they are written."""
        found = {}
        for file, text in self.spec.items():
            for clause, n in clause_links.clauses(text).items():
                found.setdefault(clause, (file, n))
        return found

    def lemma_location(self, unit, name):
        for file in self.v.plan.sources[unit][0]:
            for n, line in enumerate(self.text_of(file), 1):
                if re.search(rf"\blemma\s+{name}\b", line):
                    return file, n
        return None

    def function_location(self, unit, function, label):
        """The line of the clause in the contract above the function's declaration (or, without a
        label, the declaration)."""
        best = None
        for file in self.v.plan.sources[unit][0]:
            lines = self.text_of(file)
            for n, line in enumerate(lines, 1):
                if not re.match(rf"[A-Za-z_].*\b{function}\s*\(", line) or line.startswith("#"):
                    continue
                best = best or (file, n)
                location = self.clause_above(lines, n, label)
                if location:
                    return file, location
        return best

    @staticmethod
    def clause_above(lines, n, label):
        """Searches the ACSL comment that ends just above line n."""
        if n < 2 or "*/" not in lines[n - 2]:
            return None
        i = n - 2
        while i >= 0 and "/*@" not in lines[i]:
            i -= 1
        if i < 0:
            return None
        for k in range(i, n - 1):
            if re.search(label, lines[k]):
                return k + 1
        return None

    # ---- Properties ------------------------------------------------------------------------------

    def goals_of(self, claim, unit, prop):
        """A property that WP proved, or None (reported)."""
        r = self.v.results.get(unit)
        if r is None:
            self.wrong(claim, f"unit {unit} does not exist or has no results: run make prove")
            return None
        owner, _, label = prop.partition("/")
        if not label:
            self.wrong(claim, f"got property {prop}, expected FUNCTION/NAME or lemma/NAME")
            return None
        if owner == "lemma":
            return self.lemma_goals(claim, r, label)
        if owner not in r.meta["functions"]:  # another unit may prove it
            homes = {u for (_, f), u in self.v.prover_of.items() if f == owner}
            r = self.v.results.get(homes.pop(), r) if len(homes) == 1 else r
        return self.function_goals(claim, r, owner, label)

    def lemma_goals(self, claim, r, name):
        home = next((u for u, names in self.v.plan.lemmas.items() if name in names), None)
        if home is None or home not in self.v.results:
            self.wrong(claim, f"no unit has a lemma {name}")
            return None
        goals = [
            g
            for g in self.v.results[home].log.goals
            if re.fullmatch(rf"typed(_\w+)?_lemma_{name}(_part\d+)?", g.name)
        ]
        if not goals or not all(g.valid for g in goals):
            self.wrong(claim, f"lemma {name} is not proven", "claim-unproved")
            return None
        return Found(f"lemma/{name}", self.lemma_location(home, name), goals, home)

    def function_goals(self, claim, r, function, label):
        if function not in r.meta["functions"]:
            self.wrong(claim, f"unit {r.unit.name} does not prove a function {function}")
            return None
        contract = r.tree.functions[function].contract
        keys, pattern = self.goal_names(contract, function, label)
        if keys is None:
            self.wrong(claim, f"{function} has no property {label}")
            return None
        goals = [
            g
            for g in r.wanted()
            if re.fullmatch(rf"typed(_real)?_{keys}", g.name) and self.owns(r, g, function)
        ]
        if not goals and label not in ("rte",):
            self.wrong(claim, f"WP generated no goal for {function}/{label}")
            return None
        # a property's proof assumes the others of its function: invariants, assertions, assigns
        bad = [g.name for g in r.wanted() if not g.valid and self.owns(r, g, function)]
        if bad:
            self.wrong(claim, f"{function}/{label} is not proven: {bad[0]}", "claim-unproved")
            return None
        location = self.function_location(r.unit.name, function, pattern)
        return Found(f"{function}/{label}", location, goals, r.unit.name)

    @staticmethod
    def owns(r, goal, function):
        """Whether the goal is this function's. typed_f_g_ensures_x may belong to f or to f_g: the
        longest function name decides."""
        rest = re.sub(r"^typed(_real)?_", "", goal.name)
        owners = [f for f in r.meta["functions"] if rest.startswith(f + "_")]
        return max(owners, key=len) == function if owners else False

    @staticmethod
    def goal_names(contract, function, label):
        """Regular expressions for the goals' names and for the clause's line; (None, None) if the
        contract has no such property."""
        tail = r"(_part\d+|_\d+)*"
        if label == "rte":
            return rf"{function}_assert_rte_\w+", r"/\*@"
        if label in ("assigns", "exits", "terminates"):
            if not any(c.kind == label for c in contract):
                return None, None
            return rf"{function}_(\w+_)?{label}(_exit|_normal)?{tail}", rf"\b{label}\b"
        if not any(c.kind == "ensures" and c.name == label for c in contract):
            return None, None
        return (
            rf"{function}_(\w+_)?ensures_{label}{tail}",
            rf"\bensures\s+{label}\s*:|^\s*{label}\s*:",
        )

    def assumed_by(self, unit, functions):
        """Ids of the assumptions that these functions' proofs use, through all callees."""
        assumed = self.project.assumed_functions()
        tree, todo, seen, ids = self.v.plan.trees[unit], list(functions), set(), set()
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in assumed:
                ids.add(assumed[name])
                continue
            home = next((u for (_, f), u in self.v.prover_of.items() if f == name), unit)
            trees = (
                tree
                if name in tree.functions and tree.functions[name].body
                else self.v.plan.trees[home]
            )
            if name in trees.functions:
                todo += trees.calls(name)
        return ids

    # ---- The page --------------------------------------------------------------------------------

    def row(self, claim):
        """(id, says, clauses, properties, goals by property, provers, assumptions, logs), as
        Markdown."""
        for key in ("id", "says", "clauses", "unit", "properties"):
            if key not in claim:
                self.wrong(claim, f"the key {key} is missing")
                return None
        for key in set(claim) - KEYS:
            self.wrong(claim, f"unknown key {key}")
        clauses = []
        for c in claim["clauses"]:
            if c not in self.clauses:
                self.wrong(claim, f"spec/ has no clause {c}")
                continue
            file, n = self.clauses[c]
            clauses.append(f"[{c}]({file}#L{n})")
        if not claim["properties"]:
            self.wrong(claim, "properties is empty")
        if claim["unit"] in EXTERNAL:
            shown, goals, provers, ids = self.external(claim)
            logs = f"`build/{claim['unit']}/report.txt`"
        else:
            shown, goals, provers, ids = self.inside(claim)
            units = dict.fromkeys(f.unit for f in self.found.get(claim["id"], []))
            logs = "<br>".join(f"[{u}]({claim_pages.UNITS}#{u}): `{log_of(u)}`" for u in units)
        listed = set(claim.get("assumptions", []))
        for a in sorted(listed - self.assumptions):
            self.wrong(claim, f"ASSUMPTIONS.md does not list {a}", "assumption-unlisted")
        for a in sorted(ids - listed):
            self.wrong(
                claim, f"the proof uses {a}, which the claim does not list", "assumption-unlisted"
            )
        where = ", ".join(f"[{a}](ASSUMPTIONS.md#{a})" for a in sorted(listed)) or "–"
        says = claim["says"].strip().replace("|", "\\|")
        cited, properties = ", ".join(clauses), "<br>".join(shown)
        return (claim["id"], says, cited, properties, goals, provers, where, logs)

    def inside(self, claim):
        shown, count, solvers, functions = [], {}, set(), []
        for prop in claim["properties"]:
            found = self.goals_of(claim, claim["unit"], prop)
            if not found:
                continue
            self.found.setdefault(claim["id"], []).append(found)
            count[f"{found.unit} {prop}"] = len(found.goals)
            if not all(g.prover in ("Qed", "CFG") for g in found.goals):
                solvers |= set(self.v.results[found.unit].unit.provers)
            location = found.location
            owner = prop.partition("/")[0]
            if owner != "lemma":
                functions.append(owner)
            label = prop.replace("lemma/", "")
            shown.append(f"[{label}]({location[0]}#L{location[1]})" if location else label)
        order = [p for p in pj.PROVERS if p in solvers]
        return (
            shown,
            count,
            ", ".join(order) or "Qed",
            self.assumed_by(claim["unit"], functions) if claim["unit"] in self.v.results else set(),
        )

    def external(self, claim):
        """Coq, Spin and enumeration: the sources must define the name; other targets check it."""
        unit = claim["unit"]
        how, files, pattern = EXTERNAL[unit]
        shown = []
        for prop in claim["properties"]:
            owner, _, name = prop.partition("/")
            location = None
            for file in sorted(glob.glob(files.format(name=name), root_dir=self.project.root)):
                for n, line in enumerate(self.text_of(file), 1):
                    if not location and re.search(pattern.format(name=re.escape(name)), line):
                        location = (file, n)
            if owner != unit or not location:
                self.wrong(claim, f"{files.format(name=name)} has no {prop}")
                continue
            shown.append(f"[{name}]({location[0]}#L{location[1]})")
            self.found.setdefault(claim["id"], []).append(Found(prop, location, how=how))
        return shown, {p: 1 for p in claim["properties"]}, f"`{how}`", set()

    def page(self):
        rows = {}
        seen = set()
        for claim in self.claims:
            row = self.row(claim)
            if row is None:
                continue
            if row[0] in seen:
                self.wrong(claim, "another claim has the same id")
            seen.add(row[0])
            m = re.fullmatch(ID, row[0])
            if not m:
                self.wrong(claim, f"got id {row[0]}, expected FAMILY.NUMBER, such as 1.3")
                continue
            rows.setdefault(int(m[1]), []).append((int(m[2]), row))
        return head(self, rows) + families(rows)


def log_of(unit):
    return f"build/proofs/{unit}/wp.log"


def head(c, rows):
    v, project = c.v, c.project
    wanted = [g for r in v.results.values() for g in r.wanted()]
    simple = sum(g.prover in ("Qed", "CFG") for g in wanted)
    functions = sum(len(r.meta["functions"]) for r in v.results.values() if r.unit.kind == "code")
    lemmas = sum(len(n) for n in v.plan.lemmas.values())
    tools = ", ".join(f"{n} {t}" for n, t in project.tools.items())
    claims = sum(len(r) for r in rows.values())
    return (
        "\n".join(
            [
                "# Claims",
                "",
                "Generated by `make claims` from [proofs/claims.toml](proofs/claims.toml) and the "
                "reports of the proofs. `make prove` checks the proofs again and fails if this "
                "page does not match them. "
                "zeroproof makes no claims other than those in the tables below.",
                "",
                "| | |",
                "|---|---|",
                f"| claims | {claims} in {len(rows)} families |",
                f"| functions proven | {functions}, all functions of {', '.join(scope(project))} |",
                f"| lemmas proven | {lemmas} |",
                f"| goals | {len(wanted)}, {simple} of them proven by WP's own simplifier |",
                f"| units | {len(v.results)} ([proofs/units.toml](proofs/units.toml)) |",
                f"| assumed | {assumed_text(project)} |",
                f"| tools | {tools} |",
                f"| proven sources, SHA-256 | `{sources_digest(c)}` |",
                f"| sources of the binary, SHA-256 | `{binary_digest(project)}` |",
                "",
                "An id links to the claim's page, with definitions, code and goals; a clause to "
                "the specification, a property to its line in the contract, a unit to the "
                f"[table of units]({claim_pages.UNITS}). `make prove-UNIT` proves one unit and "
                "writes its log. `Qed` means proven by WP's simplifier alone. "
                "[SOUNDNESS.md](SOUNDNESS.md) states the limits of the proofs, "
                "[proofs/README.md](proofs/README.md) how they are run and judged.",
                "",
                *overview(rows),
                "",
            ]
        )
        + "\n"
    )


def scope(project):
    return [f"`{p}`" for p in project.table.get("scope", {}).get("files", [])]


def assumed_text(project):
    n = len(project.assumed_functions())
    ids = ", ".join(a["id"] for a in project.assumptions)
    return (
        f"the contracts of {n} functions: {ids} ([ASSUMPTIONS.md](ASSUMPTIONS.md))"
        if n
        else "nothing"
    )


def family(rows, number):
    """The rows of one family and the number of their goals, each counted once."""
    mine = [r for _, r in sorted(rows.get(number, []), key=lambda x: x[0])]
    return mine, sum({p: n for r in mine for p, n in r[4].items()}.values())


def overview(rows):
    text = ["| | family | claims | goals |", "|--:|---|--:|--:|"]
    for number, name in enumerate(FAMILIES):
        mine, goals = family(rows, number)
        text.append(
            f"| {number} | [{name}](#{number}-{name.lower().replace(' ', '-')}) | {len(mine)} "
            f"| {goals} |"
        )
    return text


def families(rows):
    text = []
    for number, name in enumerate(FAMILIES):
        text += [
            f"## {number}. {name}",
            "",
            "| id | claim | clauses | properties | goals | provers | assumes | units, logs |",
            "|---|---|---|---|--:|---|---|---|",
        ]
        for r in family(rows, number)[0]:
            cells = [str(sum(x.values())) if isinstance(x, dict) else str(x) for x in r]
            cells[0] = f"[{r[0]}]({claim_pages.FOLDER}/{clause_links.page_of(r[0])})"
            text.append("| " + " | ".join(cells) + " |")
        text.append("")
    return "\n".join(text).rstrip() + "\n"


def sources_digest(c):
    files = sorted({f for u in c.v.plan.units for f in c.v.plan.sources[u.name][0]})
    return pj.digest(*[f + "=" + pj.file_digest(c.project.path(f)) for f in files])


def binary_digest(project):
    """The digest of all files that the compiler reads for the command and the library."""
    files = sorted(
        f
        for p in ("ref/**/*.c", "ref/**/*.h", "spec/acsl/*.h")
        for f in glob.glob(p, root_dir=project.root, recursive=True)
    )
    return pj.digest(*[f + "=" + pj.file_digest(project.path(f)) for f in files])


def with_head(readme, page):
    """The README with the page's table of families between its two marks, if it has them."""
    before, begin, rest = readme.partition(HEAD_BEGIN)
    _, end, after = rest.partition(HEAD_END)
    if not end:
        return readme
    table = [
        x for x in page.split("\n## ")[0].split("\n") if re.match(r"\| (\| family|\d+ \|)|\|--:", x)
    ]
    return (
        before + begin + "\n" + "\n".join(table).replace("](#", "](CLAIMS.md#") + "\n" + end + after
    )


def generate(v):
    """({file: text}, problems)"""
    c = Claims(v)
    texts = {"CLAIMS.md": c.page()}
    path = c.project.path("README.md")
    if os.path.exists(path):
        texts["README.md"] = with_head(pj.read(path), texts["CLAIMS.md"])
    return texts | claim_pages.generate(c, FAMILIES) | c.spec | promises.pages(c), c.problems


def check(v):
    """Problems of claims.toml, and outdated files among those that are generated."""
    texts, problems = generate(v)
    if problems:
        return problems
    for name, text in texts.items():
        path = v.plan.project.path(name)
        old = pj.read(path) if os.path.exists(path) else ""
        if name.startswith(claim_pages.FOLDER + "/"):
            old, text = (claim_pages.without_provers(x) for x in (old, text))
        if old != text:
            problems.append(gate.Problem("claims-stale", name, "is outdated: run make claims"))
    for name in extra(v.plan.project, texts):
        problems.append(gate.Problem("claims-stale", name, "is no page of a claim: delete it"))
    return problems


def extra(project, texts):
    """Files among the pages that are not generated."""
    return sorted(set(glob.glob(claim_pages.FOLDER + "/*", root_dir=project.root)) - set(texts))


def write(project, texts):
    os.makedirs(project.path(claim_pages.FOLDER), exist_ok=True)
    for name, text in texts.items():
        with open(project.path(name), "w") as f:
            f.write(text)
    for name in extra(project, texts):
        os.remove(project.path(name))


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--root", help="source tree (default: this one)")
    p.add_argument("--check", action="store_true")
    p.add_argument("--json", action="store_true", help="print problems as JSON")
    args = p.parse_args()
    project = pj.load(args.root)
    try:
        v = gate.judge(project, claims=False, stored=False)
        old = [x for x in v.problems if x.kind in gate_project.UNJUDGED]
        if v.plan is None or not v.prover_of or old:
            for x in old or v.problems:
                print(x, file=sys.stderr)
            return 1
        problems = check(v) if args.check else []
        if not args.check:
            texts, problems = generate(v)
            if not problems:
                write(project, texts)
                verdicts.write_committed(
                    v.plan,
                    {
                        n: (gate.packed(r), r.meta["seconds"], r.meta["cpu"])
                        for n, r in v.results.items()
                    },
                )
                print(f"CLAIMS.md and {len(texts) - 1} other files written")
    except pj.Problem as e:
        pj.die(str(e))
    if args.json:
        print(json.dumps([vars(x) for x in problems], indent=1))
    else:
        for x in problems:
            print(x)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
