"""What the gateway remembers of its own writes: the values they replaced, and the answers that a repeat gets."""

from mcp_gateway.undo.store import Change, Memory, Repeat

__all__ = ["Change", "Memory", "Repeat"]
