"""A fault stays the same fault while the tree gets new names."""

import subprocess
from pathlib import Path

import pytest

from tests.controls.recut import main

FILES = {
    "core/sums.py": "def double(number):\n    return number * 2\n",
    "core/half.py": "from core.sums import double\n\n\ndef half(number):\n    return double(number) / 4\n",
    "tests/controls/wrong-factor/control.toml": (
        'promise = "Numbers are doubled"\nmust_fail = ["tests/test_sums.py::test_doubles"]\n'
    ),
    "tests/controls/wrong-factor/fault.patch": (
        "--- a/core/sums.py\n+++ b/core/sums.py\n@@ -1,2 +1,2 @@\n def double(number):\n"
        "-    return number * 2\n+    return number * 3\n"
    ),
    "tests/controls/wrong-half/control.toml": (
        'promise = "Numbers are halved"\nmust_fail = ["tests/test_sums.py::test_halves"]\n'
    ),
    "tests/controls/wrong-half/fault.patch": (
        "--- a/core/half.py\n+++ b/core/half.py\n@@ -3,3 +3,3 @@\n \n def half(number):\n"
        "-    return double(number) / 4\n+    return double(number) / 2\n"
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    return root


def patch(project: Path, name: str) -> str:
    return (project / "tests/controls" / name / "fault.patch").read_text()


def test_faults_take_the_new_names(project: Path) -> None:
    assert main(["sed", "-i", "s/double/twice/g", "core/sums.py", "core/half.py"], project) == 0
    assert "twice" in (project / "core/half.py").read_text()
    assert "-    return twice(number) / 4\n+    return twice(number) / 2\n" in patch(project, "wrong-half")
    assert " def twice(number):\n-    return number * 2\n+    return number * 3\n" in patch(
        project, "wrong-factor"
    )
    for name in ("wrong-factor", "wrong-half"):
        subprocess.run(
            ["git", "apply", "--check", f"tests/controls/{name}/fault.patch"], cwd=project, check=True
        )


def test_a_fault_moves_with_its_file(project: Path) -> None:
    assert main(["mv", "core/half.py", "core/quotients.py"], project) == 0
    assert patch(project, "wrong-half").startswith("--- a/core/quotients.py\n+++ b/core/quotients.py\n")
    assert patch(project, "wrong-factor").count("\n") == FILES[
        "tests/controls/wrong-factor/fault.patch"
    ].count("\n")


def test_a_blind_table_stays_as_it_was_written(project: Path) -> None:
    table = project / "tests/core/safety/shell_lines_first.txt"
    table.parent.mkdir(parents=True)
    table.write_text("harmful\trm core/half.py\n")
    script = project / "rename.sh"
    script.write_text(
        "#!/bin/sh\nmv core/half.py core/part.py\nsed -i s/half/part/ $(find tests -name '*.txt')\n"
    )
    script.chmod(0o755)
    assert main([str(script)], project) == 0
    assert table.read_text() == "harmful\trm core/half.py\n"
    assert (project / "core/part.py").exists()


def test_a_command_that_undoes_a_fault_changes_nothing(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sed", "-i", "s/[0-9]$/2/", "core/half.py"], project) == 1
    assert "wrong-half" in capsys.readouterr().out
    assert (project / "core/half.py").read_text() == FILES["core/half.py"]
    assert patch(project, "wrong-half") == FILES["tests/controls/wrong-half/fault.patch"]


def test_a_command_that_fails_changes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sed", "-i", "s/a/b/", "core/none.py"], project) == 1
    assert "none.py" in capsys.readouterr().out
    assert (project / "core/sums.py").read_text() == FILES["core/sums.py"]
