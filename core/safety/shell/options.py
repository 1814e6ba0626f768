"""Which subcommands and options make a program dangerous: a table, and how it is read."""

from core.safety.shell.findings import Finding, high
from core.safety.shell.rule import Rule, each, rule
from core.safety.shell.words import Args

_RSYNC_DELETES = (
    "delete del delete-before delete-during delete-delay delete-after delete-excluded"
    " remove-source-files force"
)
_REWRITES = "rewrites history"
_LOSES = "throws away changes"
_GIT = (
    rule("push", "overwrites or deletes what others see", "fd", "force force-with-lease delete mirror prune"),
    rule("reset", _LOSES, "", "hard merge keep"),
    rule("clean", "deletes untracked files", unless_short="n", unless_long="dry-run"),
    rule("checkout", _LOSES, "fB", "force ours theirs"),
    rule("switch", _LOSES, "fC", "force discard-changes force-create"),
    rule("restore", _LOSES, unless_short="S", unless_long="staged"),
    rule("restore", _LOSES, "W", "worktree"),
    rule("branch", "deletes or moves a branch", "DMCf", "force"),
    rule("tag", "deletes or moves a tag", "df", "delete force"),
    *each("stash:drop stash:clear worktree:remove submodule:deinit", _LOSES),
    *(rule(word, "writes a file", "", "output") for word in ("diff", "log", "show", "stash", "shortlog")),
    *each("filter-branch filter-repo reflog:expire reflog:delete replace", _REWRITES),
    *(rule(word, _LOSES, "", "abort skip") for word in ("merge", "rebase", "cherry-pick", "revert", "am")),
    rule("read-tree", _LOSES, "u", "reset"),
    rule("checkout-index", _LOSES, "f", "force"),
    *(rule(word, "overwrites branches", "f", "force") for word in ("fetch", "pull")),
    *each("remote:remove remote:rm notes:remove notes:prune lfs:prune", "drops what could still be found"),
    rule("symbolic-ref", _REWRITES, "d", "delete"),
    rule("update-ref", _REWRITES, "d", "delete stdin"),
    rule("gc", "drops what could still be recovered", "", "prune"),
    *each("prune", "drops what could still be recovered"),
    rule("rm", "deletes files", unless_long="cached"),
    *each("submodule:foreach bisect:run", "runs commands"),
    rule("rebase", "runs commands", "x", "exec"),
    rule("grep", "runs a program", "O", "open-files-in-pager"),
    rule("difftool", "runs a program", "x", "extcmd"),
    rule("fetch", "runs a program", "", "upload-pack"),
    rule("pull", "runs a program", "", "upload-pack"),
    rule("clone", "runs a program", "u", "upload-pack config template"),
    rule("ls-remote", "runs a program", "", "upload-pack"),
    rule("archive", "runs a program", "", "exec"),
    *each("remote:set-url remote:set-head", "changes where git fetches and pushes"),
)
_CONTAINERS = (
    *each("rm rmi container:rm container:prune image:rm compose:rm", "removes containers"),
    *each("system:prune volume:rm volume:prune network:rm network:prune builder:prune", "removes data"),
    *each("buildx:prune buildx:rm image:prune", "removes data"),
    *each("stack:rm service:rm swarm:leave secret:rm config:rm context:rm", "takes services down"),
    *each("stop kill pause container:stop container:kill compose:stop compose:kill", "takes services down"),
    *each("system:reset machine:rm pod:rm", "removes data"),
    rule("down", "removes data", "v", "volumes rmi"),
    rule("run", "runs with the host's rights", "", "privileged pid cap-add device security-opt userns"),
    rule("create", "runs with the host's rights", "", "privileged pid cap-add device"),
)
_KUBECTL = (
    rule("", "may run a program", "", "kubeconfig"),
    *each("delete drain cordon taint", "takes services down"),
    rule("replace", "takes services down", "", "force"),
    rule("apply", "takes services down", "", "prune force"),
    rule("scale", "takes services down", "", "replicas"),
)
_INFRASTRUCTURE = (
    *each("destroy taint state:rm workspace:delete", "destroys what is running"),
    rule("apply", "changes what is running, unasked", "", "auto-approve destroy replace"),
    rule("up", "changes what is running, unasked", "y", "yes"),
)
_PACKAGES = each("remove purge autoremove erase uninstall dist-upgrade full-upgrade", "removes programs")
_LIBRARIES = each("remove uninstall rm un unlink prune", "removes programs")
_SCRIPTS = (
    rule("", "changes which programs run", "", "script-shell node-options userconfig globalconfig"),
    rule("", "installs programs from another place", "", "registry"),
    *each("config:set config:delete set", "changes which programs run"),
)
_OTHER_SOURCE = rule(
    "install", "installs programs from another place", "i", "index-url extra-index-url trusted-host"
)
_SERVICES = (
    rule("", "talks to another machine", "H", "host"),
    *each("stop disable mask kill isolate poweroff reboot halt suspend hibernate", "stops services"),
    *each("rescue emergency set-default edit revert kexec", "changes how the machine runs"),
)
_PUBLISHERS = each("publish unpublish deprecate yank push", "publishes")
_VERBS = each(
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
    "helm": each("uninstall delete rollback", "takes services down"),
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
    "apk": each("del", "removes programs"),
    "nix-collect-garbage": (rule("", "removes programs", "d", "delete-old"),),
    "dpkg": (rule("", "removes programs", "rP", "remove purge"),),
    "rpm": (rule("", "removes programs", "e", "erase"),),
    "pacman": (rule("", "removes programs", "R", "remove"),),
    **dict.fromkeys(("npm", "yarn", "pnpm"), (*_PUBLISHERS, *_LIBRARIES, *_SCRIPTS)),
    **dict.fromkeys(("gem", "poetry"), (*_PUBLISHERS, *_LIBRARIES)),
    "cargo": (*_PUBLISHERS, *_LIBRARIES, rule("", "changes which programs run", "", "config")),
    "go": (rule("", "runs a program", "", "exec toolexec vettool"),),
    **dict.fromkeys(("pip", "pip3", "pipx", "uv"), (*_LIBRARIES, _OTHER_SOURCE, *_PUBLISHERS)),
    **dict.fromkeys(("conda", "mamba", "pipenv", "bun", "composer"), _LIBRARIES),
    "systemctl": _SERVICES,
    "service": _SERVICES,
    "initctl": _SERVICES,
    "supervisorctl": each("stop remove shutdown", "stops services"),
    "pm2": each("stop delete kill", "stops services"),
    "launchctl": each("unload remove bootout disable stop kill", "stops services"),
    "loginctl": each("terminate-session terminate-user kill-session kill-user", "ends sessions"),
    "journalctl": (rule("", "deletes logs", "", "vacuum-size vacuum-time vacuum-files rotate"),),
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
    "ip": each("add del delete set flush change replace", "changes the network"),
    "route": each("add del delete flush change", "changes the network"),
    "tc": each("add del delete change replace", "changes the network"),
    "rfkill": each("block unblock toggle", "changes the network"),
    "nmcli": each("down delete modify disconnect", "changes the network"),
    "tar": (
        rule("", "runs a program", "IF", "to-command checkpoint-action use-compress-program rsh-command"),
        rule("", "deletes files", "", "remove-files delete recursive-unlink unlink-first"),
        rule("", "writes anywhere", "P", "absolute-names"),
    ),
    "cpio": (
        rule(
            "", "writes anywhere", "i", "extract", unless_short="t", unless_long="list no-absolute-filenames"
        ),
    ),
    "rename": (rule("", "overwrites files", "f", "force"),),
    **dict.fromkeys(("7z", "7za", "7zr"), each("d", "deletes files")),
    "ssh-add": (rule("", "forgets keys", "dD"),),
    "security": each("delete-keychain delete-certificate delete-generic-password", "deletes keys"),
    "zip": (rule("", "deletes files", "md", "move delete"), rule("", "runs a program", "T", "unzip-command")),
    "rsync": (
        rule("", "deletes files", "", _RSYNC_DELETES),
        rule("", "runs a program", "e", "rsh rsync-path"),
    ),
    "sort": (rule("", "runs a program", "", "compress-program"),),
    "split": (rule("", "runs a program", "", "filter"),),
    "rg": (rule("", "runs a program", "", "pre hostname-bin"),),
    "man": (rule("", "runs a program", "PH", "pager html"),),
    "tree": (rule("", "writes a file", "o"),),
    "info": (rule("", "writes a file", "o", "output"),),
    "file": (rule("", "writes a file", "C", "compile"),),
    "less": (
        rule("", "writes a file, or takes other keys", "oOk", "log-file LOG-FILE lesskey-file lesskey-src"),
    ),
    "bat": (rule("", "runs a program", "", "pager"),),
    "ag": (rule("", "runs a program", "", "pager"),),
    "jobs": (rule("", "runs a command", "x"),),
    "cloc": (rule("", "writes a file, or runs a program", "", "out report-file extract-with config sql"),),
    "dig": (rule("", "sends a file away", "f"),),
    "yq": (rule("", "edits files in place", "i", "inplace in-place"),),
    "date": (rule("", "sets the clock", "s", "set"),),
    "ss": (rule("", "ends connections", "K", "kill"),),
    "crontab": (rule("", "schedules commands", unless_short="l"),),
    "mapfile": (rule("", "runs a command", "C"),),
    "readarray": (rule("", "runs a command", "C"),),
    "complete": (rule("", "runs a command", "CF"),),
    "timedatectl": each("set-time set-timezone set-ntp set-local-rtc", "sets the clock"),
    "hostnamectl": each("set-hostname hostname", "renames the machine"),
    "history": (rule("", "deletes or rewrites what was typed", "cdwanrs"),),
    "fuser": (rule("", "ends processes", "k", "kill"),),
    "nvme": each("format sanitize delete-ns write-zeroes dsm fw-download fw-commit", "erases disks"),
    "virsh": each(
        "undefine destroy shutdown reset vol-delete vol-wipe pool-delete pool-destroy snapshot-delete"
        " net-destroy net-undefine",
        "takes machines down",
    ),
    "pg_ctl": each("stop restart kill promote", "stops services"),
    "pg_restore": (rule("", "changes or deletes data", "c", "clean"),),
    "rabbitmqctl": each(
        "reset force_reset stop stop_app shutdown delete_queue delete_user delete_vhost purge_queue"
        " forget_cluster_node clear_permissions",
        "changes or deletes data",
    ),
    "etcdctl": each("del rm rmdir defrag", "changes or deletes data"),
    "svn": each("revert delete del rm remove", _LOSES),
    "hg": (rule("update", _LOSES, "C", "clean"), rule("revert", _LOSES), *each("purge strip", _LOSES)),
    "flyway": each("clean", "changes or deletes data"),
    "tmutil": each("delete deletelocalsnapshots disable restore", "deletes files"),
    "defaults": each("delete write rename import", "changes the machine's setup"),
    "gpg": (rule("", "deletes keys", "", "delete-keys delete-secret-keys delete-secret-and-public-keys"),),
    "busctl": each("call set-property emit", "tells the system's services what to do"),
    "gdbus": each("call emit", "tells the system's services what to do"),
    "screen": (rule("", "types into or ends a terminal", "X"),),
    "tmux": each(
        "kill-server kill-session kill-window kill-pane send-keys send run-shell run if-shell if pipe-pane"
        " set-hook respawn-pane respawn-window source-file",
        "types into or ends a terminal",
    ),
    "expect": (rule("", "runs commands", "c"),),
    "gdb": (rule("", "runs commands", "x", "ex eval-command command iex ix"),),
    "make": (rule("", "runs commands", "", "eval"),),
    "vim": (rule("", "runs commands", "cSs"),),
    "vi": (rule("", "runs commands", "cSs"),),
    "nvim": (rule("", "runs commands", "cSls"),),
    "emacs": (rule("", "runs commands", "f", "eval execute batch funcall"),),
    "perl": (rule("", "edits files in place", "i"),),
    "ruby": (rule("", "edits files in place", "i"),),
    "gawk": (rule("", "edits files in place", "i", "include load"),),
}


def by_options(program: str, args: Args) -> Finding | None:
    """What the table says of a program's options."""
    for one in RULES.get(program, ()):
        if one.applies(args):
            return high(one.reason)
    return None
