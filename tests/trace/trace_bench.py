"""zeroproof trace check on a generated run that fits, and on the same with one rank's trace missing, truncated, behind.

python3 tests/trace/trace_bench.py [--ranks N] [--records N] [--dir DIR]: prints a table of rate (by processor
time), peak memory and verdict; `make trace-bench` is this. ZP_BUILD names the build. Exit codes: 0 each
verdict names the right rank, within 1 GB and 16 open files; 1 not so; 2 refused input. How fast it
was decides nothing. The traces take two bytes a record, in a temporary folder, written once."""
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
GENERATOR = os.path.join(BUILD, "tests", "trace", "trace_gen_driver")
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
        """Judges the folder as it is; the first line must match, and so must the exit code."""
        with tempfile.TemporaryFile("w+") as out:
            # limits are the child's own, and nothing else runs in this process
            child = subprocess.Popen([COMMAND, "trace", "check", self.folder], stdout=out, stderr=subprocess.STDOUT,
                                     preexec_fn=limits)  # pylint: disable=subprocess-popen-preexec-fn
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            first = (out.read().splitlines() or [""])[0]
        seconds, memory = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
        good = child.returncode == code and re.search(pattern, first) and (SANITIZED or memory < MEMORY)
        self.failed += not good
        rate = self.ranks * self.records / max(seconds, 1e-3) / 1e6
        print(f"| {name} | {rate:.1f} | {memory / 1e6:.0f} | {first[:150]} |{'' if good else ' NOT AS IT MUST BE'}", flush=True)

    def run(self):
        print(f"{self.ranks} ranks x {self.records} records, at most {FILES} open files, "
              f"{time.strftime('%Y-%m-%d')}:\n\n| the trace of rank {self.rank} | million records/s and core | MB at most "
              "| verdict |\n|---|---|---|---|", flush=True)
        self.generate()
        self.row("is whole", 0, "they fit$")
        mine, aside = self.path(self.rank), os.path.join(self.folder, "aside")
        os.rename(mine, aside)
        self.row("is missing", 1, f"^rank {self.rank} has no trace")
        shutil.copyfile(aside, mine)
        os.truncate(mine, os.path.getsize(mine) // 2)
        self.row("is truncated", 1, f"^rank {self.rank} has a trace that stops after ")
        self.kill()
        left = self.records - self.behind
        self.generate("late", self.rank, left, "only")
        self.row(f"is {self.behind} behind, all were killed", 1,
                 f"^rank {self.rank} has a trace that stops after {left} records, {self.behind} fewer")
        return 1 if self.failed else 0

    def kill(self):
        """Nobody's trace has an end mark any more."""
        for rank in range(self.ranks):
            if rank == self.rank:
                continue
            with open(self.path(rank), "r+b") as file:
                last = file.seek(-1, os.SEEK_END)
                assert file.read(1) == END_MARK
                file.truncate(last)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ranks", type=int, default=1000, help=f"a multiple of {TP} (1000)")
    parser.add_argument("--records", type=int, default=100000, help="of each rank (100000)")
    parser.add_argument("--dir", help="make the traces below this folder")
    options = parser.parse_args()
    if options.ranks < 2 * TP or options.ranks % TP or options.records < 16:
        print(f"trace_bench.py: --ranks must be a multiple of {TP} from {2 * TP} on, --records 16 or more", file=sys.stderr)
        return 2
    if options.dir is not None and not os.path.isdir(options.dir):
        print(f"trace_bench.py: --dir {options.dir} is no folder", file=sys.stderr)
        return 2
    need = 2 * options.ranks * options.records + 8192 * options.ranks
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        if shutil.disk_usage(folder).free < need:
            print(f"trace_bench.py: {folder} has no {need / 1e9:.1f} GB left: name another folder with --dir", file=sys.stderr)
            return 2
        return Bench(folder, options.ranks, options.records).run()


if __name__ == "__main__":
    sys.exit(main())
