"""Conversations that are too long: compaction, `/compact`, what an overflow leads to, and what stays."""

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core import texts
from tests.harness.process import hubbub
from tests.harness.telegram_hub import LIMIT_S, OWNER
from tests.plugins.profile import Profile
from tests.scenarios.compaction_house import (
    SUMMARIZED,
    summarizes,
    summary_requests,
    tokens_by_rule,
    words_of,
)
from tests.scenarios.installed_hooks import installed
from tests.scenarios.model_house import House, open_house
from tests.scenarios.test_model_fallback import OVERFLOW, history, stored
from tests.simulators.model import Hold, HttpError, Reply, ToolCall, tools

WINDOW = 19_000
"""The tools of a hub and the room for the answer take more than half of it."""
ANNA = 100
FILLER = (
    "We talked about the garden, the weather in the valley, and the people who came to visit last spring. "
    "我们还讨论了花园里的树、山谷的天气,以及去年春天来访的客人。大家都说应该早一点准备。"
)


@asynccontextmanager
async def open_long_house(directory: Path, window: int = WINDOW, extra: str = "") -> AsyncIterator[House]:
    model = f"context_tokens = {window}"
    async with open_house(directory, models=1, model=model, extra=extra) as house:
        house.main.provider.context_tokens = window
        house.main.provider.tokenizer = tokens_by_rule
        yield house


async def say(house: House, text: str, answer: str) -> None:
    """Say something, and wait for the answer to it."""
    shown = len(house.hub.says(OWNER))
    house.hub.telegram.user_sends_text(OWNER, text)
    await house.hub.telegram.wait_for(
        lambda: any(answer in said for said in house.hub.says(OWNER)[shown:]), LIMIT_S
    )


async def fill(house: House, turns: int, size: int = 4, first: int = 0) -> list[str]:
    """Let the conversation grow by turns that differ in a word."""
    said = [
        f"say: turn number {chr(97 + n // 26 % 26)}{chr(97 + n % 26)}. {FILLER * size}"
        for n in range(first, first + turns)
    ]
    for one in said:
        await say(house, one, one.removeprefix("say: ")[:14])
    return said


async def test_a_long_conversation_keeps_its_facts_and_overflows_at_most_once(
    tmp_path: Path, profile: Profile
) -> None:
    turns = profile.pick(test=45, ci=150, proof=500)
    facts = {n: 100_000 + 7_919 * n for n in range(25) if n % 5 != 4}
    assert len(facts) == 20
    async with open_long_house(tmp_path) as house:
        summarizes(house.main)
        before, marks, said, results = house.main.log.taken, list[str](), ["say: ready"], list[str]()
        for turn in range(turns):
            mark = f"mark{chr(97 + turn // 26)}{chr(97 + turn % 26)}"
            marks.append(mark)
            if turn % 5 == 4:
                (house.hub.workspace / f"{mark}.json").write_text(_listing(mark, turn))
                said.append(f'please call: read_file {{"path": "{mark}.json"}}')
                await say(house, said[-1], "Done:")
                results.append(house.main.log[-1].body["messages"][-1]["content"])
                assert len(results[-1]) > len(_listing(mark, turn)), "the running turn's results are whole"
                continue
            told = (
                f"The account of {mark} has {facts[turn]} coins in it. "
                if turn in facts
                else f"This is {mark}. "
            )
            said.append(f"say: {told}{FILLER}".strip())
            await say(house, said[-1], mark)
        asked = house.main.log.all()[before:]
        assert len([one for one in asked if one.state == "refused"]) <= 1
        assert texts.CONTEXT_LIMIT_RESET not in house.hub.says(OWNER), "recovered unseen"
        assert texts.CONTEXT_TOO_LONG not in house.hub.says(OWNER), "recovered unseen"
        last = words_of(house.main.log[-1])
        standing = [fact for fact in facts.values() if str(fact) in last]
        assert len(standing) >= 15, standing
        handed = "\n".join(words_of(one).partition(SUMMARIZED)[2] for one in summary_requests(house.main))
        assert handed, "it was summarized"
        assert all(text in last for text in said[-10:]), "the newest turns stand as they were said"
        told_where = [words_of(one) for one in summary_requests(house.main)]
        assert not any("stand in full in the workspace folder" in one for one in told_where)
        people = re.findall(r"Person: (?:say|please)[^\n]*?(mark[a-z]{2})\b", handed)
        assert len(people) == len(set(people)), "each covered turn is handed over once"
        assert people == marks[: len(people)], "in order, and none is left out"
        for turn in sorted({0, *(turn for turn, fact in facts.items() if fact not in standing)}):
            looked = f'please call: thread_search {{"query": "account {marks[turn]}"}}'
            said.append(looked)
            await say(house, looked, "Done:")
            results.append(house.main.log[-1].body["messages"][-1]["content"])
            assert str(facts[turn]) in results[-1], "the model finds the rest"
        exported = await hubbub(house.hub.directory, "threads", "export", house.thread_id, "--json")
        entries = [one for one in json.loads(exported.out)["entries"] if one["kind"] != "summary"]
        assert [one["text"] for one in entries if one["kind"] == "user"] == said
        answered = [one["text"] for one in entries if one["kind"] == "assistant"]
        assert [one for one in said if one.startswith("say: ")] == [
            f"say: {one}" for one in answered if FILLER.strip() in one or one == "ready"
        ]
        assert [one["text"] for one in entries if one["kind"] == "result"] == results
        kept = [path.read_text() for path in (house.hub.workspace / "conversations").rglob("*.md")]
        assert all(sum(f"This is {mark}." in one for one in kept) <= 1 for mark in marks)


