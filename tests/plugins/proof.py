"""Results of the long suites: docs/proof/<suite>.json, written by profile `proof` alone.

A test hands facts to the fixture `proof_record`; they travel with its report to the process that reports
and are written when the run ends. In other profiles they are dropped. What a run of some tests did not make
anew stays, with the commit and time it is from, as long as its test is collected.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.plugins.profile import PROFILE, Profile


class ProofRecord(Protocol):
    """Keeps facts about the running test: counts, seeds, medians with units in their names."""

    def __call__(self, suite: str, **facts: object) -> None:
        """Add facts (JSON values) to docs/proof/<suite>.json."""
        ...


@pytest.fixture
def proof_record(request: pytest.FixtureRequest) -> ProofRecord:
    """`proof_record("crash", kill_points=42, kills=200)`."""

    def record(suite: str, **facts: object) -> None:
        if not suite.replace("-", "").isalnum():
            raise ValueError(f"a suite's name becomes a file's name: {suite!r}")
        request.node.user_properties.append(("proof", json.dumps({"suite": suite, "facts": facts})))

    return record


def pytest_configure(config: pytest.Config) -> None:
    """Register the writer in the process that reports, in profile `proof`."""
    profile = config.stash[PROFILE]
    if profile.name == "proof" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(profile, config), "hubbub-proof-writer")


class _Writer:
    def __init__(self, profile: Profile, config: pytest.Config) -> None:
        self._profile = profile
        self._root = config.rootpath
        self._plugins: list[str] = config.option.plugins
        self._commit = _commit_of(self._root)
        self._records: dict[str, list[Mapping[str, Any]]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            return
        for name, value in report.user_properties:
            if name == "proof":
                kept = json.loads(str(value))
                self._records.setdefault(kept["suite"], []).append(
                    {
                        "test": report.nodeid,
                        "outcome": report.outcome,
                        "duration_s": round(report.duration, 3),
                        **kept["facts"],
                    }
                )

    def pytest_sessionfinish(self) -> None:
        folder = self._root / "docs" / "proof"
        for suite, records in self._records.items():
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{suite}.json"
            records = [*records, *self._kept(path, {str(record["test"]) for record in records})]
            page = {
                "suite": suite,
                "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "commit": self._commit,
                "seed": self._profile.seed,
                "python": platform.python_version(),
                "cores": os.cpu_count(),
                "records": sorted(records, key=lambda record: str(record["test"])),
            }
            path.write_text(json.dumps(page, indent=2, ensure_ascii=False) + "\n")

    def _kept(self, path: Path, made_anew: Collection[str]) -> Iterator[Mapping[str, Any]]:
        """Yield records of an earlier run, of tests that are still collected, with where they come from."""
        if not path.exists():
            return
        page = json.loads(path.read_text())
        earlier = [record for record in page["records"] if record["test"] not in made_anew]
        there = self._collected({str(record["test"]).partition("::")[0] for record in earlier})
        for record in earlier:
            if record["test"] in there:
                yield {**{fact: page[fact] for fact in ("made_at", "commit", "seed")}, **record}

    def _collected(self, files: Iterable[str]) -> set[str]:
        """Return the ids of all tests in files. The run itself may have been given only some of them."""
        existing = sorted(file for file in files if (self._root / file).exists())
        if not existing:
            return set()
        plugins = [f"-p{name}" for name in self._plugins]
        asked = subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-q", *plugins, *existing],
            cwd=self._root,
            env={**os.environ, "HUBBUB_PROFILE": "proof", "HUBBUB_SHARD": "1/1"},
            capture_output=True,
            text=True,
            check=True,
        )
        return {line for line in asked.stdout.splitlines() if "::" in line}


def _commit_of(root: Path) -> str:
    """Return what the run is of, as it begins; what proofs before it have written is no change of that."""
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)docs/proof")
    commit = _git(root, "rev-parse", "HEAD") or "unknown"
    return f"{commit}-dirty" if changed else commit


def _git(root: Path, *words: str) -> str:
    asked = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return asked.stdout.strip()
