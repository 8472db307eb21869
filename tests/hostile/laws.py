"""Runs one command on one input, and checks the laws that hold whatever the input is.

Each law has a name, by which findings are counted. No verdict depends on the machine's load: a
process is ended for the processor time that it used, or because nothing in it ran or could run."""

import ctypes
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree

LAWS = {
    "exit code": "the exit code is 0, 1, 2 or 3; no signal ends the process",
    "processor time": "an input of this size is answered within the limit of processor time",
    "hang": "the process does not stand still",
    "memory": "an input of this size takes less memory than the limit",
    "sanitizer": "AddressSanitizer and UBSan report nothing",
    "suite": "no Python traceback, and no verdict of the judge on itself",
    "message": "a refusal or a failure has a message on standard error",
    "control": "no control characters and invalid UTF-8 reach the output",
    "json": "with --json, standard output is strict JSON when the exit code is 0 or 1",
    "file json": "a written JSON file is strict JSON",
    "file text": "a written text is UTF-8 without control characters, and XML is well-formed",
    "file page": "a written page has no scripts, and its links lead to the web or to files",
    "elsewhere": "nothing is written elsewhere, and no input is changed",
    "temporary": "no temporary file is left",
    "child": "no child process survives",
}
CODES = (0, 1, 2, 3)
SIMDEV = "-simdev"  # the name of the command that runs the CUDA engine, after the other's
HELP = {"--help", "--usage", "-?", "--version", "-V"}
# The self-test has smaller limits, which its defects reach soon.
SET = dict(pair.split("=") for pair in os.environ.get("ZP_HOSTILE_LIMITS", "").split(",") if pair)
CPU_S = int(SET.get("cpu", 30))  # of one process; the slowest of the fixed inputs takes a tenth
WORK_CPU_S = 1  # of a command that was given much work: it is ended, and that is no finding
MEMORY = (
    int(SET.get("memory", 3072)) << 20
)  # bytes of all its processes; the sanitizers take two to three times as much
IDLE_S = int(
    SET.get("idle", 40)
)  # so long nothing ran or could run: longer than each deadline of the inputs
WALL_S = 1200  # for processes that keep waking up without doing anything
GONE_S = int(SET.get("gone", 20))  # for a killed child to disappear, on a busy machine
OUTPUT = 64 << 20  # bytes read of an output
CONTROL = re.compile("[\0-\x08\x0b-\x1f\x80-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
REPORT = re.compile(r"ERROR: \w+Sanitizer|runtime error: |SUMMARY: \w+Sanitizer|CHECK failed")
SUITE = re.compile(
    r"Traceback \(most recent call last\)|internal error of the suite|"
    r"the judge failed|the suite itself failed"
)
BINARY = (".bin", ".zpt")  # of checkpoints and recorded runs
JSON, XML, PAGE = ((".json",), (".xml", ".svg"), (".html",))  # other files by how they begin
RUNS = re.compile(
    r"""<(script|iframe|object|embed|img|form|meta\s+http-equiv)\b|"""
    r"""<[^>]*\s(on\w+\s*=|(href|src)\s*=(?!["'](https?://|\#|[\w./-]+["'])))""",
    re.IGNORECASE,
)
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "INJECTED", "ZEROPROOF_TRUE")  # the last two: injected.py
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


class Outcome:
    """code: the exit code, negative for a signal, None when the run was stopped; broken: {law: what
    was seen}."""

    def __init__(self):
        self.code, self.broken = None, {}
        self.cpu, self.memory, self.seconds = 0.0, 0, 0.0

    def word(self):
        return "stopped" if self.code is None else str(self.code)


