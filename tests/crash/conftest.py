"""Fixtures of the crash suite."""

from collections.abc import Iterator

import pytest

from tests.crash.nursery import Nursery, open_nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """A process that forks hubs."""
    with open_nursery() as opened:
        yield opened
