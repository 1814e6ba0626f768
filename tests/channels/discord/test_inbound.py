"""Discord's payloads as the hub's values."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.discord.addresses import (
    direct_address,
    micros_of,
    order_key_of,
    parse_ref,
    person_of,
    ref_of,
    snowflake_at,
    snowflake_of,
)
from channels.discord.handler import Pending
from channels.discord.inbound import (
    Account,
    User,
    Where,
    modal_of,
    plain_text,
    read_change,
    read_command,
    read_event,
    read_interaction,
    read_press,
)
from core.messages import ChoiceAnswer, EditForm, FormField, InboundMessage, Unreadable

US = Account("900", "900")
DIRECT, CHANNEL, THREAD = Where(direct=True), Where(direct=False), Where(direct=False, thread=True)
ANN = {"id": "7", "username": "ann", "global_name": "Ann"}
BOT = {"id": "900", "username": "hub", "bot": True}
ID, NOW = "175928847299117063", 1
SENT_AT_US = 1_462_015_105_796_000
"""The documentation's own example of a snowflake and its time."""


def message(**fields: Any) -> dict[str, Any]:
    return {"id": ID, "channel_id": "5", "author": ANN, "content": "hi", "type": 0} | fields


def read(where: Where = DIRECT, **fields: Any) -> InboundMessage:
    event = read_event(message(**fields), US, "discord", where, NOW)
    assert isinstance(event, InboundMessage)
    return event


def test_a_private_message_is_read() -> None:
    event = read()
    assert (event.key, event.order_key) == (f"dc:900:m:{ID}", f"00{ID}")
    assert (event.address, event.scope, event.ref) == ("5", "5", f"5:{ID}")
    assert (event.direct, event.addressed, event.continues) == (True, True, False)
    assert (event.sender.platform_user_id, event.sender.name, event.sender.username) == ("7", "Ann", "ann")
    assert event.sent_at == SENT_AT_US


@pytest.mark.parametrize(
    "fields,where,addressed,continues",
    [
        ({}, CHANNEL, False, False),
        ({"mentions": [BOT], "content": "<@900> hi"}, CHANNEL, True, False),
        ({"mentions": [ANN], "content": "<@7> hi"}, CHANNEL, False, False),
        ({"type": 19, "referenced_message": {"author": BOT}}, CHANNEL, True, False),
        ({"type": 19, "referenced_message": {"author": ANN}}, CHANNEL, False, False),
        ({"type": 19, "referenced_message": None}, CHANNEL, False, False),
        ({}, THREAD, False, True),
    ],
)
def test_in_a_server_a_mention_or_a_reply_addresses_the_bot(
    fields: dict[str, Any], where: Where, addressed: bool, continues: bool
) -> None:
    event = read(where, guild_id="3", **fields)
    assert (event.direct, event.addressed, event.continues) == (False, addressed, continues)
    assert event.text.removeprefix("@Ann ") == "hi"


def test_a_sender_has_the_name_shown_in_the_server() -> None:
    assert read(CHANNEL, guild_id="3", member={"nick": "Annie"}).sender.name == "Annie"
    assert read(author={"id": "7", "username": "ann"}).sender.name == "ann"


@pytest.mark.parametrize(
    "fields",
    [
        {"author": BOT},
        {"author": {"id": "7", "username": "other", "bot": True}},
        {"author": {"id": "7", "system": True}},
        {"webhook_id": "12"},
        {"type": 7},
        {"type": 18},
        {"type": 20},
        {"content": "  "},
        {"content": "<@900>", "mentions": [BOT]},
    ],
    ids=str,
)
def test_events_without_a_person_are_dropped(fields: dict[str, Any]) -> None:
    assert read_event(message(**fields), US, "discord", DIRECT, NOW) is None


def test_a_file_is_named_by_its_message() -> None:
    file = {"id": "11", "filename": "a.txt", "size": 12, "content_type": "text/plain", "url": "https://c/x"}
    (attachment,) = read(content="", attachments=[file]).attachments
    assert (attachment.handle, attachment.name, attachment.size_bytes) == (f"5:{ID}:11", "a.txt", 12)
    del file["content_type"]
    (attachment,) = read(content="", attachments=[file]).attachments
    assert attachment.media_type == "application/octet-stream"


