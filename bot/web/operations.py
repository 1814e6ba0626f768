"""Usage, the audit, the log, checks, backups and the configuration file, for the API. For the owner only."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

from pydantic import Field
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from bot.config.load import Loaded
from bot.config.schema import Config
from bot.live import Live, Subscription, TooManySubscribers
from bot.operator.config_file import SettingsFile, Wanted
from bot.operator.exports import (
    AuditListing,
    AuditLog,
    AuditState,
    BackupPart,
    Backups,
    DryRun,
    backup_name,
    dry_run_now,
    record_lines,
)
from bot.operator.settings import SettingsFileView
from bot.operator.usage_views import UsageListing, usage_listing
from bot.ops.logs import LEVELS, Record, WantedRecords, following, newest_records
from bot.ops.model_trial import Trial, try_each, try_model
from bot.ops.probes import Finding
from bot.runtime import AdminError
from bot.views import StatusView
from bot.web.auth import AccessRules
from bot.web.blocks import BackupLink, FileLinkPage
from bot.web.endpoints import Call, Endpoint, Limit, ShortText
from bot.web.files import FileLinks
from bot.web.responses import ApiError, Event, EventStream, Given
from core.audit.linker import Head
from core.audit_chain import AuditKind
from core.clock import SECOND_US, Clock
from core.ids import Ids
from core.lazy import LazyModule, dataclass
from core.runs.model_list import ModelList
from core.store.port import Audit, Store
from core.usage import UsageBy

if TYPE_CHECKING:
    from bot.ops import doctor
else:
    doctor = LazyModule("bot.ops.doctor")

RECORDS_TYPE = "application/x-ndjson"


class UsageQuery(Given):
    """What to add up by, and over how many days, today included."""

    by: UsageBy = UsageBy.DAY
    days: Annotated[int, Field(ge=1, le=3660)] = 30


class UsageApi:
    """One method per endpoint. `models`: None while no hub runs."""

    def __init__(
        self, store: Store, clock: Clock, ids: Ids, config: Config, models: ModelList | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._config = config
        self._models = models

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint("GET", "/usage", self.usage, UsageListing, query=UsageQuery, owner_only=True),
            Endpoint("POST", "/models/test", self.test, list[Trial], refusals=(409, 503), owner_only=True),
        ]

    async def usage(self, call: Call) -> UsageListing:
        """Add up the tokens and costs of model calls."""
        query: UsageQuery = call.query
        return await usage_listing(self._store, query.by, query.days, self._clock.now(), self._config)

    async def test(self, call: Call) -> Sequence[Trial]:
        """Try every configured model with a few short calls."""
        if self._models is None:
            raise AdminError("unavailable", "no hub is running here")
        user_id = call.caller.principal.user_id
        return await try_each(self._models, user_id, self._ids.row_id(), try_model)


Position = Annotated[int, Field(ge=0, le=2**53)]
"""Of a record in the audit's chain."""


class AuditQuery(Given):
    """Which records: with this text in them, of a kind, before a position; without it the newest."""

    query: Annotated[str, Field(max_length=200)] = ""
    kind: AuditKind | None = None
    before: Position | None = None
    limit: Limit = 100


class HeadQuery(Given):
    """`head`: of an earlier verification, kept elsewhere."""

    head: Annotated[str, Field(max_length=200)] = ""


class ExportQuery(Given):
    """The records after a position."""

    after: Position = 0


class DryRunQuery(Given):
    """The newest past calls, and an approval preset in the place of the configured one."""

    preset: Literal["manual", "whitelist", "auto_loop", "auto"] | None = None
    limit: Limit = 500


class AuditApi:
    """One method per endpoint. For the owner only."""

    def __init__(self, audit: AuditLog, links: FileLinks) -> None:
        self._audit = audit
        self._links = links

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint(
                "GET", "/audit", self.search, AuditListing, AuditQuery, refusals=(503,), owner_only=True
            ),
            Endpoint(
                "GET",
                "/audit/state",
                self.verify,
                AuditState,
                HeadQuery,
                refusals=(422, 503),
                owner_only=True,
            ),
            Endpoint(
                "GET",
                "/audit/export",
                self.export,
                None,
                ExportQuery,
                refusals=(503,),
                owner_only=True,
                by_link=True,
                media_type=RECORDS_TYPE,
            ),
            Endpoint(
                "POST", "/audit/export", self.link, FileLinkPage, ExportQuery, status=201, owner_only=True
            ),
        ]

    async def search(self, call: Call) -> AuditListing:
        """Find audit records, the newest first."""
        query: AuditQuery = call.query
        return await self._audit.search(query.query.strip(), query.kind, query.before, query.limit)

    async def verify(self, call: Call) -> AuditState:
        """Verify the whole audit log, as `hubbub audit verify` does."""
        query: HeadQuery = call.query
        text = query.head.strip()
        try:
            given = Head.parse(text) if text else None
        except ValueError as error:
            raise AdminError("unusable", str(error), "head") from error
        return await self._audit.verified(given)

    async def export(self, call: Call) -> Response:
        """Download the audit records as JSON, one per line, as `hubbub audit export --json` prints them."""
        query: ExportQuery = call.query
        await self._audit.noted(call.caller.principal.user_id)
        first = await self._audit.batch(query.after)  # what is refused, is so before anything is sent

        async def lines() -> AsyncIterator[str]:
            rows, after = first
            yield "".join(record_lines(rows))
            while after is not None:
                rows, after = await self._audit.batch(after)
                yield "".join(record_lines(rows))

        headers = {
            "content-disposition": 'attachment; filename="audit.jsonl"',
            "cache-control": "private, no-store",
        }
        return StreamingResponse(lines(), media_type=RECORDS_TYPE, headers=headers)

    async def link(self, call: Call) -> FileLinkPage:
        """Create a link that downloads the records without a key for one minute."""
        query: ExportQuery = call.query
        target = f"/api/audit/export?after={query.after}"
        return FileLinkPage(url=self._links.link(target, call.caller.key))


