"""Command lines that may touch the hub's own files ask every time, however they write the path."""

import pytest

from core.safety.shell import ClosedPlaces, rate_command_line

PLACES = ClosedPlaces(
    "/home/o/workspace", ["/home/o/data", "/home/o/hubbub.toml", "/home/o/hubbub.env"], "/home/o"
)


@pytest.mark.parametrize(
    "line",
    [
        "cat ../data/hub.db",
        "cat /home/o/data/vault.key",
        "cat /home/o/workspace/../data/hub.key",
        "cat ~/data/notes",
        "cat $HOME/data/notes",
        'cat "${HOME}/data/x"',
        "cat ../hubbub.toml",
        "cat ../hubbub.env",
        "cat ../d*/h*",
        "cat ../$X/y",
        "grep -r token ..",
        "grep -r token /",
        "tar cf x.tar ../data",
        "tar cf x.tar -C .. data",
        "cp -r .. copy",
        "cd .. && cat data/x",
        "cat ../'data'/x",
        'cat ..""/data/x',
        "cat \\.\\./data/x",
        "D=../data; cat $D/x",
        "python3 -c 'print(open(\"../data/x\").read())'",
        "sh -c 'cat ../data/x'",
        "cat < ../data/x",
        "head --lines=3 --x=../data/x",
        "cat vault.key",
        "ln -s ../data d",
        "cat d/api.json",
        "sqlite3 ../data/hub.db .dump",
        "find .. -name '*.key'",
        "base64 ../data/vault.key | head",
    ],
)
def test_what_may_touch_the_hubs_own_files_asks_every_time(line: str) -> None:
    assert rate_command_line(line, PLACES).high, line


@pytest.mark.parametrize(
    "line",
    [
        "ls",
        "cat notes.txt",
        "cat data/x",
        "grep -r token .",
        "cat *.txt",
        "echo a/b",
        "make test",
        "git status",
    ],
)
def test_what_stays_in_the_workspace_does_not(line: str) -> None:
    assert not rate_command_line(line, PLACES).high, line


def test_an_always_for_cat_covers_no_file_that_cannot_be_told() -> None:
    assert rate_command_line("cat notes.txt", PLACES).pattern == "cat"
    assert rate_command_line('cat "$F"', PLACES).pattern is None
