"""The API below `/api`: JSON in and out, for the console, for commands and for programs.

Errors are `{"error": {"code", "message", "field"?}}`. Times are integer microseconds UTC.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.types import ASGIApp

from bot.live import Live
from bot.operator.exports import AuditLog, ThreadExports
from bot.operator.reload import Reloader
from bot.operator.settings import SettingsService
from bot.runtime import version
from bot.views import StatusView
from bot.web.accounts import Accounts, KeysApi, MemoryApi
from bot.web.answers import ApprovalsApi
from bot.web.auth import SESSION_HEADER, AccessRules, ApiGuard, LoginService
from bot.web.channel_setup import ChannelSetupApi
from bot.web.chat import Chat, ConversationsApi, FilesOfThreads
from bot.web.endpoints import Call, Endpoint, Nothing, application
from bot.web.extensions import CatalogApi, ExtensionsApi
from bot.web.files import FileUploads
from bot.web.items import Presenter, SensitiveArguments
from bot.web.jobs_api import JobsApi
from bot.web.operations import AuditApi, SettingsFileApi, SystemApi, UsageApi
from bot.web.people import People, StatusApi
from bot.web.responses import ErrorPage, Given
from bot.web.routines_api import RoutinesApi
from bot.web.settings import ApprovalPolicies, SettingsApi
from bot.web.stream import ChannelStates, JobStreams
from bot.web.threads import PromptsApi, Threads
from bot.web.webhooks import documented
from channels.webchat import WebChannel
from core.clock import Clock
from core.consent.rules import EffectivePolicy
from core.ids import Ids
from core.inbound.hub import Hub
from core.lazy import dataclass
from core.safety.paths import SentFiles
from core.store.port import Store

# The OpenAPI 3.1 document, made of the table the routes are made of.

_REFUSALS = {
    400: "The request is not valid.",
    401: "The key is missing or not valid.",
    403: "This caller may not do this, or the request is not from the hub's own pages.",
    404: "Not found, or not visible to this caller.",
    405: "The method is not allowed.",
    408: "The body did not arrive in time.",
    409: "Refused in the current state.",
    413: "The body is too large.",
    415: "The body's media type is not supported.",
    422: "A value is not valid; the error names its field.",
    429: "Too many requests; try again later.",
    503: "Try again later.",
}
_ID = {"format": "uuid"}
_PATHS = {"path": {"pattern": "^[a-z0-9][a-z0-9._-]{0,99}$"}}
"""The form of a path's parts, by name; any other part is an id."""
_REF = "#/components/schemas/{model}"


def openapi_endpoint(endpoints: Sequence[Endpoint]) -> Endpoint:
    """Return the endpoint `GET /openapi.json`; its document is made on the first request."""
    made: list[bytes] = []

    async def document(call: Call) -> Response:
        """Return the OpenAPI document."""
        del call
        if not made:
            made.append(json.dumps(openapi(endpoints), ensure_ascii=False).encode())
        return Response(made[0], media_type="application/json")

    return Endpoint("GET", "/openapi.json", document, None)


