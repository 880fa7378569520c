"""The settings of the console from the environment, checked before a port is opened."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

HOST, PORT = "127.0.0.1", 50080


class SettingsError(Exception):
    """The console cannot start like this; the message says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the console listens, and what it shows."""

    host: str = HOST
    port: int = PORT
    public_url: str = ""  # as browsers reach it, if that is not where it listens
    certificate_path: str = ""  # PEM, with its key in the next one: TLS
    key_path: str = ""
    allow_insecure: bool = False  # beyond loopback without TLS of its own
    trusted_proxies: tuple[str, ...] = ()  # addresses and networks whose X-Forwarded-For is believed
    context_address: str | None = None  # None: as the client finds it
    entity_address: str | None = None
    link_token: str = field(default="", repr=False)  # `/sign-in?link=` with it signs in once; empty: no link does
    link_key: str = field(default="", repr=False)  # the key that the link signs in with

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach it by TLS, so that a cookie needs never go without."""
        return bool(self.certificate_path) or self.public_url.startswith("https://")

    @property
    def hosts(self) -> frozenset[str]:
        """The host names that requests may use: any other name is a page of an attacker, by a foreign DNS."""
        names = {"127.0.0.1", "localhost", "::1"}
        if not is_loopback(self.host) and self.host not in {"0.0.0.0", "::"}:  # noqa: S104 - what it is not
            names.add(self.host.lower())
        if self.public_url:
            names.add((urlsplit(self.public_url).hostname or "").lower())
        return frozenset(names)

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Settings:
        """Return the settings from environment variables.

        Raises:
            SettingsError: a variable is wrong, or the console would listen beyond this machine without TLS.
        """
        values = {name: environment.get(name, "").strip() for name in VARIABLES}
        settings = cls(
            host=values["CONSOLE_HOST"] or HOST,
            port=_port(values["CONSOLE_PORT"] or str(PORT)),
            public_url=_url(values["CONSOLE_PUBLIC_URL"]),
            certificate_path=values["TLS_CERTIFICATE_PATH"],
            key_path=values["TLS_KEY_PATH"],
            allow_insecure=values["ALLOW_INSECURE"].lower() in {"1", "true", "yes", "on"},
            trusted_proxies=_networks(values["CONSOLE_TRUSTED_PROXIES"]),
            context_address=values["CONTEXT_SERVICE_ADDRESS"] or None,
            entity_address=values["ENTITY_SERVICE_ADDRESS"] or None,
            link_token=values["CONSOLE_LINK_TOKEN"],
            link_key=values["CONSOLE_LINK_KEY"],
        )
        settings.check()
        return settings

    def check(self) -> None:
        """Check that the settings are complete and safe.

        Raises:
            SettingsError: TLS has only one of its two files, or the console would listen beyond this machine without
                TLS although `allow_insecure` is not set.
        """
        if bool(self.certificate_path) != bool(self.key_path):
            raise SettingsError("TLS needs both TLS_CERTIFICATE_PATH and TLS_KEY_PATH")
        if not (is_loopback(self.host) or self.certificate_path or self.allow_insecure):
            raise SettingsError(
                f"keys would go to {self.host} in plaintext: set TLS_CERTIFICATE_PATH and TLS_KEY_PATH, or"
                " ALLOW_INSECURE=true where something in front of it speaks TLS"
            )


VARIABLES = (
    "CONSOLE_HOST",
    "CONSOLE_PORT",
    "CONSOLE_PUBLIC_URL",
    "CONSOLE_TRUSTED_PROXIES",
    "CONSOLE_LINK_TOKEN",
    "CONSOLE_LINK_KEY",
    "TLS_CERTIFICATE_PATH",
    "TLS_KEY_PATH",
    "ALLOW_INSECURE",
    "CONTEXT_SERVICE_ADDRESS",
    "ENTITY_SERVICE_ADDRESS",
)


def is_loopback(host: str) -> bool:
    """Say whether a port on this host can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 <= int(text) <= 65535:
        raise SettingsError(f"CONSOLE_PORT={text} is not a port: a number from 1 to 65535, or 0 for any free one")
    return int(text)


def _url(text: str) -> str:
    """Return the public URL of the console without a slash at its end; an empty text if none is set.

    Raises:
        SettingsError: the URL has a path or a query, or is not an http URL.
    """
    if not text:
        return ""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
        raise SettingsError(f"CONSOLE_PUBLIC_URL={text} is not like https://console.example.com")
    return text.rstrip("/")


def _networks(text: str) -> tuple[str, ...]:
    """Return the addresses and networks in a text, which commas separate.

    Raises:
        SettingsError: one of them is malformed.
    """
    names = tuple(filter(None, map(str.strip, text.split(","))))
    for name in names:
        try:
            ipaddress.ip_network(name, strict=False)
        except ValueError:
            raise SettingsError(
                f"CONSOLE_TRUSTED_PROXIES: {name} is not an address or a network, such as 10.0.0.0/8"
            ) from None
    return names
