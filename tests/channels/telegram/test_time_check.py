"""When a clock is said to be wrong."""

import pytest

from channels.telegram.channel import clock_remark

NOON = "Sun, 22 Nov 2026 12:00:00 GMT"
NOON_US = 1_795_348_800_000_000


@pytest.mark.parametrize(
    "off_s, said",
    [
        (0, None),
        (60, None),
        (-60, None),
        (61, "this machine's clock is 61 s ahead of Telegram's; correct it, for example with NTP"),
        (-600, "this machine's clock is 600 s behind Telegram's; correct it, for example with NTP"),
    ],
)
def test_a_clock_difference_of_a_minute_is_tolerated(off_s: int, said: str | None) -> None:
    assert clock_remark(NOON_US + off_s * 1_000_000, NOON) == said


@pytest.mark.parametrize("date", [None, "", "yesterday", "Sun, 99 Nov 2026 12:00:00 GMT"])
def test_without_a_date_no_clock_difference_is_reported(date: str | None) -> None:
    assert clock_remark(NOON_US, date) is None
