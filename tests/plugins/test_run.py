"""The run's machinery, judged from outside: a small suite run by a real pytest process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN_LIMIT_S = 240
pytestmark = pytest.mark.timeout(RUN_LIMIT_S + 10)

SUITE = """
import pytest

@pytest.mark.strace
def test_traces(proof_record):
    proof_record("durability", syncs=29)

@pytest.mark.docker
def test_contains():
    pass

@pytest.mark.slow
def test_takes_long():
    pass

@pytest.mark.slow
def test_takes_long_too():
    pass
"""

# The tools of the machine, as this suite is to believe them.
PROBES = """
from tests.plugins import groups

pytest_plugins = [f"tests.plugins.{name}" for name in ("profile", "groups", "pace", "proof", "forks")]
groups.PROBES = {
    "strace": lambda: None,
    "docker": lambda: "no Docker daemon answers",
    "postgres": lambda: None,
    "chromium": lambda: None,
}
"""

INI = """
[pytest]
asyncio_default_fixture_loop_scope = function
markers =
    slow:
    strace:
    docker:
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(PROBES)
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text(INI)
    return tmp_path


def run(folder: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("HUBBUB_", "PYTEST_"))
    }
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-rs",
            "-p",
            "no:cacheprovider",
            "-p",
            "_hypothesis_pytestplugin",
            *options,
        ],
        cwd=folder,
        env=environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | variables,
        capture_output=True,
        text=True,
        timeout=RUN_LIMIT_S,
        check=False,
    )


def test_a_missing_tool_skips_aloud_and_a_required_one_that_ran_is_fine(suite: Path) -> None:
    done = run(suite, HUBBUB_REQUIRE="strace")
    assert done.returncode == 0
    assert "1 passed, 1 skipped, 2 deselected" in done.stdout
    assert "SKIPPED docker: 0 ran, 1 skipped: no Docker daemon answers" in done.stdout
    assert "strace: 1 ran, 0 skipped" in done.stdout
    assert "HUBBUB_PROFILE=test HUBBUB_SEED=0 HUBBUB_SHARD=1/1" in done.stdout
    assert not (suite / "docs").exists()


def test_a_required_group_without_its_tool_fails(suite: Path) -> None:
    done = run(suite, HUBBUB_REQUIRE="docker")
    assert done.returncode == 1
    assert "HUBBUB_REQUIRE names docker, but no Docker daemon answers" in done.stdout
    assert "FAILED docker: 0 ran, 0 skipped: HUBBUB_REQUIRE names it, no test ran" in done.stdout


def test_a_required_group_without_tests_fails_a_green_run(suite: Path) -> None:
    done = run(suite, "--forks", "2", HUBBUB_REQUIRE="strace,postgres")
    assert "1 passed, 1 skipped" in done.stdout
    assert "FAILED postgres: 0 ran, 0 skipped: HUBBUB_REQUIRE names it, no test ran" in done.stdout
    assert done.returncode == 1


def test_an_unknown_group_is_a_usage_error(suite: Path) -> None:
    done = run(suite, HUBBUB_REQUIRE="stracce")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "HUBBUB_REQUIRE names stracce; the groups are strace, docker, postgres, chromium" in done.stderr


def test_the_slice_runs_slow_tests_alone_and_all_slices_run_them_all(suite: Path) -> None:
    first = run(suite, "-v", HUBBUB_PROFILE="ci", HUBBUB_SEED="5", HUBBUB_SHARD="1/2")
    second = run(suite, "-v", HUBBUB_PROFILE="ci", HUBBUB_SEED="5", HUBBUB_SHARD="2/2")
    assert (first.returncode, second.returncode) == (0, 0)  # also where a slice is empty
    passed = first.stdout.count("PASSED") + second.stdout.count("PASSED")
    assert passed == 2
    assert "test_traces" not in first.stdout + second.stdout


NAMES_OF_RECORDS = ("traces", "contains", "gone", "contains[as it was]")


def test_proof_writes_the_suites_page_and_keeps_other_records(
    suite: Path,
) -> None:
    earlier = [{"test": f"test_suite.py::test_{name}", "syncs": 7} for name in NAMES_OF_RECORDS]
    (suite / "docs/proof").mkdir(parents=True)
    made = {"made_at": "2026-01-02T03:04:05+00:00", "commit": "c0ffee", "seed": 5}
    (suite / "docs/proof/durability.json").write_text(json.dumps({**made, "records": earlier}))
    done = run(suite, "--forks", "2", "--share", "test", HUBBUB_PROFILE="proof", HUBBUB_SEED="11")
    assert "3 passed, 1 skipped" in done.stdout
    page = json.loads((suite / "docs/proof/durability.json").read_text())
    assert page["seed"] == 11
    kept, made_anew = page["records"]
    assert kept == {**made, **earlier[1]}
    assert (made_anew["test"], made_anew["outcome"], made_anew["syncs"]) == (
        "test_suite.py::test_traces",
        "passed",
        29,
    )


FILES = {
    "test_dies.py": """
import os, signal

def test_before():
    print("said before")

def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)

def test_after():
    pass
""",
    "test_shared.py": """
import os, pathlib, pytest

@pytest.fixture(scope="module")
def once():
    yield os.getpid()
    with open("ended", "a") as file:
        file.write(f"{os.getpid()} ")

@pytest.mark.parametrize("number", range(3))
def test_together(once, tmp_path, number):
    assert once == os.getpid() and not list(tmp_path.iterdir())

def test_fails(once):
    print("said while it failed")
    assert once is None
""",
    "test_collected.py": """
import os

COLLECTED_BY = os.getpid()

def test_elsewhere():
    assert os.getppid() == COLLECTED_BY
""",
}


def test_forked_processes_share_files_and_one_that_dies_fails_its_test_alone(suite: Path) -> None:
    (suite / "test_suite.py").unlink()
    for name, text in FILES.items():
        (suite / name).write_text(text)
    done = run(suite, "--forks", "2")
    assert done.returncode == 1
    assert "2 failed, 6 passed" in done.stdout
    assert "the process that ran this test ended with -9" in done.stdout
    assert "said while it failed" in done.stdout
    assert "said before" not in done.stdout
    assert len((suite / "ended").read_text().split()) == 1


def test_forked_processes_stop_at_the_first_failure_if_told_to(suite: Path) -> None:
    (suite / "test_suite.py").write_text(
        "def test_fails():\n    raise SystemExit(3)\n"
        + "def test_waits():\n    import time; time.sleep(600)\n"
    )
    done = run(suite, "--forks", "2", "--share", "test", "-x")
    assert done.returncode == 1
    assert "stopping after 1 failures" in done.stdout


def test_a_run_that_failed_ends_whatever_its_tests_left_running(suite: Path) -> None:
    (suite / "test_suite.py").write_text(
        "import threading, time\n\ndef test_leaves_a_thread():\n"
        "    threading.Thread(target=time.sleep, args=(3600,)).start()\n    assert not 1\n"
    )
    done = run(suite)
    assert (done.returncode, "1 failed" in done.stdout) == (1, True)
