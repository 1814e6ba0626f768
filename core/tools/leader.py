"""The leader of a command: our process that starts the programs of a plan, and dies with the hub.

It reads the plan from its standard input, which the hub writes once the leader is recorded. If
the input ends before the plan is complete, it does nothing. Then it runs the pipelines one by
one, as bash would. The same pipe shows it that the hub is gone: it then kills its process
group, itself included. Its programs die with it (PR_SET_PDEATHSIG, prctl(2)).

One such process starts for every command, so it imports only cheap modules: `json`, `signal`,
`ctypes` and `typing` (which load `re` and `enum`) take longer than all its work. The path guard
is loaded for plans that open files.
"""

import _ctypes
import marshal
import os
import select
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import NoReturn

    from core.safety.paths import PathGuard
else:
    import _signal as signal  # all of `signal` but the enums

NOTHING_DONE = 125
"""Exit code of a leader that never got a complete plan."""
LENGTH_BYTES = 8
"""Length of the number before the plan that says the plan's length."""

Redirect = tuple[str, str, bytes]
"""A redirect: `<`, `>` or `2>`; then `file`, `append`, `null` or `stdout`; then a path."""
Program = tuple[tuple[bytes, ...], tuple[Redirect, ...]]
Step = tuple[str, tuple[Program, ...]]
Job = tuple[tuple[Step, ...], bytes, bytes, tuple[bytes, ...], dict[bytes, bytes]]
"""A job: steps, directory, workspace, closed paths, environment."""

_FROM_HUB = 0
_PR_SET_PDEATHSIG = 1
_FAILED, _NOT_RUNNABLE, _NOT_FOUND = 1, 126, 127
_NEW_FILE_MODE = 0o666
_OPEN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Without O_NONBLOCK the open would wait on a named pipe."""
_STREAMS = {"<": 0, ">": 1, "2>": 2}
_QUIET_SIGNALS = (signal.SIGPIPE, signal.SIGINT)
"""These end programs silently, as in bash."""


class Leader:
    """Runner of one plan."""

    def __init__(self, job: Job) -> None:
        self._steps, self._directory, self._workspace, self._closed, self._environment = job
        self._pid = os.getpid()
        self._guard = self._load_guard() if self._opens_paths() else None

    def run(self) -> int:
        """Run the steps that their joiners allow; return the status of the last one that ran."""
        if not self._enter():
            return _FAILED
        status = 0
        for joiner, programs in self._steps:
            if (joiner == "&&" and status) or (joiner == "||" and not status):
                continue
            status = self._pipeline(programs)
        return status

    def _opens_paths(self) -> bool:
        redirects = (redirect for _, programs in self._steps for _, those in programs for redirect in those)
        return self._directory != b"." or any(kind in ("file", "append") for _, kind, _ in redirects)

    def _load_guard(self) -> "PathGuard":
        from pathlib import Path

        from core.safety.paths import PathGuard

        closed = [Path(os.fsdecode(path)) for path in self._closed]
        return PathGuard(Path(os.fsdecode(self._workspace)), closed)

    def _enter(self) -> bool:
        """Change to the plan's directory; return whether that succeeded."""
        if self._guard is None or self._directory == b".":
            return True
        try:
            with self._guard.listing(os.fsdecode(self._directory)) as directory:
                os.fchdir(directory)
        except Exception as error:  # any refusal of the guard, in its words
            _say(b"cd: " + self._directory + b": " + os.fsencode(str(error)))
            return False
        return True

    def _pipeline(self, programs: tuple[Program, ...]) -> int:
        """Start all its programs, then wait for all; return the status of the last."""
        children: list[int] = []
        source: int | None = None
        for place, program in enumerate(programs, 1):
            following, sink = os.pipe() if place < len(programs) else (None, None)
            if _hub_is_gone():
                _end_all()
            children.append(self._start(program, source, sink))
            for used in (source, sink):
                if used is not None:
                    os.close(used)
            source = following
        return [_status_of(child, program[0]) for child, program in zip(children, programs, strict=True)][-1]

    def _start(self, program: Program, source: int | None, sink: int | None) -> int:
        child = os.fork()
        if child:
            return child
        try:
            self._become(program, source, sink)
        except BaseException as error:
            _say(program[0][0] + b": " + os.fsencode(str(error)))
        os._exit(_NOT_RUNNABLE)

    def _become(self, program: Program, source: int | None, sink: int | None) -> None:
        """Replace the child with the program. Returns only on failure."""
        _die_with(self._pid)
        argv, redirects = program
        os.dup2(os.open(os.devnull, os.O_RDONLY) if source is None else source, 0)
        if sink is not None:
            os.dup2(sink, 1)
        for stream, kind, path in redirects:
            try:
                os.dup2(self._opened(stream, kind, path), _STREAMS[stream])
            except Exception as error:  # the guard's words, or the system's
                _say((path or b"/dev/null") + b": " + os.fsencode(str(error)))
                os._exit(_FAILED)
        _reset_signals()
        _execute(argv, self._environment)

    def _opened(self, stream: str, kind: str, path: bytes) -> int:
        flags = os.O_RDONLY if stream == "<" else os.O_WRONLY
        if kind == "stdout":
            return 1
        if kind == "null":
            return os.open(os.devnull, flags)
        if self._guard is None:  # never: plans with such redirects load it
            raise OSError("there is no guard")
        name = os.fsdecode(path)
        flags |= 0 if stream == "<" else os.O_CREAT | (os.O_APPEND if kind == "append" else 0)
        with self._guard.place(name) as place:
            opened = os.open(place.name, flags | _OPEN, _NEW_FILE_MODE, dir_fd=place.directory)
            self._guard.admit(os.fstat(opened), name)
            if kind == "file" and stream != "<":
                os.ftruncate(opened, 0)
            os.set_blocking(opened, True)
            return opened


