"""Compares a run with the committed lists of a subject: its known failures and what it must
support.

A cause is a bug or a property of a subject, the same in all its versions (known/causes.json, or
"causes" of a list):
  title         what goes wrong for the user
  class         "defect", "by design", "not promised" or "limitation"
  subject       whose cause it is
  note          the explanation for people
  issue         the public issue; "upstream": its state
  documented    where the subject documents it: an address, or file and line
  alias         its name in older documents

A known failure is one form in which a cause shows:
  cause         the cause's id
  clause, kind  of its findings; "kind" is the beginning
  needs, lacks  features that every such case has, and features that no such case has
  recipe        the minimal case, which every run repeats
  also          further "CLAUSE KIND" under which other cases show the same failure, or which follow
                from it: unless it is a defect, nothing else in its cases is excused (matching.py)
  symptom       alternatives "WORD + WORD": a failure must have all words of one (symptom.py)
  chance        {"replays", "failed"}: how often the failure occurred in replays of its case
                (check --replay), if not always; only errors, hangs and missing communications"""

import collections
import json
import os
import re

import axes
import files
import limits
import schema
from demands import many
from matching import alike, explains
from outcomes import CITED, DEFECT, EXCUSED
from recipe import recipe_of
from run import normal
from shrink import Cause
from tools import Refused


def list_name(words):
    return words.replace(" ", "-").replace("/", "-").lower()


def file_of(option, root, folder, hello):
    """The file that the option names, or else the one named after subject and version."""
    version = hello["version"].split("+", maxsplit=1)[0]  # without the build tag
    return option or os.path.join(root, folder, f"{list_name(hello['name'] + '-' + version)}.json")


def load(name, kind):
    """A list of known failures (kind "known"), of what must be supported ("support"), or of the
    cases of --quick ("selection"). It may come from anyone."""
    option = {"selection": "--quick"}.get(kind, f"--{kind}")
    return schema.read(name, limits.LIST, kind, option)


def load_known(name, root):
    """The entries of a list of known failures, each with the fields of its cause."""
    listed = load(name, "known")
    where = f"--known: {name}: "
    if "failures" not in listed:
        raise Refused(f'{where}"failures" is missing')
    causes = {**read_causes(os.path.join(root, "known", "causes.json")), **causes_of(name, listed)}
    entries = []
    for number, entry in enumerate(listed["failures"]):
        cause = causes.get(entry["cause"])
        at = f"{where}failures[{number}]"
        if cause is None:
            raise Refused(f"{at}.cause: no cause has the id '{entry['cause']}'")
        if cause["class"] == "limitation" and entry["clause"] != "RUN-1":
            raise Refused(
                f"{at}.clause: a limitation must end with an error (RUN-1), got '{entry['clause']}'"
            )
        if cause["class"] in EXCUSED and not entry["kind"]:
            raise Refused(f"{at}.kind: '{cause['class']}' would excuse every {entry['clause']}")
        entries.append({**cause, **entry})
    return entries


def read_causes(name):
    """The causes of a file, which need not exist."""
    return causes_of(name, load(name, "known")) if os.path.exists(name) else {}


def causes_of(name, listed):
    for cause, fields in listed.get("causes", {}).items():
        if fields["class"] in CITED and not fields.get("documented"):
            raise Refused(
                f"--known: {name}: causes.{cause}: class '{fields['class']}' needs \"documented\", "
                "the place where the subject says so"
            )
    return listed.get("causes", {})


def check_lists(options, root):
    """Checks the files of --support and --known before the first case runs."""
    if options.support and not options.accept_support:
        load(options.support, "support")
    if options.known and not starts(options):
        load_known(options.known, root)


def starts(options):
    """True if the run starts a list of known failures."""
    return options.accept_known and options.known and not os.path.exists(options.known)


def read(options, root, hello, tools, space):
    """The list of known failures: empty if the subject has no list, or this run starts it. Its
    recipes have cases."""
    name = file_of(options.known, root, "known", hello)
    if starts(options) or not os.path.exists(name) and options.known is None:
        return []
    entries = load_known(name, root)
    for number, entry in enumerate(entries):
        check_chance(f"--known: {name}: failures[{number}].chance", entry)
        if entry.get("recipe") is None:
            continue
        try:
            case, why = axes.case_of(tools, space, recipe_of(entry["recipe"]))
        except ValueError as error:
            case, why = None, error
        if case is None:
            raise Refused(f"--known: {name}: failures[{number}].recipe: '{entry['recipe']}': {why}")
    return entries


