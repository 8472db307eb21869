"""Adapters that violate the protocol: each run ends within seconds with the right exit code and
verdict, and without a Python traceback. Prints ok / not ok lines."""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unicodedata
import xml.dom.minidom

import preloaded

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
COMMAND = os.environ["ZEROPROOF"]
BAD = f"{sys.executable} {ROOT}/conformance/adapters/selftest/bad.py"
# Seconds, for adapters that never answer: the next one is used if a busy machine does not start the
# adapter within the first. Others have MOST.
DEADLINES = (2, 10, 60, 600)
NO_HELLO = "no answer to hello within "
MOST = 900
failed = 0

# fault -> part of the message: hello is refused with code 2
REFUSED = {
    "hello-list": "no answer: '[1]'. Does a rank print? Other output belongs on standard error",
    "hello-null": "expected a JSON object",
    "hello-deep": "nested too deeply",
    "hello-protocol": "protocol: expected 1, got 2",
    "hello-name": "name: expected a string, got 5",
    "hello-level": "level: expected 1 or 2 or 3, got 9",
    "hello-level-text": "level: expected an integer, got 'two'",
    "hello-returns": "returns: expected a list, got 5",
    "hello-returns-unknown": "nrom",
    "hello-supports": "supports: expected an object, got [1]",
    "hello-supports-value": "supports.zero: expected a list, got 1",
    "hello-without": "without: expected a list, got 'x'",
    "hello-without-all": "without[0]: expected at least 1 field, got 0",
    "hello-key": "optoins: unknown field; expected one of protocol, name, version",
    "hello-options": "options.x: expected a list, got 5",
    "hello-options-list": "options: expected an object, got [1]",
    "hello-options-object": "options.a[0]: expected true or false or an integer or a string",
    "hello-options-words": "got 'x y' (a text is one word without",
    "hello-options-streams": '"streams" is a field of the case',
    "hello-options-backwards": '"backwards" is a field of the case',
    "hello-no-ledger": 'returns: expected a list with "ledger"',
    "hello-no-ledger-3": 'returns: expected a list with "ledger"',
    "hello-no-streams": 'returns: expected a list with "streams"',
    "hello-no-streams-axis": 'supports: "streams" is missing (at level 3)',
    "hello-zero-7": "supports.zero[1]: expected 0 or 1 or 2, got 7",
    "hello-dp-text": "supports.dp[0]: expected an integer, got '1'",
    "hello-dp-true": "supports.dp[0]: expected an integer, got True",
    "hello-axis": "supports.dpp: unknown field; expected one of zero, dp, pp",
    "hello-axis-empty": "supports.dp: expected at least 1 item, got 0",
    "hello-no-zero": 'supports: "zero" is missing',
    "hello-without-axis": "got 'zzz'",
    "hello-without-option": "got 'option x'",
    "hello-without-value": "\"zero\" may have the values 0, 1, 2, got '2'",
    "hello-many": "options.x: expected at most 32 items, got 5000",
    "hello-many-pairs": "4000 pairs of values",
    "hello-twice": "must differ when printed",
    "hello-nothing": "pp 1 cannot be combined with tied stages",
    "hello-nothing-without": "excludes every zero: 0, 1, 2",
    "hello-world": "world: expected an integer, got '4'",
    "hello-name-long": "name: expected at most 1000 characters, got 1001",
    "hello-returns-many": "returns: expected at most 11 items, got 1000",
    "hello-supports-many": "supports.dp: expected at most 6 items, got 1000",
    "hello-without-why": "without[0].why: expected a string, got 5",
    "hello-without-only-why": 'a rule of "without" must name axes',
    "hello-without-many": "without: expected at most 1000 items, got 1001",
    "hello-unsupported": "unsupported: expected a list, got 'not today'",
    "hello-unsupported-empty": "got ' ' (a text that is not blank)",
    "hello-many-options": "options: expected at most 90 fields, got 100000",
    "hello-nan": "not valid JSON",
    "hello-flood": NO_HELLO,
    "hello-blank": NO_HELLO,
    "hello-trickle": NO_HELLO,
    "hello-chatter": NO_HELLO,
    "hello-dies": "no module named subject",
    "hello-lacks-torch": "`sh conformance/subject.sh torch-2.13.0` makes",
    "hello-lacks-megatron": "`sh conformance/subject.sh megatron-core-0.19.2` makes",
    "hello-exits": "it ended with exit code 7 before it answered hello",
}
STRAY = "RUN-2 line that is no answer"
# fault -> (signature of a cause, part of its text): code 1
CAUSES = {
    "deaf": ("LEDG-7 timeout", "did not read its standard input"),
    "flood": ("LEDG-7 timeout", "no answer within "),
    "blank": ("LEDG-7 timeout", "no answer within "),
    "trickle": ("LEDG-7 timeout", "no answer within "),
    "chatter": ("LEDG-7 timeout", "no answer within "),
    "partial": (
        "RUN-1 error: the adapter's process ended with exit code N",
        "ended with exit code 3",
    ),
    "killed": ("RUN-1 error: the adapter's process ended by SIGSEGV", ""),
    **{
        f"parent-{name}": (f"RUN-1 error: the adapter's process ended by {name}", "")
        for name in ("SIGTERM", "SIGINT", "SIGHUP")
    },
    "parent-after-hello": ("RUN-1 error: the adapter's process ended by SIGTERM", ""),
    "folder-removed": ("LEDG-6 empty ledger", ""),
    "twice": ("RUN-2 malformed answer", "more than one answer"),
    "deep": (STRAY, "has a line that is no answer: '[[["),
    "no-json": (
        STRAY,
        "has a line that is no answer: '%%%'. Does a rank print?",
    ),
    "half-json": ("RUN-2 malformed answer", "not valid JSON"),
    "stray": (
        STRAY,
        "has a line that is no answer: 'stray'. Does a rank print?",
    ),
    "stray-later": (STRAY, "is no answer: 'stray'"),
    "long": ("RUN-2 malformed answer", f"a line is longer than {16 << 20} bytes (limit of one"),
    "file-size": (
        "RUN-2 malformed answer",
        f"got {9 << 20} bytes, expected at most {8 << 20} (limit of one file)",
    ),
    "files-size": ("RUN-2 malformed answer", f"(limit of one answer ({16 << 20} bytes))"),
    "ledger-size": (
        "RUN-2 malformed ledger",
        f"rank 0: the ledger: got {9 << 20} bytes, expected at most {8 << 20} (limit of one file)",
    ),
    "ledgers-size": ("RUN-2 malformed ledger", f"expected at most {32 << 20} (limit of one case)"),
    "ledger-records": ("RUN-2 malformed ledger", "have more than 100000 records"),
    "ledger-nan": ("RUN-2 malformed ledger", "not valid JSON"),
    "ledger-label": ("RUN-2 malformed ledger", '"name" has 1001 characters, expected at most 1000'),
    "unsupported": ("RUN-2 malformed answer", '"message"'),
    "no-status": ("RUN-2 malformed answer", '"status"'),
    "message": ("RUN-2 malformed answer", '"message"'),
    "surrogate": ("RUN-1 error: half", "a pair"),
    "beyond": ("RUN-2 malformed answer", "does not fit a double"),
    "number": ("RUN-2 malformed answer", "hexadecimal float"),
    "number-decimal": (
        "RUN-2 malformed answer",
        "rank 0, step 0: parameter p0: expected a hexadecimal float (0x…, inf, -inf or nan), got "
        "'1.5'",
    ),
    "number-integer": ("RUN-2 malformed answer", "got '10'"),
    "number-words": ("RUN-2 malformed answer", "'Infinity'"),
    "number-space": ("RUN-2 malformed answer", "' 0x1p0'"),
    "number-bare": ("RUN-2 malformed answer", "'0x'"),
    "field": ("RUN-2 malformed answer", "a step may have the fields skipped, norm,"),
    "skipped": ("RUN-2 malformed answer", '"skipped"'),
    "steps": ("RUN-2 malformed answer", "must be an object"),
    "ranks": ("RUN-2 malformed answer", '"ranks"'),
    "masters": ("RUN-2 malformed answer", "masters of"),
    "masters-list": ("RUN-2 malformed answer", '"masters"'),
    "runs": ("RUN-2 malformed answer", "[offset, values]"),
    "file-fifo": ("RUN-2 malformed answer", "not a regular file"),
    "file-folder": ("RUN-2 malformed answer", "not a regular file"),
    "file-missing": ("RUN-2 malformed answer", "No such file"),
    "file-odd": ("RUN-2 malformed answer", "must be a multiple of"),
    "file-dtype": ("RUN-2 malformed answer", '"dtype"'),
    "file-nameless": ("RUN-2 malformed answer", '"file"'),
    "ledger-op": ("RUN-2 malformed ledger", '"op": got [1]'),
    "ledger-op-unknown": ("RUN-2 malformed ledger", "frobnicate"),
    "ledger-op-null": ("RUN-2 malformed ledger", '"op": got None'),
    "ledger-op-wait": ("RUN-2 malformed ledger", "\"wait\": got 'x'"),
    "ledger-null": ("RUN-2 malformed ledger", "expected a JSON object"),
    "ledger-count": ("RUN-2 malformed ledger", "\"count\": got 'abc'"),
    "ledger-counts": ("RUN-2 malformed ledger", '"counts": got 5'),
    "ledger-no-count": ("RUN-2 malformed ledger", '"count": got None'),
    "ledger-phase": ("RUN-2 malformed ledger", '"phase" has the wrong type: [1]'),
    "ledger-name": ("RUN-2 malformed ledger", '"name" has the wrong type: [1]'),
    "ledger-root": ("RUN-2 malformed ledger", "\"root\": got 'x'"),
    "ledger-deep": ("RUN-2 malformed ledger", "nested too deeply"),
    "ledger-wait": ("RUN-2 malformed ledger", "\"wait\": got 'x'"),
    "ledger-wait-ahead": ("RUN-2 malformed ledger", '"wait": got 1000000'),
    "ledger-empty": ("RUN-2 malformed ledger", "needs one of op, step"),
    "ledger-wait-hang": ("RUN-2 malformed ledger", "\"wait\": got 'x'"),
    "ledger-text": ("RUN-2 malformed ledger", "not valid JSON"),
    "ledger-folder": ("RUN-2 malformed ledger", "cannot read the ledger"),
    "closes": ("RUN-1 error: the adapter's process ended its standard output", "still runs"),
}
SILENT = [kind for kind, (signature, _) in CAUSES.items() if "timeout" in signature]
CORRECT = ["file", "parent-SIGSTOP"]  # not faults


