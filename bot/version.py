"""Which version this is."""

from importlib import metadata

PACKAGE = "hubbub"


def version() -> str:
    """The program's version; a tree that was never installed has none."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return "unknown"