# Clauses of failures that may occur by chance. A value is computed; if it is wrong, it is wrong.
CHANCE = ("RUN-1", "LEDG-2", "LEDG-7", "PIPE-3")
LEAST, MOST = 0.01, 0.99  # shares of replays that fail


def check_chance(where, entry):
    """Refuses an entry with "chance" whose replays do not show that chance decides."""
    chance = entry.get("chance")
    if chance is None:
        return
    if entry["clause"] not in CHANCE:
        raise Refused(
            f"{where}: only {', '.join(CHANCE)} can fail by chance, got {entry['clause']}"
        )
    if not entry.get("recipe"):
        raise Refused(f'{where}: expected a "recipe" that was replayed')
    if not LEAST <= chance["failed"] / chance["replays"] <= MOST:
        raise Refused(
            f"{where}: got {chance['failed']} of {chance['replays']} replays failed, expected "
            f"{LEAST:.0%} to {MOST:.0%}"
        )


def matches(entry, cause):
    """True if the entry explains the smallest case and all other cases: shrinking may have led to
    another bug."""
    return (
        explains(entry, cause.smallest)
        and set(entry["needs"]) <= set(cause.needs)
        and all(explains(entry, out) for out in cause.outcomes)
    )


def symptom_text(finding):
    symptom = finding.detail.get("symptom")
    return f" ({', '.join(symptom)})" if symptom else ""


def label(entry):
    return f"known failure '{entry['clause']} {entry['kind']}' ({entry['cause']}: {entry['title']})"


def confirm(entries, runner, space, progress):
    """Runs the minimal case of each entry that has one: (causes, texts for those that did not
    occur)."""
    listed, causes, texts, outcomes = [e for e in entries if e.get("recipe")], [], [], []
    runner.run(cases_of(listed, runner, space), progress, outcomes)
    seen = {out.recipe.full(): out for out in outcomes}
    for entry in listed:
        out = seen[recipe_of(entry["recipe"]).full()]
        if out.status == "fail" and explains(entry, out):
            causes.append(known_cause(entry, out))
        elif not (entry.get("chance") and out.status == "pass"):
            how = (
                "does not have its conditions"
                if out.status == "fail" and alike(entry, out.findings[0])
                else f"fails as {out.signature()}{symptom_text(out.findings[0])}"
                if out.status == "fail"
                else "passes; if the bug is fixed, remove the entry"
                if out.status == "pass"
                else "is not supported"
            )
            texts.append(f"{label(entry)} did not occur: its case {how}: {entry['recipe']}")
    return causes, texts


REPLAYS = 5
TIMEOUTS = 2  # after which a cause is not replayed again: each takes as long as a case may


def mark_chance(causes, runner, space):
    """Marks new causes that only chance shows: their minimal case passes in some replay. Several
    causes are replayed at a time. Returns texts for those that were replayed fewer times."""

    def seen_in(cause):
        recipe = cause.smallest.recipe
        case, _ = axes.case_of(runner.tools, space, recipe)  # a failure may have dropped its case
        return replay(case, recipe, runner, REPLAYS, TIMEOUTS)

    some = [cause for cause in causes if cause.smallest.findings[0].clause in CHANCE]
    if not some:
        return []
    import concurrent.futures  # its import takes longer than most other modules'

    with concurrent.futures.ThreadPoolExecutor(runner.jobs) as pool:
        found = list(pool.map(seen_in, some))
    texts = []
    for cause, seen in zip(some, found, strict=True):
        made = sum(seen.values())
        if seen["pass"]:
            failed = made - seen["pass"] - seen["unsupported"]
            cause.chance = {"replays": made, "failed": failed}
        if made < REPLAYS:
            texts.append(
                f"{cause.signature}: replayed {made} times instead of {REPLAYS}, because "
                f"{TIMEOUTS} replays timed out: {cause.smallest.recipe.full()}"
            )
    return texts


def replay(case, recipe, runner, times, timeouts=None):
    """How often a case ends with which signature, in runs that no report counts. timeouts: after
    how many time-outs no further replay is made."""
    adapter, seen, late = runner.acquire(), collections.Counter(), 0
    try:
        for _ in range(times):
            adapter.deadline = runner.patience()
            out = runner.judged(adapter, case, recipe)
            seen[out.signature() if out.status == "fail" else out.status] += 1
            late += out.answer["status"] == "timeout"
            if late == timeouts:
                break
    finally:
        runner.release(adapter)
    return seen