def become_reaper():
    """Makes this process the parent of all orphans below it, and ends it with its own parent."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Box:
    """A folder for one run: work/ (the current folder), tmp/ (TMPDIR), home/, elsewhere/."""

    def __init__(self, folder):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("work", "tmp", "home", "elsewhere", "reports"):
            os.makedirs(self.at(name))
        with open(self.at("elsewhere", "kept"), "wb") as file:
            file.write(b"this file belongs to another program\n")

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def fill(self, files):
        """Makes the files of an input: {name: {"bytes"|"link"|"fifo"|"folder"|"sparse"|"copy"}}."""
        for name, entry in files.items():
            where = self.at("work", name)
            os.makedirs(os.path.dirname(where), exist_ok=True)
            if "bytes" in entry:
                with open(where, "wb") as file:
                    file.write(entry["bytes"])
            elif "sparse" in entry:
                with open(where, "wb") as file:
                    file.truncate(entry["sparse"])
            elif "link" in entry:
                os.symlink(entry["link"], where)
            elif "fifo" in entry:
                os.mkfifo(where)
            else:
                os.mkdir(where)

    def snapshot(self, folder):
        """{name: what is there} of a folder, links not followed."""
        found = {}
        for at, folders, names in os.walk(self.at(folder)):
            for name in folders + names:
                full = os.path.join(at, name)
                state = os.lstat(full)
                same = (state.st_mode, state.st_size, state.st_mtime_ns, state.st_ino)
                is_folder = os.path.isdir(full) and not os.path.islink(full)
                found[os.path.relpath(full, self.folder)] = same[:1] if is_folder else same
        return found

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- Processes -----------------------------------------------------------------------------------


def below(root):
    """{process id: (state, ticks of processor time, pages)} of all descendants of `root`."""
    parents, about = {}, {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(name)] = int(fields[1])
        about[int(name)] = (
            fields[0],
            int(fields[11]) + int(fields[12]),
            int(fields[21]),
        )
    found = {}
    todo = [root]
    while todo:
        at = todo.pop()
        for child, parent in parents.items():
            if parent == at and child not in found:
                found[child] = about[child]
                todo.append(child)
    return found


def kill(processes):
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


def kill_all():
    """Ends all descendants. Looks again until it finds no more, since they may start others."""
    for _ in range(1000):
        kill(below(os.getpid()))
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.01)


class Watch:
    """Decides whether a running command must be ended, and why."""

    def __init__(self):
        self.began = self.looked = self.moved = time.monotonic()
        self.ticks = None

    def look(self, most_memory):
        now = time.monotonic()
        if now - self.looked < 0.1:
            return None
        self.looked = now
        found = below(os.getpid())
        pages = sum(pages for _, _, pages in found.values())
        if pages * resource.getpagesize() > most_memory:
            return "memory"
        ticks = {process: about[1] for process, about in found.items()}
        runs = any(state in "RD" for state, _, _ in found.values())
        if runs or ticks != self.ticks:
            self.moved, self.ticks = now, ticks
        if now - self.moved > IDLE_S or now - self.began > WALL_S:
            return "hang"
        return None


def limits(cpu):
    def set_limits():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 60))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return set_limits


def environment(box, argv, more):
    log = box.at("reports", "log")
    leaks = int(b"launch" not in argv)  # Open MPI does not free all that MPI_Init allocates
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {
        **kept,
        "LANG": "C.UTF-8",
        "HOME": box.at("home"),
        "CCACHE_DISABLE": "1",  # `env` asks compilers for their versions; a cache counts that
        "TMPDIR": box.at("tmp"),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOSTILE": "1",
        "ASAN_OPTIONS": f"log_path={log}:exitcode=99:allocator_may_return_null=1:"
        f"max_allocation_size_mb=2048:detect_leaks={leaks}:handle_segv=1",
        "UBSAN_OPTIONS": f"log_path={log}:print_stacktrace=1:exitcode=99",
        **more,
    }


def execute(item, box, argv, out):
    """Starts the command and waits for it. Sets code, cpu and memory of `out`."""
    work = item.get("work")
    source = box.at("stdin")
    with open(source, "wb") as file:
        file.write(item.get("stdin", b"").replace(b"{box}", box.folder.encode()))
    with (
        open(source, "rb") as given,
        open(box.at("out"), "wb") as o,
        open(box.at("err"), "wb") as e,
    ):
        process = subprocess.Popen(
            argv,
            cwd=box.at("work"),
            env=environment(box, argv, item.get("env", {})),
            stdin=given,
            stdout=o,
            stderr=e,
            start_new_session=True,
            preexec_fn=limits(WORK_CPU_S if work else CPU_S),
        )
    watch, pause, why = Watch(), 0.001, None
    while True:
        done, status, usage = os.wait4(process.pid, os.WNOHANG)
        if done:
            break
        why = why or watch.look(MEMORY)
        if why:
            kill([*below(process.pid), process.pid])
        time.sleep(pause)
        pause = min(0.05, 1.5 * pause)
    process.returncode = out.code = os.waitstatus_to_exitcode(status)
    out.cpu, out.memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
    if out.code == -signal.SIGXCPU and why is None:
        why = "processor time"
    if why and not (work and why != "hang"):
        out.broken[why] = f"ended after {out.cpu:.1f} s of processor time, {out.memory >> 20} MiB"
    if why:
        out.code = None


def survivors(out):
    """Children that outlive the command. A killed one needs time to disappear."""
    end = time.monotonic() + GONE_S
    seen = None
    while True:
        try:
            done, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if done:
            continue
        seen = below(os.getpid())
        if time.monotonic() > end:
            break
        time.sleep(0.005)
    names = []
    for process in seen:
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                names.append(file.read(80).replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            pass
    if out.code is not None:
        out.broken["child"] = f"{len(seen)} left: {'; '.join(names)}"
    kill_all()


# ---- Laws ----------------------------------------------------------------------------------------


def read(name):
    with open(name, "rb") as file:
        return file.read(OUTPUT)


def refuse_constant(word):
    raise ValueError(f"{word} is not JSON")


def no_duplicates(pairs):
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def strict(data):
    """Why data is not one strict JSON document, or None."""
    try:
        json.loads(
            data.decode("utf-8"),
            parse_constant=refuse_constant,
            object_pairs_hook=no_duplicates,
        )
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


def check_output(item, out, said, wrong):
    """The laws about what the command printed."""
    for name, data in (("standard output", said), ("standard error", wrong)):
        try:
            found = CONTROL.search(data.decode("utf-8"))
            if found:
                near = data.decode("utf-8")[max(0, found.start() - 40) : found.end() + 20]
                out.broken["control"] = f"{name}: {near!a}"
        except UnicodeDecodeError as error:
            near = data[max(0, error.start - 40) : error.start + 20]
            out.broken["control"] = f"{name} is not UTF-8: {near!a}"
        found = SUITE.search(data.decode("utf-8", "replace"))
        if found:
            near = data.decode("utf-8", "replace")[found.start() : found.start() + 300]
            out.broken["suite"] = f"{name}: {near!a}"
    if out.code in (2, 3) and not wrong.strip():
        out.broken["message"] = f"exit code {out.code} without a message on standard error"
    if out.code == 1 and not (wrong + said).strip():
        out.broken["message"] = "exit code 1 without any output"
    words = set(item["argv"])
    asked = item.get("json") == "lines" or ("--json" in words and not words & HELP)
    if item.get("json") and asked and out.code in (0, 1):
        documents = said.splitlines() if item["json"] == "lines" else [said]
        why = next(filter(None, map(strict, documents)), None)
        if why:
            out.broken["json"] = why


def is_kind(item, name, data, ends, begins):
    """By how a file begins, if the input chose its name: `--svg in.json` writes a picture."""
    chosen = os.path.relpath(name, "work") in item.get("writes", ())
    by_name = "." in os.path.basename(name) and not chosen
    return name.endswith(ends) if by_name else data.startswith(begins)


def check_written(item, before, box, out):
    """The laws about files that the command was asked to write, unless another program wrote in
    them: the log has the adapter's own words, and a file may be one that the input brought."""
    words = item["argv"]
    logs = {at for word, at in zip(words, words[1:], strict=False) if word == "--log"}
    for name, state in box.snapshot("work").items():
        full = box.at(name)
        if before["work"].get(name) == state or not os.path.isfile(full) or os.path.islink(full):
            continue
        if name.endswith(BINARY) or os.path.relpath(name, "work") in logs:
            continue
        data = read(full)
        text = data.decode("utf-8", "replace")
        found = CONTROL.search(text)
        if text.encode() != data:
            out.broken["file text"] = f"{name} is not UTF-8"
        elif found:
            out.broken["file text"] = f"{name}: {text[max(0, found.start() - 40) :][:60]!a}"
        if is_kind(item, name, data, JSON, (b"{", b"[")):
            why = strict(data)
            if why:
                out.broken["file json"] = f"{name}: {why}"
        if is_kind(item, name, data, XML, (b"<?xml", b"<svg")):
            try:
                xml.etree.ElementTree.fromstring(data)
            except (xml.etree.ElementTree.ParseError, ValueError) as error:
                out.broken["file text"] = f"{name}: {error}"
        found = RUNS.search(text) if is_kind(item, name, data, PAGE, (b"<!doctype html",)) else None
        if found:
            near = text[max(0, found.start() - 40) :][:160]
            out.broken["file page"] = f"{name}: {near!a}"


