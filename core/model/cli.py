"""Agent CLIs as models, with their own tools switched off.

A reply is one start of the CLI. The CLI keeps the conversation in a session of its own, which is resumed only
while it holds exactly what the thread does; otherwise a new one is given the hub's history. The hub's tools
are offered over a bridge (see `Bridge`), or as text. A CLI that announces any other tool is refused.
"""

import asyncio
import tomllib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from core.errors import ModelFault, ModelMisconfigured, ModelReplyInvalid, ModelUnavailable
from core.lazy import dataclass
from core.model.base import (
    THINKING_TOKENS,
    CallRequest,
    ImagePart,
    ModelAbilities,
    ModelReply,
    ModelRequest,
    ReplyDelta,
    ToolSpec,
)
from core.model.cleaning import cleaned_reply
from core.model.cli_exchange import (
    CliOutput,
    CliSessions,
    Spoken,
    announced,
    digest,
    history,
    new_words,
    safe,
    settled,
    tools_text,
)
from core.model.conversation import Heard, Replied, replayable, steps, to_json
from core.model.provider_data import as_text, excerpt
from core.model.provider_http import without_key
from core.transcript import AssistantSaid, Origin, Said, ToolCalled, ToolResult
from core.users import Thinking

PRESETS = Path(__file__).with_name("cli.toml")
PROVIDER = "cli"
EXIT_TIMEOUT_S = 5.0
"""The longest wait, after a reply, for the CLI to write its session and exit."""
HOLD_S = 45.0
"""The longest time that a CLI waits for the results of its calls: some give up after 60 s. After that, a new
session gets them."""

# The CLI's process: started by the program, which knows about processes.


class ChildFailed(Exception):
    """The process could not be started, or was stopped because it wrote too much; the message says which."""


class Child(Protocol):
    """A process that is killed with all its children by `end`, and with the hub."""

    async def connect(self) -> None: ...

    async def line(self) -> bytes:
        """Return its next line of output; empty once it has exited. Raises ChildFailed."""
        ...

    async def tell(self, text: bytes) -> None:
        """Write its whole input. Raises ChildFailed."""
        ...

    def complaint(self) -> str:
        """Return the beginning of its standard error."""
        ...

    async def end(self) -> None: ...


Launch = Callable[[Sequence[str], Mapping[str, str], str], Child]
"""Starts a process with a command, an environment and a directory. Raises ChildFailed."""


class Offer(Protocol):
    """The hub's tools on offer to one process."""

    @property
    def server(self) -> Mapping[str, Any]:
        """The address of the server, as MCP clients are configured with it."""
        ...

    def answer(self, call: CallRequest, result: ToolResult | None) -> None:
        """Answer a call that the process has made or will make."""
        ...

    def close(self) -> None:
        """Withdraw the offer: its token is not accepted any more."""
        ...


Bridge = Callable[[Sequence[ToolSpec]], Offer]
"""Offers tools to one process."""


# Presets.


@dataclass(frozen=True, slots=True)
class CliPreset:
    """One way to start a CLI, see cli.toml."""

    program: tuple[str, ...]
    arguments: tuple[str, ...]
    resume: tuple[str, ...]
    environment: Mapping[str, str]
    bridge: tuple[str, ...] = ()
    tool: str = ""
    image: str = ""
    limits_output: bool = False


@lru_cache(1)
def presets() -> Mapping[str, CliPreset]:
    """Return the presets by name."""
    rows: Mapping[str, Mapping[str, Any]] = tomllib.loads(PRESETS.read_text(encoding="utf-8"))
    return {name: _preset(row) for name, row in rows.items()}


def _preset(row: Mapping[str, Any]) -> CliPreset:
    lists = {key: tuple(map(str, row.get(key, ()))) for key in ("program", "arguments", "resume", "bridge")}
    others = {key: row[key] for key in ("tool", "image", "limits_output", "environment") if key in row}
    return CliPreset(**lists, **others)


# The model.


@dataclass(slots=True)
class _Talk:
    """One process and the reply that it is about to give."""

    child: Child
    output: CliOutput
    files: list[Path]
    offer: Offer | None = None
    tools: Sequence[ToolSpec] = ()
    calls: tuple[CallRequest, ...] = ()
    expiry: asyncio.TimerHandle | None = None

    async def end(self) -> None:
        if self.expiry is not None:
            self.expiry.cancel()
        try:
            await self.child.end()
        finally:
            if self.offer is not None:
                self.offer.close()
            for path in self.files:
                path.unlink(missing_ok=True)


