"""Fifty-odd ways out of a container, tried from inside: prints `{name: null | why not}` as JSON.

Runs as a script in the container with nothing but the standard library.
The harmless half of each way is enough: a file is opened and not written, a clock is set to what it shows.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import platform
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
HOST = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
"""What the test put on the host: ports, names and processes."""
PROBES: dict[str, Callable[[], object]] = {}
NUMBERS = {  # on x86-64, and everywhere else
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
}
CALLS = {name: numbers[platform.machine() != "x86_64"] for name, numbers in NUMBERS.items()}
NEW_NAMESPACE = {"user": 0x10000000, "mount": 0x00020000, "network": 0x40000000, "processes": 0x20000000}


def probe(name: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    def kept(way: Callable[[], object]) -> Callable[[], object]:
        PROBES[name] = way
        return way

    return kept


def checked(result: int) -> int:
    """Raise what a function of libc left in errno."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def called(name: str, *arguments: object, but: int = 0) -> None:
    """A system call that is allowed: it succeeds, or fails with the error of a harmless argument."""
    if LIBC.syscall(CALLS[name], *arguments) < 0 and ctypes.get_errno() != but:
        checked(-1)


def in_child(work: Callable[[], object]) -> None:
    """Do it in a process of its own, which may change for good."""
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            work()
        except BaseException as error:
            os.write(write, repr(error).encode() or b"?")
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as said:
        words = said.read()
    os.wait()
    if words:
        raise OSError(words.decode())


def opened(path: str, mode: int = os.O_RDONLY) -> None:
    os.close(os.open(path, mode))


# --- network ---


@probe("a server of the host on IPv4")
def _() -> None:
    socket.create_connection(("127.0.0.1", HOST["port"]), 2).close()


@probe("an address of the host's own network")
def _() -> None:
    socket.create_connection((HOST["address"], HOST["port"]), 2).close()


@probe("an abstract socket of the host")
def _() -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect("\0" + HOST["abstract"])


@probe("a datagram to anywhere")
def _() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"x", (HOST["address"], 9))


@probe("raw packets")
def _() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


@probe("packets of the link")
def _() -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()


@probe("a network interface beside loopback")
def _() -> None:
    beside = [name for _, name in socket.if_nameindex() if name not in ("lo", "tunl0", "sit0", "ip6tnl0")]
    assert beside, "there is none"


@probe("a change of an interface")
def _() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        flags = fcntl.ioctl(one, 0x8913, struct.pack("16sh22x", b"lo", 0))
        fcntl.ioctl(one, 0x8914, flags)


@probe("Docker's own socket")
def _() -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect("/var/run/docker.sock")


@probe("the socket of another job")
def _() -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(HOST["other"] + "/hub.sock")


# --- files ---


@probe("a file of the host")
def _() -> None:
    opened("/host" + HOST["secret"])


@probe("a file of the host through a process of its own")
def _() -> None:
    opened(f"/proc/{HOST['process']}/root{HOST['secret']}")


@probe("a file of the host by a link in the project")
def _() -> None:
    opened("/workspace/link-out")


@probe("a file of the host by a hard link in the project")
def _() -> None:
    made = f"/host{HOST['project']}/hard"
    os.link("/host" + HOST["secret"], made)
    os.unlink(made)


@probe("a file of the host by climbing out of the project")
def _() -> None:
    opened("/workspace/../host" + HOST["secret"])


@probe("a file of the host by its handle")
def _() -> None:
    handle = ctypes.create_string_buffer(struct.pack("Ii128x", 128, 0))
    mount = ctypes.c_int()
    called("name_to_handle_at", -100, b"/workspace", handle, ctypes.byref(mount), 0)
    root = os.open("/workspace", os.O_RDONLY)
    os.close(checked(LIBC.syscall(CALLS["open_by_handle_at"], root, handle, os.O_RDONLY)))


@probe("the files of another job")
def _() -> None:
    os.listdir(HOST["other"])


for place in ("/etc/hubbub-probe", "/usr/bin/hubbub-probe", "/hubbub-probe", "/var/tmp/hubbub-probe"):

    @probe(f"a new file {place}")
    def _(place: str = place) -> None:
        opened(place, os.O_WRONLY | os.O_CREAT)
        os.unlink(place)


for place in (
    "/proc/sys/vm/swappiness", "/proc/sys/kernel/core_pattern",
    "/sys/kernel/mm/transparent_hugepage/enabled",
):  # fmt: skip

    @probe(f"the kernel by {place}")
    def _(place: str = place) -> None:
        opened(place, os.O_WRONLY)


