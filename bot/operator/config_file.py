"""The configuration file as the console shows and changes it. A change that loosens consent waits for
approval."""

import asyncio
import hashlib
import json
import logging
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.config.document import Document, KeyPath, apply_overrides
from bot.config.edits import (
    EditRefused,
    Value,
    edited,
    literal,
    moved_first,
    read_text,
    removed_entry,
    replace_text,
)
from bot.config.errors import Where, dotted
from bot.config.load import Loaded
from bot.config.schema import Config
from bot.operator.reload import ChannelReloader, differences
from bot.operator.settings import (
    ConfiguredModelView,
    SettingsFileView,
    WaitingChangeView,
    Written,
    api_key_shown,
    locked_in,
    settings_in,
    writable,
)
from bot.runtime import AdminError, ConfigError
from core.approvals import Preset
from core.clock import SECOND_US, Clock
from core.consent.cards import as_seen, open_card, reminded_at
from core.errors import NobodyToTell
from core.gates import Gate, GateKind, Option, Options, VoteRule
from core.ids import Ids
from core.lazy import LazyModule, dataclass
from core.messages import Message, plain
from core.people.notices import Notices, ToPerson
from core.store.facets import SettingsChange
from core.store.feed import Changes
from core.store.port import Store
from core.store.units import patiently

if TYPE_CHECKING:
    from bot.ops import probes
else:
    probes = LazyModule("bot.ops.probes")

logger = logging.getLogger(__name__)

