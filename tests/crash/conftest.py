"""Fixtures of the crash suite."""

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite(
    "tests.crash.crowd", "tests.crash.deliveries", "tests.crash.fired_story", "tests.crash.story"
)

from tests.crash.nursery import Nursery, open_nursery  # noqa: E402 - what it imports is to be rewritten, too


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """A process that forks hubs."""
    with open_nursery() as opened:
        yield opened
