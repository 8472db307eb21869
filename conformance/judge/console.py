"""Standard output and error of the judge's programs: what they print is escaped, and a verdict that
cannot be printed is an error."""

import argparse
import contextlib
import os
import sys
import traceback

from report import printable


def put(parts):
    """Writes text to standard output."""
    try:
        sys.stdout.writelines(parts)
        sys.stdout.flush()
    except OSError as error:
        raise OSError(0, f"cannot write standard output: {error.strerror}") from None


def put_error(text):
    """Writes text to standard error if possible: the verdict and the exit code do not depend on
    it."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def show(text):
    """Prints a line that may have names of other programs."""
    put([printable(text), "\n"])


def show_error(text):
    """The same to standard error, if possible."""
    put_error(printable(text) + "\n")


class Help(argparse.HelpFormatter):
    """Prints --flag=VALUE in one column, like the other sub-commands; ref/cli/man.sh parses it."""

    def __init__(self, prog):
        width = os.environ.get("ARGP_HELP_FMT", "").partition("rmargin=")[2]
        super().__init__(prog, max_help_position=26, width=int(width) if width.isdigit() else None)

    def _format_action_invocation(self, action):
        if not action.option_strings:
            return super()._format_action_invocation(action)
        text = super()._format_action_invocation(action)
        if action.nargs != 0:
            value = self._format_args(action, action.dest.upper())
            text = action.option_strings[-1] + (
                f"[={action.metavar}]" if action.nargs == "?" else f"={value}"
            )
        return text if text.startswith("-h") else f"    {text}"


class Parser(argparse.ArgumentParser):
    """Escapes the arguments that its messages quote."""

    def _print_message(self, message, file=None):
        if message and file is sys.stdout:  # argparse ignores errors here
            put([printable(message)])
        elif message:
            put_error(printable(message))


def within(kind, least, most, above=False):
    """A parser for numbers that are at least `least` (or above it) and at most `most`. Other values
    would hang, fail later or be meaningless."""

    def parse(text):
        try:
            value = kind(text)
            if (value > least if above else value >= least) and value <= most:
                return value
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(
            f"expected {'an integer' if kind is int else 'a number'} "
            f"{'above' if above else 'of at least'} {least} and at most {most}, got '{text:.80}'"
        )

    return parse


def open_streams():
    """False if standard output is closed. Opens standard input and error if they are closed:
    another file would otherwise get their numbers, and their output."""
    is_open = []
    for number in (0, 1, 2):
        try:
            os.fstat(number)
            is_open.append(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets this number, the lowest free one
    if 2 not in is_open:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    return 1 in is_open


def guarded(name, main):
    """The exit code of main(), or 3, with a message, if standard output is closed or full."""
    if not open_streams():
        put_error(f"{name}: standard output is closed, so the verdict cannot be printed\n")
        return 3
    for stream in (sys.stdout, sys.stderr):  # whose encoding may lack a character
        stream.reconfigure(errors="backslashreplace")
    try:
        code = main()
    except SystemExit as error:  # of argparse, which has printed a message
        code = error.code
    except OSError as error:
        put_error(f"{name}: {error.strerror or error}\n")
        code = 3
    except Exception as error:  # a bug of the suite must not look like a verdict on the subject
        where = traceback.extract_tb(error.__traceback__)[-1]
        show_error(
            f"{name}: internal error of the suite, no verdict: {type(error).__name__}: {error} "
            f"({os.path.basename(where.filename)}:{where.lineno}, {where.name})"
        )
        code = 3
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except OSError:  # it was reported. Python would flush again when it ends, and fail
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    return code
