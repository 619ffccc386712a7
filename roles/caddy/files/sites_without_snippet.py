"""Name, one a line, the public sites of a Caddyfile that do not import the snippet which hides the gateway."""

import json
import subprocess
import sys
from collections.abc import Iterator

SNIPPET_PATHS = ["/mcp", "/mcp/*", "/mcp-test", "/mcp-test/*"]


def hides(value: object) -> bool:
    """Tell whether the matcher of the snippet occurs anywhere in a route."""
    if isinstance(value, dict):
        return value.get("path") == SNIPPET_PATHS or any(hides(member) for member in value.values())
    return isinstance(value, list) and any(hides(member) for member in value)


def exposed(servers: dict[str, dict[str, list[object]]]) -> Iterator[str]:
    """Yield the sites of the adapted configuration that lack the snippet."""
    for server in servers.values():
        listen = [str(address) for address in server.get("listen", [])]
        if all(address.startswith(("127.", "[::1]", "localhost", "unix/")) for address in listen):
            continue
        sites: dict[str, list[object]] = {}
        for route in server.get("routes", []):  # a site of all hosts is several routes, any other is one
            matches = route.get("match", []) if isinstance(route, dict) else []
            hosts = ", ".join(host for match in matches for host in match.get("host", []))
            sites.setdefault(hosts or "any host", []).append(route)
        yield from (f"{hosts} on {', '.join(listen)}" for hosts, routes in sites.items() if not hides(routes))


if __name__ == "__main__":
    command = ["/usr/bin/caddy", "adapt", "--adapter", "caddyfile", "--config", sys.argv[1]]
    # Caddy would leave a directory in the home of whoever calls it.
    adapt = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={"HOME": "/nonexistent"})
    adapted = json.loads(adapt.stdout)
    print("\n".join(exposed(adapted.get("apps", {}).get("http", {}).get("servers", {}))))
