"""The hub's messages as arguments of chat.postMessage and chat.update. Pure and deterministic."""

import logging
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

from channels.channel import FILE, Payload
from channels.slack.addresses import ParsedAddress, ParsedRef, address_of
from channels.slack.client import Declined, Sent, SlackClient, marked
from channels.slack.inbound import typed_here
from channels.text.blocks import Mark, showable
from channels.text.chunking import Chunk, Code, Line, Part, Run, parts_of, split
from channels.text.layout import FlatText, lay_out
from channels.text.markdown import parse, read
from core import messages
from core.errors import MessageRejected, Unanswered
from core.messages import Address, File, InboundMessage, LinkButton, Markdown, Message
from core.texts import EDIT_LABEL

# The hub's messages as Slack's rich text blocks (Block Kit reference, rich text block).
#
# Rich text shows all text literally: nothing needs escaping, and a model's text cannot become a
# mention. `text`, shown in notifications and by clients without blocks, is escaped as Slack
# requires (`&`, `<`, `>`), which disables mentions, too. Every message is within `limit_chars`
# characters. Blank input gives no message, and no text raises an error.

MAX_TEXT_CHARS = 3000
"""The limit of a section. Slack names none for rich text, but refuses messages with far larger blocks."""
RENDERING_HINT = (
    "Write Markdown, not mrkdwn: bold, italic, strikethrough, links, lists, quotes and code blocks are "
    "shown; tables become monospaced text, and mentions plain text. Replies over 3,000 characters are split."
)
"""What models are told of it."""
FALLBACK_CHARS = 480
"""The limit on the fallback text. chat.update accepts at most 4,000 characters of text.

Escaping may turn each character into five, and an outcome follows. Only notifications show this
text: the message itself is in its blocks."""
MAX_URL_CHARS = 3000

Json = Mapping[str, object]

_BLANK = re.compile(r"[\s\u200b-\u200f\u2028-\u202e\u2060\u2800\ufeff\u180e]*")
_STYLES = {Mark.BOLD: "bold", Mark.ITALIC: "italic", Mark.STRIKE: "strike", Mark.CODE: "code"}


@dataclass(frozen=True, slots=True)
class SlackText:
    """One message: `text` for notifications, `elements` for its rich text block."""

    text: str
    elements: tuple[Json, ...]


def render_blocks(said: Iterable[messages.Block], limit_chars: int = MAX_TEXT_CHARS) -> tuple[SlackText, ...]:
    """Return the messages that show `said`, with its blocks one below the other.

    Raises ValueError if `limit_chars` < 1."""
    match blocks := tuple(said):
        case (messages.Markdown(text),):
            return _messages(lay_out(parse(text)), limit_chars)
        case (messages.Plain(text),):
            return render_plain(text, limit_chars)
        case _:
            return _messages(lay_out(read(blocks)), limit_chars)


def render_plain(text: str, limit_chars: int = MAX_TEXT_CHARS) -> tuple[SlackText, ...]:
    """Return the messages that show `text` as it is."""
    text = showable(text)
    paragraphs = tuple(match.end() for match in re.finditer(r"\n{2,}", text))
    return _messages(FlatText(text, block_starts=paragraphs), limit_chars)


def escaped(text: str) -> str:
    """Escape the characters that have a meaning in Slack's mrkdwn."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _messages(flat: FlatText, limit_chars: int) -> tuple[SlackText, ...]:
    if limit_chars < 1:
        raise ValueError(f"limit_chars={limit_chars}: nothing fits")
    chunks = split(flat, limit_chars, lambda chunk: len(chunk.text) <= limit_chars)
    return tuple(compose(chunk) for chunk in chunks if not _BLANK.fullmatch(chunk.text))


def compose(chunk: Chunk) -> SlackText:
    """Return the chunk as one message."""
    elements: list[Json] = []
    for kind, parts in groupby(parts_of(chunk), key=_kind):
        if kind == "code":
            elements += [_preformatted(part) for part in parts if isinstance(part, Code)]
        else:
            lines = [part for part in parts if isinstance(part, Line)]
            elements.append({"type": f"rich_text_{kind}", "elements": list(_inline(_filled(lines)))})
    return SlackText(escaped(chunk.text[:FALLBACK_CHARS]), tuple(e for e in elements if e["elements"]))


def _filled(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the lines without empty ones at the edges, because Slack adds space between elements itself."""
    filled = [at for at, line in enumerate(lines) if line.runs]
    return lines[filled[0] : filled[-1] + 1] if filled else ()


def _kind(part: Part) -> str:
    match part:
        case Code():
            return "code"
        case Line(_, quoted):
            return "quote" if quoted else "section"


def _preformatted(code: Code) -> Json:
    shown: dict[str, object] = {
        "type": "rich_text_preformatted",
        "elements": [{"type": "text", "text": code.text}] if code.text else [],
    }
    if code.language:
        shown["language"] = code.language
    return shown


