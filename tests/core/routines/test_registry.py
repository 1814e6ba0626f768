"""The webhooks that stand open, also while several are changed at once."""

from core.routine import Definition, Lightweight, Manual, Webhook
from core.routines.definitions import text_of
from core.routines.triggers import WebhookRegistry
from core.store.routine_rows import RoutineRow


def row(routine_id: str, path: str | None) -> RoutineRow:
    trigger = Manual() if path is None else Webhook(path, "hook")
    text = text_of(Definition(routine_id, trigger, Lightweight("look")), None)
    return RoutineRow(routine_id, "owner", text, True, None, None, 0, None, None, 0, 0, 0, "", None, 1, 0, 0)


def at(webhooks: WebhookRegistry, path: str) -> str | None:
    door = webhooks.at(path)
    return None if door is None else door.routine_id


def test_a_path_that_was_taken_over_stays_open() -> None:
    """The new owner of a path may be heard of before the old one is heard to have left it."""
    webhooks = WebhookRegistry()
    webhooks.changed(row("old", "pushes"))
    webhooks.changed(row("new", "pushes"))
    webhooks.changed(row("old", None))
    assert at(webhooks, "pushes") == "new"
    webhooks.deleted("old")
    assert at(webhooks, "pushes") == "new"
    webhooks.deleted("new")
    assert at(webhooks, "pushes") is None
