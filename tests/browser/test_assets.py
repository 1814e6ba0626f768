"""The console's files, judged without a browser."""

import gzip
import re
from pathlib import Path

from tests.tree import ROOT

STATIC = ROOT / "bot" / "web" / "static"
FIRST_PAGE_BYTES = 120_000
IMPORTED = re.compile(r'from "(\.[^"]+)";$', re.MULTILINE)
LOADED = re.compile(r'(?:src|href)="/static/([^"]+)"')
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


def test_everything_is_served_by_the_hub_itself() -> None:
    assert findings(ELSEWHERE) == []


def test_the_first_page_is_small_and_the_other_pages_come_on_demand() -> None:
    """Compressed, as the hub sends it; `import()` is what comes later."""
    needed = {STATIC / "index.html"}
    waiting = [STATIC / name for name in LOADED.findall((STATIC / "index.html").read_text())]
    while waiting:
        path = waiting.pop()
        if path not in needed:
            needed.add(path)
            if path.suffix == ".js":
                waiting += [_beside(path, name) for name in IMPORTED.findall(path.read_text())]
    names = {path.relative_to(STATIC).as_posix() for path in needed}
    assert {"main.js", "pages/inbox.js", "feed.js", "event_stream.js", "console.css"} <= names
    later = {
        "pages/routines.js",
        "pages/settings.js",
        "pages/audit.js",
        "pages/system.js",
        "pages/why.js",
        "pages/tools.js",
        "pages/memory.js",
    }
    assert not names & {*later, "shortcuts.js", "worker.js"}
    assert sum(len(gzip.compress(path.read_bytes())) for path in needed) <= FIRST_PAGE_BYTES


def _beside(path: Path, name: str) -> Path:
    return (path.parent / name).resolve()


def test_the_patterns_find_what_they_are_for() -> None:
    assert MARKUP_FROM_TEXT.search("one.inner" + "HTML = text")
    assert CODE_FROM_TEXT.search("new " + "Function('x')")
    assert ELSEWHERE.search('<script src="//cdn.example.org/x.js">')
