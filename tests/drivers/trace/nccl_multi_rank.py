"""nccl_multi_rank.py LIBRARY SCOPE MAKE FIRST N SIZE [WHAT]: creates members FIRST … FIRST + N - 1
of a communicator of SIZE, and enters three operations on each."""

import ctypes
import os
import resource
import sys

library, scope, make, first, n, size = sys.argv[1:7]
what = sys.argv[7] if len(sys.argv) > 7 else ""
lib = ctypes.CDLL(library, mode=getattr(ctypes, scope))
n, endless = int(n), resource.RLIM_INFINITY
bad = getattr(lib, make)(int(first), n, int(size))


def torn(rank):
    """Enters an operation of which the disk accepts three bytes. Messages go through a pipe,
    because the limit applies to every file."""
    path = os.path.join(os.environ["ZEROPROOF_TRACE"], f"rank-{rank}.zpt")
    messages, pipe, stderr = *os.pipe(), os.dup(2)
    os.dup2(pipe, 2)
    os.close(pipe)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path) + 3, endless))
    result = lib.reduce(rank, 4)
    resource.setrlimit(resource.RLIMIT_FSIZE, (endless, endless))
    os.dup2(stderr, 2)
    os.write(2, os.read(messages, 4096))
    return result


for i in range(n if what == "split" else 0):
    bad |= lib.split_later(i)
for op in range(3):
    if what == "fork" and op == 1 and os.fork() == 0:
        sys.exit(0)  # ends as a program does that started this process, not as a rank
    for i in range(n):
        bad |= torn(i) if (what, i, op) == ("full", n - 1, 1) else lib.reduce(i, 4)
if what == "fork":
    bad |= os.wait()[1]
if what == "missing":
    bad |= lib.call_missing_function()
sys.exit(bad)
