"""Addresses: three forms, everywhere the same, and helpful about anything else."""

from __future__ import annotations

import asyncio
import shutil
import subprocess

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextkeep import Address, parse_address
from contextkeep.errors import InvalidArgument, Unavailable
from tests.clients.serving import serving
from tests.clients.test_calls import NODE_ID, Graph


@pytest.mark.parametrize(
    ("text", "address", "target"),
    [
        ("127.0.0.1:50051", Address("127.0.0.1", 50051), "127.0.0.1:50051"),
        ("localhost:1", Address("localhost", 1), "localhost:1"),
        ("context_service:50051", Address("context_service", 50051), "context_service:50051"),
        (" entity.example.com:65535\n", Address("entity.example.com", 65535), "entity.example.com:65535"),
        ("http://host:50051", Address("host", 50051), "host:50051"),
        ("http://host:50051/", Address("host", 50051), "host:50051"),
        ("HTTP://Host", Address("Host", 80), "Host:80"),
        ("https://host", Address("host", 443, True), "host:443"),
        ("https://host:8443", Address("host", 8443, True), "host:8443"),
        ("[::1]:50051", Address("::1", 50051), "[::1]:50051"),
        ("https://[2001:db8::1]", Address("2001:db8::1", 443, True), "[2001:db8::1]:443"),
        ("http://[fe80::1%eth0]:1", Address("fe80::1%eth0", 1), "[fe80::1%eth0]:1"),
    ],
)
def test_the_forms_of_the_contract(text, address, target):
    assert parse_address(text) == address
    assert address.target == target
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        ":50051",
        "host:",
        "host:port",
        "host:0",
        "host:65536",
        "host:123456",
        "host:-1",
        "::1:50051",
        "ftp://host:1",
        "dns:///host:1",
        "unix:/tmp/socket",
        "http://",
        "http://host:1/path",
        "host:1/",
        "https://user:password@host:1",
        "https://host:1?query",
        "ho st:1",
        "host:１",  # a digit, but none of an address
        "-host:1",
    ],
)
def test_anything_else_is_refused_with_the_forms(text):
    with pytest.raises(InvalidArgument) as raised:
        parse_address(text, field="ENTITY_SERVICE_URL")

    assert "ENTITY_SERVICE_URL" in str(raised.value)
    assert raised.value.violations[0].field == "ENTITY_SERVICE_URL"
    assert "password" not in str(raised.value)


def test_a_default_port_is_for_texts_without_one():
    assert parse_address("entity", default_port=50052).target == "entity:50052"
    assert parse_address("http://entity", default_port=50052).target == "entity:50052"
    assert parse_address("https://entity", default_port=50052) == Address("entity", 50052, True)
    assert parse_address("entity:7", default_port=50052).target == "entity:7"


@given(text=st.text(max_size=40))
def test_any_text_is_an_address_or_an_error(text):
    try:
        address = parse_address(text)
    except InvalidArgument:
        return
    assert parse_address(str(address)) == address


@pytest.mark.parametrize("form", ["{}", "http://{}", "http://{}/"])
async def test_plaintext_forms_reach_a_server(world, form):
    async with serving(Graph()) as address, world.entity(form.format(address)) as client:
        assert (await world.run(client.graph.get_node, NODE_ID)).id == NODE_ID


async def test_https_reaches_a_server_with_tls(world, tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    await asyncio.to_thread(
        subprocess.run,
        [*command.split(), "-keyout", tmp_path / "key", "-out", tmp_path / "certificate"],
        check=True,
        capture_output=True,
    )
    certificate = (tmp_path / "certificate").read_bytes()
    credentials = grpc.ssl_server_credentials([((tmp_path / "key").read_bytes(), certificate)])

    async with serving(Graph(), credentials=credentials) as address:
        https = f"https://localhost:{address.rpartition(':')[2]}"
        async with world.entity(https, root_certificates=certificate) as client:
            assert (await world.run(client.graph.get_node, NODE_ID)).id == NODE_ID
        async with world.entity(https, retries=0) as stranger:
            with pytest.raises(Unavailable):
                await world.run(stranger.graph.get_node, NODE_ID)
