"""Which programs run another program, and how their own words end."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a wrapper's own words end: `values` are its options that take the next word, `flags` those
    that take none, `skip` the positionals before the command. `assigns`: it takes `NAME=value`; `feeds`: it
    adds arguments from elsewhere; `anywhere`: any of its words may begin the command."""

    values: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    skip: int = 0
    assigns: bool = False
    feeds: bool = False
    anywhere: bool = False


def _wrapper(values: str = "", flags: str = "", skip: int = 0, **more: bool) -> Wrapper:
    return Wrapper(frozenset(values.split()), frozenset(flags.split()), skip, **more)


_PLAIN = _wrapper()
TERMINALS = frozenset(
    {"tmux", "screen", "xterm", "rxvt", "urxvt", "konsole", "alacritty", "kitty", "gnome-terminal"}
)
WRAPPERS: dict[str, Wrapper] = {
    "env": _wrapper("-u --unset -C --chdir", "-i - -0 --ignore-environment --null -v --debug", assigns=True),
    "sudo": _wrapper(
        "-u -g -h -p -C -r -t -T -U -D -R --user --group", "-n -E -H -i -s -b -k -A -S", assigns=True
    ),
    "doas": _wrapper("-u -C", "-n -s"),
    "pkexec": _wrapper("--user"),
    "runuser": _wrapper("-u -g -G", "-l -m -p"),
    "gosu": _wrapper(skip=1),
    "su-exec": _wrapper(skip=1),
    "nohup": _PLAIN,
    "setsid": _wrapper("", "-c -f -w --ctty --fork --wait"),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -p -P --class --classdata", "-t"),
    "chrt": _wrapper("", "-b -f -i -o -r -a -v", skip=1),
    "taskset": _wrapper("", "-a -c", skip=1),
    "timeout": _wrapper("-k -s --kill-after --signal", "--foreground --preserve-status -v --verbose", skip=1),
    "time": _wrapper("-o -f --output --format", "-p -a -v -q --append --verbose", assigns=True),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "command": _wrapper("", "-p"),
    "builtin": _PLAIN,
    "exec": _wrapper("-a", "-c -l"),
    "coproc": _wrapper(assigns=True),
    "busybox": _PLAIN,
    "toybox": _PLAIN,
    "chroot": _wrapper("", "", skip=1),
    "unshare": _wrapper("", "-m -u -i -n -p -U -C -f -r"),
    "nsenter": _wrapper("-t -S -G", "-a -m -u -i -n -p -U -C"),
    "strace": _wrapper("-o -e -p -s -a -u -E -O -S -P -I -b -X", "-f -ff -c -C -d -D -q -r -t -tt -T -v -y"),
    "ltrace": _wrapper("-o -e -p -s -a -u -n -l", "-f -c -C -d -i -r -S -t -T"),
    "flock": _wrapper("-w -E --timeout", "-s -x -u -n -o -e", skip=1),
    "watch": _wrapper("-n --interval", "-d -t -b -e -g -c -x"),
    "parallel": _wrapper("-j --jobs -a --arg-file", "-k --keep-order --dry-run", feeds=True),
    "xargs": _wrapper(
        "-I -n -P -L -d -E -s -a --max-args --max-procs --delimiter --arg-file --replace --max-lines",
        "-0 -r -t -p -x --null --no-run-if-empty --verbose --interactive --exit",
        feeds=True,
    ),
    "caffeinate": _wrapper("-t -w", "-d -i -m -s -u"),
    "unbuffer": _PLAIN,
    "fakeroot": _wrapper("", "--"),
    "proxychains": _wrapper("-f", "-q"),
    "systemd-run": _wrapper("-p -u", "--user --scope -t --pty --wait"),
    "uv": _wrapper("--with --python", "", skip=1),
    "uvx": _wrapper("--from --with --python"),
    "pipx": _wrapper(skip=1, anywhere=True),
    "npx": _wrapper("-p --package --workspace -w", "-y -q --yes --no --no-install --quiet"),
    "bunx": _PLAIN,
    "npm": _wrapper(skip=1, anywhere=True),
    "pnpm": _wrapper(skip=1, anywhere=True),
    "yarn": _wrapper(skip=1, anywhere=True),
    "poetry": _wrapper("", "", skip=1),
    "pipenv": _wrapper("", "", skip=1),
    "bundle": _wrapper("", "", skip=1),
    "ip": _wrapper(skip=1, anywhere=True),
    **dict.fromkeys(TERMINALS, _wrapper(anywhere=True)),
    "ld.so": _wrapper("--library-path --preload --argv0 --inhibit-rpath", "--list --verify"),
    "numactl": _wrapper("-i -m -N -C -p -w", "-s -H -l -b -a"),
    "firejail": _wrapper(anywhere=True),
    "proot": _wrapper(anywhere=True),
    "setpriv": _wrapper(anywhere=True),
    "prlimit": _wrapper(anywhere=True),
    "cpulimit": _wrapper(anywhere=True),
    "docker": _wrapper(skip=1, anywhere=True),
    "podman": _wrapper(skip=1, anywhere=True),
    "kubectl": _wrapper(skip=1, anywhere=True),
}
ONLY_TO_RUN = {
    "uv": ("run",), "poetry": ("run",), "pipenv": ("run",), "bundle": ("exec",),
    "npm": ("exec", "x", "explore"), "pnpm": ("exec", "dlx"), "yarn": ("exec", "dlx"), "pipx": ("run",),
    "ip": ("netns", "vrf"),
    "docker": ("exec", "run", "compose", "container"), "podman": ("exec", "run"),
    "kubectl": ("exec", "run", "debug"),
}  # fmt: skip
"""What these must be told to do, to run anything."""
TEXT_OPTIONS: dict[str, tuple[str, ...]] = {
    "su": ("-c", "--command"),
    "runuser": ("-c", "--command"),
    "flock": ("-c", "--command"),
    "script": ("--command",),
    "npx": ("-c", "--call"),
    "npm": ("-c", "--call"),
    "ssh": ("-o",),
}
"""Options that take a text a shell will parse."""
FINDERS = frozenset({"find", "gfind", "fd", "fdfind"})
"""They run a command for what they find."""
