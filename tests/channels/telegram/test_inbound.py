"""Updates as values, and whatever else may come in their place."""

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.telegram.addresses import Account, ref_of
from channels.telegram.inbound import DOWNLOAD_LIMIT_BYTES as LIMIT
from channels.telegram.inbound import press_id_of, read_update, update_id_of
from core.clock import SECOND_US
from core.messages import Attachment, ChoiceAnswer, InboundEvent, InboundMessage, Moved, Sender, Unreadable
from tests.channels.telegram.payloads import NAMES, payload

BOT = Account(123456, "the_hub_bot")
NOW = 1_763_750_100 * SECOND_US
ANN = Sender("1001", "Ann Lee", "annlee")


def read(update: object, now: int = NOW) -> InboundEvent | None:
    return read_update(update, BOT, "tg", now)


def read_message(name: str) -> InboundMessage:
    event = read(payload(name))
    assert isinstance(event, InboundMessage)
    return event


def test_a_private_text_is_read() -> None:
    assert read(payload("private_text")) == InboundMessage(
        key="tg:123456:m:1001:11",
        order_key="00000000000000000011",
        channel="tg",
        address="1001",  # type: ignore[arg-type]
        scope="1001",
        sender=ANN,
        text="hello there",
        sent_at=1_763_750_000 * SECOND_US,
        ref=ref_of(1001, 11),
    )


def test_the_bots_name_is_removed_from_a_command() -> None:
    assert read_message("private_command").text == "/start now"


@pytest.mark.parametrize(
    "name, addressed",
    [
        ("group_mention", True),
        ("group_text_mention", True),
        ("group_chatter", False),
        ("group_command", True),
        ("group_command_other_bot", False),
        ("group_reply_to_bot", True),
        ("forum_topic", False),
        ("private_emoji_mention", True),
    ],
)
def test_messages_are_addressed_by_mention_or_reply(name: str, addressed: bool) -> None:
    message = read_message(name)
    assert message.addressed is addressed
    assert message.direct is name.startswith("private")


