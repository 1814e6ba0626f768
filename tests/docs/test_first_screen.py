"""The README's claims about evidence, and the files that it offers to start from."""

import json
import re
from typing import Any

import yaml

from tests.tree import ROOT

README = ROOT / "README.md"
POINTS = re.compile(r"(?:^|_)(?:struck|kill_points|kills|kills_while_metered)$")


def test_the_hub_was_killed_at_as_many_points_as_the_page_says() -> None:
    (said,) = re.findall(r"kill the hub at more than (\d+) points", README.read_text().replace("\n", " "))
    killed = sum(
        _points(record)
        for report in (ROOT / "docs" / "proof").glob("crash*.json")
        for record in json.loads(report.read_text())["records"]
        if record["outcome"] == "passed"
    )
    assert killed >= int(said)


def _points(record: dict[str, Any]) -> int:
    """Points of one report: those that were struck, where it also counts those that were aimed at."""
    found = {name: value for name, value in record.items() if POINTS.search(name) and isinstance(value, int)}
    struck = [value for name, value in found.items() if name.endswith("struck")]
    return sum(struck or found.values())


def test_the_readme_compares_as_the_whole_comparison_does() -> None:
    page = (ROOT / "docs" / "compare.md").read_text()
    for ours, theirs in (
        ("approve a tool call with a button in the chat", "native buttons in the chat app"),
        ("… and the button still works after a restart", "an open request survives a restart"),
        ("edit the arguments first · two approvers", "change the arguments before approving"),
    ):
        here, whole = _row(README.read_text(), ours), _row(page, theirs)
        assert here["hubbub"][0] == whole["hubbub"][0] == "✓"
        assert here["OpenClaw"][0] == whole["OpenClaw"][0]


def _row(page: str, first: str) -> dict[str, str]:
    """A row of a table whose first heading is empty, by heading."""
    lines = page.splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith(f"| {first} |"))
    headings = next(line for line in reversed(lines[:at]) if line.startswith("| |"))
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in (headings, lines[at]))
    return dict(zip(*cells, strict=True))


def test_the_compose_file_runs_the_image_as_the_readme_does() -> None:
    """No `docker compose` is needed: its words are compared with the Dockerfile and the README's command."""
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    service = compose["services"]["hubbub"]
    dockerfile = (ROOT / "Dockerfile").read_text()
    (readme,) = re.findall(r"docker run (.*)", README.read_text())
    assert set(service) <= {
        *("image", "build", "restart", "read_only", "tmpfs", "cap_drop", "security_opt", "volumes", "ports"),
    }
    assert service["build"]["args"] == {"BASE": re.findall(r"ARG BASE=(\S+)", dockerfile)[0]}
    (volume,) = service["volumes"]
    name, place = volume.split(":")
    assert name in compose["volumes"]
    assert f"VOLUME {place}\n" in dockerfile
    (port,) = service["ports"]
    assert f"-p {port} " in readme
    assert f"EXPOSE {port.rpartition(':')[2]}\n" in dockerfile
    assert (service["read_only"], service["tmpfs"]) == (True, ["/tmp"])
    assert "--read-only --tmpfs /tmp" in readme
