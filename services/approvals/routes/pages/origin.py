"""Where a request comes from: through our proxy or not, from our own page or somebody else's."""

from urllib.parse import urlsplit

from starlette.requests import Request

from approvals.settings import Settings


def peer_of(request: Request) -> str:
    """The address of the other end of the connection."""
    return request.client.host if request.client else ""


def through_proxy(request: Request, settings: Settings) -> bool:
    """Whether a proxy that we trust says that it forwards this."""
    return peer_of(request) in settings.trusted_proxies and "x-forwarded-for" in request.headers


def visitor_address(request: Request, settings: Settings) -> str:
    """Who asks: behind a trusted proxy the last address in its list that is no proxy of ours."""
    if not through_proxy(request, settings):
        return peer_of(request)
    hops = [hop.strip() for line in request.headers.getlist("x-forwarded-for") for hop in line.split(",")]
    return next((hop for hop in reversed(hops) if hop not in settings.trusted_proxies), peer_of(request))


def encrypted(request: Request, settings: Settings) -> bool:
    """Whether the browser is at the far end of our own HTTPS."""
    return str(settings.public_url or "").startswith("https://") and through_proxy(request, settings)


def is_foreign(request: Request, settings: Settings) -> bool:
    """Whether a page of somebody else, or a service, sent this. Browsers say so in headers that no page can forge."""
    if request.headers.get("authorization", "").lower().startswith("bearer"):
        return True
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return True
    origin = request.headers.get("origin")
    return origin is not None and origin.lower() not in _own_origins(request, settings)


def _own_origins(request: Request, settings: Settings) -> set[str]:
    scheme = "https" if encrypted(request, settings) else "http"
    own = {f"{scheme}://{request.headers.get('host', '').lower()}"}
    if settings.public_url:
        public = urlsplit(str(settings.public_url))
        own.add(f"{public.scheme}://{public.netloc}".lower())
    return own
