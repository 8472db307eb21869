"""Stored verdicts: what passed once and depends on nothing that has changed since.

    store = Store()
    verdict = store.get(inputs)                  # None: compute it
    store.put(inputs, result, wall=1.5, cpu=1.2, again=["python3", "x.py", "--again", "name"])
    store.failed(inputs, "why")                  # instead of put, when it did not pass

`result` is plain JSON that every computation of the same inputs repeats: counts, names, digests,
but neither times nor paths. `again` is a command, run in the repository's root, that computes this
one verdict again and calls put or failed.

One JSON file a key, in $ZP_CACHE/verdicts (~/.cache/zeroproof/verdicts). Failures are never stored.
The environment says how the store is used:

    ZP_VERDICTS     use (the default); none: neither read nor write; compare: compute everything,
                    and report where a stored verdict says something else
    ZP_REUSED       a file to which each reused verdict is appended, a JSON object a line
    ZP_DIFFERENCES  a file to which each difference is appended, in mode compare
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from inputs import ROOT

FIELDS = {"kind", "name", "key", "inputs", "result", "again", "wall", "cpu", "commit", "time"}


def folder():
    """Where verdicts are stored."""
    cache = os.environ.get("ZP_CACHE")
    if not cache:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        cache = os.path.join(home, "zeroproof")
    return os.path.join(cache, "verdicts")


def commit():
    """The commit of the sources, with "-dirty" when they differ from it."""
    file = os.path.join(ROOT, "COMMIT")
    if os.path.exists(file):
        with open(file, encoding="utf-8") as f:
            return f.readline().strip()[:12]
    run = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout.strip() or "unknown"


def append(variable, record):
    """Appends a line to the file that an environment variable names, if it names one."""
    path = os.environ.get(variable)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record, sort_keys=True) + "\n")


class Store:
    def __init__(self):
        self.folder = folder()
        self.mode = os.environ.get("ZP_VERDICTS") or "use"
        if self.mode not in ("use", "none", "compare"):
            raise SystemExit(f"ZP_VERDICTS is '{self.mode}'; it should be use, none or compare")
        self._commit = None

    def _path(self, key):
        return os.path.join(self.folder, key[:2], key + ".json")

    def _read(self, inputs):
        """The stored verdict of these inputs, or None if it is missing or damaged."""
        key = inputs.key()
        path = self._path(key)
        try:
            with open(path, encoding="utf-8") as file:
                verdict = json.load(file)
            if set(verdict) != FIELDS or verdict["key"] != key or verdict["inputs"] != inputs.parts:
                raise ValueError("it is not the verdict of its key")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as e:
            text = f"verdicts: {path} is damaged ({e}); {inputs.name} is computed again"
            print(text, file=sys.stderr)
            return None
        return verdict

    def get(self, inputs):
        """The stored verdict (a dict of FIELDS), or None when it has to be computed."""
        if self.mode != "use":
            return None
        verdict = self._read(inputs)
        if verdict:
            append("ZP_REUSED", verdict)
        return verdict

    def put(self, inputs, result, wall, cpu, again):
        """Stores that it passed. In mode compare: reports a stored verdict with another result."""
        if self.mode == "none":
            return
        if self.mode == "compare":
            self._compare(inputs, result)
            return
        self._commit = self._commit or commit()
        verdict = {
            "kind": inputs.kind,
            "name": inputs.name,
            "key": inputs.key(),
            "inputs": inputs.parts,
            "result": result,
            "again": again,
            "wall": round(wall, 2),
            "cpu": round(cpu, 2),
            "commit": self._commit,
            "time": int(time.time()),
        }
        path = self._path(verdict["key"])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=os.path.dirname(path))
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(verdict, file, sort_keys=True, indent=1)
        os.replace(beside, path)

    def failed(self, inputs, why):
        """It did not pass: stores nothing. In mode compare: reports the stored verdict, if any."""
        if self.mode == "compare":
            self._compare(inputs, {"failed": why})

    def _compare(self, inputs, result):
        stored = self._read(inputs)
        if stored and stored["result"] != json.loads(json.dumps(result)):
            same = {name: stored[name] for name in ("kind", "name", "key", "commit")}
            append("ZP_DIFFERENCES", {**same, "stored": stored["result"], "computed": result})
