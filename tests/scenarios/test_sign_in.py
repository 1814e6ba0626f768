"""People sign in to servers of tools: by a link or with a token, on every platform; and what a sign-in survives."""

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession

from tests.harness.people import card, hears
from tests.scenarios.scenes import Scene, open_scene
from tests.scenarios.test_leaks import traces
from tests.scenarios.test_mcp import becomes, call
from tests.simulators.mcp.web import WebServer, open_web_server
from tests.simulators.oauth import AuthorizationServer, open_authorization_server

ADD = call("notes__add", a=20, b=22)
SIGN_IN = call("sign_in", server="notes")


@contextlib.asynccontextmanager
async def guarded() -> AsyncIterator[tuple[WebServer, AuthorizationServer]]:
    """A server of tools that wants a token of an authorization server."""
    async with open_web_server() as tools, open_authorization_server() as issuer:
        issuer.resource = tools.url
        tools.guard = issuer.challenge
        tools.resource_metadata = lambda: issuer.resource_metadata
        yield tools, issuer


def section(tools: WebServer, more: str = "") -> str:
    return f'[mcp.notes]\nurl = "{tools.url}"\n{more}\n[approvals]\npreset = "auto"\n'


async def opened(url: str) -> tuple[int, str]:
    """Return what a browser shows at an address."""
    async with ClientSession() as browser, browser.get(url) as response:
        return response.status, await response.text()


async def link_of(scene: Scene) -> str:
    """Return where the newest open card sends its person."""
    return (await card(scene.owner, "Sign in")).links[0]


async def sign_in(scene: Scene, issuer: AuthorizationServer) -> None:
    """Have the owner sign in, at their first word."""
    scene.owner.say(SIGN_IN)
    assert (await opened(await issuer.visit(await link_of(scene))))[0] == 200
    await hears(scene.owner, "Signed in to notes.")
    await becomes(scene.place, "ready", "notes")


async def test_the_call_runs_again_once_its_person_signed_in(tmp_path: Path) -> None:
    async with guarded() as (tools, issuer), open_scene("telegram", tmp_path, extra=section(tools)) as scene:
        await sign_in(scene, issuer)
        assert "42" not in "".join(one.text for one in scene.owner.shown())
        scene.owner.say(ADD)
        await hears(scene.owner, "42")
        assert [one["name"] for one in tools.calls] == ["add"]
        assert traces(tmp_path, *issuer.tokens()) == []
