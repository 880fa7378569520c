"""Settings of the Entity Service: the only reader of its environment."""

from __future__ import annotations

from pydantic import Field

from entity_service.model.writes import WRITE_ROWS_MAX
from service_runtime.settings import KIB, MIB, ServiceSettings


class Settings(ServiceSettings):
    """The settings of the Entity Service."""

    entity_service_host: str = Field("127.0.0.1", description="address to listen on")
    entity_service_port: int = Field(50052, ge=0, le=65535, description="port to listen on; 0: any free one")
    external_id_bytes_max: int = Field(512, ge=1, description="external_id of a node, in UTF-8")
    message_bytes_max: int = Field(64 * KIB, ge=1, description="message of a status change or an envelope, in UTF-8")
    write_rows_max: int = Field(2000, ge=1, le=WRITE_ROWS_MAX, description="nodes and edges of one WriteGraph")
    write_bytes_max: int = Field(4 * MIB, ge=1, description="documents of one WriteGraph, together")
    traverse_nodes_max: int = Field(100_000, ge=1, description="nodes that one traversal may visit")
    similar_vectors_max: int = Field(100_000, ge=1, description="vectors that one SearchSimilar may compare with")
    changes_kept_days: int = Field(7, ge=1, le=365, description="days that a change is kept, for ListChanges")
    changes_kept_max: int = Field(1_000_000, ge=1000, description="changes that are kept of a tenant, for ListChanges")
