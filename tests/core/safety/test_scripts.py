"""Always on a command that runs a file covers the file as it was, where that file can be named."""

import os
from pathlib import Path

import pytest

from core.safety.paths import PathGuard
from core.safety.shell.rating import Level, judge
from core.safety.shell.table import table
from tests.core.safety.shell_workspace import make_workspace


@pytest.fixture
def guard(tmp_path: Path) -> PathGuard:
    return make_workspace(tmp_path)


@pytest.mark.parametrize(
    "line,file",
    [
        ("make test", "Makefile"),
        ("timeout 30 make test", "Makefile"),
        ("nice -n 10 sh build.sh", "build.sh"),
        ("sh build.sh a", "build.sh"),
        ("./build.sh", "build.sh"),
        ("python3 script.py", "script.py"),
        ("python3 script.py --month 2", "script.py"),
        ("npm test", "package.json"),
        ("npm run build -- --watch=false", "package.json"),
        ("pnpm run build", "package.json"),
        ("yarn build", "package.json"),
        ("npm outdated", "package.json"),
        ("docker compose ps", "docker-compose.yml"),
    ],
)
def test_changed_content_is_asked_about_again(line: str, file: str, guard: PathGuard, tmp_path: Path) -> None:
    granted = judge(line, guard).pattern
    assert granted is not None
    assert granted.startswith(f"{line} [{file} unchanged, ")
    assert granted == judge(line, guard).needs[0].name
    old = (tmp_path / file).read_text()
    (tmp_path / file).write_text(f"{old}\n")
    assert judge(line, guard).needs[0].name != granted
    (tmp_path / file).write_text(old)
    assert judge(line, guard).needs[0].name == granted
    assert judge(line, guard).digests.keys() >= {file}


