"""What is committed about a subject: failures that are known, and what it must support.

A known failure is {"clause", "kind", "needs", "note", "issue"}, and "recipe", its minimal case, by which
it is looked for in every run, however few cases that has; "also": "CLAUSE KIND" that the same shows as in other cases;
"chance": true where it shows by chance alone, so that not
seeing it says nothing; "lacks": what no such case has; "id" where it has a name elsewhere; "symptom", where failures
of this kind say more (symptom.py; the ratio, the op, the place of a race): alternatives, of one of which
a failure must have all words, "WORD + WORD"."""
import json
import os
import re

import axes
from recipe import features, recipe_of
from run import normal
from shrink import Cause
from tools import Refused


def list_name(words):
    return words.replace(" ", "-").replace("/", "-").lower()


def file_of(given, root, folder, hello):
    """The file given, or the one that is named after subject and version."""
    version = hello["version"].split("+", maxsplit=1)[0]  # of one build or another
    return given or os.path.join(root, folder, f"{list_name(hello['name'] + '-' + version)}.json")


def load(name):
    with open(name, encoding="utf-8") as file:
        return json.load(file)


SUPPORT = {"level": int, "world": int, "returns": list, "supports": dict, "options": dict, "without": list}


def checked(option, name, keys):
    """A list that a person may have written; keys: what it must have, and of which type."""
    try:
        made = load(name)
    except (OSError, ValueError, RecursionError) as error:
        raise Refused(f"{option}: {name} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    for key, kind in keys.items():
        if not isinstance(made, dict) or not isinstance(made.get(key), kind):
            raise Refused(f"{option}: {name} is no such list: \"{key}\" is not there, or no {kind.__name__}")
    return made


def check_given(options):
    """Files that were asked for are looked at before a case is run."""
    if options.support and not options.accept_support:
        checked("--support", options.support, SUPPORT)
    for entry in checked("--known", options.known, {"failures": list})["failures"] if options.known else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("needs"), list) or \
                not all(isinstance(entry.get(key), str) for key in ("clause", "kind")):
            raise Refused(f"--known: {options.known}: a failure has \"clause\", \"kind\" and a list \"needs\", "
                          f"not {json.dumps(entry):.60}")


def read(given, root, hello):
    """The list of known failures. An empty one when there is no file of the subject's name; a file that
    was asked for must exist."""
    name = file_of(given, root, "known", hello)
    if not os.path.exists(name) and given is None:
        return []
    return load(name)["failures"]


def alike(entry, finding):
    """The same clause and beginning of what is wrong, or one of "also", and, where the entry says so, the same details."""
    words = set(finding.detail.get("symptom", []))
    return finding.signature().startswith((f"{entry['clause']} {entry['kind']}", *entry.get("also", []))) and (
        not entry.get("symptom") or any(set(one.split(" + ")) <= words for one in entry["symptom"]))


def explains(entry, out):
    """Does a failing case look like this, and have what this needs?"""
    there = features(out.recipe)
    return alike(entry, out.findings[0]) and set(entry["needs"]) <= there and not set(entry.get("lacks", [])) & there


def matches(entry, cause):
    """All of its cases, too: one that was made smaller may have become another bug's."""
    return explains(entry, cause.smallest) and set(entry["needs"]) <= set(cause.needs) and \
        all(explains(entry, out) for out in cause.outcomes)


def told(finding):
    symptom = finding.detail.get("symptom")
    return f" ({', '.join(symptom)})" if symptom else ""


def label(entry):
    note = entry.get("note", "")
    return f"known failure '{entry['clause']} {entry['kind']}' ({note})" if note else \
        f"known failure '{entry['clause']} {entry['kind']}'"


def confirm(entries, runner, space, progress):
    """Runs the minimal case of each entry that has one: (causes, texts for those that were not seen). An
    error that needs a race may not come the first time."""
    left, causes, texts = [e for e in entries if e.get("recipe")], [], []
    for attempt in range(3):
        texts, seen = [], {}
        for out in runner.run(cases_of(left, runner, space), progress):
            seen[out.recipe.full()] = out
        for entry in list(left):
            out = seen[recipe_of(entry["recipe"]).full()]
            # what shows by chance may show as any of its kinds
            kinds = [entry] + [e for e in entries if entry.get("chance") and e.get("chance") and explains(e, out)] \
                if out.status == "fail" else []
            same = [e for e in kinds if alike(e, out.findings[0])]
            if same:
                cause = Cause(out, sorted(same[0]["needs"]))
                cause.known = same[0]
                causes.append(cause)
                left.remove(entry)
            elif not (entry.get("chance") and out.status == "pass"):
                how = f"fails as {out.signature()}{told(out.findings[0])}" if out.status == "fail" else \
                    "passes; if it is mended, take it off the list" if out.status == "pass" else "is not supported"
                texts.append(f"{label(entry)} was not seen: its case {how}: {entry['recipe']}")
        if not left:
            break
    return causes, texts


def join(causes, out):
    """Gives a failing case to the cause, of those that are known, that asks most of a case and all of
    which it has; false when there is none."""
    mine = [c for c in causes if out is not c.smallest and explains(c.known, out)]
    if mine:
        max(mine, key=lambda c: len(c.needs)).outcomes.append(out)
    return bool(mine)


