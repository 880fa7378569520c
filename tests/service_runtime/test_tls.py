"""TLS and mutual TLS, of both services and between them."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import logging
import os
import ssl
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from grpc_health.v1 import health_pb2, health_pb2_grpc
from pydantic import ValidationError

import context_service.app
import entity_service.app
from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, NodeInput
from contextkeep.errors import Unavailable
from service_runtime.network import connections
from service_runtime.network.connections import connected
from service_runtime.network.tls import (
    BadCertificate,
    ClientCertificates,
    Following,
    TlsFiles,
    client_certificates,
    server_context,
    server_credentials,
)
from tests.conftest import KEY, Addresses
from tests.ports import free_port

PEM = serialization.Encoding.PEM


@dataclass(frozen=True, kw_only=True)
class Issued:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> tuple[bytes, bytes]:
        key = self.key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return self.certificate.public_bytes(PEM), key


def issue(name: str, by: Issued | None = None) -> Issued:
    """Issue a certificate for this machine; without an issuer, one of an authority."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    here = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(here), critical=False)
        .sign(by.key if by else key, hashes.SHA256())
    )
    return Issued(certificate=certificate, key=key)


AUTHORITY, STRANGER = issue("authority"), issue("stranger")
CLIENT, FOREIGN = issue("client", AUTHORITY).pem, issue("client", STRANGER).pem


@pytest.fixture
def files(tmp_path: Path) -> TlsFiles:
    paths = TlsFiles(certificate=tmp_path / "tls.crt", key=tmp_path / "tls.key", client_ca=tmp_path / "ca.crt")
    write(paths, issue("service", AUTHORITY))
    (tmp_path / "ca.crt").write_bytes(AUTHORITY.pem[0])
    return paths


def write(paths: TlsFiles, issued: Issued) -> None:
    paths.certificate.write_bytes(issued.pem[0])
    paths.key.write_bytes(issued.pem[1])


def with_tls(settings: Any, files: TlsFiles, *, mutual: bool, **changes: Any) -> Any:
    return settings.model_copy(
        update={
            "tls_certificate_path": files.certificate,
            "tls_key_path": files.key,
            "tls_client_ca_path": files.client_ca if mutual else None,
            **changes,
        }
    )


@pytest.fixture(params=[False, True], ids=["tls", "mutual"])
async def stack(
    request: pytest.FixtureRequest, context_settings, entity_settings, callers, files: TlsFiles
) -> AsyncIterator[tuple[Addresses, bool]]:
    """Both services, the Context Service calling the other by https."""
    mutual = request.param
    async with AsyncExitStack() as opened:
        settings = with_tls(entity_settings, files, mutual=mutual)
        port = await opened.enter_async_context(entity_service.app.running(settings, callers=callers))
        entity = f"https://localhost:{port}"
        settings = with_tls(
            context_settings,
            files,
            mutual=mutual,
            entity_service_url=entity,
            entity_service_ca_path=files.client_ca,
        )
        port = await opened.enter_async_context(context_service.app.running(settings, callers=callers))
        yield Addresses(context=f"https://127.0.0.1:{port}", entity=entity), mutual


async def test_a_history_goes_through_both_services(stack: tuple[Addresses, bool]):
    addresses, mutual = stack
    options: dict[str, Any] = {
        "api_key": KEY,
        "root_certificates": AUTHORITY.pem[0],
        "client_certificate": CLIENT if mutual else None,
    }
    session, turn = NodeInput("Session"), NodeInput("Turn", data={"user_input": "hello"})
    async with (
        AsyncEntityClient(addresses.entity, **options) as graph,
        AsyncContextClient(addresses.context, **options) as context,
    ):
        await graph.graph.write([session, turn], [EdgeInput(session.id, turn.id, "Contains")])

        (message,) = await context.history.stream(session.id)

    assert message.content == "hello"


