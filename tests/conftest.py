"""The run's own machinery; see the plugins. Fixtures of single suites live beside them."""

import pytest

# Failed assertions of the stories are explained as in a test, whichever test tells them.
pytest.register_assert_rewrite(
    "tests.crash.crowd", "tests.crash.deliveries", "tests.crash.fired_story", "tests.crash.story"
)

pytest_plugins = [
    "tests.plugins.profile",
    "tests.plugins.groups",
    "tests.plugins.pace",
    "tests.plugins.proof",
    "tests.plugins.forks",
]
