"""The workspace's own texts for prompts: identity documents and skills.

They are read through the path guard and off the event loop, and again only after a file changed; otherwise a
run costs one look at each file's status.

A skill is a file `skills/NAME/SKILL.md` of the workspace: instructions that a run follows while a message
names them, and the tools it may use meanwhile. Its first lines, between two lines of `---`, may say
`description`, `keywords`, `tools` and `members`; all below is text for the model.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache

from core.errors import ToolDenied, ToolFailed
from core.lazy import dataclass
from core.safety.fencing import sanitise
from core.safety.leaks import LeakDetector
from core.safety.paths import PathGuard, guard_of
from core.tool import Workspace
from core.users import Principal, Role

MAX_ACTIVE = 3
"""The number of skills that one turn follows, so that their texts leave room for the conversation."""
SKILL_LIMIT_CHARS = 12_000
MAX_WORDS = 16
"""The number of keywords, and of tools, that a skill may list."""
WORD_LIMIT_CHARS = 60
DESCRIPTION_LIMIT_CHARS = 200
_LOOKED_AT_CHARS = 8_000
"""The part of a message in which skills are looked for."""
_FENCE = "---"
_FIRST_WIDE = "\u2e80"
"""The first character of the scripts that are written without spaces."""


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill.

    `keywords`: words and phrases that activate it, besides its name.
    `tools`: the only tools it may use; None: the file names none.
    `trusted`: the operator vouches for it; without that it may only use tools that need no approval.
    `members`: members' runs use it as well.
    `problem`: the reason why it is never used; empty if it can be."""

    name: str
    description: str = ""
    keywords: tuple[str, ...] = ()
    tools: frozenset[str] | None = None
    members: bool = False
    trusted: bool = False
    text: str = ""
    problem: str = ""

    def may_use(self, unattended: Collection[str]) -> frozenset[str] | None:
        """Return the tools of a run that follows it; None if it narrows nothing. `unattended`: the tools
        that need no approval."""
        if self.trusted:
            return self.tools
        return frozenset(unattended) if self.tools is None else self.tools.intersection(unattended)

    def is_for(self, principal: Principal) -> bool:
        """Return whether this person's runs may use it."""
        return principal.role is Role.OWNER or (self.members and principal.role is Role.MEMBER)


def read_skill(name: str, content: str, *, trusted: bool) -> Skill:
    """Return the skill in a file. One whose first lines can't be read is never used, since they may limit
    its tools."""
    try:
        fields, text = _parsed(content)
    except ValueError as error:
        return Skill(name, problem=str(error))
    if not text.strip():
        return Skill(name, problem="it has no text")
    tools = fields.get("tools")
    return Skill(
        name,
        description=" ".join(" ".join(fields.get("description", ())).split())[:DESCRIPTION_LIMIT_CHARS],
        keywords=tuple(fields.get("keywords", ())),
        tools=None if tools is None else frozenset(tools),
        members="".join(fields.get("members", ())).lower() in {"yes", "true"},
        trusted=trusted,
        text=text.strip(),
    )


def _parsed(content: str) -> tuple[dict[str, list[str]], str]:
    """Return the fields of the first lines, each as a list, and the text below. Raises ValueError."""
    lines = content.removeprefix("\ufeff").split("\n")
    if lines[0].strip() != _FENCE:
        return {}, content
    ends = [number for number, line in enumerate(lines) if line.strip() == _FENCE][:2]
    if len(ends) < 2:
        raise ValueError("its first lines are not closed by a line of ---")
    fields: dict[str, list[str]] = {}
    key = ""
    for line in lines[1 : ends[1]]:
        item = line.strip()
        if not item or item.startswith("#"):
            continue
        if item.startswith("- "):
            values = [item[2:]]
        else:
            key, colon, value = item.partition(":")
            key = key.strip().lower()
            if not colon or key in fields:
                raise ValueError(f"its line {item[:WORD_LIMIT_CHARS]!r} is no further `key: value`")
            values = [value] if key == "description" else value.strip().strip("[]").split(",")
        fields.setdefault(key, []).extend(filter(None, map(_word, values)))
    for key, values in fields.items():
        if len(values) > MAX_WORDS:
            raise ValueError(f"it lists more than {MAX_WORDS} {key}")
        if key != "description" and any(len(value) > WORD_LIMIT_CHARS for value in values):
            raise ValueError(f"one of its {key} has more than {WORD_LIMIT_CHARS} characters")
    return fields, "\n".join(lines[ends[1] + 1 :])


