"""Which subcommands and options make a program dangerous: a table, and how it is read."""

from dataclasses import dataclass

from core.safety.shell.findings import Finding, high
from core.safety.shell.words import Args

_LOOK_AT = 4
"""A subcommand is looked for among so many positionals: global options may take values before it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """High if the subcommand `path` is given, with one of the options (if any is named) and without any
    of the excusing ones. `short` are letters, `long` and `unless_long` names without dashes."""

    path: tuple[str, ...]
    reason: str
    short: str = ""
    long: tuple[str, ...] = ()
    unless_short: str = ""
    unless_long: tuple[str, ...] = ()

    def applies(self, args: Args) -> bool:
        """Whether the rule matches; what can't be seen is taken for the worst."""
        if not _names(args.positionals[:_LOOK_AT], self.path):
            return False
        if (self.unless_short or self.unless_long) and args.surely_has(self.unless_short, *self.unless_long):
            return False
        return not (self.short or self.long) or args.may_have(self.short, *self.long)


def _names(positionals: tuple[str, ...], path: tuple[str, ...]) -> bool:
    size = len(path)
    return any(positionals[start : start + size] == path for start in range(len(positionals) - size + 1))


def _rule(
    path: str, reason: str, short: str = "", long: str = "", *, unless_short: str = "", unless_long: str = ""
) -> Rule:
    """`a:b` is subcommand b of a; names of long options are separated by blanks."""
    words = tuple(path.split(":")) if path else ()
    return Rule(words, reason, short, tuple(long.split()), unless_short, tuple(unless_long.split()))


def _each(words: str, reason: str) -> tuple[Rule, ...]:
    """One rule for each subcommand; `a:b` is subcommand b of a."""
    return tuple(_rule(word, reason) for word in words.split())


_RSYNC_DELETES = (
    "delete del delete-before delete-during delete-delay delete-after delete-excluded"
    " remove-source-files force"
)
_REWRITES = "rewrites history"
_LOSES = "throws away changes"
_GIT = (
    _rule(
        "push", "overwrites or deletes what others see", "fd", "force force-with-lease delete mirror prune"
    ),
    _rule("reset", _LOSES, "", "hard merge keep"),
    _rule("clean", "deletes untracked files", unless_short="n", unless_long="dry-run"),
    _rule("checkout", _LOSES, "fB", "force ours theirs"),
    _rule("switch", _LOSES, "fC", "force discard-changes force-create"),
    _rule("restore", _LOSES, unless_short="S", unless_long="staged"),
    _rule("restore", _LOSES, "W", "worktree"),
    _rule("branch", "deletes or moves a branch", "Df", "force"),
    _rule("tag", "deletes or moves a tag", "df", "delete force"),
    *_each("stash:drop stash:clear worktree:remove submodule:deinit", _LOSES),
    *_each("filter-branch filter-repo reflog:expire reflog:delete replace", _REWRITES),
    _rule("update-ref", _REWRITES, "d", "delete stdin"),
    _rule("gc", "drops what could still be recovered", "", "prune"),
    *_each("prune", "drops what could still be recovered"),
    _rule("rm", "deletes files", unless_long="cached"),
    *_each("submodule:foreach bisect:run", "runs commands"),
    _rule("rebase", "runs commands", "x", "exec"),
    _rule("grep", "runs a program", "O", "open-files-in-pager"),
    _rule("difftool", "runs a program", "x", "extcmd"),
    _rule("fetch", "runs a program", "", "upload-pack"),
    _rule("pull", "runs a program", "", "upload-pack"),
    _rule("clone", "runs a program", "u", "upload-pack config template"),
    _rule("ls-remote", "runs a program", "", "upload-pack"),
    _rule("archive", "runs a program", "", "exec"),
)
_CONTAINERS = (
    *_each("rm rmi container:rm container:prune image:rm image:prune compose:rm", "removes containers"),
    *_each("system:prune volume:rm volume:prune network:rm network:prune builder:prune", "removes data"),
    *_each("stack:rm service:rm swarm:leave secret:rm config:rm context:rm", "takes services down"),
    *_each("stop kill pause container:stop container:kill compose:stop compose:kill", "takes services down"),
    *_each("system:reset machine:rm pod:rm", "removes data"),
    _rule("down", "removes data", "v", "volumes rmi"),
    _rule("run", "runs with the host's rights", "", "privileged pid cap-add device security-opt userns"),
    _rule("create", "runs with the host's rights", "", "privileged pid cap-add device"),
)
_KUBECTL = (
    *_each("delete drain cordon taint", "takes services down"),
    _rule("replace", "takes services down", "", "force"),
    _rule("apply", "takes services down", "", "prune force"),
    _rule("scale", "takes services down", "", "replicas"),
)
_INFRASTRUCTURE = (
    *_each("destroy taint state:rm workspace:delete", "destroys what is running"),
    _rule("apply", "changes what is running, unasked", "", "auto-approve destroy replace"),
    _rule("up", "changes what is running, unasked", "y", "yes"),
)
_PACKAGES = _each("remove purge autoremove erase uninstall dist-upgrade full-upgrade", "removes programs")
_LIBRARIES = _each("remove uninstall rm un unlink prune", "removes programs")
_OTHER_SOURCE = _rule(
    "install", "installs programs from another place", "i", "index-url extra-index-url trusted-host"
)
_SERVICES = (
    *_each("stop disable mask kill isolate poweroff reboot halt suspend hibernate", "stops services"),
    *_each("rescue emergency set-default edit revert kexec", "changes how the machine runs"),
)
_PUBLISHERS = _each("publish unpublish deprecate yank push", "publishes")
_VERBS = _each(
    "delete destroy remove rm rb purge terminate drop archive transfer rename revoke merge close",
    "deletes or closes",
)

