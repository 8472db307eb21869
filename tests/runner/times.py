#!/usr/bin/env python3
"""Writes the column "now" of tests/TIMES.md: tests/runner/times.py, after `make test`.

Wall-clock seconds of each item, as the last run on this machine measured it beside others. The
runner starts the longest first; on a machine where no run measured any it takes them from there.
"""

import os
import re
import sys

from inputs import ROOT
from run import times
from store import folder

TABLE = os.path.join(ROOT, "tests", "TIMES.md")
ROW = re.compile(r"^\| (\S+) \| ([\d.]+|–) \| ([\d.]+|–) \|$")


def main():
    measured = times(os.path.join(folder(), "times"))
    with open(TABLE, encoding="utf-8") as file:
        text = file.read().splitlines()
    head = [line for line in text if not ROW.match(line)]
    before = {m.group(1): m.group(2) for m in map(ROW.match, text) if m}
    rows = {
        name: (before.get(name, "–"), f"{measured[name]:.1f}" if name in measured else "–")
        for name in {*before, *measured}
    }
    order = sorted(rows.items(), key=lambda r: -float(r[1][1] if r[1][1] != "–" else 0))
    lines = head + [f"| {name} | {b} | {now} |" for name, (b, now) in order]
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
