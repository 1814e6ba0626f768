"""A whole configuration, and what becomes of a text as one."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.config.load import Loaded, load
from bot.runtime import ConfigError

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


def load_text(tmp_path: Path, text: str | bytes, environ: Mapping[str, str] = VARIABLES) -> Loaded:
    data = text.encode() if isinstance(text, str) else text
    (tmp_path / "hubbub.toml").write_bytes(data)
    return load(environ=environ, cwd=tmp_path)


def problems(tmp_path: Path, text: str | bytes, **environ: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        load_text(tmp_path, text, VARIABLES | environ)
    assert str(refused.value) == "\n".join(refused.value.problems)
    return list(refused.value.problems)
