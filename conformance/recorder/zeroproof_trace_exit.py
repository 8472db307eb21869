"""How the process of a recorded program ends: completed, with an exit status, or by an exception.

Python does not say this to functions registered with atexit. An exception is noted when Python
calls sys.excepthook. For SystemExit it calls nothing, so the C library writes the status itself, as
the last byte of the trace, after Python has ended."""

import ctypes
import dis
import sys
import threading

STATUS, EXCEPTION, BYTE, UNKNOWN = range(1, 5)
INTERRUPTED = 130  # what a shell reports for SIGINT
UNBUFFERED = 2  # _IONBF


def status_of(code):
    """The exit status of sys.exit(code)."""
    if code is None:
        return 0
    return code & 255 if isinstance(code, int) else 1


def raised(error):
    """(how, status, reason) of a program that an exception ended. The exception itself is not
    kept: its traceback holds the program's objects."""
    interrupted = isinstance(error, KeyboardInterrupt)
    return EXCEPTION, INTERRUPTED if interrupted else 1, type(error).__name__


def c_library():
    """glibc, which has on_exit(), or None: other C libraries give exit handlers no status."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    return library if hasattr(library, "on_exit") else None


def stream_of(library, fd):
    """A FILE of the C library that owns the descriptor."""
    library.fdopen.restype = ctypes.c_void_p
    stream = ctypes.c_void_p(library.fdopen(fd, b"w"))
    if stream:
        library.setvbuf(stream, None, UNBUFFERED, 0)
    return stream


def write_status_at_exit(library, stream):
    """Lets exit(status) write the status as one byte: on_exit() calls fputc(status, stream)."""
    library.on_exit(ctypes.cast(library.fputc, ctypes.c_void_p), stream)


class Ending:
    def __init__(self):
        self.status, self.error, self.known, self.watching = None, None, False, False
        self.outermost = None
        if threading.current_thread() is threading.main_thread():
            frame = sys._getframe()
            while frame.f_back is not None:
                frame = frame.f_back
            self.outermost = frame
        self.hook_errors()

    def hook_errors(self):
        real = sys.excepthook

        def failing(kind, error, trace):
            # Python sets last_value before it calls the hook; a program that logs does not
            if self.watching and error is getattr(sys, "last_value", None):
                self.error = raised(error)
            return real(kind, error, trace)

        self.real_hook, self.failing = real, failing

    def watch(self):
        """Installs the hook."""
        self.status, self.error, self.known, self.watching = None, None, False, True
        if sys.excepthook is self.real_hook:
            sys.excepthook = self.failing

    def leave_alone(self):
        """Removes the hook, unless another hook was installed over it: then it does nothing."""
        self.watching = False
        if sys.excepthook is self.failing:
            sys.excepthook = self.real_hook

    def set(self, error):
        """What ended the program, known exactly: an exception, SystemExit too, or None."""
        self.known, self.status, self.error = True, None, None
        if isinstance(error, SystemExit):
            self.status = status_of(error.code)
        elif error is not None:
            self.error = raised(error)

    def set_of_child(self, error):
        """The same of a process of multiprocessing: any exception gives it the exit status 1."""
        self.set(error)
        if self.error is not None:
            self.error = EXCEPTION, 1, self.error[2]

    def returned(self):
        """Whether the outermost frame has returned; None: not known."""
        frame = self.outermost
        if frame is None or frame.f_lasti < 0:
            return None
        return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("RETURN")

    def found(self):
        """(how, status, reason), or None if the program completed. how BYTE: exit() will say."""
        if not self.known and self.returned():
            return None
        if self.error is not None:
            return self.error
        if self.known:
            return (STATUS, self.status, "") if self.status else None
        if self.outermost is not None and getattr(sys, "last_value", None) is not None:
            return raised(sys.last_value)  # sys.excepthook was replaced
        return BYTE, 0, ""
