"""zeroproof explain: a clause in plain words, its definition, and the historic bugs that broke it.

Exit codes: 0; 2 there is no such clause."""

import json
import os
import re
import sys

import console
import demands
from report import sentence

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
NAME = "zeroproof explain"
FAMILY = re.compile(r"(?m)^\*\*([A-Z]+-\d+)\*\*(?: \((.*?)\)\.?)? ")


def specification():
    """Clause -> (title or None, text, file): the numbered paragraphs of spec/*.md."""
    found = {}
    folder = os.path.join(ROOT, "..", "spec")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if not name.endswith(".md"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        for match in FAMILY.finditer(text):
            body = re.split(r"\n(?:\n(?! )|#|\*\*[A-Z]+-\d+\*\*)", text[match.end() :], maxsplit=1)[
                0
            ]
            body = body.partition("\n*Claims:*")[0]  # links that proofs/claims.py writes
            found.setdefault(match[1], (match[2], body.strip(), f"spec/{name}"))
    return found


def read(*names):
    with open(os.path.join(*names), encoding="utf-8") as file:
        return json.load(file)


def broken_by(clause):
    """(historic bugs of the corpus, known causes in the releases that were judged)."""
    rows = [r for r in read(HERE, "corpus.json")["rows"] if clause in r["clauses"]]
    folder = os.path.join(ROOT, "known")
    causes = read(folder, "causes.json")["causes"]
    found = {}
    for name in sorted(set(os.listdir(folder)) - {"causes.json"}):
        for entry in read(folder, name)["failures"]:
            if entry["clause"] == clause and causes[entry["cause"]]["class"] == "defect":
                found.setdefault(entry["cause"], []).append(name.removesuffix(".json"))
    known = [
        {"cause": cause, "title": causes[cause]["title"], "found in": sorted(set(subjects))}
        for cause, subjects in found.items()
    ]
    return rows, known


def explained(clause, spec):
    title, text, file = spec.get(clause, (None, "", demands.file_of(clause)))
    rows, known = broken_by(clause)
    return {
        "clause": clause,
        "title": demands.title(clause) or title or "",
        "demand": demands.demand(clause),
        "judged by": demands.needs(clause)[0] if demands.demand(clause) else "",
        "definition": " ".join(text.split()),
        "file": file,
        "historic bugs": [{k: r[k] for k in ("id", "symptom", "cause")} for r in rows],
        "known defects": known,
    }


def lines(found):
    """What a person reads: the demand, what shows a violation, the definition, the bugs."""
    yield f"{found['clause']}: {found['title']}" if found["title"] else found["clause"]
    if found["demand"]:
        yield ""
        yield sentence(found["demand"])
        yield f"It is judged by {found['judged by']}."
    if found["definition"]:
        yield ""
        yield f"Definition ({found['file']}): {found['definition']}"
    yield ""
    yield "Historic bugs that broke it:" if found["historic bugs"] else "No historic bug is listed."
    for row in found["historic bugs"]:
        yield f"  {row['id']}: {row['symptom']}; the cause: {row['cause']}"
    if found["known defects"]:
        yield ""
        yield "Known defects of releases that were judged:"
    for one in found["known defects"]:
        yield f"  {one['cause']}: {one['title']} ({', '.join(one['found in'])})"


def run(arguments):
    parser = console.Parser(
        prog=NAME,
        description="Prints what a clause demands, its definition, and the bugs that broke it.",
        formatter_class=console.Help,
        epilog="Without CLAUSE: prints the list of all clauses.",
    )
    parser.add_argument("clause", metavar="CLAUSE", nargs="?", help="such as STAT-4")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    spec = specification()
    clauses = sorted({*spec, *demands.listed()}, key=lambda c: (c.split("-")[0], number(c)))
    if options.clause is None:
        titles = {c: demands.title(c) or spec.get(c, ("",))[0] or "" for c in clauses}
        if options.json:
            console.show(json.dumps(titles, indent=1))
        else:
            console.put([f"{c:9} {titles[c]}".rstrip() + "\n" for c in clauses])
        return 0
    clause = options.clause.upper()
    if clause not in clauses:
        near = [c for c in clauses if c.split("-")[0] == clause.split("-")[0]]
        console.show_error(
            f"{NAME}: there is no clause '{options.clause}'; "
            + (f"expected one of {', '.join(near)}" if near else f"`{NAME}` lists all")
        )
        return 2
    found = explained(clause, spec)
    if options.json:
        console.show(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        console.put([line + "\n" for line in lines(found)])
    return 0


def number(clause):
    return int(re.sub(r"\D", "", clause.split("-")[1]))


if __name__ == "__main__":
    sys.exit(console.guarded(NAME, lambda: run(sys.argv[1:])))
