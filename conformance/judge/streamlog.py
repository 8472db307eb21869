"""Reads logs of stream events (TRACE.md, "Stream events"; schema/streams.json).

What is read is checked here: the fields of a record have the types of the schema, and the lists of
all records together have at most limits.ENTRIES entries. So the memory that a log takes is a small
multiple of its size, whatever JSON it has."""

import io
import os

import files
import limits
import protocol

FORMAT = "zeroproof/streams/1"
ADDRESSES = 1 << 64  # bytes are numbered below


class InvalidLog(Exception):
    """A record violates the format."""


def is_number(value):
    return protocol.is_int(value, -limits.SEED) and value < limits.SEED


def is_text(value):
    return isinstance(value, str) and len(value) <= limits.LABEL


def is_range(value):
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(protocol.is_int(one) and one < ADDRESSES for one in value)
    )


def is_flag(value):
    return isinstance(value, bool)


def is_true(value):
    return value is True


NUMBER = (is_number, "must be an integer of at most 63 bits")
TEXT = (is_text, f"must be a string of at most {limits.LABEL} characters")
RANGE = (is_range, "must be a range [at, bytes]")
# The fields that start a record, and those that it may have besides.
KINDS = {
    "op": TEXT,
    "record": NUMBER,
    "wait": NUMBER,
    "wait_stream": NUMBER,
    "synchronize": (is_true, "must be true"),
    "stream": NUMBER,
    "alloc": RANGE,
    "free": RANGE,
    "step": NUMBER,
    "phase": TEXT,
    "end": (is_true, "must be true"),
    "format": TEXT,
}
MORE = {
    **{name: NUMBER for name in ("on", "by", "issue", "rank", "world")},
    **{name: TEXT for name in ("name", "site")},
    **{name: (is_flag, "must be true or false") for name in ("host", "collective")},
}
FIELDS = {**KINDS, **MORE}
LISTS = {
    "reads": RANGE,
    "writes": RANGE,
    "gives": TEXT,
    "takes": TEXT,
    "after": NUMBER,
}


class Reader:
    """Reads the logs of all ranks of a case."""

    def __init__(self):
        self.bytes, self.records, self.entries = limits.STREAMS, limits.RECORDS, limits.ENTRIES

    def lines(self, name):
        """The lines of a file. A record ends with a line feed; JSON may have other separators."""
        raw = files.read_whole(name, self.bytes)
        self.bytes -= len(raw)
        for line in io.BytesIO(raw):
            self.records -= 1
            if self.records < 0:
                raise protocol.Malformed(
                    f"the stream logs of the case have more than {limits.RECORDS} records"
                )
            if len(line) > limits.RECORD:
                raise protocol.Malformed(
                    f"got a record of {len(line)} bytes, expected at most {limits.RECORD}"
                )
            yield line

    def record(self, line):
        """The record on a line, without unknown fields."""
        value = protocol.parse(line)
        if not any(name in value for name in KINDS):
            raise protocol.Malformed(f"unknown record {protocol.shown(value)}")
        found = {}
        for name, (good, what) in FIELDS.items():
            if name in value:
                protocol.need(good(value[name]), f'"{name}" {what}', value[name])
                found[name] = value[name]
        for name, (good, what) in LISTS.items():
            if name in value:
                found[name] = self.list_of(name, value[name], good, what)
        return found

    def list_of(self, name, values, good, what):
        protocol.need(isinstance(values, list), f'"{name}" must be a list', values)
        self.entries -= len(values)
        if self.entries < 0:
            raise protocol.Malformed(
                "the lists of ranges, keys and streams in the stream logs of the case have more "
                f"than {limits.ENTRIES} entries"
            )
        for value in values:
            protocol.need(good(value), f'"{name}": an entry {what}', value)
        return values


def file_of(folder, rank):
    return os.path.join(folder, f"streams-{rank}.jsonl")


def read(folder, world):
    """The logs of all ranks, or None if no rank has one."""
    logs, reader = [], Reader()
    for rank in range(world):
        name = file_of(folder, rank)
        logs.append([])
        try:
            for line in reader.lines(name):
                logs[-1].append(reader.record(line))
        except FileNotFoundError:
            pass
        except OSError as error:
            limit = f" (limit of all stream logs of a case: {limits.STREAMS} bytes)"
            raise InvalidLog(
                f"rank {rank}: cannot read {name}: {error.strerror}"
                f"{limit if 'expected at most' in error.strerror else ''}"
            ) from None
        except protocol.Malformed as error:
            raise InvalidLog(f"rank {rank}, line {len(logs[-1]) + 1}: {error}") from None
    return logs if any(logs) else None
