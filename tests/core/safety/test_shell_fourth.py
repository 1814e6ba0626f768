"""Command lines by somebody who reviews what a hub may be talked into: harm, and daily work."""

from core.safety.shell import rate_command_line
from tests.core.safety.shell_table import FOURTH, FOURTH_CLASSES, read_table
from tests.core.safety.shell_wrappings import around, look_lower
from tests.plugins.profile import Profile

TABLE = read_table(FOURTH, FOURTH_CLASSES)
HARMFUL = (*TABLE["harmful"], *TABLE["harmful-known"])
EVERYDAY = (*TABLE["everyday"], *TABLE["everyday-known"])


def test_nothing_harmful_is_below_what_asks_every_time() -> None:
    assert [line for line in HARMFUL if not rate_command_line(line).high] == []


def test_everyday_work_is_not_rated_high() -> None:
    assert [line for line in EVERYDAY if rate_command_line(line).high] == []


def test_what_is_left_at_asking_is_known() -> None:
    """Each of these is asked about until its person said "always" to it."""
    assert [line for line in TABLE["asked"] if rate_command_line(line).high] == []


def test_a_grant_of_a_reading_program_reads_no_secrets_of_others() -> None:
    """`cat`, `grep` and `kubectl get` are granted by their names: what such a grant may not cover is high."""
    for line in (
        "cat /pro?/self/environ",
        "cat /proc/1/*",
        "grep -r TOKEN /proc",
        "kubectl get secret x",
        "rg t ~",
    ):
        assert rate_command_line(line).high, line


def test_no_disguise_of_the_fourth_table_rates_lower(profile: Profile) -> None:
    step = profile.pick(test=80, ci=8, proof=1)
    assert look_lower(HARMFUL[profile.seed % step :: step], around) == []
