"""zeroproof check: puts an implementation through the conformance suite.

Started by the command (ref/cli/conformance.c). Exit codes: 0 every judged case passed, 1 a verdict
went against the subject, or nothing was judged; 2 refused input; 3 the environment failed."""
import argparse
import json
import math
import os
import signal
import sys
import tempfile
import time
import traceback

import axes
import choose
import known
import page
import report
from adapter import Adapter, AdapterError
from run import Runner, constant_ledger
from shrink import Shrinker, causes_of
from tools import Broken, Refused, Tools
from values import Finding

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


class Help(argparse.HelpFormatter):
    """--flag=VALUE in one column, as the other sub-commands tell it (and the man page reads it)."""

    def __init__(self, prog):
        width = os.environ.get("ARGP_HELP_FMT", "").partition("rmargin=")[2]
        super().__init__(prog, max_help_position=26, width=int(width) if width.isdigit() else None)

    def _format_action_invocation(self, action):
        text = super()._format_action_invocation(action)
        if action.nargs != 0:
            value = self._format_args(action, action.dest.upper())
            text = action.option_strings[-1] + (f"[={action.metavar}]" if action.nargs == "?" else f"={value}")
        return text if text.startswith("-h") else f"    {text}"


def at_least(kind, least, above=False):
    """A number of the command line, of a kind, no less than `least`, or above it: others would hang, or mean nothing."""
    def parse(text):
        try:
            value = kind(text)
            if math.isfinite(value) and (value > least if above else value >= least):
                return value
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"'{text}' is no {'whole ' if kind is int else ''}number "
                                         f"{'above' if above else 'of at least'} {least}")
    return parse


def arguments():
    count, seconds = at_least(int, 0), at_least(float, 0)
    parser = argparse.ArgumentParser(
        formatter_class=Help,
        prog="zeroproof check", description="Puts an implementation through the conformance suite: "
        "values bit for bit against serial training, ledgers against each other.",
        epilog="Exit codes: 0 every judged case passed; 1 a verdict went against the subject, or "
        "nothing was judged; 2 refused input; 3 the environment failed. How to write an adapter: "
        "conformance/ADAPTER.md; what is judged: conformance/SPEC.md.")
    parser.add_argument("--adapter", metavar="CMD", required=True, help="the subject's adapter, a command line")
    parser.add_argument("--list", action="store_true", help="print the cases that would be run (id, families of bugs, recipe), and end")
    parser.add_argument("--only", metavar="WHAT", action="append", default=[],
                        help="cases whose id, a clause or a family is WHAT; or the recipe WHAT alone")
    parser.add_argument("--level", type=int, choices=(1, 2, 3), help="1 values, 2 and collectives, 3 and streams")
    parser.add_argument("--seconds", metavar="T", type=seconds, help="go on with random cases until then; shrinking comes after")
    parser.add_argument("--cases", metavar="N", type=at_least(int, 1), help="that many cases at most")
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="other cases (1)")
    parser.add_argument("--quick", metavar="FILE", nargs="?", const="",
                        help="the committed selection (conformance/quick) instead of the covering array")
    parser.add_argument("--fresh", metavar="N", type=count, default=0,
                        help="random cases after it; what is new in them is told, no error")
    parser.add_argument("--jobs", metavar="N", type=at_least(int, 1), default=os.cpu_count() or 1,
                        help="adapters at a time (all cores)")
    parser.add_argument("--deadline", metavar="T", type=at_least(float, 0, above=True), default=120,
                        help="seconds for one case, the last resort (120)")
    parser.add_argument("--shrink", metavar="T", type=seconds, default=20, help="seconds to make one cause's case smaller (20)")
    parser.add_argument("--shrink-all", metavar="T", type=seconds, help="seconds to make the cases of all causes smaller")
    parser.add_argument("--out", metavar="DIR", help="write report.json, junit.xml, report.tap and report.html there")
    parser.add_argument("--brief", action="store_true", help="print neither what passed nor what is known")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--known", metavar="FILE", help="failures that are known (conformance/known)")
    parser.add_argument("--support", metavar="FILE", help="what the subject must support (conformance/support)")
    parser.add_argument("--accept-support", action="store_true", help="write what it supports now to that file")
    parser.add_argument("--accept-known", action="store_true", help="write the minimal cases of known failures to that file")
    parser.add_argument("--accept-quick", action="store_true", help="write the selection, out of the covering array, and end")
    parser.add_argument("--log", metavar="FILE", help="where the adapter's standard error goes")
    return parser.parse_args()


def refuse(text):
    print(f"zeroproof check: {text}", file=sys.stderr)
    return 2


class Progress:
    """A bar where a person looks on; else a line every half minute."""

    def __init__(self, show, chooser, seconds):
        self.show, self.chooser, self.seconds = show, chooser, seconds
        self.start = self.last = time.monotonic()

    def __call__(self, outcomes):
        now = time.monotonic()
        if now - self.last < (0.2 if self.show else 30):
            return
        self.last = now
        c = report.counts(outcomes)
        self.line(f"{self.bar(len(outcomes), now)}{len(outcomes)} cases in {now - self.start:.0f} s: {c['pass']} passed, "
                  f"{c['fail']} failed, {c['unsupported']} not supported")

    def bar(self, made, now, width=24):
        parts = [made / self.chooser.total] if self.chooser.total else []
        parts += [(now - self.start) / self.seconds] if self.seconds else []
        if not parts or not self.show:
            return ""
        full = int(width * min(1, max(parts)))
        return f"[{'#' * full}{'.' * (width - full)}] "

    def shrinking(self, causes, left):
        self.line(f"{causes} causes found, {left} failures to explain")

    def line(self, text):
        sys.stderr.write("\r\x1b[K" + text if self.show else text + "\n")
        sys.stderr.flush()

    def end(self):
        if self.show:
            sys.stderr.write("\r\x1b[K")


