"""Azure without a key: a managed identity asks its machine for tokens, and Azurite looks at them."""

from __future__ import annotations

import asyncio
import base64
import datetime
import ipaddress
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from tests.emulators import azurite

PROGRAM = """
import asyncio, ssl, urllib.request
from datetime import UTC, datetime, timedelta
from context_service.blobs import azure
from context_service.blobs.storage import Download
from context_service.settings import Settings
from service_runtime.settings import load
from tests.conformance.blob_backend import blocks_of, read
from tests.noise import noise

async def main():
    async with azure.opened(load(Settings)) as backend:
        content = noise(5_000_000)
        await backend.write("identity/a", blocks_of(content))
        assert await read(backend, "identity/a", 0, len(content)) == content
        expires_at = datetime.now(UTC) + timedelta(minutes=5)
        url = await backend.download_url("identity/a", Download(expires_at=expires_at, file_name="a", content_type=""))
    with urllib.request.urlopen(url) as answer:
        assert answer.read() == content
    print("read, written, signed" if "skoid=" in url else url)

asyncio.run(main())
"""


def token() -> str:
    """Return what the identity service of Azure would give; Azurite checks all of it but the signature."""
    now = int(time.time())
    claims = {
        "aud": "https://storage.azure.com",
        "iss": "https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/",
        "iat": now - 60,
        "nbf": now - 60,
        "exp": now + 3600,
        "oid": "23657296-5cd5-45b0-a809-d972a7f4dfe1",
        "tid": "ab1f708d-50f6-404c-a006-d71b2ac7a606",
    }
    parts = ({"alg": "RS256", "typ": "JWT"}, claims, "signature")
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)


@contextmanager
def identity_service() -> Iterator[tuple[str, list[str]]]:
    """Run what a machine of Azure has; yields its URL, and the requests that came."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            allowed = self.headers.get("X-IDENTITY-HEADER") == "secret"
            body = json.dumps(
                {
                    "access_token": token(),
                    "expires_on": str(int(time.time()) + 3600),
                    "resource": "https://storage.azure.com",
                    "token_type": "Bearer",
                }
            ).encode()
            self.send_response(200 if allowed else 401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/msi/token", requests
        finally:
            server.shutdown()
            thread.join(5)


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate of this machine, signed by itself, and its key: tokens travel over TLS only."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert_path, key_path = folder / "cert.pem", folder / "key.pem"
    cert_path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return cert_path, key_path


async def test_a_managed_identity_reads_writes_and_signs(tmp_path: Path):
    if reason := azurite.missing():
        assert os.environ.get("CI") != "true", reason
        pytest.skip(reason)
    cert_path, key_path = certificate(tmp_path)
    options = ("--oauth", "basic", "--cert", str(cert_path), "--key", str(key_path))
    with azurite.running(tmp_path, *options) as emulator, identity_service() as (url, requests):
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("AZURE_", "MSI_"))},
            "WORKING_MEMORY_STORAGE_ACCOUNT": azurite.ACCOUNT,
            "WORKING_MEMORY_STORAGE_CONTAINER": "identity",
            "WORKING_MEMORY_STORAGE_ENDPOINT": emulator.endpoint().replace("http:", "https:"),
            "WORKING_MEMORY_STORAGE_CREATE_CONTAINER": "true",
            "IDENTITY_ENDPOINT": url,
            "IDENTITY_HEADER": "secret",
            "SSL_CERT_FILE": str(cert_path),
        }
        command = [sys.executable, "-c", PROGRAM]
        done = await asyncio.to_thread(
            subprocess.run, command, env=environment, capture_output=True, text=True, check=False, timeout=90
        )

    assert (done.returncode, done.stdout.strip()) == (0, "read, written, signed"), done.stderr[-3000:]
    assert len(requests) == 1  # the token is kept
    assert "resource=https" in requests[0]
