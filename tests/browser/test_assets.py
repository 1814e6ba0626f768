"""The console's files, judged without a browser."""

import gzip
import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.plugins.groups import node_of_the_environment
from tests.tree import ROOT

STATIC = ROOT / "bot" / "web" / "static"
FIRST_PAGE_BYTES = 120_000
IMPORTED = re.compile(r'from "(\.[^"]+)";$', re.MULTILINE)
LOADED = re.compile(r'(?:src|href)="/static/([^"]+)"')
MARKUP_FROM_TEXT = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc"
)
CODE_FROM_TEXT = re.compile(r"\beval\(|new Function\(|setTimeout\(\s*[\"'`]")
FAULTS = {
    "export const a = 1; b();": "1: b is not defined",
    "export const a = ({ c = d }) => c;": "1: d is not defined",
    "export function a() {\n  { const b = 1; a(b); }\n  return b;\n}": "3: b is not defined",
    "export const a = (b) => b.c.d;\nfunction e() {}": "2: e is not used",
    'import { b } from "./b.js";\nexport const a = 1;': "1: b is not used",
    'import { c } from "./b.js";\nexport const a = c;': "1: ./b.js exports no c",
    'export const a = async () => (await import("./b.js")).d;': "1: ./b.js exports no d",
    'import { b } from "./c.js";\nexport const a = b;': "1: ./c.js is no module",
    "export const a = ;": " Unexpected token (1:17)",
    "export const a = b.#c;": " Private field '#c' must be declared in an enclosing class (1:19)",
}
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
    assert not names & {*later, "shortcuts.js", "math.js", "worker.js"}
    assert sum(len(gzip.compress(path.read_bytes())) for path in needed) <= FIRST_PAGE_BYTES


def unread(files: Iterable[Path]) -> list[str]:
    """Return what is wrong with the names in JavaScript modules."""
    node = node_of_the_environment()
    assert node is not None, "Node is in the lock of the tests: make install-dev"
    checker = Path(__file__).with_name("undefined_names.cjs")
    command = [node, "--expose-internals", checker, *files]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    found: list[str] = json.loads(ended.stdout)
    return found


def test_every_name_in_the_console_is_defined_and_used() -> None:
    assert unread(sorted(STATIC.rglob("*.js"))) == []


def test_wrong_names_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.js").write_text("export const b = 1;")
    for number, text in enumerate(FAULTS):
        (tmp_path / f"a{number}.js").write_text(text)
    wanted = [f"a{number}.js:{what}" for number, what in enumerate(FAULTS.values())]
    assert sorted(unread(tmp_path.iterdir())) == sorted(wanted)


def _beside(path: Path, name: str) -> Path:
    return (path.parent / name).resolve()


def test_the_markup_patterns_find_their_examples() -> None:
    assert MARKUP_FROM_TEXT.search("one.inner" + "HTML = text")
    assert CODE_FROM_TEXT.search("new " + "Function('x')")
    assert ELSEWHERE.search('<script src="//cdn.example.org/x.js">')
