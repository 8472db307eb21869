"""Starts programs that end when the judge ends, with every process that they started.

    python3 -I -S -B supervise.py FD FOLDER COMMAND [ARGUMENT…]     runs COMMAND until FD is closed

A supervisor runs between the judge and each program. It is a sub-reaper (prctl, Linux 3.4): when a
process below it ends, that process's children become the supervisor's own, whatever session or
process group they have moved to. It shares a socket with the judge. The kernel closes the judge's
end however the judge ends, also by SIGKILL; then the supervisor kills its children until it has
none, removes FOLDER, and ends. When the program has ended, or SIGTERM, SIGINT or SIGHUP ends the
program, it kills its children too and sends the exit code, but waits for the judge.

The supervisor creates FOLDER, for the files of the program (empty: none). So FOLDER exists while
the judge uses it, and never longer than the judge."""

import atexit
import contextlib
import ctypes
import errno
import os
import select
import signal
import socket
import subprocess
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
# Seconds that the judge waits for processes which were killed: one that waits for a device in the
# kernel ends later.
KILLED_WAIT = 10
# The first message of a supervisor: the program runs, or one of two errors with its text. The
# second message is the program's exit code, in decimal.
STARTED, NO_PROGRAM, FAILED = b"+", b"-", b"!"
# What exec says of a program. Other errors, such as too many processes, are the environment's.
NOT_EXECUTABLE = {
    errno.ENOENT,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENOEXEC,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.E2BIG,
}
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


# ---- The judge's side ----------------------------------------------------------------------------

RUNNING = set()


@atexit.register
def end_all():
    processes, until = list(RUNNING), time.monotonic() + KILLED_WAIT
    for process in processes:
        process.life.close()  # all first: they end at the same time
    for process in processes:
        process.end(until)


class NoProgram(OSError):
    """There is no such program, or it cannot be executed."""


def remove(folder):
    """Removes a folder, or a link in its place, whatever a program has left there."""
    import shutil  # most supervisors have no folder, and start sooner without it

    if os.path.islink(folder):
        with contextlib.suppress(OSError):
            os.unlink(folder)
        return
    shutil.rmtree(folder, ignore_errors=True)
    if not os.path.isdir(folder):
        return
    for at, folders, _ in os.walk(folder):  # read-only folders, as caches have
        for path in [at, *(os.path.join(at, name) for name in folders)]:
            if not os.path.islink(path):
                with contextlib.suppress(OSError):
                    os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


class Process:
    """A program under a supervisor, as a subprocess.Popen with these members. folder: does not
    exist; it is created, and removed when the process is closed or the judge ends. pipes: arguments
    of Popen. Raises NoProgram, ValueError for a word that no program can get, or OSError if the
    environment failed."""

    def __init__(self, argv, folder="", **pipes):
        self.folder, self.code = folder, None
        # messages, so that the exit code of a short program is not read with the first one
        self.life, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
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
        RUNNING.add(self)
        said = self.first_message()
        if said != STARTED:
            if said:
                self.folder = ""  # it was not created, or has been removed
            self.close()
            text = said[1:].decode(errors="replace") or "its supervisor was killed"
            raise (NoProgram if said[:1] == NO_PROGRAM else OSError)(0, text)

    def first_message(self):
        self.life.settimeout(1)
        while True:
            try:
                return self.life.recv(4096)
            except TimeoutError:  # the program may have stopped its supervisor
                self.popen.send_signal(signal.SIGCONT)

    def poll(self):
        """The program's exit code, or None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout=None):
        """The program's exit code, negative for a signal."""
        if self.code is None:
            self.life.settimeout(timeout)
            try:
                said = self.life.recv(4096)
            except (BlockingIOError, TimeoutError):
                raise subprocess.TimeoutExpired(self.popen.args, timeout) from None
            # the end of file: the supervisor was killed, and the program with it
            self.code = int(said) if said else self.popen.wait()
        return self.code

    def end(self, until=None):
        """Kills the program and everything that it started, and waits for that until then."""
        self.life.close()
        RUNNING.discard(self)
        self.popen.send_signal(signal.SIGCONT)  # as above
        left = KILLED_WAIT if until is None else max(0, until - time.monotonic())
        try:
            self.popen.wait(left)
        except subprocess.TimeoutExpired:
            pass
        if self.folder:  # its supervisor may have been killed
            remove(self.folder)

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


def end_of(pid, life, wake):
    """The exit code of `pid` once it has ended, the negative number of a signal that is to end it,
    or None if the judge has ended before."""
    while True:
        ready, _, _ = select.select([life, wake], [], [])
        if life in ready:
            return None
        signals = os.read(wake, 4096)
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == pid:
                    return os.waitstatus_to_exitcode(ended[1])
        except ChildProcessError:
            pass
        for number in ENDING:
            if number in signals:
                return -number


def run(life, argv, wake):
    """Runs the program, and returns when the judge has ended or closes `life`, or with an error to
    send."""
    try:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        # the program may stop this process, which must end all the same
        prctl(PR_SET_PDEATHSIG, signal.SIGCONT)
        program = start(argv)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        kind = NO_PROGRAM if getattr(error, "errno", None) in NOT_EXECUTABLE else FAILED
        return kind + text_of(error)
    with open(os.devnull, "r+b") as null:
        for number in (0, 1, 2):  # pipes must end when the program closes them
            os.dup2(null.fileno(), number)
    try:
        life.sendall(STARTED)
        code = end_of(program.pid, life, wake)
    except OSError:  # the judge has ended
        code = None
    kill_children()
    if code is not None:
        with contextlib.suppress(OSError):  # the judge has ended
            life.sendall(b"%d" % code)
        select.select([life], [], [])
    return b""


def text_of(error):
    return (getattr(error, "strerror", None) or str(error)).encode()[:4000]


def supervise(life, folder, argv):
    wake, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *ENDING):
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which the program would inherit
    try:
        if folder:
            os.mkdir(folder, 0o700)
    except OSError as error:
        said = FAILED + b"cannot create %s: %s" % (os.fsencode(folder), text_of(error))
    else:
        try:
            said = run(life, argv, wake)
        finally:
            if folder:
                remove(folder)
    if said:
        life.sendall(said[:4096])


if __name__ == "__main__":
    supervise(socket.socket(fileno=int(sys.argv[1])), sys.argv[2], sys.argv[3:])
    os._exit(0)
