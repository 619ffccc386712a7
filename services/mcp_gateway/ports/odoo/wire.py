"""HTTP to one Odoo: kept-open connections that no two requests share at once, whole answers, nothing followed."""

from dataclasses import dataclass

import httpx2

from mcp_gateway.ports.odoo.transport import AnswerTooLarge, Broken, Busy, RequestTooLarge, Unfit, Unreachable

# A connection that takes longer than this will not come; the tool's own deadline is for Odoo's work.
CONNECT_SECONDS = 3.0
# Odoo closes idle connections after some seconds, a proxy in front of it rarely before a minute. Ours go first,
# because a request that meets a closing connection is one whose outcome nobody knows.
KEEP_SECONDS = 10.0
MAX_CONNECTIONS = 20
# An answer of a tool holds 30,000 characters. The largest honest page (5,000 timesheet amounts) is below 1 MB.
MAX_BYTES = 4 * 1000 * 1000


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer, read whole."""

    status: int
    kind: str
    body: bytes

    @property
    def is_json(self) -> bool:
        return self.kind == "application/json"

    @property
    def is_xml(self) -> bool:
        return self.kind in ("text/xml", "application/xml")


class Wire:
    """Sends to one address only. No proxy from the environment, no redirect, no cookie is ever used."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            verify=url.startswith("https:"),
            follow_redirects=False,
            limits=httpx2.Limits(
                max_connections=MAX_CONNECTIONS,
                max_keepalive_connections=MAX_CONNECTIONS,
                keepalive_expiry=KEEP_SECONDS,
            ),
            trust_env=False,
            # The body is counted as it arrives; compressed it could grow behind the count.
            headers={"Accept-Encoding": "identity", "User-Agent": "talaria"},
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def get(self, path: str) -> Reply:
        return await self._exchange("GET", path, None, {})

    async def post(self, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        return await self._exchange("POST", path, body, headers)

    async def _exchange(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        try:
            request = self._client.build_request(method, self._url + path, content=body, headers=headers)
            response = await self._client.send(request, stream=True)
            try:
                content = await _whole(response)
            finally:
                await response.aclose()
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as fault:
            raise Unreachable from fault
        except (httpx2.HTTPError, httpx2.StreamError) as fault:
            raise Broken from fault
        finally:
            # A session cookie would bind later calls to whatever Odoo made of this one.
            self._client.cookies.clear()
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        return Reply(response.status_code, kind, content)


async def _whole(response: httpx2.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_raw():
        size += len(part)
        if size > MAX_BYTES:
            raise AnswerTooLarge
        parts.append(part)
    return b"".join(parts)


def refuse_status(reply: Reply) -> None:
    """Raise what a status means when it comes from a proxy, or from something that is no Odoo at all."""
    if 300 <= reply.status < 400:
        raise Unfit(f"odoo.url redirects ({reply.status}); set it to where Odoo itself answers, often https instead")
    if reply.status in (429, 503):
        raise Busy
    if reply.status == 413:
        raise RequestTooLarge
    if reply.status >= 500:
        raise Broken
