"""The repository's own files, for tests that judge the text of the project."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
GENERATED = {".git", ".venv", ".ci-venv", "__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis"}


def project_files(root: Path = ROOT) -> list[Path]:
    """Files that are, or would be, committed: relative paths, sorted. Works in a copy without history too."""
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        found = {Path(name) for name in listed.stdout.split("\0") if name}
    else:
        found = {path.relative_to(root) for path in root.rglob("*") if not GENERATED & set(path.parts)}
    return sorted(path for path in found if (root / path).is_file())
