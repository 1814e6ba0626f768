"""The client of MCP servers: the official SDK behind the port of `core.tools.mcp`."""
