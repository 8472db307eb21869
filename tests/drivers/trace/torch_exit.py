"""torch_exit.py DIR [NAME...]: programs that end in different ways, each in a process of its own,
and whether their traces say how. Prints a line for each."""

import atexit
import ctypes
import os
import resource
import sys
import threading

import torch
import torch.distributed as dist
from trace_items import Trace

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "conformance", "recorder"))
import zeroproof_trace  # noqa: E402

# name: (how, status, reason) of the trace, or "ended" or "stopped"; exit status of the process
ENDS = {
    "returns": ("ended", 0),
    "exits_with_3": ((1, 3, ""), 3),
    "exits_with_0": ("ended", 0),
    "exits_with_none": ("ended", 0),
    "exits_with_words": ((1, 1, ""), 1),
    "exits_with_259": ((1, 3, ""), 3),
    "exits_and_cleans_up": ((1, 4, ""), 4),
    "calls_exit": ((1, 5, ""), 5),
    "catches_its_exit": ("ended", 0),
    "catches_it_inside": ("ended", 0),
    "exits_in_a_thread": ("ended", 0),
    "exits_in_a_thread_first": ("ended", 0),
    "raises": ((2, 1, "ValueError"), 1),
    "raises_with_its_own_hook": ((2, 1, "ValueError"), 1),
    "raises_and_redacts": ((2, 1, ""), 1),
    "raises_in_a_thread": ("ended", 0),
    "calls_the_hook_and_exits": ("ended", 0),
    "calls_the_hook_and_exits_with_3": ((1, 3, ""), 3),
    "calls_the_hook_and_closes": ("ended", 0),
    "calls_the_hook_and_raises": ((2, 1, "ValueError"), 1),
    "is_interrupted": ((2, 130, "KeyboardInterrupt"), -2),
    "closes_and_exits": ("ended", 3),
    "leaves_by_os_exit": ("stopped", 6),
    "raises_system_exit": ((1, 7, ""), 7),
    "raises_system_exit_0": ("ended", 0),
    "raises_system_exit_200": ((1, 200, ""), 200),
    "raises_system_exit_after_another": ((1, 7, ""), 7),
    "raises_system_exit_on_a_full_disk": ("stopped", 7),
    "cannot_ask_the_c_library": ((4, 0, ""), 7),
    "is_killed_while_python_ends": ("stopped", -9),
    "forks_while_python_ends": ((1, 3, ""), 3),
}


def leave(code):
    sys.exit(code)


def catch(function, *args):
    try:
        function(*args)
    except SystemExit:
        pass


def fail():
    raise ValueError("expected")


def call_the_hook():
    """As a program that logs an exception and continues."""
    try:
        raise ZeroDivisionError("expected")
    except ZeroDivisionError:
        sys.excepthook(*sys.exc_info())


def in_thread(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    thread.join()


def fork_and_exit(status):
    """A child that leaves through exit() of the C library, as a program in C does."""
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).exit(status)
    left = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if left != status:
        os._exit(100)  # the case fails


def begin(folder, name):
    if name == "is_killed_while_python_ends":
        atexit.register(lambda: os.kill(os.getpid(), 9))  # is called after the recorder's function
    if name == "forks_while_python_ends":
        atexit.register(fork_and_exit, 2)  # this one too
    recorder = zeroproof_trace.record(os.path.join(folder, name), redact="redacts" in name)
    store = dist.HashStore()
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    dist.all_reduce(torch.ones(2))
    return recorder


def judge(folder, name, pid):
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    trace = Trace(os.path.join(folder, name, "rank-0.zpt"))
    got = trace.exit or ("ended" if trace.ended else "stopped")
    good = (got, status) == ENDS[name] and not (trace.exit and trace.ended)
    print(f"ok {name}" if good else f"not ok {name}: {got}, {status}", flush=True)
    return good


def run(folder, names):
    """Forks a process for each name, which returns its name; the parent ends here."""
    bad = 0
    for name in names:
        pid = os.fork()
        if pid == 0:
            sys.stderr = open(os.path.join(folder, "errors"), "a", encoding="utf-8")
            return name
        bad += not judge(folder, name, pid)
    os._exit(bad > 0)


case = run(sys.argv[1], sys.argv[2:] or ENDS)
recorder = begin(sys.argv[1], case)
if case.startswith("exits_with_"):
    word = case.removeprefix("exits_with_")
    leave({"none": None, "words": "words"}.get(word) if word.isalpha() else int(word))
elif case == "exits_and_cleans_up":
    try:
        leave(4)
    finally:
        dist.all_reduce(torch.ones(3))
elif case == "calls_exit":
    exit(5)
elif case == "catches_its_exit":
    try:
        leave(3)
    except SystemExit:
        pass
elif case == "catches_it_inside":
    catch(leave, 3)
elif case == "exits_in_a_thread":
    in_thread(leave, 3)
elif case == "exits_in_a_thread_first":
    in_thread(leave, 3)
    raise SystemExit(0)
elif case == "raises_with_its_own_hook":
    sys.excepthook = lambda *_: None
    fail()
elif case in ("raises", "raises_and_redacts"):
    fail()
elif case == "raises_in_a_thread":
    in_thread(fail)
elif case.startswith("calls_the_hook"):
    call_the_hook()
    if case == "calls_the_hook_and_closes":
        recorder.close()
    elif case == "calls_the_hook_and_raises":
        fail()
    else:
        leave(3 if case.endswith("_3") else 0)
elif case == "is_interrupted":
    raise KeyboardInterrupt
elif case == "closes_and_exits":
    recorder.close()
    leave(3)
elif case == "leaves_by_os_exit":
    os._exit(6)
elif case == "raises_system_exit_after_another":
    catch(leave, 3)
    raise SystemExit(7)
elif case == "raises_system_exit_on_a_full_disk":
    recorder.file.now = bytes  # no time precedes the exit: its length is not known
    written = os.path.getsize(os.path.join(sys.argv[1], case, "rank-0.zpt"))
    room = written + len(recorder.file.pending) + 4  # all but the status
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    raise SystemExit(7)
elif case == "cannot_ask_the_c_library":
    ctypes.CDLL = lambda name: None  # has no on_exit
    raise SystemExit(7)
elif case == "forks_while_python_ends":
    raise SystemExit(3)
elif case.startswith("raises_system_exit") or case == "is_killed_while_python_ends":
    raise SystemExit(int(case.rpartition("_")[2]) if case[-1].isdecimal() else 7)
