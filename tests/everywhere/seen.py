"""One message as a person sees it, read from what the platform has: no code of the product reads here."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.simulators.discord import markdown
from tests.simulators.discord.world import Message as DiscordMessage
from tests.simulators.slack.visible import Seen as SlackSeen
from tests.simulators.telegram.world import Message as TelegramMessage

Json = dict[str, Any]
PERSON, BOT = "person", "bot"


@dataclass(frozen=True, slots=True)
class Seen:
    """One message. `size`: its length in the platform's own measure; `code`: its blocks of code with their
    languages, `links`: text and target, `buttons`: label and value, `pings`: whatever may notify somebody;
    `aside`: shown to this person alone, beside the conversation; `raw`: as the platform keeps it, to draw
    it."""

    by: Literal["person", "bot"]
    text: str
    size: int
    code: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    buttons: tuple[tuple[str, str], ...] = ()
    pings: tuple[str, ...] = ()
    aside: bool = False
    raw: Json = field(default_factory=dict)


def in_telegram(message: TelegramMessage) -> Seen:
    """Entities applied to UTF-16 code units, as Telegram's clients do."""
    content = message.content
    text = message.text
    units = text.encode("utf-16-le")
    entities: list[Json] = content.get("entities", [])

    def covered(entity: Json) -> str:
        start, length = entity["offset"], entity["length"]
        return units[start * 2 : (start + length) * 2].decode("utf-16-le")

    def linked() -> Iterator[tuple[str, str]]:
        for entity in entities:
            if entity["type"] == "text_link":
                yield covered(entity), entity["url"]
            elif entity["type"] == "url":
                yield covered(entity), covered(entity)

    rows = (message.keyboard or {}).get("inline_keyboard", [])
    pinging = [one for one in entities if one["type"] in {"mention", "text_mention"}]
    return Seen(
        by=BOT if message.sender is not None and message.sender.is_bot else PERSON,
        text=text,
        size=len(units) // 2,
        code=tuple((one.get("language", ""), covered(one)) for one in entities if one["type"] == "pre"),
        links=tuple(linked()),
        buttons=tuple((button["text"], button["callback_data"]) for row in rows for button in row),
        pings=tuple(covered(one) for one in pinging)
        + tuple(target for _, target in linked() if target.startswith("tg:")),
        raw={"text": text, "entities": entities, "buttons": rows},
    )


def in_slack(
    body: Json, seen: SlackSeen, pings: list[str], *, by_app: bool = True, aside: bool = False
) -> Seen:
    """Blocks where there are any, else mrkdwn."""
    return Seen(
        by=BOT if by_app else PERSON,
        text=seen.text,
        size=len(seen.text),
        code=tuple(seen.code),
        links=tuple((text, url) for url, text in seen.links),
        buttons=tuple(seen.buttons),
        pings=tuple(pings),
        aside=aside,
        raw={"text": seen.text, "blocks": body.get("blocks", [])},
    )


def in_discord(message: DiscordMessage) -> Seen:
    """The content's Markdown as Discord's clients read it."""
    runs = markdown.read(message.content, message.channel.shown_name)
    notified = message.pings
    pings = [*map(str, notified["users"]), *map(str, notified["roles"])]
    pings += ["everyone"] if notified["everyone"] else []
    pings += [f"{kind} {number}" for kind, number in markdown.mentions(message.content)]
    return Seen(
        by=BOT if message.author.is_bot else PERSON,
        text="".join(run.text for run in runs),
        size=len(message.content),
        code=tuple((run.language or "", run.text) for run in runs if "fence" in run.styles),
        links=tuple(markdown.links(message.content)),
        buttons=tuple((button["label"], button["custom_id"]) for button in message.buttons()),
        pings=tuple(pings),
        aside=message.ephemeral_for is not None,
        raw={
            "runs": [
                {"text": run.text, "styles": sorted(run.styles), "link": run.link, "language": run.language}
                for run in runs
            ],
            "buttons": [button["label"] for button in message.buttons()],
        },
    )


def in_console(item: Json, card: Json | None) -> Seen:
    """A line of a thread, from the blocks that the browser builds it of. `card`: the open approval shown
    with it."""
    blocks: list[Json] = item.get("blocks", [])
    texts = [text_of(block) for block in blocks] or [item.get("text") or ""]
    if item["kind"] == "gate":
        outcome = item["outcome"] or ""
        texts = [item["title"], *item["lines"], *([outcome] if outcome else [])]
    text = "\n".join(texts)
    return Seen(
        by=PERSON if item["kind"] == "user" else BOT,
        text=text,
        size=len(text),
        code=tuple((one["language"], one["text"]) for one in _all(blocks) if one["type"] == "code"),
        links=tuple((span["text"], span["link"]) for span in _spans(blocks) if span["link"] is not None),
        buttons=tuple((one["label"], one["option"]) for one in card["choices"]) if card else _menu(item),
        raw=item,
    )


def _menu(item: Json) -> tuple[tuple[str, str], ...]:
    menu: Json | None = item.get("menu")
    if menu is None:
        return ()
    labels = enumerate(menu["labels"], menu["first"])
    return tuple((label, f"{menu['menu_id']} {at}") for at, label in labels)


def text_of(block: Json) -> str:
    """A block's words, line by line."""
    match block["type"]:
        case "paragraph" | "heading":
            return "".join(span["text"] for span in block["spans"])
        case "code":
            return str(block["text"])
        case "table":
            rows = [block["header"], *block["rows"]]
            return "\n".join("\t".join("".join(s["text"] for s in cell) for cell in row) for row in rows)
        case "list":
            return "\n".join(text_of(one) for item in block["items"] for one in item)
        case "quote":
            return "\n".join(text_of(one) for one in block["blocks"])
        case _:
            return ""


def _all(blocks: list[Json]) -> Iterator[Json]:
    for block in blocks:
        yield block
        inner = [one for item in block["items"] for one in item] if block["type"] == "list" else []
        yield from _all(inner + (block["blocks"] if block["type"] == "quote" else []))


def _spans(blocks: list[Json]) -> Iterator[Json]:
    for block in _all(blocks):
        yield from block.get("spans", ())
        for row in [block["header"], *block["rows"]] if block["type"] == "table" else []:
            for cell in row:
                yield from cell
