"""Starts programs that end when the judge ends, with every process that they started.

    python3 -I -S -B supervise.py FD FOLDER COMMAND [ARGUMENT…]     runs COMMAND until FD is closed

A supervisor runs between the judge and each program. It is a sub-reaper (prctl, Linux 3.4): when a
process below it ends, that process's children become the supervisor's own, whatever session or
process group they have moved to. It shares a socket with the judge. The kernel closes the judge's
end however the judge ends, also by SIGKILL; then, or when the program has ended, the supervisor
kills its children until it has none, and ends as the program did. If the judge was first, it also
removes FOLDER, which holds the files of the program (empty: none)."""

import atexit
import ctypes
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
# Seconds that the judge waits for processes which were killed: one that waits for a device in the
# kernel ends later.
KILLED_WAIT = 10
STARTED = b"\0"  # what a supervisor sends when its program runs; otherwise it sends the error


# ---- The judge's side ----------------------------------------------------------------------------

RUNNING = set()


@atexit.register
def end_all():
    for process in list(RUNNING):
        process.life.close()  # all first: they end at the same time
    for process in list(RUNNING):
        process.end()


class Process:
    """A program under a supervisor, as a subprocess.Popen with these members. folder: removed when
    the judge ends. pipes: arguments of Popen. Raises OSError or ValueError if the program cannot be
    started."""

    def __init__(self, argv, folder="", **pipes):
        self.life, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            own = [sys.executable, "-I", "-S", "-B", os.path.abspath(__file__), str(fd), folder]
            self.popen = subprocess.Popen(
                [*own, *argv], pass_fds=[fd], start_new_session=True, **pipes
            )
        self.stdin, self.stdout, self.stderr = (
            self.popen.stdin,
            self.popen.stdout,
            self.popen.stderr,
        )
        self.poll, self.wait = self.popen.poll, self.popen.wait
        RUNNING.add(self)
        said = self.life.recv(4096)
        if said != STARTED:
            self.close()
            raise OSError(0, said.decode(errors="replace") or "its supervisor was killed")

    def end(self):
        """Kills the program and everything that it started."""
        self.life.close()
        RUNNING.discard(self)
        try:
            self.popen.wait(KILLED_WAIT)
        except subprocess.TimeoutExpired:
            pass

    def close(self):
        """Ends the program, and closes the pipes."""
        self.end()
        for pipe in filter(None, (self.stdin, self.stdout, self.stderr)):
            try:
                pipe.close()
            except OSError:  # what was written and not yet sent
                pass


def output(argv):
    """The standard output of a program that succeeds."""
    process = Process(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    text = process.stdout.read()
    code = process.wait()
    process.close()
    if code:
        raise OSError(0, f"'{' '.join(argv)}' ended with exit code {code}")
    return text


# ---- The supervisor ------------------------------------------------------------------------------


def prctl(option, value):
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"prctl: {os.strerror(number)}")


def children():
    """The processes whose parent is this one."""
    found, mine = [], str(os.getpid()).encode()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # PID (NAME) STATE PARENT …, where NAME may contain anything
                if file.read().rpartition(b")")[2].split()[1] == mine:
                    found.append(int(name))
        except (OSError, IndexError):  # it has ended
            pass
    return found


def kill_children():
    """Kills children until none are left. Their own children become ours when they have ended. No
    other process can take the number of a child that we have not waited for."""
    while True:
        for pid in children():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def start(argv):
    me = os.getpid()

    def end_with_supervisor():  # also if the supervisor itself is killed
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != me:
            os._exit(1)

    return subprocess.Popen(
        argv, close_fds=True, start_new_session=True, preexec_fn=end_with_supervisor
    )


def status_of(pid, life, wake):
    """The status of `pid` once it has ended, or None if everything is to end before."""
    while True:
        ready, _, _ = select.select([life, wake], [], [])
        if life in ready:
            return None
        if any(number != signal.SIGCHLD for number in os.read(wake, 4096)):
            return None
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == pid:
                    return ended[1]
        except ChildProcessError:
            return None


def supervise(life, folder, argv):
    wake, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which the program would inherit
    try:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        program = start(argv)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        life.sendall((getattr(error, "strerror", None) or str(error)).encode()[:4096])
        return 1
    with open(os.devnull, "r+b") as null:
        for number in (0, 1, 2):  # pipes must end when the program closes them
            os.dup2(null.fileno(), number)
    try:
        life.sendall(STARTED)
        status = status_of(program.pid, life, wake)
    except OSError:  # the judge has ended
        status = None
    kill_children()
    if status is None:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        return 1
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    os._exit(supervise(socket.socket(fileno=int(sys.argv[1])), sys.argv[2], sys.argv[3:]))
