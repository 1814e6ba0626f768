"""Settings that let a run of thousands of tests end sooner: few looks for garbage, and the longest first.

Collecting makes objects that live until the run ends; looking through them again and again is a quarter of
what collecting costs. Files that take longest go first, so that none is waited for at the end.
"""

import gc
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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first; otherwise as collected."""
    items.sort(key=lambda item: _place(item.nodeid))


def _place(nodeid: str) -> int:
    return next((place for place, start in enumerate(LONGEST) if nodeid.startswith(start)), len(LONGEST))
