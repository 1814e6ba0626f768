"""Where things lie unless somebody says otherwise."""

import os
from pathlib import Path

FILE_NAME = "hubbub.toml"
DATA_DIR = "./data"
DATABASE_NAME = "hub.db"
OVERRIDE_PREFIX = "HUBBUB__"


def absolute(path: Path, base: Path) -> Path:
    """A path that the configuration names, from the directory its file is in."""
    return Path(os.path.normpath(base / path.expanduser()))