def _execute(argv: tuple[bytes, ...], environment: dict[bytes, bytes]) -> None:
    """Become the program. If that fails, report the reason and return its exit code."""
    path = argv[0] if b"/" in argv[0] else _found(argv[0], environment.get(b"PATH", b""))
    if path is None:
        _say(argv[0] + b": command not found")
        os._exit(_NOT_FOUND)
    try:
        os.execve(path, argv, environment)  # noqa: S606 — no shell is the point
    except FileNotFoundError as error:
        _say(path + b": " + os.fsencode(error.strerror or ""))
        os._exit(_NOT_FOUND)
    except OSError as error:
        _say(path + b": " + os.fsencode(error.strerror or ""))
        os._exit(_NOT_RUNNABLE)


def _found(name: bytes, search_path: bytes) -> bytes | None:
    """Return the first program of that name on the path; one that cannot be run only if there is no
    other."""
    other: bytes | None = None
    for directory in filter(None, search_path.split(b":")):
        path = directory + b"/" + name
        try:
            is_file = stat.S_ISREG(os.stat(path).st_mode)
        except OSError:
            continue
        if is_file and os.access(path, os.X_OK):
            return path
        if is_file and other is None:
            other = path
    return other


def _status_of(child: int, argv: tuple[bytes, ...]) -> int:
    """Wait for a program to end, or the hub; return its exit status as a shell gives it."""
    its_end = os.pidfd_open(child)
    poll = select.poll()
    poll.register(its_end, select.POLLIN)
    poll.register(_FROM_HUB, 0)  # only to see the other end close
    while its_end not in {descriptor for descriptor, _ in poll.poll()}:
        if _hub_is_gone():
            _end_all()
    os.close(its_end)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code >= 0:
        return code
    if -code not in _QUIET_SIGNALS:
        why = signal.strsignal(-code) or "unknown"
        _say(argv[0] + f": ended by signal {-code} ({why})".encode())
    return 128 - code


def _hub_is_gone() -> bool:
    poll = select.poll()
    poll.register(_FROM_HUB, 0)
    return bool(poll.poll(0))


def _end_all() -> "NoReturn":
    """Kill the process group, including this process."""
    os.killpg(0, signal.SIGKILL)
    os._exit(_FAILED)


def _die_with(leader: int) -> None:
    """Have the system kill this process when its parent dies, even if it is already dead."""
    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # pyright: ignore[reportArgumentType]
    _ctypes.call_cdeclfunction(prctl, (_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0))
    if os.getppid() != leader:
        os._exit(_FAILED)


def _reset_signals() -> None:
    """Reset signals to their defaults; Python ignores SIGPIPE."""
    for number in signal.valid_signals():
        if signal.getsignal(number) != signal.SIG_DFL:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _say(what: bytes) -> None:
    os.write(2, b"hubbub: " + what + b"\n")


def _read(length: int) -> bytes | None:
    """Read that many bytes from the hub; None if the hub ends before."""
    got = b""
    while len(got) < length:
        piece = os.read(_FROM_HUB, length - len(got))
        if not piece:
            return None
        got += piece
    return got


def main(told: int | None = None) -> "NoReturn":
    """Run the plan from standard input, and exit with its status. `told`: where the status is written first,
    as one byte, for a hub that sees the exit code of more than this process."""
    length = _read(LENGTH_BYTES)
    message = None if length is None else _read(int.from_bytes(length, "big"))
    if message is None:
        os._exit(NOTHING_DONE)
    try:
        status = Leader(marshal.loads(message)).run()  # noqa: S302 — from the hub, over a pipe of its own
    except BaseException as error:
        _say(b"the leader failed: " + os.fsencode(repr(error)))
        _end_all()  # the outcome is unknown: the hub sees a leader that was killed
    if told is not None:
        os.write(told, bytes((status,)))
    os._exit(status)
