"""Reads the project's pages for what somebody may copy from them: commands, make targets, configuration."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.tree import ROOT, project_files

SHELL = ("", "sh", "bash", "console")
_COMMENT = re.compile(r"\s+#.*$")
_HUBBUB = re.compile(r"(?:\.venv/bin/)?hubbub")
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_]*(?:=.*)?|.*….*|.*\|.*")


@dataclass(frozen=True, slots=True)
class Written:
    """Something that stands on a page."""

    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


def pages() -> list[Path]:
    """Every Markdown page for people, by its path in the project."""
    places = {"README.md", "docs"}
    return [path for path in project_files() if path.suffix == ".md" and path.parts[0] in places]


def code(page: Path) -> Iterator[tuple[str, Written]]:
    """Blocks and spans of code: the block's language ("span" for a span), and what it says."""
    tokens = MarkdownIt("commonmark").enable("table").parse((ROOT / page).read_text())
    yield from _of(tokens, str(page), 0)


def _of(tokens: list[Token], page: str, line: int) -> Iterator[tuple[str, Written]]:
    for token in tokens:
        at = token.map[0] + 1 if token.map else line
        if token.type == "fence":
            yield token.info.strip(), Written(page, at, token.content)
        elif token.type == "code_inline":
            yield "span", Written(page, at, token.content)
        yield from _of(token.children or [], page, at)


def shell_lines() -> Iterator[Written]:
    """Every line of a shell block, and every span that may be one; without prompts and comments."""
    for page in pages():
        for language, written in code(page):
            if language not in (*SHELL, "span"):
                continue
            for offset, line in enumerate(written.text.splitlines()):
                text = _COMMENT.sub("", line.strip().removeprefix("$ "))
                if text:
                    yield Written(written.page, written.line + offset, text)


def commands() -> list[Written]:
    """The lines that call `hubbub`."""
    return [line for line in shell_lines() if _HUBBUB.fullmatch(line.text.split()[0])]


def words(command: Written) -> list[str]:
    """Return what follows `hubbub`. Raises ValueError where the shell would not understand it."""
    return shlex.split(command.text)[1:]


def is_whole(command: Written) -> bool:
    """Return whether it can be run as it stands: nothing in it stands for something else."""
    return not any(_PLACEHOLDER.fullmatch(word) for word in words(command))
