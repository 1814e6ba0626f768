"""Messages of the app: https://docs.slack.dev/reference/methods/chat.postMessage and its family."""

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.models.metadata import Metadata

from tests.simulators.slack import SlackSimulator
from tests.simulators_tests.slack.conftest import ANN, BOB, Slack


async def test_a_message_is_stored_returned_and_logged(sim: SlackSimulator, client: Slack, dm: str) -> None:
    sent = await client.chat_postMessage(channel=dm, text="a < b & *c* <https://x.y|x>")
    (message,) = sim.messages(dm)
    assert sent["ts"] == sent["message"]["ts"] == message.ts
    assert sent["channel"] == dm
    assert sent["message"]["text"] == "a &lt; b &amp; *c* <https://x.y|x>"
    assert sent["message"]["user"] == sim.app().user.id
    assert sent["message"]["bot_id"] == sim.app().bot_id
    assert sim.visible(dm, message.ts) == "a < b & c x"
    (record,) = sim.requests("chat.postMessage")
    assert (record.channel, record.ok, record.outcome, record.messages) == (
        dm,
        True,
        "answered",
        [(dm, message.ts)],
    )
    assert record.params == {"channel": dm, "text": "a < b & *c* <https://x.y|x>"}


async def test_timestamps_grow_and_order_the_history(
    sim: SlackSimulator, client: Slack, general: str
) -> None:
    for number in range(5):
        await client.chat_postMessage(channel=general, text=f"m{number}")
    stamps = [message.ts for message in sim.messages(general)]
    assert stamps == sorted(set(stamps))
    assert all(len(ts.partition(".")[2]) == 6 for ts in stamps)
    page = await client.conversations_history(channel=general, limit=2)
    assert [m["text"] for m in page["messages"]] == ["m4", "m3"]
    assert page["has_more"]
    second = await client.conversations_history(
        channel=general, limit=2, cursor=page["response_metadata"]["next_cursor"]
    )
    assert [m["text"] for m in second["messages"]] == ["m2", "m1"]
    newer = await client.conversations_history(channel=general, oldest=stamps[2])
    assert [m["text"] for m in newer["messages"]] == ["m4", "m3"]
    inclusive = await client.conversations_history(channel=general, oldest=stamps[2], inclusive=True)
    assert [m["text"] for m in inclusive["messages"]] == ["m4", "m3", "m2"]
    older = await client.conversations_history(channel=general, latest=stamps[1])
    assert [m["text"] for m in older["messages"]] == ["m0"]


async def test_a_person_id_as_channel_is_the_direct_conversation(sim: SlackSimulator, client: Slack) -> None:
    sent = await client.chat_postMessage(channel=ANN, text="hi")
    opened = await client.conversations_open(users=ANN)
    assert sent["channel"] == opened["channel"]["id"] == sim.direct_channel(ANN).id
    assert opened["already_open"]
    group = await client.conversations_open(users=[ANN, BOB], return_im=True)
    assert group["channel"]["is_mpim"]


async def test_a_thread_has_the_replies_to_its_head(sim: SlackSimulator, client: Slack, general: str) -> None:
    head = sim.user_sends_text(ANN, "question", general)
    first = await client.chat_postMessage(channel=general, text="one", thread_ts=head.ts)
    sim.user_sends_text(BOB, "two", general, thread_ts=head.ts)
    await client.chat_postMessage(channel=general, text="reply to a reply", thread_ts=first["ts"])
    thread = await client.conversations_replies(channel=general, ts=head.ts)
    assert [m["text"] for m in thread["messages"]] == ["question", "one", "two", "reply to a reply"]
    assert thread["messages"][0]["reply_count"] == 3
    assert {m["thread_ts"] for m in thread["messages"]} == {head.ts}
    assert thread["messages"][1]["parent_user_id"] == ANN
    later = await client.conversations_replies(channel=general, ts=head.ts, oldest=first["ts"])
    assert [m["text"] for m in later["messages"]] == ["question", "two", "reply to a reply"]
    flat = await client.conversations_history(channel=general)
    assert [m["text"] for m in flat["messages"]] == ["question"]
    await client.chat_postMessage(channel=general, text="loud", thread_ts=head.ts, reply_broadcast=True)
    flat = await client.conversations_history(channel=general)
    assert [m["text"] for m in flat["messages"]] == ["loud", "question"]


