"""Every limit of the platform: what is taken at the limit, and what is refused one step beyond.

Each case names the page of https://docs.discord.com/developers/ that states its limit.
"""

from collections.abc import Callable
from typing import Any

import hikari
import pytest
from hikari.api import RESTClient

from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord.limits import MAX_FILE_BYTES, MAX_REQUEST_BYTES
from tests.simulators.discord.world import Channel
from tests.simulators_tests.discord.asking import ask, mistakes
from tests.simulators_tests.discord.conftest import ANN

Json = dict[str, Any]
Body = Callable[[int], Any]


def embed(**fields: Any) -> Json:
    return {"embeds": [{"description": "d"} | fields]}


def button(**fields: Any) -> Json:
    return {"type": 2, "style": 1, "label": "l", "custom_id": "c"} | fields


def rows(count: int, per_row: int = 1) -> list[Json]:
    numbered = [[button(custom_id=f"{row}.{n}") for n in range(per_row)] for row in range(count)]
    return [{"type": 1, "components": row} for row in numbered]


def said(**fields: Any) -> Json:
    return {"content": "x"} | fields


def select(**fields: Any) -> Json:
    menu = {"type": 3, "custom_id": "c", "options": [{"label": "l", "value": "v"}]} | fields
    return said(components=[{"type": 1, "components": [menu]}])


def url_of(size: int) -> str:
    return "https://".ljust(size, "x")


def large_embeds(size: int) -> Json:
    return {"embeds": [{"description": "x" * 4096}, {"description": "x" * (size - 4096)}]}


FEWER, BETWEEN = "BASE_TYPE_MAX_LENGTH", "BASE_TYPE_BAD_LENGTH"
BUTTON_PATH = "components.0.components.0"
FIELD_PATH = "embeds.0.fields.0"
MESSAGE_LIMITS: list[tuple[str, Body, int, str, str]] = [
    ("resources/message#create-message content", lambda n: {"content": "x" * n}, 2000, "content", FEWER),
    ("resources/message#create-message content", lambda n: {"content": "🏟" * n}, 2000, "content", FEWER),
    ("resources/message#create-message nonce", lambda n: said(nonce="n" * n), 25, "nonce", FEWER),
    (
        "resources/message#create-message embeds",
        lambda n: {"embeds": [{"title": "t"}] * n},
        10,
        "embeds",
        FEWER,
    ),
    ("…#embed-object-embed-limits title", lambda n: embed(title="x" * n), 256, "embeds.0.title", FEWER),
    (
        "…#embed-object-embed-limits description",
        lambda n: embed(description="x" * n),
        4096,
        "embeds.0.description",
        FEWER,
    ),
    (
        "…#embed-object-embed-limits fields",
        lambda n: embed(fields=[{"name": "n", "value": "v"}] * n),
        25,
        "embeds.0.fields",
        FEWER,
    ),
    (
        "…#embed-object-embed-limits name",
        lambda n: embed(fields=[{"name": "x" * n, "value": "v"}]),
        256,
        f"{FIELD_PATH}.name",
        BETWEEN,
    ),
    (
        "…#embed-object-embed-limits value",
        lambda n: embed(fields=[{"name": "n", "value": "x" * n}]),
        1024,
        f"{FIELD_PATH}.value",
        BETWEEN,
    ),
    (
        "…#embed-object-embed-limits footer",
        lambda n: embed(footer={"text": "x" * n}),
        2048,
        "embeds.0.footer.text",
        BETWEEN,
    ),
    (
        "…#embed-object-embed-limits author",
        lambda n: embed(author={"name": "x" * n}),
        256,
        "embeds.0.author.name",
        BETWEEN,
    ),
    ("…#embed-object-embed-limits total", large_embeds, 6000, "embeds", "MAX_EMBED_SIZE_EXCEEDED"),
    (
        "resources/message#allowed-mentions-object users",
        lambda n: said(allowed_mentions={"users": [str(one) for one in range(n)]}),
        100,
        "allowed_mentions.users",
        FEWER,
    ),
    (
        "resources/message#allowed-mentions-object roles",
        lambda n: said(allowed_mentions={"roles": [str(one) for one in range(n)]}),
        100,
        "allowed_mentions.roles",
        FEWER,
    ),
    (
        "components/reference#action-row rows",
        lambda n: said(components=rows(n)),
        5,
        "components",
        FEWER,
    ),
    (
        "components/reference#action-row buttons",
        lambda n: said(components=rows(1, n)),
        5,
        "components.0.components",
        BETWEEN,
    ),
    (
        "components/reference#button label",
        lambda n: said(components=[{"type": 1, "components": [button(label="x" * n)]}]),
        80,
        f"{BUTTON_PATH}.label",
        FEWER,
    ),
    (
        "components/reference#custom-id",
        lambda n: said(components=[{"type": 1, "components": [button(custom_id="x" * n)]}]),
        100,
        f"{BUTTON_PATH}.custom_id",
        BETWEEN,
    ),
    (
        "components/reference#button url",
        lambda n: said(
            components=[
                {
                    "type": 1,
                    "components": [{"type": 2, "style": 5, "label": "l", "url": "https://".ljust(n, "x")}],
                }
            ]
        ),
        512,
        f"{BUTTON_PATH}.url",
        BETWEEN,
    ),
    (
        "components/reference#string-select options",
        lambda n: select(options=[{"label": "l", "value": str(one)} for one in range(n)]),
        25,
        f"{BUTTON_PATH}.options",
        BETWEEN,
    ),
    (
        "components/reference#string-select option label",
        lambda n: select(options=[{"label": "x" * n, "value": "v"}]),
        100,
        f"{BUTTON_PATH}.options.0.label",
        BETWEEN,
    ),
    (
        "components/reference#string-select option value",
        lambda n: select(options=[{"label": "l", "value": "x" * n}]),
        100,
        f"{BUTTON_PATH}.options.0.value",
        BETWEEN,
    ),
    (
        "components/reference#string-select option description",
        lambda n: select(options=[{"label": "l", "value": "v", "description": "x" * n}]),
        100,
        f"{BUTTON_PATH}.options.0.description",
        FEWER,
    ),
    (
        "components/reference#string-select placeholder",
        lambda n: select(placeholder="x" * n),
        150,
        f"{BUTTON_PATH}.placeholder",
        FEWER,
    ),
]


