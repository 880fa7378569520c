"""Ports for what starts now."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from service_runtime.network import ports


def test_a_free_port_is_none_that_an_outgoing_connection_gets():
    before = ports._OUTGOING.read_text()
    port = ports.free_port()

    assert 20_000 <= port < int(before.split()[0])


def test_a_port_that_is_taken_is_not_free(monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(ports, "_in_random_order", lambda: [port])

        assert ports.free_port() != port


def test_where_every_port_is_for_outgoing_connections_one_of_those_is_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "range").write_text("1024\t65535\n")
    monkeypatch.setattr(ports, "_OUTGOING", tmp_path / "range")

    assert ports.free_port() > 1024
