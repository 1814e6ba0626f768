"""Falling back: keys, windows, the breaker, what people see of it and what is kept, in a whole hub."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from core import texts
from core.errors import ModelFault
from core.runs.context import DROPPED_NOTE
from core.runs.model_list import OPENS_AFTER
from tests.harness.telegram_hub import LIMIT_S, OWNER
from tests.scenarios.model_house import House, attempts_of, failures_in, open_house
from tests.scenarios.routine_house import fired
from tests.simulators.model import Drop, Hold, HttpError, Prompt, Reply, ToolCall, tools
from tests.simulators.model.faults import Fault

STORY = "Once upon a time there was a model that told a long story, word by word. " * 2
TOLD = Reply(STORY, chunk_chars=12, delay_s=0.005)
OVERFLOW = HttpError(400, body=json.dumps({"error": {"message": "", "code": "context_length_exceeded"}}))
ANNA = 100
REASON_DOWN = "it is not reachable, or overloaded"


def stored(house: House, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{house.hub.database}?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchall()


def history(house: House) -> list[tuple[Any, ...]]:
    return stored(house, "SELECT thread_id, seq, kind, text, call_id, name, extra FROM entries ORDER BY seq")


# ---------------------------------------------------------------- an overflow (more: test_compaction.py)


@pytest.mark.parametrize("fault", [OVERFLOW, None], ids=["raised", "in a success"])
async def test_an_overflow_goes_to_a_model_with_a_larger_window(
    tmp_path: Path, fault: HttpError | None
) -> None:
    main = 'context_tokens = 5_000\nthinking = "low"'
    async with open_house(tmp_path, model=main) as house:
        said = "" if fault else STORY
        house.main.rule("too long", Reply(said, finish="model_context_window_exceeded"), fault=fault)
        house.backup.rule("too long", Reply("It fits."))
        before, taken = history(house), house.main.log.taken
        events = await house.told("too long")
        assert (await house.says())[-1] == "It fits."
        chosen = [event["data"] for event in events if event["type"] == "model_selected"]
        assert [(one["model"], one["thinking"]) for one in chosen] == [("main", "low"), ("backup", "off")]
        narrow, wide = house.main.log[-1].body["messages"], house.backup.log[-1].body["messages"]
        assert DROPPED_NOTE in str(narrow), "a request is built for the window it is sent to"
        assert "say: ready" in str(wide)
        assert (house.main.log.taken - taken, house.backup.log.taken) == (1, 1)
        assert history(house)[: len(before)] == before
        await house.told("say: short again")
        assert house.main.log[-1].user_text.endswith("say: short again"), (
            "the next run begins with the first model"
        )


async def test_a_conversation_stays_below_the_configured_context_in_a_larger_window(tmp_path: Path) -> None:
    agent = "[agent]\ncontext_tokens = 5_000\n"
    async with open_house(tmp_path, models=1, model="context_tokens = 100_000", extra=agent) as house:
        await house.told("say: again")
        assert DROPPED_NOTE in str(house.main.log[-1].body["messages"])


# ---------------------------------------------------------------- keys


async def test_the_next_key_is_used_and_the_refused_one_rests(tmp_path: Path) -> None:
    async with open_house(tmp_path, models=1) as house:
        port = house.main.url
        await house.hub.stop()
        config = (tmp_path / "hubbub.toml").read_text()
        config = config.replace('api_key = "model-key"', 'api_keys = ["wrong-key-1", "model-key"]')
        (tmp_path / "hubbub.toml").write_text(config)
        await house.hub.start()
        taken = house.main.log.taken
        for said in ("say: one", "say: two"):
            house.hub.telegram.user_sends_text(OWNER, said)
            await house.hub.telegram.wait_text(OWNER, said.removeprefix("say: "))
        asked = house.main.log.all()[taken:]
        assert [exchange.state for exchange in asked] == ["refused", "answered", "answered"], port
        await house.hub.settled_sends()
        assert house.hub.says(OWNER)[1:] == ["one", texts.model_fault("main", ModelFault.KEY), "two"]


# ---------------------------------------------------------------- calls of a reply that broke off


async def test_a_call_of_a_reply_that_broke_off_is_neither_run_nor_kept(tmp_path: Path) -> None:
    async with open_house(tmp_path, models=1, extra='[approvals]\npreset = "auto"\n') as house:
        first = ToolCall("write_file", {"path": "first.txt", "content": "1"})
        second = ToolCall("write_file", {"path": "second.txt", "content": "2"})
        cut = Drop(at="mid_stream", after_events=len(STORY) // 12 + 6)  # all of the call has come
        house.main.enqueue(Reply(STORY, calls=(first,), chunk_chars=12, delay_s=0.005), fault=cut)
        house.main.enqueue(Reply("Now then.", calls=(second,)))
        events = await house.told("write something")
        assert failures_in(events) == [("main", 1, 1)]
        shown = attempts_of(events)
        assert STORY.startswith(shown[0].strip())
        assert shown[1] == "Now then."
        files = {path.name for path in house.hub.workspace.iterdir()}
        assert "first.txt" not in files
        calls = stored(house, "SELECT name, text FROM entries WHERE kind = 'call'")
        assert [name for name, _ in calls] == ["write_file"]
        assert "second.txt" in calls[0][1]
        said = [text for (text,) in stored(house, "SELECT text FROM entries WHERE kind = 'assistant'")]
        assert not any("Once upon" in text for text in said)


@pytest.mark.parametrize(
    "fault, failed", [(HttpError(429, retry_after_s=59), ["main"]), (Hold(), [])], ids=["limited", "slow"]
)
async def test_a_run_that_is_stopped_while_it_waits_for_a_model_ends(
    tmp_path: Path, fault: Fault, failed: list[str]
) -> None:
    async with open_house(tmp_path, models=1) as house:
        house.main.rule("wait", Reply(STORY), fault=fault)
        house.hub.telegram.user_sends_text(OWNER, "wait for it")
        await house.main.wait_requests(2)
        house.hub.telegram.user_sends_text(OWNER, "/stop")
        await house.hub.telegram.wait_text(OWNER, "Stopped")

        async def named() -> bool:
            events = (await house.api.get("/api/why?query=wait for it"))["events"]
            turn = next(event["turn"] for event in events if event["text"] == "wait for it")
            models = (turn["model"], [one["model"] for one in turn["failures"]])
            return turn["state"] == "stopped" and models == ("main", failed)

        await house.hub.until(named)
        house.main.reset()
        await house.told("say: next")
        assert (await house.says())[-1] == "next"
        assert len(house.main.log) == 1, "the stopped run calls no model"


# ---------------------------------------------------------------- the breaker


async def test_a_model_that_keeps_failing_is_not_called_for_a_while(tmp_path: Path) -> None:
    async with open_house(tmp_path, models=1) as house:
        taken = house.main.log.taken
        house.main.fault(HttpError(500), times=None)
        await house.told("are you there?")
        house.hub.clock.hurry(1)  # it is left alone for 30 s: what follows takes less on any machine
        for _ in range(2):
            await house.told("are you there?")
        assert await house.says() == [texts.MODEL_UNREACHABLE] * 3
        assert house.main.log.taken - taken == OPENS_AFTER
        house.main.clear_faults()
        house.hub.clock.pass_by(60)
        await house.told("say: here I am")
        assert (await house.says())[-1] == "here I am"
        assert house.main.log.taken - taken == OPENS_AFTER + 1


# ---------------------------------------------------------------- answers that were cut


async def test_a_cut_answer_says_so_and_can_be_continued(tmp_path: Path) -> None:
    async with open_house(tmp_path, models=1) as house:
        house.main.rule("tell it", Reply(STORY, finish="length"))
        await house.told("tell it")
        assert (await house.says())[-1] == f"{STORY.strip()}\n\n{texts.CUT_OFF}"
        assert "continue" in texts.CUT_OFF
        house.main.rule("^continue$", Reply("and they lived happily."))
        await house.told("continue")
        assert (await house.says())[-1] == "and they lived happily."
        assert STORY.strip() in str(house.main.log[-1].body["messages"])


# ---------------------------------------------------------------- what people see


async def test_a_fault_of_the_setup_is_reported_to_the_owner_once_and_to_others_in_general_terms(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path, models=1) as house:
        telegram = house.hub.telegram
        telegram.add_user(ANNA, first_name="Anna")
        house.main.fault(HttpError(402), times=None)
        fix = texts.model_fault("main", ModelFault.CREDITS)
        for count in (1, 2):
            telegram.user_sends_text(ANNA, "hello")
            await telegram.wait_bot_messages(ANNA, count)
        await telegram.wait_text(OWNER, fix)
        await house.hub.settled_sends()
        assert house.hub.says(ANNA) == [texts.MODEL_FAULT_FOR_OTHERS] * 2
        assert await house.says() == [fix], "a notice, once"
        house.main.clear_faults()
        telegram.user_sends_text(ANNA, "say: better")
        await telegram.wait_text(ANNA, "better")
        house.main.fault(HttpError(402), times=None)
        telegram.user_sends_text(ANNA, "hello")
        await telegram.wait_bot_messages(ANNA, 4)
        await telegram.wait_for(lambda: house.hub.says(OWNER)[1:] == [fix, fix], LIMIT_S)
        await house.hub.settled_sends()
        assert await house.says() == [fix, fix], "and again once it was mended in between"


@pytest.mark.parametrize("verbosity", ["off", "on", "full"])
async def test_the_details_of_a_failure_are_for_those_who_asked_for_them(
    tmp_path: Path, verbosity: str
) -> None:
    async with open_house(tmp_path, verbosity=verbosity) as house:
        for model in (house.main, house.backup):
            model.fault(HttpError(500), times=None)
        events = await house.told("are you there?")
        said = (await house.says())[-1]
        (started,) = (event["data"] for event in events if event["type"] == "run_started")
        assert started["verbosity"] == verbosity
        if verbosity != "full":
            assert said == texts.MODEL_UNREACHABLE
            return
        reason = f"main: {REASON_DOWN}; backup: {REASON_DOWN}"
        first, details = said.split("\n\n")
        assert first == texts.MODEL_UNREACHABLE
        reference = details.rpartition(" ")[2]
        assert details == texts.AGENT_FAILED.format(reason=reason, reference=reference)
        log = (tmp_path / "data" / "hub.log").read_text().splitlines()
        (line,) = [line for line in log if "turn.failed" in line]
        assert f"reference={reference} " in line


@pytest.mark.parametrize("verbosity", ["off", "on", "full"])
async def test_a_preview_shows_steps_and_fallbacks_to_those_who_asked_for_them(
    tmp_path: Path, verbosity: str
) -> None:
    async with open_house(tmp_path, verbosity=verbosity) as house:

        def reply(prompt: Prompt) -> Reply:
            return Reply("Done.") if prompt.tool_results else Reply(calls=(ToolCall("time", {}),))

        house.main.rule("what time", reply, on="any")
        house.main.fault(HttpError(500), times=3)
        house.backup.rule("what time", reply, on="any")
        house.backup.rule("what time", Reply("Done."), on="tool", fault=Hold(at_most_s=0.5))
        await house.told("what time is it?")
        shown = [
            request.params["text"]
            for request in house.hub.telegram.requests(chat_id=OWNER)
            if request.method in {"sendMessage", "editMessageText"}
        ]
        await house.hub.telegram.wait_text(OWNER, "Done.")
        seen = "\n".join(shown)
        step = texts.STEP_LINE.format(tool="time")
        assert (step in seen) == (verbosity != "off")
        assert ("Model main failed" in seen) == (verbosity != "off")
        assert (f"Model main failed ({REASON_DOWN})" in seen) == (verbosity == "full")
        assert (await house.says())[-1] == "Done.", "in the end the answer stands alone"


async def test_why_and_status_name_the_models(tmp_path: Path) -> None:
    async with open_house(tmp_path, verbosity="full") as house:
        house.main.fault(HttpError(500), times=3)
        house.backup.rule("slow", Reply("At last."), fault=Hold())
        house.hub.telegram.user_sends_text(OWNER, "slow one")
        await house.backup.wait_requests(1, state="held")
        house.hub.telegram.user_sends_text(OWNER, "/status")
        await house.hub.telegram.wait_text(OWNER, "Working on your message")
        status = next(said for said in house.hub.says(OWNER) if said.startswith("Working"))
        assert f"Model: backup. Model main failed ({REASON_DOWN}). Trying the next one." in status
        house.backup.release()
        await house.hub.telegram.wait_text(OWNER, "At last.")

        async def slow_turn() -> dict[str, Any]:
            events = (await house.api.get("/api/why?query=slow one"))["events"]
            return next(event["turn"] for event in events if event["text"] == "slow one")

        async def done() -> bool:  # a preview may have shown the text already
            return (await slow_turn())["state"] == "done"

        await house.hub.until(done)
        turn = await slow_turn()
        assert turn["model"] == "backup"
        assert [(one["model"], one["error"]) for one in turn["failures"]] == [("main", REASON_DOWN)] * 3


async def test_attempts_spent_by_a_turn_survive_a_wait_for_a_person(tmp_path: Path) -> None:
    async with open_house(tmp_path, models=1) as house:
        house.main.fault(HttpError(500), times=2)
        house.hub.telegram.user_sends_text(OWNER, 'please call: ask_user {"question": "Which one?"}')
        await house.hub.telegram.wait_text(OWNER, "Which one?")
        house.main.fault(HttpError(500), times=2)
        house.hub.telegram.user_sends_text(OWNER, "That one.")
        await house.hub.telegram.wait_text(OWNER, "Done:")
        kept = [json.loads(models) for (models,) in stored(house, "SELECT models FROM runs ORDER BY number")]
        assert [one["spent"]["attempts"] for one in kept] == [0, 4]
        assert [len(one["failures"]) for one in kept] == [0, 4]


async def test_every_log_line_of_a_run_names_the_run_and_its_thread(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="core")
    async with open_house(tmp_path) as house:
        log = tmp_path / "data" / "hub.log"
        await house.hub.settled_sends()
        before = len(log.read_text().splitlines())
        house.main.enqueue(Reply(""), fault=HttpError(500))
        house.main.enqueue(Reply(""))
        house.main.enqueue(tools(ToolCall("time", {}), ToolCall("shell", {"command": 1})))
        house.main.enqueue(Reply(""), fault=HttpError(401))
        house.backup.fault(HttpError(500), times=None)
        events = await house.told("look at the clock")
        run = next(event["data"]["run"] for event in events if event["type"] == "run_started")
        lines = [json.loads(line) for line in log.read_text().splitlines()[before:]]
        places: dict[str, set[tuple[str | None, str | None]]] = {}
        for line in lines:
            places.setdefault(line["message"].split()[0], set()).add((line.get("run"), line.get("thread")))
        places.pop("inbox.handled", None)  # logged when the message is accepted, before there is a run
        kinds = ("model.failed", "model.empty_reply", "call.finished", "call.refused", "turn.failed")
        assert places == {kind: {(run, house.thread_id)} for kind in kinds}


# ---------------------------------------------------------------- routines


async def test_a_routine_falls_back_and_pays_for_what_broke_off(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        cut = Drop(at="mid_stream", after_events=8)
        house.main.rule("report", TOLD, fault=cut)
        house.backup.rule("report", Reply("All is well."))
        run = await fired(house.hub, "report", {"prompt": "report"})
        assert (run.state.value, run.result) == ("attention", "All is well.")
        assert house.backup.log.taken == 1
        (models,) = stored(house, "SELECT models FROM runs WHERE kind = 'routine'")
        trace = json.loads(models[0])
        assert (trace["selected"], len(trace["failures"]), trace["spent"]["attempts"]) == ("backup", 3, 3)
        broken = house.main.log.select(match="report")
        assert len(broken) == 3
        counted = house.backup.log[-1]
        assert counted.reply is not None
        columns = "state, model, attempt, input_tokens, output_tokens, reserved_tokens"
        *cut_off, whole = stored(house, f"SELECT {columns} FROM usage WHERE kind = 'routine' ORDER BY id")
        assert [row[:3] for row in cut_off] == [("estimated", "main", number) for number in (1, 2, 3)]
        assert all(row[3:5] == (None, None) and row[5] > sum(counted.counted[:2]) for row in cut_off)
        assert whole[:5] == ("settled", "backup", 4, *counted.counted[:2])
        assert (run.input_tokens, run.output_tokens) == counted.counted[:2]


async def test_a_refusal_of_a_provider_is_reported_once_with_the_fix(tmp_path: Path) -> None:
    body = {"error": {"message": "Streaming is not supported.", "param": "stream"}}
    refusal = HttpError(400, body=json.dumps(body))
    async with open_house(tmp_path, models=1) as house:
        telegram = house.hub.telegram
        for words in ("one", "two"):
            house.main.fault(refusal, times=1)
            telegram.user_sends_text(OWNER, words)
            await telegram.wait_text(OWNER, f"You said: {words}", timeout_s=LIMIT_S)
            await telegram.wait_text(OWNER, "set stream = false in its [[models]] section", timeout_s=LIMIT_S)
            await house.hub.settled_sends()
            assert sum("refused a part" in said for said in house.hub.says(OWNER)) == 1
            await house.hub.stop()
            await house.hub.start()
