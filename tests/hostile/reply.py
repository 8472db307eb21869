"""An adapter whose answers are those of a file: {"hello": line, "runs": {recipe: {"line", "files",
"before", "do"}}}, bytes in base64. Without an answer for a recipe it says "unsupported"."""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time


def key(recipe):
    """The judge writes the fields of a recipe in an order of its own."""
    return ",".join(sorted(recipe.split(",")))


def decoded(text):
    return base64.b64decode(text).replace(b"{box}", os.path.dirname(os.getcwd()).encode())


def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def behave(what, ledgers):
    """Instead of an answer. What does not end is ended by the judge's deadline."""
    if what == "blank":
        while True:
            write(b"\n" * 4096)
    elif what == "endless":
        while True:
            write(b"x" * 65536)
    elif what == "stderr":
        while True:
            sys.stderr.buffer.write(b"\x1b[2J noise \xff\n" * 1000)
    elif what == "drip":
        while True:
            write(b"x")
            time.sleep(1)
    elif what == "silent":
        while True:
            signal.pause()
    elif what == "exit":
        sys.exit(3)
    elif what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "child":
        subprocess.Popen(["sleep", "100000"], start_new_session=True)
    elif what == "hangs up on the parent":
        os.kill(os.getppid(), signal.SIGTERM)
    elif what == "removes the folder above ledgers":
        shutil.rmtree(os.path.dirname(ledgers), ignore_errors=True)


def put(where, data):
    """Writes a file among the ledgers, or what is in its place."""
    if data == "fifo":
        os.mkfifo(where)
    elif data == "folder":
        os.mkdir(where)
    elif data == "zero":
        os.symlink("/dev/zero", where)
    else:
        with open(where, "wb") as file:
            if isinstance(data, int):
                file.truncate(data)
            else:
                file.write(decoded(data))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        script = json.load(file)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["do"] == "hello":
            write(decoded(script["hello"]) + b"\n")
        elif request["do"] == "run":
            entry = script["runs"].get(key(request["case"]["recipe"]))
            if entry is None:
                write(b'{"status": "unsupported", "message": "not in the file"}\n')
                continue
            try:
                for name, data in entry.get("files", {}).items():
                    put(os.path.join(request["ledgers"], name), data)
            except FileNotFoundError:
                pass  # the judge has ended this case already, after a line too many
            write(decoded(entry.get("before", "")))
            behave(entry.get("do"), request["ledgers"])
            write(decoded(entry["line"]) + b"\n")
        else:
            break


if __name__ == "__main__":
    main()
