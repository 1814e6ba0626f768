"""The lock: everything pyproject.toml asks for, each release pinned with hashes, and no addresses."""

import re
import tomllib
from itertools import chain

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.tree import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS = PROJECT["dependency-groups"]
RUNTIME = [*PROJECT["project"]["dependencies"], *GROUPS["build"]]
WANTED = {"runtime": RUNTIME, "dev": [*RUNTIME, *chain.from_iterable(GROUPS.values())]}


def pins(lock: str) -> dict[str, str]:
    """Release by distribution."""
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    found = re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(\S+)", text, re.MULTILINE)
    return {canonicalize_name(name): release for name, release in found}


@pytest.mark.parametrize("lock", ["runtime", "dev"])
def test_the_lock_satisfies_what_the_project_asks_for(lock: str) -> None:
    pinned = pins(lock)
    for line in WANTED[lock]:
        wanted = Requirement(line)
        assert wanted.specifier.contains(pinned[canonicalize_name(wanted.name)]), f"{line}: run `make lock`"


@pytest.mark.parametrize("lock", ["runtime", "dev"])
def test_every_release_has_hashes_and_no_address(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    entries = [entry for entry in text.replace("\\\n", " ").splitlines() if entry and entry[0] not in "# "]
    assert len(entries) > 30
    for entry in entries:
        assert re.match(r"\S+==\S+ .*--hash=sha256:[0-9a-f]{64}", entry), entry
    assert "://" not in text


def test_installed_versions_match_the_lock() -> None:
    assert pins("runtime").items() <= pins("dev").items()
