"""Files that the judge reads and writes: outputs are complete or absent and overwrite no input,
inputs are bounded."""

import contextlib
import io
import json
import os
import resource
import stat
import subprocess
import sys
import tempfile
import tracemalloc
import unittest.mock

from selftest import COMMAND, QUICK, ROOT, TRAINER, check, content, judged, main, write

sys.path[:0] = [os.path.join(ROOT, "conformance", part) for part in ("judge", "recorder")]

import files  # noqa: E402
import limits  # noqa: E402
import report as reports  # noqa: E402
import streams  # noqa: E402
import zeroproof_trace  # noqa: E402
from outcomes import Details, Outcome, Outcomes  # noqa: E402
from recipe import recipe_of  # noqa: E402
from values import Finding  # noqa: E402


def test_writing():
    """files.write: the former file or the whole new one, with its mode, through links."""
    with tempfile.TemporaryDirectory() as folder:
        name, link = os.path.join(folder, "file"), os.path.join(folder, "link")
        write(name, "former")
        os.chmod(name, 0o640)
        os.symlink("file", link)

        def parts():
            yield "half"
            raise KeyError

        try:
            files.write(name, parts())
        except KeyError:
            pass
        check("an interrupted write leaves the former file", content(folder)["file"] == b"former")
        with tempfile.TemporaryDirectory() as other:
            longest = os.path.join(other, "n" * 255)
            files.write_all([(longest, ["x"]), (os.path.join(other, "y"), ["y"])])
            check(
                "names may have 255 bytes",
                content(other) == {"n" * 255: b"x", "y": b"y"},
                os.listdir(other),
            )
        files.write(link, ["a", "b"])
        check(
            "a link stays, and the file keeps its mode",
            os.path.islink(link)
            and content(folder) == {"file": b"ab", "link": b"ab"}
            and stat.S_IMODE(os.stat(name).st_mode) == 0o640,
            content(folder),
        )
        for mask in (0o027, 0o077):
            former, made = os.umask(mask), os.path.join(folder, f"{mask:03o}" * 85)
            files.write(made, ["x"])
            os.umask(former)
            mode = stat.S_IMODE(os.stat(made).st_mode)
            check(f"a new file has a mode of umask {mask:o}", mode == 0o666 & ~mask, oct(mode))
            check("a name of 255 bytes is written", len(os.path.basename(made)) == 255)
            os.remove(made)
    waiting()
    for name in ("/dev/full", "/dev/null/x", "/proc/x", "."):
        try:
            files.write(name, ["x"])
            why = None
        except OSError as error:
            why = error.strerror
        check(f"{name} cannot be written", why and f"cannot write {name}: " in why, why)


def waiting():
    """Links that wait where a temporary file would be made."""
    with tempfile.TemporaryDirectory() as folder:
        name, victim = os.path.join(folder, "file"), os.path.join(folder, "victim")
        write(victim, "kept")
        os.symlink("victim", f"{name}.{os.getpid()}.tmp")
        files.write(name, ["x"])
        check("a name that can be predicted is not used", content(folder)["victim"] == b"kept")
        os.remove(f"{name}.{os.getpid()}.tmp")
        made = []
        with unittest.mock.patch("os.rename", lambda beside, _: made.append(beside)):
            with unittest.mock.patch("os.urandom", bytes):
                files.write(name, ["x"])
                os.symlink("victim", made[0])
                try:
                    files.write(name, ["x"])
                    why = None
                except OSError as error:
                    why = error.strerror
        check(
            "a temporary file is new, and a link in its place stays",
            why == f"cannot write {name}: File exists" and os.path.islink(made[0]),
            (why, content(folder)),
        )
        check("the link's file is whole", content(folder)["victim"] == b"kept")


