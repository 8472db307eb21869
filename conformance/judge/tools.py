"""The command's two questions: what is the case of this recipe, and what is right for this case."""
import json
import os
import subprocess
import threading


class Broken(Exception):
    """The environment failed: exit code 3."""


class Refused(Exception):
    """What was asked for cannot be: exit code 2."""


class Lines:
    """A program that answers each line with a line."""

    def __init__(self, *command):
        self.command = command
        self.lock = threading.Lock()
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            text=True, bufsize=1)
        except OSError as error:
            raise Broken(f"{command[0]} cannot be started: {error.strerror}") from error

    def ask(self, line):
        with self.lock:
            try:
                self.process.stdin.write(line + "\n")
                self.process.stdin.flush()
                answer = self.process.stdout.readline()
            except OSError as error:
                raise Broken(f"{' '.join(self.command)}: {error.strerror}") from error
        if not answer:
            raise Broken(f"{' '.join(self.command)} ended early")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Tools:
    def __init__(self):
        command = os.environ.get("ZEROPROOF", "zeroproof")
        self.cases = Lines(command, "cases")
        self.oracle = Lines(command, "oracle")
        self.known = {}

    def case(self, recipe):
        """The case, or (None, why): a recipe may have no exact case."""
        made = self.cases.ask(recipe)
        if "refused" in made:
            return None, made["refused"]
        return made, None

    def expected(self, case):
        """What serial training makes of it. Adapters never see it."""
        answer = self.oracle.ask(json.dumps(case, separators=(",", ":")))
        if "refused" in answer:
            raise Broken(f"the oracle refuses case {case['id']}: {answer['refused']}")
        return answer

    def close(self):
        self.cases.close()
        self.oracle.close()
