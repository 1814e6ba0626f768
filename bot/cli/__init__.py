"""The `hubbub` command. Exit codes: 0 ok, 1 failed, 2 usage or configuration."""

import sys

from bot.cli.commands import app
from bot.cli.selection import only


def run_command() -> None:
    """Do what the command line says; ends the process."""
    only(app, sys.argv[1:])(prog_name="hubbub")
    sys.exit(0)


__all__ = ["run_command"]