def openapi(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the OpenAPI document."""
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    _, errors = models_json_schema([(ErrorPage, "serialization")], ref_template=_REF)
    schemas.update(errors["$defs"])
    return {
        "openapi": "3.1.0",
        "info": {"title": "hubbub", "version": version()},
        "servers": [{"url": "/api"}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "header", "name": SESSION_HEADER},
            },
        },
        "security": [{"token": []}, {"session": []}],
    }


def _operation(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _operation_id(endpoint),
        "summary": endpoint.summary,
        "parameters": [*_path_parameters(endpoint), *_query_parameters(endpoint.query, schemas)],
        "responses": _responses(endpoint, schemas),
    }
    if endpoint.public:
        operation["security"] = []
    if endpoint.body is not None:
        schema = _schema(endpoint.body, "validation", schemas)
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    elif endpoint.raw_body:
        content = {"application/octet-stream": {"schema": {"type": "string", "minLength": 1}}}
        content = {"application/json": {"schema": {}}} if endpoint.public else content
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _operation_id(endpoint: Endpoint) -> str:
    words = re.findall(r"[a-z0-9]+", endpoint.path.removesuffix(".json"))
    return "_".join([endpoint.method.lower(), *words])


def _path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", **_PATHS.get(name, _ID)}}
        for name in re.findall(r"{(\w+)}", endpoint.path)
    ]


def _query_parameters(query: type[Given], schemas: dict[str, Any]) -> list[dict[str, Any]]:
    if query is Nothing:
        return []
    schema = TypeAdapter(query).json_schema(ref_template=_REF)
    _add(schemas, schema.pop("$defs", {}))
    required = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _given(part)}
        for name, part in schema["properties"].items()
    ]


def _given(part: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter's schema: in a query, null is left out."""
    kinds = [kind for kind in part.get("anyOf", ()) if kind.get("type") != "null"]
    return kinds[0] if len(kinds) == 1 else part


def _responses(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    good: dict[str, Any] = {"description": endpoint.summary}
    if endpoint.answer is not None:
        good["content"] = {
            endpoint.media_type: {"schema": _schema(endpoint.answer, "serialization", schemas)}
        }
    else:
        good["content"] = {endpoint.media_type: {"schema": {}}}
    statuses = {400, 401, *([] if endpoint.public else [403]), *endpoint.refusals}
    if endpoint.body is not None or endpoint.raw_body:
        statuses |= {408, 413}
    error = {"content": {"application/json": {"schema": {"$ref": _REF.format(model="ErrorPage")}}}}
    refusals = {str(status): {"description": _REFUSALS[status], **error} for status in sorted(statuses)}
    also = {str(status): good | {"description": told} for status, told in endpoint.also}
    return {str(endpoint.status): good, **also, **refusals}


def _add(schemas: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add schemas by name. Raises TypeError if another one has the name of one of them."""
    for name, schema in more.items():
        if schemas.setdefault(name, schema) != schema:
            raise TypeError(f"two models of the API are named {name}")


def _schema(type_: Any, mode: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    schema = TypeAdapter(type_).json_schema(mode=mode, ref_template=_REF)
    _add(schemas, schema.pop("$defs", {}))
    name = schema.get("title")
    if schema.get("type") == "object" and name:
        _add(schemas, {name: schema})
        return {"$ref": _REF.format(model=name)}
    return schema


@dataclass(frozen=True, slots=True)
class ApiParts:
    """The services behind the API. `platforms`: of each channel; `url`: the address people use for the
    hub; `timezone`: the hub's."""

    store: Store
    hub: Hub
    accounts: Accounts
    approvals: ApprovalsApi
    settings: SettingsService
    settings_file: SettingsFileApi
    channel_setup: ChannelSetupApi
    reloading: Reloader
    web: WebChannel
    live: Live
    login: LoginService
    uploads: FileUploads
    sent: SentFiles
    states: ChannelStates
    platforms: Mapping[str, str]
    status: Callable[[], Awaitable[StatusView]]
    routines: RoutinesApi
    jobs: JobsApi
    sensitive: SensitiveArguments
    effective_policy: EffectivePolicy
    prompts: PromptsApi
    usage: UsageApi
    audit: AuditLog
    system: SystemApi
    extensions: ExtensionsApi
    catalog: CatalogApi
    url: str
    clock: Clock
    ids: Ids
    models: Mapping[str, str]
    timezone: str


def endpoints(parts: ApiParts, gate: AccessRules) -> list[Endpoint]:
    """Return all endpoints."""
    presenter = Presenter(parts.sensitive, parts.models)
    store, ids = parts.store, parts.ids
    threads = Threads(
        store, parts.live, presenter, parts.web, parts.hub, parts.states, gate, parts.clock, ids, parts.models
    )
    chat = Chat(store, parts.web, parts.uploads, ids, parts.models)
    people = People(store, ids, parts.status, parts.states, parts.models, timezone=parts.timezone)
    looking = StatusApi(store.explanations, parts.states, dict(parts.platforms))
    settings = SettingsApi(store, parts.settings, parts.reloading)
    found = [*people.endpoints(), *parts.accounts.endpoints(), *threads.endpoints(), *chat.endpoints()]
    found += KeysApi(store, ids, parts.login, parts.url).endpoints()
    found += ConversationsApi(store).endpoints()
    found += [
        *parts.prompts.endpoints(),
        *parts.usage.endpoints(),
        *AuditApi(parts.audit, gate.links).endpoints(),
        *parts.system.endpoints(),
        *parts.extensions.endpoints(),
        *parts.catalog.endpoints(),
        *MemoryApi(store.memory).endpoints(),
        *parts.approvals.endpoints(),
        *looking.endpoints(),
        *settings.endpoints(),
        *parts.settings_file.endpoints(),
        *parts.channel_setup.endpoints(),
        *ApprovalPolicies(store, parts.effective_policy).endpoints(),
    ]
    found += [
        *parts.routines.endpoints(),
        *parts.jobs.endpoints(),
        *JobStreams(parts.jobs, parts.live, gate, parts.clock).endpoints(),
        *FilesOfThreads(
            store.feed, parts.sent, gate.links, ThreadExports(store, parts.sensitive)
        ).endpoints(),
    ]
    return [*found, openapi_endpoint([*found, documented()])]


def api(parts: ApiParts, gate: AccessRules) -> ASGIApp:
    """Return everything below `/api`, for callers with a key."""
    return application(endpoints(parts, gate), Middleware(ApiGuard, gate=gate))
