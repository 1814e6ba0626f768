"""What is refused in every mode: erasing the system, a home or a disk, or multiplying without end.

Exact for the argv of a plain line. For other lines it is a scan of words, a seat belt: what protects there is
that a person approves that exact text each time.
"""

import posixpath
from collections.abc import Sequence

_DELETES = "it would delete the system or a home directory"
_OPENS = "it would change the rights of the whole system"
_DISK = "it would erase a disk"
_BOMB = "it would multiply itself without end"

_OF_SYSTEM = frozenset([
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt", "proc",
    "root", "run", "sbin", "srv", "sys", "usr", "var", "Applications", "Library", "System", "Users",
])  # fmt: skip
_DISKS = ("/dev/sd", "/dev/hd", "/dev/vd", "/dev/xvd", "/dev/nvme", "/dev/mmcblk", "/dev/disk", "/dev/dm-")
_ERASERS = frozenset({"mkfs", "mke2fs", "wipefs", "blkdiscard"})
_GO_ON = frozenset(
    {"sudo", "doas", "env", "nohup", "nice", "timeout", "time", "exec", "command", "busybox", "then", "do"}
)
_BEFORE_PROGRAM = frozenset("-0123456789")
"""How the options, numbers and durations begin that such a program takes before the one it starts."""
_HERE = frozenset({".", "./", "*", "./*", ".*"})
_BETWEEN = ";|&\n(){}"


def harm_of_argv(argv: Sequence[str]) -> str | None:
    """Return why a program with these words is refused; None if it is not."""
    start = 0
    while start < len(argv) and (argv[start] in _GO_ON or (start and argv[start][:1] in _BEFORE_PROGRAM)):
        start += 1
    if start == len(argv):
        return None
    program, words = posixpath.basename(argv[start]), argv[start + 1 :]
    if program in _ERASERS or program.startswith("mkfs."):
        return _DISK
    if program in ("shred", "tee", "cp", "dd", "mv") and any(_is_disk(word) for word in words):
        return None if program == "dd" and not any(_is_disk(w) for w in words if w[:3] == "of=") else _DISK
    if not any(map(_is_vital, words)):
        return None
    match program:
        case "rm" | "mv" if program == "mv" or _recursive(words, "rR"):
            return _DELETES
        case "find" if {"-delete", "-exec"} & set(words):
            return _DELETES
        case "chmod" | "chown" | "chgrp" if _recursive(words, "R"):
            return _OPENS
        case _:
            return None


def harm_of_text(text: str) -> str | None:
    """Return why a line that is not plain is refused; None if its words say nothing of the kind."""
    squeezed = "".join(text.split())
    if _is_bomb(squeezed):
        return _BOMB
    before_texts = text.replace("${HOME}", "$HOME").partition("<<")[0]
    at_vital = False
    for part in before_texts.translate({ord(one): "\n" for one in _BETWEEN}).split("\n"):
        written, target, output = part.partition(">")
        words = [_bare(word) for word in written.split()]
        if words[:1] == ["cd"] and any(map(_is_vital, words[1:])):
            at_vital = True
        if at_vital and words[:1] == ["rm"] and _recursive(words, "rR") and _HERE & set(words):
            return _DELETES
        if target and any(map(_is_disk, map(_bare, output.split()))):
            return _DISK
        if (harm := harm_of_argv(words)) is not None:
            return harm
    return None


def _recursive(words: Sequence[str], letters: str) -> bool:
    return any(
        word == "--recursive" or (word[:1] == "-" and word[1:2] != "-" and set(letters) & set(word))
        for word in words
    )


def _is_disk(word: str) -> bool:
    return word.removeprefix("of=").startswith(_DISKS)


def _is_vital(word: str) -> bool:
    """Whether it is the root, a directory of the system, all homes, or a home."""
    if word in ("~", "$HOME") or not word.startswith("/"):
        return word in ("~", "$HOME")
    parts = [part for part in posixpath.normpath(word.removesuffix("*") or "/").split("/") if part]
    return not parts or (parts[0] in _OF_SYSTEM and len(parts) <= (2 if parts[0] in ("home", "Users") else 1))


def _bare(word: str) -> str:
    """The word without quotes and backslashes, the home directory by one name."""
    bare = word.translate({ord(one): None for one in "'\"\\"}).removesuffix("/*")
    return bare.rstrip("/") or ("/" if bare or word[:2] == "/*" else bare)


def _is_bomb(squeezed: str) -> bool:
    """`f(){f|f&};f`, by whatever name."""
    head, found, tail = squeezed.partition("(){")
    return bool(found) and (name := head.rpartition(";")[2]) != "" and tail.startswith(f"{name}|{name}&")
