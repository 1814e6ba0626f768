"""Text controlled by a chat user or a tool is text on the screen, never markup and never a script."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Route, expect

from tests.browser.chromium import Complaints
from tests.browser.console import Console
from tests.browser.test_screens import EVERYWHERE
from tests.harness.process import HubProcess

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.asyncio(loop_scope="session"),
]


@pytest.fixture
def hub(newcomers_hub: HubProcess) -> HubProcess:
    """One for all."""
    return newcomers_hub


MARKUP = '<img src=x class=planted onerror="window.planted=1"><script class=planted>planted=1</script>'
LINKS = '[a](javascript:planted=1) [b](data:text/html,x) [c](https://example.org/"onmouseover="x) <b>d</b>'


async def nothing_planted(console: Console) -> None:
    """Nothing of what was said became an element or ran."""
    assert await console.page.locator(".planted").count() == 0
    assert await console.page.evaluate("() => window.planted") is None
    schemes = await console.page.evaluate(
        "() => [...document.querySelectorAll('a[href]')].map((one) => one.protocol)"
    )
    assert set(schemes) <= {"http:", "https:", "mailto:"}


async def test_messages_answers_and_tool_output_are_text(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    await console.say_in_a_new_thread(f"{MARKUP} {LINKS}")
    await expect(console.messages("user").first).to_contain_text(MARKUP)
    await console.sees("You said:")
    await expect(console.messages("assistant").last).to_contain_text("<script class=planted>")
    link = console.messages("assistant").get_by_role("link").first
    await expect(link).to_have_attribute("rel", "noopener noreferrer")
    (hub.directory / "workspace" / "evil.html").write_text(MARKUP)
    await console.say("run: cat evil.html; echo '<b class=planted>x</b>'")
    await expect(console.card()).to_contain_text("<b class=planted>x</b>")
    await nothing_planted(console)
    await console.decide("Approve")
    await expect(console.messages("assistant").last).to_contain_text("onerror=")
    await console.page.locator("article.approval summary").last.click()
    await expect(console.page.locator("article.approval .steps-rows")).to_contain_text(
        "<b class=planted>x</b>"
    )
    await nothing_planted(console)
    assert complaints.lines == []


@pytest.mark.slow
async def test_names_of_files_and_threads_are_text(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    await console.open("chat/new")
    await console.page.locator("input[type=file]").set_input_files(
        {"name": f"{MARKUP[:60]}.txt", "mimeType": "text/plain", "buffer": b"x"}
    )
    await expect(console.page.locator(".chip")).to_contain_text("<img src=x")
    await console.files_are_there(1)
    await console.say(MARKUP)
    await console.in_a_thread()
    await expect(console.messages("user").first).to_contain_text("<img src=x class=planted")
    await expect(console.page.locator(".row").first).to_contain_text("<img src=x class=planted")
    await hub.api("POST", "/users", {"name": MARKUP})
    for place in ("threads", "channels", "why", "approvals"):
        await console.open(place)
        await expect(console.page.locator("main h1")).to_be_attached()
    await console.open("why")
    await expect(console.page.locator(".event").first).to_contain_text("<img src=x class=planted")
    await nothing_planted(console)
    assert complaints.lines == []


class Fabricated:
    """Answers made from the API's own description: each field that may hold any text holds `text`."""

    def __init__(self, document: Mapping[str, Any], text: str) -> None:
        self._schemas = document["components"]["schemas"]
        self._text = text
        self._answers = {
            re.compile("/api" + re.sub(r"{\w+}", "[^/]+", path)): schema
            for path, operations in document["paths"].items()
            if path not in REAL and (schema := _answer(operations.get("get", {})))
        }

    async def serve(self, route: Route) -> None:
        """Answer a request to read, unless a hub must."""
        path = urlsplit(route.request.url).path
        found = [schema for known, schema in self._answers.items() if known.fullmatch(path)]
        if route.request.method == "GET" and found:
            await route.fulfill(json=self._made(found[0]))
        else:
            await route.continue_()

    def _made(self, schema: Mapping[str, Any], depth: int = 0) -> Any:
        if "$ref" in schema:
            return self._made(self._schemas[schema["$ref"].rpartition("/")[2]], depth)
        if variants := _variants(schema):
            return self._made(variants[0], depth)
        if named := schema.get("enum") or [schema[name] for name in ("const",) if name in schema]:
            return named[0]
        return self._of_type(schema, depth)

    def _of_type(self, schema: Mapping[str, Any], depth: int) -> Any:
        match schema.get("type"):
            case "object" if fields := schema.get("properties"):
                return {name: self._field(name, one, depth + 1) for name, one in fields.items()}
            case "object":
                more = schema.get("additionalProperties")
                return {self._text: self._made(more if isinstance(more, dict) else {}, depth + 1)}
            case "array":
                items = schema.get("items") or {}
                kinds = schema.get("prefixItems") or _variants(items) or [items]
                return [self._made(one, depth + 1) for one in kinds if depth <= DEEP]
            case "integer" | "number" | "boolean" | "null" as kind:
                return {"boolean": True, "null": None}.get(kind, 1)
            case _:
                return self._text

    def _field(self, name: str, schema: Mapping[str, Any], depth: int) -> Any:
        known = KNOWN.get(name)
        made = self._made(schema, depth)
        return known if known and made == self._text else made


KNOWN = {"state": "running"}
"""Words without which a page shows nothing of the rest."""
DEEP = 8
REAL = {"/me", "/events", "/openapi.json"}


def _variants(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or []
    return [one for one in found if one.get("type") != "null"]


def _answer(operation: Mapping[str, Any]) -> Mapping[str, Any] | None:
    content = operation.get("responses", {}).get("200", {}).get("content", {})
    return content.get("application/json", {}).get("schema")


EVERY_FIELD = "javascript:planted=1//" + MARKUP
SHOWN = """
() => document.querySelectorAll('details').forEach((one) => (one.open = true)) || [
  document.querySelector('main')?.innerText ?? '',
  ...[...document.querySelectorAll('input, textarea')].map((one) => one.value),
].some((text) => text.includes('onerror='))
"""


@pytest.mark.slow
async def test_whatever_text_the_api_answers_with_is_text(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    """In every field of every answer, also of those that come with the next version."""
    page = console.page
    fabricated = Fabricated(await hub.api("GET", "/openapi.json"), EVERY_FIELD)
    await page.route("**/api/**", fabricated.serve)
    await console.reload()
    for place in (*EVERYWHERE.values(), "chat/0", "routines/0", "jobs/0"):
        await console.open(place)
        await page.wait_for_function(SHOWN)
        await expect(page.get_by_text("Loading…")).to_have_count(0)
        await nothing_planted(console)
    assert complaints.but("status of 404") == []