def _listing(mark: str, turn: int) -> str:
    row = {"name": f"row of {mark}", "size": 1000 + turn, "state": "all is well, 一切正常"}
    return "\n".join([json.dumps(row, ensure_ascii=False)] * 20)


# ---------------------------------------------------------------- /compact and /status


async def test_what_is_moved_to_the_workspace_has_no_sensitive_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path / "packages", monkeypatch)
    opened = '[extensions]\ntools = ["unlock"]\ntrusted_tools = ["unlock"]\n'
    async with open_long_house(tmp_path, extra=opened) as house:
        house.main.enqueue(tools(ToolCall("unlock", {"door": "cellar", "pin": "0042"})))
        await say(house, "open the cellar", "Done:")
        await fill(house, 12, size=1)
        summarizes(house.main, Reply("The cellar is open."))
        await say(house, "/compact", "Compacted ")
        (archived,) = (house.hub.workspace / "conversations" / house.thread_id).iterdir()
        assert 'called unlock: {"door": "cellar", "pin": "•••"}' in archived.read_text()


async def test_compact_takes_a_focus_and_says_what_it_did(tmp_path: Path) -> None:
    async with open_long_house(tmp_path) as house:
        await say(house, "/compact", texts.NOTHING_TO_COMPACT)
        assert not summary_requests(house.main), "nothing to summarize, nothing asked"
        said = await fill(house, 12, size=1)
        summarizes(house.main, Reply("   "))
        await say(house, "/compact", texts.NOT_COMPACTED)
        summarizes(house.main, Reply("I can't."), fault=HttpError(400))
        await say(house, "/compact", texts.NOT_COMPACTED)
        assert not [one for one in history(house) if one[2] == "summary"], "nothing left the context"
        house.main.reset()
        summarizes(house.main, Reply("Olivia likes the garden."))
        await say(house, "/compact the budget", "Compacted ")
        (asked,) = summary_requests(house.main)
        assert '"the budget"' in words_of(asked)
        assert said[0] in words_of(asked)
        (archived,) = (house.hub.workspace / "conversations" / house.thread_id).iterdir()
        assert f"Person: {said[0]}" in archived.read_text()
        await say(house, "say: and now", "and now")
        request = words_of(house.main.log[-1])
        assert "Olivia likes the garden." in request
        assert f"the workspace folder conversations/{house.thread_id}." in request
        assert said[0] not in request
        assert said[-1] in request, "the newest turns stand as they were said"
        await say(house, "/status", "Context: about ")
        (thread,) = (await house.api.get("/api/threads"))["threads"]
        assert 0 < thread["context"]["tokens"] < thread["context"]["window_tokens"] <= WINDOW


async def test_a_summary_is_not_used_once_a_covered_turn_is_undone(tmp_path: Path) -> None:
    async with open_long_house(tmp_path) as house:
        said = await fill(house, 12, size=1)
        summarizes(house.main, Reply("Olivia likes the garden."))
        await say(house, "/compact", "Compacted ")
        await say(house, "/undo 12", "Undid the last 12 turns")
        await say(house, "say: and now", "and now")
        request = words_of(house.main.log[-1])
        assert "Olivia likes the garden." not in request
        assert said[0] in request
        assert said[1] not in request


async def test_compaction_of_one_conversation_delays_no_other(tmp_path: Path) -> None:
    async with open_long_house(tmp_path) as house:
        house.hub.telegram.add_user(ANNA, first_name="Anna")
        await fill(house, 12, size=1)
        summarizes(house.main, Reply("Short."), fault=Hold())
        house.hub.telegram.user_sends_text(OWNER, "/compact")
        await house.main.wait_requests(1, state="held", timeout_s=LIMIT_S)
        house.hub.telegram.user_sends_text(ANNA, "say: meanwhile")
        await house.hub.telegram.wait_text(ANNA, "meanwhile")
        house.main.release()
        await house.hub.telegram.wait_text(OWNER, "Compacted ")


# ---------------------------------------------------------------- overflows

HIDDEN = Reply("Once upon", finish="model_context_window_exceeded")