def check(name, good, why=""):
    global failed
    failed += not good
    print(
        f"{'ok' if good else 'not ok'} {name}{'' if good else ' # ' + str(why)[:600]}", flush=True
    )


class Run:
    """A run on an adapter with this fault, which has begun."""

    def __init__(self, kind, *more):
        self.kind, self.more = kind, more
        silent = REFUSED.get(kind) == NO_HELLO
        self.deadlines = DEADLINES[:1] if silent else DEADLINES if kind in SILENT else [MOST]
        self.begun = begin(kind, self.deadlines[0], *more)

    def result(self):
        """(exit code, causes, standard error); code -1 if the run does not end."""
        found = ended(self.begun)
        for deadline in self.deadlines[1:]:
            if NO_HELLO not in found[2]:
                break
            found = ended(begin(self.kind, deadline, *self.more))
        return found


def begin(kind, deadline, *more):
    one = deadline != MOST or kind == "closes"  # the judge waits for the process in each case
    return preloaded.Check(
        *("--adapter", f"{BAD} {kind}", "--json", "--cases", "1" if one else "2"),
        *("--jobs", "1", "--shrink", "0", "--deadline", str(deadline), *more),
    )


def ended(begun):
    try:
        done = begun.result()
    except subprocess.TimeoutExpired:
        return -1, [], "it does not end"
    return done.returncode, json.loads(done.stdout)["causes"] if done.stdout else [], done.stderr


