"""Command lines by an outsider: half of them decided before the rating was read, half written against it."""

from core.safety.shell import rate_command_line
from tests.core.safety.shell_table import THIRD, THIRD_CLASSES, read_table
from tests.core.safety.shell_wrappings import around, look_lower
from tests.plugins.profile import Profile

TABLE = read_table(THIRD, THIRD_CLASSES)
HARMFUL = (*TABLE["harmful"], *TABLE["harmful-known"])
EVERYDAY = (*TABLE["everyday"], *TABLE["everyday-known"])


def test_the_third_table_is_large_and_not_the_second_again() -> None:
    second = {line for lines in read_table().values() for line in lines}
    assert len(set(TABLE["harmful"]) - second) >= 60
    assert len(set(TABLE["everyday"]) - second) >= 60


def test_nothing_harmful_is_below_what_asks_every_time() -> None:
    assert [line for line in HARMFUL if not rate_command_line(line).high] == []


def test_everyday_work_is_not_rated_high() -> None:
    assert [line for line in EVERYDAY if rate_command_line(line).high] == []


def test_no_disguise_of_the_third_table_rates_lower(profile: Profile) -> None:
    step = profile.pick(test=80, ci=8, proof=1)
    assert look_lower(HARMFUL[profile.seed % step :: step], around) == []
