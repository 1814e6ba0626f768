"""What every platform's simulator lets whoever armed faults do with them."""

from collections.abc import Sequence
from typing import Any

from tests.simulators.control import operation
from tests.simulators.faults import Fault, FaultBook


class Troubles:
    """Operations on the simulator's faults; arming one is the platform's own."""

    faults: FaultBook[Any]

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
