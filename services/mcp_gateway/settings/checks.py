"""What a configuration must keep beyond its types: names that exist, grants that open something, no contradictions."""

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mcp_gateway.policies.decisions import DEFAULTS, decide
from mcp_gateway.policies.hosts import parse_pattern
from mcp_gateway.settings import later
from mcp_gateway.settings.approvals import KEPT_BACK_SECONDS
from mcp_gateway.settings.model import Channel, Client, Core, ToolFilter
from mcp_gateway.settings.problems import meant
from mcp_gateway.settings.sections import Catalogue, sections_by_toolset, tool_names

# A channel's name is a path segment: only what no proxy rewrites.
CHANNEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True)
class Draft:
    """A configuration of which some parts may be missing because they were wrong by themselves."""

    core: Core | None
    clients: Mapping[int, Client]
    channels: Mapping[str, Channel]
    # Names as written, so that a faulty part is not also reported as absent.
    written: frozenset[str]
    channel_names: frozenset[str]
    catalogue: Catalogue


def check(draft: Draft, problems: list[str]) -> None:
    """Add every contradiction to `problems`."""
    if draft.core is not None:
        problems.extend(_core(draft.core))
        problems.extend(_policy(draft.core.policy, "policy", draft))
        problems.extend(_unapproved(draft, draft.core))
    for name, channel in draft.channels.items():
        problems.extend(_channel(name, channel, draft))
    problems.extend(_clients(draft))


def unusual(core: Core) -> list[str]:
    """What is allowed and yet worth a warning."""
    open_addresses = [f"{one.host}:{one.port}" for one in core.listen if not _private(one.host)]
    return [f"listen: {one} can be reached from outside; a firewall must stand before it" for one in open_addresses]


def _private(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_private and not address.is_unspecified


def _core(core: Core) -> Iterable[str]:
    for (host, port), times in Counter((one.host, one.port) for one in core.listen).items():
        if times > 1:
            yield f"listen: {host} port {port} is written {times} times"
    for place, pattern in enumerate(core.allowed_hosts):
        try:
            parse_pattern(pattern)
        except ValueError as fault:
            yield f"allowed_hosts.{place}: {fault}"
    asked = core.approvals
    longest = core.tool_deadline_seconds - KEPT_BACK_SECONDS
    if asked is not None and "wait_seconds" in asked.model_fields_set and asked.wait_seconds > max(0.0, longest):
        yield (
            f"approvals.wait_seconds: must be at most {max(0.0, longest):g}: tool_deadline_seconds less "
            f"{KEPT_BACK_SECONDS:g} for the answer"
        )


def _channel(name: str, channel: Channel, draft: Draft) -> Iterable[str]:
    where = f"channels.{name}"
    if not CHANNEL_NAME.fullmatch(name):
        yield f"{where}: a channel's name may hold letters, digits, - and _ only, at most 63 characters"
    sections = sections_by_toolset(draft.catalogue)
    for toolset in channel.toolsets:
        if toolset in sections:
            if sections[toolset].name not in draft.written:
                yield (
                    f"{where}.toolsets: {toolset} needs the section `{sections[toolset].name}:`, which is missing; "
                    f"add it or take {toolset} out"
                )
        elif toolset in later.TOOLSETS:
            yield f"{where}.toolsets: {toolset} is not available in this release; take it out"
        else:
            yield f"{where}.toolsets: {toolset[:60]!r} is no toolset{meant(toolset, sections)}"
    yield from _filter(channel.tools, f"{where}.tools", draft)
    yield from _policy(channel.policy, f"{where}.policy", draft)


def _clients(draft: Draft) -> Iterable[str]:
    for name, times in Counter(client.name for client in draft.clients.values()).items():
        if times > 1:
            yield f"clients: the name {name} is used {times} times; a name stands for one client"
    for place, client in draft.clients.items():
        where = f"clients.{place}"
        for channel in client.channels:
            if channel not in draft.channel_names:
                yield f"{where}.channels: {channel[:60]!r} is no channel{meant(channel, draft.channel_names)}"
        yield from _filter(client.tools, f"{where}.tools", draft)


def _filter(one: ToolFilter, where: str, draft: Draft) -> Iterable[str]:
    for key, names in (("include", one.include or []), ("exclude", one.exclude)):
        for name in names:
            yield from _tool(name, f"{where}.{key}", draft)


def _policy(rules: Mapping[str, str], where: str, draft: Draft) -> Iterable[str]:
    for name, decision in rules.items():
        if name in later.TOOLS and decision != "auto":
            continue  # what nobody can call may be forbidden beforehand: the rule opens nothing
        yield from _tool(name, f"{where}.{name}", draft)
        if decision == "approve" and "approvals" not in draft.written:
            yield f"{where}.{name}: approve needs the section `approvals:`, which is missing; write auto or never"


def _tool(name: str, where: str, draft: Draft) -> Iterable[str]:
    known = tool_names(draft.catalogue)
    if name in known:
        return
    if name in later.TOOLS:
        yield f"{where}: {name} is not available in this release; take it out"
    else:
        yield f"{where}: {name[:60]!r} is no tool{meant(name, known)}"


def _unapproved(draft: Draft, core: Core) -> Iterable[str]:
    """Tools that a channel shows, that ask for approval by default, and nobody is there who could give it."""
    if "approvals" in draft.written:
        return
    for name in sorted(DEFAULTS.keys() - core.policy.keys()):
        channels = [where for where, channel in draft.channels.items() if _shows(channel, name, draft, core)]
        if channels:
            yield (
                f"policy.{name}: approve is its default and needs the section `approvals:`; write auto or never "
                f"(channel {', '.join(channels)} shows it), or add the section"
            )


def _shows(channel: Channel, name: str, draft: Draft, core: Core) -> bool:
    """Whether a channel shows a tool that then asks for approval, as far as its own words go."""
    opened = {
        tool
        for section in draft.catalogue
        if section.name in draft.written
        for toolset, tools in section.toolsets.items()
        if toolset in channel.toolsets
        for tool in tools
    }
    included = channel.tools.include is None or name in channel.tools.include
    asks = decide(name, channel.policy, core.policy) == "approve"
    return name in opened and included and name not in channel.tools.exclude and asks and name not in channel.policy
