"""What reports say together, for RESULTS.md and the page: causes by consequence, their history over
versions, and what adapters leave out."""

import functools
import os
import re
import shlex

import environments
from demands import many
from known import list_name, load, load_known
from outcomes import DEFECT, EXCUSED, empty_row
from report import name_of

CONFORMANCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What a cause does to the user, the worst first.
CONSEQUENCES = ("silent wrong number", "race", "hang", "error")
HANGS = ("LEDG-2", "LEDG-3", "LEDG-7", "STAT-1", "PIPE-3")
NEW = "new"
CLASSES = (NEW, DEFECT, *EXCUSED)  # in the order of the page


def version_of(report):
    return report["subject"]["version"].split("+")[0]


def title(report):
    """Not escaped: callers escape it for Markdown or HTML."""
    return f"{report['subject']['name']} {version_of(report)}"


def numbers_of(text):
    return [int(x) for x in re.findall(r"\d+", text)]


def order(report):
    return report["subject"]["name"].lower(), numbers_of(title(report))


def by_name(reports):
    """{name of a subject: its reports}"""
    found = {}
    for report in reports:
        found.setdefault(report["subject"]["name"], []).append(report)
    return found


def clauses_of(reports):
    return sorted({c for r in reports for c in r["clauses"]})


def counts(report, clause):
    """(passed, failed, not judged, {class: number} of a clause in a report)."""
    good, bad, other, *classes = report["clauses"].get(clause, empty_row())
    return good, bad, other, {name: n for name, n in zip(EXCUSED, classes, strict=True) if n}


def kind_of(report, clause):
    good, bad, other, classes = counts(report, clause)
    passed = "good" if good >= other else "part"  # not green if most cases did not judge it
    return "bad" if bad else "excused" if classes else passed if good else "dim"


def mark_of(report):
    """The same of all its cases."""
    failed, *others = status_counts(report)
    return "bad" if failed else "excused" if any(others) else "good"


# ---- Causes --------------------------------------------------------------------------------------


def consequence(cause):
    if cause["clause"].startswith("RUN-"):
        return "error"
    if cause["clause"].startswith("STRM-"):
        return "race"
    return "hang" if cause["clause"] in HANGS else CONSEQUENCES[0]


class Shown:
    """A cause in all reports. minimal: [(report, cause in it)], its minimal cases."""

    FACTS = ("cause", "issue", "upstream", "documented", "alias", "note")  # "" where unknown

    def __init__(self, key, known):
        self.key, self.new, self.minimal = key, not known, []
        self.known = {**dict.fromkeys(self.FACTS, ""), **(known or {})}
        self.kind = known["class"] if known else NEW
        self.mark = "bad" if self.kind in (NEW, DEFECT) else "excused"

    @property
    def title(self):
        first = self.minimal[0][1]
        return f"{first['clause']} {first['kind']}" if self.new else self.known["title"]

    @property
    def worst(self):
        return min(
            (consequence(cause) for _, cause in self.minimal),
            key=CONSEQUENCES.index,
            default="error",
        )

    @property
    def effect(self):
        """The consequence as the reports show it."""
        other = self.kind == "by design" and self.worst == CONSEQUENCES[0]
        return "another number" if other else self.worst

    @property
    def cases(self):
        return sum(len(cause["cases"]) for _, cause in self.minimal)

    @property
    def where(self):
        """The subjects that show it, with their versions."""
        found = by_name(report for report, _ in self.minimal)
        versions = {name: dict.fromkeys(map(version_of, mine)) for name, mine in found.items()}
        return "; ".join(f"{name} {', '.join(some)}" for name, some in versions.items())


def causes_of(reports):
    """The causes of all reports: by class, then by consequence, then by their number of cases."""
    found = {}
    for report in reports:
        for number, cause in enumerate(report["causes"], 1):
            known = cause["known"]
            key = slug(known["cause"] if known else f"{NEW}-{title(report)}-{number}")
            found.setdefault(key, Shown(key, known)).minimal.append((report, cause))
    return sorted(
        found.values(),
        key=lambda s: (
            CLASSES.index(s.kind),
            CONSEQUENCES.index(s.worst),
            -s.cases,
            s.key,
        ),
    )


def has_report(cause):
    """True if the cause has a script, so that `zeroproof report` can write a report."""
    return os.path.exists(os.path.join(CONFORMANCE, "reports", f"{cause}.py"))


def named(shown):
    """{name of a cause: its key}"""
    return {name_of(cause): one.key for one in shown for _, cause in one.minimal}


def by_clause(report, shown):
    """Clause -> the causes, in the order of the list, of the report's cases that failed it."""
    cases, found = {}, {}
    for one in shown:
        for mine, cause in one.minimal:
            if mine is report:
                cases.update(dict.fromkeys(cause["cases"], one))
                for finding in cause["findings"]:
                    found.setdefault(finding["clause"], set()).add(one.key)
    for row in report["results"]:
        one = cases.get(row["id"])
        for finding in row["findings"] if one else ():
            found.setdefault(finding["clause"], set()).add(one.key)
    return {clause: [s for s in shown if s.key in keys] for clause, keys in found.items()}


