"""Files that people send reach the tools, and files of the workspace reach people."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest_asyncio

from tests.bot.web.api_client import Client, client
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.simulators.telegram.world import Message

MEMBER = 8
PNG = b"\x89PNG\r\n\x1a\n" + bytes(60)


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        yield opened


async def attach(house: Hub, name: str, content: bytes, person: int = OWNER) -> None:
    said_before = len(house.says(person))
    house.telegram.user_sends_document(person, name, content)
    await house.telegram.wait_for(lambda: len(house.says(person)) > said_before, LIMIT_S)


def files_shown(house: Hub, person: int, kind: str) -> list[Message]:
    return [message for message in house.telegram.bot_messages(person) if kind in message.content]


async def test_a_text_file_is_read_in_the_conversation_it_was_attached_in(house: Hub) -> None:
    assert "No file was attached" in await house.told("read_attachment")
    await attach(house, "beans.txt", "Saubohnen: süß\n".encode())
    await attach(house, "peas.txt", b"green")
    await attach(house, "picture.bin", b"\0\1\2")
    assert "Saubohnen: süß" in await house.told("read_attachment", name="beans.txt")
    assert "picture.bin is not a text file" in await house.told("read_attachment")
    unknown = await house.told("read_attachment", name="corn.txt")
    assert 'available: "picture.bin", "peas.txt", "beans.txt"' in unknown
    house.telegram.user_sends_text(OWNER, "/new")
    await house.telegram.wait_text(OWNER, "Started a new conversation")
    assert "No file was attached" in await house.told("read_attachment", name="beans.txt")


async def test_a_saved_file_replaces_none_and_never_leaves_its_folder(house: Hub) -> None:
    folder = house.workspace / "attachments"
    await attach(house, "notes.txt", b"first")
    assert "Saved as attachments/notes.txt in the workspace, 5 bytes." in await house.told("save_attachment")
    assert "Saved as attachments/notes.txt" in await house.told("save_attachment")
    await attach(house, "notes.txt", b"second")
    assert "Saved as attachments/notes-2.txt" in await house.told("save_attachment", name="notes.txt")
    await attach(house, "../../.evil\0;name", b"third")
    assert "Saved as attachments/evil" in await house.told("save_attachment")
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert [kept.pop("notes.txt"), kept.pop("notes-2.txt"), *kept.values()] == [b"first", b"second", b"third"]
    assert sorted(path.name for path in house.workspace.iterdir()) == ["attachments"]


async def test_a_file_of_the_workspace_is_sent_and_no_other(house: Hub) -> None:
    (house.workspace / "report.csv").write_bytes(b"a,b\n")
    (house.workspace / "chart.png").write_bytes(PNG)
    (house.workspace / "empty").touch()
    assert "The file is queued for sending." in await house.told(
        "send_file", path="report.csv", text="**Here** it is"
    )
    await house.telegram.wait_for(lambda: files_shown(house, OWNER, "document"), LIMIT_S)
    (sent,) = files_shown(house, OWNER, "document")
    assert sent.content["document"]["file_name"] == "report.csv"
    assert sent.content["document"]["file_size"] == 4
    assert "Here it is" in house.says(OWNER)
    assert "The file is queued for sending." in await house.told("send_file", path="chart.png")
    await house.telegram.wait_for(lambda: files_shown(house, OWNER, "photo"), LIMIT_S)
    assert "empty is empty" in await house.told("send_file", path="empty")
    for path in ("../data/hub.db", "/etc/passwd", "nowhere.txt"):
        assert "The file is queued for sending." not in await house.told("send_file", path=path)
    assert len(files_shown(house, OWNER, "document")) == 1


async def test_a_sent_file_can_be_downloaded_in_the_console_only_as_it_was_sent(house: Hub) -> None:
    path = house.workspace / 'plän "1".html'
    path.write_bytes(b"<script>planted=1</script>")
    assert "The file is queued for sending." in await house.told("send_file", path=path.name)
    async with client(house.directory) as api:
        (thread,) = (await api.get("/api/threads"))["threads"]
        page = await api.get(f"/api/threads/{thread['id']}")
        (file,) = [file for item in page["items"] for file in item.get("files", ())]
        assert (file["name"], file["size_bytes"]) == (path.name, 26)
        key = {"Authorization": f"Bearer {api.token}"}
        async with api.http.get(api.url + file["url"], headers=key) as answer:
            assert await answer.read() == b"<script>planted=1</script>"
            assert answer.content_type == "application/octet-stream"
            told = answer.content_disposition
            assert told is not None
            assert (told.type, told.filename) == ("attachment", path.name)
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"

        async def refused(url: str = file["url"], by: Client = api) -> int:
            return (await by.refusal("GET", url))[0]

        assert await refused(by=await api.member("Mia")) == 404
        assert await refused(by=replace(api, token="nobody's")) == 401
        assert await refused(file["url"].replace("position=0", "position=1")) == 404
        assert await refused(file["url"].replace("seq=", "seq=9")) == 404
        path.write_bytes(b"<script>planted=2</script>")
        assert await refused() == 409
        path.unlink()
        assert await refused() == 404
        path.symlink_to(house.directory / "data" / "hub.db")
        assert await refused() == 404


async def test_a_link_to_a_sent_file_is_valid_for_that_file_and_one_minute(house: Hub) -> None:
    for name in ("one.txt", "two.txt"):
        (house.workspace / name).write_text(name)
        await house.told("send_file", path=name)
    async with client(house.directory) as api:
        (thread,) = (await api.get("/api/threads"))["threads"]
        items = (await api.get(f"/api/threads/{thread['id']}"))["items"]
        one, two = (file["url"] for item in items for file in item.get("files", ()))
        assert (await api.ask("POST", two.replace("position=0", "position=1")))[0] == 404
        mia = await api.member("Mia")
        mias_id = (await mia.get("/api/me"))["user_id"]
        assert (await mia.ask("POST", one))[0] == 404
        status, page = await api.ask("POST", one)
        assert (status, page["url"].startswith(one)) == (201, True)
        made = page["url"].removeprefix(one)

        async def got(url: str, method: str = "GET", **headers: str) -> tuple[int, str]:
            async with api.http.request(method, api.url + url, headers=headers) as answer:
                return answer.status, await answer.text()

        for _ in range(2):
            assert await got(one + made) == (200, "one.txt")
        refused = {
            "another file": two + made,
            "the same place of another thread": f"{one.replace(thread['id'], str(UUID(int=7)))}{made}",
            "another path": f"/api/threads?query=x{made}",
            "no query": f"/api/me?{made[1:]}",
            "a parameter more": f"{one}{made}&position=1",
            "another person": f"{one}{made.rpartition('.')[0]}.{mias_id}",
            "another time": f"{one}&link=9{made.removeprefix('&link=')}",
            "no link": one,
        }
        for why, url in refused.items():
            assert (await got(url))[0] == 401, why
        assert (await got(one + made, "POST"))[0] == 403
        assert (await got(one + made, **{"Sec-Fetch-Site": "same-site"}))[0] == 403
        assert (await got(one + made, Host="evil.example"))[0] == 403
        house.clock.skip(55)
        assert (await got(one + made))[0] == 200
        house.clock.skip(5)
        assert (await got(one + made))[0] == 401


async def test_workspace_tools_belong_to_the_owner(tmp_path: Path) -> None:
    async with open_hub(tmp_path, direct="allowlist", extra=f'allow = ["{MEMBER}"]') as house:
        house.telegram.add_user(MEMBER, first_name="Mo")
        await attach(house, "mine.txt", b"my own words", MEMBER)
        assert "my own words" in await house.told("read_attachment", MEMBER)
        offered = {one["function"]["name"] for one in house.model.log[-1].body["tools"]}
        assert "read_attachment" in offered
        assert not offered & {"save_attachment", "send_file"}
