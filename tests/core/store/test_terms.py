"""Terms that make a note findable, apart from any database."""

from hypothesis import given
from hypothesis import strategies as st

from core.store.rows import is_prefix, note_terms, query_phrases

HAN = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1, max_size=12)


def finds(query: str, note: str) -> bool:
    """Return what a full-text index does with the terms, spelled out."""
    terms = note_terms(note)
    return all(_found(phrase, terms) for phrase in query_phrases(query))


def _found(phrase: tuple[str, ...], terms: list[str]) -> bool:
    if is_prefix(phrase):
        return any(term.startswith(phrase[0]) for term in terms)
    size = len(phrase)
    return any(tuple(terms[at : at + size]) == phrase for at in range(len(terms) - size + 1))


def test_a_note_is_split_into_terms() -> None:
    assert note_terms("部署器 Deploy_it, now!") == ["部署", "署器", "器", "deploy", "it", "now"]
    assert note_terms("v2 をdeploy") == ["v2", "を", "deploy"]
    assert note_terms("...") == []


def test_a_query_is_split_into_phrases() -> None:
    assert query_phrases("部署服务 Tea") == [("部署", "署服", "服务"), ("tea",)]
    assert query_phrases("器 a") == [("器",), ("a",)]
    assert [is_prefix(phrase) for phrase in query_phrases("器 a 部署")] == [True, False, False]


@given(HAN, st.data())
def test_every_piece_of_a_text_without_spaces_is_found(note: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(note) - 1))
    end = data.draw(st.integers(start + 1, len(note)))
    assert finds(note[start:end], note)


@given(HAN, HAN)
def test_only_pieces_are_found(query: str, note: str) -> None:
    # Two pairs in a row overlap, so neighbouring pairs spell the query itself.
    assert finds(query, note) == (query in note)


@given(st.text(), st.text())
def test_any_text_can_be_kept_and_asked_for(query: str, note: str) -> None:
    assert all(term == term.casefold() and term for term in note_terms(note))
    finds(query, note)


@given(st.text(min_size=1))
def test_a_note_is_found_by_itself(note: str) -> None:
    assert finds(note, note)
