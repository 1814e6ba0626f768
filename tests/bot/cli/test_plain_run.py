"""`hubbub run` without the parser of commands: the same as with it, wherever it does without."""

import subprocess
import sys
from pathlib import Path

import pytest

from bot.__main__ import plainly_to_run


@pytest.mark.parametrize(
    "words, understood",
    [
        (["run"], (True, None)),
        (["run", "--config", "hub.toml"], (True, Path("hub.toml"))),
        (["run", "--config=hub.toml"], (False, None)),
        (["run", "--config"], (False, None)),
        (["run", "--config", ""], (False, None)),
        (["run", "--config", "--help"], (False, None)),
        (["run", "--help"], (False, None)),
        (["run", "now"], (False, None)),
        (["--help", "run"], (False, None)),
        ([], (False, None)),
    ],
)
def test_only_unambiguous_arguments_skip_the_parser(
    words: list[str], understood: tuple[bool, Path | None]
) -> None:
    assert plainly_to_run(words) == understood


@pytest.mark.parametrize("option", [["--config", "absent.toml"], ["--config=absent.toml"]])
def test_errors_have_one_form(tmp_path: Path, option: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bot", "run", *option],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[3]), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "absent.toml" in done.stderr
