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
        if (self.unless_short or self.unless_long) and args.has(self.unless_short, *self.unless_long):
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
    _rule("checkout", _LOSES, "f", "force ours theirs"),
    _rule("switch", _LOSES, "f", "force discard-changes"),
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
    _rule("down", "removes data", "v", "volumes rmi"),
    _rule("run", "runs with the host's rights", "", "privileged pid cap-add device security-opt"),
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
    "npm": _PUBLISHERS,
    "yarn": _PUBLISHERS,
    "pnpm": _PUBLISHERS,
    "cargo": _PUBLISHERS,
    "gem": _PUBLISHERS,
    "poetry": _PUBLISHERS,
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
    "heroku": (*_VERBS, *_each("apps:destroy pg:reset", "deletes")),
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
    "sort": (
        _rule("", "runs a program", "", "compress-program"),
        _rule("", "overwrites a file", "o", "output"),
    ),
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
