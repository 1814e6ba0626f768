"""The `hubbub` command without a process of its own: the same words, streams and exit codes, but quicker."""

import contextlib
from pathlib import Path

from typer.testing import CliRunner

from bot.cli.commands import app
from bot.cli.selection import only
from tests.bot.program import Ended


def command(directory: Path, *words: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Ended:
    """Run a command that ends by itself, in `directory`; `env` comes on top of the test's own environment."""
    with contextlib.chdir(directory):
        done = CliRunner().invoke(only(app, words), list(words), input=stdin, env=env)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ended(done.exit_code, done.stdout, done.stderr)
