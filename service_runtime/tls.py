"""TLS: the files of a server's certificate, read again when they change."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import grpc

from contextgraph.errors import FailedPrecondition
from service_runtime.settings import ServiceSettings

_log = logging.getLogger("tls")

Made = TypeVar("Made")

_Stamp = tuple[tuple[int, int], ...]  # when each file was written, and its size


class BadCertificate(FailedPrecondition):
    """A certificate or a key cannot be read, or they do not belong together."""

    reason = "BAD_CERTIFICATE"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """PEM files of a server."""

    certificate: Path
    key: Path
    client_ca: Path | None  # set: clients must show a certificate of these authorities


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCertificates:
    """What a client trusts and shows: PEM."""

    root: bytes | None  # None: the usual authorities
    own: tuple[bytes, bytes] | None  # chain and key


def files_of(settings: ServiceSettings) -> TlsFiles | None:
    """Return the files of the settings; None for a server that speaks plaintext."""
    if settings.tls_certificate_path is None or settings.tls_key_path is None:
        return None
    return TlsFiles(
        certificate=settings.tls_certificate_path, key=settings.tls_key_path, client_ca=settings.tls_client_ca_path
    )


def client_certificates(settings: ServiceSettings, *, root_path: Path | None) -> ClientCertificates:
    """Return what a service trusts and shows when it calls another: its own certificate, if it has one.

    Raises:
        BadCertificate: a file cannot be read.
    """
    files = files_of(settings)
    own = (_read(files.certificate), _read(files.key)) if files else None
    return ClientCertificates(root=_read(root_path) if root_path else None, own=own)


def server_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """Return credentials of a gRPC port that follow the files: a renewed certificate is shown to the next connection.

    Raises:
        BadCertificate: a file cannot be read, or the key is another certificate's.
    """
    following = _Following(files, _configuration)
    return grpc.dynamic_ssl_server_credentials(
        following.made, following.renewed, require_client_authentication=files.client_ca is not None
    )


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """Return the context of another port, which follows the files as `server_credentials` do.

    Raises:
        BadCertificate: a file cannot be read, or the key is another certificate's.
    """
    following = _Following(files, _context)

    def choose(connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        following.renewed()
        connection.context = following.made

    first = _context(files)
    first.sni_callback = choose  # called for every connection, whether it names a server or not
    return first


class _Following(Generic[Made]):
    """What is made of the files, made again when they change; as long as they are wrong, what they were before."""

    def __init__(self, files: TlsFiles, make: Callable[[TlsFiles], Made]) -> None:
        self._files = files
        self._make = make
        self._stamp = _stamp(files)
        self.made = make(files)

    def renewed(self) -> Made | None:
        """Return what is made of changed files; None if they are the same, or wrong."""
        try:
            now = _stamp(self._files)
            if now == self._stamp:
                return None
            self.made = self._make(self._files)
        except BadCertificate as error:
            _log.error("certificate not renewed", extra={"error": error.message})
            return None
        self._stamp = now
        _log.info("certificate renewed", extra={"path": str(self._files.certificate)})
        return self.made


def _configuration(files: TlsFiles) -> grpc.ServerCertificateConfiguration:
    _context(files)  # grpc itself tells nobody that a key is another certificate's
    return grpc.ssl_server_certificate_configuration(
        [(_read(files.key), _read(files.certificate))],
        root_certificates=_read(files.client_ca) if files.client_ca else None,
    )


def _context(files: TlsFiles) -> ssl.SSLContext:
    for path in (files.certificate, files.key, files.client_ca):
        if path is not None:
            _read(path)  # its errors name the file
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(files.certificate, files.key, password=lambda: "")  # instead of asking the terminal
        if files.client_ca is not None:
            context.load_verify_locations(files.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except (ssl.SSLError, OSError) as error:
        raise BadCertificate(f"{files.certificate} and {files.key} cannot be used: {error}") from error
    return context


def _stamp(files: TlsFiles) -> _Stamp:
    paths = [path for path in (files.certificate, files.key, files.client_ca) if path]
    try:
        return tuple((stat.st_mtime_ns, stat.st_size) for stat in (path.stat() for path in paths))
    except OSError as error:
        raise BadCertificate(f"cannot read {error.filename}: {error.strerror}") from error


def _read(path: Path) -> bytes:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BadCertificate(f"cannot read {path}: {error.strerror}") from error
    if b"-----BEGIN " not in text:
        raise BadCertificate(f"{path} is not a PEM file")
    return text
