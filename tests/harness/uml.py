"""Another kernel for a test: Linux as a program (Debian's user-mode-linux), on the files of this machine.

This machine's own kernel may lack what is tested, such as quotas. Nothing is installed in it; what it mounts
is its own, and it is gone with the test.
"""

import shlex
import subprocess
import sys
from pathlib import Path

KERNEL = "linux.uml"
LIMIT_S = 120
_INIT = """\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONDONTWRITEBYTECODE=1
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmpfs /run
cd {root}
{command} >{out} 2>&1
echo o >/proc/sysrq-trigger
sleep 60
"""
ROOT = Path(__file__).parents[2]


def in_another_kernel(
    directory: Path, disk: Path, module: str, *words: str, memory_mb: int = 512, limit_s: float = LIMIT_S
) -> str:
    """Run a Python module there as root, with an image as the disk /dev/ubda; return what it printed. Its own
    files are in `directory`."""
    out, init = directory / "uml.out", directory / "init"
    command = shlex.join([sys.executable, "-m", module, *words])
    init.write_text(_INIT.format(root=shlex.quote(str(ROOT)), command=command, out=shlex.quote(str(out))))
    init.chmod(0o700)
    done = subprocess.run(
        [
            KERNEL, f"mem={memory_mb}M", "rootfstype=hostfs", "rootflags=/", "rw", f"init={init}",
            f"ubd0={disk}", "con=null", "con0=null,fd:2", "quiet",
        ],
        capture_output=True, text=True, check=False, timeout=limit_s, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert out.exists(), done.stderr[-2_000:]
    return out.read_text()
