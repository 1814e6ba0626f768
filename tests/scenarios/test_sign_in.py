"""People sign in to servers of tools: by a link or with a token, on every platform."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from aiohttp import ClientSession

from core.extension import Extension, ExtensionChange
from core.ids import sign_in_client_name, sign_in_name
from core.job import JobState
from core.tool import Requirement
from core.tools.sign_out import AGAIN_AFTER_S
from core.users import Role
from tests.bot.cli.in_process import command
from tests.harness.people import Shown, card, hears, sees
from tests.harness.simulators import OLIVIA
from tests.scenarios.scenes import Scene, open_scene
from tests.scenarios.test_jobs import becomes as job_becomes
from tests.scenarios.test_leaks import traces
from tests.scenarios.test_mcp import becomes, call
from tests.simulators.mcp.web import WebServer, open_web_server
from tests.simulators.model import ToolCall, text, tools
from tests.simulators.oauth import AuthorizationServer, open_authorization_server

ADD = call("notes__add", a=20, b=22)
SIGN_IN = call("sign_in", server="notes")
PLATFORMS = ["telegram", *(pytest.param(one, marks=pytest.mark.slow) for one in ("slack", "discord"))]
GROUP = -100300


@dataclass(frozen=True, slots=True)
class House:
    """A hub, a server of tools, and the authorization server whose tokens it takes."""

    scene: Scene
    tools: WebServer
    issuer: AuthorizationServer

    async def asked(self, words: str = SIGN_IN) -> Shown:
        """Return the card on which the owner is asked to sign in, after they said that."""
        before = [one.id for one in self.scene.owner.shown() if "Sign in" in one.buttons]
        self.scene.owner.say(words)
        await self.scene.owner.until(
            lambda: [
                one for one in self.scene.owner.shown() if "Sign in" in one.buttons and one.id not in before
            ]
        )
        return await card(self.scene.owner, "Sign in")

    async def signed_in(self) -> None:
        """Have the owner sign in before the server's tools are known."""
        asked = await self.asked()
        assert await opened(await self.issuer.visit(asked.links[0])) == 200
        await hears(self.scene.owner, "Done: <tool_output")
        await becomes(self.scene.place, "ready", "notes")

    def nothing_got_out(self, directory: Path) -> None:
        """No token and no code is in a file, a message or a prompt."""
        secrets = {*self.issuer.tokens(), *self.issuer.codes}
        assert secrets
        said = [one.text for one in self.scene.owner.shown()]
        prompts = [json.dumps(one.body) for one in self.scene.model.log.all()]
        assert not [
            one for one in secrets if traces(directory, one) or any(one in text for text in (*said, *prompts))
        ]


@contextlib.asynccontextmanager
async def open_house(
    directory: Path,
    platform: str = "telegram",
    *,
    channel: str = "",
    extra: str = '[approvals]\npreset = "auto"\n',
    configured: bool = True,
) -> AsyncIterator[House]:
    """The house; `channel` is of the platform's section, `extra` ends the configuration."""
    async with open_web_server() as server, open_authorization_server() as issuer:
        issuer.resource = server.url
        server.guard = issuer.challenge
        server.resource_metadata = lambda: issuer.resource_metadata
        notes = f'[mcp.notes]\nurl = "{server.url}"\n' if configured else ""
        section = f"{channel}\n{notes}{extra}"
        async with open_scene(platform, directory, extra=section) as scene:
            yield House(scene, server, issuer)


async def opened(url: str, **parameters: str) -> int:
    """Return how the page at an address answers; `parameters` replace those of the address."""
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    target = f"{url.partition('?')[0]}?{urlencode({**query, **parameters})}"
    async with ClientSession() as browser, browser.get(target) as response:
        assert response.headers["Cache-Control"] == "no-store"
        return response.status