def _word(written: str) -> str:
    return written.strip().strip("\"'").strip()


def chosen(skills: Sequence[Skill], message: str) -> tuple[Skill, ...]:
    """Return the skills that a message activates, at most MAX_ACTIVE: those it names first, then those with
    the most keywords in it."""
    said = _spaced(message[:_LOOKED_AT_CHARS])
    found: list[tuple[bool, int, str, Skill]] = []
    for skill in skills:
        if skill.problem:
            continue
        named = _says(said, skill.name)
        count = sum(_says(said, keyword) for keyword in skill.keywords)
        if named or count:
            found.append((not named, -count, skill.name, skill))
    found.sort(key=lambda one: one[:3])
    return tuple(one[3] for one in found[:MAX_ACTIVE])


def _says(said: str, phrase: str) -> bool:
    """Return whether the phrase stands in a text as whole words; in scripts without spaces, anywhere."""
    wanted = _wanted(phrase)
    return bool(wanted) and wanted in said


@lru_cache(1024)  # the same few phrases are looked for in every message
def _wanted(phrase: str) -> str:
    wanted = _spaced(phrase)
    if wanted.isspace():
        return ""
    return wanted.strip() if wanted[1] >= _FIRST_WIDE else wanted


def _spaced(text: str) -> str:
    """Return the words of a text, each between single spaces."""
    words = "".join(one if one.isalnum() else " " for one in text.casefold()).split()
    return f" {' '.join(words)} "


def narrowed(active: Sequence[Skill], unattended: Collection[str]) -> frozenset[str] | None:
    """Return the only tools that all active skills may use; None if they narrow nothing."""
    allowed: frozenset[str] | None = None
    for skill in active:
        own = skill.may_use(unattended)
        if own is not None:
            allowed = own if allowed is None else allowed & own
    return allowed


def in_words(skills: Sequence[Skill]) -> Iterator[str]:
    """Yield a line about each skill, for people."""
    for skill in skills:
        if skill.problem:
            yield f"{skill.name}: not used: {skill.problem}."
            continue
        about = f"{skill.name}: {skill.description or 'no description'}"
        if skill.keywords:
            about += f" · keywords: {', '.join(skill.keywords)}"
        if skill.tools is not None:
            about += f" · tools: {', '.join(sorted(skill.tools)) or 'none'}"
        yield about if skill.trusted else f"{about} · only tools that need no approval"


logger = logging.getLogger(__name__)

DOCUMENTS = ("AGENTS.md", "SOUL.md", "USER.md")
"""The identity documents, in the order in which they stand in a prompt."""
SKILLS = "skills"
SKILL_FILE = "SKILL.md"
DOCUMENT_LIMIT_CHARS = 12_000
"""About 3,000 tokens: all three together leave most of a small context to the conversation."""
MAX_SKILLS = 64
"""The number of skill folders that are read. Each costs one look at its file per run."""
READ_LIMIT_BYTES = 64_000
_NAME_LIMIT_CHARS = 40

_Stamp = tuple[int, int, int, int] | None


@dataclass(frozen=True, slots=True)
class Document:
    """An identity document, without credentials and within its limit."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class PromptTexts:
    """The documents and skills of a workspace as they were read."""

    documents: tuple[Document, ...] = ()
    skills: tuple[Skill, ...] = ()

    def documents_for(self, principal: Principal) -> tuple[Document, ...]:
        """Return the identity documents of this person's runs. They describe the owner, so no one else's
        runs have any."""
        return self.documents if principal.role is Role.OWNER else ()

    def skills_for(self, principal: Principal) -> tuple[Skill, ...]:
        """Return the skills that this person's runs may use."""
        return tuple(skill for skill in self.skills if skill.is_for(principal))


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """Texts as they were read, and the status of what they depend on shortly before: the workspace itself
    first, whose status changes with each new name in it, then what is there of documents and skills."""

    watched: Sequence[tuple[str, _Stamp]]
    texts: PromptTexts


