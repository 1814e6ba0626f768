"""What every platform's simulator is: two ports, one of which can go down, and faults to be taken back."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from tests.simulators.control import operation
from tests.simulators.faults import Fault, FaultBook
from tests.simulators.listener import Listener


class Platform:
    """Use it as an async context manager, or with ``start`` and ``stop``. What can be armed each one says."""

    faults: FaultBook[Any]
    _api: Listener
    _control: Listener

    @property
    def control_url(self) -> str:
        """The base of the control API on a port of its own, which stays up while the platform is down."""
        return f"{self._control.url}/_control"

    @abstractmethod
    async def start(self) -> None:
        """Listens on both ports."""

    @abstractmethod
    async def stop(self) -> None:
        """Cuts every connection and ends every task."""

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
