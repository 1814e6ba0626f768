"""Files both ways: https://docs.slack.dev/messaging/working-with-files."""

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError

from tests.simulators.slack import SlackSimulator
from tests.simulators_tests.slack.conftest import ANN, BOT_TOKEN, Slack


async def test_the_sdk_uploads_into_a_thread(sim: SlackSimulator, client: Slack, general: str) -> None:
    head = sim.user_sends_text(ANN, "the report?", general)
    done = await client.files_upload_v2(
        channel=general,
        thread_ts=head.ts,
        initial_comment="Here *it* is",
        file_uploads=[
            {"filename": "a.txt", "content": "hello", "title": "A"},
            {"filename": "b.png", "content": b"\x89PNG"},
        ],
    )
    (message,) = sim.bot_messages(general)
    assert (message.thread_ts, message.body["subtype"]) == (head.ts, "file_share")
    assert sim.visible(general, message.ts) == "Here it is\n[a.txt]\n[b.png]"
    assert [file["size"] for file in message.body["files"]] == [5, 4]
    assert [file["mimetype"] for file in message.body["files"]] == ["text/plain", "image/png"]
    assert done["files"][0]["title"] == "A"
    methods = [record.method for record in sim.requests()]
    assert methods.count("upload") == 2
    assert methods[-1] == "files.completeUploadExternal"
    assert (await client.files_info(file=done["files"][1]["id"]))["file"]["name"] == "b.png"


async def test_a_persons_file_is_fetched_with_the_bots_token(sim: SlackSimulator, dm: str) -> None:
    sent = sim.user_sends_file(ANN, "notes.md", "# é", text="read this", size_bytes=1000)
    url = sent.body["files"][0]["url_private"]
    assert sent.body["files"][0]["size"] == 1000
    async with aiohttp.ClientSession() as http:
        async with http.get(url, headers={"Authorization": f"Bearer {BOT_TOKEN}"}) as response:
            body = await response.read()
        assert (response.status, len(body), body.rstrip(b"\0").decode()) == (200, 1000, "# é")
        async with http.get(url) as response:
            assert (response.status, response.content_type) == (200, "text/html")
            assert "Sign in" in await response.text()
        sim.revoke_token(BOT_TOKEN)
        bearer = {"Authorization": f"Bearer {BOT_TOKEN}"}
        async with http.get(url, headers=bearer, allow_redirects=False) as response:
            assert response.status == 302
    assert [record.method for record in sim.requests("download")] == ["download"] * 3


async def test_a_file_of_a_conversation_the_app_is_not_in_stays_closed(sim: SlackSimulator) -> None:
    sim.create_channel("elsewhere", [ANN], apps=[])
    sent = sim.user_sends_file(ANN, "secret.txt", "x", channel="elsewhere")
    bearer = {"Authorization": f"Bearer {BOT_TOKEN}"}
    async with (
        aiohttp.ClientSession() as http,
        http.get(sent.body["files"][0]["url_private"], headers=bearer) as response,
    ):
        assert response.content_type == "text/html"


async def test_upload_steps_cannot_be_skipped(sim: SlackSimulator, client: Slack, dm: str) -> None:
    ticket = await client.files_getUploadURLExternal(filename="a.bin", length=3)
    files = [{"id": ticket["file_id"]}]
    with pytest.raises(SlackApiError, match="file_not_found"):
        await client.files_completeUploadExternal(files=files, channel_id=dm)
    async with aiohttp.ClientSession() as http:
        async with http.post(ticket["upload_url"], data=b"four") as response:
            assert response.status == 400
        async with http.post(ticket["upload_url"], data=b"abc") as response:
            assert (response.status, await response.text()) == (200, "OK - 3")
    with pytest.raises(SlackApiError, match="channel_not_found"):
        await client.files_completeUploadExternal(files=files, channel_id="C0NONE")
    await client.files_completeUploadExternal(files=files, channel_id=dm)
    assert sim.world.files[ticket["file_id"]].read() == b"abc"
    with pytest.raises(SlackApiError, match="file_not_found"):
        await client.files_completeUploadExternal(files=files, channel_id=dm)
    with pytest.raises(SlackApiError, match="invalid_arguments"):
        await client.files_getUploadURLExternal(filename="empty", length=0)


async def test_a_deleted_file_leaves_a_mark_and_is_fetched_no_more(
    sim: SlackSimulator, client: Slack, general: str
) -> None:
    done = await client.files_upload_v2(channel=general, filename="a.txt", content="hello")
    (file,) = done["files"]
    url = sim.bot_messages(general)[0].body["files"][0]["url_private"]
    await client.files_delete(file=file["id"])
    (message,) = sim.bot_messages(general)
    assert message.body["files"] == [{"id": file["id"], "mode": "tombstone"}]
    assert sim.visible(general, message.ts) == "[This file was deleted.]"
    headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
    async with (
        aiohttp.ClientSession() as http,
        http.get(url, headers=headers, allow_redirects=False) as response,
    ):
        assert response.status == 302
    theirs = sim.user_sends_file(ANN, "notes.md", "mine", channel=general).body["files"][0]["id"]
    for wanted, error in (
        (file["id"], "file_deleted"),
        ("F0", "file_not_found"),
        (theirs, "cant_delete_file"),
    ):
        with pytest.raises(SlackApiError) as refusal:
            await client.files_delete(file=wanted)
        assert refusal.value.response["error"] == error
