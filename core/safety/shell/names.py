"""Programs by what they do."""

import re

READ_ONLY = frozenset(
    {"ls", "dir", "vdir", "cat", "tac", "head", "tail", "less", "more", "wc", "grep", "egrep", "fgrep", "rg"}
    | {"ag", "pwd", "echo", "printf", "true", "false", ":", "test", "[", "whoami", "id", "groups", "users"}
    | {"hostname", "uname", "date", "cal", "uptime", "df", "du", "free", "ps", "pgrep", "which", "whereis"}
    | {"type", "file", "stat", "readlink", "realpath", "basename", "dirname", "tree", "diff", "cmp", "comm"}
    | {"cut", "paste", "tr", "nl", "od", "xxd", "hexdump", "strings", "md5sum", "sha1sum", "sha256sum"}
    | {"sha512sum", "b2sum", "cksum", "sum", "base64", "seq", "sleep", "printenv", "locale", "getconf"}
    | {"nproc", "lscpu", "lsblk", "lsof", "ss", "netstat", "ping", "dig", "nslookup", "host", "traceroute"}
    | {"jq", "yq", "column", "fold", "fmt", "expand", "rev", "sort", "uniq", "look", "tsort", "join", "expr"}
    | {"factor", "numfmt", "arch", "tty", "w", "who", "last", "man", "info", "help", "whatis", "apropos"}
    | {"cd", "pushd", "popd", "dirs", "exit", "return", "break", "continue", "shift", "wait", "jobs", "let"}
    | {"local", "declare", "typeset", "readonly", "export", "unset", "set", "shopt", "read", "getopts"}
    | {"ulimit", "umask", "times", "cloc", "tokei", "zcat", "zgrep", "bat", "fd", "exa", "eza"}
)
"""They change nothing, unless a rule in `programs` says otherwise of their options."""

HIGH: dict[str, str] = {
    name: reason
    for reason, names in {
        "deletes files": "rm unlink shred srm wipe trash gio rimraf del-cli trash-cli trash-put",
        "cuts files short": "truncate fallocate",
        "stops or restarts the machine": "shutdown reboot poweroff halt init telinit",
        "changes the firewall": "iptables ip6tables nft ufw firewall-cmd pfctl ebtables",
        "changes users or passwords": "useradd userdel usermod adduser deluser groupadd groupdel"
        " groupmod passwd chpasswd visudo vipw chsh chfn gpasswd dscl",
        "schedules commands": "at batch",
        "ends processes": "killall killall5 pkill skill xkill",
        "changes disks": "fdisk parted sfdisk gdisk sgdisk cryptsetup lvremove vgremove pvremove lvreduce"
        " mdadm zpool zfs btrfs mount umount swapon swapoff mkswap losetup hdparm tune2fs debugfs cfdisk"
        " growpart resize2fs xfs_growfs badblocks dmsetup"
        " fsck diskutil",
        "changes the running system": "insmod rmmod modprobe sysctl setcap setenforce kexec nsenter unshare"
        " chroot ldconfig update-grub grub-install efibootmgr flashrom",
        "changes owners or access rules": "chown chgrp chattr setfacl",
        "runs with another user's rights": "sudo doas su pkexec runuser gosu su-exec sudoedit",
        "runs text as commands": "eval pwsh powershell",
        "changes what commands mean": "alias enable bind hash",
        "talks to another machine": "ssh scp sftp ftp tftp telnet nc ncat netcat socat rsh rlogin rexec mosh"
        " ssh-copy-id lftp ansible pssh parallel-ssh pdsh clush salt",
        "tells the system's services what to do": "dbus-send",
        "edits files": "ed ex",
        "drops a database": "dropdb dropuser pg_dropcluster mysqladmin",
        "publishes": "twine",
        "changes the network": "ifdown ifup",
        "lets others in": "ngrok cloudflared",
        "sends something away": "sendmail mail mailx mutt msmtp swaks",
        "changes or deletes data": "ldapdelete ldapmodify pg_resetwal",
    }.items()
    for name in names.split()
}

BLOCKED: dict[str, str] = {
    "wipefs": "it would erase a disk",
    "blkdiscard": "it would erase a disk",
    "mke2fs": "it would erase a disk",
    "newfs": "it would erase a disk",
}
"""`mkfs` and `mkfs.*` are matched by their beginning."""

