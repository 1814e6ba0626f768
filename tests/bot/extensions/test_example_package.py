"""The example package, built and installed like any other, in an environment that has no other hubbub."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.tree import ROOT

LIMIT_S = 240
PACKAGES = (".", "testing", "examples/extension")


def run(*words: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(LIMIT_S * 2)
def test_the_example_package_passes_the_channel_suite_in_an_environment_of_its_own(tmp_path: Path) -> None:
    python, pip = sys.executable, (sys.executable, "-m", "pip", "--disable-pip-version-check")
    wheels, room = tmp_path / "wheels", tmp_path / "room"
    for package in PACKAGES:
        built = ("wheel", "--no-index", "--no-deps", "--no-build-isolation", "-w", wheels)
        run(*pip, *built, ROOT / package, cwd=tmp_path)
    run(python, "-m", "venv", "--without-pip", room, cwd=tmp_path)
    # The libraries are those of this environment. Its own hubbub is a path that only it reads.
    own = next(room.glob("lib/python*/site-packages"))
    (own / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    installed = ("install", "--no-index", "--no-deps", "--force-reinstall")
    run(*pip, "--python", room / "bin" / "python", *installed, *sorted(wheels.glob("*.whl")), cwd=tmp_path)
    shutil.copytree(ROOT / "examples" / "extension" / "tests", tmp_path / "package" / "tests")
    shutil.copy(ROOT / "examples" / "extension" / "pyproject.toml", tmp_path / "package")
    imported = run(room / "bin" / "python", "-c", "import bot; print(bot.__file__)", cwd=tmp_path)
    assert imported.startswith(str(own))
    environment = {"HUBBUB_PROFILE": "test", "PYTEST_ADDOPTS": "", "PYTEST_XDIST_WORKER": ""}
    said = run(room / "bin" / "python", "-m", "pytest", "-q", cwd=tmp_path / "package", **environment)
    assert "19 passed, 3 deselected" in said
