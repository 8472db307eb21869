"""zeroproof check: runs the conformance suite on an implementation.

The command starts this program (ref/cli/conformance.c). Exit codes: 0 every judged case passed; 1 a
check failed, or nothing was judged; 2 invalid input; 3 the environment failed."""

import contextlib
import os
import platform
import select
import shlex
import signal
import sys
import tempfile
import time

import axes
import choose
import console
import files
import known
import limits
import page
import report
import schema
import supervise
from adapter import Adapter, AdapterError, Log
from console import within
from demands import many
from matching import explains
from outcomes import DEFECT
from run import HELLO, Runner
from shrink import Shrinker, causes_of
from tools import Broken, Refused, Tools
from values import Finding

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


SECONDS = within(float, 0, limits.SECONDS)


def arguments():
    parser = console.Parser(
        formatter_class=console.Help,
        prog="zeroproof check",
        description="Runs the conformance suite on an implementation: compares values bit for "
        "bit with serial training, and the ledgers of all ranks with each other.",
        epilog="Exit codes: 0 every judged case passed; 1 a check failed, or nothing was judged; "
        "2 invalid input; 3 the environment failed, also if a case passed and a report cannot be "
        "written. How to write an adapter: "
        "conformance/ADAPTER.md; what is judged: conformance/SPEC.md.",
    )
    parser.add_argument(
        "--adapter", metavar="CMD", required=True, help="command line of the adapter"
    )
    add_selection(parser)
    add_limits(parser)
    add_reports(parser)
    return parser.parse_args()


def add_selection(parser):
    parser.add_argument(
        "--list",
        action="store_true",
        help="print the selected cases (id, bug families, recipe) and exit",
    )
    parser.add_argument(
        "--only",
        metavar="WHAT",
        action="append",
        default=[],
        help="run only cases with this id, clause or bug family, or only this recipe",
    )
    parser.add_argument(
        "--level",
        type=int,
        choices=(1, 2, 3),
        help="1: values, 2: also collectives, 3: also streams",
    )
    parser.add_argument(
        "--seconds",
        metavar="T",
        type=SECONDS,
        help="run random cases after the covering array until T seconds have passed; failures are "
        "shrunk after that",
    )
    parser.add_argument(
        "--cases",
        metavar="N",
        type=within(int, 1, limits.CASES),
        help="maximum number of cases; minimal cases of known failures are run in addition",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=within(int, -limits.SEED, limits.SEED),
        default=1,
        help="seed of the cases (1)",
    )
    parser.add_argument(
        "--quick",
        metavar="FILE",
        nargs="?",
        const="",
        help="run the committed selection (conformance/quick) instead of the covering array",
    )
    parser.add_argument(
        "--fresh",
        metavar="N",
        type=within(int, 0, limits.CASES),
        default=0,
        help="number of random cases after the selection; new failures in them do not fail "
        "the run (0)",
    )


def add_limits(parser):
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=within(int, 1, limits.JOBS),
        default=os.cpu_count() or 1,
        help="number of adapter processes (all cores)",
    )
    parser.add_argument(
        "--deadline",
        metavar="T",
        type=within(float, 0, limits.SECONDS, above=True),
        help="time limit for one case in seconds (120, more if answers are slow; for the answer to "
        "hello 600)",
    )
    parser.add_argument(
        "--shrink",
        metavar="N",
        type=within(int, 0, limits.CASES),
        default=60,
        help="number of cases to run in order to shrink that of one cause (60), after the cases of "
        "--seconds; SIGINT or SIGTERM ends the shrinking with a report",
    )
    parser.add_argument(
        "--replay",
        metavar="N",
        type=within(int, 1, limits.CASES),
        help="run each recipe of --only N times, and print how often it fails and how",
    )


def add_reports(parser):
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="write report.json, junit.xml, report.tap and report.html to DIR (needs Jinja2)",
    )
    parser.add_argument(
        "--brief", action="store_true", help="do not print clauses and known failures"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--known", metavar="FILE", help="list of known failures (from conformance/known)"
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="known defects fail the run, too; failures by design, not promised, or of "
        "limitations never do",
    )
    parser.add_argument(
        "--support",
        metavar="FILE",
        help="list of what the subject must support (from conformance/support)",
    )
    parser.add_argument(
        "--accept-support", action="store_true", help="write what the subject supports to that list"
    )
    parser.add_argument(
        "--accept-known",
        action="store_true",
        help="write the minimal cases of known failures to that list; a list that does not exist "
        "is started with all failures as defects",
    )
    parser.add_argument(
        "--accept-quick",
        action="store_true",
        help="write a selection from the covering array and exit; the cases that the "
        "report in --out has as not supported are left out",
    )
    parser.add_argument("--log", metavar="FILE", help="append the adapter's standard error to FILE")


