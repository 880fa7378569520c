"""The guard in front of every page: the requests to accept, and the headers of every answer.

The host of a request must be one of the console's names; otherwise a foreign host name resolves to this address. A
request that changes data must come from a page of the console; otherwise another site sent the form. A page may load
only the console's own files; no style and no script is inside a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_BYTES_MAX = 256 * 1024 * 1024  # bytes of a form with a file; the command line uploads larger files
FORM_BYTES_MAX = 2 * 1024 * 1024  # bytes of any other form
UPLOAD_PATH = "/records"
_SAFE = {"GET", "HEAD"}
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\\\[\]]+)(:[0-9]{0,5})?")  # RFC 9110: no user, no path

PAGE_POLICY = (
    "default-src 'self'; base-uri 'none'; connect-src 'self'; font-src 'none'; form-action 'self'; frame-ancestors"
    " 'none'; object-src 'none'"
)
# The policy for stored content: nothing in it runs or is loaded, wherever it is opened.
CONTENT_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"


class Guard:
    """Lets requests in, and puts the headers on answers.

    Args:
        app: The application to guard.
        hosts: The names that requests may call it by.
        is_secure: Browsers reach the console by TLS.
        public_url: The URL for browsers, if it differs from the host in requests, as with a proxy; else empty.
    """

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str], is_secure: bool, public_url: str = "") -> None:
        self._app = app
        self._origins = {public_url.lower()} if public_url else set()
        self._hosts = frozenset(hosts)
        self._is_secure = is_secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add_headers(MutableHeaders(scope=message), scope["path"])
            await send(message)

        refused = self._refusal(scope)
        await (refused or self._app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        """Return the answer that refuses a request by its headers, or None if it may pass."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            text = "this console is called by another name: set CONSOLE_PUBLIC_URL to the address that browsers use"
            return PlainTextResponse(text, 421)
        if scope["method"] in _SAFE:
            return None
        if scope["method"] != "POST":
            return PlainTextResponse("only GET, HEAD and POST", 405)
        scheme = "https" if self._is_secure else "http"
        if headers.get("origin", "-").lower() not in {f"{scheme}://{host.lower()}", *self._origins}:
            return PlainTextResponse("a form is taken from a page of this console alone", 403)
        size = headers.get("content-length", "")
        bytes_max = BODY_BYTES_MAX if scope["path"] == UPLOAD_PATH else FORM_BYTES_MAX
        if not size.isdecimal():
            return PlainTextResponse("a form says how long it is", 411)
        if int(size) > bytes_max:
            return PlainTextResponse(f"a form here has up to {bytes_max:,} bytes; `contextkeep` takes more", 413)
        return None

    def _add_headers(self, headers: MutableHeaders, path: str) -> None:
        """Add the headers of security and caching to an answer; a policy that the page has set stays."""
        headers.setdefault("content-security-policy", PAGE_POLICY)
        headers.setdefault("cache-control", "no-cache" if path.startswith("/static/") else "no-store")
        headers["cross-origin-opener-policy"] = "same-origin"
        headers["cross-origin-resource-policy"] = "same-origin"
        headers["permissions-policy"] = "camera=(), geolocation=(), microphone=()"
        headers["referrer-policy"] = "same-origin"  # with "no-referrer" a form would not say where it is from
        headers["x-content-type-options"] = "nosniff"
        headers["x-frame-options"] = "DENY"
        if self._is_secure:
            headers["strict-transport-security"] = "max-age=31536000"


def _name(host: str) -> str:
    """Return the name in a Host header; empty if the header is no name with an optional port."""
    match = _HOST.fullmatch(host)
    return match["name"].strip("[]").lower() if match else ""
