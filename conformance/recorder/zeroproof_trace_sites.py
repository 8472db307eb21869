"""Call sites: which lines of the program called an operation, and what follows from the stack.

A call site is "train.py:15;loop.py:88": the innermost lines outside PyTorch, the standard library
and this recorder. Its text is made once. After that, the frames of a stack are only compared by
code object and instruction, which costs about a microsecond."""

import contextlib
import hashlib
import inspect
import os
import sys
import threading

DEPTH, DEEPEST, MOST = 3, 32, 1 << 16
# kinds of code objects; from MODULE on, a frame of that kind is part of what is looked up
USER, LIBRARY, MODULE, OPTIMIZER, BLOCKING, BATCH = range(6)
BACKWARD = "backward"
HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def hashed(words, digits=8):
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:digits]


def absolute(name):
    """Of a file; other names of code, such as "<stdin>", are kept."""
    return name if name.startswith("<") else os.path.abspath(name)


def short_name(name):
    """A file name that is the same on all ranks and hosts: within an installed package, below the
    current folder, or below a folder of sys.path; otherwise without a folder."""
    path = absolute(name)
    for packages in PACKAGES:
        if packages in path:
            return path.rpartition(packages)[2]
    folders = [os.path.abspath(folder) for folder in sys.path]
    with contextlib.suppress(OSError):  # the current folder was removed
        folders = [os.getcwd(), *sorted(folders, key=len, reverse=True)]
    for folder in folders:
        below = folder.rstrip(os.sep) + os.sep
        if path.startswith(below) and below != os.sep:
            return path[len(below) :]
    return os.path.basename(path)


class Sites:
    """The call sites of one trace. depth: the number of lines; redact: file names are hashed."""

    def __init__(self, file, depth, redact):
        import torch.distributed as dist

        self.file, self.depth, self.redact = file, depth, redact
        self.main = threading.main_thread().ident
        self.torch = os.path.dirname(os.path.dirname(os.path.abspath(dist.__file__))) + os.sep
        self.library = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
        self.own = dict(self.marked(dist))
        self.names = {}  # file name -> as it is shown
        self.forget()

    @staticmethod
    def marked(dist):
        for name in ("send", "recv"):
            yield inspect.unwrap(getattr(dist, name)).__code__, BLOCKING
        yield inspect.unwrap(dist.batch_isend_irecv).__code__, BATCH

    def forget(self):
        """A program may make code objects without end."""
        self.kinds, self.known = {}, {}  # id of a code object -> kind; frames -> what is known
        self.records = {}  # frames and arguments -> what the recorder knows of the record
        self.codes = []  # keeps the ids unique

    def keep(self, key, call, record):
        """The record of a call with these frames() and arguments."""
        if len(self.records) >= MOST:
            self.records = {}
        self.records[key, call] = record

    def frames_in_backward(self, frame):
        """What a record depends on while autograd is running, and the frame of the main thread if
        the call site is there: it waits within backward() for this thread of autograd, which has
        no line of the program."""
        codes, key = self.codes, self.frames(frame)
        if threading.get_ident() == self.main or self.depth == 0 or max(key, default=-1) >= 0:
            return (BACKWARD, key), None
        waiting = sys._current_frames().get(self.main)
        if waiting is not None:
            key = key, self.frames(waiting)
            if codes is not self.codes:  # forget() was called: the first key may be of lost codes
                return self.frames_in_backward(frame)
        return (BACKWARD, key), waiting

    def look_up(self, frame):
        """(number of the call site, phase, kinds of frames) for the operation that `frame`
        enters. phase: "forward", "optimizer" or nothing."""
        key = self.frames(frame)
        found = self.known.get(key)
        return self.intern(key, frame) if found is None else found

    def frames(self, frame):
        """What look_up() depends on: code and instruction of the program's innermost frames, and
        the kinds of frames above them. This is most of what a record costs."""
        innermost, kinds, key, users = frame, self.kinds, [], self.depth or 1
        while frame is not None:
            code = frame.f_code
            try:
                kind = kinds[id(code)]
            except KeyError:
                if len(self.codes) >= MOST:
                    self.forget()
                    return self.frames(innermost)
                kind = self.classify(code)
            if kind != LIBRARY:
                if kind != USER:
                    key.append(-kind)
                else:
                    key += (id(code), frame.f_lasti)
                    users -= 1
                    if users == 0:
                        break
            frame = frame.f_back
        return tuple(key)

    def classify(self, code):
        name, kind = absolute(code.co_filename), USER
        if code in self.own:
            kind = self.own[code]
        elif name.startswith(self.torch):
            below = name[len(self.torch) :].replace(os.sep, "/")
            kind = LIBRARY
            if below == "nn/modules/module.py" and code.co_name == "_call_impl":
                kind = MODULE
            elif below == "optim/optimizer.py" and code.co_name == "wrapper":
                kind = OPTIMIZER
        elif self.is_library(name) or "spawn_main" in code.co_names:
            kind = LIBRARY
        self.codes.append(code)
        self.kinds[id(code)] = kind
        return kind

    def is_library(self, name):
        return (
            name.startswith("<frozen ")
            or "torchinductor_" in name
            or os.path.dirname(name) == HERE
            or name.endswith(os.path.join("zeroproof", "trace.py"))
            or (name.startswith(self.library) and not any(part in name for part in PACKAGES))
        )

    def intern(self, key, frame):
        words, phase = [], ""
        while frame is not None:
            code = frame.f_code
            kind = self.kinds.get(id(code))
            if kind is None:
                kind = self.classify(code)
            if kind == USER and len(words) < self.depth:
                words.append(f"{self.name_of(code.co_filename)}:{frame.f_lineno}")
            elif kind in (MODULE, OPTIMIZER) and not phase:
                phase = "forward" if kind == MODULE else "optimizer"
            frame = frame.f_back
        while len(words) > 1 and len(";".join(words)) > 255:
            words.pop()
        number = self.file.number_of_site(";".join(words)[-255:])
        if len(self.known) >= MOST:
            self.known = {}
        self.known[key] = number, phase, frozenset(-n for n in key if n < 0)
        return self.known[key]

    def name_of(self, name):
        if name not in self.names:
            short = short_name(name)
            self.names[name] = hashed(short) if self.redact else short
        return self.names[name]
