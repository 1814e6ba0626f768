"""Every import contract of pyproject.toml holds, and each is broken by what it forbids."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.tree import ROOT, project_files

PACKAGES = ("bot", "channels", "core", "hubbub")
CONTRACTS = {
    contract["id"]: contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
}


@dataclass(frozen=True, slots=True)
class Plant:
    """Lines added to files (made where missing), and the one contract that must break."""

    breaks: str
    files: Mapping[str, str]


PLANTS = [
    Plant("house", {"channels/telegram/planted.py": "import bot.planted", "bot/planted.py": ""}),
    Plant(
        "house",
        {"core/runs/planted.py": "import channels.telegram.planted", "channels/telegram/planted.py": ""},
    ),
    Plant("channels-see-values", {"channels/sender.py": "import core.ids"}),
    Plant("channels-see-values", {"channels/telegram/planted.py": "from core.store import base"}),
    Plant("channels-see-values", {"channels/channel.py": "import core"}),
    Plant(
        "platforms",
        {"channels/telegram/planted.py": "import channels.slack.planted", "channels/slack/planted.py": ""},
    ),
    Plant("platforms", {"channels/manager.py": "import channels.discord", "channels/discord/planted.py": ""}),
    Plant("platforms", {"channels/unplaced.py": ""}),
    Plant("core-knows-no-platform", {"core/runs/planted.py": "def f():\n    import telegram"}),
    Plant("core-knows-no-platform", {"core/model/planted.py": "import starlette.requests"}),
    Plant("core-is-plain", {"core/inbound/planted.py": "from pydantic import BaseModel"}),
    Plant("core-layers", {"core/model/planted.py": "import core.audit"}),
    Plant("core-layers", {"core/texts.py": "import core.vault", "core/vault.py": ""}),
    Plant("core-layers", {"core/safety/planted.py": "import core.audit"}),
    Plant("core-layers", {"core/unplaced.py": ""}),
    Plant("no-cycles", {"core/audit.py": "import core.hooks", "core/hooks.py": "import core.audit"}),
    Plant(
        "no-cycles",
        {
            "channels/telegram/first.py": "import channels.telegram.second",
            "channels/telegram/second.py": "import channels.telegram.first",
        },
    ),
]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages and of the contracts."""
    copy = tmp_path_factory.mktemp("house")
    for path in project_files():
        if path.parts[0] in PACKAGES or path.name == "pyproject.toml":
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, copy / path)
    return copy


def broken_contracts(house: Path) -> set[str]:
    """The ids of the contracts import-linter finds broken."""
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--cache-dir", house / ".cache"],
        cwd=house,
        env=os.environ | {"PYTHONPATH": str(house), "COLUMNS": "400"},
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    verdicts = dict(re.findall(r"^(.+?) (KEPT|BROKEN)(?: \(.*\))?$", done.stdout, re.MULTILINE))
    assert set(verdicts) == set(CONTRACTS.values()), done.stdout + done.stderr
    return {id_ for id_, name in CONTRACTS.items() if verdicts[name] == "BROKEN"}


def test_every_contract_holds(house: Path) -> None:
    assert broken_contracts(house) == set()


def test_every_contract_has_a_planted_import() -> None:
    assert {plant.breaks for plant in PLANTS} == set(CONTRACTS)


def each_and_at_length_all() -> Iterator[object]:
    """Plants of two contracts; the others in the longer profiles alone."""
    proved: set[str] = set()
    for plant in PLANTS:
        marks = [pytest.mark.slow] if plant.breaks in proved or len(proved) >= 2 else []
        yield pytest.param(plant, id=f"{plant.breaks}-{next(iter(plant.files))}", marks=marks)
        proved.add(plant.breaks)


@pytest.mark.parametrize("plant", list(each_and_at_length_all()))
def test_a_forbidden_import_breaks_only_its_contract(house: Path, tmp_path: Path, plant: Plant) -> None:
    planted = tmp_path / "house"
    shutil.copytree(house, planted)
    for name, line in plant.files.items():
        path = planted / name
        path.parent.mkdir(exist_ok=True)
        (path.parent / "__init__.py").touch()
        before = path.read_text() if path.exists() else ""
        path.write_text(f"{before}\n{line}\n")
    assert broken_contracts(planted) == {plant.breaks}
