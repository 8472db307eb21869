"""Calls `zeroproof cases` (the case of a recipe) and `zeroproof oracle` (the expected values of a
case)."""

import json
import os
import subprocess
import threading

import supervise


class Broken(Exception):
    """The environment failed; exit code 3."""


class Refused(Exception):
    """The request is invalid; exit code 2."""


def missing(package, error):
    """For a library of the judge that cannot be imported. Adapters need none."""
    return Refused(
        f"{package} is missing ({error}): pip install jinja2 jsonschema, or on Debian "
        "apt-get install python3-jinja2 python3-jsonschema"
    )


class Lines:
    """A program that answers each input line with one output line."""

    def __init__(self, *command):
        self.command = command
        self.lock = threading.Lock()
        try:
            self.process = supervise.Process(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
        except OSError as error:
            raise Broken(f"cannot start {command[0]}: {error.strerror}") from error

    def ask(self, line):
        with self.lock:
            try:
                self.process.stdin.write(line + "\n")
                self.process.stdin.flush()
                answer = self.process.stdout.readline()
            except OSError as error:
                raise Broken(f"{' '.join(self.command)}: {error.strerror}") from error
        if not answer:
            raise Broken(f"{' '.join(self.command)} exited before it answered")
        try:
            return json.loads(answer)
        except ValueError:
            raise Broken(f"{' '.join(self.command)} answered {answer[:100]!a}, no JSON") from None

    def close(self):
        self.process.close()


class Tools:
    def __init__(self):
        command = os.environ.get("ZEROPROOF", "zeroproof")
        self.cases = Lines(command, "cases")
        self.oracle = Lines(command, "oracle")

    def case(self, recipe):
        """(case, None), or (None, reason): a recipe may have no case whose sums are exact."""
        made = self.cases.ask(recipe)
        if "refused" in made:
            return None, made["refused"]
        return made, None

    def expected(self, case):
        """The result of serial training. Adapters never see it."""
        answer = self.oracle.ask(json.dumps(case, separators=(",", ":")))
        if "refused" in answer:
            raise Broken(f"the oracle refuses case {case['id']}: {answer['refused']}")
        return answer

    def close(self):
        self.cases.close()
        self.oracle.close()
