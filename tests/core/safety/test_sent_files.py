"""Files that are sent: of the workspace, or of one person and then through no link to another's."""

from pathlib import Path

import pytest

from core.errors import ToolDenied, ToolFailed
from core.safety.paths import PathGuard, SentFiles


def test_a_file_of_one_person_is_sent_from_their_files_alone(tmp_path: Path) -> None:
    for name in ("own", "people/ada", "people/ben"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "f").write_text(name)
    (tmp_path / "people" / "ben" / "link").symlink_to("../ada/f")
    sent = SentFiles((PathGuard(tmp_path / "own"),), tmp_path / "people")
    for path, content in {"f": b"own", "person:ben/f": b"people/ben"}.items():
        with sent.reading(path) as file:
            assert file.read() == content
    for path in (
        "person:ben/link",
        "person:ben/../ada/f",
        "person:../own/f",
        "person:/f",
        "person:ben",
        "person:",
    ):
        with pytest.raises((ToolDenied, ToolFailed)), sent.reading(path):
            pass
