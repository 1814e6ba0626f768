"""Builds only what was asked for.

Typer makes every command of an application, with the types of all its options, before it looks at the first
word; that takes longer than most commands do.
"""

import inspect
from collections.abc import Sequence

import typer
from typer.models import CommandInfo


def only(app: typer.Typer, words: Sequence[str]) -> typer.Typer:
    """The same application, in which every command but the one the words begin with is no more than a name
    with its help: enough for lists of commands, and to say which one somebody may have meant."""
    word, rest = (words[0], words[1:]) if words else (None, ())
    names = [*map(_name, app.registered_commands), *(str(group.name) for group in app.registered_groups)]
    selected = typer.Typer(
        help=str(app.info.help),
        add_help_option=word not in names,  # a flag that is not given is read all the same, by pydantic
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        rich_markup_mode=None,  # help drawn by rich takes as long as the rest of the start
    )
    for command in app.registered_commands:
        name = _name(command)
        if name == word:
            selected.registered_commands.append(command)
        else:
            selected.command(name, help=inspect.getdoc(command.callback))(_mentioned)
    for group in app.registered_groups:
        if group.typer_instance is not None and group.name == word:
            selected.add_typer(only(group.typer_instance, rest), name=word)
        elif group.typer_instance is not None:
            selected.command(str(group.name), help=str(group.typer_instance.info.help))(_mentioned)
    own = app.registered_callback if word not in names else None
    selected.callback()((own and own.callback) or _mentioned)  # makes a group also of one command
    return selected


def _name(command: CommandInfo) -> str:
    return command.name or getattr(command.callback, "__name__", "")


def _mentioned() -> None:
    """What is only mentioned does nothing: a command that is called is a real one."""