def cases_of(entries, runner, space):
    made = []
    for text in dict.fromkeys(e["recipe"] for e in entries):
        recipe = recipe_of(text)
        case, why = axes.case_of(runner.tools, space, recipe)
        if case is None:
            raise ValueError(f"known failures: '{text}' makes no case: {why}")
        made.append((case, recipe, "known"))
    return iter(made)


def check(causes, entries, complete):
    """Marks the causes that are known; texts for entries without a case of their own that were not seen."""
    unseen = []
    for entry in entries:
        found = [c for c in causes if c.known is None and matches(entry, c)]
        for cause in found:
            cause.known = entry
        if not found and complete and not entry.get("recipe") and not entry.get("chance"):
            unseen.append(f"{label(entry)} was not seen: if it is mended, take it off the list")
    return unseen


def accept(given, root, hello, causes):
    """Writes the smallest case of each known failure that was seen into the list."""
    name = file_of(given, root, "known", hello)
    if not os.path.exists(name):
        return
    entries = load(name)
    for entry in entries["failures"]:
        mine = [c.smallest.recipe.full() for c in causes
                if c.known is not None and all(c.known.get(k) == entry.get(k) for k in ("clause", "kind", "needs"))]
        if mine:
            entry["recipe"] = min(mine + [entry["recipe"]] if entry.get("recipe") else mine, key=len)
    with open(name, "w", encoding="utf-8") as file:
        lines = ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in entries["failures"])
        file.write('{\n "failures": [\n  ' + lines + "\n ]\n}\n")


def support_of(hello):
    return {"name": hello["name"], "version": hello["version"], "level": hello.get("level", 1),
            "world": hello.get("world", axes.WORLD),
            "returns": sorted(hello.get("returns", [])), "supports": hello.get("supports", {}),
            "options": hello.get("options", {}), "without": hello.get("without", [])}


def refusals(outcomes):
    """Reason -> the cases that hello supports, and that were not supported when they were run. Fresh ones
    are nobody's choice."""
    found = {}
    for out in outcomes:
        if out.status == "unsupported" and out.origin != "fresh":
            found.setdefault(normal(out.answer.get("message", "")), []).append(out)
    return found


def check_refusals(outcomes, allowed):
    """Texts: a subject refuses what it says it supports for reasons that its list has, and never most of
    it, nor what was selected because it ran."""
    found, texts = refusals(outcomes), []
    refused = sum(map(len, found.values()))
    if 2 * refused > len(outcomes):
        texts.append(f"{refused} of {len(outcomes)} cases that hello supports are not supported when they are run: "
                     "what a subject cannot do belongs in \"supports\" and \"without\"")
    for reason, cases in sorted(found.items()):
        selected = [out for out in cases if out.origin == "selected"]
        if selected or (allowed is not None and reason not in allowed):
            out = (selected or cases)[0]
            texts.append(f"{len(cases)} case(s) that hello supports are not supported when they are run, "
                         f"{'though selected' if selected else 'for a reason that is not in the list'}: '{reason}': "
                         f"{out.recipe.full()}")
    return texts


def check_support(given, root, hello, accept_now, outcomes=()):
    """Texts for what the committed list has and the subject no longer."""
    name = file_of(given, root, "support", hello)
    now = {**support_of(hello), "unsupported": sorted(refusals(outcomes))}
    if accept_now:
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "w", encoding="utf-8") as file:
            file.write(json.dumps(now, indent=1) + "\n")
        return check_refusals(outcomes, now["unsupported"])
    if not os.path.exists(name):
        return check_refusals(outcomes, None) + (
            [] if given is None else [f"{name} does not exist; --accept-support writes it"])
    before = load(name)
    lost = lost_of(before, now)
    return ([f"the subject no longer supports: {', '.join(lost)}"] if lost else []) + \
        check_refusals(outcomes, before.get("unsupported", []))


def new_version(given, root, hello):
    """What is to be said of a subject that has lists, but none of this version; or None."""
    name = file_of(given, root, "support", hello)
    folder, start = os.path.dirname(name), list_name(hello["name"]) + "-"
    if given is not None or os.path.exists(name) or not os.path.isdir(folder):
        return None
    others = [n[len(start):-len(".json")] for n in os.listdir(folder) if n.startswith(start) and n[len(start):][:1].isdigit()]
    if not others:
        return None
    last = max(others, key=lambda version: [int(n) for n in re.findall(r"\d+", version)])
    lost = lost_of(load(os.path.join(folder, f"{start}{last}.json")), support_of(hello))
    return (f"there is no list of what {hello['name']} {hello['version']} supports; of what {last} does it "
            f"{'lacks ' + ', '.join(lost) if lost else 'lacks nothing'}. --accept-support writes {name}")


def lost_of(before, now):
    """What the one supports and the other does not."""
    lost = []
    if now["level"] < before["level"]:
        lost.append(f"level {before['level']}")
    if now["world"] < before["world"]:
        lost.append(f"{before['world']} ranks")
    lost += [f"returning {r}" for r in before["returns"] if r not in now["returns"]]
    for part in ("supports", "options"):
        for axis, values in before[part].items():
            lost += [f"{axis} {v}" for v in values if v not in now[part].get(axis, [])]
    lost += [f"combinations: without {rule}" for rule in now["without"] if rule not in before["without"]]
    return lost
