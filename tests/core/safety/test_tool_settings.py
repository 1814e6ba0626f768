"""Tools that run nothing of a project: Always holds while what they obey is as it was, and known."""

from pathlib import Path

import pytest

from core.safety.paths import PathGuard
from core.safety.shell.rating import Level, judge
from core.safety.tool_settings import FOLDER_COSTS_ENTRIES, MAX_ENTRIES, MAX_FILES, MAX_SETTINGS_BYTES
from tests.core.safety.shell_workspace import make_workspace


@pytest.fixture
def guard(tmp_path: Path) -> PathGuard:
    return make_workspace(tmp_path)


HARMLESS = [
    (
        "ruff check .",
        "ruff.toml",
        'line-length = 100\nlint.select = ["E"]\n[lint.mccabe]\nmax-complexity = 9\n',
    ),
    ("ruff check --fix src", ".ruff.toml", "line-length = 100\n"),
    (
        "ruff format src",
        "pyproject.toml",
        "[project]\nname = 'a'\n[tool.ruff.format]\nquote-style = 'double'\n",
    ),
    ("black src", "pyproject.toml", "[tool.black]\nline-length = 100\n[tool.other]\nexec = 'x'\n"),
    ("mypy src", "mypy.ini", "# ours\n[mypy]\nstrict = True\n\n[mypy-a.*]\nignore_missing_imports: True\n"),
    (
        "mypy src",
        "pyproject.toml",
        "[[tool.mypy.overrides]]\nmodule = 'a.*'\nignore_missing_imports = true\n",
    ),
    ("flake8", "setup.cfg", "[metadata]\nname = a\n[flake8]\nexclude =\n    a\n    plugins = b\n"),
    ("flake8 src", "tox.ini", "[testenv]\ncommands = x\n[flake8]\nmax-line-length = 100\n"),
    ("isort src", ".isort.cfg", "[settings]\nprofile = black\n"),
    ("autoflake -r src", "pyproject.toml", "[tool.autoflake]\ncheck = true\n"),
    ("go list -m all", "go.mod", "module a\n"),
    ("cargo tree", "Cargo.toml", "[package]\nname = 'a'\n"),
]


@pytest.mark.parametrize("line,file,text", HARMLESS)
def test_other_settings_are_asked_about_again(
    line: str, file: str, text: str, guard: PathGuard, tmp_path: Path
) -> None:
    without = judge(line, guard)
    (tmp_path / file).write_text(text)
    granted = judge(line, guard)
    assert (granted.level, granted.reason) == (Level.LOW, "")
    assert granted.pattern is not None
    assert f"{file} unchanged, " in granted.pattern
    assert granted.pattern not in (None, without.pattern)
    assert granted.needs[0].granted_only
    assert granted.needs[0].row is None
    (tmp_path / file).write_text(f"{text}\n")
    assert judge(line, guard).needs[0].name != granted.pattern
    (tmp_path / file).write_text(text)
    assert judge(line, guard).pattern == granted.pattern


@pytest.mark.parametrize(
    "line,file,text",
    [
        ("ruff check .", "ruff.toml", "fix = true"),
        ("ruff check .", "ruff.toml", "cache-dir = '/tmp/x'"),
        ("ruff check .", "ruff.toml", "extend = '../x.toml'"),
        ("ruff check .", "ruff.toml", "include = ['*']"),
        ("ruff check .", "ruff.toml", "lint.isort.required-imports = ['import evil']"),
        ("ruff check .", "pyproject.toml", "[tool.ruff]\nunsafe-fixes = true"),
        ("ruff check .", "pyproject.toml", "tool.ruff = 1"),
        ("ruff check .", "ruff.toml", "a" + ".a" * 400 + " = 1"),
        ("ruff check .", "ruff.toml", "[a.a.a.a.a.a.a.a]\nb = 1"),
        ("ruff check .", "ruff.toml", "["),
        ("ruff check .", "ruff.toml", "#" * (MAX_SETTINGS_BYTES + 1)),
        ("black src", "pyproject.toml", "[tool.black]\ninclude = '.*'"),
        ("mypy src", "mypy.ini", "[mypy]\nplugins = evil.py"),
        ("mypy src", "mypy.ini", "[mypy]\npython_executable = ./evil"),
        ("mypy src", "mypy.ini", "[mypy]\ncache_dir = /tmp/x"),
        ("mypy src", "mypy.ini", "[mypy]\n  plugins = evil.py"),
        ("mypy src", "mypy.ini", "[DEFAULT]\nplugins = evil.py\n[mypy]\n"),
        ("mypy src", "mypy.ini", "[other]\r[mypy]\rplugins = evil.py"),
        ("mypy src", "mypy.ini", "[mypy] x\nplugins = evil.py"),
        ("mypy src", "mypy.ini", "\ufeff[mypy]\nplugins = evil.py"),
        ("mypy src", "mypy.ini", "[mypy]\nstrict = True\nPlugins: evil.py"),
        ("mypy src", "setup.cfg", "[mypy]\nstrict = True\nhtml_report = /tmp/x"),
        ("mypy src", "pyproject.toml", "[tool.mypy]\nplugins = ['evil.py']"),
        ("flake8", "setup.cfg", "[flake8:local-plugins]\nextension =\n  X = evil:X"),
        ("flake8", ".flake8", "[flake8]\noutput-file = Makefile"),
        ("flake8", "pyproject.toml", "[tool.flake8.local-plugins]\npaths = '.'"),
        ("isort src", "setup.cfg", "[tool:isort]\nadd_imports = import evil"),
        ("isort src", ".editorconfig", "[*.py]\nadd_imports = import evil"),
        ("autoflake -r src", "setup.cfg", "[autoflake]\nin-place = true"),
        ("go list -m all", "go.work", "go 1.22"),
        ("cargo tree", "rust-toolchain.toml", "[toolchain]\npath = 'evil'"),
        ("helm template ./docs", "docs/values.schema.json", "{}"),
        ("cargo tree", ".cargo/config.toml", "[build]\nrustc = './evil'"),
    ],
)
def test_settings_that_are_not_known_to_do_no_harm_are_asked_about(
    line: str, file: str, text: str, guard: PathGuard, tmp_path: Path
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text)
    assert (judge(line, guard).level, judge(line, guard).pattern) == (Level.ALWAYS_ASK, None)


