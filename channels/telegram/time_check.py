"""Whether this machine's clock agrees with Telegram's, by the date of an answer. Pure."""

from email.utils import parsedate_to_datetime

from core.clock import SECOND_US

SKEW_LIMIT_S = 60
"""Clocks of machines that are kept in time agree within a second; signatures are good for minutes."""


def clock_remark(now: int, answer_date: str | None) -> str | None:
    """What to say of a clock that is wrong; None if it is right, or nothing is known.

    `now`: microseconds UTC; `answer_date`: an HTTP date of this moment, by Telegram's clock.
    """
    try:
        theirs_s = parsedate_to_datetime(answer_date or "").timestamp()
    except ValueError:
        return None
    skew_s = now / SECOND_US - theirs_s
    if abs(skew_s) <= SKEW_LIMIT_S:
        return None
    word = "ahead of" if skew_s > 0 else "behind"
    return f"this machine's clock is {abs(skew_s):.0f} s {word} Telegram's; set it, for example by NTP"
