"""The path guard on a real disk: inside is reached, nothing else ever is."""

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ToolDenied, ToolError, ToolFailed
from core.safety.path_names import MAX_DEPTH
from core.safety.paths import PathGuard

INSIDE, OUTSIDE = "inside", "outside: nobody may read this"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """`room` beside things it must not lead to."""
    work = tmp_path / "room"
    (work / "notes" / "deep").mkdir(parents=True)
    (work / "notes" / "today.txt").write_text(INSIDE)
    (work / "a b 部署.txt").write_text(INSIDE)
    (work / "notes" / "deep" / "x").write_text(INSIDE)
    (tmp_path / "secret.txt").write_text(OUTSIDE)
    (tmp_path / "room-too").mkdir()
    (tmp_path / "room-too" / "secret.txt").write_text(OUTSIDE)
    return work


@pytest.fixture
def guard(workspace: Path) -> PathGuard:
    return PathGuard(workspace)


def read(guard: PathGuard, path: str) -> str:
    with guard.reading(path) as file:
        return file.read().decode()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize(
    "path, name",
    [
        ("notes/today.txt", "notes/today.txt"),
        ("./notes//today.txt/", "notes/today.txt"),
        ("notes/deep/../today.txt", "notes/today.txt"),
        ("nothing/../notes/today.txt", "notes/today.txt"),
        ("a b 部署.txt", "a b 部署.txt"),
    ],
)
def test_paths_inside_the_workspace_are_accepted(guard: PathGuard, path: str, name: str) -> None:
    assert read(guard, path) == INSIDE
    assert guard.name(path) == name
    assert guard.refusal(path) is None


def test_an_absolute_path_into_the_workspace_is_read_by_every_name_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_text(INSIDE)
    (tmp_path / "alias").symlink_to("real")
    guard = PathGuard(tmp_path / "alias")
    assert (
        read(guard, "f") == read(guard, f"{tmp_path}/alias/f") == read(guard, f"{tmp_path}/real/f") == INSIDE
    )
    assert guard.name(f"{tmp_path}/real/f") == "f"
    assert guard.name(f"{tmp_path}/alias") == "."


@pytest.mark.parametrize(
    "path",
    [
        *("..", "../secret.txt", "notes/../../secret.txt", "./../room/notes/today.txt", "/etc/passwd", "/"),
        *("//etc/passwd", "/proc/self/environ", "/dev/zero", "~/secret.txt", "~root/x"),
        *("..\\secret.txt", "%2e%2e/secret.txt", "..%2Fsecret.txt", "..%5Csecret.txt", "notes%00"),
        *("notes/today.txt\0", "\0", "a\nb", "a\x1b[31m", "x\u202etxt.exe", "a\u2028b", "a\ud800", "\udcff"),
        *(".env", "notes/.env.local", ".ssh/config", ".ssh", "x/id_rsa", ".config/gcloud/creds.json"),
        *("d/" * (MAX_DEPTH + 1), "n" * 256, "部" * 86),
    ],
)
def test_escaping_or_disguised_paths_are_refused(guard: PathGuard, path: str) -> None:
    assert guard.refusal(path)
    with pytest.raises(ToolDenied):
        guard.name(path)
    with pytest.raises(ToolDenied):
        read(guard, path)


@pytest.mark.parametrize(
    "target, path", [(".config", "conf/gcloud/creds.json"), (".config/gh", "conf/hosts.yml")]
)
def test_credentials_reached_by_a_link_are_closed_too(
    guard: PathGuard, workspace: Path, target: str, path: str
) -> None:
    folder = workspace / target
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (workspace / "conf").symlink_to(target)
    (workspace / path).parent.mkdir(exist_ok=True)
    (workspace / path).write_text(INSIDE)
    with pytest.raises(ToolDenied):
        read(guard, path)


def test_a_neighbor_whose_name_begins_the_same_is_outside(guard: PathGuard, tmp_path: Path) -> None:
    assert guard.refusal(f"{tmp_path}/room-too/secret.txt") == "the path is outside the workspace"
    assert guard.refusal(f"{tmp_path}/room/../secret.txt") == "the path is outside the workspace"


@pytest.mark.parametrize(
    "link, target",
    [
        ("l", "notes/today.txt"),
        ("l", "./notes/deep/../today.txt"),
        ("notes/deep/l", "../today.txt"),
        ("notes/deep/l", "../../notes/deep/x"),
        ("l", "{room}/notes/today.txt"),
        ("notes/deep/l", "{room}/notes/today.txt"),
    ],
)
def test_links_within_the_workspace_are_followed(
    guard: PathGuard, workspace: Path, link: str, target: str
) -> None:
    (workspace / link).symlink_to(target.format(room=workspace))
    assert read(guard, link) == INSIDE