def slug(text):
    """An id for a link."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-")[:100] or "cause"


FROM_KNOWN = "from known/"


def listed_versions(name):
    """{version: names of its known causes} of a subject of subjects.txt, by its lists in known/."""
    found = {}
    for _, _, _, lists, *_ in environments.rows():
        paths = [os.path.join(CONFORMANCE, part, f"{lists}.json") for part in ("support", "known")]
        if not all(map(os.path.exists, paths)):
            continue
        support = load(paths[0], "support")
        if support["name"] == name:
            entries = load_known(paths[1], CONFORMANCE)
            found[version_of({"subject": support})] = {name_of({"known": e}) for e in entries}
    return found


def history(reports):
    """[(subject, columns, [(name of a cause, [seen in each version], first, fixed or None)])] of
    subjects with several versions. A version that no report judges has the causes of its list in
    known/, and its column says so."""
    found = []
    for name, mine in by_name(reports).items():
        judged = {version_of(r): {name_of(c) for c in r["causes"]} for r in mine}
        seen_in = {**listed_versions(name), **judged}
        versions = sorted(seen_in, key=numbers_of)
        rows = []
        for cause in sorted(set().union(*seen_in.values())) if len(versions) > 1 else ():
            seen = [cause in seen_in[version] for version in versions]
            last = len(seen) - 1 - seen[::-1].index(True)
            fixed = versions[last + 1] if last + 1 < len(versions) else None
            rows.append((cause, seen, versions[seen.index(True)], fixed))
        if rows:
            columns = [v if v in judged else f"{v} ({FROM_KNOWN})" for v in versions]
            found.append((name, columns, rows))
    return found


# ---- What adapters leave out ---------------------------------------------------------------------


def left_out(reports):
    """[(subject with its versions, combination, reason)]"""
    found = {}
    for report in reports:
        for rule in report.get("without", []):
            words = [
                f"{name} {' or '.join(map(str, values if isinstance(values, list) else [values]))}"
                for name, values in rule.items()
                if name != "why"
            ]
            place = (report["subject"]["name"], ", ".join(words), rule.get("why", "no reason"))
            found.setdefault(place, []).append(version_of(report))
        for axis, why in report.get("lacks", {}).items():
            for value, reason in (why if isinstance(why, dict) else {"": why}).items():
                what = "all other values" if axis == "*" else f"{axis} {value}".strip()
                place = (report["subject"]["name"], what, reason)
                found.setdefault(place, []).append(version_of(report))
    return [(f"{name} {', '.join(v)}", what, why) for (name, what, why), v in found.items()]


# ---- Verdict and commands ------------------------------------------------------------------------


def verdict(reports):
    """(text, "bad" if something is new, "excused" if there are known defects, or "good")."""
    causes = causes_of(reports)
    new = [s for s in causes if s.kind == NEW and not all(c["fresh"] for _, c in s.minimal)]
    problems = sum(len(r["problems"]) for r in reports)
    clean = sum(not any(status_counts(r)) for r in reports)
    defects = sum(s.kind == DEFECT for s in causes)
    first = []
    if new:
        first.append(many(len(new), "new cause") + " of failures")
    if problems:
        first.append(many(problems, "error"))
    several = f" {len(reports)} subjects, {clean} of them without a failing case;"
    return (
        f"{' and '.join(first) or 'No new failure'}.{several if len(reports) > 1 else ''} "
        f"{many(defects, 'known defect')}."
    ), "bad" if first else "excused" if defects else "good"


def status_counts(report):
    """Numbers of cases that failed, also by design or in another class."""
    return [report["cases"][name] for name in ("fail", *EXCUSED)]


def without_result(reports):
    """The titles of the subjects of subjects.txt that no report judges; none if the reports are of
    other subjects only."""
    listed = {lists: subject for subject, _, _, lists, *_ in environments.rows()}
    judged = {list_name(title(report)) for report in reports}
    return [listed[name] for name in listed if name not in judged] if judged & {*listed} else []


@functools.cache
def committed_adapters():
    """Name of a subject's lists -> the command of its adapter, from the repository's root."""
    found = {}
    for _, environment, adapter, lists, *_ in environments.rows():
        option = "" if adapter == "-" else f" {adapter}"
        found[lists] = (
            f'"build/zeroproof adapter{option}"'
            if environment == "-"
            else f'"$(sh conformance/subject.sh {environment}) conformance/adapters/{adapter}"'
        )
    return found


def again(report, recipe):
    """The command that repeats a case; for a subject of subjects.txt, on any machine."""
    made = committed_adapters().get(list_name(title(report)))
    adapter = made or shlex.quote(report["adapter"])
    program = "build/zeroproof" if made else "zeroproof"
    return f"{program} check --adapter {adapter} --only {shlex.quote(recipe)}"
