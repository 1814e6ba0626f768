"""Every limit of the platform: what is taken at the limit, and what is refused one step beyond.

The comment on each case names the page (under https://docs.slack.dev) it comes from.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.webhook.async_client import AsyncWebhookClient

from tests.simulators.slack import SlackSimulator
from tests.simulators.slack.limits import (
    MAX_TEXT_CHARS,
    MAX_UPDATE_TEXT_CHARS,
    RESPONSE_URL_USES,
)
from tests.simulators_tests.slack.conftest import ANN, Slack

Json = dict[str, Any]
Blocks = Callable[[int], list[Json]]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def button(**fields: Any) -> Json:
    return {"type": "button", "text": plain("b"), **fields}


def actions(*elements: Json) -> list[Json]:
    return [{"type": "actions", "elements": list(elements)}]


def option(text: str = "o", value: str = "v") -> Json:
    return {"text": plain(text), "value": value}


def select(*options: Json) -> list[Json]:
    return actions({"type": "static_select", "options": list(options)})


def table(rows: int, columns: int, text: str = "x") -> Json:
    return {"type": "table", "rows": [[{"type": "raw_text", "text": text}] * columns] * rows}


def confirm(**changed: Json) -> Json:
    dialog = {"title": plain("t"), "text": plain("t"), "confirm": plain("y"), "deny": plain("n")}
    return {"confirm": dialog | changed}


TOO_LONG, TOO_MANY = "must be less than {} characters", "no more than {} items allowed"
BLOCKS: list[tuple[str, int, Blocks, str, str]] = [
    # /reference/block-kit/blocks
    ("blocks", 50, lambda n: [{"type": "divider"}] * n, TOO_MANY, "/blocks"),
    # /reference/block-kit/blocks/section-block
    (
        "section text",
        3000,
        lambda n: [{"type": "section", "text": mrkdwn("x" * n)}],
        TOO_LONG,
        "/blocks/0/text/text",
    ),
    (
        "section fields",
        10,
        lambda n: [{"type": "section", "fields": [mrkdwn("x")] * n}],
        TOO_MANY,
        "/blocks/0/fields",
    ),
    (
        "section field",
        2000,
        lambda n: [{"type": "section", "fields": [mrkdwn("x" * n)]}],
        TOO_LONG,
        "/blocks/0/fields/0/text",
    ),
    (
        "block_id",
        255,
        lambda n: [{"type": "divider", "block_id": "i" * n}],
        TOO_LONG,
        "/blocks/0/block_id",
    ),
    # /reference/block-kit/blocks/header-block
    (
        "header",
        150,
        lambda n: [{"type": "header", "text": plain("x" * n)}],
        TOO_LONG,
        "/blocks/0/text/text",
    ),
    # /reference/block-kit/blocks/actions-block
    ("actions", 25, lambda n: actions(*[button()] * n), TOO_MANY, "/blocks/0/elements"),
    # /reference/block-kit/blocks/context-block
    (
        "context",
        10,
        lambda n: [{"type": "context", "elements": [mrkdwn("x")] * n}],
        TOO_MANY,
        "/blocks/0/elements",
    ),
    # /reference/block-kit/blocks/markdown-block
    ("markdown", 12000, lambda n: [{"type": "markdown", "text": "x" * n}], TOO_LONG, "/blocks/0/text"),
    # /reference/block-kit/blocks/table-block
    ("table rows", 100, lambda n: [table(n, 1)], TOO_MANY, "/blocks/0/rows"),
    ("table columns", 20, lambda n: [table(1, n)], TOO_MANY, "/blocks/0/rows/0"),
    (
        "column settings",
        20,
        lambda n: [table(1, 1) | {"column_settings": [{"align": "right"}] * n}],
        TOO_MANY,
        "/blocks/0/column_settings",
    ),
    # /reference/block-kit/blocks/image-block
    (
        "image url",
        3000,
        lambda n: [{"type": "image", "image_url": "u" * n, "alt_text": "a"}],
        TOO_LONG,
        "/blocks/0/image_url",
    ),
    (
        "alt text",
        2000,
        lambda n: [{"type": "image", "image_url": "u", "alt_text": "a" * n}],
        TOO_LONG,
        "/blocks/0/alt_text",
    ),
    # /reference/block-kit/blocks/input-block
    (
        "input label",
        2000,
        lambda n: [{"type": "input", "label": plain("x" * n), "element": {"type": "plain_text_input"}}],
        TOO_LONG,
        "/blocks/0/label/text",
    ),
    # /reference/block-kit/block-elements/button-element
    (
        "button text",
        75,
        lambda n: actions(button(text=plain("x" * n))),
        TOO_LONG,
        "/blocks/0/elements/0/text/text",
    ),
    ("button value", 2000, lambda n: actions(button(value="v" * n)), TOO_LONG, "/blocks/0/elements/0/value"),
    ("button url", 3000, lambda n: actions(button(url="u" * n)), TOO_LONG, "/blocks/0/elements/0/url"),
    (
        "action_id",
        255,
        lambda n: actions(button(action_id="a" * n)),
        TOO_LONG,
        "/blocks/0/elements/0/action_id",
    ),
    (
        "accessibility label",
        75,
        lambda n: actions(button(accessibility_label="a" * n)),
        TOO_LONG,
        "/blocks/0/elements/0/accessibility_label",
    ),
    # /reference/block-kit/block-elements/select-menu-element
    ("options", 100, lambda n: select(*[option()] * n), TOO_MANY, "/blocks/0/elements/0/options"),
    (
        "placeholder",
        150,
        lambda n: actions({"type": "users_select", "placeholder": plain("x" * n)}),
        TOO_LONG,
        "/blocks/0/elements/0/placeholder/text",
    ),
    # /reference/block-kit/block-elements/overflow-menu-element
    (
        "overflow",
        5,
        lambda n: actions({"type": "overflow", "options": [option()] * n}),
        TOO_MANY,
        "/blocks/0/elements/0/options",
    ),
    # /reference/block-kit/block-elements/checkboxes-element
    (
        "checkboxes",
        10,
        lambda n: actions({"type": "checkboxes", "options": [option()] * n}),
        TOO_MANY,
        "/blocks/0/elements/0/options",
    ),
    # /reference/block-kit/composition-objects/option-object
    (
        "option text",
        75,
        lambda n: select(option(text="x" * n)),
        TOO_LONG,
        "/blocks/0/elements/0/options/0/text/text",
    ),
    (
        "option value",
        150,
        lambda n: select(option(value="v" * n)),
        TOO_LONG,
        "/blocks/0/elements/0/options/0/value",
    ),
    # /reference/block-kit/composition-objects/confirmation-dialog-object
    (
        "confirm title",
        100,
        lambda n: actions(button(**confirm(title=plain("x" * n)))),
        TOO_LONG,
        "/blocks/0/elements/0/confirm/title/text",
    ),
    (
        "confirm text",
        300,
        lambda n: actions(button(**confirm(text=plain("x" * n)))),
        TOO_LONG,
        "/blocks/0/elements/0/confirm/text/text",
    ),
    (
        "confirm button",
        30,
        lambda n: actions(button(**confirm(deny=plain("x" * n)))),
        TOO_LONG,
        "/blocks/0/elements/0/confirm/deny/text",
    ),
    # /reference/block-kit/blocks/context-actions-block
    (
        "context actions",
        5,
        lambda n: [
            {
                "type": "context_actions",
                "elements": [{"type": "icon_button", "icon": "trash", "text": plain("x")}] * n,
            }
        ],
        TOO_MANY,
        "/blocks/0/elements",
    ),
]


@pytest.mark.parametrize("limit,make,problem,pointer", [c[1:] for c in BLOCKS], ids=[c[0] for c in BLOCKS])
async def test_a_block_is_accepted_at_its_limit_and_refused_beyond(
    client: Slack, dm: str, limit: int, make: Blocks, problem: str, pointer: str
) -> None:
    await client.chat_postMessage(channel=dm, text="x", blocks=make(limit))
    with pytest.raises(SlackApiError) as refusal:
        await client.chat_postMessage(channel=dm, text="x", blocks=make(limit + 1))
    expected = problem.format(limit + 1 if problem == TOO_LONG else limit)
    answer = refusal.value.response
    assert answer["error"] == "invalid_blocks"
    assert f"[ERROR] {expected} [json-pointer:{pointer}]" in answer["response_metadata"]["messages"]
    assert f"{expected} [json-pointer:{pointer}]" in answer["errors"]


async def test_text_is_cut_at_40000_characters_with_a_warning(
    sim: SlackSimulator, client: Slack, dm: str
) -> None:
    """/changelog/2018-04-truncating-really-long-messages"""
    whole = await client.chat_postMessage(channel=dm, text="й" * MAX_TEXT_CHARS)
    assert "response_metadata" not in whole.data
    cut = await client.chat_postMessage(channel=dm, text="й" * (MAX_TEXT_CHARS + 1))
    assert cut["response_metadata"]["warnings"] == ["message_truncated"]
    assert [len(m.text) for m in sim.messages(dm)] == [MAX_TEXT_CHARS, MAX_TEXT_CHARS]


async def test_an_update_takes_4000_characters(client: Slack, dm: str) -> None:
    """/reference/methods/chat.update: msg_too_long"""
    sent = await client.chat_postMessage(channel=dm, text="x")
    await client.chat_update(channel=dm, ts=sent["ts"], text="x" * MAX_UPDATE_TEXT_CHARS)
    with pytest.raises(SlackApiError, match="msg_too_long"):
        await client.chat_update(channel=dm, ts=sent["ts"], text="x" * (MAX_UPDATE_TEXT_CHARS + 1))


Send = Callable[[Slack, str, int], Awaitable[Any]]


def send_markdown(client: Slack, dm: str, size: int) -> Awaitable[Any]:
    return client.chat_postMessage(channel=dm, markdown_text="x" * size)


def send_two_markdown_blocks(client: Slack, dm: str, size: int) -> Awaitable[Any]:
    halves = [{"type": "markdown", "text": "x" * (size - 6000)}, {"type": "markdown", "text": "x" * 6000}]
    return client.chat_postMessage(channel=dm, text="x", blocks=halves)


def send_many_sections(client: Slack, dm: str, size: int) -> Awaitable[Any]:
    sizes = [3000] * (size // 3000) + [size % 3000]
    blocks = [{"type": "section", "text": mrkdwn("x" * length)} for length in sizes]
    return client.chat_postMessage(channel=dm, text="x", blocks=blocks)


def send_table(client: Slack, dm: str, size: int) -> Awaitable[Any]:
    cells = [[{"type": "raw_text", "text": "x" * (size - 5000)}, {"type": "raw_text", "text": "x" * 5000}]]
    return client.chat_postMessage(channel=dm, text="x", blocks=[{"type": "table", "rows": cells}])


def send_tables(client: Slack, dm: str, count: int) -> Awaitable[Any]:
    return client.chat_postMessage(channel=dm, text="x", blocks=[table(1, 1) for _ in range(count)])


def send_metadata(client: Slack, dm: str, size: int) -> Awaitable[Any]:
    frame = len('{"event_type": "t", "event_payload": {"p": ""}}')
    metadata = {"event_type": "t", "event_payload": {"p": "x" * (size - frame)}}
    return client.chat_postMessage(channel=dm, text="x", metadata=metadata)


def send_metadata_type(client: Slack, dm: str, size: int) -> Awaitable[Any]:
    metadata = {"event_type": "t" * size, "event_payload": {}}
    return client.chat_postMessage(channel=dm, text="x", metadata=metadata)


def send_attachments(client: Slack, dm: str, count: int) -> Awaitable[Any]:
    return client.chat_postMessage(channel=dm, text="x", attachments=[{"text": "a"}] * count)


def announce_file(client: Slack, _dm: str, size: int) -> Awaitable[Any]:
    return client.files_getUploadURLExternal(filename="f", length=size)


def announce_snippet(client: Slack, _dm: str, size: int) -> Awaitable[Any]:
    return client.files_getUploadURLExternal(filename="f", length=size, snippet_type="python")


def describe_file(client: Slack, _dm: str, size: int) -> Awaitable[Any]:
    return client.files_getUploadURLExternal(filename="f", length=1, alt_txt="a" * size)


def read_history(client: Slack, dm: str, count: int) -> Awaitable[Any]:
    return client.conversations_history(channel=dm, limit=count)


@pytest.mark.parametrize(
    "send,limit,error",
    [
        (send_markdown, 12_000, "msg_too_long"),  # /reference/methods/chat.postMessage: markdown_text
        (
            send_two_markdown_blocks,
            12_000,
            "msg_blocks_too_long",
        ),  # /reference/block-kit/blocks/markdown-block
        (send_many_sections, 13_200, "msg_blocks_too_long"),  # seen: github.com/slackapi/bolt-js/issues/2509
        (send_table, 10_000, "invalid_blocks"),  # seen; /reference/block-kit/blocks/table-block
        (send_tables, 1, "invalid_attachments"),  # /reference/block-kit/blocks/table-block
        (send_metadata, 8 * 1024, "metadata_too_large"),  # /messaging/message-metadata; the number is seen
        (send_metadata_type, 255, "invalid_metadata_schema"),  # seen
        (send_attachments, 100, "too_many_attachments"),  # /reference/methods/chat.postMessage
        (announce_file, 1_000_000_000, "file_upload_size_restricted"),  # slack.com/help/articles/201330736
        (announce_snippet, 1_000_000, "snippet_too_large"),  # /reference/methods/files.getUploadURLExternal
        (describe_file, 1_000, "alt_txt_too_large"),  # same page
        (read_history, 999, "invalid_limit"),  # /reference/methods/conversations.history
    ],
)
async def test_a_request_is_accepted_at_its_limit_and_refused_beyond(
    client: Slack, dm: str, send: Send, limit: int, error: str
) -> None:
    await send(client, dm, limit)
    with pytest.raises(SlackApiError) as refusal:
        await send(client, dm, limit + 1)
    assert refusal.value.response["error"] == error


async def test_a_group_has_at_most_eight_others(sim: SlackSimulator, client: Slack) -> None:
    """/reference/methods/conversations.open: too_many_users"""
    users = [sim.add_user(name=f"p{number}").id for number in range(9)]
    await client.conversations_open(users=users[:8])
    with pytest.raises(SlackApiError, match="too_many_users"):
        await client.conversations_open(users=users)


@pytest.mark.parametrize(
    "limit,make,pointer",
    [
        # /reference/views
        (24, lambda n: {"title": plain("x" * n)}, "/view/title/text"),
        (24, lambda n: {"submit": plain("x" * n)}, "/view/submit/text"),
        (24, lambda n: {"close": plain("x" * n)}, "/view/close/text"),
        (3000, lambda n: {"private_metadata": "x" * n}, "/view/private_metadata"),
        (255, lambda n: {"callback_id": "x" * n}, "/view/callback_id"),
        (100, lambda n: {"blocks": [{"type": "divider"}] * n}, "/view/blocks"),
    ],
)
async def test_a_view_is_accepted_at_its_limit_and_refused_beyond(
    sim: SlackSimulator,
    client: Slack,
    limit: int,
    make: Callable[[int], Json],
    pointer: str,
) -> None:
    view = {"type": "modal", "title": plain("t"), "blocks": [{"type": "divider"}]}
    trigger = sim.new_trigger(sim.app(), sim.person(ANN))
    with pytest.raises(SlackApiError) as refusal:
        await client.views_open(trigger_id=trigger, view=view | make(limit + 1))
    assert refusal.value.response["error"] == "invalid_arguments"
    assert refusal.value.response["errors"][-1].endswith(f"[json-pointer:{pointer}]")
    await client.views_open(trigger_id=trigger, view=view | make(limit))


async def test_a_view_takes_250_kilobytes(sim: SlackSimulator, client: Slack) -> None:
    """/reference/methods/views.open: view_too_large"""
    text = {"type": "section", "text": plain("x" * 2990)}
    view = {"type": "modal", "title": plain("t"), "blocks": [text] * 90}
    with pytest.raises(SlackApiError, match="view_too_large"):
        await client.views_open(trigger_id=sim.new_trigger(sim.app(), sim.person(ANN)), view=view)
    view["blocks"] = [text] * 80
    await client.views_open(trigger_id=sim.new_trigger(sim.app(), sim.person(ANN)), view=view)


async def test_a_response_url_is_good_for_five_uses(sim: SlackSimulator, dm: str) -> None:
    """/interactivity/handling-user-interaction"""
    link = sim.new_response_url(sim.app(), sim.channel(dm), sim.person(ANN))
    hook = AsyncWebhookClient(link)
    answers = [await hook.send(text=f"n{n}") for n in range(RESPONSE_URL_USES + 1)]
    assert [answer.status_code for answer in answers] == [200] * RESPONSE_URL_USES + [404]
    assert "used_url" in answers[-1].body
    assert len(sim.ephemerals(ANN)) == RESPONSE_URL_USES


async def test_published_rate_limits_are_enforced_on_request(
    sim: SlackSimulator, client: Slack, dm: str, general: str
) -> None:
    """/apis/web-api/rate-limits: one message a second in a channel, 20 calls a minute in tier 2"""
    sim.configure(enforce_rate_limits=True)
    await client.chat_postMessage(channel=dm, text="one")
    with pytest.raises(SlackApiError) as refusal:
        await client.chat_postMessage(channel=dm, text="two")
    assert (refusal.value.response.status_code, refusal.value.response["error"]) == (429, "ratelimited")
    assert 1 <= int(refusal.value.response.headers["Retry-After"]) <= 2
    await client.chat_postMessage(channel=general, text="another channel")
    for _ in range(20):
        await client.users_list()
    with pytest.raises(SlackApiError, match="ratelimited"):
        await client.users_list()
