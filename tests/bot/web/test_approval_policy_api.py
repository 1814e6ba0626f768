"""Presets, limits and grants by the API: who may say them, how far, and what holds then."""

from pathlib import Path

from bot.config.sections import Approvals
from core.approvals import SETTINGS
from tests.bot.web.api_client import client
from tests.harness.telegram_hub import OWNER, open_hub

NOTHING = dict.fromkeys(SETTINGS)
CONFIGURED = {
    "preset": "auto_loop",
    "max_rounds": 5,
    "max_tools": 20,
    "loop_timeout_s": 300,
    "whitelist": sorted(Approvals().whitelist),
    "dangerous_tools": sorted(Approvals().dangerous_tools),
    "tool_timeouts": {},
}


async def test_presets_and_limits_of_a_conversation_are_set_and_shown(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house, client(house.directory) as api:
        own = f"/api/threads/{(await api.send('hello'))['thread_id']}/approval-policy"
        page = await api.get(own)
        assert (page["thread"], page["person"], page["ceiling"]) == (NOTHING, NOTHING, NOTHING)
        assert page["effective"] == CONFIGURED
        status, page = await api.ask("PUT", own, {"preset": "manual", "max_rounds": 50})
        assert (status, page["thread"]) == (200, NOTHING | {"preset": "manual", "max_rounds": 50})
        assert page["effective"] == CONFIGURED | {"preset": "manual", "max_rounds": 50}
        _, page = await api.ask("PUT", own, {"preset": "auto"})
        assert page["effective"] == CONFIGURED | {"preset": "auto", "max_rounds": None, "max_tools": None}
        tools = {"whitelist": ["time"], "dangerous_tools": ["shell", "echo"], "tool_timeouts": {"shell": 500}}
        _, page = await api.ask("PUT", own, tools)
        assert page["thread"] == NOTHING | tools | {"dangerous_tools": ["echo", "shell"]}
        assert page["effective"] == CONFIGURED | page["thread"] | dict(list(CONFIGURED.items())[:4])
        assert await api.refusal("PUT", own, {"dangerous_tools": ["shel"]}) == (404, "not_found", None)
        await api.ask("PUT", own, {"preset": "auto"})
        for body, field in (
            ({"preset": "loose"}, "preset"),
            ({"max_rounds": 0}, "max_rounds"),
            ({"rounds": 5}, "rounds"),
            ({"tool_timeouts": {"shell": 0}}, "tool_timeouts.shell"),
        ):
            status, code, named = await api.refusal("PUT", own, body)
            assert (status, code, named) == (400, "invalid", field)

        mia = await api.member("Mia")
        hers = f"/api/threads/{(await mia.send('hello'))['thread_id']}/approval-policy"
        assert (await mia.get(hers))["ceiling"] == CONFIGURED
        assert await mia.refusal("PUT", hers, {"preset": "auto"}) == (409, "refused", "preset")
        assert await mia.refusal("PUT", hers, {"max_tools": 21}) == (409, "refused", "max_tools")
        assert await mia.refusal("PUT", hers, {"whitelist": ["shell"]}) == (409, "refused", "whitelist")
        dangerous = (409, "refused", "dangerous_tools")
        assert await mia.refusal("PUT", hers, {"dangerous_tools": []}) == dangerous
        assert await api.refusal("PUT", hers, {"preset": "auto"}) == (409, "refused", "preset")
        status, page = await mia.ask("PUT", hers, {"preset": "whitelist", "max_tools": 2})
        assert (status, page["effective"]["preset"]) == (200, "whitelist")
        assert (await mia.refusal("GET", own))[0] == 404
        assert (await mia.refusal("PUT", own, {"preset": "manual"}))[0] == 404
        assert (await api.get(own))["thread"]["preset"] == "auto"


async def test_people_revoke_only_their_own_grants(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house, client(house.directory) as api:
        house.telegram.user_sends_text(OWNER, "please run: echo line")
        card = await house.card(OWNER)
        house.telegram.user_sends_text(OWNER, f"/approve {card.choices[0].split(':')[1]} session")
        await house.telegram.wait_text(OWNER, "Done:")
        (grant,) = await api.get("/api/grants")
        assert (grant["tool"], grant["thread_id"] is not None) == ("shell", True)
        mia = await api.member("Mia")
        assert await mia.get("/api/grants") == []
        assert (await mia.refusal("POST", "/api/grants/revoke", {"id": grant["id"]}))[0] == 404
        assert (await api.ask("POST", "/api/grants/revoke", {"id": grant["id"]}))[0] == 200
        assert await api.get("/api/grants") == []


async def test_a_policy_that_becomes_unreadable_stops_tools_at_once(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("")
    async with open_hub(tmp_path, extra=f'[policy]\nfile = "{policy}"') as house:
        house.telegram.user_sends_text(OWNER, "please run: echo line >> out.txt")
        card = await house.card(OWNER)
        policy.write_text("disabled_tools = nonsense")
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, "Done:")
        assert not (house.workspace / "out.txt").exists()
        assert "the policy file can't be read" in house.model.log[-1].body["messages"][-1]["content"]
        assert not house.model.log[-1].body.get("tools")
        policy.write_text('disabled_tools = ["shell"]')
        house.telegram.user_sends_text(OWNER, "please run: echo line")
        await house.telegram.wait_text(OWNER, "I have no tool named shell.")