PAGES = [case[0] for case in MESSAGE_LIMITS]


@pytest.mark.parametrize("page,body,limit,path,code", MESSAGE_LIMITS, ids=PAGES)
async def test_a_message_is_accepted_at_its_limit_and_refused_beyond(
    sim: DiscordSimulator, hall: Channel, page: str, body: Body, limit: int, path: str, code: str
) -> None:
    where = f"/channels/{hall.id}/messages"
    status, sent, _ = await ask(sim, "POST", where, body(limit))
    assert (status, page) == (200, page)
    if path in {"content", "embeds"} or path.startswith("components"):
        edited, _, _ = await ask(sim, "PATCH", f"{where}/{sent['id']}", body(limit))
        assert edited == 200
        refused, told, _ = await ask(sim, "PATCH", f"{where}/{sent['id']}", body(limit + 1))
        assert (refused, mistakes(told, path)) == (400, [code])
    status, refusal, _ = await ask(sim, "POST", where, body(limit + 1))
    assert (status, mistakes(refusal, path)) == (400, [code])
    assert len(sim.bot_messages(hall.id)) == 1


async def test_a_library_reads_the_refusal(rest: RESTClient, hall: Channel) -> None:
    with pytest.raises(hikari.BadRequestError) as refusal:
        await rest.create_message(hall.id, "x" * 2001)
    assert refusal.value.errors == {
        "content": {
            "_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}]
        }
    }


@pytest.mark.parametrize(
    "body,path,code",
    [
        (
            said(components=[{"type": 1, "components": [button(), button()]}]),
            "components.0.components.1.custom_id",
            "COMPONENT_CUSTOM_ID_DUPLICATED",
        ),
        (said(components=[{"type": 1, "components": []}]), "components.0.components", BETWEEN),
        (
            said(components=[{"type": 1, "components": [{"type": 2, "style": 1, "label": "l"}]}]),
            f"{BUTTON_PATH}.custom_id",
            "BASE_TYPE_REQUIRED",
        ),
        (said(components=[button()]), "components.0.type", "BASE_TYPE_CHOICES"),
        (
            said(allowed_mentions={"parse": ["users"], "users": [str(ANN)]}),
            "allowed_mentions",
            "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
        ),
        ({"content": 5}, "content", "STRING_TYPE_CONVERT"),
        ({"embeds": "x"}, "embeds", "LIST_TYPE_CONVERT"),
        ({"embeds": ["x"]}, "embeds.0", "DICT_TYPE_CONVERT"),
    ],
)
async def test_other_mistakes_in_a_message_are_refused(
    sim: DiscordSimulator, hall: Channel, body: Json, path: str, code: str
) -> None:
    status, refusal, _ = await ask(sim, "POST", f"/channels/{hall.id}/messages", body)
    assert (status, code in mistakes(refusal, path)) == (400, True)


