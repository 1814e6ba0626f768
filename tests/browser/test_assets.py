"""The console's files, judged without a browser."""

import re

from tests.tree import ROOT

STATIC = ROOT / "bot" / "web" / "static"
LIMIT_BYTES = 250_000
MARKUP_FROM_TEXT = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc"
)
CODE_FROM_TEXT = re.compile(r"\beval\(|new Function\(|setTimeout\(\s*[\"'`]")
ELSEWHERE = re.compile(r"""(?:src|href)="(?:https?:)?//|url\(\s*["']?(?:https?:)?//|from ["']https?:""")


def findings(pattern: re.Pattern[str]) -> list[str]:
    found: list[str] = []
    for path in sorted(STATIC.rglob("*")):
        if path.is_file():
            lines = enumerate(path.read_text().splitlines(), start=1)
            found += [
                f"{path.name}:{number}: {line.strip()}" for number, line in lines if pattern.search(line)
            ]
    return found


def test_nothing_makes_markup_or_code_of_text() -> None:
    assert findings(MARKUP_FROM_TEXT) == []
    assert findings(CODE_FROM_TEXT) == []


def test_everything_is_served_by_the_hub_itself_and_is_small() -> None:
    assert findings(ELSEWHERE) == []
    sizes = {path.name: path.stat().st_size for path in STATIC.rglob("*") if path.is_file()}
    assert len(sizes) > 20
    assert sum(sizes.values()) <= LIMIT_BYTES


def test_the_patterns_find_what_they_are_for() -> None:
    assert MARKUP_FROM_TEXT.search("one.inner" + "HTML = text")
    assert CODE_FROM_TEXT.search("new " + "Function('x')")
    assert ELSEWHERE.search('<script src="//cdn.example.org/x.js">')
