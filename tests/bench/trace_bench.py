"""Runs zeroproof trace check on a generated correct run, and on the same run with the trace of one
rank missing, truncated, or lagging.

python3 tests/bench/trace_bench.py [--ranks N] [--records N] [--dir DIR] prints a table of rate (by
processor time), peak memory and verdict; `make trace-bench` runs it. ZP_BUILD names the build. Exit
codes: 0 if each verdict names the right rank within 1 GB and 16 open files; 1 if not; 2 for invalid
input. The rate does not change the exit code. The traces take two bytes a record, in a temporary
folder.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("ZP_BUILD", "build")
GENERATOR = os.path.join(BUILD, "tests", "drivers", "trace", "trace_gen_driver")
COMMAND = os.environ.get("ZEROPROOF", os.path.join(BUILD, "zeroproof"))
MEMORY, FILES = 10**9, 16
TP, END_MARK = 10, b"\x09"  # ranks that share a tp group; the last byte of a whole trace
# A sanitizer's shadow and tables are larger than what is measured.
SANITIZED = os.environ.get("SAN", "0") == "1"


def limits():
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


class Bench:
    def __init__(self, folder, ranks, records):
        self.folder, self.ranks, self.records = folder, ranks, records
        self.rank, self.behind = ranks // 3 + 1, 10000 if records >= 10016 else records // 2
        self.failed = 0

    def path(self, rank):
        return os.path.join(self.folder, f"rank-{rank}.zpt")

    def generate(self, *fault):
        words = [GENERATOR, self.folder, self.ranks, TP, self.records, *fault]
        subprocess.run(list(map(str, words)), check=True)

    def row(self, name, code, pattern):
        """Judges the folder as it is; the first line, the cause or the verdict, must match."""
        with tempfile.TemporaryFile("w+") as out:
            # preexec_fn is safe, as this process has one thread
            child = subprocess.Popen(
                [COMMAND, "trace", "check", self.folder],
                stdout=out,
                stderr=subprocess.STDOUT,
                preexec_fn=limits,
            )
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            first = (out.read().splitlines() or [""])[0]
        seconds, memory = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
        within = SANITIZED or memory < MEMORY
        good = child.returncode == code and re.search(pattern, first) and within
        self.failed += not good
        rate = self.ranks * self.records / max(seconds, 1e-3) / 1e6
        cells = f"| {name} | {rate:.1f} | {memory / 1e6:.0f} | {first[:150]} |"
        print(cells + ("" if good else " UNEXPECTED"), flush=True)

    def run(self):
        print(
            f"{self.ranks} ranks x {self.records} records, at most {FILES} open files, "
            f"{time.strftime('%Y-%m-%d')}:\n\n"
            f"| the trace of rank {self.rank} | million records/s and core | MB at most "
            "| verdict |\n|---|---|---|---|",
            flush=True,
        )
        self.generate()
        self.row("is whole", 0, r": consistent \(order and shapes only\)$")
        mine, aside = self.path(self.rank), os.path.join(self.folder, "aside")
        os.rename(mine, aside)
        self.row("is missing", 1, f"^rank {self.rank} has no trace")
        shutil.copyfile(aside, mine)
        os.truncate(mine, os.path.getsize(mine) // 2)
        self.row("is truncated", 1, f"rank {self.rank} has a trace that stops after ")
        self.kill()
        left = self.records - self.behind
        self.generate("late", self.rank, left, "only")
        pattern = rf"rank {self.rank} has a trace that stops after {left} records; ranks"
        self.row(f"is {self.behind} behind, all were killed", 1, pattern)
        return 1 if self.failed else 0

    def kill(self):
        """Removes the end marks of all other traces."""
        for rank in range(self.ranks):
            if rank == self.rank:
                continue
            with open(self.path(rank), "r+b") as file:
                last = file.seek(-1, os.SEEK_END)
                assert file.read(1) == END_MARK
                file.truncate(last)


def refuse(why):
    print(f"trace_bench.py: {why}", file=sys.stderr)
    return 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ranks", type=int, default=1000, help=f"a multiple of {TP} (1000)")
    parser.add_argument("--records", type=int, default=100000, help="of each rank (100000)")
    parser.add_argument("--dir", help="make the traces below this folder")
    options = parser.parse_args()
    if options.ranks < 2 * TP or options.ranks % TP or options.records < 16:
        ranks = f"a multiple of {TP} from {2 * TP} on"
        return refuse(f"--ranks must be {ranks}, --records 16 or more")
    if options.dir is not None and not os.path.isdir(options.dir):
        return refuse(f"--dir {options.dir} is no folder")
    need = 2 * options.ranks * options.records + 8192 * options.ranks
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        if shutil.disk_usage(folder).free < need:
            gb = need / 1e9
            return refuse(f"{folder} has no {gb:.1f} GB left: name another folder with --dir")
        return Bench(folder, options.ranks, options.records).run()


if __name__ == "__main__":
    sys.exit(main())
