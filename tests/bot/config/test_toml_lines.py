"""Every value a TOML document holds can be traced to the line a person wrote it on."""

import tomllib
from typing import Any

import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

from bot.config.document import KeyPath, locate

DOCUMENT = '''\
# a comment with [brackets] and = signs
title = "x # no comment"

[hub]
data_dir = './data'
"owner name".first = "a"   # dotted, quoted
text = """
[not.a.header]
key = 1
\\""" still inside
"""

[[models]]
name = "a"
[[models]]
name = "b"
[models.options]
tags = [
  "one",  # ]
  { two = 2, deep = { er = 3 } },
]

[channels.work]
allow = []
'''


def test_each_key_has_its_own_line() -> None:
    lines = locate(DOCUMENT)
    assert lines[("title",)] == 2
    assert lines[("hub",)] == 4
    assert lines[("hub", "data_dir")] == 5
    assert lines[("hub", "owner name")] == 6
    assert lines[("hub", "owner name", "first")] == 6
    assert lines[("hub", "text")] == 7
    assert lines[("models",)] == 13
    assert lines[("models", 0, "name")] == 14
    assert lines[("models", 1)] == 15
    assert lines[("models", 1, "options")] == 17
    assert lines[("models", 1, "options", "tags", 0)] == 19
    assert lines[("models", 1, "options", "tags", 1, "deep", "er")] == 20
    assert lines[("channels",)] == 23
    assert lines[("channels", "work", "allow")] == 24
    assert set(lines) == paths_of(tomllib.loads(DOCUMENT))


def paths_of(value: Any, path: KeyPath = ()) -> set[KeyPath]:
    here = {path} if path else set[KeyPath]()
    if isinstance(value, dict):
        return here.union(*(paths_of(entry, (*path, key)) for key, entry in value.items()))
    if isinstance(value, list):
        return here.union(*(paths_of(entry, (*path, index)) for index, entry in enumerate(value)))
    return here


keys = st.from_regex(r"[a-z][a-z0-9_-]{0,5}", fullmatch=True)
texts = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\x7f"), max_size=12)
scalars = st.one_of(
    st.booleans().map(lambda value: str(value).lower()),
    st.integers(-(2**40), 2**40).map(str),
    texts.map(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'),
    texts.filter(lambda text: "'" not in text).map(lambda text: f"'{text}'"),
    texts.map(lambda text: '"""\n' + text.replace("\\", "\\\\").replace('"', '\\"') + '\n"""'),
    st.just("2026-11-21T10:00:00Z"),
)


def arrays(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    separators = st.sampled_from([", ", ",\n  ", ", # ] } =\n"])
    return st.tuples(st.lists(values, max_size=4), separators).map(lambda made: f"[{made[1].join(made[0])}]")


def inline_tables(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.dictionaries(keys, values, max_size=3)
    return pairs.map(lambda made: "{ " + ", ".join(f"{key} = {value}" for key, value in made.items()) + " }")


single_line = scalars.filter(lambda text: "\n" not in text)
tables = inline_tables(single_line | inline_tables(single_line))
values = st.recursive(scalars, lambda inner: arrays(inner) | tables, max_leaves=6)
bodies = st.dictionaries(keys, values, max_size=4)
sections = st.dictionaries(st.tuples(keys, keys), st.tuples(st.booleans(), bodies), max_size=4)


@given(bodies, sections, st.sampled_from(["\n", "\n\n# [comment] = 1\n", " # tail\n"]))
@example({"a": "[ ]"}, {("a", "b"): (True, {})}, "\n")
def test_any_document_is_located_completely(
    top: dict[str, str], made: dict[tuple[str, str], tuple[bool, dict[str, str]]], gap: str
) -> None:
    written = [f"{key} = {value}{gap}" for key, value in top.items()]
    for (first, second), (array, body) in made.items():
        header = f"[[{first}.{second}]]" if array else f"[{first} . '{second}']"
        for _ in range(2 if array else 1):
            written.append(header + gap)
            written += [f"{key} = {value}{gap}" for key, value in body.items()]
    text = "".join(written)
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError:  # the same name used twice
        reject()
    lines = locate(text)
    assert set(lines) == paths_of(parsed)
    source = text.split("\n")
    for path, line in lines.items():
        if isinstance(path[-1], str):
            assert path[-1] in source[line - 1]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only a comment", "a = 1", 'a = ""', "a = '''x''''", "a=[[1,2],[]]"]
)
def test_keys_of_small_documents_are_located(text: str) -> None:
    assert set(locate(text)) == paths_of(tomllib.loads(text))