async def test_files_are_limited_by_number_and_size(sim: DiscordSimulator, hall: Channel) -> None:
    """reference#uploading-files; opcodes-and-status-codes#json 30015, 40005; create-message 25 MiB."""
    where = f"/channels/{hall.id}/messages"
    ten = {f"{n}.txt": b"1" for n in range(10)}
    assert (await ask(sim, "POST", where, files=ten))[0] == 200
    status, refusal, _ = await ask(sim, "POST", where, files=ten | {"11.txt": b"1"})
    assert (status, refusal["code"]) == (400, 30015)
    assert (await ask(sim, "POST", where, files={"a": bytes(MAX_FILE_BYTES)}))[0] == 200
    status, refusal, _ = await ask(sim, "POST", where, files={"a": bytes(MAX_FILE_BYTES + 1)})
    assert (status, refusal) == (413, {"message": "Request entity too large", "code": 40005})
    three = {name: bytes(MAX_REQUEST_BYTES // 3) for name in "abc"}
    assert (await ask(sim, "POST", where, files=three))[0] == 413  # with the form around them


async def test_descriptions_of_files_are_limited(sim: DiscordSimulator, hall: Channel) -> None:
    """resources/message#attachment-object: description, max 1024 characters."""
    where = f"/channels/{hall.id}/messages"

    def described(size: int) -> Json:
        return {"attachments": [{"id": 0, "description": "x" * size}]}

    status, sent, _ = await ask(sim, "POST", where, described(1024), files={"a.txt": b"1"})
    assert (status, len(sent["attachments"][0]["description"])) == (200, 1024)
    status, refusal, _ = await ask(sim, "POST", where, described(1025), files={"a.txt": b"1"})
    assert (status, mistakes(refusal, "attachments.0.description")) == (400, [FEWER])
    status, refusal, _ = await ask(sim, "POST", where, said(attachments=[{"id": 7}]))
    assert (status, mistakes(refusal, "attachments.0")) == (400, ["ATTACHMENT_NOT_FOUND"])


async def test_message_listings_are_limited(sim: DiscordSimulator, hall: Channel) -> None:
    """resources/message#get-channel-messages: limit 1-100, default 50."""
    for n in range(101):
        sim.user_sends_text(ANN, str(n), hall.id)
    where = f"/channels/{hall.id}/messages"
    assert len((await ask(sim, "GET", where))[1]) == 50
    assert len((await ask(sim, "GET", f"{where}?limit=100"))[1]) == 100
    status, refusal, _ = await ask(sim, "GET", f"{where}?limit=101")
    assert (status, mistakes(refusal, "limit")) == (400, ["NUMBER_TYPE_MAX"])
    status, refusal, _ = await ask(sim, "GET", f"{where}?limit=0")
    assert (status, mistakes(refusal, "limit")) == (400, ["NUMBER_TYPE_MIN"])


async def test_reaction_listings_are_limited(sim: DiscordSimulator, hall: Channel) -> None:
    """resources/message#get-reactions: limit 1-100."""
    message = sim.user_sends_text(ANN, "?", hall.id)
    for _ in range(101):
        sim.user_reacts(sim.add_user().id, message.id, "👍")
    where = f"/channels/{hall.id}/messages/{message.id}/reactions/%F0%9F%91%8D"
    assert [len((await ask(sim, "GET", where + more))[1]) for more in ("", "?limit=100")] == [25, 100]
    status, refusal, _ = await ask(sim, "GET", f"{where}?limit=101")
    assert (status, mistakes(refusal, "limit")) == (400, ["NUMBER_TYPE_MAX"])


async def test_a_message_has_at_most_twenty_reactions(
    sim: DiscordSimulator, hall: Channel, rest: RESTClient
) -> None:
    """opcodes-and-status-codes#json 30010."""
    message = sim.user_sends_text(ANN, "?", hall.id)
    for n in range(20):
        await rest.add_reaction(hall.id, message.id, chr(0x1F600 + n))
    with pytest.raises(hikari.BadRequestError) as refusal:
        await rest.add_reaction(hall.id, message.id, "🏟")
    assert refusal.value.code == 30010


async def test_names_of_threads_are_limited(sim: DiscordSimulator, hall: Channel, rest: RESTClient) -> None:
    """resources/channel#start-thread-from-message: name, 1-100 characters."""
    question = sim.user_sends_text(ANN, "?", hall.id)
    with pytest.raises(hikari.BadRequestError) as refusal:
        await rest.create_message_thread(hall.id, question.id, "x" * 101)
    assert "name" in (refusal.value.errors or {})
    thread = await rest.create_message_thread(hall.id, question.id, "x" * 100)
    assert thread.id == question.id


async def test_threads_are_archived_after_their_time(sim: DiscordSimulator, hall: Channel) -> None:
    """resources/channel#thread-metadata-object: 60, 1440, 4320 or 10080 minutes."""
    where = f"/channels/{hall.id}/threads"
    for minutes in (60, 1440, 4320, 10080):
        status, thread, _ = await ask(
            sim, "POST", where, {"name": "t", "type": 11, "auto_archive_duration": minutes}
        )
        assert (status, thread["thread_metadata"]["auto_archive_duration"]) == (201, minutes)
    status, refusal, _ = await ask(sim, "POST", where, {"name": "t", "type": 11, "auto_archive_duration": 61})
    assert (status, mistakes(refusal, "auto_archive_duration")) == (400, ["BASE_TYPE_CHOICES"])
