"""The configuration file changed over the API of a running hub: only the values asked for, by the owner."""

import asyncio
import signal
import stat
from pathlib import Path
from typing import Any

from tests.bot.web.api_client import Client, client
from tests.harness.process import HubProcess, hubbub
from tests.harness.simulators import TELEGRAM_TOKEN, write_config
from tests.simulators.model import ModelSimulator
from tests.simulators.telegram import TelegramSimulator

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
    write_config(tmp_path, f"{MODELS}[jobs]\nuse_planning = true\n")
    path = tmp_path / "hubbub.toml"
    path.chmod(0o640)
    before = path.read_text()
    async with HubProcess(tmp_path, env={"SOME_KEY": "k-secret"}) as hub, client(tmp_path) as owner:
        page = await owner.get("/api/settings")
        assert [one["api_key"] for one in page["models"]] == ["", "env:SOME_KEY"]
        assert "k-secret" not in str(page)
        locked = {one["key"]: one for one in page["locked"]}
        assert locked["hub.data_dir"]["value"] == f'"{tmp_path}/data"'
        assert locked["jobs.use_planning"]["value"] == "true"
        assert before.splitlines()[locked["hub.data_dir"]["line"] - 1].startswith("data_dir")
        assert page["next_start"] == []
        status, page = await change(owner, {"models.1.model": "gpt-y", "budget.daily_usd": 2.5})
        assert status == 200, hub.err
        assert (page["next_start"], page["waiting"]) == ([], None)  # taken up already
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
]


async def test_settings_that_the_api_cannot_change_are_refused(tmp_path: Path) -> None:
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
        member = await owner.member("Mia")
        for method, where in (("GET", ""), ("POST", ""), ("POST", "/undo"), ("POST", "/try")):
            assert (await member.refusal(method, f"/api/settings{where}", stale))[0] == 403


async def decide(api: Client, gate_id: str, action: str) -> Any:
    """Answer as any approval is answered; return the settings once the answer has had its effect."""
    assert (await api.resolve(gate_id, action))[0] == 200
    return await api.until("/api/settings", lambda page: page["waiting"] is None)


LOOSENING = [
    ({"approvals.preset": "auto"}, 'approvals.preset: "manual" → "auto"', "Fewer calls"),
    ({"approvals.max_tools": 21}, "approvals.max_tools: nothing → 21", "Fewer calls"),
    (
        {"models.1.base_url": "https://elsewhere.example"},
        'models.1.base_url: nothing → "https://elsewhere.example"',
        "The key env:SOME_KEY will be sent to https://elsewhere.example.",
    ),
]


async def test_a_change_that_loosens_consent_needs_the_owners_approval(tmp_path: Path) -> None:
    write_config(tmp_path, MODELS)
    path = tmp_path / "hubbub.toml"
    before = path.read_text()
    env = {"SOME_KEY": "k"}
    async with HubProcess(tmp_path, env=env) as hub, client(tmp_path) as owner:
        for changes, line, why in LOOSENING:
            status, page = await change(owner, changes)
            waiting = page["waiting"]
            assert (status, path.read_text(), waiting["approved"]) == (200, before, False), hub.err
            assert waiting["lines"][0] == line
            (asked,) = (await owner.get("/api/approvals"))["approvals"]
            assert (asked["gate_id"], asked["kind"]) == (waiting["gate_id"], "settings")
            assert why in asked["title"]
            status, refusal = await change(owner, {"budget.daily_usd": 1})
            assert (status, "waits for approval" in refusal["error"]["message"]) == (409, True)
            await decide(owner, waiting["gate_id"], "deny")
            assert path.read_text() == before
        status, page = await change(owner, {"approvals.preset": "auto"})
        page = await decide(owner, page["waiting"]["gate_id"], "approve")
        assert path.read_text() == before.replace('"manual"', '"auto"')
        assert page["next_start"] == []  # in force
        status, page = await change(owner, {"approvals.preset": "manual"})  # less is asked of nobody
        assert (status, page["waiting"], path.read_text()) == (200, None, before)
        status, page = await change(owner, {"approvals.preset": "auto"})
        path.write_text(f"{before}# mine\n")
        await decide(owner, page["waiting"]["gate_id"], "approve")
        assert path.read_text() == f"{before}# mine\n"  # not the file that was shown
    exported = (await hubbub(tmp_path, "audit", "export", env=env)).out
    noted = [line.split("configuration  ")[1] for line in exported.splitlines() if " settings " in line]
    assert noted[0].startswith("gate=")
    assert noted[0].endswith('keys=["approvals.preset"]')
    assert noted[1] == 'keys=["approvals.preset"]'
    assert "the file was changed since it was shown" in noted[2]