@probe("limits of the control group")
def _() -> None:
    for place in ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/cgroup.procs",
                  "/sys/fs/cgroup/memory/cgroup.procs"):  # fmt: skip
        with contextlib.suppress(FileNotFoundError):
            return opened(place, os.O_WRONLY)
    raise OSError("there are no control groups here")


@probe("a device node")
def _() -> None:
    os.mknod("/tmp/node", stat.S_IFCHR | 0o600, os.makedev(1, 1))
    os.unlink("/tmp/node")


@probe("the kernel's messages")
def _() -> None:
    opened("/dev/kmsg", os.O_WRONLY)


# --- mounts and namespaces ---


@probe("a mount")
def _() -> None:
    os.makedirs("/tmp/mount", exist_ok=True)
    checked(LIBC.mount(b"none", b"/tmp/mount", b"tmpfs", 0, None))
    checked(LIBC.umount2(b"/tmp/mount", 2))


@probe("a mount of /proc")
def _() -> None:
    os.makedirs("/tmp/proc", exist_ok=True)
    checked(LIBC.mount(b"proc", b"/tmp/proc", b"proc", 0, None))
    checked(LIBC.umount2(b"/tmp/proc", 2))


@probe("a root that can be written to")
def _() -> None:
    in_child(lambda: (checked(LIBC.unshare(NEW_NAMESPACE["mount"])),
                      checked(LIBC.mount(None, b"/", None, 32 | 4096, None))))  # fmt: skip


for kind, flag in NEW_NAMESPACE.items():

    @probe(f"a namespace of its own: {kind}")
    def _(flag: int = flag) -> None:
        in_child(lambda: checked(LIBC.unshare(flag)))


@probe("the host's mounts")
def _() -> None:
    def enter() -> None:
        into = os.open(f"/proc/{HOST['process']}/ns/mnt", os.O_RDONLY)
        checked(LIBC.setns(into, NEW_NAMESPACE["mount"]))

    in_child(enter)


@probe("another root")
def _() -> None:
    in_child(lambda: os.chroot("/tmp"))


# --- rights ---


@probe("the user root")
def _() -> None:
    in_child(lambda: os.setresuid(0, 0, 0))


@probe("the group root")
def _() -> None:
    in_child(lambda: os.setresgid(0, 0, 0))


@probe("more groups")
def _() -> None:
    in_child(lambda: os.setgroups([0]))


@probe("a program with the rights of its file")
def _() -> None:
    assert not LIBC.prctl(39, 0, 0, 0, 0), "no new privileges"


def rights(which: str) -> int:
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(which)]
    return int(line.split()[1], 16)


@probe("capabilities")
def _() -> None:
    assert rights("CapEff"), "none"


@probe("capabilities to come")
def _() -> None:
    assert rights("CapBnd"), "none"


@probe("a file of root's")
def _() -> None:
    Path("/tmp/owned").write_text("")
    os.chown("/tmp/owned", 0, 0)
    os.unlink("/tmp/owned")


@probe("a higher priority")
def _() -> None:
    in_child(lambda: os.nice(-5))


@probe("the clock")
def _() -> None:
    time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME))


@probe("the host's name")
def _() -> None:
    socket.sethostname(socket.gethostname())


# --- processes and the kernel ---


@probe("a process of the host in sight")
def _() -> None:
    assert HOST["marker"] in Path(f"/proc/{HOST['process']}/cmdline").read_text(), "another process"


@probe("a signal to a process of the host")
def _() -> None:
    assert HOST["marker"] in Path(f"/proc/{HOST['process']}/cmdline").read_text(), "another process"
    os.kill(HOST["process"], signal.SIGCONT)


@probe("ptrace of a process of the host")
def _() -> None:
    in_child(lambda: checked(LIBC.ptrace(0x4206, HOST["process"], None, None)))


@probe("programs in the kernel")
def _() -> None:
    called("bpf", 0, ctypes.create_string_buffer(64), 64, but=22)


@probe("the kernel's counters")
def _() -> None:
    event = ctypes.create_string_buffer(struct.pack("II", 1, 64) + bytes(56))
    os.close(checked(LIBC.syscall(CALLS["perf_event_open"], event, -1, 0, -1, 0)))


@probe("keys of the kernel")
def _() -> None:
    called("add_key", b"user", b"hubbub-probe", b"x", 1, -3)


@probe("page faults of the kernel")
def _() -> None:
    os.close(checked(LIBC.syscall(CALLS["userfaultfd"], 0)))


@probe("accounting of the host")
def _() -> None:
    called("acct", b"/nowhere/at/all", but=2)


def main() -> None:
    found: dict[str, str | None] = {}
    for name, way in PROBES.items():
        try:
            way()
        except BaseException as error:
            found[name] = repr(error)
        else:
            found[name] = None
    print(json.dumps(found))


main()
