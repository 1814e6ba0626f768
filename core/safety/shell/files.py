"""Programs that change files: what they delete, overwrite, move, or write from a script of their own."""

import re
from itertools import pairwise

from core.safety.shell.findings import CHANGES, READS, Finding, blocked, high
from core.safety.shell.paths import is_device, is_outside, is_vital, runs_by_git
from core.safety.shell.words import Args

_WORLD = re.compile(r"^[0-7]*[2367]$|^[2-7][0-7]{3}$|^0?[2-7]\d{3}$")
_SYMBOLIC = re.compile(r"(?:^|,)[ugoa]*[+=][rwxXt]*s|(?:^|,)(?:[ug]*[oa][ugoa]*)?[+=][rxXt]*w")
_MODE = re.compile(r"^[-+=0-7ugoarwxXst,]+$")
_SED_ACTS = re.compile(
    r"(?:^|[;{}\n/$\d])\s*[wW]\s+\S|(?:^|[;{}\n/$\d])\s*e(?:\s|$)|s(.)(?:(?!\1).)*\1(?:(?!\1).)*\1[gpimIM\d]*[ew]"
)
_AWK_ACTS = re.compile(
    r"system\s*\(|print[^;}\n]*>|\|\s*\"|\|\s*getline|\"\s*\|\s*&?|@load|@include|close\s*\("
)


def rm(args: Args) -> Finding | None:
    if args.has("", "no-preserve-root"):
        return blocked("it would delete the whole system")
    if args.may_have("rR", "recursive", "dir") and any(is_vital(path) for path in args.positionals):
        return blocked("it would delete the system or a home directory")
    if any(is_device(path) for path in args.positionals):
        return blocked("it would destroy a device")
    return high("deletes files")


def change_rights(args: Args) -> Finding | None:
    if args.has("R", "recursive") and any(is_vital(path) for path in args.positionals):
        return blocked("it would change the rights of the whole system")
    modes = [text for text in args.texts if _MODE.match(text)]
    if args.may_have("R", "recursive", "reference"):
        return high("changes rights recursively")
    if any(_WORLD.search(mode) or _SYMBOLIC.search(mode) for mode in modes):
        return high("gives rights to everyone")
    return high("changes rights outside the workspace") if any(map(is_outside, args.positionals)) else None


def dd(args: Args) -> Finding | None:
    targets = [text[3:] for text in args.texts if text.startswith("of=")]
    if any(is_device(target) for target in targets):
        return blocked("it would overwrite a device")
    return high("overwrites a file or device") if targets or args.opaque else None


def copy_or_move(args: Args) -> Finding | None:
    paths = args.positionals
    target = args.value_of("-t", "--target-directory") or (paths[-1] if paths else "")
    if is_device(target):
        return blocked("it would overwrite a device")
    if any(path in ("/dev/null", "/dev/zero") for path in paths):
        return high("destroys a file's content")
    if runs_by_git(target):
        return high("changes what git runs")
    return high("writes outside the workspace") if is_outside(target) else None


def link(args: Args) -> Finding | None:
    if any(map(is_vital, args.positionals)):
        return high("makes a way to the system or a home directory")
    return copy_or_move(args)


def move(args: Args) -> Finding | None:
    if any(is_vital(path) for path in args.positionals[:-1]):
        return blocked("it would move away the system or a home directory")
    if any(is_outside(path) for path in args.positionals):
        return high("moves files in or out of the workspace")
    return copy_or_move(args)


def tee(args: Args) -> Finding | None:
    if any(is_device(path) for path in args.positionals):
        return blocked("it would overwrite a device")
    if any(map(runs_by_git, args.positionals)):
        return high("changes what git runs")
    return high("writes outside the workspace") if any(map(is_outside, args.positionals)) else None


def sed(args: Args) -> Finding | None:
    if args.has("i", "in-place") or any(word.spread and not word.known for word in args.words):
        return high("edits files in place")
    return high("writes or runs from its script") if any(map(_SED_ACTS.search, args.texts)) else None


def awk(args: Args) -> Finding | None:
    if any(told.text in ("-f", "--file") and not script.known for told, script in pairwise(args.words)):
        return high("runs a script that can't be seen")
    return high("writes or runs from its script") if any(map(_AWK_ACTS.search, args.texts)) else None


def find(args: Args) -> Finding | None:
    deletes = "-delete" in args.texts or (args.opaque and "{}" not in args.texts)
    if deletes and any(is_vital(text) for text in args.texts[:3]):
        return blocked("it would delete the system or a home directory")
    if deletes:
        return high("deletes files")
    writes = any(text.startswith(("-fprint", "-fls")) for text in args.texts)
    runs = any(text.startswith(("-exec", "-ok")) for text in args.texts)
    return high("writes files") if writes else CHANGES if runs else READS


def sort(args: Args) -> Finding | None:
    """`sort`, which may put its output into a file."""
    target = args.value_of("--output") or args.behind("o")
    if target is None:
        return None
    empties = "/dev/null" in args.positionals
    return high("overwrites a file") if empties or is_outside(target) else CHANGES


def unpack(args: Args) -> Finding | None:
    into = args.value_of("-C", "--directory", "-d") or ""
    return high("writes outside the workspace") if is_outside(into) else None


def unpack_attached(args: Args) -> Finding | None:
    """`7z x -o/etc`: its options carry their values."""
    into = next((text[2:] for text in args.texts if text.startswith("-o")), "")
    return high("writes outside the workspace") if is_outside(into) else None
