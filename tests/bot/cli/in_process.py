"""The `hubbub` command without a process of its own: the same words, streams and exit codes, but quicker."""

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

from typer.testing import CliRunner

from bot.cli.commands import app, only
from tests.harness.process import Ended


def command(directory: Path, *words: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Ended:
    """Run a command that ends by itself, in `directory`; `env` comes on top of the test's own environment."""
    with contextlib.chdir(directory), logging_as_it_was():
        done = CliRunner().invoke(only(app, words), list(words), input=stdin, env=env)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ended(done.exit_code, done.stdout, done.stderr)


@contextlib.contextmanager
def logging_as_it_was() -> Iterator[None]:
    """Return what sets up the log of a whole program leaves nothing of it to the tests that follow."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.captureWarnings(capture=False)
