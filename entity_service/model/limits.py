"""The limits of one call."""

from __future__ import annotations

from dataclasses import dataclass

from service_runtime.inputs.documents import NESTING_MAX
from service_runtime.settings import KIB, MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one call."""

    document_bytes_max: int = 1 * MIB
    nesting_max: int = NESTING_MAX  # deepest nesting of any JSON
    external_id_bytes_max: int = 512
    name_chars_max: int = 512
    type_chars_max: int = 128  # characters of types, graph names and statuses
    write_rows_max: int = 2000
    write_bytes_max: int = 4 * MIB
    message_bytes_max: int = 64 * KIB  # bytes of the message of a status change or an envelope
    metadata_bytes_max: int = 64 * KIB  # bytes of the metadata of an embedding
    list_max: int = 1000  # most ids or types in one call
    depth_max: int = 100
    walk_nodes_max: int = 100_000
    similar_vectors_max: int = 100_000


ANSWER_BYTES_MAX = 4 * 1024 * 1024  # gRPC's default limit of a message

BATCH_MAX = 1000
