"""`python -m mcp_gateway`: the same as the command `mcp-gateway`."""

from mcp_gateway.cli import main

main()
