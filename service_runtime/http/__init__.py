"""HTTP next to gRPC: one port that admits requests up to limits, and its endpoints. It needs the extra `http`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from contextkeep.errors import FailedPrecondition
from service_runtime.imports.extras import install
from service_runtime.network import tls
from service_runtime.rpc.principal import SCOPES
from service_runtime.settings import ServiceSettings

if TYPE_CHECKING:
    from service_runtime.grpc_server.interceptors import Border
    from service_runtime.grpc_server.server import Service
    from service_runtime.http.admission import Endpoint
    from service_runtime.http.resources import Resources


JSON_BYTES = 96 * 1024 * 1024  # memory of the processes that read and write large JSON


class HttpMissing(FailedPrecondition):
    """A port for HTTP is configured, and its package is not installed."""

    reason = "HTTP_MISSING"


def serving_rpcs(
    settings: ServiceSettings,
    services: Sequence[Service],
    border: Border,
    *,
    beside: Mapping[str, Endpoint] | None = None,
    scopes: Mapping[str, Sequence[str]] | None = None,
) -> AbstractAsyncContextManager[int]:
    """Return a context manager that serves the unary RPCs of some services on HTTP_PORT, yielding the port.

    Args:
        settings: Settings of the service: the HTTP port and its limits.
        services: The proto services whose unary RPCs are served.
        border: Authenticates, limits and logs every call.
        beside: Further endpoints on the port, by path.
        scopes: The scopes that clients of each path request from the issuer.

    Raises:
        HttpMissing: the package is not installed.
        CannotListen: when the block is entered, if the address is taken.
    """
    try:
        from service_runtime.http import admission, connect  # only a service with an HTTP port needs the package
    except ImportError as error:
        raise HttpMissing(f"HTTP_PORT needs the package uvicorn: {install('http')}") from error
    options = admission.HttpOptions(
        host=settings.http_host,
        port=settings.http_port or 0,
        origins=admission.Origins(frozenset(settings.http_origins), setting="HTTP_ORIGINS", loopback=False),
        limits=settings.call_limits,
        connections_max=settings.connections_max,
        drain_s=settings.drain_s,
        tls=tls.files_of(settings),
        resources=protected(settings, scopes or {}),
    )
    return connect.serving(services, border, options, beside=beside or {})


def protected(settings: ServiceSettings, scopes: Mapping[str, Sequence[str]]) -> Resources | None:
    """Return the document of a port that says where tokens come from, or None if it takes no tokens.

    Args:
        settings: Settings of the service: the issuer and the public URL.
        scopes: The scopes to request from the issuer, by path; for the port as a whole, all of them.
    """
    if not settings.jwt_issuer:
        return None
    from service_runtime.http.resources import Resources

    return Resources(issuer=settings.jwt_issuer, scopes={"": SCOPES, **scopes}, public_url=settings.public_url)
