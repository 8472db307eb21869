"""Limits on what the judge reads and keeps, so that no adapter or file can use up the memory or
hang the run. ADAPTER.md ("Limits") lists them. Sizes are in bytes."""

ANSWER = 16 << 20  # the line of an answer, with the files that it names
FILE = 8 << 20  # one file that an answer names, or the ledger of one rank
LEDGERS = 32 << 20  # the ledgers of all ranks of a case
STREAMS = 64 << 20  # the stream logs of all ranks of a case
RECORDS = 100_000  # in the ledgers of all ranks of a case; also in its stream logs
RECORD = 1 << 20  # one record of a stream log
ENTRIES = 400_000  # of all lists (ranges, keys, streams) in the stream logs of a case
CLOCKS = 512  # streams and host threads that the stream logs of a case declare
WORK = 20_000_000  # comparisons of accesses and clocks in the stream logs of a case
RACES = 50_000  # pairs of operations in the stream logs of a case that are counted
LABEL = 1_000  # characters of a name in a ledger
MESSAGE = 1 << 16  # characters kept of a message: its end
TEXT = 4_000  # characters kept of a finding's text
REASONS = 1_000  # different reasons of "unsupported"
DETAILS = 32 << 20  # of a run: answers, ledgers and cases of failures that the report shows
FAILURES = 10_000  # failing cases, after which a run ends
LOG = 256 << 20  # what one run appends to --log
LIST = 16 << 20  # a file of --known, --support or --quick
REPORT = 1 << 30  # a report that results.py reads
SECONDS = 31_536_000  # of an option: a year, which select(2) and timers can represent
JOBS = 1_024  # adapter processes
CASES = 1_000_000_000  # --cases and --fresh
SEED = 1 << 63  # of either sign