def _inline(lines: Iterable[Line]) -> Iterator[Json]:
    """Yield the lines' runs, joining adjacent ones of the same style."""
    runs: list[Run] = []
    for number, line in enumerate(lines):
        runs += [Run("\n")] if number else []
        runs += line.runs
    for (marks, url, is_title), group in groupby(runs, key=_look):
        text = "".join(run.text for run in group)
        styled = {_STYLES[mark]: True for mark in marks} | ({"bold": True} if is_title else {})
        style = {"style": styled} if styled else {}
        if url is not None and len(url) <= MAX_URL_CHARS:
            yield {"type": "link", "url": url, "text": text, **style}
        else:
            yield {"type": "text", "text": text, **style}


def _look(run: Run) -> tuple[frozenset[Mark], str | None, bool]:
    return run.marks, run.url, run.level is not None


OUTCOME_CHARS = 300
MAX_BUTTON_CHARS = 75
"""Block Kit, button element: text."""
LINK_ACTION = "link"
"""The name of buttons that open a page. Slack reports their presses, too, which mean nothing."""
MAX_ACTIONS = 25
"""Block Kit, actions block: elements."""


class Upload(NamedTuple):
    """A file to send."""

    path: str
    name: str


def render(message: Message) -> tuple[Payload, ...]:
    """Return one payload per Slack message needed; see Channel.render.

    Replies need no quote, because they are in the thread. Raises ValueError for choices without a
    gate, or for too many choices."""
    texts = list(render_blocks(typed_here(message.blocks)))
    if message.outcome is not None and not texts:
        texts = [SlackText("", ())]
    payloads = [_payload(text) for text in texts]
    below = [line for line in (message.outcome, message.mark) if line is not None]
    if below and payloads:
        payloads[-1] = _with_outcome(texts[-1], "\n".join(below))
    elif (message.choices or message.link is not None) and payloads:
        payloads[-1] = _with_choices(texts[-1], message)
    files = [_upload(file) for file in message.files]
    is_card = message.gate_id is not None or message.outcome is not None
    return tuple([*files, *payloads] if is_card else [*payloads, *files])  # on a card, the last part changes


def _upload(file: File) -> dict[str, object]:
    return {FILE: Upload(file.path, file.name)}


def _payload(text: SlackText, *more: dict[str, object]) -> dict[str, object]:
    blocks: list[dict[str, object]] = []
    if text.elements:
        blocks.append({"type": "rich_text", "elements": list(text.elements)})
    return {"text": text.text or "…", "blocks": [*blocks, *more]}


def _with_outcome(text: SlackText, outcome: str) -> dict[str, object]:
    lines = render_plain(outcome, OUTCOME_CHARS)
    line = outcome[:OUTCOME_CHARS] if lines else "…"
    shown: dict[str, object] = {
        "type": "context",
        "elements": [{"type": "plain_text", "text": line, "emoji": False}],
    }
    payload = _payload(text, shown)
    payload["text"] = f"{text.text}\n\n{escaped(line)}".strip()
    return payload


def _with_choices(text: SlackText, message: Message) -> dict[str, object]:
    gate_id, choices = message.gate_id, message.choices
    if gate_id is None and choices:
        raise ValueError("choices need a gate to answer")
    opens = [] if message.link is None else [_link(message.link)]
    if len(opens) + len(choices) > MAX_ACTIONS:
        raise ValueError(f"{len(choices)} choices: Slack shows at most {MAX_ACTIONS}")
    buttons: list[object] = [
        *opens,
        *(
            {
                "type": "button",
                "action_id": f"choice-{index}",
                "value": f"p:{gate_id}:{index}",
                "text": {"type": "plain_text", "text": _label(choice.label), "emoji": False},
            }
            for index, choice in enumerate(choices, message.first_choice)
        ),
    ]
    if message.editable and len(buttons) < MAX_ACTIONS:
        buttons.append(
            {
                "type": "button",
                "action_id": "edit",
                "value": f"p:{gate_id}:e",
                "text": {"type": "plain_text", "text": EDIT_LABEL, "emoji": False},
            }
        )
    return _payload(text, {"type": "actions", "elements": buttons})


def _link(link: LinkButton) -> object:
    return {
        "type": "button",
        "action_id": LINK_ACTION,
        "url": link.url,
        "text": {"type": "plain_text", "text": _label(link.label), "emoji": False},
        "style": "primary",
    }


def _label(label: str) -> str:
    return label if len(label) <= MAX_BUTTON_CHARS else f"{label[: MAX_BUTTON_CHARS - 1]}…"


