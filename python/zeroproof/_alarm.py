"""Alarms between the ranks of an engine: one that raises or dies ends the others, whose error says
which rank it was, and why. They travel through the store of torch.distributed."""

from __future__ import annotations

import atexit
import contextlib
import datetime
import json
import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import torch.distributed as dist

FOREVER = datetime.timedelta(days=365)
SOON_S = 0.03  # until ranks that have not answered yet are logged
ANSWERS_S = 5.0  # how long a rank that lives may take to answer
HEARD_S = 2.0  # how long a rank that raises waits for the others to have heard it
WAITS = "was waiting for the other ranks"
STORE_GONE = "the store of torch.distributed is gone: rank 0 or torchrun, which has it, has ended"
PREFIXED: Any = getattr(dist, "PrefixStore")  # noqa: B009 (types of torch do not export it)
log = logging.getLogger("zeroproof")
_open: weakref.WeakSet[Alarms] = weakref.WeakSet()


def text_of(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]


class Alarms:
    """One rank's end. A thread waits for an alarm in the store, without Python's lock and with a
    client of its own, as a client serves one call at a time.

    verdict: what has ended the engine on another rank, or None. doing: what this rank is doing, for
    the others' errors. prefix: of the keys: the same on all ranks, and used once."""

    def __init__(self, store: Any, prefix: str, rank: int, world: int) -> None:
        self.rank, self.world, self.doing = rank, world, "was opening its engine"
        self.verdict: str | None = None
        self._noted, self._process, self._turns = "", os.getpid(), 0
        self._store: Any = PREFIXED(prefix, store)
        self._listener = self._store.clone()
        self._alarmed, self._judged, self._lost = False, threading.Event(), False
        self._thread = threading.Thread(target=self._listen, name="zeroproof alarms", daemon=True)
        self._thread.start()
        _open.add(self)
        _watch_exits()

    # ---- This rank's -----------------------------------------------------------------------------

    def tell(self, kind: str, text: str) -> None:
        """Alarms all ranks, if none has before. kind: "raised", or "lost" if a rank is missing."""
        if self._alarmed or self.verdict:
            return
        self._alarmed = True
        said = json.dumps([self.rank, kind, text])
        with contextlib.suppress(Exception):  # a store that is gone; its process is, too
            if self._store.compare_set("first", "", said).decode() == said:
                for r in range(self.world):
                    self._store.set(f"alarm/{r}", said)

    def raised(self, error: BaseException) -> None:
        """Alarms all ranks, and waits until those that live have heard it."""
        if self._alarmed or self.verdict:
            return
        self.tell("raised", text_of(error))
        with contextlib.suppress(Exception):
            self._silent(HEARD_S)

    def note(self, text: str) -> None:
        """What the others will read if this rank ends and says no more; "" takes it back."""
        if text != self._noted:
            with contextlib.suppress(Exception):
                self._store.set(f"note/{self.rank}", text)
            self._noted = text

    def close(self) -> None:
        """Ends the thread."""
        _open.discard(self)
        with contextlib.suppress(Exception):
            self._store.set(f"alarm/{self.rank}", json.dumps([self.rank, "closed", ""]))
        self._thread.join(1.0)

    # ---- Waiting ---------------------------------------------------------------------------------

    def wait(self, work: Any, most_s: float) -> None:
        """Waits for a collective. Raises its error, that of an alarm, or TimeoutError: then the
        collective may go on. It is polled, as a callback could come when Python has ended."""
        began = time.monotonic()
        while not work.is_completed():
            waited = time.monotonic() - began
            if self._judged.wait(min(max(waited / 20, 20e-6), 5e-3)) and self.verdict:
                raise ConnectionAbortedError(self.verdict)
            if waited > most_s:
                raise TimeoutError(f"it took more than {most_s:.0f} s")
        work.wait()

    def turn(self, mine: bool) -> None:
        """Ends a turn of this rank, or waits, without a limit, until its rank has ended it. Raises
        the error of an alarm."""
        self._turns += 1
        key = f"turn/{self._turns}"
        if mine:
            self._store.set(key, "")
        while not mine and not self._store.check([key]):
            if self._judged.wait(0.05) and self.verdict:
                raise ConnectionAbortedError(self.verdict)

    def explain(self, error: BaseException) -> str:
        """Why a collective failed, when the other ranks have been asked."""
        if not isinstance(error, Exception):  # such as KeyboardInterrupt: of this rank
            self.raised(error)
            return text_of(error)
        self.tell("lost", text_of(error))
        self._judged.wait(2 * ANSWERS_S)
        return self.verdict or (
            f"{STORE_GONE} ({text_of(error)})" if self._lost else text_of(error)
        )

    # ---- The thread ------------------------------------------------------------------------------

    def _listen(self) -> None:
        key = f"alarm/{self.rank}"
        try:
            self._listener.wait([key], FOREVER)
            rank, kind, text = json.loads(self._listener.get(key))
        except Exception:
            self._lost = True
            self._judged.set()
            return
        if kind == "closed":
            return
        with contextlib.suppress(Exception):
            self._listener.set(f"here/{self.rank}", self.doing)
        try:
            self.verdict = self._judge(rank, kind, text)
        except Exception:
            self.verdict = f"{STORE_GONE} ({text})"
        if self.rank != rank or kind != "raised":
            log.error("zeroproof: rank %d: %s", self.rank, self.verdict)
        self._judged.set()

    def _judge(self, rank: int, kind: str, text: str) -> str:
        if kind == "raised":
            return f"rank {rank} ended: {text}"
        silent = self._silent(SOON_S)
        if silent:  # torchrun may end this rank soon
            ranks = ", ".join(str(r) for r in silent)
            log.error("zeroproof: rank %d: %s; no answer yet from rank %s", self.rank, text, ranks)
            silent = self._silent(ANSWERS_S)
        if silent:
            return "; ".join(f"rank {r} has ended{self._last_words(r)}" for r in silent)
        doing = {r: self._listener.get(f"here/{r}").decode() for r in range(self.world)}
        late = [f"rank {r} {what}" for r, what in doing.items() if what != WAITS]
        if late:
            return f"{'; '.join(late)} while rank {rank} waited, at most timeout_s: {text}"
        return f"rank {rank}: {text}"

    def _silent(self, most_s: float) -> Sequence[int]:
        """The ranks that have not answered after most_s."""
        end, client = time.monotonic() + most_s, self._store
        if threading.current_thread() is self._thread:
            client = self._listener
        silent = list(range(self.world))
        while silent and time.monotonic() < end:
            silent = [r for r in silent if not client.check([f"here/{r}"])]
            if silent:
                time.sleep(0.02)
        return silent

    def _last_words(self, r: int) -> str:
        for key in (f"ended/{r}", f"note/{r}"):
            if self._listener.check([key]) and (text := self._listener.get(key).decode()):
                return f": {text}"
        return " without a message: it was killed or is stopped, or its host is gone"

    def _ends(self) -> None:
        """The program ends, and the engine is open."""
        with contextlib.suppress(Exception):
            self._store.set(f"ended/{self.rank}", f"its program is over; it {self.doing}")
        self.close()


# ---- The process's ends --------------------------------------------------------------------------

_watching = False


def _watch_exits() -> None:
    global _watching
    if _watching:
        return
    _watching = True
    before = sys.excepthook

    def uncaught(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        for alarms in _of_this_process():
            alarms.raised(error)
        before(kind, error, trace)

    sys.excepthook = uncaught
    atexit.register(_at_exit)


def _at_exit() -> None:
    for alarms in _of_this_process():
        alarms._ends()


def _of_this_process() -> list[Alarms]:
    """Without those of a process that has forked this one: the store's connections are its own."""
    return [alarms for alarms in _open if alarms._process == os.getpid()]
