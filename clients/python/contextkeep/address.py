"""Where a service is: `host:port`, `http://host:port` (plaintext) or `https://host[:port]` (TLS).

grpcio knows the first form only, so every address of ours, in an argument or a variable, passes here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from contextkeep.errors import InvalidArgument

_FORMS = "use host:port, http://host:port (plaintext) or https://host[:port] (TLS); an IPv6 host in brackets"

# A scheme, a host (a name, IPv4, or IPv6 in brackets), a port, a bare slash. Whatever else a URL may have is refused.
_ADDRESS = re.compile(
    r"(?:(?P<scheme>https?)://)?"
    r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+(?:%[0-9A-Za-z_.-]+)?)\]|(?P<host>[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?))"
    r"(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<slash>/?)",
    re.IGNORECASE,
)
_PORT_OF_SCHEME = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed address; as text it is the shortest form that parses to it again."""

    host: str  # without brackets
    port: int  # 1 to 65535
    tls: bool = False

    @property
    def target(self) -> str:
        """Return the address as grpcio wants it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"https://{self.target}" if self.tls else self.target


def parse_address(text: str, *, default_port: int | None = None, field: str = "address") -> Address:
    """Return the address that `text` spells.

    Args:
        text: The address, in one of the three forms.
        default_port: The port where the text has none, also for a bare host. Without it `https://` means 443,
            `http://` 80, and a bare host is refused.
        field: What to call the text in an error: the argument or the variable that it came from.

    Raises:
        InvalidArgument: it has none of the three forms, or its port does not exist.
    """
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or (match["slash"] and not match["scheme"]):
        raise InvalidArgument(f"{field} {_without_password(text)} is not an address: {_FORMS}", field=field)
    scheme = (match["scheme"] or "").lower()
    port = int(match["port"]) if match["port"] else default_port or _PORT_OF_SCHEME.get(scheme)
    if port is None:
        raise InvalidArgument(f"{field} {_without_password(text)} has no port: {_FORMS}", field=field)
    if not 1 <= port <= 65535:
        raise InvalidArgument(f"{field} {_without_password(text)} has a port outside of 1 to 65535", field=field)
    return Address(host=match["ipv6"] or match["host"], port=port, tls=scheme == "https")


def _without_password(text: str) -> str:
    """Return the text for an error, without the user and password that a URL may carry."""
    return repr(re.sub(r"//[^/@]*@", "//...@", text)[:100])
