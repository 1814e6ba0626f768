"""MCP servers to be tried on: one raw on stdio, one raw on HTTP, and both made with the official SDK."""
