"""Runs tests in a copy of the project and says what came of each: the runner's hands."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.controls.control import Control, patched_files
from tests.patience import PATIENCE_S
from tests.tree import project_files

SHOWN_LINES = 40
VERDICTS, LOG = "verdicts.jsonl", "pytest.log"


class PatchRefused(Exception):
    """The fault does not apply to the product as it is now."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a run of tests. `problem` is set when it came to nothing that can be judged."""

    outcomes: Mapping[str, frozenset[str]]
    """By node id asked for: passed, failed, error, skipped of the tests it covers; empty: none ran."""
    skips: frozenset[str]
    problem: str | None
    output: str


def copy_project(root: Path, target: Path) -> None:
    """The work tree as it would be committed."""
    for path in project_files(root):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / path, target / path)


def copy_tried(pristine: Path, target: Path) -> None:
    """A copy of one in which tests have run, with the bytecode they left: nothing is compiled again. Files
    are the same ones by another name, until they are replaced."""
    left_out = shutil.ignore_patterns(VERDICTS, LOG, ".hypothesis")
    shutil.copytree(pristine, target, ignore=left_out, copy_function=os.link)


def plant(control: Control, copy: Path) -> None:
    """Apply the fault. Raises PatchRefused."""
    for path in patched_files(control):
        _make_own(copy / path)
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", str(control.patch)],
        cwd=copy,
        env=os.environ | {"GIT_CEILING_DIRECTORIES": str(copy.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise PatchRefused(done.stderr.strip())


def _make_own(source: Path) -> None:
    """No other copy sees it change, and what was compiled of it is not taken for it."""
    if source.exists():
        text = source.read_bytes()
        source.unlink()
        source.write_bytes(text)
    for compiled in source.parent.glob(f"__pycache__/{source.stem}.*"):
        compiled.unlink()


def run_tests(
    copy: Path,
    node_ids: Sequence[str],
    *,
    profile: str,
    timeout_s: float,
    workers: int = 0,
    patience_s: float = PATIENCE_S,
) -> Trial:
    """Run the tests named, in the copy and on the copy's code, in a process group of their own."""
    verdicts = copy / VERDICTS
    verdicts.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.controls.verdicts",
    ]
    command += [f"--verdicts={verdicts}", *(["-n", str(workers), "--dist", "loadfile"] if workers else [])]
    environ = {
        name: value for name, value in os.environ.items() if name not in ("HUBBUB_REQUIRE", "HUBBUB_SHARD")
    }
    environ |= {"PYTHONPATH": str(copy), "HUBBUB_PROFILE": profile}
    # The same seed each time: whether a fault is found is not left to chance.
    environ |= {"HUBBUB_SEED": "0", "HUBBUB_PATIENCE_S": f"{patience_s:g}"}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    log = copy / LOG
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, *node_ids],
            cwd=copy,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout=timeout_s)
            problem = None if code in (0, 1) else _PROBLEMS.get(code, f"pytest ended with {code}")
        except subprocess.TimeoutExpired:
            problem = f"the tests did not end within {timeout_s:g} s"
        finally:
            _end_group(process)
    tail = log.read_text(errors="replace").splitlines()[-SHOWN_LINES:]
    return _read(verdicts, node_ids, problem, "\n".join(tail))


_PROBLEMS = {
    2: "the tests were interrupted, or cannot be collected",
    3: "pytest itself failed",
    4: "the tests named cannot be collected",
    5: "no tests ran",
}


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the tests and whatever they left running."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _read(verdicts: Path, node_ids: Sequence[str], problem: str | None, output: str) -> Trial:
    lines = verdicts.read_text().splitlines() if verdicts.exists() else []
    reports = [json.loads(line) for line in lines]
    outcomes = {
        node_id: frozenset(
            _outcome(report) for report in reports if covers(node_id, report["test"]) and _counts(report)
        )
        for node_id in node_ids
    }
    skips = frozenset(report["reason"] for report in reports if report["outcome"] == "skipped")
    return Trial(outcomes, skips, problem, output)


def _counts(report: Mapping[str, str]) -> bool:
    return report["when"] == "call" or report["outcome"] != "passed"


def _outcome(report: Mapping[str, str]) -> str:
    """A failure outside the test's own body is an error: it says nothing about what the test asserts."""
    return "error" if report["outcome"] == "failed" and report["when"] != "call" else report["outcome"]


def covers(node_id: str, test: str) -> bool:
    """Return whether a node id as written names this test, or a class or parametrised test it belongs to."""
    test = test.partition("@")[0] if "@" not in node_id else test  # xdist appends @group
    return test == node_id or test.startswith((f"{node_id}[", f"{node_id}::"))