def check_reports(box, out):
    reports = [box.at("reports", name) for name in sorted(os.listdir(box.at("reports")))]
    for name in [*reports, box.at("err")]:
        text = read(name).decode("utf-8", "replace")
        if REPORT.search(text):
            lines = [line for line in text.splitlines() if REPORT.search(line) or " in " in line]
            out.broken["sanitizer"] = " | ".join(line.strip()[:160] for line in lines[:6])


def check_files(item, before, box, out):
    if box.snapshot("elsewhere") != before["elsewhere"] or os.listdir(box.at("home")):
        out.broken["elsewhere"] = "elsewhere/ or home/ was changed"
    after = box.snapshot("work")
    changed = [
        name
        for name, state in before["work"].items()
        if after.get(name) != state and not writes(item, name)
    ]
    more = [name for name in after if name not in before["work"] and not writes(item, name)]
    if changed or more:
        what = f"changed: {changed[:5]}; new: {more[:5]}"
        out.broken["elsewhere"] = what
    left = os.listdir(box.at("tmp"))
    if left and out.code is not None and out.code >= 0:
        out.broken["temporary"] = f"left in TMPDIR: {left[:5]}"


def writes(item, name):
    """Is `name`, relative to the box, a file or folder that the command was asked to write?"""
    name = os.path.relpath(name, "work")
    return any(
        name == one or name.startswith(one.rstrip("/") + "/") for one in item.get("writes", ())
    )


