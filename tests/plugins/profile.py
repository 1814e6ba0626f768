"""How long a run may take and where its randomness comes from.

HUBBUB_PROFILE  `test` (default): all but `slow`; `ci`: a slice of the `slow` tests; `proof`: everything.
HUBBUB_SEED     seed of everything random; 0 for `test`, fresh otherwise. Printed at the top of every run.
HUBBUB_SHARD    `i/n` (1 <= i <= n): the slice of the `slow` tests that profile `ci` runs; default 1/1.
"""

import os
import secrets
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

import pytest
from hypothesis import HealthCheck, settings

Name = Literal["test", "ci", "proof"]
NAMES: tuple[Name, ...] = ("test", "ci", "proof")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Profile:
    """The run's length, seed and slice; suites scale themselves with `pick`."""

    name: Name
    seed: int
    shard: int
    shards: int

    def pick(self, *, test: T, proof: T, ci: T | None = None) -> T:
        """The value for this profile; `ci` falls back to `test`."""
        match self.name:
            case "test":
                return test
            case "ci":
                return test if ci is None else ci
            case "proof":
                return proof

    def takes(self, nodeid: str) -> bool:
        """Return whether a slow test belongs to this run's slice; stable across machines and order."""
        return zlib.crc32(nodeid.encode()) % self.shards == self.shard - 1


def read_profile(environ: Mapping[str, str]) -> Profile:
    """The profile named by the environment. Raises pytest.UsageError on a value it cannot read."""
    name = environ.get("HUBBUB_PROFILE", "test")
    if name not in NAMES:
        raise pytest.UsageError(f"HUBBUB_PROFILE={name}: must be one of {', '.join(NAMES)}")
    seed_text = environ.get("HUBBUB_SEED", "0" if name == "test" else str(secrets.randbelow(2**32)))
    if not seed_text.isdecimal():
        raise pytest.UsageError(f"HUBBUB_SEED={seed_text}: must be a whole number")
    shard, slash, shards = environ.get("HUBBUB_SHARD", "1/1").partition("/")
    if not (slash and shard.isdecimal() and shards.isdecimal() and 1 <= int(shard) <= int(shards)):
        raise pytest.UsageError(f"HUBBUB_SHARD={environ['HUBBUB_SHARD']}: must be i/n with 1 <= i <= n")
    return Profile(cast(Name, name), int(seed_text), int(shard), int(shards))


PROFILE = pytest.StashKey[Profile]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Fix the profile before hypothesis reads its seed; workers inherit the same one."""
    profile = read_profile(os.environ)
    os.environ["HUBBUB_SEED"] = str(profile.seed)
    config.stash[PROFILE] = profile
    if profile.seed != 0 and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(profile.seed)
    settings.register_profile(
        "hubbub",
        max_examples=profile.pick(test=50, ci=300, proof=1000),
        derandomize=profile.seed == 0,
        deadline=None,
        print_blob=True,
        # How fast or how large what is drawn happens to be depends on the machine and the seed; a test that
        # can draw nothing fails all the same.
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
        ],
    )
    settings.load_profile("hubbub")


def pytest_report_header(config: pytest.Config) -> str:
    """The line that lets a person repeat this run."""
    profile = config.stash[PROFILE]
    return (
        f"hubbub: HUBBUB_PROFILE={profile.name} HUBBUB_SEED={profile.seed} "
        f"HUBBUB_SHARD={profile.shard}/{profile.shards}"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the profile does not run; pytest's last line counts it as deselected."""
    profile = config.stash[PROFILE]

    def runs(item: pytest.Item) -> bool:
        slow = item.get_closest_marker("slow") is not None
        match profile.name:
            case "test":
                return not slow
            case "ci":
                return slow and profile.takes(item.nodeid)
            case "proof":
                return True

    kept = [item for item in items if runs(item)]
    dropped = [item for item in items if not runs(item)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A slice may be empty: that is no failure of the run."""
    empty = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
    if empty and session.config.stash[PROFILE].name == "ci":
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture(scope="session")
def profile(pytestconfig: pytest.Config) -> Profile:
    """The run's profile: `profile.pick(test=10, proof=200)`, `profile.seed`."""
    return pytestconfig.stash[PROFILE]
