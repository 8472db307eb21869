"""Adapters that break the protocol: each run ends in seconds, with the right code and verdict, a report where
there was a case, and no trace of Python."""
import json
import os
import signal
import subprocess
import sys
import time

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
    "hello-world": '"world"', "hello-flood": "within 3 s", "hello-dies": "no module named subject",
}
# fault -> (signature of a cause, what it says): code 1
CAUSES = {
    "deaf": ("LEDG-7 timeout", "does not read its standard input"), "flood": ("LEDG-7 timeout", "no answer within 3 s"),
    "partial": ("RUN-1 error: the adapter's process ended", ""), "twice": ("RUN-2 malformed answer", "more than the one line"),
    "deep": ("RUN-2 malformed answer", "nested too deeply"), "no-json": ("RUN-2 malformed answer", "no JSON"),
    "long": ("RUN-2 malformed answer", "a line of more than"), "unsupported": ("RUN-2 malformed answer", '"message"'),
    "no-status": ("RUN-2 malformed answer", '"status"'), "message": ("RUN-2 malformed answer", '"message"'),
    "surrogate": ("RUN-1 error: half", "a pair"), "beyond": ("RUN-2 malformed answer", "beyond every double"),
    "number": ("RUN-2 malformed answer", "hexadecimal float"), "skipped": ("RUN-2 malformed answer", '"skipped"'),
    "steps": ("RUN-2 malformed answer", "must be an object"), "ranks": ("RUN-2 malformed answer", '"ranks"'),
    "masters": ("RUN-2 malformed answer", "masters of"), "masters-list": ("RUN-2 malformed answer", '"masters"'),
    "runs": ("RUN-2 malformed answer", "[offset, values]"),
    "file-fifo": ("RUN-2 malformed answer", "no regular file"), "file-folder": ("RUN-2 malformed answer", "no regular file"),
    "file-missing": ("RUN-2 malformed answer", "No such file"), "file-odd": ("RUN-2 malformed answer", "no multiple of"),
    "file-dtype": ("RUN-2 malformed answer", '"dtype"'), "file-nameless": ("RUN-2 malformed answer", '"file"'),
    "ledger-op": ("RUN-2 malformed ledger", "no op"), "ledger-op-unknown": ("RUN-2 malformed ledger", "frobnicate"),
    "ledger-null": ("RUN-2 malformed ledger", "no object"), "ledger-count": ("RUN-2 malformed ledger", "count"),
    "ledger-counts": ("RUN-2 malformed ledger", "counts 5"), "ledger-no-count": ("RUN-2 malformed ledger", "without a count"),
    "ledger-name": ("RUN-2 malformed ledger", "name [1]"), "ledger-root": ("RUN-2 malformed ledger", "root 'x'"),
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
    for name in sys.argv[1:] or ["refused", "causes", "ends"]:
        globals()[f"test_{name}"]()
    return 1 if failed else 0


sys.exit(main())
