"""Rules about the project's text that no import contract can see."""

import re
from pathlib import Path

import pytest

from tests.tree import ROOT, project_files

PLATFORMS = re.compile(r"telegram|slack|discord", re.IGNORECASE)
ENVIRONMENT = re.compile(r"\bos\.(environb?|getenvb?|putenv)\b|from os import [^\n]*\b(environ|getenv)")
# Written in pieces, so that this file does not find itself.
MOCKS = re.compile(
    "unittest" + r"\.mock|Magic" + "Mock|Async" + r"Mock|mock\." + r"patch|monkeypatch\." + "setattr"
)
XFAIL = re.compile(r"mark\." + r"xfail|pytest\." + "xfail")
REGISTRIES = re.compile(
    r"pypi\." + r"org|python" + r"hosted|registry\." + r"npm|npmjs\." + r"|proxy\." + "golang"
)
PERSONAL_PATHS = re.compile("/ro" + "ot/|/wo" + "rk/|/Us" + "ers/|/opt/py" + "pi")


def texts(*roots: str, suffixes: tuple[str, ...] = ()) -> list[Path]:
    """Project files below the given directories (all: none given) with one of the suffixes (any: none)."""
    return [
        path
        for path in project_files()
        if (not roots or path.parts[0] in roots) and (not suffixes or path.suffix in suffixes)
    ]


def test_simulators_know_nothing_of_the_product() -> None:
    """A simulator made of what it judges would be wrong where that is wrong."""
    imports = re.compile(r"^\s*(?:from|import)\s+(?:bot|channels|core)\b")
    simulators = [path for path in texts("tests") if path.parts[1] == "simulators" and path.suffix == ".py"]
    assert len(simulators) > 50
    assert findings(imports, simulators) == []
    assert imports.search("    from core.messages import Address")


def findings(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    found: list[str] = []
    for path in paths:
        text = (ROOT / path).read_text(errors="replace")
        lines = enumerate(text.splitlines(), start=1)
        found += [f"{path}:{number}: {line.strip()}" for number, line in lines if pattern.search(line)]
    return found


def test_core_names_no_platform() -> None:
    core = texts("core")
    assert len(core) > 10
    assert findings(PLATFORMS, core) == []
    assert [str(path) for path in core if PLATFORMS.search(str(path))] == []


def test_only_the_configuration_reads_the_environment() -> None:
    product = [
        path
        for path in texts("bot", "channels", "core", suffixes=(".py",))
        if path != Path("bot/config/place.py")
    ]
    assert len(product) > 10
    assert findings(ENVIRONMENT, product) == []
    assert findings(ENVIRONMENT, [Path("bot/config/place.py")])


def test_no_mocks_and_no_expected_failures() -> None:
    tests = texts("tests", "benchmarks", suffixes=(".py",))
    assert len(tests) > 10
    assert findings(MOCKS, tests) == []
    assert findings(XFAIL, tests) == []


def test_no_file_names_a_registry_or_a_path_of_some_machine() -> None:
    everything = texts()
    assert findings(REGISTRIES, everything) == []
    assert findings(PERSONAL_PATHS, everything) == []
    home = str(Path.home())
    if len(home) > len("/home/"):
        assert findings(re.compile(re.escape(home) + "/"), everything) == []


@pytest.mark.parametrize(
    "pattern,line",
    [
        (PLATFORMS, "the Telegram way"),
        (ENVIRONMENT, "x = os.environ['A']"),
        (ENVIRONMENT, "from os import path, getenv"),
        (MOCKS, "from unittest." + "mock import Mock"),
        (XFAIL, "@pytest.mark." + "xfail"),
        (REGISTRIES, "https://pypi." + "org/simple"),
        (PERSONAL_PATHS, "/ro" + "ot/venv"),
    ],
)
def test_the_forbidden_text_patterns_find_their_examples(pattern: re.Pattern[str], line: str) -> None:
    assert pattern.search(line)
