"""`hubbub models test`: each configured model is called once, and what it says is told."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.bot.cli.in_process import command
from tests.harness.telegram_hub import KEY, LIMIT_S, open_hub
from tests.simulators.model import HttpError, ToolCall, tools


async def test_each_model_is_called_and_reported(tmp_path: Path) -> None:
    extra = '[[models]]\nname = "spare"\nprovider = "demo"\n'
    async with open_hub(tmp_path, extra=extra, start=False) as house:
        page = await asyncio.to_thread(command, tmp_path, "models", "test", "--json")
        main, spare = json.loads(page.out)
        assert (page.code, page.err) == (0, "")
        assert (main["name"], main["problem"], spare["problem"]) == ("main", None, None)
        assert main["answer"]
        assert main["input_tokens"] > 0
        assert main["output_tokens"] > 0
        assert 0 < main["first_s"] <= main["total_s"]
        asked, _ = await house.model.wait_requests(2, timeout_s=LIMIT_S)
        assert "ready" in json.dumps(asked.body)
        assert (main["streams"], main["calls_tools"], main["sees_images"]) == (True, False, None)
        table = await asyncio.to_thread(command, tmp_path, "models", "test")
        assert "spare" in table.out
        assert "main: streams, calls no tools\n" in table.out
        await house.start()
        there = await asyncio.to_thread(command, tmp_path, "models", "test", "--json")
        assert [one["name"] for one in json.loads(there.out)] == ["main", "spare"], "by the hub that runs"
        assert len(house.model.log) == 6
        used = await asyncio.to_thread(command, tmp_path, "usage", "--by", "kind", "--json")
        (row,) = json.loads(used.out)["rows"]
        assert (row["key"], row["calls"], row["estimated_calls"]) == ("test", 12, 0)
        by_model = await asyncio.to_thread(command, tmp_path, "usage", "--by", "model")
        assert [line.split()[:2] for line in by_model.out.splitlines()[1:]] == [["main", "6"], ["spare", "6"]]
        assert by_model.out.split().count("free") == by_model.out.count("no price set") == 1


NO_STREAM = {
    "error": {
        "message": "Your organization must be verified to stream this model.",
        "type": "invalid_request_error",
        "param": "stream",
        "code": "unsupported_value",
    }
}


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_model_capabilities_are_probed_and_reported(tmp_path: Path, provider: str) -> None:
    async with open_hub(tmp_path, start=False, provider=provider, model="images = true") as house:
        house.model.rule("Call the tool", tools(ToolCall("report", {"word": "ready"})))
        first = await asyncio.to_thread(command, tmp_path, "models", "test")
        assert "main: streams, calls tools, sees images\n" in first.out
        assert [one.status for one in house.model.log.all()] == [200] * 3


async def test_a_provider_that_refuses_streams_and_images_still_answers(tmp_path: Path) -> None:
    async with open_hub(tmp_path, start=False, model="images = true") as house:
        house.model.fault(HttpError(400, body=json.dumps(NO_STREAM)))
        refusal = {"error": {"message": "No endpoints found that support image input", "code": 404}}
        house.model.fault(HttpError(404, body=json.dumps(refusal)), match="Which color")
        ended = await asyncio.to_thread(command, tmp_path, "models", "test")
        (told,) = [line for line in ended.out.splitlines() if line.startswith("main: ")]
        assert told == "main: does not stream, calls no tools, sees no images, takes no images"
        assert [one.body.get("stream", False) for one in house.model.log.all()] == [True] + [False] * 4
        page = await asyncio.to_thread(command, tmp_path, "models", "test", "--json")
        assert json.loads(page.out)[0]["learned"] == [], "learned by another process"


async def test_a_refused_key_is_reported_and_not_shown(tmp_path: Path) -> None:
    async with open_hub(tmp_path, start=False):
        config = tmp_path / "hubbub.toml"
        config.write_text(config.read_text().replace(KEY, "wrong-key-0123"))
        ended = await asyncio.to_thread(command, tmp_path, "models", "test", "--json")
    (trial,) = json.loads(ended.out)
    assert ended.code == 1
    assert trial["problem"]
    assert "wrong-key-0123" not in ended.out + ended.err
    assert ended.complaint == "1 of 1 models did not reply; run `hubbub doctor` to find out more."