class CliModel:
    """One agent CLI. `directory`: its own, private; it holds the CLI's directory of work, and its sessions.

    `environment`: the part of the hub's environment that it may see. `close` ends what waits for results."""

    def __init__(
        self,
        preset: CliPreset,
        *,
        name: str,
        model: str,
        base_url: str,
        api_key: str,
        directory: Path,
        environment: Mapping[str, str],
        launch: Launch,
        timeout_s: float,
        new_name: Callable[[], str],
        bridge: Bridge | None = None,
        abilities: ModelAbilities | None = None,
        thinking: Thinking = Thinking.OFF,
    ) -> None:
        self._preset = preset
        self._name = name
        self._model = model
        self._base_url = base_url
        self._api_key = api_key
        self._directory = directory
        self._environment = environment
        self._launch = launch
        self._timeout_s = timeout_s
        self._new_name = new_name
        self._bridge = bridge if preset.bridge else None
        known = abilities or ModelAbilities()
        self._abilities = replace(
            known, images=known.images and bool(preset.image), limits_output=preset.limits_output
        )
        self._thinking = thinking
        self._sessions = CliSessions(directory / "sessions")
        self._waiting: dict[str, _Talk] = {}
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        """The model's name in the configuration."""
        return self._name

    @property
    def abilities(self) -> ModelAbilities:
        """Its limits and abilities."""
        return self._abilities

    async def close(self) -> None:
        """End every process that waits for results."""
        while self._waiting:
            await self._waiting.popitem()[1].end()
        for ending in tuple(self._ending):
            await ending

    # --- one reply ------------------------------------------------------------------------------------

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """Closing the iterator kills the CLI."""
        ends_s = asyncio.get_running_loop().time() + self._timeout_s
        talk = await self._begun(request, ends_s)
        waits = False
        try:
            while (spoken := talk.output.take()) is None:
                if text := await self._more(talk, ends_s):
                    yield ReplyDelta(text)
            reply = self._reply(spoken, talk, request)
            if talk.output.ended:
                await self._exited(talk)
            elif not reply.truncated:
                waits = True
                self._hold(talk, spoken)
            self._remember(reply, talk, request)
        finally:
            if not waits:
                await talk.end()
        yield reply

    async def _begun(self, request: ModelRequest, ends_s: float) -> _Talk:
        """Return the process that gives the reply."""
        conversation = request.conversation
        place = settled(conversation)
        session = self._session(conversation[:place])
        if session and not self._sessions.claim(session, digest(conversation[:place])):
            session = ""
        talk = self._waiting.pop(session, None) if session else None
        if talk is not None:
            if [*talk.tools] == [*request.tools] and self._answered(talk, steps(conversation)):
                return talk
            await talk.end()
            session = ""  # it broke off while it waited
        return await self._started(request, session, ends_s)

    def _session(self, conversation: Sequence[Said]) -> str:
        """Return the session of the newest reply, empty if another model wrote it."""
        written = next((said for said in reversed(conversation) if isinstance(said, AssistantSaid)), None)
        if written is None:
            return ""
        kept = replayable(written.origin, provider=PROVIDER, model=self._model, host=self._name)
        return as_text(kept.get("session"))

    def _answered(self, talk: _Talk, heard: Sequence[Heard | Replied]) -> bool:
        """Answer the calls of a process that waits; False if more was said than their results."""
        newest = heard[-1]
        if talk.offer is None or not isinstance(newest, Replied) or len(newest.calls) != len(talk.calls):
            return False
        if talk.expiry is not None:
            talk.expiry.cancel()
        for call, (_, result) in zip(talk.calls, newest.calls, strict=True):
            talk.offer.answer(call, result)
        return True

    def _hold(self, talk: _Talk, spoken: Spoken) -> None:
        """Let a process wait for the results of its calls."""
        session = talk.output.session
        talk.calls = spoken.calls

        def expire() -> None:
            if self._waiting.get(session) is talk:
                del self._waiting[session]
                ending = asyncio.get_running_loop().create_task(talk.end(), name=f"end of {self._name}")
                self._ending.add(ending)
                ending.add_done_callback(self._ending.discard)

        talk.expiry = asyncio.get_running_loop().call_later(HOLD_S, expire)
        self._waiting[session] = talk

    def _reply(self, spoken: Spoken, talk: _Talk, request: ModelRequest) -> ModelReply:
        opaque = to_json({"host": self._name, "session": talk.output.session}) if talk.output.session else ""
        origin = Origin(PROVIDER, self._model, opaque)
        reply = ModelReply(spoken.text, spoken.calls, spoken.usage, origin, spoken.stop)
        if self._bridge is None and not reply.truncated:
            offered = frozenset(tool.name for tool in request.tools)
            reply = replace(reply, calls=cleaned_reply(reply, offered).calls)
        return reply

    def _remember(self, reply: ModelReply, talk: _Talk, request: ModelRequest) -> None:
        """Record what the session holds: what the thread will, unless it changes."""
        if reply.truncated or not talk.output.session:
            return
        text = cleaned_reply(reply, frozenset()).text
        said: list[Said] = [*request.conversation, AssistantSaid(text, reply.origin)]
        said += [ToolCalled("", call.tool, call.arguments) for call in reply.calls]
        self._sessions.put(talk.output.session, digest(said))

    # --- the process ----------------------------------------------------------------------------------

    async def _started(self, request: ModelRequest, session: str, ends_s: float) -> _Talk:
        """Start the CLI and give it the message."""
        self._prepare()
        files: list[Path] = []
        offer = self._bridge(request.tools) if self._bridge is not None and request.tools else None
        output = CliOutput(self._name, self._announced(request.tools), self._api_key)
        try:
            command = self._command(request, session, offer, files)
            message = self._message(request, session, files)
            child = self._launch(command, self._variables(request), str(self._directory / "work"))
        except BaseException as error:
            if offer is not None:
                offer.close()
            for path in files:
                path.unlink(missing_ok=True)
            if isinstance(error, ChildFailed | OSError):
                raise self._unstartable(str(error)) from error
            raise
        talk = _Talk(child, output, files, offer, request.tools)
        try:
            async with asyncio.timeout_at(ends_s):
                await child.connect()
                await child.tell(message.encode("utf-8", "replace"))
        except ChildFailed:
            pass  # it is gone; what it said tells why
        except BaseException:
            await talk.end()
            raise
        return talk

    def _announced(self, tools: Sequence[ToolSpec]) -> Mapping[str, str]:
        names = [tool.name for tool in tools] if self._bridge is not None else []
        return announced(names, self._preset.tool)

    def _prepare(self) -> None:
        for name in ("", "work", "home", "sessions", "files"):
            (self._directory / name).mkdir(mode=0o700, parents=True, exist_ok=True)

    def _command(
        self, request: ModelRequest, session: str, offer: Offer | None, files: list[Path]
    ) -> Sequence[str]:
        system = request.system
        if self._bridge is None:
            system = f"{system}\n\n{tools_text(request.tools)}"
        values = {"model": self._model, "session": session, "system_text": system}
        values["system"] = str(self._file(files, system.encode("utf-8", "replace")))
        preset = self._preset
        arguments = [*preset.program, *preset.arguments]
        if offer is not None:
            config = to_json({"mcpServers": {"hubbub": dict(offer.server)}})
            values["bridge"] = str(self._file(files, config.encode()))
            arguments += preset.bridge
        if session:
            arguments += preset.resume
        return [_filled(one, values) for one in arguments]

    def _message(self, request: ModelRequest, session: str, files: list[Path]) -> str:
        heard = steps(request.conversation, request.images if self._abilities.images else _unseen(request))
        words, images = new_words(heard)
        mentions = [
            self._preset.image.format(path=self._file(files, image.data, f".{_suffix(image)}"))
            for image in images
        ]
        parts = ["" if session else history(heard), safe(words)]
        return "".join(parts) + "".join(f"\n{mention}" for mention in mentions)

    def _variables(self, request: ModelRequest) -> Mapping[str, str]:
        thinking = THINKING_TOKENS[self._thinking if request.thinking is None else request.thinking]
        values = {
            "model": self._model,
            "api_key": self._api_key,
            "base_url": self._base_url,
            "home": str(self._directory / "home") if self._api_key else "",
            "max_output_tokens": str(request.max_output_tokens + thinking),
            "thinking_tokens": str(thinking),
        }
        filled = {name: _filled(value, values) for name, value in self._preset.environment.items()}
        return {**self._environment, **{name: value for name, value in filled.items() if value}}

    def _file(self, files: list[Path], content: bytes, suffix: str = "") -> Path:
        """Write a file that only the hub's user can read, for this process."""
        path = self._directory / "files" / f"{self._new_name()}{suffix}"
        path.touch(mode=0o600)
        files.append(path)
        path.write_bytes(content)
        return path

    async def _more(self, talk: _Talk, ends_s: float) -> str:
        """Read a line. Return the text it adds. Raises ModelError."""
        try:
            async with asyncio.timeout_at(ends_s):
                line = await talk.child.line()
        except TimeoutError as error:
            raise ModelUnavailable(f"model {self._name}: no reply within {self._timeout_s:g} s") from error
        except ChildFailed as error:
            raise ModelReplyInvalid(f"model {self._name}: the CLI was stopped: {error}") from error
        if not line:
            raise self._gone(talk)
        return talk.output.add(line)

    def _gone(self, talk: _Talk) -> Exception:
        said = excerpt(without_key(talk.child.complaint(), self._api_key))
        if "not found" in said or "cannot execute" in said:
            return self._unstartable(said)
        return ModelReplyInvalid(f"model {self._name}: the CLI exited without a reply: {said or 'no reason'}")

    def _unstartable(self, problem: str) -> ModelMisconfigured:
        return ModelMisconfigured(
            f"model {self._name}: the CLI can't be started: {problem}", ModelFault.PROGRAM
        )

    async def _exited(self, talk: _Talk) -> None:
        """Wait until it has written its session; a while at most."""
        try:
            async with asyncio.timeout(EXIT_TIMEOUT_S):
                while await talk.child.line():
                    pass
        except (TimeoutError, ChildFailed):
            talk.output.session = ""


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Return a template's part with its value, which is not looked into again."""
    if text.startswith("{") and text.endswith("}") and text[1:-1] in values:
        return values[text[1:-1]]
    return text


def _unseen(request: ModelRequest) -> Sequence[ImagePart]:
    problem = "this model does not accept images"
    return [replace(one, data=b"", problem=one.problem or problem) for one in request.images]


def _suffix(image: ImagePart) -> str:
    kind = image.media_type.rpartition("/")[2]
    return kind if kind.isascii() and kind.isalnum() else "image"