@pytest.mark.parametrize(
    "target",
    [
        *(
            "../secret.txt",
            "{room}/../secret.txt",
            "{base}/secret.txt",
            "notes/../../secret.txt",
            "/etc/passwd",
        ),
        *("../room/notes/today.txt", "/proc/self/environ", "{base}/room-too/secret.txt"),
    ],
)
def test_a_link_that_leads_out_is_refused(
    guard: PathGuard, workspace: Path, tmp_path: Path, target: str
) -> None:
    (workspace / "l").symlink_to(target.format(room=workspace, base=tmp_path))
    with pytest.raises(ToolDenied, match="outside the workspace"):
        read(guard, "l")


def test_a_directory_that_is_a_link_out_is_refused_for_everything_below(
    guard: PathGuard, workspace: Path
) -> None:
    (workspace / "l").symlink_to("../room-too")
    (workspace / "m").symlink_to("l")
    for path in ("l/secret.txt", "m/secret.txt", "l/new.txt"):
        with pytest.raises(ToolDenied, match="outside the workspace"), guard.place(path, make_parents=True):
            pass
    with pytest.raises(ToolDenied, match="outside the workspace"), guard.listing("l"):
        pass


@pytest.mark.parametrize("target", [".env", "notes/id_rsa", ".aws/credentials"])
def test_a_link_to_credentials_is_refused(guard: PathGuard, workspace: Path, target: str) -> None:
    (workspace / target).parent.mkdir(exist_ok=True)
    (workspace / target).write_text(OUTSIDE)
    (workspace / "harmless.txt").symlink_to(target)
    with pytest.raises(ToolDenied, match="credentials"):
        read(guard, "harmless.txt")


@pytest.mark.parametrize("path", ["l", "l/new.txt"])
def test_a_link_to_nothing_is_refused_and_makes_nothing(guard: PathGuard, workspace: Path, path: str) -> None:
    (workspace / "l").symlink_to("missing/place")
    (workspace / "missing").mkdir()
    missing = pytest.raises(ToolDenied, match="link to something that does not exist")
    with missing, guard.place(path, make_parents=True):
        pass
    assert list((workspace / "missing").iterdir()) == []


def test_circular_links_are_refused(guard: PathGuard, workspace: Path) -> None:
    (workspace / "a").symlink_to("b")
    (workspace / "b").symlink_to("a")
    with pytest.raises(ToolFailed, match="too many links"):
        read(guard, "a")
    (workspace / "self").symlink_to("self/self/self")
    with pytest.raises(ToolFailed, match="too many"):
        read(guard, "self/x")


