"""The run's own machinery; see the plugins. Fixtures of single suites live beside them."""

pytest_plugins = [
    "tests.plugins.profile",
    "tests.plugins.groups",
    "tests.plugins.pace",
    "tests.plugins.proof",
]
