"""Decodes a recorded trace for tests: conformance/TRACE.md, "The format"."""

import contextlib

GROUP, DEF, PHASE, STEP, WAIT, CALL, CALL_END, TIME, END, OP, SOURCE, EXTENSION = range(1, 13)
FIRST = 16
SITE, AT_SITE, EXIT, LABEL = range(1, 5)
STATUS_BYTE = 3  # how a process ended: the status is the next byte
OPS = (
    "? all_reduce reduce_scatter all_gather reduce broadcast gather scatter all_to_all barrier "
    "send recv"
).split()


class Trace:
    """ops: a dict for each operation, with op, count, later (asynchronous), call (the number of
    its grouped call, or None), step, phase and site. labels: of groups. exit: (how, status, text)
    or None. ended: whether there is an end mark."""

    def __init__(self, name):
        with open(name, "rb") as file:
            self.data = file.read()
        assert self.data[:8] == b"ZPTRACE\1", self.data[:8]
        self.at, self.ops, self.labels, self.keys = 8, [], {}, {}
        self.exit, self.ended, self.step, self.calls, self.in_call = None, False, None, 0, False
        self.defs, self.phases, self.sites, self.site = {}, {0: ""}, {0: ""}, 0
        self.rank, self.world = self.number(), self.number()
        with contextlib.suppress(IndexError):  # the last item may be incomplete
            while self.at < len(self.data):
                self.item(self.number())

    def number(self):
        value, shift = 0, 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def text(self, size):
        self.at += size
        return self.data[self.at - size : self.at].decode("ascii")

    def definition(self):
        op, _redop, _dtype, count, group, _root, flags, phase = [self.number() for _ in range(8)]
        return {
            "op": OPS[op],
            "count": count - 1,
            "group": group,
            "later": bool(flags & 1),
            "phase": self.phases[phase],
            "site": self.sites[self.site],
        }

    def entered(self, definition):
        call = self.calls if self.in_call else None
        self.ops.append({**definition, "step": self.step, "call": call})

    def item(self, tag):
        if tag >= FIRST:
            self.entered(self.defs[tag - FIRST])
        elif tag == OP:
            self.entered(self.definition())
        elif tag == DEF:
            number = self.number()
            self.defs[number] = self.definition()
        elif tag == GROUP:
            number = self.number()
            self.keys[number] = self.text(self.number())
            self.number(), self.number()
            for _ in range(3 * self.number()):
                self.number()
        elif tag == PHASE:
            number = self.number()
            self.phases[number] = self.text(self.number())
        elif tag == STEP:
            self.step = self.number()
        elif tag in (CALL, CALL_END):
            assert self.in_call == (tag == CALL_END), "grouped calls are not nested"
            self.in_call = tag == CALL
            self.calls += tag == CALL
        elif tag == END:
            self.ended = True
        elif tag == EXTENSION:
            self.extension(self.number())
        else:
            assert tag in (WAIT, TIME, SOURCE), tag
            for _ in range(1 + (tag == SOURCE)):
                self.number()

    def extension(self, kind):
        size = self.number()
        end = self.at + size
        number = self.number()
        if kind == SITE:
            self.sites[number] = self.text(end - self.at)
        elif kind == AT_SITE:
            self.site = number
        elif kind == EXIT and number == STATUS_BYTE:
            assert size == 2
            status = self.data[self.at]
            self.ended, self.exit = status == 0, (1, status, "") if status else None
        elif kind == EXIT:
            status = self.number()
            self.exit = number, status, self.text(end - self.at)
        elif kind == LABEL:
            self.labels[number] = self.text(end - self.at)
        self.at = end
