"""`python -m bot` is the `hubbub` command."""

import gc
import sys
from collections.abc import Sequence
from pathlib import Path

FEW_COLLECTIONS = 200_000
"""New objects between looks for garbage. What is imported stays, and looking at it again and again while more
is imported is a quarter of what a command costs; the hub goes back to the usual number once it serves."""


def main() -> None:
    """Run the `hubbub` command."""
    gc.set_threshold(FEW_COLLECTIONS)
    run_command()


def run_command() -> None:
    """Do what the command line says; ends the process."""
    words = sys.argv[1:]
    plainly, config = plainly_to_run(words)
    if plainly:
        sys.exit(_run_hub(config))
    from bot.cli.commands import (
        app,  # and with it Typer
        only,
    )

    only(app, words)(prog_name="hubbub")
    sys.exit(0)


def plainly_to_run(words: Sequence[str]) -> tuple[bool, Path | None]:
    """Return whether a command line says nothing but `run`, and the configuration it names.

    A long-running hub then does without the parser of commands: 2 MB, and a tenth of the start.
    """
    match list(words):
        case ["run"]:
            return True, None
        case ["run", "--config", file] if file and not file.startswith("-"):
            return True, Path(file)
        case _:
            return False, None


def _run_hub(config: Path | None) -> int:
    from bot.cli.serve import run_hub
    from bot.runtime import FAILED, complain

    try:
        return run_hub(config)
    except KeyboardInterrupt:  # before there was a hub to end
        complain("Aborted.")
        return FAILED


if __name__ == "__main__":
    main()
