"""The workspace's own texts for prompts: identity documents and skills.

They are read through the path guard and off the event loop, and again only after a file changed; otherwise
a run costs one look at each file's status.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Iterator, Sequence

from core.errors import ToolDenied, ToolFailed
from core.lazy_dataclass import dataclass
from core.runs.skills import SKILL_LIMIT_CHARS, Skill, read_skill
from core.safety.fencing import sanitise
from core.safety.leaks import LeakDetector
from core.safety.paths import PathGuard, guard_of
from core.tool import Workspace
from core.users import Principal, Role

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
