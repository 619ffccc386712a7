"""Names that the design knows and this release does not have: refused as such, so that nobody believes they work.

Whoever adds one of these parts takes its line out here and adds a section to `mcp_gateway/catalogue.py`.
"""

from collections.abc import Mapping

# Top-level sections, and keys of a channel and of a channel's `tools`.
SECTIONS = frozenset({"docker", "content"})
CHANNEL_KEYS = frozenset({"upstream"})
FILTER_KEYS = frozenset({"arguments"})

TOOLSETS: Mapping[str, tuple[str, ...]] = {
    "docker": ("docker_read", "docker_manage"),
    "content": ("content_generate",),
}
TOOLS = frozenset(name for names in TOOLSETS.values() for name in names)
