"""The configuration: where it comes from, what overrides what, and every refusal's exact words."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channel_settings import TelegramChannel
from bot.config import Loaded, load
from bot.config_secrets import secret_values
from bot.errors import ConfigError
from bot.settings import Config

TOKEN = "123456:ABC-def_ghi"
SECRET = "sk-very-secret"
WHOLE = """\
# a hub with everything
[hub]
data_dir = "./data"
owner = "anna"
owner_identities = ["telegram:12345"]
timezone = "Europe/Berlin"

[http]
port = 9000
public_url = "https://hub.example.org/"

[[models]]
name = "main"
provider = "openai"
model = "gpt-5-mini"
api_key = "env:OPENAI_API_KEY"

[[models]]
name = "spare"
provider = "demo"

[approvals]
preset = "whitelist"
tool_timeouts = { shell = 60, http = 5.5 }
approvers = "team:ops"
quorum = 2

[teams.ops]
users = ["01900000-0000-7000-8000-000000000009", "0190000000007000800000000000000A"]

[roles.guest]
tools = ["time"]

[channels.telegram]
token = "env:TELEGRAM_TOKEN"
direct = "allowlist"
allow = ["777"]

[channels.second-bot]
platform = "telegram"
token = "654321:xyz"
mode = "webhook"
webhook_secret = "hush_hush"
"""
VARIABLES = {"TELEGRAM_TOKEN": TOKEN, "OPENAI_API_KEY": SECRET, "PATH": "/bin", "HOME": "/nowhere"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def load_text(folder: Path, text: str | bytes, environ: Mapping[str, str] = VARIABLES) -> Loaded:
    data = text.encode() if isinstance(text, str) else text
    (folder / "hubbub.toml").write_bytes(data)
    return load(environ=environ, cwd=folder)


def problems(folder: Path, text: str | bytes, **environ: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        load_text(folder, text, VARIABLES | environ)
    assert str(refused.value) == "\n".join(refused.value.problems)
    return list(refused.value.problems)


# ------------------------------------------------------------------------------------- where it comes from


def telegram_channel(config: Config, name: str) -> TelegramChannel:
    channel = config.channels[name]
    assert isinstance(channel, TelegramChannel)
    return channel


def test_without_a_file_the_hub_has_a_demo_model_and_no_channel(folder: Path) -> None:
    loaded = load(environ={}, cwd=folder)
    assert loaded.source is None
    assert [model.provider for model in loaded.config.models] == ["demo"]
    assert loaded.config.channels == {}
    assert loaded.config.approvals.preset == "auto_loop"
    assert loaded.config.hub.data_dir == folder / "data"
    assert loaded.config.workspace.dir == folder / "workspace"


def test_a_whole_file_is_read(folder: Path) -> None:
    loaded = load_text(folder, WHOLE)
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


def test_the_path_given_wins_over_the_variable_and_that_over_the_working_directory(folder: Path) -> None:
    for name in ("hubbub.toml", "variable.toml", "given.toml"):
        (folder / name).write_text(f'[hub]\nowner = "{name.removesuffix(".toml")}"\n')
    environ = {"HUBBUB_CONFIG": str(folder / "variable.toml")}
    assert load(Path("given.toml"), environ=environ, cwd=folder).config.hub.owner == "given"
    assert load(environ=environ, cwd=folder).config.hub.owner == "variable"
    assert load(environ={}, cwd=folder).config.hub.owner == "hubbub"


def test_relative_paths_start_at_the_file_that_says_them(folder: Path) -> None:
    (folder / "etc").mkdir()
    (folder / "etc" / "hub.toml").write_text(
        '[hub]\ndata_dir = "../var/hub"\n[workspace]\ndir = "/srv/work"\n'
    )
    config = load(Path("etc/hub.toml"), environ={}, cwd=folder).config
    assert config.hub.data_dir == folder / "var" / "hub"
    assert config.workspace.dir == Path("/srv/work")


def test_a_byte_order_mark_and_windows_line_ends_are_fine(folder: Path) -> None:
    text = "\ufeff# hub\r\n[http]\r\nport = 1\r\nhots = 2\r\n"
    assert problems(folder, text) == ["hubbub.toml:4: http.hots: unknown key; did you mean host?"]


def test_the_environment_is_handed_on_but_not_printed(folder: Path) -> None:
    loaded = load_text(folder, WHOLE)
    assert loaded.environment == VARIABLES
    assert SECRET not in repr(loaded)


def test_secrets_are_collected_for_redaction_and_never_printed(folder: Path) -> None:
    config = load_text(folder, WHOLE).config
    assert secret_values(config) == {TOKEN, SECRET, "654321:xyz", "hush_hush"}
    shown = f"{config!r} {config} {config.model_dump()} {config.model_dump_json()}"
    for secret in secret_values(config):
        assert secret not in shown


# ----------------------------------------------------------------------------------- variables override it


def test_variables_override_every_kind_of_value(folder: Path) -> None:
    config = load_text(
        folder,
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


def test_variables_alone_make_a_channel_and_a_model(folder: Path) -> None:
    environ = {
        "HUBBUB__CHANNELS__TELEGRAM__TOKEN": TOKEN,
        "HUBBUB__MODELS__0__PROVIDER": "openai",
        "HUBBUB__MODELS__0__MODEL": "m",
        "HUBBUB__MODELS__0__BASE_URL": "http://127.0.0.1:1/v1",
    }
    config = load(environ=environ, cwd=folder).config
    assert config.channels["telegram"].platform == "telegram"
    assert config.models[0].base_url == "http://127.0.0.1:1/v1"


def test_a_number_from_the_environment_is_a_number(folder: Path) -> None:
    text = '[http]\nport = "env:PORT"\n[hub]\nowner = "env:OWNER"\n'
    config = load_text(folder, text, {"PORT": "81", "OWNER": "a81"}).config
    assert (config.http.port, config.hub.owner) == (81, "a81")


def test_text_that_only_looks_like_a_reference_is_text(folder: Path) -> None:
    text = '[agent]\nsystem_prompt = "env: be kind"\n'
    assert load_text(folder, text).config.agent.system_prompt == "env: be kind"


@pytest.mark.parametrize(
    "name,raw,line",
    [
        ("HUBBUB__HTTP__PORT", "many", 'http.port: "many" must be a whole number; for example port = 8765'),
        ("HUBBUB__HTTP__PORTS", "1", "http.ports: unknown key; did you mean port?"),
        ("HUBBUB__HTTP__PORT", "env:NO_PORT", "http.port: the environment variable NO_PORT is not set; "
         "set it or write the value here"),
        ("HUBBUB__HUB__STORE", "postgresql://u:pw@db/x",
         'hub.store: "postgresql://***@db/x" is not supported by this version; use "sqlite"'),
        ("HUBBUB__MODELS__7__NAME", "x", "does not lead to a key; write HUBBUB__SECTION__KEY"),
        ("HUBBUB__HTTP__PORT__X", "x", "does not lead to a key; write HUBBUB__SECTION__KEY"),
        ("HUBBUB__", "x", "does not lead to a key; write HUBBUB__SECTION__KEY"),
        ("HUBBUB__CHANNELS__TELEGRAM__ALLOW", "1,2",
         'channels.telegram.allow: "1,2" must be a list in brackets; for example allow = []'),
        ("HUBBUB__HTTP__PORT", "1\nhost = 2",
         'http.port: "1\\nhost = 2" must be a whole number; for example port = 8765'),
    ],
)  # fmt: skip
def test_a_bad_override_is_named_by_its_variable(folder: Path, name: str, raw: str, line: str) -> None:
    assert problems(folder, WHOLE, **{name: raw}) == [f"{name}: {line}"]


# -------------------------------------------------------------------------------------- refusals, in words

ONE_LINE_EACH = [
    ("[hub]\ntimezon = 'UTC'", "2: hub.timezon: unknown key; did you mean timezone?"),
    ("\n[aproovals]\n", "2: aproovals: unknown key; did you mean approvals?"),
    ("[agent]\npreset = 'auto'", "2: agent.preset: unknown key here; it belongs to [approvals]"),
    (
        "[access]\nxyz = 1",
        "2: access.xyz: unknown key; remove it, or use one of sender_per_minute",
    ),
    (
        "[heartbeat]\nenabled = true\n[routines]\nenabled = false",
        "2: heartbeat.enabled: needs [routines] enabled = true; set one of both",
    ),
    (
        "[heartbeat]\nactive_hours = '8-22'",
        '2: heartbeat.active_hours: "8-22" is not a span of hours;'
        ' write such as "08:00-22:00", or "" for all day',
    ),
    (
        "[[models]]\nprovider = 'demo'\nthinking = 'off'",
        "3: models[0].thinking: is not supported by this version; remove it",
    ),
    (
        "[[models]]\nprovider = 'anthropic'",
        '2: models[0].provider: "anthropic" is not supported by this version; use "openai" or "demo"',
    ),
    (
        "[hub]\nstore = 'postgresql://user:pw@host/db'",
        '2: hub.store: "postgresql://***@host/db" is not supported by this version; use "sqlite"',
    ),
    (
        "[channels.discord]\ntoken = 'x'",
        "2: channels.discord.token: is not a bot token; copy it from discord.com/developers/applications"
        " (Bot), it has three parts",
    ),
    ("[http]\nport = '80'", '2: http.port: "80" must be a whole number; for example port = 8765'),
    (
        "[http]\nhost = '0.0.0.0'",
        "1: http.public_url: missing, and [http] host 0.0.0.0 is reached from other machines; write the"
        ' address people use, for example public_url = "https://hub.example", or listen on 127.0.0.1',
    ),
    ("[http]\nport = 70000", "2: http.port: 70000 must be at most 65535; for example port = 8765"),
    ("[agent]\nstream = 1", "2: agent.stream: 1 must be true or false; for example stream = true"),
    (
        "[approvals]\nmax_rounds = 0",
        "2: approvals.max_rounds: 0 must be at least 1; for example max_rounds = 5",
    ),
    (
        "[approvals]\ntool_timeout_s = 0",
        "2: approvals.tool_timeout_s: 0 must be more than 0; for example tool_timeout_s = 30",
    ),
    (
        "[budget]\ndaily_usd = 5",
        "1: budget: is not supported by this version; remove it",
    ),
    (
        "[roles.guest]\ndaily_model_calls = -1",
        "2: roles.guest.daily_model_calls: -1 must be at least 0; for example daily_model_calls = 50",
    ),
    (
        "[channels.telegram]\ntoken = '1:A'\nshared_threads = true",
        "3: channels.telegram.shared_threads: is not supported by this version; remove it",
    ),
    (
        "[approvals]\ntool_timeouts = { shell = 1, http = 'long' }",
        '2: approvals.tool_timeouts.http: "long" must be a number; correct the entry of '
        "approvals.tool_timeouts",
    ),
    (
        "[approvals]\ntool_timeout_s = nan",
        "2: approvals.tool_timeout_s: nan must be a finite number; for example tool_timeout_s = 30",
    ),
    ("[hub]\ndata_dir = 5", '2: hub.data_dir: 5 must be text in quotes; for example data_dir = "data"'),
    ("[hub]\ndata_dir = ''", '2: hub.data_dir: "" must not be empty; write a value or remove the key'),
    (
        "[hub]\nowner_identities = 'telegram:1'",
        '2: hub.owner_identities: "telegram:1" must be a list in brackets; for example owner_identities = []',
    ),
    (
        "[hub]\nowner_identities = [\n  'telegram:1',\n  '@anna',\n]",
        '4: hub.owner_identities[1]: "@anna" is not an identity; write channel:id, such as telegram:12345',
    ),
    (
        "[hub]\ntimezone = 'Mars/Olympus'",
        '2: hub.timezone: "Mars/Olympus" is not a known time zone; write an IANA name such as '
        "Europe/Berlin or UTC",
    ),
    (
        "[approvals]\npreset = 'manuel'",
        '2: approvals.preset: "manuel" is not one of the choices; did you mean "manual"?',
    ),
    (
        "[log]\nformat = 'x'",
        '2: log.format: "x" is not one of the choices; use "plain" or "json"',
    ),
    (
        "[approvals]\napprovers = 'ops'",
        '2: approvals.approvers: "ops" must be "requester", "owner" or "team:NAME"; NAME is a section '
        "[teams.NAME]",
    ),
    (
        "[approvals]\napprovers = 'team:ops'",
        '2: approvals.approvers: there is no team "ops"; add [teams.ops] with users, or name another',
    ),
    (
        "[approvals]\nquorum = 2",
        "2: approvals.quorum: 2 people must agree but approvers has 1; lower it or name a team",
    ),
    (
        "[[approvals.rules]]\ntool = 'Shell!'",
        '2: approvals.rules[0].tool: "Shell!" is not a tool; write its name, or the beginning of several '
        "names and *",
    ),
    (
        "[[approvals.rules]]\nnot_requester = true",
        "2: approvals.rules[0].not_requester: leaves nobody to decide; name a team in approvers, or "
        '"owner" for members\' calls',
    ),
    (
        "[[approvals.rules]]\napprovers = 'owner'\nnot_requester = true",
        "3: approvals.rules[0].not_requester: leaves nobody to decide the owner's own calls; set role = "
        '"member"',
    ),
    (
        "[teams.two]\nusers = ['owner', '0190000000007000800000000000000A']\n"
        "[[approvals.rules]]\napprovers = 'team:two'\nquorum = 2\nnot_requester = true",
        "5: approvals.rules[0].quorum: 2 people must agree but approvers has 1; lower it or name a team",
    ),
    (
        "[[approvals.rules]]\nescalate_to = 'owner'",
        "1: approvals.rules[0].escalate_after_s: missing; escalate_to and escalate_after_s belong together",
    ),
    (
        "[[approvals.rules]]\nescalate_after_s = 60\nescalate_to = 'team:none'",
        '3: approvals.rules[0].escalate_to: there is no team "none"; add [teams.none] with users, or name '
        "another",
    ),
    (
        "[[approvals.rules]]\nask_in = 'slack:C1'",
        '2: approvals.rules[0].ask_in: there is no channel "slack"; add [channels.slack], or name another',
    ),
    (
        "[teams.ops]\nusers = []",
        '2: teams.ops.users: must not be empty; for example users = ["owner", '
        '"01900000-0000-7000-8000-000000000000"]',
    ),
    (
        "[teams.ops]\nusers = ['owner', 'anna']",
        "2: teams.ops.users[1]: \"anna\" is nobody's id; write the owner's or another that "
        "`hubbub users list` shows",
    ),
    (
        "[teams.ops]\nusers = ['owner', 'Anna B']",
        "2: teams.ops.users[1]: \"Anna B\" is nobody's id; write the owner's or another that "
        "`hubbub users list` shows",
    ),
    ("http = 5", "1: http: 5 must be a table; write it as [http]"),
    ("models = []", '1: models: must name at least one model; write [[models]] with provider = "demo"'),
    ("[models]\nname = 'a'", "1: models: must be a list in brackets; write it as [[models]]"),
    ("[[models]]\nname = 'a'", '1: models[0].provider: missing; for example provider = "openai"'),
    ("[[models]]\nprovider = 'openai'", '1: models[0].model: missing; for example model = "gpt-5-mini"'),
    (
        "[[models]]\nprovider = 'demo'\n[[models]]\nprovider = 'demo'",
        '3: models[1].name: "main" is taken; give each model its own name',
    ),
    (
        "[[models]]\nprovider = 'openai'\nmodel = 'm'\nbase_url = 'localhost:80'",
        '4: models[0].base_url: "localhost:80" is not a web address; write one that begins with https:// or '
        "http://",
    ),
    (
        "[agent]\ncontext_tokens = 4000\nreserve_tokens = 4000",
        "3: agent.reserve_tokens: must be less than context_tokens; lower it",
    ),
    ("[channels.telegram]", '1: channels.telegram.token: missing; for example token = "env:TELEGRAM_TOKEN"'),
    (
        "[channels.telegram]\ntoken = 'hunter2'",
        "2: channels.telegram.token: is not a bot token; copy it from @BotFather, it looks like "
        "123456:ABC-DEF",
    ),
    (
        "[channels.telegram]\ntoken = 12345",
        '2: channels.telegram.token: must be text in quotes; for example token = "env:TELEGRAM_TOKEN"',
    ),
    (
        "[channels.telegram]\ntoken = 'env:NO_TOKEN'",
        "2: channels.telegram.token: the environment variable NO_TOKEN is not set; set it or "
        "write the value here",
    ),
    (
        "[channels.telegram]\ntoken = '1:a'\nallow = ['@anna']",
        '3: channels.telegram.allow[0]: "@anna" is not a Telegram id; write the account\'s '
        "number, not its @name",
    ),
    (
        "[network]\nallow_private = ['127.0.0.1:8080', '10.0.0.0/8']",
        '2: network.allow_private[1]: "10.0.0.0/8" names no port; write ADDRESS:PORT or NETWORK:PORT, '
        "such as 127.0.0.1:8080, 10.0.0.0/8:443 or [fd00::/8]:443",
    ),
    (
        "[network]\nallow_private = ['0.0.0.0/0:80']",
        '2: network.allow_private[0]: "0.0.0.0/0:80" is not within one private network; public addresses '
        "need no line here, remove it",
    ),
    (
        "[channels.work]\ntoken = '1:a'",
        '1: channels.work.platform: missing; for example platform = "telegram"',
    ),
    (
        "[channels.work]\nplatform = 'telegramm'\ntoken = '1:a'",
        '2: channels.work.platform: "telegramm" is not one of the choices; did you mean "telegram"?',
    ),
    (
        "[channels.work]\nplatform = 0\ntoken = '1:a'",
        '2: channels.work.platform: this is not one of the choices; use "telegram" or "slack" or "discord"',
    ),
    (
        "[channels.Work]\nplatform = 'telegram'\ntoken = '1:a'",
        '1: channels.Work: "Work" is not a name; use small letters, digits, - and single _, beginning with a '
        "letter",
    ),
    (
        "[http]\npublic_url = 'https://h'\n[channels.telegram]\ntoken = '1:a'\nmode = 'webhook'",
        "3: channels.telegram.webhook_secret: missing; a webhook needs one, for example webhook_secret = "
        '"env:TELEGRAM_WEBHOOK_SECRET"',
    ),
    (
        "[channels.telegram]\ntoken = '1:a'\nmode = 'webhook'\nwebhook_secret = 'x'",
        "3: channels.telegram.mode: a webhook needs the https:// address in [http] public_url; set that, or "
        'use "polling"',
    ),
]


@pytest.mark.parametrize("text,line", ONE_LINE_EACH)
def test_each_refusal_names_file_line_key_and_what_to_do(folder: Path, text: str, line: str) -> None:
    assert problems(folder, text) == [f"hubbub.toml:{line}"]


@pytest.mark.parametrize(
    "text,line",
    [
        ("[http]\nport = \n", "hubbub.toml:2: not valid TOML: Invalid value; correct this line"),
        ("[http\nport = 1\n", "hubbub.toml:1: not valid TOML: Expected ']' at the end of a table "
         "declaration; correct this line"),
        ("a = 1\n\na = 2\n", "hubbub.toml:3: not valid TOML: Cannot overwrite a value; correct this line"),
        ('a = """never closed\n\n', "hubbub.toml:1: not valid TOML: Unterminated string; correct this line"),
        (b"[hub]\nowner = '\xff'\n", "hubbub.toml:2: is not UTF-8; save the file as UTF-8"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_toml_names_its_line(folder: Path, text: str | bytes, line: str) -> None:
    assert problems(folder, text) == [line]


def test_all_problems_are_told_at_once(folder: Path) -> None:
    text = "[hub]\nowner = 1\n[http]\nprot = 2\n[agent]\nstream = 'yes'\n"
    assert [line.split(" ")[1] for line in problems(folder, text)] == [
        "hub.owner:",
        "http.prot:",
        "agent.stream:",
    ]


def test_a_file_that_is_not_there(folder: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"^gone\.toml: there is no such file; name another one or create it$"
    ):
        load(Path("gone.toml"), environ={}, cwd=folder)
    with pytest.raises(ConfigError, match=r"^gone\.toml: there is no such file"):
        load(environ={"HUBBUB_CONFIG": "gone.toml"}, cwd=folder)


def test_a_file_that_cannot_be_read(folder: Path) -> None:
    (folder / "dir.toml").mkdir()
    with pytest.raises(
        ConfigError, match=r"^dir\.toml: cannot be read \(Is a directory\); check its permissions$"
    ):
        load(Path("dir.toml"), environ={}, cwd=folder)


def test_a_file_nested_too_deep(folder: Path) -> None:
    (line,) = problems(folder, "a = " + "[" * 5000 + "]" * 5000)
    assert line.startswith("hubbub.toml: cannot be read as TOML")


def test_values_from_the_environment_are_never_shown(folder: Path) -> None:
    text = (
        "[hub]\nowner = 'env:LEAK'\ntimezone = 'env:LEAK'\nlocale = 'env:LEAK'\n[http]\nport = 'env:LEAK'\n"
    )
    lines = problems(folder, text, LEAK="Top Secret")
    assert len(lines) == 4
    assert all("Top Secret" not in line for line in lines)


# ------------------------------------------------------------------------------------------- random damage

pieces = st.sampled_from(
    [
        "[",
        "]",
        "[[",
        '"',
        "'",
        '"""',
        "=",
        ".",
        "#",
        "\n",
        ",",
        "{",
        "}",
        "\\",
        "\x00",
        "\ud7ff",
        "🚀",
        "env:X",
    ]
)
scalars = st.sampled_from(
    ["0", "-1", "99999999999999999999", "1e999", "nan", "true", '""', '"x"', "[]", "[[]]", "{}", '"env:GONE"',
     "2026-01-01", '"env:TELEGRAM_TOKEN"', "[1, 'a', {}]", "'" + "x" * 300 + "'"]
)  # fmt: skip
LINES = WHOLE.splitlines(keepends=True)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    lines: list[str] = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["drop", "double", "move", "piece", "value", "cut", "key"])):
            case "drop":
                lines[at] = ""
            case "double":
                lines[at] *= 2
            case "move":
                lines.insert(draw(st.integers(0, len(lines))), lines.pop(at))
            case "piece":
                column = draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:column] + draw(pieces) + lines[at][column:]
            case "value":
                lines[at] = lines[at].partition("=")[0] + "= " + draw(scalars) + "\n"
            case "cut":
                lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
            case _:
                lines[at] = draw(st.sampled_from(["x", "a.b", '"ü"', "models", "hub.owner"])) + lines[at]
    return "".join(lines)