async def read(url: str) -> tuple[int, str]:
    """Return the status and the text of the page at an address."""
    async with ClientSession() as browser, browser.get(url) as response:
        return response.status, await response.text()


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_call_waits_for_a_sign_in_by_link_and_runs_again(tmp_path: Path, platform: str) -> None:
    async with open_house(tmp_path, platform) as house:
        me = house.scene.owner
        await house.signed_in()
        house.issuer.revoke()
        asked = await house.asked(ADD)
        assert asked.text.startswith("Sign in to notes\n")
        assert house.tools.calls == []
        answer = await house.issuer.visit(asked.links[0])
        assert await opened(answer) == 200
        await hears(me, "42")
        await sees(me, asked, "Signed in to notes.")
        assert [one["name"] for one in house.tools.calls] == ["add"]
        assert len(house.tools.keys) > 1
        assert len({*house.tools.keys}) == 1  # the same call, every time
        assert len(house.issuer.clients) == 1  # one registration does
        me.say(ADD)
        await hears(me, "42", times=2)
    house.nothing_got_out(tmp_path)


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("whole", [True, False])
async def test_a_code_can_be_pasted_where_no_browser_reaches_the_hub(
    tmp_path: Path, platform: str, whole: bool
) -> None:
    async with open_house(tmp_path, platform) as house:
        me = house.scene.owner
        asked = await house.asked()
        answer = await house.issuer.visit(asked.links[0])
        await me.press(asked, "I have a code")
        await hears(me, "as your next message within five minutes")
        me.say(answer if whole else parse_qs(urlsplit(answer).query)["code"][0])
        await hears(me, "Done: <tool_output")
        await sees(me, asked, "Signed in to notes.")
        assert await opened(answer) == 400
    house.nothing_got_out(tmp_path)


