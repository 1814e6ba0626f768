"""Tools of chats in containers: from a message to what a command did inside, and nothing of it on the host."""

import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Hub, open_hub
from tests.scenarios.test_tools import call

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300)]


@contextlib.asynccontextmanager
async def house_with(directory: Path, image: str, more: str = "") -> AsyncIterator[Hub]:
    sandbox = (
        f'[sandbox]\nenabled = true\nchat_tools = true\nimage = "{image}"\nmemory_mb = 256\ndisk_mb = 50\n'
    )
    async with open_hub(directory, extra=sandbox + more, start=False) as house:
        await house.start()
        await house.telegram.wait_polling(TOKEN, LIMIT_S)
        yield house


async def test_message_to_command(tmp_path: Path, worker_image: str) -> None:
    async with house_with(tmp_path, worker_image) as house:
        house.telegram.user_sends_text(
            OWNER, call("shell", command="hostname; pwd; id; echo hi > a; ls -la; cat /proc/1/cmdline")
        )
        card = await house.card(OWNER)
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, "exit code", timeout_s=LIMIT_S)
        print(house.says(OWNER))
        house.telegram.user_sends_text(OWNER, call("write_file", path="b/x.txt", content="123"))
        card = await house.card(OWNER)
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, "Wrote", timeout_s=LIMIT_S)
        house.telegram.user_sends_text(OWNER, call("shell", command="echo 4 >> b/x.txt; cat b/x.txt"))
        card = await house.card(OWNER)
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, "1234", timeout_s=LIMIT_S)
        print(house.says(OWNER), os.system(f"find {tmp_path} | grep -v cache"))
