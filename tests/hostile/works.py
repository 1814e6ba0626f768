"""Work on a text from outside, by where it comes in, whose cost is measured."""

import json
from collections.abc import Callable

from yarl import URL

from bot.web.blocks import blocks_of
from channels.discord import inbound as discord
from channels.discord import outbound as discord_rendering
from channels.slack import inbound as slack
from channels.slack import outbound as slack_rendering
from channels.slack.inbound import typed_here
from channels.slack.outbound import _markdown as slack_stream
from channels.telegram import inbound as telegram
from channels.telegram import outbound as telegram_rendering
from channels.telegram.addresses import Account
from channels.terminal import render as on_terminal
from channels.terminal import visible
from channels.text.markdown import parse
from core.consent.cards import as_seen, changed_by, looks_like_a_form
from core.errors import InvalidArguments, ModelError
from core.hooks.chain import Change, HookEvent, Point
from core.hooks.chain import _changed as changed_by_a_hook
from core.hooks.points import _reply as hook_reply
from core.inbound.hub import within_size
from core.inbound.submission import parse_submission
from core.messages import Address, Attachment, Code, InboundMessage, Markdown, Message, Plain, Sender, as_told
from core.model.demo import understand
from core.model.provider_data import SseParser, excerpt, storable
from core.model.provider_http import model_error, read_error_body
from core.off_loop import json_with_breaks
from core.routines.matching.pattern import Pattern, Subject
from core.routines.triggers import asks_for_nothing
from core.safety.fencing import fence_tool_output, read_arguments, sanitise, unfence
from core.safety.leaks import LeakDetector, RedactedStream
from core.store.rows import note_terms
from core.tools.builtin.attachments import file_name
from core.tools.mcp.catalog import own_name
from core.tools.web_client import readable

Work = Callable[[str], object]
PIECE_CHARS = 50
DRAWN_UNITS = 64
"""Of a message: short, so that a text makes many."""
LEAKS = LeakDetector(["a secret, with spaces", "hunter2hunter2"])
SLACK, DISCORD = slack.Account("T1", "U1"), discord.Account("1", "2")
TELEGRAM = Account(1, "hub_bot")
PATTERN = Pattern(r"(\w+) deploys? (?:to )?(\w+)$", ignore_case=True)


def person(name: str = "Ada") -> Sender:
    return Sender("7", name, name)


def message(text: str, name: str = "Ada") -> InboundMessage:
    file = Attachment("f", name, "text/plain", 1)
    return InboundMessage("k", "1", "telegram", Address("7"), "7", person(name), text, 0, attachments=(file,))


def stream(text: str) -> None:
    redacted = RedactedStream(LEAKS)
    for at in range(0, len(text), PIECE_CHARS):
        redacted.add(text[at : at + PIECE_CHARS])
    redacted.rest()


