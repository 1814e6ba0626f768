"""The chat of `python -m tests.simulators`, and the configuration it writes for the hub."""

import asyncio
import signal
import sys
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.patience import PATIENCE_S
from tests.simulators.stage import MEMBER, OWNER, ROOT, TOKEN, HubFailed, Settings, Stage
from tests.simulators.terminal import Terminal

BUTTONS = {
    "inline_keyboard": [
        [{"text": "Approve", "callback_data": "p:1:0"}, {"text": "Deny", "callback_data": "p:1:1"}]
    ]
}


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with Stage(Settings(tmp_path / "data", tmp_path / "hubbub.toml", 0, 0, 0)) as running:
        yield running


@pytest.fixture
async def bot(stage: Stage) -> AsyncIterator[httpx.AsyncClient]:
    """A bot of the simplest kind: plain requests."""
    async with httpx.AsyncClient(base_url=f"{stage.telegram.url}/bot{TOKEN}/") as http:
        yield http


async def call(bot: httpx.AsyncClient, method: str, **parameters: Any) -> Any:
    answer = (await bot.post(method, json=parameters)).json()
    assert answer["ok"], answer
    return answer["result"]


class Screen:
    """The screen of the terminal, with a way to wait for more."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._changed = asyncio.Event()

    def show(self, line: str) -> None:
        self.lines.append(line)
        self._changed.set()

    async def until(self, *pieces: str) -> None:
        """Until a line holds all of them."""
        async with asyncio.timeout(PATIENCE_S):
            while not any(all(piece in line for piece in pieces) for line in self.lines):
                self._changed.clear()
                await self._changed.wait()

    async def wait(self, count: int) -> list[str]:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.lines) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.lines


async def test_a_conversation_has_buttons(stage: Stage, bot: httpx.AsyncClient) -> None:
    screen = Screen()
    terminal = Terminal(stage.desks, screen.show)
    watching = asyncio.create_task(terminal.watch())
    assert terminal.take("run it, please\n")
    (update,) = await call(bot, "getUpdates", timeout=5)
    assert update["message"]["text"] == "run it, please"
    assert update["message"]["chat"]["id"] == OWNER.id

    sent = await call(bot, "sendMessage", chat_id=OWNER.id, text="May I?", reply_markup=BUTTONS)
    assert await screen.wait(2) == [
        f"bot to Ann #{sent['message_id']}: May I?",
        "    [!1 Approve]  [!2 Deny]",
    ]
    assert terminal.take("!2")
    (pressed,) = await call(bot, "getUpdates", timeout=5, offset=update["update_id"] + 1)
    assert pressed["callback_query"]["data"] == "p:1:1"

    query_id = pressed["callback_query"]["id"]
    await call(bot, "answerCallbackQuery", callback_query_id=query_id, text="Denied.")
    await call(bot, "editMessageText", chat_id=OWNER.id, message_id=sent["message_id"], text="Denied by Ann")
    assert (await screen.wait(4))[2:] == [
        "  (a notice: Denied.)",
        f"bot to Ann #{sent['message_id']} (edited): Denied by Ann",
    ]
    terminal.take("!1")
    assert screen.lines[4:] == ["  (Ann sees no buttons)"]
    watching.cancel()


async def test_people_can_be_added_and_listed(stage: Stage, bot: httpx.AsyncClient) -> None:
    screen = Screen()
    terminal = Terminal(stage.desks, screen.show)
    assert terminal.prompt == "Ann> "
    for name in ("bob", "Zoe"):
        terminal.take(f"/user {name}")
        terminal.take(f"I am {name}")
    first, second = await call(bot, "getUpdates", timeout=5)
    assert (first["message"]["from"]["id"], second["message"]["from"]["first_name"]) == (MEMBER.id, "Zoe")
    terminal.take("/user")
    assert screen.lines == ["  (people: Ann, Bob, Eve, Zoe)"]
    assert terminal.take("")
    assert not terminal.take("/quit")


async def test_the_configuration_is_written_once_and_never_replaced(stage: Stage) -> None:
    stage.write_config()
    stage.write_config()
    config = tomllib.loads(stage.settings.config.read_text())
    assert config["hub"]["owner_identities"] == [f"telegram:{OWNER.id}"]
    assert config["models"][0]["base_url"] == stage.model.openai_base_url
    assert config["channels"]["telegram"]["api_base_url"] == stage.telegram.url
    assert config["channels"]["telegram"]["direct"] == "allowlist"
    stage.settings.config.write_text("[hub]\n")
    with pytest.raises(FileExistsError, match="--config"):
        stage.write_config()


async def test_a_hub_answers_the_simulated_platform(stage: Stage) -> None:
    """The path a person tries: a text goes through the real hub and model and comes back."""
    stage.write_config()
    await stage.start_hub()
    stage.telegram.user_sends_text(OWNER.id, "hello there")
    await stage.telegram.wait_text(OWNER.id, "You said: hello there", timeout_s=PATIENCE_S)
    assert [exchange.state for exchange in stage.model.log.all()] == ["answered"]


@pytest.mark.slow
async def test_every_platform_can_be_tried_by_hand(tmp_path: Path) -> None:
    settings = Settings(
        tmp_path / "data", tmp_path / "hubbub.toml", 0, 0, 0,
        also=("slack", "discord"), slack_port=0, discord_port=0,
    )  # fmt: skip
    async with Stage(settings) as stage:
        stage.write_config()
        await stage.start_hub()
        screen = Screen()
        terminal = Terminal(stage.desks, screen.show)
        watching = asyncio.create_task(terminal.watch())
        for name in ("telegram", "slack", "discord"):
            terminal.take(f"/on {name}")
            assert terminal.prompt == f"Ann on {name}> "
            terminal.take("please run: echo hello")
            await screen.until(f"bot to Ann on {name} #", "Run `echo hello`?")
            terminal.take("!2")
            await screen.until(f"bot to Ann on {name} #", "denied")
        terminal.take("/on mars")
        assert screen.lines[-1] == "  (platforms: telegram, slack, discord)"
        watching.cancel()


async def test_a_hub_that_does_not_start_says_why(stage: Stage) -> None:
    stage.write_config()
    stage.settings.config.write_text("[hub]\nnonsense = 1\n")
    with pytest.raises(HubFailed, match="nonsense"):
        await stage.start_hub()


async def test_the_model_of_the_terminal_shows_results_without_their_fence(stage: Stage) -> None:
    fenced = '<tool_output name="shell" id="5abd">\nexit code: 0\nplan.md\n</tool_output id="5abd">'
    call = {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "please run: ls"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": fenced},
    ]
    async with httpx.AsyncClient(headers={"Authorization": "Bearer simulated-key"}) as http:
        asked = {"model": "sim-1", "messages": messages}
        answer = await http.post(f"{stage.model.openai_base_url}/chat/completions", json=asked)
    assert answer.json()["choices"][0]["message"]["content"] == "Done: exit code: 0\nplan.md"


@pytest.mark.slow
async def test_the_command_runs_until_it_is_interrupted(tmp_path: Path) -> None:
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.simulators", "--data", str(tmp_path), "--hub-port", "0"),
        *("--telegram-port", "0", "--model-port", "0", "--direct", "open"),
        cwd=ROOT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    assert running.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            lines = [(await running.stdout.readline()).decode().split() for _ in range(5)]
            model_url = lines[1][1]
            name, link, *_ = lines[4]
            assert name == "console"
            url, _, code = link.partition("#code=")
            async with httpx.AsyncClient() as http:
                assert (await http.post(url, json={"code": code})).status_code == 201, "the link logs in"
            async with httpx.AsyncClient(headers={"Authorization": "Bearer simulated-key"}) as http:
                assert (await http.get(f"{model_url}/models")).status_code == 200
            assert tomllib.loads((tmp_path / "hubbub.toml").read_text())["models"][0]["base_url"] == model_url
            running.send_signal(signal.SIGINT)
            assert await running.wait() == 0
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()
