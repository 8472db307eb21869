"""pytest --zeroproof=my_adapter.py: each case of the conformance suite is a test.

A failure's message is the smallest failing case and its diagnosis. -k selects by case id, clause
(STAT_4), axis value (dp_2) or bug family; JUnit and xdist work as for other tests: with xdist each
case runs alone, without it all selected ones run together before the first is reported."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from .__main__ import command_path


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("zeroproof", "conformance of ZeRO implementations (zeroproof)")
    group.addoption(
        "--zeroproof",
        action="append",
        default=[],
        metavar="FILE.py[:NAME]",
        help="run the conformance suite on the function of FILE.py that has @adapter",
    )
    group.addoption(
        "--zeroproof-seed", type=int, default=1, metavar="N", help="seed of the cases (1)"
    )
    group.addoption(
        "--zeroproof-shrink",
        type=int,
        default=20,
        metavar="N",
        help="number of cases to run in order to shrink that of one failure (20)",
    )


class Suite:
    """The cases of one adapter, and what running them has shown."""

    def __init__(self, config: pytest.Config, name: str, command: str) -> None:
        self.config, self.name, self.command = config, name, command
        self.reports: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {}

    def check(self, *words: str) -> list[str]:
        seed = str(self.config.getoption("--zeroproof-seed"))
        return [str(command_path()), "check", "--adapter", self.command, "--seed", seed, *words]

    def cases(self) -> list[tuple[str, list[str], str]]:
        """(id, bug families, recipe) of all cases that the adapter supports."""
        done = subprocess.run(
            self.check("--list"), env=_environment(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise pytest.Collector.CollectError(f"{self.name}: {done.stderr.strip()}")
        rows = [line.split("  ", 2) for line in done.stdout.splitlines()]
        return [(row[0], row[1].split(","), row[2]) for row in rows if len(row) == 3]

    def run(self, ids: Sequence[str]) -> None:
        """Runs cases and keeps their results, and the cause of each failure."""
        only = [word for one in ids for word in ("--only", one)]
        shrink = ["--shrink", str(self.config.getoption("--zeroproof-shrink"))]
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(
                self.check("--seconds", "0", "--json", *shrink, *only),
                env=_environment(),
                stdout=out,
                stderr=subprocess.PIPE,
                text=True,
            )
            said = []
            assert process.stderr is not None
            for line in process.stderr:
                if "longer than --seconds" in line:  # the suite's own option, not the user's
                    continue
                said.append(line)
                self.progress(line.rstrip())
            code = process.wait()
            out.seek(0)
            text = out.read()
        if code >= 2 or not text.strip():
            raise SuiteFailed(f"zeroproof check ended with exit code {code}\n{''.join(said)}")
        report = json.loads(text)
        causes = {case: cause for cause in report["causes"] for case in cause["cases"]}
        for row in report["results"]:
            self.reports[row["id"]] = (row, causes.get(row["id"]))

    def progress(self, line: str) -> None:
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        capture = self.config.pluginmanager.get_plugin("capturemanager")
        if terminal is None or capture is None or self.config.getoption("verbose") < 0:
            return
        with capture.global_and_fixture_disabled():
            terminal.write_line(f"  zeroproof: {line}")


class SuiteFailed(Exception):
    """The suite could not judge: the adapter does not start, or breaks the protocol."""


class CaseFailed(Exception):
    """A case failed; the message is the diagnosis."""


class CaseItem(pytest.Item):
    """One case."""

    def __init__(self, *, suite: Suite, case: tuple[str, Sequence[str], str], **more: Any) -> None:
        super().__init__(**more)
        self.suite, (self.case_id, families, self.recipe) = suite, case
        settings = re.split(r"[, ]", self.recipe)
        self.extra_keyword_matches.update({self.case_id, *families})
        self.extra_keyword_matches.update(re.sub(r"\W", "_", word) for word in settings)

    def runtest(self) -> None:
        if self.case_id not in self.suite.reports:
            alone = hasattr(self.config, "workerinput")  # xdist: others run on other workers
            mine = [self] if alone else [i for i in self.session.items if self.same(i)]
            self.suite.run([item.case_id for item in mine if isinstance(item, CaseItem)])
        if self.case_id not in self.suite.reports:
            raise SuiteFailed(f"{self.case_id}: the run ended without a result of this case")
        row, cause = self.suite.reports[self.case_id]
        if row["status"] == "unsupported":
            pytest.skip(row["message"])
        if row["status"] != "pass":
            raise CaseFailed(diagnosis(self.suite, row, cause))

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, f"{self.suite.name}, case {self.name}"

    def same(self, other: pytest.Item) -> bool:
        return isinstance(other, CaseItem) and other.suite is self.suite

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> Any:
        if isinstance(excinfo.value, (CaseFailed, SuiteFailed)):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


def diagnosis(suite: Suite, row: Mapping[str, Any], cause: Mapping[str, Any] | None) -> str:
    """What a failed test says: the clause, what was got and expected, the smallest case."""
    lines = [f"{f['clause']} {f['kind']}: {f['text']}" for f in row["findings"][:3]]
    if cause is not None:
        lines = [f"{cause['clause']} {cause['kind']}", "", cause["text"]]
        shrunk = suite.config.getoption("--zeroproof-shrink")
        lines += ["", f"{'smallest case' if shrunk else 'case, not shrunk'}: {cause['recipe']}"]
        lines += [f"it has: {', '.join(cause['needs'])}"] if cause["needs"] else []
    recipe = cause["recipe"] if cause is not None else row["recipe"]
    clause = cause["clause"] if cause is not None else row["findings"][0]["clause"]
    return "\n".join(
        [
            *lines,
            f"what the clause says: zeroproof explain {clause}",
            "reproduce: "
            + shlex.join(["zeroproof", *suite.check("--shrink", "0", "--only", recipe)[1:]]),
        ]
    )


def _environment() -> dict[str, str]:
    return {**os.environ, "ZEROPROOF_PYTHON": sys.executable}


class SuiteFile(pytest.File):
    """An adapter's file: its items are the cases that it supports."""

    def collect(self) -> Iterator[pytest.Item]:
        for words in _named(self.config, self.path):
            command = shlex.join([sys.executable, "-m", "zeroproof.adapter", words])
            suite = Suite(self.config, words, command)
            for case in suite.cases():
                yield CaseItem.from_parent(self, name=case[0], suite=suite, case=case)


def _named(config: pytest.Config, path: pathlib.Path) -> list[str]:
    """The adapters of a file that --zeroproof names."""
    return [
        words
        for words in config.getoption("--zeroproof")
        if (config.invocation_params.dir / words.partition(":")[0]).resolve() == path.resolve()
    ]


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--zeroproof") and config.args_source != config.ArgsSource.ARGS:
        config.args.clear()  # the working directory: its tests were not asked for
    for words in config.getoption("--zeroproof"):
        file = words.partition(":")[0]
        if not (config.invocation_params.dir / file).is_file():
            raise pytest.UsageError(f"--zeroproof: there is no file {file}")
        config.args.append(str(config.invocation_params.dir / file))


def pytest_collect_file(file_path: pathlib.Path, parent: pytest.Collector) -> Any:
    if _named(parent.config, file_path):
        return SuiteFile.from_parent(parent, path=file_path)
    return None
