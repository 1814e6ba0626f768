"""A recording as a file: whole lines, numbered, for its user alone, and without any secret."""

import itertools
import json
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.recordings.log import FILE_NAME, MARK, Marks, RecordingLog, read_recording
from bot.runtime import StartError

CONFIGURED, KEPT, SHORT, SHAPED = "tea-at-four-o-clock", 'pass"wörd\\n1', "abc12", f"ghp_{'a1B2' * 9}"
SECRETS = (CONFIGURED, KEPT, SHORT, SHAPED)


def marks_of(made: list[tuple[str, str]]) -> Marks:
    marks = Marks(b"key", [CONFIGURED], lambda mark, kind: made.append((mark, kind)))
    marks.learn([KEPT, SHORT])
    return marks


@given(st.lists(st.sampled_from((*SECRETS, "plain", " ", "é"))), st.lists(st.integers(0, 200)))
def test_no_cut_of_a_stream_leaves_a_secret(words: list[str], cuts: list[int]) -> None:
    whole = " ".join(words)
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    pieces = [whole[start:end] for start, end in itertools.pairwise(places)] or [""]
    marks = marks_of([])
    assert "".join(marks.pieces(pieces)) == marks.text(whole)
    assert not any(secret in marks.text(whole) for secret in SECRETS)
    assert marks.text(whole).count(MARK) == sum(word in SECRETS for word in words)


def test_a_secret_has_one_mark_in_every_form_of_a_value() -> None:
    made: list[tuple[str, str]] = []
    marks = marks_of(made)
    value = {"a": [KEPT, json.dumps({KEPT: 1})], KEPT: CONFIGURED, "n": 1, "none": None}
    text = json.dumps(marks.value(value))
    assert not any(secret in text or json.dumps(secret)[1:-1] in text for secret in SECRETS)
    for ascii_only in (True, False):
        nested = KEPT
        for _ in range(3):  # as in a page in the body of a request, in the arguments of a call
            nested = json.dumps([nested], ensure_ascii=ascii_only)
            assert marks.text(nested).count(MARK) == 1
    assert {kind for _, kind in made} == {"vault", "known"}
    assert marks.text(KEPT) == marks_of([]).text(KEPT)
    assert marks.text(KEPT) != Marks(b"other", [KEPT], lambda *_: None).text(KEPT)


def test_a_torn_last_line_is_ignored_and_cut_off(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "recording"
    log = RecordingLog(directory, lambda: 5)
    late = log.reserve()
    log.write("session", {"format": 1}, late)
    log.write("turn", {"text": "é"})
    log.close()
    with (directory / FILE_NAME).open("a") as file:
        file.write('{"n": 3, "k"')
    assert [record["n"] for record in read_recording(directory)] == [1, 2]
    again = RecordingLog(directory, lambda: 6)
    again.write("turn", {"text": "next"})
    again.close()
    assert [(record["n"], record["at"]) for record in read_recording(directory)] == [(1, 5), (2, 5), (3, 6)]
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / FILE_NAME).stat().st_mode) == 0o600


def test_records_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    log = RecordingLog(tmp_path, lambda: 0)
    log.write("session", {"format": 1})
    early = log.reserve()
    log.write("ask", {})
    log.write("look", {}, early)
    log.close()
    assert [record["k"] for record in read_recording(tmp_path)] == ["session", "look", "ask"]


@pytest.mark.parametrize("content", ["", "no json\n", '{"n": 1}\n', "[]\n", '{"n": 1, "k": "in", "at": 1}\n'])
def test_an_invalid_file_is_refused_as_a_recording(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE_NAME).write_text(content)
    with pytest.raises(StartError):
        read_recording(tmp_path)


def test_a_directory_with_other_files_is_refused_and_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "letter.txt").touch()
    with pytest.raises(StartError, match="holds other files"):
        RecordingLog(tmp_path, lambda: 0)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
