"""Skills: instructions that a run follows while a message names them, and the tools it may use meanwhile.

A skill is a file `skills/NAME/SKILL.md` of the workspace. Its first lines, between two lines of `---`, may
say `description`, `keywords`, `tools` and `members`; all below is text for the model.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from core.lazy_dataclass import dataclass
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
