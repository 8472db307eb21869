"""Scripts in children of a process that has imported torch: to start a Python that imports it takes
longer than what most of them do. A child is this process's own, as by subprocess.Popen: a server,
forked before there are threads, forks it, and its orphans go to this process.

    server = Server()  # raises Child in a child: leave all functions, then call run_script()"""

import ctypes
import multiprocessing
import os
import runpy
import select
import signal
import sys
import threading

import torch
import torch._dynamo  # noqa: F401  (torch.optim imports it)

PR_SET_CHILD_SUBREAPER = 36


class Child(Exception):
    """Raised in a child, whose script is in sys.argv."""


def run_script():
    """The last thing of a child: an exception or sys.exit() of the script ends it as usual."""
    runpy.run_path(sys.argv[0], run_name="__main__")


class Process:
    def __init__(self, pid):
        self.pid, self.code = pid, None

    def wait(self, seconds=None):
        """The exit code; None if it has not ended within so many seconds."""
        if self.code is None:
            if seconds is not None:
                end = os.pidfd_open(self.pid)
                ended, _, _ = select.select([end], [], [], seconds)
                os.close(end)
                if not ended:
                    return None
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code

    def kill(self):
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)


class Server:
    def __init__(self):
        if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
            raise OSError("prctl(PR_SET_CHILD_SUBREAPER) failed")
        self._lock = threading.Lock()
        self._pipe, there = multiprocessing.Pipe()
        sys.stdout.flush()
        if os.fork() == 0:
            self._pipe.close()
            self._serve(there)
        there.close()

    def start(self, argv, out):
        """A process that runs argv; out: the name of the file with all that it prints."""
        with self._lock:
            self._pipe.send((argv, out))
            return Process(self._pipe.recv())

    def _serve(self, pipe):
        while True:
            try:
                argv, out = pipe.recv()
            except EOFError:
                os._exit(0)
            here, there = os.pipe()
            between = os.fork()
            if between == 0:
                child = os.fork()
                if child:  # ends, so that the child is the subreaper's
                    os.write(there, str(child).encode())
                    os._exit(0)
                os.close(here)
                os.close(there)
                pipe.close()
                with open(out, "w") as file:
                    os.dup2(file.fileno(), 1)
                    os.dup2(file.fileno(), 2)
                sys.argv = argv
                raise Child
            os.close(there)
            child = int(os.read(here, 20))
            os.close(here)
            os.waitpid(between, 0)
            pipe.send(child)
