"""Settings that both services have, and how any of them is read and explained.

Settings come from the environment, are checked once at the start, and never change. A field's name is its
variable's, its description is the line of `deploy/env.example`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from service_runtime.inputs.documents import NESTING_MAX
from service_runtime.rpc.admission import CallLimits, Shares
from service_runtime.values.copying import copied

KIB = 1024
_DATABASE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
MIB = 1024 * KIB


class ServiceSettings(BaseSettings):
    """The settings that both servers have."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    environment: Literal["development", "production"] = Field(
        "development",
        description="development: defaults that start on a laptop. production: nothing is guessed",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="least level that is logged")
    database_url: SecretStr | None = Field(
        None,
        description="postgresql:// URL of the services' role, which owns nothing; `make run` has one of its own",
    )
    database_admin_url: SecretStr | None = Field(
        None, description="postgresql:// URL of the tables' owner; read by `migrate`, `keys` and `tenants` only"
    )
    database_urls: SecretStr = Field(
        SecretStr(""),
        description="other databases where tenants live, as the services' role: name=postgresql://... each, with "
        "spaces between them; DATABASE_URL is the home of the keys, and of all other tenants (docs/scaling.md)",
    )
    database_admin_urls: SecretStr = Field(
        SecretStr(""), description="the same databases under the same names, as the tables' owner"
    )
    database_pool_max: int = Field(
        10, ge=1, le=1000, description="connections of this process to a Postgres, besides one for health"
    )
    database_prepared_statements: bool = Field(
        True,
        description="prepare statements in Postgres; set to false with a PgBouncer before 1.21 "
        "or without max_prepared_statements",
    )
    api_key: SecretStr = Field(
        SecretStr(""), description="the one key of a single-tenant deployment; empty: no authentication"
    )
    tls_certificate_path: Path | None = Field(
        None, description="PEM file of the certificate chain to show; with TLS_KEY_PATH the service speaks TLS only"
    )
    tls_key_path: Path | None = Field(None, description="PEM file of the certificate's private key")
    tls_client_ca_path: Path | None = Field(
        None, description="PEM file of the authorities of clients; set: a client must show a certificate of theirs"
    )
    jwt_issuer: str = Field("", description="OpenID Connect issuer whose tokens are taken too; empty: none are")
    jwt_audience: str = Field("", description="the `aud` that a token must name")
    jwt_jwks_url: str = Field("", description="where the issuer's keys are: https://.../jwks.json")
    jwt_tenant_claim: str = Field("tenant", description="the claim of a token that names its tenant")
    calls_per_second_of_key: float = Field(
        0, ge=0, description="calls a second of one key or subject, in this process; 0: any number"
    )
    calls_per_second_of_tenant: float = Field(
        0, ge=0, description="calls a second of one tenant, in this process; 0: any number"
    )
    allow_anonymous: bool = Field(
        False,
        description="in development and as long as no key was made: take calls without a key, with all scopes of the "
        "default tenant; any account of this machine can then read and write everything",
    )
    allow_insecure: bool = Field(
        False,
        description="listen beyond loopback without authentication: something in front of the service authenticates",
    )
    health_without_key: bool = Field(
        True, description="answer grpc.health.v1 without a key, as the probes of Kubernetes and of balancers ask"
    )
    reflection_without_key: bool | None = Field(
        None, description="answer gRPC reflection without a key; unset: in development only"
    )
    metrics_port: int | None = Field(
        None, ge=0, le=65535, description="port of GET /metrics, for Prometheus; unset: it is off"
    )
    metrics_host: str = Field("127.0.0.1", description="address of /metrics, which asks for no key")
    http_port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="port of the unary RPCs as JSON over HTTP, in the Connect protocol's form, of the Context "
        "Service also of /mcp and /mcp/query; unset: it is off",
    )
    http_host: str = Field("127.0.0.1", description="address to listen on for it")
    http_origins: Annotated[list[str], NoDecode] = Field(
        [], description='pages of browsers that may call it, as JSON: ["https://chat.example.com"]'
    )
    public_url: str = Field(
        "",
        description="https://host[:port] at which callers reach the ports of HTTP and MCP through a proxy; "
        "named in the document about tokens; unset: the host of the request",
    )
    otel_exporter_otlp_endpoint: str = Field(
        "", description="OTLP/gRPC collector that gets traces: http://host:4317 (plaintext) or https://; unset: none"
    )
    otel_traces_sampler_arg: float = Field(
        0.01, ge=0, le=1, description="part of the traces that is kept, where the caller has not decided already"
    )
    calls_max: int = Field(1000, ge=1, description="calls under way at once; more are refused")
    expensive_calls_max: int = Field(
        8, ge=1, description="histories, walks, searches and compilations of mappings at once; more wait for their turn"
    )
    ordinary_calls_max: int = Field(
        16, ge=1, description="all other calls that work at once; more wait for their turn, by tenant and key"
    )
    calls_share_of_tenant: float = Field(
        0.75, gt=0, le=1, description="part of CALLS_MAX, EXPENSIVE_CALLS_MAX and ORDINARY_CALLS_MAX of one tenant"
    )
    calls_share_of_key: float = Field(
        0.5, gt=0, le=1, description="part of CALLS_MAX, EXPENSIVE_CALLS_MAX and ORDINARY_CALLS_MAX of one key"
    )
    memory_bytes_max: int | None = Field(
        None,
        ge=128 * MIB,
        description="memory of this process with the children that read documents; unset: the limit of its cgroup less "
        "1/16, or without one half of the machine's memory, at most 8 GiB",
    )
    stream_idle_s: float = Field(
        120.0, gt=0, description="seconds that the caller of a stream may neither send nor read; then it ends"
    )
    connections_max: int = Field(
        4000, ge=1, description="connections of a port at once, of 20 KB each; further ones are closed"
    )
    connection_age_s: float = Field(
        600.0,
        gt=0,
        le=2_000_000,
        description="seconds after which a client must reconnect, so that clients spread over new replicas; "
        "calls under way finish",
    )
    drain_s: float = Field(20.0, ge=0, description="seconds that running calls may take after SIGTERM")
    node_data_bytes_max: int = Field(
        1 * MIB, ge=1, description="data_json of a node or an edge; content_json of a record"
    )
    json_nesting_max: int = Field(
        NESTING_MAX,
        ge=1,
        le=NESTING_MAX,
        description=f"nesting of any JSON; {NESTING_MAX} is the most that all readers can take",
    )
    metadata_bytes_max: int = Field(64 * KIB, ge=1, description="metadata_json of a record or an embedding")
    name_chars_max: int = Field(512, ge=1, description="names of nodes, records and agent bundles")
    type_chars_max: int = Field(128, ge=1, description="names of types, graphs, mappings and their apps; statuses")
    traverse_depth_max: int = Field(100, ge=1, description="depth of a traversal, and of a mapping's")

    @field_validator("log_level", mode="before")
    @classmethod
    def _is_a_level(cls, level: object) -> object:
        """Accept the names of Node's loggers, too: "info", "warn"."""
        if not isinstance(level, str):
            return level
        return {"WARN": "WARNING"}.get(level.upper(), level.upper())

    @field_validator("http_origins", mode="before")
    @classmethod
    def _are_json(cls, value: object) -> object:
        return from_json(value)

    @field_validator("database_url", "database_admin_url")
    @classmethod
    def _is_of_postgres(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None:
            _check_postgres_url(url.get_secret_value())
        return url

    @field_validator("database_urls", "database_admin_urls")
    @classmethod
    def _are_named(cls, urls: SecretStr) -> SecretStr:
        """Check the URL of each named database.

        Raises:
            ValueError: a URL is malformed; the text names the database.
        """
        for name, url in _named_urls(urls).items():
            try:
                _check_postgres_url(url)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return urls

    @field_validator("public_url")
    @classmethod
    def _is_an_origin(cls, url: str) -> str:
        if url and not re.fullmatch(r"https?://[A-Za-z0-9.\[\]:_-]+", url):
            raise ValueError("must be like https://host or https://host:port")
        return url

    @field_validator("otel_exporter_otlp_endpoint")
    @classmethod
    def _is_of_http(cls, url: str) -> str:
        return http_url(url)

    @model_validator(mode="after")
    def _production_is_explicit(self) -> ServiceSettings:
        if self.environment == "production" and self.database_url is None:
            raise ValueError("DATABASE_URL is required in production")
        return self

    @model_validator(mode="after")
    def _tls_is_whole(self) -> ServiceSettings:
        """Check that the paths of TLS are set together.

        Raises:
            ValueError: a path lacks another one that it needs.
        """
        if (self.tls_certificate_path is None) != (self.tls_key_path is None):
            raise ValueError("TLS needs both TLS_CERTIFICATE_PATH and TLS_KEY_PATH")
        if self.tls_client_ca_path is not None and self.tls_key_path is None:
            raise ValueError("TLS_CLIENT_CA_PATH needs TLS_CERTIFICATE_PATH and TLS_KEY_PATH")
        return self

    @model_validator(mode="after")
    def _issuer_is_whole(self) -> ServiceSettings:
        """Check that the settings of tokens are set together.

        Raises:
            ValueError: one of them is missing, or the URL is malformed.
        """
        parts = {"JWT_ISSUER": self.jwt_issuer, "JWT_AUDIENCE": self.jwt_audience, "JWT_JWKS_URL": self.jwt_jwks_url}
        if any(parts.values()) and not all(parts.values()):
            missing = ", ".join(name for name, value in parts.items() if not value)
            raise ValueError(f"tokens need JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL; missing: {missing}")
        if self.jwt_jwks_url and not self.jwt_jwks_url.startswith(("https://", "http://")):
            raise ValueError("JWT_JWKS_URL must be an http:// or https:// URL")
        return self

    @property
    def call_limits(self) -> CallLimits:
        """The limits of calls."""
        return copied(
            CallLimits, self, shares=Shares(of_tenant=self.calls_share_of_tenant, of_key=self.calls_share_of_key)
        )

    @property
    def reflects_without_key(self) -> bool:
        """Say whether reflection answers callers without a key."""
        if self.reflection_without_key is None:
            return self.environment == "development"
        return self.reflection_without_key

    @property
    def database(self) -> str:
        """The URL of the services' role.

        Raises:
            SystemExit: the setting is not set.
        """
        return _required("DATABASE_URL", self.database_url)

    @property
    def other_databases(self) -> dict[str, str]:
        """URLs of the services' role of databases that are not the home, by their names."""
        return _named_urls(self.database_urls)

    @property
    def other_databases_admin(self) -> dict[str, str]:
        """URLs of the tables' owner of databases that are not the home, by their names.

        Raises:
            SystemExit: they are not those of DATABASE_URLS.
        """
        urls = _named_urls(self.database_admin_urls)
        if urls.keys() != self.other_databases.keys():
            sys.exit("DATABASE_ADMIN_URLS must name the databases that DATABASE_URLS names, and no others")
        return urls

    @property
    def database_admin(self) -> str:
        """The URL of the tables' owner.

        Raises:
            SystemExit: the setting is not set.
        """
        return _required("DATABASE_ADMIN_URL", self.database_admin_url)


_S = TypeVar("_S", bound=BaseSettings)


def load(settings_class: type[_S]) -> _S:
    """Return the settings of the environment; on an error say which variable is wrong, and exit with 2."""
    try:
        return settings_class()
    except ValidationError as error:
        for name, problem in problems_of(error).items():
            print(f"{name or 'settings'}: {problem}", file=sys.stderr)  # noqa: T201
        print("`check-config` explains every variable", file=sys.stderr)  # noqa: T201
        sys.exit(2)


def problems_of(error: ValidationError) -> dict[str, str]:
    """Return the problem of each variable by its name; the problem of several together has the empty name."""
    problems: dict[str, str] = {}
    for details in error.errors(include_url=False, include_input=False):
        name, *inside = map(str, details["loc"] or ("",))
        problems[name.upper()] = ": ".join([*inside, details["msg"].removeprefix("Value error, ")])
    return problems


def from_json(value: object) -> object:
    """Read the text of a variable that is JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError(f"must be valid JSON: {error}") from error


def _named_urls(urls: SecretStr) -> dict[str, str]:
    """Return the URLs of databases by their names, from a text like `east=postgresql://... west=postgresql://...`.

    Raises:
        ValueError: an entry is malformed, or a name is given twice.
    """
    named: dict[str, str] = {}
    for item in urls.get_secret_value().split():
        name, is_named, url = item.partition("=")
        if not is_named or not _DATABASE_NAME.fullmatch(name):
            raise ValueError(
                "must be like east=postgresql://... west=postgresql://..., with names of a-z, 0-9, - and _"
            )
        if name in named:
            raise ValueError(f"must name each database once (got {name} twice)")
        named[name] = url
    return named


def _check_postgres_url(url: str) -> None:
    """Check a URL of Postgres.

    Raises:
        ValueError: it is not such a URL. The text never shows the URL, which may have a password.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    if not url.startswith(("postgresql://", "postgres://")):
        raise ValueError("must be a postgresql:// URL")
    try:
        conninfo_to_dict(url)
    except ProgrammingError:  # its text may show the password
        raise ValueError("must be a URL that Postgres reads; in a password, percent-encode / @ : ? # %") from None


def http_url(url: str) -> str:
    """Return the URL, or nothing.

    Raises:
        ValueError: it is another scheme's.
    """
    if url and not url.startswith(("http://", "https://")):
        raise ValueError("must be an http:// or https:// URL")
    return url


def example(settings_class: type[BaseSettings], title: str, *, without: Collection[str] = ()) -> str:
    """Return a section of `deploy/env.example`: every variable with its meaning and default."""
    lines = [f"# {title}"]
    for name, field in settings_class.model_fields.items():
        if name in without:
            continue
        default = field.get_default(call_default_factory=True)
        if isinstance(default, SecretStr):
            default = default.get_secret_value()
        shown = "" if default is None else str(default).lower() if isinstance(default, bool) else str(default)
        lines += ["", f"# {field.description}", f"# {name.upper()}={shown}"]
    return "\n".join(lines) + "\n"


def state_folder() -> Path:
    """Return where development keeps its data: below the current folder, so that each checkout has its own."""
    return Path(".contextkeep")


def _required(name: str, url: SecretStr | None) -> str:
    if url is None:
        sys.exit(f"{name} is not set: point it to your Postgres, or call this where `make run` runs, which has its own")
    return url.get_secret_value()