def test_only_regular_files_are_read(guard: PathGuard, workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    here = os.open(workspace, os.O_DIRECTORY)  # the path itself may be longer than a socket's name can be
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
        for path in ("pipe", "socket"):
            with pytest.raises(ToolError):
                read(guard, path)
    for path in ("notes", "."):
        with pytest.raises(ToolFailed, match="is a directory"):
            read(guard, path)


@pytest.mark.parametrize(
    "path, said",
    [
        ("missing.txt", "There is no missing.txt"),
        ("missing/x", "There is no missing/x"),
        ("notes/today.txt/x", "not a directory"),
    ],
)
def test_a_missing_file_is_reported(guard: PathGuard, path: str, said: str) -> None:
    with pytest.raises(ToolFailed, match=said):
        read(guard, path)


def test_missing_parents_are_made_only_where_asked_for(guard: PathGuard, workspace: Path) -> None:
    with pytest.raises(ToolFailed), guard.place("new/er/x"):
        pass
    assert not (workspace / "new").exists()
    with guard.place("new/er/x", make_parents=True) as place:
        assert place.name == "x"
        assert os.path.samestat(os.fstat(place.directory), os.stat(workspace / "new/er"))


def test_private_addresses_are_closed_under_every_spelling(workspace: Path) -> None:
    (workspace / "data").mkdir()
    (workspace / "data" / "hub.db").write_text(OUTSIDE)
    (workspace / "hub.toml").write_text(OUTSIDE)
    os.link(workspace / "hub.toml", workspace / "innocent.txt")
    os.link(workspace / "data" / "hub.db", workspace / "harmless.txt")
    (workspace / "d").symlink_to("data")
    guard = PathGuard(workspace, [workspace / "data", workspace / "hub.toml", workspace / "not there"])
    for path in ("data/hub.db", "d/hub.db", "hub.toml", "innocent.txt", "harmless.txt"):
        with pytest.raises(ToolDenied, match="belongs to the hub"):
            read(guard, path)
    for path in ("data", "d"):
        with pytest.raises(ToolDenied, match="belongs to the hub"), guard.listing(path):
            pass
    assert read(guard, "notes/today.txt") == INSIDE
    os.link(workspace / "notes" / "today.txt", workspace / "notes" / "too.txt")
    assert read(guard, "notes/too.txt") == INSIDE


def test_no_descriptor_is_left_open(guard: PathGuard, workspace: Path) -> None:
    (workspace / "l").symlink_to("../secret.txt")
    before = descriptors()
    for path in ("notes/today.txt", "l", "notes", "missing/x", "notes/deep/x", "../x", "notes/today.txt/x"):
        with contextlib.suppress(ToolError):
            read(guard, path)
        with contextlib.suppress(ToolError), guard.listing(path):
            pass
    assert descriptors() == before


def test_a_workspace_that_is_gone_is_an_error_for_the_model(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed):
        read(PathGuard(tmp_path / "gone"), "x")


PIECES = st.sampled_from(
    [
        *("notes", "deep", "today.txt", "x", "..", ".", "", "out", "up", "round", "into", "abs", "~"),
        *(
            "secret.txt",
            "etc",
            "passwd",
            "%2e%2e",
            "..\\",
            "\0",
            "room",
            "room-too",
            ".env",
            "\ud800",
            "proc",
        ),
    ]
)
PATHS = st.builds(
    lambda lead, parts, tail: lead + "/".join(parts) + tail,
    st.sampled_from(["", "/", "//", "./", "../", "~/"]),
    st.lists(PIECES | st.text(max_size=5), max_size=6),
    st.sampled_from(["", "/", "/.", "/.."]),
) | st.text(max_size=40)


@pytest.fixture(scope="module")
def maze(tmp_path_factory: pytest.TempPathFactory) -> PathGuard:
    """A workspace full of links, most of them leading out."""
    base = tmp_path_factory.mktemp("maze")
    work = base / "room"
    (work / "notes" / "deep").mkdir(parents=True)
    for path in (work / "notes" / "today.txt", work / "notes" / "deep" / "x", work / "x"):
        path.write_text(INSIDE)
    (base / "room-too").mkdir()
    for path in (base / "secret.txt", base / "room-too" / "x", base / "x", work / ".env"):
        path.write_text(OUTSIDE)
    for name, target in {
        "out": "../room-too",
        "up": "..",
        "round": "round",
        "into": "notes/deep/../../notes",
        "abs": str(base),
        "notes/up": "../..",
        "notes/x": "../.env",
        "notes/deep/out": "../up/room-too",
    }.items():
        (work / name).symlink_to(target)
    return PathGuard(work)


@given(path=PATHS)
def test_no_path_escapes_and_none_raises_anything_but_tool_errors(maze: PathGuard, path: str) -> None:
    with contextlib.suppress(ToolError):
        assert read(maze, path) == INSIDE
    with contextlib.suppress(ToolError), maze.listing(path) as directory:
        assert "room-too" not in os.listdir(directory)
    refused = maze.refusal(path)
    if refused is None:
        assert maze.refusal(maze.name(path)) is None
        assert maze.name(maze.name(path)) == maze.name(path)


@contextlib.contextmanager
def swapping(one: Path, other: Path) -> Iterator[None]:
    """Two names exchange what they stand for, as fast as they can, until the block is over."""
    over = threading.Event()
    third = one.with_name("in-between")

    def swap() -> None:
        while not over.is_set():
            one.rename(third)
            other.rename(one)
            third.rename(other)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def checked_then_opened(workspace: Path, path: str) -> str:
    """Return what the guard must not be: the name is judged, then used."""
    resolved = (workspace / path).resolve()
    if not resolved.is_relative_to(workspace.resolve()):
        raise ToolDenied("outside")
    return (workspace / path).read_text()


def until_out(reading: Callable[[], str], most: int) -> tuple[int, set[str]]:
    """How often was read and what that came to, until it got out."""
    seen: set[str] = set()
    for attempt in range(1, most + 1):
        try:
            seen.add(reading())
        except (ToolError, OSError):
            seen.add("refused")
        if OUTSIDE in seen:
            return attempt, seen
    return most, seen


@pytest.mark.parametrize("path", ["victim/secret.txt", "victim"])
def test_a_component_swapped_for_a_link_out_never_leads_out(workspace: Path, path: str) -> None:
    """Tried at least as often as a guard that judges names needs to be fooled."""
    if path == "victim":
        (workspace / "victim").write_text(INSIDE)
        (workspace / "other").symlink_to("../secret.txt")
    else:
        (workspace / "victim").mkdir()
        (workspace / "victim" / "secret.txt").write_text(INSIDE)
        (workspace / "other").symlink_to("../room-too")
    guard = PathGuard(workspace)
    with swapping(workspace / "victim", workspace / "other"):
        attempts, seen = until_out(lambda: checked_then_opened(workspace, path), 1_000_000)
        assert OUTSIDE in seen
        rounds = 0
        seen = set()
        while seen != {INSIDE, "refused"} and rounds < 500:  # whoever swaps may be slow to get its turn
            _, more = until_out(lambda: read(guard, path), max(2000, attempts))
            seen, rounds = seen | more, rounds + 1
            assert OUTSIDE not in seen
        assert seen == {INSIDE, "refused"}
