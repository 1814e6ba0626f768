"""The usage of models, and trials of them, for the API. For the owner only."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from bot.operator.usage_views import UsageListing, usage_listing
from bot.ops.model_trial import Trial, try_each, try_model
from bot.runtime import AdminError
from bot.web.endpoints import Call, Endpoint, Given
from core.clock import Clock
from core.ids import Ids
from core.runs.model_list import ModelList
from core.store.port import Store
from core.usage import UsageBy


class UsageQuery(Given):
    """What to add up by, and over how many days, today included."""

    by: UsageBy = UsageBy.DAY
    days: Annotated[int, Field(ge=1, le=3660)] = 30


class UsageApi:
    """One method per endpoint. `models`: None while no hub runs."""

    def __init__(
        self, store: Store, clock: Clock, ids: Ids, timezone: str, models: ModelList | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._timezone = timezone
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
        return await usage_listing(self._store, query.by, query.days, self._clock.now(), self._timezone)

    async def test(self, call: Call) -> Sequence[Trial]:
        """Try every configured model with a few short calls."""
        if self._models is None:
            raise AdminError("unavailable", "no hub is running here")
        user_id = call.caller.principal.user_id
        return await try_each(self._models, user_id, self._ids.row_id(), try_model)
