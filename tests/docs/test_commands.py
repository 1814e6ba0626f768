"""Commands on the pages can be typed, and those that can run here and now are run."""

import re
import tomllib
from pathlib import Path

import pytest
import typer

from bot.cli.commands import app
from bot.config.load import load
from bot.config.policy import read_policy
from tests.bot.cli.in_process import command
from tests.docs.reading import Written, code, commands, is_whole, pages, shell_lines, words
from tests.tree import ROOT

VARIABLES = {
    "TELEGRAM_TOKEN": "1:a",
    "TELEGRAM_WEBHOOK_SECRET": "s",
    "DISCORD_TOKEN": "a.b.c",
    "OPENAI_API_KEY": "k",
    "ANTHROPIC_API_KEY": "k",
    "SLACK_BOT_TOKEN": "xoxb-1",
    "SLACK_APP_TOKEN": "xapp-1",
    "HOOK_SECRET": "h",
}
STAYS = {"run", "chat"}
"""These go on until they are ended; tests of their own run them."""
ASKS = {"init", "login", "secrets set", "config reload", "status", "sandbox build", "sandbox status"}
"""These need somebody at a terminal, a hub that runs, or Docker."""
FIRST = ("permissions", "set", "shell", "default")
"""Makes the database that other commands look at."""


def known(typed: list[str]) -> tuple[list[str], list[str]]:
    """The words that name a command, and the rest."""
    at: typer.Typer | None = app
    for position, word in enumerate(typed):
        groups = {group.name: group.typer_instance for group in at.registered_groups} if at else {}
        if word not in groups:
            return typed[: position + 1], typed[position + 1 :]
        at = groups[word]
    return typed, []


def runs_here(line: Written) -> bool:
    """Return whether it ends by itself and needs neither a person nor a hub."""
    typed = words(line)
    return is_whole(line) and bool(typed) and not {typed[0], " ".join(typed[:2])} & (STAYS | ASKS)


COMMANDS = {line.text: line for line in commands() if words(line) and "|" not in line.text}
WHOLE = {text: line for text, line in COMMANDS.items() if runs_here(line)}


def test_the_pages_are_read() -> None:
    assert Path("README.md") in pages()
    assert len(COMMANDS) > 20
    assert len(WHOLE) > 10
    assert is_whole(Written("p", 1, "hubbub db check"))
    assert not is_whole(Written("p", 1, "hubbub db restore FILE"))
    assert not is_whole(Written("p", 1, "hubbub pair approve|reject"))


@pytest.mark.parametrize("text", COMMANDS)
def test_every_command_exists_with_the_options_it_is_given(tmp_path: Path, text: str) -> None:
    name, rest = known(words(COMMANDS[text]))
    told = command(tmp_path, *name, "--help")
    assert told.code == 0, f"{COMMANDS[text]}: {told.err}"
    for option in (word.partition("=")[0] for word in rest if word.startswith("-")):
        assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", told.out), str(COMMANDS[text])


@pytest.mark.parametrize("text", WHOLE)
def test_every_command_that_can_run_here_runs(tmp_path: Path, text: str) -> None:
    typed = words(WHOLE[text])
    (tmp_path / "hubbub.toml").write_text("[http]\nport = 0\n")
    assert command(tmp_path, *FIRST).code == 0
    if "--secret" in typed:
        secret = typed[typed.index("--secret") + 1]
        assert command(tmp_path, "secrets", "set", secret, stdin=b"a secret\n").code == 0
    if typed[0] == "routines" and typed[1] != "add":  # the page made it before
        for made in (words(line) for line in WHOLE.values() if line.page == WHOLE[text].page):
            if made[:2] == ["routines", "add"] and made[2] in typed:
                assert command(tmp_path, *made).code == 0
    if typed[0] == "logs":
        (tmp_path / "data" / "hub.log").touch()
    done = command(tmp_path, *typed)
    assert (done.code, done.err) == (0, ""), str(WHOLE[text])


@pytest.mark.parametrize("page", pages(), ids=str)
def test_configuration_on_a_page_is_valid(tmp_path: Path, page: Path) -> None:
    for language, written in code(page):
        if language == "toml":
            tomllib.loads(written.text)
            (tmp_path / "hubbub.toml").write_text(written.text)
            load(environ=VARIABLES, cwd=tmp_path, secrets="vault:" not in written.text)


def test_a_policy_on_a_page_can_be_read(tmp_path: Path) -> None:
    policies = [
        written.text for page in pages() for language, written in code(page) if language == "toml policy.toml"
    ]
    assert policies
    for text in policies:
        (tmp_path / "policy.toml").write_text(text)
        assert read_policy(tmp_path / "policy.toml").unreadable is None


def test_every_make_target_on_a_page_exists() -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
    named = {
        word: line
        for line in shell_lines()
        if (found := re.fullmatch(r"(?:\w+=\S+ )*make ([a-z-]+)(?: \w+=\S+)*", line.text))
        for word in [found.group(1)]
    }
    assert {"run", "test"} <= set(named)
    assert [str(line) for word, line in named.items() if word not in targets] == []