async def test_an_answer_counts_once_and_only_for_its_own_link(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        asked = await house.asked()
        answer = await house.issuer.visit(asked.links[0])
        attempt = parse_qs(urlsplit(answer).query)["state"][0].partition(".")[0]
        for wrong in ("", "x", f"{attempt}.x", f"{attempt}."):
            assert await opened(answer, state=wrong) == 400
        async with ClientSession() as browser, browser.get(f"{answer}&state=x") as response:
            assert response.status == 400
        assert not [one for one in house.issuer.requests if one[1] == "/token"]
        assert await opened(answer) == 200
        await hears(house.scene.owner, "Done: <tool_output")
        assert await opened(answer) == 400
        assert [one[1] for one in house.issuer.requests].count("/token") == 1


@pytest.mark.parametrize("trouble", ["denied", "another issuer", "no issuer", "wrong code", "down"])
async def test_an_attempt_that_failed_leads_to_another_link(tmp_path: Path, trouble: str) -> None:
    async with open_house(tmp_path) as house:
        me, issuer = house.scene.owner, house.issuer
        asked = await house.asked()
        issuer.denies = trouble == "denied"
        answer = await issuer.visit(asked.links[0])
        issuer.denies = False
        issuer.broken = trouble == "down"
        match trouble:
            case "another issuer":
                assert await opened(answer, iss="https://other.example") == 400
            case "no issuer":
                assert await opened(answer.replace("iss=", "was=")) == 400
            case "wrong code":
                assert await opened(answer, code="made-up") == 400
            case _:
                assert await opened(answer) == 400
        issuer.broken = False
        await hears(me, "Signing in to notes failed: ")
        await me.until(lambda: (one := me_card(me.shown())) and one.links != asked.links)
        assert await opened(answer) == 400
        again = await card(me, "Sign in")
        assert again.id == asked.id
        assert await opened(await issuer.visit(again.links[0])) == 200
        await hears(me, "Done: <tool_output")


def me_card(shown: Iterable[Shown]) -> Shown | None:
    """The newest card with a link."""
    return next((one for one in reversed([*shown]) if one.links), None)


async def test_tokens_are_renewed_before_anyone_is_asked(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        me = house.scene.owner
        await house.signed_in()
        for times, how in enumerate(("refused", "late", "refused", "late"), start=1):
            house.issuer.rotates = times <= 2  # else the refresh token stays, unsaid
            before = [form.get("grant_type") for _, _, form in house.issuer.requests].count("refresh_token")
            if how == "refused":
                house.issuer.expire()
            else:
                house.scene.place.clock.pass_by(house.issuer.expires_in_s - 30)
            me.say(ADD)
            await hears(me, "42", times=times)
            grants = [form.get("grant_type") for _, _, form in house.issuer.requests]
            assert grants.count("refresh_token") == before + 1
        assert not [one for one in me.shown() if one.links]


async def test_an_approved_call_is_not_approved_twice(tmp_path: Path) -> None:
    async with open_house(
        tmp_path, extra='[approvals]\npreset = "whitelist"\nwhitelist = ["sign_in"]\n'
    ) as house:
        me = house.scene.owner
        await house.signed_in()
        house.issuer.revoke()
        me.say(ADD)
        await me.press(await card(me), "Approve")
        asked = await card(me, "Sign in")
        await house.scene.restart()
        answer = await house.issuer.visit(asked.links[0])
        moved = answer.replace(urlsplit(answer).netloc, urlsplit(house.scene.place.app.url).netloc)
        assert await opened(moved) == 200
        await hears(me, "42")
        assert sum("Use `notes__add`" in one.text for one in me.shown()) == 1


@pytest.mark.parametrize("how", ["Cancel", "expires"])
async def test_without_a_sign_in_the_call_does_not_run(tmp_path: Path, how: str) -> None:
    async with open_house(tmp_path) as house:
        me = house.scene.owner
        asked = await house.asked()
        answer = await house.issuer.visit(asked.links[0])
        if how == "Cancel":
            await me.press(asked, "Cancel")
        else:
            house.scene.place.clock.pass_by(86_401)
        await hears(me, "Not run: no one signed in.")
        assert await opened(answer) == 400
        me.say("hello")
        await hears(me, "You said: hello")


async def test_a_server_that_wants_more_rights_gets_them_from_its_person(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.signed_in()
        house.tools.mode, house.tools.where_to_sign_in = "wants more", house.issuer.where_to_sign_in
        asked = await house.asked(ADD)
        assert parse_qs(urlsplit(asked.links[0]).query)["scope"] == ["notes.write"]
        house.tools.mode = ""
        assert await opened(await house.issuer.visit(asked.links[0])) == 200
        await hears(house.scene.owner, "42")


async def test_a_server_without_an_authorization_server_takes_a_token(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        me, given = house.scene.owner, "tok-3vEr7Secret0fMine"
        house.tools.resource_metadata = lambda: None
        house.tools.guard = lambda said: None if said == f"Bearer {given}" else "Bearer"
        me.say(SIGN_IN)
        await card(me, "Cancel")
        me.say(given)
        await hears(me, "Done: <tool_output")
        await becomes(house.scene.place, "ready", "notes")
        me.say(ADD)
        await hears(me, "42")
        assert not any(given in json.dumps(one.body) for one in house.scene.model.log.all())
    assert traces(tmp_path, given) == []


async def test_an_unattended_run_is_refused_and_its_owner_gets_the_button(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        me, model, place = house.scene.owner, house.scene.model, house.scene.place
        await house.signed_in()
        house.issuer.revoke()
        results: list[str] = []
        for nth in range(3):
            model.enqueue(tools(ToolCall("notes__add", {"a": 20, "b": 22})), text("That was it."))
            me.say(f"/job --tools notes__add add it up {nth}")
            await me.until(lambda nth=nth: sum("Job " in one.text for one in me.shown()) > nth)
            await job_becomes(
                place, (await place.store.jobs.jobs("owner", limit=1))[0].short_id, JobState.COMPLETED
            )
            results.append(model.log[-1].body["messages"][-1]["content"])
            if nth == 1:
                (notice,) = [one for one in me.shown() if one.links and "not signed in to notes" in one.text]
                assert await opened(await house.issuer.visit(notice.links[0])) == 200
        assert ["not signed in to notes" in one for one in results] == [True, True, False]
        assert "42" in results[2]


async def test_a_person_signs_in_to_an_extension_of_their_own(tmp_path: Path) -> None:
    async with open_house(tmp_path, configured=False) as house:
        me, place, store = house.scene.owner, house.scene.place, house.scene.place.store
        mine = Extension("notes", "owner", url=house.tools.url, requirement=Requirement.NEVER)
        await store.people.ensure_user("mia", Role.MEMBER, "Mia")
        await store.extensions.put_extension(replace(mine, name="mias", owner_id="mia"), "mia")
        await store.extensions.put_extension(mine, "owner")
        await becomes(place, "connecting", "notes")
        me.say(call("sign_in", server="mias"))
        await hears(me, "there is no server of that name to sign in to; there is notes")
        await house.signed_in()
        me.say(ADD)
        await hears(me, "42")
        house.issuer.revoke()
        house.scene.model.enqueue(tools(ToolCall("notes__add", {"a": 20, "b": 22})), text("That was it."))
        me.say("/job --tools notes__add add it up")
        await me.until(lambda: any("not signed in to notes" in one.text and one.links for one in me.shown()))
        kept = {one.name for one in await store.secrets.secrets(own=True)}
        assert sign_in_client_name("notes") in kept
        change = ExtensionChange.REMOVE
        assert await store.extensions.change_extension("notes", "owner", change, "owner")
        assert not {one.name for one in await store.secrets.secrets(own=True)} & {
            sign_in_client_name("notes"),
            sign_in_name("notes", "owner"),
        }
        (notice,) = [one for one in me.shown() if one.links and "not signed in to notes" in one.text]
        assert await opened(await house.issuer.visit(notice.links[0])) == 400
    house.nothing_got_out(tmp_path)


async def test_a_person_asks_for_a_link_in_a_chat_and_by_command(tmp_path: Path) -> None:
    async with open_house(tmp_path, configured=False) as house:
        me, place, store = house.scene.owner, house.scene.place, house.scene.place.store
        mine = Extension("notes", "owner", url=house.tools.url, requirement=Requirement.NEVER)
        await store.people.ensure_user("mia", Role.MEMBER, "Mia")
        await store.extensions.put_extension(replace(mine, name="mias", owner_id="mia"), "mia")
        await store.extensions.put_extension(mine, "owner")
        await becomes(place, "connecting", "notes")
        me.say("/extensions auth mias")
        await hears(me, "You have no extension named mias")
        me.say("/extensions auth notes")
        await me.until(lambda: me_card(me.shown()) is not None)
        (sent,) = [one for one in me.shown() if one.links]
        assert sent.text.startswith("Sign in to notes. The link is good once")
        answer = await house.issuer.visit(sent.links[0])
        typed = await asyncio.to_thread(command, place.directory, "extensions", "auth", "notes")
        assert typed.out.startswith("notes: open this page to sign in: ")
        assert await opened(answer) == 400  # the newer link is the one that is good
        others = await asyncio.to_thread(command, place.directory, "extensions", "auth", "mias")
        assert (others.code, "There is no sign-in to mias here." in others.complaint) == (1, True)
        answer = await house.issuer.visit(typed.out.split()[-1])
        assert await opened(answer) == 200
        assert await opened(answer) == 400
        await becomes(place, "ready", "notes")
        me.say(ADD)
        await hears(me, "42")
    house.nothing_got_out(tmp_path)


async def link_of(house: House) -> str:
    """Return a link that the owner asks for."""
    typed = await asyncio.to_thread(command, house.scene.place.directory, "extensions", "auth", "notes")
    return typed.out.split()[-1]


async def test_a_code_that_another_link_led_to_is_refused_for_its_verifier(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        stolen = parse_qs(urlsplit(await house.issuer.visit(await link_of(house))).query)["code"][0]
        answer = await house.issuer.visit(await link_of(house))
        assert await opened(answer, code=stolen) == 400
        form = house.issuer.requests[-1][2]
        assert (form["code"], len(form["code_verifier"]) >= 43) == (stolen, True)
        assert not house.issuer.grants  # the authorization server gave nothing for it
        assert await opened(await house.issuer.visit(await link_of(house))) == 200
        await becomes(house.scene.place, "ready", "notes")


def may_use(house: House) -> bool:
    """Return whether the authorization server accepts anything that it gave."""
    return any(one.refresh or one.live for one in house.issuer.grants)


async def asked_for(house: House, path: str, grant: str = "", times: int = 1) -> None:
    """Wait until the authorization server was asked so often."""

    async def often() -> bool:
        found = [
            one for one in house.issuer.requests if one[1] == path and one[2].get("grant_type", "") == grant
        ]
        return len(found) >= times

    await house.scene.place.until(often)


@pytest.mark.parametrize("down", [False, True], ids=["revoked", "not revoked"])
async def test_the_sign_in_of_a_removed_extension_is_revoked_or_its_person_is_notified(
    tmp_path: Path, *, down: bool
) -> None:
    async with open_house(tmp_path, configured=False) as house:
        me, place = house.scene.owner, house.scene.place
        mine = Extension("notes", "owner", url=house.tools.url, requirement=Requirement.NEVER)
        await place.store.extensions.put_extension(mine, "owner")
        await becomes(place, "connecting", "notes")
        await house.signed_in()
        assert may_use(house)
        house.issuer.broken = down
        me.say("/extensions remove notes")
        pauses_s = (*AGAIN_AFTER_S, 0) if down else (0,)
        for number, pause_s in enumerate(pauses_s, start=1):
            await asked_for(house, "/revoke", times=number)
            place.clock.pass_by(pause_s)
        if down:
            await hears(me, "not revoked: The authorization server did not revoke it (HTTP 503).")
        else:
            assert not may_use(house)

        async def over() -> bool:
            return not await place.store.sign_ins.sign_outs()

        await place.until(over)
        assert sum(path == "/revoke" for _, path, _ in house.issuer.requests) == len(pauses_s)
    house.nothing_got_out(tmp_path)


@pytest.mark.parametrize("how", ["removed", "cancelled"])
async def test_a_sign_in_that_is_over_before_its_code_is_exchanged_is_revoked(
    tmp_path: Path, how: str
) -> None:
    async with open_house(tmp_path, configured=False) as house:
        me, place, issuer = house.scene.owner, house.scene.place, house.issuer
        mine = Extension("notes", "owner", url=house.tools.url, requirement=Requirement.NEVER)
        await place.store.extensions.put_extension(mine, "owner")
        await becomes(place, "connecting", "notes")
        asked = await house.asked()
        issuer.answers.clear()
        page = asyncio.create_task(read(await issuer.visit(asked.links[0])))
        await asked_for(house, "/token", "authorization_code")
        if how == "removed":
            me.say("/extensions remove notes")
        else:
            await me.press(asked, "Cancel")
        await hears(me, "Not run: no one signed in.")
        issuer.answers.set()
        status, shown = await page
        assert (status, "You are not signed in to notes: " in shown) == (400, True)
        await asked_for(house, "/revoke")
        assert not may_use(house)
        assert sign_in_name("notes", "owner") not in {
            one.name for one in await place.store.secrets.secrets(own=True)
        }
    house.nothing_got_out(tmp_path)


async def test_a_renewal_under_way_brings_no_tokens_of_a_removed_extension_back(tmp_path: Path) -> None:
    async with open_house(tmp_path, configured=False) as house:
        me, place, issuer = house.scene.owner, house.scene.place, house.issuer
        mine = Extension("notes", "owner", url=house.tools.url, requirement=Requirement.NEVER)
        await place.store.extensions.put_extension(mine, "owner")
        await becomes(place, "connecting", "notes")
        await house.signed_in()
        place.clock.pass_by(issuer.expires_in_s - 30)
        issuer.answers.clear()
        me.say(ADD)
        await asked_for(house, "/token", "refresh_token")
        await place.store.extensions.put_extension(replace(mine, url=f"{house.tools.url}?other"), "owner")
        issuer.answers.set()
        await asked_for(house, "/revoke", times=2)
        assert not may_use(house)
        kept = {one.name for one in await place.store.secrets.secrets(own=True)}
        assert sign_in_name("notes", "owner") not in kept
    house.nothing_got_out(tmp_path)


async def test_a_request_for_a_token_ends_with_the_server_that_it_was_for(tmp_path: Path) -> None:
    async with open_house(tmp_path, configured=False) as house:
        me, store, given = house.scene.owner, house.scene.place.store, "tok-3vEr7Secret0fMine"
        house.tools.resource_metadata = lambda: None
        house.tools.guard = lambda said: None if said == f"Bearer {given}" else "Bearer"
        mine = Extension("notes", "owner", url=house.tools.url, requirement=Requirement.NEVER)
        await store.extensions.put_extension(mine, "owner")
        await becomes(house.scene.place, "connecting", "notes")
        me.say(SIGN_IN)
        asked = await card(me, "Cancel")
        await store.extensions.put_extension(replace(mine, url=f"{house.tools.url}?other"), "owner")
        await sees(me, asked, "The extension was removed or replaced.")
        await hears(me, "Not run: no one signed in.")
        me.say(given)
        await hears(me, "I asked you for a credential earlier and am no longer waiting for it.")
        kept = {one.name for one in await store.secrets.secrets(own=True)}
        assert sign_in_name("notes", "owner") not in kept
        assert not any(given in json.dumps(one.body) for one in house.scene.model.log.all())
    assert traces(tmp_path, given) == []


async def test_an_address_that_a_server_names_is_judged_like_any_other(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        me, issuer = house.scene.owner, house.issuer
        cases = {
            "token_endpoint": "http://10.0.0.1/token",
            "authorization_endpoint": "http://example.com/authorize",
            "registration_endpoint": "http://169.254.169.254/latest",
            "issuer": "http://127.0.0.1:1",
            "code_challenge_methods_supported": ["plain"],
        }
        for times, (name, value) in enumerate(cases.items(), start=1):
            issuer.overrides = {name: value}
            me.say(SIGN_IN)
            await hears(me, "Not run: signing in to notes is not possible.", times=times)
        issuer.overrides = {}
        other = {**issuer.resource_metadata, "resource": "https://other.example/mcp"}
        house.tools.resource_metadata = lambda: other
        me.say(SIGN_IN)
        await hears(me, "that of another server", times=1)
        assert not issuer.clients


@pytest.mark.slow
async def test_the_console_has_the_link_and_takes_the_address(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        me, app = house.scene.owner, house.scene.place.app
        asked = await house.asked()
        token = json.loads((house.scene.place.directory / "data" / "api.json").read_text())["token"]
        async with ClientSession(app.url, headers={"Authorization": f"Bearer {token}"}) as console:

            async def gates() -> list[dict[str, Any]]:
                async with console.get("/api/approvals") as response:
                    return (await response.json())["approvals"]

            async def answered(answer: str) -> int:
                given = {"request_id": gate["gate_id"], "action": "0", "text": answer}
                async with console.post("/api/chat/gate/resolve", json=given) as response:
                    return response.status

            (gate,) = await gates()
            assert (gate["kind"], gate["link"], gate["secret"]) == ("auth", asked.links[0], True)
            assert [one["label"] for one in gate["choices"]] == ["Cancel"]
            answer = await house.issuer.visit(gate["link"])
            assert await answered(answer.replace("state=", "state=x")) == 200
            await hears(me, "That address belongs to another sign-in.")
            (gate,) = await gates()
            assert await answered(await house.issuer.visit(gate["link"])) == 200
            await hears(me, "Done: <tool_output")
            assert await gates() == []
    house.nothing_got_out(tmp_path)


async def test_no_one_is_asked_to_sign_in_where_others_can_read_it(tmp_path: Path) -> None:
    async with open_house(tmp_path, channel='groups = "addressed"') as house:
        telegram, owner = house.scene.place.telegram, int(OLIVIA["telegram"])
        group = telegram.create_group("Garden", [owner]).id
        telegram.user_sends_text(owner, f"@{telegram.bot().user.username} {SIGN_IN}", chat_id=group)
        await telegram.wait_text(group, "only possible in a private conversation")
        assert not house.issuer.requests
