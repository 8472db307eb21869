"""Writes self-contained HTML: a page for one report, and one for all reports. Both have a verdict,
the clauses, each cause with its minimal cases, and what adapters leave out.

The pages are the templates of templates/: page.html, with one file for each section. This file
collects what they show. Jinja2 escapes every text; only templates have HTML."""

import functools
import json
import os
import re

import demands
import ledger
import summary
from outcomes import EXCUSED
from report import printable, sentence, totals
from tools import missing

HERE = os.path.dirname(os.path.abspath(__file__))
LINES = 200  # of a ledger
SECTIONS = {  # each a template
    "matrix": "Clause by subject",
    "subjects": "Subjects",
    "causes": "Causes of failures",
    "cases": "Cases by clause",
    "history": "Causes by version",
    "left_out": "Values and combinations that adapters leave out",
    "mutants": "Mutants: engines with a historic bug",
    "clauses": "Clauses",
}
TRACKERS = {  # of the programs that had the historic bugs
    "ColossalAI": "hpcaitech/ColossalAI",
    "DeepSpeed": "deepspeedai/DeepSpeed",
    "Fast-LLM": "ServiceNow/Fast-LLM",
    "Megatron-Bridge": "NVIDIA-NeMo/Megatron-Bridge",
    "Megatron-LM": "NVIDIA/Megatron-LM",
    "Paddle": "PaddlePaddle/Paddle",
    "PyTorch": "pytorch/pytorch",
    "fairscale": "facebookresearch/fairscale",
    "open-instruct": "allenai/open-instruct",
    "torchtitan": "pytorch/torchtitan",
}
MUTANTS = ["historic bug", "mutant", "engine", "symptom: cause", "caught by", "case"]

# Addresses of links: of the web, or of a file beside the page. A browser would run others.
LINK = re.compile(r"https?://[!-~]+|[\w.-]+(/[\w.-]+)*", re.ASCII)


def is_link(address):
    return LINK.fullmatch(address) is not None


def issue_name(address):
    """ "owner/name#123" of an issue or pull request; other addresses as they are."""
    match = re.fullmatch(r"https://[^/]+/([^/]+/[^/]+)/(?:issues|pull)/(\d+)", address)
    return f"{match[1]}#{match[2]}" if match else address


def bug_parts(text):
    """The name of a historic bug in parts, each with the address of its issue or None."""
    parts, tracker = [], None
    for part in re.split(r"((?:[\w-]+ )?#\d+)", text):
        match = re.fullmatch(r"(?:([\w-]+) )?#(\d+)", part)
        tracker = TRACKERS.get(match[1]) if match and match[1] else tracker
        known = match and tracker
        parts.append((part, f"https://github.com/{tracker}/issues/{match[2]}" if known else None))
    return parts


def real(text):
    """A hexadecimal float in decimal, or as it stands."""
    try:
        return f"{float.fromhex(text):.9g}"
    except (OverflowError, ValueError):
        return text


def described(record):
    try:
        return ledger.describe(record)
    except KeyError:  # a report that the suite did not write
        return json.dumps(record)


def unmatched(texts):
    """The places (rank, number) of collectives that another member of the group lacks: the nth of a
    group must be the same on all its members. texts: what each rank's ledger says, in order."""
    groups, found = {}, set()
    for rank, mine in enumerate(texts):
        for number, text in enumerate(mine):
            what, _, members = text.partition(" in [")
            if members:
                groups.setdefault(members, {}).setdefault(str(rank), []).append((number, what))
    for members, by_rank in groups.items():
        others = [by_rank.get(q, []) for q in re.findall(r"\d+", members)]
        for rank, mine in by_rank.items():
            for n, (number, what) in enumerate(mine):
                if any(n >= len(other) or other[n][1] != what for other in others):
                    found.add((int(rank), number))
    return found


def ledger_table(ledgers):
    """{"names", "rows", "marked"}: rows with a number, and for each rank (text, True if another
    member of the group lacks it)."""
    texts = [
        [
            described(record) if "op" in record else f"— step {record['step']}"
            for record in records
            if "op" in record or "step" in record
        ]
        for records in ledgers
    ]
    marked = unmatched(texts)
    return {
        "names": ["", *(f"rank {q}" for q in range(len(texts)))],
        "rows": [
            [i, *((x[i] if i < len(x) else "", (q, i) in marked) for q, x in enumerate(texts))]
            for i in range(min(max(map(len, texts), default=0), LINES))
        ],
        "marked": marked,
    }


def cases_of(cause):
    return demands.many(len(cause["cases"]), "case") if cause["cases"] else "the minimal case only"


def mutants_summary(table):
    return (
        f"{table['caught']} of {len(table['rows'])} mutants were caught by general cases of seed "
        f"{table['seed']}; "
        f"{table['own_error']} of them only by the subject's own error (RUN-1), not by a check of "
        "the suite."
    )


def machine(report):
    return "; ".join(f"{name} {value}" for name, value in report["environment"].items())


# ---- Pages ---------------------------------------------------------------------------------------

FILTERS = {
    **{f.__name__: f for f in (bug_parts, cases_of, issue_name, ledger_table, machine)},
    **{f.__name__: f for f in (mutants_summary, real, sentence, summary.slug, totals)},
    "crossed": lambda seen: "×" if seen else "–",
    "json": json.dumps,
    "spans": lambda text: re.split(r"`([^`]*)`", text),  # of `code`
    "words": lambda name: re.split(r"(?<=[a-z])(?=[A-Z])", name),  # of MixedCase
}


@functools.cache
def templates():
    """The environment of the templates. Jinja2 is imported here: only pages need it."""
    try:
        import jinja2
    except ImportError as error:
        raise missing("jinja2", error) from None
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(os.path.join(HERE, "templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    made.tests["link"] = is_link
    made.globals.update(demands=demands, summary=summary)
    made.globals.update(EXCUSED=list(EXCUSED), MUTANTS=MUTANTS, SECTIONS=SECTIONS)
    macros = vars(made.get_template("macros.html").module)
    made.globals.update((k, macros[k]) for k in macros if not k.startswith("_"))
    return made


def rendered(title, reports, sections, **more):
    """A page. Sections without data are left out."""
    data = {
        "title": title,
        "reports": reports,
        "shown": summary.causes_of(reports),
        "left_out": summary.left_out(reports),
        "clauses": summary.clauses_of(reports),
        **more,
    }
    data["sections"] = [section for section in sections if data.get(section, True)]
    return printable(templates().get_template("page.html").render(data))


def page(report):
    """The page of one subject."""
    title = f"{summary.title(report)}: zeroproof conformance"
    sections = ("causes", "cases", "left_out", "clauses")
    return rendered(title, [report], sections, about=None, report=report)


def whole(reports, about, mutants):
    """The page of all subjects."""
    shown = summary.causes_of(reports)
    columns = {
        name: [(report, summary.by_clause(report, shown)) for report in versions]
        for name, versions in summary.by_name(reports).items()
    }
    # The table of mutants names clauses, too.
    caught = {clause for row in (mutants or {"rows": []})["rows"] for clause in row[4]}
    return rendered(
        "zeroproof conformance",
        reports,
        ("matrix", "subjects", "causes", "history", "left_out", "mutants", "clauses"),
        about=about,
        mutants=mutants,
        shown=shown,
        history=summary.history(reports),
        columns=columns,
        clauses=sorted({*summary.clauses_of(reports), *filter(demands.title, caught)}),
    )
