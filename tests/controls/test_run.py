"""The runner of planted faults must itself be able to fail: a small project, and faults of every kind."""

import io
import subprocess
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests.controls.control import ControlError, read_control, read_controls
from tests.controls.run import choose, main
from tests.controls.trial import covers
from tests.tree import ROOT

PRODUCT = "def double(number):\n    return number * 2\n"
FAULT = """\
--- a/core/sums.py
+++ b/core/sums.py
@@ -1,2 +1,2 @@
 def double(number):
-    return number * 2
+    return number * {factor}
"""
TESTS = """
import pytest
from core.sums import double

def test_doubles():
    assert double(4) == 8

@pytest.mark.parametrize("number", [0, 1])
def test_table(number):
    assert double(number) == number * 2

def test_even():
    assert double(3) % 2 == 0

@pytest.fixture
def prepared():
    assert double(1) == 2

def test_needs_preparation(prepared):
    pass

@pytest.mark.skip(reason="no such tool")
def test_skipped():
    pass

def test_always_red():
    assert False

def test_hangs():
    while double(1) != 2:
        pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of its own with the runner's plugin in it."""
    files = {
        "core/__init__.py": "",
        "core/sums.py": PRODUCT,
        "tests/__init__.py": "",
        "tests/test_sums.py": TESTS,
        "tests/controls/__init__.py": "",
        "tests/controls/verdicts.py": (ROOT / "tests/controls/verdicts.py").read_text(),
        "pytest.ini": "[pytest]\nasyncio_default_fixture_loop_scope = function\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def add(project: Path, name: str, *tests: str, patch: str = FAULT.format(factor=3), extra: str = "") -> None:
    folder = project / "tests" / "controls" / name
    folder.mkdir()
    (folder / "fault.patch").write_text(patch)
    node_ids = ", ".join(f'"tests/test_sums.py::{test}"' for test in tests)
    (folder / "control.toml").write_text(f'promise = "Sums are right."\nmust_fail = [{node_ids}]\n{extra}')


def run(project: Path, *arguments: str) -> tuple[int, str]:
    printed = io.StringIO()
    with redirect_stdout(printed):
        code = main(["--workers", "2", *arguments], root=project)
    return code, printed.getvalue()


@pytest.mark.slow
def test_tests_that_just_passed_are_not_run_again(project: Path) -> None:
    add(project, "noticed", "test_doubles")
    code, printed = run(project, "--tested", "test")
    assert code == 0
    assert "without a fault" not in printed
    assert "passed  noticed" in printed


@pytest.mark.slow
def test_red_alone_passes(project: Path) -> None:
    add(project, "noticed", "test_doubles", "test_table", "test_table[1]")
    add(project, "green", "test_doubles", "test_even", patch=FAULT.format(factor=4))
    add(project, "green-parameter", "test_table[0]")
    add(project, "error-around", "test_needs_preparation")
    add(project, "not-collected", "test_doubles", patch=FAULT.format(factor="("))
    add(project, "no-patch", "test_doubles", patch=FAULT.format(factor=3).replace("* 2", "* 5"))
    add(project, "no-end", "test_hangs", extra="timeout_s = 5\n")
    code, printed = run(project)
    assert code == 1
    verdicts = [line.split()[:2] for line in printed.splitlines() if line.startswith(("passed ", "FAILED "))]
    assert [name for state, name in verdicts if state == "passed"] == ["noticed"]
    for why in (
        "with the fault: tests/test_sums.py::test_even was passed, not failed",
        "with the fault: tests/test_sums.py::test_table[0] was passed, not failed",
        "with the fault: tests/test_sums.py::test_needs_preparation was error, not failed",
        "with the fault: the tests named cannot be collected",
        "the patch does not apply: error: patch failed: core/sums.py:1",
        "with the fault: the tests did not end within 5 s",
    ):
        assert why in printed
    assert printed.splitlines()[-1] == "1 passed, 6 failed"
    assert (project / "core/sums.py").read_text() == PRODUCT


@pytest.mark.slow
def test_a_control_fails_if_its_test_is_red_without_the_fault(project: Path) -> None:
    add(project, "red", "test_always_red")
    add(project, "skipped", "test_skipped")
    code, printed = run(project)
    assert code == 1
    assert "without the fault: tests/test_sums.py::test_always_red was failed" in printed
    assert (
        "without the fault: tests/test_sums.py::test_skipped was skipped (Skipped: no such tool)" in printed
    )
    assert printed.splitlines()[-1] == "0 passed, 2 failed"


@pytest.mark.slow
def test_a_test_that_is_not_there_fails(project: Path) -> None:
    add(project, "gone", "test_gone")
    code, printed = run(project)
    assert code == 1
    assert printed.splitlines()[-1] == "0 passed, 1 failed"


def test_names_and_slices_choose(project: Path) -> None:
    for name in "abcde":
        add(project, name, "test_doubles")
    controls = read_controls(project / "tests" / "controls")
    assert [control.name for control in choose(controls, ["b", "d"], (1, 1))] == ["b", "d"]
    slices = [[control.name for control in choose(controls, [], (index, 3))] for index in (1, 2, 3)]
    assert slices == [["a", "d"], ["b", "e"], ["c"]]
    assert run(project, "--only", "z") == (1, "controls: there is none named z\n")


def test_no_controls_at_all_is_a_failure(project: Path) -> None:
    assert run(project) == (1, "controls: there are none\n")


@pytest.mark.parametrize(
    "toml,patch,problem",
    [
        ("must_fail = ['tests/a.py::b']", FAULT, "promise must say in a sentence what the fault breaks"),
        ("promise = 'p'", FAULT, "must_fail must list node ids"),
        ("promise = 'p'\nmust_fail = ['tests/a.py']", FAULT, "must_fail must list node ids"),
        ("promise = 'p'\nmust_fail = ['tests/a.py::b']\nextra = 1", FAULT, "unknown keys extra"),
        ("promise = 'p'\nmust_fail = ['tests/a.py::b']\nprofile = 'x'", FAULT, "profile must be one of"),
        ("promise = 'p'\nmust_fail = ['tests/a.py::b']\ntimeout_s = 0", FAULT, "timeout_s must be"),
        ("promise = 'p'\nmust_fail = ['tests/a.py::b']", "", "fault.patch is not a unified diff"),
        (
            "promise = 'p'\nmust_fail = ['tests/a.py::b']",
            FAULT.replace("core/", "tests/"),
            "the product alone",
        ),
        ("promise = 'p'\nmust_fail = ['tests/a.py::b']", FAULT + "+x\n" * 50, "changes 52 lines"),
        ("promise = [", FAULT, "Invalid value"),
    ],
)
def test_a_control_that_is_not_well_formed_is_refused(
    tmp_path: Path, toml: str, patch: str, problem: str
) -> None:
    (tmp_path / "control.toml").write_text(toml)
    (tmp_path / "fault.patch").write_text(patch)
    with pytest.raises(ControlError, match=problem):
        read_control(tmp_path)


def test_a_node_id_covers_what_it_names() -> None:
    assert covers("tests/a.py::b", "tests/a.py::b")
    assert covers("tests/a.py::b", "tests/a.py::b[1]")
    assert covers("tests/a.py::B", "tests/a.py::B::c")
    assert covers("tests/a.py::b", "tests/a.py::b@group")
    assert not covers("tests/a.py::b", "tests/a.py::bc")


def test_the_projects_own_controls_are_well_formed_and_apply() -> None:
    for control in read_controls(ROOT / "tests" / "controls"):
        for node_id in control.must_fail:
            path, *_, test = node_id.partition("[")[0].split("::")
            assert f"def {test}(" in (ROOT / path).read_text(), f"{control.name}: {node_id}"
        applied = subprocess.run(
            ["git", "apply", "--check", str(control.patch)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert applied.returncode == 0, f"{control.name}: {applied.stderr}"
