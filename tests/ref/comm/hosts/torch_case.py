"""torchrun with gloo and the recorder on three hosts: torch_case.py PYTHON.

A clean run has the bits of one host, links that carried the gradients, and a consistent record. Of
a run in which a rank is killed, `trace check` names the rank. Prints "ok …" and "not ok …" lines;
exits with 2 and the reason if this machine has no namespaces."""

import glob
import os
import re
import subprocess
import sys

import case
import torch_program_sizes as sizes
import world

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.abspath(os.path.join(HERE, *[os.pardir] * 4))
PROGRAM = world.ROOT + "/tree/tests/ref/comm/hosts/torch_program.py"
LIMIT_S = 600
KILLED = 3


class Torch:
    """Three hosts that run the program."""

    def __init__(self, build, python):
        more = {
            "PYTHONPATH": world.ROOT + "/tree/conformance/recorder",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
        }
        self.world = world.World(TREE, build, {**case.environment(), **more})
        self.python = python
        self.bad = 0

    def verdict(self, good, name, why):
        """One line."""
        print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)
        self.bad |= not good

    def run(self, names, *arguments):
        """torchrun on each of these hosts: exit codes, and all output."""
        started = []
        for i, name in enumerate(names):
            words = [self.python, "-W", "ignore", "-m", "torch.distributed.run"]
            words += ["--nnodes", str(len(names)), "--node-rank", str(i)]
            words += ["--nproc-per-node", str(case.RANKS // len(names))]
            words += ["--master-addr", names[0], "--master-port", "29500", PROGRAM, *arguments]
            out = open(f"{case.RUN}/torch.{name}", "w+", encoding="utf-8", errors="replace")
            started.append((self.world.start(name, words, stdout=out, stderr=out), out))
        codes, text = [], ""
        for process, out in started:
            try:
                codes.append(process.wait(LIMIT_S))
            except subprocess.TimeoutExpired:
                codes.append(None)
            out.seek(0)
            text += out.read()
            out.close()
        return codes, text

    def collect(self, name):
        """Copies the records of all hosts into one folder, and judges them."""
        folder = f"{case.RUN}/{name}"
        os.mkdir(folder)
        for host in self.world.hosts:
            host.run("sh", "-c", f"cp /tmp/trace/*.zpt {folder} && rm -r /tmp/trace")
        judged = subprocess.run(
            [case.COMMAND, "trace", "check", folder], capture_output=True, text=True, check=False
        )
        return len(glob.glob(folder + "/*.zpt")), judged.returncode, judged.stdout

    def clean(self):
        """A run without a fault."""
        before = [host.counters() for host in self.world.hosts]
        codes, text = self.run(world.NAMES)
        sent = [host.counters()[1] - b[1] for host, b in zip(self.world.hosts, before, strict=True)]
        self.verdict(codes == [0, 0, 0], "torchrun_runs_on_three_hosts", f"{codes} {text[-2000:]}")
        self.verdict(
            min(sent) >= sizes.GRADIENT_BYTES * sizes.STEPS,
            "the_links_carry_the_gradients",
            f"{sent} bytes",
        )
        files, code, said = self.collect("clean")
        self.verdict(
            (files, code) == (case.RANKS, 0) and "6 ranks: consistent" in said,
            "the_record_of_three_hosts_is_consistent",
            f"{files} files, exit code {code}: {said}",
        )
        here = re.findall(r"^parameters (\w+)$", text, re.M)
        codes, alone = self.run(world.NAMES[:1])
        self.verdict(
            len(here) == 1 and here == re.findall(r"^parameters (\w+)$", alone, re.M),
            "the_parameters_have_the_bits_of_one_host",
            f"{here}, {codes}: {alone[-2000:]}",
        )
        self.world.hosts[0].run("rm", "-r", "/tmp/trace")

    def killed(self):
        """A rank is killed in step 3."""
        codes, text = self.run(world.NAMES, str(KILLED))
        self.verdict(
            None not in codes and 0 not in codes,
            "torchrun_ends_on_all_hosts_if_a_rank_is_killed",
            f"{codes} {text[-2000:]}",
        )
        files, code, said = self.collect("killed")
        self.verdict(
            (files, code) == (case.RANKS, 1) and re.search(rf"\brank {KILLED}\b", said),
            "trace_check_names_the_rank_that_was_killed",
            f"{files} files, exit code {code}: {said}",
        )
        if "-v" in sys.argv:
            print(said, file=sys.stderr)


def main():
    """The exit code."""
    build = os.path.abspath(os.environ.get("ZP_BUILD", "build"))
    if sys.argv[1] != "inside":
        why = world.why_impossible()
        if why:
            print(f"not run: torchrun on three hosts: {why}")
            return 2
        return world.enter([sys.executable, "-B", __file__, "inside", *sys.argv[1:]]).wait()
    job = Torch(build, sys.argv[2])
    job.clean()
    job.killed()
    return job.bad


if __name__ == "__main__":
    sys.exit(main())
