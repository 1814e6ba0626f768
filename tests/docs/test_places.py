"""Pages for contributors name files that exist."""

import re
from pathlib import Path

import pytest

from tests.tree import ROOT

PAGES = (ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md")
_PLACE = re.compile(r"`((?:bot|channels|core|tests|docs|benchmarks)/[\w./-]+)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_place_a_page_names_is_there(page: Path) -> None:
    named = _PLACE.findall(page.read_text(encoding="utf-8"))
    assert named
    assert [place for place in named if "NAME" not in place and not (ROOT / place).exists()] == []
