"""Cut every planted fault anew while a command rewrites the tree: python -m tests.controls.recut COMMAND …

The command runs in three kinds of trees: a clean copy, copies with faults planted, and the project itself.
The difference between the first two is the new patch, so a fault stays the same fault under new names. Faults
that patch different files share a copy. The command must do the same in every copy, and needs no git. Blind
tables of command lines stay as they were written.
"""

import argparse
import difflib
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.controls.control import PRODUCT, Control, patched_files, read_controls
from tests.controls.trial import copy_project, plant
from tests.tree import ROOT, project_files

BLIND = "tests/**/shell_lines_*.txt"
"""Tables whose authors saw neither the product nor its names."""


class RecutFailed(Exception):
    """A command failed, or a fault is no longer there after it; the message names it."""


def recut(root: Path, command: Sequence[str], scratch: Path) -> list[str]:
    """Rewrite the project and all its patches; return the names of the faults. Raises RecutFailed before
    anything of the project was changed."""
    controls = read_controls(root / "tests" / "controls")
    clean = scratch / "clean"
    copy_project(root, clean)
    _run(command, clean)
    patches: dict[str, str] = {}
    for number, batch in enumerate(batches(controls)):
        faulty = _rewritten(root, batch, command, scratch / f"faulty-{number}")
        for control in batch:
            patches[control.name] = _patch(patched_files(control), clean, faulty)
    for control in (one for one in controls if not patches[one.name]):  # what it patches may have moved
        faulty = _rewritten(root, [control], command, scratch / control.name)
        patches[control.name] = _patch(_product(clean, faulty), clean, faulty)
    if lost := sorted(name for name, patch in patches.items() if not patch):
        raise RecutFailed(f"after the command these plant nothing any more: {', '.join(lost)}")
    _run(command, root)
    for name, patch in patches.items():
        (root / "tests" / "controls" / name / "fault.patch").write_text(patch, encoding="utf-8")
    return sorted(patches)


def batches(controls: Iterable[Control]) -> list[list[Control]]:
    """Return the controls in lists within which no file is patched twice."""
    found: list[tuple[set[str], list[Control]]] = []
    for control in controls:
        files = set(map(str, patched_files(control)))
        for taken, batch in found:
            if not files & taken:
                taken |= files
                batch.append(control)
                break
        else:
            found.append((files, [control]))
    return [batch for _, batch in found]


def _rewritten(root: Path, planted: Sequence[Control], command: Sequence[str], copy: Path) -> Path:
    copy_project(root, copy)
    for control in planted:
        plant(control, copy)
    _run(command, copy)
    return copy


def _patch(paths: Iterable[Path], clean: Path, faulty: Path) -> str:
    return "".join(_difference(path, clean, faulty) for path in paths)


def _product(*trees: Path) -> list[Path]:
    return sorted({path for tree in trees for path in project_files(tree) if str(path).startswith(PRODUCT)})


def _difference(path: Path, clean: Path, faulty: Path) -> str:
    before, after = (_lines(tree / path) for tree in (clean, faulty))
    return "".join(_whole_lines(difflib.unified_diff(before, after, f"a/{path}", f"b/{path}")))


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []


def _whole_lines(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _run(command: Sequence[str], tree: Path) -> None:
    blind = {path: path.read_bytes() for path in tree.glob(BLIND)}
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    for path, written in blind.items():
        if path.exists():
            path.write_bytes(written)
    if done.returncode != 0:
        raise RecutFailed(
            f"{' '.join(command)} failed in {tree}: {done.stderr.strip() or done.stdout.strip()}"
        )


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Recut all; 0 if the project was rewritten."""
    parser = argparse.ArgumentParser(prog="recut", description="Rewrite the tree and every planted fault.")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what rewrites the tree it is started in")
    options = parser.parse_args(arguments)
    if not options.command:
        parser.error("name a command")
    with tempfile.TemporaryDirectory(prefix="hubbub-recut-") as scratch:
        try:
            names = recut(root, options.command, Path(scratch))
        except RecutFailed as failed:
            print(f"recut: {failed}")
            return 1
    print(f"{len(names)} faults cut anew")
    return 0


if __name__ == "__main__":
    sys.exit(main())