def run(kind, *more):
    return Run(kind, *more).result()


def runs(*words):
    """The results of runs with these words, in their order. Two run at a time, as many of them
    wait for a deadline."""
    begun = collections.deque()
    for one in words:
        begun.append(Run(*one))
        if len(begun) == 2:
            yield begun.popleft().result()
    while begun:
        yield begun.popleft().result()


def test_command():
    """The command prints what the judge in a child prints, which the other tests read."""
    words = ["--adapter", f"{BAD} number", "--json", "--cases", "2", "--jobs", "1"]
    words += ["--shrink", "0"]
    found = []
    for done in (
        preloaded.check(*words),
        subprocess.run([COMMAND, "check", *words], capture_output=True, text=True),
    ):
        report = json.loads(done.stdout)
        for one in [report, *report["results"]]:
            del one["seconds"]
        del report["date"]
        found.append((done.returncode, report, done.stderr))
    check("the command prints the same", found[0] == found[1], found)
    words = [*words, "--deadline", "nan"]
    done = subprocess.run([COMMAND, "check", *words], capture_output=True, text=True)
    other = preloaded.check(*words)
    found = [(one.returncode, one.stdout, one.stderr) for one in (other, done)]
    check("the command refuses the same", found[0] == found[1], found)


def test_refused():
    found = runs(*((kind,) for kind in REFUSED))
    for (kind, words), (code, _, errors) in zip(REFUSED.items(), found, strict=True):
        check(
            f"{kind} is refused",
            code == 2 and words in errors and "Traceback (" not in errors,
            (code, errors),
        )