RULES: dict[str, tuple[Rule, ...]] = {
    "git": _GIT,
    "docker": _CONTAINERS,
    "podman": _CONTAINERS,
    "nerdctl": _CONTAINERS,
    "docker-compose": _CONTAINERS,
    "kubectl": _KUBECTL,
    "oc": _KUBECTL,
    "helm": _each("uninstall delete rollback", "takes services down"),
    "terraform": _INFRASTRUCTURE,
    "tofu": _INFRASTRUCTURE,
    "pulumi": _INFRASTRUCTURE,
    "vagrant": _INFRASTRUCTURE,
    "apt": _PACKAGES,
    "apt-get": _PACKAGES,
    "aptitude": _PACKAGES,
    "dnf": _PACKAGES,
    "yum": _PACKAGES,
    "zypper": _PACKAGES,
    "brew": _PACKAGES,
    "snap": _PACKAGES,
    "apk": _each("del", "removes programs"),
    "dpkg": (_rule("", "removes programs", "rP", "remove purge"),),
    "rpm": (_rule("", "removes programs", "e", "erase"),),
    "pacman": (_rule("", "removes programs", "R", "remove"),),
    **dict.fromkeys(("npm", "yarn", "pnpm", "cargo", "gem", "poetry"), (*_PUBLISHERS, *_LIBRARIES)),
    **dict.fromkeys(("pip", "pip3", "pipx", "uv"), (*_LIBRARIES, _OTHER_SOURCE, *_PUBLISHERS)),
    **dict.fromkeys(("conda", "mamba", "pipenv", "bun", "composer"), _LIBRARIES),
    "systemctl": _SERVICES,
    "service": _SERVICES,
    "initctl": _SERVICES,
    "supervisorctl": _each("stop remove shutdown", "stops services"),
    "pm2": _each("stop delete kill", "stops services"),
    "launchctl": _each("unload remove bootout disable stop kill", "stops services"),
    "loginctl": _each("terminate-session terminate-user kill-session kill-user", "ends sessions"),
    "journalctl": (_rule("", "deletes logs", "", "vacuum-size vacuum-time vacuum-files rotate"),),
    "aws": _VERBS,
    "gcloud": _VERBS,
    "gsutil": _VERBS,
    "az": _VERBS,
    "gh": _VERBS,
    "glab": _VERBS,
    "doctl": _VERBS,
    "heroku": (
        *_VERBS,
        *(
            Rule((name,), "deletes")
            for name in ("apps:destroy", "pg:reset", "addons:destroy", "config:unset")
        ),
    ),
    "fly": _VERBS,
    "flyctl": _VERBS,
    "vercel": _VERBS,
    "netlify": _VERBS,
    "ip": _each("add del delete set flush change replace", "changes the network"),
    "nmcli": _each("down delete modify disconnect", "changes the network"),
    "tar": (
        _rule("", "runs a program", "IF", "to-command checkpoint-action use-compress-program rsh-command"),
        _rule("", "deletes files", "", "remove-files delete recursive-unlink unlink-first"),
        _rule("", "writes anywhere", "P", "absolute-names"),
    ),
    "zip": (_rule("", "deletes files", "m", "move"), _rule("", "runs a program", "T", "unzip-command")),
    "rsync": (
        _rule("", "deletes files", "", _RSYNC_DELETES),
        _rule("", "runs a program", "e", "rsh rsync-path"),
    ),
    "sort": (_rule("", "runs a program", "", "compress-program"),),
    "split": (_rule("", "runs a program", "", "filter"),),
    "rg": (_rule("", "runs a program", "", "pre hostname-bin"),),
    "man": (_rule("", "runs a program", "PH", "pager html"),),
    "yq": (_rule("", "edits files in place", "i", "inplace in-place"),),
    "date": (_rule("", "sets the clock", "s", "set"),),
    "ss": (_rule("", "ends connections", "K", "kill"),),
    "crontab": (_rule("", "schedules commands", unless_short="l"),),
    "mapfile": (_rule("", "runs a command", "C"),),
    "readarray": (_rule("", "runs a command", "C"),),
    "complete": (_rule("", "runs a command", "CF"),),
    "timedatectl": _each("set-time set-timezone set-ntp set-local-rtc", "sets the clock"),
    "hostnamectl": _each("set-hostname hostname", "renames the machine"),
    "history": (_rule("", "deletes or rewrites what was typed", "cdwanrs"),),
    "fuser": (_rule("", "ends processes", "k", "kill"),),
    "nvme": _each("format sanitize delete-ns write-zeroes dsm fw-download fw-commit", "erases disks"),
    "virsh": _each(
        "undefine destroy shutdown reset vol-delete vol-wipe pool-delete pool-destroy snapshot-delete"
        " net-destroy net-undefine",
        "takes machines down",
    ),
    "pg_ctl": _each("stop restart kill promote", "stops services"),
    "pg_restore": (_rule("", "changes or deletes data", "c", "clean"),),
    "rabbitmqctl": _each(
        "reset force_reset stop stop_app shutdown delete_queue delete_user delete_vhost purge_queue"
        " forget_cluster_node clear_permissions",
        "changes or deletes data",
    ),
    "etcdctl": _each("del rm rmdir defrag", "changes or deletes data"),
    "tmutil": _each("delete deletelocalsnapshots disable restore", "deletes files"),
    "defaults": _each("delete write rename import", "changes the machine's setup"),
    "gpg": (_rule("", "deletes keys", "", "delete-keys delete-secret-keys delete-secret-and-public-keys"),),
    "busctl": _each("call set-property emit", "tells the system's services what to do"),
    "gdbus": _each("call emit", "tells the system's services what to do"),
    "screen": (_rule("", "types into or ends a terminal", "X"),),
    "tmux": _each(
        "kill-server kill-session kill-window kill-pane send-keys send run-shell run if-shell if pipe-pane"
        " set-hook respawn-pane respawn-window source-file",
        "types into or ends a terminal",
    ),
    "expect": (_rule("", "runs commands", "c"),),
    "gdb": (_rule("", "runs commands", "x", "ex eval-command command iex ix"),),
    "make": (_rule("", "runs commands", "", "eval"),),
    "vim": (_rule("", "runs commands", "cSs"),),
    "vi": (_rule("", "runs commands", "cSs"),),
    "nvim": (_rule("", "runs commands", "cSls"),),
    "emacs": (_rule("", "runs commands", "f", "eval execute batch funcall"),),
    "perl": (_rule("", "edits files in place", "i"),),
    "ruby": (_rule("", "edits files in place", "i"),),
    "gawk": (_rule("", "edits files in place", "i", "include load"),),
}


def by_options(program: str, args: Args) -> Finding | None:
    """What the table says of a program's options."""
    for rule in RULES.get(program, ()):
        if rule.applies(args):
            return high(rule.reason)
    return None