def join(causes, out):
    """Adds a failing case to the known cause with the most conditions that explains it, a defect
    first; returns False if none does."""
    mine = [c for c in causes if explains(c.known, out)]
    if mine:
        max(mine, key=lambda c: precedence(c.known)).outcomes.append(out)
    return bool(mine)


def precedence(entry):
    return entry["class"] == DEFECT, len(entry["needs"])


def known_cause(entry, smallest):
    cause = Cause(smallest, sorted(entry["needs"]))
    cause.known = entry
    return cause


def assume(entries, failures):
    """Groups the failures of a run that does not confirm the list, since it has a part of the cases
    or a lower level: (causes that are known, failures that no entry explains)."""
    causes, new = {}, []
    for out in sorted(failures, key=lambda o: len(o.recipe.full())):
        mine = [n for n, entry in enumerate(entries) if explains(entry, out)]
        if mine:
            best = max(mine, key=lambda n: precedence(entries[n]))
            causes.setdefault(best, known_cause(entries[best], out)).outcomes.append(out)
        else:
            new.append(out)
    return list(causes.values()), new


def cases_of(entries, runner, space):
    recipes = [recipe_of(text) for text in dict.fromkeys(e["recipe"] for e in entries)]
    # read() has made each case once
    return iter([(axes.case_of(runner.tools, space, r)[0], r, "known") for r in recipes])


def check(causes, entries, complete):
    """Marks causes as known; returns texts for entries without a recipe that did not occur."""
    unseen = []
    for entry in sorted(entries, key=lambda e: e["class"] != DEFECT):
        found = [c for c in causes if c.known is None and matches(entry, c)]
        for cause in found:
            cause.known = entry
        if not found and complete and not entry.get("recipe") and not entry.get("chance"):
            unseen.append(f"{label(entry)} did not occur; if the bug is fixed, remove the entry")
    return unseen


def classify(causes, outcomes):
    """{number of a failing case: its known failure}. Counts cases in their class. A case belongs to
    the known failure that explains its first finding; a defect takes precedence. A case in another
    class has no finding that none of these classes explains (matching.py)."""
    found = {}
    for cause in sorted((c for c in causes if c.known), key=lambda c: c.known["class"] in EXCUSED):
        for out in [cause.smallest, *cause.outcomes]:
            if out.number is not None and out.number not in found:
                found[out.number] = cause.known
                if cause.known["class"] in EXCUSED:
                    outcomes.excuse(out, cause.known["class"])
    return found


def accept(option, root, hello, causes):
    """Writes the smallest case of each known failure that occurred into the list. Starts the list
    of --known if it does not exist."""
    name = file_of(option, root, "known", hello)
    if not os.path.exists(name):
        if option:
            write_list(name, started(hello, causes))
        return
    listed = load(name, "known")
    for entry in listed["failures"]:
        mine = [
            c.smallest.recipe.full()
            for c in causes
            if c.known is not None
            and all(c.known.get(k) == v for k, v in entry.items() if k != "recipe")
        ]
        if mine:
            entry["recipe"] = min(
                mine + [entry["recipe"]] if entry.get("recipe") else mine, key=len
            )
    write_list(name, listed)


def started(hello, causes):
    """A list of all failures that always occur, each as a defect. A person completes its causes."""
    found, failures = {}, []
    for cause in causes:
        finding = cause.smallest.findings[0]
        if cause.excused():
            continue
        name = re.sub(r"[^a-z0-9]+", "-", cause.signature.lower())[:70].strip("-")
        if name in found:
            name += f"-{len(found) + 1}"
        found[name] = {
            "title": finding.kind[:80],
            "class": DEFECT,
            "subject": hello["name"],
            "note": finding.text,
        }
        entry = {"cause": name, "clause": finding.clause, "kind": finding.kind}
        failures.append({**entry, "needs": cause.needs, "recipe": cause.smallest.recipe.full()})
    return {"causes": found, "failures": failures}


def write_list(name, listed):
    parts = ["{"]
    if "causes" in listed:
        causes = json.dumps(listed["causes"], ensure_ascii=False, allow_nan=False, indent=1)
        parts.append(f'\n "causes": {causes},'.replace("\n", "\n "))
    lines = ",\n  ".join(
        json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in listed["failures"]
    )
    files.write(name, [*parts, '\n "failures": [\n  ', lines, "\n ]\n}\n"])


