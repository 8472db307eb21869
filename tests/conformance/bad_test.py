"""Adapters that break the protocol: each run ends in seconds, with the right code and verdict, a report where
there was a case, and no trace of Python."""
import json
import os
import signal
import re
import subprocess
import sys
import tempfile
import time
import xml.dom.minidom

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
COMMAND = os.environ["ZEROPROOF"]
BAD = f"{sys.executable} {ROOT}/conformance/adapters/selftest/bad.py"
DEADLINE, MOST = 3, 30
failed = 0

# fault -> what its message says: hello is refused with code 2
REFUSED = {
    "hello-list": "no object", "hello-null": "no object", "hello-deep": "nested too deeply", "hello-protocol": '"protocol"',
    "hello-name": '"name"', "hello-level": '"level"', "hello-level-text": '"level"', "hello-returns": '"returns"',
    "hello-returns-unknown": "nrom", "hello-supports": '"supports"', "hello-supports-value": '"zero"',
    "hello-without": '"without"', "hello-without-all": '"without"', "hello-options": '"options"',
    "hello-options-list": '"options"', "hello-options-object": '"options"', "hello-options-words": "x y",
    "hello-options-streams": "\"streams\" is a field of the case", "hello-options-backwards": "\"backwards\" is a field of the case",
    "hello-no-ledger": '"returns" must name "ledger"', "hello-no-ledger-3": '"returns" must name "ledger"',
    "hello-no-streams": '"returns" must name "streams"', "hello-no-streams-axis": 'must name the axis "streams"',
    "hello-zero-7": '"zero" may have the values 0, 1, 2, not 7',
    "hello-dp-text": "\"dp\" may have the values 1, 2, 3, 4, 5, 8, not '1'",
    "hello-dp-true": '"dp" may have the values 1, 2, 3, 4, 5, 8, not True', "hello-axis": "not 'dpp'",
    "hello-axis-empty": '"dp" must be a list of values, of 1, 2', "hello-no-zero": 'must name "zero", with some of 0, 1, 2',
    "hello-without-axis": "not 'zzz'", "hello-without-option": "not 'option x'",
    "hello-without-value": "\"zero\" may have the values 0, 1, 2, not '2'", "hello-many": '"x" may have 32 values, not',
    "hello-many-pairs": "4000 pairs of values", "hello-twice": "must differ as words",
    "hello-nothing": "pp 1 goes with no tied of stages", "hello-nothing-without": "exclude every zero: 0, 1, 2",
    "hello-world": '"world"', "hello-flood": "within 3 s", "hello-dies": "no module named subject",
    "hello-exits": "its process ended with exit code 7",
}
# fault -> (signature of a cause, what it says): code 1
CAUSES = {
    "deaf": ("LEDG-7 timeout", "does not read its standard input"), "flood": ("LEDG-7 timeout", "no answer within 3 s"),
    "partial": ("RUN-1 error: the adapter's process ended with exit code N", "ended with exit code 3"),
    "killed": ("RUN-1 error: the adapter's process ended by SIGSEGV", ""),
    "closes": ("RUN-1 error: the adapter's process ended its standard output", "still runs"),
    "twice": ("RUN-2 malformed answer", "more than the one line"),
    "deep": ("RUN-2 malformed answer", "nested too deeply"), "no-json": ("RUN-2 malformed answer", "no JSON"),
    "long": ("RUN-2 malformed answer", "a line of more than"), "unsupported": ("RUN-2 malformed answer", '"message"'),
    "no-status": ("RUN-2 malformed answer", '"status"'), "message": ("RUN-2 malformed answer", '"message"'),
    "surrogate": ("RUN-1 error: half", "a pair"), "beyond": ("RUN-2 malformed answer", "beyond every double"),
    "number": ("RUN-2 malformed answer", "hexadecimal float"),
    "number-decimal": ("RUN-2 malformed answer", "rank 0, step 0: parameter p0: '1.5' is no hexa"),
    "number-integer": ("RUN-2 malformed answer", "'10' is no hexa"), "number-words": ("RUN-2 malformed answer", "'Infinity'"),
    "number-space": ("RUN-2 malformed answer", "' 0x1p0'"), "number-bare": ("RUN-2 malformed answer", "'0x'"),
    "skipped": ("RUN-2 malformed answer", '"skipped"'),
    "steps": ("RUN-2 malformed answer", "must be an object"), "ranks": ("RUN-2 malformed answer", '"ranks"'),
    "masters": ("RUN-2 malformed answer", "masters of"), "masters-list": ("RUN-2 malformed answer", '"masters"'),
    "runs": ("RUN-2 malformed answer", "[offset, values]"),
    "file-fifo": ("RUN-2 malformed answer", "no regular file"), "file-folder": ("RUN-2 malformed answer", "no regular file"),
    "file-missing": ("RUN-2 malformed answer", "No such file"), "file-odd": ("RUN-2 malformed answer", "no multiple of"),
    "file-dtype": ("RUN-2 malformed answer", '"dtype"'), "file-nameless": ("RUN-2 malformed answer", '"file"'),
    "ledger-op": ("RUN-2 malformed ledger", "no op"), "ledger-op-unknown": ("RUN-2 malformed ledger", "frobnicate"),
    "ledger-null": ("RUN-2 malformed ledger", "no object"), "ledger-count": ("RUN-2 malformed ledger", "count"),
    "ledger-counts": ("RUN-2 malformed ledger", "counts 5"), "ledger-no-count": ("RUN-2 malformed ledger", "without a count"),
    "ledger-phase": ("RUN-2 malformed ledger", "phase [1]"), "ledger-name": ("RUN-2 malformed ledger", "name [1]"),
    "ledger-root": ("RUN-2 malformed ledger", "root 'x'"),
    "ledger-deep": ("RUN-2 malformed ledger", "nested too deeply"), "ledger-wait": ("RUN-2 malformed ledger", "waits for"),
    "ledger-wait-ahead": ("RUN-2 malformed ledger", "waits for"), "ledger-empty": ("RUN-2 malformed ledger", "neither op"),
    "ledger-wait-hang": ("LEDG-7 timeout", ""), "ledger-text": ("RUN-2 malformed ledger", "no JSON"),
    "ledger-folder": ("RUN-2 malformed ledger", "cannot be read"),
}
HONEST = ["file"]  # faults that are none