async def test_who_trusts_no_such_authority_or_is_not_trusted_gets_nothing(stack: tuple[Addresses, bool]):
    addresses, mutual = stack
    strangers: list[dict[str, Any]] = [{}, {"root_certificates": STRANGER.pem[0], "client_certificate": CLIENT}]
    if mutual:
        strangers += [
            {"root_certificates": AUTHORITY.pem[0]},
            {"root_certificates": AUTHORITY.pem[0], "client_certificate": FOREIGN},
        ]
    for options in strangers:
        async with AsyncEntityClient(addresses.entity, api_key=KEY, retries=0, **options) as client:
            with pytest.raises(Unavailable):
                await client.graph.create_node("Session")
    plain = addresses.entity.removeprefix("https://")
    async with AsyncEntityClient(plain, api_key=KEY, retries=0, timeout_s=5) as client:
        with pytest.raises(Unavailable):
            await client.graph.create_node("Session")


Reach = Callable[[Issued], Awaitable[bool]]  # whether it answers who trusts an authority


@asynccontextmanager
async def entity_port(request: pytest.FixtureRequest, files: TlsFiles) -> AsyncIterator[Reach]:
    settings, callers = request.getfixturevalue("entity_settings"), request.getfixturevalue("callers")
    async with entity_service.app.running(with_tls(settings, files, mutual=False), callers=callers) as port:

        async def reach(authority: Issued) -> bool:
            options: dict[str, Any] = {"api_key": KEY, "retries": 0, "root_certificates": authority.pem[0]}
            async with AsyncEntityClient(f"https://localhost:{port}", **options) as client:
                try:
                    await client.graph.create_node("Session")
                except Unavailable:
                    return False
                return True

        yield reach


@asynccontextmanager
async def mcp_port(request: pytest.FixtureRequest, files: TlsFiles) -> AsyncIterator[Reach]:
    settings, callers = request.getfixturevalue("context_settings"), request.getfixturevalue("callers")
    port = free_port()
    settings = with_tls(settings, files, mutual=True, mcp_port=port)
    async with context_service.app.running(settings, callers=callers):

        async def reach(authority: Issued) -> bool:
            """By the name, which a handshake carries, and by the number, which it does not."""
            verify = ssl.create_default_context(cadata=authority.pem[0].decode())
            with certificate_files(issue("client", authority)) as (certificate, key):
                verify.load_cert_chain(certificate, key)
            answers = [await mcp_answers(f"https://{host}:{port}/mcp", verify) for host in ("localhost", "127.0.0.1")]
            assert len(set(answers)) == 1
            return answers[0]

        yield reach


async def mcp_answers(url: str, verify: ssl.SSLContext) -> bool:
    async with httpx2.AsyncClient(verify=verify) as client:
        try:
            answer = await client.get(url, headers={"authorization": f"Bearer {KEY}"})
        except httpx2.TransportError:
            return False
    assert answer.status_code == 405
    return True


@contextmanager
def certificate_files(issued: Issued) -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        paths = f"{folder}/tls.crt", f"{folder}/tls.key"
        for path, text in zip(paths, issued.pem, strict=True):
            Path(path).write_bytes(text)
        yield paths


@pytest.mark.parametrize("serving", [entity_port, mcp_port])
async def test_a_renewed_certificate_is_shown_without_a_restart(
    request: pytest.FixtureRequest,
    files: TlsFiles,
    serving: Callable[[pytest.FixtureRequest, TlsFiles], AbstractAsyncContextManager[Reach]],
):
    async with serving(request, files) as reached_by_who_trusts:
        assert await reached_by_who_trusts(AUTHORITY)
        assert not await reached_by_who_trusts(STRANGER)

        renewed = issue("service", STRANGER)
        files.certificate.write_bytes(renewed.pem[0])  # and its key not yet
        os.utime(files.certificate, (1, 1))  # however fast that was
        assert await reached_by_who_trusts(AUTHORITY)

        write(files, renewed)
        assert files.client_ca is not None
        files.client_ca.write_bytes(STRANGER.pem[0])
        os.utime(files.certificate, (2, 2))
        assert await reached_by_who_trusts(STRANGER)
        assert not await reached_by_who_trusts(AUTHORITY)

        files.key.write_bytes(b"half a file")
        assert await reached_by_who_trusts(STRANGER)


