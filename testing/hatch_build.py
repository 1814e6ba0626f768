"""Builds the package `hubbub_testing` from the hub's own tests, so that both are one text."""

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parents[1]
MODULES = (
    "__init__.py",
    "clock.py",
    "databases.py",
    "patience.py",
    "ports.py",
    "contracts/__init__.py",
    "contracts/channel/__init__.py",
    "contracts/channel/subject.py",
    "contracts/channel/test_channel.py",
    "harness/__init__.py",
    "harness/hub.py",
    "harness/simulators.py",
    "plugins/__init__.py",
    "plugins/profile.py",
    "plugins/proof.py",
    "simulators",
)
_OWN = re.compile(r"^(\s*(?:from|import) )tests\b", re.MULTILINE)


class TestsHook(BuildHookInterface[Any]):
    """Copies the modules under their public name."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version
        self._made = Path(tempfile.mkdtemp(prefix="hubbub-testing-"))
        for module in MODULES:
            source = ROOT / "tests" / module
            for file in sorted(source.rglob("*.py")) if source.is_dir() else [source]:
                target = self._made / file.relative_to(ROOT / "tests")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(_OWN.sub(r"\1hubbub_testing", file.read_text()))
        shutil.copy(ROOT / "testing" / "plugin.py", self._made / "plugin.py")
        build_data["force_include"][str(self._made)] = "hubbub_testing"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        del version, build_data, artifact_path
        shutil.rmtree(self._made, ignore_errors=True)
