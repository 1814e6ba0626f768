"""The configuration file changed over the API of a running hub: only the values asked for, by the owner."""

import stat
from pathlib import Path
from typing import Any

from tests.bot.web.api_client import Client, client
from tests.harness.process import HubProcess, hubbub
from tests.harness.simulators import write_config

MODELS = """\
# the cheap one
[[models]]
name = "main"   # the default
provider = "demo"
[[models]]
name = "spare"
provider = 'openai'
model = "gpt-x"
api_key = "env:SOME_KEY" # never here

[approvals]
preset = "manual" # careful
"""


async def change(api: Client, changes: object, **more: object) -> tuple[int, Any]:
    version = (await api.get("/api/settings"))["version"]
    return await api.ask("POST", "/api/settings", {"version": version, "changes": changes, **more})


async def test_a_change_keeps_the_rest_of_the_file_and_undo_brings_it_back(tmp_path: Path) -> None:
    write_config(tmp_path, MODELS)
    path = tmp_path / "hubbub.toml"
    path.chmod(0o640)
    before = path.read_text()
    async with HubProcess(tmp_path, env={"SOME_KEY": "k-secret"}) as hub, client(tmp_path) as owner:
        page = await owner.get("/api/settings")
        assert [one["api_key"] for one in page["models"]] == ["", "env:SOME_KEY"]
        assert "k-secret" not in str(page)
        locked = {one["key"]: one for one in page["locked"]}
        assert locked["hub.data_dir"]["value"] == f'"{tmp_path}/data"'
        assert before.splitlines()[locked["hub.data_dir"]["line"] - 1].startswith("data_dir")
        assert page["next_start"] == []
        status, page = await change(owner, {"models.1.model": "gpt-y", "budget.daily_usd": 2.5})
        assert status == 200, hub.err
        assert set(page["next_start"]) == {"models.1.model", "budget.daily_usd"}
        changed = before.replace('"gpt-x"', '"gpt-y"')
        assert path.read_text() == f"{changed}\n[budget]\ndaily_usd = 2.5\n"
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        body = {"version": page["version"]}
        status, page = await owner.ask("POST", "/api/settings/undo", body)
        assert (status, path.read_text(), page["next_start"]) == (200, before, [])
        status, page = await owner.ask("POST", "/api/settings", {**body_of(page), "default_model": 1})
        assert (status, [one["name"] for one in page["models"]]) == (200, ["spare", "main"])
        assert sorted(path.read_text().splitlines()) == sorted(before.splitlines())
        assert list(tmp_path.glob(".hubbub*")) == []


def body_of(page: Any) -> dict[str, str]:
    return {"version": page["version"]}


REFUSED = [
    ({"hub.owner": "mallory"}, 422, "hub.owner"),
    ({"http.host": "0.0.0.0"}, 422, "http.host"),
    ({"policy.file": "x"}, 422, "policy.file"),
    ({"mcp.files.command": "sh"}, 422, "mcp.files.command"),
    ({"models.0.command": "sh"}, 422, "models.0.command"),
    ({"models.0.provider": "cli"}, 422, "models.0.provider"),
    ({"models.1.api_key": "sk-in-the-open"}, 422, "models.1.api_key"),
    ({"approvals.rules": "x"}, 422, "approvals.rules"),
    ({"budget.daily_usd": -1}, 409, None),
    ({"models.7.name": "far"}, 409, None),
    ({"access.sender_per_minute": 3}, 409, None),  # set by a variable
    ({"approvals.preset": "auto"}, 409, "confirmed"),
    ({"models.1.base_url": "https://elsewhere.example"}, 409, "confirmed"),
]


async def test_what_is_not_changed_here_is_refused_and_what_loosens_consent_is_confirmed(
    tmp_path: Path,
) -> None:
    write_config(tmp_path, MODELS)
    path = tmp_path / "hubbub.toml"
    before = path.read_text()
    env = {"SOME_KEY": "k", "HUBBUB__ACCESS__SENDER_PER_MINUTE": "7"}
    async with HubProcess(tmp_path, env=env), client(tmp_path) as owner:
        page = await owner.get("/api/settings")
        (limit,) = (one for one in page["settings"] if one["key"] == "access.sender_per_minute")
        assert (limit["value"], limit["variable"]) == (7, "HUBBUB__ACCESS__SENDER_PER_MINUTE")
        for changes, status, field in REFUSED:
            found, refusal = await change(owner, changes)
            assert (found, refusal["error"].get("field")) == (status, field), changes
        path.write_text(f"{before}# mine\n")
        stale = {**body_of(page), "changes": {"budget.daily_usd": 1}}
        status, refusal = await owner.ask("POST", "/api/settings", stale)
        assert (status, path.read_text()) == (409, f"{before}# mine\n")
        assert "changed in the meantime" in refusal["error"]["message"]
        status, _ = await change(owner, {"approvals.preset": "auto"}, confirmed=True)
        assert (status, 'preset = "auto" # careful' in path.read_text()) == (200, True)
        member = await owner.member("Mia")
        for method, where in (("GET", ""), ("POST", ""), ("POST", "/undo")):
            assert (await member.refusal(method, f"/api/settings{where}", stale))[0] == 403
    exported = (await hubbub(tmp_path, "audit", "export", env=env)).out
    (noted,) = (line for line in exported.splitlines() if " settings " in line)
    assert noted.endswith('owner        configuration  keys=["approvals.preset"]')


async def test_without_a_file_the_page_says_how_to_make_one(tmp_path: Path) -> None:
    async with HubProcess(tmp_path, env={"HUBBUB__HTTP__PORT": "0"}), client(tmp_path) as owner:
        status, page = await owner.ask("GET", "/api/settings")
        assert (status, "hubbub init" in page["error"]["message"]) == (409, True)
