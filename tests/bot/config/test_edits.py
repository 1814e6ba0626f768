"""Edits of hubbub.toml: what is asked for changes, and not a byte besides."""

import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.config.document import KeyPath
from bot.config.edits import EditRefused, edited, literal, moved_first, removed_entry, replace_text

FILE = """\
# my hub
[hub]            # who I am
owner_identities = ["telegram:1"]   # me
timezone="Europe/Berlin"

# the model
[[models]]
provider = 'openai' # cheap
model = "a"
api_key = "vault:key"

[[models]]
name = "spare"
provider = "demo"

[mcp.files]
command = [
  "server", # a comment
]
"""


@given(
    model=st.text(st.characters(blacklist_categories=("Cs",)), max_size=12),
    newline=st.sampled_from(["\n", "\r\n"]),
    order=st.permutations(FILE.split("\n\n")),
)
def test_an_edit_changes_only_the_given_value(model: str, newline: str, order: list[str]) -> None:
    entries = [part for part in order if "[[models]]" in part]
    place = next(at for at, part in enumerate(entries) if 'model = "a"' in part)
    text = "\n\n".join(part.strip("\n") for part in order) + "\n"
    text = text.replace("\n", newline)
    after = edited(text, {("models", place, "model"): model})
    assert tomllib.loads(after)["models"][place]["model"] == model
    before_key, _, rest = text.partition('model = "a"')
    assert after.startswith(f"{before_key}model = ")
    assert after.endswith(rest)
    other = moved_first(after, "models", 1)
    assert tomllib.loads(other)["models"] == tomllib.loads(after)["models"][::-1]
    assert sorted(other.splitlines()) == sorted(after.splitlines())
    shorter = removed_entry(after, "models", place)
    assert tomllib.loads(shorter)["models"] == [
        entry for at, entry in enumerate(tomllib.loads(after)["models"]) if at != place
    ]
    assert set(shorter.splitlines()) <= set(after.splitlines())


WORDS = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\x7f"), max_size=8)
VALUES = st.one_of(
    st.integers(-9, 99).map(str),
    st.sampled_from(["true", "1.5", '"env:KEY"', "'vault:key'", "[ 1, 2, ]", "[\n  'a', # of a list\n]"]),
    WORDS.map(literal),
)
COMMENTS = st.one_of(st.just(""), WORDS.map(lambda words: f" # {words}"))
NAMES = st.sampled_from([f"k{number}" for number in range(6)])
TABLES = ("alpha", "beta", "models", "models", "gamma.inner")


@st.composite
def files(draw: st.DrawFn) -> tuple[str, dict[KeyPath, tuple[int, int]]]:
    """A file of any order and spacing, and where each value stands in it."""
    text, spans, entries = draw(COMMENTS).strip(), dict[KeyPath, tuple[int, int]](), 0
    for table in draw(st.permutations(TABLES)):
        place: KeyPath = tuple(table.split("."))
        header = f"[{table}]"
        if table == "models":
            place, header, entries = ("models", entries), "[[models]]", entries + 1
        text += "\n" * draw(st.integers(1, 3)) + header + draw(COMMENTS) + "\n"
        for name in draw(st.lists(NAMES, unique=True, max_size=4)):
            text += draw(st.sampled_from(["", "  ", "# note\n", "\n"])) + name
            text += draw(st.sampled_from([" = ", "=", "   =\t"]))
            value = draw(VALUES)
            spans[*place, name] = len(text), len(text) + len(value)
            text += value + draw(COMMENTS) + "\n"
    return text, spans


@given(file=files(), value=st.one_of(WORDS, st.integers(0, 9), st.booleans()), data=st.data())
def test_any_file_keeps_every_byte_but_the_values_that_change(
    file: tuple[str, dict[KeyPath, tuple[int, int]]], value: str | int, data: st.DataObject
) -> None:
    text, spans = file
    paths = data.draw(st.lists(st.sampled_from(sorted(spans, key=str)), unique=True)) if spans else []
    wanted = text
    for path in sorted(paths, key=lambda one: spans[one], reverse=True):
        start, end = spans[path]
        wanted = wanted[:start] + literal(value) + wanted[end:]
    assert edited(text, dict.fromkeys(paths, value)) == wanted
    # A new key adds its own line, and every other line stays as it is.
    added = edited(text, {("alpha", "fresh"): value})
    lines = added.split("\n")
    lines.remove(f"fresh = {literal(value)}")
    assert "\n".join(lines).rstrip("\n") == text.rstrip("\n")


def test_keys_and_tables_are_added_where_they_belong_and_removed() -> None:
    after = edited(
        FILE,
        {
            ("models", 0, "base_url"): "http://127.0.0.1:1/v1",
            ("models", 0, "api_key"): None,
            ("channels", "telegram", "token"): "env:T",
            ("hub", "locale"): "en",
        },
    )
    assert 'timezone="Europe/Berlin"\nlocale = "en"\n\n# the model' in after
    assert 'model = "a"\nbase_url = "http://127.0.0.1:1/v1"\n\n[[models]]\nname' in after
    assert after.endswith('  "server", # a comment\n]\n\n[channels.telegram]\ntoken = "env:T"\n')
    assert "vault:key" not in after


def test_an_edit_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(EditRefused, match=r"can't change hub\.locale"):
        edited('hub.owner = "me"\n', {("hub", "locale"): "en"})
    subtable = '[[models]]\nname = "a"\n[models.options]\nx = "y"\n[[models]]\nname = "b"\n'
    for text in ('models = [{name = "a"}, {name = "b"}]\n', subtable):
        with pytest.raises(EditRefused, match=r"can't move models\.1"):
            moved_first(text, "models", 1)


def test_an_edit_keeps_the_mode_and_refuses_a_file_changed_in_between(tmp_path: Path) -> None:
    path = tmp_path / "hubbub.toml"
    path.write_text(FILE)
    path.chmod(0o640)
    replace_text(path, FILE, "# new\n")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("# new\n", 0o640)
    with pytest.raises(EditRefused, match="was changed in the meantime"):
        replace_text(path, FILE, "# newer\n")
    assert path.read_text() == "# new\n"
    assert list(tmp_path.iterdir()) == [path]
