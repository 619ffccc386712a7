"""The MCP gateway: curated tools behind one gate, answered in words an agent can act on."""

from importlib.metadata import version

__version__ = version("talaria")
