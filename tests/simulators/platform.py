"""The base of every platform's simulator: two ports, one of which can go down, a log of requests to be asked,
and
faults to be taken back."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

from tests.patience import PATIENCE_S
from tests.simulators.changes import Changes
from tests.simulators.control import ControlApi, operation
from tests.simulators.faults import Fault, FaultBook
from tests.simulators.listener import Listener

T = TypeVar("T")


class Platform(Changes):
    """Use it as an async context manager, or with ``start`` and ``stop``. It comes before a platform's world
    in the bases of its simulator.
    """

    faults: FaultBook[Any]
    log: Any

    def __init__(
        self, *, host: str = "127.0.0.1", port: int = 0, control_port: int = 0, **settings: Any
    ) -> None:
        super().__init__(**settings)
        control = ControlApi(self)
        self._api = self._listener(control, host, port)
        self._control = Listener(control.handle, host, control_port)

    @abstractmethod
    def _listener(self, control: ControlApi, host: str, port: int) -> Listener:
        """Return what serves the platform; nothing listens yet."""

    @abstractmethod
    def _aimed(self, details: dict[str, Any]) -> dict[str, Any]:
        """Return what narrows a fault, as its fields: accounts by their ids."""

    @abstractmethod
    def requests(self, *which: Any, **named: Any) -> list[Any]:
        """Requests in order, filtered."""

    @property
    def url(self) -> str:
        """Return where everything of the platform is served."""
        return self._api.url

    @property
    def control_url(self) -> str:
        """The base of the control API on a port of its own, which stays up while the platform is down."""
        return f"{self._control.url}/_control"

    async def start(self) -> None:
        """Listens on both ports."""
        await self._api.start()
        await self._control.start()

    async def stop(self) -> None:
        """Cuts every connection and ends every task."""
        self.faults.clear()
        await self._end()
        await self._api.stop()
        await self._control.stop()

    async def _end(self) -> None:
        """Ends what else runs."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.stop()

    @operation
    async def go_down(self) -> None:
        """The platform refuses connections and cuts open ones, sockets too."""
        await self._api.go_down()

    @operation
    async def come_up(self) -> None:
        """The platform listens again, on the same port."""
        await self._api.come_up()

    # -- faults

    @operation
    def fail(
        self,
        kind: str,
        method: str = "*",
        count: int | None = None,
        duration_s: float | None = None,
        skip: int = 0,
        **details: Any,
    ) -> Any:
        """Arms a fault; ``details`` are an account, a place and other fields of the platform's
        ``faults.Fault`` (``when``, ``status``, …).
        """
        aimed = self._aimed(details)
        return self.faults.arm(kind, method=method, count=count, duration_s=duration_s, skip=skip, **aimed)

    @operation
    def clear_faults(self, fault_id: int | None = None) -> None:
        """Takes back one fault or all, releasing what they hold."""
        self.faults.clear(fault_id)

    @operation
    def release(self, fault_id: int | None = None) -> None:
        """Lets held requests go on; the fault stays armed."""
        self.faults.release(fault_id)

    @operation
    def armed_faults(self) -> Sequence[Fault]:
        """Every fault with the numbers of the requests it hit."""
        return self.faults.all()

    # -- judging

    @operation
    def last_number(self) -> int:
        """The number of the newest request."""
        return self.log.last_number

    async def wait_count(
        self, find: Callable[[], Sequence[T]], count: int = 1, timeout_s: float = PATIENCE_S
    ) -> list[T]:
        """Waits until at least ``count`` are found."""
        return await self.wait_for(lambda: len(found := list(find())) >= count and found, timeout_s)

    @operation
    async def wait_requests(
        self, method: str | None = None, count: int = 1, timeout_s: float = PATIENCE_S, **which: Any
    ) -> list[Any]:
        """Waits until at least ``count`` requests match; ``which`` as in ``requests``."""
        return await self.wait_count(lambda: self.requests(method=method, **which), count, timeout_s)

    @operation
    async def wait_number(self, number: int, timeout_s: float = PATIENCE_S) -> int:
        """Waits until the log has reached this request number."""
        return await self.wait_for(lambda: self.log.last_number >= number and self.log.last_number, timeout_s)

    @operation
    async def wait_held(self, count: int = 1, timeout_s: float = PATIENCE_S) -> list[Any]:
        """Waits until at least ``count`` requests are being held."""
        return await self.wait_requests(count=count, timeout_s=timeout_s, outcome="held")
