"""Runs the checks and faults that lib.sh has listed, each in a child of this process, which has
imported torch: that takes longer than most of them.

python checks.py LIST has one entry in each line of LIST, fields separated by tabs:
    check       the PYTHONPATH, the script and its arguments: it must exit with 0
    fault:NAME  the same after a pattern: it must exit with 1, with a failed check of that pattern

The scripts lie in this file's folder, and import each other from it. Exit codes: 0 or 1."""

import os
import re
import sys
import tempfile

from forked import Child, run_script


def exit_code(path, argv, out):
    """Of a child that runs argv with `path` as PYTHONPATH; out: a file for its output, or None."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        if out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        os.environ["PYTHONPATH"] = path
        sys.path[1:1] = path.split(":")
        sys.argv = argv
        raise Child
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(entries):
    good = True
    for kind, *fields in entries:
        if kind == "check":
            path, *argv = fields
            good &= exit_code(path, argv, None) == 0
            continue
        pattern, path, *argv = fields
        with tempfile.TemporaryFile("w+", errors="replace") as out:
            code = exit_code(path, argv, out)
            out.seek(0)
            said = out.read()
        found = code == 1 and re.search(f"^not ok {pattern}", said, re.M)
        good &= bool(found)
        last = said.strip().rpartition("\n")[2]
        print(f"ok {kind}" if found else f"not ok {kind}: exit code {code}: {last}", flush=True)
    return good


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as listed:
        listed = [line.rstrip("\n").split("\t") for line in listed]
    try:
        sys.exit(not main(listed))
    except Child:
        pass
    run_script()
