"""Drives a simulated Discord that runs in another process."""

from contextlib import AbstractAsyncContextManager

from tests.simulators.control_client import SimulatorControl, simulator_process


def discord_process(*options: str) -> AbstractAsyncContextManager[tuple[str, SimulatorControl]]:
    """Runs ``python -m tests.simulators.discord`` with these options; its URL and the control client."""
    return simulator_process("tests.simulators.discord", *options)
