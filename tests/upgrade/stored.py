"""The stored state of a hub and its platform: the database as SQL, small files, and Telegram's side of it."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.simulators.telegram import TelegramSimulator
from tests.simulators.telegram.world import SUPERGROUP, Message, Topic

FIXTURES = {schema: Path(__file__).parent / f"schema{schema}" for schema in (20, 21)}
"""What hubs of these schemas left when they were killed in mid-work."""
KEPT = ("hub.key", "vault.key", "audit.heads")
"""The files of the data directory besides the database that outlive a hub."""
WORKSPACE = Path("/tmp/hubbub-upgraded-workspace")
"""Consent is bound to the workspace's path, so the hub of the fixture and today's need the same one."""
TOKEN, KEY = "123456:AAE-a-token-of-the-usual-length-0123456", "model-key"
OLIVIA, BEN, LEA, DAN, EVA = 7, 8, 9, 10, 11
PEOPLE = {OLIVIA: "Olivia", BEN: "Ben", LEA: "Lea", DAN: "Dan", EVA: "Eva"}
_TELEGRAM = "telegram.json"
_DIRECTORY, _TELEGRAM_URL, _MODEL_URL = "@DIRECTORY@", "@TELEGRAM@", "@MODEL@"
LEA_PLACE = "@LEA@"
CONFIG = f"""
[hub]
data_dir = "{_DIRECTORY}/data"
owner_identities = ["telegram:{OLIVIA}"]
[http]
port = 0
[workspace]
dir = "{WORKSPACE}"
[[models]]
name = "main"
provider = "openai"
model = "sim-1"
base_url = "{_MODEL_URL}"
api_key = "{KEY}"
[channels.telegram]
platform = "telegram"
token = "{TOKEN}"
direct = "pairing"
groups = "all"
api_base_url = "{_TELEGRAM_URL}"
[roles.member]
tools = ["shell", "write_file", "time"]
[teams.ops]
users = ["owner", "{LEA_PLACE}"]
[approvals]
max_rounds = 3
[[approvals.rules]]
tool = "write_file"
approvers = "team:ops"
quorum = 2
"""


def write_config(text: str, directory: Path, telegram_url: str, model_url: str) -> None:
    """Write the hub's configuration for these surroundings."""
    text = text.replace(_DIRECTORY, str(directory)).replace(_TELEGRAM_URL, telegram_url)
    (directory / "hubbub.toml").write_text(text.replace(_MODEL_URL, model_url))


# --- the database ----------------------------------------------------------------------------------------


def dump(database: Path) -> str:
    """Return SQL that makes the database anew, its version and its search index included."""
    with closing(sqlite3.connect(database)) as connection:
        return "".join(f"{line}\n" for line in _dumped(connection))


def _dumped(connection: sqlite3.Connection) -> Iterator[str]:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
    virtual = [name for name, sql in tables if sql.startswith("CREATE VIRTUAL")]
    made_by_others = [n for n, _ in tables if any(n.startswith(f"{v}_") for v in virtual)]
    yield "PRAGMA foreign_keys = OFF;\nBEGIN;"
    for name, sql in tables:
        if name not in made_by_others and name != "sqlite_sequence":
            yield f"{sql};"
    for name, _ in tables:
        if name not in virtual:
            yield f"DELETE FROM {name};"
            columns = ", ".join(
                f"quote({row[1]})" for row in connection.execute(f"PRAGMA table_info({name})")
            )
            for row in connection.execute(f"SELECT {columns} FROM {name}"):
                yield f"INSERT INTO {name} VALUES ({', '.join(row)});"
    for (sql,) in connection.execute(
        "SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
    ):
        yield f"{sql};"
    yield f"PRAGMA user_version = {version};\nCOMMIT;"


def load(script: Path, database: Path) -> None:
    """Make a database from what `dump` returned."""
    database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(script.read_text(encoding="utf-8"))
    database.chmod(0o600)


# --- the platform ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """The state of Telegram at the kill. `made_at_s`: the time then; `topics`: ids of the forum's by name.
    A hub takes an update or a press with a known id for the old one once more, so both count on."""

    made_at_s: float
    forum: int
    next_update_id: int
    next_callback_id: int
    topics: dict[str, int]
    messages: list[dict[str, Any]]


def store_telegram(fixture: Path, telegram: TelegramSimulator, forum: int, made_at_s: float) -> None:
    """Store everything that the bot and the people said."""
    chats = [telegram.chat(forum), *(telegram.chat(person) for person in PEOPLE)]
    shown = Shown(
        made_at_s,
        forum,
        max(record.update_id for record in telegram.updates()) + 1,
        max(int(query.id) for query in telegram.callback_queries()) + 1,
        {topic.name: topic.id for topic in telegram.chat(forum).topics.values()},
        [_stored(message) for chat in chats for message in chat.messages.values()],
    )
    (fixture / _TELEGRAM).write_text(json.dumps(asdict(shown), indent=0, ensure_ascii=False) + "\n")


def _stored(message: Message) -> dict[str, Any]:
    assert message.sender is not None
    said = {"chat": message.chat.id, "id": message.id, "sender": message.sender.id, "date": message.date}
    return said | {
        "content": message.content,
        "topic_id": message.topic_id,
        "keyboard": message.keyboard,
        "deleted": message.deleted,
        "request": None if message.request is None else 0,
    }


def stored_telegram(fixture: Path) -> Shown:
    """Return what `store_telegram` stored."""
    return Shown(**json.loads((fixture / _TELEGRAM).read_text()))


def restore_telegram(telegram: TelegramSimulator, shown: Shown) -> None:
    """Give a new simulator bot, people, chats and all that was said. Nothing is delivered again."""
    world = telegram.world
    bot = telegram.add_bot(TOKEN, can_read_all_group_messages=True, first_update_id=shown.next_update_id)
    for person, name in PEOPLE.items():
        telegram.add_user(person, first_name=name)
        bot.started_by.add(person)
    forum = world.add_chat(SUPERGROUP, "House", chat_id=shown.forum, is_forum=True)
    members = dict.fromkeys(PEOPLE, "member")
    forum.members = {**members, OLIVIA: "creator", bot.id: "administrator"}
    forum.topics = {number: Topic(number, name) for name, number in shown.topics.items()}
    chats = {forum.id: forum} | {user: world.private_chat(bot, telegram.person(user)) for user in PEOPLE}
    for stored in sorted(shown.messages, key=lambda stored: int(stored["id"])):
        said = dict(stored)
        chat = chats[said.pop("chat")]
        sender, number = said.pop("sender"), said.pop("id")
        by = bot.user if sender == bot.id else telegram.person(sender)
        message = world.add_message(chat, by, said.pop("date"), said.pop("content"), **said)
        assert message.id == number, "ids come without a gap, in order"