DATABASE_TYPE = "application/vnd.sqlite3"
CHUNK_BYTES = 256 * 1024


class LogQuery(Given):
    """The newest records of at least that level."""

    level: Literal["debug", "info", "warning", "error", "critical"] = "info"
    limit: Limit = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LogListing:
    """The newest records of the log, the oldest of them first: `at`, `level`, `logger`, `message`, and maybe
    fields and a `trace`."""

    records: Sequence[dict[str, str]]


class LevelQuery(Given):
    """Records of at least that level."""

    level: Literal["debug", "info", "warning", "error", "critical"] = "info"


LOG_WAITING = 500
"""Records that may wait for a slow reader; older ones are left out."""


LOG_THREAD = "log"
"""No conversation has this id, so that nothing else wakes a reader of the log."""


class LogStream(EventStream):
    """The log from now on, for as long as somebody reads it."""

    def __init__(
        self, level: str, live: Live, on: Subscription, may_read: Callable[[], Awaitable[bool]], clock: Clock
    ) -> None:
        super().__init__(live, on, self, may_read, clock)
        self._level, self._reader = level, on
        self._waiting: deque[Record] = deque(maxlen=LOG_WAITING)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with following(self._level, self._put):
            await super().__call__(scope, receive, send)

    def _put(self, record: Record) -> None:
        self._waiting.append(record)
        self._reader.wake()

    async def news(self) -> AsyncIterator[Event]:
        """Yield the records since the last call."""
        while self._waiting:
            yield Event("log", dict(self._waiting.popleft()))


class BackupQuery(Given):
    """What is copied. `at`: the second that its name says, left out: now."""

    file: Literal["hub.db"] = "hub.db"
    at: Annotated[int, Field(ge=0, le=2**33)] | None = None


