"""Parts of a call that the sync and the async client share: credentials, options, and errors of statuses. No I/O."""

from __future__ import annotations

import ipaddress
import math
import os
from dataclasses import dataclass, field
from typing import Any

import grpc

from contextkeep import dev_keys
from contextkeep.address import Address, parse_address
from contextkeep.errors import Cancelled, ContextKeepError, DeadlineExceeded, InvalidArgument, Unavailable
from contextkeep.status import DETAILS_KEY, error_of
from contextkeep.version import __version__

CONTEXT_ADDRESS_VARIABLE = "CONTEXT_SERVICE_ADDRESS"
CONTEXT_ADDRESS_DEFAULT = "127.0.0.1:50051"
ENTITY_ADDRESS_VARIABLE = "ENTITY_SERVICE_ADDRESS"
ENTITY_ADDRESS_DEFAULT = "127.0.0.1:50052"
API_KEY_VARIABLE = "CONTEXT_SERVICE_API_KEY"
APP_ID_VARIABLE = "CONTEXT_SERVICE_APP_ID"

TIMEOUT_S = 30.0
IDLE_TIMEOUT_S = 60.0
RETRIES = 3

Metadata = tuple[tuple[str, str], ...]

_CHANNEL_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.primary_user_agent", f"contextkeep-python/{__version__}"),
    # One layer retries, and it is ours: it knows which calls are safe.
    ("grpc.enable_retries", 0),
    # A peer that vanished without a word is noticed in 40 s, while calls are under way; idle channels stay silent.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # If a name has several addresses (replicas of a headless service), each gets its share of the calls, and a
    # replica that stops none. By default grpc stays with the first.
    ("grpc.lb_policy_name", "round_robin"),
    # While a channel waits to connect again, calls fail at once. The default of 1 s would outlast our retries.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    # Each client connects for itself. By default grpc shares connections among the channels of a process, also with a
    # closed one that a kept error still holds: a new client would wait out another's reconnect backoff.
    ("grpc.use_local_subchannel_pool", 1),
]

# The beginnings of grpc's texts for calls that had no connection to be sent on. Nothing else in its errors shows that.
# If the texts change, such calls take tokens of the retry budget, and a test fails.
_NOT_CONNECTED = (
    "connections to all backends failing",
    "failed to connect to all addresses",
    "DNS resolution failed",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """The options for the calls of one client, or of one view of it."""

    credential: str = field(repr=False)  # empty sends no credential
    timeout_s: float  # seconds of a unary call, its retries included
    idle_timeout_s: float  # seconds for which a stream may neither send nor receive
    retries: int  # attempts after the first
    app_id: str

    def __post_init__(self) -> None:
        # grpc puts the whole metadata into its own error about a bad character; this one does not.
        if not self.credential.isascii() or not self.credential.isprintable():
            raise InvalidArgument("the API key holds a character that no key has", field="api_key")
        for name in ("timeout_s", "idle_timeout_s"):
            if not 0 < getattr(self, name) < math.inf:  # NaN is in no range
                raise InvalidArgument(f"{name} must be a finite number above 0", field=name)
        if self.retries < 0:
            raise InvalidArgument("retries must be 0 or more", field="retries")

    @property
    def metadata(self) -> Metadata:
        """Return the metadata of every call."""
        return (("authorization", f"Bearer {self.credential}"),) if self.credential else ()

    def app(self, app_id: str | None) -> str:
        """Return the app of a call: the given one, or the client's if it is None."""
        return self.app_id if app_id is None else app_id


def channel_options(address: Address, *, first: bool = True) -> list[tuple[str, Any]]:
    """Return the options of a channel to `address`.

    Args:
        address: Address of the service.
        first: This is the client's first channel. Further channels, for many calls at the same time, disconnect soon
            after their last call.
    """
    options = list(_CHANNEL_OPTIONS)
    if address.host == "localhost" or _is_loopback(address.host):
        # grpc would send even these through the proxy of $http_proxy.
        options.append(("grpc.enable_http_proxy", 0))
    if not first:
        options.append(("grpc.client_idle_timeout_ms", 60_000))
    return options


def channel_credentials(
    root_certificates: bytes | None, client_certificate: tuple[bytes, bytes] | None
) -> grpc.ChannelCredentials:
    """Return the credentials of a TLS channel: the certificates that it trusts, and its own one."""
    chain, key = client_certificate or (None, None)
    return grpc.ssl_channel_credentials(root_certificates, private_key=key, certificate_chain=chain)


def address_of(address: str | None, *, variable: str, default: str) -> Address:
    """Return the address of the service, from the argument, else the environment variable, else the default."""
    if address is not None:
        return parse_address(address)
    return parse_address(os.environ.get(variable) or default, field=variable)


def credential_of(api_key: str | None, address: Address) -> tuple[Address, str]:
    """Return the address and the key of a new client.

    The key is the argument, else that of the environment variable, else that of a development stack that this account
    runs at the address.
    """
    if api_key is None:
        api_key = os.environ.get(API_KEY_VARIABLE) or None
    return dev_keys.find(address) if api_key is None else (address, api_key.strip())


def options_of(
    *, credential: str, app_id: str | None, timeout_s: float, idle_timeout_s: float, retries: int
) -> CallOptions:
    """Return the options of a new client: arguments win over variables."""
    return CallOptions(
        credential=credential,
        app_id=os.environ.get(APP_ID_VARIABLE, "") if app_id is None else app_id,
        timeout_s=timeout_s,
        idle_timeout_s=idle_timeout_s,
        retries=retries,
    )


def error_from(raised: Any, *, service: str, address: Address, closed: bool) -> ContextKeepError:
    """Return the error of the services that an error of grpc stands for.

    Args:
        raised: A `grpc.RpcError` with a status: `AioRpcError`, or what a sync call raises.
        service: Name of the service for errors of the transport, such as "entity-service".
        address: The address at which the service was called.
        closed: The client was closed.
    """
    code: grpc.StatusCode = raised.code() or grpc.StatusCode.UNKNOWN
    text = raised.details() or ""
    details = next((value for key, value in raised.trailing_metadata() or () if key == DETAILS_KEY), None)
    error = error_of(code, text, details)
    if details is not None:
        return error
    # Made on this side of the wire: grpc's texts ("Deadline Exceeded") say neither who nor where.
    if isinstance(error, Unavailable):
        away = Unavailable(f"{service} at {address} does not answer: {text}", dependency=service, address=address)
        away.spares_budget = text.startswith(_NOT_CONNECTED)
        return away
    if isinstance(error, Cancelled) and not closed:
        # A call that reaches a server of grpc's just as it begins to stop is dropped, and told so in these words
        # (github.com/grpc/grpc/issues/41785). Our services never answer CANCELLED: a caller that cancels does not
        # listen.
        stopping = Unavailable(f"{service} at {address} is stopping", dependency=service, address=address)
        stopping.spares_budget = True
        return stopping
    if isinstance(error, DeadlineExceeded):
        return DeadlineExceeded(f"{service} at {address} did not answer in time", dependency=service, address=address)
    return error


def silence(*, service: str, address: Address, idle_timeout_s: float) -> DeadlineExceeded:
    """Return the error of a stream on which no data arrived for too long."""
    return DeadlineExceeded(
        f"nothing moved on a stream with {service} at {address} for {idle_timeout_s:g} s",
        dependency=service,
        address=address,
        idle_timeout_s=f"{idle_timeout_s:g}",
    )


def _is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address; a name is not."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