def say(text):
    console.show_error(f"zeroproof check: {text}")


def reason(error):
    """The text of an OSError, with the file's name."""
    if not error.strerror:
        return str(error)
    return f"{error.strerror}{f': {error.filename}' if error.filename else ''}"


def refuse(text):
    say(text)
    return 2


class Progress:
    """A progress bar on a terminal, else one line every half minute."""

    EVERY, EVERY_BAR = 30, 0.2  # seconds

    def __init__(self, show, chooser, seconds):
        self.show, self.chooser, self.seconds = show, chooser, seconds
        self.start = self.last = time.monotonic()

    def __call__(self, outcomes):
        now = time.monotonic()
        if now - self.last < (self.EVERY_BAR if self.show else self.EVERY):
            return
        self.last = now
        c = outcomes.counts
        self.line(
            f"{self.bar(len(outcomes), now)}{many(len(outcomes), 'case')} in "
            f"{now - self.start:.0f} s: {c['pass']} passed, "
            f"{c['fail']} failed, {c['unsupported']} not supported"
        )

    def bar(self, made, now, width=24):
        parts = [made / self.chooser.total] if self.chooser.total else []
        parts += [(now - self.start) / self.seconds] if self.seconds else []
        if not parts or not self.show:
            return ""
        full = int(width * min(1, max(parts)))
        return f"[{'#' * full}{'.' * (width - full)}] "

    def shrinking(self, causes, left, doing):
        """doing: the cause that is shrunk now, with its runs if there were any."""
        now = time.monotonic()
        if "run" in doing and now - self.last < (self.EVERY_BAR if self.show else self.EVERY):
            return
        self.last = now
        self.line(
            f"shrinking {report.printable(doing)}; {many(causes, 'cause')} found, "
            f"{many(left, 'failure')} left to assign"
        )

    def line(self, text):
        console.put_error("\r\x1b[K" + text if self.show else text + "\n")

    def end(self):
        if self.show:
            console.put_error("\r\x1b[K")


def problems_of(options, hello, outcomes, causes, complete):
    """Reasons, other than failing cases, why the run fails."""
    found = []
    if outcomes.full():
        found.append(
            f"no further cases were run after {len(outcomes.failures)} failures (limit of one run)"
        )
    if not outcomes.judged:
        found.append(
            'no case was judged: extend "supports" or "returns" in hello, or return the fields '
            "in answers"
        )
    found += outcomes.never_judged(
        [word for word in options.only if word in axes.CLAUSES], hello.get("returns", [])
    )
    found += known.check_support(
        options.support, hello, options.accept_support, options.support_list, outcomes
    )
    found += known.check(causes, options.known_list, complete and options.confirm)
    return found


