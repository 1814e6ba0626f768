"""Settings that let a run of thousands of tests end sooner: few looks for garbage, and the longest first; and
that let it end at all where a failed test has left a thread running, such as that of a store.

Collecting makes objects that live until the run ends; looking through them again and again is a quarter of
what collecting costs. Files that take longest go first, so that none is waited for at the end.
"""

import gc
import os
import sys
from collections.abc import Generator

import pytest

LONGEST = (
    "tests/upgrade/",
    "tests/contracts/channel/",
    "tests/scenarios/test_model_failures.py",
    "tests/scenarios/test_sign_in.py",
    "tests/architecture/",
    "tests/crash/",
    "tests/browser/",
    "tests/bot/",
    "tests/everywhere/",
    "tests/core/model/test_cleaning.py",
    "tests/channels/test_discord_rendering.py",
    "tests/simulators_tests/",
    "tests/channels/text/test_rendered_markdown.py",
    "tests/scenarios/",
)
"""Where the tests are that take longest, the longest first."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """No looks for garbage while tests are collected; afterwards none at what was."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


FAILED = pytest.StashKey[pytest.Session]()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep what failed; workers are ended by the process that started them."""
    if session.testsfailed and not hasattr(session.config, "workerinput"):
        session.config.stash[FAILED] = session


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End a run that failed without waiting for threads: those who would end them did not come to it."""
    if FAILED in config.stash:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(config.stash[FAILED].exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first; otherwise as collected."""
    items.sort(key=lambda item: _place(item.nodeid))


def _place(nodeid: str) -> int:
    return next((place for place, start in enumerate(LONGEST) if nodeid.startswith(start)), len(LONGEST))
