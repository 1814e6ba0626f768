"""`hubbub models test`: each configured model is called once, and what it says is told."""

import asyncio
import json
from pathlib import Path

from tests.bot.cli.in_process import command
from tests.harness.telegram_hub import KEY, LIMIT_S, open_hub


async def test_each_model_is_called_and_told_about(tmp_path: Path) -> None:
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
        (called,) = await house.model.wait_requests(timeout_s=LIMIT_S)
        assert "ready" in json.dumps(called.body)
        table = await asyncio.to_thread(command, tmp_path, "models", "test")
        assert "spare" in table.out


async def test_a_refused_key_is_told_and_not_shown(tmp_path: Path) -> None:
    async with open_hub(tmp_path, start=False):
        config = tmp_path / "hubbub.toml"
        config.write_text(config.read_text().replace(KEY, "wrong-key-0123"))
        ended = await asyncio.to_thread(command, tmp_path, "models", "test", "--json")
    (trial,) = json.loads(ended.out)
    assert ended.code == 1
    assert trial["problem"]
    assert "wrong-key-0123" not in ended.out + ended.err
    assert ended.complaint == "1 of 1 models did not reply; run `hubbub doctor` to find out more."