class SystemApi:
    """One method per endpoint. For the owner only. `sandbox_problem`: see bot.ops.doctor.examine."""

    def __init__(
        self,
        loaded: Loaded,
        status: Callable[[], Awaitable[StatusView]],
        sandbox_problem: Callable[[], Awaitable[str | None]],
        gate: AccessRules,
        clock: Clock,
        live: Live,
        audit: Audit,
    ) -> None:
        self._gate = gate
        self._live = live
        self._audit = audit
        self._loaded = loaded
        self._status = status
        self._sandbox_problem = sandbox_problem
        self._links = gate.links
        self._clock = clock
        self._backups = Backups(loaded)
        self._one_check = asyncio.Lock()

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        owners = {"owner_only": True, "refusals": (503,)}
        linked = {"by_link": True, "media_type": DATABASE_TYPE}
        streamed = {"media_type": "text/event-stream", "owner_only": True, "refusals": (429, 503)}
        return [
            Endpoint("GET", "/log", self.log, LogListing, LogQuery, owner_only=True),
            Endpoint("GET", "/log/stream", self.stream, None, LevelQuery, **streamed),
            Endpoint("GET", "/policy/test", self.dry_run, DryRun, DryRunQuery, **owners),
            Endpoint("POST", "/doctor", self.check, list[Finding], body=Given, **owners),
            Endpoint("GET", "/backup", self.backup, None, BackupQuery, **owners, **linked),
            Endpoint("POST", "/backup", self.link, BackupLink, BackupQuery, status=201, owner_only=True),
            Endpoint("GET", "/backup/parts", self.parts, list[BackupPart], owner_only=True),
        ]

    async def log(self, call: Call) -> LogListing:
        """Return the newest lines of the log."""
        query: LogQuery = call.query
        wanted = WantedRecords(LEVELS.index(query.level), "")
        data_dir = self._loaded.config.hub.data_dir
        found = await asyncio.to_thread(newest_records, data_dir, wanted, query.limit)
        return LogListing(records=[dict(one) for one in found])

    async def stream(self, call: Call) -> LogStream:
        """Stream the log's records to come (server-sent events)."""
        query: LevelQuery = call.query
        try:
            on = self._live.subscribe(LOG_THREAD, call.caller.principal)
        except TooManySubscribers as error:
            raise ApiError(429, "too_many", "too many streams are open; close one") from error
        holds = partial(self._gate.still_holds, call.caller)
        return LogStream(query.level, self._live, on, holds, self._clock)

    async def check(self, call: Call) -> Sequence[Finding]:
        """Check everything the hub needs, as `hubbub doctor` does."""
        del call
        state = await self._status()

        async def status() -> StatusView:
            return state

        async with self._one_check:
            # On a loop of its own: it looks at files and runs programs.
            examined = doctor.examine(self._loaded, status, self._sandbox_problem)
            return await asyncio.to_thread(asyncio.run, examined)

    async def dry_run(self, call: Call) -> DryRun:
        """Judge past calls by the rules of the configuration file, as `hubbub policy test` does."""
        query: DryRunQuery = call.query
        return await asyncio.to_thread(dry_run_now, self._loaded, query.limit, query.preset)

    async def backup(self, call: Call) -> Response:
        """Download a copy of the database, as `hubbub db backup` makes it. It contains no keys."""
        await self._audit.note_download("database", call.caller.principal.user_id)
        file, size_bytes = await self._backups.copy()
        name = backup_name(call.query.at or self._clock.now() // SECOND_US)
        headers = {
            "content-disposition": f'attachment; filename="{name}"',
            "content-length": str(size_bytes),
            "cache-control": "private, no-store",
        }
        return StreamingResponse(_pieces(file), media_type=DATABASE_TYPE, headers=headers)

    async def link(self, call: Call) -> BackupLink:
        """Create a link that downloads a backup without a key for one minute."""
        query: BackupQuery = call.query
        at = self._clock.now() // SECOND_US
        url = self._links.link(f"/api/backup?file={query.file}&at={at}", call.caller.key)
        return BackupLink(url=url, name=backup_name(at), size_bytes=await self._backups.size_bytes())

    async def parts(self, call: Call) -> list[BackupPart]:
        """Return what a complete backup contains, and where it is."""
        del call
        return self._backups.parts()


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield piece


# The configuration file.

Place = Annotated[int, Field(ge=0, le=1000)]


class NewSettings(Given):
    """A change of the configuration file: keys, or else the model to make the default or to remove, by its
    place. `version`: of the text as seen."""

    version: ShortText
    changes: dict[ShortText, bool | int | float | ShortText | None] = Field({}, max_length=100)
    default_model: Annotated[int, Field(ge=1, le=1000)] | None = None
    remove_model: Place | None = None


class UndoneSettings(Given):
    """The last change is to be undone. `version`: of the text as seen."""

    version: ShortText


class ModelToTry(Given):
    """A model that is tried before a change of the configuration file is saved: the one at `place`."""

    version: ShortText
    changes: dict[ShortText, bool | int | float | ShortText | None] = Field({}, max_length=100)
    place: Place


class SettingsFileApi:
    """One method per endpoint. For the owner only. `trial`: tries the models of a configuration."""

    def __init__(self, file: SettingsFile, trial: Callable[[Config], Awaitable[Sequence[Trial]]]) -> None:
        self._file = file
        self._trial = trial

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        same = {"answer": SettingsFileView, "refusals": (409, 422, 503), "owner_only": True}
        trial = {**same, "answer": list[Trial]}
        return [
            Endpoint("GET", "/settings", self.read, **same),
            Endpoint("POST", "/settings", self.change, body=NewSettings, **same),
            Endpoint("POST", "/settings/undo", self.undo, body=UndoneSettings, **same),
            Endpoint("POST", "/settings/try", self.try_model, body=ModelToTry, **trial),
        ]

    async def read(self, call: Call) -> SettingsFileView:
        """Return the configuration file's settings."""
        del call
        return await self._file.view()

    async def change(self, call: Call) -> SettingsFileView:
        """Change the configuration file, or ask for approval of what loosens consent."""
        new: NewSettings = call.body
        return await self._file.change(new.version, Wanted(new.changes, new.default_model, new.remove_model))

    async def undo(self, call: Call) -> SettingsFileView:
        """Bring back the configuration file before its last change."""
        return await self._file.change(call.body.version, Wanted(undo=True))

    async def try_model(self, call: Call) -> Sequence[Trial]:
        """Try a model as a change would make it. A key goes only to where it goes already, or to its
        provider's own address."""
        new: ModelToTry = call.body
        config, sent = await self._file.written(new.version, Wanted(new.changes))
        if new.place >= len(config.models):
            raise AdminError("invalid", "names no model", "place")
        model = config.models[new.place]
        if sent and model.base_url:
            raise AdminError("refused", f"{sent[0]} Add the model and approve that, then test it.")
        return await self._trial(config.model_copy(update={"models": (model,)}))
