"""The configuration: where it comes from, what overrides what."""

from pathlib import Path

import pytest

from bot.cli.conventions import data_dir_of
from bot.config.load import load
from bot.config.schema import Config, secret_values
from bot.config.sections import TelegramChannel
from bot.runtime import ConfigError
from tests.bot.config.config_texts import SECRET, TOKEN, VARIABLES, WHOLE, load_text, problems

# ------------------------------------------------------------------------------------- where it comes from


def telegram_channel(config: Config, name: str) -> TelegramChannel:
    channel = config.channels[name]
    assert isinstance(channel, TelegramChannel)
    return channel


def test_the_defaults_are_a_demo_model_and_no_channel(tmp_path: Path) -> None:
    loaded = load(environ={}, cwd=tmp_path)
    assert loaded.source is None
    assert [model.provider for model in loaded.config.models] == ["demo"]
    assert loaded.config.channels == {}
    assert loaded.config.approvals.preset == "auto_loop"
    assert loaded.config.hub.data_dir == tmp_path / "data"
    assert loaded.config.workspace.dir == tmp_path / "workspace"


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, WHOLE)
    config = loaded.config
    assert loaded.source == Path("hubbub.toml")
    assert config.hub.timezone == "Europe/Berlin"
    assert config.http.public_url == "https://hub.example.org"
    assert config.models[0].api_key.get_secret_value() == SECRET
    assert config.models[1].provider == "demo"
    assert config.approvals.tool_timeouts == {"shell": 60, "http": 5.5}
    assert config.teams["ops"].users == (
        "01900000-0000-7000-8000-000000000009",
        "01900000-0000-7000-8000-00000000000a",
    )
    assert config.roles.guest.tools == ("time",)
    telegram = telegram_channel(config, "telegram")
    assert (telegram.platform, telegram.direct, telegram.groups) == ("telegram", "allowlist", "off")
    assert telegram.token.get_secret_value() == TOKEN
    assert telegram_channel(config, "second-bot").mode == "webhook"


def test_the_path_given_wins_over_the_variable_and_that_over_the_working_directory(tmp_path: Path) -> None:
    for name in ("hubbub.toml", "variable.toml", "given.toml"):
        (tmp_path / name).write_text(f'[hub]\nowner = "{name.removesuffix(".toml")}"\n')
    environ = {"HUBBUB_CONFIG": str(tmp_path / "variable.toml")}
    assert load(Path("given.toml"), environ=environ, cwd=tmp_path).config.hub.owner == "given"
    assert load(environ=environ, cwd=tmp_path).config.hub.owner == "variable"
    assert load(environ={}, cwd=tmp_path).config.hub.owner == "hubbub"


def test_relative_paths_start_at_the_configuration_file(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "hub.toml").write_text(
        '[hub]\ndata_dir = "../var/hub"\n[workspace]\ndir = "/srv/work"\n'
    )
    config = load(Path("etc/hub.toml"), environ={}, cwd=tmp_path).config
    assert config.hub.data_dir == tmp_path / "var" / "hub"
    assert config.workspace.dir == Path("/srv/work")


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    text = "\ufeff# hub\r\n[http]\r\nport = 1\r\nhots = 2\r\n"
    assert problems(tmp_path, text) == ["hubbub.toml:4: http.hots: unknown key; did you mean host?"]


def test_the_environment_is_passed_on_but_not_printed(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, WHOLE)
    assert loaded.environment == VARIABLES
    assert SECRET not in repr(loaded)


def test_secrets_are_collected_for_redaction_and_never_printed(tmp_path: Path) -> None:
    config = load_text(tmp_path, WHOLE).config
    assert secret_values(config) == {TOKEN, SECRET, "654321:xyz", "hush_hush"}
    shown = f"{config!r} {config} {config.model_dump()} {config.model_dump_json()}"
    for secret in secret_values(config):
        assert secret not in shown


# ----------------------------------------------------------------------------------- variables override it


def test_variables_override_every_kind_of_value(tmp_path: Path) -> None:
    config = load_text(
        tmp_path,
        WHOLE,
        VARIABLES
        | {
            "HUBBUB__HTTP__PORT": "0",
            "HUBBUB__HUB__OWNER": "bo",
            "HUBBUB__HUB__TIMEZONE": '"UTC"',
            "HUBBUB__AGENT__STREAM": "false",
            "HUBBUB__HUB__OWNER_IDENTITIES": '["telegram:1", "telegram:2"]',
            "HUBBUB__APPROVALS__TOOL_TIMEOUTS": "{ shell = 7 }",
            "HUBBUB__APPROVALS__TOOL_TIMEOUTS__HTTP": "8",
            "HUBBUB__CHANNELS__TELEGRAM__TOKEN": "1:over",
            "HUBBUB__CHANNELS__SECOND_BOT__TOKEN": "env:TELEGRAM_TOKEN",
            "HUBBUB__MODELS__0__MODEL": "12345",
            "HUBBUB__ROLES__MEMBER__ASK_OWNER": "true",
        },
    ).config
    assert config.http.port == 0
    assert (config.hub.owner, config.hub.timezone) == ("bo", "UTC")
    assert config.agent.stream is False
    assert config.hub.owner_identities == ("telegram:1", "telegram:2")
    assert config.approvals.tool_timeouts == {"shell": 7, "http": 8}
    assert telegram_channel(config, "telegram").token.get_secret_value() == "1:over"
    assert telegram_channel(config, "second-bot").token.get_secret_value() == TOKEN
    assert config.models[0].model == "12345"
    assert config.roles.member.ask_owner is True


