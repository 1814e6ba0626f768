"""An MCP server of the official SDK: `python -m tests.simulators.mcp.official stdio`, or `http PORT`."""

import sys

from mcp.server import MCPServer

server = MCPServer("official")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
