"""Limits that tests take from the product stand here as numbers: whoever changes one does so on purpose."""

import ast
import importlib
from collections.abc import Iterator

import pytest

from tests.tree import ROOT

NUMBERS = {
    "core.sandbox.disk.BEYOND_BYTES": 4_000_000,
    "core.sandbox.disk.FIRST_PROJECT": 1073741824,
    "core.sandbox.policy.MB": 1_000_000,
    "core.sandbox.provider_wire.OUTPUT_TOKENS": 16_000,
    "channels.delivery.INTERVAL_S": 1.0,
    "channels.sender.PACED_SHARE": 3,
    "core.runs.context.SHORTENED_EVERY_TURNS": 5,
    "bot.terminal.terminal.HISTORY_LIMIT_BYTES": 262_144,
    "bot.runtime.USAGE": 2,
    "bot.jobs.job_socket.BACKLOG": 16,
    "bot.config.place.ANSWER_LIMIT_S": 15.0,
    "bot.jobs.job_socket.MAX_LOGGED": 100,
    "bot.jobs.upkeep.MAX_SAMPLES": 120,
    "core.store.sql.job_containers.MAX_ASKED": 8,
    "core.tools.web_client.ANSWER_LIMIT_BYTES": 5_000_000,
    "bot.config.keys.KEY_BYTES": 32,
    "bot.config.policy.LIMIT_BYTES": 32_768,
    "bot.timers.LOOK_S": 20.0,
    "bot.web.responses.BODY_LIMIT_BYTES": 524_288,
    "bot.web.responses.BODY_LIMIT_S": 10.0,
    "bot.live.EVENTS_LIMIT": 256,
    "bot.live.MAX_OF_ONE": 32,
    "core.extension.MAX_OF_ONE_PERSON": 20,
    "bot.live.MAX_SUBSCRIBERS": 256,
    "bot.web.files.LIFE_S": 2_592_000,
    "bot.web.webhooks.AT_ONCE": 60,
    "bot.web.webhooks.A_SECOND": 20,
    "bot.web.webhooks.BODY_LIMIT_BYTES": 524_288,
    "bot.web.webhooks.MAX_READ": 32,
    "channels.text.markdown.MAX_CHARS": 100_000,
    "channels.text.markdown.MAX_NESTING": 100,
    "channels.text.markdown.MAX_OPEN_BRACKETS": 32,
    "channels.delivery.MAX_PRERENDERED": 64,
    "channels.sender.MAX_ROWS": 100,
    "channels.text.layout.MAX_PADDED_COLUMNS": 40,
    "channels.telegram.inbound.DOWNLOAD_LIMIT_BYTES": 20_971_520,
    "core.runs.reply_stream.SHOWN_LIMIT_CHARS": 65_536,
    "core.runs.runner.THREAD_LIMIT_CHARS": 250_000,
    "core.clock.SECOND_US": 1_000_000,
    "core.store.sql.people.UNDO_US": 300_000_000,
    "core.consent.cards.DETAIL_LIMIT_CHARS": 2_000,
    "core.hooks.summaries.TRANSCRIPT_LIMIT_CHARS": 24_000,
    "core.inbound.credentials.VALUE_LIMIT_BYTES": 8_192,
    "core.inbound.credentials.WAITS_US": 300_000_000,
    "core.people.pairing.GUESSES_EACH": 5,
    "core.people.pairing.GUESSES_IN_ALL": 60,
    "core.people.pairing.KEPT_PER_MINUTE": 10,
    "core.people.pairing.OPEN_CODES": 3,
    "core.people.pairing.TOLD_LIMIT": 30,
    "core.messages.EDIT": -1,
    "core.model.provider.CALLS_LIMIT": 128,
    "core.model.provider.REPLY_LIMIT_CHARS": 1_048_576,
    "core.model.provider_data.EVENT_LIMIT_BYTES": 1_048_576,
    "core.runs.services.MAX_IMAGE_BYTES": 3_900_000,
    "core.messages.SHOWN_NAME_CHARS": 80,
    "core.runs.recovery.CRASH_LIMIT": 3,
    "core.runs.context.VERBATIM_TURNS": 10,
    "core.runs.context.RESULT_HEAD_CHARS": 400,
    "core.runs.context.RESULT_TAIL_CHARS": 200,
    "core.runs.loop.MAX_NUDGES": 2,
    "core.runs.attempts.LONGEST_WAIT_S": 60.0,
    "core.runs.attempts.MAX_FAILED_ATTEMPTS": 8,
    "core.runs.attempts.MAX_FAILED_S": 180.0,
    "core.runs.attempts.MAX_TRIES": 4,
    "core.runs.attempts.PATIENCE_S": 5.0,
    "core.runs.model_list.COOLED_AFTER": 3,
    "core.runs.model_list.FIRST_COOLDOWN_S": 60.0,
    "core.runs.model_list.FIRST_OPEN_S": 30.0,
    "core.runs.model_list.LONGEST_COOLDOWN_S": 900.0,
    "core.runs.model_list.LONGEST_OPEN_S": 300.0,
    "core.runs.model_list.OPENS_AFTER": 5,
    "core.runs.model_list.REJECTED_KEY_REST_S": 3_600.0,
    "core.runs.registry.MAX_FAILURES_KEPT": 20,
    "core.runs.workspace_texts.MAX_ACTIVE": 3,
    "core.runs.workspace_texts.DOCUMENT_LIMIT_CHARS": 12_000,
    "core.runs.workspace_texts.MAX_SKILLS": 64,
    "core.job.MAX_QUEUED_EACH": 200,
    "core.routine.MAX_INPUT_CHARACTERS": 16_000,
    "core.routines.trial.MAX_A_DAY": 24,
    "core.routines.trial.SHOWN_A_DAY": 3,
    "core.routines.schedule.MAX_COUNTED": 1_000,
    "core.routines.webhooks.WINDOW_S": 300,
    "core.routines.notices.MAX_AN_HOUR": 20,
    "core.safety.paths.CONTENT_LIMIT_BYTES": 5_000_000,
    "core.safety.fencing.RESULT_LIMIT_CHARS": 32_000,
    "core.safety.confusables.MAX_NAMED": 12,
    "core.safety.path_names.MAX_DEPTH": 64,
    "core.safety.shell.lexer.MAX_LINE_CHARS": 16_000,
    "core.safety.tool_settings.FOLDER_COSTS_ENTRIES": 5,
    "core.safety.tool_settings.MAX_ENTRIES": 2_000,
    "core.safety.tool_settings.MAX_FILES": 20,
    "core.safety.tool_settings.MAX_SETTINGS_BYTES": 64_000,
    "core.store.facets.HELD": 4_611_686_018_427_387_904,
    "core.store.lease.LEASE_S": 30.0,
    "core.store.accounts.CODE_LIFE_US": 900_000_000,
    "core.store.accounts.INVITATION_LIFE_US": 259_200_000_000,
    "core.store.sqlite.store.GROUP_LIMIT": 256,
    "core.store.sqlite.store.LINGER_S": 0.005,
    "core.store.sqlite.store.QUEUE_LIMIT": 1_024,
    "core.tools.builtin.basics.LABEL_LIMIT_CHARS": 60,
    "core.tools.builtin.basics.MAX_CHOICES": 10,
    "core.tools.mcp.connection.LINE_LIMIT_BYTES": 4_194_304,
    "core.tools.mcp.connection.WINDOW_LIMIT_BYTES": 16_777_216,
    "core.tools.mcp.connection.WINDOW_LIMIT_LINES": 2_000,
    "core.tools.mcp.connection.WINDOW_S": 10.0,
    "core.tools.mcp.connection.ANSWER_LIMIT_BYTES": 4_194_304,
    "core.tools.mcp.connection.ANSWER_LIMIT_EVENTS": 1_000,
    "core.tools.mcp.connection.ANSWER_LIMIT_VALUES": 50_000,
    "bot.mcp.session.MAX_BLOCKS": 1_000,
    "core.tools.mcp.catalog.ALL_SPECS_BYTES": 65_536,
    "core.tools.mcp.catalog.DESCRIPTION_CHARS": 1_000,
    "core.tools.mcp.catalog.MAX_LISTED": 512,
    "core.tools.mcp.catalog.MAX_TOOLS": 64,
    "core.tools.mcp.schemas.LIMIT_BYTES": 16_384,
    "core.tools.mcp.schemas.MAX_STEPS": 5_000,
    "core.tools.mcp.server.LONGEST_PAUSE_S": 300.0,
    "core.tools.web_client.HTML_LIMIT_CHARS": 1_000_000,
    "core.vault.VALUE_LIMIT_BYTES": 8_192,
}
"""Each constant that a test imports, by its full name."""


def imported() -> Iterator[tuple[str, int | float]]:
    """Every number in capitals that a test imports from the product, by its full name."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            if node.module.split(".")[0] not in {"bot", "channels", "core"}:
                continue
            for name in (alias.name for alias in node.names if alias.name.isupper()):
                value = getattr(importlib.import_module(node.module), name)
                if isinstance(value, int | float):
                    yield f"{node.module}.{name}", value


def test_every_limit_that_tests_take_from_the_product_is_written_out() -> None:
    found = dict(imported())
    assert len(found) > 50
    assert sorted(found.keys() - NUMBERS.keys()) == [], (
        "add them to NUMBERS, each with the value it should have"
    )
    assert sorted(NUMBERS.keys() - found.keys()) == [], "no test imports them any more"


@pytest.mark.parametrize("name", NUMBERS)
def test_each_limit_has_the_expected_number(name: str) -> None:
    module, _, constant = name.rpartition(".")
    assert getattr(importlib.import_module(module), constant) == NUMBERS[name]
