"""`init`, `login`, `logs` and the groups `config` and `models`, parsed; see bot.cli.commands."""

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.parameters import ConfigOption, JsonOption

config_commands = typer.Typer(help="The configuration.", no_args_is_help=True)
models_commands = typer.Typer(help="The language models.", no_args_is_help=True)


def init(
    platform: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="telegram, slack, discord or none; may be repeated."),
    ] = None,
    owner: Annotated[
        list[str] | None, typer.Option(metavar="ACCOUNT", help="Your own account, such as telegram:12345.")
    ] = None,
    provider: Annotated[str | None, typer.Option(metavar="NAME", help="openai or demo.")] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The model's name there.")] = None,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="Where the model is served.")] = None,
    api_base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Another server that speaks the platform's API.")
    ] = None,
    ask: Annotated[
        bool, typer.Option("--input/--no-input", help="Ask, or take what is not given as suggested.")
    ] = True,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Try tokens and model before writing.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE", help="The configuration file to make; default: ./hubbub.toml."
        ),
    ] = None,
) -> None:
    """Make a configuration by a few questions.

    Tries the tokens and the model, and writes hubbub.toml and hubbub.env.

    Tokens and keys are asked for, or taken from TELEGRAM_TOKEN, SLACK_BOT_TOKEN, SLACK_APP_TOKEN,
    DISCORD_TOKEN and OPENAI_API_KEY; never from the command line.
    """
    from bot.cli.ending import ended
    from bot.cli.init import Given
    from bot.cli.init import init as make

    given = Given(
        platforms=tuple(platform) if platform else None,
        owner=tuple(owner or ()),
        provider=provider,
        model=model,
        base_url=base_url,
        api_base_url=api_base_url,
        ask=ask,
        check=check,
        force=force,
    )
    raise typer.Exit(ended(lambda: make(config, given)))


def login(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """A fresh link to the running hub's console. It is good once, for 15 minutes."""
    from bot.cli.ending import ended
    from bot.cli.login import login as link

    raise typer.Exit(ended(lambda: link(config, as_json=as_json)))


def logs(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until interrupted.")] = False,
    level: Annotated[
        str, typer.Option(metavar="LEVEL", help="This and worse: debug, info, warning, error.")
    ] = "debug",
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Such as 10m, 2h, 3d, or 2026-01-31T08:00 (UTC).")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=0, help="How many at most, the newest.")
    ] = 200,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """What the hub has written down, also while none runs."""
    from bot.cli.ending import ended
    from bot.cli.logs import show

    raise typer.Exit(ended(lambda: show(config, level, since, limit, follow=follow, as_json=as_json)))


@models_commands.command("test")
def models_test(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """One short call to each configured model. Says whether it answers, how fast, for how many tokens."""
    from bot.cli.ending import ended
    from bot.cli.models import try_each

    raise typer.Exit(ended(lambda: try_each(config, as_json=as_json)))


@config_commands.command("check")
def config_check(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Read the configuration and say whether it is right. With --json also what is in force."""
    from bot.cli.configuration import check
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: check(config, as_json=as_json)))


@config_commands.command("reload")
def config_reload(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Have the running hub read it again. Channels take up tokens, the rest holds from the next start."""
    from bot.cli.configuration import reload
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: reload(config, as_json=as_json)))
