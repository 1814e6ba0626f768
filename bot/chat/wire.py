"""What the API says of a conversation, as the values a terminal shows."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from pydantic import TypeAdapter

from bot.chat.talk import Author, Card, CardChoice, Event, Said, Settled, Stepped, StepState
from bot.web import blocks as pages
from bot.web.approvals import ApprovalPage
from bot.web.items import (
    AssistantItem,
    CallItem,
    Item,
    NoticeItem,
    OperatorItem,
    OutcomeItem,
    PromptItem,
    ResultItem,
    SummaryItem,
    UserItem,
)
from channels import blocks
from channels.blocks import Mark, showable
from core.consent import card_texts
from core.prompts import Option

ITEM: TypeAdapter[Item] = TypeAdapter(Item)
_DETAIL_NAMES = ("command", "path", "url", "query", "text")
"""Arguments that say best what a call does, in this order."""


def said_in(item: Item, calls: Mapping[str, CallItem], *, past: bool) -> Event | None:
    """What an item is on a screen; None for what is shown otherwise. `calls`: those met so far, by id."""
    match item:
        case UserItem():
            names = tuple(file.name for file in item.attachments)
            return Said(Author.PERSON, plain(item.text), item.sender.name, names, past)
        case AssistantItem() if item.text.strip():
            return Said(Author.ASSISTANT, blocks_in(item.blocks), past=past)
        case OperatorItem():
            return Said(Author.OPERATOR, blocks_in(item.blocks), item.by, past=past)
        case NoticeItem():
            names = tuple(file.name for file in item.files)
            return Said(Author.HUB, blocks_in(item.blocks), files=names, past=past)
        case ResultItem() if not past:
            call = calls.get(item.call_id)
            tool, detail = ("a tool", "") if call is None else (call.tool, detail_of(call.arguments))
            return Stepped(item.call_id, tool, StepState.ENDED, detail, item.status)
        case OutcomeItem():
            return Settled(item.prompt_id, item.text)
        case AssistantItem() | ResultItem() | CallItem() | SummaryItem() | PromptItem():
            return None
        case _:
            assert_never(item)


def detail_of(arguments: Mapping[str, Any]) -> str:
    """A call's arguments in one line: the one that says most, or all."""
    for name in _DETAIL_NAMES:
        if isinstance(value := arguments.get(name), str):
            return value
    return json.dumps(dict(arguments), ensure_ascii=False) if arguments else ""


def card_in(approval: ApprovalPage) -> Card:
    """A prompt as a card."""
    parts: list[blocks.Block] = [*plain(approval.title)]
    if approval.calls:
        for number, call in enumerate(approval.calls, start=1):
            parts += plain(card_texts.joint_heading(number, call.tool, call.reason))
            parts.append(blocks.CodeBlock(showable("\n".join(call.lines))))
    elif approval.details:
        parts.append(blocks.CodeBlock(showable("\n".join(approval.details))))
    if approval.always:
        parts += plain(approval.always)
    if approval.votes:
        agreed = f"{len(approval.votes)} of {approval.quorum} agreed: {', '.join(approval.votes)}"
        parts += plain(agreed)
    mine = approval.may_decide
    if mine and any(choice.option == Option.APPROVE for choice in approval.choices):
        parts += plain(f"/approve {approval.prompt_id}, /deny {approval.prompt_id}")
    return Card(
        prompt_id=approval.prompt_id,
        blocks=tuple(parts),
        choices=tuple(CardChoice(choice.label, choice.option) for choice in approval.choices if mine),
        arguments=approval.arguments if mine and approval.editable else None,
        free_text=mine and approval.free_text,
        secret=mine and approval.secret,
        first_choice=approval.choices[0].index if approval.choices else 0,
    )


def plain(text: str) -> tuple[blocks.Block, ...]:
    """Text as it is."""
    return (blocks.Paragraph(blocks.Text(showable(text))),)


def blocks_in(given: Sequence[pages.Block]) -> tuple[blocks.Block, ...]:
    """Blocks as they were before they became JSON, but that styles are told for each run of text."""
    return tuple(map(_block, given))


def _block(page: pages.Block) -> blocks.Block:
    match page:
        case pages.Paragraph(spans=spans):
            return blocks.Paragraph(_text(spans))
        case pages.Heading(level=level, spans=spans):
            return blocks.Heading(level, _text(spans))
        case pages.Code(text=text, language=language):
            return blocks.CodeBlock(showable(text), language)
        case pages.Quote(blocks=children):
            return blocks.Quote(blocks_in(children))
        case pages.List(items=items, start=start, tight=tight):
            return blocks.List(tuple(map(blocks_in, items)), start, tight)
        case pages.Table(alignments=alignments, header=header, rows=rows):
            cells = tuple(tuple(map(_text, row)) for row in rows)
            return blocks.Table(alignments, tuple(map(_text, header)), cells)
        case pages.Rule():
            return blocks.Rule()
        case _:
            assert_never(page)


def _text(runs: Sequence[pages.Span]) -> blocks.Text:
    """Runs that lead to the same address are one link."""
    texts = [showable(run.text) for run in runs]
    spans: list[blocks.Span] = []
    start = 0
    for place, run in enumerate(runs):
        end = start + len(texts[place])
        if run.link is not None and (place == 0 or runs[place - 1].link != run.link):
            spans.append(blocks.Span(start, _end_of_link(runs, texts, place, start), blocks.Link(run.link)))
        spans += [blocks.Span(start, end, Mark(style)) for style in run.styles]
        start = end
    return blocks.Text("".join(texts), tuple(spans))


def _end_of_link(runs: Sequence[pages.Span], texts: Sequence[str], place: int, start: int) -> int:
    end = start
    for run, text in zip(runs[place:], texts[place:], strict=True):
        if run.link != runs[place].link:
            break
        end += len(text)
    return end