@pytest.fixture
async def between(
    context_settings, entity_settings, callers, files: TlsFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Addresses, TlsFiles]]:
    """Both services, and the files of the one that calls the other: a certificate that the other does not take."""
    monkeypatch.setattr(connections, "RENEW_INTERVAL_S", 0.02)
    (tmp_path / "own").mkdir()
    own = TlsFiles(
        certificate=tmp_path / "own/tls.crt", key=tmp_path / "own/tls.key", client_ca=tmp_path / "own/ca.crt"
    )
    write(own, issue("context", STRANGER))
    assert own.client_ca is not None
    own.client_ca.write_bytes(AUTHORITY.pem[0])
    async with AsyncExitStack() as opened:
        settings = with_tls(entity_settings, files, mutual=True)
        port = await opened.enter_async_context(entity_service.app.running(settings, callers=callers))
        entity = f"https://localhost:{port}"
        settings = with_tls(
            context_settings, own, mutual=False, entity_service_url=entity, entity_service_ca_path=own.client_ca
        )
        port = await opened.enter_async_context(context_service.app.running(settings, callers=callers))
        yield Addresses(context=f"https://127.0.0.1:{port}", entity=entity), own


async def test_the_context_service_shows_and_trusts_renewed_files_without_a_restart(
    between: tuple[Addresses, TlsFiles], files: TlsFiles, caplog: pytest.LogCaptureFixture
):
    addresses, own = between
    assert own.client_ca is not None
    caplog.set_level(logging.INFO, logger="tls")
    graph_options = {"api_key": KEY, "root_certificates": AUTHORITY.pem[0], "client_certificate": CLIENT}
    session = NodeInput("Session")
    async with AsyncEntityClient(addresses.entity, **graph_options) as graph:
        await graph.graph.write([session, turn := NodeInput("Turn", data={"user_input": "hello"})], [])
        await graph.graph.create_edge(session.id, turn.id, "Contains")
    assert not await reads(addresses, session, STRANGER)

    renewed = issue("context", AUTHORITY)
    own.certificate.write_bytes(renewed.pem[0])  # and its key not yet
    await logged(caplog, "certificate not renewed")
    assert not await reads(addresses, session, STRANGER)

    own.key.write_bytes(renewed.pem[1])
    await logged(caplog, "certificate renewed")
    async with asyncio.timeout(20):
        while not await reads(addresses, session, AUTHORITY):
            await asyncio.sleep(0.02)  # what is followed once is connected with twice: for calls, and for the probe
    assert await is_healthy(addresses)

    own.client_ca.write_bytes(b"half a file")
    os.utime(own.client_ca, (1, 1))
    own.certificate.unlink()
    assert await reads(addresses, session, AUTHORITY)
    said = [vars(record).get("error") for record in caplog.records if record.getMessage() == "certificate not renewed"]
    assert max(Counter(said).values()) <= 2  # by the port, which shows the same files, and by the connection


async def reads(addresses: Addresses, session: NodeInput, authority: Issued) -> bool:
    options: dict[str, Any] = {"api_key": KEY, "retries": 0, "root_certificates": authority.pem[0]}
    async with AsyncContextClient(addresses.context, **options) as context:
        try:
            (message,) = await context.history.stream(session.id)
        except Unavailable as error:
            assert error.metadata["dependency"] == "entity-service"
            return False
    return bool(message.content == "hello")


async def is_healthy(addresses: Addresses) -> bool:
    """Say whether the probe, too, has other certificates by now."""
    target = addresses.context.removeprefix("https://")
    request = health_pb2.HealthCheckRequest(service="contextkeep.context.v1.ChatHistory")
    async with grpc.aio.secure_channel(target, grpc.ssl_channel_credentials(AUTHORITY.pem[0])) as channel:
        async for answer in health_pb2_grpc.HealthStub(channel).Watch(request, timeout=20):
            if answer.status == health_pb2.HealthCheckResponse.SERVING:
                return True
    return False