async def test_an_approved_change_is_written_after_the_next_start(tmp_path: Path) -> None:
    write_config(tmp_path, MODELS)
    path = tmp_path / "hubbub.toml"
    before = path.read_text()
    async with HubProcess(tmp_path, env={"SOME_KEY": "k"}) as hub, client(tmp_path) as owner:
        _, page = await change(owner, {"approvals.preset": "auto"})
        gate = page["waiting"]["gate_id"]
        await hub.stop(signal.SIGKILL)
    offline = await hubbub(tmp_path, "approvals", "decide", gate, "approve", env={"SOME_KEY": "k"})
    assert (offline.code, path.read_text()) == (0, before), offline.err
    async with HubProcess(tmp_path, env={"SOME_KEY": "k"}), client(tmp_path) as owner:
        await owner.until("/api/settings", lambda page: page["waiting"] is None)
        assert path.read_text() == before.replace('"manual"', '"auto"')


async def test_a_model_is_tried_before_it_is_saved_used_at_once_and_removed(tmp_path: Path) -> None:
    write_config(tmp_path, MODELS)
    path = tmp_path / "hubbub.toml"
    before = path.read_text()
    async with (
        ModelSimulator(api_key="k", models=("sim-1",)) as simulator,
        HubProcess(tmp_path, env={"SOME_KEY": "k"}) as hub,
        client(tmp_path) as owner,
    ):
        written = {"provider": "openai", "model": "sim-1", "base_url": simulator.openai_base_url}
        changes = {f"models.2.{key}": value for key, value in {"name": "sim", **written}.items()}
        version = (await owner.get("/api/settings"))["version"]
        body = {"version": version, "changes": changes, "place": 2}
        status, (trial,) = await owner.ask("POST", "/api/settings/try", body)
        assert (status, trial["name"]) == (200, "sim")
        assert "API key" in trial["problem"]  # reached, without a key
        keyed = {**body, "changes": {**changes, "models.2.api_key": "env:SOME_KEY"}}
        status, refusal = await owner.ask("POST", "/api/settings/try", keyed)
        assert (status, "approve that" in refusal["error"]["message"]) == (409, True)
        assert path.read_text() == before
        _, page = await change(owner, keyed["changes"])
        page = await decide(owner, page["waiting"]["gate_id"], "approve")
        body = {**body_of(page), "changes": {}, "place": 2}
        status, (trial,) = await owner.ask("POST", "/api/settings/try", body)
        assert (status, trial["problem"]) == (200, None), hub.err
        status, page = await owner.ask("POST", "/api/settings", {**body_of(page), "default_model": 2})
        assert (page["models"][0]["name"], page["next_start"]) == ("sim", [])
        called = len(simulator.log)
        sent = await owner.send("hello")
        await owner.until(f"/api/threads/{sent['thread_id']}", lambda _: len(simulator.log) > called)
        status, page = await owner.ask("POST", "/api/settings", {**body_of(page), "remove_model": 0})
        assert [one["name"] for one in page["models"]] == ["spare", "main"]
        assert "sim-1" not in path.read_text()