_LOOSENING = ("preset", "max_rounds", "max_tools", "loop_timeout_s", "shell_per_minute", "shell_per_hour")
"""The keys of `approvals` of which a higher value asks people less often."""
_PRESETS = tuple(Preset)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A change of the file: keys, such as `approvals.preset` and `models.1.name` (null removes one), or else
    the model to make the default or to remove, or the undo of the last change, or a channel and its `values`.

    `secrets`: stored for this change; they are deleted if it is not made."""

    changes: Mapping[str, Written] = field(default_factory=dict[str, Written])
    default_model: int | None = None
    remove_model: int | None = None
    undo: bool = False
    channel: str = ""
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: Sequence[str] = ()


class SettingsFile:
    """The configuration file of a running hub. All public methods but `run` raise AdminError, and then the
    file is as it was.

    `reloading`: takes up what can change while the hub runs. `notices`: tell the owner of a change that
    waits. `run`: writes the approved ones."""

    def __init__(
        self,
        loaded: Loaded,
        store: Store,
        reloading: ChannelReloader,
        owner_id: str,
        notices: Callable[[], Notices],
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._loaded = loaded
        self._store = store
        self._reloading = reloading
        self._owner_id = owner_id
        self._notices = notices
        self._clock = clock
        self._ids = ids
        self._one_at_a_time = asyncio.Lock()
        self._decided = asyncio.Event()
        self._decided.set()  # some may be left from before the start
        self._undo: tuple[str, str] | None = None
        """The texts before and after the last change made here."""

    async def view(self) -> SettingsFileView:
        """Return what the file says."""
        waiting = await self._waiting()  # first: what does not wait any more is in the text
        text = await self._text()
        config = await self._judged(text)
        document = Document(tomllib.loads(text), Where(self._path, {}))
        raw = document.tree.get("models", [])
        keys = [api_key_shown(entry.get("api_key", "")) for entry in raw]
        list(apply_overrides(document, self._loaded.environment))
        variables = {dotted(key): name for key, name in document.where.variables.items()}
        models = [
            ConfiguredModelView(
                name=model.name,
                provider=model.provider,
                model=model.model,
                base_url=model.base_url,
                api_key=keys[at] if at < len(keys) else "",
                variable=next((v for k, v in variables.items() if k.startswith(f"models[{at}]")), None),
            )
            for at, model in enumerate(config.models)
        ]
        return SettingsFileView(
            file=str(self._path),
            missing=self._missing(),
            version=_version(text),
            models=tuple(models),
            settings=tuple(settings_in(config, variables)),
            locked=tuple(locked_in(text)),
            next_start=tuple(self._reloading.next_start(config)),
            can_undo=self._undo is not None and self._undo[1] == text,
            next_model=len(raw),
            waiting=waiting,
        )

    async def _waiting(self) -> WaitingChangeView | None:
        for change in await self._store.gates.settings_changes():
            glance = await self._store.feed.gate_glance(change.id)
            lines = () if glance is None else tuple(glance.gate.detail.split("\n"))
            return WaitingChangeView(gate_id=change.id, lines=lines, approved=change.approved)
        return None

    async def change(self, version: str, wanted: Wanted) -> SettingsFileView:
        """Write a change, or ask for its approval if it loosens consent. `version`: of the text that the
        person has seen."""
        async with self._one_at_a_time:
            await self.require_none_waiting()
            before, after, old, new = await self._edit(version, wanted)
            await self._write_or_ask(before, after, wanted, new, _loosened(old, new))
        return await self.view()

    async def _write_or_ask(
        self, before: str, after: str, wanted: Wanted, new: Config, loosened: Iterable[str] = ()
    ) -> None:
        reasons = [*loosened, *_keys_sent(before, after)]
        if reasons:
            await self._ask(before, after, wanted, reasons)
        else:
            await self._write(before, after, new)

    async def require_none_waiting(self) -> None:
        """Refuse another change while one waits: an approval is bound to the whole file."""
        if await self._store.gates.settings_changes():
            raise AdminError("refused", "another change waits for approval; decide it first")

    async def written(self, version: str, wanted: Wanted) -> tuple[Config, Sequence[str]]:
        """Return the configuration as a change would have it, and where it would send keys to for the first
        time. Nothing is written."""
        before, after, _, new = await self._edit(version, wanted)
        return new, [*_keys_sent(before, after)]

    async def add_channel(
        self, name: str, values: Mapping[str, str], secrets: Sequence[str]
    ) -> SettingsFileView:
        """Add a channel, or ask for approval if its tokens go to another server than the platform's.
        `secrets`: names in the vault, stored for it; deleted if the approval is not given."""
        wanted = Wanted(channel=name, values=values, secrets=secrets)
        async with self._one_at_a_time:
            await self.require_none_waiting()
            before = await self._text()
            after = self._edited(before, wanted)
            new = await self._judged(after)
            self._require_free(before, _keys_changed(before, after))
            await self._write_or_ask(before, after, wanted, new)
        return await self.view()

    async def with_values(self, values: Mapping[KeyPath, Value | None]) -> Config:
        """Return the configuration as it would be with these values. Nothing is written."""
        return await self._judged(self._with(await self._text(), values))

    def _with(self, text: str, values: Mapping[KeyPath, Value | None]) -> str:
        try:
            return edited(text, values)
        except EditRefused as error:
            raise AdminError("refused", str(error)) from error

    async def _edit(self, version: str, wanted: Wanted) -> tuple[str, str, Config, Config]:
        """Return the file's text before and after a change, and what each says."""
        before = await self._text()
        if _version(before) != version:
            raise AdminError("refused", "the file was changed in the meantime; reload the page")
        after = self._edited(before, wanted)
        new = await self._judged(after)
        self._require_free(before, _keys_changed(before, after))
        return before, after, await self._judged(before), new

    def _edited(self, text: str, wanted: Wanted) -> str:
        try:
            if wanted.undo:
                return self._before_last(text)
            if wanted.default_model is not None:
                return moved_first(text, "models", wanted.default_model)
            if wanted.remove_model is not None:
                return removed_entry(text, "models", wanted.remove_model)
            if wanted.channel:
                at = ("channels", wanted.channel)
                return edited(text, {(*at, key): value for key, value in wanted.values.items()})
            return edited(text, {writable(key, value): value for key, value in wanted.changes.items()})
        except EditRefused as error:
            raise AdminError("refused", str(error)) from error
        except (LookupError, TypeError, ValueError) as error:
            raise AdminError("refused", f"{self._path}: edit the file by hand") from error

    def _before_last(self, text: str) -> str:
        if self._undo is None:
            raise AdminError("refused", "nothing was changed here since the hub started")
        before, after = self._undo
        if text != after:
            raise AdminError("refused", "the file was changed since; edit it by hand")
        return before

    async def _ask(self, before: str, after: str, wanted: Wanted, reasons: Sequence[str]) -> None:
        """Open the gate of a change, which is bound to the file as it is and as it would be."""
        now, thread_id = self._clock.now(), self._ids.row_id()
        seen, made = _digest(before), _digest(after)
        expires_at = now + int(self._reloading.running.approvals.expires_after_s * SECOND_US)
        gate = Gate(
            id=self._ids.gate_id(),
            kind=GateKind.SETTINGS,
            thread_id=thread_id,
            turn_id=thread_id,
            call_id=None,
            requester_id=self._owner_id,
            title="\n".join(("Change the hub's settings?", *reasons)),
            detail="\n".join([*_lines(before, after), f"{self._path}, SHA-256 {seen[:16]}… → {made[:16]}…"]),
            offer=Options((Option.APPROVE, Option.DENY)),
            rule=VoteRule(approvers=(self._owner_id,)),
            binding=_digest(f"{seen}\n{made}"),
            created_at=now,
            expires_at=expires_at,
            remind_at=reminded_at(now, expires_at),
        )
        change = SettingsChange(gate.id, seen, made, json.dumps(asdict(wanted)))
        if not await self._store.gates.ask_settings(change, gate):
            raise AdminError("refused", "another change waits for approval; decide it first")
        await self._tell(f"settings:{gate.id}", open_card(gate))

    async def _tell(self, key: str, message: Message) -> None:
        try:
            await self._notices().send(key, ToPerson(self._owner_id), message)
        except NobodyToTell:
            logger.info("settings.nobody_to_tell notice=%s", key)  # the page shows it

    def changed(self, changes: Changes) -> None:
        """Handle a commit."""
        if changes.settings:
            self._decided.set()

    async def run(self) -> None:
        """Write the approved changes, until cancelled."""
        while True:
            await self._decided.wait()
            self._decided.clear()
            for change in await patiently(self._store.gates.settings_changes, self._clock):
                if change.approved:
                    await patiently(lambda one=change: self._finish(one), self._clock)

    async def _finish(self, change: SettingsChange) -> None:
        problem = None
        try:
            async with self._one_at_a_time:
                await self._apply(change)
        except AdminError as error:
            problem = str(error)
            logger.warning("settings.not_written gate=%s error=%s", change.id, problem)
            await self._tell(
                f"settings:{change.id}:refused", plain(f"The hub's settings were not changed: {problem}.")
            )
        await self._store.gates.end_settings(change.id, problem)

    async def _apply(self, change: SettingsChange) -> None:
        """Write exactly the file that was approved. If it is there already, the hub was stopped right after
        it was written."""
        text = await self._text()
        if _digest(text) == change.after:
            await self._reloading.take_up(await self._judged(text))
            return
        if _digest(text) != change.before:
            raise AdminError("refused", "the file was changed since it was shown; make the change again")
        wanted = Wanted(**json.loads(change.wanted))
        after = self._edited(text, wanted)
        if _digest(after) != change.after:
            raise AdminError("refused", "it would not make the file that was approved; make it again")
        new = await self._judged(after)
        if wanted.channel:
            # Its tokens go to this address for the first time here.
            for one in await probes.channel_trial(new, wanted.channel):
                if one.health is probes.Health.BROKEN:
                    raise AdminError("refused", f"channel {wanted.channel}: {one.message}")
        await self._write(text, after, new, change.id)

    async def _write(self, before: str, after: str, new: Config, gate_id: str | None = None) -> None:
        # Recorded first: there is no change without a record.
        keys = _keys_changed(before, after)
        await self._store.gates.note_settings(keys, self._owner_id, gate_id)
        try:
            await asyncio.to_thread(replace_text, self._path, before, after)
        except EditRefused as error:
            raise AdminError("refused", str(error)) from error
        except OSError as error:
            problem = f"{self._path} can't be written ({error.strerror}); check its permissions"
            raise AdminError("refused", problem) from error
        self._undo = (before, after)
        await self._reloading.take_up(new)

    def _require_free(self, text: str, keys: Sequence[str]) -> None:
        """Refuse a change of what an environment variable overrides: it would not apply."""
        document = Document(tomllib.loads(text), Where(self._path, {}))
        list(apply_overrides(document, self._loaded.environment))
        for place, variable in document.where.variables.items():
            overridden = ".".join(map(str, place))
            if any(f"{overridden}.".startswith(f"{key}.") for key in keys):
                raise AdminError("refused", f"{overridden} is set by {variable}; change it there")

    @property
    def _path(self) -> Path:
        return self._loaded.file

    def _missing(self) -> bool:
        """Return whether the hub began without a file, and there is none yet: a change makes it."""
        return self._loaded.source is None and not self._path.exists()

    async def _text(self) -> str:
        try:
            return "" if self._missing() else await asyncio.to_thread(read_text, self._path)
        except (OSError, UnicodeDecodeError) as error:
            raise AdminError("refused", f"{self._path} can't be read; check the file") from error

    async def _judged(self, text: str) -> Config:
        if self._loaded.again is None:
            raise AdminError("refused", "this hub's configuration has no source; edit it where it is made")
        try:
            return (await asyncio.to_thread(self._loaded.again, text=text)).config
        except ConfigError as error:
            raise AdminError("refused", str(error)) from error


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _version(text: str) -> str:
    return _digest(text)[:32]


