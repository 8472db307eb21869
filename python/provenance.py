"""Prints what zeroproof.provenance() returns for a wheel: python3 provenance.py VERSION"""

import hashlib
import json
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent


def git(*words):
    done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


inside = git("rev-parse", "--show-toplevel") == str(root)
commit = inside and git("rev-parse", "HEAD") or "unknown"
changed = git("status", "--porcelain", "--untracked-files=no")
claims = hashlib.sha256((root / "CLAIMS.md").read_bytes()).hexdigest()
print(
    json.dumps(
        {
            "version": sys.argv[1],
            "commit": f"{commit}-dirty" if inside and changed else commit,
            "claims": claims,
        }
    )
)
