"""How often the shell may be used is the operator's to say."""

from pathlib import Path

import pytest

from bot.config.load import load
from bot.tools import build_tools
from core.clock import SystemClock
from core.tool import UseLimit


@pytest.mark.parametrize(
    "said,limits",
    [
        ("", (UseLimit(30, 60), UseLimit(300, 3600))),
        ("shell_per_minute = 2\nshell_per_hour = 9\n", (UseLimit(2, 60), UseLimit(9, 3600))),
    ],
)
def test_the_shells_limits_are_configured(tmp_path: Path, said: str, limits: tuple[UseLimit, ...]) -> None:
    config = tmp_path / "hubbub.toml"
    config.write_text(f"[approvals]\n{said}")
    assert build_tools(load(config, environ={}), None, SystemClock()).lookup("shell").limits == limits
