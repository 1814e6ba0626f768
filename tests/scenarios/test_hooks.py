"""Hooks end to end: asked once at each point, on every way there is, and nobody sees what they held back."""

import base64
import contextlib
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web

from core.hooks.chain import Point
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.scenarios.installed_hooks import Watch, installed
from tests.simulators.model import text

EVERYWHERE = '["before_inbound", "before_tool_call", "transform_response", "before_outbound"]'


def section(on: str, more: str = 'ask = "watch"', name: str = "watch") -> str:
    return f'[[hooks]]\nname = "{name}"\non = {on}\n{more}\n'


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watch:
    return installed(tmp_path / "packages", monkeypatch)


@pytest_asyncio.fixture
async def house(tmp_path: Path, watch: Watch) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, extra=section(EVERYWHERE)) as opened:
        yield opened


def told(house: Hub) -> str:
    results = [one for one in house.model.log[-1].body["messages"] if one["role"] == "tool"]
    return results[-1]["content"]


async def test_a_call_is_changed_once_before_consent_and_runs_so_after_a_restart(
    house: Hub, watch: Watch
) -> None:
    house.telegram.user_sends_text(OWNER, "please run: echo one >> out.txt")
    card = await house.card(OWNER)
    assert "echo two >> out.txt" in card.text
    await house.stop()
    await house.start()
    assert await house.pressed(OWNER, card, 0) == "Approved by owner"
    await house.telegram.wait_text(OWNER, "Done:")
    assert (house.workspace / "out.txt").read_text() == "two\n"
    (asked,) = watch.at(Point.BEFORE_TOOL_CALL)
    assert (asked.tool, asked.user_id) == ("shell", "owner")
    assert asked.arguments is not None
    assert asked.arguments["command"] == "echo one >> out.txt"


async def test_a_refused_call_is_a_result_and_opens_no_gate(house: Hub, watch: Watch) -> None:
    house.telegram.user_sends_text(OWNER, "please run: echo forbidden")
    await house.telegram.wait_text(OWNER, "Done:")
    assert "Not run: blocked by the hook watch: that is forbidden" in told(house)
    assert house.open_cards(OWNER) == []


async def test_hooks_see_inputs_replies_and_sent_messages(house: Hub, watch: Watch) -> None:
    house.telegram.user_sends_text(OWNER, "the sky is blue")
    await house.telegram.wait_text(OWNER, "You said: the sky is green")
    assert "blue" not in json.dumps(house.model.log[-1].body)
    house.telegram.user_sends_text(OWNER, "and not this")
    await house.telegram.wait_text(OWNER, "I did not accept your message:")
    house.telegram.user_sends_text(OWNER, "/help")
    await house.telegram.wait_text(OWNER, "Any other message goes to the assistant.")
    assert [event.text for event in watch.at(Point.BEFORE_INBOUND)] == ["the sky is blue", "and not this"]
    assert any("/stop" in event.text for event in watch.at(Point.BEFORE_OUTBOUND))
    assert all(event.text != "/help" for event in watch.asked)


async def test_a_message_waits_for_hooks_across_a_restart(house: Hub, watch: Watch) -> None:
    """Taken and acknowledged, and no turn has it before they have spoken."""
    watch.gate.clear()
    house.telegram.user_sends_text(OWNER, "the sea is blue")
    await house.until(lambda: _asked(watch, 1))
    await house.stop()
    assert len(house.model.log.all()) == 0
    watch.gate.set()
    await house.start()
    await house.telegram.wait_text(OWNER, "You said: the sea is green")


async def test_a_message_that_waits_for_hooks_is_dropped_by_a_stop(house: Hub, watch: Watch) -> None:
    watch.gate.clear()
    house.telegram.user_sends_text(OWNER, "the sea is blue")
    await house.until(lambda: _asked(watch, 1))
    house.telegram.user_sends_text(OWNER, "/stop")
    await house.telegram.wait_text(OWNER, "Stopped. 1 queued message discarded.")
    watch.gate.set()
    house.telegram.user_sends_text(OWNER, "the sky is blue")
    await house.telegram.wait_text(OWNER, "You said: the sky is green")
    assert "the sea" not in json.dumps([one.body for one in house.model.log.all()])


async def _asked(watch: Watch, times: int) -> bool:
    return len(watch.at(Point.BEFORE_INBOUND)) >= times


async def test_hooks_judge_answers_to_questions_like_messages(house: Hub, watch: Watch) -> None:
    question = 'please call: ask_user {"question": "Which colour is it?"}'
    house.telegram.user_sends_text(OWNER, question)
    await house.telegram.wait_text(OWNER, "Which colour is it?")
    house.telegram.user_sends_text(OWNER, "as blue as can be")
    await house.telegram.wait_text(OWNER, "Done:")
    assert told(house) == '"owner" answered: as green as can be'
    house.telegram.user_sends_text(OWNER, question)
    await house.telegram.wait_for(lambda: house.says(OWNER)[-1].startswith("Which colour"), LIMIT_S)
    house.telegram.user_sends_text(OWNER, "and not this")
    await house.telegram.wait_for(lambda: sum("Done:" in text for text in house.says(OWNER)) == 2, LIMIT_S)
    assert "withheld (not these words)" in told(house)
    asked = repr([one.body for one in house.model.log.all()])
    assert "as blue" not in asked
    assert "and not this" not in asked
    assert [one.text for one in watch.at(Point.BEFORE_INBOUND)][1::2] == ["as blue as can be", "and not this"]


async def test_held_messages_continue_when_their_hook_is_removed(house: Hub, watch: Watch) -> None:
    watch.gate.clear()
    house.telegram.user_sends_text(OWNER, "the sea is blue")
    await house.until(lambda: _asked(watch, 1))
    await house.stop()
    path = house.directory / "hubbub.toml"
    path.write_text(path.read_text().partition("[[hooks]]")[0])
    await house.start()
    await house.telegram.wait_text(OWNER, "You said: the sea is blue")


