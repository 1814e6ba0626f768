"""Kill an upgrade at its statements: python -m tests.core.store.killed_upgrade DATABASE FIRST EVERY

Each child works on a copy of its own, killed-NN.db beside the database, and kills itself as SQLite begins
statement number NN. The program exits with 0 once a child has reached the end; that child's copy is removed.
"""

import itertools
import os
import shutil
import signal
import sys
from pathlib import Path

from core.store.sqlite.connection import connect_writer
from core.store.sqlite.maintenance import current_schema, migrate


def upgrade_until(path: Path, statement: int) -> None:
    """Upgrade the database, and die at the statement of that number, counted from 1."""
    connection = connect_writer(path)
    numbers = itertools.count(1)

    def begun(_sql: str) -> None:
        if next(numbers) == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    connection.set_trace_callback(begun)
    migrate(connection, current_schema())
    connection.close()


def main() -> None:
    """Make the copies."""
    whole = Path(sys.argv[1])
    for statement in itertools.count(int(sys.argv[2]), int(sys.argv[3])):
        copy = whole.with_name(f"killed-{statement:02}.db")
        shutil.copyfile(whole, copy)
        child = os.fork()
        if child == 0:
            upgrade_until(copy, statement)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 0:
            copy.unlink()
            return
        if status != -signal.SIGKILL:
            sys.exit(f"a child ended with {status} at statement {statement}")


if __name__ == "__main__":
    main()
