"""Tells a caller without a valid credential where to get one: OAuth 2.0 Protected Resource Metadata (RFC 9728).

A refusal names the URL of a document. The document names the issuer whose tokens are accepted, and the scopes to
request from it. Without a configured issuer there is neither: API keys are handed out by people.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from service_runtime.http.asgi import HttpResponse

PREFIX = "/.well-known/oauth-protected-resource"

# Stricter than a Host has to be: it goes into a header, between quotation marks.
_HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """The paths of a port that tokens of an issuer protect."""

    issuer: str
    scopes: Mapping[str, Sequence[str]]  # to ask it for, by path; "": of the port as a whole
    public_url: str = ""  # "https://context.example.com", as callers reach the port; empty: as they say themselves

    def document(self, path: str, *, scheme: str, host: str) -> HttpResponse | None:
        """Return the answer to a request for a document, or None if it is for something else.

        Args:
            path: Path of the request's URL.
            scheme: "http" or "https", as the request came.
            host: Value of the request's host header.
        """
        protected = path.removeprefix(PREFIX)
        origin = self._origin(scheme, host)
        if not path.startswith(PREFIX) or protected not in self.scopes or not origin:
            return None
        fields = {
            "resource": f"{origin}{protected}",
            "authorization_servers": [self.issuer],
            "scopes_supported": list(self.scopes[protected]),
            "bearer_methods_supported": ["header"],
        }
        headers = {"content-type": "application/json", "cache-control": "no-store"}
        return HttpResponse(status=200, body=orjson.dumps(fields), headers=headers)

    def challenge(self, challenge: str, path: str, *, scheme: str, host: str, has_credential: bool) -> str:
        """Return the header `WWW-Authenticate` of a refusal, with the address of the document.

        Args:
            challenge: Value of the header without that address.
            path: Path of the URL of the refused request.
            scheme: "http" or "https", as the refused request came.
            host: Value of the refused request's host header.
            has_credential: The request had a credential, which is not valid or does not reach so far.
        """
        parameters = []
        if has_credential and "error=" not in challenge:
            parameters.append('error="invalid_token"')
        if origin := self._origin(scheme, host):
            parameters.append(f'resource_metadata="{origin}{PREFIX}{path if path in self.scopes else ""}"')
        if not parameters:
            return challenge
        return f"{challenge}{',' if '=' in challenge else ''} {', '.join(parameters)}"

    def _origin(self, scheme: str, host: str) -> str:
        if self.public_url:
            return self.public_url
        return f"{scheme}://{host.lower()}" if _HOST.fullmatch(host) else ""
