"""Which rule looks at the arguments of which program."""

from collections.abc import Callable

from core.safety.shell import code, files, services
from core.safety.shell.findings import CHANGES, Finding, high
from core.safety.shell.names import DATABASES, FETCHERS, INTERPRETERS, SHELLS
from core.safety.shell.words import Args

Check = Callable[[Args], Finding | None]


def _kill(args: Args) -> Finding | None:
    forced = [text for text in args.texts if text.upper() in ("-9", "-KILL", "-SIGKILL", "-STOP", "-SIGSTOP")]
    named = (args.value_of("-s", "-n", "--signal") or "").upper().removeprefix("SIG") in ("9", "KILL", "STOP")
    everyone = any(text in ("-1", "0", "1") for text in args.texts)
    return high("ends processes by force") if forced or named or everyone or args.opaque else None


def _processes(args: Args) -> Finding | None:
    bundle = args.texts[0] if args.texts else ""
    shows = bundle and not bundle.startswith("-") and "e" in bundle and not bundle.isdecimal()
    return high("shows other programs' environment") if shows else None


def _writes_second(args: Args) -> Finding | None:
    return CHANGES if len(args.positionals) > 1 else None


def _hostname(args: Args) -> Finding | None:
    return high("renames the machine") if args.positionals else None


def _date(args: Args) -> Finding | None:
    sets = any(text.isdecimal() and len(text) >= 8 for text in args.positionals)
    return high("sets the clock") if sets else None


def _go(args: Args) -> Finding | None:
    outside = files.is_outside(args.value_of("-o", "-C") or "")
    return high("writes outside the workspace") if outside else None


def _ifconfig(args: Args) -> Finding | None:
    return high("changes the network") if len(args.positionals) > 1 else None


CHECKS: dict[str, Check] = {
    "rm": files.rm,
    "unlink": files.rm,
    "shred": files.rm,
    "srm": files.rm,
    "chmod": files.change_rights,
    "chown": files.change_rights,
    "chgrp": files.change_rights,
    "dd": files.dd,
    "cp": files.copy_or_move,
    "install": files.copy_or_move,
    "ln": files.link,
    "mv": files.move,
    "tee": files.tee,
    "sponge": files.tee,
    "sed": files.sed,
    "gsed": files.sed,
    "awk": files.awk,
    "gawk": files.awk,
    "mawk": files.awk,
    "nawk": files.awk,
    "find": files.find,
    "gfind": files.find,
    "git": services.git,
    "docker": services.container,
    "podman": services.container,
    "aws": services.cloud,
    "gcloud": services.cloud,
    "az": services.cloud,
    "kill": _kill,
    "rsync": services.send_away,
    "rclone": services.send_away,
    "tar": files.unpack,
    "unzip": files.unpack,
    "sort": files.sort,
    "ps": _processes,
    "ifconfig": _ifconfig,
    "date": _date,
    "go": _go,
    **dict.fromkeys(("redis-cli", "valkey-cli", "keydb-cli"), services.keys),
    **dict.fromkeys(("make", "gmake"), code.make),
    **dict.fromkeys(("less", "more", "vim", "vi", "nvim", "view", "emacs", "nano"), code.pager),
    **dict.fromkeys(
        ("pip", "pip3", "pipx", "uv", "uvx", "npm", "npx", "pnpm", "yarn", "bunx", "cargo", "gem"),
        services.installs,
    ),
    "poetry": services.installs,
    **dict.fromkeys(("7z", "7za", "7zr"), files.unpack_attached),
    "uniq": _writes_second,
    "xxd": _writes_second,
    "hostname": _hostname,
    "source": code.source,
    ".": code.source,
    **dict.fromkeys(("dig", "nslookup", "host", "ping", "traceroute"), services.resolves),
    **dict.fromkeys(FETCHERS, services.fetch),
    **dict.fromkeys(SHELLS, code.shell),
    **{name: code.interpreter(letters) for name, letters in INTERPRETERS.items()},
    "python": code.python(),
}


def by_arguments(program: str, args: Args) -> Finding | None:
    """What a program's own rule says of its arguments; None: nothing in particular."""
    check = CHECKS.get(program)
    if check is not None:
        return check(args)
    return services.database(args) if program in DATABASES else None
