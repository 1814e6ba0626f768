"""A pytest plugin for packages that run the channel suite: `-p hubbub_testing.plugin`.

The setting `hubbub_lacks` names the points of the contract that have no meaning on the platform; the suite's
tests of these are left out.
"""

import pytest

pytest.register_assert_rewrite("hubbub_testing.contracts.channel.test_channel")
pytest_plugins = ["hubbub_testing.plugins.profile", "hubbub_testing.plugins.proof"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the setting."""
    parser.addini("hubbub_lacks", "points of the channel contract that have no meaning here", type="args")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the suite's markers, and refuse points that don't exist."""
    from hubbub_testing.contracts.channel.subject import POINTS

    config.addinivalue_line("markers", "point(name): of a channel's contract; not every stage has it")
    config.addinivalue_line("markers", "slow: takes more than a few seconds")
    if unknown := set(config.getini("hubbub_lacks")) - POINTS.keys():
        raise pytest.UsageError(f"hubbub_lacks: no such points: {', '.join(sorted(unknown))}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of what the platform lacks."""
    lacks = set(config.getini("hubbub_lacks"))
    dropped = [item for item in items if lacks & {str(mark.args[0]) for mark in item.iter_markers("point")}]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in dropped]
