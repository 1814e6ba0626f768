"""Pictures of docs/first-ten-minutes.md: both of each pair, small, and shown; the other rows are named."""

import re

from tests.tree import ROOT

PAGE = ROOT / "docs" / "first-ten-minutes.md"
LIMIT_BYTES = 40_000


def test_each_defect_has_both_pictures_or_is_named_as_without() -> None:
    facts, _, rest = PAGE.read_text().partition("## Before and after")
    pairs, _, without = rest.partition("## Without pictures")
    known = set(re.findall(r"\bB\d+\b", " ".join(re.findall(r"(?m)^\| (B\d+(?:, B\d+)*):", facts))))
    shown = re.findall(r"\]\(img/first-ten-minutes/(b\d+)-(before|after)\.(?:png|svg)\)", pairs)
    drawn = {number.upper() for number, _ in shown}
    assert sorted(shown) == sorted((one.lower(), moment) for one in drawn for moment in ("before", "after"))
    assert drawn.isdisjoint(named := set(re.findall(r"\bB\d+\b", without)))
    assert drawn | named == known
    files = [PAGE.parent / name for name in re.findall(r"img/first-ten-minutes/[^)]+", pairs)]
    assert sorted(files) == sorted((PAGE.parent / "img" / "first-ten-minutes").iterdir())
    assert [one.name for one in files if one.stat().st_size > LIMIT_BYTES] == []
