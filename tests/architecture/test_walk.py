"""The number of product files on a message's way is held where it is."""

from pathlib import Path

from tests.architecture.walk import LIMITS, files, walk


async def test_a_message_passes_no_more_files_than_its_limit(tmp_path: Path) -> None:
    passed = files(await walk(tmp_path))
    over = {name: paths for name, paths in passed.items() if len(paths) > LIMITS[name]}
    assert not over, {name: (len(paths), paths) for name, paths in over.items()}
    assert {"core/inbound/hub.py", "core/runs/loop.py", "channels/sender.py"} <= set(passed["hello"])