@pytest.mark.parametrize(
    "fields, kind",
    [
        ({"sticker_items": [{"id": "1", "name": "hi", "format_type": 1}]}, "sticker"),
        ({"poll": {"question": {"text": "?"}}}, "poll"),
    ],
)
def test_unsupported_content_is_named(fields: dict[str, Any], kind: str) -> None:
    assert read(content="", **fields).not_understood == kind
    assert read(content="hello", **fields).not_understood is None


def test_a_reply_names_what_it_answers() -> None:
    assert read(type=19, message_reference={"message_id": "77", "channel_id": "5"}).reply_to == "5:77"
    assert read(message_reference={"type": 1, "message_id": "77"}).reply_to is None


def test_an_edit_names_its_message_and_a_link_preview_is_not_an_edit() -> None:
    stamp = "2026-01-01T00:00:00.000000+00:00"
    changed = read_change(message(content="better", edited_timestamp=stamp), US, "discord", DIRECT)
    assert changed is not None
    assert changed.key == f"dc:900:m:{ID}:e{stamp}"
    assert (changed.edits, changed.text) == (f"dc:900:m:{ID}", "better")
    assert read_change(message(edited_timestamp=None), US, "discord", DIRECT) is None
    assert read_change(message(author=BOT, edited_timestamp=stamp), US, "discord", DIRECT) is None
    assert read_change({"id": ID, "channel_id": "5", "embeds": []}, US, "discord", DIRECT) is None


@pytest.mark.parametrize(
    "written,shown",
    [
        ("<@900> do it", "do it"),
        ("do it, <@!900>", "do it,"),
        ("ask <@900> and <@7>", "ask @me and @Ann"),
        ("<@8> <@&9> <#10>", "@8 @9 #10"),
        ("<:smile:5> <a:wave:6> </new:7>", ":smile: :wave: /new"),
        ("a < b > c <https://a.b>", "a < b > c <https://a.b>"),
        ("\x00x", "x"),
    ],
)
def test_text_is_read_as_people_see_it(written: str, shown: str) -> None:
    assert plain_text(written, (User.model_validate(ANN),), US)[0] == shown


def interaction(**fields: Any) -> dict[str, Any]:
    made = {"id": ID, "type": 3, "token": "t", "channel_id": "5", "user": ANN, "message": {"id": "77"}}
    return made | {"data": {"custom_id": "p:k3f9a7mzq2:1"}} | fields


def test_a_press_names_its_prompt_and_the_message_it_was_on() -> None:
    pressed = read_interaction(interaction())
    assert pressed is not None
    event = read_press(pressed, US, "discord")
    assert isinstance(event, ChoiceAnswer)
    assert (event.gate_id, event.choice, event.ref) == ("k3f9a7mzq2", 1, "5:77")
    assert (event.key, event.address, event.direct, event.form) == (f"dc:900:i:{ID}", "5", True, None)


def test_a_press_in_a_server_is_a_members() -> None:
    member = {"nick": "Annie", "user": ANN}
    pressed = read_interaction(interaction(user=None, member=member, guild_id="3"))
    assert pressed is not None
    event = read_press(pressed, US, "discord")
    assert event is not None
    assert (event.direct, event.sender.name) == (False, "Annie")


@pytest.mark.parametrize(
    "fields",
    [
        *({"data": {"custom_id": name}} for name in ("", "x", "p:1", "p:a b:1", "p:a:100000", "P:a:1")),
        {"channel_id": None},
        {"message": None},
        {"user": None},
        {"type": 2},
    ],
    ids=str,
)
def test_presses_of_unknown_components_are_ignored(fields: dict[str, Any]) -> None:
    pressed = read_interaction(interaction(**fields))
    assert pressed is not None
    assert read_press(pressed, US, "discord") is None


