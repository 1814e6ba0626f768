"""A workspace with what everyday command lines speak of: files, a repository, a makefile, scripts."""

import functools
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from core.safety.paths import PathGuard

FILES = (
    "notes.txt", "README.md", "src/a.py", "src/main.py", "tests/test_a.py", "docs/index.md", "logs/app.log",
    "app.log", "a.log", "data.csv", "data.txt", "data.json", "a.txt", "list.txt", "names.txt", "words.txt",
    "words.sh", "main.py", "important.db", "production.db", "app.db", "core/hub.py", "config.yaml", "a",
    "requirements.txt", "old.txt", "app.py", "x.tgz", "dist/pkg.whl",
    "migrations/1.sql", "schema.sql", "data/orders.csv", "src/main.c", "image.iso", "dist/release.tar.gz",
    "assets/logo.png", "docker-compose.yml", "go.mod", "Cargo.toml",
)  # fmt: skip
MAKEFILE = "all: test build\n" + "".join(
    f"{target}:\n\techo {target}\n" for target in ("help", "test", "build", "lint", "clean")
)
PACKAGE = {
    "name": "it",
    "scripts": {name: f"echo {name}" for name in ("build", "dev", "lint", "test", "typecheck", "config")},
}
SCRIPTS = (
    "build.sh",
    "run.sh",
    "scripts/build.sh",
    "scripts/run.sh",
    "scripts/test.sh",
    "reboot-report.sh",
    "script.sh",
    "configure",
    "gradlew",
)
SCRIPTS_OF_PYTHON = ("script.py", "scripts/report.py", "tools/report.py")
DJANGO = "import os\n\nfrom django.core.management import execute_from_command_line\n"


def make_workspace(root: Path) -> PathGuard:
    """Return the guard of a workspace with a repository of one commit."""
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("one\ntwo\n")
    (root / "Makefile").write_text(MAKEFILE)
    (root / "package.json").write_text(json.dumps(PACKAGE))
    for name in (*SCRIPTS, *SCRIPTS_OF_PYTHON):
        is_python = name in SCRIPTS_OF_PYTHON
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(
            "import json\nprint(json.dumps(1))\n" if is_python else "#!/bin/sh\necho hi\n"
        )
        (root / name).chmod(0o644 if is_python else 0o755)
    (root / "manage.py").write_text(DJANGO)
    (root / "train.py").write_text("import torch\n")
    (root / ".gitignore").write_text("build/\n")
    for name, content in _repository().items():
        path = root / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if content is None else path.write_bytes(content)
    return PathGuard(root)


@functools.cache
def _repository() -> Mapping[str, bytes | None]:
    """The files of a repository with one commit, made once; None for directories that are empty."""
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        (root / "README.md").write_text("one\ntwo\n")
        git(root, "init", "-q", "-b", "main")
        git(root, "add", "README.md")
        git(root, "commit", "-q", "-m", "one")
        git(root, "remote", "add", "origin", "https://example.com/us/it.git")
        found = sorted((root / ".git").rglob("*"))
        kept = {path: None if path.is_dir() else path.read_bytes() for path in found}
        full = {parent for path in kept for parent in path.parents}
        return {str(path.relative_to(root / ".git")): kept[path] for path in kept if path not in full}


def git(root: Path, *arguments: str) -> None:
    """Run git there, with nothing of this machine's own configuration."""
    who = {
        f"GIT_{role}_{what}": "o@example.com"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", **who}
    subprocess.run(["git", *arguments], cwd=root, env=environment, check=True, capture_output=True)
