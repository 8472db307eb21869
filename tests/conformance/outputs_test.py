"""Files that the judge cannot write: the verdict is printed, the former file stays, the error names
the file, and the other files are written. A page that cannot be made is refused first."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from selftest import COMMAND, QUICK, ROOT, TRAINER, check, content, judged, main, write

sys.path.insert(0, os.path.join(ROOT, "conformance", "judge"))

import report as reports  # noqa: E402


def test_full_disk():
    """A file that cannot be written loses neither the verdict nor the former file."""
    for fault, verdict, code, most in (
        ("correct", "1 case passed", 3, 1400),
        ("local", "1 failed", 1, 8000),
    ):
        with tempfile.TemporaryDirectory() as folder:
            for name in reports.FORMS:
                write(os.path.join(folder, name), "former")
            # the temporary file with one row per case is smaller, report.html is larger
            done = judged(
                "--only",
                "dp=2,optim=sgd,list=3@0.0",
                "--out",
                folder,
                adapter=f"{TRAINER} {fault}",
                most=most,
            )
            left = content(folder)
        whole = [name for name, raw in left.items() if raw == b"former"]
        check(
            f"{fault}: the verdict is printed, the error names the file, the exit code is {code}",
            done.returncode == code
            and verdict in done.stdout
            and f"cannot write {folder}/report." in done.stderr
            and ": File too large" in done.stderr
            and done.stderr.count("cannot write") == 1,
            (done.returncode, done.stdout, done.stderr),
        )
        check(
            f"{fault}: former reports are whole, and nothing else is left",
            whole == sorted(reports.FORMS) == list(left),
            left,
        )
    accepted()


def accepted():
    with tempfile.TemporaryDirectory() as folder:
        for option, more, most in (
            ("--support", ["--accept-support", "--only", "dp=2,optim=sgd,list=3@0.0"], 700),
            ("--quick", ["--accept-quick"], 100),
        ):
            name = os.path.join(folder, option)
            write(name, "former")
            done = judged(option, name, *more, most=most)
            check(
                f"{more[0]} on a full disk is reported, and the former list is whole",
                done.returncode == 3
                and f"cannot write {name}: File too large" in done.stderr
                and content(folder) == {option: b"former"}
                and ("1 case passed" in done.stdout) == (option == "--support"),
                (done.returncode, done.stdout, done.stderr, content(folder)),
            )
            os.remove(name)
        # an entry of the list that is longer than the limit of a file
        name, text = os.path.join(folder, "known"), known_list(20000)
        write(name, text)
        done = judged(
            "--known", name, "--accept-known", "--only", "dp=2,optim=sgd,list=3@0.0", most=9000
        )
        check(
            "--accept-known on a full disk is reported, and the former list is whole",
            done.returncode == 3
            and f"cannot write {name}: File too large" in done.stderr
            and content(folder) == {"known": text.encode()}
            and "1 case passed" in done.stdout,
            (done.returncode, done.stdout, done.stderr, list(content(folder))),
        )


def known_list(size):
    cause = {"title": "t", "class": "defect", "subject": "selftest", "note": "n"}
    entry = {"cause": "c", "clause": "RED-3", "kind": "x" * size, "needs": []}
    return json.dumps({"causes": {"c": cause}, "failures": [entry]})


def test_each_output():
    """A file that cannot be written does not prevent the others."""
    with tempfile.TemporaryDirectory() as folder:
        known, out = os.path.join(folder, "known"), os.path.join(folder, "out")
        write(known, known_list(300_000))  # the report is smaller
        more = ["--known", known, "--accept-known", "--support", "/proc/x/y", "--accept-support"]
        more += ["--only", "dp=2,optim=sgd,list=3@0.0", "--out", out]
        for fault, code in (("correct", 3), ("local", 1)):
            done = judged(*more, adapter=f"{TRAINER} {fault}", most=200_000)
            check(
                f"{fault}: both lists that cannot be written are reported, and --out is written",
                done.returncode == code
                and f"cannot write {known}: File too large" in done.stderr
                and "/proc/x" in done.stderr
                and sorted(os.listdir(out)) == sorted(reports.FORMS),
                (done.returncode, done.stderr),
            )
            shutil.rmtree(out, ignore_errors=True)


# sh -c SMALL sh FOLDER COMMAND [ARGUMENT…] runs the command while the files of FOLDER/files are in
# FOLDER/disk, a file system without room
SMALL = """
mkdir "$1/disk" && mount -t tmpfs -o size=64k none "$1/disk" || exit 99
cp -r "$1/files/." "$1/disk"
head -c 70000 /dev/zero >"$1/disk/filler" 2>/dev/null
folder=$1; shift
"$@"; code=$?
rm "$folder/disk/filler"; cp -r "$folder/disk/." "$folder/files"; exit $code
"""


def test_small_disk():
    """A file system without room: each file that `check` writes."""
    may = subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True
    )
    if may.returncode:
        print("not run: mounting is not permitted, so the files were not tested on a small disk")
        return
    said = f"sh -c 'echo words >&2; exec {TRAINER} correct'"
    for option, more, former in (
        ("--log", [], "f" * 4096),  # a page is full
        ("--out", [], "former"),
        ("--known", ["--accept-known"], known_list(20000)),
        ("--support", ["--accept-support"], "former"),
        ("--quick", ["--accept-quick"], "former"),
    ):
        with tempfile.TemporaryDirectory() as folder:
            name = "report.json" if option == "--out" else "file"
            os.mkdir(os.path.join(folder, "files"))
            write(os.path.join(folder, "files", name), former)
            where = os.path.join(folder, "disk", "" if option == "--out" else name)
            command = [COMMAND, "check", "--adapter", said, *QUICK, *more, option, where]
            only = ["--only", "dp=2,optim=sgd,list=3@0.0"] * (option != "--quick")
            done = subprocess.run(
                ["unshare", "-rm", "sh", "-c", SMALL, "sh", folder, *command, *only],
                capture_output=True,
                text=True,
            )
            left = content(os.path.join(folder, "files"))
        check(
            f"{option} {' '.join(more)} without room is reported, and the former file is whole",
            done.returncode == 3
            and f"{folder}/disk" in done.stderr
            and "cannot write" in done.stderr
            and ("1 case passed" in done.stdout) == (option != "--quick")
            and left == {name: former.encode()},
            (done.returncode, done.stdout, done.stderr, left),
        )


def test_without_jinja2():
    """Only pages need Jinja2: without it, `check --out` does not even start the adapter."""
    with tempfile.TemporaryDirectory() as folder:
        write(os.path.join(folder, "jinja2.py"), "raise ImportError")
        env = {**os.environ, "PYTHONPATH": folder}
        done = judged(env=env)
        check("without Jinja2, check judges", done.returncode == 0, (done.returncode, done.stderr))
        started, out = os.path.join(folder, "started"), os.path.join(folder, "out")
        done = judged("--out", out, adapter=f"touch {started}", env=env)
        check(
            "without Jinja2, check --out is refused before anything is run",
            done.returncode == 2
            and "jinja2 is missing" in done.stderr
            and "jinja2 jsonschema, or on Debian" in done.stderr
            and not os.path.exists(started)
            and not os.path.exists(out),
            (done.returncode, done.stderr),
        )


sys.exit(main(test_full_disk, test_each_output, test_small_disk, test_without_jinja2))