def check(name, good, why=""):
    global failed
    failed += not good
    print(f"{'ok' if good else 'not ok'} {name}{'' if good else ' # ' + str(why)[:600]}", flush=True)


def run(kind, *more):
    """(code, causes, standard error); -1 when it does not end."""
    try:
        done = subprocess.run([COMMAND, "check", "--adapter", f"{BAD} {kind}", "--cases", "2", "--jobs", "1", "--shrink", "0",
                               "--json", "--deadline", str(DEADLINE), *more], capture_output=True, text=True, timeout=MOST)
    except subprocess.TimeoutExpired:
        return -1, [], "it does not end"
    return done.returncode, json.loads(done.stdout)["causes"] if done.stdout else [], done.stderr


def test_refused():
    for kind, says in REFUSED.items():
        code, _, errors = run(kind)
        check(f"{kind} is refused", code == 2 and says in errors and "Traceback (" not in errors, (code, errors))


def test_causes():
    for kind, (signature, says) in CAUSES.items():
        code, causes, errors = run(kind)
        good = any(f"{c['clause']} {c['kind']}".startswith(signature) and says in c["text"] for c in causes)
        check(f"{kind} is {signature}", code == 1 and good and "Traceback (" not in errors,
              (code, [(c["clause"], c["kind"], c["text"]) for c in causes], errors))
    for kind in HONEST:
        code, causes, errors = run(kind)
        check(f"{kind} is no fault", code == 0 and not causes and not errors, (code, causes, errors))


