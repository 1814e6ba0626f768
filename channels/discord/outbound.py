"""The hub's messages as bodies of Create Message and Edit Message. Pure and deterministic."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

from channels.channel import FILE, Payload
from channels.discord.addresses import parse_ref
from channels.text.blocks import Link, Mark, showable
from channels.text.chunking import Chunk, Code, Line, Part, Run, parts_of, split
from channels.text.layout import FlatSpan, FlatText, lay_out
from channels.text.markdown import parse, read
from core import messages
from core.messages import File, Message, MessageRef
from core.texts import EDIT_LABEL

# The hub's messages, as Markdown for Discord's clients (documentation, Message Formatting). The
# text is escaped so that only intended styles show and nothing can mention anyone.
#
# Every message is within `limit_units` UTF-16 code units, which is never less than the characters
# that Discord counts. Blank input gives no message. No text raises an error.

MAX_TEXT_UNITS = 2000
"""Create Message: "Message contents (up to 2000 characters)"."""
RENDERING_HINT = (
    "Markdown is shown there: bold, italic, strikethrough, links, headings, lists, quotes and code blocks; "
    "tables become monospaced text, and mentions plain text. Replies over 2,000 characters are split."
)
"""What models are told of it."""

_AROUND_URL_UNITS = 32
"""More than the markup of a link, of all its styles and of its line, plus one escaped character."""

JOINER = "\u2060"
"""A word joiner: invisible, and separates characters that Discord would read together."""

_BLANK = re.compile(r"[\s\u200b-\u200f\u2028-\u202e\u2060\u2800\ufeff\u180e]*")
_BARE_URL = re.compile(r"https?://[^\s<]+", re.IGNORECASE)
_BEHIND_URL = ".,:;\"'])*_~|>"
"""The characters that Discord does not include at the end of a URL."""
_MARKERS = re.compile(r"[*`\\]|~~")
_MEANING = re.compile(r"[\\`*_~|<\[]")
_MEANING_IN_LABEL = re.compile(r"[\\`*_~|<\[\]]")
_LINE_START = re.compile(r"(\s*)(>|#{1,3}(?=\s)|-(?=[#\s])|\+(?=\s)|\d+(?=[.)]\s))")
_MENTION = re.compile(r"@(?=everyone|here)", re.IGNORECASE)
_WRAPPERS = ((Mark.STRIKE, "~~"), (Mark.BOLD, "**"), (Mark.ITALIC, "*"))


def render_blocks(said: Iterable[messages.Block], limit_units: int = MAX_TEXT_UNITS) -> tuple[str, ...]:
    """Return the messages that show `said`, with its blocks one below the other.

    Raises ValueError if `limit_units` < 64."""
    match blocks := tuple(said):
        case (messages.Markdown(text),):
            return _messages(lay_out(parse(text)), limit_units)
        case (messages.Plain(text),):
            return render_plain(text, limit_units)
        case _:
            return _messages(lay_out(read(blocks)), limit_units)


def render_plain(text: str, limit_units: int = MAX_TEXT_UNITS) -> tuple[str, ...]:
    """Return the messages that show `text` as it is."""
    text = showable(text)
    paragraphs = tuple(match.end() for match in re.finditer(r"\n{2,}", text))
    return _messages(FlatText(text, block_starts=paragraphs), limit_units)


def utf16_units(text: str) -> int:
    """Return the length of `text` in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _messages(flat: FlatText, limit_units: int) -> tuple[str, ...]:
    if limit_units < 64:
        raise ValueError(f"limit_units={limit_units}: a code block with its language would not fit")
    flat = _without_endless_links(flat, limit_units)
    chunks = split(flat, limit_units, lambda chunk: utf16_units(compose(chunk)) <= limit_units)
    return tuple(text for text in map(compose, chunks) if not _BLANK.fullmatch(text))


def _without_endless_links(flat: FlatText, limit_units: int) -> FlatText:
    """Remove links whose URL leaves no room for their text in a message."""
    room_units = limit_units - _AROUND_URL_UNITS

    def fits(span: FlatSpan) -> bool:
        return not isinstance(span.style, Link) or utf16_units(span.style.url) <= room_units

    if all(fits(span) for span in flat.spans):
        return flat
    return replace(flat, spans=tuple(span for span in flat.spans if fits(span)))


def compose(chunk: Chunk) -> str:
    """Return the chunk as one message's content."""
    return "\n".join(_written(part) for part in parts_of(chunk))


def _written(part: Part) -> str:
    match part:
        case Code(text, language):
            return _code_block(text, language)
        case Line(runs, quoted):
            line = _line(runs)
            return f"> {line}" if quoted else line


def _code_block(text: str, language: str) -> str:
    # Three backticks would end it. A language is kept only if Discord accepts it as one word.
    inside = text.replace("```", f"``{JOINER}`")
    if inside.endswith("`") or not inside.strip("\n"):
        inside += JOINER
    word = language if re.fullmatch(r"[A-Za-z0-9_+.#-]{1,32}", language) else ""
    return f"```{word}\n{inside}\n```"