@pytest.mark.parametrize("folder", [".", "src", "src/deep", "src/.hidden"])
@pytest.mark.parametrize("line", ["ruff check src", "cd src && ruff check .", "cd src && ruff check -- ."])
def test_settings_are_found_below_and_above(line: str, folder: str, guard: PathGuard, tmp_path: Path) -> None:
    granted = judge(line, guard).pattern
    assert granted is not None
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "ruff.toml").write_text("line-length = 100")
    changed = judge(line, guard)
    assert changed.level is Level.LOW
    assert changed.needs[0].name != granted
    (tmp_path / folder / "ruff.toml").write_text("fix = true")
    assert judge(line, guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize("line", ["black src -- docs", "black -- src docs", "black src docs"])
def test_the_settings_of_every_argument_are_checked(line: str, guard: PathGuard, tmp_path: Path) -> None:
    assert judge(line, guard).level is Level.LOW
    (tmp_path / "docs/pyproject.toml").write_text("[tool.black]\ninclude = '.*'")
    assert judge(line, guard).level is Level.ALWAYS_ASK


def test_nothing_is_written_through_links_or_second_names(guard: PathGuard, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "a.py").write_text("a=1")
    for place, line in {
        "src/link.py": "ruff format src",
        "src/deep": "black src",
        ".ruff_cache": "ruff check src",
        ".mypy_cache": "mypy src",
        "module": "mypy src",
        "linked": "ruff check linked",
    }.items():
        assert place == "linked" or judge(line, guard).level is Level.LOW
        (tmp_path / place).symlink_to(outside / "a.py" if place.endswith(".py") else outside)
        assert judge(line, guard).level is Level.ALWAYS_ASK, line
        (tmp_path / place).unlink()
    (tmp_path / "src/second.py").hardlink_to(outside / "a.py")
    for line in ("ruff format src", "ruff format src/second.py", "isort src", "black src"):
        assert judge(line, guard).level is Level.ALWAYS_ASK, line


def test_a_tools_private_files_hold_no_links(guard: PathGuard, tmp_path: Path) -> None:
    (tmp_path / ".ruff_cache").mkdir()
    assert judge("ruff check src", guard).level is Level.LOW
    (tmp_path / ".ruff_cache/0.9.0").symlink_to("/tmp")
    assert judge("ruff check src", guard).level is Level.ALWAYS_ASK


def test_a_directory_with_too_many_entries_is_asked_about(guard: PathGuard, tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(MAX_ENTRIES - FOLDER_COSTS_ENTRIES):
        (tmp_path / f"many/{number}.py").touch()
    assert judge("ruff check many", guard).level is Level.LOW
    (tmp_path / "many/more.py").touch()
    assert judge("ruff check many", guard).level is Level.ALWAYS_ASK


def test_too_many_settings_files_are_asked_about(guard: PathGuard, tmp_path: Path) -> None:
    for number in range(MAX_FILES + 1):
        assert judge("ruff check src", guard).level is Level.LOW
        (tmp_path / f"src/{number}").mkdir()
        (tmp_path / f"src/{number}/ruff.toml").touch()
    assert judge("ruff check src", guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize("line,file", [("go list -m all", "go.mod"), ("cargo tree", "Cargo.toml")])
def test_a_project_above_the_workspace_is_ignored(
    line: str, file: str, guard: PathGuard, tmp_path: Path
) -> None:
    assert judge(line, guard).level is Level.LOW
    (tmp_path / file).unlink()
    assert judge(line, guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize(
    "line",
    [
        "git merge topic && ruff check src",
        "git pull; mypy src",
        "ruff format src && make test",
        "ruff check src && sh build.sh",
        "git merge topic && git status && ruff check src",
    ],
)
def test_settings_are_not_changed_by_the_same_line(line: str, guard: PathGuard) -> None:
    assert judge(line, guard).level is Level.ALWAYS_ASK
