"""Runs the judge in a child of this process, which has the judge's modules already: a new
interpreter that imports them takes longer than most runs of a test."""

import importlib.util
import multiprocessing
import os
import selectors
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JUDGE = os.path.join(ROOT, "conformance", "judge")
FORK = multiprocessing.get_context("fork")
MOST = 900  # seconds


def _load():
    sys.path.insert(0, JUDGE)
    spec = importlib.util.spec_from_file_location("judge", os.path.join(JUDGE, "__main__.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.schema.checker()  # with jsonschema, which it imports when it is needed
    module.page.templates().get_template("page.html")  # with Jinja2, likewise
    return module


judge = _load()


def _child(words, pipes):
    for number, pipe in enumerate(pipes, 1):
        os.dup2(pipe, number)
        os.close(pipe)
    # Those of the parent may be files, which can be positioned.
    sys.stdout = open(1, "w", encoding=sys.stdout.encoding, closefd=False)
    sys.stderr = open(2, "w", 1, encoding=sys.stderr.encoding, closefd=False)
    sys.argv = [os.path.join(JUDGE, "__main__.py"), *words]
    code = judge.console.guarded("zeroproof check", judge.main)
    judge.supervise.end_all()  # what it does at exit
    sys.exit(code)


class Check:
    """`zeroproof check` with these words: it runs from now on. Two may run at a time."""

    def __init__(self, *words):
        self.words = words
        pairs = [os.pipe(), os.pipe()]
        self.ends = [reading for reading, _ in pairs]
        self.process = FORK.Process(target=_child, args=(words, [end for _, end in pairs]))
        self.process.start()
        for _, end in pairs:
            os.close(end)

    def result(self):
        """As subprocess.run returns it, once all processes that write have ended."""
        until, text = time.monotonic() + MOST, {end: b"" for end in self.ends}
        with selectors.DefaultSelector() as selector:
            for end in self.ends:
                selector.register(end, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(until - time.monotonic())
                if not ready:
                    self.process.kill()
                    raise subprocess.TimeoutExpired(self.words, MOST)
                for key, _ in ready:
                    part = os.read(key.fd, 1 << 20)
                    text[key.fd] += part
                    if not part:
                        selector.unregister(key.fd)
                        os.close(key.fd)
        self.process.join()
        out, errors = (text[end].decode() for end in self.ends)
        return subprocess.CompletedProcess(self.words, self.process.exitcode, out, errors)


def check(*words):
    return Check(*words).result()
