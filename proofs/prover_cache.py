"""proofs/cache.txt: prover results, one line `HASH JSON` each, and the folder that WP reads."""

import json
import os

import project as pj


def unpack(project, exactly=True):
    """Fills build/proofs/cache from proofs/cache.txt, one line `HASH JSON` per result. exactly:
    removes all other results, also those of an interrupted run."""
    where = os.path.join(project.build, "cache")
    os.makedirs(where, exist_ok=True)
    wanted = {}
    path = project.path("proofs/cache.txt")
    if os.path.exists(path):
        for number, line in enumerate(pj.read(path).split("\n"), 1):
            name, _, value = line.partition(" ")
            if not line:
                continue
            if len(name) != 32 or not value.startswith("{"):
                raise pj.Problem(f"proofs/cache.txt:{number}: not a cache entry")
            wanted[name + ".json"] = value + "\n"
    for name in os.listdir(where) if exactly else []:
        if name not in wanted:
            os.remove(os.path.join(where, name))
    for name, value in wanted.items():
        file = os.path.join(where, name)
        if not os.path.exists(file) or pj.read(file) != value:
            with open(file, "w") as f:
                f.write(value)
    return where


def pack(project, folders):
    """Writes proofs/cache.txt from the entries in these folders, sorted. Entries that the file
    already has keep their times, so that the file changes only if a result changes."""
    path = project.path("proofs/cache.txt")
    old = {}
    if os.path.exists(path):
        old = dict(line.split(" ", 1) for line in pj.read(path).split("\n") if line)
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