async def logged(caplog: pytest.LogCaptureFixture, event: str) -> None:
    async with asyncio.timeout(20):
        while not any(record.getMessage() == event for record in caplog.records):
            await asyncio.sleep(0.02)


async def test_a_call_under_way_finishes_on_the_connection_that_it_began_on(entity_settings, callers, files: TlsFiles):
    settings = with_tls(entity_settings, files, mutual=True)
    certificates = client_certificates(settings, root_path=files.client_ca)
    opened: list[AsyncEntityClient] = []

    def connect(shown: ClientCertificates) -> AsyncEntityClient:
        options: dict[str, Any] = {"root_certificates": shown.root, "client_certificate": shown.own, "retries": 0}
        opened.append(AsyncEntityClient(f"https://localhost:{port}", api_key=KEY, **options))
        return opened[-1]

    async with (
        entity_service.app.running(settings, callers=callers) as port,
        connected(certificates, connect) as connection,
    ):
        session, turns = NodeInput("Session"), [NodeInput("Turn") for _ in range(1500)]
        async with connection.lent() as client:
            await client.graph.write([session, *turns], [])
            await client.graph.write([], [EdgeInput(session.id, turn.id, "Contains") for turn in turns])
        async with connection.lent() as client:
            walk = client.graph.traverse(session.id)
            found = [await anext(walk)]

            write(files, issue("service", AUTHORITY))
            await connection.renew()

            async with connection.lent() as other:
                assert other is not client
                await other.graph.get_node(session.id)
            found += [node async for node in walk]
            assert await client.graph.get_node(session.id)  # nor is it closed before it is given back
        assert len(found) == 1500
        assert opened[0] is client
        with pytest.raises(RuntimeError, match="closed"):
            await client.graph.get_node(session.id)
        assert len(opened) == 2


def test_a_pair_that_is_written_while_it_is_read_is_not_taken(files: TlsFiles):
    other = issue("service", STRANGER)

    def read() -> tuple[bytes, bytes]:
        certificate = files.certificate.read_bytes()
        if write_meanwhile:
            write_meanwhile.pop()
            write(files, other)
        return certificate, files.key.read_bytes()

    write_meanwhile: list[None] = []
    following = Following([files.certificate, files.key], read)
    first = following.made
    write(files, issue("service", AUTHORITY))
    os.utime(files.key, (1, 1))
    write_meanwhile.append(None)

    assert following.renewed() is None
    assert following.made == first
    assert following.renewed() == other.pem
    assert following.renewed() is None


def test_a_key_of_another_certificate_and_one_with_a_password_are_refused(files: TlsFiles):
    for key in (
        issue("other").pem[1],
        issue("other").key.private_bytes(
            PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
        ),
    ):
        files.key.write_bytes(key)
        for make in (server_credentials, server_context):
            with pytest.raises(BadCertificate, match=r"tls\.key"):
                make(files)


@pytest.mark.parametrize("text", [None, b"", b"not PEM"])
def test_a_file_that_cannot_be_used_is_named(files: TlsFiles, text: bytes | None):
    if text is None:
        files.key.unlink()
    else:
        files.key.write_bytes(text)

    with pytest.raises(BadCertificate, match=r"tls\.key"):
        server_credentials(files)


@pytest.mark.parametrize(
    "changes",
    [
        {"tls_certificate_path": "a"},
        {"tls_key_path": "a"},
        {"tls_client_ca_path": "a"},
    ],
    ids=str,
)
def test_half_a_configuration_is_refused(entity_settings, changes: dict[str, str]):
    with pytest.raises(ValidationError, match="TLS"):
        type(entity_settings).model_validate({**entity_settings.model_dump(), **changes})