def _line(runs: tuple[Run, ...]) -> str:
    level = next((run.level for run in runs if run.text.strip()), None)
    if level is None:  # after a list's bullet, Discord does not read a title
        runs = tuple(replace(run, marks=run.marks | _strong(run)) for run in runs)
    body = "".join(_joined(runs))
    if level is None:
        return _no_block(body)
    # Number signs at its end would be read as the title's markup. After whitespace other than a space,
    # Discord reads no title.
    body = re.sub(r"(?<=\s)#+$", lambda signs: "\\#" * len(signs.group()), body.rstrip())
    return f"{'#' * min(level, 3)} {body}"


def _no_block(line: str) -> str:
    """Escape a line so that it does not begin a quotation, title or list."""
    match = _LINE_START.match(line)
    if match is None:
        return line
    # "1." begins a numbered list: there the dot is escaped, elsewhere the character itself.
    at = match.end() if match[2][0].isdigit() else match.start(2)
    return f"{line[:at]}\\{line[at:]}"


def _strong(run: Run) -> frozenset[Mark]:
    return frozenset() if run.level is None else frozenset({Mark.BOLD})


def _joined(runs: tuple[Run, ...]) -> Iterator[str]:
    before = ""
    for run, after in zip_longest(runs, runs[1:]):
        written = _run(run, is_followed=after is not None and not after.text[:1].isspace())
        # Adjacent markers would be read together: `**a****b**`.
        if before[-1:] in tuple("*~`)_") and written[:1] in tuple("*~`[_"):
            yield JOINER
        yield written
        before = written


def _run(run: Run, *, is_followed: bool) -> str:
    text = run.text.strip()
    if not text:
        return run.text
    lead = run.text[: len(run.text) - len(run.text.lstrip())]
    tail = run.text[len(run.text.rstrip()) :]
    if run.url is not None and _is_linkable(run.url):
        body = _link(text, run.url, run.marks)
    elif Mark.CODE in run.marks:  # code takes no other styles: its content could end a style around it
        body = _inline_code(text)
    else:
        body = _styled(_escaped(text, is_followed=is_followed and not tail and not run.marks), run.marks)
    return f"{lead}{body}{tail}"


def _styled(body: str, marks: frozenset[Mark]) -> str:
    for mark, marker in reversed(_WRAPPERS):
        if mark in marks:
            body = f"{marker}{body}{marker}"
    return body


def _link(text: str, url: str, marks: frozenset[Mark]) -> str:
    if text == url:
        return f"<{url}>" if _MARKERS.search(url) else _styled(f"<{url}>", marks)
    label = _MENTION.sub(f"@{JOINER}", _MEANING_IN_LABEL.sub(r"\\\g<0>", text)).replace("://", "\\://")
    return f"[{_styled(label, marks)}](<{url}>)"


def _inline_code(text: str) -> str:
    if "`" not in text:
        return f"`{text}`"
    parted = text.replace("``", f"`{JOINER}`").replace("``", f"`{JOINER}`")
    return f"`` {parted} ``"


def _is_linkable(url: str) -> bool:
    """Return whether Discord can open the URL: http or https, without spaces or brackets, which end it."""
    return bool(re.fullmatch(r"https?://[^\s<>]+", url, re.IGNORECASE))


def _escaped(text: str, *, is_followed: bool) -> str:
    """Escape a text. `is_followed`: other text directly follows it."""
    parts: list[str] = []
    done = 0
    for match in _BARE_URL.finditer(text):
        done, before = match.end(), text[done : match.start()]
        touched = not text[done].isspace() if done < len(text) else is_followed
        parts += (_escaped_words(before), _bare_url(match.group(), is_followed=touched))
    parts.append(_escaped_words(text[done:]))
    return "".join(parts)


def _bare_url(text: str, *, is_followed: bool) -> str:
    """Return a URL in running text, which Discord turns into a link.

    A backslash in it would be visible, and directly following text would become part of it."""
    url = text.rstrip(_BEHIND_URL)
    rest = text[len(url) :]
    if ">" in url or _MARKERS.search(url) or not _is_linkable(url):
        return _escaped_words(text).replace("://", "\\://")
    is_open = is_followed or ">" in rest or _MEANING.search(rest)
    return f"<{url}>{_escaped_words(rest)}" if is_open else text


def _escaped_words(text: str) -> str:
    return _MENTION.sub(f"@{JOINER}", _MEANING.sub(r"\\\g<0>", text))


OUTCOME_UNITS = 300
"""The space reserved on every part of a card, so that its outcome never moves text to another part."""

MAX_BUTTON_CHARS = 80
"""Component reference, button: label."""
BUTTONS_PER_ROW, MAX_ROWS = 5, 5
"""Component reference: an action row holds up to five buttons, a message up to five rows."""

