"""The bytes of one rank, with the earlier accesses that later ones are compared with."""

import bisect
import itertools

PART = 512  # numbers; an insertion moves at most twice as many


class Sorted:
    """Distinct numbers in order. They are kept in parts, so that n insertions take about n steps in
    whatever order they come."""

    def __init__(self):
        self.parts, self.firsts = [], []

    def part_of(self, number):
        """The last part that begins at or below `number`; the first part if none does."""
        return max(0, bisect.bisect_right(self.firsts, number) - 1)

    def up_to(self, number):
        """The largest one that is at most `number`, or None."""
        if not self.firsts or self.firsts[0] > number:
            return None
        part = self.parts[self.part_of(number)]
        return part[bisect.bisect_right(part, number) - 1]

    def between(self, least, end):
        """Those of [least, end), in order."""
        found = []
        for part in itertools.islice(self.parts, self.part_of(least), None):
            if part[0] >= end:
                break
            found += part[bisect.bisect_left(part, least) : bisect.bisect_left(part, end)]
        return found

    def add(self, number):
        if not self.parts:
            self.parts, self.firsts = [[number]], [number]
            return
        at = self.part_of(number)
        part = self.parts[at]
        bisect.insort(part, number)
        if len(part) > 2 * PART:
            self.parts[at : at + 1] = [part[:PART], part[PART:]]
            self.firsts[at : at + 1] = [part[0], part[PART]]
        self.firsts[at] = part[0]

    def remove(self, least, end):
        """Removes those of [least, end)."""
        first = at = self.part_of(least)
        while at < len(self.parts) and self.parts[at][0] < end:
            part = self.parts[at]
            del part[bisect.bisect_left(part, least) : bisect.bisect_left(part, end)]
            at += 1
        left = [part for part in self.parts[first:at] if part]
        self.parts[first:at], self.firsts[first:at] = left, [part[0] for part in left]


class Shadow:
    """Cells are split where ranges begin and end. spend: a function that is called with the number
    of accesses that are copied."""

    def __init__(self, spend=lambda work: None):
        self.starts, self.cells = Sorted(), {}  # start -> [end, accesses]
        self.spend = spend

    def cut(self, at):
        """Splits the cell that covers `at`."""
        start = self.starts.up_to(at)
        if start is None or start == at:
            return
        end, accesses = self.cells[start]
        if end <= at:
            return
        self.spend(1 + len(accesses))
        self.cells[start] = [at, accesses]
        self.cells[at] = [end, list(accesses)]
        self.starts.add(at)

    def cells_of(self, at, end):
        """All (start, cell) of [at, end). Creates cells for uncovered bytes."""
        self.cut(at)
        self.cut(end)
        found, gap = [], at
        for start in self.starts.between(at, end):
            if start > gap:
                found.append(gap)
            found.append(start)
            gap = self.cells[start][0]
        if gap < end and (not found or found[-1] != gap):
            found.append(gap)
        for start, stop in itertools.pairwise([*found, end]):
            if start not in self.cells:
                self.cells[start] = [stop, []]
                self.starts.add(start)
        return [(start, self.cells[start]) for start in found]

    def forget(self, at, end):
        self.cut(at)
        self.cut(end)
        for start in self.starts.between(at, end):
            del self.cells[start]
        self.starts.remove(at, end)
