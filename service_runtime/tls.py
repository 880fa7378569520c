"""TLS: the files of a server's certificate, read again when they change."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import grpc

from contextgraph.errors import FailedPrecondition
from service_runtime.settings import ServiceSettings

_log = logging.getLogger("tls")

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
    """Return credentials that follow the files: a renewed certificate is shown to the next connection.

    Raises:
        BadCertificate: a file cannot be read.
    """
    stamp = _stamp(files)
    first = _configuration(files)

    def fetch() -> grpc.ServerCertificateConfiguration | None:
        nonlocal stamp
        try:
            now = _stamp(files)
            if now == stamp:
                return None
            renewed = _configuration(files)
        except BadCertificate as error:
            _log.error("certificate not renewed", extra={"error": error.message})
            return None
        stamp = now
        _log.info("certificate renewed", extra={"path": str(files.certificate)})
        return renewed

    return grpc.dynamic_ssl_server_credentials(first, fetch, require_client_authentication=files.client_ca is not None)


def _configuration(files: TlsFiles) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration(
        [(_read(files.key), _read(files.certificate))],
        root_certificates=_read(files.client_ca) if files.client_ca else None,
    )


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