def _keys_changed(before: str, after: str) -> Sequence[str]:
    return list(differences(tomllib.loads(before), tomllib.loads(after)))


def _lines(before: str, after: str) -> Iterator[str]:
    """Yield what a change changes, one key a line, with nothing hidden."""
    old, new = tomllib.loads(before), tomllib.loads(after)
    for key in differences(old, new):
        was, now = _value_at(old, key), _value_at(new, key)
        yield as_seen(f"{key}: {_in_toml(was)} → {_in_toml(now)}")


def _value_at(tree: Any, key: str) -> Any:
    """Return the value of a key as `differences` names it; None if there is none."""
    for step in key.split("."):
        match tree:
            case dict():
                tree = tree.get(step)
            case list():
                tree = tree[int(step)] if int(step) < len(tree) else None
            case _:
                return None
    return tree


def _in_toml(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case dict():
            shown = {
                key: api_key_shown(one) if key in {"api_key", "api_keys"} else one
                for key, one in value.items()
            }
            return f"{{{', '.join(f'{key} = {_in_toml(one)}' for key, one in shown.items())}}}"
        case list():
            return f"[{', '.join(map(_in_toml, value))}]"
        case str() | bool() | int() | float():
            return literal(value)
        case _:
            return str(value)


def _loosened(old: Config, new: Config) -> Iterator[str]:
    """Yield why people would be asked less often than before."""
    for name in _LOOSENING:
        was, now = getattr(old.approvals, name), getattr(new.approvals, name)
        if name == "preset":
            was, now = _PRESETS.index(Preset(was)), _PRESETS.index(Preset(now))
        if now > was:
            yield "Fewer calls will need an approval."
            return


def _keys_sent(before: str, after: str) -> Iterator[str]:
    """Yield which keys a change would send to where they were not sent before."""
    old, new = tomllib.loads(before), tomllib.loads(after)
    for name, channel in new.get("channels", {}).items():
        known_as, server = old.get("channels", {}).get(name), channel.get("api_base_url")
        if server and channel != known_as:
            yield as_seen(f"The tokens of the channel {name} will be sent to {server}.")
    known = [_credentials(entry) for entry in old.get("models", [])]
    for entry in new.get("models", []):
        keys = [key for name in ("api_key", "api_keys") if (key := entry.get(name))]
        if keys and _credentials(entry) not in known:
            where = entry.get("base_url") or entry.get("provider")
            yield as_seen(f"The key {api_key_shown(keys[0])} will be sent to {where}.")


def _credentials(entry: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(entry.get(key) for key in ("provider", "base_url", "api_key", "api_keys"))
