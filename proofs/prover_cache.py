"""proofs/cache.txt: prover results, one line `HASH JSON` each, and the folders that WP reads."""

import json
import os

import project as pj

UNANSWERED = ("unknown", "timeout", "stepout")


def entries(project):
    """The results in proofs/cache.txt: {hash: JSON}."""
    path = project.path("proofs/cache.txt")
    found = {}
    for number, line in enumerate(pj.read(path).split("\n") if os.path.exists(path) else [], 1):
        name, _, value = line.partition(" ")
        if line and (len(name) != 32 or not value.startswith("{")):
            raise pj.Problem(f"proofs/cache.txt:{number}: not a cache entry")
        if line:
            found[name] = value
    return found


def write(where, results):
    """Fills the folder with these results."""
    for name, value in results.items():
        file = os.path.join(where, name + ".json")
        if not os.path.exists(file) or pj.read(file) != value + "\n":
            with open(file, "w") as f:
                f.write(value + "\n")


def unpack(project, exactly=True):
    """Fills build/proofs/cache from proofs/cache.txt. exactly: removes all others, also those
    of an interrupted run."""
    where = os.path.join(project.build, "cache")
    os.makedirs(where, exist_ok=True)
    wanted = entries(project)
    for name in os.listdir(where) if exactly else []:
        if name.removesuffix(".json") not in wanted:
            os.remove(os.path.join(where, name))
    write(where, wanted)
    return where


def unpack_unanswered(project, where):
    """Writes to the folder which provers gave no answer: a run need not wait for them. No goal
    is proven by such a result, true or forged."""
    write(where, {n: v for n, v in entries(project).items() if verdict(v) in UNANSWERED})


def pack(project, folders):
    """Writes proofs/cache.txt from the entries in these folders, sorted. Entries that the file
    already has keep their times, so that the file changes only if a result changes."""
    path = project.path("proofs/cache.txt")
    old = entries(project)
    new = {}
    for folder in folders:
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if name.endswith(".json"):
                key = name[:-5]
                value = " ".join(pj.read(os.path.join(folder, name)).split())
                same = key in old and verdict(old[key]) == verdict(value)
                new[key] = old[key] if same else value
    with open(path, "w") as f:
        f.writelines(f"{k} {new[k]}\n" for k in sorted(new))
    print(f"proofs/cache.txt: {len(new)} prover results", flush=True)


def verdict(value):
    try:
        return json.loads(value).get("verdict")
    except json.JSONDecodeError:
        return None
