"""Every platform at once, with one hub: what a person sees at each, by facts written out by hand."""

import asyncio
import unicodedata
from pathlib import Path

from core.messages import File, Message, plain
from core.people.notices import ToPerson
from tests.everywhere.conversation import CODE, CODE_CHARS, Held, converse, rehearse
from tests.everywhere.hub import OWNER, PLATFORMS, HubEverywhere, open_hub_everywhere
from tests.everywhere.seen import Seen

JOINER = "\u2060"
"""Not seen; keeps apart what a platform would read as one."""

INTRODUCTION = """\
Release 2.4 · 正式版

All tests passed; see the log and make test.
@everyone <!channel> <@U0OLIVIA> <@100000000000000007> Olivia

step  |   耗时 | ok
------+--------+---
build |   42 s | ⚡
测试  | 1234 s | ☔

1. deploy
    • to staging first
        • then wait
    • then never to production
2. tell everybody 😀 👩‍👩‍👧

quoted words
"""
IN_BLOCKS = {edge: edge.replace("\n\n", "\n") for edge in ("Olivia\n\nstep", "☔\n\n1.", "👩‍👩‍👧\n\nquoted")}
"""Slack puts room around code and quotations itself, so no empty line stands there."""
CARD = """\
Run `echo {name} >> built`?
There is no grant for this call of shell.

command: echo {name} >> built
timeout_s: 30"""
MOST = {"telegram": 4096, "slack": 3000, "discord": 2000}
"""UTF-16 units, characters of a message's blocks, characters."""
REPORT_PARTS = {"telegram": 2, "slack": 3, "discord": 4, "web": 1}
MARKERS = ("**", "~~", "](", "# Release", "|:--", "````")


def visible(seen: Seen) -> str:
    return seen.text.replace(JOINER, "")


def gap(name: str) -> str:
    """Return what is between two blocks: on Slack and in the console, elements of their own."""
    return "\n\n" if name in {"telegram", "discord"} else "\n"


def columns(line: str) -> list[int]:
    """Return where a table's column borders are, in cells of a terminal or a monospaced font."""
    wide = [2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line]
    return [sum(wide[:at]) for at, char in enumerate(line) if char in "|+"]


async def all_converse(town: HubEverywhere) -> dict[str, Held]:
    rehearse(town)
    async with asyncio.TaskGroup() as talks:
        held = {name: talks.create_task(converse(town, name)) for name in town.people}
    return {name: task.result() for name, task in held.items()}


async def test_one_conversation_everywhere_at_once(tmp_path: Path) -> None:
    async with open_hub_everywhere(tmp_path) as town:
        held = await all_converse(town)
    assert sorted(held) == ["discord", "slack", "telegram", "web"]
    for name, conversation in held.items():
        _nobody_is_pinged_and_nothing_is_doubled(name, conversation)
        _the_report(name, conversation.said[1 : 1 + REPORT_PARTS[name]])
        _the_card(name, conversation)
        _the_notice(conversation.said[-1])
    built = (tmp_path / "workspace" / "built").read_text().split()
    assert sorted(built) == sorted(held), "each call ran once"


def _nobody_is_pinged_and_nothing_is_doubled(name: str, held: Held) -> None:
    said = [visible(one) for one in held.said]
    report = said[1 : 1 + REPORT_PARTS[name]]
    beginnings = [one.splitlines()[0] for one in said]
    assert beginnings[0] == "You said: hello"
    assert beginnings[1 + len(report) :] == [
        _headline(name),
        "Built.",
        "Stopped.",
        "Reminder: the build is green, see run 42.",
    ]
    assert [ping for one in held.transcript for ping in one.pings] == []
    for one in held.said:
        assert one.size <= MOST.get(name, one.size)
        assert not any(target.startswith("tg:") for _, target in one.links)


def _the_report(name: str, parts: list[Seen]) -> None:
    assert "too late" not in "".join(part.text for part in parts)
    whole = "\n".join(visible(part) for part in parts)
    assert whole.endswith(f"# {'=' * 22}{gap(name)}After the code.")
    assert [link for part in parts for link in part.links] == [
        ("the log", "https://ci.example.com/run/42?a=1&b=2")
    ]
    blocks = [(language, text.replace(JOINER, "")) for part in parts for language, text in part.code]
    code = [text for language, text in blocks if language == "python"]
    assert len(code) == len(parts), "each part goes on in the language's own block"
    # Between two parts stands an empty line, which no platform would show.
    assert "\n\n".join(code) == CODE
    assert len(CODE) == CODE_CHARS
    before_code = whole.partition("def step_01")[0]
    assert not any(marker in before_code for marker in MARKERS)
    if name == "web":
        _the_console_has_all_blocks(parts[0])
        return
    introduction = INTRODUCTION
    for edge, in_blocks in IN_BLOCKS.items() if name == "slack" else ():
        introduction = introduction.replace(edge, in_blocks)
    assert whole.startswith(introduction)
    (table,) = [text for _, text in blocks if "耗时" in text]
    assert len({tuple(columns(line)) for line in table.splitlines()}) == 1


