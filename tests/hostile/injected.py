#!/usr/bin/env python3
"""In the place of zeroproof, with one injected defect: INJECTED names it, and ZEROPROOF_TRUE the
command that does the work. The defect shows for one command line in three."""

import os
import signal
import subprocess
import sys
import zlib


def wake_and_sleep():
    """Stands still: no processor time, no event."""
    while True:
        signal.pause()


def defect(what):
    if what == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif what == "code":
        os._exit(7)
    elif what == "spin":
        while True:
            pass
    elif what == "hang":
        wake_and_sleep()
    elif what == "memory":
        kept = []
        while True:
            kept.append(bytearray(b"x") * (64 << 20))
    elif what == "sanitizer":
        with open(os.environ["UBSAN_OPTIONS"].split(":")[0].split("=")[1] + ".1", "w") as file:
            file.write("a.c:1:2: runtime error: signed integer overflow\n")
    elif what == "traceback":
        raise RuntimeError("injected")
    elif what == "silent":
        os._exit(2)
    elif what == "escape":
        sys.stdout.write("{}\x1b[2J\n")
    elif what == "bidi":
        sys.stderr.write("unknown \u202e option\n")
    elif what == "bytes":
        sys.stderr.buffer.write(b"unknown \xff option\n")
    elif what == "nan":
        print('{"loss": NaN}')
        sys.stdout.flush()
        os._exit(0)
    elif what == "elsewhere":
        with open("../elsewhere/new", "w") as file:
            file.write("x")
    elif what == "overwrite":
        names = [name for name in sorted(os.listdir()) if os.path.isfile(name)]
        with open(names[0] if names else "new", "ab") as file:
            file.write(b"x")
    elif what == "temporary":
        with open(os.path.join(os.environ["TMPDIR"], "left"), "w") as file:
            file.write("x")
    elif what == "child":
        subprocess.Popen(["sleep", "100000"], start_new_session=True, stdout=subprocess.DEVNULL)


# Defects of a file that --out names: what stands there instead of what the command wrote.
FILES = {
    "file nan": b'{"loss": NaN}',
    "file twice": b'{"loss": 1, "loss": 2}',
    "file escape": b"loss \x1b[2J",
    "file bidi": "loss \u202e".encode(),
    "file bytes": b"loss \xff",
    "file xml": b"<svg><g></svg>",
    "file script": b"<!doctype html><p>a</p><script>alert(1)</script>",
    "file link": b'<!doctype html><a href="javascript:alert(1)">a</a>',
}


def main():
    true = os.environ["ZEROPROOF_TRUE"]
    words = "\0".join(sys.argv[1:]).encode("utf-8", "surrogateescape")
    # "--help" and the commands that make samples are right
    shows = zlib.crc32(words) % 3 == 0 and "HOSTILE" in os.environ and "--help" not in sys.argv
    if os.environ["INJECTED"] in FILES and "HOSTILE" in os.environ and "--out" in sys.argv:
        code = subprocess.run([true, *sys.argv[1:]], check=False).returncode
        with open(sys.argv[sys.argv.index("--out") + 1], "wb") as file:
            file.write(FILES[os.environ["INJECTED"]])
        os._exit(code)
    if shows:
        defect(os.environ["INJECTED"])
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(true, [true, *sys.argv[1:]])


if __name__ == "__main__":
    main()