# Messages that grow while they are written
# (https://docs.slack.dev/reference/methods/chat.startStream).
#
# A stream belongs to a thread. Slack parses the Markdown itself; it cannot be retracted, and other
# blocks cannot replace it. Its content is therefore provisional: at the end, the message is stopped
# and updated with the rendered content. A stream has no metadata before it is stopped. Slack closes
# it by itself after some minutes; from then on the message is updated like any other.
#
# If Slack refuses streams, it is not asked again: previews are then posted and updated.

logger = logging.getLogger(__name__)

MAX_OPEN: Final = 1_000
RECIPIENTS_KEPT: Final = 1_000

_NEVER = frozenset(
    {
        "access_denied",
        "feature_not_enabled",
        "missing_scope",
        "no_permission",
        "not_allowed",
        "not_allowed_token_type",
        "unknown_method",
    }
)
"""Errors that mean that this workspace or app has no streams."""
_NOT_IN_SUCH = frozenset({"channel_type_not_supported"})
"""Errors that mean that this kind of conversation has no streams."""

_MEANING = re.compile(r"https?://[^\s<]*|([<@])", re.IGNORECASE)
_APART = "\u2060"


class Streams:
    """The live messages of one bot. Every method raises only ChannelError.

    `team_id`: the workspace of the people who receive streams in channels."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client
        self._open: OrderedDict[ParsedRef, tuple[str, str]] = OrderedDict()  # the text of each, and its nonce
        self._recipients: OrderedDict[Address, str] = OrderedDict()
        self._refused: set[bool] = set()  # for private conversations (True), for channels (False)
        self.team_id = ""

    def heard(self, message: InboundMessage) -> None:
        """Record who spoke, because a stream in a channel's thread is addressed to its last speaker."""
        if message.direct:
            return
        self._recipients[message.address] = message.sender.platform_user_id
        self._recipients.move_to_end(message.address)
        if len(self._recipients) > RECIPIENTS_KEPT:
            self._recipients.popitem(last=False)

    async def begin(self, target: ParsedAddress, said: Message, nonce: str) -> Sent | None:
        """Start a stream, or return None if streams are not available."""
        direct = target.channel.startswith("D")
        text = _markdown(said)
        if target.thread_ts is None or text is None or direct in self._refused:
            return None
        recipient = self._recipients.get(address_of(target.channel, target.thread_ts))
        if recipient is None and not direct:
            return None
        whom = {} if direct else {"recipient_team_id": self.team_id, "recipient_user_id": recipient}
        try:
            answer = await self._client.call(
                "chat.startStream",
                declines=_NEVER | _NOT_IN_SUCH,
                channel=target.channel,
                thread_ts=target.thread_ts,
                markdown_text=text,
                **whom,
            )
        except Declined as error:
            self._refused |= {direct} if error.code in _NOT_IN_SUCH else {True, False}
            logger.info("slack.streams_unavailable error=%s", error)
            return None
        except MessageRejected as error:
            logger.info("slack.stream_refused conversation=%s error=%s", target.channel, error)
            return None
        sent = self._client.read(lambda: Sent(str(answer["channel"]), str(answer["ts"])))
        self._open[ParsedRef(sent.channel, sent.ts)] = (text, nonce)
        if len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)
        return sent

    async def grow(self, spot: ParsedRef, said: Message) -> bool:
        """Append the new text. Returns False if the stream is unknown or closed, or if the old text has
        changed."""
        text = _markdown(said)
        shown, nonce = self._open.get(spot, (None, ""))
        if shown is None or text is None or not text.startswith(shown):
            return False
        if text == shown:
            return True
        try:
            await self._client.call(
                "chat.appendStream", channel=spot.channel, ts=spot.ts, markdown_text=text[len(shown) :]
            )
        except (MessageRejected, Unanswered) as error:
            # Slack has closed it, or its text is unknown: next time it is stopped and updated.
            logger.info("slack.stream_closed message=%s error=%s", spot, error)
            self._open[spot] = ("\0", nonce)
            return False
        self._open[spot] = (text, nonce)
        return True

    def is_open(self, spot: ParsedRef) -> bool:
        """Return whether the message is known to grow. One from an earlier process may grow, too."""
        return spot in self._open

    async def end(self, spot: ParsedRef) -> None:
        """Stop a stream. If Slack refuses, it no longer counts as one."""
        _, nonce = self._open.get(spot, ("", ""))
        mark = {"metadata": marked(nonce)} if nonce else {}
        try:
            await self._client.call("chat.stopStream", channel=spot.channel, ts=spot.ts, **mark)
        except MessageRejected as error:
            logger.info("slack.stream_closed message=%s error=%s", spot, error)
        self._open.pop(spot, None)


def _markdown(said: Message) -> str | None:
    match said.blocks:
        case (Markdown(text),):
            return _MEANING.sub(lambda sign: f"{sign[1]}{_APART}" if sign[1] else sign[0], text)
        case _:
            return None
