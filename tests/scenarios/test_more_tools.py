"""Tools of every day, through a whole hub: documents, JSON, messages elsewhere, names of tools."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.scenarios.installed_hooks import installed
from tests.scenarios.test_attachments import files_shown
from tests.simulators.model import ToolCall, tools

GUEST = 100


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        yield opened


async def test_documents_json_and_the_listing_of_tools_work(house: Hub) -> None:
    await house.told("memory_write", text="beans", path="plans/garden")
    await house.told("memory_write", text="and peas", path="plans/garden", append=True)
    assert "beans\nand peas" in await house.told("memory_read", path="/plans/garden/")
    assert "plans/garden  14" in await house.told("memory_tree")
    assert "plans/garden: beans" in await house.told("memory_search", query="peas")
    assert "path: use names" in await house.told("memory_read", path="../x")
    assert "[\n  2\n]" in await house.told("json", text='{"a": [1, [2]]}', pointer="/a/1")
    assert "there is nothing at 'b'" in await house.told("json", text="{}", pointer="/b")
    assert "hello" in await house.told("echo", text="hello")
    listed = await house.told("tool_list")
    assert "shell: Run a command line" in listed
    assert "It may need a person's approval." in await house.told("tool_info", name="shell")
    assert "The vault is empty." in await house.told("secret_list")


async def test_a_guest_sees_only_their_own_tools(house: Hub) -> None:
    house.telegram.add_user(GUEST, first_name="Gus")
    offered = await house.told("json", GUEST, text="1")
    assert "1" in offered
    names = {one["function"]["name"] for one in house.model.log[-1].body["tools"]}
    assert names == {"time", "json", "ask_user"}


async def test_a_message_is_sent_in_another_conversation_of_the_same_person(house: Hub) -> None:
    assert "The message is queued for sending." in await house.told(
        "message", text="**Remember** the milk", channel="telegram"
    )
    assert "Remember the milk" in house.says(OWNER)
    assert "The message can't be sent there" in await house.told("message", text="x", channel="nowhere")
    nobody = "018f3c2e-7b1a-7c3d-9e4f-0123456789ab"
    assert "no conversation with that ID" in await house.told("message", text="x", thread=nobody)
    assert "use either" in await house.told("message", text="x")


async def test_a_secret_is_forgotten_after_a_yes_each_time(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, 'please call: secret_delete {"name": "none"}')
    card = await house.card(OWNER)
    assert [data.rpartition(":")[2] for data in card.choices] == [
        "0",
        "1",
        "e",
    ]  # "Always allow" is not available
    await house.pressed(OWNER, card, 0)
    await house.telegram.wait_text(OWNER, "There is no secret named 'none'.")


@pytest.mark.parametrize("cut", ["", "}"], ids=["whole", "unreadable"])
async def test_a_sensitive_argument_is_in_no_exported_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    installed(tmp_path / "packages", monkeypatch)
    opened = '[extensions]\ntools = ["unlock"]\ntrusted_tools = ["unlock"]\n'
    async with open_hub(tmp_path, extra=opened) as house:
        arguments = '{"door": "cellar", "pin": "0042"}'.removesuffix(cut)
        house.model.enqueue(tools(ToolCall("unlock", arguments)))
        house.telegram.user_sends_text(OWNER, "open the cellar")
        await house.telegram.wait_text(OWNER, "Done:")
        house.telegram.user_sends_text(OWNER, "/export")
        await house.telegram.wait_for(lambda: files_shown(house, OWNER, "document"), LIMIT_S)
        (sent,) = files_shown(house, OWNER, "document")
        stored = house.telegram.files.by_id(sent.content["document"]["file_id"])
        assert stored is not None
        said = stored.content.decode()
        assert "call unlock" in said
        assert "•••" in said
        assert "0042" not in said