def test_stray():
    """Ranks that print give one cause. The answers that follow belong to their own cases."""
    for kind in ("stray", "stray-later"):
        code, causes, errors = run(kind, "--cases", "4", "--shrink", "60")
        check(
            f"{kind}: one cause",
            code == 1 and len(causes) == 1,
            (code, [(c["clause"], c["kind"], c["text"]) for c in causes], errors),
        )


def test_causes():
    closes = Run("closes")  # the last: the judge waits for a minute in all, beside the others
    for kind, (signature, words) in CAUSES.items():
        code, causes, errors = closes.result() if kind == "closes" else run(kind)
        chance = causes and all(c["chance"] for c in causes)  # a new process may work
        good = any(
            f"{c['clause']} {c['kind']}".startswith(signature) and words in c["text"]
            for c in causes
        )
        check(
            f"{kind} is reported as {signature}",
            code == (not chance) and good and "Traceback (" not in errors,
            (code, [(c["clause"], c["kind"], c["text"]) for c in causes], errors),
        )
    for kind in CORRECT:
        code, causes, errors = run(kind)
        check(
            f"{kind} is accepted", code == 0 and not causes and not errors, (code, causes, errors)
        )


# options -> part of the message: code 2
OPTIONS = {
    "--deadline nan": "expected a number above 0 and at most 31536000, got 'nan'",
    "--deadline 0": "expected a number above 0 and at most 31536000, got '0'",
    "--jobs 0": "expected an integer of at least 1 and at most 1024, got '0'",
    "--jobs 1.5": "expected an integer of at least 1 and at most 1024, got '1.5'",
    "--cases 0": "expected an integer of at least 1 and at most 1000000000, got '0'",
    "--cases -1": "expected an integer of at least 1 and at most 1000000000, got '-1'",
    "--fresh -1": "'-1'",
    "--seconds -5": "expected a number of at least 0 and at most 31536000, got '-5'",
    "--seconds inf": "'inf'",
    "--deadline 1e300": "above 0 and at most 31536000, got '1e300'",
    "--seconds 1e300": "at most 31536000, got '1e300'",
    "--shrink 1e300": "expected an integer of at least 0 and at most 1000000000, got '1e300'",
    "--replay 0": "expected an integer of at least 1 and at most 1000000000, got '0'",
    "--replay 3": "--replay: expected --only with recipes",
    "--replay 3 --only RED-2": "--replay: expected --only with recipes",
    "--jobs 1000000": "at most 1024, got '1000000'",
    "--cases 99999999999": "at most 1000000000, got '99999999999'",
    "--fresh 99999999999": "at most 1000000000, got '99999999999'",
    "--seed 99999999999999999999": "at most 9223372036854775808, got",
    "--shrink nan": "'nan'",
    "--only TYPO --cases 3": "unknown 'TYPO'; expected a clause (CKPT-5, ",
    "--only TYPO": "a family (CM, DT",
    "--only RED-2 --only red-2 --cases 3": "unknown 'red-2'",
    "--only TYPO --list": "unknown 'TYPO'",
    "--only PIPE-3 --cases 3": "none of the",
    "--only c0123456789ab --cases 3": "that this subject supports matches c0123456789ab",
}


