"""Ends running programs, with what they started, when the process that started them ends.

    python3 -I -S -B guard.py FD       kills the groups that FD names, when FD is closed

A program runs in a session of its own, so that it can be killed with its children. No signal that
ends the runner reaches it then, and SIGKILL cannot be handled. So a guard, which is a process of
its own, reads from a pipe which groups run. The kernel closes the pipe however the runner ends. A
program also receives SIGKILL when the thread that started it ends (prctl), which covers the moment
until the guard knows its group."""

import ctypes
import os
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h
PRCTL = ctypes.CDLL(None).prctl  # before a fork: the child of a thread may only call what is loaded


def kill(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # ended; the second: only a zombie is left
        pass


class Guard:
    """Starts programs. Threads may share it; each waits for its programs before it ends."""

    def __init__(self):
        theirs, self.life = os.pipe()
        own = [sys.executable, "-I", "-S", "-B", os.path.abspath(__file__), str(theirs)]
        null = subprocess.DEVNULL
        self.process = subprocess.Popen(
            own, pass_fds=[theirs], stdin=null, stdout=null, stderr=null, start_new_session=True
        )
        os.close(theirs)

    def start(self, argv, **more):
        """As subprocess.Popen, in a session of its own. Call `ended` when it has ended."""
        me = os.getpid()

        def end_with_thread():
            PRCTL(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != me:
                os._exit(1)

        process = subprocess.Popen(argv, start_new_session=True, preexec_fn=end_with_thread, **more)
        os.write(self.life, f"+{process.pid}\n".encode())  # one write: lines do not mix
        return process

    def ended(self, process):
        """Kills what the program has left running."""
        kill(process.pid)
        os.write(self.life, f"-{process.pid}\n".encode())


def guard(fd):
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    running = set()
    with open(fd, encoding="ascii") as lines:
        for line in lines:
            (running.add if line[0] == "+" else running.discard)(int(line[1:]))
    for group in running:
        kill(group)


if __name__ == "__main__":
    guard(int(sys.argv[1]))
