"""Message channels: the supported platforms and their shared code."""