def test_options():
    """Invalid options, and words of --only that no case can match, are refused without a verdict on
    the subject."""
    found = runs(*(("file", *options.split()) for options in OPTIONS))
    for (options, words), (code, causes, errors) in zip(OPTIONS.items(), found, strict=True):
        check(
            f"{options} is refused",
            code == 2 and not causes and words in errors and "Traceback (" not in errors,
            (code, errors),
        )
    for where in ("/dev/null/out", "/proc/out"):
        code, _, errors = run("deaf", "--out", where, "--deadline", "25")
        check(
            f"--out {where} is refused before any case runs",
            code == 3 and f"--out {where}: cannot write" in errors and "cases in" not in errors,
            (code, errors),
        )


def unsafe(text):
    """Characters that a terminal or a page would interpret."""
    return [
        c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    ]


def terminal(kind):
    """What `check` and `check --list` print."""
    found = []
    for more in (["--cases", "1", "--shrink", "0"], ["--list", "--cases", "1"]):
        done = subprocess.run(
            [COMMAND, "check", "--adapter", f"{BAD} {kind}", "--jobs", "1", *more],
            capture_output=True,
        )
        found += [(done.stdout + done.stderr).decode()]  # text=True would replace "\r"
    return found


def test_escaping():
    """Text from a subject is escaped in every report."""
    for kind in ("words-name", "words-unsupported"):
        with tempfile.TemporaryDirectory() as folder:
            code, _, errors = run(kind, "--out", folder)
            shown = [errors, *terminal(kind)]
            text = {
                n: open(os.path.join(folder, n), encoding="utf-8", newline="").read()
                for n in os.listdir(folder)
            }
            made = subprocess.run(
                [
                    sys.executable,
                    "-B",
                    f"{ROOT}/conformance/judge/results.py",
                    "--out",
                    folder,
                    f"{folder}/report.json",
                ],
                capture_output=True,
                text=True,
            )
            check(
                f"{kind}: RESULTS.md is made",
                code == 1 and made.returncode == 0,
                (code, errors, made.stderr),
            )
            results, whole = (
                open(os.path.join(folder, n), encoding="utf-8", newline="").read()
                for n in ("RESULTS.md", "index.html")
            )
        for name, one in [*text.items(), ("RESULTS.md", results), ("index.html", whole)]:
            check(f"{kind}: {name} has no control characters", not unsafe(one), unsafe(one))
        check(
            f"{kind}: the terminal gets no control characters", not any(map(unsafe, shown)), shown
        )
        check(
            f"{kind}: they are shown",
            "\\x1b" in shown[1] + shown[2] and "\\x1b" in text["report.html"] + text["report.tap"],
            shown,
        )
        suite = xml.dom.minidom.parseString(text["junit.xml"]).documentElement
        check(f"{kind}: JUnit is XML", suite.tagName == "testsuite")
        lines = text["report.tap"].splitlines()[2:]
        check(
            f"{kind}: every line of TAP comes from the suite",
            all(
                re.match(r"(not )?ok \d+ - [^#]*(\\#[^#]*)*( # SKIP not supported)?$|# RUN-", one)
                for one in lines
            )
            and len([one for one in lines if "ok " in one[:7]])
            == int(text["report.tap"].split("1..")[1].split()[0]),
            lines,
        )
        check(
            f"{kind}: pages have no markup from the subject",
            not re.search("<script|<i>|<b>x|</textarea", text["report.html"] + whole),
        )
        check(
            f"{kind}: Markdown has no markup from the subject",
            not re.search("<script|<i>|</textarea|\x1b|\0", results),
            results,
        )
        rows = [one for one in results.splitlines() if one.startswith("| ")]
        check(
            f"{kind}: a name stays in its cell",
            all(len(re.findall(r"(?<!\\)\|", one)) in (3, 14) for one in rows),
            rows,
        )


def main():
    for name in sys.argv[1:] or ["command", "refused", "causes", "stray", "options", "escaping"]:
        globals()[f"test_{name}"]()
    return 1 if failed else 0


sys.exit(main())
