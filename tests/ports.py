"""TCP ports for servers that have to know their own address beforehand."""

import os
import random
import socket

_OURS = range(20_000, 32_000)
"""Below what systems give to outgoing connections, so that a port stays free while its server restarts."""
_EACH = 1_000


def free_port() -> int:
    """A port of this machine that nobody listens on, and no other process of this run asks for."""
    for port in random.sample(_range(os.environ.get("PYTEST_XDIST_WORKER", "")), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"no free port among a hundred of {_OURS}")


def _range(worker: str) -> range:
    """Tests that run side by side must not be given the same port: each worker has its own."""
    number = worker.removeprefix("gw")
    if not number.isdecimal():
        return _OURS
    start = _OURS.start + int(number) * _EACH % len(_OURS)
    return range(start, start + _EACH)
