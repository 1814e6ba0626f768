"""TCP ports for servers that have to know their own address beforehand."""

import random
import socket

_OURS = range(20_000, 32_000)
"""Below what systems give to outgoing connections, so that a port stays free while its server restarts."""


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    for port in random.sample(_OURS, 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"no free port among a hundred of {_OURS}")
