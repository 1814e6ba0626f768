"""`hubbub secrets`: what is kept is used by the configuration, and stands nowhere in clear."""

import asyncio
import json
import stat
from pathlib import Path

import pytest

from bot.config.keys import VaultKeyRing
from bot.config.load import load
from bot.config.sections import TelegramChannel
from bot.config.types import Unopened
from bot.runtime import ConfigError
from tests.bot.cli.in_process import command
from tests.bot.cli.terminal import Terminal
from tests.harness.process import Ended, HubProcess
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, open_hub, write_config

SECRET = "a-secret-that-nobody-may-find-0123456789"


def set_secret(directory: Path, name: str, value: bytes, **env: str) -> Ended:
    """As from a script: the value by standard input."""
    return command(directory, "secrets", "set", name, stdin=value, env=env)


def uses(directory: Path, text: str) -> None:
    (directory / "hubbub.toml").write_text(text)


def model_with(key: str) -> str:
    return f'[[models]]\nprovider = "openai"\nmodel = "m"\napi_key = "{key}"\n'


async def test_a_secret_is_used_and_never_stored_in_plain_text(tmp_path: Path) -> None:
    """Before the first start; then in a hub that runs with it, and with everything that one leaves behind."""
    async with open_hub(tmp_path, start=False) as house:
        kept = await asyncio.to_thread(set_secret, tmp_path, "telegram", f"{TOKEN}\n".encode())
        assert (kept.code, kept.out) == (0, "telegram: stored; used from the next start of the hub\n")
        write_config(house, token="vault:telegram")
        async with HubProcess(tmp_path) as hub:
            await house.telegram.wait_polling(TOKEN, LIMIT_S)
            house.telegram.user_sends_text(OWNER, "hello")
            await house.telegram.wait_text(OWNER, "You said: hello", timeout_s=LIMIT_S)
            files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
            assert {"hub.db", "hub.db-wal", "vault.key"} <= {path.name for path in files}
            assert [path for path in files if TOKEN.encode() in path.read_bytes()] == []
            assert await hub.stop() == 0
        everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert TOKEN.encode() not in everything
        assert TOKEN not in hub.out + hub.err


def test_names_are_listed_and_never_values(tmp_path: Path) -> None:
    assert set_secret(tmp_path, "one", SECRET.encode()).code == 0
    assert set_secret(tmp_path, "two", b"line 1\nline 2\n").code == 0
    table = command(tmp_path, "secrets", "list")
    page = json.loads(command(tmp_path, "secrets", "list", "--json").out)
    assert [secret["name"] for secret in page] == ["one", "two"]
    assert set(page[0]) == {"name", "changed_at"}
    assert "one" in table.out
    assert SECRET not in table.out + table.err
    assert command(tmp_path, "secrets", "delete", "one").out == "one: deleted\n"
    again = command(tmp_path, "secrets", "delete", "one")
    assert (again.code, again.complaint) == (1, "there is no secret named one; run `hubbub secrets list`")
    uses(tmp_path, model_with("vault:two"))
    value = load(environ={}, cwd=tmp_path).config.models[0].api_key
    assert value.get_secret_value() == "line 1\nline 2"


@pytest.mark.parametrize(
    "name, value, code, complaint",
    [
        ("one", b"", 2, "the value was empty; nothing was stored"),
        ("one", b"\xff", 2, "a secret must be UTF-8 text; nothing was stored"),
        ("a b", b"x", 1, "'a b' is not a valid secret name; use letters and digits, with _ . - between them"),
    ],
)
def test_a_policy_that_cannot_be_enforced_is_refused(
    tmp_path: Path, name: str, value: bytes, code: int, complaint: str
) -> None:
    ended = set_secret(tmp_path, name, value)
    assert (ended.code, ended.out, ended.complaint) == (code, "", complaint)


async def test_a_value_typed_at_the_prompt_is_not_shown(tmp_path: Path) -> None:
    async with Terminal(tmp_path, "secrets", "set", "typed") as terminal:
        await terminal.shows("(not shown): ")
        terminal.types(SECRET)
        await terminal.shows("typed: stored;")
        assert await terminal.ended() == 0
    assert SECRET not in terminal.shown
    uses(tmp_path, model_with("vault:typed"))
    value = load(environ={}, cwd=tmp_path).config.models[0].api_key
    assert value.get_secret_value() == SECRET


# ---------------------------------------------------------------- in the configuration


