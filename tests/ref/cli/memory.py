"""memory.py ZEROPROOF ARGS…: what a command says that it needs, and what it takes.

Prints "ESTIMATE PEAK" in MiB: the figure of the refusal when little is free (ulimit -v), and the
peak resident memory of the run without that limit; and the exit codes of both."""

import re
import resource
import subprocess
import sys

LITTLE = 22 << 20  # enough to start the program, not for its smallest run


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (LITTLE, LITTLE))


command = sys.argv[1:]
refused = subprocess.run(
    command, stderr=subprocess.PIPE, text=True, check=False, preexec_fn=limited
)
ran = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
figure = re.search(r"up to (\d+) MiB of memory and .*\d+ MiB", refused.stderr)
estimate = figure[1] if figure else refused.stderr.strip()
print(estimate, round(peak), refused.returncode, ran.returncode)
