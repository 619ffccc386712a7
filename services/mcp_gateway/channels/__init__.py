"""The way of a request: gate, body, session, MCP server."""
