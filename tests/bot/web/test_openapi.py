"""The API by its own description: the document is whole, and what is served is what it says, whoever asks."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.bot.web.api_client import client
from tests.harness.process import HubProcess
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

ROLES = ("owner", "member", "nobody")
TOO_LARGE = "413"
"""Bodies over the limit are refused unread, whatever is wrong with them beside."""
ENDLESS = ("/events", "/log/stream")
"""A stream has no end to wait for."""


@dataclass(frozen=True, slots=True)
class Place:
    """A hub in a process of its own, keys to it, and its document."""

    url: str
    tokens: dict[str, str]
    document: dict[str, Any]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One hub for the whole module; what is asked of it may change it as it likes."""
    directory = tmp_path_factory.mktemp("hub")
    quiet = {"HUBBUB__HTTP__PORT": "0", "HUBBUB__LOG__LEVEL": "error"}

    async def keys() -> Place:
        async with client(directory) as api:
            member = await api.member("Mia")
            document = await api.get("/api/openapi.json")
            return Place(
                api.url, {"owner": api.token, "member": member.token, "nobody": "nobody's"}, document
            )

    with asyncio.Runner() as runner:
        hub = HubProcess(directory, env=quiet)
        runner.run(hub.__aenter__())
        try:
            yield runner.run(keys())
        finally:
            runner.run(hub.__aexit__())


def test_the_openapi_document_is_complete(place: Place) -> None:
    document = place.document
    assert document["openapi"] == "3.1.0"
    paths = document["paths"]
    shown = ("/chat/send", "/chat/gate/resolve", "/threads/{id}", "/events", "/uploads", "/why")
    for path in (*shown, "/webhooks/{path}"):
        assert path in paths
    for path, operations in paths.items():
        for operation in operations.values():
            assert operation["summary"], path
            public = operation.get("security") == []
            assert {"400", "401"} | (set() if public else {"403"}) <= set(operation["responses"])
    assert [path for path, of_path in paths.items() if of_path.get("post", {}).get("security") == []] == [
        "/webhooks/{path}"
    ]
    schemas = document["components"]["schemas"]
    for reference in _references(document):
        assert reference.removeprefix("#/components/schemas/") in schemas


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for inner in node.values():
            yield from _references(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _references(inner)


UNUSABLE = "422"
"""Of the form that is asked for, but a value means nothing: a pattern nobody could match, an unknown zone."""


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("role", ROLES)
def test_the_api_matches_its_description(
    place: Place, role: str, profile: Profile, proof_record: ProofRecord
) -> None:
    # Half a second for every process of a run: the longer runs alone need it.
    import schemathesis
    from schemathesis.core.result import Ok
    from schemathesis.generation import GenerationMode

    document = json.loads(json.dumps(place.document))
    for path in ENDLESS:
        del document["paths"][path]
    schema = schemathesis.openapi.from_dict(document)
    rejected = schema.config.checks.negative_data_rejection
    rejected.expected_statuses = [*rejected.expected_statuses, TOO_LARGE]
    accepted = schema.config.checks.positive_data_acceptance
    accepted.expected_statuses = [*accepted.expected_statuses, UNUSABLE]
    headers = {"Authorization": f"Bearer {place.tokens[role]}"}
    examples = profile.pick(test=2, ci=4, proof=40)
    asked = 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

            @settings(
                max_examples=examples,
                deadline=None,
                derandomize=False,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=[
                    HealthCheck.too_slow,
                    HealthCheck.filter_too_much,
                    HealthCheck.data_too_large,
                ],
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case: Any) -> None:
                nonlocal asked
                asked += 1
                case.call_and_validate(base_url=f"{place.url}/api", headers=headers)

            check()
    assert asked >= examples * 20
    proof_record("api", **{f"requests_as_{role}": asked})