def test_a_missing_secret_is_reported_with_its_line_and_a_remedy(tmp_path: Path) -> None:
    uses(tmp_path, model_with("vault:openai"))
    ended = command(tmp_path, "config", "check")
    assert (ended.code, ended.complaint) == (
        2,
        'hubbub.toml:4: models[0].api_key: the vault has no secret "openai"; run: hubbub secrets set openai',
    )


def test_a_missing_vault_key_is_reported(tmp_path: Path) -> None:
    set_secret(tmp_path, "openai", SECRET.encode())
    uses(tmp_path, model_with("vault:openai"))
    key = tmp_path / "data" / "vault.key"
    kept = key.read_text()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.unlink()
    missing = command(tmp_path, "config", "check")
    assert f"the vault's key is missing; restore {key}" in missing.complaint
    key.write_text("not a key")
    assert "restore it from a backup" in command(tmp_path, "config", "check").complaint
    other = command(tmp_path, "config", "check", env={"HUBBUB_VAULT_KEY": "ab" * 32})
    assert "was encrypted with another key" in other.complaint
    good = command(tmp_path, "config", "check", env={"HUBBUB_VAULT_KEY": kept.strip()})
    assert (good.code, good.err) == (0, "")


def test_only_secrets_come_from_the_vault(tmp_path: Path) -> None:
    uses(tmp_path, '[agent]\nsystem_prompt = "vault:x"\n')
    with pytest.raises(ConfigError, match=r"hubbub.toml:2: agent.system_prompt: is not a secret"):
        load(environ={}, cwd=tmp_path)


def test_the_vault_stays_closed_when_no_secret_is_needed(tmp_path: Path) -> None:
    channels = '[channels.telegram]\ntoken = "vault:nowhere"\n[channels.slack]\nbot_token = "vault:nowhere"\n'
    uses(tmp_path, model_with("env:NOT_SET") + channels + 'app_token = "env:NOT_SET"\n')
    config = load(environ={}, cwd=tmp_path, secrets=False).config
    telegram = config.channels["telegram"]
    assert isinstance(telegram, TelegramChannel)
    token = telegram.token
    assert isinstance(token, Unopened)
    assert "nowhere" not in repr(config)
    with pytest.raises(LookupError):
        token.get_secret_value()
    assert not (tmp_path / "data").exists()


# ---------------------------------------------------------------- changing the key


def test_after_a_key_change_the_old_key_opens_nothing(tmp_path: Path) -> None:
    set_secret(tmp_path, "openai", SECRET.encode())
    uses(tmp_path, model_with("vault:openai"))
    key = tmp_path / "data" / "vault.key"
    old = key.read_text()
    changed = command(tmp_path, "secrets", "rotate")
    assert changed.out == f"{key}: 1 secrets are encrypted with the newest key\n"
    new = key.read_text()
    assert len(new.split()) == 1
    assert new != old
    assert load(environ={}, cwd=tmp_path).config.models[0].api_key.get_secret_value() == SECRET
    key.write_text(old)
    with pytest.raises(ConfigError, match="encrypted with another key"):
        load(environ={}, cwd=tmp_path)


def test_an_interrupted_key_change_leaves_every_secret_readable(tmp_path: Path) -> None:
    set_secret(tmp_path, "openai", SECRET.encode())
    uses(tmp_path, model_with("vault:openai"))
    VaultKeyRing(tmp_path / "data", {}).add_newest()
    assert load(environ={}, cwd=tmp_path).config.models[0].api_key.get_secret_value() == SECRET
    assert command(tmp_path, "secrets", "rotate").code == 0
    assert load(environ={}, cwd=tmp_path).config.models[0].api_key.get_secret_value() == SECRET
    assert len((tmp_path / "data" / "vault.key").read_text().split()) == 1


def test_a_key_from_the_environment_creates_no_file(tmp_path: Path) -> None:
    old, new = "01" * 32, "02" * 32
    set_secret(tmp_path, "openai", SECRET.encode(), HUBBUB_VAULT_KEY=old)
    assert not (tmp_path / "data" / "vault.key").exists()
    changed = command(tmp_path, "secrets", "rotate", env={"HUBBUB_VAULT_KEY": f"{new},{old}"})
    assert changed.out == "HUBBUB_VAULT_KEY: 1 secrets are encrypted with the newest key\n"
    uses(tmp_path, model_with("vault:openai"))
    loaded = load(environ={"HUBBUB_VAULT_KEY": new}, cwd=tmp_path)
    assert loaded.config.models[0].api_key.get_secret_value() == SECRET
