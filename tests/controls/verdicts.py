"""Pytest plugin: writes what each phase of each test came to, one JSON object a line, for the runner."""

import json
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The file to write to."""
    parser.addoption("--verdicts", type=Path, help="file for one JSON line per test and phase")


def pytest_configure(config: pytest.Config) -> None:
    """Write where tests are reported, not in workers."""
    path = config.getoption("--verdicts")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(path))


class _Writer:
    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reason = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else ""
        page = {"test": report.nodeid, "when": report.when, "outcome": report.outcome, "reason": reason}
        with self._path.open("a") as lines:
            lines.write(json.dumps(page) + "\n")