def run(item, folder, program):
    """Runs an input in `folder`, which is removed. Returns an Outcome.

    item: argv ({zeroproof}, {simdev}, {here} and {box} are replaced), files, stdin, env, json (True
    or "lines"), work (True: it may be stopped), writes (names that it was asked to write)."""
    box, out, began = Box(folder), Outcome(), time.monotonic()
    try:
        box.fill(item.get("files", {}))
        before = {name: box.snapshot(name) for name in ("work", "elsewhere")}
        here = os.path.dirname(os.path.abspath(__file__))
        names = {"{zeroproof}": program, "{here}": here, "{box}": folder}
        names["{simdev}"] = program + SIMDEV
        argv = []
        for word in item["argv"]:
            for name, full in names.items():
                word = word.replace(name, full)
            argv.append(word.encode("utf-8", "surrogateescape"))
        execute(item, box, argv, out)
        survivors(out)
        said, wrong = read(box.at("out")), read(box.at("err"))
        if out.code is not None and out.code not in CODES:
            tail = wrong.decode("utf-8", "replace")[-300:]
            out.broken["exit code"] = f"got {out.code}, expected one of 0, 1, 2, 3; {tail!a}"
        check_output(item, out, said, wrong)
        check_reports(box, out)
        check_files(item, before, box, out)
        if out.code is not None:  # a command that was stopped may have written a part
            check_written(item, before, box, out)
        out.said, out.wrong = said, wrong
    finally:
        out.seconds = time.monotonic() - began
        box.remove()
    return out