def arguments(text: str) -> None:
    for said in (json.dumps({"text": text}), text, "[" * len(text), '{"a":' * (len(text) // 5)):
        try:
            read_arguments(said)
        except InvalidArguments:
            pass


def provider_error(text: str) -> None:
    for body in (text, json.dumps({"error": {"message": text}})):
        error: ModelError = model_error(
            read_error_body(0, body.encode("utf-8", "replace")), model="m", api_key="sk-12345678"
        )
        str(error)


def events(text: str) -> None:
    """A line that comes in small pieces."""
    parser = SseParser()
    data = text.encode("utf-8", "replace").replace(b"\n", b" ").replace(b"\r", b" ")
    for at in range(0, len(data), PIECE_CHARS):
        parser.feed(data[at : at + PIECE_CHARS])
    parser.feed(b"\n\n")


def hook_answer(text: str) -> None:
    """Return what a hook at a URL answers: a change of the text or the arguments, a refusal, or no JSON."""
    pages = {"text": text}, {"arguments": {text: text}}, {"reject": text}
    for body in (text, "[" * len(text), *map(json.dumps, pages)):
        try:
            reply = hook_reply(json_with_breaks(body.encode("utf-8", "replace")))
            for event in (
                HookEvent(Point.BEFORE_INBOUND, text="hi"),
                HookEvent(Point.BEFORE_TOOL_CALL, arguments={}),
            ):
                if isinstance(reply, Change):
                    changed_by_a_hook(event, reply, frozenset())
        except (ValueError, RecursionError):
            continue


def telegram_update(text: str) -> None:
    entities = [{"type": "mention", "offset": at, "length": 8} for at in range(0, len(text), 9)]
    chat, sender = {"id": -7, "type": "group"}, {"id": 7, "is_bot": False, "first_name": "Ada"}
    said = {"message_id": 1, "date": 1, "chat": chat, "from": sender, "text": text, "entities": entities}
    telegram.read_update({"update_id": 1, "message": said}, TELEGRAM, "telegram", 1)


IN: dict[str, Work] = {
    "size": lambda text: within_size(message(text)),
    "credentials": LEAKS.find,
    "submission": parse_submission,
    "form": lambda text: (looks_like_a_form(text), changed_by(text, {}, ["name", "text"])),
    "event pattern": lambda text: PATTERN.search(Subject(text[:8192])),
    "terms": note_terms,
    "told": lambda text: as_told([text], ()),
    "slack text": lambda text: slack.plain_text(text, SLACK),
    "discord text": lambda text: discord.plain_text(text, (), DISCORD),
    "telegram update": telegram_update,
    "demo": understand,
    "heartbeat": asks_for_nothing,
}
NAME: dict[str, Work] = {
    "size": lambda text: within_size(message("hi", text)),
    "file": file_name,
    "shown": visible,
}
MARKDOWN: dict[str, Work] = {
    "parse": parse,
    "telegram": lambda text: telegram_rendering.render_markdown(text, DRAWN_UNITS),
    "discord": lambda text: discord_rendering.render_blocks([Markdown(text)], DRAWN_UNITS),
    "slack": lambda text: slack_rendering.render_blocks([Markdown(text)], DRAWN_UNITS),
    "slack stream": lambda text: slack_stream(Message((Markdown(text),))),
    "web": lambda text: blocks_of([Markdown(text)]),
    "terminal": lambda text: on_terminal(parse(text[:4_000]), 80),
}
PLAIN: dict[str, Work] = {
    "telegram": lambda text: telegram_rendering.render_plain(text, DRAWN_UNITS),
    "discord": lambda text: discord_rendering.render_plain(text, DRAWN_UNITS),
    "slack": lambda text: slack_rendering.render_plain(text, DRAWN_UNITS),
    "slack commands": lambda text: typed_here([Plain(text)]),
    "terminal": visible,
}
CODE: dict[str, Work] = {
    "telegram": lambda text: telegram_rendering.render_blocks([Code(text)], DRAWN_UNITS),
    "discord": lambda text: discord_rendering.render_blocks([Code(text)], DRAWN_UNITS),
    "slack": lambda text: slack_rendering.render_blocks([Code(text)], DRAWN_UNITS),
}
REPLY: dict[str, Work] = {
    "stream": stream,
    "redacted": LEAKS.redacted,
    "storable": storable,
    "events": events,
    "excerpt": excerpt,
    "refusal": provider_error,
}
ARGUMENTS: dict[str, Work] = {"read": arguments, "shown": as_seen, "redacted": LEAKS.redacted}
RESULT: dict[str, Work] = {
    "sanitised": sanitise,
    "redacted": LEAKS.redacted,
    "fenced": lambda text: unfence(fence_tool_output("http", text)),
    "page": lambda text: readable("text/html", "", text.encode("utf-8", "replace"), URL("http://h.example/")),
    "text": lambda text: readable(
        "text/plain", "", text.encode("utf-8", "replace"), URL("http://h.example/")
    ),
}
HOOKED: dict[str, Work] = {"answer": hook_answer, "shown": LEAKS.redacted}
LISTED: dict[str, Work] = {"name": lambda text: own_name("server", text), "description": sanitise}
BODY: dict[str, Work] = {"json": lambda text: LEAKS.redacted(json.dumps({"ref": text}))}