def test_results():
    """results.py and mutants.py report what they cannot read or write."""
    program = f"{ROOT}/conformance/judge/results.py"
    with tempfile.TemporaryDirectory() as folder:
        judged("--out", folder)
        name = os.path.join(folder, "report.json")
        os.link(name, os.path.join(folder, "index.html.former"))
        os.remove(os.path.join(folder, "report.html"))
        write(os.path.join(folder, "RESULTS.md"), "former")
        for what, argv, code, words in (
            ("no report", ["/dev/zero"], 2, "cannot read /dev/zero: not a regular file"),
            ("not JSON", [os.path.join(folder, "RESULTS.md")], 2, "cannot read"),
            ("a full disk", [name], 3, f"cannot write {folder}/RESULTS.md: File too large"),
        ):
            done = subprocess.run(
                [sys.executable, "-B", program, "--out", folder, *argv],
                capture_output=True,
                text=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (99, 99)),
            )
            check(
                f"results.py: {what} is reported",
                done.returncode == code
                and words in done.stderr
                and "Traceback (" not in done.stderr
                and content(folder)["RESULTS.md"] == b"former",
                (done.returncode, done.stderr),
            )
        os.rename(name, os.path.join(folder, "RESULTS.md"))
        done = subprocess.run(
            [sys.executable, "-B", program, "--out", folder, f"{folder}/RESULTS.md"],
            capture_output=True,
            text=True,
        )
        check(
            "results.py does not overwrite a report that it reads",
            done.returncode == 2 and "would overwrite" in done.stderr,
            (done.returncode, done.stderr),
        )


def test_standard_output():
    """The exit code is 3 if the verdict cannot be printed; the report is written all the same."""
    for what, more in (
        ("a verdict", []),
        ("--json", ["--json"]),
        ("--list", ["--list"]),
        ("--help", ["--help"]),
    ):
        with open("/dev/full", "w", encoding="utf-8") as full, tempfile.TemporaryDirectory() as out:
            done = judged(*more, "--out", out, stdout=full)
            names = sorted(os.listdir(out))
        check(
            f"{what} on a full disk is reported",
            done.returncode == 3
            and "standard output: No space left on device" in done.stderr
            and done.stderr.count("\n") == 1
            and names == (sorted(reports.FORMS) if what in ("a verdict", "--json") else []),
            (done.returncode, done.stderr, names),
        )
    words = [COMMAND, "check", "--adapter", f"{TRAINER} correct", *QUICK]
    for closed, code in (("0<&-", 0), ("2>&-", 0), ("0<&- 2>&-", 0), (">&-", 3), ("0<&- >&-", 3)):
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {closed}', "sh", *words], capture_output=True, text=True
        )
        check(
            f"check {closed}: exit code {code}",
            done.returncode == code
            and ("1 case passed" in done.stdout) == (code == 0)
            and ("standard output" in done.stderr and "closed" in done.stderr) == (code == 3),
            (done.returncode, done.stdout, done.stderr),
        )


def test_log():
    said = f"sh -c 'echo words >&2; exec {TRAINER} correct'"
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "log")
        write(name, "former\n")
        done = judged("--log", name, adapter=said)
        check(
            "--log appends the adapter's standard error",
            done.returncode == 0 and content(folder)["log"] == b"former\nwords\n",
            (done, content(folder)),
        )
        os.mkfifo(os.path.join(folder, "fifo"))
        done = judged("--log", os.path.join(folder, "fifo"), adapter=said)
        check(
            "a FIFO that nothing reads is refused",
            done.returncode == 3 and "fifo: cannot write: " in done.stderr,
            (done.returncode, done.stderr),
        )
    done = judged("--log", "/dev/full", adapter=said)
    check(
        "--log on a full disk is reported after the verdict",
        done.returncode == 3
        and "1 case passed" in done.stdout
        and "--log /dev/full: cannot write: No space left on device" in done.stderr,
        (done.returncode, done.stdout, done.stderr),
    )