class WorkspaceTexts:
    """The texts of one workspace. `trusted`: the names of the skills that the operator vouches for."""

    def __init__(self, workspace: Workspace, leaks: LeakDetector, trusted: Collection[str] = ()) -> None:
        self._root = str(workspace.root)
        self._guard = guard_of(workspace)
        self._redacted: Callable[[str], str] = leaks.redacted
        self._trusted = frozenset(trusted)
        self._snapshot: _Snapshot | None = None

    async def current(self) -> PromptTexts:
        """Return the texts as of now. Never raises; a file that can't be read counts as missing."""
        known = self._unchanged()
        return known if known is not None else await asyncio.to_thread(self.read)

    def latest(self) -> PromptTexts:
        """Return the texts as of now, and read changed files in the calling thread."""
        known = self._unchanged()
        return known if known is not None else self.read()

    def read(self) -> PromptTexts:
        """Read the files, if one of them changed."""
        # Each status is taken first: a change while its file is read is seen the next time.
        watched = [self._watch("")]
        watched += [self._watch(name) for name in (*DOCUMENTS, SKILLS) if self._is_there(name)]
        folders = tuple(self._folders())
        watched += map(self._watch_skill, folders)
        known = self._snapshot
        if known is not None and known.watched[1:] == watched[1:]:
            texts = known.texts  # another file of the workspace came or went
        else:
            found = ((name, self._text(name)) for name in DOCUMENTS)
            documents = tuple(Document(name, _cut(text)) for name, text in found if text)
            texts = PromptTexts(documents, tuple(self._skills(folders)))
        self._snapshot = _Snapshot(watched, texts)
        return texts

    def _unchanged(self) -> PromptTexts | None:
        known = self._snapshot
        if known is None or any(_stamp(path) != stamp for path, stamp in known.watched):
            return None
        return known.texts

    def _watch_skill(self, folder: str) -> tuple[str, _Stamp]:
        here = self._watch(f"{SKILLS}/{folder}")  # it changes when a file comes
        file = f"{SKILLS}/{folder}/{SKILL_FILE}"
        return self._watch(file) if self._is_there(file) else here

    def _watch(self, path: str) -> tuple[str, _Stamp]:
        whole = f"{self._root}/{path}"
        return whole, _stamp(whole)

    def _is_there(self, path: str) -> bool:
        return os.path.lexists(f"{self._root}/{path}")

    def _folders(self) -> Iterator[str]:
        """Yield the names of skill folders in order. Names are one word, so that they need no quoting."""
        try:
            with self._guard.listing(SKILLS) as descriptor:
                names = sorted(os.listdir(descriptor))
        except (ToolDenied, ToolFailed):
            return
        usable = [name for name in names if _is_name(name)]
        if len(usable) > MAX_SKILLS:
            logger.warning("skills.too_many found=%d limit=%d", len(usable), MAX_SKILLS)
        yield from usable[:MAX_SKILLS]

    def _skills(self, folders: Sequence[str]) -> Iterator[Skill]:
        for folder in folders:
            content = self._text(f"{SKILLS}/{folder}/{SKILL_FILE}")
            if content is None:
                continue
            if len(content) > SKILL_LIMIT_CHARS:
                yield Skill(folder, problem=f"it is longer than {SKILL_LIMIT_CHARS} characters")
            else:
                yield read_skill(folder, content, trusted=folder in self._trusted)

    def _text(self, path: str) -> str | None:
        try:
            content = _content(self._guard, path)
        except ToolDenied as error:
            logger.warning("prompt.file_refused path=%s reason=%s", path, error)
            return None
        except ToolFailed:
            return None
        return self._redacted(sanitise(content.decode("utf-8", "replace"))).strip()


def _cut(text: str) -> str:
    if len(text) <= DOCUMENT_LIMIT_CHARS:
        return text
    return f"{text[:DOCUMENT_LIMIT_CHARS]}\n[… the rest of this document is left out: it is too long]"


def _content(guard: PathGuard, path: str) -> bytes:
    with guard.reading(path) as file:
        return file.read(READ_LIMIT_BYTES)


def _stamp(path: str) -> _Stamp:
    try:
        found = os.stat(path)  # a link's target counts: its change is one
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns


def _is_name(name: str) -> bool:
    return (
        len(name) <= _NAME_LIMIT_CHARS
        and name.isascii()
        and name[:1].isalnum()
        and name.replace("-", "").replace("_", "").isalnum()
    )
