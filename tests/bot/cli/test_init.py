"""`hubbub init`: at a terminal and from scripts, against simulated platforms and a simulated provider."""

import asyncio
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st

from bot.cli.trials import judged
from bot.config.edits import (
    PLATFORMS,
    PROVIDERS,
    Answers,
    ChannelAnswer,
    ModelAnswer,
    ProviderSetup,
    configuration,
    service_unit,
)
from bot.config.load import load
from bot.config.sections import TelegramChannel
from bot.ops.probes import local_models
from tests.bot.cli.in_process import command
from tests.bot.cli.terminal import Terminal
from tests.harness.process import STRANGER, Ended, HubProcess
from tests.harness.telegram_hub import KEY, LIMIT_S, OWNER, TOKEN, Hub, open_hub

NO_SYSTEMD = {"PATH": ""}
SECRETS = {"TELEGRAM_TOKEN": TOKEN, "OPENAI_API_KEY": KEY}


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    """Simulators, and a directory without a configuration."""
    async with open_hub(tmp_path, start=False) as opened:
        (tmp_path / "hubbub.toml").unlink()
        yield opened


async def from_script(house: Hub, *words: str, env: dict[str, str] | None = None) -> Ended:
    known = (
        *("--no-input", "--platform", "telegram", "--owner", f"telegram:{OWNER}", "--model", "sim-1"),
        *("--base-url", house.model.openai_base_url, "--api-base-url", house.telegram.url),
    )
    given = SECRETS if env is None else env
    return await asyncio.to_thread(command, house.directory, "init", *known, *words, env=given)


async def test_answering_every_question_makes_a_hub_that_runs(house: Hub) -> None:
    """Every wrong answer is asked for again in its place; the account is that of who sends the code."""
    words = ["init", "--api-base-url", house.telegram.url]
    async with Terminal(house.directory, *words, env=NO_SYSTEMD) as terminal:
        await terminal.shows("Platforms, separated by commas (telegram, slack, discord, or none) [telegram]:")
        terminal.types("whatsapp")
        await terminal.shows("whatsapp is not a platform; use telegram, slack, discord or none")
        await terminal.shows("[telegram]:")
        terminal.types("")
        await terminal.shows("https://t.me/BotFather")
        await terminal.shows("from @BotFather (not shown): ")
        terminal.types("")
        await terminal.shows("is required")
        await terminal.shows("from @BotFather (not shown): ")
        terminal.types("1:refused")
        await terminal.shows("channel telegram: NOT OK, the platform rejected the token")
        await terminal.shows("(s)kip this platform? [t]:")
        terminal.types("")
        await terminal.shows("from @BotFather (not shown): ")
        terminal.types(TOKEN)
        await terminal.shows("channel telegram: ok, the token is valid: @")
        shown = await terminal.shows("Waiting for it.")
        code = shown.partition("in a private message: ")[2].split()[0]
        house.telegram.add_user(STRANGER, first_name="Stan")
        house.telegram.user_sends_text(STRANGER, "AAAAAAAA")
        house.telegram.user_sends_text(OWNER, code.lower())
        await terminal.shows(f"({OWNER}).")
        await terminal.shows("Model provider, by number or name")
        terminal.types("99")
        await terminal.shows("99 is not a provider; use openai, anthropic, openrouter, ollama")
        terminal.types("other")
        await terminal.shows("API base URL")
        terminal.types("example.com")
        await terminal.shows("type an address that starts with http:// or https://")
        terminal.types(house.model.openai_base_url)
        await terminal.shows("the provider's API key (not shown; leave empty for none): ")
        terminal.types("wrong-key")
        await terminal.shows("Model name:")
        terminal.types("sim-1")
        await terminal.shows("model main: NOT OK, ")
        await terminal.shows("Change the (m)odel or key, the (p)rovider, or (w)rite it anyway? [m]:")
        terminal.types("m")
        await terminal.shows("API base URL")
        terminal.types(house.model.openai_base_url)
        await terminal.shows("leave empty for none): ")
        terminal.types(KEY)
        await terminal.shows("Model name:")
        terminal.types("sim-1")
        await terminal.shows("model main: ok, replied in ")
        await terminal.shows("hubbub run")
        assert await terminal.ended() == 0
    assert TOKEN not in terminal.shown
    assert KEY not in terminal.shown
    toml, env = house.directory / "hubbub.toml", house.directory / "hubbub.env"
    assert f'owner_identities = ["telegram:{OWNER}"]' in toml.read_text()
    assert stat.S_IMODE(env.stat().st_mode) == 0o600
    assert TOKEN not in toml.read_text()
    assert KEY not in toml.read_text()
    async with HubProcess(house.directory, env={"HUBBUB__HTTP__PORT": "0"}):
        house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_text(OWNER, "You said: hello", timeout_s=LIMIT_S)