def problems_of(options, hello, outcomes, causes, complete):
    """Everything that makes a run bad beyond failing cases."""
    found = []
    if not any(o.status == "fail" or o.judged for o in outcomes):
        found.append("no case was judged: the subject supports or returns nothing that the suite can look at")
    found += known.check_support(options.support, ROOT, hello, options.accept_support, outcomes)
    if options.known_list:
        found += known.check(causes, options.known_list, complete)
    return found


def try_out(folder):
    """A report that cannot be written is told before a run of hours, not after it."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        for name in filter(os.path.lexists, (os.path.join(folder, name) for name in report.FORMS)):
            with open(name, "a", encoding="utf-8"):
                pass
    except OSError as error:
        raise OSError(f"--out {folder} cannot be written: {error.strerror}") from None


def run(options):
    if options.out:
        try_out(options.out)
    known.check_given(options)
    tools = Tools()
    try:
        log = open(options.log, "ab") if options.log else None
    except OSError as error:
        raise OSError(f"--log {options.log} cannot be written: {error.strerror}") from None
    first = Adapter(options.adapter, options.deadline, log)
    try:
        hello = first.hello()
    except AdapterError:
        first.stop()
        raise
    level = options.level or hello.get("level", 1)
    runner = Runner(options.adapter, tools, hello, level, options.jobs, options.deadline, log)
    runner.give_back(first)
    try:
        return run_with(options, tools, runner, hello, level)
    finally:
        runner.close()


def run_with(options, tools, runner, hello, level):
    if level > hello.get("level", 1):
        return refuse(f"{hello['name']} is of level {hello.get('level', 1)}, not {level}")
    space = axes.Space(hello)
    # a part of the cases, or of the verdicts, says nothing about what is known
    options.known_list = [] if options.only or level < hello.get("level", 1) else known.read(options.known, ROOT, hello)
    options.until = time.monotonic() + options.seconds if options.seconds else None
    if options.accept_quick:
        where, options.quick, options.seconds = options.quick, None, None
        choose.write_selection(where, ROOT, hello, choose.Chooser(tools, space, options, hello, ROOT))
        return 0
    chooser = choose.Chooser(tools, space, options, hello, ROOT)
    if options.list:
        for case, recipe, _ in chooser:
            print(f"{case['id']}  {','.join(case['hunts'])}  {recipe.full()}")
        return 0
    unlisted = known.new_version(options.support, ROOT, hello)
    if unlisted and not options.accept_support:
        print(f"zeroproof check: {unlisted}", file=sys.stderr)
    progress, start = Progress(sys.stderr.isatty(), chooser, options.seconds), time.monotonic()
    runner.run(iter(chooser), progress)
    causes, problems = causes_in(options, runner, space, progress)
    progress.end()
    problems += problems_of(options, hello, runner.outcomes, causes, chooser.complete)
    if options.accept_known:
        known.accept(options.known, ROOT, hello, causes)
    options.whole = chooser.complete
    return tell(options, hello, level, problems, runner.outcomes, causes, time.monotonic() - start)


def causes_in(options, runner, space, progress):
    """What failed, by cause: those that are known first."""
    confirmed, problems = known.confirm(options.known_list, runner, space, progress)
    new = [o for o in runner.outcomes if o.status == "fail" and o.origin != "known" and not known.join(confirmed, o)]
    all_until = time.monotonic() + options.shrink_all if options.shrink_all is not None else None
    found = causes_of(new, lambda: Shrinker(runner, space, options.shrink, all_until, lambda out: any(
        known.explains(c.known, out) for c in confirmed)), options.jobs, progress=progress.shrinking)
    return sorted(confirmed + found, key=lambda c: (-len(c.outcomes), c.signature)), problems


def tell(options, hello, level, problems, outcomes, causes, seconds):
    extra = []
    if level >= 2 and "ledger" in hello.get("returns", []) and constant_ledger(outcomes):
        extra.append(Finding("LEDG-6", "constant ledger", "the ledger is the same for every model"))
    problems = problems + [f.text for f in extra]
    with open(os.path.join(HERE, "corpus.json"), encoding="utf-8") as file:
        corpus = json.load(file)
    subject = {"name": hello["name"], "version": hello["version"]}
    made = report.as_json(subject, {"level": level, "seed": options.seed, "whole": options.whole}, outcomes, causes,
                          problems, seconds, corpus, extra)
    if options.out:
        report.write(options.out, made, page.page)
    print(json.dumps(made) if options.json else report.terminal(made, options.brief))
    bad = [c for c in causes if not c.known and not c.fresh()]
    return 1 if bad or problems else 0


def ended(_signal, _frame):
    raise KeyboardInterrupt


def main():
    options = arguments()
    for number in (signal.SIGTERM, signal.SIGHUP):  # adapters end with the suite (adapter.kill_all)
        signal.signal(number, ended)
    try:
        return run(options)
    except (AdapterError, Refused) as error:
        return refuse(str(error))
    except (Broken, OSError) as error:
        print(f"zeroproof check: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 3
    except Exception as error:  # nobody's verdict: it must not look like one
        where = traceback.extract_tb(error.__traceback__)[-1]
        print(f"zeroproof check: the suite itself failed, and nothing was judged: {type(error).__name__}: {error} "
              f"({os.path.basename(where.filename)}:{where.lineno}, {where.name})", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
