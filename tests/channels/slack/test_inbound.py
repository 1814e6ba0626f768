"""Slack's payloads as the hub's values, whatever they hold."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.slack.addresses import (
    address_of,
    micros_of,
    order_key_of,
    parse_address,
    parse_ref,
    ref_of,
    ts_of,
)
from channels.slack.handler import read_submission, view_of
from channels.slack.inbound import Account, plain_text, read_command, read_event, read_press
from core.clock import SECOND_US
from core.messages import ChoiceAnswer, EditForm, FormField, InboundMessage, Sender, Unreadable

US = Account("T1", "UBOT", "B1")
NOW = 1_700_000_000 * SECOND_US
TS = "1699999999.000100"
ANN = Sender("UANN", "ann")


def message(**fields: Any) -> dict[str, Any]:
    event = {"type": "message", "channel": "D1", "channel_type": "im", "user": "UANN", "text": "hi", "ts": TS}
    return {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": event | fields}


def read(**fields: Any) -> InboundMessage:
    event = read_event(message(**fields), US, "slack", NOW)
    assert isinstance(event, InboundMessage)
    return event


def test_a_private_conversation_is_one_thread() -> None:
    event = read()
    assert (event.key, event.order_key) == (f"sl:T1:m:D1:{TS}", "001699999999.000100")
    assert (event.address, event.scope, event.direct, event.addressed) == ("D1", "D1", True, True)
    assert event.sent_at == 1_699_999_999_000_100
    assert read(channel_type=None) == event, "the history does not name its kind"


@pytest.mark.parametrize(
    "fields,address,addressed,continues",
    [
        ({}, f"C1:{TS}", False, False),
        ({"text": "<@UBOT> hi"}, f"C1:{TS}", True, False),
        ({"type": "app_mention", "channel_type": None, "text": "<@UBOT> hi"}, f"C1:{TS}", True, False),
        ({"thread_ts": "1699999990.000001"}, "C1:1699999990.000001", False, True),
        (
            {"thread_ts": "1699999990.000001", "parent_user_id": "UBOT"},
            "C1:1699999990.000001",
            True,
            True,
        ),
    ],
)
def test_in_a_channel_every_message_stands_in_a_thread(
    fields: dict[str, Any], address: str, addressed: bool, continues: bool
) -> None:
    event = read(**({"channel": "C1", "channel_type": "channel"} | fields))
    assert (event.address, event.addressed, event.continues) == (address, addressed, continues)
    assert (event.below is not None) is ("parent_user_id" in fields)
    assert event.key == f"sl:T1:m:C1:{TS}"
    assert event.text == "hi"


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "UBOT"},
        {"user": "USLACKBOT"},
        {"bot_id": "B2"},
        {"user": None},
        {"subtype": "channel_join"},
        {"subtype": "message_deleted"},
        {"subtype": "bot_message"},
        {"text": "  "},
        {"hidden": True},
        {"type": "reaction_added"},
    ],
    ids=str,
)
def test_events_without_a_person_are_dropped(fields: dict[str, Any]) -> None:
    assert read_event(message(**fields), US, "slack", NOW) is None


def test_an_edit_names_its_message_and_a_link_preview_is_not_an_edit() -> None:
    inner = {
        "type": "message",
        "user": "UANN",
        "text": "better",
        "ts": TS,
        "edited": {"ts": "1700000001.000000"},
    }
    changed = read(subtype="message_changed", hidden=True, message=inner, user=None, text="")
    assert changed.key == f"sl:T1:m:D1:{TS}:e1700000001.000000"
    assert (changed.edits, changed.text) == (f"sl:T1:m:D1:{TS}", "better")
    del inner["edited"]
    assert read_event(message(subtype="message_changed", message=inner), US, "slack", NOW) is None


@pytest.mark.parametrize(
    "written,shown",
    [
        ("<@UBOT> do it", "do it"),
        ("do it, <@UBOT>", "do it,"),
        ("ask <@UBOT> and <@UANN|ann>", "ask @me and @ann"),
        ("see <#C1|general> and <!channel> &amp; &lt;b&gt;", "see #general and @channel & <b>"),
        ("they write &amp;lt;b&amp;gt;", "they write &lt;b&gt;"),
        ("<https://a.b/c|there> <https://x.y>", "there (https://a.b/c) https://x.y"),
        ("<mailto:a@b.c|a@b.c>", "a@b.c (mailto:a@b.c)"),
    ],
)
def test_text_is_read_as_people_see_it(written: str, shown: str) -> None:
    expected = shown if not written.startswith("<mailto") else "mailto:a@b.c"
    assert plain_text(written, US)[0] == expected


def test_a_press_names_its_prompt_and_the_message_it_was_on() -> None:
    payload = {
        "type": "block_actions",
        "user": {"id": "UANN", "name": "ann"},
        "container": {"channel_id": "C1", "message_ts": TS, "thread_ts": "1699999990.000001"},
        "actions": [{"action_id": "choice-1", "value": "p:k3f9a7mzq2:1", "action_ts": "1700000000.000001"}],
    }
    event = read_press(payload, US, "slack", NOW)
    assert isinstance(event, ChoiceAnswer)
    assert (event.gate_id, event.choice, event.ref) == ("k3f9a7mzq2", 1, f"C1:{TS}")
    assert event.address == "C1:1699999990.000001"
    assert event.key == f"sl:T1:i:C1:{TS}:UANN:1700000000.000001"
    apart = {"container": {"message_ts": TS}, "channel": {"id": "C1"}}
    assert getattr(read_press(payload | apart, US, "slack", NOW), "ref", None) == event.ref
    for other in (
        {"actions": [{"value": "something else"}]},
        {"actions": []},
        {"type": "view_closed"},
        {"container": {"channel_id": "C1"}},
        {"container": {"message_ts": TS}},
    ):
        assert read_press(payload | other, US, "slack", NOW) is None, other


def test_a_name_is_shown_and_stored_wherever_it_comes_from() -> None:
    name = "an\x07\ud800n"
    form = {"command": "/hubbub", "channel_id": "D1", "user_id": "UANN", "user_name": name, "trigger_id": "1"}
    press = {
        "type": "block_actions",
        "user": {"id": "UANN", "name": name},
        "container": {"channel_id": "C1", "message_ts": TS},
        "actions": [{"value": "p:k3f9a7mzq2:1"}],
    }
    view = {
        "id": "V1",
        "callback_id": "edit",
        "private_metadata": '{"gate": "k", "address": "D1", "ref": ""}',
    }
    sent = {"type": "view_submission", "user": press["user"], "view": view}
    for event in (
        read_command(form, US, "slack", NOW),
        read_press(press, US, "slack", NOW),
        read_submission(sent, US, "slack", NOW),
    ):
        assert isinstance(event, InboundMessage | ChoiceAnswer)
        assert event.sender.name.encode()
        assert "\x07" not in event.sender.name


@pytest.mark.parametrize("count, inputs", [(1, 1), (20, 20), (21, 1)])
def test_a_form_gives_back_what_it_shows(count: int, inputs: int) -> None:
    card = ChoiceAnswer(
        "k", "slack", address_of("C1", TS), ANN, "k3f9a7mzq2", 0, NOW, False, ref_of("C1", TS)
    )
    fields = tuple(FormField(f"field{n}", f"value {n}") for n in range(count))
    view: Any = view_of(card, EditForm(fields, 3))
    assert len(view["blocks"]) == inputs
    values = {
        one["block_id"]: {"value": {"value": one["element"]["initial_value"]}} for one in view["blocks"]
    }
    payload = {
        "type": "view_submission",
        "user": {"id": "UANN", "name": "ann"},
        "view": {"id": "V1", "state": {"values": values}, **view},
    }
    event = read_submission(payload, US, "slack", NOW)
    assert event is not None
    assert event.form is not None
    assert (event.gate_id, event.choice, event.address, event.ref) == (
        card.gate_id,
        3,
        card.address,
        card.ref,
    )
    assert json.loads(event.form) == {field.name: field.value for field in fields}
    payload["view"]["callback_id"] = "another program's"
    assert read_submission(payload, US, "slack", NOW) is None


def test_a_form_over_slacks_limits_is_not_shown() -> None:
    card = ChoiceAnswer(
        "k", "slack", address_of("C1", TS), ANN, "k3f9a7mzq2", 0, NOW, False, ref_of("C1", TS)
    )
    for name, value, fits in (
        ("n" * 255, "v" * 3000, True),
        ("n" * 256, "v", False),
        ("n", "v" * 3001, False),
    ):
        assert (view_of(card, EditForm((FormField(name, value),), 1)) is not None) is fits


@pytest.mark.parametrize(
    "typed,said", [("", "/help"), ("stop", "/stop"), ("status now", "status now"), ("good day", "good day")]
)
def test_a_slash_command_carries_the_typed_text(typed: str, said: str) -> None:
    form = {"command": "/hubbub", "text": typed, "channel_id": "D1", "user_id": "UANN", "trigger_id": "1.2.a"}
    event = read_command(form, US, "slack", NOW)
    assert isinstance(event, InboundMessage)
    assert (event.text, event.key, event.direct) == (said, "sl:T1:c:1.2.a", True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    ["type", "subtype", "channel", "channel_type", "user", "bot_id", "text", "ts", "thread_ts", "files",
     "edited", "hidden", "message", "parent_user_id"]
)  # fmt: skip


@given(st.dictionaries(FIELDS, JSON, max_size=5))
def test_no_event_makes_the_reader_raise(fields: dict[str, Any]) -> None:
    event = read_event(message(**fields), US, "slack", NOW)
    assert event is None or isinstance(event, InboundMessage | Unreadable)


@given(JSON)
def test_no_json_makes_the_reader_raise(payload: Any) -> None:
    read_event(payload, US, "slack", NOW)
    read_press(payload, US, "slack", NOW)


@given(st.integers(0, 10**11), st.integers(0, 999_999), st.integers(0, 10**11), st.integers(0, 999_999))
def test_order_keys_sort_as_times_do(s1: int, u1: int, s2: int, u2: int) -> None:
    one, two = f"{s1}.{u1:06d}", f"{s2}.{u2:06d}"
    assert (order_key_of(one) < order_key_of(two)) == ((s1, u1) < (s2, u2))
    assert ts_of(order_key_of(one)) == one
    assert micros_of(one) == s1 * SECOND_US + u1


def test_addresses_survive_a_round_trip() -> None:
    assert parse_address(address_of("C1", TS)) == ("C1", TS)
    assert parse_address(address_of("D1")) == ("D1", None)
    assert parse_ref(ref_of("C1", TS)) == ("C1", TS)