_ANY = r"(?: \S+)*"
_QUERIES: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "alias": r"(?: -p)?",
        "btrfs": rf" (?:filesystem|fi) (?:show|df|usage){_ANY}| subvolume (?:list|show){_ANY}",
        "fdisk": rf" (?:-l|--list){_ANY}",
        "firewall-cmd": r"(?: --(?:state|list-[a-z-]+|get-[a-z-]+))+",
        "iptables": r"(?: -t \w+)?(?: -[nv]*L[nv]*| -S)(?: [A-Z]\w*)?(?: -[nvx]+| --line-numbers)*",
        "mount": r"(?: -l)?",
        "nft": rf" list{_ANY}",
        "parted": r"(?: -l| --list)",
        "swapon": r"(?: -s| --show)?",
        "sysctl": r" -a|(?: -n)?(?: [a-z][\w./]*)+",
        "ufw": r" status(?: verbose| numbered)?",
        "zfs": rf" list{_ANY}",
        "zpool": rf" (?:status|list){_ANY}",
    }.items()
}
_QUERIES["ip6tables"] = _QUERIES["iptables"]


def only_asks(program: str, arguments: str) -> bool:
    """Whether a program of HIGH is only asked how things stand. `arguments`: each with a blank before it."""
    query = _QUERIES.get(program)
    return query is not None and query.fullmatch(arguments) is not None


SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash"})

INTERPRETERS: dict[str, str] = {
    "python": "c", "perl": "eE", "ruby": "e", "node": "ep", "nodejs": "ep", "bun": "ep", "deno": "",
    "php": "rBRE", "R": "e", "octave": "", "erl": "e", "iex": "e", "clojure": "e", "clj": "e", "bb": "e",
    "sbcl": "", "swift": "e", "ipython": "c", "lua": "e",
    "Rscript": "e", "tclsh": "", "osascript": "e", "ghc": "e", "julia": "eE",
    "groovy": "e", "scala": "e", "elixir": "e", "guile": "c", "racket": "e", "luajit": "e", "pypy": "c",
}  # fmt: skip
"""Interpreter (versions stripped) and the letters of its options that take code."""

DATABASES = frozenset(
    {"psql", "mysql", "mariadb", "sqlite3", "sqlite", "mongo", "mongosh", "redis-cli", "sqlcmd", "clickhouse"}
    | {
        "clickhouse-client",
        "valkey-cli",
        "keydb-cli",
        "duckdb",
        "cqlsh",
        "influx",
        "mycli",
        "pgcli",
        "sqlplus",
    }
)

FETCHERS = frozenset({"curl", "wget", "aria2c", "http", "https", "xh", "fetch"})

RISKY_VARIABLES = frozenset(
    {"PATH", "IFS", "ENV", "BASH_ENV", "PROMPT_COMMAND", "PS4", "SHELLOPTS", "BASHOPTS", "CDPATH", "PAGER"}
    | {"EDITOR", "VISUAL", "BROWSER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "NODE_OPTIONS", "PERL5OPT"}
    | {"PERL5DB", "RUBYOPT", "PYTHONSTARTUP", "PYTHONINSPECT", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"}
    | {"RSYNC_RSH", "TAR_OPTIONS", "MAKEFLAGS", "SUDO_ASKPASS", "SSH_ASKPASS", "GCONV_PATH", "HUBBUB_CALL"}
    | {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_PAGER", "GIT_EDITOR", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS"}
    | {"GIT_PROXY_COMMAND", "GIT_EXEC_PATH", "GIT_SEQUENCE_EDITOR", "GIT_TEMPLATE_DIR", "GIT_CONFIG_GLOBAL"}
    | {"GIT_CONFIG_SYSTEM", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "HOME", "PWD"}
)
"""Setting one of these, or any beginning with LD_ or DYLD_, changes which program another name runs."""

KEYWORDS = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "select"}
    | {"function", "{", "}", "!", "[[", "]]", "in"}
)
"""Where one of these was read as a program's name, the line was misread."""

SUBCOMMANDS: dict[str, frozenset[str]] = {
    "git": frozenset(
        {"status", "log", "diff", "show", "branch", "fetch", "add", "commit", "blame", "rev-parse"}
        | {"ls-files", "describe", "shortlog", "tag", "remote", "pull", "stash", "cat-file", "ls-tree"}
    ),
    "cargo": frozenset({"check", "build", "test", "clippy", "fmt", "doc", "tree"}),
    "go": frozenset({"build", "test", "vet", "fmt", "list", "doc"}),
    "npm": frozenset({"test", "ls", "outdated", "view", "ci"}),
    "pip": frozenset({"list", "show", "freeze", "check"}),
    "docker": frozenset({"ps", "images", "logs", "inspect", "version", "info"}),
    "kubectl": frozenset({"get", "describe", "logs", "top"}),
    "systemctl": frozenset({"status", "list-units", "list-timers", "show", "is-active", "cat"}),
}
"""Programs of which an "always" may cover one subcommand with whatever arguments are not rated high."""