def check_writable(folder):
    """Detects before a long run that the report cannot be written."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        for name in (os.path.join(folder, name) for name in report.FORMS):
            if os.path.exists(name) and not os.path.isfile(name):
                raise OSError(0, f"{name} is not a regular file")
    except OSError as error:
        raise OSError(f"--out {folder}: cannot write: {error.strerror}") from None


def words_of(command):
    try:
        return shlex.split(command)
    except ValueError:  # the start of the adapter reports it
        return []


def check_apart(options):
    """Refuses outputs that would overwrite an input or each other."""
    outputs = [("--log", options.log), ("--out", options.out)]
    outputs += [("--out", os.path.join(options.out or "", name)) for name in report.FORMS]
    inputs = [
        ("--known", options.known),
        ("--support", options.support),
        ("--quick", options.quick),
        *(("--adapter", word) for word in words_of(options.adapter) if os.path.isfile(word)),
    ]
    before = [(option, name) for option, name in inputs if name]
    for option, name in outputs:
        if not name or (option == "--out" and not options.out):
            continue
        for other, used in before:
            if files.same(name, used):
                raise Refused(f"{option}: {name} would overwrite {used} of {other}")
        before.append((option, name))


def run(options):
    schema.checker()  # a library that is missing is reported before the adapter starts
    check_apart(options)
    if options.out:
        page.templates()  # refuses without Jinja2, before a long run
        check_writable(options.out)
    known.check_lists(options, ROOT)
    log = Log(options.log) if options.log else None
    first = Adapter(options.adapter, options.deadline or HELLO, log)
    try:
        hello = first.hello()
    except AdapterError:
        first.stop()
        raise
    level = options.level or hello.get("level", 1)
    tools = Tools()  # a refused hello needs none
    runner = Runner(options.adapter, tools, hello, level, options.jobs, options.deadline, log)
    runner.release(first)
    try:
        code = run_with(options, tools, runner, hello, level)
    finally:
        runner.close()
    try:
        if log:
            log.check()
    except OSError as error:
        say(error.strerror)
        return code or 3
    return code


def run_with(options, tools, runner, hello, level):
    if options.replay and not (options.only and all("=" in word for word in options.only)):
        return refuse("--replay: expected --only with recipes")
    if level > hello.get("level", 1):
        return refuse(
            f"--level: got {level}, but {hello['name']} has level {hello.get('level', 1)}"
        )
    space = axes.Space(hello)
    runner.known = options.known_list = known.read(options, ROOT, hello, tools, space)
    # known failures need not occur in a part of the cases, or at a lower level
    options.confirm = not options.only and level == hello.get("level", 1)
    options.support_list = (
        None if options.accept_support else known.read_support(options.support, ROOT, hello)
    )
    options.until = time.monotonic() + options.seconds if options.seconds is not None else None
    if options.accept_quick:
        where, options.quick, options.seconds = options.quick, None, None
        choose.write_selection(
            where, ROOT, hello, choose.Chooser(tools, space, options, hello, ROOT), options.out
        )
        return 0
    chooser = choose.Chooser(tools, space, options, hello, ROOT)
    if options.list:
        for case, recipe, _ in chooser:
            line = f"{case['id']}  {','.join(case['hunts'])}  {recipe.full()}"
            console.put([report.printable(line), "\n"])
        return 0
    if options.replay:
        return replay(options, runner, chooser)
    unlisted = known.new_version(options.support, ROOT, hello)
    if unlisted and not options.accept_support:
        say(unlisted)
    progress, start = Progress(sys.stderr.isatty(), chooser, options.seconds), time.monotonic()
    runner.run(iter(chooser), progress)
    if options.until and chooser.complete and chooser.covered > options.until:
        late = chooser.covered - options.until
        say(f"the covering array took {late:.0f} s longer than --seconds; random cases: none")
    for pair in chooser.lost:
        words = " and ".join(f"{axis} {value}" for axis, value in pair)
        say(f"the covering array lacks a pair of values: no exact case has {words}")
    causes, problems = causes_in(options, runner, space, progress)
    progress.end()
    problems += problems_of(options, hello, runner.outcomes, causes, chooser.complete)
    options.whole = chooser.complete
    made, code = report_of(
        options, hello, level, problems, runner.outcomes, causes, time.monotonic() - start
    )
    printed = show(made, options)
    written = write_files(options, hello, runner, causes, made)
    return code if printed and (written or code) else 3


def replay(options, runner, chooser):
    """Prints how often each recipe of --only fails, and how. How often a failure occurs is no
    verdict: the exit code is 0."""
    for case, recipe, _ in chooser:
        console.put([f"{options.replay} replays of {report.printable(recipe.full())}\n"])
        seen = known.replay(case, recipe, runner, options.replay)
        for how, times in seen.most_common():
            console.put([f"  {times} of {options.replay}: {report.printable(how)}\n"])
    return 0


def causes_in(options, runner, space, progress):
    """Failures grouped by cause, and problems with the list of known failures. Known failures are
    confirmed first."""
    failures = list(runner.outcomes.failures)
    if options.confirm:
        confirmed, problems = known.confirm(options.known_list, runner, space, progress)
        new = [out for out in failures if not known.join(confirmed, out)]
    else:
        confirmed, new, problems = *known.assume(options.known_list, failures), []
    others = [c.known for c in confirmed] if options.confirm else options.known_list
    found = []
    try:
        with stoppable(runner):
            found = causes_of(
                new,
                lambda: Shrinker(
                    runner,
                    space,
                    options.shrink,
                    lambda out: any(explains(entry, out) for entry in others),
                ),
                options.jobs,
                progress=progress.shrinking if options.shrink else lambda *_: None,
                stopped=lambda: runner.stopped,
            )
            replayed = [] if runner.stopped else [c for c in found if not c.fresh()]
            for text in known.mark_chance(replayed, runner, space):
                say(text)
    except Exception:
        if not runner.stopped:
            raise
    if runner.stopped:
        whole = sum(not cause.shrunk for cause in found)
        problems.append(
            f"{runner.stopped} ended the search for causes; not shrunk: {many(whole, 'cause')} of "
            f"{len(found)}"
        )
    return sorted(confirmed + found, key=lambda c: (-len(c.outcomes), c.signature)), problems


@contextlib.contextmanager
def stoppable(runner):
    """SIGINT and SIGTERM end the search for causes, and not the judge: the failures are known. The
    runner ends its threads; an exception from here could come at any place."""

    def stop(number, _frame):
        restore()
        runner.stop(signal.Signals(number).name)

    def restore():
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {
        number: signal.getsignal(number)
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) == ended  # not ignored, as nohup does
    }
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        restore()


def report_of(options, hello, level, problems, outcomes, causes, seconds):
    """(the report, the exit code of the verdict)."""
    extra = []
    if level >= 2 and "ledger" in hello.get("returns", []) and outcomes.constant_ledger():
        extra.append(
            Finding(
                "LEDG-6",
                "constant ledger",
                "the ledger is the same for models of very different sizes",
            )
        )
    problems = problems + [f.text for f in extra]
    known_cases = known.classify(causes, outcomes)
    corpus = report.read_corpus(ROOT)
    subject = {"name": hello["name"], "version": hello["version"]}
    made = report.as_json(
        subject,
        {
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "command": report.printable(shlex.join(["zeroproof", "check", *sys.argv[1:]])),
            "adapter": report.printable(options.adapter),
            "environment": environment(),
            "without": hello.get("without", []),
            "lacks": hello.get("lacks", {}),
            "level": level,
            "seed": options.seed,
            "whole": options.whole,
            "not judged": outcomes.unjudged(),
            "warnings": [
                f"returns names '{name}', but no answer has it"
                for name in outcomes.missing(hello.get("returns", []))
            ],
        },
        outcomes,
        causes,
        problems,
        seconds,
        corpus,
        extra,
        known_cases,
    )
    bad = [
        c
        for c in causes
        if (options.strict and c.known["class"] == DEFECT if c.known else not c.excused())
    ]
    return made, 1 if bad or problems else 0


def environment():
    """The machine, for people who compare reports."""
    return {
        "system": platform.platform(),
        "processor": f"{platform.machine()}, {os.cpu_count()} cores",
        "Python": platform.python_version(),
    }


def show(made, options):
    """Prints the verdict. False if standard output cannot be written."""
    parts = report.as_text(made) if options.json else [report.terminal(made, options.brief)]
    try:
        console.put(parts)
        console.put(["\n"])
    except OSError as error:
        say(error.strerror)
        return False
    return True


def write_files(options, hello, runner, causes, made):
    """Writes the report and the accepted lists, after the verdict was printed. False if one of them
    cannot be written, after writing the others."""
    whole = True
    for wanted, write in (
        (options.accept_known, lambda: known.accept(options.known, ROOT, hello, causes)),
        (
            options.accept_support,
            lambda: known.accept_support(options.support, ROOT, hello, runner.outcomes),
        ),
        (options.out, lambda: report.write(options.out, made, page.page)),
    ):
        try:
            if wanted:
                write()
        except (OSError, Refused) as error:  # Refused: a list was changed during the run
            say(reason(error) if isinstance(error, OSError) else error)
            whole = False
    return whole


def ended(number, _frame):
    supervise.end_all()
    # unbuffered, as the signal may have interrupted a write; a pipe that is full would block
    with contextlib.suppress(OSError, ValueError):
        if select.select([], [2], [], 1)[1]:
            name = signal.Signals(number).name
            os.write(2, f"zeroproof check: ended by {name}, no verdict\n".encode())
    os._exit(3)


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup sets it
            signal.signal(number, ended)
    try:
        return run(arguments())
    except (AdapterError, Refused) as error:
        return refuse(str(error))
    except OSError as error:
        say(reason(error))
        return 3
    except Broken as error:
        say(error)
        return 3


if __name__ == "__main__":
    sys.exit(console.guarded("zeroproof check", main))
