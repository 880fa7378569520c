from __future__ import annotations

import socket

import pytest

from contextkeep_console.serving import address, listener
from contextkeep_console.settings import Settings, SettingsError

TLS = {"TLS_CERTIFICATE_PATH": "chain.pem", "TLS_KEY_PATH": "key.pem"}


def test_by_default_it_listens_on_loopback_at_a_port_of_its_own():
    settings = Settings.of({})

    assert (settings.host, settings.port, settings.is_secure) == ("127.0.0.1", 50080, False)
    assert address(settings, 50080) == "http://127.0.0.1:50080"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "console.example.com"])
def test_keys_go_beyond_this_machine_by_tls_or_not_without_being_told(host: str):
    with pytest.raises(SettingsError, match="plaintext"):
        Settings.of({"CONSOLE_HOST": host})

    assert Settings.of({"CONSOLE_HOST": host, **TLS}).is_secure
    assert not Settings.of({"CONSOLE_HOST": host, "ALLOW_INSECURE": "true"}).is_secure
    # What stands in front of it speaks TLS, and says so.
    assert Settings.of(
        {"CONSOLE_HOST": host, "ALLOW_INSECURE": "true", "CONSOLE_PUBLIC_URL": "https://console.example.com"}
    ).is_secure


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.7", "::1", "localhost"])
def test_loopback_needs_nothing(host: str):
    assert Settings.of({"CONSOLE_HOST": host}).host == host


@pytest.mark.parametrize(
    "variables",
    [
        {"CONSOLE_PORT": "fifty"},
        {"CONSOLE_PORT": "65536"},
        {"CONSOLE_PORT": "-1"},
        {"TLS_KEY_PATH": "key.pem"},
        {"CONSOLE_PUBLIC_URL": "console.example.com"},
        {"CONSOLE_PUBLIC_URL": "https://console.example.com/below"},
        {"CONSOLE_PUBLIC_URL": "javascript://x"},
    ],
    ids=str,
)
def test_what_is_wrong_is_told_at_the_start(variables: dict[str, str]):
    with pytest.raises(SettingsError):
        Settings.of(variables)


def test_it_is_called_by_its_own_names_alone():
    settings = Settings.of(
        {"CONSOLE_HOST": "0.0.0.0", "ALLOW_INSECURE": "1", "CONSOLE_PUBLIC_URL": "https://console.example.com"}
    )

    assert settings.hosts == {"127.0.0.1", "localhost", "::1", "console.example.com"}


def test_a_taken_port_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=str(port)):
            listener(Settings(port=port))