async def test_running_init_again_changes_only_one_setting(house: Hub) -> None:
    """Comments, mode and everything else of the file stay."""
    assert (await from_script(house)).code == 0
    toml = house.directory / "hubbub.toml"
    before = toml.read_text().replace("[[models]]", "# mine\n[[models]] # the model\nthinking = 'low'")
    toml.write_text(before)
    toml.chmod(0o640)
    words = ["init", "--base-url", house.model.anthropic_base_url]
    async with Terminal(house.directory, *words, env=NO_SYSTEMD) as terminal:
        await terminal.shows("hubbub.toml exists. What do you want to change?")
        await terminal.shows("Number (empty: nothing):")
        terminal.types("17")
        await terminal.shows("choose a number from 1 to 6")
        terminal.types("1")
        await terminal.shows("Model provider, by number or name")
        terminal.types("2")
        await terminal.shows("the provider's API key")
        terminal.types(KEY)
        await terminal.shows("Model name [claude-sonnet-5-5]:")
        terminal.types("sim-1")
        await terminal.shows("Changed hubbub.toml and hubbub.env.")
        assert await terminal.ended() == 0
    assert stat.S_IMODE(toml.stat().st_mode) == 0o640
    changed = before.replace('provider = "openai"', 'provider = "anthropic"')
    changed = changed.replace("env:OPENAI_API_KEY", "env:ANTHROPIC_API_KEY")
    changed = changed.replace(house.model.openai_base_url, house.model.anthropic_base_url)
    assert toml.read_text() == changed
    loaded = load(environ={}, cwd=house.directory).config
    assert (loaded.models[0].provider, loaded.models[0].api_key.get_secret_value()) == ("anthropic", KEY)


async def test_with_arguments_init_asks_no_questions(house: Hub) -> None:
    made = await from_script(house)
    assert (made.code, made.err) == (0, "")
    config = load(environ={}, cwd=house.directory).config
    channel = config.channels["telegram"]
    assert isinstance(channel, TelegramChannel)
    assert channel.token.get_secret_value() == TOKEN
    assert config.hub.owner_identities == (f"telegram:{OWNER}",)
    assert config.models[0].api_key.get_secret_value() == KEY
    assert sorted(path.name for path in house.directory.iterdir()) == [
        "hubbub.env",
        "hubbub.toml",
        "workspace",
    ]


async def test_an_anthropic_model_is_tested_and_written(house: Hub) -> None:
    env = {name: value for name, value in SECRETS.items() if name != "OPENAI_API_KEY"}
    url = house.model.anthropic_base_url
    made = await from_script(
        house, "--provider", "anthropic", "--base-url", url, env=env | {"ANTHROPIC_API_KEY": KEY}
    )
    assert (made.code, "model main: ok, replied in " in made.out) == (0, True)
    written = (house.directory / "hubbub.toml").read_text()
    assert f'provider = "anthropic"\nmodel = "sim-1"\nbase_url = "{url}"' in written
    (model,) = load(environ={}, cwd=house.directory).config.models
    assert (model.provider, model.api_key.get_secret_value()) == ("anthropic", KEY)
    assert {one.wire for one in house.model.log.all()} == {"anthropic"}


@pytest.mark.parametrize(
    "wrong, told",
    [
        ({"TELEGRAM_TOKEN": "1:refused"}, "channel telegram: NOT OK, the platform rejected the token"),
        ({"OPENAI_API_KEY": "refused-key"}, "model main: NOT OK, "),
    ],
)
async def test_a_refused_change_is_not_written(house: Hub, wrong: dict[str, str], told: str) -> None:
    ended = await from_script(house, env=SECRETS | wrong)
    assert (ended.code, told in ended.out) == (1, True)
    assert ended.complaint == "nothing was written; fix the problem, or skip the test with --no-check"
    assert not (house.directory / "hubbub.toml").exists()
    assert not (house.directory / "hubbub.env").exists()
    for secret in (SECRETS | wrong).values():
        assert secret not in ended.out + ended.err
    untried = await from_script(house, "--no-check", env=SECRETS | wrong)
    assert (untried.code, untried.err) == (0, "")


async def test_existing_files_are_replaced_only_on_request(house: Hub) -> None:
    toml, env = house.directory / "hubbub.toml", house.directory / "hubbub.env"
    toml.write_text("# mine\n")
    env.write_text("OTHER=precious\nTELEGRAM_TOKEN=old\n")
    refused = await from_script(house, "--no-check")
    assert refused.code == 2
    assert refused.complaint == "hubbub.toml and hubbub.env would be replaced; add --force to allow it"
    async with Terminal(house.directory, "init") as terminal:
        await terminal.shows("6  start over")
        await terminal.shows("Number (empty: nothing):")
        terminal.types("6")
        await terminal.shows("hubbub.toml and hubbub.env will be replaced. Continue? [y/N]:")
        terminal.types("")
        assert await terminal.ended() == 1
    assert (toml.read_text(), "OTHER=precious" in env.read_text()) == ("# mine\n", True)
    assert (await from_script(house, "--no-check", "--force")).code == 0
    assert "# mine" not in toml.read_text()
    assert set(env.read_text().splitlines()) == {
        "OTHER=precious",
        f"TELEGRAM_TOKEN={TOKEN}",
        f"OPENAI_API_KEY={KEY}",
    }


