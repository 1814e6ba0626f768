"""The check that ends every scenario must itself be able to fail."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.harness.answers import unanswered
from tests.harness.telegram_hub import OWNER, open_hub

STRANGER = 8


async def test_events_missing_from_why_are_named(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra='groups = "addressed"') as house:
        house.telegram.add_user(STRANGER, first_name="Stan")
        house.telegram.bot().can_read_all_group_messages = True
        group = house.telegram.create_group("Two", [OWNER, STRANGER]).id
        sent = house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_text(OWNER, "You said: hello")
        house.telegram.user_edits_text(OWNER, sent.id, "hello again")
        said = house.telegram.user_sends_text(STRANGER, "nobody was asked", chat_id=group)
        moved = house.telegram.group_migrates(group)
        house.telegram.inject_update({"message": []})
        await house.telegram.wait_confirmed()
        updates = house.telegram.updates()
        await house.stop()
        assert await unanswered(house.database, updates) == []
        raw = next(update for update in updates if update.kind == "raw")
        for line, key in (
            ("DELETE FROM inbox WHERE key LIKE '%:e%'", f"tg:123456:m:{OWNER}:{sent.id}:e"),
            ("DELETE FROM inbox WHERE outcome LIKE 'ignored: not%'", f"tg:123456:m:{group}:{said.id}"),
            ("DELETE FROM inbox WHERE key LIKE '%:mv:%'", f"tg:123456:mv:{group}:{moved.id}"),
            ("DELETE FROM inbox WHERE outcome = 'failed: unreadable'", f"raw update {raw.update_id}"),
        ):
            with closing(sqlite3.connect(house.database)) as database, database:
                assert database.execute(line).rowcount > 0, line
            assert (await unanswered(house.database, updates))[-1] == key
        house.telegram.log.updates.clear()  # what was taken out here is nothing to be missed at the end