async def test_metadata_is_kept_and_returned_on_request(sim: SlackSimulator, client: Slack, dm: str) -> None:
    metadata = Metadata(event_type="hub_outbox", event_payload={"id": "0192", "part": 1})
    sent = await client.chat_postMessage(channel=dm, text="x", metadata=metadata)
    brief = await client.conversations_history(channel=dm)
    assert brief["messages"][0]["metadata"] == {"event_type": "hub_outbox"}
    full = await client.conversations_history(channel=dm, include_all_metadata=True)
    assert full["messages"][0]["metadata"]["event_payload"] == {"id": "0192", "part": 1}
    await client.chat_update(channel=dm, ts=sent["ts"], text="kept")
    full = await client.conversations_replies(channel=dm, ts=sent["ts"], include_all_metadata=True)
    assert full["messages"][0]["metadata"]["event_payload"]["id"] == "0192"
    await client.chat_update(channel=dm, ts=sent["ts"], text="gone", metadata={})
    assert sim.message(dm, sent["ts"]).metadata is None


async def test_an_update_replaces_text_and_blocks(sim: SlackSimulator, client: Slack, dm: str) -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "*card*"}}]
    sent = await client.chat_postMessage(channel=dm, text="fallback", blocks=blocks)
    ts = str(sent["ts"])
    assert sim.visible(dm, ts) == "card"
    await client.chat_update(
        channel=dm,
        ts=ts,
        text="f",
        blocks=[{"type": "header", "text": {"type": "plain_text", "text": "done"}}],
    )
    assert sim.visible(dm, ts) == "done"
    assert sim.message(dm, ts).edited is None
    answer = await client.chat_update(channel=dm, ts=ts, text="plain")
    assert sim.visible(dm, ts) == answer["text"] == "plain"
    assert sim.message(dm, ts).edited is not None
    assert [len(body.get("blocks", [])) for body in sim.message(dm, ts).history] == [1, 1]


async def test_a_deleted_message_is_gone_and_a_deleted_head_leaves_a_tombstone(
    sim: SlackSimulator, client: Slack, general: str
) -> None:
    alone = await client.chat_postMessage(channel=general, text="alone")
    head = await client.chat_postMessage(channel=general, text="head")
    sim.user_sends_text(ANN, "reply", general, thread_ts=head["ts"])
    await client.chat_delete(channel=general, ts=alone["ts"])
    await client.chat_delete(channel=general, ts=head["ts"])
    left = await client.conversations_history(channel=general)
    assert [m.get("subtype") for m in left["messages"]] == ["tombstone"]
    with pytest.raises(SlackApiError, match="message_not_found"):
        await client.chat_delete(channel=general, ts=alone["ts"])


async def test_an_ephemeral_is_seen_by_one_person(sim: SlackSimulator, client: Slack, general: str) -> None:
    sent = await client.chat_postEphemeral(channel=general, user=ANN, text="only *you*")
    (shown,) = sim.ephemerals(ANN, general)
    assert (shown.ts, sim.look(shown).text) == (sent["message_ts"], "only you")
    assert sim.ephemerals(BOB) == []
    assert sim.messages(general) == []
    history = await client.conversations_history(channel=general)
    assert history["messages"] == []


async def test_reactions_are_added_and_removed_once(sim: SlackSimulator, client: Slack, dm: str) -> None:
    message = sim.user_sends_text(ANN, "hello")
    await client.reactions_add(channel=dm, timestamp=message.ts, name="eyes")
    assert message.reactions == {"eyes": [sim.app().user.id]}
    with pytest.raises(SlackApiError, match="already_reacted"):
        await client.reactions_add(channel=dm, timestamp=message.ts, name="eyes")
    await client.reactions_remove(channel=dm, timestamp=message.ts, name="eyes")
    with pytest.raises(SlackApiError, match="no_reaction"):
        await client.reactions_remove(channel=dm, timestamp=message.ts, name="eyes")
    with pytest.raises(SlackApiError, match="message_not_found"):
        await client.reactions_add(channel=dm, timestamp="1.000001", name="eyes")


async def test_conversations_and_people_are_listed(
    sim: SlackSimulator, client: Slack, general: str, dm: str
) -> None:
    secret = sim.create_channel("secret", [ANN], private=True, apps=[])
    other = sim.create_channel("other", [BOB], apps=[])
    listed = await client.conversations_list(types="public_channel,private_channel,im")
    assert {c["id"]: c.get("is_member") for c in listed["channels"]} == {
        general: True,
        dm: None,
        other.id: False,
    }
    mine = await client.users_conversations(types="public_channel,im", limit=1)
    second = await client.users_conversations(
        types="public_channel,im", limit=1, cursor=mine["response_metadata"]["next_cursor"]
    )
    assert {mine["channels"][0]["id"], second["channels"][0]["id"]} == {general, dm}
    assert second["response_metadata"]["next_cursor"] == ""
    assert (await client.conversations_info(channel=dm))["channel"]["user"] == ANN
    assert (await client.users_info(user=ANN))["user"]["real_name"] == "Ann Lee"
    with pytest.raises(SlackApiError, match="channel_not_found"):
        await client.conversations_info(channel=secret.id)
    await client.conversations_join(channel=other.id)
    assert sim.app().user.id in other.members