@pytest.mark.parametrize("hidden", [False, True], ids=["raised", "hidden"])
@pytest.mark.parametrize(
    "overflows, summary_overflows, read",
    [
        pytest.param(1, 0, "It fits.", id="compaction works"),
        pytest.param(1, 2, "It fits.", id="compaction overflows itself"),
        pytest.param(9, 0, texts.CONTEXT_LIMIT_RESET, id="nothing helps"),
    ],
)
async def test_an_overflow_leads_to_one_message(
    tmp_path: Path,
    *,
    hidden: bool,
    overflows: int,
    summary_overflows: int,
    read: str,
) -> None:
    async with open_long_house(tmp_path) as house:
        said = await fill(house, 12, size=1)
        before, count = history(house), len(house.hub.says(OWNER))
        taken = house.main.log.taken
        fault = None if hidden else OVERFLOW
        house.main.rule("too long", Reply("It fits."))
        summarizes(house.main, Reply("Olivia likes the garden."))
        for _ in range(overflows):
            house.main.enqueue(HIDDEN, match="too long", fault=fault)
        for _ in range(summary_overflows):
            house.main.enqueue(HIDDEN, match=SUMMARIZED, fault=fault)
        await say(house, "too long", read)
        await house.hub.settled_sends()
        asked = house.main.log.all()[taken:]
        summaries = [one for one in asked if SUMMARIZED in one.user_text]
        assert len(asked) - len(summaries) == 2, "the request, and one more after compaction"
        assert summary_overflows < len(summaries) <= summary_overflows + 2 ** (summary_overflows + 1)
        assert house.hub.says(OWNER)[count:] == [read], "one message"
        assert history(house)[: len(before)] == before, "nothing of the history is changed"
        if read != texts.CONTEXT_LIMIT_RESET:
            assert said[-1] in words_of(house.main.log[-1])
            return
        house.main.reset()
        await say(house, "say: again", "again")
        assert said[-1] not in words_of(house.main.log[-1])
        await say(house, "/undo 2", "Undid the last 2 turns")
        await say(house, "say: and now", "and now")
        assert said[-1] in words_of(house.main.log[-1]), "an undo brings back what a reset took out"


async def test_a_message_that_is_too_long_by_itself_resets_nothing(tmp_path: Path) -> None:
    async with open_long_house(tmp_path) as house:
        await say(house, "/new", "new conversation")
        house.main.rule("too long", Reply("never"), fault=OVERFLOW)
        await say(house, "too long", texts.CONTEXT_TOO_LONG)
        assert not stored(house, "SELECT 1 FROM entries WHERE kind = 'summary'")


@pytest.mark.parametrize("fault", [None, HttpError(400)], ids=["empty", "refused"])
async def test_without_a_summary_only_what_cannot_fit_is_left_out(
    tmp_path: Path, fault: HttpError | None
) -> None:
    async with open_long_house(tmp_path) as house:
        none = itertools.cycle((Reply(""), Reply("Half of it was", finish="content_filter")))
        summarizes(house.main, lambda _: next(none), fault=fault)
        said, request, tried = list[str](), "", list[int]()
        for number in range(60):
            before = len(summary_requests(house.main, None))
            said += await fill(house, 1, size=1, first=number)
            request = words_of(house.main.log[-1])
            tried += [number] * (len(summary_requests(house.main, None)) - before)
            if said[0] not in request:
                break
        # Which turns these are depends on how long the tools' descriptions are; how many doubles the pause.
        turns = len(said) - tried[0]
        assert 3 <= len(tried) <= turns.bit_length() + 2, "tried again, less and less often, until it must be"
        assert "no summary of them could be made" in request
        assert "Half of it was" not in request
        assert said[-1] in request
        assert await asyncio.to_thread(
            lambda: len([one for one in history(house) if one[2] == "user"])
        ) > len(said)


async def test_a_guests_summary_is_one_of_their_calls(tmp_path: Path) -> None:
    extra = "[roles.guest]\ndaily_model_calls = 13\n"
    async with open_long_house(tmp_path, extra=extra) as house:
        house.hub.telegram.add_user(ANNA, first_name="Anna")
        summarizes(house.main, Reply("Anna likes the garden."))
        for number in range(12):
            said = f"turn {chr(97 + number)}. {FILLER}"
            house.hub.telegram.user_sends_text(ANNA, f"say: {said}")
            await house.hub.telegram.wait_text(ANNA, said[:7])
        house.hub.telegram.user_sends_text(ANNA, "/compact")
        await house.hub.telegram.wait_text(ANNA, "Compacted ")
        assert not list(tmp_path.rglob("conversations")), "the workspace is the owner's"
        house.hub.telegram.user_sends_text(ANNA, "say: one more")
        await house.hub.telegram.wait_text(ANNA, texts.ALLOWANCE_USED_UP)
