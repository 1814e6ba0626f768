"""Failed assertions of the stories are explained as in a test."""

import pytest

pytest.register_assert_rewrite(
    "tests.crash.crowd", "tests.crash.deliveries", "tests.crash.fired_story", "tests.crash.story"
)