@pytest.mark.parametrize(
    "text",
    [
        "include a.mk",
        "-include a.mk",
        "  sinclude a.mk",
        "\tinclude a.mk",
        "load a.so",
        "$(eval include a)",
        "all: ; ${eval x}",
    ],
)
def test_a_makefile_that_reads_others_is_asked_about(text: str, guard: PathGuard, tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(f"{text}\ntest:\n\techo\n")
    assert judge("make test", guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize("name", ["GNUmakefile", "makefile"])
def test_a_makefile_that_make_prefers_is_the_one_that_counts(
    name: str, guard: PathGuard, tmp_path: Path
) -> None:
    granted = judge("make test", guard).pattern
    (tmp_path / name).write_text("test:\n\techo evil\n")
    assert judge("make test", guard).pattern != granted


@pytest.mark.parametrize("name", ["Makefile.sh", "Makefile,v", "s.Makefile", "RCS", "SCCS", "Makefile.o"])
def test_sources_of_a_makefile_need_approval(name: str, guard: PathGuard, tmp_path: Path) -> None:
    (tmp_path / name).write_text("evil")
    assert judge("make test", guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize(
    "line",
    [
        "make evil",
        "make -- evil",
        "make CC=evil",
        "make -f x",
        "make -C src",
        "make -I src",
        "make --eval=x",
    ],
)
def test_make_is_given_nothing_but_targets_that_its_makefile_defines(line: str, guard: PathGuard) -> None:
    assert judge(line, guard).level is Level.ALWAYS_ASK


def test_the_makefile_is_that_of_the_directory_in_which_make_runs(guard: PathGuard, tmp_path: Path) -> None:
    (tmp_path / "src/Makefile").write_text("test:\n\techo src\n")
    there, here = judge("cd src && make test", guard), judge("make test", guard)
    assert there.needs[0].name.startswith("make test [src/Makefile unchanged, ")
    assert there.needs[0].name.endswith(" [in src]")
    assert there.needs != here.needs


@pytest.mark.parametrize(
    "text",
    [
        "import requests",
        "from . import a",
        "import main",
        "exec('x')",
        "__import__('x')",
        "import importlib",
        "import runpy",
        "(",
    ],
)
def test_a_script_that_loads_more_is_asked_about(text: str, guard: PathGuard, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(f"{text}\n")
    assert judge("python3 script.py", guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize(
    "name", ["json.py", "json/__init__.py", "re.py", "json.cpython-311-x86_64-linux-gnu.so"]
)
def test_a_file_next_to_a_script_shadows_no_module(name: str, guard: PathGuard, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("evil")
    assert judge("python3 script.py", guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize(
    "first", ["#!./evil", "#!/tmp/evil", "echo", "#!/bin/sh evil", "#!/usr/bin/env evil", ""]
)
def test_a_script_is_run_by_a_shell_of_the_machine_or_asked_about(
    first: str, guard: PathGuard, tmp_path: Path
) -> None:
    (tmp_path / "build.sh").write_text(f"{first}\necho\n")
    assert judge("./build.sh", guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize(
    "line",
    [
        "sh out.sh",
        "sh /tmp/x.sh",
        "./out.sh",
        "python3 out.sh",
        "sh missing.sh",
        "sh ../x.sh",
        "sh -c ls",
        "sh",
    ],
)
def test_a_script_elsewhere_is_asked_about(line: str, guard: PathGuard, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}.sh"
    outside.write_text("#!/bin/sh\n")
    os.symlink(outside, tmp_path / "out.sh")
    assert judge(line, guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize("line", ["echo x | sh -", "python3 - < list.txt", "bash -"])
def test_a_file_named_like_the_standard_input_does_not_stand_for_it(
    line: str, guard: PathGuard, tmp_path: Path
) -> None:
    (tmp_path / "-").write_text("true\n")
    assert judge(line, guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize(
    "name",
    [".npmrc", ".pnpmfile.cjs", "pnpm-workspace.yaml", "package.yaml", ".yarnrc", ".yarnrc.yml", ".pnp.cjs"],
)
@pytest.mark.parametrize(
    "line", ["npm test", "npm run build", "pnpm run build", "yarn build", "npm view react"]
)
def test_package_manager_configuration_needs_approval(
    line: str, name: str, guard: PathGuard, tmp_path: Path
) -> None:
    (tmp_path / "src/package.json").write_text((tmp_path / "package.json").read_text())
    (tmp_path / "package.json").unlink()
    assert judge(f"cd src && {line}", guard).level is Level.LOW
    (tmp_path / name).write_text("script-shell=./evil\n")
    assert judge(f"cd src && {line}", guard).level is Level.ALWAYS_ASK


def test_a_package_inside_another_always_asks(guard: PathGuard, tmp_path: Path) -> None:
    (tmp_path / "src/package.json").write_text((tmp_path / "package.json").read_text())
    assert judge("cd src && npm test", guard).level is Level.ALWAYS_ASK
    assert judge("cd docs && npm test", guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize(
    "line",
    [
        "npm run evil",
        "npm start",
        "npm run build --script-shell=./evil",
        "npm test --prefix src",
        "yarn install",
        "yarn evil",
        "pnpm run --dir src build",
        "npm exec build",
    ],
)
def test_a_package_runs_nothing_but_what_it_defines(line: str, guard: PathGuard) -> None:
    assert judge(line, guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize("text", ["", "[]", '{"scripts": []}', '{"scripts": {"test": 1}}', "[" * 9_000])
def test_a_package_that_says_nothing_is_asked_about(text: str, guard: PathGuard, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(text)
    assert judge("npm test", guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize(
    "name,text",
    [
        (".env", "COMPOSE_FILE=/etc/x"),
        ("compose.yaml", "include: [x]"),
        ("compose.override.yml", "services: {a: {extends: x}}"),
        ("docker-compose.yml", "services: {a: {env_file: x}}"),
        ("docker-compose.yml", '"\\x69nclude": [x]'),
    ],
)
def test_a_project_that_reads_more_is_asked_about(
    name: str, text: str, guard: PathGuard, tmp_path: Path
) -> None:
    assert judge("docker compose ps", guard).level is Level.LOW
    assert judge("cd src && docker compose ps", guard).level is Level.ALWAYS_ASK
    (tmp_path / name).write_text(text)
    assert judge("docker compose ps", guard).level is Level.ALWAYS_ASK


def test_shellcheck_is_asked_about_where_settings_or_links_may_change_what_it_reads(
    guard: PathGuard, tmp_path: Path
) -> None:
    assert judge("shellcheck scripts/build.sh", guard).level is Level.LOW
    (tmp_path / "scripts/.shellcheckrc").write_text("external-sources=true\n")
    assert judge("shellcheck build.sh", guard).level is Level.LOW
    assert judge("shellcheck build.sh scripts/build.sh", guard).level is Level.ALWAYS_ASK
    os.symlink("scripts/build.sh", tmp_path / "link.sh")
    assert judge("shellcheck link.sh", guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize("name", ["json", "argparse.py", "re.so"])
def test_a_module_in_the_workspace_does_not_pass_for_one_of_pythons_own(
    name: str, guard: PathGuard, tmp_path: Path
) -> None:
    assert judge("python3 -m json.tool data.json", guard).level is Level.LOW
    assert judge("python3 -m json.tool data.json out.json", guard).level is Level.ALWAYS_ASK
    os.symlink("src/a.py", tmp_path / name)
    assert judge("python3 -m json.tool data.json", guard).level is Level.ALWAYS_ASK


def test_files_next_to_the_makefile_are_considered(guard: PathGuard, tmp_path: Path) -> None:
    (tmp_path / "Makefile").rename(tmp_path / "src/Makefile")
    os.symlink("src/Makefile", tmp_path / "Makefile")
    (tmp_path / "GNUmakefile").write_text("include evil\ntest:\n\techo\n")
    assert judge("make test", guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize(
    "line,file,text",
    [
        ("make test", "Makefile", "test:\n\techo\n{}\ninclude evil\n"),
        ("python3 script.py", "script.py", "import json\n{}\nimport evil\n"),
        ("docker compose ps", "docker-compose.yml", "services: {{}}\n{}\ninclude: [evil]\n"),
    ],
)
def test_no_length_hides_what_a_file_reads(
    line: str, file: str, text: str, guard: PathGuard, tmp_path: Path
) -> None:
    (tmp_path / file).write_text(text.format(f"#{'x' * 200_000}"))
    assert judge(line, guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize(
    "line",
    [
        "git merge topic && make test",
        "git merge topic; make test",
        "git merge topic || make test",
        "ls && git pull && make test",
        "git merge topic | make test",
        "make test | git merge topic",
        "git stash pop && sh build.sh",
        "git rebase main && ./build.sh",
        "git checkout topic && npm test",
        "git switch topic && python3 script.py",
        "cp a.txt GNUmakefile && make test",
        "mv a.txt GNUmakefile && make test",
        "touch GNUmakefile && make test",
        "echo x > GNUmakefile; make test",
        "echo evil >> words.sh && sh words.sh",
        "sh words.sh >> words.sh",
        "make lint && make test",
    ],
)
def test_a_line_that_changes_the_files_it_runs_needs_approval(line: str, guard: PathGuard) -> None:
    rating = judge(line, guard)
    assert (rating.level, rating.pattern) == (Level.ALWAYS_ASK, None)
    assert "another part of the line may change" in rating.reason or "which it also runs" in rating.reason


@pytest.mark.parametrize(
    "line",
    [
        "git status && make test",
        "make test && git merge topic",
        "git add -A && git commit -m one && git push",
        "mkdir -p build && make test | tee new.log",
        "chmod +x build.sh && ./build.sh",
        "git log -1; make test 2>/dev/null | tail -3",
    ],
)
def test_harmless_commands_may_precede_a_granted_program(line: str, guard: PathGuard) -> None:
    assert judge(line, guard).level is Level.LOW


def test_rows_that_run_and_rewrite_nothing_make_no_other_file() -> None:
    """Such a row makes a directory or a new document; it rewrites and runs nothing."""
    reading = [row for rows in table().values() for row in rows if row.reads]
    kinds = {
        row.name: {
            part
            for written in [*row.words("operands"), *(one.kind or "" for one in row.options.values())]
            for part in written.rstrip("*+?").replace("|", "&").split("&")
        }
        for row in reading
    }
    assert {name for name, of_row in kinds.items() if of_row & {"fresh", "written", "script"}} == {
        "mkdir",
        "tee",
    }
    assert kinds["tee"] == {"fresh", "document"}
    starting = {"starts", "into"}
    assert [row.name for row in reading if starting & row.written.keys()] == []
    may_run = {"makefile", "script", "itself", "python", "package", "package script"}
    assert [row.name for row in reading if row.written.get("runs") in may_run] == []