SUPPRESS_EMBEDS = 1 << 2
EPHEMERAL = 1 << 6
"""Message flags: links are not expanded; only one person sees the message."""

REFERENCE = "message_reference"
"""The key of the message that a part replies to."""

_ACTION_ROW, _BUTTON, _SECONDARY, _LINK = 1, 2, 2, 5
MAX_LINK_CHARS = 512
"""The longest address of a button that opens a page."""
_GAP = "\n\n"
_NOBODY: dict[str, object] = {"parse": [], "replied_user": False}


class Upload(NamedTuple):
    """A file to send."""

    path: str
    name: str


def render(message: Message) -> tuple[Payload, ...]:
    """Return one body per Discord message needed; see Channel.render.

    Raises ValueError for choices without a gate, or for too many choices."""
    is_card = message.gate_id is not None or message.outcome is not None
    limit = MAX_TEXT_UNITS - OUTCOME_UNITS if is_card else MAX_TEXT_UNITS
    texts = list(render_blocks(message.blocks, limit))
    if message.link is not None and len(message.link.url) > MAX_LINK_CHARS and message.outcome is None:
        texts.append(f"[{message.link.label}](<{message.link.url}>)")  # too long for a button
    if message.outcome is not None:
        texts[-1:] = [_with_outcome(texts[-1] if texts else "", message.outcome)]
    if message.mark is not None and texts:
        texts[-1] = _with_mark(texts[-1], message.mark)
    payloads = [_body(text) for text in texts]
    buttons = message.choices or message.link is not None
    if buttons and message.outcome is None and message.mark is None and payloads:
        payloads[-1]["components"] = _rows(message)
    files: list[dict[str, object]] = [_upload(file) for file in message.files]
    parts = [*files, *payloads] if is_card else [*payloads, *files]  # on a card, the last part changes
    if message.reply_to is not None and parts:
        parts[0][REFERENCE] = _reference(message.reply_to)
    return tuple(parts)


def aside(text: str) -> dict[str, object]:
    """Return an answer to an interaction that only its person sees."""
    shown = render_plain(text)
    return {"content": shown[0] if shown else "…", "flags": EPHEMERAL, "allowed_mentions": _NOBODY}


def _body(text: str) -> dict[str, object]:
    return {"content": text, "components": [], "flags": SUPPRESS_EMBEDS, "allowed_mentions": _NOBODY}


def _upload(file: File) -> dict[str, object]:
    return {FILE: Upload(file.path, file.name), "allowed_mentions": _NOBODY}


def _reference(ref: MessageRef) -> dict[str, object]:
    # A message that has since been deleted is still answered.
    return {"message_id": parse_ref(ref).message, "fail_if_not_exists": False}


def _with_outcome(text: str, outcome: str) -> str:
    lines = render_plain(outcome, OUTCOME_UNITS - len(_GAP) - 1)
    if not lines:
        return text or "…"
    line = lines[0] if len(lines) == 1 else f"{lines[0]}…"
    return f"{text}{_GAP}{line}" if text else line


def _with_mark(text: str, mark: str) -> str:
    """Put a small line above. What has no room below it is left out; code that is left open ends there."""
    marked = f"-# {render_plain(mark)[0]}\n{text}".encode("utf-16-le")
    return marked[: 2 * MAX_TEXT_UNITS].decode("utf-16-le", "ignore")


def _rows(message: Message) -> list[dict[str, object]]:
    gate_id, choices, link = message.gate_id, message.choices, message.link
    if gate_id is None and choices:
        raise ValueError("choices need a gate to answer")
    if len(choices) > BUTTONS_PER_ROW * MAX_ROWS:
        raise ValueError(f"{len(choices)} choices: Discord shows at most {BUTTONS_PER_ROW * MAX_ROWS}")
    buttons: list[dict[str, object]] = [
        {
            "type": _BUTTON,
            "style": _SECONDARY,
            "label": _label(choice.label),
            "custom_id": f"p:{gate_id}:{index}",
        }
        for index, choice in enumerate(choices, message.first_choice)
    ]
    if link is not None and len(link.url) <= MAX_LINK_CHARS:
        buttons.insert(0, {"type": _BUTTON, "style": _LINK, "label": _label(link.label), "url": link.url})
    if message.editable and len(buttons) < BUTTONS_PER_ROW * MAX_ROWS:
        edit = f"p:{gate_id}:e"
        buttons.append(
            {"type": _BUTTON, "style": _SECONDARY, "label": EDIT_LABEL, "custom_id": edit},
        )
    starts = range(0, len(buttons), BUTTONS_PER_ROW)
    return [{"type": _ACTION_ROW, "components": buttons[at : at + BUTTONS_PER_ROW]} for at in starts]


def _label(label: str) -> str:
    return label if len(label) <= MAX_BUTTON_CHARS else f"{label[: MAX_BUTTON_CHARS - 1]}…"