def test_inputs():
    """Lists are regular files of a limited size. The memory of the judge is limited here, so that a
    judge that reads on ends."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(os.path.join(folder, "fifo"))
        os.mkdir(os.path.join(folder, "dir"))
        with open(os.path.join(folder, "large"), "wb") as file:
            file.truncate(limits.LIST + 1)
        large = f"got {limits.LIST + 1} bytes, expected at most {limits.LIST}"
        for option in ("--known", "--support", "--quick"):
            for name, words in (
                ("/dev/zero", "not a regular file"),
                ("fifo", "not a regular file"),
                ("dir", "not a regular file"),
                ("large", large),
            ):
                path = os.path.join(folder, name)
                done = judged(option, path, memory=1 << 30)
                check(
                    f"{option} {name} is refused",
                    done.returncode == 2
                    and f"{option}: cannot read {path}: {words}" in done.stderr,
                    (done.returncode, done.stderr),
                )


def test_overwriting():
    """No output is an input or another output."""
    with tempfile.TemporaryDirectory() as folder:
        known, adapter = os.path.join(folder, "known"), os.path.join(folder, "adapter.py")
        write(known, '{"failures": []}')
        write(adapter, "former")
        os.mkdir(os.path.join(folder, "out"))
        inside = os.path.join(folder, "out", "report.json")
        os.link(known, inside)
        os.symlink(known, os.path.join(folder, "link"))
        before = content(os.path.join(folder, "out"))
        for more, words in (
            (["--known", known, "--out", known], "--out"),
            (["--known", known, "--out", os.path.join(folder, "out")], "--out"),
            (["--quick", inside, "--out", os.path.join(folder, "out")], "--out"),
            (["--known", known, "--log", known], "--log"),
            (["--known", os.path.join(folder, "link"), "--log", known], "--log"),
            (["--support", known, "--log", os.path.join(folder, "link")], "--log"),
            (["--log", inside, "--out", os.path.join(folder, "out")], "--out"),
            (["--log", adapter], "--log"),
        ):
            done = judged(*more, adapter=f"{sys.executable} {adapter}")
            check(
                f"{' '.join(more).replace(folder, 'DIR')} is refused",
                done.returncode == 2
                and f"check: {words}: " in done.stderr
                and "would overwrite" in done.stderr
                and content(os.path.join(folder, "out")) == before,
                (done.returncode, done.stderr),
            )


def refuse_constant(text):
    raise ValueError(f"{text} is not JSON")


def test_strict_json():
    """report.json is JSON, and a list of known failures that is not is refused."""
    entry = {"clause": "RED-3", "kind": "", "needs": [], "worth": float("nan"), "more": [1e999]}
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "known")
        write(name, json.dumps({"failures": [entry]}))
        more = ["--json", "--only", "dp=2,optim=sgd,list=3@0.0", "--out", f"{folder}/out"]
        done = judged("--known", name, *more, adapter=f"{TRAINER} local")
        check(
            "a list with NaN is refused",
            done.returncode == 2 and f"--known: cannot read {name}: NaN" in done.stderr,
            (done.returncode, done.stderr),
        )
        write(name, json.dumps({"failures": []}))
        done = judged("--known", name, *more, adapter=f"{TRAINER} local")
        texts = [done.stdout, content(os.path.join(folder, "out"))["report.json"].decode()]
    made = reports.strict({"schema": "x", "causes": [{"known": entry}]})
    texts.append("".join(reports.as_text({**made, "results": []})))
    for text in texts:
        json.loads(text, parse_constant=refuse_constant)
    known = json.loads(texts[2])["causes"][0]["known"]
    check(
        "numbers that JSON does not have are strings",
        (known["worth"], known["more"]) == ("nan", ["inf"]),
        texts[2],
    )


def outcome(number, status):
    out = Outcome(
        {"id": f"c{number:012x}", "clauses": ["RED-2", "OPT-4"], "hunts": [], "world": 2},
        recipe_of(f"dp=2,M={number % 4 + 1},optim=sgd,list={number + 1}@0.0"),
    )
    out.status, out.answer = status, {"status": "ok", "message": f"reason {number}"}
    out.issued, out.judged = (number, number), {"RED-2"}
    if status == "fail":
        out.findings = [Finding("RED-2", "ratio", "x" * 100)] * 50
        out.ledgers, out.size = ["x" * 1000], 1000
    return out


def kept(status, cases):
    """Bytes that a run keeps of its cases."""
    tracemalloc.start()
    made = Outcomes()
    for number in range(cases):
        made.add(outcome(number, status), lambda message: message.rstrip("0123456789"))
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return size


def test_memory():
    """What a run keeps does not grow with its cases."""
    for status in ("pass", "unsupported"):
        few, many = kept(status, 200), kept(status, 10000)
        check(
            f"{status}: 10,000 cases take the memory of 200",
            many - few < 64 << 10,
            (few, many),
        )
    made = Outcomes()
    made.details = Details(2500)
    for number in range(10):
        made.add(outcome(number, "fail"), str)
    check(
        "details are kept of as many failures as have room",
        [bool(out.ledgers) for out in made.failures] == [True] * 2 + [False] * 8
        and all(len(out.findings) == 1 for out in made.failures[2:]),
    )
    mine = {"cause": "c", "title": "t", "class": "defect"}
    rows = list(made.rows({1: mine}, {3}))
    check(
        "the report has all findings of each failure",
        len(rows) == len(made) == 10
        and all(len(row["findings"]) == 50 for row in rows)
        and [row["known"] for row in rows] == [mine if n == 1 else None for n in range(10)]
        and [row["fresh"] for row in rows] == [n == 3 for n in range(10)],
    )
    made.failures *= limits.FAILURES
    check("a run ends after a number of failures", made.full() and not Outcomes().full())


def test_crafted():
    """Ledgers and stream logs that would take hours are judged in linear time, or refused."""
    # Without a search per operation this takes a second, with one minutes.
    crafted = """
