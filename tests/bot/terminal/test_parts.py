"""The parts of a terminal conversation: queue, history, completion, and what came as JSON."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from bot.config.place import ANSWER_LIMIT_S, ApiAccess
from bot.terminal.remote import ITEM, SUMMARIZED, blocks_in, card_in, detail_of, said_in
from bot.terminal.talk import Began, Feed, HubApi, Rested, Said, Wrote
from bot.terminal.terminal import HISTORY_LIMIT_BYTES, CommandCompleter, kept_history
from bot.terminal.view import View, keys_of
from bot.web.blocks import ApprovalPage, AskedCallPage, ChoiceView, blocks_of
from channels.terminal import painted, render
from channels.text.markdown import parse
from core.messages import Markdown
from tests.channels.text.markdown_grammar import documents
from tests.plugins.profile import Profile


async def test_pieces_of_an_unread_reply_are_merged() -> None:
    feed = Feed()
    for event in (Began(), Wrote("t", 0, 0, "a"), Wrote("t", 0, 1, "b"), Wrote("t", 1, 0, "c"), Rested()):
        feed.put(event)
    seen = [await feed.get() for _ in range(4)]
    assert seen == [Began(), Wrote("t", 0, 0, "ab"), Wrote("t", 1, 0, "c"), Rested()]
    assert feed.empty


def test_typed_history_is_private_and_bounded(tmp_path: Path) -> None:
    path = tmp_path / "chat_history"
    path.touch(0o644)
    history = kept_history(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    for number in range(HISTORY_LIMIT_BYTES // 40):
        history.store_string(f"line {number}\nand its second line")
    again = list(kept_history(tmp_path).load_history_strings())
    assert path.stat().st_size <= HISTORY_LIMIT_BYTES // 2
    assert path.stat().st_mode & 0o777 == 0o600
    newest = HISTORY_LIMIT_BYTES // 40 - 1
    assert again[:2] == [f"line {number}\nand its second line" for number in (newest, newest - 1)]
    assert all(text.startswith("line ") for text in again)


@pytest.mark.parametrize(
    "typed, offered",
    [
        ("/st", ["/stop", "/steer", "/status"]),
        ("/q", ["/queue", "/quit"]),
        ("/approve k", ["k3f9a7mzq2"]),
        ("/deny x", []),
        ("st", []),
        ("/stop now", []),
    ],
)
def test_commands_and_ids_are_completed(typed: str, offered: list[str]) -> None:
    completer = CommandCompleter(lambda: ["k3f9a7mzq2"])
    found = completer.get_completions(Document(typed), CompleteEvent())
    assert [completion.text for completion in found] == offered


@pytest.mark.parametrize(
    "kind, undone, shown",
    [
        ("user", True, "Olivia › hello\n  (undone)\n\n"),
        ("user", False, "Olivia › hello\n\n"),
        ("summary", False, f"{SUMMARIZED}\n\n"),
        ("summary", True, f"{SUMMARIZED}\n(undone)\n\n"),
    ],
)
def test_earlier_lines_mark_undone_and_summarized_messages(kind: str, undone: bool, shown: str) -> None:
    line = {"kind": kind, "seq": 1, "at": 1, "turn": "t", "undone": undone, "text": "hello"}
    line |= {"sender": {"name": "Olivia", "role": "owner"}, "via": "web", "attachments": []}
    item = ITEM.validate_python(
        {
            name: value
            for name, value in line.items()
            if kind == "user" or name not in {"sender", "via", "attachments"}
        }
    )
    said = said_in(item, {}, past=True)
    assert isinstance(said, Said)
    assert painted(View().take(said, 60), colours=False) == shown


def test_a_call_is_shown_by_its_most_informative_argument() -> None:
    assert detail_of({"timeout_s": 30, "command": "ls"}) == "ls"
    assert detail_of({"a": 1}) == '{"a": 1}'
    assert detail_of({}) == ""


@pytest.mark.timeout(600)
def test_a_message_looks_the_same_after_a_round_trip_through_json(profile: Profile) -> None:
    @settings(
        max_examples=profile.pick(test=30, ci=200, proof=1000),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(documents)
    def holds(source: str) -> None:
        came = blocks_in(blocks_of([Markdown(source)]))
        assert painted(render(came, 60), colours=False) == painted(render(parse(source), 60), colours=False)

    holds()


def test_every_call_of_a_joint_card_is_shown_and_each_answer_has_its_key() -> None:
    calls = [
        AskedCallPage(call_id=name, tool="shell", reason="it writes", lines=(f"touch {name}", "# 2. shell"))
        for name in ("one", "two")
    ]
    options = [("Approve all", "approve"), ("Deny all", "deny"), ("One by one", "one_by_one")]
    choices = [ChoiceView(index=n, label=label, option=name) for n, (label, name) in enumerate(options)]
    page = dict.fromkeys(ApprovalPage.model_fields, None) | {
        "gate_id": "k3f9a7mzq2",
        "title": "Run these 2 calls?",
        "calls": calls,
        "choices": choices,
        "may_decide": True,
        "votes": (),
    }
    card = card_in(ApprovalPage.model_construct(**page))
    shown = painted(render(card.blocks, None), colours=False)
    for number, name in enumerate(("one", "two"), start=1):
        assert f"{number}. shell: it writes\n\n╭─\ntouch {name}\n# 2. shell\n╰─" in shown
    assert list(keys_of(card)) == ["a", "d", "o"]
    assert card.arguments is None


async def test_an_abandoned_request_is_cancelled() -> None:
    loop = asyncio.get_running_loop()
    connected: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = loop.create_future()
    silent = await asyncio.start_server(lambda *both: connected.set_result(both), "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    api = HubApi(lambda: ApiAccess(f"http://127.0.0.1:{port}", "token", "1"))
    asked = asyncio.create_task(api.get("/api/threads", limit=1))
    reader, writer = await connected
    request = await reader.readuntil(b"\r\n\r\n")
    assert request.startswith(b"GET /api/threads?limit=1 HTTP/1.1\r\n")
    assert b"\r\nHost: localhost\r\n" in request
    interim = b"HTTP/1.1 100 Continue\r\nFiller: " + b"x" * 60_000 + b"\r\n\r\n"
    for _ in range(800):  # more than the system keeps for a connection: once it is taken, the client reads
        writer.write(interim)
        await writer.drain()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    async with asyncio.timeout(ANSWER_LIMIT_S / 3):  # well before it would have given up
        assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    silent.close()
