"""A switch between TAP devices, in user space: it can drop, delay and reorder frames.

What happens to the n-th frame of a direction depends only on the seed and n, not on time."""

import heapq
import os
import random
import selectors
import threading
import time

FRAME = 1 << 16


class Forwarder(threading.Thread):
    """Forwards frames between ports; a frame to a group address goes to all others."""

    def __init__(self, taps, seed):
        super().__init__(daemon=True)
        self.taps = taps
        self.loss = 0.0  # share of frames
        self.delay_s = 0.0  # each way
        self.jitter_s = 0.0  # up to so much longer: frames overtake each other
        self.dropped = self.forwarded = self.overtaken = 0
        ways = [(i, j) for i in range(len(taps)) for j in range(len(taps)) if i != j]
        self.draw = {way: random.Random(f"{seed} {way}") for way in ways}
        self.is_cut = dict.fromkeys(ways, False)
        self.latest = dict.fromkeys(ways, 0.0)  # when the last frame of a direction is due
        self.port_of = {}  # by hardware address
        self.queue = []  # (when, number, port, frame)
        self.number = 0

    def cut(self, way, is_cut):
        """Drops, or forwards again, the frames of a direction (from, to)."""
        if way in self.is_cut:
            self.is_cut[way] = is_cut

    def _take(self, source, frame, now):
        self.port_of[frame[6:12]] = source
        known = self.port_of.get(frame[:6])
        targets = range(len(self.taps)) if known is None or frame[0] & 1 else [known]
        for target in targets:
            if target == source:
                continue
            way = (source, target)
            draw = self.draw[way]
            lost, late = draw.random() < self.loss, draw.random() * self.jitter_s
            if lost or self.is_cut[way]:
                self.dropped += 1
                continue
            when = now + self.delay_s + late
            self.overtaken += when < self.latest[way]
            self.latest[way] = max(when, self.latest[way])
            self.number += 1
            heapq.heappush(self.queue, (when, self.number, target, frame))

    def _send_due(self, now):
        while self.queue and self.queue[0][0] <= now:
            _, _, target, frame = heapq.heappop(self.queue)
            try:
                os.write(self.taps[target], frame)
                self.forwarded += 1
            except OSError:
                self.dropped += 1  # the interface is down, or its queue is full

    def run(self):
        waiting = selectors.DefaultSelector()
        for port, tap in enumerate(self.taps):
            waiting.register(tap, selectors.EVENT_READ, port)
        while True:
            left = self.queue[0][0] - time.monotonic() if self.queue else None
            for key, _ in waiting.select(left):
                try:
                    frame = os.read(key.fd, FRAME)
                except OSError:
                    continue
                self._take(key.data, frame, time.monotonic())
            self._send_due(time.monotonic())