@pytest.mark.parametrize("count, inputs", [(1, 1), (5, 5), (6, 1)])
def test_a_form_gives_back_what_it_shows(count: int, inputs: int) -> None:
    fields = tuple(FormField(f"field{n}", f"value {n}") for n in range(count))
    modal: Any = modal_of("k3f9a7mzq2", EditForm(fields, 3))
    assert len(modal["components"]) == inputs
    said = {"custom_id": modal["custom_id"], "components": modal["components"]}
    pressed = read_interaction(interaction(type=5, data=said))
    assert pressed is not None
    event = read_press(pressed, US, "discord")
    assert event is not None
    assert event.form is not None
    assert (event.gate_id, event.choice) == ("k3f9a7mzq2", 3)
    assert json.loads(event.form) == {field.name: field.value for field in fields}


def test_a_form_over_discords_limits_is_not_shown() -> None:
    for name, value, fits in (
        ("n" * 100, "v" * 4000, True),
        ("n" * 101, "v", False),
        ("n", "v" * 4001, False),
    ):
        assert (modal_of("k3f9a7mzq2", EditForm((FormField(name, value),), 1)) is not None) is fits


@pytest.mark.parametrize(
    "data,said",
    [
        ({"name": "stop"}, "/stop"),
        ({"name": "approve", "options": [{"name": "text", "value": "k3f9a7mzq2"}]}, "/approve k3f9a7mzq2"),
        ({"name": "approve", "options": [{"name": "other", "value": 5}]}, "/approve"),
    ],
)
def test_a_command_carries_its_options(data: dict[str, Any], said: str) -> None:
    used = read_interaction(interaction(type=2, data=data, message=None))
    assert used is not None
    event = read_command(used, US, "discord")
    assert event is not None
    assert (event.text, event.key, event.addressed) == (said, f"dc:900:i:{ID}", True)
    assert event.direct
    used = read_interaction(interaction(type=2, data=data, message=None, guild_id="3"))
    assert used is not None
    event = read_command(used, US, "discord")
    assert event is not None
    assert not event.direct
    nothing = [{"type": 3}, {"channel_id": None}, {"user": None}, {"data": {}}]
    for fields in nothing:
        used = read_interaction(interaction(**({"type": 2, "data": data} | fields)))
        assert used is None or read_command(used, US, "discord") is None, fields


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    ["id", "type", "channel_id", "author", "member", "content", "mentions", "attachments", "webhook_id",
     "edited_timestamp", "message_reference", "referenced_message", "data", "user", "token", "channel"]
)  # fmt: skip


@given(st.dictionaries(FIELDS, JSON, max_size=5))
def test_no_message_makes_the_reader_raise(fields: dict[str, Any]) -> None:
    event = read_event(message(**fields), US, "discord", CHANNEL, NOW)
    assert event is None or isinstance(event, InboundMessage | Unreadable)
    read_change(message(**fields), US, "discord", CHANNEL)


@given(st.dictionaries(FIELDS, JSON, max_size=5))
def test_no_interaction_makes_the_reader_raise(fields: dict[str, Any]) -> None:
    if (seen := read_interaction(interaction(**fields))) is not None:
        read_press(seen, US, "discord")
        read_command(seen, US, "discord")


@given(JSON)
def test_no_json_makes_the_reader_raise(payload: Any) -> None:
    read_event(payload, US, "discord", DIRECT, NOW)
    read_change(payload, US, "discord", DIRECT)
    read_interaction(payload)


SNOWFLAKES = st.integers(0, 2**64 - 1)


@given(SNOWFLAKES, SNOWFLAKES)
def test_order_keys_sort_as_ids_do(one: int, two: int) -> None:
    assert (order_key_of(str(one)) < order_key_of(str(two))) == (one < two)
    assert snowflake_of(order_key_of(str(one))) == one
    assert snowflake_at(micros_of(str(one))) <= one


def test_addresses_survive_a_round_trip() -> None:
    assert person_of(direct_address("7")) == "7"
    assert person_of(read().address) is None
    assert parse_ref(ref_of("5", "77")) == ("5", "77")


def test_unaccepted_messages_are_remembered_from_the_first() -> None:
    pending = Pending()
    for number in (11, 10, 12):
        pending.came("5", order_key_of(str(number)))
    pending.taken("5", order_key_of("10"))
    assert pending.before() == {"5": 10}
    pending.caught_up("5", 11)
    assert pending.before() == {"5": 11}
    pending.taken("5", order_key_of("12"))
    pending.taken("5", order_key_of("99"))
    assert (pending.before(), len(pending)) == ({}, 0)