def _the_console_has_all_blocks(report: Seen) -> None:
    blocks = report.raw["blocks"]
    assert [block["type"] for block in blocks] == [
        "heading", "paragraph", "table", "list", "quote", "code", "paragraph",
    ]  # fmt: skip
    heading, paragraph, table, numbered, quote, _, _ = blocks
    assert "".join(span["text"] for span in heading["spans"]) == "Release 2.4 · 正式版"
    styled = {span["text"]: span["styles"] for span in paragraph["spans"] if span["styles"]}
    assert styled == {"tests": ["bold"], "passed": ["italic"], "make test": ["code"]}
    assert table["alignments"] == ["left", "right", "center"]
    (cell,) = table["rows"][1][1]
    assert cell["text"] == "1234 s"
    assert (numbered["start"], len(numbered["items"])) == (1, 2)
    bullets = numbered["items"][0][1]
    assert (bullets["start"], bullets["items"][0][1]["type"]) == (None, "list")
    assert quote["blocks"][0]["spans"][0]["text"] == "quoted words"


def _headline(name: str) -> str:
    return CARD.format(name=name).splitlines()[0]


def _the_card(name: str, held: Held) -> None:
    (settled,) = [one for one in held.said if _headline(name) in visible(one)]
    card = CARD.format(name=name).replace("\n\n", gap(name))
    labels, values = zip(*held.card.buttons, strict=True)
    if name == "web":
        assert labels == ("Approve", "Deny")
        assert values == ("approve", "deny")
        assert held.card.text == card
    else:
        gate_id = values[0].split(":")[1]
        assert labels == ("Approve", "Deny", "Edit…")
        assert values == (f"p:{gate_id}:0", f"p:{gate_id}:1", f"p:{gate_id}:e")
        slash = "/hubbub " if name == "slack" else "/"  # Slack keeps other slashes to itself
        typed = f"or type {slash}approve {gate_id} or {slash}deny {gate_id}"
        assert visible(held.card) == f"{card}{gap(name)}{typed}"
    assert settled.buttons == ()
    asides = [one.text for one in held.transcript if one.aside]
    # A command of Discord's wants an answer of its own; a press is answered by the card.
    assert asides == (["Understood."] if name == "discord" else [])
    assert visible(settled) == f"{card}{gap(name)}Approved by owner"


def _the_notice(seen: Seen) -> None:
    assert seen.text == "Reminder: the build is green, see run 42."
    assert seen.links == (("run 42", "https://ci.example.com/run/42"),)


async def test_pages_show_where_people_are(tmp_path: Path) -> None:
    async with open_hub_everywhere(tmp_path) as town:
        # The console has a conversation of its own for notices, before anything was said there.
        await tell(town, "first in the console", "web")
        # Nobody has spoken yet: Slack and Discord let a conversation be opened, Telegram does not.
        for name in ("slack", "discord"):
            await tell(town, f"first on {name}", name)
            assert (await town.people[name].sees(f"first on {name}")).pings == ()
        town.slack.fail("drop", method="chat.postMessage", when="after", count=1)
        await tell(town, "taken, and the answer lost", "slack")
        (town.directory / "workspace" / "report.txt").write_text("all is well")
        report = Message((), files=(File("report.txt", "report.txt", "text/plain"),))
        assert await town.app.notices().send("a file", ToPerson(OWNER, "slack"), report)
        await town.people["slack"].sees("[report.txt]")
        said = [one.text for one in await town.people["slack"].transcript()]
        assert said == ["first on slack", "taken, and the answer lost", "[report.txt]"]
        await town.people["telegram"].says("hello")
        await town.people["telegram"].sees("You said: hello")
        await tell(town, "where I am")
        assert (await town.people["telegram"].sees("where I am")).by == "bot"
        town.telegram.user_blocks_bot(7)
        await tell(town, "not to be missed")
        # Of places where nobody ever wrote, the first by name.
        assert (await town.people["discord"].sees("not to be missed")).by == "bot"
        other = await town.people["slack"].transcript()
        assert not any("not to be missed" in one.text for one in other)


async def test_a_notice_outlives_the_hub_and_is_sent_once(tmp_path: Path) -> None:
    async with open_hub_everywhere(tmp_path) as town:
        await town.discord.go_down()
        await tell(town, "good morning", "discord")
        await town.stop()
        await town.discord.come_up()
        await town.start()
        await town.people["discord"].sees("good morning")
        assert not await town.app.notices().send("good morning", ToPerson(OWNER, "discord"), plain("again"))
        await tell(town, "and good night", "discord")
        await town.people["discord"].sees("and good night")
        said = [one.text for one in await town.people["discord"].transcript()]
        assert said == ["good morning", "and good night"]


async def tell(town: HubEverywhere, text: str, channel: str | None = None) -> None:
    """Return what is told is its own key."""
    assert channel in {None, "web", *PLATFORMS}
    message: Message = plain(text)
    assert await town.app.notices().send(text, ToPerson(OWNER, channel), message)
