"""Errors of a configuration, in words: every refusal names file, line, key and what to do."""

from pathlib import Path

import pytest

from bot.config.load import load
from bot.runtime import ConfigError
from tests.bot.config.config_texts import load_text, problems

ONE_LINE_EACH = [
    *(
        (
            f"[channels.{name}]\nplatform = 'telegram'\ntoken = '1:a'",
            f"1: channels.{name}: is reserved for the hub; give this one another name, such as"
            f' [channels.{name}-1] with platform = "telegram"',
        )
        for name in ("web", "console", "terminal", "api", "cli")
    ),
    ("[hub]\ntimezon = 'UTC'", "2: hub.timezon: unknown key; did you mean timezone?"),
    ("\n[aproovals]\n", "2: aproovals: unknown key; did you mean approvals?"),
    ("[agent]\npreset = 'auto'", "2: agent.preset: unknown key here; it belongs to [approvals]"),
    (
        "[access]\nxyz = 1",
        "2: access.xyz: unknown key; remove it, or use one of sender_per_minute",
    ),
    (
        "[heartbeat]\nenabled = true\n[routines]\nenabled = false",
        "2: heartbeat.enabled: needs [routines] enabled = true; set that, or turn the heartbeat off",
    ),
    (
        "[heartbeat]\nactive_hours = '8-22'",
        '2: heartbeat.active_hours: "8-22" is not a time range;'
        ' use a range such as "08:00-22:00", or "" for all day',
    ),
    (
        "[[models]]\nprovider = 'openai'\nmodel = 'm'\nthinking = 'maximum'",
        '4: models[0].thinking: "maximum" is not one of the choices; did you mean "medium"?',
    ),
    (
        "[[models]]\nprovider = 'openai'\nmodel = 'm'\ncontext_tokens = 4000",
        "4: models[0].context_tokens: 4000 must be more than [agent] answer_tokens; lower that, or use a"
        " model with a larger window",
    ),
    (
        "[agent]\nreserve_tokens = 8192\n[[models]]\nprovider = 'openai'\nmodel = 'gpt-4'",
        "3: models[0].context_tokens: 8192 must be more than [agent] reserve_tokens; lower that, or use a"
        " model with a larger window",
    ),
    (
        "[[models]]\nprovider = 'anthropic'",
        '1: models[0].model: missing; for example model = "claude-sonnet-5-5"',
    ),
    (
        "[[models]]\nprovider = 'gemini'",
        '2: models[0].provider: "gemini" is not one of the choices;'
        ' use "openai" or "anthropic" or "cli" or "extension" or "demo"',
    ),
    (
        "[hub]\nstore = 'postgresql://user:pw@host/db'",
        '2: hub.store: "postgresql://***@host/db" is not supported in this version; use "sqlite"',
    ),
    (
        "[channels.discord]\ntoken = 'x'",
        "2: channels.discord.token: is not a bot token; copy it from discord.com/developers/applications"
        " (Bot). It has three parts",
    ),
    ("[http]\nport = '80'", '2: http.port: "80" must be a whole number; for example port = 8765'),
    (
        "[http]\nhost = '0.0.0.0'",
        "1: http.public_url: missing, and [http] host 0.0.0.0 is reachable from other machines; set the"
        ' public address, for example public_url = "https://hub.example", or listen on 127.0.0.1',
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
        "[budget]\ndaily_usd = -5",
        "2: budget.daily_usd: -5 must be at least 0; for example daily_usd = 0",
    ),
    (
        "[roles.guest]\ndaily_model_calls = -1",
        "2: roles.guest.daily_model_calls: -1 must be at least 0; for example daily_model_calls = 50",
    ),
    (
        "[channels.telegram]\ntoken = '1:A'\nshared_threads = true",
        "3: channels.telegram.shared_threads: is not supported in this version; remove it",
    ),
    (
        "[approvals]\ntool_timeouts = { shell = 1, http = 'long' }",
        '2: approvals.tool_timeouts.http: "long" must be a number; fix the entry in approvals.tool_timeouts',
    ),
    (
        "[approvals]\ntool_timeout_s = nan",
        "2: approvals.tool_timeout_s: nan must be a finite number; for example tool_timeout_s = 30",
    ),
    ("[hub]\ndata_dir = 5", '2: hub.data_dir: 5 must be text in quotes; for example data_dir = "data"'),
    ("[hub]\ndata_dir = ''", '2: hub.data_dir: "" must not be empty; set a value or remove the key'),
    (
        "[hub]\nowner_identities = 'telegram:1'",
        '2: hub.owner_identities: "telegram:1" must be a list in brackets; for example owner_identities = []',
    ),
    (
        "[hub]\nowner_identities = [\n  'telegram:1',\n  '@anna',\n]",
        '4: hub.owner_identities[1]: "@anna" is not an account; use channel:id, such as telegram:12345',
    ),
    (
        "[hub]\ntimezone = 'Mars/Olympus'",
        '2: hub.timezone: "Mars/Olympus" is not a known time zone; use an IANA name such as '
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
        '2: approvals.approvers: "ops" must be "requester", "owner" or "team:NAME", where [teams.NAME] '
        "is a section",
    ),
    (
        "[approvals]\napprovers = 'team:ops'",
        '2: approvals.approvers: there is no team "ops"; add [teams.ops] with users, or use another team',
    ),
    (
        "[approvals]\nquorum = 2",
        "2: approvals.quorum: 2 approvals needed but approvers has 1; lower it or choose another team",
    ),
    (
        "[[approvals.rules]]\ntool = 'Shell!'",
        '2: approvals.rules[0].tool: "Shell!" is not a tool; use its name, or a prefix followed by *',
    ),
    (
        "[[approvals.rules]]\nnot_requester = true",
        "2: approvals.rules[0].not_requester: leaves no one to decide; set a team in approvers, or "
        '"owner" for members\' calls',
    ),
    (
        "[[approvals.rules]]\napprovers = 'owner'\nnot_requester = true",
        "3: approvals.rules[0].not_requester: leaves no one to decide the owner's own calls; set role = "
        '"member"',
    ),
    (
        "[teams.two]\nusers = ['owner', 'owner']\n[approvals]\napprovers = 'team:two'\nquorum = 2",
        "5: approvals.quorum: 2 approvals needed but approvers has 1; lower it or choose another team",
    ),
    (
        "[teams.two]\nusers = ['owner', '0190000000007000800000000000000A']\n"
        "[[approvals.rules]]\napprovers = 'team:two'\nquorum = 2\nnot_requester = true",
        "5: approvals.rules[0].quorum: 2 approvals needed but approvers has 1; "
        "lower it or choose another team",
    ),
    (
        "[[approvals.rules]]\nescalate_to = 'owner'",
        "1: approvals.rules[0].escalate_after_s: missing; escalate_to and escalate_after_s belong together",
    ),
    (
        "[[approvals.rules]]\nescalate_after_s = 60\nescalate_to = 'team:none'",
        '3: approvals.rules[0].escalate_to: there is no team "none"; add [teams.none] with users, or use '
        "another team",
    ),
    (
        "[[approvals.rules]]\nask_in = 'slack:C1'",
        '2: approvals.rules[0].ask_in: there is no channel "slack"; '
        "add [channels.slack], or use another channel",
    ),
    (
        "[teams.ops]\nusers = []",
        '2: teams.ops.users: must not be empty; for example users = ["owner", '
        '"01900000-0000-7000-8000-000000000000"]',
    ),
    (
        "[teams.ops]\nusers = ['owner', 'anna']",
        '2: teams.ops.users[1]: "anna" is not a user ID; use the owner\'s or one that '
        "`hubbub users list` shows",
    ),
    (
        "[teams.ops]\nusers = ['owner', 'Anna B']",
        '2: teams.ops.users[1]: "Anna B" is not a user ID; use the owner\'s or one that '
        "`hubbub users list` shows",
    ),
    ("http = 5", "1: http: 5 must be a table; write it as [http]"),
    ("models = []", '1: models: must have at least one model; add [[models]] with provider = "demo"'),
    ("[models]\nname = 'a'", "1: models: must be a list in brackets; write it as [[models]]"),
    ("[[models]]\nname = 'a'", '1: models[0].provider: missing; for example provider = "openai"'),
    ("[[models]]\nprovider = 'openai'", '1: models[0].model: missing; for example model = "gpt-5-mini"'),
    (
        "[[models]]\nprovider = 'demo'\n[[models]]\nprovider = 'demo'",
        '3: models[1].name: "main" is used twice; give each model its own name',
    ),
    (
        "[[models]]\nprovider = 'openai'\nmodel = 'm'\nbase_url = 'localhost:80'",
        '4: models[0].base_url: "localhost:80" is not a web address; use one that starts with https:// or '
        "http://",
    ),
    (
        "[agent]\ncontext_tokens = 5000\nreserve_tokens = 5000",
        "3: agent.reserve_tokens: must be less than context_tokens; lower it",
    ),
    (
        "[agent]\ncontext_tokens = 5000\nanswer_tokens = 5000",
        "3: agent.answer_tokens: must be less than context_tokens; lower it",
    ),
    ("[channels.telegram]", '1: channels.telegram.token: missing; for example token = "env:TELEGRAM_TOKEN"'),
    (
        "[channels.telegram]\ntoken = 'hunter2'",
        "2: channels.telegram.token: is not a bot token; copy it from @BotFather. It looks like "
        "123456:ABC-DEF",
    ),
    (
        "[channels.telegram]\ntoken = 12345",
        '2: channels.telegram.token: must be text in quotes; for example token = "env:TELEGRAM_TOKEN"',
    ),
    (
        "[channels.telegram]\ntoken = 'env:NO_TOKEN'",
        "2: channels.telegram.token: the environment variable NO_TOKEN is not set; set it, or "
        "put the value here",
    ),
    (
        "[channels.telegram]\ntoken = '1:a'\nallow = ['@anna']",
        '3: channels.telegram.allow[0]: "@anna" is not a Telegram ID; use the account\'s '
        "number, not its @name",
    ),
    (
        "[network]\nallow_private = ['127.0.0.1:8080', '10.0.0.0/8']",
        '2: network.allow_private[1]: "10.0.0.0/8" has no port; use ADDRESS:PORT or NETWORK:PORT, '
        "such as 127.0.0.1:8080, 10.0.0.0/8:443 or [fd00::/8]:443",
    ),
    (
        "[network]\nallow_private = ['0.0.0.0/0:80']",
        '2: network.allow_private[0]: "0.0.0.0/0:80" is not within one private network; public addresses '
        "need no entry, remove it",
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
        "2: channels.work.platform: this is not one of the choices;"
        ' use "telegram" or "slack" or "discord" or "extension"',
    ),
    (
        "[channels.Work]\nplatform = 'telegram'\ntoken = '1:a'",
        '1: channels.Work: "Work" is not a valid name; use lowercase letters, digits, - and single _, '
        "starting with a letter",
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
    (
        "[[approvals.rules]]\nescalate_after_s = 60\nescalate_to = 'anna'",
        '3: approvals.rules[0].escalate_to: "anna" must be "owner" or "team:NAME", where '
        "[teams.NAME] is a section",
    ),
    (
        "[[approvals.rules]]\nask_in = 'slack'",
        '2: approvals.rules[0].ask_in: "slack" must be "here", "direct" or CHANNEL:ID with a '
        "conversation ID of that platform, such as slack:C024BE91L or telegram:-1001234567890",
    ),
    (
        "[channels.slack]\nbot_token = 'xoxp-1'\napp_token = 'xapp-1'",
        "2: channels.slack.bot_token: is not a bot token; copy it from api.slack.com/apps. It starts "
        "with xoxb-",
    ),
    (
        "[channels.slack]\nbot_token = 'xoxb-1'\napp_token = 'xoxb-1'",
        "3: channels.slack.app_token: is not an app-level token; copy it from api.slack.com/apps. It "
        "starts with xapp-",
    ),
    (
        "[channels.slack]\nbot_token = 'xoxb-1'",
        "1: channels.slack.app_token: missing; Socket Mode needs one, for example app_token = "
        '"env:SLACK_APP_TOKEN"',
    ),
    (
        "[channels.slack]\nbot_token = 'xoxb-1'\nmode = 'http'",
        '1: channels.slack.signing_secret: missing; mode "http" needs one, for example '
        'signing_secret = "env:SLACK_SIGNING_SECRET"',
    ),
    (
        "[channels.slack]\nbot_token = 'xoxb-1'\napp_token = 'xapp-1'\nallow = ['@anna']",
        '4: channels.slack.allow[0]: "@anna" is not a Slack user ID; copy it from the person\'s '
        "profile. It looks like U024BE7LH",
    ),
    (
        "[channels.discord]\ntoken = 'a.b.c'\nallow = ['anna']",
        '3: channels.discord.allow[0]: "anna" is not a Discord user ID; turn on developer mode and '
        "copy the person's ID",
    ),
    (
        "[channels.discord]\ntoken = 'a.b.c'\ngateway_url = 'https://gateway.discord.gg'",
        '3: channels.discord.gateway_url: "https://gateway.discord.gg" is not a gateway address; use '
        "one that starts with wss:// or ws://",
    ),
    (
        "[[hooks]]\nname = 'h'\nask = 'https://h.example'\nsecret = 's'\non = ['before_tool_call']\nwaits "
        "= false\non_failure = 'closed'",
        '7: hooks[0].on_failure: the hub does not wait for its answer; set waits = true, or "open"',
    ),
    (
        "[sandbox]\nchat_tools = true",
        "2: sandbox.chat_tools: needs [sandbox] enabled = true; set that, or turn chat_tools off",
    ),
]


@pytest.mark.parametrize("text,line", ONE_LINE_EACH)
def test_each_refusal_names_file_line_key_and_what_to_do(tmp_path: Path, text: str, line: str) -> None:
    assert problems(tmp_path, text) == [f"hubbub.toml:{line}"]


@pytest.mark.parametrize(
    "text,line",
    [
        ("[http]\nport = \n", "hubbub.toml:2: not valid TOML: Invalid value; fix this line"),
        ("[http\nport = 1\n", "hubbub.toml:1: not valid TOML: Expected ']' at the end of a table "
         "declaration; fix this line"),
        ("a = 1\n\na = 2\n", "hubbub.toml:3: not valid TOML: Cannot overwrite a value; fix this line"),
        ('a = """never closed\n\n', "hubbub.toml:1: not valid TOML: Unterminated string; fix this line"),
        (b"[hub]\nowner = '\xff'\n", "hubbub.toml:2: not UTF-8; save the file as UTF-8"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_toml_names_its_line(tmp_path: Path, text: str | bytes, line: str) -> None:
    assert problems(tmp_path, text) == [line]


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    text = "[hub]\nowner = 1\n[http]\nprot = 2\n[agent]\nstream = 'yes'\n"
    assert [line.split(" ")[1] for line in problems(tmp_path, text)] == [
        "hub.owner:",
        "http.prot:",
        "agent.stream:",
    ]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^gone\.toml: no such file; create it or choose another one$"):
        load(Path("gone.toml"), environ={}, cwd=tmp_path)
    with pytest.raises(ConfigError, match=r"^gone\.toml: no such file"):
        load(environ={"HUBBUB_CONFIG": "gone.toml"}, cwd=tmp_path)


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dir.toml").mkdir()
    with pytest.raises(
        ConfigError, match=r"^dir\.toml: not readable \(Is a directory\); check its permissions$"
    ):
        load(Path("dir.toml"), environ={}, cwd=tmp_path)


def test_a_file_nested_too_deep_is_refused(tmp_path: Path) -> None:
    (line,) = problems(tmp_path, "a = " + "[" * 5000 + "]" * 5000)
    assert line.startswith("hubbub.toml: not readable as TOML")


def test_values_from_the_environment_are_never_shown(tmp_path: Path) -> None:
    text = (
        "[hub]\nowner = 'env:LEAK'\ntimezone = 'env:LEAK'\nlocale = 'env:LEAK'\n[http]\nport = 'env:LEAK'\n"
    )
    lines = problems(tmp_path, text, LEAK="Top Secret")
    assert len(lines) == 4
    assert all("Top Secret" not in line for line in lines)


def test_a_private_bot_api_server_may_use_plain_http(tmp_path: Path) -> None:
    text = (
        "[http]\npublic_url = 'http://10.0.0.1:8765'\n[channels.telegram]\ntoken = '1:a'\nmode = 'webhook'\n"
        "webhook_secret = 'x'\n"
    )
    (problem,) = problems(tmp_path, text)
    assert "needs the https:// address" in problem
    own = load_text(tmp_path, text + "api_base_url = 'http://10.0.0.2:8081'\n")
    assert own.config.http.public_url == "http://10.0.0.1:8765"
    (problem,) = problems(tmp_path, (text + "api_base_url = 'http://10.0.0.2:8081'\n").split("\n", 2)[2])
    assert "needs the https:// address" in problem
