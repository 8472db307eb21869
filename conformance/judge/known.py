"""What is committed about a subject: failures that are known, and what it must support."""
import json
import os


def file_of(given, root, folder, hello):
    """The file given, or the one that is named after subject and version."""
    name = f"{hello['name']}-{hello['version']}".replace(" ", "-").replace("/", "-").lower()
    return given or os.path.join(root, folder, f"{name}.json")


def load(name):
    with open(name, encoding="utf-8") as file:
        return json.load(file)


def read(given, root, hello):
    """The list of known failures: [{"clause", "kind", "needs", "note", "issue"}]. An empty one when
    there is no file of the subject's name; a file that was asked for must exist."""
    name = file_of(given, root, "known", hello)
    if not os.path.exists(name) and given is None:
        return []
    return load(name)["failures"]


def matches(entry, cause):
    clause, _, kind = cause.signature.partition(" ")
    return entry["clause"] == clause and kind.startswith(entry["kind"]) and set(entry["needs"]) <= set(cause.needs)


def check(causes, entries, complete):
    """Marks the known causes; texts for entries that were not seen."""
    unseen = []
    for entry in entries:
        found = [c for c in causes if matches(entry, c)]
        for cause in found:
            cause.known = entry
        if not found and complete:
            unseen.append(f"known failure '{entry['clause']} {entry['kind']}' ({entry.get('note', '')}) was not "
                          "seen: if it is mended, take it off the list")
    return unseen


def support_of(hello):
    return {"name": hello["name"], "version": hello["version"], "level": hello.get("level", 1),
            "returns": sorted(hello.get("returns", [])), "supports": hello.get("supports", {}),
            "options": hello.get("options", {}), "without": hello.get("without", [])}


def check_support(given, root, hello, accept):
    """Texts for what the committed list has and the subject no longer."""
    name = file_of(given, root, "support", hello)
    now = support_of(hello)
    if accept:
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w", encoding="utf-8") as file:
            file.write(json.dumps(now, indent=1) + "\n")
        return []
    if not os.path.exists(name):
        return [] if given is None else [f"{name} does not exist; --accept-support writes it"]
    before, lost = load(name), []
    if now["level"] < before["level"]:
        lost.append(f"level {before['level']}")
    lost += [f"returning {r}" for r in before["returns"] if r not in now["returns"]]
    for part in ("supports", "options"):
        for axis, values in before[part].items():
            lost += [f"{axis} {v}" for v in values if v not in now[part].get(axis, [])]
    lost += [f"combinations: without {rule}" for rule in now["without"] if rule not in before["without"]]
    return [f"the subject no longer supports: {', '.join(lost)}"] if lost else []