async def test_the_first_change_creates_the_file(tmp_path: Path) -> None:
    path = tmp_path / "hubbub.toml"
    env = {"HUBBUB__HTTP__PORT": "0", "HUBBUB__WORKSPACE__DIR": "."}
    async with HubProcess(tmp_path, env=env) as hub, client(tmp_path) as owner:
        page = await owner.get("/api/settings")
        shown = (page["file"], page["missing"], page["next_model"], [one["name"] for one in page["models"]])
        assert shown == ("hubbub.toml", True, 0, ["demo"])
        path.write_text("# of somebody else\n")
        stale = {**body_of(page), "changes": {"budget.daily_usd": 2.5}}
        assert (await owner.ask("POST", "/api/settings", stale))[0] == 409
        assert path.read_text() == "# of somebody else\n"
        path.unlink()
        status, page = await change(owner, {"models.0.name": "mine", "models.0.provider": "demo"})
        assert (status, page["missing"], page["next_start"]) == (200, False, []), hub.err
        assert path.read_text() == '[[models]]\nname = "mine"\nprovider = "demo"\n'
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        sent = await owner.send("write hubbub.toml: mine")
        (asked,) = (await owner.until("/api/approvals", lambda page: len(page["approvals"]) == 1))[
            "approvals"
        ]
        assert (await owner.resolve(asked["gate_id"], "approve"))[0] == 200
        where = f"/api/threads/{sent['thread_id']}"
        await owner.until(where, lambda page: "belongs to the hub itself" in str(page))
    async with HubProcess(tmp_path, env=env), client(tmp_path) as owner:
        page = await owner.get("/api/settings")
        assert [one["name"] for one in page["models"]] == ["mine"]


async def add_telegram(api: Client, token: str, url: str | None) -> tuple[int, Any]:
    body = {"platform": "telegram", "tokens": {"token": token}, "api_base_url": url}
    return await api.ask("POST", "/api/channels", body)


async def test_a_channel_on_another_server_waits_for_the_owners_approval(tmp_path: Path) -> None:
    write_config(tmp_path, MODELS)
    path = tmp_path / "hubbub.toml"
    before = path.read_text()
    async with (
        TelegramSimulator() as telegram,
        HubProcess(tmp_path, env={"SOME_KEY": "k"}) as hub,
        client(tmp_path) as owner,
    ):
        telegram.add_bot(TELEGRAM_TOKEN)

        async def nothing_kept() -> bool:
            secrets = await owner.get("/api/secrets")
            return (secrets, path.read_text(), telegram.requests()) == ([], before, [])

        # Another change waits: the channel is added after it, and neither is lost.
        answers = await asyncio.gather(
            change(owner, {"approvals.preset": "auto"}),
            change(owner, {"approvals.preset": "whitelist"}),
            add_telegram(owner, TELEGRAM_TOKEN, telegram.url),
        )
        assert sorted(status for status, _ in answers) == [200, 409, 409], hub.err
        refused = [page["error"]["message"] for status, page in answers if status == 409]
        assert all("decide it first" in one for one in refused)
        (waiting,) = (await owner.get("/api/approvals"))["approvals"]
        for url in (telegram.url, None):  # not tried on the platform either
            status, page = await add_telegram(owner, TELEGRAM_TOKEN, url)
            assert (status, "decide it first" in page["error"]["message"]) == (409, True)
        await decide(owner, waiting["gate_id"], "deny")
        assert await nothing_kept()

        # Another server than the platform's gets the token once the owner has approved that.
        for token, action, problem in (
            (TELEGRAM_TOKEN, "deny", ""),
            (f"{TELEGRAM_TOKEN}x", "approve", "rejected the token"),
            (TELEGRAM_TOKEN, "approve", ""),
        ):
            status, page = await add_telegram(owner, token, telegram.url)
            assert (status, page["added"], page["findings"]) == (200, False, [])
            (asked,) = (await owner.get("/api/approvals"))["approvals"]
            assert asked["gate_id"] == page["gate_id"]
            assert f"The tokens of the channel telegram will be sent to {telegram.url}." in asked["title"]
            assert token not in str(asked)
            assert telegram.requests() == []
            await decide(owner, page["gate_id"], action)
            if action == "deny":
                assert await nothing_kept()
            elif problem:
                assert (await owner.get("/api/secrets"), path.read_text()) == ([], before)
                records = (await owner.get("/api/audit?kind=settings"))["records"]
                assert problem in records[0]["detail"]["refused"]
                telegram.log.requests.clear()
        added = f'\n[channels.telegram]\napi_base_url = "{telegram.url}"\ntoken = "vault:telegram_token"\n'
        assert path.read_text() == before + added
        assert [one.method for one in telegram.requests()][:1] == ["getMe"]