@pytest.mark.parametrize(
    "text, said",
    [
        ("@the_hub_bot yes", "yes"),
        ("@The_Hub_Bot\nyes", "yes"),
        ("@the_hub_bot: 👍 yes @the_hub_bot", "👍 yes"),
        ("yes, 👍 @the_hub_bot", "yes, 👍"),
        ("@the_hub_bot @the_hub_bot, /approve", "/approve"),
        ("ask @the_hub_bot what it means", "ask @the_hub_bot what it means"),
        ("@the_hub_bot", "@the_hub_bot"),
        ("@the_hub_bot ,", "@the_hub_bot ,"),
        ("@weather_bot yes", "@weather_bot yes"),
    ],
)
def test_the_bots_name_at_either_end_is_removed_from_the_text(text: str, said: str) -> None:
    update = payload("group_mention")
    update["message"]["text"] = text
    update["message"]["entities"] = [
        {"type": "mention", "offset": len(text[: name.start()].encode("utf-16-le")) // 2, "length": 12}
        for name in re.finditer("@[a-z_]+", text, re.IGNORECASE)
    ]
    event = read(update)
    assert isinstance(event, InboundMessage)
    assert event.text == said


def test_a_mention_of_the_bot_without_a_username_is_removed_too() -> None:
    assert read_message("group_text_mention").text == "hello"


def test_a_command_within_a_text_is_text() -> None:
    update = payload("group_chatter")
    update["message"] |= {
        "text": "never say /stop here",
        "entities": [{"type": "bot_command", "offset": 10, "length": 5}],
    }
    event = read(update)
    assert isinstance(event, InboundMessage)
    assert (event.text, event.addressed) == ("never say /stop here", False)


def test_a_command_for_another_bot_keeps_its_text() -> None:
    assert read_message("group_command_other_bot").text == "/status@weather_bot"


def test_a_reply_names_what_it_replies_to() -> None:
    assert read_message("group_reply_to_bot").reply_to == "-1002002000001:20"


def test_a_reply_to_a_message_of_no_person_addresses_nobody() -> None:
    update = payload("group_reply_to_bot")
    del update["message"]["reply_to_message"]["from"]
    event = read(update)
    assert isinstance(event, InboundMessage)
    assert event.reply_to is not None
    assert not event.addressed


def test_a_topic_is_a_conversation_of_its_own() -> None:
    message = read_message("forum_topic")
    assert message.address == message.scope == "-1002002000001:30"
    assert message.reply_to is None


def test_a_chain_of_replies_is_not_a_topic() -> None:
    assert read_message("reply_chain").address == "-1002002000001"


@pytest.mark.parametrize(
    "name, text, attachment",
    [
        ("photo_caption", "look", Attachment("large", "photo.jpg", "image/jpeg", 84000, LIMIT)),
        ("document", "", Attachment("doc1", "report.pdf", "application/pdf", 20480, LIMIT)),
        ("voice", "", Attachment("v1", "voice.ogg", "audio/ogg", 9000, LIMIT)),
    ],
)
def test_files_are_attachments(name: str, text: str, attachment: Attachment) -> None:
    message = read_message(name)
    assert message.text == text
    assert message.attachments == (attachment,)


def test_an_edit_is_another_event_of_the_same_message() -> None:
    edited, original = read_message("edited"), read_message("private_text")
    assert re.fullmatch(re.escape(f"{original.key}:e1763750060.") + "[0-9a-f]{12}", edited.key)
    assert edited.edits == original.key
    assert edited.order_key == original.order_key
    assert edited.text == "hello here"


def test_two_edits_within_a_second_are_two_events() -> None:
    first, second = payload("edited"), payload("edited")
    second["edited_message"]["text"] += "!"
    keys = {event.key for event in map(read, (first, first, second)) if event is not None}
    assert len(keys) == 2


def test_a_group_upgrade_reported_twice_is_one_event() -> None:
    old, new = {"id": -40, "type": "group"}, {"id": -1001, "type": "supergroup"}
    sender = {"id": 1087968824, "is_bot": True, "first_name": "Group"}
    leaving = {"message_id": 5, "date": 1, "chat": old, "migrate_to_chat_id": -1001, "from": sender}
    prerender = {"message_id": 1, "date": 2, "chat": new, "migrate_from_chat_id": -40, "sender_chat": new}
    left, came = (read({"update_id": 1, "message": message}) for message in (leaving, prerender))
    assert isinstance(left, Moved)
    assert isinstance(came, Moved)
    assert (left.key, left.old_address, left.address) == ("tg:123456:mv:-40:-1001", "-40", "-1001")
    assert (came.key, came.old_scope, came.scope) == (left.key, left.old_scope, left.scope)


def test_a_press_is_the_answer_to_a_prompt() -> None:
    assert read(payload("press")) == ChoiceAnswer(
        key="tg:123456:cb:4382000000000000001",
        channel="tg",
        address="1001",  # type: ignore[arg-type]
        sender=ANN,
        gate_id="7Q2M9ZK4XA",
        choice=1,
        sent_at=NOW,
        ref=ref_of(1001, 50),
    )
    assert press_id_of(payload("press")) == "4382000000000000001"


def test_a_press_in_a_topic_belongs_to_the_topic() -> None:
    press = read(payload("press_in_topic"))
    assert isinstance(press, ChoiceAnswer)
    assert (press.address, press.direct) == ("-1002002000001:30", False)


def test_a_press_in_a_chain_of_replies_belongs_to_the_group() -> None:
    update = payload("press_in_topic")
    del update["callback_query"]["message"]["is_topic_message"]  # the chain's first message stays named
    press = read(update)
    assert isinstance(press, ChoiceAnswer)
    assert press.address == "-1002002000001"


def test_a_press_on_a_message_telegram_no_longer_shows_counts() -> None:
    press = read(payload("press_on_old_message"))
    assert isinstance(press, ChoiceAnswer)
    assert press.choice == 2


def test_a_press_on_a_button_of_another_program_is_recorded() -> None:
    press = read(payload("press_of_another_program"))
    assert isinstance(press, Unreadable)
    assert press.key == "tg:123456:cb:4382000000000000004"
    nowhere = payload("press")
    del nowhere["callback_query"]["message"]  # on an inline message, which is in no chat of the bot
    assert isinstance(read(nowhere), Unreadable)


def test_unreadable_events_are_recorded_with_their_kind() -> None:
    sticker = read(payload("sticker"))
    assert isinstance(sticker, InboundMessage)
    assert (sticker.key, sticker.text) == ("tg:123456:m:1001:44", "")
    assert (sticker.not_understood, sticker.attachments) == ("sticker", ())
    captioned = payload("sticker")
    captioned["message"]["caption"] = "look"  # as animations have
    event = read(captioned)
    assert isinstance(event, InboundMessage)
    assert (event.text, event.not_understood) == ("look", None)
    moving = {"update_id": 1, "edited_message": payload("sticker")["message"]}  # as live locations are
    assert read(moving) is None


@pytest.mark.parametrize(
    "name", ["new_member", "from_bot", "anonymous_admin", "channel_post", "my_chat_member"]
)
def test_updates_for_no_one_here_are_dropped(name: str) -> None:
    assert read(payload(name)) is None


def test_a_message_in_the_name_of_a_chat_is_no_persons() -> None:
    update = payload("private_text")
    update["message"]["sender_chat"] = {"id": -1001, "type": "channel"}
    assert read(update) is None


@pytest.mark.parametrize(
    "path, value",
    [
        (("text",), 5),
        (("chat", "id"), "1001"),
        (("chat", "id"), None),
        (("date",), 1e30),
        (("message_id",), -4),
        (("from", "id"), True),
        (("from",), []),
        (("entities",), {"0": 1}),
        (("entities",), [{"type": "mention", "offset": -1, "length": 3}]),
    ],
)
def test_a_message_of_wrong_shape_is_recorded_by_its_update(path: tuple[str, ...], value: object) -> None:
    broken = payload("private_text")
    place = broken["message"]
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    event = read(broken)
    assert isinstance(event, Unreadable)
    assert event.key == "tg:123456:u:870000001"
    assert path[0] in event.summary
    assert repr(value) not in event.summary


def test_entities_beyond_the_text_are_harmless() -> None:
    odd = payload("group_mention")
    odd["message"]["entities"] = [{"type": "mention", "offset": 4, "length": 10**9}]
    event = read(odd)
    assert isinstance(event, InboundMessage)
    assert not event.addressed


def test_nul_does_not_reach_the_database() -> None:
    odd = payload("private_text")
    odd["message"]["text"] = "a\0b"
    event = read(odd)
    assert isinstance(event, InboundMessage)
    assert event.text == "a\ufffdb"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=True)
    | st.text(max_size=8)
    | st.sampled_from(["p:7Q2M9ZK4XA:0", "private", "\ud800", "\0", "bot_command", "@the_hub_bot"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "type", "offset", "length", "user", "file_id", "message_id", "chat"])
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value inside."""
    found = [path] if path else []
    if isinstance(value, dict):
        for name, inner in value.items():
            found += places(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += places(inner, (*path, index))
    return found


@st.composite
def mutated_updates(draw: st.DrawFn) -> object:
    update: Any = copy.deepcopy(payload(draw(st.sampled_from(NAMES))))
    for _ in range(draw(st.integers(1, 3))):
        paths = places(update)
        if not paths:
            break
        path = draw(st.sampled_from(paths))
        place = update
        for step in path[:-1]:
            place = place[step]
        if draw(st.booleans()):
            place[path[-1]] = draw(JSON)
        else:
            del place[path[-1]]
    return update


def check_any(update: object) -> None:
    """Reading does not raise, gives the same event again, and the event can be stored."""
    event = read(update)
    assert event == read(copy.deepcopy(update))
    update_id = update_id_of(update)
    assert update_id is None or 0 <= update_id <= 2**53
    press_id_of(update)
    if event is None:
        return
    later = read(update, NOW + SECOND_US)
    assert later is not None
    assert later.key == event.key
    assert event.key.startswith("tg:123456:")
    assert 0 <= event.sent_at < 2**63
    text = repr(event) if isinstance(event, Unreadable) else json.dumps([event.key, event.address])
    text.encode("utf-8")
    if isinstance(event, InboundMessage):
        for value in (event.text, event.sender.name, *(a.name + a.handle for a in event.attachments)):
            assert isinstance(value, str)
            value.encode("utf-8")
            assert "\0" not in value
        assert len(event.order_key) >= 20
        assert event.scope == event.address


def test_lone_surrogates_are_replaced_in_every_field_a_person_controls() -> None:
    update = payload("private_text")
    update["message"]["text"] = "a\ud83d\ude00\udc00"
    update["message"]["from"]["first_name"] = "\ud800"
    event = read(update)
    assert isinstance(event, InboundMessage)
    assert event.text == "a\U0001f600\ufffd"
    assert event.sender.name.startswith("\ufffd")
    check_any(update)


@given(mutated_updates())
def test_damaged_updates_are_read_or_recorded(update: object) -> None:
    check_any(update)


@given(JSON)
def test_any_json_is_read_or_recorded(update: object) -> None:
    check_any(update)


@given(
    st.text(max_size=30), st.integers(0, 40), st.integers(0, 40), st.sampled_from(["bot_command", "mention"])
)
def test_any_entity_over_any_text_is_read(text: str, offset: int, length: int, kind: str) -> None:
    update = payload("group_mention")
    update["message"]["text"] = text
    update["message"]["entities"] = [{"type": kind, "offset": offset, "length": length}]
    check_any(update)