# ---------------------------------------------------------------- without anybody to ask


@pytest.mark.parametrize(
    "words, complaint",
    [
        ([], "this needs a terminal; add --no-input, see --help"),
        (["--no-input"], "TELEGRAM_TOKEN is not set; set it to the bot's token, from @BotFather"),
        (["--no-input", "--platform", "fax"], "fax is not a platform; use telegram, slack, discord or none"),
        (
            ["--no-input", "--platform", "none", "--provider", "x"],
            "x is not a provider; use openai, anthropic, openrouter, ollama, lmstudio, vllm, other or demo",
        ),
    ],
)
def test_a_missing_argument_is_a_usage_error(tmp_path: Path, words: list[str], complaint: str) -> None:
    ended = command(tmp_path, "init", *words)
    assert (ended.code, ended.complaint) == (2, complaint)
    assert list(tmp_path.iterdir()) == []


def test_init_works_without_any_account(tmp_path: Path) -> None:
    made = command(tmp_path, "init", "--no-input", "--platform", "none", "--provider", "demo")
    assert (made.code, made.err) == (0, "")
    assert "hubbub run" in made.out
    assert not (tmp_path / "hubbub.env").exists()
    assert command(tmp_path, "config", "check").code == 0


def test_an_invalid_token_is_reported_as_config_check_does(tmp_path: Path) -> None:
    made = command(
        tmp_path, "init", "--no-input", "--platform", "telegram", env=SECRETS | {"TELEGRAM_TOKEN": "x"}
    )
    assert made.code == 2
    assert "is not a bot token; copy it from @BotFather" in made.err
    assert list(tmp_path.iterdir()) == []


accounts = st.from_regex(r"[0-9]{1,12}", fullmatch=True)
texts = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=20).filter(str.strip)


@given(model=texts, path=st.from_regex(r"[a-z0-9/]{0,10}", fullmatch=True), account=accounts)
def test_any_answer_is_written_as_it_was_given(model: str, path: str, account: str) -> None:
    url = f"http://127.0.0.1:1/{path}".rstrip("/")
    channel = ChannelAnswer(PLATFORMS["telegram"], {"TELEGRAM_TOKEN": "1:a"}, account, url)
    answers = Answers([channel], ModelAnswer("openai", model, url, KEY))
    assert KEY not in configuration(answers)
    config = judged(answers, {"HUBBUB__HTTP__PORT": "not for this"})
    assert (config.models[0].model, config.models[0].base_url) == (model, url)
    assert config.hub.owner_identities == (f"telegram:{account}",)
    settings = config.channels["telegram"]
    assert isinstance(settings, TelegramChannel)
    assert settings.api_base_url == url


async def test_model_servers_are_looked_for_on_this_machine_only() -> None:
    local = [one for one in PROVIDERS.values() if one.local]
    assert [one.base_url for one in local] == [f"http://127.0.0.1:{port}/v1" for port in (11434, 1234, 8000)]
    async with TestServer(_listing("llama", "qwen")) as server:
        here = ProviderSetup("here", "here", "openai", f"http://127.0.0.1:{server.port}/v1")
        elsewhere = ProviderSetup("there", "there", "openai", f"http://localhost:{server.port}/v1")
        silent = ProviderSetup("silent", "silent", "openai", "http://127.0.0.1:1/v1")
        assert await local_models([here, elsewhere, silent]) == {"here": ["llama", "qwen"]}


def _listing(*models: str) -> web.Application:
    """A model server that wants no key."""

    async def listed(request: web.Request) -> web.Response:
        del request
        return web.json_response({"object": "list", "data": [{"id": name} for name in models]})

    app = web.Application()
    app.router.add_get("/v1/models", listed)
    return app


def test_a_unit_is_written_and_shown_and_nothing_is_started(tmp_path: Path) -> None:
    """No `systemctl` is called: there is none on the path of this command."""
    words = ("init", "--no-input", "--platform", "none", "--provider", "demo", "--service")
    made = command(tmp_path, *words, env={"XDG_CONFIG_HOME": str(tmp_path / "home"), "PATH": ""})
    unit = tmp_path / "home" / "systemd" / "user" / "hubbub.service"
    assert (made.code, made.err) == (0, "")
    assert unit.read_text() in made.out
    assert "It is not enabled." in made.out
    assert f"--config {tmp_path}/hubbub.toml" in unit.read_text()
    assert f"WorkingDirectory={tmp_path}\n" in unit.read_text()
    unit = service_unit("/a b/100%/$x", "/", "/c")
    assert '"/a b/100%%/$$x" run' in unit
    assert "\nUMask=0077\nNoNewPrivileges=yes\n" in unit