import ledger
n = 80000
one = {"op": "send", "dtype": "fp32", "count": 1, "peer": 1, "async": True, "batch": 1}
two = {"op": "recv", "dtype": "fp32", "count": 1, "peer": 0, "batch": 1}
hung, waits = ledger.is_hung([[one] * n, [two] * (n + 1)])
assert waits == {1: (two, [0])}, waits
"""
    done = subprocess.run(
        [sys.executable, "-B", "-c", crafted],
        env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "conformance", "judge")},
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (40, 40)),
    )
    check("a grouped call of 80,000 receives takes linear time", done.returncode == 0, done)
    stream = [{"format": streams.FORMAT, "rank": 0, "world": 1}, {"stream": 0, "name": "s"}]
    cells = [{"op": "x", "on": 0, "writes": [[i, 1]]} for i in range(0, 20000, 2)]
    for what, records, words in (
        (
            "accesses to very many ranges",
            [*cells, *({"op": "y", "on": 0, "reads": [[0, 20000]]} for _ in range(10000))],
            f"more than {limits.WORK} comparisons",
        ),
        (
            "very many streams",
            [{"stream": i, "name": "s"} for i in range(1, 1000)],
            f"more than {limits.CLOCKS} streams",
        ),
    ):
        try:
            streams.check([stream + records])
            why = "accepted"
        except streams.InvalidLog as error:
            why = str(error)
        check(f"a stream log with {what} is refused", words in why, why)


def test_recorder():
    """A trace that cannot be opened, or whose end cannot be stored, is reported."""
    for kind in ("a FIFO", "a FIFO with a reader"):
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.redirect_stderr(io.StringIO()) as said,
            contextlib.ExitStack() as readers,
        ):
            name = os.path.join(folder, "rank-0.zpt")
            os.mkfifo(name)
            if kind != "a FIFO":
                reader = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
                readers.callback(os.close, reader)
            trace = zeroproof_trace.TraceFile(folder, 0, 1)
            try:
                ended = kind == "a FIFO" or os.read(reader, 1) == b""
            except BlockingIOError:  # the recorder still has it open
                ended = False
            trace.mark(4, 0)
            trace.close()
        text = said.getvalue()
        good = text.count("cannot write the trace of rank 0") == 1
        check(f"{kind} in place of a trace is reported", good, text)
        check(f"{kind}: a reader gets the end of the file", ended)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as said:
        trace = zeroproof_trace.TraceFile(folder, 0, 1)
        with unittest.mock.patch("os.fsync", side_effect=OSError(28, "No space left on device")):
            trace.close()
        trace.close()
    check(
        "a trace that the disk does not store is reported",
        said.getvalue().count("cannot write the trace of rank 0") == 1,
        said.getvalue(),
    )


def test_documented():
    """ADAPTER.md lists the limits."""
    with open(os.path.join(ROOT, "conformance", "ADAPTER.md"), encoding="utf-8") as file:
        part = file.read().partition("\n## Limits\n")[2].partition("\n## ")[0]
    for name in (n for n in dir(limits) if n.isupper()):
        value = getattr(limits, name)
        text = (
            f"{value >> 20:,} MiB" if value % (1 << 20) == 0 and value < 1 << 40 else f"{value:,}"
        )
        check(f"ADAPTER.md lists {name}: {text}", name in part and text in part, part)


sys.exit(
    main(
        test_writing,
        test_results,
        test_standard_output,
        test_log,
        test_inputs,
        test_overwriting,
        test_strict_json,
        test_memory,
        test_crafted,
        test_recorder,
        test_documented,
    )
)