# what is asked for -> what the refusal says: code 2
ASKED = {
    "--deadline nan": "'nan' is no number above 0", "--deadline 0": "'0' is no number above 0", "--jobs 0": "'0' is no whole number",
    "--jobs 1.5": "'1.5' is no whole number", "--cases 0": "'0' is no whole number of at least 1",
    "--cases -1": "'-1' is no whole number of at least 1", "--fresh -1": "'-1'",
    "--seconds -5": "'-5' is no number of at least 0", "--seconds inf": "'inf'", "--shrink nan": "'nan'", "--shrink-all -1": "'-1'",
    "--only TYPO --cases 3": "there is no 'TYPO'; there are the clauses LEDG-2, ", "--only TYPO": "the families CM, DT",
    "--only RED-2 --only red-2 --cases 3": "there is no 'red-2'", "--only TYPO --list": "there is no 'TYPO'",
    "--only PIPE-3 --cases 3": "no case of", "--only c0123456789ab --cases 3": "that this subject supports has c0123456789ab",
}


def test_asked():
    """What cannot be asked for, or would be looked for for ever, is refused, and the subject is not blamed."""
    for words, says in ASKED.items():
        code, causes, errors = run("file", *words.split())
        check(f"{words} is refused", code == 2 and not causes and says in errors and "Traceback (" not in errors, (code, errors))
    for where in ("/dev/null/out", "/proc/out"):
        code, _, errors = run("deaf", "--out", where, "--deadline", "25")
        check(f"--out {where} is told before any case is run", code == 3 and f"--out {where} cannot be written" in errors
              and "cases in" not in errors, (code, errors))


def test_words():
    """What a subject says stays text in each report."""
    for kind in ("words-name", "words-unsupported"):
        with tempfile.TemporaryDirectory() as folder:
            code, _, errors = run(kind, "--out", folder)
            text = {n: open(os.path.join(folder, n), encoding="utf-8").read() for n in os.listdir(folder)}
            made = subprocess.run([sys.executable, "-B", f"{ROOT}/conformance/judge/results.py", "--out", folder,
                                   f"{folder}/report.json"], capture_output=True, text=True)
            check(f"{kind}: a table of results is made", code == 1 and made.returncode == 0, (code, errors, made.stderr))
            results, whole = (open(os.path.join(folder, n), encoding="utf-8").read() for n in ("RESULTS.md", "index.html"))
        suite = xml.dom.minidom.parseString(text["junit.xml"]).documentElement
        check(f"{kind}: JUnit is XML", suite.tagName == "testsuite")
        lines = text["report.tap"].splitlines()[2:]
        check(f"{kind}: each line of TAP is the suite's", all(re.match(r"(not )?ok \d+ - [^#]*(\\#[^#]*)*( # SKIP not supported)?$|# RUN-", one)
              for one in lines) and len([one for one in lines if "ok " in one[:7]]) == int(text["report.tap"].split("1..")[1].split()[0]),
              lines)
        check(f"{kind}: pages have no markup of the subject's", not re.search("<script|<i>|<b>x|</textarea", text["report.html"] + whole))
        check(f"{kind}: Markdown has none", not re.search("<script|<i>|</textarea|\x1b|\0", results), results)
        rows = [one for one in results.splitlines() if one.startswith("| ")]
        check(f"{kind}: a name stays in its cell", all(len(re.findall(r"(?<!\\)\|", one)) in (3, 11) for one in rows), rows)


def test_ends():
    """Adapters do not outlive a suite that is ended, whatever they do."""
    mark = f"mark{os.getpid()}"
    suite = subprocess.Popen([COMMAND, "check", "--adapter", f"{BAD} deaf {mark}", "--cases", "2", "--jobs", "1", "--deadline",
                              "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while not with_word(mark, "bad.py") and time.monotonic() < end:
        time.sleep(0.1)
    began = bool(with_word(mark, "bad.py"))
    time.sleep(1)
    suite.send_signal(signal.SIGTERM)
    code = suite.wait(timeout=20)
    check("adapters end with a suite that is ended", began and code == 3 and not with_word(mark, "bad.py"), (began, code))


def with_word(*words):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read().decode(errors="replace").split("\0")
        except OSError:
            continue
        if words[0] in line and any(word.endswith(words[1]) for word in line):
            found.append(int(pid))
    return found


def main():
    for name in sys.argv[1:] or ["refused", "causes", "asked", "words", "ends"]:
        globals()[f"test_{name}"]()
    return 1 if failed else 0


sys.exit(main())
