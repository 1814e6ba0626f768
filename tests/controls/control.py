"""A control: a fault planted in the product that named tests must notice.

tests/controls/NAME/fault.patch    unified diff against the repository, few lines, product files only
tests/controls/NAME/control.toml   promise = "what the fault breaks, in a sentence"
                                   must_fail = ["tests/…/test_x.py::test_y", …]  (each must turn red)
                                   profile = "proof"   # optional: for tests marked slow
                                   timeout_s = 600     # optional: for the whole run of the tests
                                   needs = "docker"    # optional: tried only where it is asked for
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

PRODUCT = ("bot/", "channels/", "core/")
MAX_CHANGED_LINES = 40
PROFILES = ("test", "ci", "proof")
NEEDS = ("", "docker")


class ControlError(Exception):
    """A control is not well-formed; the message names the control and what to correct."""


@dataclass(frozen=True, slots=True)
class Control:
    """One planted fault and the tests that must notice it."""

    name: str
    promise: str
    must_fail: tuple[str, ...]
    patch: Path
    profile: str = "test"
    timeout_s: float = 600
    needs: str = ""


def read_controls(folder: Path) -> list[Control]:
    """All controls of a directory, by name. Raises ControlError at the first that is not well-formed."""
    return [
        read_control(path) for path in sorted(folder.iterdir()) if path.is_dir() and path.name[0] not in "_."
    ]


def read_control(folder: Path) -> Control:
    """One control. Raises ControlError."""
    try:
        page = tomllib.loads((folder / "control.toml").read_text())
        patch = (folder / "fault.patch").read_text()
    except (OSError, ValueError) as error:
        raise ControlError(f"{folder.name}: {error}") from error
    if unknown := page.keys() - {"promise", "must_fail", "profile", "timeout_s", "needs"}:
        raise ControlError(f"{folder.name}: control.toml has unknown keys {', '.join(sorted(unknown))}")
    promise, must_fail = page.get("promise"), page.get("must_fail")
    if not isinstance(promise, str) or not promise.strip():
        raise ControlError(f"{folder.name}: promise must say in a sentence what the fault breaks")
    if not isinstance(must_fail, list) or not must_fail or not all(map(_is_node_id, must_fail)):
        raise ControlError(
            f"{folder.name}: must_fail must list node ids such as tests/core/test_x.py::test_y"
        )
    if page.get("profile", "test") not in PROFILES:
        raise ControlError(f"{folder.name}: profile must be one of {', '.join(PROFILES)}")
    if page.get("needs", "") not in NEEDS:
        raise ControlError(f"{folder.name}: needs must be one of {', '.join(filter(None, NEEDS))}")
    if not 0 < page.get("timeout_s", 1) <= 3600:
        raise ControlError(f"{folder.name}: timeout_s must be more than 0 and at most 3600")
    _judge_patch(folder.name, patch)
    del page["promise"], page["must_fail"]
    return Control(folder.name, promise, tuple(must_fail), folder / "fault.patch", **page)


def _is_node_id(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"tests/\S+\.py::\S.*", value) is not None


def patched_files(control: Control) -> list[Path]:
    """Return what the fault changes, relative to the project."""
    return [Path(path) for path in sorted(_touched(control.patch.read_text()))]


def _touched(patch: str) -> set[str]:
    named = re.findall(r"^(?:---|\+\+\+) (\S+)", patch, re.MULTILINE)
    return {path.removeprefix("a/").removeprefix("b/") for path in named} - {"/dev/null"}


def _judge_patch(name: str, patch: str) -> None:
    files = _touched(patch)
    if not files:
        raise ControlError(f"{name}: fault.patch is not a unified diff")
    if strangers := [path for path in sorted(files) if not path.startswith(PRODUCT)]:
        raise ControlError(f"{name}: fault.patch may change the product alone, not {', '.join(strangers)}")
    changed = re.findall(r"^[+-](?!\+\+ |-- )", patch, re.MULTILINE)
    if not 0 < len(changed) <= MAX_CHANGED_LINES:
        raise ControlError(
            f"{name}: fault.patch changes {len(changed)} lines; 1 to {MAX_CHANGED_LINES} are fine"
        )
