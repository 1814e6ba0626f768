"""An MCP server whose tool `say` answers with what a file holds. Usage: python mcp_file.py DIRECTORY FILE"""

import sys
from pathlib import Path
from typing import Any

from tests.simulators.mcp.raw import Server, text


class FileServer(Server):
    """Answers every call with the file."""

    def done(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the file, whatever is asked."""
        del name, arguments
        return text(Path(sys.argv[2]).read_text(encoding="utf-8"))


if __name__ == "__main__":
    FileServer(Path(sys.argv[1]), "").run()
