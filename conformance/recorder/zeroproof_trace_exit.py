"""How the process of a recorded program ends: completed, with an exit status, or by an exception.

Python does not say this to functions registered with atexit. What sys.exit and sys.excepthook were
called with is noted, and at the end the last instruction of the program's outermost frame shows
whether the program returned, so that a SystemExit which the program caught does not count."""

import contextlib
import dis
import sys
import threading

STATUS, EXCEPTION = 1, 2
INTERRUPTED = 130  # what a shell reports for SIGINT


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


class Ending:
    def __init__(self):
        self.status, self.error, self.known, self.watching = None, None, False, False
        self.outermost = self.quitter = None
        if threading.current_thread() is threading.main_thread():
            frame = sys._getframe()
            while frame.f_back is not None:
                frame = frame.f_back
            self.outermost = frame
        self.hook_exit()
        self.hook_errors()

    def note(self, code=None):
        if self.watching and threading.current_thread() is threading.main_thread():
            self.status = status_of(code)

    def hook_exit(self):
        real = sys.exit

        def leave(*args):
            self.note(*args[:1])
            return real(*args)

        leave.__doc__, leave.__wrapped__ = real.__doc__, real
        self.real_exit, self.leave = real, leave
        with contextlib.suppress(ImportError, AttributeError):
            from _sitebuiltins import Quitter  # exit() and quit()

            quit_really = Quitter.__call__

            def leave_quietly(quitter, code=None):
                self.note(code)
                return quit_really(quitter, code)

            self.quitter, self.real_quit, self.quit = Quitter, quit_really, leave_quietly

    def hook_errors(self):
        real = sys.excepthook

        def failing(kind, error, trace):
            if self.watching:
                self.error = raised(error)
            return real(kind, error, trace)

        self.real_hook, self.failing = real, failing

    def watch(self):
        """Installs the hooks."""
        self.status, self.error, self.known, self.watching = None, None, False, True
        if sys.exit is self.real_exit:
            sys.exit = self.leave
        if self.quitter and self.quitter.__call__ is self.real_quit:
            self.quitter.__call__ = self.quit
        if sys.excepthook is self.real_hook:
            sys.excepthook = self.failing

    def leave_alone(self):
        """Removes the hooks, unless another hook was installed over them: then they do nothing."""
        self.watching = False
        if sys.exit is self.leave:
            sys.exit = self.real_exit
        if self.quitter and self.quitter.__call__ is self.quit:
            self.quitter.__call__ = self.real_quit
        if sys.excepthook is self.failing:
            sys.excepthook = self.real_hook

    def set(self, error):
        """What ended the program, known exactly: an exception, SystemExit too, or None."""
        self.known, self.status, self.error = True, None, None
        if isinstance(error, SystemExit):
            self.status = status_of(error.code)
        elif error is not None:
            self.error = raised(error)

    def returned(self):
        """Whether the outermost frame has returned; None: not known."""
        frame = self.outermost
        if frame is None or frame.f_lasti < 0:
            return None
        return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("RETURN")

    def found(self):
        """(how, status, reason), or None if the program completed."""
        if not self.known and self.returned():
            return None
        if self.error is not None:
            return self.error
        unseen = self.status is None and not self.known and self.outermost is not None
        if unseen and getattr(sys, "last_value", None) is not None:
            return raised(sys.last_value)  # sys.excepthook was replaced
        return (STATUS, self.status, "") if self.status else None
