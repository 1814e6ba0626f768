"""What Docker made is compared with what was asked for, whatever it is."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bot.jobs.docker_engine import (
    AT_LEAST,
    DAEMON_DECIDES,
    MASKED,
    READ_ONLY,
    Inspected,
    creation,
    differences,
)
from bot.jobs.upkeep import used_of
from core.sandbox.policy import ContainerPolicy, ContainerUser, RootRefused, container_user

POLICY = ContainerPolicy("image", ContainerUser(200_007, 200_007), 512, Path("/copy"), Path("/sockets/a"))
BIND = {"Type": "bind", "Mode": "", "Propagation": "rprivate"}
MOUNTS = [
    {**BIND, "Source": "/copy", "Destination": "/workspace", "RW": True},
    {**BIND, "Source": "/sockets/a", "Destination": "/run/hubbub", "RW": False},
]
LOOSER: tuple[dict[str, Any], ...] = (
    {"Privileged": True},
    {"CapAdd": ["SYS_ADMIN"]},
    {"CapDrop": []},
    {"NetworkMode": "bridge"},
    {"PidMode": "host"},
    {"UsernsMode": "host"},
    {"SecurityOpt": ["no-new-privileges:true", "seccomp=unconfined"]},
    {"SecurityOpt": None},
    {"PidsLimit": None},
    {"Memory": 0},
    {"MemorySwap": -1},
    {"ReadonlyRootfs": False},
    {"Devices": [{"PathOnHost": "/dev/sda"}]},
    {"Binds": ["/:/host"]},
    {"MaskedPaths": []},
    {"ReadonlyPaths": None},
    {"Tmpfs": None},
    {"ShmSize": 1 << 40},
)
VALUES = st.one_of(st.booleans(), st.integers(), st.text(), st.lists(st.text()), st.none())


def made(
    host: dict[str, Any] | None = None, *, user: str = "200007:200007", mounts: object = MOUNTS
) -> Inspected:
    """A container as Docker describes it, with its own defaults."""
    asked = creation(POLICY, ["true"], {})["HostConfig"]
    defaults = {
        **{"MaskedPaths": sorted(MASKED), "ReadonlyPaths": sorted(READ_ONLY), "Runtime": "runc"},
        **{"CapAdd": None, "Privileged": False, "Binds": None, "Devices": [], "Dns": []},
    }
    return Inspected.model_validate(
        {"HostConfig": {**defaults, **asked, **(host or {})}, "Config": {"User": user}, "Mounts": mounts}
    )


def test_a_container_as_asked_for_is_accepted_and_others_are_not() -> None:
    assert differences(POLICY, made()) == ()
    for host in LOOSER:
        (found,) = differences(POLICY, made(host))
        assert next(iter(host)) in found
    assert len(differences(POLICY, made(user="0:0"))) == 1
    assert len(differences(POLICY, made(mounts=MOUNTS[:1]))) == 1
    volume = {"Type": "volume", "Source": "/var/lib/x", "Destination": "/data", "RW": True}
    assert len(differences(POLICY, made(mounts=[*MOUNTS, volume]))) == 1
    assert len(differences(POLICY, made(mounts=[MOUNTS[0], {**MOUNTS[1], "RW": True}]))) == 1


@given(st.text(min_size=1), VALUES)
def test_an_unknown_setting_counts_as_a_difference(key: str, value: object) -> None:
    assume(key not in {*DAEMON_DECIDES, *AT_LEAST, *creation(POLICY, [], {})["HostConfig"]})
    assert len(differences(POLICY, made({key: value}))) == bool(value)


def test_a_container_never_runs_as_root() -> None:
    assert container_user(1000, 1000, 5) == ContainerUser(1000, 1000)
    own = [container_user(0, 0, number) for number in range(100)]
    assert len(set(own)) == 100
    assert all(user.uid >= 200_000 for user in own)
    with pytest.raises(RootRefused, match="do not run as root"):
        container_user(1000, 0, 1)
    with pytest.raises(RootRefused):
        ContainerUser(0, 5)


CGROUP_1 = {
    "usage": 29_417_472,
    "max_usage": 29_675_520,
    "limit": 67_108_864,
    "stats": {
        **{"cache": 9_068_544, "rss": 19_689_472, "hierarchical_memory_limit": 67_108_864},
        **{"inactive_file": 0, "total_inactive_file": 9_003_008, "total_rss": 19_689_472},
    },
}
CGROUP_2 = {
    "usage": 29_937_664,
    "limit": 67_108_864,
    "stats": {"anon": 20_070_400, "file": 9_039_872, "inactive_file": 9_035_776, "slab": 469_352},
}
"""As Docker 20.10 said it of the same program, under each version. What a group below used is in v1's totals
only."""


@pytest.mark.parametrize(
    "memory, cpu, used",
    [
        (CGROUP_1, {"total_usage": 72_833_981, "percpu_usage": [0, 72_833_981]}, (72_833, 20_414_464)),
        (CGROUP_2, {"total_usage": 5_160_000_000}, (5_160_000, 20_901_888)),
    ],
    ids=["v1", "v2"],
)
def test_what_a_container_uses_is_read_under_both_versions_of_cgroups(
    memory: dict[str, Any], cpu: dict[str, Any], used: tuple[int, int]
) -> None:
    assert used_of({"memory_stats": memory, "cpu_stats": {"cpu_usage": cpu}}) == used
    assert used_of({"memory_stats": {}, "cpu_stats": {"cpu_usage": {"total_usage": 0}}}) is None, "it ended"
