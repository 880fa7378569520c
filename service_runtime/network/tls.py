"""TLS: the files of a service's certificates, read again when they change."""

from __future__ import annotations

import logging
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import grpc

from contextkeep.errors import FailedPrecondition
from service_runtime.settings import ServiceSettings

_log = logging.getLogger("tls")

Contents = TypeVar("Contents")

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
    """The certificates that a client trusts and shows: PEM."""

    root: bytes | None  # None: the usual authorities
    own: tuple[bytes, bytes] | None  # chain and key


def files_of(settings: ServiceSettings) -> TlsFiles | None:
    """Return the files of the settings; None for a server that speaks plaintext."""
    if settings.tls_certificate_path is None or settings.tls_key_path is None:
        return None
    return TlsFiles(
        certificate=settings.tls_certificate_path, key=settings.tls_key_path, client_ca=settings.tls_client_ca_path
    )


def client_certificates(settings: ServiceSettings, *, root_path: Path | None) -> Following[ClientCertificates]:
    """Follow the certificates that a service trusts and shows when it calls another, such as its own.

    Raises:
        BadCertificate: a file cannot be read, or the key is another certificate's.
    """
    files = files_of(settings)
    own = [files.certificate, files.key] if files else []
    return Following([*own, *([root_path] if root_path else [])], lambda: _client_certificates(files, root_path))


def server_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """Return credentials of a gRPC port that follow the files: a renewed certificate is shown to the next connection.

    Raises:
        BadCertificate: a file cannot be read, or the key is another certificate's.
    """
    following = Following(_paths(files), lambda: _configuration(files))
    return grpc.dynamic_ssl_server_credentials(
        following.made, following.renewed, require_client_authentication=files.client_ca is not None
    )


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """Return the context of another port, which follows the files as `server_credentials` do.

    Raises:
        BadCertificate: a file cannot be read, or the key is another certificate's.
    """
    following = Following(_paths(files), lambda: _context(files))

    def choose(connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        following.renewed()
        connection.context = following.made

    first = _context(files)
    first.sni_callback = choose  # called for every connection, whether it names a server or not
    return first


class Following(Generic[Contents]):
    """A value made from files, and made again when they change; while they are wrong, the old value stays.

    Safe to share among threads.

    Args:
        paths: The files that the value is made from.
        make: Reads the files, and returns the value.

    Raises:
        BadCertificate: the files are wrong from the beginning.
    """

    def __init__(self, paths: Sequence[Path], make: Callable[[], Contents]) -> None:
        self._paths = paths
        self._make = make
        self._lock = threading.Lock()
        self._last_error = ""  # the last logged problem of the files
        self._stamp = _stamp(paths)
        self.made = make()

    def renewed(self) -> Contents | None:
        """Return the value of changed files, or None if they are the same, or wrong, which is logged once."""
        with self._lock:
            try:
                now = _stamp(self._paths)
                if now == self._stamp:
                    return None
                value = self._make()
                if _stamp(self._paths) != now:
                    return None  # written meanwhile: the two files may not belong together
            except BadCertificate as error:
                if error.message != self._last_error:
                    _log.error("certificate not renewed", extra={"error": error.message})
                self._last_error = error.message
                return None
            self.made, self._stamp, self._last_error = value, now, ""
            _log.info("certificate renewed", extra={"paths": list(map(str, self._paths))})
            return value


def _client_certificates(files: TlsFiles | None, root_path: Path | None) -> ClientCertificates:
    """Read the certificates of a client, and check that the key belongs to the certificate."""
    if files is not None:
        _load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), files)
    return ClientCertificates(
        root=_read(root_path) if root_path else None,
        own=(_read(files.certificate), _read(files.key)) if files else None,
    )


def _configuration(files: TlsFiles) -> grpc.ServerCertificateConfiguration:
    """Read the certificates of a server, and check that the key belongs to the certificate."""
    _context(files)  # grpc itself does not report a key that belongs to another certificate
    return grpc.ssl_server_certificate_configuration(
        [(_read(files.key), _read(files.certificate))],
        root_certificates=_read(files.client_ca) if files.client_ca else None,
    )


def _context(files: TlsFiles) -> ssl.SSLContext:
    """Return a server's context with its certificate; it demands one of clients if the files name their CA.

    Raises:
        BadCertificate: a file cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _load(context, files)
    if files.client_ca is not None:
        _read(files.client_ca)
        try:
            context.load_verify_locations(files.client_ca)
        except (ssl.SSLError, OSError) as error:
            raise BadCertificate(f"{files.client_ca} cannot be used: {error}") from error
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _load(context: ssl.SSLContext, files: TlsFiles) -> None:
    """Let a context show the certificate, which must be the key's."""
    for path in (files.certificate, files.key):
        _read(path)  # its errors name the file
    try:
        context.load_cert_chain(files.certificate, files.key, password=lambda: "")  # instead of asking the terminal
    except (ssl.SSLError, OSError) as error:
        raise BadCertificate(f"{files.certificate} and {files.key} cannot be used: {error}") from error


def _paths(files: TlsFiles) -> list[Path]:
    return [path for path in (files.certificate, files.key, files.client_ca) if path]


def _stamp(paths: Sequence[Path]) -> _Stamp:
    """Return the times and sizes of files. If they differ later, a file has changed.

    Raises:
        BadCertificate: a file cannot be read.
    """
    try:
        return tuple((stat.st_mtime_ns, stat.st_size) for stat in (path.stat() for path in paths))
    except OSError as error:
        raise BadCertificate(f"cannot read {error.filename}: {error.strerror}") from error


def _read(path: Path) -> bytes:
    """Read a PEM file.

    Raises:
        BadCertificate: it cannot be read, or is not a PEM file.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BadCertificate(f"cannot read {path}: {error.strerror}") from error
    if b"-----BEGIN " not in text:
        raise BadCertificate(f"{path} is not a PEM file")
    return text
