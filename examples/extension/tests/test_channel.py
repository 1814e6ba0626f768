"""What every channel promises, on this one."""

from hubbub_testing.contracts.channel.test_channel import *  # noqa: F403