def support_of(hello):
    return {
        "name": hello["name"],
        "version": hello["version"],
        "level": hello.get("level", 1),
        "world": hello.get("world", axes.WORLD),
        "returns": sorted(hello.get("returns", [])),
        "supports": hello.get("supports", {}),
        "options": hello.get("options", {}),
        "without": hello.get("without", []),
        "lacks": hello.get("lacks", {}),
        "unsupported": sorted(map(normal, hello.get("unsupported", []))),
    }


def check_refusals(outcomes, allowed):
    """Texts for refusals that are errors: the reason is not in the subject's list, the case belongs
    to the selection, or most cases are refused."""
    texts = []
    refused = sum(row["cases"] for row in outcomes.refusals.values())
    if 2 * refused > outcomes.fixed:
        texts.append(
            f'the adapter answered "unsupported" to {refused} of {outcomes.fixed} cases that '
            "hello supports: "
            'restrict "supports" or "without" in hello'
        )
    unlisted = ", for a reason that support/ does not list"
    for reason, row in sorted(outcomes.refusals.items()):
        if row["selected"] or (allowed is not None and reason not in allowed):
            texts.append(
                f'the adapter answered "unsupported" to {many(row["cases"], "case")} that hello '
                f"supports{' and the selection contains' if row['selected'] else unlisted}: "
                f"'{reason}': {row['recipe']}"
            )
    return texts


def accept_support(option, root, hello, outcomes):
    """Writes what the subject supports."""
    name = file_of(option, root, "support", hello)
    now = support_of(hello)
    now["unsupported"] = sorted({*now["unsupported"], *outcomes.refusals})
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    files.write(name, [json.dumps(now, indent=1, allow_nan=False), "\n"])


def read_support(option, root, hello):
    """The list of what the subject must support, or None without a file."""
    name = file_of(option, root, "support", hello)
    return load(name, "support") if os.path.exists(name) else None


def check_support(option, hello, accept_now, before, outcomes):
    """Texts for anything that the list `before` has and the subject no longer supports.
    accept_now: the list will be written."""
    if accept_now:
        return check_refusals(outcomes, outcomes.refusals)
    if before is None:
        return check_refusals(outcomes, None) + (
            []
            if option is None
            else [f"--support: {option} does not exist; --accept-support writes it"]
        )
    lost = lost_of(before, support_of(hello))
    texts = [f"the subject no longer supports: {', '.join(lost)}"] if lost else []
    if "lacks" in before and before["lacks"] != hello.get("lacks", {}):
        texts.append('"lacks" in hello differs from the list; --accept-support writes it')
    return texts + check_refusals(outcomes, before.get("unsupported", []))


def new_version(option, root, hello):
    """A note about a subject that has lists, but none for this version; or None."""
    name = file_of(option, root, "support", hello)
    folder, start = os.path.dirname(name), list_name(hello["name"]) + "-"
    if option is not None or os.path.exists(name) or not os.path.isdir(folder):
        return None
    others = [
        n[len(start) : -len(".json")]
        for n in os.listdir(folder)
        if n.startswith(start) and n[len(start) :][:1].isdigit()
    ]
    if not others:
        return None
    last = max(others, key=lambda version: [int(n) for n in re.findall(r"\d+", version)])
    before = load(os.path.join(folder, f"{start}{last}.json"), "support")
    lost = lost_of(before, support_of(hello))
    return (
        f"there is no support list for {hello['name']} {hello['version']}; compared with {last} it "
        "lacks "
        f"{', '.join(lost) if lost else 'nothing'}. --accept-support writes {name}"
    )


def lost_of(before, now):
    """Everything that `before` supports and `now` does not."""
    lost = []
    if now["level"] < before["level"]:
        lost.append(f"level {before['level']}")
    if now["world"] < before["world"]:
        lost.append(many(before["world"], "rank"))
    lost += [f"returning {r}" for r in before["returns"] if r not in now["returns"]]
    for part in ("supports", "options"):
        for axis, values in before[part].items():
            lost += [f"{axis} {v}" for v in values if v not in now[part].get(axis, [])]
    rules = {repr(axes.bare(rule)): rule for rule in before["without"]}
    for rule in now["without"]:
        listed = rules.get(repr(axes.bare(rule)))
        if listed is None:
            lost.append(f"combinations: without {axes.bare(rule)}")
        elif "why" in listed and "why" not in rule:
            lost.append(f'combinations: no "why" of {rule}')
    return lost
