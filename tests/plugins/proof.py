"""What the long suites leave behind: docs/proof/<suite>.json, written by profile `proof` alone.

A test hands facts to the fixture `proof_record`; they travel with its report to the process that reports
and are written when the run ends. In other profiles they are dropped. What a run of some tests did not make
anew stays, with the commit and time it is from.
"""

import json
import os
import platform
import subprocess
from collections.abc import Collection, Iterator, Mapping
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
        config.pluginmanager.register(_Writer(profile, config.rootpath), "hubbub-proof-writer")


class _Writer:
    def __init__(self, profile: Profile, root: Path) -> None:
        self._profile = profile
        self._root = root
        self._commit = _commit_of(root)
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
            records = [*records, *_kept(path, self._root, {str(record["test"]) for record in records})]
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


def _commit_of(root: Path) -> str:
    """What the run is of, as it begins; what proofs before it have written is no change of that."""
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)docs/proof")
    commit = _git(root, "rev-parse", "HEAD") or "unknown"
    return f"{commit}-dirty" if changed else commit


def _git(root: Path, *words: str) -> str:
    asked = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return asked.stdout.strip()


def _kept(path: Path, root: Path, made_anew: Collection[str]) -> Iterator[Mapping[str, Any]]:
    """Records of an earlier run, of tests that are still there, with where they come from."""
    if not path.exists():
        return
    page = json.loads(path.read_text())
    for record in page["records"]:
        file, _, name = str(record["test"]).partition("::")
        source = root / file
        is_there = source.exists() and f"def {name.partition('[')[0]}(" in source.read_text()
        if is_there and record["test"] not in made_anew:
            yield {**{fact: page[fact] for fact in ("made_at", "commit", "seed")}, **record}