def assert_loads_or_refuses_well(folder: Path, text: str | bytes, environ: Mapping[str, str]) -> None:
    try:
        refused = None
        assert isinstance(load_text(folder, text, environ).config, Config)
    except ConfigError as error:
        refused = error
    for line in refused.problems if refused else ():
        assert re.fullmatch(r"(hubbub\.toml(:\d+)?|HUBBUB__\w*): [^\n]+(; [^\n]+|\?)", line)
        assert TOKEN not in line
        assert SECRET not in line


@given(text=damaged())
def test_a_damaged_file_never_gives_anything_but_a_config_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    assert_loads_or_refuses_well(tmp_path_factory.getbasetemp(), text, VARIABLES)


@given(data=st.binary(max_size=200))
def test_random_bytes_never_give_anything_but_a_config_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    assert_loads_or_refuses_well(tmp_path_factory.getbasetemp(), data, VARIABLES)


sections = st.sampled_from(
    ["HTTP", "HUB", "MODELS", "CHANNELS", "TEAMS", "TELEGRAM", "0", "9", "PORT", "TOKEN", ""]
)


@given(
    names=st.lists(st.lists(sections, max_size=4).map("__".join), max_size=3),
    value=scalars
    | st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00"), max_size=9),
)
def test_random_overrides_never_give_anything_but_a_config_error(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], value: str
) -> None:
    environ = VARIABLES | {f"HUBBUB__{name}": value for name in names}
    assert_loads_or_refuses_well(tmp_path_factory.getbasetemp(), WHOLE, environ)


def test_a_bot_api_server_of_ones_own_may_call_plain_http(folder: Path) -> None:
    text = (
        "[http]\npublic_url = 'http://10.0.0.1:8765'\n[channels.telegram]\ntoken = '1:a'\nmode = 'webhook'\n"
        "webhook_secret = 'x'\n"
    )
    (problem,) = problems(folder, text)
    assert "needs the https:// address" in problem
    own = load_text(folder, text + "api_base_url = 'http://10.0.0.2:8081'\n")
    assert own.config.http.public_url == "http://10.0.0.1:8765"
    (problem,) = problems(folder, (text + "api_base_url = 'http://10.0.0.2:8081'\n").split("\n", 2)[2])
    assert "needs the https:// address" in problem