async def test_model_text_stays_hidden_until_hooks_have_run(house: Hub, watch: Watch) -> None:
    """Neither while it is being written, nor an answer that is held back."""
    house.model.enqueue(text(f"the sky is blue. {'So it is. ' * 40}", chunk_chars=8, delay_s=0.03))
    house.telegram.user_sends_text(OWNER, "what colour?")
    await house.telegram.wait_text(OWNER, "the sky is green.")
    house.model.enqueue(text("but not this"))
    house.telegram.user_sends_text(OWNER, "and now?")
    await house.telegram.wait_text(OWNER, "I can't send my reply here:")
    shown = repr(house.telegram.requests())
    assert "blue" not in shown
    assert "not this" not in shown


async def test_a_message_that_was_cut_off_before_there_were_hooks_is_shown_as_they_change_it(
    tmp_path: Path, watch: Watch
) -> None:
    async with open_hub(tmp_path, speed=50) as house:
        house.telegram.fail("hold", method="sendMessage", when="after", count=1)
        house.telegram.user_sends_text(OWNER, "the sky is blue")
        await house.telegram.wait_requests("sendMessage", outcome="held", timeout_s=LIMIT_S)
        await house.stop()
        path = house.directory / "hubbub.toml"
        path.write_text(path.read_text() + section('["before_outbound"]'))
        await house.start()
        house.telegram.user_sends_text(OWNER, "and now?")
        await house.telegram.wait_text(OWNER, "You said: and now?")
        said = [message.text for message in house.telegram.bot_messages(OWNER)]
        assert said == ["You said: the sky is green", "You said: and now?"]
        assert [event.text for event in watch.asked] == ["You said: the sky is blue", "You said: and now?"]


class Listener:
    """Takes signed requests, and answers with `answer`."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.bodies: list[dict[str, object]] = []
        self.genuine: list[bool] = []

    async def take(self, request: web.Request) -> web.Response:
        body, headers = await request.read(), request.headers
        signed = b".".join((headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body))
        proof = base64.b64encode(hmac.new(b"s3cret-of-hooks", signed, hashlib.sha256).digest()).decode()
        self.genuine.append(headers["webhook-signature"] == f"v1,{proof}")
        self.bodies.append(json.loads(body))
        return web.json_response(self.answer)


@contextlib.asynccontextmanager
async def listening(answer: object) -> AsyncIterator[tuple[Listener, int]]:
    listener = Listener(answer)
    app = web.Application()
    app.router.add_post("/", listener.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield listener, runner.addresses[0][1]
    finally:
        await runner.cleanup()


def webhook(port: int, on: str, more: str = "") -> str:
    opened = f'[network]\nallow_private = ["127.0.0.1:{port}"]\n'
    where = f'ask = "http://127.0.0.1:{port}/"\nsecret = "s3cret-of-hooks"\n{more}'
    return opened + section(on, where)


async def test_a_webhook_that_waits_is_signed_and_can_decide(tmp_path: Path) -> None:
    async with listening({"arguments": {"command": "echo three >> out.txt"}}) as (listener, port):
        extra = webhook(port, '["before_tool_call"]', "waits = true")
        async with open_hub(tmp_path, extra=extra) as house:
            house.telegram.user_sends_text(OWNER, "please run: echo one >> out.txt")
            card = await house.card(OWNER)
            assert "echo three >> out.txt" in card.text
        assert listener.genuine == [True]
        assert listener.bodies[0]["point"] == "before_tool_call"


async def test_a_sensitive_argument_is_neither_sent_to_a_hook_nor_changed_by_it(
    tmp_path: Path, watch: Watch
) -> None:
    async with listening({"arguments": {"pin": "0000"}}) as (listener, port):
        opened = '[extensions]\ntools = ["unlock"]\ntrusted_tools = ["unlock"]\n'
        hook = webhook(port, '["before_tool_call"]', "waits = true")
        async with open_hub(tmp_path, extra=opened + hook) as house:
            house.telegram.user_sends_text(OWNER, 'please call: unlock {"door": "cellar", "pin": "0042"}')
            await house.telegram.wait_text(OWNER, "Done:")
            assert "cellar is open" in told(house)
        assert [body["arguments"] for body in listener.bodies] == [{"door": "cellar", "pin": "[REDACTED]"}]


async def test_a_webhook_that_answers_without_end_counts_as_failed(tmp_path: Path) -> None:
    long = {"text": "x" * 90_000, "note": "y" * 1_000_000}
    async with listening(long) as (listener, port):
        extra = webhook(port, '["before_inbound"]', 'waits = true\non_failure = "closed"')
        async with open_hub(tmp_path, extra=extra) as house:
            house.telegram.user_sends_text(OWNER, "hello")
            await house.telegram.wait_text(OWNER, "I did not accept your message: it failed")
        assert len(listener.bodies) == 1


async def test_an_observing_hook_gets_sizes_and_no_text(tmp_path: Path) -> None:
    async with listening({"reject": "nobody hears this"}) as (listener, port):
        async with open_hub(tmp_path, extra=webhook(port, '["before_inbound"]')) as house:
            house.telegram.user_sends_text(OWNER, "a secret plan")
            await house.telegram.wait_text(OWNER, "You said: a secret plan")
            await house.until(lambda: _heard(listener))
        assert listener.genuine == [True]
        assert listener.bodies == [
            {
                "point": "before_inbound",
                "text_chars": 13,
                "tool": None,
                "arguments": None,
                "channel": "telegram",
            }
        ]


async def _heard(listener: Listener) -> bool:
    return bool(listener.bodies)
