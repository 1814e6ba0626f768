"""`python -m bot` is the `hubbub` command."""

import gc

FEW_COLLECTIONS = 200_000
"""New objects between looks for garbage. What is imported stays, and looking at it again and again while more
is imported is a quarter of what a command costs; the hub goes back to the usual number once it serves."""


def main() -> None:
    """Entry point of the `hubbub` command."""
    gc.set_threshold(FEW_COLLECTIONS)
    from bot.cli import run_command

    run_command()


if __name__ == "__main__":
    main()
