"""How the hub's commands are written, for who wrote one in a way that means nothing."""

_ANSWERS = "{0} with the ten characters below a card; {0} alone, if only one card waits here."
_USAGES = {
    "approve": f"Write {_ANSWERS.format('/approve')} The owner lets people in with /approve CHANNEL CODE.",
    "yes": f"Write {_ANSWERS.format('/yes')}",
    "always": f"Write {_ANSWERS.format('/always')}",
    "deny": f"Write {_ANSWERS.format('/deny')}",
    "no": f"Write {_ANSWERS.format('/no')}",
}
_ALONE = frozenset({"new", "status", "help", "pause", "resume"})


def usage(name: str) -> str | None:
    """An answer to a command written in a way that means nothing; None: there is no such command."""
    return f"/{name} stands alone: write nothing behind it." if name in _ALONE else _USAGES.get(name)
