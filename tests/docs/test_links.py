"""Links of a page lead somewhere: other pages, their headings, files of the project."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.docs.reading import Written, pages
from tests.tree import ROOT, project_files

ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")
MARKDOWN = MarkdownIt("commonmark").enable("table")


def links(page: Path) -> Iterator[Written]:
    """Every link and picture of a page, with the line its paragraph begins at."""
    for block in MARKDOWN.parse((ROOT / page).read_text()):
        for token in block.children or []:
            if token.type in {"link_open", "image"}:
                leads_to = token.attrs["href" if token.type == "link_open" else "src"]
                yield Written(str(page), (block.map or [0])[0] + 1, str(leads_to))


def anchors(page: Path) -> set[str]:
    """The names under which a page's headings are reached."""
    tokens = MARKDOWN.parse((ROOT / page).read_text())
    titles = [after.content for token, after in itertools.pairwise(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def target(link: Written) -> tuple[Path, str]:
    """The file a link leads to, by its path in the project, and the heading in it."""
    path, _, anchor = link.text.partition("#")
    page = Path(link.page)
    if not path:
        return page, anchor
    return ((ROOT / page).parent / path).resolve().relative_to(ROOT), anchor


def test_headings_are_named_as_the_pages_name_them() -> None:
    assert {"who-has-access", "tokens-and-keys"} <= anchors(Path("docs/security.md")) | anchors(
        Path("docs/configuration.md")
    )


@pytest.mark.parametrize("page", pages(), ids=str)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    files = set(project_files())
    for link in links(page):
        if ELSEWHERE.match(link.text):
            continue
        path, anchor = target(link)
        assert path in files, str(link)
        assert not anchor or anchor in anchors(path), str(link)


def test_every_page_is_reached_from_the_readme() -> None:
    reached, todo = set[Path](), [Path("README.md")]
    while todo:
        page = todo.pop()
        if page in reached:
            continue
        reached.add(page)
        found = [target(link)[0] for link in links(page) if not ELSEWHERE.match(link.text)]
        todo += [path for path in found if path.suffix == ".md"]
    assert set(pages()) <= reached