def test_variables_alone_make_a_channel_and_a_model(tmp_path: Path) -> None:
    environ = {
        "HUBBUB__CHANNELS__TELEGRAM__TOKEN": TOKEN,
        "HUBBUB__MODELS__0__PROVIDER": "openai",
        "HUBBUB__MODELS__0__MODEL": "m",
        "HUBBUB__MODELS__0__BASE_URL": "http://127.0.0.1:1/v1",
    }
    config = load(environ=environ, cwd=tmp_path).config
    assert config.channels["telegram"].platform == "telegram"
    assert config.models[0].base_url == "http://127.0.0.1:1/v1"


def test_a_number_from_the_environment_is_a_number(tmp_path: Path) -> None:
    text = '[http]\nport = "env:PORT"\n[hub]\nowner = "env:OWNER"\n'
    config = load_text(tmp_path, text, {"PORT": "81", "OWNER": "a81"}).config
    assert (config.http.port, config.hub.owner) == (81, "a81")


def test_text_that_only_looks_like_a_reference_is_text(tmp_path: Path) -> None:
    text = '[agent]\nsystem_prompt = "env: be kind"\n'
    assert load_text(tmp_path, text).config.agent.system_prompt == "env: be kind"


@pytest.mark.parametrize(
    "name,raw,line",
    [
        ("HUBBUB__HTTP__PORT", "many", 'http.port: "many" must be a whole number; for example port = 8765'),
        ("HUBBUB__HTTP__PORTS", "1", "http.ports: unknown key; did you mean port?"),
        ("HUBBUB__HTTP__PORT", "env:NO_PORT", "http.port: the environment variable NO_PORT is not set; "
         "set it, or put the value here"),
        ("HUBBUB__HUB__STORE", "postgresql://u:pw@db/x",
         'hub.store: "postgresql://***@db/x" is not supported in this version; use "sqlite"'),
        ("HUBBUB__MODELS__7__NAME", "x", "does not name a key; use HUBBUB__SECTION__KEY"),
        ("HUBBUB__HTTP__PORT__X", "x", "does not name a key; use HUBBUB__SECTION__KEY"),
        ("HUBBUB__", "x", "does not name a key; use HUBBUB__SECTION__KEY"),
        ("HUBBUB__CHANNELS__TELEGRAM__ALLOW", "1,2",
         'channels.telegram.allow: "1,2" must be a list in brackets; for example allow = []'),
        ("HUBBUB__HTTP__PORT", "1\nhost = 2",
         'http.port: "1\\nhost = 2" must be a whole number; for example port = 8765'),
    ],
)  # fmt: skip
def test_a_bad_override_is_named_by_its_variable(tmp_path: Path, name: str, raw: str, line: str) -> None:
    assert problems(tmp_path, WHOLE, **{name: raw}) == [f"{name}: {line}"]


@pytest.mark.parametrize(
    "lines, free",
    [
        ("provider = 'openai'", False),
        ("provider = 'openai'\ninput_usd_per_million = 0", True),
        ("provider = 'openai'\noutput_usd_per_million = 2", False),
        ("provider = 'demo'", True),
    ],
)
def test_a_price_of_zero_is_a_price(tmp_path: Path, lines: str, free: bool) -> None:
    path = tmp_path / "hubbub.toml"
    path.write_text(f"[[models]]\nmodel = 'm'\napi_key = 'k'\n{lines}\n")
    (model,) = load(path).config.models
    assert model.free is free


@pytest.mark.parametrize("file", ["", '[hub]\ndata_dir = "kept"', '[hub]\ndata_dir = "env:KEPT"', "hub = 1"])
@pytest.mark.parametrize("variable", ["", "HUBBUB__HUB__DATA_DIR", "HUBBUB__hub__data_dir", "HUBBUB__HUB"])
def test_commands_find_the_data_where_the_hub_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, variable: str
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    monkeypatch.setenv("KEPT", "kept-there")
    if variable:
        monkeypatch.setenv(variable, '{ data_dir = "by-variable" }' if variable == "HUBBUB__HUB" else "by-it")
    path = tmp_path / "hubbub.toml"
    path.write_text(file)
    try:
        expected = load(path).config.hub.data_dir
    except ConfigError:
        with pytest.raises(ConfigError):
            data_dir_of(path)
    else:
        assert data_dir_of(path) == expected
